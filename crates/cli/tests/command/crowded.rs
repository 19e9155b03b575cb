//! More connections than file handles: active connections continue, idle ones are closed, and `ctx` commands still
//! work.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use crate::place::{Place, asking, provider};

const HANDLES: u32 = 128;

fn send(listen: SocketAddr, request: &str) -> TcpStream {
    let mut client = TcpStream::connect(listen).expect("connected");
    client.set_read_timeout(Some(Duration::from_secs(20))).expect("a timeout");
    client.write_all(request.as_bytes()).expect("sent");
    client
}

/// An idle connection after one request.
fn resting(listen: SocketAddr) -> TcpStream {
    let mut client = send(listen, "GET /nothing HTTP/1.1\r\nHost: x\r\n\r\n");
    let mut answer = [0; 12];
    client.read_exact(&mut answer).expect("an answer");
    assert!(answer.starts_with(b"HTTP/1.1 "));
    client
}

#[test]
fn connections_that_rest_make_room_for_agents_and_commands() {
    let (place, provider) = (Place::new(), provider());
    let up = place.up_with_handles(&format!("ulimit -n {HANDLES}"), &provider.url());
    let all: Vec<TcpStream> = (0..2 * HANDLES).map(|_| resting(up.listen)).collect();
    up.send(&asking(1, "SAY:hello"));
    assert!(place.run(&["conversations"]).ok().out.contains("hello"));
    let is_open = |mut client: &TcpStream| {
        client.set_nonblocking(true).expect("set");
        let mut rest = [0; 4096];
        loop {
            match client.read(&mut rest) {
                Ok(0) => return false,
                Ok(_) => {}
                Err(error) => return error.kind() == std::io::ErrorKind::WouldBlock,
            }
        }
    };
    assert!(all.first().is_some_and(|first| !is_open(first)), "the one that rested longest has left");
    assert!(all.last().is_some_and(is_open), "the newest one rests on");
}

#[test]
fn without_a_handle_left_the_control_api_still_answers_and_the_log_stays_short() {
    let place = Place::new();
    let up = place.up_with_handles(&format!("ulimit -n {HANDLES}"), "http://127.0.0.1:1");
    let told = || up.log().matches("file handles are in use").count();
    // Event readers are never idle, and each takes one handle, so only accepting can run out of them. A request would
    // need a second one for the upstream, and both would compete for the last.
    let events = format!(
        "GET /control/v1/events HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\n\r\n",
        up.listen,
        up.token()
    );
    let mut all: Vec<TcpStream> = Vec::new();
    while told() == 0 {
        assert!(all.len() < HANDLES as usize, "there are not so many handles");
        let mut client = send(up.listen, &events);
        let mut answer = [0; 12];
        client.read_exact(&mut answer).expect("an answer");
        assert_eq!(&answer, b"HTTP/1.1 200");
        all.push(client);
    }
    let request = "POST /v1/messages HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}";
    let mut words = String::new();
    send(up.listen, request).read_to_string(&mut words).expect("an answer");
    assert!(words.starts_with("HTTP/1.1 503 ") && words.contains("too-many-connections"), "{words}");
    place.run(&["status"]).ok();
    assert_eq!(told(), 1, "{}", up.log());
}

#[cfg(target_os = "linux")]
#[test]
fn the_soft_limit_is_raised_to_the_hard_one() {
    let place = Place::new();
    let up = place.up_with_handles("ulimit -S -n 64", "http://127.0.0.1:1");
    let limits = std::fs::read_to_string(format!("/proc/{}/limits", up.pid())).expect("limits");
    let files = limits.lines().find(|line| line.starts_with("Max open files")).expect("a limit");
    let figures: Vec<&str> = files.split_whitespace().skip(3).take(2).collect();
    assert_eq!(figures[0], figures[1], "{files}");
}
