//! Streams and sockets that are open while their key, session or person ends.

use serde_json::json;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;

use super::page::{browse, signed_in};
use super::scene::Team;
use crate::sockets::ends::{End, UPGRADE, answer, create, joined, said};
use crate::support::house::{self, Arrived, conversation};
use crate::support::raw::Peer;

/// An open event stream with these header lines.
async fn listen(team: &Team, lines: &str) -> Peer {
    let mut peer = team.house.connect().await;
    let host = team.house.address;
    let request = format!("GET /control/v1/events?streaming=true HTTP/1.1\r\nHost: {host}\r\n{lines}\r\n");
    peer.send(request).await;
    let head = peer.head().await;
    assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
    peer
}

/// Reads a stream until it contains these words.
async fn hear(peer: &mut Peer, words: &str) {
    let mut heard = String::new();
    while !heard.contains(words) {
        heard.push_str(&peer.line().await);
    }
}

/// The rest of a stream, which must end.
async fn rest(mut peer: Peer) -> String {
    let (body, _) = peer.chunked().await;
    String::from_utf8_lossy(&body).into_owned()
}

/// Makes another key for a person; returns its text and id.
async fn another_key(team: &Team, name: &str) -> (String, String) {
    let made = team.post(name, "keys", &json!({"label": "other"})).await;
    (made["key"].as_str().expect("a key").to_owned(), made["id"].as_str().expect("an id").to_owned())
}

/// An edit of anna's conversation, which is an event.
async fn pin(team: &Team, frame: &str) {
    let edit = json!({"operations": [{"op": "pin", "ids": [frame]}], "author": "test"});
    team.post("anna", "conversations/one/operations", &edit).await;
}

#[tokio::test]
async fn an_event_stream_ends_with_its_key_before_the_next_event_is_told() {
    let team = Team::new().await;
    team.talk("anna", "one", &conversation("one", 4)).await;
    team.get("anna", "conversations/one/frames").await;
    let (key, id) = another_key(&team, "anna").await;
    let mut ending = listen(&team, &format!("Authorization: Bearer {key}\r\n")).await;
    let mut staying = listen(&team, &team.bearer("anna")).await;
    pin(&team, "t1").await;
    hear(&mut ending, "[\"t1\"]").await;
    team.post("anna", &format!("keys/{id}/revoke"), &json!({})).await;
    pin(&team, "t2").await;
    let told = rest(ending).await;
    assert!(!told.contains("t2"), "{told}");
    hear(&mut staying, "[\"t2\"]").await;
}

#[tokio::test]
async fn an_event_stream_ends_when_its_person_signs_out() {
    let team = Team::new().await;
    team.talk("anna", "one", &conversation("one", 4)).await;
    team.get("anna", "conversations/one/frames").await;
    let browser = signed_in(&team, "anna").await;
    let ending = listen(&team, &browser.lines()).await;
    browse(&team, "POST", "/ui/sign-out", &browser.lines(), "").await;
    pin(&team, "t1").await;
    let told = rest(ending).await;
    assert!(!told.contains("\"t1\""), "{told}");
}

#[tokio::test]
async fn an_event_stream_ends_when_its_person_is_removed_and_a_running_response_finishes() {
    let team = Team::new().await;
    let ending = listen(&team, &team.bearer("bob")).await;
    let (mut client, body) = (team.house.connect().await, conversation("bobs", 1));
    let (key, length) = (team.key("bob"), body.len());
    let head = format!("POST /v1/messages HTTP/1.1\r\nHost: x\r\nx-ctx-key: {key}\r\nx-api-key: sk\r\n");
    client.send(format!("{head}Content-Length: {length}\r\nConnection: close\r\n\r\n{body}")).await;
    let mut arrived = Arrived::at(&team.server).await;
    team.post("adam", "people/bob/remove", &json!({})).await;
    arrived.peer.send(house::answer("200 OK", house::ANSWER)).await;
    let answered = String::from_utf8_lossy(&client.rest().await).into_owned();
    assert!(answered.starts_with("HTTP/1.1 200 ") && answered.contains("end_turn"), "{answered}");
    let told = rest(ending).await;
    assert!(!told.contains("\"kind\":\"answer\"") && !told.contains("\"kind\":\"streaming\""), "{told}");
}

/// A socket of a person through the gateway, and the provider's end of it.
async fn socket(team: &Team, key: &str) -> (End, End) {
    let mut client = TcpStream::connect(team.house.address).await.expect("connected");
    let asked = UPGRADE.replacen("/v1/responses", "/to/anthropic/v1/responses", 1);
    let asked = asked.replacen("\r\n\r\n", &format!("\r\nx-ctx-key: {key}\r\n\r\n"), 1);
    client.write_all(asked.as_bytes()).await.expect("sent");
    joined(client, team.server.accept_tcp().await).await
}

#[tokio::test]
async fn a_socket_ends_with_its_key_and_nothing_more_leaves_on_it() {
    let team = Team::new().await;
    let (key, id) = another_key(&team, "anna").await;
    let (mut client, mut upstream) = socket(&team, &key).await;
    let first = create(None, &[said("user", "look")]);
    client.send(first.clone()).await;
    assert_eq!(upstream.text().await, first);
    team.post("anna", &format!("keys/{id}/revoke"), &json!({})).await;
    // The running answer may finish.
    answer(&mut client, &mut upstream, "resp_1", &[said("assistant", "done")]).await;
    client.send(create(Some("resp_1"), &[said("user", "and on")])).await;
    let Some(Message::Close(Some(frame))) = client.next().await else { panic!("the socket is closed") };
    assert_eq!((frame.code, frame.reason.as_str()), (CloseCode::Policy, "the key or account is no longer valid"));
    assert!(!matches!(upstream.next().await, Some(Message::Text(_))), "nothing leaves");
}
