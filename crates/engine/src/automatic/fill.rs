//! Fills in the texts of a policy's proposals. Results that cannot be filed, or have no text, stay.

use super::candidates::{Candidates, block_of, content_of};
use crate::automatic::By;
use crate::conversation::Conversation;
use crate::ports::{About, ClearedDestination, Removal};
use crate::tool_text::index::KnownNames;
use crate::tool_text::input::LongInput;
use crate::tool_text::result::ResultText;
use ctx_core::SlotId;
use ctx_core::content::{CallInput, Content};
use ctx_core::edit::Operation;
use ctx_core::edit::effect::{Effect, NewMessage, Why};
use ctx_core::edit::fold::{Unit, View, ViewUnit};
use ctx_core::edit::layout::layout;
use ctx_core::edit::operation::Select;
use ctx_core::edit::resolve::{DROPPED, Desk};
use ctx_core::message::Kind;
use ctx_core::policy::stub::{bare_stub, result_stub};
use ctx_core::policy::{Action, CutText, Facts, Item, Look, Mode, Proposal, StubForm};
use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Smaller results, in tokens, are hardly worth a change.
const LEAST: u64 = 200;

/// Proposals with all their texts.
#[derive(Default)]
pub struct FilledProposals {
    pub operations: Vec<Operation>,
    pub reasons: Vec<Option<String>>,
    /// The new contents of results, by call.
    pub texts: HashMap<String, String>,
    /// Calls whose inputs are shortened.
    pub inputs: Vec<Effect>,
    pub calls: HashSet<Arc<str>>,
    pub others: Vec<Operation>,
    /// Why content could not be filed, and stays.
    pub hindrance: Option<String>,
}

impl FilledProposals {
    /// The message that will be changed next: behind the first change, the first with a clearable result or input that
    /// stays. `None` if no sent content changes, unless no such message is known yet (`known`: one is): then it is the
    /// first of all.
    pub fn next(&self, desk: &Desk<'_>, seen: &Candidates, known: bool) -> Option<Option<SlotId>> {
        let goes = |item: &Item| self.texts.contains_key(&*item.call);
        let first = seen.items.iter().position(|item| goes(item) && !item.fresh);
        let first = first.or_else(|| (!known).then_some(0))?;
        let result = |item: &Item| !item.cleared && !goes(item) && item.saves() >= LEAST;
        let input = |item: &Item| item.saves_replaced() >= LEAST && !self.calls.contains(&*item.call);
        // A call is in the message before its result.
        let place = |item: &Item| match (input(item), result(item)) {
            (true, _) => seen.message(&item.call)?.checked_sub(1),
            (false, true) => seen.message(&item.call),
            (false, false) => None,
        };
        let next = seen.items.iter().skip(first).filter(|item| !item.pinned).find_map(place);
        Some(next.and_then(|message| desk.source.slots.get(message).copied()))
    }
}

pub struct Filler<'f> {
    pub by: &'f By<'f>,
    pub facts: Facts<'f>,
    pub about: &'f About<'f>,
    pub conversation: &'f Conversation,
    pub desk: &'f Desk<'f>,
    pub look: &'f Look<'f>,
    pub seen: &'f Candidates,
    pub hindrance: RefCell<Option<String>>,
}

