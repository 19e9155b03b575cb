//! Outgoing proxies: tunnels for https, full addresses for http, and no proxy for the hosts in NO_PROXY.

use std::net::SocketAddr;
use std::time::Duration;

use crate::support::raw::{self, Peer, RawServer};
use crate::support::tls::{self, Authority};
use crate::support::{Plan, provider_error};
use ctx_server::Secret;
use tokio::io::AsyncWriteExt;

const GET: &str = "GET /v1/models HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";

fn through(plan: Plan, proxy: impl Into<String>, no: &str) -> Plan {
    plan.upstream(|upstream| {
        upstream.proxies.all = Some(Secret::new(proxy));
        upstream.proxies.no = Some(no.to_owned());
    })
}

fn https_before(server: &RawServer, authority: &Authority) -> Plan {
    let file = authority.file();
    Plan::new(&format!("https://localhost:{}", server.address.port())).upstream(|upstream| upstream.extra_ca.push(file))
}

#[tokio::test]
async fn an_https_upstream_is_reached_through_a_tunnel_with_the_proxys_credentials() {
    let authority = Authority::new();
    let acceptor = authority.acceptor("localhost", &[b"http/1.1"]);
    let proxy = RawServer::open().await;
    let plan = https_before(&proxy, &authority);
    let daemon = through(plan, format!("http://me:p%40ss@{}", proxy.address), "").start().await;
    let mut client = daemon.connect().await;
    client.send(GET).await;

    let mut socket = proxy.accept_tcp().await;
    let head = raw::head_of(&mut socket).await;
    let port = proxy.address.port();
    assert!(head.starts_with(&format!("CONNECT localhost:{port} HTTP/1.1\r\n")), "{head}");
    assert!(head.contains("Proxy-Authorization: Basic bWU6cEBzcw==\r\n"), "{head}");
    socket.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").await.expect("sent");

    let mut peer = Peer::new(tls::accept(&acceptor, socket).await);
    let head = peer.head().await;
    assert!(head.starts_with("GET /v1/models HTTP/1.1\r\n"), "{head}");
    assert!(!head.to_lowercase().contains("proxy-authorization"), "the upstream does not see them: {head}");
    peer.send("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok").await;
    assert!(client.head().await.starts_with("HTTP/1.1 200 OK\r\n"));
}

#[tokio::test]
async fn a_plain_upstream_is_asked_for_by_its_whole_address() {
    let proxy = RawServer::open().await;
    let plan = Plan::new("http://upstream.example/base");
    let daemon = through(plan, format!("http://me:pw@{}", proxy.address), "localhost").start().await;
    let mut client = daemon.connect().await;
    client.send("GET /v1/models?limit=1 HTTP/1.1\r\nHost: x\r\nA: 1\r\n\r\n").await;
    let mut peer = proxy.accept().await;
    assert_eq!(
        peer.head().await,
        "GET http://upstream.example/base/v1/models?limit=1 HTTP/1.1\r\nHost: upstream.example\r\nA: 1\r\n\
         proxy-authorization: Basic bWU6cHc=\r\n\r\n"
    );
    peer.send("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok").await;
    assert!(client.head().await.starts_with("HTTP/1.1 200 OK\r\n"));
}

#[tokio::test]
async fn the_scheme_chooses_the_proxy() {
    let right = RawServer::open().await;
    let wrong = RawServer::open().await;
    let (right_url, wrong_url) = (format!("http://{}", right.address), format!("http://{}", wrong.address));
    let daemon = Plan::new("http://upstream.example")
        .upstream(|upstream| {
            upstream.proxies.http = Some(Secret::new(right_url));
            upstream.proxies.https = Some(Secret::new(wrong_url.clone()));
            upstream.proxies.all = Some(Secret::new(wrong_url));
        })
        .start()
        .await;
    let mut client = daemon.connect().await;
    client.send(GET).await;
    assert!(right.accept().await.head().await.starts_with("GET http://upstream.example/v1/models "));
}

#[tokio::test]
async fn no_proxy_leads_around_the_proxy() {
    let upstream = RawServer::open().await;
    let proxy = RawServer::open().await;
    for no in ["127.0.0.1", "127.0.0.0/8", "example.com, 127.0.0.1"] {
        let plan = Plan::new(&format!("http://{}", upstream.address));
        let daemon = through(plan, format!("http://{}", proxy.address), no).start().await;
        let mut client = daemon.connect().await;
        client.send(GET).await;
        assert!(upstream.accept().await.head().await.starts_with("GET /v1/models "), "{no}");
    }
    assert!(proxy.stays_alone(Duration::from_millis(50)).await);
}

