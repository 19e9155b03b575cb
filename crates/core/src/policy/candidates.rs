//! Input to a policy: the tool results of a request as it would be sent.

use super::cut::CutKind;
use super::trim::Trims;
use crate::edit::fold::{Unit, ViewUnit};
use crate::edit::resolve::Desk;
use crate::fast_map::NameMap;
use crate::key::Key;
use crate::message::{Block, How, Kind, Role};
use crate::tool::ToolRole;
use ctx_models::Rates;
use std::sync::Arc;

/// A conversation just before a request, as it would be sent unedited.
#[derive(Debug, Clone, Default)]
pub struct Look<'t> {
    /// The tool results, oldest first.
    pub items: Vec<Item>,
    /// Tokens of the whole request, including system prompt and tools.
    pub tokens: u64,
    /// Tokens of the model's window.
    pub window: u64,
    /// Answers of the model so far.
    pub steps: usize,
    /// The provider's cache has expired: everything will be written again.
    pub cold: bool,
    /// Cache prices in input tokens.
    pub rates: Rates,
    /// Thinking that is bound to everything before it, oldest first: a change before it removes it.
    pub thinking: Vec<Thought>,
    /// Where the provider's cache certainly holds the request; by default, everywhere.
    pub held: PlaceFinder<'t>,
    /// The price that an edit may have, in input tokens; `None`: any.
    pub budget: Option<f64>,
    /// The texts of the results.
    pub texts: Texts<'t>,
    /// The trims that the settings allow.
    pub trims: Trims,
}

/// A block of thinking.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Thought {
    pub message: usize,
    pub block: usize,
    pub tokens: u64,
    /// Tokens before it.
    pub before: u64,
    /// Its answer, counted from 0.
    pub step: usize,
    /// A person has restored it: it goes only with a change before it.
    pub kept: bool,
}

/// The places up to which the provider's cache certainly holds a request.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum CachedPlaces {
    /// Anywhere: the cache finds the longest known beginning.
    #[default]
    Everywhere,
    /// In ascending order.
    At(Vec<CachedPlace>),
}

/// A place up to which the cache holds a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CachedPlace {
    /// The estimated tokens before it: comparable to those before a cut.
    pub before: u64,
    /// The tokens that are read from the cache there, as counted by the provider if it has.
    pub tokens: u64,
}

impl CachedPlaces {
    /// The tokens that are read from the cache if nothing changes before this place.
    pub fn before(&self, place: u64) -> u64 {
        match self {
            CachedPlaces::Everywhere => place,
            CachedPlaces::At(places) => {
                places.iter().rev().find(|held| held.before <= place).map_or(0, |held| held.tokens)
            }
        }
    }
}

/// Finds the places. Asked only if an edit is priced, which few requests need.
#[derive(Clone, Copy, Default)]
pub struct PlaceFinder<'t>(pub Option<&'t dyn Fn() -> CachedPlaces>);

impl PlaceFinder<'_> {
    pub fn places(&self) -> CachedPlaces {
        self.0.map_or_else(CachedPlaces::default, |places| places())
    }
}

impl std::fmt::Debug for PlaceFinder<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.places().fmt(f)
    }
}

/// Reads the text of a result as it would be sent, by the id of its call.
#[derive(Clone, Copy, Default)]
pub struct Texts<'t>(pub Option<&'t Teller<'t>>);

/// Reads the text of a call's result.
pub type Teller<'t> = dyn Fn(&str) -> Option<Words> + 't;

/// The text in a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Words {
    pub text: String,
    /// The result contains nothing else, such as an image.
    pub is_all: bool,
}

impl From<String> for Words {
    fn from(text: String) -> Words {
        Words { text, is_all: true }
    }
}

impl std::fmt::Debug for Texts<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.0.is_some() { "Texts" } else { "no texts" })
    }
}

/// Tokens of a placeholder for a cleared result.
const LEFT: u64 = 50;

/// A tool result.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Item {
    /// The id of its call.
    pub call: Arc<str>,
    pub tool: Arc<str>,
    pub role: ToolRole,
    /// The file that the call read or changed, if any.
    pub file: Option<Key>,
    /// The call changed that file.
    pub changes: bool,
    pub tokens: u64,
    /// Tokens before it.
    pub before: u64,
    /// The answer that made the call, counted from 0.
    pub step: usize,
    /// Tokens of its stub.
    pub left: u64,
    /// Its content was already removed or replaced.
    pub cleared: bool,
    /// It was never sent to the provider, so changing it costs no cache and no thinking.
    pub fresh: bool,
    /// It stays: its frame is pinned, or the settings protect it.
    pub pinned: bool,
    /// The settings release it: it counts as old as the conversation.
    pub released: bool,
    /// It is a read of a file that was read again, or changed, later.
    pub superseded: bool,
    /// The input of its call; none if it was already shortened.
    pub input: Option<Input>,
    /// The settings cut it to so many tokens if it is longer.
    pub cut: Option<(CutKind, u64)>,
}

/// The input of a call.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Input {
    pub tokens: u64,
    /// Tokens before it.
    pub before: u64,
    /// Tokens left after shortening.
    pub left: u64,
    /// Tokens left without the text that the call replaced, if it is finished.
    pub unreplaced: u64,
}

impl Item {
    /// The answer from which its age counts; for a released result, the first.
    pub fn counted_from(&self) -> usize {
        if self.released { 0 } else { self.step }
    }

    /// Tokens that shortening it saves.
    pub fn saves(&self) -> u64 {
        self.tokens.saturating_sub(self.left)
    }

