//! From the plan to segments: ranges of the client's bytes, and ours between them.

use super::around::{Around, Part};
use super::marks::{Marks, Spot};
use super::plan::{Out, Piece, Plan, block_count, pieces};
use super::spell::{self, Content, List};
use super::{Segment, made};
use crate::anthropic::envelope;
use crate::json::{self, Member, Span};
use std::borrow::Cow;
use std::collections::HashMap;

/// Gathers segments; ranges that meet become one.
#[derive(Default)]
struct Writer(Vec<Segment>);

impl Writer {
    fn source(&mut self, range: Span) {
        if range.is_empty() {
            return;
        }
        match self.0.last_mut() {
            Some(Segment::Source(last)) if last.end == range.start => last.end = range.end,
            _ => self.0.push(Segment::Source(range)),
        }
    }

    fn made(&mut self, bytes: &[u8]) {
        match self.0.last_mut() {
            Some(Segment::Made(last)) => last.extend_from_slice(bytes),
            _ => self.0.push(Segment::Made(bytes.to_vec())),
        }
    }
}

/// What differs in the body, by where it stands.
enum Region {
    System,
    Tools,
    Messages,
    Cut,
}

pub(super) fn write(plan: &Plan<'_>, around: &Around, marks: &Marks) -> Vec<Segment> {
    let (body, request) = (plan.input.body.bytes(), plan.input.body.request());
    let mut regions: Vec<(Span, Region)> = vec![(request.array.clone(), Region::Messages)];
    let has_edit = |wanted: fn(&Spot) -> bool| marks.edits.iter().any(|(spot, _)| wanted(spot));
    if let Some((span, _)) = request.member(body, "system") {
        match &around.system {
            Some(parts) if parts.is_empty() => {
                let spans: Vec<Span> = request.members.iter().map(json::Member::whole).collect();
                let at = request.members.iter().rposition(|member| member.value == span);
                regions.extend(at.map(|at| (spell::cut(&spans, at), Region::Cut)));
            }
            Some(_) => regions.push((span, Region::System)),
            None if has_edit(|spot| matches!(spot, Spot::System(_))) => regions.push((span, Region::System)),
            None => {}
        }
    }
    if let Some((span, _)) = request.member(body, "tools")
        && (around.tools.is_some() || has_edit(|spot| matches!(spot, Spot::Tool(_))))
    {
        regions.push((span, Region::Tools));
    }
    regions.sort_by_key(|(span, _)| span.start);

    let mut splicer = Splicer { plan, body, marks, writer: Writer::default(), read: HashMap::new() };
    let mut at = 0;
    let envelope = plan.input.envelope;
    for (span, region) in regions {
        splicer.writer.source(at..span.start);
        at = span.end;
        match region {
            Region::Cut => {}
            Region::Messages => splicer.messages(),
            Region::System => splicer.list(&span, &envelope.system, &around.system, &around.made, Spot::System),
            Region::Tools => {
                let tools = envelope.tools.as_deref().unwrap_or_default();
                splicer.list(&span, tools, &around.tools, &around.made, Spot::Tool);
            }
        }
    }
    splicer.writer.source(at..body.len());
    splicer.writer.0
}

struct Splicer<'p, 'a> {
    plan: &'p Plan<'a>,
    body: &'p [u8],
    marks: &'p Marks,
    writer: Writer,
    /// Messages that were read to their end, for blocks that left them.
    read: HashMap<u32, Content>,
}

