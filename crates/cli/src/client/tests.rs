//! Finding a daemon, and the messages if there is none.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::Path;

use ctx_core::ErrorCode;

use super::*;
use crate::env::Environment;
use crate::home::{Home, Notice};

const TOKEN: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

/// Answers one connection with these bytes, and returns what it received.
fn answer_once(answer: &str) -> (SocketAddr, std::thread::JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let answer = answer.to_owned();
    let served = std::thread::spawn(move || {
        let (mut socket, _) = listener.accept().expect("a connection");
        let mut asked = vec![0; 4096];
        let read = socket.read(&mut asked).unwrap_or(0);
        let _ = socket.write_all(answer.as_bytes());
        String::from_utf8_lossy(&asked[..read]).into_owned()
    });
    (address, served)
}

fn home_with_token() -> (tempfile::TempDir, Home) {
    let folder = tempfile::tempdir().expect("a folder");
    let home = Home::find(Some(folder.path()), &Environment::of(&[])).expect("a home");
    std::fs::write(folder.path().join("token"), TOKEN).expect("written");
    (folder, home)
}

fn whereabouts(home: &Home, flag: Option<SocketAddr>, environment: &[(&str, &str)]) -> Whereabouts {
    Whereabouts { home: home.clone(), flag, gateway: None, environment: Environment::of(environment) }
}

fn closed_port() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("an address")
}

fn failure_of(address: SocketAddr, home: &Home) -> Failure {
    Client::find(&whereabouts(home, Some(address), &[])).expect("a client").get("/status").expect_err("no answer")
}

#[test]
fn without_a_notice_there_is_no_daemon_and_no_token_is_sent_anywhere() {
    let (_folder, home) = home_with_token();
    let failure = Client::find(&whereabouts(&home, None, &[])).err().expect("refused");
    assert_eq!((failure.code, &*failure.message), (ErrorCode::NoDaemon.into(), "no daemon is running"));
    assert!(failure.hint.expect("a hint").contains("ctx run -- claude"));
}

#[test]
fn a_home_without_a_token_says_that_no_daemon_ran_there() {
    let home = Home::find(Some(Path::new("/nowhere/home")), &Environment::of(&[])).expect("a home");
    let failure = Client::find(&whereabouts(&home, Some(closed_port()), &[])).err().expect("refused");
    assert!(failure.message.contains("/nowhere/home") && failure.hint.expect("a hint").contains("--home"));
}

#[test]
fn a_flag_wins_over_the_notice_and_the_notice_over_the_variable() {
    let (_folder, home) = home_with_token();
    let address = |port: u16| SocketAddr::from(([127, 0, 0, 1], port));
    home.put_up(&Notice { pid: std::process::id(), listen: address(2), started_at: 0 }).expect("written");
    let found = |flag| {
        LocalClient::find(&whereabouts(&home, flag, &[("CTX_LISTEN", "0.0.0.0:3")])).expect("a client").address()
    };
    assert_eq!(found(Some(address(1))), address(1));
    assert_eq!(found(None), address(2));
    std::fs::remove_file(home.notice_file()).expect("removed");
    assert_eq!(found(None), address(3), "and an address that cannot be called is made callable");
}

#[cfg(unix)]
#[test]
fn the_notice_of_a_process_that_is_gone_is_not_believed() {
    let (_folder, home) = home_with_token();
    let mut gone = std::process::Command::new("true").spawn().expect("a process");
    gone.wait().expect("ended");
    let notice = Notice { pid: gone.id(), listen: closed_port(), started_at: 0 };
    home.put_up(&notice).expect("written");
    let failure = Client::find(&whereabouts(&home, None, &[])).err().expect("refused");
    assert!(failure.message.contains("did not shut down cleanly"), "{failure}");
}

