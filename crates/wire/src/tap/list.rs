//! Reads the objects of a JSON list from arbitrary chunks, each as soon as it is complete.

/// The largest object kept in memory; a larger one is skipped and counted.
const LIMIT: usize = super::ANSWER_LIMIT;

#[derive(Debug, Default)]
pub(super) struct Reader {
    /// The beginning of an object whose end has not arrived.
    object: Vec<u8>,
    depth: usize,
    in_string: bool,
    after_backslash: bool,
    has_begun: bool,
    has_ended: bool,
    is_too_large: bool,
    skipped: u64,
}

impl Reader {
    /// Takes the next bytes of the list and passes every completed object to `sink`.
    pub fn feed(&mut self, piece: &[u8], sink: &mut dyn FnMut(&str)) {
        // The begin of the current object's bytes in this piece.
        let mut from = (self.depth > 0).then_some(0);
        for (at, &byte) in piece.iter().enumerate() {
            if self.in_string {
                self.in_string = self.after_backslash || byte != b'"';
                self.after_backslash = !self.after_backslash && byte == b'\\';
                continue;
            }
            match byte {
                b'"' => self.in_string = true,
                b'{' | b'[' if self.depth > 0 || self.has_begun => {
                    if self.depth == 0 {
                        from = Some(at);
                    }
                    self.depth += 1;
                }
                b'[' => self.has_begun = true,
                b'}' | b']' if self.depth > 0 => {
                    self.depth -= 1;
                    if self.depth == 0 {
                        self.keep(piece.get(from.unwrap_or(0)..=at).unwrap_or_default());
                        self.pass(sink);
                        from = None;
                    }
                }
                b']' => self.has_ended = true,
                _ => {}
            }
        }
        if self.depth > 0 {
            self.keep(piece.get(from.unwrap_or(0)..).unwrap_or_default());
        }
    }

    fn keep(&mut self, bytes: &[u8]) {
        self.is_too_large |= self.object.len() + bytes.len() > LIMIT;
        match self.is_too_large {
            true => self.object = Vec::new(),
            false => self.object.extend_from_slice(bytes),
        }
    }

    fn pass(&mut self, sink: &mut dyn FnMut(&str)) {
        if std::mem::take(&mut self.is_too_large) {
            self.skipped += 1;
            return;
        }
        sink(&String::from_utf8_lossy(&self.object));
        self.object.clear();
    }

    /// The number of objects skipped because of the limit.
    pub fn skipped(&self) -> u64 {
        self.skipped
    }

    /// Whether the closing bracket has come.
    pub fn is_complete(&self) -> bool {
        self.has_ended
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_are_the_same_wherever_the_bytes_are_cut() {
        let list = r#" [ {"a":"}\\\"]","b":[{}]} ,
            {"c":"é"},[1], {} ]"#;
        let expected = [r#"{"a":"}\\\"]","b":[{}]}"#, r#"{"c":"é"}"#, "[1]", "{}"];
        for size in 1..=list.len() {
            let (mut reader, mut found) = (Reader::default(), Vec::new());
            list.as_bytes()
                .chunks(size)
                .for_each(|piece| reader.feed(piece, &mut |object| found.push(object.to_owned())));
            assert_eq!(found, expected, "pieces of {size}");
            assert!(reader.is_complete());
        }
        let mut reader = Reader::default();
        reader.feed(b"[{\"a\":1},{\"b\"", &mut |object| assert_eq!(object, "{\"a\":1}"));
        assert!(!reader.is_complete());
    }
}
