//! More connections than file handles: whoever works goes on, whoever rests makes room, and `ctx` gets an answer.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc;
use std::time::Duration;

use crate::place::{Place, asking, provider, until};

const HANDLES: u32 = 128;

fn send(listen: SocketAddr, request: &str) -> TcpStream {
    let mut client = TcpStream::connect(listen).expect("connected");
    client.set_read_timeout(Some(Duration::from_secs(20))).expect("a timeout");
    client.write_all(request.as_bytes()).expect("sent");
    client
}

/// A connection that made one request and rests.
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
    // An upstream that takes every request and never answers.
    let silent = TcpListener::bind("127.0.0.1:0").expect("an upstream");
    let upstream = format!("http://{}", silent.local_addr().expect("an address"));
    let (kept, _open) = mpsc::channel();
    std::thread::spawn(move || silent.incoming().flatten().try_for_each(|client| kept.send(client)));
    let up = place.up_with_handles(&format!("ulimit -n {HANDLES}"), &upstream);
    let request = "POST /v1/messages HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}";
    let all: Vec<TcpStream> = (0..HANDLES).map(|_| send(up.listen, request)).collect();
    place.run(&["status"]).ok();
    // Several threads accept, so it may be any of them that finds no handle, for itself or for the way upstream.
    let answered = |mut client: &TcpStream| {
        let mut words = [0; 4096];
        client.set_nonblocking(true).expect("set");
        let length = client.read(&mut words).ok().filter(|length| *length > 0)?;
        Some(String::from_utf8_lossy(&words[..length]).into_owned())
    };
    let words = until("one is refused", || all.iter().find_map(answered));
    assert!(words.starts_with("HTTP/1.1 50"), "{words}");
    place.run(&["status"]).ok();
    let told = up.log().matches("file handles are taken").count();
    assert!(told <= 1, "{}", up.log());
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
