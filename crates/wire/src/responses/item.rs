//! One item of the input, which the engine treats as one message. A call, a result, reasoning and anything opaque are
//! one block each; the blocks of a message are the parts of its content.

use crate::facts::{Bare, Facts, Reading, signature, string_chars, visible_chars};
use crate::json::{self, Member, Span, key};
use ctx_core::Lexicon;
use ctx_core::key::Key;
use ctx_core::message::{Kind, Role};
use std::borrow::Cow;

/// Tokens of an image; its size is not parsed.
const IMAGE: u32 = 1_844;

/// A shorter id may be a counter that occurs in other conversations too.
const UNIQUE_ID: usize = 20;

/// The kind of an item, by its type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sort {
    Message,
    /// A message of another agent, not of a human.
    Agent,
    Reasoning,
    /// A call with a separate result.
    Call,
    /// A call that the provider runs; its result is inside it, or missing (R17).
    Hosted,
    Output,
    /// A compaction, or tools declared in mid-conversation.
    Setting,
    /// The end of a request for a compaction (R10).
    Trigger,
    /// Carried, never interpreted.
    Opaque,
}

/// Types of calls with a separate result.
const CALLS: [&str; 9] = [
    "function_call",
    "custom_tool_call",
    "shell_call",
    "local_shell_call",
    "apply_patch_call",
    "computer_call",
    "tool_search_call",
    "mcp_approval_request",
    "program",
];

/// Types of results.
const OUTPUTS: [&str; 9] = [
    "function_call_output",
    "custom_tool_call_output",
    "shell_call_output",
    "local_shell_call_output",
    "apply_patch_call_output",
    "computer_call_output",
    "tool_search_output",
    "mcp_approval_response",
    "program_output",
];

/// Types of calls that the provider runs.
const HOSTED: [&str; 6] = [
    "web_search_call",
    "file_search_call",
    "code_interpreter_call",
    "image_generation_call",
    "mcp_call",
    "mcp_list_tools",
];

/// The members of an item, and its type.
#[derive(Debug, Clone)]
pub(super) struct Item<'b> {
    bytes: &'b [u8],
    at: Span,
    pub members: Vec<Member>,
    pub kind: Cow<'b, str>,
    pub sort: Sort,
}

impl<'b> Item<'b> {
    /// Parses the object at `at`.
    pub fn at(bytes: &'b [u8], at: &Span) -> Item<'b> {
        let members = json::members(bytes, at.start).into_iter().flatten().flatten().collect();
        let mut item = Item { bytes, at: at.clone(), members, kind: Cow::Borrowed(""), sort: Sort::Opaque };
        item.kind = item.text("type").unwrap_or_default();
        item.sort = item.sorted();
        item
    }

    pub fn read(bytes: &'b [u8]) -> Item<'b> {
        Item::at(bytes, &(0..bytes.len()))
    }

    /// Whether it is a bare text, which stands for a message of the user (R1).
    pub fn is_text(&self) -> bool {
        self.bytes.get(self.at.start) == Some(&b'"')
    }

    fn sorted(&self) -> Sort {
        match self.kind.as_ref() {
            "" if self.is_text() || self.value("role").is_some() => Sort::Message,
            "message" => Sort::Message,
            "agent_message" => Sort::Agent,
            "reasoning" => Sort::Reasoning,
            "compaction" | "context_compaction" | "additional_tools" => Sort::Setting,
            "compaction_trigger" => Sort::Trigger,
            "tool_search_call" | "tool_search_output" if self.text("execution").is_some_and(|by| by == "server") => {
                Sort::Hosted
            }
            kind if HOSTED.contains(&kind) => Sort::Hosted,
            kind if CALLS.contains(&kind) && self.link().is_some() => Sort::Call,
            kind if CALLS.contains(&kind) => Sort::Hosted,
            kind if OUTPUTS.contains(&kind) => Sort::Output,
            _ => Sort::Opaque,
        }
    }

    pub fn place(&self, name: &str) -> Option<usize> {
        self.members.iter().position(|member| key(self.bytes, member) == name)
    }

    pub fn value(&self, name: &str) -> Option<Span> {
        self.place(name).map(|at| self.members[at].value.clone())
    }

    pub fn text(&self, name: &str) -> Option<Cow<'b, str>> {
        json::string_value(self.bytes, self.value(name)?)
    }

    fn raw(&self, name: &str) -> Option<&'b [u8]> {
        self.bytes.get(self.value(name)?)
    }

    /// The elements of a member that is a list.
    pub fn elements(&self, name: &str) -> Option<Vec<Span>> {
        Some(json::elements(self.bytes, self.value(name)?.start)?.flatten().collect())
    }