#[test]
fn nothing_behind_the_notice_is_told_with_its_process() {
    let (_folder, home) = home_with_token();
    let notice = Notice { pid: std::process::id(), listen: closed_port(), started_at: 0 };
    home.put_up(&notice).expect("written");
    let client = Client::find(&whereabouts(&home, None, &[])).expect("a client");
    let failure = client.get("/status").expect_err("no answer");
    assert_eq!(failure.code, ErrorCode::NoDaemon);
    assert!(failure.message.contains(&notice.pid.to_string()), "{failure}");
}

#[test]
fn strangers_on_the_port_are_recognised() {
    let (_folder, home) = home_with_token();
    for answer in [
        "SSH-2.0-OpenSSH_9.9\r\n",
        "",
        "HTTP/1.1 404 Not Found\r\ncontent-length: 2\r\n\r\nno",
        "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 2\r\n\r\nhi",
    ] {
        let (address, served) = answer_once(answer);
        let failure = failure_of(address, &home);
        assert_eq!(failure.code, ErrorCode::NotADaemon, "{answer:?}: {failure}");
        served.join().expect("served");
    }
}

#[test]
fn the_daemons_own_words_are_passed_on() {
    let (_folder, home) = home_with_token();
    let words = r#"{"error":{"code":"token-wrong","message":"Not the token.","hint":"Go."}}"#;
    let head = "HTTP/1.1 401 Unauthorized\r\ncontent-type: application/json\r\ncontent-length:";
    let (address, served) = answer_once(&format!("{head} {}\r\n\r\n{words}", words.len()));
    let failure = failure_of(address, &home);
    assert_eq!((failure.code, &*failure.message), (ErrorCode::TokenWrong.into(), "Not the token."));
    assert_eq!(failure.hint.as_deref(), Some("Go."));
    let asked = served.join().expect("served").to_ascii_lowercase();
    assert!(asked.starts_with("get /control/v1/status http/1.1\r\n"), "{asked}");
    assert!(asked.contains(&format!("authorization: bearer {TOKEN}")), "{asked}");
    assert!(asked.contains(&format!("host: {address}")), "{asked}");
}

#[test]
fn the_token_of_this_machine_is_not_sent_to_a_gateway_and_its_key_not_to_this_machine() {
    let (_folder, home) = home_with_token();
    let key = format!("ctxk_{TOKEN}");
    let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}";
    let asked = |to_gateway: bool| {
        let (address, served) = answer_once(head);
        let (url, flag) = (format!("http://{address}"), Some(address).filter(|_| !to_gateway));
        let environment = [("CTX_GATEWAY", url.as_str()), ("CTX_KEY", &key)];
        let client = Client::find(&whereabouts(&home, flag, &environment)).expect("a client");
        client.get("/status").expect("an answer");
        assert_eq!(client.gateway().is_some(), to_gateway);
        assert!(!client.page_link(None).contains("ctxk_"));
        served.join().expect("served").to_ascii_lowercase()
    };
    let to_gateway = asked(true);
    assert!(to_gateway.contains(&format!("authorization: bearer {key}")), "{to_gateway}");
    let to_daemon = asked(false);
    assert!(to_daemon.contains(&format!("authorization: bearer {TOKEN}")), "{to_daemon}");
}

#[test]
fn a_gateway_out_of_reach_is_no_missing_daemon() {
    let (_folder, home) = home_with_token();
    let (url, key) = (format!("http://{}", closed_port()), format!("ctxk_{TOKEN}"));
    let environment = [("CTX_GATEWAY", url.as_str()), ("CTX_KEY", &key)];
    let client = Client::find(&whereabouts(&home, None, &environment)).and_then(Client::there).expect("a client");
    let failure = client.get("/status").expect_err("no answer");
    assert_eq!(failure.code, ErrorCode::GatewayUnreachable);
    assert!(failure.message.contains(&url) && failure.hint.expect("a hint").contains("--listen"));
}

#[test]
fn an_answer_that_breaks_off_is_told() {
    let (_folder, home) = home_with_token();
    let (address, served) =
        answer_once("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 99\r\n\r\n{");
    assert_eq!(failure_of(address, &home).code, ErrorCode::Cut);
    served.join().expect("served");
}
