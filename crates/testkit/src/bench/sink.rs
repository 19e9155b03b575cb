//! The upstream of the bench: reads request bodies at memory speed, discards them, and responds with a canned event
//! stream. One blocking thread per connection is the cheapest way to read.
//!
//! `POST …?events=N&gap=MICROSECONDS` requests a slow stream: N events, each written separately with its time of
//! writing, from which a reader computes the travel time.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Events of the canned answer.
pub const EVENTS: usize = 10;

/// Precedes the time of writing in each event of a slow stream.
pub const STAMP: &[u8] = b"\"at\":";

/// The last bytes of every response.
pub const END: &[u8] = b"\r\n0\r\n\r\n";

/// Larger reads are not faster, and a thousand connections stay small.
const BUFFER: usize = 256 * 1024;
/// Fits a thousand simultaneous connections; the standard library's backlog is 128, and the rest would be retried only
/// after seconds.
const BACKLOG: i32 = 4096;
/// Threads only read, write and sleep.
const STACK: usize = 128 * 1024;
/// A longer head is not ours.
const LONGEST_HEAD: usize = 64 * 1024;

/// Listens on a free loopback port and serves until the process ends.
pub fn start() -> io::Result<SocketAddr> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    rustix::net::listen(&listener, BACKLOG)?;
    let address = listener.local_addr()?;
    thread::Builder::new().name("sink".into()).spawn(move || {
        for stream in listener.incoming().flatten() {
            // A connection without a thread is closed, and its client reports it.
            let _ = thread::Builder::new().stack_size(STACK).spawn(move || serve(stream));
        }
    })?;
    Ok(address)
}

/// Ends with the connection.
fn serve(mut stream: TcpStream) -> Option<()> {
    stream.set_nodelay(true).ok()?;
    let canned = canned();
    let mut buffer = vec![0; BUFFER];
    let mut filled = 0;
    loop {
        let end = loop {
            if let Some(at) = memchr::memmem::find(buffer.get(..filled)?, b"\r\n\r\n") {
                break at + 4;
            }
            if filled > LONGEST_HEAD {
                return None;
            }
            match stream.read(buffer.get_mut(filled..)?).ok()? {
                0 => return None,
                count => filled += count,
            }
        };
        let head = buffer.get(..end)?;
        let length = content_length(head)?;
        let slow = Slow::asked(head);
        let mut left = (end + length).saturating_sub(filled);
        while left > 0 {
            match stream.read(&mut buffer).ok()? {
                0 => return None,
                count => left = left.checked_sub(count)?,
            }
        }
        filled = 0;
        match slow {
            None => stream.write_all(&canned).ok()?,
            Some(slow) => slow.stream(&mut stream).ok()?,
        }
    }
}

fn content_length(head: &[u8]) -> Option<usize> {
    let head = std::str::from_utf8(head).ok()?;
    let value = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then_some(value)
    });
    value.map_or(Some(0), |value| value.trim().parse().ok())
}

/// A slow stream.
struct Slow {
    events: usize,
    gap: Duration,
}

impl Slow {
    fn asked(head: &[u8]) -> Option<Self> {
        let line = std::str::from_utf8(head.split(|&byte| byte == b'\r').next()?).ok()?;
        let query = line.split(' ').nth(1)?.split_once('?')?.1;
        let number = |name: &str| {
            let pair = query.split('&').find_map(|pair| pair.split_once('=').filter(|(key, _)| *key == name));
            pair.and_then(|(_, value)| value.parse().ok())
        };
        Some(Self { events: number("events")?, gap: Duration::from_micros(number("gap")? as u64) })
    }

    fn stream(&self, stream: &mut TcpStream) -> io::Result<()> {
        let mut first = HEAD.to_vec();
        push_chunk(&mut first, START.0, START.1);
        push_chunk(&mut first, BLOCK.0, BLOCK.1);
        stream.write_all(&first)?;
        let mut event = Vec::with_capacity(256);
        for number in 0..self.events {
            thread::sleep(self.gap);
            event.clear();
            let now = nanos();
            let delta = format!(
                r#"{{"type":"content_block_delta","index":0,"delta":{{"type":"text_delta","text":" w{number}"}},"at":{now}}}"#
            );
            push_chunk(&mut event, "content_block_delta", &delta);
            stream.write_all(&event)?;
        }
        let mut last = Vec::new();
        for (name, data) in CLOSING {
            push_chunk(&mut last, name, data);
        }
        last.extend_from_slice(b"0\r\n\r\n");
        stream.write_all(&last)
    }
}

