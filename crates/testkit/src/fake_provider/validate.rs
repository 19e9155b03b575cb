//! The API's own checks (rules A1, A2 and so on): the mistakes that a proxy can make by editing conversations. Checked in the
//! API's order; the first mistake is reported.

use super::Options;
use super::binding;
use super::directives::is_blank;
use super::json::{Fields, is_truthy, object, text};
use super::refusal::{Place, Refusal};
use super::request::{Message, Request, is_thinking, kind_of};
use super::signature::Signature;
use serde_json::Value;
use std::collections::HashSet;

const MOST_MARKS: usize = 4;
const SMALLEST_BUDGET: f64 = 1024.0;

/// Checks a body in the provider's order, without a server; returns the refusal message.
pub fn check(body: &[u8], options: &Options) -> Result<(), String> {
    let refuse = |refusal: Refusal| refusal.to_string();
    let body: Value = serde_json::from_slice(body).map_err(|_| refuse(Refusal::NotJson))?;
    let body = body.as_object().ok_or_else(|| refuse(Refusal::NotJson))?;
    if options.strict {
        required(body).map_err(refuse)?;
    }
    let request = Request::read(body).map_err(refuse)?;
    if options.strict {
        validate(&request).map_err(refuse)?;
    }
    if options.tool_search {
        super::tool_search::validate(&request).map_err(refuse)?;
    }
    match binding::unbound(&request, &options.volatile_system).1.first() {
        Some(&(message, block)) if options.bind_thinking => Err(refuse(Refusal::Unbound(Place { message, block }))),
        _ => Ok(()),
    }
}

/// A thinking block as the provider would give it after this body; `None` if the body cannot be parsed.
pub fn thinking_after(body: &[u8], thought: &str, name: &str) -> Option<Value> {
    let body: Value = serde_json::from_slice(body).ok()?;
    let request = Request::read(body.as_object()?).ok()?;
    let (prefix, _) = binding::unbound(&request, super::VOLATILE_SYSTEM);
    let mut block = Fields::new();
    block.insert("type".into(), "thinking".into());
    block.insert("thinking".into(), thought.into());
    prefix.sign(&mut block, name);
    Some(block.into())
}

/// The required fields.
pub(crate) fn required(body: &Fields) -> Result<(), Refusal> {
    for key in ["model", "messages", "max_tokens"] {
        if !body.contains_key(key) {
            return Err(Refusal::FieldRequired(key));
        }
    }
    match body.get("messages") {
        Some(Value::Array(messages)) if !messages.is_empty() => Ok(()),
        _ => Err(Refusal::NoMessages),
    }
}

pub(crate) fn validate(request: &Request<'_>) -> Result<(), Refusal> {
    let tools = tool_names(request)?;
    system(request)?;
    if request.spoken().next().and_then(|first| first.role) != Some("user") {
        return Err(Refusal::FirstNotUser);
    }
    let mut pairing = Pairing::new(tools);
    for (index, message) in request.messages.iter().enumerate() {
        match message.role {
            Some("system") => system_message(&request.messages, index, message)?,
            Some(role @ ("user" | "assistant")) => pairing.message(index, role, message)?,
            _ => return Err(Refusal::UnknownRole(index)),
        }
    }
    pairing.end(request)?;
    marks(request)?;
    budget(request.body)
}

fn tool_names<'a>(request: &Request<'a>) -> Result<HashSet<Option<&'a Value>>, Refusal> {
    let names: HashSet<_> = request.tools.iter().map(|tool| tool.get("name")).collect();
    if names.len() == request.tools.len() { Ok(names) } else { Err(Refusal::ToolNamesRepeat) }
}

fn system(request: &Request<'_>) -> Result<(), Refusal> {
    for (index, block) in request.system.iter().enumerate() {
        if kind_of(block) != Some("text") {
            return Err(Refusal::SystemNotText(index));
        }
        if !is_truthy(block.get("text")) {
            return Err(Refusal::SystemEmpty(index));
        }
    }
    Ok(())
}

