//! System prompt and tools: removed and replaced pieces, and required ones.

use super::deferred::{self, is_deferred};
use super::lay_out::lay_out;
use super::made::{self, MadeBlock};
use super::plan::{Out, Piece, Plan, Tag, pieces, tag};
use super::{Input, Placement, Repair, open_loop, pairs, paused, roles, spell};
use crate::anthropic::content;
use crate::body::Body;
use crate::compose::HeadParts;
pub(super) use crate::compose::Part;
use crate::{envelope, json};
use ctx_core::edit::effect::{NewMessage, NewMessageId};
use ctx_core::edit::fold::{self, View};
use ctx_core::key::{Key, KeyBuilder};
use std::borrow::Cow;
use std::sync::Arc;

#[derive(Debug, Clone)]
pub(super) struct Around {
    /// `None`: as the client sent it.
    pub system: Option<Vec<Part>>,
    pub tools: Option<Vec<Part>>,
    pub made: Vec<String>,
    /// The source of each synthetic piece.
    pub from: Vec<(NewMessageId, u32)>,
    pub digest: Key,
    /// Synthetic tools that are not loaded, by name: thinking is bound to them once something refers to them (A61).
    pub deferred: Vec<(String, Key)>,
    /// The tools depend on the messages, which may need one that an edit removed.
    pub needs_messages: bool,
}

impl Default for Around {
    fn default() -> Self {
        Around {
            system: None,
            tools: None,
            made: Vec::new(),
            from: Vec::new(),
            digest: Key([0; 16]),
            deferred: Vec::new(),
            needs_messages: false,
        }
    }
}

impl Around {
    fn add(&mut self, from: (NewMessageId, u32), json: &str) {
        self.from.push(from);
        self.made.push(json.to_owned());
    }

