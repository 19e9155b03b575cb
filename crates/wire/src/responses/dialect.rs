//! Writes items of this wire, and applies its provider's rules.

use super::cache::BREAKPOINT;
use super::content::{is_part, part, result};
use super::item::{Item, Sort};
use super::rewrite::Rewrite;
use super::{families, ids, ties};
use crate::compose::dialect::{Dialect, Element, KeptBlock, Plan};
use crate::compose::{Input, Out, Repair, opaque_pairs};
use ctx_core::content::{Content, WireId};
use ctx_core::message::{Message, Role};
use serde_json::json;

pub(super) struct ResponsesDialect;

impl Dialect for ResponsesDialect {
    fn check(&self, content: &Content, role: Role) -> Result<(), Repair> {
        let refuse =
            |rule: &'static str, what: &str| Err(Repair::new(rule, format!("a block of ours is left out: {what}")));
        let is_assistant = role == Role::Assistant;
        match content {
            Content::Text { text } if text.trim().is_empty() => refuse("X3", "its text is empty"),
            Content::Reasoning { .. } => refuse("R47", "reasoning is never ours"),
            Content::Call { id: None, .. } => refuse("R14", "a call needs an id"),
            Content::Result { id: None, .. } => refuse("R15", "a result names its call"),
            Content::Call { .. } if !is_assistant => refuse("R14", "only the assistant calls tools"),
            Content::Result { .. } if role != Role::User => refuse("R15", "results answer the assistant"),
            Content::Image { .. } | Content::Document { .. } if is_assistant => {
                refuse("R4", "the assistant shows no images and files")
            }
            Content::Raw { wire, .. } if *wire != WireId::OpenaiResponses => {
                refuse("R4", "it is JSON of another provider's format")
            }
            Content::Raw { json, .. } => {
                let item = Item::read(json.as_bytes());
                let is_said = matches!(item.kind.as_ref(), "output_text" | "refusal");
                match item.sort {
                    _ if is_part(json) && is_said != is_assistant => refuse("R4", "the part does not fit the role"),
                    Sort::Reasoning => refuse("R47", "only the model reasons"),
                    Sort::Call | Sort::Hosted if !is_assistant => refuse("R14", "only the assistant calls tools"),
                    Sort::Output if role != Role::User => refuse("R15", "results answer the assistant"),
                    _ => Ok(()),
                }
            }
            _ => Ok(()),
        }
    }

    fn has_flat_steps(&self) -> bool {
        true
    }

    fn close(&self, plan: &mut Plan<'_>) {
        families::fit(plan);
        families::close_programs(plan);
        opaque_pairs::close(plan, "R14", "an item of an unknown type goes with the item that shares its call");
    }

    fn needed_by(&self, plan: &Plan<'_>, message: usize) -> Option<usize> {
        families::program_of(plan, message)
    }

    fn repair(&self, plan: &mut Plan<'_>) {
        trigger_last(plan);
        ids::shorten(plan);
        ties::loosen(plan);
    }

    fn report(&self, plan: &mut Plan<'_>) {
        if plan.loosened > 0 {
            let what = format!("{} items beside a change lose their ids", plan.loosened);
            plan.repairs.push(Repair::new("R27", what));
        }
    }

    /// The second part has to know whether the step that it continues is changed.
    fn divide(&self, plan: &Plan<'_>, message: usize) -> Option<bool> {
        ties::is_step_changed_before(plan, message).filter(|_| !families::has_programs(plan, message))
    }

