//! The event reader and the tap: never a panic, and how the bytes were cut into pieces never matters.
//!
//! The last bytes of an input choose the pieces and the headers, so that a recorded stream is a good
//! first input as it is.
#![no_main]

use ctx_wire::Wire;
use ctx_wire::answer::Ending;
use ctx_wire::anthropic::Anthropic;
use ctx_wire::sse::Reader;
use libfuzzer_sys::fuzz_target;

const CONTENT_TYPES: [Option<&str>; 4] = [Some("text/event-stream"), Some("application/json"), None, Some("text/html")];
const ENCODINGS: [Option<&str>; 8] =
    [None, None, None, Some("gzip"), Some("deflate"), Some("br"), Some("zstd"), Some("zstd, gzip")];

fuzz_target!(|input: &[u8]| {
    let [body @ .., size, choice] = input else { return };
    let size = usize::from(*size).max(1);
    let content_type = CONTENT_TYPES[usize::from(choice >> 6)];
    let encoding = ENCODINGS[usize::from(choice >> 3 & 7)];
    let status = if choice & 1 == 0 { 200 } else { 529 };

    read_events(body, size);
    tap(body, size, status, content_type, encoding);
});

fn read_events(body: &[u8], size: usize) {
    // A small limit, so that events beyond it occur.
    let limit = 64;
    let (mut whole, mut expected) = (Reader::with_limit(limit), Vec::new());
    whole.feed(body, &mut |event| expected.push((event.name.to_owned(), event.data.to_owned())));
    let (mut pieces, mut seen) = (Reader::with_limit(limit), Vec::new());
    for piece in body.chunks(size) {
        pieces.feed(piece, &mut |event| seen.push((event.name.to_owned(), event.data.to_owned())));
    }
    assert_eq!(seen, expected);
    assert_eq!(pieces.skipped(), whole.skipped());
}

fn tap(body: &[u8], size: usize, status: u16, content_type: Option<&str>, encoding: Option<&str>) {
    let mut whole = Anthropic.tap(status, content_type, encoding);
    whole.feed(body);
    let mut pieces = Anthropic.tap(status, content_type, encoding);
    for piece in body.chunks(size) {
        pieces.feed(piece);
    }
    let answer = pieces.finish(Ending::Complete);
    for reply in &answer.reply {
        assert!(serde_json::from_slice::<serde::de::IgnoredAny>(reply).is_ok());
    }
    // Where damaged compression is noticed depends on the pieces; what was said before does not.
    if encoding.is_none() {
        assert_eq!(answer, whole.finish(Ending::Complete));
    }
}