/// Nanoseconds since 1970: a clock that two processes share.
pub fn nanos() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos() as u64)
}

const HEAD: &[u8] = b"HTTP/1.1 200 OK\r\n\
    Content-Type: text/event-stream; charset=utf-8\r\n\
    Cache-Control: no-cache\r\n\
    request-id: req_011CSinkSinkSinkSinkSink\r\n\
    Transfer-Encoding: chunked\r\n\r\n";
const START: (&str, &str) = (
    "message_start",
    r#"{"type":"message_start","message":{"id":"msg_01Sink","type":"message","role":"assistant","model":"claude-opus-5-5","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":4,"cache_creation_input_tokens":1200,"cache_read_input_tokens":30000,"output_tokens":1}}}"#,
);
const BLOCK: (&str, &str) =
    ("content_block_start", r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#);
const CLOSING: [(&str, &str); 3] = [
    ("content_block_stop", r#"{"type":"content_block_stop","index":0}"#),
    (
        "message_delta",
        r#"{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":42}}"#,
    ),
    ("message_stop", r#"{"type":"message_stop"}"#),
];

/// The default response: head and ten events, each its own chunk, in one write.
fn canned() -> Vec<u8> {
    let mut answer = HEAD.to_vec();
    push_chunk(&mut answer, START.0, START.1);
    push_chunk(&mut answer, BLOCK.0, BLOCK.1);
    for words in ["I will", " look at", " the file", " and then", " say more."] {
        let delta =
            format!(r#"{{"type":"content_block_delta","index":0,"delta":{{"type":"text_delta","text":"{words}"}}}}"#);
        push_chunk(&mut answer, "content_block_delta", &delta);
    }
    for (name, data) in CLOSING {
        push_chunk(&mut answer, name, data);
    }
    answer.extend_from_slice(b"0\r\n\r\n");
    answer
}

fn push_chunk(out: &mut Vec<u8>, name: &str, data: &str) {
    let length = "event: \ndata: \n\n".len() + name.len() + data.len();
    out.extend_from_slice(format!("{length:x}\r\nevent: {name}\ndata: {data}\n\n\r\n").as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(stream: &mut TcpStream, target: &str, body: &[u8]) -> String {
        let head = format!("POST {target} HTTP/1.1\r\nhost: x\r\nCONTENT-length: {}\r\n\r\n", body.len());
        stream.write_all(&[head.as_bytes(), body].concat()).unwrap();
        let mut answer = Vec::new();
        while !answer.ends_with(END) {
            let mut piece = [0; 4096];
            let count = stream.read(&mut piece).unwrap();
            assert_ne!(count, 0, "cut after {answer:?}");
            answer.extend_from_slice(&piece[..count]);
        }
        String::from_utf8(answer).unwrap()
    }

    #[test]
    fn one_connection_gets_one_whole_answer_after_each_body() {
        let mut stream = TcpStream::connect(start().unwrap()).unwrap();
        for length in [0, 1, BUFFER - 80, BUFFER, 3 * BUFFER + 7] {
            let answer = ask(&mut stream, "/v1/messages", &vec![b'x'; length]);
            assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"));
            assert_eq!(answer.matches("event: ").count(), EVENTS);
        }
    }

    #[test]
    fn a_slow_stream_stamps_every_event_with_the_moment_of_its_writing() {
        let mut stream = TcpStream::connect(start().unwrap()).unwrap();
        let before = nanos();
        let answer = ask(&mut stream, "/v1/messages?events=5&gap=100", b"{}");
        let stamp = |text: &str| text.split(['}', ',']).next().and_then(|number| number.parse::<u64>().ok());
        let stamps: Vec<u64> = answer.split("\"at\":").skip(1).filter_map(stamp).collect();
        assert_eq!(stamps.len(), 5);
        assert!(stamps.is_sorted() && stamps[0] > before && stamps[4] < nanos());
    }

    #[test]
    fn chunks_say_their_length() {
        let mut chunk = Vec::new();
        push_chunk(&mut chunk, "ping", "{}");
        assert_eq!(chunk, b"16\r\nevent: ping\ndata: {}\n\n\r\n");
    }
}
