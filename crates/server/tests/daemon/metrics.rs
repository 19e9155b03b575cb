//! The metrics of a daemon, and its health.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::support::house::{Arrived, Router, answer, answered_by, conversation, request};
use crate::support::raw::{Peer, RawServer};
use crate::support::{Plan, body_of, header_of, provider_error, soon};
use crate::team::scene::Team;
use ctx_server::{BindError, Server};
use ctx_store::PostgresStore;

/// The value of a sample, by its name and labels.
fn value(text: &str, sample: &str) -> Option<f64> {
    let line = text.lines().find_map(|line| line.strip_prefix(sample)?.strip_prefix(' '));
    line.and_then(|value| value.parse().ok())
}

fn check(text: &str, samples: &[(&str, f64)]) {
    for (sample, number) in samples {
        assert_eq!(value(text, sample), Some(*number), "{sample}:\n{text}");
    }
}

/// Every line is a comment or a sample, and every sample belongs to a described metric.
fn names(text: &str) -> BTreeSet<String> {
    let described: BTreeSet<String> =
        text.lines().filter_map(|line| Some(line.strip_prefix("# TYPE ")?.split(' ').next()?.to_owned())).collect();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let name = line.split(['{', ' ']).next().expect("a name");
        let family = ["_bucket", "_sum", "_count"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name);
        assert!(described.contains(family) || described.contains(name), "{line}");
        assert!(line.rsplit(' ').next().is_some_and(|number| number.parse::<f64>().is_ok()), "{line}");
    }
    described
}

async fn scrape(house: &Router) -> String {
    let answer = house.raw("GET", "metrics", "").await;
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    assert_eq!(header_of(&answer, "content-type"), Some("text/plain; version=0.0.4; charset=utf-8"));
    body_of(&answer).to_owned()
}

