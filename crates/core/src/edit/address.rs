//! Addresses as people write them: `t3`, `t3/5`, `t3/5..9`, `t3#2`, `t3#2.1`, `system`, `system#1`, `tools/Bash`.

use super::frame_id::FrameId;
use std::fmt;
use std::str::FromStr;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    System,
    /// A block of the system prompt, counted from 0.
    SystemBlock(usize),
    Tools,
    Tool(String),
    Frame(FrameId),
    /// Steps of a frame, both counted from 1, both included.
    Steps {
        frame: FrameId,
        from: usize,
        to: usize,
    },
    /// A message of a frame, counted from 0.
    Message {
        frame: FrameId,
        message: usize,
    },
    /// A block of that message, counted from 0.
    Block {
        frame: FrameId,
        message: usize,
        block: usize,
    },
}

/// A text that is no address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotAnAddress;

impl FromStr for Address {
    type Err = NotAnAddress;

    fn from_str(text: &str) -> Result<Address, NotAnAddress> {
        parse(text).ok_or(NotAnAddress)
    }
}

fn parse(text: &str) -> Option<Address> {
    if let Some(tool) = text.strip_prefix("tools/") {
        return (!tool.is_empty()).then(|| Address::Tool(tool.to_owned()));
    }
    let number = |text: &str| text.parse::<usize>().ok().filter(|_| text.bytes().all(|b| b.is_ascii_digit()));
    if let Some(block) = text.strip_prefix("system#") {
        return number(block).map(Address::SystemBlock);
    }
    match text {
        "system" => return Some(Address::System),
        "tools" => return Some(Address::Tools),
        _ => {}
    }
    let from_one = |text: &str| number(text).filter(|&n| n > 0);
    if let Some((frame, steps)) = text.split_once('/') {
        let (from, to) = steps.split_once("..").unwrap_or((steps, steps));
        let (from, to) = (from_one(from)?, from_one(to)?);
        return (from <= to).then_some(Address::Steps { frame: frame.parse().ok()?, from, to });
    }
    if let Some((frame, part)) = text.split_once('#') {
        let frame = frame.parse().ok()?;
        return match part.split_once('.') {
            Some((message, block)) => Some(Address::Block { frame, message: number(message)?, block: number(block)? }),
            None => Some(Address::Message { frame, message: number(part)? }),
        };
    }
    text.parse().ok().map(Address::Frame)
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::System => write!(f, "system"),
            Address::SystemBlock(block) => write!(f, "system#{block}"),
            Address::Tools => write!(f, "tools"),
            Address::Tool(name) => write!(f, "tools/{name}"),
            Address::Frame(frame) => write!(f, "{frame}"),
            Address::Steps { frame, from, to } if from == to => write!(f, "{frame}/{from}"),
            Address::Steps { frame, from, to } => write!(f, "{frame}/{from}..{to}"),
            Address::Message { frame, message } => write!(f, "{frame}#{message}"),
            Address::Block { frame, message, block } => write!(f, "{frame}#{message}.{block}"),
        }
    }
}

/// One of several addresses: `t3,t7` are two, `t2..t5` is a range of frames.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AddressRange {
    One(Address),
    Range(FrameId, FrameId),
}

impl AddressRange {
    /// The frames that it names or lies in; both ends of a range.
    pub fn frames(&self) -> Vec<&FrameId> {
        match self {
            AddressRange::Range(from, to) => vec![from, to],
            AddressRange::One(
                Address::Frame(frame)
                | Address::Steps { frame, .. }
                | Address::Message { frame, .. }
                | Address::Block { frame, .. },
            ) => vec![frame],
            AddressRange::One(_) => Vec::new(),
        }
    }
}

/// Parses the ids that a person wrote. The error is the part that is no address.
pub fn read(ids: &[String]) -> Result<Vec<AddressRange>, String> {
    // A gap between commas is a typing error; an id may be missing there.
    let has_gap = |text: &&String| text.contains(',') && text.split(',').any(|part| part.trim().is_empty());
    if let Some(text) = ids.iter().find(has_gap) {
        return Err(text.clone());
    }
    let parts = ids.iter().flat_map(|text| text.split(',')).map(str::trim).filter(|text| !text.is_empty());
    parts
        .map(|text| {
            if let Some((from, to)) = text.split_once("..")
                && let (Ok(from), Ok(to)) = (from.parse(), to.parse())
            {
                return Ok(AddressRange::Range(from, to));
            }
            text.parse().map(AddressRange::One).map_err(|_| text.to_owned())
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_read_as_they_are_written() {
        for text in [
            "system",
            "system#0",
            "tools",
            "tools/Bash",
            "t1",
            "t12",
            "a1",
            "t3.1",
            "t3/5",
            "t3/5..9",
            "t3.2/1",
            "t3#0",
            "t3#2.1",
            "a1.1#0.2",
        ] {
            assert_eq!(text.parse::<Address>().expect("an address").to_string(), text);
        }
    }

    #[test]
    fn anything_else_is_refused() {
        for text in [
            "",
            "t",
            "t0",
            "t3/",
            "t3/0",
            "t3/5..4",
            "t3/5..",
            "t3#",
            "t3#.1",
            "t3#1.",
            "t-1",
            "t+1",
            "tools/",
            "x",
            "t3 ",
            "t99999999999999999999999",
        ] {
            assert!(text.parse::<Address>().is_err(), "{text}");
        }
    }

    #[test]
    fn lists_and_ranges_are_understood() {
        let read = |text: &str| read(&[text.to_owned()]);
        assert_eq!(read("t3, t7/2").map(|named| named.len()), Ok(2));
        assert_eq!(read("t2..t5"), Ok(vec![AddressRange::Range(FrameId::turn(2), FrameId::turn(5))]));
        assert_eq!(read("t2,nope"), Err("nope".to_owned()));
        assert_eq!(read(""), Ok(vec![]));
        for gap in ["t1,,t2", ",t1", "t1,", "t1, ,t2", ","] {
            assert_eq!(read(gap), Err(gap.to_owned()));
        }
    }
}