    /// The placement of all content in the sent request.
    pub(super) fn placement(self, settled: Arc<Vec<Out>>, outs: Vec<Out>, made: &[MadeBlock<'_>]) -> Placement {
        let made = made.iter().map(|block| block.from).collect();
        Placement::new(settled, outs, made, HeadParts { system: self.system, tools: self.tools, made: self.from })
    }
}

pub(super) fn arrange(plan: &mut Plan<'_>, view: &View<'_>) -> Around {
    let input = plan.input;
    let mut around = Around { digest: input.around, ..Around::default() };
    let touched = |list: &[fold::Around]| list.iter().any(|each| each.covered.is_some() || !each.by.is_empty());
    if touched(&view.system) {
        let parts = system(plan, view, &mut around);
        around.system = Some(parts);
    }
    // A paused answer continues with its original tools.
    let paused = input.paused.filter(|_| paused::message(input).is_some());
    let then = paused.unwrap_or(view);
    let held_back = then.tools != view.tools;
    if held_back {
        plan.repairs.push(Repair::new("A44", "the tools stay as they were until the paused answer is finished"));
    }
    if touched(&then.tools) || held_back {
        let mut needed = needed(plan);
        needed.extend(paused.into_iter().flat_map(|then| referenced(&beginning(input, then))));
        let parts = tools(plan, then, needed, &mut around);
        around.tools = Some(parts);
    }
    around.digest = digest(plan, &around);
    around
}

/// The request that the paused answer began with, under the operations of that time.
fn beginning<'a>(input: &'a Input<'a>, then: &'a View<'a>) -> Plan<'a> {
    let mut plan = lay_out(input, then);
    let paused = paused::message(input);
    plan.outs.retain(|out| out.source != paused);
    pairs::repair(&mut plan);
    roles::repair(&mut plan);
    open_loop::repair(&mut plan);
    plan
}

/// The digest of the sent pieces, as [`envelope::digest`] computes it.
fn digest(plan: &Plan<'_>, around: &Around) -> Key {
    if around.system.is_none() && around.tools.is_none() {
        return plan.input.around;
    }
    let envelope = plan.input.envelope;
    let mut key = KeyBuilder::default();
    let mut feed = |name: &[u8], own: &[envelope::Piece], parts: &Option<Vec<Part>>| {
        key.feed(name);
        let mut counted = |piece: &envelope::Piece| {
            if !piece.is_attribution && !piece.deferred {
                key.feed(&piece.key.0);
            }
        };
        match parts {
            None => own.iter().for_each(counted),
            Some(parts) => {
                for part in parts {
                    match part {
                        Part::Own(at) => own.get(*at).into_iter().for_each(&mut counted),
                        Part::Made(at) => counted(&plain(around.made.get(*at).map_or("", String::as_str))),
                    }
                }
            }
        }
    };
    feed(b"system", &envelope.system, &around.system);
    feed(b"tools", envelope.tools.as_deref().unwrap_or_default(), &around.tools);
    let digest = key.finish();
    if digest == envelope.digest { plan.input.around } else { digest }
}

/// A synthetic piece, for the digest.
fn plain(json: &str) -> envelope::Piece {
    envelope::Piece {
        name: "".into(),
        at: 0..json.len(),
        chars: 0,
        label: "".into(),
        deferred: is_deferred(json.as_bytes()),
        server: false,
        is_attribution: false,
        key: Key::of([json.as_bytes()]),
    }
}

fn system(plan: &mut Plan<'_>, view: &View<'_>, around: &mut Around) -> Vec<Part> {
    let input = plan.input;
    let mut parts = Vec::new();
    for (at, block) in input.envelope.system.iter().enumerate() {
        let Some(fate) = view.system.get(at) else {
            parts.push(Part::Own(at));
            continue;
        };
        let stays = fate.covered.is_some() && at == 0 && block.is_attribution;
        if stays {
            let what = "the client's attribution stays: the provider reads it by its place";
            plan.repairs.push(Repair::new("E", what));
        }
        if fate.covered.is_none() || stays {
            parts.push(Part::Own(at));
        }
        for (from, json) in made_of(view, fate) {
            let bytes = json.as_bytes();
            let text = made::object(bytes).and_then(|span| {
                let is_text = spell::text(bytes, span.start, "type")? == "text";
                spell::text(bytes, span.start, "text").filter(|text| is_text && !text.trim().is_empty())
            });
            if text.is_some() {
                around.add(from, &made::bare(&json, 0, &mut plan.repairs));
                parts.push(Part::Made(around.made.len() - 1));
            } else {
                let what = "a block of ours in the system prompt is left out: it is no text, or empty";
                plan.repairs.push(Repair::new("A27", what));
            }
        }
    }
    parts
}

fn made_of<'a>(view: &'a View<'a>, fate: &fold::Around) -> Vec<((NewMessageId, u32), Cow<'a, str>)> {
    let made = fate.by.iter().filter_map(|id| Some((*id, view.made(*id)?)));
    let blocks = |made: &'a NewMessage| (0..).zip(made.content.iter().map(content::write));
    made.flat_map(|(id, made)| blocks(made).map(move |(at, block)| ((id, at), block))).collect()
}

