//! The recorder: passive copies in, records out, without delaying any request.

use crate::support::stores::FailingStore;
use crate::support::{House, LONG, answers, hints, sides, with};
use bytes::Bytes;
use ctx_service::Recorder;
use ctx_wire::answer::Ending;
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::json;
use std::io::Write;
use std::sync::Arc;
use std::time::Duration;
use testkit::Session;

fn start(house: &House) -> Recorder {
    Recorder::start(house.service.clone()).expect("a thread")
}

fn pieces(bytes: &[u8], sizes: &[usize]) -> Vec<Bytes> {
    let mut out = Vec::new();
    let mut rest = bytes;
    for size in sizes.iter().chain([8192].iter().cycle()) {
        if rest.is_empty() {
            break;
        }
        let (piece, later) = rest.split_at((*size).min(rest.len()));
        out.push(Bytes::copy_from_slice(piece));
        rest = later;
    }
    out
}

/// What passes in one exchange.
struct Exchange<'a> {
    session: &'a Session,
    body: &'a [u8],
    encoding: Option<&'a str>,
    answer: &'a [u8],
    answer_encoding: Option<&'a str>,
    sizes: &'a [usize],
}

impl<'a> Exchange<'a> {
    fn new(session: &'a Session, body: &'a [u8], answer: &'a [u8]) -> Self {
        Exchange { session, body, encoding: None, answer, answer_encoding: None, sizes: &[] }
    }

    fn pass(&self, recorder: &Recorder) {
        let (mut request, mut response) = recorder.exchange(
            (&ctx_wire::anthropic::Anthropic, ctx_wire::Call::Generate),
            hints(&self.session.headers()),
            self.encoding,
        );
        pieces(self.body, self.sizes).iter().for_each(|piece| request.chunk(piece));
        request.end(true);
        response.head(200, Some("text/event-stream; charset=utf-8"), self.answer_encoding);
        pieces(self.answer, self.sizes).iter().for_each(|piece| response.chunk(piece));
        response.end(Some(Ending::Complete));
    }
}

fn answer(text: &str) -> Vec<u8> {
    answers::stream(&[json!({"type": "text", "text": text})], 4000, "end_turn")
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).expect("in memory");
    encoder.finish().expect("in memory")
}

fn brotli(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    brotli::CompressorWriter::new(&mut out, 4096, 3, 20).write_all(bytes).expect("in memory");
    out
}

#[test]
fn an_exchange_that_passes_is_known_and_stored() {
    let house = House::new();
    let recorder = start(&house);
    let mut session = Session::new(1).lean();
    session.user("first");
    Exchange::new(&session, &session.body(), &answer("the reply")).pass(&recorder);
    recorder.settle(LONG);
    let id = house.ids().remove(0);
    assert_eq!(house.compose(&id), session.body());
    let events = house.events(&id);
    assert_eq!(events.len(), 3);
    assert_eq!((events[2]["status"].as_u64(), events[2]["ending"].as_str()), (Some(200), Some("complete")));
    assert_eq!(events[2]["usage"]["cache_read"], 3997);
    assert!(events[2]["first_byte_ms"].is_u64());
    let frames = house.service.frames(&id, false, None).expect("frames");
    assert!(frames.frames[2].pending && frames.calibrated);
    let load = recorder.load();
    assert_eq!((load.queued, load.queued_bytes, load.dropped, load.unreadable), (0, 0, 0, 0));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn however_the_bytes_are_cut(sizes in vec(1..600usize, 0..60), more in vec(1..60usize, 0..60)) {
        let house = House::new();
        let recorder = start(&house);
        let mut session = Session::new(2).lean();
        session.user("first");
        let reply = answer("größer 名前 😀");
        Exchange { sizes: &sizes, ..Exchange::new(&session, &session.body(), &reply) }.pass(&recorder);
        session.assistant("größer 名前 😀").user("second");
        Exchange { sizes: &more, ..Exchange::new(&session, &session.body(), &reply) }.pass(&recorder);
        recorder.settle(LONG);
        let id = house.ids().remove(0);
        prop_assert!(house.compose(&id) == session.body());
        prop_assert!(house.last(&id).is("next", [2, 2, 0]));
        let shown = house.service.show(&id, "t2#1", None).expect("the reply");
        prop_assert_eq!(&shown.messages[0].blocks[0].text, "größer 名前 😀");
    }
}

