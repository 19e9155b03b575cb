//! The port: opening it, conflicts with other programs, and closing it.

use std::time::Duration;

use crate::support::raw::RawServer;
use crate::support::{Daemon, Plan};
use ctx_server::watch::Ending;
use ctx_server::{BindError, Server};

async fn refused(plan: Plan) -> BindError {
    match Server::bind(plan.config, plan.recorder, plan.control).await {
        Ok(bound) => panic!("listening on {}", bound.local_addr()),
        Err(error) => error,
    }
}

#[tokio::test]
async fn listening_beyond_loopback_needs_to_be_allowed() {
    for listen in ["0.0.0.0:0", "[::]:0", "192.0.2.1:0"] {
        let mut plan = Plan::new("http://127.0.0.1:9");
        plan.config.listen = listen.parse().expect("an address");
        let error = refused(plan).await;
        assert!(matches!(error, BindError::RemoteRefused { .. }), "{error}");
        assert!(error.hint().contains("127.0.0.1"), "{error}");
    }
    let mut plan = Plan::new("http://127.0.0.1:9");
    plan.config.listen = "0.0.0.0:0".parse().expect("an address");
    plan.config.allow_remote = true;
    assert!(Server::bind(plan.config, plan.recorder, plan.control).await.is_ok());
}

#[tokio::test]
async fn an_upstream_that_is_the_daemon_itself_is_refused() {
    let free = crate::support::raw::nobody().await;
    for host in ["127.0.0.1", "localhost", "LOCALHOST", "[::1]", "0.0.0.0", "127.0.0.9", "[::ffff:127.0.0.1]"] {
        let mut plan = Plan::new(&format!("http://{host}:{}/base", free.port()));
        plan.config.listen = free;
        let error = refused(plan).await;
        assert!(matches!(error, BindError::Loop { .. }), "{host}: {error}");
        assert!(error.hint().contains("to the provider's address"), "{error}");
    }
    for upstream in ["http://127.0.0.1:9".to_owned(), format!("http://192.0.2.1:{}", free.port())] {
        let mut plan = Plan::new(&upstream);
        plan.config.listen = free;
        assert!(Server::bind(plan.config, plan.recorder, plan.control).await.is_ok(), "{upstream}");
    }
}

#[tokio::test]
async fn a_port_taken_by_another_daemon_is_told() {
    let first = Daemon::before(crate::support::raw::nobody().await).await;
    let mut plan = Plan::new("http://127.0.0.1:9");
    plan.config.listen = first.address;
    let error = refused(plan).await.to_string();
    assert!(error.contains("in use by another ctx daemon"), "{error}");
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_port_taken_by_another_program_is_told_by_name() {
    let other = RawServer::open().await;
    let mut plan = Plan::new("http://127.0.0.1:9");
    plan.config.listen = other.address;
    let error = refused(plan).await.to_string();
    assert!(error.contains(&format!("(process {})", std::process::id())), "{error}");
}

#[tokio::test]
async fn a_shutdown_lets_a_running_exchange_finish_and_closes_resting_connections() {
    let upstream = RawServer::open().await;
    let plan = Plan::new(&format!("http://{}", upstream.address));
    let mut daemon = plan.limits(|limits| limits.shutdown_grace = Duration::from_secs(60)).start().await;
    let mut resting = daemon.connect().await;
    resting.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n").await;
    let mut peer = upstream.accept().await;
    peer.head().await;
    peer.send("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok").await;
    resting.head().await;
    resting.exactly(2).await;

    let mut running = daemon.connect().await;
    running.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n").await;
    let mut peer = upstream.accept().await;
    peer.head().await;
    peer.send("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n").await;
    running.head().await;
    running.exactly(10).await;

    daemon.begin_shutdown();
    assert_eq!(resting.rest().await, b"");
    drop(resting);
    crate::support::until("the port to close", || std::net::TcpStream::connect(daemon.address).is_err()).await;
    peer.send("3\r\nend\r\n0\r\n\r\n").await;
    assert_eq!(running.rest().await, b"3\r\nend\r\n0\r\n\r\n");
    drop(running);
    daemon.ended().await;
}

#[tokio::test]
async fn a_shutdown_does_not_wait_for_ever() {
    let upstream = RawServer::open().await;
    let mut daemon = Daemon::before(upstream.address).await;
    let recorder = daemon.recorder.clone();
    let mut client = daemon.connect().await;
    client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n").await;
    let mut peer = upstream.accept().await;
    peer.head().await;
    daemon.begin_shutdown();
    daemon.ended().await;
    assert_eq!(client.rest().await, b"");
    assert_eq!(peer.rest().await, b"");
    assert_eq!(recorder.ending(0).await, Ending::Cancelled);
}

#[tokio::test]
async fn dropping_the_daemon_ends_everything_at_once() {
    let upstream = RawServer::open().await;
    let plan = Plan::new(&format!("http://{}", upstream.address));
    let bound = Server::bind(plan.config, plan.recorder, plan.control).await.expect("an open port");
    let address = bound.local_addr();
    let running = tokio::spawn(bound.run(std::future::pending()));
    let mut client = crate::support::raw::Peer::connect(address).await;
    client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n").await;
    let mut peer = upstream.accept().await;
    peer.head().await;
    running.abort();
    assert_eq!(peer.rest().await, b"");
    client.end().await;
}

#[tokio::test]
async fn the_port_can_be_opened_again_at_once() {
    let upstream = RawServer::open().await;
    let mut daemon = Daemon::before(upstream.address).await;
    let address = daemon.address;
    let mut client = daemon.connect().await;
    client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n").await;
    upstream.accept().await.head().await;
    daemon.begin_shutdown();
    daemon.ended().await;
    let mut plan = Plan::new("http://127.0.0.1:9");
    plan.config.listen = address;
    assert!(Server::bind(plan.config, plan.recorder, plan.control).await.is_ok());
}

#[tokio::test]
async fn the_daemon_listens_on_ipv6_too() {
    let mut plan = Plan::new("http://127.0.0.1:9");
    plan.config.listen = "[::1]:0".parse().expect("an address");
    let Ok(bound) = Server::bind(plan.config.clone(), plan.recorder.clone(), plan.control.clone()).await else {
        return; // A machine without IPv6.
    };
    drop(bound);
    let daemon = plan.start().await;
    let answer = daemon.get("/control/v1/status", &format!("Authorization: Bearer {}\r\n", daemon.token)).await;
    assert!(answer.starts_with("HTTP/1.1 404 "), "{answer}");
}
