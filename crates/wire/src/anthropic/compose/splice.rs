//! Turns the plan into segments: ranges of the client's bytes, with synthetic bytes between them.

use super::around::{Around, Part};
use super::marks::{Marks, Spot};
use super::memo::known;
use super::plan::{Out, Piece, Plan, pieces};
use super::spell::{self, Content, List, behind};
use super::{Segment, made};
use crate::compose::writer::Writer;
use crate::envelope;
use crate::json::{self, Member, Span};
use std::borrow::Cow;
use std::sync::Arc;

/// A changed region of the body.
enum Region {
    System,
    Tools,
    Messages,
    Cut,
}

pub(super) struct SplicedRegion {
    pub segments: Vec<Segment>,
    /// The segments of the messages before the border.
    pub settled: Vec<Segment>,
}

/// Writes the body; `settled`: the segments of messages settled by an earlier request, `border`: the message before
/// which this request settles.
pub(super) fn write(
    plan: &Plan<'_>,
    around: &Around,
    marks: &Marks,
    settled: Option<&[Segment]>,
    border: Option<usize>,
) -> SplicedRegion {
    let (body, request) = (plan.input.body.bytes(), plan.input.body.spans());
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

    let mut splicer = Splicer { plan, body, marks, writer: Writer::default() };
    let mut left = Vec::new();
    let mut at = 0;
    let envelope = plan.input.envelope;
    for (span, region) in regions {
        splicer.writer.source(at..span.start);
        at = span.end;
        match region {
            Region::Cut => {}
            Region::Messages => left = splicer.messages(settled, border),
            Region::System => splicer.list(&span, &envelope.system, &around.system, &around.made, Spot::System),
            Region::Tools => {
                let tools = envelope.tools.as_deref().unwrap_or_default();
                splicer.list(&span, tools, &around.tools, &around.made, Spot::Tool);
            }
        }
    }
    splicer.writer.source(at..body.len());
    SplicedRegion { segments: splicer.writer.0, settled: left }
}

struct Splicer<'p, 'a> {
    plan: &'p Plan<'a>,
    body: &'p [u8],
    marks: &'p Marks,
    writer: Writer,
}