#[test]
fn compressed_requests_and_answers_are_understood() {
    let mut session = Session::new(3).lean();
    session.user("first");
    let (body, reply) = (session.body(), answer("the reply"));
    let zstd = |bytes: &[u8]| zstd::encode_all(bytes, 1).expect("in memory");
    let ways: [(&str, Vec<u8>, Vec<u8>); 4] = [
        ("gzip", gzip(&body), gzip(&reply)),
        ("zstd", zstd(&body), zstd(&reply)),
        ("br", brotli(&body), brotli(&reply)),
        ("gzip, zstd", zstd(&gzip(&body)), zstd(&gzip(&reply))),
    ];
    for (encoding, packed, packed_reply) in &ways {
        let house = House::new();
        let recorder = start(&house);
        let exchange = Exchange {
            encoding: Some(encoding),
            answer_encoding: Some(encoding),
            sizes: &[100, 3, 1, 50],
            ..Exchange::new(&session, packed, packed_reply)
        };
        exchange.pass(&recorder);
        recorder.settle(LONG);
        let id = house.ids().remove(0);
        assert_eq!(house.compose(&id), body, "{encoding}");
        let frames = house.service.frames(&id, false, None).expect("frames");
        assert!(frames.frames[2].pending && frames.calibrated, "{encoding}");
    }
}

#[test]
fn what_cannot_be_read_is_counted_and_nothing_else() {
    let house = House::new();
    let recorder = start(&house);
    let mut session = Session::new(4).lean();
    session.user("first");
    let body = session.body();
    let bad: [(&[u8], Option<&str>); 8] = [
        (b"", None),
        (b"not JSON", None),
        (&body[..body.len() / 2], None),
        (b"{\"messages\":3}", None),
        (b"{\"messages\":[],\"messages\":[]}", None),
        (&body, Some("gzip")),
        (&body, Some("rot13")),
        (&gzip(&body)[..200], Some("gzip")),
    ];
    for (bytes, encoding) in bad {
        Exchange { encoding, ..Exchange::new(&session, bytes, &answer("x")) }.pass(&recorder);
    }
    recorder.settle(LONG);
    assert_eq!(recorder.load().unreadable, bad.len() as u64);
    assert!(house.ids().is_empty() && house.stored() == (0, 0));
    // In the middle of a conversation as well.
    Exchange::new(&session, &body, &answer("the reply")).pass(&recorder);
    Exchange::new(&session, &body[..body.len() - 1], &answer("x")).pass(&recorder);
    session.assistant("the reply").user("second");
    Exchange::new(&session, &session.body(), &answer("yes")).pass(&recorder);
    recorder.settle(LONG);
    let id = house.ids().remove(0);
    assert!(house.last(&id).is("next", [2, 2, 0]), "{:?}", house.last(&id));
    assert_eq!(house.compose(&id), session.body());
}

#[test]
fn a_body_that_does_not_end_is_let_go() {
    let house = House::on(Arc::new(FailingStore::new()));
    let recorder = start(&house);
    let session = Session::new(5).lean();
    let large = Bytes::from(vec![0; 40 * 1024 * 1024]);
    let (mut request, _response) =
        recorder.exchange((&ctx_wire::anthropic::Anthropic, ctx_wire::Call::Generate), hints(&session.headers()), None);
    for _ in 0..6 {
        request.chunk(&large);
    }
    assert!(recorder.load().queued_bytes >= 240 * 1024 * 1024, "a body that still arrives takes room");
    for _ in 0..10 {
        request.chunk(&large);
    }
    recorder.settle(LONG);
    let load = recorder.load();
    assert_eq!((load.queued_bytes, load.dropped), (0, 1));
    request.end(true);
    recorder.settle(LONG);
    assert_eq!(recorder.load().unreadable, 0, "nothing is looked at that is not whole");
}