/// The valid positions of messages of role "system". Neighbours count as one group; the form that only contains
/// settings is valid anywhere.
fn system_message(messages: &[Message<'_>], index: usize, message: &Message<'_>) -> Result<(), Refusal> {
    let empty_list = message.fields.get("content") == Some(&Value::Array(Vec::new()));
    if empty_list && is_truthy(message.fields.get("output_config")) {
        return Ok(());
    }
    let allowed = ["text", "tool_addition", "tool_removal"];
    let fits = |block: &Fields| kind_of(block).is_some_and(|kind| allowed.contains(&kind));
    if !message.blocks.iter().all(|block| fits(block)) {
        return Err(Refusal::SystemMessageBlocks(index));
    }
    if message.blocks.is_empty() {
        return Err(Refusal::SystemMessageEmpty(index));
    }
    let (earlier, later) = messages.split_at(index);
    let Some(before) = earlier.iter().rfind(|message| !message.is_system()) else {
        return Err(Refusal::SystemMessageFirst);
    };
    let ends_in_server_result =
        before.blocks.last().and_then(|block| kind_of(block)).is_some_and(|kind| kind.ends_with("_tool_result"));
    if before.role != Some("user") && !ends_in_server_result {
        return Err(Refusal::SystemMessageFollows(index));
    }
    let after = later.iter().find(|message| !message.is_system());
    if after.is_some_and(|message| message.role != Some("assistant")) {
        return Err(Refusal::SystemMessagePrecedes(index));
    }
    Ok(())
}

/// Calls and results in the order of the messages.
struct Pairing<'a> {
    tools: HashSet<Option<&'a Value>>,
    seen: HashSet<Option<Value>>,
    /// Calls without a result yet, in order.
    pending: Vec<String>,
}

impl<'a> Pairing<'a> {
    fn new(tools: HashSet<Option<&'a Value>>) -> Self {
        Self { tools, seen: HashSet::new(), pending: Vec::new() }
    }

    fn message(&mut self, index: usize, role: &str, message: &Message<'_>) -> Result<(), Refusal> {
        let empty = match message.fields.get("content") {
            None | Some(Value::Null) => true,
            Some(Value::String(text)) => text.is_empty(),
            Some(Value::Array(blocks)) => blocks.is_empty(),
            Some(_) => false,
        };
        if empty {
            return Err(Refusal::EmptyMessage(index));
        }
        let mut results = HashSet::new();
        for (position, block) in message.blocks.iter().enumerate() {
            let place = Place { message: index, block: position };
            match kind_of(block) {
                Some("text") => text_block(place, block)?,
                Some("tool_use") => self.call(place, role, block)?,
                Some("tool_result") => self.result(place, role, block, message, &mut results)?,
                Some("thinking") => thinking_block(place, role, block)?,
                _ => {}
            }
        }
        if role == "user" {
            self.pending.retain(|id| !results.contains(id));
            if !self.pending.is_empty() {
                return Err(Refusal::MissingResults(index, self.pending.join(", ")));
            }
        } else {
            // Consecutive assistant messages are one turn for the API: their calls add up.
            self.collect_calls(index, message)?;
        }
        Ok(())
    }

    fn call(&mut self, place: Place, role: &str, block: &Fields) -> Result<(), Refusal> {
        if role != "assistant" {
            return Err(Refusal::WrongRole(place, "tool_use", "assistant"));
        }
        let id = block.get("id").cloned();
        if self.seen.contains(&id) {
            return Err(Refusal::ToolUseRepeats(place));
        }
        if !block.get("input").is_some_and(Value::is_object) {
            return Err(Refusal::ToolInput(place));
        }
        self.seen.insert(id);
        Ok(())
    }

    fn collect_calls(&mut self, index: usize, message: &Message<'_>) -> Result<(), Refusal> {
        for (position, block) in message.blocks.iter().enumerate() {
            if kind_of(block) == Some("tool_use") {
                let place = Place { message: index, block: position };
                let id = block.get("id").ok_or(Refusal::ToolUseWithoutId(place))?;
                self.pending.push(spoken(Some(id)));
            }
        }
        Ok(())
    }

    fn result(
        &self,
        place: Place,
        role: &str,
        block: &Fields,
        message: &Message<'_>,
        results: &mut HashSet<String>,
    ) -> Result<(), Refusal> {
        if role != "user" {
            return Err(Refusal::WrongRole(place, "tool_result", "user"));
        }
        let id = spoken(block.get("tool_use_id"));
        if !self.pending.contains(&id) {
            return Err(Refusal::UnexpectedResult(place, id));
        }
        if results.contains(&id) {
            return Err(Refusal::SecondResult(place, id));
        }
        let first = message.blocks.first().and_then(|block| kind_of(block));
        if first != Some("tool_result") {
            return Err(Refusal::ResultsNotFirst(place.message, id));
        }
        results.insert(id);
        let Some(Value::Array(parts)) = block.get("content") else {
            return Ok(());
        };
        for part in parts.iter().filter_map(Value::as_object) {
            let name = part.get("tool_name");
            if kind_of(part) == Some("tool_reference") && !self.tools.contains(&name) {
                return Err(Refusal::UnknownReference(place, spoken(name)));
            }
        }
        Ok(())
    }

