//! Resolves operations into effects, or into refusals with a hint. Changes nothing.

mod arrange;
mod content;
mod stays;
mod superseded;
mod target;

pub use content::thinking;
pub use target::{Scope, Target};

pub use super::effect::DROPPED;
use super::effect::{BlockRef, Cover, Effect, EffectId, MessageRef, NewMessage, NewResult, Why};
use super::fold::{Source, Unit, View, ViewUnit};
use super::operation::{Operation, Select};
use super::refusal::Refusal;
use crate::ErrorCode;
use crate::content::Content;
use crate::fast_map::NameSet;
use crate::hint;
use crate::hint::{Argument, Command};
use crate::links;
use crate::message::{Kind, Role};
use serde_json::Value;
use std::collections::HashSet;

/// The start of a compacted part.
pub const SUMMARY: &str = "[Summary of an earlier part of this conversation]";

/// The start of the text that replaces offloaded content.
pub const OFFLOADED: &str = "[Offloaded to a file to save context:";
/// The same if no file has the content.
pub const OFFLOADED_TO_STORE: &str = "[Offloaded to save context:";

/// Whether a text replaces offloaded content.
pub fn is_offloaded(text: &str) -> bool {
    text.starts_with(OFFLOADED) || text.starts_with(OFFLOADED_TO_STORE)
}

/// The state that names are resolved against.
pub struct Desk<'a> {
    pub view: &'a View<'a>,
    pub source: &'a Source<'a>,
    /// Converts estimates to tokens.
    pub scale: &'a dyn Fn(f64) -> u64,
    /// The reason to keep a block of the system prompt, for protected blocks.
    pub protected: &'a [Option<&'static str>],
    /// The estimates of the system prompt's blocks, and of the tools.
    pub system_weights: &'a [f64],
    pub tool_weights: &'a [f64],
    /// The number of the next added frame.
    pub next_added: u32,
    /// Reads JSON written by a person.
    pub draft: &'a dyn Draft,
    /// The messages that the provider's summary goes into: it reads nothing before them.
    pub summed_up: Vec<usize>,
}

/// Reads the JSON of a wire.
pub trait Draft {
    /// Turns JSON written by a person into content, or refuses it if the wire cannot send it.
    fn draft(&self, raw: &Value, drafted: DraftScope) -> Result<Vec<NewMessage>, Refusal>;

    /// Refuses content that the wire cannot send in a client's message.
    fn check(&self, content: &Content) -> Result<(), Refusal>;
}

/// The kind of JSON that a person writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DraftScope {
    /// Whole messages.
    Messages,
    /// Blocks for a client message.
    Blocks,
    /// Texts for the system prompt.
    System,
    /// A tool definition.
    Tool,
}

