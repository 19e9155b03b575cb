//! The client side: blocking sockets and prepared bytes, so that its own work does not show.

use super::answer;
use super::script::{self, Script};
use super::sink;
use std::io::{self, IoSlice, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

/// Longer than anything in the bench; a slower peer is stuck.
const PATIENCE: Duration = Duration::from_secs(20);

/// One connection to the measured server.
pub struct Connection {
    stream: TcpStream,
    host: String,
    head: Vec<u8>,
    answer: Vec<u8>,
}

impl Connection {
    pub fn open(address: SocketAddr) -> io::Result<Self> {
        let stream = TcpStream::connect_timeout(&address, PATIENCE)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        Ok(Self { stream, host: address.to_string(), head: Vec::new(), answer: Vec::with_capacity(16 * 1024) })
    }

    /// Sends one request of a script and reads the whole response: from the first byte written to the last byte read.
    pub fn exchange(&mut self, script: &Script, number: usize) -> io::Result<Duration> {
        script.head(number, &self.host, &mut self.head);
        let mut slices = script::slices(&self.head, script.body(number));
        self.answer.clear();
        let started = Instant::now();
        write_all(&mut self.stream, &mut slices)?;
        while !self.answer.ends_with(sink::END) {
            self.read()?;
        }
        let taken = started.elapsed();
        self.check(sink::EVENTS)?;
        Ok(taken)
    }

    /// Sends any body and returns the status of the response, without reading the rest.
    pub fn post(mut self, session: &str, encoding: Option<&str>, body: &[u8]) -> io::Result<u16> {
        let encoding = encoding.map_or(String::new(), |name| format!("Content-Encoding: {name}\r\n"));
        let head = format!(
            "POST /v1/messages HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nAnthropic-Version: 2023-06-01\r\n\
             X-Claude-Code-Session-Id: {session}\r\n{encoding}Content-Length: {}\r\n\r\n",
            self.host,
            body.len()
        );
        write_all(&mut self.stream, &mut script::slices(head.as_bytes(), [body, &[]]))?;
        self.read()?;
        let status = self.answer.get(9..12).and_then(|digits| std::str::from_utf8(digits).ok()?.parse().ok());
        status.ok_or_else(|| io::Error::other("no status in the answer"))
    }

    /// Sends a request for a slow stream and returns the travel time of each event from the sink.
    pub fn follow(&mut self, script: &Script, number: usize, events: usize) -> io::Result<Vec<Duration>> {
        script.head(number, &self.host, &mut self.head);
        self.answer.clear();
        write_all(&mut self.stream, &mut script::slices(&self.head, script.body(number)))?;
        let mut travelled = Vec::with_capacity(events);
        let mut seen = 0;
        while !self.answer.ends_with(sink::END) {
            self.read()?;
            let now = sink::nanos();
            while let Some((stamp, end)) = next_stamp(&self.answer, seen) {
                travelled.push(Duration::from_nanos(now.saturating_sub(stamp)));
                seen = end;
            }
        }
        self.check(events + answer::FRAME)?;
        Ok(travelled)
    }

    fn read(&mut self) -> io::Result<()> {
        let mut piece = [0; 16 * 1024];
        match self.stream.read(&mut piece)? {
            0 => Err(io::Error::other(format!("cut after {} bytes of an answer", self.answer.len()))),
            count => {
                self.answer.extend_from_slice(piece.get(..count).unwrap_or_default());
                Ok(())
            }
        }
    }

    /// A fast but wrong response would be a useless number.
    fn check(&self, events: usize) -> io::Result<()> {
        let found = memchr::memmem::find_iter(&self.answer, b"data: ").count();
        if self.answer.starts_with(b"HTTP/1.1 200") && found == events {
            return Ok(());
        }
        let start = String::from_utf8_lossy(self.answer.get(..400).unwrap_or(&self.answer)).into_owned();
        Err(io::Error::other(format!("expected 200 and {events} events, got {found}: {start}")))
    }
}

/// The next stamp from `from` on whose event is complete, and its end.
fn next_stamp(answer: &[u8], from: usize) -> Option<(u64, usize)> {
    let rest = answer.get(from..)?;
    let digits = memchr::memmem::find(rest, sink::STAMP)? + sink::STAMP.len();
    let end = digits + memchr::memmem::find(rest.get(digits..)?, b"}\n\n")?;
    let stamp = std::str::from_utf8(rest.get(digits..end)?).ok()?.parse().ok()?;
    Some((stamp, from + end))
}

fn write_all(stream: &mut TcpStream, mut slices: &mut [IoSlice<'_>]) -> io::Result<()> {
    IoSlice::advance_slices(&mut slices, 0);
    while !slices.is_empty() {
        match stream.write_vectored(slices) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(count) => IoSlice::advance_slices(&mut slices, count),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::script::SIZES;
    use super::*;

    #[test]
    fn requests_of_a_script_are_answered_one_after_the_other() {
        let mut connection = Connection::open(sink::start().unwrap()).unwrap();
        let script = Script::near(SIZES[1], 1, 3);
        for number in 0..script.len() {
            assert!(connection.exchange(&script, number).unwrap() > Duration::ZERO);
        }
    }

    #[test]
    fn every_event_of_a_slow_stream_is_timed() {
        let mut connection = Connection::open(sink::start().unwrap()).unwrap();
        let script = Script::near(SIZES[0], 1, 1).slow(20, 50);
        let travelled = connection.follow(&script, 0, 20).unwrap();
        assert_eq!(travelled.len(), 20);
        assert!(travelled.iter().all(|time| *time < Duration::from_secs(5)));
    }

    #[test]
    fn an_event_counts_when_its_last_byte_is_there() {
        assert_eq!(next_stamp(b"{\"at\":12}\n", 0), None);
        assert_eq!(next_stamp(b"{\"at\":12}\n\n", 0), Some((12, 8)));
        assert_eq!(next_stamp(b"{\"at\":12}\n\n", 8), None);
    }
}
