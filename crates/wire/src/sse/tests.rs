use super::{Event, Reader};
use proptest::prelude::*;

type Seen = Vec<(String, String)>;

fn feed(reader: &mut Reader, bytes: &[u8], seen: &mut Seen) {
    reader.feed(bytes, &mut |event: Event<'_>| {
        seen.push((event.name.to_owned(), event.data.to_owned()));
    });
}

fn read(bytes: &[u8]) -> Seen {
    let mut seen = Seen::new();
    feed(&mut Reader::new(), bytes, &mut seen);
    seen
}

fn event(name: &str, data: &str) -> (String, String) {
    (name.to_owned(), data.to_owned())
}

#[test]
fn line_feeds_carriage_returns_and_both_end_a_line() {
    let expected = vec![event("a", "1"), event("", "2")];
    assert_eq!(read(b"event: a\ndata: 1\n\ndata: 2\n\n"), expected);
    assert_eq!(read(b"event: a\r\ndata: 1\r\n\r\ndata: 2\r\n\r\n"), expected);
    assert_eq!(read(b"event: a\rdata: 1\r\rdata: 2\r\r"), expected);
    assert_eq!(read(b"event: a\ndata: 1\r\n\rdata: 2\n\r\n"), expected);
}

#[test]
fn a_carriage_return_and_its_line_feed_may_arrive_in_two_pieces() {
    let (mut reader, mut seen) = (Reader::new(), Seen::new());
    for piece in [&b"data: 1\r"[..], b"", b"\ndata: 2\r", b"\n\r", b"\n"] {
        feed(&mut reader, piece, &mut seen);
    }
    assert_eq!(seen, [event("", "1\n2")]);
}

#[test]
fn a_carriage_return_dispatches_without_waiting_for_a_line_feed() {
    assert_eq!(read(b"data: 1\r\r"), [event("", "1")]);
}

#[test]
fn the_byte_order_mark_is_dropped_at_the_start_only() {
    assert_eq!(read("\u{feff}data: a\n\n\u{feff}data: b\n\n".as_bytes()), [event("", "a")]);
}

#[test]
fn comments_and_unknown_fields_are_skipped() {
    let stream = b": hello\nid: 7\nretry: 10\nodd: x\n: data: no\ndata: yes\n\n: ping\n\n";
    assert_eq!(read(stream), [event("", "yes")]);
}

#[test]
fn data_lines_are_joined_with_line_feeds() {
    assert_eq!(read(b"data: a\ndata:\ndata\ndata:  b\n\n"), [event("", "a\n\n\n b")]);
}

#[test]
fn only_one_space_after_the_colon_is_dropped() {
    assert_eq!(read(b"event:x\ndata:1\n\nevent:  y\ndata:\t2\n\n"), [event("x", "1"), event(" y", "\t2")]);
}

#[test]
fn an_event_without_data_is_not_dispatched_and_its_name_is_forgotten() {
    assert_eq!(read(b"event: a\n\ndata: 1\n\n"), [event("", "1")]);
    assert_eq!(read(b"data:\n\n"), [event("", "")]);
}

#[test]
fn the_last_name_wins() {
    assert_eq!(read(b"event: a\nevent: b\ndata: 1\n\n"), [event("b", "1")]);
}

#[test]
fn an_event_without_its_blank_line_is_not_dispatched() {
    assert_eq!(read(b"data: 1\n\ndata: 2\n"), [event("", "1")]);
}

#[test]
fn characters_may_be_split_anywhere() {
    let stream = "data: héllo 🦀\n\n".as_bytes();
    let (mut reader, mut seen) = (Reader::new(), Seen::new());
    for byte in stream {
        feed(&mut reader, &[*byte], &mut seen);
    }
    assert_eq!(seen, [event("", "héllo 🦀")]);
}

#[test]
fn invalid_utf8_is_replaced() {
    assert_eq!(read(b"event: \xff\ndata: a\xf0\x9fb\n\n"), [event("\u{fffd}", "a\u{fffd}b")]);
}

#[test]
fn an_event_over_the_limit_is_skipped_and_counted_and_the_next_one_is_read() {
    let stream = [b"data: 1\n\ndata: ".to_vec(), vec![b'x'; 100], b"\ndata: more\n\ndata: 2\n\n".to_vec()].concat();
    for size in [1, 7, stream.len()] {
        let (mut reader, mut seen) = (Reader::with_limit(50), Seen::new());
        for piece in stream.chunks(size) {
            feed(&mut reader, piece, &mut seen);
        }
        assert_eq!(seen, [event("", "1"), event("", "2")], "pieces of {size}");
        assert_eq!(reader.skipped(), 1);
    }
}

#[test]
fn many_small_data_lines_cannot_pass_the_limit_together() {
    let stream = [b"data: 0123456789\n".repeat(20), b"\n".to_vec()].concat();
    let (mut reader, mut seen) = (Reader::with_limit(100), Seen::new());
    feed(&mut reader, &stream, &mut seen);
    assert!(seen.is_empty());
    assert_eq!(reader.skipped(), 1);
}

#[test]
fn memory_taken_for_a_large_event_is_given_back() {
    let (mut reader, mut seen) = (Reader::new(), Seen::new());
    let stream = [b"data: ".to_vec(), vec![b'x'; 1_000_000], b"\n\n".to_vec()].concat();
    for piece in stream.chunks(1000) {
        feed(&mut reader, piece, &mut seen);
    }
    assert_eq!(seen.len(), 1);
    assert!(reader.line.capacity() + reader.data.capacity() < 100_000);
}

/// Streams of the relevant pieces, so that random choice often hits the borders.
fn stream() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        Just(b"\n".to_vec()),
        Just(b"\r".to_vec()),
        Just(b"\r\n".to_vec()),
        Just(b"\n\n".to_vec()),
        Just(b"data: ".to_vec()),
        Just(b"data".to_vec()),
        Just(b"event:".to_vec()),
        Just(b":".to_vec()),
        Just("\u{feff}".as_bytes().to_vec()),
        Just("ü🦀".as_bytes().to_vec()),
        Just(b"{\"type\":\"ping\"}".to_vec()),
        proptest::collection::vec(any::<u8>(), 0..8),
    ];
    proptest::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn any_chunking_gives_the_same_events_as_one_chunk(
        stream in stream(),
        sizes in proptest::collection::vec(0_usize..9, 1..40),
        limit in prop_oneof![Just(super::EVENT_LIMIT), 0_usize..40],
    ) {
        let (mut whole, mut expected) = (Reader::with_limit(limit), Seen::new());
        feed(&mut whole, &stream, &mut expected);

        let (mut pieces, mut seen) = (Reader::with_limit(limit), Seen::new());
        let mut rest = &stream[..];
        for size in sizes.iter().cycle() {
            let (piece, later) = rest.split_at((*size).min(rest.len()));
            feed(&mut pieces, piece, &mut seen);
            rest = later;
            if rest.is_empty() || sizes.iter().all(|size| *size == 0) {
                feed(&mut pieces, rest, &mut seen);
                break;
            }
        }
        prop_assert_eq!(seen, expected);
        prop_assert_eq!(pieces.skipped(), whole.skipped());
    }
}
