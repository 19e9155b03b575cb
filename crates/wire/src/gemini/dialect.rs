//! Writes contents of this wire, and applies its provider's rules.

use super::content::{Spelling, part, replaced_response};
use super::part::{Contents, Part};
use super::turns;
use crate::compose::dialect::{Dialect, Element, KeptBlock, MadeBlock, Plan};
use crate::compose::spell::{end_of_members, spliced};
use crate::compose::{Out, Repair, nameless, opaque_pairs};
use ctx_core::content::{Content, WireId};
use ctx_core::links;
use ctx_core::message::{Kind, Message, Role};
use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::{LazyLock, OnceLock};

/// The rules for one request.
#[derive(Default)]
pub(super) struct GeminiDialect {
    /// The tools of the calls, once it is settled which are sent.
    names: OnceLock<Names>,
}

/// The user's message where an edit left the model the first word (G6).
static CONTINUED: LazyLock<Content> = LazyLock::new(|| Content::text("[continued]"));

impl Dialect for GeminiDialect {
    fn check(&self, content: &Content, role: Role) -> Result<(), Repair> {
        let refuse =
            |rule: &'static str, what: &str| Err(Repair::new(rule, format!("a block of ours is left out: {what}")));
        let is_model = role == Role::Assistant;
        match content {
            Content::Text { text } if text.is_empty() || text.trim().is_empty() => refuse("G2", "its text is empty"),
            Content::Reasoning { .. } => refuse("G36", "thoughts are never ours"),
            Content::Call { id: None, .. } => refuse("G13", "nothing tells which result is that of the call"),
            Content::Result { id: None, .. } => refuse("G13", "nothing tells which call the result answers"),
            Content::Call { .. } if !is_model => refuse("G11", "only the model calls functions"),
            Content::Result { .. } | Content::Raw { answers: Some(_), .. } if is_model => {
                refuse("G12", "results answer the model")
            }
            Content::Image { .. } | Content::Document { .. } if is_model => {
                refuse("G2", "only the user shows images and files")
            }
            Content::Raw { wire, .. } if *wire != WireId::Gemini => {
                refuse("G2", "it is JSON of another provider's format")
            }
            Content::Raw { json, .. } if super::content::type_name(json).is_none() => {
                refuse("G2", "it is no part of this format")
            }
            _ => Ok(()),
        }
    }

    fn has_flat_steps(&self) -> bool {
        true
    }

    fn no_system(&self) -> Option<Repair> {
        Some(Repair::new("G1", "a system message of ours is said by the user: the history has no system messages"))
    }

    fn repair(&self, plan: &mut Plan<'_>) {
        opaque_pairs::close(plan, "G17", "a call of the provider's own tool goes with its result");
        nameless::restore_order(plan, "G13");
        if plan.from == 0 {
            begin_with_the_user(plan);
        }
        plan.drop_empty();
        plan.settle();
        nameless::rename_results(plan);
        plan.reaches_back |= plan.from > 0 && !plan.carried && turns::is_checked(plan.input, plan.from);
    }

    fn rewrite(&self, element: &[u8], message: &Message, kept: &[KeptBlock<'_>], plan: &Plan<'_>) -> Vec<Vec<u8>> {
        let content = Contents::read(element);
        let names = self.names.get_or_init(|| Names::of(plan));
        let tool = |id: &str| names.tool(id);
        let spelling = Spelling { tool: &tool, has_ids: names.has_ids };
        let (mut results, mut rest) = (Vec::new(), Vec::new());
        for kept in kept {
            let (is_result, written) = match kept {
                KeptBlock::Own(at) | KeptBlock::Text(at, _) => {
                    let own = content.parts.get(*at).and_then(|span| element.get(span.clone())).unwrap_or_default();
                    let is_result = message.blocks.get(*at).is_some_and(|block| block.kind == Kind::ToolResult);
                    let text = if let KeptBlock::Text(_, text) = kept { Some(*text) } else { None };
                    let id =
                        message.blocks.get(*at).filter(|_| is_result).and_then(|block| block.tool_use_id.as_deref());
                    let own = with_tool(own, id.and_then(tool));
                    (is_result, text.map_or_else(|| own.to_vec(), |text| with_text(&own, text)))
                }
                KeptBlock::Made(content) => (is_result(content), made(content, &spelling)),
            };
            if is_result { &mut results } else { &mut rest }.push(written);
        }
        // Results have a content of their own (G14, G16).
        let lists = [results, rest].into_iter().filter(|list| !list.is_empty());
        match content.list {
            Some(list) => lists
                .map(|parts| {
                    let parts = parts.join(b",".as_slice());
                    [&element[..list.start], b"[", &parts, b"]", &element[list.end..]].concat()
                })
                .collect(),
            None => lists.map(|parts| written(message.role, &parts)).collect(),
        }
    }

    fn elements(&self, role: Role, content: &[&Content], plan: &Plan<'_>) -> Vec<Vec<u8>> {
        let names = self.names.get_or_init(|| Names::of(plan));
        let tool = |id: &str| names.tool(id);
        let spelling = Spelling { tool: &tool, has_ids: names.has_ids };
        let (results, rest): (Vec<&Content>, Vec<&Content>) = content.iter().partition(|content| is_result(content));
        let list = |list: Vec<&Content>| -> Vec<Vec<u8>> {
            list.into_iter().map(|content| made(content, &spelling)).collect()
        };
        let lists = [list(results), list(rest)];
        lists.iter().filter(|list| !list.is_empty()).map(|list| written(role, list)).collect()
    }

    fn polish(&self, elements: Vec<Element>, plan: &Plan<'_>) -> Vec<Element> {
        let elements = turns::join(elements, plan.input);
        // The client's own calls behind settled messages stay as they are.
        if plan.from > 0 { elements } else { turns::sign(elements, plan.input) }
    }

    /// The second part has to know whether calls of the first were signed.
    fn divide(&self, plan: &Plan<'_>, _: usize) -> Option<bool> {
        let is_result = |made: &MadeBlock<'_>| is_result(&made.content);
        let is_plain = !plan.made.iter().any(is_result) && !turns::has_moved_calls(plan);
        is_plain.then(|| turns::is_checked(plan.input, 0))
    }

    fn system(&self, text: &str, _: &[u8]) -> Vec<u8> {
        serde_json::json!({ "text": text }).to_string().into_bytes()
    }

    fn with_tools(&self) -> &'static [&'static str] {
        &["toolConfig", "tool_config"]
    }
}