fn tools(plan: &mut Plan<'_>, view: &View<'_>, needed: Vec<(&'static str, String)>, around: &mut Around) -> Vec<Part> {
    let input = plan.input;
    let all = input.envelope.tools.as_deref().unwrap_or_default();
    let mut stays: Vec<bool> =
        (0..all.len()).map(|at| view.tools.get(at).is_none_or(|fate| fate.covered.is_none())).collect();
    let mut parts = Vec::new();
    let ours = ours(plan, view, &mut stays, around);
    for (rule, name) in needed {
        let is_ours = ours.iter().any(|(_, other, _)| *other == name);
        let found = all.iter().position(|tool| *tool.name == *name).filter(|&at| !stays[at] && !is_ours);
        if let Some(at) = found {
            stays[at] = true;
            plan.repairs.push(Repair::new(rule, format!("the tool {name} stays: the conversation refers to it")));
        }
    }
    keep_toolsets(plan, &mut stays);
    let loaded = |stays: &[bool]| {
        all.iter().zip(stays).any(|(tool, stays)| *stays && !tool.deferred) || ours.iter().any(|(_, _, later)| !later)
    };
    let any = |stays: &[bool]| stays.contains(&true) || !ours.is_empty();
    let first = || all.iter().position(|tool| !tool.deferred).or((!all.is_empty()).then_some(0));
    let used = || {
        let mut tags = plan.outs.iter().flat_map(|out| pieces(input, out)).map(|piece| tag(input, &plan.made, piece));
        tags.any(|tag| matches!(tag, Tag::Call | Tag::Result | Tag::ServerResult))
    };
    let has_choice = || input.body.spans().member(input.body.bytes(), "tool_choice").is_some();
    let rule = match (any(&stays), loaded(&stays)) {
        (true, false) => Some("A45"),
        (false, _) if used() || has_choice() => Some("A9"),
        _ => None,
    };
    if let (Some(rule), Some(at)) = (rule, first()) {
        stays[at] = true;
        plan.repairs.push(Repair::new(rule, format!("the tool {} stays: one has to", all[at].name)));
    }
    let from = around.made.len() - ours.len();
    for (at, stays) in stays.iter().enumerate() {
        if *stays {
            parts.push(Part::Own(at));
        }
        let here = ours.iter().enumerate().filter(|(_, (place, ..))| *place == at);
        parts.extend(here.map(|(n, _)| Part::Made(from + n)));
    }
    parts
}

/// Keeps the toolset of each server that the request names. It has no name of its own.
fn keep_toolsets(plan: &mut Plan<'_>, stays: &mut [bool]) {
    let bytes = plan.input.body.bytes();
    let Some((servers, _)) = plan.input.body.spans().member(bytes, "mcp_servers") else { return };
    let servers = json::elements(bytes, servers.start).into_iter().flatten().flatten();
    let named: Vec<_> = servers.filter_map(|server| spell::text(bytes, server.start, "name")).collect();
    for (tool, stays) in plan.input.envelope.tools.iter().flatten().zip(stays) {
        let server = spell::text(bytes, tool.at.start, "mcp_server_name");
        if let Some(server) = server.filter(|server| !*stays && named.contains(server)) {
            *stays = true;
            let what = format!("the tools of {server} stay: the request names that server");
            plan.repairs.push(Repair::new("A43", what));
        }
    }
}

/// Adds the synthetic tools: for each the client's tool in whose place it stands, its name, and whether it is deferred.
fn ours(plan: &mut Plan<'_>, view: &View<'_>, stays: &mut [bool], around: &mut Around) -> Vec<(usize, String, bool)> {
    let input = plan.input;
    let all = input.envelope.tools.as_deref().unwrap_or_default();
    let mut ours: Vec<(usize, String, bool)> = Vec::new();
    // The first tool that only a search can load.
    let mut search = None;
    for (at, fate) in view.tools.iter().enumerate().take(all.len()) {
        around.needs_messages |= fate.covered.is_some() && fate.by.is_empty();
        for (from, json) in made_of(view, fate) {
            let is_stub = deferred::is_stub(json.as_bytes());
            if let Some((rule, why)) = is_stub.then(|| loaded_because(input, &all[at].name)).flatten() {
                stays[at] = true;
                plan.repairs.push(Repair::new(rule, format!("the tool {} stays loaded: {why}", all[at].name)));
                continue;
            }
            around.needs_messages |= !is_stub;
            let json = if is_stub { whole(input, &all[at], &json).map(Cow::Owned) } else { Some(json) };
            let bytes = json.as_deref().unwrap_or_default().as_bytes();
            let name = made::object(bytes).and_then(|span| spell::text(bytes, span.start, "name"));
            let taken = |name: &str| {
                ours.iter().any(|(_, other, _)| other == name)
                    || all.iter().zip(&*stays).any(|(tool, stays)| *stays && *tool.name == *name)
            };
            match (name, &json) {
                (Some(name), Some(json)) if made::is_name(&name) && !taken(&name) => {
                    around.add(from, &made::bare(json, 0, &mut plan.repairs));
                    let later = is_deferred(bytes);
                    // The client's own definition counts with its messages.
                    if later && !is_stub {
                        around.deferred.push((name.to_string(), Key::of([b"deferred".as_slice(), bytes])));
                    }
                    ours.push((at, name.into_owned(), later));
                    search = search.or(is_stub.then_some((at, from)));
                }
                _ => {
                    around.needs_messages = true;
                    let what = "a tool of ours is left out: it has no name that can be, or one that is taken";
                    plan.repairs.push(Repair::new("A10", what));
                }
            }
        }
    }
    if let Some((at, from)) = search.filter(|_| !has_search(input)) {
        around.add(from, deferred::SEARCH);
        ours.push((at, deferred::SEARCH_NAME.to_owned(), false));
    }
    ours
}

/// The deferred definition of the client's tool that a stub stands for. `None` if it names another tool.
fn whole(input: &Input<'_>, tool: &envelope::Piece, stub: &str) -> Option<String> {
    let is_its = !tool.server && spell::text(stub.as_bytes(), 0, "name").is_some_and(|name| *name == *tool.name);
    is_its.then(|| deferred::defer(input.body.bytes().get(tool.at.clone()).unwrap_or_default()))
}

/// Why a tool must not be deferred in this request: the rule and the reason.
fn loaded_because(input: &Input<'_>, name: &str) -> Option<(&'static str, &'static str)> {
    if is_chosen(input.body, name) {
        return Some(("A9", "the request demands it"));
    }
    let searches = has_search(input) || input.envelope.tools.iter().flatten().any(|tool| tool.deferred);
    // The model may have changed to one without a search.
    (!searches).then_some(("A45", "the client uses no tool search here"))
}

/// Whether the client already lists a search for deferred tools, or a tool with that name.
fn has_search(input: &Input<'_>) -> bool {
    let bytes = input.body.bytes();
    let finds =
        |tool: &envelope::Piece| deferred::is_search(bytes, tool.at.start) || *tool.name == *deferred::SEARCH_NAME;
    input.envelope.tools.iter().flatten().any(finds)
}

/// Whether the request forces the model to call this tool.
pub(super) fn is_chosen(body: &Body, name: &str) -> bool {
    let bytes = body.bytes();
    let choice = body.spans().member(bytes, "tool_choice");
    choice.is_some_and(|(span, _)| spell::text(bytes, span.start, "name").is_some_and(|chosen| chosen == name))
}

/// The tools that must stay defined: referenced, unfinished, chosen, or required by a container.
fn needed(plan: &Plan<'_>) -> Vec<(&'static str, String)> {
    let input = plan.input;
    let bytes = input.body.bytes();
    let mut names = referenced(plan);
    names.extend(plan.unfinished.iter().map(|name| ("A41", name.clone())));
    if input.body.spans().member(bytes, "container").is_some_and(|(_, value)| value != b"null") {
        let runs = |tool: &&envelope::Piece| {
            spell::text(bytes, tool.at.start, "type").is_some_and(|kind| kind.starts_with("code_execution"))
        };
        let tools = input.envelope.tools.iter().flatten().filter(runs);
        names.extend(tools.map(|tool| ("A47", tool.name.to_string())));
    }
    if let Some((span, _)) = input.body.spans().member(bytes, "tool_choice")
        && let Some(name) = spell::text(bytes, span.start, "name")
    {
        names.push(("A9", name.into_owned()));
    }
    names
}

/// The tools that any message refers to.
fn referenced(plan: &Plan<'_>) -> Vec<(&'static str, String)> {
    plan.outs.iter().flat_map(|out| references(plan, out)).map(|name| ("A45", name)).collect()
}

/// The tools that a message refers to.
pub(super) fn references(plan: &Plan<'_>, out: &Out) -> Vec<String> {
    let input = plan.input;
    let bytes = input.body.bytes();
    let spans = &input.body.spans().messages;
    let source = out.source.and_then(|source| spans.get(source as usize));
    if let (Some(span), true) = (source, out.is_whole()) {
        return made::references(bytes, span.start);
    }
    let mut names = Vec::new();
    for piece in pieces(input, out) {
        match piece {
            Piece::Made(at) => {
                names.extend(plan.made.get(at as usize).into_iter().flat_map(|made| made.references.clone()))
            }
            Piece::Client { message, block, text: 0 } => {
                let Some(span) = spans.get(message as usize) else { continue };
                if memchr::memmem::find(&bytes[span.clone()], b"\"tool_reference\"").is_none() {
                    continue;
                }
                let spell::Content::List(list) = spell::content(bytes, span.start, block as usize + 1) else {
                    continue;
                };
                if let Some(span) = list.blocks.get(block as usize) {
                    names.extend(made::references(bytes, span.start));
                }
            }
            Piece::Client { .. } => {}
        }
    }
    names
}
