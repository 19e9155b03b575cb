//! Reads a passive copy of one answer: its usage, its end, the model's message.
//!
//! The tap never touches the forwarded bytes. It runs behind them, accepts any input and cannot fail: it counts unknown
//! events and reports unreadable ones in the [`Answer`]. Decoding, limits and framing are the same on all wires; an
//! [`AnswerReader`] interprets the events of one.

pub mod fields;
mod list;

use crate::answer::{self as seam, Answer, Ending, Growth, Progress, ProviderError};
use crate::encoding::{DecodeError, Decoder, Encoding};
use crate::sse;

/// The largest answer to keep. A longer reply is not reported; its counts are.
pub const ANSWER_LIMIT: usize = 64 * 1024 * 1024;

/// How much of a foreign error is kept, and how much of it is shown.
const FOREIGN_ERROR_LIMIT: usize = 64 * 1024;
const FOREIGN_ERROR_SHOWN: usize = 300;

/// Reads the answers of one wire.
pub trait AnswerReader: std::fmt::Debug + Default + Send {
    /// Whether a stream may be a list of the objects that are events otherwise.
    const STREAMS_LISTS: bool = false;

    /// Takes one event of a stream.
    fn event(&mut self, event: sse::Event<'_>, answer: &mut Answer);

    /// Takes a body that is one JSON value; false if it is not an answer of this wire.
    fn whole(&mut self, body: &str, answer: &mut Answer) -> bool;

    /// The messages so far, in the form of [`Answer::reply`].
    fn reply(&self) -> Vec<Vec<u8>>;

    /// The additions to the message since the last call with `told`.
    fn grown(&self, _told: &mut Progress) -> Vec<Growth> {
        Vec::new()
    }

    /// The signatures of the reasoning in a message of a reply, in order.
    fn signatures(_message: &[u8]) -> Vec<String> {
        Vec::new()
    }
}

#[derive(Debug)]
pub struct Tap<R> {
    label: Label,
    decoder: Option<Box<Decoder>>,
    body: Body<R>,
    answer: Answer,
}

/// The format that the content type states.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Label {
    Stream,
    Json,
    Missing,
    Other,
}

#[derive(Debug)]
enum Body<R> {
    /// Only white space so far.
    Undecided,
    Stream(Box<Stream<R>>),
    /// A list that comes element by element.
    List(Box<ListStream<R>>),
    Whole {
        bytes: Vec<u8>,
        limit: usize,
        truncated: bool,
    },
    Ignored,
}

#[derive(Debug)]
struct ListStream<R> {
    elements: list::Reader,
    reader: R,
}

#[derive(Debug)]
struct Stream<R> {
    framing: sse::Reader,
    reader: R,
}

impl<R: AnswerReader> Tap<R> {
    pub fn new(status: u16, content_type: Option<&str>, content_encoding: Option<&str>) -> Self {
        let mut answer = Answer::new(status);
        let decoder = match decoder(content_encoding.unwrap_or_default()) {
            Ok(decoder) => decoder,
            Err(error) => {
                answer.undecodable = Some(error.to_string());
                None
            }
        };
        Self { label: Label::read(content_type), decoder, body: Body::Undecided, answer }
    }
}

impl<R: AnswerReader + 'static> seam::Tap for Tap<R> {
    fn feed(&mut self, bytes: &[u8]) {
        self.answer.bytes += bytes.len() as u64;
        if self.answer.undecodable.is_some() {
            return;
        }
        let (label, body, answer) = (self.label, &mut self.body, &mut self.answer);
        let Some(decoder) = &mut self.decoder else {
            return body.take(label, bytes, answer);
        };
        let decoded = decoder.feed_into(bytes, &mut |piece| {
            body.take(label, piece, answer);
            Ok(())
        });
        if let Err(error) = decoded {
            self.answer.undecodable = Some(error.to_string());
            self.decoder = None;
        }
    }

    fn events(&self) -> u64 {
        self.answer.events
    }

    fn grown(&self, told: &mut Progress) -> Vec<Growth> {
        match &self.body {
            Body::Stream(stream) => stream.reader.grown(told),
            Body::List(list) => list.reader.grown(told),
            _ => Vec::new(),
        }
    }

    fn finish(mut self: Box<Self>, ending: Ending) -> Answer {
        let truncated = self.decoder.and_then(|decoder| decoder.finish().err());
        if let (Ending::Complete, Some(error)) = (ending, truncated) {
            self.answer.undecodable.get_or_insert(error.to_string());
        }
        let mut answer = self.answer;
        answer.ending = ending;
        match self.body {
            Body::Stream(stream) => {
                answer.broken_events += stream.framing.skipped();
                answer.reply = stream.reader.reply();
            }
            Body::List(list) => {
                answer.broken_events += list.elements.skipped();
                answer.reply = list.reader.reply();
                if ending == Ending::Complete && !list.elements.is_complete() {
                    answer.undecodable.get_or_insert("the list has no end".to_owned());
                }
            }
            Body::Whole { bytes, truncated, .. } => read_whole::<R>(&bytes, truncated, &mut answer),
            Body::Undecided | Body::Ignored => {}
        }
        answer.signatures = answer.reply.iter().flat_map(|message| R::signatures(message)).collect();
        answer
    }
}