fn is_result(content: &Content) -> bool {
    content.answers().is_some() || matches!(content, Content::Result { .. })
}

/// A synthetic part.
fn made(content: &Content, spelling: &Spelling<'_>) -> Vec<u8> {
    let part = part(content, spelling);
    match content {
        Content::Raw { answers: Some(id), .. } => with_tool(part.as_bytes(), (spelling.tool)(id)).into_owned(),
        _ => part.into_owned().into_bytes(),
    }
}

/// A synthetic content with these parts.
fn written(role: Role, parts: &[Vec<u8>]) -> Vec<u8> {
    let role: &[u8] = if role == Role::Assistant { b"model" } else { b"user" };
    let parts = parts.join(b",".as_slice());
    [b"{\"role\":\"".as_slice(), role, b"\",\"parts\":[", &parts, b"]}"].concat()
}

/// A response with another text, and without images.
fn with_text(own: &[u8], text: &str) -> Vec<u8> {
    let response = replaced_response(text, false).into_bytes();
    let read = Part::read(own, &(0..own.len()));
    let bare = match read.member_cut(own, "parts") {
        Some(cut) => [&own[..cut.start], &own[cut.end..]].concat(),
        None => own.to_vec(),
    };
    let read = Part::read(&bare, &(0..bare.len()));
    match read.member(&bare, "response") {
        Some(at) => spliced(&bare, vec![(at, response)]),
        None => {
            let (at, comma) = end_of_members(&bare, &read.value());
            let comma: &[u8] = if comma { b"," } else { b"" };
            spliced(&bare, vec![(at..at, [comma, b"\"response\":", &response].concat())])
        }
    }
}

/// A response with the tool name of its call as sent.
fn with_tool(own: &[u8], tool: Option<String>) -> Cow<'_, [u8]> {
    let name = Part::read(own, &(0..own.len())).member(own, "name");
    match (tool, name) {
        (Some(tool), Some(at)) if crate::json::string_value(own, at.clone()).as_deref() != Some(tool.as_str()) => {
            Cow::Owned(
                [&own[..at.start], serde_json::Value::from(tool).to_string().as_bytes(), &own[at.end..]].concat(),
            )
        }
        _ => Cow::Borrowed(own),
    }
}

/// The tools of a request's calls, by id.
struct Names {
    tools: HashMap<Arc<str>, Arc<str>>,
    has_ids: bool,
}

impl Names {
    /// The calls as they are sent.
    fn of(plan: &Plan<'_>) -> Names {
        let blocks = plan.messages().flat_map(|(_, message)| &message.blocks);
        let has_ids = blocks.filter(|block| block.kind == Kind::ToolUse).any(|block| links::own_id(block).is_some());
        Names { tools: nameless::tools(plan), has_ids }
    }

    fn tool(&self, id: &str) -> Option<String> {
        self.tools.get(id).map(|name| name.to_string())
    }
}

/// Ensures that the first turn is the user's (G6), unless the client itself begins with the model.
fn begin_with_the_user(plan: &mut Plan<'_>) {
    let is_said = |role: &Role| !matches!(role, Role::System | Role::Other);
    let own = plan.input.messages.iter().map(|message| message.role).find(is_said);
    let sent = plan.outs.iter().map(|out| out.role).find(is_said);
    if sent != Some(Role::Assistant) || own == Some(Role::Assistant) {
        return;
    }
    let piece = plan.add(&CONTINUED);
    plan.outs.insert(0, Out::ours(Role::User, vec![piece], None));
    plan.repairs.push(Repair::new("G6", "the user says `[continued]` first: a request begins with the user"));
}
