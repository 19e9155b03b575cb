//! Tokens of an identity provider in place of keys.

use ctx_server::{GatewayKey, Secret, UpstreamCredentials};
use serde_json::{Value, json};
use testkit::IdentityProvider;

use super::oidc::{provider, settings};
use super::scene::Team;
use crate::support::house::conversation;

const AUDIENCE: &str = "https://ctx.test";

async fn scene(credentials: UpstreamCredentials) -> (Team, IdentityProvider) {
    let provider = provider();
    let settings = settings(&provider, |rules| rules.jwt_audience = Some(AUDIENCE.to_owned()));
    (Team::signing_in_at(settings, credentials).await, provider)
}

fn gateway() -> UpstreamCredentials {
    let key = GatewayKey { upstream: "anthropic".to_owned(), group: None, key: Secret::new("sk-gateway") };
    UpstreamCredentials { gateway: Some(vec![key]), passes_subscriptions: false }
}

fn claims(name: &str) -> Value {
    json!({"sub": format!("id-{name}"), "aud": [AUDIENCE, "other"], "azp": "cli", "preferred_username": name})
}

fn bearer(token: &str) -> String {
    format!("Authorization: Bearer {token}\r\n")
}

#[tokio::test]
async fn a_token_names_its_person_at_the_proxy_and_the_api_and_never_leaves() {
    let (team, provider) = scene(gateway()).await;
    let token = provider.token(&claims("anna"));
    let arrived = team.talk_with(&bearer(&token), "paid", &conversation("paid", 1)).await;
    assert_eq!((arrived.header("x-api-key"), arrived.header("authorization")), (Some("sk-gateway"), None));
    assert!(!arrived.head.contains("eyJ"), "{}", arrived.head);
    let (status, me) = team.call(&bearer(&token), "GET", "me", "").await;
    assert!(status == 200 && me.contains("anna"), "{me}");
    assert!(team.get("anna", "conversations").await.to_string().contains("paid question"));
    let signature = token.rsplit('.').next().expect("a signature");
    assert!(!team.stored().contains(signature), "the token is in the store");
}

#[tokio::test]
async fn beside_a_token_the_clients_own_credential_passes_untouched() {
    let (team, provider) = scene(UpstreamCredentials::default()).await;
    let token = provider.token(&claims("anna"));
    let lines = format!("x-ctx-key: {token}\r\nx-api-key: sk-own\r\n");
    let arrived = team.talk_with(&lines, "own", &conversation("own", 1)).await;
    assert_eq!((arrived.header("x-ctx-key"), arrived.header("x-api-key")), (None, Some("sk-own")));
    // A second copy does not leave either.
    let lines = format!("{lines}{}", bearer(&token));
    let arrived = team.talk_with(&lines, "own", &conversation("own", 2)).await;
    assert_eq!((arrived.header("authorization"), arrived.header("x-api-key")), (None, Some("sk-own")));
    assert!(!arrived.head.contains("eyJ"), "{}", arrived.head);
    // In the place of the credential there is none for the provider.
    assert_eq!(team.refused(&bearer(&token)).await, (401, "credential-needed".to_owned()));
    // The signed token of a client's own login is its credential.
    let own = "Authorization: Bearer eyJhIjoxfQ.eyJiIjoxfQ.c2ln\r\n";
    let lines = format!("x-ctx-key: {}\r\n{own}", team.key("anna"));
    let arrived = team.talk_with(&lines, "own", &conversation("own", 3)).await;
    assert_eq!(arrived.header("authorization"), Some("Bearer eyJhIjoxfQ.eyJiIjoxfQ.c2ln"));
}

#[tokio::test]
async fn without_an_audience_a_signed_token_is_only_the_clients_credential() {
    let provider = provider();
    let team = Team::signing_in_at(settings(&provider, |_| {}), UpstreamCredentials::default()).await;
    let token = provider.token(&claims("anna"));
    assert_eq!(team.refused(&bearer(&token)).await, (401, "key-needed".to_owned()));
    let beside = format!("x-ctx-key: {token}\r\nx-api-key: sk-own\r\n");
    assert_eq!(team.refused(&beside).await, (401, "key-wrong".to_owned()));
    assert_eq!(team.call(&bearer(&token), "GET", "me", "").await.0, 403, "it is no credential for the API");
    let lines = format!("x-ctx-key: {}\r\n{}", team.key("anna"), bearer(&token));
    let arrived = team.talk_with(&lines, "own", &conversation("own", 1)).await;
    assert_eq!(arrived.header("authorization"), Some(format!("Bearer {token}").as_str()));
    assert_eq!(provider.asked("/keys"), 0);
}

