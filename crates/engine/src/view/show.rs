//! One frame, step, message or block, with its content as it is sent.

use super::readable::{other, readable};
use super::titles;
use crate::compose::repaired::sentence;
use crate::compose::{Ground, RepairReport, Weights, rebuilt};
use crate::conversation::Conversation;
use crate::{Engine, Refusal};
use ctx_api::edit::RepairView;
use ctx_api::show::{BlockView, ContentView, MessageView};
use ctx_core::edit::address::Address;
use ctx_core::edit::effect::PENDING;
use ctx_core::edit::fold::{Around, Source, Unit, View, ViewUnit};
use ctx_core::edit::layout::layout;
use ctx_core::edit::resolve::{Desk, Scope, Target};
use ctx_core::links;
use ctx_core::message::{Block, Kind, Message};
use ctx_core::{Content, ErrorCode, SlotId, tokens};
use ctx_store::{Blob, Hash};
use ctx_wire::Wire;
use ctx_wire::body::Body;
use ctx_wire::dress::dress;
use ctx_wire::envelope::Piece;
use serde_json::Map;
use serde_json::value::RawValue;
use std::collections::HashMap;

/// The exact bytes of messages of a path.
pub type Texts = HashMap<usize, Vec<u8>>;

impl Engine {
    pub fn show_in(
        &self,
        conversation: &Conversation,
        ground: &Ground<'_>,
        (view, repaired): (&View<'_>, &RepairReport),
        id: &str,
    ) -> Result<ContentView, Refusal> {
        let source = ground.source();
        let weights = Weights::of(conversation);
        let scale = |estimate: f64| conversation.tokens(estimate);
        let desk = conversation.desk(view, &source, &weights, &scale, 0);
        let targets = desk.named(&[id.to_owned()])?;
        let [first, ..] = targets.as_slice() else {
            return Err(Refusal::new(ErrorCode::NothingNamed, "No id was given.", "Name a frame, such as `t3`."));
        };
        if matches!(first.scope, Scope::System | Scope::Tool) {
            let address: Address = id.trim().parse().map_err(|_| {
                Refusal::new(ErrorCode::UnknownId, format!("`{id}` names several items."), "Show one at a time.")
            })?;
            return self.around(conversation, view, &address);
        }
        let wanted: Vec<usize> = targets.iter().flat_map(|target| messages_of(&target.units)).collect();
        let texts = self.texts(conversation, source.slots, wanted.into_iter())?;
        let mut messages = Vec::new();
        for target in &targets {
            let mut views = message_views(conversation, view, &source, target, &texts);
            if let Some(frame) = target.frame.and_then(|at| view.frames.get(at)) {
                let cuts = desk.cut_before(&layout(view, frame, source.messages));
                let cuts: Vec<String> = cuts.iter().map(|number| format!("{}#{number}", frame.id)).collect();
                views.iter_mut().for_each(|message| message.cut = cuts.contains(&message.id));
            }
            messages.extend(views);
        }
        for block in messages.iter_mut().flat_map(|message| &mut message.blocks) {
            block.tool_use_id = block.tool_use_id.as_deref().map(|id| links::shown_id(id).to_owned());
            if block.repaired.is_some() {
                explain(block, &repaired.repairs);
            }
        }
        Ok(ContentView {
            conversation: conversation.id().to_owned(),
            id: id.to_owned(),
            kind: if first.scope == Scope::Frame { "turn" } else { "part" }.into(),
            title: titles::target_title(&desk, first),
            tokens: scale(targets.iter().map(|target| target.weight).sum()),
            calibrated: conversation.usage.calibration.is_calibrated(),
            left: None,
            state: states(self, &desk, &targets),
            by: made_so(view, &targets),
            messages,
        })
    }

    /// The exact bytes of some messages of a path, including the pending reply.
    pub fn texts(
        &self,
        conversation: &Conversation,
        slots: &[SlotId],
        wanted: impl Iterator<Item = usize>,
    ) -> Result<Texts, Refusal> {
        let mut texts = HashMap::new();
        let mut asked = Vec::new();
        let reply = slots.iter().position(|slot| *slot == PENDING).unwrap_or(slots.len());
        for at in wanted {
            match slots.get(at) {
                Some(&PENDING) => {
                    texts
                        .extend(conversation.newest.pending.get(at - reply).map(|message| (at, message.bytes.clone())));
                }
                Some(slot) => asked.extend(conversation.messages.versions.get(slot).map(|version| (at, version))),
                None => {}
            }
        }
        let hashes: Vec<Hash> = asked.iter().map(|(_, version)| version.blob).collect();
        for ((at, version), blob) in asked.into_iter().zip(self.contents.blobs(&hashes)?) {
            if let Blob::Present(bare) = blob {
                texts.insert(at, dress(&bare, &version.dress).unwrap_or(bare));
            }
        }
        Ok(texts)
    }

    /// System blocks and tool definitions.
    fn around(&self, conversation: &Conversation, view: &View<'_>, address: &Address) -> Result<ContentView, Refusal> {
        let bytes = rebuilt(self, conversation)?.bytes;
        let body = Body::parse(bytes.clone(), conversation.wire());
        let envelope = body.map(|body| body.envelope(ctx_clients::lexicon())).unwrap_or_default();
        let is_system = matches!(address, Address::System | Address::SystemBlock(_));
        let (kind, pieces, laid) = match is_system {
            true => ("system", envelope.system, &view.system),
            false => ("tool", envelope.tools.unwrap_or_default(), &view.tools),
        };
        // The model does not read a tool that is not loaded.
        let scale = |piece: &Piece| match piece.deferred {
            true => 0,
            false => conversation.tokens(tokens::estimate(piece.chars, 0)),
        };
        let mut blocks = Vec::new();
        let mut made_by = Vec::new();
        for (index, piece) in pieces.iter().enumerate() {
            let wanted = match address {
                Address::SystemBlock(at) => *at == index,
                Address::Tool(name) => *piece.name == **name,
                _ => true,
            };
            if !wanted {
                continue;
            }
            let id = if is_system { format!("system#{index}") } else { format!("tools/{}", piece.name) };
            let around = laid.get(index);
            let block = |raw: Option<Box<RawValue>>, tokens: u64, covered: Option<String>, replaced: Option<String>| {
                let text = raw.as_deref().and_then(|raw| conversation.wire().described(raw.get()));
                BlockView {
                    id: id.clone(),
                    kind: kind.into(),
                    tokens,
                    text: text.unwrap_or_else(|| piece.label.to_string()),
                    tool: (!is_system).then(|| piece.name.to_string()),
                    tool_use_id: None,
                    is_error: false,
                    covered,
                    repaired: None,
                    replaced,
                    raw,
                }
            };
            let covered = around.and_then(|around| around.covered).map(|id| id.commit.to_string());
            for made in around.iter().flat_map(|around| &around.by) {
                let Some(content) = view.made(*made) else { continue };
                let tokens = conversation.tokens(view.weigh_made(*made));
                let commit = Some(made.effect.commit.to_string());
                let gone = view.left_out_of(*made);
                let written = content.content.iter().map(|content| conversation.wire().write(content));
                blocks.extend((0..).zip(written).map(|(at, text)| BlockView {
                    repaired: gone.contains(&at).then(|| "the provider would refuse it here".to_owned()),
                    ..block(raw(text.as_bytes()), tokens, None, commit.clone())
                }));
            }
            let tokens = if covered.is_some() { 0 } else { scale(piece) };
            blocks.push(block(raw(&bytes[piece.at.clone()]), tokens, covered, None));
            made_by.extend(around.into_iter().flat_map(Around::by));
        }
        let by = super::frames::by(view, made_by.into_iter());
        let tokens = blocks.iter().map(|block| block.tokens).sum();
        let title = match address {
            Address::Tool(name) => format!("Tool {name}"),
            _ if is_system => "System prompt".to_owned(),
            _ => "Tools".to_owned(),
        };
        let id = address.to_string();
        let view = MessageView {
            id: id.clone(),
            role: kind.into(),
            tokens,
            step: 0,
            pending: false,
            made: false,
            cut: false,
            other: Map::new(),
            blocks,
        };
        Ok(ContentView {
            conversation: conversation.id().to_owned(),
            id,
            kind: kind.into(),
            title,
            tokens,
            calibrated: conversation.usage.calibration.is_calibrated(),
            left: None,
            state: Vec::new(),
            by,
            messages: vec![view],
        })
    }
}

fn made_so(view: &View<'_>, targets: &[Target]) -> Vec<String> {
    let effects = targets.iter().flat_map(|target| {
        let frame = target.frame.filter(|_| target.scope == Scope::Frame).and_then(|at| view.frames.get(at));
        let arranged = frame.into_iter().flat_map(|frame| frame.by.iter().copied());
        arranged.chain(target.units.iter().flat_map(ViewUnit::by))
    });
    super::frames::by(view, effects)
}

fn states(engine: &Engine, desk: &Desk<'_>, targets: &[Target]) -> Vec<String> {
    let mut states: Vec<String> = Vec::new();
    for target in targets {
        let Some(frame) = target.frame.and_then(|at| desk.view.frames.get(at)) else { continue };
        let chips = match target.scope {
            Scope::Frame => super::frames::chips(engine, desk, frame, &target.units).map(str::to_owned).collect(),
            _ => super::frames::step_chips(engine, desk, frame, &target.units),
        };
        for chip in chips {
            if !states.contains(&chip) {
                states.push(chip);
            }
        }
    }
    states
}

/// The messages of the path that contain some units.
pub fn messages_of(units: &[ViewUnit]) -> impl Iterator<Item = usize> + use<> {
    let mut messages: Vec<usize> = units.iter().filter_map(message_of).collect();
    messages.dedup();
    messages.into_iter()
}

fn message_of(laid: &ViewUnit) -> Option<usize> {
    match laid.unit {
        Unit::Source { message, .. } => Some(message),
        Unit::Made(_) => None,
    }
}

/// The named messages, including the content removed from them.
pub fn message_views(
    conversation: &Conversation,
    view: &View<'_>,
    source: &Source<'_>,
    target: &Target,
    texts: &Texts,
) -> Vec<MessageView> {
    let path = source.messages;
    let Some(frame) = target.frame.and_then(|at| view.frames.get(at)) else { return Vec::new() };
    let layout = layout(view, frame, path);
    let mut views: Vec<MessageView> = Vec::new();
    let mut read: HashMap<usize, Vec<Content>> = HashMap::new();
    for group in &layout.groups {
        let units: Vec<&ViewUnit> =
            layout.units[group.units.clone()].iter().filter(|laid| target.units.contains(laid)).collect();
        // New messages that were replaced again are not shown.
        if units.is_empty() || (group.made.is_some() && units.iter().all(|laid| laid.covered.is_some())) {
            continue;
        }
        let id = format!("{}#{}", frame.id, group.number);
        for message in units.iter().filter_map(|laid| message_of(laid)) {
            let text = texts.get(&message).map(Vec::as_slice).unwrap_or_default();
            read.entry(message).or_insert_with(|| conversation.wire().contents(text));
        }
        let blocks: Vec<BlockView> =
            units.iter().flat_map(|laid| block_views(conversation, view, path, &id, laid, (texts, &read))).collect();
        let tokens = blocks.iter().filter(|block| block.is_sent()).map(|block| block.tokens).sum();
        views.push(MessageView {
            role: group.role.name().into(),
            tokens,
            step: group.step,
            pending: group.source.is_some_and(|message| source.slots.get(message) == Some(&PENDING)),
            made: group.made.is_some(),
            cut: false,
            other: group.source.and_then(|at| Some(other(texts.get(&at)?, path.get(at)?))).unwrap_or_default(),
            blocks,
            id,
        });
    }
    views
}

fn block_views(
    conversation: &Conversation,
    view: &View<'_>,
    path: &[&Message],
    id: &str,
    laid: &ViewUnit,
    (texts, read): (&Texts, &HashMap<usize, Vec<Content>>),
) -> Vec<BlockView> {
    let scale = |weight: f64| conversation.tokens(weight);
    let covered = laid.covered.map(|id| id.commit.to_string());
    match laid.unit {
        Unit::Source { message, block } => {
            let Some(facts) = block.and_then(|at| path[message].blocks.get(at)) else { return Vec::new() };
            let text = texts.get(&message).map(Vec::as_slice).unwrap_or_default();
            let at = block.unwrap_or(0);
            let content = read.get(&message).and_then(|contents| contents.get(at));
            let source = (at_of(text, facts), content);
            let mut shown = block_view(conversation.wire(), (id, at), facts, source, tool_of(path, message, facts));
            shown.tokens = scale(tokens::of_block(facts));
            if let Some(content) = view.new_result(laid) {
                shown.text = content.to_owned();
                shown.tokens = scale(tokens::estimate(content.chars().count() as u32, 0));
                shown.replaced = laid.result.map(|(id, _)| id.commit.to_string());
            }
            vec![BlockView { covered, repaired: view.is_left_out(laid).then(String::new), ..shown }]
        }
        Unit::Made(made) => {
            let Some(content) = view.made(made) else { return Vec::new() };
            let message = conversation.wire().written(&content.content);
            let facts = conversation.wire().read(&message, ctx_clients::lexicon()).facts;
            let contents = conversation.wire().contents(&message);
            let gone = if covered.is_none() { view.left_out_of(made) } else { &[] };
            let views = facts.blocks.iter().enumerate().map(|(at, facts)| BlockView {
                repaired: gone.contains(&(at as u32)).then(String::new),
                tokens: scale(tokens::of_block(facts)),
                covered: covered.clone(),
                kind: if facts.kind == Kind::Reminder { Kind::Text } else { facts.kind }.name().into(),
                ..block_view(
                    conversation.wire(),
                    (id, at),
                    facts,
                    (at_of(&message, facts), contents.get(at)),
                    facts.tool.as_deref(),
                )
            });
            views.collect()
        }
    }
}

/// The tool of a block of the message `at`. The call of a result is searched backwards, because it usually comes right
/// before.
fn tool_of<'a>(path: &[&'a Message], at: usize, block: &'a Block) -> Option<&'a str> {
    let is_call = |other: &&Block| other.kind == Kind::ToolUse && other.tool_use_id == block.tool_use_id;
    let (before, behind) = path.split_at(at);
    match block.kind {
        Kind::ToolResult => {
            let near = before.iter().rev().chain(behind);
            near.flat_map(|message| &message.blocks).find(is_call)?.tool.as_deref()
        }
        _ => block.tool.as_deref(),
    }
}

