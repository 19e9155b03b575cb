//! The load: a conversation near a given size that grows by one turn with each request, rendered in advance.
//!
//! Successive bodies differ only at the end, so a script keeps one long body and, for each request, the length of its
//! beginning and its own end. Variants of a script are conversations of the same shape with another session and other
//! ids in every message, so that nothing is recognised.

use super::format::Format;
use crate::{Random, Session};
use std::io::IoSlice;

/// Every call id begins like this; the last two letters distinguish variants.
const CALL_ID: &[u8] = b"toolu_01";
const LETTERS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// The size of bodies, and their growth.
#[derive(Debug, Clone, Copy)]
pub struct Size {
    pub name: &'static str,
    pub bytes: usize,
    /// The length of the tool result of each turn.
    pub result: usize,
    /// Smaller than the stock client's first request: without most of the system prompt and the tools.
    lean: bool,
}

pub const SIZES: [Size; 4] = [
    Size { name: "30 KB", bytes: 30_000, result: 200, lean: true },
    Size { name: "300 KB", bytes: 300_000, result: 1500, lean: false },
    Size { name: "1.4 MB", bytes: 1_400_000, result: 3000, lean: false },
    Size { name: "5.3 MB", bytes: 5_300_000, result: 3000, lean: false },
];

/// Longer than any real request, and as long as a provider accepts.
pub const GIANT: Size = Size { name: "30 MB", bytes: 30_000_000, result: 200_000, lean: true };

#[derive(Debug, Clone)]
pub struct Script {
    /// The head of each request up to the host.
    head: Vec<u8>,
    /// The body that contains the beginning of all others.
    longest: Vec<u8>,
    requests: Vec<Request>,
    session: Vec<u8>,
}

#[derive(Debug, Clone)]
struct Request {
    kept: usize,
    tail: Vec<u8>,
}

impl Script {
    /// `count` requests of about `size`, or fewer if more would exceed it by a twelfth.
    pub fn near(size: Size, seed: u64, count: usize) -> Self {
        let mut session = Session::new(seed);
        if size.lean {
            session = session.lean();
        }
        let question = format!("Work on {} until it is done.", session.session_id());
        session.user(&question);
        let mut writing = Writing::begin(session);
        while writing.length() < size.bytes - size.bytes / 12 {
            writing.session.step_of(size.result);
            writing.catch_up();
        }
        let mut requests = Vec::with_capacity(count);
        while requests.len() < count && writing.length() < size.bytes + size.bytes / 12 {
            requests.push(writing.request());
            writing.session.step_of(size.result);
        }
        writing.finish(requests)
    }

    /// A whole conversation from its first request on: each turn is a question and one step of a tool loop, and makes
    /// two requests.
    pub fn turns(seed: u64, turns: usize, result: usize) -> Self {
        let mut session = Session::new(seed);
        let mut words = Random::new(seed);
        session.user("What is this?");
        let mut writing = Writing::begin(session);
        let mut requests = Vec::with_capacity(2 * turns);
        for turn in 1..=turns {
            requests.push(writing.request());
            writing.session.step_of(result);
            requests.push(writing.request());
            writing.session.assistant(&format!("Done, see {}.", words.hex(40)));
            writing.session.user(&format!("Go on with part {turn} then, and look at {}.", words.hex(20)));
        }
        writing.finish(requests)
    }

    /// `count` requests of about `size` in this format; each has one step more.
    pub fn of(format: Format, size: Size, seed: u64, count: usize) -> Self {
        let mut random = Random::new(seed);
        // Variants change the last group only.
        let session = format!("{seed:08x}-0000-4000-8000-000000000000");
        let mut longest = format.opening(&format!("Work on {session} until it is done.")).into_bytes();
        let (mut requests, mut steps) = (Vec::with_capacity(count), 0);
        while requests.len() < count && longest.len() < size.bytes + size.bytes / 12 {
            steps += 1;
            let id = format!("{}{steps:06}", String::from_utf8_lossy(CALL_ID));
            longest.extend_from_slice(format.step(&mut random, &id, size.result).as_bytes());
            if longest.len() > size.bytes - size.bytes / 12 {
                requests.push(Request { kept: longest.len(), tail: b"]}".to_vec() });
            }
        }
        Script { head: format.head(&session).into_bytes(), longest, requests, session: session.into_bytes() }
    }

    pub fn len(&self) -> usize {
        self.requests.len()
    }

    pub fn session(&self) -> &str {
        std::str::from_utf8(&self.session).unwrap_or_default()
    }