#[test]
fn when_nobody_looks_copies_are_dropped_and_counted_and_nobody_waits() {
    let store = Arc::new(FailingStore::new());
    let house = House::on(store.clone());
    let recorder = start(&house);
    let mut session = Session::new(5).lean();
    session.user("first");
    store.close();
    Exchange::new(&session, &session.body(), &answer("one")).pass(&recorder);
    for number in 0..9 {
        let (mut request, mut response) = recorder.exchange(
            (&ctx_wire::anthropic::Anthropic, ctx_wire::Call::Generate),
            hints(&session.headers()),
            None,
        );
        // None begins like another: of what comes again there is no second copy.
        request.chunk(&vec![number; 40 * 1024 * 1024]);
        request.end(true);
        response.head(200, None, None);
        response.end(Some(Ending::Complete));
    }
    let load = recorder.load();
    assert!(load.dropped >= 3 && load.queued_bytes <= 256 * 1024 * 1024 && load.queued > 6, "{load:?}");
    assert!((1..=10).contains(&load.requests), "lists can say how many requests they lack: {load:?}");
    store.open();
    recorder.settle(LONG);
    let load = recorder.load();
    assert_eq!((load.queued, load.queued_bytes, load.requests), (0, 0, 0));
    assert_eq!(load.unreadable + load.dropped, 9);
    session.assistant("one").user("second");
    Exchange::new(&session, &session.body(), &answer("two")).pass(&recorder);
    recorder.settle(LONG);
    let id = house.ids().remove(0);
    assert!(house.last(&id).is("next", [2, 2, 0]));
    assert_eq!(house.compose(&id), session.body());
}

#[test]
fn an_answer_of_which_a_piece_was_dropped_is_not_taken_for_the_reply() {
    let store = Arc::new(FailingStore::new());
    let house = House::on(store.clone());
    let recorder = start(&house);
    let mut session = Session::new(6).lean();
    session.user("first");
    store.close();
    let body = session.body();
    let (mut request, mut response) =
        recorder.exchange((&ctx_wire::anthropic::Anthropic, ctx_wire::Call::Generate), hints(&session.headers()), None);
    request.chunk(&Bytes::from(body));
    request.end(true);
    response.head(200, Some("text/event-stream"), None);
    let stream = answer("half of it");
    response.chunk(&Bytes::copy_from_slice(&stream[..stream.len() * 2 / 3]));
    response.chunk(&Bytes::from(vec![0; 300 * 1024 * 1024]));
    response.chunk(&Bytes::copy_from_slice(&stream[stream.len() * 2 / 3..]));
    response.end(Some(Ending::Complete));
    store.open();
    recorder.settle(LONG);
    let id = house.ids().remove(0);
    assert!(house.service.frames(&id, false, None).expect("frames").frames.iter().all(|frame| !frame.pending));
    let events = house.events(&id);
    assert!(events[2]["undecodable"].is_string(), "{}", events[2]);
}