impl Filler<'_> {
    /// `view`: has the remaining texts of results shortened before.
    pub fn fill(&self, proposed: Vec<Proposal>, view: &View<'_>) -> FilledProposals {
        let short: HashSet<Arc<str>> = proposed
            .iter()
            .filter_map(|proposed| match &proposed.what {
                Action::ShortInput { call } | Action::DropReplaced { call } => Some(call.clone()),
                Action::Operation(_) | Action::Bare { .. } | Action::Cut { .. } | Action::DropThinking { .. } => None,
            })
            .collect();
        let has_text = |proposed: &Proposal| match &proposed.what {
            Action::Operation(Operation::SummarizeResults { text, .. }) => text.is_some(),
            what => matches!(what, Action::Cut { .. }),
        };
        let index = &self.conversation.policy.text_index;
        // Only stubs leave out the names that are known elsewhere.
        let mut known = match proposed.iter().all(has_text) {
            true => index.said(),
            false => {
                let whole = self.look.items.iter().filter(|item| item.input.is_some() && !short.contains(&item.call));
                index.known(whole.map(|item| &*item.call), &self.seen.left_of(view))
            }
        };
        let calls = if short.is_empty() { HashMap::new() } else { calls_of(self.desk) };
        let mut filled = FilledProposals::default();
        for Proposal { what, reason } in proposed {
            let operation = match what {
                Action::Operation(operation) => self.operation(operation, &reason, &mut known, &mut filled),
                Action::Bare { call } => self.bare(call, &reason, &mut filled),
                Action::Cut { call, text, .. } => self.cut(call, &text, &reason, &mut filled),
                Action::ShortInput { call } => {
                    let at = calls.get(&call);
                    at.and_then(|at| self.input(&call, at, &reason, &mut known, &mut filled))
                }
                Action::DropReplaced { call } => calls.get(&call).and_then(|at| self.replaced(&call, at, &mut filled)),
                Action::DropThinking { message, block } => self.thinking(message, block, &mut filled),
            };
            if let Some(operation) = operation {
                filled.operations.push(operation);
                filled.reasons.push(Some(reason));
            }
        }
        filled.hindrance = self.hindrance.take();
        filled
    }

    fn operation(
        &self,
        mut operation: Operation,
        reason: &str,
        known: &mut KnownNames<'_>,
        filled: &mut FilledProposals,
    ) -> Option<Operation> {
        match &mut operation {
            Operation::SummarizeResults { select, text, .. } if select.calls.len() == 1 => {
                let call = select.calls.first()?;
                if text.is_none() {
                    let whole = self.seen.source(self.conversation, call)?;
                    let kept = self.keep_result(call, &whole, reason)?;
                    let short = result_stub(whole.words(), kept.as_deref(), self.form(), |name| known.has(name));
                    known.learn(&short);
                    *text = Some(short);
                }
                filled.texts.insert(call.clone(), text.clone().unwrap_or_default());
            }
            Operation::DropResults { ids, select, result: None } if ids.is_empty() && !select.calls.is_empty() => {
                let keeps = |call: &String| self.keep_result(call, &self.seen.source(self.conversation, call)?, reason);
                select.calls.retain(|call| keeps(call).is_some());
                if select.calls.is_empty() {
                    return None;
                }
                filled.texts.extend(select.calls.iter().map(|call| (call.clone(), DROPPED.to_owned())));
            }
            other => filled.others.push(other.clone()),
        }
        Some(operation)
    }

    /// The form of stubs.
    fn form(&self) -> StubForm {
        self.by.settings.rules.stub
    }

    fn bare(&self, call: String, reason: &str, filled: &mut FilledProposals) -> Option<Operation> {
        let kept = self.keep_result(&call, &self.seen.source(self.conversation, &call)?, reason)?;
        Some(summarized(call, bare_stub(kept.as_deref()), filled))
    }

    /// A result without some of its lines. All of it is filed, but not noted: the text names the file.
    fn cut(&self, call: String, cut: &CutText, reason: &str, filled: &mut FilledProposals) -> Option<Operation> {
        let whole = self.seen.source(self.conversation, &call)?;
        let kept = self.keep(&call, whole.file(), FiledContent::Cut, reason)?;
        Some(summarized(call, cut.with(kept.as_deref()), filled))
    }

    fn input(
        &self,
        call: &str,
        (laid, id): &(ViewUnit, String),
        reason: &str,
        known: &mut KnownNames<'_>,
        filled: &mut FilledProposals,
    ) -> Option<Operation> {
        let input = self.input_of(laid)?;
        let long = LongInput::of(&input)?;
        let kept = self.keep(call, (&input, "json"), FiledContent::Input, reason)?;
        let short = long.short(kept.as_deref(), self.form(), &|name| known.has(name));
        known.learn(&short);
        self.with_input(call, (laid, id), &short, filled)
    }

    /// An edit's call without the text that it replaced. That text was in a file, so it is not filed again.
    fn replaced(&self, call: &str, (laid, id): &(ViewUnit, String), filled: &mut FilledProposals) -> Option<Operation> {
        let input = self.input_of(laid)?;
        self.with_input(call, (laid, id), &LongInput::replaced(&input)?.without(), filled)
    }

    /// The input of a client's call.
    fn input_of(&self, laid: &ViewUnit) -> Option<String> {
        match content_of(self.conversation, laid)? {
            Content::Call { input: CallInput::Json(input), .. } => Some(input),
            _ => None,
        }
    }

    fn with_input(
        &self,
        call: &str,
        (laid, id): (&ViewUnit, &str),
        short: &str,
        filled: &mut FilledProposals,
    ) -> Option<Operation> {
        let block = std::str::from_utf8(block_of(self.conversation, laid)?).ok()?;
        let content = vec![self.conversation.wire().with_input(block, short).linked(Some(call))];
        let by = vec![NewMessage { role: None, content: content.clone() }];
        filled.calls.insert(call.into());
        filled.inputs.push(Effect::Replace { why: Why::Edited, covers: self.desk.cover(&[*laid]), by });
        Some(Operation::Edit { id: id.to_owned(), text: None, raw: None, content: Some(content), force: false })
    }

    fn thinking(&self, message: usize, block: usize, filled: &mut FilledProposals) -> Option<Operation> {
        let is_it = |unit: &Unit| *unit == Unit::Source { message, block: Some(block) };
        let (laid, id) = blocks_of(self.desk).find(|(laid, _)| is_it(&laid.unit))?;
        filled.inputs.push(Effect::Replace { why: Why::Deleted, covers: self.desk.cover(&[laid]), by: Vec::new() });
        Some(Operation::Delete { ids: vec![id], select: Select::default(), force: false })
    }

    fn keep_result(&self, call: &str, content: &ResultText, reason: &str) -> Option<Option<String>> {
        self.keep(call, content.file(), FiledContent::Result, reason)
    }

    /// `None`: it cannot be filed.
    fn keep(
        &self,
        call: &str,
        (text, ending): (&str, &str),
        what: FiledContent,
        reason: &str,
    ) -> Option<Option<String>> {
        let is_input = what == FiledContent::Input;
        let item: Option<&Item> = self.look.items.iter().find(|item| &*item.call == call);
        let (tool, tokens) = item.map_or(("", 0), |item| match item.input {
            Some(input) if is_input => (&*item.tool, input.tokens),
            _ => (&*item.tool, item.tokens),
        });
        let keeping = match self.by.settings.mode {
            Mode::On if what != FiledContent::Cut => ClearedDestination::Noted,
            Mode::On | Mode::Ask => ClearedDestination::Filed,
            Mode::Observe | Mode::Off => ClearedDestination::Nowhere,
        };
        let fact = (self.facts)(call);
        let asked = fact.path.or(fact.command).unwrap_or_default();
        let by_hand = self.by.by_hand.map(|said| format!("{said}; {reason}"));
        let reason = by_hand.as_deref().unwrap_or(reason);
        let removed = (&Removal { call, is_input, tool, text, ending, tokens, reason }, asked);
        let kept = self.by.editor.keep(self.about, self.by.settings, removed, keeping);
        let stays = |why: &String| {
            tracing::debug!(conversation = %self.about.conversation, %call, %why, "something stays, for it cannot be kept elsewhere");
            self.hindrance.replace(Some(why.clone()));
        };
        kept.inspect_err(stays).ok()
    }
}

