//! The upstream of the bench: reads request bodies at memory speed, discards them, and responds with a canned event
//! stream. One blocking thread per connection is the cheapest way to read.
//!
//! `POST …?events=N&gap=MICROSECONDS` requests a slow stream: N events, each written separately with its time of
//! writing, from which a reader computes the travel time.

use super::answer;
use super::format::Format;
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
    let canned = Format::ALL.map(|format| (format, canned(format)));
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
        let target = target(head).unwrap_or_default();
        let (slow, format) = (Slow::asked(target), answer::format_of(target));
        let mut left = (end + length).saturating_sub(filled);
        while left > 0 {
            match stream.read(&mut buffer).ok()? {
                0 => return None,
                count => left = left.checked_sub(count)?,
            }
        }
        filled = 0;
        match slow {
            None => stream.write_all(&canned.iter().find(|(other, _)| *other == format)?.1).ok()?,
            Some(slow) => slow.stream(&mut stream, format).ok()?,
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

/// The path and the query of a request.
fn target(head: &[u8]) -> Option<&str> {
    std::str::from_utf8(head.split(|&byte| byte == b'\r').next()?).ok()?.split(' ').nth(1)
}

/// A slow stream.
struct Slow {
    events: usize,
    gap: Duration,
}

impl Slow {
    fn asked(target: &str) -> Option<Self> {
        let query = target.split_once('?')?.1;
        let number = |name: &str| {
            let pair = query.split('&').find_map(|pair| pair.split_once('=').filter(|(key, _)| *key == name));
            pair.and_then(|(_, value)| value.parse().ok())
        };
        Some(Self { events: number("events")?, gap: Duration::from_micros(number("gap")? as u64) })
    }

    fn stream(&self, stream: &mut TcpStream, format: Format) -> io::Result<()> {
        let mut first = HEAD.to_vec();
        answer::opening(format).iter().for_each(|event| push_chunk(&mut first, event));
        stream.write_all(&first)?;
        let mut event = Vec::with_capacity(512);
        for number in 0..self.events {
            thread::sleep(self.gap);
            event.clear();
            push_chunk(&mut event, &answer::words(format, &format!(" w{number}"), Some(nanos())));
            stream.write_all(&event)?;
        }
        let mut last = Vec::new();
        answer::closing(format).iter().for_each(|event| push_chunk(&mut last, event));
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

/// The default response: head and ten events, each its own chunk, in one write.
fn canned(format: Format) -> Vec<u8> {
    let mut answer = HEAD.to_vec();
    let words = ["I will", " look at", " the file", " and then", " say more."];
    let words = words.map(|words| answer::words(format, words, None));
    let events = answer::opening(format).into_iter().chain(words).chain(answer::closing(format));
    events.for_each(|event| push_chunk(&mut answer, &event));
    answer.extend_from_slice(b"0\r\n\r\n");
    answer
}

fn push_chunk(out: &mut Vec<u8>, event: &str) {
    out.extend_from_slice(format!("{:x}\r\n{event}\r\n", event.len()).as_bytes());
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
        let paths = ["/v1/messages", "/v1/chat/completions", "/v1/responses", "/v1beta/models/g:streamGenerateContent"];
        for (length, path) in [0, 1, BUFFER - 80, BUFFER, 3 * BUFFER + 7].into_iter().zip(paths.into_iter().cycle()) {
            let answer = ask(&mut stream, path, &vec![b'x'; length]);
            assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"));
            assert_eq!(answer.matches("data: ").count(), EVENTS, "{answer}");
        }
    }

    #[test]
    fn a_slow_stream_stamps_every_event_with_the_moment_of_its_writing() {
        let mut stream = TcpStream::connect(start().unwrap()).unwrap();
        for path in ["/v1/messages?", "/v1/chat/completions?", "/v1/responses?", "/x:streamGenerateContent?alt=sse&"] {
            let before = nanos();
            let answer = ask(&mut stream, &format!("{path}events=5&gap=100"), b"{}");
            let stamp = |text: &str| text.split(['}', ',']).next().and_then(|number| number.parse::<u64>().ok());
            let stamps: Vec<u64> = answer.split("\"at\":").skip(1).filter_map(stamp).collect();
            assert_eq!(stamps.len(), 5, "{path}");
            assert!(stamps.is_sorted() && stamps[0] > before && stamps[4] < nanos());
        }
    }

    #[test]
    fn chunks_say_their_length() {
        let mut chunk = Vec::new();
        push_chunk(&mut chunk, "event: ping\ndata: {}\n\n");
        assert_eq!(chunk, b"16\r\nevent: ping\ndata: {}\n\n\r\n");
    }
}