fn block_view(
    wire: &dyn Wire,
    (message, at): (&str, usize),
    facts: &Block,
    (bytes, content): (&[u8], Option<&Content>),
    tool: Option<&str>,
) -> BlockView {
    BlockView {
        id: format!("{message}.{at}"),
        kind: facts.kind.name().into(),
        tokens: 0,
        text: content.map_or_else(|| "(this part is not stored)".to_owned(), |content| readable(wire, content)),
        tool: tool.map(str::to_owned),
        tool_use_id: facts.tool_use_id.as_deref().map(str::to_owned),
        is_error: matches!(content, Some(Content::Result { error: true, .. })),
        covered: None,
        repaired: None,
        replaced: None,
        raw: raw(bytes),
    }
}

/// The bytes of a block in its message.
pub fn at_of<'a>(text: &'a [u8], facts: &Block) -> &'a [u8] {
    text.get(facts.at.start as usize..facts.at.end as usize).unwrap_or_default()
}

fn raw(bytes: &[u8]) -> Option<Box<RawValue>> {
    RawValue::from_string(std::str::from_utf8(bytes).ok()?.to_owned()).ok()
}

/// A block as Markdown, for a file that a person or an agent reads.
pub fn markdown(block: &BlockView) -> String {
    let fence = |text: &str| {
        let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
        "`".repeat(longest.max(2) + 1)
    };
    match block.kind.as_str() {
        "tool_use" => {
            let marks = fence(&block.text);
            format!("\n### Call: {}\n\n{marks}json\n{}\n{marks}\n", block.tool.as_deref().unwrap_or("tool"), block.text)
        }
        "tool_result" => {
            let marks = fence(&block.text);
            let failed = if block.is_error { " (error)" } else { "" };
            format!(
                "\n### Result: {}{failed}\n\n{marks}\n{}\n{marks}\n",
                block.tool.as_deref().unwrap_or("tool"),
                block.text
            )
        }
        "thinking" if block.text.is_empty() => String::new(),
        "thinking" => format!("\n> {}\n", block.text.replace('\n', "\n> ")),
        "text" | "reminder" => format!("\n{}\n", block.text),
        other => format!("\n[{other}]\n"),
    }
}