/// The error message for a proxy's response to `CONNECT`.
async fn refused_with(answer: &'static str) -> String {
    let authority = Authority::new();
    let proxy = RawServer::open().await;
    let plan = https_before(&proxy, &authority);
    let daemon = through(plan, format!("http://me:hush@{}", proxy.address), "").start().await;
    let mut client = daemon.connect().await;
    client.send(GET).await;
    let mut peer = proxy.accept().await;
    peer.head().await;
    peer.send(answer).await;
    let answer = String::from_utf8(client.rest().await).expect("text");
    let message = provider_error(&answer, 502, "api_error", "upstream-unreachable");
    assert!(message.contains(&proxy.address.to_string()), "{message}");
    assert!(!answer.contains("hush"), "{answer}");
    message
}

#[tokio::test]
async fn a_proxy_that_refuses_is_named_without_its_password() {
    let message = refused_with("HTTP/1.1 407 Proxy Authentication Required\r\ncontent-length: 0\r\n\r\n").await;
    assert!(message.contains("requires credentials"), "{message}");
    let message = refused_with("HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n").await;
    assert!(message.contains("did not connect") && message.contains("NO_PROXY"), "{message}");
}

#[tokio::test]
async fn a_proxy_that_is_not_there_is_named() {
    let nobody: SocketAddr = raw::nobody().await;
    let authority = Authority::new();
    let server = RawServer::open().await;
    let daemon = through(https_before(&server, &authority), nobody.to_string(), "").start().await;
    let message = provider_error(&daemon.ask(GET).await, 502, "api_error", "upstream-unreachable");
    assert!(message.contains(&format!("the proxy {nobody} did not connect (the connection was refused)")), "{message}");
}

#[tokio::test]
async fn a_proxy_may_speak_tls_itself() {
    let authority = Authority::new();
    let acceptor = authority.acceptor("localhost", &[]);
    let proxy = RawServer::open().await;
    let plan = https_before(&proxy, &authority);
    let daemon = through(plan, format!("https://localhost:{}", proxy.address.port()), "").start().await;
    let mut client = daemon.connect().await;
    client.send(GET).await;

    let mut outer = tls::accept(&acceptor, proxy.accept_tcp().await).await;
    assert!(raw::head_of(&mut outer).await.starts_with("CONNECT localhost:"));
    outer.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await.expect("sent");
    let inner = crate::support::soon("a handshake", acceptor.accept(outer)).await.expect("a handshake");
    let mut peer = Peer::new(inner);
    assert!(peer.head().await.starts_with("GET /v1/models "));
    peer.send("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok").await;
    assert!(client.head().await.starts_with("HTTP/1.1 200 OK\r\n"));
}

#[tokio::test]
async fn a_socks_proxy_is_asked_to_connect_by_name() {
    let proxy = RawServer::open().await;
    let plan = Plan::new("http://upstream.example:81");
    let daemon = through(plan, format!("socks5h://{}", proxy.address), "").start().await;
    let mut client = daemon.connect().await;
    client.send(GET).await;
    let mut peer = proxy.accept().await;
    assert_eq!(peer.exactly(3).await, [5, 1, 0]);
    peer.send([5, 0]).await;
    let mut asked = vec![5, 1, 0, 3, 16];
    asked.extend_from_slice(b"upstream.example");
    asked.extend_from_slice(&[0, 81]);
    assert_eq!(peer.exactly(asked.len()).await, asked);
    peer.send([5, 0, 0, 1, 127, 0, 0, 1, 0, 80]).await;
    assert!(peer.head().await.starts_with("GET /v1/models HTTP/1.1\r\nHost: upstream.example:81\r\n"));
}

#[tokio::test]
async fn a_setting_that_is_not_understood_stops_the_start_and_is_not_repeated() {
    let plan = through(Plan::new("https://upstream.example"), "gopher://me:hush@proxy", "");
    let refused = ctx_server::Server::bind(plan.config, plan.recorder, plan.control).await;
    let error = refused.err().expect("refused").to_string();
    assert!(error.contains("HTTPS_PROXY") && !error.contains("hush"), "{error}");
}
