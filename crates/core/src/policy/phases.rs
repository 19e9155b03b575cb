//! Phases of the work, marked by a person or an agent. Results of an ended phase may be cleared.

use crate::tree::SlotId;
use serde::{Deserialize, Serialize};

/// A phase, between two messages.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Phase {
    pub name: String,
    pub began: Moment,
    /// None while it is open.
    pub ended: Option<Moment>,
}

/// The time of a mark, and the message before it; none at the very beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moment {
    pub at: u64,
    pub after: Option<SlotId>,
}

impl Phase {
    /// The messages of an ended phase on a path; none if the path does not contain both of its ends.
    pub fn messages(&self, path: &[SlotId]) -> Option<std::ops::Range<usize>> {
        let place = |moment: &Moment| match moment.after {
            None => Some(0),
            Some(slot) => path.iter().position(|one| *one == slot).map(|at| at + 1),
        };
        let range = place(&self.began)?..place(self.ended.as_ref()?)?;
        (range.start < range.end).then_some(range)
    }
}

/// The phases of a conversation, in the order in which they began.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Phases(Vec<Phase>);

impl Phases {
    /// Every phase.
    pub fn all(&self) -> &[Phase] {
        &self.0
    }

    /// The phases that have not ended.
    pub fn open(&self) -> impl DoubleEndedIterator<Item = &Phase> {
        self.0.iter().filter(|phase| phase.ended.is_none())
    }

    /// Begins a phase; an open phase of this name continues.
    pub fn begin(&mut self, name: &str, moment: Moment) {
        if !self.open().any(|phase| phase.name == name) {
            self.0.push(Phase { name: name.to_owned(), began: moment, ended: None });
        }
    }

    /// Ends the newest open phase of this name.
    pub fn end(&mut self, name: &str, moment: Moment) {
        let open = self.0.iter_mut().rev().find(|phase| phase.name == name && phase.ended.is_none());
        open.into_iter().for_each(|phase| phase.ended = Some(moment));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moment(after: Option<u64>) -> Moment {
        Moment { at: 0, after: after.map(SlotId) }
    }

    #[test]
    fn a_phase_holds_what_came_between_its_ends() {
        let path: Vec<SlotId> = (1..=6).map(SlotId).collect();
        let mut phases = Phases::default();
        phases.begin("setup", moment(None));
        phases.begin("coding", moment(Some(2)));
        phases.begin("coding", moment(Some(3)));
        assert_eq!(phases.open().count(), 2, "what is open goes on");
        assert_eq!(phases.all()[0].messages(&path), None, "it has not ended");
        phases.end("setup", moment(Some(2)));
        phases.end("coding", moment(Some(5)));
        phases.end("unknown", moment(Some(5)));
        let held: Vec<_> = phases.all().iter().map(|phase| phase.messages(&path)).collect();
        assert_eq!(held, [Some(0..2), Some(2..5)]);
        assert_eq!(phases.all()[1].messages(&path[..4]), None, "its end was rewound");
        phases.begin("coding", moment(Some(6)));
        phases.end("coding", moment(Some(6)));
        assert_eq!(phases.all()[2].messages(&path), None, "nothing was done in it");
    }
}