    /// Checks that need all messages.
    fn end(self, request: &Request<'_>) -> Result<(), Refusal> {
        if !self.pending.is_empty() {
            let last = request.messages.len().saturating_sub(1);
            return Err(Refusal::EndsWithoutResults(last, self.pending.join(", ")));
        }
        let last = request.spoken().next_back();
        if last.and_then(|last| last.role) != Some("user") && !last.is_some_and(is_paused) {
            return Err(Refusal::Prefill);
        }
        // An empty list is accepted: side requests of the stock client send one.
        if !self.seen.is_empty() && !request.body.contains_key("tools") {
            return Err(Refusal::ToolsUndefined);
        }
        Ok(())
    }
}

/// Whether an answer stopped while a tool of the provider ran: it may be sent back to be continued.
pub(crate) fn is_paused(message: &Message<'_>) -> bool {
    let found = |id: Option<&Value>| message.blocks.iter().any(|block| block.get("tool_use_id") == id);
    let mut calls = message.blocks.iter().filter(|block| kind_of(block) == Some("server_tool_use"));
    message.role == Some("assistant") && calls.any(|call| !found(call.get("id"))) && !message.has("tool_use")
}

fn text_block(place: Place, block: &Fields) -> Result<(), Refusal> {
    match block.get("text") {
        text if !is_truthy(text) => Err(Refusal::EmptyText(place)),
        Some(Value::String(text)) if is_blank(text) => Err(Refusal::BlankText(place)),
        Some(Value::String(_)) => Ok(()),
        _ => Err(Refusal::NotAString(format!("{place}.text"))),
    }
}

fn thinking_block(place: Place, role: &str, block: &Fields) -> Result<(), Refusal> {
    if role != "assistant" {
        return Err(Refusal::WrongRole(place, "thinking", "assistant"));
    }
    let thought = text(block, "thinking").unwrap_or_default();
    let signature = text(block, "signature").and_then(Signature::read);
    if signature.is_some_and(|signature| signature.is_of(thought)) {
        Ok(())
    } else {
        Err(Refusal::InvalidSignature(place))
    }
}

/// Number, position and order of the breakpoints.
fn marks(request: &Request<'_>) -> Result<(), Refusal> {
    let said = || request.messages.iter().flat_map(|message| &message.blocks);
    if said().any(|block| is_thinking(block) && is_truthy(block.get("cache_control"))) {
        return Err(Refusal::MarkOnThinking);
    }
    let tools = request.tools.iter().copied();
    let units = tools.chain(request.system.iter().map(AsRef::as_ref)).chain(said().map(AsRef::as_ref));
    let lifetimes: Vec<&str> = units
        .filter_map(|unit| unit.get("cache_control"))
        .filter(|mark| is_truthy(Some(mark)))
        .map(|mark| mark.get("ttl").map_or("5m", |ttl| ttl.as_str().unwrap_or_default()))
        .collect();
    if lifetimes.len() > MOST_MARKS {
        return Err(Refusal::TooManyMarks(lifetimes.len()));
    }
    let first_short = lifetimes.iter().position(|ttl| *ttl == "5m");
    let last_long = lifetimes.iter().rposition(|ttl| *ttl == "1h");
    match (first_short, last_long) {
        (Some(short), Some(long)) if short < long => Err(Refusal::LongMarkAfterShort),
        _ => Ok(()),
    }
}

fn budget(body: &Fields) -> Result<(), Refusal> {
    let Some(thinking) = object(body, "thinking") else {
        return Ok(());
    };
    if text(thinking, "type") != Some("enabled") {
        return Ok(());
    }
    let number = |value: Option<&Value>| value.and_then(Value::as_f64).unwrap_or_default();
    let budget = number(thinking.get("budget_tokens"));
    if budget < SMALLEST_BUDGET {
        return Err(Refusal::SmallBudget);
    }
    if budget >= number(body.get("max_tokens")) {
        return Err(Refusal::BudgetOverMaximum);
    }
    Ok(())
}

/// An id or a name in a message.
fn spoken(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => "None".to_owned(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    }
}
