//! Frame ids: `t3`, its parts `t3.1` and `t3.2`, and `a1` for an added frame. `t3.0` holds content that arrived in `t3`
//! after something was placed behind it.

use std::fmt;
use std::str::FromStr;

#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FrameId {
    pub added: bool,
    /// Counted from 1.
    pub number: u32,
    pub parts: Vec<u32>,
}

impl FrameId {
    pub fn turn(number: u32) -> FrameId {
        FrameId { added: false, number, parts: Vec::new() }
    }

    pub fn added(number: u32) -> FrameId {
        FrameId { added: true, number, parts: Vec::new() }
    }

    pub fn part(&self, number: u32) -> FrameId {
        let mut parts = self.parts.clone();
        parts.push(number);
        FrameId { parts, ..*self }
    }

    /// Whether it is `whole` or a part of it.
    pub fn is_in(&self, whole: &FrameId) -> bool {
        (self.added, self.number) == (whole.added, whole.number) && self.parts.starts_with(&whole.parts)
    }
}

impl fmt::Display for FrameId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", if self.added { 'a' } else { 't' }, self.number)?;
        self.parts.iter().try_for_each(|part| write!(f, ".{part}"))
    }
}

/// A text that names no frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotAFrame;

impl FromStr for FrameId {
    type Err = NotAFrame;

    fn from_str(text: &str) -> Result<FrameId, NotAFrame> {
        let added = match text.as_bytes().first() {
            Some(b't') => false,
            Some(b'a') => true,
            _ => return Err(NotAFrame),
        };
        let mut numbers = text.get(1..).unwrap_or_default().split('.').map(|digits| {
            let all_digits = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
            digits.parse::<u32>().ok().filter(|_| all_digits).ok_or(NotAFrame)
        });
        let number =
            numbers.next().ok_or(NotAFrame)?.and_then(|number| if number > 0 { Ok(number) } else { Err(NotAFrame) })?;
        Ok(FrameId { added, number, parts: numbers.collect::<Result<_, _>>()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_read_as_they_are_written() {
        for text in ["t1", "t12", "a1", "t3.1", "t3.0", "a2.10.3"] {
            assert_eq!(text.parse::<FrameId>().map(|id| id.to_string()), Ok(text.to_owned()));
        }
        for text in ["", "t", "t0", "t1.", "t.1", "b1", "t-1", "t+1", "t1a", "t99999999999"] {
            assert_eq!(text.parse::<FrameId>(), Err(NotAFrame), "{text}");
        }
        let part: FrameId = "t3.1".parse().expect("a frame");
        assert!(part.is_in(&FrameId::turn(3)) && !part.is_in(&FrameId::turn(4)) && !FrameId::turn(3).is_in(&part));
    }
}
