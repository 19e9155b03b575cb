//! One frame, step, message or block, with its content.

use super::frames::weight;
use super::{Refusal, nearest, rebuilt, suggest};
use crate::Composer;
use crate::address::Address;
use crate::conversation::Conversation;
use crate::directory::lock;
use ctx_core::frames::{self, Border, Frame, Part};
use ctx_core::message::{Block, Kind, Message};
use ctx_core::tokens;
use ctx_store::{Blob, Hash};
use ctx_wire::anthropic::dress::dress;
use ctx_wire::anthropic::envelope::{self, Piece};
use ctx_wire::anthropic::request;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::collections::HashMap;

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Shown {
    pub conversation: String,
    pub id: String,
    pub kind: String,
    pub title: String,
    pub tokens: u64,
    pub calibrated: bool,
    pub messages: Vec<MessageView>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct MessageView {
    pub id: String,
    pub role: String,
    pub tokens: u64,
    /// The step it belongs to; 0 before the model's first move.
    pub step: usize,
    pub pending: bool,
    pub blocks: Vec<BlockView>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct BlockView {
    pub id: String,
    pub kind: String,
    pub tokens: u64,
    pub text: String,
    pub tool: Option<String>,
    pub tool_use_id: Option<String>,
    pub is_error: bool,
    /// The block as it stands in the request; absent where it is not valid JSON text.
    pub raw: Option<Box<RawValue>>,
}

impl Composer {
    /// Shows what `id` names in a conversation.
    pub fn show(&self, name: &str, id: &str) -> Result<Shown, Refusal> {
        let shared = self.stored(name)?;
        let conversation = lock(&shared);
        let path = conversation.path();
        let turns = frames::frames(&path);
        let unknown = || unknown(&conversation, &turns, id);
        let address: Address = id.parse().map_err(|_| unknown())?;
        match &address {
            Address::System | Address::SystemBlock(_) | Address::Tools | Address::Tool(_) => {
                self.around(&conversation, &address)?.ok_or_else(unknown)
            }
            Address::Turn(turn)
            | Address::Steps { turn, .. }
            | Address::Message { turn, .. }
            | Address::Block { turn, .. } => {
                let frame = turns.get(turn - 1).ok_or_else(unknown)?;
                let (parts, start, end) = chosen(&path, frame, &address).ok_or_else(unknown)?;
                let texts = self.texts(&conversation, parts.iter().map(|(_, part)| part.message))?;
                let messages = parts
                    .iter()
                    .map(|(index, part)| message(&conversation, &path, frame, (*turn, *index), part, &texts))
                    .collect();
                let tokens = match address {
                    Address::Message { .. } | Address::Block { .. } => {
                        parts.iter().map(|(_, part)| part_weight(&path, part)).sum()
                    }
                    _ => weight(&path, start, end),
                };
                Ok(Shown {
                    conversation: conversation.id.clone(),
                    id: address.to_string(),
                    kind: if matches!(address, Address::Turn(_)) { "turn" } else { "part" }.into(),
                    title: frames::title(&path, frame),
                    tokens: conversation.calibration.tokens(tokens),
                    calibrated: conversation.calibration.is_calibrated(),
                    messages,
                })
            }
        }
    }

    /// The exact bytes of some messages of the path.
    fn texts(
        &self,
        conversation: &Conversation,
        wanted: impl Iterator<Item = usize>,
    ) -> Result<HashMap<usize, Vec<u8>>, Refusal> {
        let slots: Vec<_> = conversation.tree.path().map(|slot| slot.id).collect();
        let mut texts = HashMap::new();
        let mut asked = Vec::new();
        for at in wanted {
            match slots.get(at).and_then(|slot| conversation.versions.get(slot)) {
                Some(worn) => asked.push((at, worn)),
                None => drop(conversation.pending.as_ref().map(|pending| texts.insert(at, pending.bytes.clone()))),
            }
        }
        let hashes: Vec<Hash> = asked.iter().map(|(_, worn)| worn.blob).collect();
        for ((at, worn), blob) in asked.into_iter().zip(self.store.blobs(&hashes)?) {
            if let Blob::Present(bare) = blob {
                texts.insert(at, dress(&bare, &worn.dress).unwrap_or(bare));
            }
        }
        Ok(texts)
    }

    /// System blocks and tool definitions.
    fn around(&self, conversation: &Conversation, address: &Address) -> Result<Option<Shown>, Refusal> {
        let bytes = rebuilt(self, conversation)?.bytes;
        let Ok(request) = request::parse(&bytes) else { return Ok(None) };
        let envelope = envelope::read(&bytes, &request);
        let (kind, pieces): (&str, Vec<Piece>) = match address {
            Address::System => ("system", envelope.system),
            Address::SystemBlock(index) => ("system", envelope.system.into_iter().skip(*index).take(1).collect()),
            Address::Tool(name) => {
                ("tool", envelope.tools.unwrap_or_default().into_iter().filter(|tool| *tool.name == **name).collect())
            }
            _ => ("tool", envelope.tools.unwrap_or_default()),
        };
        if pieces.is_empty() {
            return Ok(None);
        }
        // The model does not read a tool that is not loaded.
        let scale = |piece: &Piece| match piece.deferred {
            true => 0,
            false => conversation.calibration.tokens(tokens::estimate(piece.chars, 0)),
        };
        let block = |(index, piece): (usize, &Piece)| {
            let raw = raw(&bytes[piece.at.clone()]);
            let index = if let Address::SystemBlock(chosen) = address { *chosen } else { index };
            let id = if kind == "system" { format!("system#{index}") } else { format!("tools/{}", piece.name) };
            let text = value(raw.as_deref()).and_then(|value| {
                let field = if kind == "system" { &value["text"] } else { &value["description"] };
                field.as_str().or(value.as_str()).map(str::to_owned)
            });
            BlockView {
                id,
                kind: kind.into(),
                tokens: scale(piece),
                text: text.unwrap_or_else(|| piece.label.to_string()),
                tool: (kind == "tool").then(|| piece.name.to_string()),
                tool_use_id: None,
                is_error: false,
                raw,
            }
        };
        let blocks: Vec<BlockView> = pieces.iter().enumerate().map(block).collect();
        let tokens = blocks.iter().map(|block| block.tokens).sum();
        let title = match kind {
            "system" => "System prompt".to_owned(),
            _ if blocks.len() == 1 => format!("Tool {}", pieces[0].name),
            _ => "Tools".to_owned(),
        };
        let messages =
            vec![MessageView { id: address.to_string(), role: kind.into(), tokens, step: 0, pending: false, blocks }];
        Ok(Some(Shown {
            conversation: conversation.id.clone(),
            id: address.to_string(),
            kind: kind.into(),
            title,
            tokens,
            calibrated: conversation.calibration.is_calibrated(),
            messages,
        }))
    }
}

type Chosen = (Vec<(usize, Part)>, Border, Border);

/// The parts of a frame that an address names, each with its number in the frame.
fn chosen(path: &[&Message], frame: &Frame, address: &Address) -> Option<Chosen> {
    let all: Vec<(usize, Part)> = frames::parts(path, frame.start, frame.end).into_iter().enumerate().collect();
    match address {
        Address::Steps { from, to, .. } => {
            let (start, end) = (frame.steps.get(from - 1)?.start, frame.steps.get(to - 1)?.end);
            let inside = frames::parts(path, start, end);
            let number = |part: &Part| {
                all.iter().find(|(_, other)| other.message == part.message).map_or(0, |(index, _)| *index)
            };
            Some((inside.into_iter().map(|part| (number(&part), part)).collect(), start, end))
        }
        Address::Message { message, .. } => Some((vec![all.get(*message)?.clone()], frame.start, frame.end)),
        Address::Block { message, block, .. } => {
            let (index, part) = all.get(*message)?.clone();
            let part = part.blocks.contains(block).then_some(Part { blocks: *block..block + 1, ..part })?;
            Some((vec![(index, part)], frame.start, frame.end))
        }
        _ => Some((all, frame.start, frame.end)),
    }
}

fn part_weight(path: &[&Message], part: &Part) -> f64 {
    path[part.message].blocks.get(part.blocks.clone()).unwrap_or_default().iter().map(tokens::of_block).sum()
}

fn message(
    conversation: &Conversation,
    path: &[&Message],
    frame: &Frame,
    (turn, index): (usize, usize),
    part: &Part,
    texts: &HashMap<usize, Vec<u8>>,
) -> MessageView {
    let facts = path[part.message];
    let id = format!("t{turn}#{index}");
    let start = Border { message: part.message, block: part.blocks.start };
    let text = texts.get(&part.message).map(Vec::as_slice).unwrap_or_default();
    let blocks = part
        .blocks
        .clone()
        .filter_map(|at| {
            facts.blocks.get(at).map(|facts| block(conversation, &id, at, facts, text, tool_of(path, facts)))
        })
        .collect();
    MessageView {
        role: facts.role.name().into(),
        tokens: conversation.calibration.tokens(part_weight(path, part)),
        step: frame.steps.iter().filter(|step| step.start <= start).count(),
        pending: part.message >= conversation.tree.current().len(),
        blocks,
        id,
    }
}

/// The tool a block is about: a call names it, a result answers a call.
fn tool_of<'a>(path: &[&'a Message], block: &'a Block) -> Option<&'a str> {
    let is_call = |other: &&Block| other.kind == Kind::ToolUse && other.tool_use_id == block.tool_use_id;
    match block.kind {
        Kind::ToolResult => path.iter().flat_map(|message| &message.blocks).find(is_call)?.tool.as_deref(),
        _ => block.tool.as_deref(),
    }
}

fn block(
    conversation: &Conversation,
    message: &str,
    at: usize,
    facts: &Block,
    text: &[u8],
    tool: Option<&str>,
) -> BlockView {
    let raw = raw(at_of(text, facts));
    let value = value(raw.as_deref());
    BlockView {
        id: format!("{message}.{at}"),
        kind: facts.kind.name().into(),
        tokens: conversation.calibration.tokens(tokens::of_block(facts)),
        text: match &value {
            Some(value) => readable(facts.kind, value),
            None if text.is_empty() => "(this part is not stored)".to_owned(),
            // A lone surrogate, say: not text for a strict reader, but still worth reading.
            None => ctx_wire::json::decode(at_of(text, facts)).into_owned(),
        },
        tool: tool.map(str::to_owned),
        tool_use_id: facts.tool_use_id.as_deref().map(str::to_owned),
        is_error: value.is_some_and(|value| value["is_error"] == true),
        raw,
    }
}

/// The bytes of a block in its message.
fn at_of<'a>(text: &'a [u8], facts: &Block) -> &'a [u8] {
    text.get(facts.at.start as usize..facts.at.end as usize).unwrap_or_default()
}

