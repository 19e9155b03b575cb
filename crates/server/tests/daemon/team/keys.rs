//! The key of a request.

use std::sync::Arc;

use ctx_server::{GatewayKey, Secret, TeamSettings, UpstreamCredentials};
use ctx_store::{MemoryStore, PostgresStore};
use ctx_team::{Entry, Registry};
use serde_json::json;

use super::scene::{LONG, Stores, Team};
use crate::support::house::{Router, conversation};
use crate::support::raw::RawServer;

#[tokio::test]
async fn a_request_needs_a_valid_key_and_nothing_leaves_without_one() {
    let (team, _) = Team::sharing().await;
    let own = "x-api-key: sk-own\r\n";
    let refused = |status: u16, code: &str| (status, code.to_owned());
    assert_eq!(team.refused(own).await, refused(401, "key-needed"));
    assert_eq!(team.refused(&format!("{own}x-ctx-key: ctxk_unknown\r\n")).await, refused(401, "key-wrong"));
    assert_eq!(team.refused(&format!("{own}x-ctx-key: {}\r\n", team.key("fred"))).await, refused(401, "key-wrong"));
    let instead = format!("Authorization: Bearer {}\r\n", team.key("anna"));
    assert_eq!(team.refused(&instead).await, refused(401, "credential-needed"));
    assert_eq!(team.call("", "GET", "status", "").await.0, 401);
}

#[tokio::test]
async fn a_key_never_leaves_and_is_never_stored() {
    let (team, id) = Team::sharing().await;
    let arrived = team.talk("anna", "annas", &conversation("more", 4)).await;
    assert_eq!((arrived.header("x-ctx-key"), arrived.header("x-api-key")), (None, Some("sk-anna")));
    let all = arrived.head.clone() + arrived.text();
    assert!(!all.contains("ctxk_"), "{all}");
    team.get("anna", &format!("conversations/{id}/frames")).await;
    let stored = team.stored();
    assert!(stored.contains("more question") && stored.contains("key-made"), "the store has been read");
    for key in team.keys() {
        assert!(!stored.contains(&key[12..]), "a key is in the store");
    }
    assert!(!stored.contains("sk-anna"));
}

#[tokio::test]
async fn a_key_in_an_unexpected_place_does_not_leave() {
    let gateway = GatewayKey { upstream: "anthropic".to_owned(), group: None, key: Secret::new("sk-gateway") };
    let gateway = UpstreamCredentials { gateway: Some(vec![gateway]), passes_subscriptions: false };
    for credentials in [UpstreamCredentials::default(), gateway] {
        let team = Team::with(credentials).await;
        let key = team.key("anna").to_owned();
        let admitted = format!("x-ctx-key: {key}\r\nx-api-key: sk-own\r\n");
        for line in [
            format!("x-other: \"{key}\""),
            format!("x-other: more,{key}"),
            format!("x-other: {}", key.replace('_', "%5F")),
            format!("Cookie: key={key}"),
            format!("Authorization: Bearer '{key}'"),
        ] {
            let refused = team.refused(&format!("{admitted}{line}\r\n")).await;
            assert_eq!(refused, (400, "key-misplaced".to_owned()), "{line}");
        }
        let own = "x-api-key: sk-own\r\n";
        let alone = team.refused(&format!("{own}Authorization: Bearer \"{key}\"\r\n")).await;
        assert_eq!(alone, (400, "key-misplaced".to_owned()));
        for path in ["/v1/messages?key=%63txk_", "/v1/messages?ctxk_", "/v1/ctxk_"] {
            let path = format!("{path}{}", &key["ctxk_".len()..]);
            let refused = team.refused_at(&path, &admitted).await;
            assert_eq!(refused, (400, "key-misplaced".to_owned()), "{path}");
        }
    }
}

#[tokio::test]
async fn a_key_is_shown_once_and_listed_with_its_last_use() {
    let (team, _) = Team::sharing().await;
    let made = team.post("dora", "keys", &json!({"label": "laptop", "days": 30})).await;
    let key = made["key"].as_str().expect("a key");
    let keys = team.get("dora", "keys").await;
    assert!(!keys.to_string().contains(key), "{keys}");
    let keys = keys["keys"].as_array().expect("keys");
    assert_eq!(keys.len(), 2, "only her own");
    assert!(keys[0]["last_used"].is_u64() && keys[1]["last_used"].is_null(), "{keys:?}");
    assert_eq!((&keys[1]["label"], &keys[1]["id"]), (&json!("laptop"), &made["id"]));
    let id = made["id"].as_str().expect("an id");
    assert_eq!(team.ask("bob", "POST", &format!("keys/{id}/revoke"), &json!({})).await.0, 404);
    team.post("dora", &format!("keys/{id}/revoke"), &json!({})).await;
    let lines = format!("Authorization: Bearer {key}\r\n");
    assert_eq!(team.call(&lines, "GET", "status", "").await.0, 401);
}