    fn rewrite(&self, element: &[u8], message: &Message, kept: &[KeptBlock<'_>], plan: &Plan<'_>) -> Vec<Vec<u8>> {
        let item = Item::read(element);
        if item.is_text() {
            let own = Content::text(crate::json::string_value(element, 0..element.len()).unwrap_or_default());
            let content = kept.iter().map(|kept| if let KeptBlock::Made(content) = kept { *content } else { &own });
            return self.elements(message.role, &content.collect::<Vec<_>>(), plan);
        }
        if item.sort == Sort::Message || item.sort == Sort::Agent {
            return said(element, &item, message.role, kept, plan);
        }
        let mut out = Vec::new();
        let mut ours = Vec::new();
        for kept in kept {
            if let KeptBlock::Made(content) = kept {
                ours.push(*content);
                continue;
            }
            out.extend(self.elements(message.role, &std::mem::take(&mut ours), plan));
            let mut rewrite = Rewrite::of(element, &item);
            if let KeptBlock::Text(_, text) = kept {
                rewrite.output(text);
            }
            let id = message.blocks.first().and_then(|block| block.tool_use_id.as_deref());
            let family = id.and_then(|id| families::retyped(plan, id, &item.kind));
            family.into_iter().for_each(|family| rewrite.retype(family));
            out.push(rewrite.done());
        }
        out.extend(self.elements(message.role, &ours, plan));
        out
    }

    fn elements(&self, role: Role, content: &[&Content], plan: &Plan<'_>) -> Vec<Vec<u8>> {
        // Results come before words of the user: a message between a call and its result is refused (R19).
        let (results, rest): (Vec<&Content>, Vec<&Content>) = content.iter().partition(|content| is_output(content));
        let mut out: Vec<Vec<u8>> = results.into_iter().map(|content| item(content, plan)).collect();
        let mut parts: Vec<String> = Vec::new();
        for content in rest {
            if stands_inside(content) {
                parts.push(part(content, role == Role::Assistant).into_owned());
                continue;
            }
            out.extend(message(role, &mut parts, plan.input));
            out.push(item(content, plan));
        }
        out.extend(message(role, &mut parts, plan.input));
        out
    }

    fn system(&self, text: &str, like: &[u8]) -> Vec<u8> {
        let role = Item::read(like).text("role").map_or_else(|| "developer".to_owned(), |role| role.into_owned());
        let content = json!([{"type": "input_text", "text": text}]);
        json!({"type": "message", "role": role, "content": content}).to_string().into_bytes()
    }

    fn polish(&self, elements: Vec<Element>, plan: &Plan<'_>) -> Vec<Element> {
        let input = plan.input;
        // In a list, a bare text is an item.
        let message = |element: Element| match Item::read(element.bytes(input)).is_text() {
            true => Element::Made([br#"{"role":"user","content":"#, element.bytes(input), b"}"].concat()),
            false => element,
        };
        let elements: Vec<Element> = elements.into_iter().map(ids::shortened).collect();
        match elements.as_slice() {
            [Element::Source(0)] => elements,
            _ if input.body.bytes().get(input.body.spans().array.start) == Some(&b'"') => {
                elements.into_iter().map(message).collect()
            }
            _ => elements,
        }
    }

    fn breakpoint(&self) -> Option<&'static [u8]> {
        Some(BREAKPOINT)
    }

    fn with_tools(&self) -> &'static [&'static str] {
        &["tool_choice", "parallel_tool_calls", "max_tool_calls"]
    }
}

/// Whether synthetic content belongs inside a message; everything else is an item.
fn stands_inside(content: &Content) -> bool {
    match content {
        Content::Text { .. } | Content::Image { .. } | Content::Document { .. } => true,
        Content::Raw { json, .. } => is_part(json),
        Content::Call { .. } | Content::Result { .. } | Content::Reasoning { .. } => false,
    }
}

fn is_output(content: &Content) -> bool {
    content.answers().is_some() || matches!(content, Content::Result { .. })
}

/// A synthetic message that takes these parts; none without parts (R9).
fn message(role: Role, parts: &mut Vec<String>, input: &Input<'_>) -> Option<Vec<u8>> {
    let role = match role {
        Role::Assistant => "assistant",
        Role::System => system_role(input),
        Role::User | Role::Other => "user",
    };
    let parts = std::mem::take(parts);
    let message = format!(r#"{{"type":"message","role":"{role}","content":[{}]}}"#, parts.join(","));
    (!parts.is_empty()).then(|| message.into_bytes())
}

/// An item of ours: without an id, and a result in the family of its call.
fn item(content: &Content, plan: &Plan<'_>) -> Vec<u8> {
    match content {
        Content::Result { id, parts, error } => {
            let id = id.as_deref().unwrap_or_default();
            result(families::output_of(plan, id).unwrap_or("function_call_output"), id, parts, *error).into_bytes()
        }
        Content::Raw { json, answers, .. } => {
            let item = Item::read(json.as_bytes());
            let mut rewrite = Rewrite::of(json.as_bytes(), &item);
            let family = answers.as_deref().and_then(|id| families::retyped(plan, id, &item.kind));
            family.into_iter().for_each(|family| rewrite.retype(family));
            rewrite.done()
        }
        other => part(other, true).into_owned().into_bytes(),
    }
}

/// The role that this client gives its system prompt (R3).
fn system_role(input: &Input<'_>) -> &'static str {
    let lead = input.body.spans().lead.first().and_then(|span| input.body.bytes().get(span.clone()));
    let role = lead.and_then(|lead| Item::read(lead).text("role"));
    if role.as_deref() == Some("system") { "system" } else { "developer" }
}

/// The rest of a client's message.
fn said(element: &[u8], item: &Item<'_>, role: Role, kept: &[KeptBlock<'_>], plan: &Plan<'_>) -> Vec<Vec<u8>> {
    let is_inside = |kept: &&KeptBlock<'_>| match kept {
        KeptBlock::Own(_) | KeptBlock::Text(..) => true,
        KeptBlock::Made(content) => stands_inside(content),
    };
    let (inside, items): (Vec<&KeptBlock<'_>>, Vec<&KeptBlock<'_>>) = kept.iter().partition(is_inside);
    let items: Vec<&Content> = items
        .into_iter()
        .filter_map(|kept| if let KeptBlock::Made(content) = kept { Some(*content) } else { None })
        .collect();
    let mut items = ResponsesDialect.elements(role, &items, plan);
    if inside.is_empty() {
        return items;
    }
    let mut rewrite = Rewrite::of(element, item);
    rewrite.content(&inside, role == Role::Assistant);
    let at = if role == Role::Assistant { 0 } else { items.len() };
    items.insert(at, rewrite.done());
    items
}

/// Keeps the request for a compaction, as the last item (R10).
fn trigger_last(plan: &mut Plan<'_>) {
    let is_trigger = |at: usize| Item::read(plan.input.body.message(at)).sort == Sort::Trigger;
    let Some(last) = plan.input.messages.len().checked_sub(1).filter(|last| is_trigger(*last)) else { return };
    let last = last as u32;
    let place = plan.outs.iter().position(|out| out.source == Some(last));
    if place.is_some_and(|place| place + 1 == plan.outs.len()) {
        return;
    }
    plan.outs.retain(|out| out.source != Some(last));
    plan.outs.push(Out::whole(last, Role::Other));
    plan.repairs.push(Repair::new("R10", "the request for a compaction stays last"));
}