#[test]
fn an_answer_may_come_before_the_request_has_ended() {
    let house = House::new();
    let recorder = start(&house);
    let mut session = Session::new(7).lean();
    session.user("first");
    let (mut request, mut response) =
        recorder.exchange((&ctx_wire::anthropic::Anthropic, ctx_wire::Call::Generate), hints(&session.headers()), None);
    response.head(413, Some("application/json"), None);
    response
        .chunk(&Bytes::from_static(br#"{"type":"error","error":{"type":"request_too_large","message":"too much"}}"#));
    response.end(Some(Ending::Complete));
    request.chunk(&Bytes::from(session.body()));
    request.end(true);
    recorder.settle(LONG);
    let events = house.events(&house.ids()[0]);
    assert_eq!(events.len(), 3);
    assert_eq!(
        (events[2]["status"].as_u64(), events[2]["error"]["kind"].as_str()),
        (Some(413), Some("request_too_large"))
    );
}

#[test]
fn halves_that_are_merely_dropped_have_ended() {
    let house = House::new();
    let recorder = start(&house);
    let mut session = Session::new(8).lean();
    session.user("first");
    let (mut request, mut response) =
        recorder.exchange((&ctx_wire::anthropic::Anthropic, ctx_wire::Call::Generate), hints(&session.headers()), None);
    request.chunk(&Bytes::from(session.body()));
    request.end(true);
    response.head(200, Some("text/event-stream"), None);
    drop((request, response));
    // A request that never ended is not looked at, and its answer belongs to nothing.
    let (mut request, mut response) =
        recorder.exchange((&ctx_wire::anthropic::Anthropic, ctx_wire::Call::Generate), hints(&session.headers()), None);
    request.chunk(&Bytes::from(session.body()));
    drop(request);
    response.end(None);
    recorder.settle(LONG);
    let events = house.events(&house.ids()[0]);
    assert_eq!(events.len(), 3);
    assert_eq!(events[2]["ending"], "cancelled");
    assert_eq!(recorder.load().unreadable, 0);
}

#[test]
fn a_mistake_of_ours_costs_one_observation() {
    let store = Arc::new(FailingStore::new());
    let house = House::on(store.clone());
    let recorder = start(&house);
    let mut session = Session::new(9).lean();
    session.user("first");
    store.panic_once();
    let body = session.body();
    Exchange::new(&session, &body, &answer("one")).pass(&recorder);
    recorder.settle(LONG);
    assert_eq!(recorder.load().unreadable, 1);
    session.assistant("one").user("second");
    Exchange::new(&session, &session.body(), &answer("two")).pass(&recorder);
    recorder.settle(LONG);
    let id = house.ids().remove(0);
    assert_eq!(house.compose(&id), session.body());
    assert_eq!(recorder.load().unreadable, 1);
}

#[test]
fn readers_and_the_recorder_do_not_lock_each_other_out() {
    let house = Arc::new(House::new());
    let recorder = start(&house);
    let done = Arc::new(std::sync::atomic::AtomicBool::new(false));
    let readers: Vec<_> = (0..3)
        .map(|_| {
            let (house, done) = (house.clone(), done.clone());
            std::thread::spawn(move || {
                let mut looks = 0u64;
                while !done.load(std::sync::atomic::Ordering::Relaxed) {
                    for id in house.ids() {
                        let _ = house.service.frames(&id, true, None);
                        let _ = house.service.show(&id, "t1", None);
                        let _ = house.service.compose(&id, None);
                        let _ = house.service.timeline("active", 5);
                        looks += 1;
                    }
                    std::thread::yield_now();
                }
                looks
            })
        })
        .collect();
    let mut sessions: Vec<Session> = (0..3).map(|seed| Session::new(seed).lean()).collect();
    for round in 0..12 {
        for session in &mut sessions {
            session.user(&format!("round {round}"));
            Exchange::new(session, &session.body(), &answer("yes")).pass(&recorder);
            session.assistant("yes");
            let mut agent = session.subagent();
            agent.user("look");
            Exchange::new(&agent, &agent.body(), &answer("seen")).pass(&recorder);
            let mut fork = session.fork();
            fork.user("another way");
            Exchange::new(&fork, &fork.body(), &answer("fine")).pass(&recorder);
        }
    }
    // Others may call the service, too.
    std::thread::scope(|scope| {
        for session in &sessions {
            let house = &house;
            scope.spawn(move || {
                let mut session = session.clone();
                for side in sides::all(&session, false) {
                    let headers = with(side.headers, "x-extra", "1");
                    house.send_value(&headers, &side.body);
                    session.user("on").assistant("and on");
                    house.send(&session);
                }
            });
        }
    });
    let (settled, wait) = std::sync::mpsc::channel();
    let patient = recorder.clone();
    std::thread::spawn(move || {
        patient.settle(LONG);
        let _ = settled.send(());
    });
    wait.recv_timeout(Duration::from_secs(50)).expect("not locked out");
    done.store(true, std::sync::atomic::Ordering::Relaxed);
    assert!(readers.into_iter().map(|reader| reader.join().expect("no panic")).sum::<u64>() > 0);
    assert_eq!(house.ids().len(), 3 + 36 + 36);
}