fn decoder(content_encoding: &str) -> Result<Option<Box<Decoder>>, DecodeError> {
    let encodings = Encoding::parse(content_encoding)?;
    match encodings.is_empty() {
        true => Ok(None),
        false => Decoder::new(&encodings).map(|decoder| Some(Box::new(decoder))),
    }
}

impl Label {
    fn read(content_type: Option<&str>) -> Self {
        let Some(content_type) = content_type else { return Self::Missing };
        let essence = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        match essence.as_str() {
            "" => Self::Missing,
            "text/event-stream" => Self::Stream,
            "application/json" => Self::Json,
            other if other.ends_with("+json") => Self::Json,
            _ => Self::Other,
        }
    }
}

impl<R: AnswerReader> Body<R> {
    fn take(&mut self, label: Label, piece: &[u8], answer: &mut Answer) {
        if let Self::Undecided = self {
            // In both formats leading white space is meaningless.
            match piece.trim_ascii_start().first() {
                Some(first) => *self = Self::decide(label, *first, answer.status),
                None => return,
            }
        }
        match self {
            Self::Stream(stream) => stream.take(piece, answer),
            Self::List(list) => list.take(piece, answer),
            Self::Whole { bytes, limit, truncated } => {
                let room = limit.saturating_sub(bytes.len());
                bytes.extend_from_slice(piece.get(..room).unwrap_or(piece));
                *truncated |= piece.len() > room;
            }
            Self::Undecided | Self::Ignored => {}
        }
    }

    /// Decides the format. Gateways mislabel answers, and neither an opening brace nor a bracket can begin an event.
    fn decide(label: Label, first: u8, status: u16) -> Self {
        let whole = |limit| Self::Whole { bytes: Vec::new(), limit, truncated: false };
        match (label, first) {
            (Label::Stream | Label::Json | Label::Missing, b'[') if R::STREAMS_LISTS && status < 400 => {
                Self::List(Box::new(ListStream { elements: list::Reader::default(), reader: R::default() }))
            }
            (Label::Stream | Label::Json | Label::Missing, b'{' | b'[') => whole(ANSWER_LIMIT),
            (Label::Stream, _) => Self::Stream(Box::new(Stream { framing: sse::Reader::new(), reader: R::default() })),
            _ if status >= 400 => whole(FOREIGN_ERROR_LIMIT),
            (Label::Json | Label::Missing, _) => {
                Self::Stream(Box::new(Stream { framing: sse::Reader::new(), reader: R::default() }))
            }
            (Label::Other, _) => Self::Ignored,
        }
    }
}

impl<R: AnswerReader> ListStream<R> {
    fn take(&mut self, piece: &[u8], answer: &mut Answer) {
        let Self { elements, reader } = self;
        elements.feed(piece, &mut |data| {
            answer.events += 1;
            reader.event(sse::Event { name: "", data }, answer);
        });
    }
}

impl<R: AnswerReader> Stream<R> {
    fn take(&mut self, piece: &[u8], answer: &mut Answer) {
        let Self { framing, reader } = self;
        framing.feed(piece, &mut |event| {
            answer.events += 1;
            reader.event(event, answer);
        });
    }
}

/// Reads a body that is one JSON value, or an error in a foreign format.
fn read_whole<R: AnswerReader>(bytes: &[u8], truncated: bool, answer: &mut Answer) {
    let body = String::from_utf8_lossy(bytes);
    let is_object = R::default().whole(&body, answer);
    if answer.status >= 400 && answer.error.is_none() {
        let message = body.trim().chars().take(FOREIGN_ERROR_SHOWN).collect();
        answer.error = Some(ProviderError::plain(message));
    } else if !is_object {
        let reason = match truncated {
            true => format!("the body is larger than {ANSWER_LIMIT} bytes"),
            false => "the body is not one whole JSON object".to_owned(),
        };
        answer.undecodable.get_or_insert(reason);
    }
}
