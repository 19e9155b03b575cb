//! Frames and steps, the units that people address. Derived from a path, never stored.

use crate::message::{Block, Kind, Message, Role};

/// A border in a path: before block `block` of message `message`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Border {
    pub message: usize,
    pub block: usize,
}

/// One model message with the results of its calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    pub start: Border,
    pub end: Border,
}

/// A human's message and everything up to the next one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    pub start: Border,
    pub end: Border,
    pub steps: Vec<Step>,
    /// The message with the human's words.
    pub opening: usize,
}

/// The part of one message that lies inside a frame or a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    pub message: usize,
    pub blocks: std::ops::Range<usize>,
}

/// Cuts a path into frames. Every block belongs to exactly one frame.
pub fn frames(path: &[&Message]) -> Vec<Frame> {
    let mut frames: Vec<Frame> = Vec::new();
    for (at, message) in path.iter().enumerate() {
        let here = Border { message: at, block: 0 };
        let opens = match message.role {
            Role::User => message.speaks.map(|block| Border { message: at, block: block as usize }),
            _ => None,
        };
        if let Some(start) = opens {
            let start = match (frames.is_empty(), start.block) {
                (true, _) => Border { message: 0, block: 0 },
                (false, 0) => pull_back(path, start, frames.last()),
                (false, _) => start,
            };
            frames.push(Frame { start, end: start, steps: Vec::new(), opening: at });
        } else if frames.is_empty() {
            frames.push(Frame { start: here, end: here, steps: Vec::new(), opening: at });
        }
        let follows_assistant = at > 0 && path[at - 1].role == Role::Assistant;
        if message.role == Role::Assistant
            && let Some(frame) = frames.last_mut()
            && (!follows_assistant || frame.steps.is_empty())
        {
            frame.steps.push(Step { start: here, end: here });
        }
    }
    close(&mut frames, Border { message: path.len(), block: 0 });
    frames
}

/// Moves the start of a frame before messages in which only the client speaks: some clients announce an attached file,
/// or repeat their instructions, in a message of their own.
fn pull_back(path: &[&Message], start: Border, previous: Option<&Frame>) -> Border {
    let injected = |message: &Message| match message.role {
        Role::User => message.speaks.is_none() && !message.has_results(),
        Role::System => true,
        Role::Assistant | Role::Other => false,
    };
    // A first frame opened only by such messages becomes the human's.
    let floor = previous.map_or(0, |frame| frame.opening + usize::from(path[frame.opening].speaks.is_some()));
    let mut at = start.message;
    while at > floor && injected(path[at - 1]) {
        at -= 1;
    }
    Border { message: at, block: 0 }
}

fn close(frames: &mut Vec<Frame>, end: Border) {
    let mut next = end;
    for frame in frames.iter_mut().rev() {
        frame.end = next;
        let mut step_end = next;
        for step in frame.steps.iter_mut().rev() {
            step.end = step_end;
            step_end = step.start;
        }
        next = frame.start;
    }
    frames.retain(|frame| frame.start < frame.end);
}

/// The parts of the messages between two borders.
pub fn parts(path: &[&Message], start: Border, end: Border) -> Vec<Part> {
    let mut out = Vec::new();
    for (message, facts) in path.iter().enumerate().take(end.message + 1).skip(start.message) {
        let from = if message == start.message { start.block } else { 0 };
        let to = if message == end.message { end.block } else { facts.blocks.len() };
        if from < to || (facts.blocks.is_empty() && message < end.message) {
            out.push(Part { message, blocks: from..to });
        }
    }
    out
}

/// The title of a frame: the human's words.
pub fn title(path: &[&Message], frame: &Frame) -> String {
    let words = path.get(frame.opening).and_then(|message| message.title.as_deref());
    words
        .unwrap_or(match path.get(frame.opening).map(|message| message.role) {
            Some(Role::Assistant) => "(the model speaks first)",
            _ => "(no words)",
        })
        .to_owned()
}

/// The title of a step: its action, or the first words of its text.
pub fn step_title(path: &[&Message], step: &Step) -> String {
    let blocks = step_blocks(path, step);
    if let Some(title) = calls_title(blocks.iter().copied()) {
        return title;
    }
    let text = blocks.iter().find(|block| block.kind == Kind::Text).and_then(|block| block.label.as_deref());
    text.unwrap_or("(no text)").to_owned()
}

/// The first call among these blocks, and the number of further ones.
pub fn calls_title<'b>(blocks: impl Iterator<Item = &'b Block>) -> Option<String> {
    let mut calls = blocks.filter(|block| block.kind == Kind::ToolUse);
    let call = calls.next()?;
    let name = call.tool.as_deref().unwrap_or("tool");
    let label = call.label.as_deref().map(|label| format!(" {label}")).unwrap_or_default();
    let more = calls.count();
    let more = if more > 0 { format!(" (+{more})") } else { String::new() };
    Some(format!("{name}{label}{more}"))
}

