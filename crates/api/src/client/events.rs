//! Parses server-sent events as the daemon writes them: `data:` lines, and an empty line after each event.

/// Takes bytes in any chunks, and returns the data of complete events.
#[derive(Default)]
pub struct Reader {
    unread: Vec<u8>,
    data: String,
}

impl Reader {
    /// Takes the next bytes of the stream.
    pub fn feed(&mut self, piece: &[u8]) {
        self.unread.extend_from_slice(piece);
    }

    /// The data of the next complete event.
    pub fn next(&mut self) -> Option<String> {
        while let Some(end) = self.unread.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.unread.drain(..=end).collect();
            let line = String::from_utf8_lossy(&line);
            let line = line.trim_end_matches(['\n', '\r']);
            if line.is_empty() && !self.data.is_empty() {
                return Some(std::mem::take(&mut self.data));
            }
            if let Some(data) = line.strip_prefix("data:") {
                let separator = if self.data.is_empty() { "" } else { "\n" };
                self.data.push_str(separator);
                self.data.push_str(data.strip_prefix(' ').unwrap_or(data));
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_the_same_however_the_stream_is_cut() {
        let stream = ": hello\n\nid: 1\ndata: {\"é\":1}\n\ndata: a\r\ndata: b\r\n\r\nevent: x\n\ndata: open".as_bytes();
        for cut in 0..stream.len() {
            let (mut reader, mut events) = (Reader::default(), Vec::new());
            for piece in [&stream[..cut], &stream[cut..]] {
                reader.feed(piece);
                events.extend(std::iter::from_fn(|| reader.next()));
            }
            assert_eq!(events, ["{\"é\":1}", "a\nb"], "cut at {cut}");
        }
    }
}
