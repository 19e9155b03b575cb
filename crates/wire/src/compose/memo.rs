//! The composer's memory from one request to the next. It saves parsing; the output is the same without it.

use std::any::Any;
use std::cell::OnceCell;
use std::fmt::Debug;

/// Something that a wire remembers of the last request.
pub(crate) trait Memory: Any + Debug + Send {
    /// Keeps only the first messages: the next request shares their bytes.
    fn keep(&mut self, messages: usize);
}

/// One for each conversation: the memories of its wire, one of each type.
#[derive(Debug, Default)]
pub struct Memo {
    first: OnceCell<Box<dyn Memory>>,
    others: OnceCell<Box<Memo>>,
}

impl Memo {
    /// Keeps only the first messages: the next request shares their bytes.
    pub fn keep(&mut self, messages: usize) {
        self.first.get_mut().into_iter().for_each(|first| first.keep(messages));
        self.others.get_mut().into_iter().for_each(|others| others.keep(messages));
    }

    /// The memory of this type, empty at first.
    pub(crate) fn get<M: Memory + Default>(&self) -> &M {
        let first: &dyn Any = &**self.first.get_or_init(|| Box::<M>::default());
        first.downcast_ref().unwrap_or_else(|| self.others.get_or_init(Box::default).get())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[derive(Debug, Default)]
    struct Known<const NUMBER: usize>(Cell<usize>);

    impl<const NUMBER: usize> Memory for Known<NUMBER> {
        fn keep(&mut self, messages: usize) {
            self.0.set(self.0.get().min(messages));
        }
    }

    #[test]
    fn each_memory_is_found_by_its_type() {
        let mut memo = Memo::default();
        memo.get::<Known<1>>().0.set(7);
        memo.get::<Known<2>>().0.set(9);
        assert_eq!((memo.get::<Known<1>>().0.get(), memo.get::<Known<2>>().0.get()), (7, 9));
        memo.keep(8);
        assert_eq!((memo.get::<Known<1>>().0.get(), memo.get::<Known<2>>().0.get()), (7, 8));
    }
}