    /// The length of a request's body.
    pub fn length(&self, number: usize) -> usize {
        self.requests.get(number).map_or(0, |request| request.kept + request.tail.len())
    }

    /// The body in its two parts.
    pub fn body(&self, number: usize) -> [&[u8]; 2] {
        match self.requests.get(number) {
            Some(request) => [self.longest.get(..request.kept).unwrap_or_default(), &request.tail],
            None => [&[], &[]],
        }
    }

    /// Writes the head of a request for `host`.
    pub fn head(&self, number: usize, host: &str, out: &mut Vec<u8>) {
        out.clear();
        out.extend_from_slice(&self.head);
        let length = self.length(number);
        out.extend_from_slice(format!("Host: {host}\r\nContent-Length: {length}\r\n\r\n").as_bytes());
    }

    /// Sends another header with each request.
    pub fn with_header(mut self, name: &str, value: &str) -> Self {
        self.head.extend_from_slice(format!("{name}: {value}\r\n").as_bytes());
        self
    }

    /// Requests slow streams from the sink.
    pub fn slow(mut self, events: usize, gap_micros: u64) -> Self {
        let slow = format!("events={events}&gap={gap_micros}");
        let end = memchr::memmem::find(&self.head, b" HTTP/1.1").unwrap_or_default();
        let (from, mark) = match memchr::memmem::find(&self.head[..end], b"?beta=true") {
            Some(at) => (at, '?'),
            None => (end, if self.head[..end].contains(&b'?') { '&' } else { '?' }),
        };
        self.head.splice(from..end, format!("{mark}{slow}").into_bytes());
        self
    }

    /// Another conversation of the same shape and length.
    pub fn variant(&self, number: usize) -> Self {
        let mut variant = self.clone();
        let letter = |number: usize| LETTERS.get(number % LETTERS.len()).copied().unwrap_or(b'0');
        let call = [b"toolu_".as_slice(), &[letter(number / LETTERS.len()), letter(number)]].concat();
        let mut session = self.session.clone();
        let digits = format!("{number:012x}");
        let start = session.len().saturating_sub(digits.len());
        session.truncate(start);
        session.extend_from_slice(digits.as_bytes());
        for bytes in [&mut variant.head, &mut variant.longest] {
            overwrite(bytes, &self.session, &session);
        }
        overwrite(&mut variant.longest, CALL_ID, &call);
        for request in &mut variant.requests {
            overwrite(&mut request.tail, &self.session, &session);
            overwrite(&mut request.tail, CALL_ID, &call);
        }
        variant.session = session;
        variant
    }
}

/// A session with growing bytes. The client rewrites everything for each request, but only the last message differs, so
/// only new messages are written here.
struct Writing {
    session: Session,
    /// The body up to the last message without the breakpoint.
    settled: Vec<u8>,
    messages: usize,
    /// The body after the messages.
    behind: Vec<u8>,
}

impl Writing {
    /// Whether the session has a message.
    fn begin(session: Session) -> Self {
        let body = session.body();
        let messages: Vec<String> =
            (0..session.messages()).map(|at| session.message(at, at + 1 == session.messages())).collect();
        let start = memchr::memmem::find(&body, b"\"messages\":[").map_or(0, |at| at + b"\"messages\":[".len());
        let end = start + messages.join(",").len();
        let behind = body.get(end..).unwrap_or_default().to_vec();
        Self { settled: body.get(..start).unwrap_or_default().to_vec(), messages: 0, behind, session }
    }

    /// Writes all but the last message.
    fn catch_up(&mut self) {
        while self.messages + 1 < self.session.messages() {
            let text = self.session.message(self.messages, false);
            self.settled.extend_from_slice(text.as_bytes());
            self.settled.push(b',');
            self.messages += 1;
        }
    }

    /// The request that the client would send now.
    fn request(&mut self) -> Request {
        self.catch_up();
        let mut tail = self.session.message(self.messages, true).into_bytes();
        tail.extend_from_slice(&self.behind);
        Request { kept: self.settled.len(), tail }
    }

    /// The approximate length of its body.
    fn length(&self) -> usize {
        self.settled.len() + self.behind.len()
    }

    fn finish(self, requests: Vec<Request>) -> Script {
        let mut head = b"POST /v1/messages?beta=true HTTP/1.1\r\n".to_vec();
        for (name, value) in self.session.headers() {
            head.extend_from_slice(format!("{name}: {value}\r\n").as_bytes());
        }
        Script { head, longest: self.settled, requests, session: self.session.session_id().into() }
    }
}