impl Desk<'_> {
    /// Resolves an operation. `offload` and `import` need files and other conversations, so the engine resolves them.
    pub fn effects(&self, operation: &Operation) -> Result<Vec<Effect>, Refusal> {
        match operation {
            Operation::Delete { ids, select, force } => {
                let targets = self.targets(&self.still_there(ids, select)?, select)?;
                let targets = if *force { targets } else { self.without_staying(targets)? };
                let covers = self.covers(&targets, *force)?;
                Ok(vec![Effect::Replace { why: Why::Deleted, covers, by: Vec::new() }])
            }
            Operation::Edit { id, text, raw, content, force } => {
                self.edit(id, text.as_deref(), raw.as_ref(), content.as_deref(), *force)
            }
            Operation::Compact { ids, select, text } => {
                let targets = self.without_staying(self.targets(ids, select)?)?;
                let text = not_empty(text.as_deref().unwrap_or_default())?;
                self.compact(&targets, Why::Compacted, &format!("{SUMMARY}\n{text}"))
            }
            Operation::Restore { ids } => self.restore(ids),
            Operation::DropResults { ids, select, result } => self.results(ids, select, result.as_deref(), None),
            Operation::SummarizeResults { ids, select, result, text } => {
                self.results(ids, select, result.as_deref(), Some(not_empty(text.as_deref().unwrap_or_default())?))
            }
            Operation::Move { ids, to } => self.shift(ids, to),
            Operation::Add { text, role, to, title } => {
                let role = match role {
                    Role::User | Role::Assistant => *role,
                    _ => {
                        return Err(Refusal::new(
                            ErrorCode::BadRole,
                            "The role of a new frame must be `user` or `assistant`.",
                            hint!["Omit ", Argument::new("role"), " to use `user`."],
                        ));
                    }
                };
                let message = NewMessage::text(Some(role), not_empty(text)?);
                self.insert(vec![message], to, title.clone())
            }
            Operation::Combine { ids, after } => self.combine(ids, after.as_deref()),
            Operation::Split { id, at, at_step, each_step } => self.split(id, at, at_step, *each_step),
            Operation::Retitle { id, title, summary, .. } => self.retitle(id, title, summary),
            Operation::Pin { ids } => self.pin(ids, true),
            Operation::Unpin { ids } => self.pin(ids, false),
            Operation::Offload { .. } | Operation::Import { .. } => Err(Refusal::new(
                ErrorCode::Unsupported,
                format!("`{}` is not supported here.", operation.name()),
                "This is a bug; please report it.",
            )),
        }
    }

    /// The ids with content left to delete.
    fn still_there(&self, ids: &[String], select: &Select) -> Result<Vec<String>, Refusal> {
        self.named(ids)?;
        let mut there = Vec::new();
        let mut nothing = None;
        for id in ids.iter().flat_map(|ids| ids.split(',')).map(str::trim).filter(|id| !id.is_empty()) {
            let id = id.to_owned();
            match self.targets(std::slice::from_ref(&id), &Select::default()) {
                Err(refusal) if refusal.code == ErrorCode::Gone && select.is_empty() => nothing = Some(refusal.message),
                Err(refusal) if refusal.code != ErrorCode::Gone => return Err(refusal),
                _ => there.push(id),
            }
        }
        match nothing {
            Some(message) if there.is_empty() => Err(Refusal {
                hint: hint![Command::History, " shows the commit that removed it; ", Command::Revert, " restores it."],
                ..Refusal::nothing(message)
            }),
            _ => Ok(there),
        }
    }

    /// The covers that remove these targets.
    pub fn covers(&self, targets: &[Target], force: bool) -> Result<Vec<Cover>, Refusal> {
        let mut covers = Vec::new();
        let mut spared = Vec::new();
        for target in targets {
            for cover in &target.covers {
                match cover {
                    Cover::System { at, .. } if !force => match self.protected.get(*at as usize).copied().flatten() {
                        // Named alone, it is refused; as part of `system`, it is skipped.
                        Some(why) if target.covers.len() == 1 => return Err(protected(&[(*at, why)])),
                        Some(why) => spared.push((*at, why)),
                        None => covers.push(cover.clone()),
                    },
                    _ => covers.push(cover.clone()),
                }
            }
        }
        let nothing_left = covers.iter().all(|cover| self.is_out(cover));
        match covers.is_empty() {
            _ if nothing_left && !spared.is_empty() => Err(protected(&spared)),
            true => Err(gone(&targets.iter().map(|target| target.name.clone()).collect::<Vec<_>>().join(", "))),
            false => Ok(covers),
        }
    }

    /// Replaces all targets with one message at the place of the first.
    pub fn compact(&self, targets: &[Target], why: Why, text: &str) -> Result<Vec<Effect>, Refusal> {
        if let Some(target) = targets.iter().find(|target| matches!(target.scope, Scope::System | Scope::Tool)) {
            return Err(Refusal::new(
                ErrorCode::NotATurn,
                format!("`{}` is not part of the conversation, so it cannot be {}.", target.name, why.name()),
                hint![Command::Edit, " changes its text, ", Command::Delete, " removes it."],
            ));
        }
        let by = vec![NewMessage::text(Some(Role::User), text)];
        Ok(vec![Effect::Replace { why, covers: self.covers(targets, false)?, by }])
    }

    fn restore(&self, ids: &[String]) -> Result<Vec<Effect>, Refusal> {
        let mut effects = Vec::new();
        for target in self.named(ids)? {
            let offloads = |id: &EffectId| match self.view.effect(*id) {
                Some(Effect::Replace { why: Why::Offloaded, .. }) => true,
                Some(Effect::Results { results, .. }) => results.iter().any(|result| is_offloaded(&result.text)),
                _ => false,
            };
            let touching = target.units.iter().flat_map(|laid| [laid.covered, laid.result.map(|(id, _)| id)]);
            let found: Vec<EffectId> = touching.flatten().filter(offloads).collect();
            if found.is_empty() {
                return Err(Refusal::new(
                    ErrorCode::NotOffloaded,
                    format!("Nothing of `{}` is offloaded.", target.name),
                    hint![Command::List, " shows the state of each frame; ", Command::Undo, " undoes other edits."],
                ));
            }
            for id in found {
                if !effects.contains(&id) {
                    effects.push(id);
                }
            }
        }
        Ok(vec![Effect::Restore { effects }])
    }

    fn results(
        &self,
        ids: &[String],
        select: &Select,
        result: Option<&str>,
        text: Option<&str>,
    ) -> Result<Vec<Effect>, Refusal> {
        let text_or_dropped = text.unwrap_or(DROPPED);
        let wanted = self.wanted_results(ids, select, result)?;
        // Results that already have this text need no change.
        let is_so = |laid: &ViewUnit| self.view.new_result(laid) == Some(text_or_dropped);
        let results: Vec<NewResult> = wanted
            .iter()
            .filter(|(laid, ..)| !is_so(laid))
            .map(|(_, of, block)| NewResult { of: *of, block: block.clone(), text: text_or_dropped.to_owned() })
            .collect();
        if results.is_empty() {
            let asked = if ids.is_empty() { "the conversation".to_owned() } else { format!("`{}`", ids.join(", ")) };
            if !wanted.is_empty() {
                let so = if text.is_some() { "have this text" } else { "are dropped" };
                return Err(Refusal::nothing(format!("All matching tool results in {asked} {so} already.")));
            }
            return Err(Refusal::new(
                ErrorCode::NoResults,
                format!("No tool result in {asked} matches."),
                hint![Command::Steps, " shows the calls of each frame."],
            ));
        }
        if text.is_some() && result.is_none() && wanted.len() > 1 {
            return Err(many_results(wanted.len()));
        }
        Ok(vec![Effect::Results { results, summarized: text.is_some() }])
    }

    /// The selected tool results, whatever their current content.
    pub fn wanted_results(
        &self,
        ids: &[String],
        select: &Select,
        result: Option<&str>,
    ) -> Result<Vec<(ViewUnit, MessageRef, BlockRef)>, Refusal> {
        // The size filter applies to each result, not to its container.
        let around = Select { older_than: select.older_than, ..Select::default() };
        if ids.is_empty() && select.is_empty() && result.is_none() {
            return Err(target::nothing_named());
        }
        let units: Vec<ViewUnit> = match ids {
            [] => {
                let frames = self.frames_of(&around, result.is_some());
                frames.flat_map(|at| self.view.units(&self.view.frames[at], self.source.messages)).collect()
            }
            ids => self.targets(ids, &around)?.into_iter().flat_map(|target| target.units).collect(),
        };
        let calls: HashSet<&str> = select.calls.iter().map(String::as_str).collect();
        let mut wanted = Vec::new();
        let superseded = if select.superseded { self.superseded() } else { NameSet::default() };
        for laid in units.iter().filter(|laid| laid.covered.is_none()) {
            let Unit::Source { message, block: Some(block) } = laid.unit else { continue };
            let facts = self.source.messages[message];
            let Some(found) = facts.blocks.get(block) else { continue };
            let id = found.tool_use_id.as_deref();
            let is_wanted = found.kind == Kind::ToolResult
                && facts.role == Role::User
                && result.is_none_or(|wanted| id == Some(wanted) || links::own_id(found) == Some(wanted))
                && (calls.is_empty() || id.is_some_and(|id| calls.contains(id)))
                && select.tool.as_deref().is_none_or(|tool| self.tool_of(id).is_some_and(|name| name == tool))
                && (!select.superseded || id.is_some_and(|id| superseded.contains(id)))
                && select.larger_than.is_none_or(|most| (self.scale)(self.weigh(laid)) > most);
            if is_wanted {
                wanted.push((*laid, self.message_ref(message), BlockRef::of(block as u32, found)));
            }
        }
        Ok(wanted)
    }

    /// The tool of the call with this id.
    fn tool_of(&self, id: Option<&str>) -> Option<&str> {
        let id = id?;
        self.source
            .messages
            .iter()
            .flat_map(|message| &message.blocks)
            .find(|block| block.kind == Kind::ToolUse && block.tool_use_id.as_deref() == Some(id))
            .and_then(|block| block.tool.as_deref())
    }
}