impl<'p> Splicer<'p, '_> {
    fn mark(&self, spot: Spot) -> Option<&'p [u8]> {
        self.marks.edits.iter().find(|(other, _)| *other == spot).map(|(_, value)| value.as_slice())
    }

    fn messages(&mut self) {
        let request = self.plan.input.body.request();
        let spans = &request.messages;
        self.writer.source(request.array.start..spans.first().map_or(request.array.start + 1, |first| first.start));
        for (at, out) in self.plan.outs.iter().enumerate() {
            if at > 0 {
                let before = out.source.filter(|_| out.first).and_then(|source| (source as usize).checked_sub(1));
                match before.and_then(|before| Some(spans.get(before)?.end..spans.get(before + 1)?.start)) {
                    Some(between) => self.writer.source(between),
                    None => self.writer.made(b","),
                }
            }
            self.message(at, out);
        }
        let end = spans.last().map_or(request.array.start + 1, |last| last.end);
        self.writer.source(end..request.array.end);
    }

    fn message(&mut self, at: usize, out: &Out) {
        let span = out.source.and_then(|source| self.plan.input.body.request().messages.get(source as usize)).cloned();
        let marked = self.marks.edits.iter().any(|(spot, _)| matches!(spot, Spot::Block(out, _) if *out == at));
        match (out.source, span) {
            (Some(_), Some(span)) if out.is_whole() && !marked => self.writer.source(span),
            (Some(source), Some(span)) if out.first => self.in_place(at, out, source, span),
            _ => self.anew(at, out),
        }
    }

    /// A message of its own.
    fn anew(&mut self, at: usize, out: &Out) {
        self.writer.made(format!("{{\"role\":\"{}\",\"content\":[", out.role.name()).as_bytes());
        for (n, piece) in pieces(self.plan.input, out).enumerate() {
            if n > 0 {
                self.writer.made(b",");
            }
            self.piece(piece, self.mark(Spot::Block(at, n)));
        }
        self.writer.made(b"]}");
    }

    /// Inside the object of a client's message: only what differs is cut.
    fn in_place(&mut self, at: usize, out: &Out, source: u32, span: Span) {
        let pieces: Cow<'_, [Piece]> = match &out.pieces {
            Some(pieces) => Cow::Borrowed(pieces),
            None => pieces(self.plan.input, out).collect(),
        };
        let count = block_count(self.plan.input, source);
        // What the message ends with and nothing changed is not read.
        let (mut tail, mut head) = (count, pieces.len());
        while let (Some(block), Some(piece)) = (tail.checked_sub(1), head.checked_sub(1))
            && pieces[piece] == (Piece::Client { message: source, block, text: 0 })
            && self.mark(Spot::Block(at, piece)).is_none()
        {
            (tail, head) = (block, piece);
        }
        let is_replaced = |at: usize| {
            let block = |piece: &Piece| match *piece {
                Piece::Client { message, block, text } => message == source && text > 0 && block as usize == at,
                Piece::Made(_) => false,
            };
            pieces[..head].iter().any(block)
        };
        let replaces = pieces[..head].iter().any(|piece| matches!(piece, Piece::Client { text, .. } if *text > 0));
        let wants = |at: usize| replaces && is_replaced(at);
        match spell::opened(self.body, span.start, tail as usize, &wants) {
            Content::Nothing => self.anew(at, out),
            Content::Text(text) => {
                self.writer.source(span.start..text.start);
                self.writer.made(b"[");
                for (n, &piece) in pieces.iter().enumerate() {
                    if n > 0 {
                        self.writer.made(b",");
                    }
                    let mark = self.mark(Spot::Block(at, n));
                    match piece {
                        Piece::Client { message, .. } if message == source => self.text(text.clone(), mark),
                        _ => self.piece(piece, mark),
                    }
                }
                self.writer.made(b"]");
                self.writer.source(text.end..span.end);
            }
            Content::List(list) => {
                self.writer.source(span.start..list.first);
                for (n, piece) in pieces.iter().take(head).enumerate() {
                    let own = match *piece {
                        Piece::Client { message, block, text } if message == source => Some((block as usize, text)),
                        _ => None,
                    };
                    if n > 0 {
                        self.between(&list, own.map(|(block, _)| block));
                    }
                    let mark = self.mark(Spot::Block(at, n));
                    match own.and_then(|(block, text)| Some((list.blocks.get(block)?.clone(), text))) {
                        Some((span, text)) => {
                            let members = own.and_then(|(block, _)| {
                                let at = list.members.binary_search_by_key(&block, |(at, _)| *at).ok()?;
                                Some(list.members[at].1.as_slice())
                            });
                            self.block(span, text, mark, members);
                        }
                        None => self.piece(*piece, mark),
                    }
                }
                match list.rest.filter(|_| tail < count) {
                    Some(rest) => {
                        if head > 0 {
                            self.between(&list, Some(tail as usize));
                        }
                        self.writer.source(rest..span.end);
                    }
                    None => self.writer.source(list.blocks.last().map_or(list.close, |last| last.end)..span.end),
                }
            }
        }
    }

    /// What stands before a block that another one precedes: as the client has it, comma and all.
    fn between(&mut self, list: &List, block: Option<usize>) {
        let gap = block.and_then(|block| {
            let before = list.blocks.get(block.checked_sub(1)?)?.end;
            let start = list.blocks.get(block).map_or(list.rest, |span| Some(span.start))?;
            Some(before..start)
        });
        match gap {
            Some(gap) => self.writer.source(gap),
            None => self.writer.made(b","),
        }
    }

    /// A piece, wherever it comes from.
    fn piece(&mut self, piece: Piece, mark: Option<&[u8]>) {
        match piece {
            Piece::Made(at) => {
                let json = self.plan.made.get(at as usize).map_or("{}", |made| &made.json);
                self.made_object(json, mark);
            }
            Piece::Client { message, block, text } => {
                let body = self.body;
                let start = self.plan.input.body.request().messages.get(message as usize).map_or(0, |span| span.start);
                let read = self.read.entry(message).or_insert_with(|| spell::content(body, start, usize::MAX));
                match read {
                    Content::Text(span) => {
                        let span = span.clone();
                        self.text(span, mark);
                    }
                    Content::List(list) => {
                        if let Some(span) = list.blocks.get(block as usize).cloned() {
                            self.block(span, text, mark, None);
                        }
                    }
                    Content::Nothing => {}
                }
            }
        }
    }

    /// The one text of a message whose content is a string, as a block.
    fn text(&mut self, text: Span, mark: Option<&[u8]>) {
        self.writer.made(b"{\"type\":\"text\",\"text\":");
        self.writer.source(text);
        if let Some(mark) = mark {
            self.writer.made(b",\"cache_control\":");
            self.writer.made(mark);
        }
        self.writer.made(b"}");
    }

    fn made_object(&mut self, json: &str, mark: Option<&[u8]>) {
        let bytes = json.as_bytes();
        match (mark, made::object(bytes)) {
            (Some(mark), Some(span)) => {
                let (at, comma) = spell::end_of_members(bytes, &span);
                self.writer.made(&bytes[..at]);
                self.writer.made(if comma { b",\"cache_control\":" } else { b"\"cache_control\":" });
                self.writer.made(mark);
                self.writer.made(&bytes[at..]);
            }
            _ => self.writer.made(bytes),
        }
    }

    /// A block of the client's; `text`, counted from 1, replaces its content. Its members, if they were read.
    fn block(&mut self, span: Span, text: u32, mark: Option<&[u8]>, members: Option<&[Member]>) {
        let text = text.checked_sub(1).and_then(|text| self.plan.texts.get(text as usize));
        if text.is_none() && mark.is_none() {
            return self.writer.source(span);
        }
        let text = text.map(|text| serde_json::Value::from(*text).to_string());
        let mut new = [("content", text.as_deref().map(str::as_bytes)), ("cache_control", mark)];
        let mut changes: Vec<(Span, Vec<u8>)> = Vec::new();
        let (mut end, mut comma) = (span.start + 1, "");
        let read: Vec<Member>;
        let members = match members {
            Some(members) => members,
            None => {
                read = json::members(self.body, span.start).into_iter().flatten().flatten().collect();
                &read
            }
        };
        for member in members {
            let key = &self.body[member.key.clone()];
            let replaced = new.iter_mut().find(|(name, _)| json::key_is(key, name)).and_then(|(_, value)| value.take());
            (end, comma) = (member.value.end, ",");
            changes.extend(replaced.map(|value| (member.value.clone(), value.to_vec())));
        }
        for (name, value) in new {
            if let Some(value) = value {
                changes.push((end..end, [format!("{comma}\"{name}\":").as_bytes(), value].concat()));
                comma = ",";
            }
        }
        let mut at = span.start;
        for (range, bytes) in changes {
            self.writer.source(at..range.start);
            self.writer.made(&bytes);
            at = range.end;
        }
        self.writer.source(at..span.end);
    }

    /// `system` or `tools`.
    fn list(
        &mut self,
        span: &Span,
        own: &[envelope::Piece],
        parts: &Option<Vec<Part>>,
        made: &[String],
        spot: fn(usize) -> Spot,
    ) {
        let all: Vec<Part>;
        let parts = match parts {
            Some(parts) => parts,
            None => {
                all = (0..own.len()).map(Part::Own).collect();
                &all
            }
        };
        let is_list = self.body.get(span.start) == Some(&b'[');
        let ends = match (own.first(), own.last()) {
            (Some(first), Some(last)) if is_list => Some((first.at.start, last.at.end)),
            _ => None,
        };
        match ends {
            Some((first, _)) => self.writer.source(span.start..first),
            None => self.writer.made(b"["),
        }
        for (n, part) in parts.iter().enumerate() {
            if n > 0 {
                let gap = match part {
                    Part::Own(at) if is_list => at.checked_sub(1).map(|before| own[before].at.end..own[*at].at.start),
                    _ => None,
                };
                match gap {
                    Some(gap) => self.writer.source(gap),
                    None => self.writer.made(b","),
                }
            }
            let mark = self.mark(spot(n));
            match part {
                Part::Own(at) if is_list => self.block(own[*at].at.clone(), 0, mark, None),
                Part::Own(at) => self.text(own[*at].at.clone(), mark),
                Part::Made(at) => self.made_object(made.get(*at).map_or("{}", String::as_str), mark),
            }
        }
        match ends {
            Some((_, last)) => self.writer.source(last..span.end),
            None => self.writer.made(b"]"),
        }
    }
}