fn raw(bytes: &[u8]) -> Option<Box<RawValue>> {
    RawValue::from_string(std::str::from_utf8(bytes).ok()?.to_owned()).ok()
}

fn value(raw: Option<&RawValue>) -> Option<serde_json::Value> {
    serde_json::from_str(raw?.get()).ok()
}

/// What a person wants to read of a block.
fn readable(kind: Kind, value: &serde_json::Value) -> String {
    let text = |value: &serde_json::Value| value.as_str().map(str::to_owned);
    match kind {
        Kind::Text | Kind::Reminder => text(value).or_else(|| text(&value["text"])),
        Kind::Thinking => text(&value["thinking"]),
        Kind::ToolUse => Some(value["input"].to_string()),
        Kind::ToolResult => match &value["content"] {
            serde_json::Value::Array(parts) => Some(
                parts
                    .iter()
                    .map(|part| {
                        text(&part["text"]).unwrap_or_else(|| format!("[{}]", part["type"].as_str().unwrap_or("?")))
                    })
                    .collect::<Vec<_>>()
                    .join("\n"),
            ),
            content => text(content),
        },
        Kind::Image | Kind::Document | Kind::Other => None,
    }
    .unwrap_or_default()
}

fn unknown(conversation: &Conversation, turns: &[Frame], id: &str) -> Refusal {
    let mut known: Vec<String> = (1..=turns.len()).map(|turn| format!("t{turn}")).collect();
    known.extend(["system".to_owned(), "tools".to_owned()]);
    known.extend(conversation.envelope.tools.iter().flatten().map(|tool| format!("tools/{}", tool.name)));
    if let Some((turn, _)) = id.strip_prefix('t').and_then(|rest| rest.split_once('/'))
        && let Some(frame) = turn.parse::<usize>().ok().and_then(|turn| turns.get(turn.checked_sub(1)?))
    {
        known.extend((1..=frame.steps.len()).map(|step| format!("t{turn}/{step}")));
    }
    let near = nearest(id, known.iter().map(String::as_str));
    Refusal::new(
        "unknown-id",
        format!("Nothing is called `{id}` in conversation {}.", conversation.id),
        suggest(&near, "`ctx list --steps` shows frames and steps, `ctx show` of one its messages and blocks."),
    )
}
