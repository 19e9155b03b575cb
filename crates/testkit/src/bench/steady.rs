//! A steady load: many conversations at once, each with a request a second, however long the responses take.

use super::load::Connection;
use super::script::Script;
use std::io;
use std::net::SocketAddr;
use std::ops::Range;
use std::time::{Duration, Instant};

const CONNECTIONS: usize = 20;
/// The time between two requests of a conversation.
const TURN: Duration = Duration::from_secs(1);

/// Sends these requests of every conversation and returns their latencies. A request that its busy connection delays counts
/// from the moment at which it was due.
pub fn send(address: SocketAddr, conversations: &[Script], numbers: &Range<usize>) -> io::Result<Vec<Duration>> {
    let began = Instant::now();
    std::thread::scope(|scope| {
        let connections = (0..CONNECTIONS.min(conversations.len()))
            .map(|first| scope.spawn(move || send_some(address, conversations, numbers, first, began)));
        let connections: Vec<_> = connections.collect();
        let mut samples = Vec::new();
        for connection in connections {
            samples.extend(connection.join().map_err(|_| io::Error::other("a connection panicked"))??);
        }
        Ok(samples)
    })
}

/// The requests of one connection: every [`CONNECTIONS`]th conversation from `first` on.
fn send_some(
    address: SocketAddr,
    conversations: &[Script],
    numbers: &Range<usize>,
    first: usize,
    began: Instant,
) -> io::Result<Vec<Duration>> {
    let mut connection = Connection::open(address)?;
    let mut samples = Vec::new();
    for (turn, number) in numbers.clone().enumerate() {
        for (place, script) in conversations.iter().enumerate().skip(first).step_by(CONNECTIONS) {
            let due = TURN * turn as u32 + TURN * place as u32 / conversations.len() as u32;
            let (now, mut late) = (began.elapsed(), Duration::ZERO);
            match due.checked_sub(now) {
                Some(early) => std::thread::sleep(early),
                None => late = now - due,
            }
            samples.push(late + connection.exchange(script, number)?);
        }
    }
    Ok(samples)
}

#[cfg(test)]
mod tests {
    use super::super::script::SIZES;
    use super::super::{answer, sink};
    use super::*;

    #[test]
    fn every_conversation_sends_its_requests_in_time() {
        let base = Script::near(SIZES[0], 1, 3);
        let conversations: Vec<Script> = (0..30).map(|number| base.variant(number)).collect();
        let began = Instant::now();
        let samples = send(sink::start().unwrap(), &conversations, &(1..3)).unwrap();
        assert_eq!(samples.len(), 60);
        assert!(began.elapsed() > TURN + TURN * 29 / 30, "{:?}", began.elapsed());
    }

    #[test]
    fn a_request_that_waits_for_its_connection_counts_from_when_it_was_due() {
        // Each response takes longer than the pause between two requests of a connection.
        let slow = Script::near(SIZES[0], 1, 2).slow(sink::EVENTS - answer::FRAME, 10_000);
        let conversations: Vec<Script> = (0..CONNECTIONS * 40).map(|number| slow.variant(number)).collect();
        let samples = send(sink::start().unwrap(), &conversations, &(0..1)).unwrap();
        let latest = samples.iter().max().unwrap();
        assert!(*latest > Duration::from_millis(500), "{latest:?}");
    }
}