/// The content of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FiledContent {
    Result,
    Input,
    /// A result of which lines stay.
    Cut,
}

fn summarized(call: String, text: String, filled: &mut FilledProposals) -> Operation {
    filled.texts.insert(call.clone(), text.clone());
    let select = Select { calls: vec![call], ..Select::default() };
    Operation::SummarizeResults { ids: Vec::new(), select, result: None, text: Some(text) }
}

/// The client's blocks of a conversation that are sent: their places and ids.
fn blocks_of<'d>(desk: &'d Desk<'_>) -> impl Iterator<Item = (ViewUnit, String)> + 'd {
    desk.view.frames.iter().filter(|frame| !frame.pinned).flat_map(|frame| {
        let layout = layout(desk.view, frame, desk.source.messages);
        let mut blocks = Vec::new();
        for group in &layout.groups {
            let units = layout.units.get(group.units.clone()).unwrap_or_default();
            for laid in units.iter().filter(|laid| laid.covered.is_none()) {
                if let Unit::Source { block: Some(block), .. } = laid.unit {
                    blocks.push((*laid, format!("{}#{}.{block}", frame.id, group.number)));
                }
            }
        }
        blocks
    })
}

/// The calls of a conversation: their places and ids.
fn calls_of(desk: &Desk<'_>) -> HashMap<Arc<str>, (ViewUnit, String)> {
    let call = |laid: &ViewUnit| {
        let Unit::Source { message, block: Some(block) } = laid.unit else { return None };
        let facts = desk.source.messages.get(message)?.blocks.get(block)?;
        facts.tool_use_id.clone().filter(|_| facts.kind == Kind::ToolUse)
    };
    blocks_of(desk).filter_map(|(laid, id)| Some((call(&laid)?, (laid, id)))).collect()
}
