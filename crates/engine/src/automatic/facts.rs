//! Facts about calls that their results do not contain.

use super::candidates::Candidates;
use crate::conversation::Conversation;
use ctx_core::edit::fold::{Segment, View};
use ctx_core::policy::Fact;
use std::ops::Range;

/// The places of the finished phases, and the newest frame.
pub struct Places<'c> {
    conversation: &'c Conversation,
    seen: &'c Candidates,
    /// Each finished phase with its range of messages and its name; then the phase names of each message.
    phases: Vec<(Range<usize>, &'c str)>,
    names: Vec<Vec<&'c str>>,
    newest: usize,
}

impl<'c> Places<'c> {
    pub fn of(conversation: &'c Conversation, seen: &'c Candidates, view: &View<'_>) -> Places<'c> {
        let path: Vec<_> = conversation.messages.tree.path().map(|slot| slot.id).collect();
        let ended = conversation.policy.phases.all().iter();
        let phases: Vec<_> = ended.filter_map(|phase| Some((phase.messages(&path)?, phase.name.as_str()))).collect();
        let names = match phases.is_empty() {
            true => Vec::new(),
            false => (0..path.len()).map(|at| names_at(&phases, at)).collect(),
        };
        let newest = view.frames.last().and_then(|frame| {
            frame.segments.iter().find_map(|segment| match segment {
                Segment::Source(range) if !range.is_empty() => Some(view.place(range.start).0),
                Segment::Source(_) | Segment::Made(..) => None,
            })
        });
        Places { conversation, seen, phases, names, newest: newest.unwrap_or(0) }
    }

    pub fn fact(&self, call: &str) -> Fact<'_> {
        let message = self.seen.message(call);
        let (path, command) = self.conversation.policy.text_index.call(call);
        let phases = message.filter(|_| !self.phases.is_empty()).and_then(|message| self.names.get(message));
        Fact {
            path,
            command,
            is_done: message.is_some_and(|message| message < self.newest),
            phases: phases.map(Vec::as_slice).unwrap_or_default(),
        }
    }
}

fn names_at<'c>(phases: &[(Range<usize>, &'c str)], at: usize) -> Vec<&'c str> {
    phases.iter().filter(|(messages, _)| messages.contains(&at)).map(|(_, name)| *name).collect()
}