fn step_blocks<'a>(path: &[&'a Message], step: &Step) -> Vec<&'a Block> {
    let parts = parts(path, step.start, step.end);
    parts
        .into_iter()
        .filter(|part| path[part.message].role == Role::Assistant)
        .flat_map(|part| path[part.message].blocks.get(part.blocks).unwrap_or_default())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::Key;
    use proptest::prelude::*;

    fn message(role: Role, kinds: &[Kind], speaks: Option<u32>) -> Message {
        let block = |&kind| Block {
            kind,
            at: 0..0,
            chars: 1,
            fixed_tokens: 0,
            tool: None,
            role: Default::default(),
            tool_use_id: None,
            signature: None,
            words: None,
            sums_up: false,
            label: None,
            touches: None,
        };
        Message {
            role,
            key: Key([0; 16]),
            anchors: vec![],
            blocks: kinds.iter().map(block).collect(),
            speaks,
            title: None,
        }
    }
    fn human() -> Message {
        message(Role::User, &[Kind::Reminder, Kind::Text], Some(0))
    }
    fn reminder() -> Message {
        message(Role::User, &[Kind::Reminder], None)
    }
    fn calls() -> Message {
        message(Role::Assistant, &[Kind::Thinking, Kind::ToolUse], None)
    }
    fn says() -> Message {
        message(Role::Assistant, &[Kind::Text], None)
    }
    fn results() -> Message {
        message(Role::User, &[Kind::ToolResult], None)
    }
    fn results_and_text() -> Message {
        message(Role::User, &[Kind::ToolResult, Kind::Text], Some(1))
    }
    fn system() -> Message {
        message(Role::System, &[Kind::Text], None)
    }

    fn cut(path: &[Message]) -> Vec<(usize, usize, usize, usize, usize)> {
        let path: Vec<&Message> = path.iter().collect();
        frames(&path)
            .iter()
            .map(|f| (f.start.message, f.start.block, f.end.message, f.end.block, f.steps.len()))
            .collect()
    }

    #[test]
    fn a_frame_is_a_human_message_with_its_tool_loop() {
        let path = [human(), system(), calls(), results(), says(), human(), says()];
        assert_eq!(cut(&path), [(0, 0, 5, 0, 2), (5, 0, 7, 0, 1)]);
    }

    #[test]
    fn text_typed_while_a_tool_ran_opens_a_frame_inside_the_message() {
        let path = [human(), calls(), results_and_text(), says()];
        assert_eq!(cut(&path), [(0, 0, 2, 1, 1), (2, 1, 4, 0, 1)]);
    }

    #[test]
    fn an_injected_message_belongs_to_the_prompt_it_announces() {
        assert_eq!(cut(&[human(), says(), reminder(), human(), says()]), [(0, 0, 2, 0, 1), (2, 0, 5, 0, 1)]);
        assert_eq!(cut(&[reminder(), human(), says()]), [(0, 0, 3, 0, 1)]);
    }

    #[test]
    fn a_system_message_directly_before_a_prompt_belongs_to_it() {
        let path = [human(), says(), system(), reminder(), human(), says()];
        assert_eq!(cut(&path), [(0, 0, 2, 0, 1), (2, 0, 6, 0, 1)]);
        // Behind the prompt it stays in place.
        assert_eq!(cut(&[human(), system(), says(), human()]), [(0, 0, 3, 0, 1), (3, 0, 4, 0, 0)]);
        assert_eq!(cut(&[human(), system(), human()]), [(0, 0, 1, 0, 0), (1, 0, 3, 0, 0)]);
    }

    #[test]
    fn a_notification_alone_opens_no_frame() {
        assert_eq!(cut(&[human(), says(), reminder(), says()]), [(0, 0, 4, 0, 2)]);
    }

    proptest! {
        #[test]
        fn every_block_lies_in_exactly_one_frame_and_steps_lie_inside_theirs(kinds in proptest::collection::vec(0..7u8, 0..40)) {
            let path: Vec<Message> = kinds.iter().map(|kind| match kind {
                0 => human(), 1 => reminder(), 2 => calls(), 3 => says(), 4 => results(), 5 => results_and_text(), _ => system(),
            }).collect();
            let path: Vec<&Message> = path.iter().collect();
            let mut seen = Vec::new();
            for frame in frames(&path) {
                prop_assert!(frame.start < frame.end);
                for step in &frame.steps {
                    prop_assert!(frame.start <= step.start && step.start < step.end && step.end <= frame.end);
                }
                for part in parts(&path, frame.start, frame.end) {
                    seen.extend(part.blocks.map(|block| (part.message, block)));
                }
            }
            let all: Vec<_> = path.iter().enumerate().flat_map(|(at, m)| (0..m.blocks.len()).map(move |b| (at, b))).collect();
            prop_assert_eq!(seen, all);
        }
    }
}