#[tokio::test]
async fn requests_edits_and_tokens_are_counted() {
    let server = RawServer::open().await;
    let house = Router::before(&server).await;
    check(&scrape(&house).await, &[("ctx_requests_total{kind=\"model\"}", 0.0), ("ctx_conversations", 0.0)]);
    let (body, said) = (conversation("one", 3), answered_by("claude-opus-5-5"));
    house.talk_with(&server, "one", &body, &said).await;
    house.talk(&server, "secret-model", &conversation("two", 1)).await;
    house.delete_second("one").await;
    house.talk_with(&server, "one", &body, &said).await;
    let mut refused = house.connect().await;
    refused
        .send("POST /to/nowhere/v1/messages HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        .await;
    provider_error(&String::from_utf8_lossy(&refused.rest().await), 404, "invalid_request_error", "no-such-upstream");
    let mut failing = house.connect().await;
    failing.send(request("one", &body)).await;
    let mut arrived = Arrived::at(&server).await;
    check(&scrape(&house).await, &[("ctx_requests_in_flight", 1.0)]);
    arrived.peer.send(answer("529 Overloaded", "{}")).await;
    failing.rest().await;
    house.get("conversations").await;

    let text = scrape(&house).await;
    check(
        &text,
        &[
            ("ctx_requests_total{kind=\"model\"}", 4.0),
            ("ctx_requests_in_flight", 0.0),
            ("ctx_exchanges_total{outcome=\"complete\"}", 4.0),
            ("ctx_responses_total{status=\"2xx\"}", 3.0),
            ("ctx_responses_total{status=\"5xx\"}", 1.0),
            ("ctx_classified_requests_total{class=\"main\",outcome=\"complete\"}", 4.0),
            ("ctx_classified_requests_total{class=\"main\",outcome=\"cut\"}", 0.0),
            ("ctx_added_seconds_count", 4.0),
            ("ctx_confirm_seconds_count", 0.0),
            ("ctx_loaded_conversations", 2.0),
            ("ctx_store_oldest_waiting_seconds", 0.0),
            ("ctx_store_late_calls_total", 0.0),
            ("ctx_lease_age_seconds", 0.0),
            ("ctx_blind", 0.0),
            ("ctx_first_byte_seconds_count", 4.0),
            ("ctx_first_byte_seconds_bucket{le=\"+Inf\"}", 4.0),
            ("ctx_held_requests_total{outcome=\"composed\"}", 2.0),
            ("ctx_held_requests_total{outcome=\"refused\"}", 0.0),
            ("ctx_compose_seconds_count", 2.0),
            ("ctx_refused_requests_total{code=\"no-such-upstream\"}", 1.0),
            ("ctx_tokens_total{model=\"claude-opus-5-5\",kind=\"output\"}", 4.0),
            ("ctx_tokens_total{model=\"other\",kind=\"input\"}", 10.0),
            ("ctx_conversations", 2.0),
            ("ctx_edited_conversations", 1.0),
            ("ctx_store_away_seconds", 0.0),
            ("ctx_recorder_dropped_total", 0.0),
        ],
    );
    for sample in ["ctx_store_appends_total", "ctx_memory_hits_total", "ctx_loaded_bytes"] {
        assert!(value(&text, sample).is_some_and(|number| number > 0.0), "{sample}: {text}");
    }
    assert!(!text.contains("secret-model") && !text.contains("model=\"m\""), "{text}");
}

#[tokio::test]
async fn every_metric_is_documented_and_none_names_anyone() {
    let (team, id) = Team::sharing().await;
    team.refused("x-ctx-key: ctxk_wrong\r\n").await;
    let (status, text) = team.call(&team.bearer("eve"), "GET", "metrics", "").await;
    assert_eq!(status, 200, "{text}");
    let document = include_str!("../../../../docs/team.md");
    let documented: BTreeSet<String> = document
        .lines()
        .filter_map(|line| line.strip_prefix("| `ctx_")?.split(['`', '{']).next())
        .map(|name| format!("ctx_{name}"))
        .collect();
    assert_eq!(names(&text), documented);
    check(&text, &[("ctx_refused_requests_total{code=\"key-wrong\"}", 1.0), ("ctx_open_people", 4.0)]);
    for private in ["anna", "eve", "ctxk_", "annas", &id, "zebra", "/v1/", "sk-"] {
        assert!(!text.contains(private), "{private}: {text}");
    }
}

#[tokio::test]
async fn the_metrics_can_have_a_port_of_their_own_which_is_near() {
    let mut plan = Plan::new("http://127.0.0.1:9");
    plan.config.metrics = Some("0.0.0.0:0".parse().expect("an address"));
    let error = match Server::bind(plan.config, plan.recorder, plan.control).await {
        Ok(_) => panic!("the metrics are open to other machines"),
        Err(error) => error,
    };
    assert!(matches!(error, BindError::RemoteMetrics { .. }) && error.hint().contains("loopback"), "{error}");

    let server = RawServer::open().await;
    let free = crate::support::raw::nobody().await;
    let house = Router::with(&format!("http://{}", server.address), |config| config.metrics = Some(free)).await;
    let ask = async |path: &str, lines: &str| {
        let mut client = Peer::connect(free).await;
        client.send(format!("GET {path} HTTP/1.1\r\nHost: x\r\n{lines}Connection: close\r\n\r\n")).await;
        String::from_utf8_lossy(&client.rest().await).into_owned()
    };
    let answer = ask("/metrics", "").await;
    assert!(answer.starts_with("HTTP/1.1 200 ") && answer.contains("\nctx_requests_in_flight 0\n"), "{answer}");
    assert!(ask("/metrics", "Origin: https://evil.example\r\n").await.starts_with("HTTP/1.1 403 "));
    assert!(ask("/control/v1/status", "").await.starts_with("HTTP/1.1 404 "), "nothing else is there");
    // On the port for agents it is a path like any other.
    let mut client = house.connect().await;
    client.send("GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").await;
    let mut peer = server.accept().await;
    let head = peer.head().await;
    assert!(head.starts_with("GET /metrics "), "{head}");
    peer.send(answer_of("the provider's")).await;
    assert!(String::from_utf8_lossy(&client.rest().await).ends_with("the provider's"));
}

fn answer_of(body: &str) -> String {
    answer("200 OK", body)
}

#[tokio::test]
async fn a_daemon_that_drains_is_alive_and_serves_but_is_not_ready() {
    let server = RawServer::open().await;
    let plan = Plan::new(&format!("http://{}", server.address));
    let mut daemon = plan.limits(|limits| limits.drain = Duration::from_secs(3)).start().await;
    let ready = daemon.get("/control/health/ready", "").await;
    assert!(ready.starts_with("HTTP/1.1 200 "), "{ready}");
    assert_eq!(body_of(&ready), r#"{"ready":true,"state":"serving","store":"present"}"#);
    daemon.begin_shutdown();
    soon("draining", async {
        while !daemon.get("/control/health/ready", "").await.starts_with("HTTP/1.1 503 ") {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
    let ready = daemon.get("/control/health/ready", "").await;
    assert_eq!(body_of(&ready), r#"{"ready":false,"state":"draining","store":"present"}"#);
    for path in ["/control/health", "/control/health/live", "/control/health/store"] {
        assert!(daemon.get(path, "").await.starts_with("HTTP/1.1 200 "), "{path}");
    }
    let mut client = daemon.connect().await;
    client.send("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").await;
    let mut peer = server.accept().await;
    peer.head().await;
    peer.send(answer_of("ok")).await;
    assert!(String::from_utf8_lossy(&client.rest().await).ends_with("ok"), "it still serves");
    daemon.ended().await;
}

#[tokio::test]
async fn a_daemon_without_its_database_is_ready_and_says_that_it_is_away() {
    let server = RawServer::open().await;
    let nobody = crate::support::raw::nobody().await;
    let address = format!("postgres://u:p@127.0.0.1:{}/d?sslmode=disable", nobody.port()).parse().expect("an address");
    let store = Arc::new(PostgresStore::join_later(&address, "one").expect("a store"));
    let house = Router::on(store, &format!("http://{}", server.address), |_| {}).await;
    let probe = async |name: &str| {
        let mut client = house.connect().await;
        client.send(format!("GET /control/health/{name} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")).await;
        String::from_utf8_lossy(&client.rest().await).into_owned()
    };
    soon("the database is missed", async {
        while !probe("store").await.starts_with("HTTP/1.1 503 ") {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await;
    let began = Instant::now();
    let ready = probe("ready").await;
    assert!(ready.starts_with("HTTP/1.1 200 "), "{ready}");
    assert_eq!(body_of(&ready), r#"{"ready":true,"state":"serving","store":"away"}"#);
    assert!(probe("live").await.starts_with("HTTP/1.1 200 "));
    let text = scrape(&house).await;
    assert!(began.elapsed() < Duration::from_secs(1), "nobody waits for the database: {:?}", began.elapsed());
    assert!(value(&text, "ctx_store_away_seconds").is_some_and(|seconds| seconds > 0.0), "{text}");
    soon("its lease is over", async {
        while value(&scrape(&house).await, "ctx_blind") != Some(1.0) {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    })
    .await;
    assert!(value(&scrape(&house).await, "ctx_lease_age_seconds").is_some_and(|seconds| seconds > 2.0));
}
