//! New content: texts and JSON written by people.

use super::{Desk, DraftScope, Scope, Target, gone, not_empty};
use crate::ErrorCode;
use crate::content::Content;
use crate::edit::effect::{BlockRef, Effect, NewMessage, NewResult, Why};
use crate::edit::fold::{Unit, ViewUnit};
use crate::edit::operation::Select;
use crate::edit::refusal::Refusal;
use crate::hint;
use crate::hint::{Argument, Command};
use crate::links;
use crate::message::{Kind, Role};
use serde_json::Value;

impl Desk<'_> {
    pub(super) fn edit(
        &self,
        id: &str,
        text: Option<&str>,
        raw: Option<&Value>,
        content: Option<&[Content]>,
        force: bool,
    ) -> Result<Vec<Effect>, Refusal> {
        let targets = self.targets(&[id.to_owned()], &Select::default())?;
        let [target] = targets.as_slice() else {
            return Err(Refusal::new(
                ErrorCode::AmbiguousId,
                format!("`{id}` names {} items.", targets.len()),
                "Edit one at a time.",
            ));
        };
        self.refuse_opaque(target)?;
        let by = match (text, raw, content) {
            (Some(text), None, None) => self.written(target, not_empty(text)?)?,
            (None, Some(raw), None) => self.given(target, raw)?,
            (None, None, Some(content)) => self.neutral(target, content)?,
            _ => {
                return Err(Refusal::new(
                    ErrorCode::NoContent,
                    "No new content was given.",
                    hint!["Use ", Argument::new("text"), " or ", Argument::new("raw"), "."],
                ));
            }
        };
        let New::Content(by) = by else {
            let New::Result(result) = by else { return Err(gone(&target.name)) };
            let stays = |laid: &ViewUnit| {
                self.kind(laid) == Some(Kind::ToolResult) || text.is_some() && !force && self.stays(laid)
            };
            let others: Vec<ViewUnit> = target.units.iter().copied().filter(|laid| !stays(laid)).collect();
            let mut effects = vec![Effect::Results { results: vec![result], summarized: true }];
            // The content beside the result was removed with it.
            if target.scope == Scope::Message && others.iter().any(|laid| laid.covered.is_none()) {
                effects.push(Effect::Replace { why: Why::Edited, covers: self.cover(&others), by: Vec::new() });
            }
            return Ok(effects);
        };
        // Thinking is never edited: it stays in front of the message.
        let kept = |laid: &ViewUnit| self.kind(laid) == Some(Kind::Thinking) && target.scope == Scope::Message;
        let units: Vec<ViewUnit> = target.units.iter().copied().filter(|laid| !kept(laid)).collect();
        if units.is_empty() && !target.units.is_empty() {
            return Err(thinking(&target.name));
        }
        let target = match target.scope {
            Scope::Message => Target { covers: self.cover(&units), units, ..target.clone() },
            _ => target.clone(),
        };
        // A new text keeps the client's notes and settings beside the old one; raw messages replace everything.
        let targets = match (text, target.scope) {
            (Some(_), Scope::Frame | Scope::Steps | Scope::Message) if !force => self.without_staying(vec![target])?,
            _ => vec![target],
        };
        let covers = self.covers(&targets, force)?;
        Ok(vec![Effect::Replace { why: Why::Edited, covers, by }])
    }

    /// Refuses new content for a setting, and for an item of a type that the wire does not know.
    fn refuse_opaque(&self, target: &Target) -> Result<(), Refusal> {
        let source = |laid: &ViewUnit| match laid.unit {
            Unit::Source { message, block } if laid.covered.is_none() => Some((message, block)),
            _ => None,
        };
        let unknown = |(message, _): (usize, Option<usize>)| {
            let message = &self.source.messages[message];
            (message.role == Role::Other).then(|| message.blocks.first()?.label.as_deref()).flatten()
        };
        let setting = |(message, block): (usize, Option<usize>)| {
            let message = &self.source.messages[message];
            message.is_setting(block?).then(|| message.blocks.get(block?)?.label.as_deref()).flatten()
        };
        if !matches!(target.scope, Scope::Block | Scope::Message) {
            return Ok(());
        }
        if let Some(kind) = target.units.iter().filter_map(source).find_map(setting) {
            return Err(Refusal::new(
                ErrorCode::NotText,
                format!("`{}` is of type `{kind}`: only the provider can write its content.", target.name),
                hint!["It is sent as it came. ", Command::Delete.with(target.name.clone()), " removes it."],
            ));
        }
        let Some(kind) = target.units.iter().filter_map(source).find_map(unknown) else { return Ok(()) };
        Err(Refusal::new(
            ErrorCode::NotText,
            format!("`{}` is of type `{kind}`, which ctx does not know; its content cannot be replaced.", target.name),
            hint!["It is sent as it came. ", Command::Delete, " removes it with its frame or step."],
        ))
    }

    pub(crate) fn kind(&self, laid: &ViewUnit) -> Option<Kind> {
        match laid.unit {
            Unit::Source { message, block } => Some(self.source.messages[message].blocks.get(block?)?.kind),
            Unit::Made(_) => None,
        }
    }

    fn written(&self, target: &Target, text: &str) -> Result<New, Refusal> {
        let own = |role| New::Content(vec![NewMessage::text(Some(role), text)]);
        Ok(match target.scope {
            Scope::Frame => own(Role::User),
            Scope::Steps => own(Role::Assistant),
            Scope::Message => {
                let role = self.first_role(&target.units).unwrap_or(Role::User);
                let is_result = |laid: &ViewUnit| laid.covered.is_none() && self.kind(laid) == Some(Kind::ToolResult);
                let results: Vec<&ViewUnit> = target.units.iter().filter(|laid| is_result(laid)).collect();
                match (role, results.as_slice()) {
                    // The answer to a call stays an answer.
                    (Role::User, [result]) => self.new_content(result, text)?,
                    (Role::User, [_, _, ..]) => {
                        return Err(Refusal::new(
                            ErrorCode::ManyResults,
                            format!("`{}` contains {} tool results.", target.name, results.len()),
                            hint![
                                format!("Edit one of them, such as `{}.0`, or use ", target.name),
                                Command::SummarizeResults,
                                "."
                            ],
                        ));
                    }
                    // Inside the message, behind its thinking.
                    _ if self.is_clients(target) => New::Content(vec![NewMessage::text(None, text)]),
                    _ => own(role),
                }
            }
            Scope::Block => match target.units.iter().find(|laid| laid.covered.is_none()) {
                None => return Err(gone(&target.name)),
                Some(laid) => match self.kind(laid) {
                    // Results of the provider's tools are never changed: the text replaces them (A42).
                    Some(Kind::ToolResult) if self.first_role(&target.units) == Some(Role::User) => {
                        self.new_content(laid, text)?
                    }
                    Some(Kind::Thinking) => return Err(thinking(&target.name)),
                    Some(Kind::ToolUse) => {
                        return Err(Refusal::new(
                            ErrorCode::NotText,
                            format!("`{}` is a tool call; text cannot replace it.", target.name),
                            hint!["Pass the block with ", Argument::new("raw"), ", or delete the step."],
                        ));
                    }
                    None if !self.is_clients(target) => own(self.first_role(&target.units).unwrap_or(Role::User)),
                    _ => New::Content(vec![NewMessage::text(None, text)]),
                },
            },
            Scope::System => New::Content(vec![NewMessage::text(None, text)]),
            Scope::Tool => {
                return Err(Refusal::new(
                    ErrorCode::NotText,
                    format!("`{}` is a tool definition.", target.name),
                    hint!["Pass the whole definition with ", Argument::new("raw"), "."],
                ));
            }
        })
    }

    /// Whether everything sent of it is the client's, or inside a client message.
    fn is_clients(&self, target: &Target) -> bool {
        target.units.iter().filter(|laid| laid.covered.is_none()).all(|laid| match laid.unit {
            Unit::Source { .. } => true,
            Unit::Made(made) => self.view.made(made).is_some_and(|made| made.role.is_none()),
        })
    }

    fn new_content(&self, laid: &ViewUnit, text: &str) -> Result<New, Refusal> {
        let Unit::Source { message, block: Some(block) } = laid.unit else { return Err(gone("this result")) };
        let Some(facts) = self.source.messages[message].blocks.get(block) else { return Err(gone("this result")) };
        Ok(New::Result(NewResult {
            of: self.message_ref(message),
            block: BlockRef::of(block as u32, facts),
            text: text.to_owned(),
        }))
    }

    fn given(&self, target: &Target, raw: &Value) -> Result<New, Refusal> {
        let drafted = match target.scope {
            Scope::Block if self.sends_thinking(target) => return Err(thinking(&target.name)),
            Scope::Block => DraftScope::Blocks,
            Scope::System => DraftScope::System,
            Scope::Tool => DraftScope::Tool,
            Scope::Frame | Scope::Steps | Scope::Message => DraftScope::Messages,
        };
        let mut made = self.draft.draft(raw, drafted)?;
        self.link(target, made.iter_mut().flat_map(|made| &mut made.content), drafted == DraftScope::Blocks);
        Ok(New::Content(made))
    }

    /// Links calls and results with those that they replace: in order, the ones with the id that the client gave to
    /// them, and in place of a block also those without an id.
    fn link<'c>(&self, target: &Target, content: impl Iterator<Item = &'c mut Content>, is_block: bool) {
        let mut ids: Vec<(Kind, &str)> = Vec::new();
        for laid in &target.units {
            match laid.unit {
                Unit::Source { message, block } => {
                    let block = block.and_then(|block| self.source.messages[message].blocks.get(block));
                    ids.extend(block.and_then(|block| Some((block.kind, block.tool_use_id.as_deref()?))));
                }
                Unit::Made(made) => {
                    let Some(made) = self.view.made(made) else { continue };
                    ids.extend(made.calls().map(|id| (Kind::ToolUse, id)));
                    ids.extend(made.answers().map(|id| (Kind::ToolResult, id)));
                }
            }
        }
        for content in content {
            let (kind, own) = match content {
                Content::Call { id, .. } | Content::Raw { calls: id @ Some(_), .. } => (Kind::ToolUse, id.as_deref()),
                Content::Result { id, .. } | Content::Raw { answers: id @ Some(_), .. } => {
                    (Kind::ToolResult, id.as_deref())
                }
                _ => continue,
            };
            let is_its = |id: &str| own.map_or(is_block, |own| links::sent_id(id) == Some(own));
            if let Some(at) = ids.iter().position(|(of, id)| *of == kind && is_its(id)) {
                *content = content.clone().linked(Some(ids.remove(at).1));
            }
        }
    }

    fn neutral(&self, target: &Target, content: &[Content]) -> Result<New, Refusal> {
        if target.scope != Scope::Block || content.is_empty() {
            return Err(Refusal::new(
                ErrorCode::BadContent,
                format!("`{}` cannot take this content.", target.name),
                hint!["`content` replaces one block, such as `t3#1.0`; pass messages with ", Argument::new("raw"), "."],
            ));
        }
        let is_thought = content.iter().any(|content| matches!(content, Content::Reasoning { .. }));
        if is_thought || self.sends_thinking(target) {
            return Err(thinking(&target.name));
        }
        content.iter().try_for_each(|content| self.draft.check(content))?;
        let mut content = content.to_vec();
        self.link(target, content.iter_mut(), true);
        Ok(New::Content(vec![NewMessage { role: None, content }]))
    }

    fn sends_thinking(&self, target: &Target) -> bool {
        target.units.iter().any(|laid| laid.covered.is_none() && self.kind(laid) == Some(Kind::Thinking))
    }
}

/// The replacement of a target.
enum New {
    Content(Vec<NewMessage>),
    Result(NewResult),
}

/// Refuses to write or change thinking.
pub fn thinking(name: &str) -> Refusal {
    Refusal::new(
        ErrorCode::Thinking,
        format!("`{name}` is signed thinking, which cannot be changed: rule A54."),
        "You can delete it with its step.",
    )
}