    /// Tokens that its call has of replaced text.
    pub fn saves_replaced(&self) -> u64 {
        self.input.map_or(0, |input| input.tokens.saturating_sub(input.unreplaced))
    }
}

impl Input {
    /// Whether shortening it saves enough.
    pub fn is_worth(&self, least: u64) -> bool {
        self.tokens >= self.left + least
    }
}

impl Look<'_> {
    /// The text of a result without other content.
    pub fn text(&self, call: &str) -> Option<String> {
        self.words(call).filter(|words| words.is_all).map(|words| words.text)
    }

    /// The text in a result.
    pub fn words(&self, call: &str) -> Option<Words> {
        self.texts.0.and_then(|text| text(call))
    }

    /// The earlier view of a result's file, unchanged since, whose text is the one that it shows.
    pub(super) fn view_before(&self, item: &Item, is_it: impl Fn(&str) -> bool) -> Option<&Item> {
        let of_file = self.items.iter().rev().filter(|other| other.file.is_some() && other.file == item.file);
        let earlier = of_file.filter(|other| other.call != item.call && other.step <= item.step);
        let mut unchanged = earlier.take_while(|other| !other.changes).filter(|other| !other.cleared && !other.fresh);
        unchanged.find(|other| self.text(&other.call).is_some_and(|text| is_it(&text)))
    }

    pub(super) fn pin(&mut self, calls: &[Arc<str>]) {
        self.items.iter_mut().filter(|item| calls.contains(&item.call)).for_each(|item| item.pinned = true);
    }

    /// Results that are neither cleared nor pinned.
    pub fn whole(&self) -> impl DoubleEndedIterator<Item = &Item> {
        self.items.iter().filter(|item| !item.cleared && !item.pinned)
    }

    /// The age of a result in answers.
    pub fn age(&self, item: &Item) -> usize {
        self.steps.saturating_sub(item.counted_from())
    }
}

/// A call of a client's message, its answer, and its input if that is sent.
struct MadeCall<'b> {
    block: &'b Block,
    step: usize,
    input: Option<Input>,
}

/// The content of a request as it would be sent.
#[derive(Default)]
pub struct SentContent {
    /// The tool results, each with its unit and the index of its frame.
    pub items: Vec<(Item, ViewUnit, usize)>,
    pub thinking: Vec<Thought>,
    /// The tokens before each message.
    pub messages: Vec<(usize, u64)>,
    /// The estimate of the whole request.
    pub estimate: f64,
}

impl Desk<'_> {
    /// The content of the request, given the estimate of the content `around` the messages.
    pub fn items(&self, around: f64) -> SentContent {
        let messages = self.source.messages;
        let mut units = Vec::with_capacity(2 * messages.len());
        units.extend(self.sent());
        let superseded = self.superseded_among(units.iter().map(|(_, laid)| laid));
        let mut calls: NameMap<&str, MadeCall<'_>> = NameMap::default();
        calls.reserve(messages.len() / 2);
        let mut steps = vec![0; messages.len()];
        let answers = messages.iter().enumerate().filter(|(_, message)| message.role == Role::Assistant);
        for (step, (at, message)) in answers.enumerate() {
            steps[at] = step;
            let called = message.blocks.iter().filter(|block| block.kind == Kind::ToolUse);
            let made = |block| MadeCall { block, step, input: None };
            calls.extend(called.filter_map(|block| Some((block.tool_use_id.as_deref()?, made(block)))));
        }
        let mut sent = SentContent { estimate: around, ..SentContent::default() };
        sent.items.reserve(messages.len() / 2);
        sent.messages.reserve(messages.len());
        for (frame, laid) in units {
            let (weight, before) = (self.view.weigh_sent(&laid, messages), sent.estimate);
            sent.estimate += weight;
            let Unit::Source { message: at, block: Some(number) } = laid.unit else { continue };
            let Some(message) = messages.get(at) else { continue };
            let Some(block) = message.blocks.get(number) else { continue };
            let (tokens, before) = (|| (self.scale)(weight), || (self.scale)(before));
            if sent.messages.last().is_none_or(|(last, _)| *last != at) {
                sent.messages.push((at, before()));
            }
            match block.kind {
                Kind::Thinking => {
                    let tokens = tokens();
                    if tokens > 0 {
                        let step = steps.get(at).copied().unwrap_or_default();
                        let (message, block, before) = (at, number, before());
                        sent.thinking.push(Thought { message, block, tokens, before, step, kept: false });
                    }
                }
                Kind::ToolUse => {
                    if let Some(call) = block.tool_use_id.as_deref().and_then(|call| calls.get_mut(call)) {
                        let tokens = tokens();
                        call.input = Some(Input { tokens, before: before(), left: tokens, unreplaced: tokens });
                    }
                }
                Kind::ToolResult if message.role == Role::User => {
                    let Some(id) = &block.tool_use_id else { continue };
                    let Some(call) = calls.get_mut(&**id) else { continue };
                    let item = Item {
                        call: id.clone(),
                        tool: call.block.tool.clone().unwrap_or_default(),
                        role: call.block.role,
                        file: call.block.touches.as_ref().map(|touch| touch.file),
                        changes: call.block.touches.as_ref().is_some_and(|touch| touch.how == How::Change),
                        tokens: tokens(),
                        before: before(),
                        step: call.step,
                        left: LEFT,
                        cleared: laid.result.is_some(),
                        fresh: false,
                        pinned: self.view.frames[frame].pinned,
                        released: false,
                        superseded: superseded.contains(&**id),
                        input: call.input.take(),
                        cut: None,
                    };
                    sent.items.push((item, laid, frame));
                }
                _ => {}
            }
        }
        sent
    }
}
