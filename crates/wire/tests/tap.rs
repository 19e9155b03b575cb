//! Whole answers through the tap: what is learned from them, and that nothing about their transport
//! (pieces, line ends, compression) changes it.

use ctx_wire::Wire as _;
use ctx_wire::answer::{Answer, Ending};
use ctx_wire::anthropic::Anthropic;
use flate2::Compression;
use flate2::write::{GzEncoder, ZlibEncoder};
use proptest::prelude::*;
use std::io::Write;

const EVENT_STREAM: &str = "text/event-stream; charset=utf-8";

const STREAMS: [&str; 4] = [
    include_str!("streams/tool_turn.sse"),
    include_str!("streams/web_search.sse"),
    include_str!("streams/compaction.sse"),
    include_str!("streams/overloaded.sse"),
];

/// The answer in words, the reply readable.
fn describe(mut answer: Answer) -> String {
    let reply = std::mem::take(&mut answer.reply).pop().map(|reply| String::from_utf8(reply).unwrap());
    let rest = format!("{answer:#?}").replace("    reply: [],\n", "");
    format!("{rest}\n{}", reply.as_deref().unwrap_or("no reply"))
}

fn read(status: u16, content_type: &str, body: &str, ending: Ending) -> String {
    let mut tap = Anthropic.tap(status, Some(content_type), None);
    tap.feed(body.as_bytes());
    describe(tap.finish(ending))
}

#[test]
fn a_turn_with_hidden_thinking_and_parallel_calls() {
    insta::assert_snapshot!(read(200, EVENT_STREAM, STREAMS[0], Ending::Complete));
}

#[test]
fn a_web_search_with_citations_that_paused() {
    insta::assert_snapshot!(read(200, EVENT_STREAM, STREAMS[1], Ending::Complete));
}

#[test]
fn a_compaction_with_edits_and_things_unheard_of() {
    insta::assert_snapshot!(read(200, EVENT_STREAM, STREAMS[2], Ending::Complete));
}

#[test]
fn an_overload_in_the_middle_of_a_call() {
    insta::assert_snapshot!(read(200, EVENT_STREAM, STREAMS[3], Ending::Complete));
}

#[test]
fn a_turn_that_was_cut() {
    let stream = STREAMS[0];
    let cut = stream.find("limit").unwrap();
    insta::assert_snapshot!(read(200, EVENT_STREAM, &stream[..cut], Ending::Cut));
}

#[test]
fn an_answer_that_was_not_streamed() {
    insta::assert_snapshot!(read(200, "application/json", include_str!("streams/whole.json"), Ending::Complete));
}

#[test]
fn a_refusal_of_the_request() {
    insta::assert_snapshot!(read(400, "application/json", include_str!("streams/refused.json"), Ending::Complete));
}

/// How a server may send the same stream.
#[derive(Debug, Clone, Copy)]
enum Coding {
    Plain,
    Gzip,
    Deflate,
    Brotli,
    Zstd,
}

impl Coding {
    fn header(self) -> Option<&'static str> {
        match self {
            Self::Plain => None,
            Self::Gzip => Some("gzip"),
            Self::Deflate => Some("deflate"),
            Self::Brotli => Some("br"),
            Self::Zstd => Some("zstd"),
        }
    }

    /// Encodes the body, with a flush after every `flush` bytes.
    fn encode(self, body: &[u8], flush: usize) -> Vec<u8> {
        fn write<W: Write>(mut writer: W, body: &[u8], flush: usize) -> W {
            for part in body.chunks(flush) {
                writer.write_all(part).unwrap();
                writer.flush().unwrap();
            }
            writer
        }
        let level = Compression::fast();
        match self {
            Self::Plain => body.to_vec(),
            Self::Gzip => write(GzEncoder::new(Vec::new(), level), body, flush).finish().unwrap(),
            Self::Deflate => write(ZlibEncoder::new(Vec::new(), level), body, flush).finish().unwrap(),
            Self::Brotli => write(brotli::CompressorWriter::new(Vec::new(), 4096, 2, 16), body, flush).into_inner(),
            Self::Zstd => {
                write(zstd::stream::write::Encoder::new(Vec::new(), 1).unwrap(), body, flush).finish().unwrap()
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn transport_does_not_change_what_is_learned(
        stream in proptest::sample::select(&STREAMS[..]),
        line_end in proptest::sample::select(&["\n", "\r\n", "\r"][..]),
        coding in proptest::sample::select(&[Coding::Plain, Coding::Gzip, Coding::Deflate, Coding::Brotli, Coding::Zstd][..]),
        flush in 1_usize..700,
        sizes in proptest::collection::vec(1_usize..300, 1..20),
    ) {
        let mut expected = Anthropic.tap(200, Some(EVENT_STREAM), None);
        expected.feed(stream.as_bytes());
        let mut expected = expected.finish(Ending::Complete);

        let sent = coding.encode(stream.replace('\n', line_end).as_bytes(), flush);
        let mut tap = Anthropic.tap(200, Some(EVENT_STREAM), coding.header());
        let mut rest = &sent[..];
        for size in sizes.iter().cycle() {
            let (piece, later) = rest.split_at((*size).min(rest.len()));
            tap.feed(piece);
            rest = later;
            if rest.is_empty() {
                break;
            }
        }
        let answer = tap.finish(Ending::Complete);
        expected.bytes = sent.len() as u64;
        prop_assert_eq!(answer, expected);
    }

    #[test]
    fn a_damaged_stream_never_stops_the_tap(
        stream in proptest::sample::select(&STREAMS[..]),
        damage in proptest::collection::vec((any::<proptest::sample::Index>(), any::<u8>()), 1..30),
    ) {
        let mut bytes = stream.as_bytes().to_vec();
        for (at, byte) in damage {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        let mut tap = Anthropic.tap(200, Some(EVENT_STREAM), None);
        tap.feed(&bytes);
        let answer = tap.finish(Ending::Complete);
        for reply in answer.reply {
            prop_assert!(serde_json::from_slice::<serde::de::IgnoredAny>(&reply).is_ok());
        }
    }
}