#[tokio::test]
async fn a_key_that_an_admin_makes_for_someone_is_told_to_them() {
    let (team, _) = Team::sharing().await;
    team.post("dora", "keys", &json!({"label": "own"})).await;
    let made = team.post("adam", "keys", &json!({"person": "dora", "label": "laptop"})).await;
    let keys = team.get("dora", "keys").await["keys"].clone();
    let by = |label: &str| {
        let keys = keys.as_array().expect("keys");
        keys.iter().find(|key| key["label"] == label).expect(label)["made_by"].clone()
    };
    assert_eq!((by("own"), by("laptop"), by("test")), (json!(null), json!("adam"), json!("operator")));
    let notice = &team.get("dora", "notices").await["notices"][0];
    assert_eq!((&notice["by"], &notice["role"], &notice["key"]), (&json!("adam"), &json!("admin"), &made["id"]));
    let others = team.get("bob", "notices").await.to_string();
    assert!(!others.contains("adam"), "{others}");
}

#[tokio::test]
async fn a_person_who_is_removed_has_no_access_any_more() {
    let (team, id) = Team::sharing().await;
    assert_eq!(team.ask("bob", "GET", &format!("conversations/{id}/frames"), &json!({})).await.0, 200);
    team.post("adam", "people/bob/remove", &json!({})).await;
    assert_eq!(team.ask("bob", "GET", "conversations", &json!({})).await.0, 401);
    let lines = format!("x-api-key: sk\r\nx-ctx-key: {}\r\n", team.key("bob"));
    assert_eq!(team.refused(&lines).await.0, 401);
}

#[tokio::test]
async fn an_unknown_key_is_unavailable_while_the_database_is_away_and_a_known_one_passes() {
    let (team, _) = Team::sharing().await;
    let entries: Vec<Entry> = {
        let registry = Registry::open(team.log.clone()).expect("a registry");
        registry.state().entries().to_vec()
    };
    let address = "postgres://nobody@127.0.0.1:1/none".parse().expect("an address");
    let store = PostgresStore::join_later(&address, "test").expect("a store");
    let registry = Arc::new(Registry::open_away(Arc::new(store), entries));
    let server = RawServer::open().await;
    let (open, credentials) = (Arc::new(Stores::default()), UpstreamCredentials::default());
    let settings = TeamSettings { registry, open, credentials, idle: LONG };
    let upstream = format!("http://{}", server.address);
    let house = Router::on(Arc::new(MemoryStore::new()), &upstream, |config| config.team = Some(settings)).await;
    let away = Team::around(server, house, &team);
    let own = "x-api-key: sk-own\r\n";
    let unknown = away.refused(&format!("{own}x-ctx-key: ctxk_unknown\r\n")).await;
    assert_eq!(unknown, (503, "key-unchecked".to_owned()));
    assert_eq!(away.refused(own).await, (401, "key-needed".to_owned()));
    let arrived = away.talk("anna", "fresh", &conversation("fresh", 1)).await;
    assert_eq!(arrived.text(), conversation("fresh", 1));
}

#[tokio::test]
async fn a_gateways_own_key_replaces_the_persons_and_is_never_stored() {
    let key = |group: Option<&str>, key: &str| GatewayKey {
        upstream: "anthropic".to_owned(),
        group: group.map(str::to_owned),
        key: Secret::new(key),
    };
    let keys = vec![key(None, "sk-gateway-all"), key(Some("core"), "sk-gateway-core")];
    let team = Team::with(UpstreamCredentials { gateway: Some(keys), passes_subscriptions: false }).await;
    team.house.post("people/bob", &json!({"groups": ["core"]})).await;
    for (name, expected) in [("anna", "sk-gateway-all"), ("bob", "sk-gateway-core")] {
        let instead = format!("Authorization: Bearer {}\r\nx-api-key: sk-own\r\n", team.key(name));
        let arrived = team.talk_with(&instead, "paid", &conversation("paid", 1)).await;
        assert_eq!((arrived.header("x-api-key"), arrived.header("authorization")), (Some(expected), None));
        assert!(!arrived.head.contains("ctxk_") && !arrived.head.contains("sk-own"), "{}", arrived.head);
    }
    let path = "/v1/messages?beta=true&access%5Ftoken=sk-own&k%65y=sk-own";
    let arrived = team.talk_at(path, "anna", "paid", &conversation("paid", 2)).await;
    assert!(arrived.head.starts_with("POST /v1/messages?beta=true HTTP/1.1"), "{}", arrived.head);
    team.get("anna", "conversations").await;
    let stored = team.stored();
    assert!(stored.contains("paid question") && !stored.contains("sk-gateway"));
}

#[tokio::test]
async fn the_login_of_a_subscription_does_not_leave_unless_the_operator_allows_it() {
    let login = |team: &Team| format!("x-ctx-key: {}\r\nAuthorization: Bearer sk-ant-oat01-x\r\n", team.key("anna"));
    let team = Team::new().await;
    assert_eq!(team.refused(&login(&team)).await, (403, "subscription-refused".to_owned()));
    // In the address, under any name, a provider that takes only logins gets none.
    let key = format!("x-ctx-key: {}\r\n", team.key("anna"));
    for query in ["?access_token=ya29.x", "?x=ya29.x", ""] {
        let path = format!("/to/code-assist/v1internal:generateContent{query}");
        assert_eq!(team.refused_at(&path, &key).await, (403, "subscription-refused".to_owned()), "{path}");
    }
    let team = Team::with(UpstreamCredentials { gateway: None, passes_subscriptions: true }).await;
    let arrived = team.talk_with(&login(&team), "own", &conversation("own", 1)).await;
    assert_eq!(arrived.header("authorization"), Some("Bearer sk-ant-oat01-x"));
}