    /// The id that links a call and its result.
    pub fn link(&self) -> Option<Cow<'b, str>> {
        let id = match self.kind.as_ref() {
            "mcp_approval_request" => self.text("id"),
            "mcp_approval_response" => self.text("approval_request_id"),
            "local_shell_call_output" => self.text("call_id").or_else(|| self.text("id")),
            _ => self.text("call_id"),
        };
        id.filter(|id| !id.is_empty())
    }

    /// The member `id` with its comma, unless another item refers to it.
    pub fn id_cut(&self) -> Option<Span> {
        let is_link = match self.kind.as_ref() {
            "mcp_approval_request" | "item_reference" => true,
            "local_shell_call_output" => self.place("call_id").is_none(),
            _ => false,
        };
        let at = self.place("id").filter(|_| !is_link)?;
        let wholes: Vec<Span> = self.members.iter().map(Member::whole).collect();
        Some(crate::compose::spell::cut(&wholes, at))
    }

    pub fn role(&self) -> Role {
        match self.sort {
            Sort::Message if self.is_text() => Role::User,
            Sort::Message => match self.text("role").as_deref() {
                Some("user") => Role::User,
                Some("assistant") => Role::Assistant,
                Some("system" | "developer") => Role::System,
                _ => Role::Other,
            },
            Sort::Reasoning | Sort::Call | Sort::Hosted => Role::Assistant,
            Sort::Output | Sort::Agent => Role::User,
            Sort::Setting => Role::System,
            Sort::Trigger | Sort::Opaque => Role::Other,
        }
    }

    fn bare(&self) -> Bare<'_> {
        Bare { at: &self.at, cut: self.id_cut() }
    }

    /// The tool that a call names, or is named after.
    pub fn tool(&self) -> Cow<'b, str> {
        let after = || Cow::Owned(self.kind.strip_suffix("_call").unwrap_or(&self.kind).to_owned());
        self.text("name").unwrap_or_else(after)
    }

    /// The input of a call as JSON.
    pub fn input(&self) -> Cow<'_, [u8]> {
        let wrapped = |name: &str| self.raw(name).map(|raw| [b"{\"input\":", raw, b"}"].concat());
        match self.kind.as_ref() {
            "custom_tool_call" => wrapped("input").unwrap_or_default().into(),
            "program" => wrapped("code").unwrap_or_default().into(),
            _ => match self.text("arguments") {
                Some(arguments) => arguments.into_owned().into_bytes().into(),
                None => ["arguments", "action", "operation"]
                    .iter()
                    .find_map(|name| self.raw(name))
                    .unwrap_or_default()
                    .into(),
            },
        }
    }

    fn call(&self, facts: &mut Facts<'_>) {
        facts.call(self.bare(), self.link(), self.tool(), &self.input());
    }

    /// A result of any family. One without an id stands alone (R18).
    fn output(&self, facts: &mut Facts<'_>) {
        let value = ["output", "result", "tools"].iter().find_map(|name| self.value(name));
        facts.result(self.bare(), self.link(), value.map_or((0, 0), |value| size(self.bytes, value)));
    }

    fn reasoning(&self, facts: &mut Facts<'_>) {
        let blob = self.text("encrypted_content").filter(|blob| !blob.is_empty());
        let summary = self.elements("summary").unwrap_or_default();
        let texts = summary.iter().filter_map(|part| crate::compose::spell::member(self.bytes, part.start, "text"));
        let chars = texts.map(|text| string_chars(&self.bytes[text.value])).sum();
        facts.identify(b"reasoning");
        match &blob {
            Some(blob) => facts.identify(blob.as_bytes()),
            None => ["summary", "content"].iter().filter_map(|name| self.raw(name)).for_each(|raw| facts.identify(raw)),
        }
        let fixed = blob.as_deref().map_or(0, sealed_tokens);
        facts.reasoning(self.at.clone(), (chars, fixed), blob.as_deref().map(signature));
    }

    /// Adds an opaque block.
    fn opaque(&self, facts: &mut Facts<'_>) {
        let (chars, fixed) = size(self.bytes, self.at.clone());
        let blob = self.text("encrypted_content").filter(|blob| !blob.is_empty());
        blob.iter().for_each(|blob| facts.anchor(Key::of([b"sealed".as_slice(), blob.as_bytes()])));
        let sealed = blob.as_deref().map_or(0, sealed_tokens);
        facts.other(self.bare(), Kind::Other, &self.kind, (chars, fixed + sealed));
        // Half of a pair of an unknown type is not sent alone.
        facts.belongs_together(self.link().filter(|_| self.sort == Sort::Opaque));
    }

    /// Adds a call that the provider runs. Clients send it with and without its id and status.
    fn hosted(&self, facts: &mut Facts<'_>) {
        let lasting = self.members.iter().filter(|member| !matches!(key(self.bytes, member).as_ref(), "id" | "status"));
        for member in lasting {
            facts.identify(&self.bytes[member.key.clone()]);
            facts.identify(&self.bytes[member.value.clone()]);
        }
        let (chars, fixed) = size(self.bytes, self.at.clone());
        facts.identified(&self.at, Kind::Other, &self.kind, (chars, fixed));
    }

    fn block(&self, facts: &mut Facts<'_>) {
        match self.sort {
            Sort::Call => self.call(facts),
            Sort::Hosted => self.hosted(facts),
            Sort::Output => self.output(facts),
            Sort::Reasoning => self.reasoning(facts),
            _ => self.opaque(facts),
        }
    }
}