#[tokio::test]
async fn a_token_that_is_not_valid_here_is_refused_and_nothing_leaves() {
    let (team, provider) = scene(gateway()).await;
    let with = |name: &str, value: Value| {
        let mut changed = claims("anna");
        changed[name] = value;
        provider.token(&changed)
    };
    let good = provider.token(&claims("anna"));
    let tokens = [
        with("aud", json!("ctx")),
        with("iss", json!("https://evil.example")),
        with("exp", json!(1000)),
        with("nbf", json!(4_000_000_000u64)),
        with("sub", json!("")),
        format!("{}.{}.c2ln", good.split('.').next().expect("a header"), good.split('.').nth(1).expect("claims")),
        "eyJhbGciOiJub25lIn0.eyJzdWIiOiJpZC1hbm5hIn0.".to_owned(),
    ];
    for token in &tokens {
        assert_eq!(team.refused(&bearer(token)).await, (401, "identity-wrong".to_owned()), "{token}");
        let (status, answer) = team.call(&bearer(token), "GET", "me", "").await;
        assert!(status == 401 && answer.contains("identity-wrong"), "{answer}");
    }
    let stranger = provider.token(&claims("zoe"));
    assert_eq!(team.refused(&bearer(&stranger)).await, (403, "identity-refused".to_owned()));
    let mut other = claims("anna");
    team.call(&bearer(&good), "GET", "me", "").await;
    other["sub"] = json!("another account");
    assert_eq!(team.refused(&bearer(&provider.token(&other))).await, (403, "identity-refused".to_owned()));
    team.house.post("people/anna/remove", &json!({})).await;
    assert_eq!(team.refused(&bearer(&good)).await, (403, "identity-refused".to_owned()));
}

#[tokio::test]
async fn keys_are_fetched_once_again_when_they_change_and_not_for_every_unknown_one() {
    let (team, provider) = scene(gateway()).await;
    let me = async |token: &str| team.call(&bearer(token), "GET", "me", "").await.0;
    for _ in 0..3 {
        assert_eq!(me(&provider.token(&claims("anna"))).await, 200);
    }
    assert_eq!(provider.asked("/keys"), 1);
    let old = provider.token(&claims("anna"));
    provider.rotate().expect("a key");
    assert_eq!(me(&provider.token(&claims("anna"))).await, 200, "a new key is found at once");
    assert_eq!(me(&old).await, 401, "the old one is published no longer");
    provider.rotate().expect("a key");
    for _ in 0..3 {
        assert_eq!(me(&provider.token(&claims("anna"))).await, 401);
    }
    assert_eq!(provider.asked("/keys"), 2, "unknown keys do not make the daemon ask again and again");
}

#[tokio::test]
async fn without_the_provider_known_keys_serve_and_unknown_ones_are_unchecked() {
    let (team, provider) = scene(gateway()).await;
    let good = provider.token(&claims("anna"));
    assert_eq!(team.call(&bearer(&good), "GET", "me", "").await.0, 200);
    provider.rotate().expect("a key");
    let newer = provider.token(&claims("anna"));
    drop(provider);
    assert_eq!(team.call(&bearer(&good), "GET", "me", "").await.0, 200);
    assert_eq!(team.refused(&bearer(&newer)).await, (503, "identity-unchecked".to_owned()));
    let (status, answer) = team.call(&bearer(&newer), "GET", "me", "").await;
    assert!(status == 503 && answer.contains("identity-unchecked"), "{answer}");
}

#[tokio::test]
async fn a_token_is_unchecked_until_the_provider_was_reached_once() {
    let (team, provider) = scene(gateway()).await;
    provider.replace("/keys", 500, "");
    let token = provider.token(&claims("anna"));
    assert_eq!(team.refused(&bearer(&token)).await, (503, "identity-unchecked".to_owned()));
    let elsewhere = provider.token(&json!({"sub": "1", "aud": "elsewhere"}));
    assert_eq!(team.refused(&bearer(&elsewhere)).await, (401, "identity-wrong".to_owned()), "it cannot be good");
}