/// The sent content of a frame, as text.
pub fn plain(conversation: &Conversation, ground: &Ground<'_>, view: &View<'_>, at: usize, texts: &Texts) -> String {
    let Some(frame) = view.frames.get(at) else { return String::new() };
    let units = view.units(frame, &ground.messages);
    let target = Target {
        name: frame.id.to_string(),
        scope: Scope::Frame,
        frame: Some(at),
        units,
        covers: Vec::new(),
        weight: 0.0,
    };
    let mut out = String::new();
    for message in message_views(conversation, view, &ground.source(), &target, texts) {
        let blocks: Vec<&BlockView> = message.blocks.iter().filter(|block| block.is_sent()).collect();
        if !blocks.is_empty() {
            out.push_str(&format!("## {}\n", message.role));
            blocks.into_iter().for_each(|block| out.push_str(&markdown(block)));
        }
    }
    out
}

/// Names the repair that removed the block.
fn explain(block: &mut BlockView, repairs: &[RepairView]) {
    let names = |repair: &&RepairView| match (&block.tool_use_id, block.kind.as_str()) {
        (Some(id), _) => repair.what.contains(id.as_str()),
        (None, "thinking") => matches!(repair.rule.as_str(), "A65" | "A39"),
        (None, "text") => matches!(repair.rule.as_str(), "A26" | "A27" | "A13"),
        (None, _) => false,
    };
    block.repaired = Some(match repairs.iter().find(names) {
        Some(repair) => sentence(repair),
        None => "the provider would refuse it here".to_owned(),
    });
}