/// The tokens of a sealed text: base64 of the text and about 650 bytes of overhead (R48).
fn sealed_tokens(blob: &str) -> u32 {
    ((blob.len() * 3 / 4).saturating_sub(650) / 4) as u32
}

/// Whether an item at the beginning belongs to the system prompt or to the tools.
pub(super) fn leads(bytes: &[u8]) -> bool {
    let item = Item::read(bytes);
    item.kind == "additional_tools" || (item.sort == Sort::Message && item.role() == Role::System)
}

/// The role of an item. No item has an effective cache breakpoint.
pub(super) fn glance(bytes: &[u8]) -> (Role, bool) {
    (Item::read(bytes).role(), false)
}

/// Parses an item.
pub(super) fn read(bytes: &[u8], lexicon: &Lexicon) -> Reading {
    let item = Item::read(bytes);
    let mut facts = Facts::new(bytes, item.role(), lexicon);
    let id = item.text("id").filter(|id| id.len() >= UNIQUE_ID);
    id.into_iter().for_each(|id| facts.anchor(Key::of([b"item".as_slice(), id.as_bytes()])));
    match (item.sort, item.value("content")) {
        (Sort::Message | Sort::Agent, Some(content)) => match item.elements("content") {
            Some(parts) => parts.iter().for_each(|at| part(bytes, at, &mut facts)),
            None => {
                let text = json::string_value(bytes, content.clone());
                text.into_iter().for_each(|text| facts.text(content.clone(), &text));
            }
        },
        (Sort::Message, None) if item.is_text() => {
            let text = json::string_value(bytes, 0..bytes.len());
            text.into_iter().for_each(|text| facts.text(0..bytes.len(), &text));
        }
        (Sort::Message | Sort::Agent, None) => {}
        _ if item.members.is_empty() => {}
        _ => item.block(&mut facts),
    }
    let mut reading = facts.finish();
    if item.sort == Sort::Agent {
        let facts = &mut reading.facts;
        (facts.speaks, facts.title) = (None, None);
        facts.blocks.iter_mut().filter(|block| block.kind == Kind::Text).for_each(|block| block.kind = Kind::Reminder);
    }
    reading
}

/// Adds a part of a content. Displayed synthetic content has items among them.
fn part(bytes: &[u8], at: &Span, facts: &mut Facts<'_>) {
    let item = Item::at(bytes, at);
    let cut = item.place("prompt_cache_breakpoint").map(|place| {
        let wholes: Vec<Span> = item.members.iter().map(Member::whole).collect();
        crate::compose::spell::cut(&wholes, place)
    });
    facts.cuts.extend(cut.clone());
    facts.marked |= cut.is_some();
    let bare = Bare { at, cut };
    match item.kind.as_ref() {
        "input_text" | "output_text" | "text" => facts.text(at.clone(), &item.text("text").unwrap_or_default()),
        "refusal" => facts.text(at.clone(), &item.text("refusal").unwrap_or_default()),
        "input_image" => facts.other(bare, Kind::Image, "input_image", (0, IMAGE)),
        "input_file" => facts.other(bare, Kind::Document, "input_file", size(bytes, at.clone())),
        _ if matches!(item.sort, Sort::Call | Sort::Output) => item.block(facts),
        kind => facts.other(bare, Kind::Other, kind, size(bytes, at.clone())),
    }
}

/// The characters and image tokens of a value that the model reads. In a list of texts, only the words count.
fn size(bytes: &[u8], span: Span) -> (u32, u32) {
    let whole = |span: Span| {
        visible_chars(bytes, span, &|bytes, members| {
            let image = members.iter().find(|member| key(bytes, member) == "image_url")?;
            Some((image.value.clone(), IMAGE))
        })
    };
    let Some(parts) = json::elements(bytes, span.start) else { return whole(span) };
    parts.flatten().fold((0, 0), |(chars, fixed), part| {
        let text =
            crate::compose::spell::member(bytes, part.start, "text").map(|text| string_chars(&bytes[text.value]));
        let (more, tokens) = text.map_or_else(|| whole(part), |chars| (chars, 0));
        (chars + more, fixed + tokens)
    })
}