/// Refuses JSON that a wire cannot send. `place`: the position in it, with a leading space.
pub fn bad_json(what: &str, place: &str) -> Refusal {
    Refusal::new(
        ErrorCode::BadContent,
        format!("The raw JSON cannot be sent: {what}{place}."),
        hint![Command::Show.with("ID --raw"), " shows the expected form."],
    )
}

/// Refuses a text without a word.
pub fn not_empty(text: &str) -> Result<&str, Refusal> {
    if text.trim().is_empty() {
        return Err(Refusal::new(
            ErrorCode::Empty,
            "The new text is empty, and the provider refuses empty text: rule A27.",
            hint!["Write some text, or use ", Command::Delete, "."],
        ));
    }
    Ok(text)
}

/// Refuses one text for several results.
fn many_results(count: usize) -> Refusal {
    Refusal::new(
        ErrorCode::ManyResults,
        format!("One text cannot replace {count} tool results: each belongs to its own call."),
        hint![
            "Name one with ",
            Argument::new("result"),
            ", or omit ",
            Argument::new("text"),
            " to give each its own summary."
        ],
    )
}

fn protected(blocks: &[(u32, &str)]) -> Refusal {
    let told: Vec<String> = blocks.iter().map(|(at, why)| format!("`system#{at}` is protected: {why}.")).collect();
    Refusal::new(
        ErrorCode::Protected,
        told.join(" "),
        hint!["To remove it anyway, repeat with ", Argument::new("force"), "."],
    )
}

fn gone(name: &str) -> Refusal {
    Refusal::new(
        ErrorCode::Gone,
        format!("`{name}` was already removed."),
        hint![Command::History, " shows the commit that removed it; ", Command::Revert, " restores it."],
    )
}

#[cfg(test)]
mod tests;