/// Replaces every `old` with `new` of the same length.
fn overwrite(bytes: &mut [u8], old: &[u8], new: &[u8]) {
    let places: Vec<usize> = memchr::memmem::find_iter(bytes, old).collect();
    for at in places {
        if let Some(place) = bytes.get_mut(at..at + new.len()) {
            place.copy_from_slice(new);
        }
    }
}

/// Head and body as one write.
pub fn slices<'a>(head: &'a [u8], body: [&'a [u8]; 2]) -> [IoSlice<'a>; 3] {
    [IoSlice::new(head), IoSlice::new(body[0]), IoSlice::new(body[1])]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(script: &Script, number: usize) -> Vec<u8> {
        script.body(number).concat()
    }

    #[test]
    fn the_bytes_are_those_that_the_session_would_send() {
        let mut session = Session::new(5);
        session.user("What is this?");
        let script = Script::turns(5, 2, 700);
        assert_eq!(whole(&script, 0), session.body());
        session.step_of(700);
        assert_eq!(whole(&script, 1), session.body());
    }

    #[test]
    fn every_request_is_the_next_turn_of_one_conversation_near_its_size() {
        for size in &SIZES[..2] {
            let script = Script::near(*size, 1, 8);
            assert!(script.len() > 4, "{}", script.len());
            let mut messages = 0;
            for number in 0..script.len() {
                let body = whole(&script, number);
                assert_eq!(body.len(), script.length(number));
                assert!(body.len().abs_diff(size.bytes) < size.bytes / 6, "{}: {}", size.name, body.len());
                let value: serde_json::Value = serde_json::from_slice(&body).unwrap();
                let list = value["messages"].as_array().unwrap();
                assert!(number == 0 || list.len() == messages + 2);
                messages = list.len();
                let marks = body.windows(13).filter(|window| window == b"cache_control").count();
                assert_eq!(marks, 3, "two in the system prompt, one that moves");
            }
        }
    }

    #[test]
    fn every_format_gives_the_next_turn_of_one_conversation() {
        for format in Format::ALL {
            let script = Script::of(format, SIZES[0], 1, 4);
            let list = |number: usize| {
                let value: serde_json::Value = serde_json::from_slice(&whole(&script, number)).unwrap();
                let list =
                    ["messages", "input", "contents"].into_iter().find_map(|name| value[name].as_array().cloned());
                list.unwrap()
            };
            assert_eq!((script.len(), list(1).len()), (4, list(0).len() + 2), "{format:?}");
            assert_eq!(list(1)[..list(0).len()], list(0), "{format:?}");
            let seeded = Script::of(format, SIZES[0], 2, 4);
            assert_ne!(script.variant(2).session(), seeded.variant(2).session(), "{format:?}");
            let other: Vec<u8> = whole(&script.variant(2), 1);
            assert!(memchr::memmem::find(&other, CALL_ID).is_none(), "{format:?}");
        }
    }

    #[test]
    fn a_variant_shares_no_message_that_carries_an_id_and_no_session() {
        let script = Script::near(SIZES[0], 1, 4);
        let (one, two) = (script.variant(1), script.variant(63));
        assert_eq!(one.length(2), two.length(2));
        let (one, two) = (whole(&one, 2), whole(&two, 2));
        let parsed: Vec<serde_json::Value> =
            [one, two].iter().map(|body| serde_json::from_slice(body).unwrap()).collect();
        let messages = |at: usize| parsed[at]["messages"].as_array().unwrap();
        for (left, right) in messages(0).iter().zip(messages(1)) {
            let carries = left.to_string().contains("toolu_") || left["role"] == "user";
            assert!(!carries || left != right, "{left}");
        }
        assert_ne!(parsed[0]["metadata"], parsed[1]["metadata"]);
    }

    #[test]
    fn a_head_names_its_host_and_the_length_of_its_body() {
        let script = Script::turns(3, 2, 100).slow(7, 90).with_header("X-Key", "k");
        let mut head = Vec::new();
        script.head(1, "127.0.0.1:7", &mut head);
        let head = String::from_utf8(head).unwrap();
        assert!(
            head.starts_with("POST /v1/messages?events=7&gap=90 HTTP/1.1\r\nAccept: application/json\r\n"),
            "{head}"
        );
        assert!(
            head.ends_with(&format!(
                "\r\nX-Key: k\r\nHost: 127.0.0.1:7\r\nContent-Length: {}\r\n\r\n",
                script.length(1)
            )),
            "{head}"
        );
        assert_eq!(script.len(), 4);
    }
}
