//! How people name things: `t3`, `t3/5`, `t3/5..9`, `t3#2`, `t3#2.1`, `system`, `tools/Bash`.

use std::fmt;
use std::str::FromStr;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    System,
    /// A block of the system prompt, counted from 0.
    SystemBlock(usize),
    Tools,
    Tool(String),
    /// A turn, counted from 1.
    Turn(usize),
    /// Steps of a turn, both counted from 1, both included.
    Steps {
        turn: usize,
        from: usize,
        to: usize,
    },
    /// A message of a turn, counted from 0.
    Message {
        turn: usize,
        message: usize,
    },
    /// A block of that message, counted from 0.
    Block {
        turn: usize,
        message: usize,
        block: usize,
    },
}

/// A text that names nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not an id")]
pub struct NotAnAddress(pub String);

impl FromStr for Address {
    type Err = NotAnAddress;

    fn from_str(text: &str) -> Result<Address, NotAnAddress> {
        parse(text).ok_or_else(|| NotAnAddress(text.to_owned()))
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
    let rest = text.strip_prefix('t')?;
    let from_one = |text: &str| number(text).filter(|&n| n > 0);
    if let Some((turn, steps)) = rest.split_once('/') {
        let turn = from_one(turn)?;
        let (from, to) = steps.split_once("..").unwrap_or((steps, steps));
        let (from, to) = (from_one(from)?, from_one(to)?);
        return (from <= to).then_some(Address::Steps { turn, from, to });
    }
    if let Some((turn, part)) = rest.split_once('#') {
        let turn = from_one(turn)?;
        return match part.split_once('.') {
            Some((message, block)) => Some(Address::Block { turn, message: number(message)?, block: number(block)? }),
            None => Some(Address::Message { turn, message: number(part)? }),
        };
    }
    from_one(rest).map(Address::Turn)
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::System => write!(f, "system"),
            Address::SystemBlock(block) => write!(f, "system#{block}"),
            Address::Tools => write!(f, "tools"),
            Address::Tool(name) => write!(f, "tools/{name}"),
            Address::Turn(turn) => write!(f, "t{turn}"),
            Address::Steps { turn, from, to } if from == to => write!(f, "t{turn}/{from}"),
            Address::Steps { turn, from, to } => write!(f, "t{turn}/{from}..{to}"),
            Address::Message { turn, message } => write!(f, "t{turn}#{message}"),
            Address::Block { turn, message, block } => write!(f, "t{turn}#{message}.{block}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_read_as_they_are_written() {
        for text in ["system", "system#0", "tools", "tools/Bash", "t1", "t12", "t3/5", "t3/5..9", "t3#0", "t3#2.1"] {
            assert_eq!(text.parse::<Address>().unwrap().to_string(), text);
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
}