impl<'p> Splicer<'p, '_> {
    fn mark(&self, spot: Spot) -> Option<&'p [u8]> {
        self.marks.edits.iter().find(|(other, _)| *other == spot).map(|(_, value)| value.as_slice())
    }

    /// Writes the messages; returns the segments before the border.
    fn messages(&mut self, settled: Option<&[Segment]>, border: Option<usize>) -> Vec<Segment> {
        let request = self.plan.input.body.spans();
        let spans = &request.messages;
        let before = std::mem::take(&mut self.writer);
        let mut left = Vec::new();
        match settled {
            Some(settled) => self.writer.0.extend_from_slice(settled),
            None => {
                let first = spans.first().map_or(request.array.start + 1, |first| first.start);
                self.writer.source(request.array.start..first);
            }
        }
        for (at, out) in (self.plan.settled.len()..).zip(&self.plan.outs) {
            if border == Some(at) {
                left.clone_from(&self.writer.0);
            }
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
        let own = std::mem::replace(&mut self.writer, before);
        self.writer.append(own);
        left
    }

    fn message(&mut self, at: usize, out: &Out) {
        let span = out.source.and_then(|source| self.plan.input.body.spans().messages.get(source as usize)).cloned();
        let marked = self.marks.edits.iter().any(|(spot, _)| matches!(spot, Spot::Block(out, _) if *out == at));
        match (out.source, span) {
            (Some(_), Some(span)) if out.is_whole() && !marked => self.writer.source(span),
            (Some(source), Some(span)) if out.first => self.in_place(at, out, source, span),
            _ => self.anew(at, out),
        }
    }

    /// Writes a new message.
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

    /// Writes inside the object of a client's message: cuts only what differs.
    fn in_place(&mut self, at: usize, out: &Out, source: u32, span: Span) {
        let pieces: Cow<'_, [Piece]> = match &out.pieces {
            Some(pieces) => Cow::Borrowed(pieces),
            None => pieces(self.plan.input, out).collect(),
        };
        let base = span.start;
        let content = known(self.plan.input).content(source as usize, self.body.get(span.clone()).unwrap_or_default());
        match &*content {
            Content::Nothing => self.anew(at, out),
            Content::Text(text) => {
                let text = behind(base, text);
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
                self.writer.source(base..base + list.first);
                for (n, piece) in pieces.iter().enumerate() {
                    if n > 0 {
                        let own = match *piece {
                            Piece::Client { message, block, .. } if message == source => Some(block as usize),
                            _ => None,
                        };
                        self.between(base, list, own);
                    }
                    self.piece(*piece, self.mark(Spot::Block(at, n)));
                }
                self.writer.source(base + list.blocks.last().map_or(list.close, |last| last.end)..span.end);
            }
        }
    }

    /// Writes the client's separator before a block, comma included.
    fn between(&mut self, base: usize, list: &List, block: Option<usize>) {
        let gap = block.and_then(|block| {
            let before = list.blocks.get(block.checked_sub(1)?)?.end;
            Some(before..list.blocks.get(block)?.start)
        });
        match gap {
            Some(gap) => self.writer.source(behind(base, &gap)),
            None => self.writer.made(b","),
        }
    }

    /// Writes a piece of either source.
    fn piece(&mut self, piece: Piece, mark: Option<&[u8]>) {
        match piece {
            Piece::Made(at) => {
                let json = self.plan.made.get(at as usize).map_or("{}", |made| &made.json);
                self.made_object(json, mark);
            }
            Piece::Client { message, block, text } => {
                let (at, block, memo) = (message as usize, block as usize, known(self.plan.input));
                let Some(whole) = self.plan.input.body.spans().messages.get(at) else { return };
                let bytes = self.body.get(whole.clone()).unwrap_or_default();
                match &*memo.content(at, bytes) {
                    Content::Text(span) => self.text(behind(whole.start, span), mark),
                    Content::List(list) => {
                        let Some(span) = list.blocks.get(block) else { return };
                        let members = || memo.members(at, block, bytes, span.start);
                        self.block(whole.start, span, text, mark, members);
                    }
                    Content::Nothing => {}
                }
            }
        }
    }

    /// Writes the only text of a message whose content is a string, as a block.
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

    /// Writes a client's block, relative to `base`; `text`, counted from 1, replaces its content.
    fn block(
        &mut self,
        base: usize,
        span: &Span,
        text: u32,
        mark: Option<&[u8]>,
        members: impl FnOnce() -> Arc<[Member]>,
    ) {
        let text = text.checked_sub(1).and_then(|text| self.plan.texts.get(text as usize));
        if text.is_none() && mark.is_none() {
            return self.writer.source(behind(base, span));
        }
        let text = text.map(|text| serde_json::to_string(text).unwrap_or_else(|_| "\"\"".to_owned()));
        let mut new = [("content", text.as_deref().map(str::as_bytes)), ("cache_control", mark)];
        let (mut at, mut end, mut comma) = (span.start, span.start + 1, "");
        for member in members().iter() {
            let key = &self.body[behind(base, &member.key)];
            let replaced = new.iter_mut().find(|(name, _)| json::key_is(key, name)).and_then(|(_, value)| value.take());
            (end, comma) = (member.value.end, ",");
            if let Some(value) = replaced {
                self.writer.source(behind(base, &(at..member.value.start)));
                self.writer.made(value);
                at = end;
            }
        }
        for (name, value) in new {
            if let Some(value) = value {
                self.writer.source(behind(base, &(at..end)));
                self.writer.made(format!("{comma}\"{name}\":").as_bytes());
                self.writer.made(value);
                (at, comma) = (end, ",");
            }
        }
        self.writer.source(behind(base, &(at..span.end)));
    }

    /// Writes `system` or `tools`.
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
                Part::Own(at) if is_list => {
                    let (body, span) = (self.body, &own[*at].at);
                    let members = || json::members(body, span.start).into_iter().flatten().flatten().collect();
                    self.block(0, span, 0, mark, members);
                }
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
