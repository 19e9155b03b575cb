//! People sign in at an identity provider.

use ctx_server::{OidcSettings, Secret};
use ctx_team::oidc::OidcRules;
use serde_json::{Value, json};
use testkit::{IdentityProvider, RegisteredClient};

use super::scene::Team;
use crate::support::body_of;
use crate::support::raw::Peer;

/// The name by which browsers know the daemon.
pub const HOST: &str = "ctx.test";
const START: &str = "/ui/sign-in/oidc";

pub fn provider() -> IdentityProvider {
    let redirect = format!("http://{HOST}/ui/sign-in/oidc/return");
    let client = RegisteredClient { id: "ctx".to_owned(), secret: "hush".to_owned(), redirect };
    IdentityProvider::start(0, client).expect("a provider")
}

pub fn settings(provider: &IdentityProvider, change: impl FnOnce(&mut OidcRules)) -> OidcSettings {
    let mut rules = OidcRules::new(provider.issuer().parse().expect("an issuer"), "ctx");
    change(&mut rules);
    OidcSettings { label: "Example".to_owned(), secret: Some(Secret::new("hush")), ..OidcSettings::new(rules) }
}

async fn scene(change: impl FnOnce(&mut OidcRules)) -> (Team, IdentityProvider) {
    let provider = provider();
    let team = Team::signing_in_at(settings(&provider, change), Default::default()).await;
    (team, provider)
}

/// A GET of a browser that comes from the provider's page, and the whole answer.
async fn get(team: &Team, host: &str, path: &str, lines: &str) -> String {
    let mut client = team.house.connect().await;
    let head = format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nSec-Fetch-Site: cross-site\r\n{lines}");
    client.send(format!("{head}Connection: close\r\n\r\n")).await;
    String::from_utf8_lossy(&client.rest().await).into_owned()
}

fn status(answer: &str) -> u16 {
    answer.split(' ').nth(1).and_then(|status| status.parse().ok()).expect(answer)
}

fn line<'a>(answer: &'a str, name: &str) -> Option<&'a str> {
    answer.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
}

/// The way to the provider: its cookie, and the address there.
async fn begin(team: &Team) -> (String, String) {
    let answer = get(team, HOST, START, "").await;
    assert_eq!(status(&answer), 303, "{answer}");
    let cookie = line(&answer, "set-cookie").expect("a cookie");
    assert!(cookie.contains("; HttpOnly; SameSite=Lax") && cookie.contains("; Path=/ui/sign-in/oidc;"), "{cookie}");
    let cookie = cookie.split(';').next().expect("a cookie").to_owned();
    (cookie, line(&answer, "location").expect("an address").to_owned())
}

/// Lets the provider answer; returns the path by which it sends the browser back.
async fn at_provider(provider: &IdentityProvider, address: &str) -> String {
    let target = address.strip_prefix(&provider.issuer()).expect("the provider's address");
    let mut client = Peer::connect(([127, 0, 0, 1], provider.port()).into()).await;
    client.send(format!("GET {target} HTTP/1.1\r\nHost: idp\r\nConnection: close\r\n\r\n")).await;
    let answer = String::from_utf8_lossy(&client.rest().await).into_owned();
    let back = line(&answer, "location").unwrap_or_else(|| panic!("{answer}"));
    back.strip_prefix(&format!("http://{HOST}")).expect("our own address").to_owned()
}

/// A whole sign-in as the person with these claims: the daemon's last answer.
async fn sign_in(team: &Team, provider: &IdentityProvider, claims: &Value) -> String {
    provider.sign_in_as(claims);
    let (cookie, address) = begin(team).await;
    let back = at_provider(provider, &address).await;
    get(team, HOST, &back, &format!("Cookie: {cookie}\r\n")).await
}

/// The header lines of a browser that is signed in by this answer.
fn session(answer: &str) -> String {
    assert_eq!(status(answer), 200, "{answer}");
    let lead = "<meta http-equiv=\"refresh\" content=\"0; url=/ui/?key=";
    let page_key = body_of(answer).split_once(lead).and_then(|(_, rest)| rest.split('"').next()).expect("a page key");
    let cookies: Vec<&str> = answer.lines().filter_map(|line| line.strip_prefix("set-cookie: ctx_session")).collect();
    assert!(cookies.len() == 2 && cookies.iter().all(|line| line.contains("SameSite=Strict")), "{answer}");
    let cookie = cookies[0].split(';').next().expect("a cookie");
    format!("Cookie: ctx_session{cookie}\r\nx-ctx-page-key: {page_key}\r\n")
}

/// Checks that no person is signed in, and returns the page.
fn refused(answer: &str, expected: u16) -> String {
    assert_eq!(status(answer), expected, "{answer}");
    assert!(!answer.contains("set-cookie: ctx_session"), "{answer}");
    assert!(answer.contains("You are not signed in") && answer.contains("content-security-policy"), "{answer}");
    body_of(answer).to_owned()
}

async fn api(team: &Team, method: &str, path: &str, lines: &str) -> (u16, Value) {
    api_with(team, (method, path), lines, "").await
}

async fn api_with(team: &Team, (method, path): (&str, &str), lines: &str, body: &str) -> (u16, Value) {
    let mut client = team.house.connect().await;
    let head = format!("{method} {path} HTTP/1.1\r\nHost: {HOST}\r\nSec-Fetch-Site: same-origin\r\n{lines}");
    let (kind, length) = ("Content-Type: application/json", body.len());
    client.send(format!("{head}{kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}")).await;
    let answer = String::from_utf8_lossy(&client.rest().await).into_owned();
    (status(&answer), serde_json::from_str(body_of(&answer)).expect(&answer))
}

fn anna() -> Value {
    json!({"sub": "a-1", "preferred_username": "anna", "groups": ["staff"]})
}

#[tokio::test]
async fn a_person_signs_in_at_the_identity_provider_and_out_again() {
    let (team, provider) = scene(|_| {}).await;
    let (_, ways) = api(&team, "GET", "/ui/sign-in/ways", "").await;
    assert_eq!(ways, json!({"provider": "Example"}));
    let browser = session(&sign_in(&team, &provider, &anna()).await);
    let (_, me) = api(&team, "GET", "/control/v1/me", &browser).await;
    assert_eq!((&me["name"], &me["role"]), (&json!("anna"), &json!("member")));
    let events = || async {
        let audit = team.get("adam", "audit").await;
        let entries = audit["entries"].as_array().expect("entries").clone();
        entries.iter().map(|one| format!("{} {}", one["event"], one["what"]).replace('"', "")).collect::<Vec<_>>()
    };
    for _ in 0..100 {
        if events().await.contains(&"signed-in anna with the identity provider".to_owned()) {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    let events = events().await;
    assert!(events.contains(&"signed-in anna with the identity provider".to_owned()), "{events:?}");
    assert!(events.contains(&"person-linked anna with the account a-1".to_owned()), "{events:?}");
    let half = browser.split("\r\n").next().expect("a cookie").to_owned() + "\r\n";
    assert_eq!(api(&team, "GET", "/control/v1/me", &half).await.0, 401, "half a session opens nothing");
    assert_eq!(api(&team, "POST", "/ui/sign-out", &browser).await.0, 200);
    assert_eq!(api(&team, "GET", "/control/v1/me", &browser).await.0, 401);
    assert!(!team.stored().contains("hush"), "the secret is stored nowhere");
}

#[tokio::test]
async fn a_sign_in_ends_in_the_browser_in_which_it_began_and_only_once() {
    let (team, provider) = scene(|_| {}).await;
    provider.sign_in_as(&anna());
    let (cookie, address) = begin(&team).await;
    let back = at_provider(&provider, &address).await;
    let (other, _) = begin(&team).await;
    for lines in [String::new(), format!("Cookie: {other}\r\n"), "Cookie: ctx_sign_in=1-2.3\r\n".to_owned()] {
        refused(&get(&team, HOST, &back, &lines).await, 400);
    }
    let own = format!("Cookie: {cookie}\r\n");
    for changed in [back.replace("state=", "state=0"), back.replace("state=", "s="), format!("{back}&state=1")] {
        refused(&get(&team, HOST, &changed, &own).await, 400);
    }
    assert_eq!(provider.asked("/token"), 0, "no code was exchanged");
    let answer = get(&team, HOST, &back, &own).await;
    session(&answer);
    let cleared =
        answer.lines().any(|line| line.starts_with("set-cookie: ctx_sign_in=; ") && line.contains("Max-Age=0"));
    assert!(cleared, "{answer}");
    refused(&get(&team, HOST, &back, &own).await, 403);
    assert_eq!(status(&get(&team, "evil.example", &back, &own).await), 403);
}

#[tokio::test]
async fn the_browser_begins_under_the_name_to_which_it_comes_back() {
    let (team, _provider) = scene(|_| {}).await;
    let answer = get(&team, &team.house.address.to_string(), START, "").await;
    assert_eq!((status(&answer), line(&answer, "location")), (303, Some("http://ctx.test/ui/sign-in/oidc")));
    assert_eq!(status(&get(&team, "evil.example", START, "").await), 403);
}

#[tokio::test]
async fn a_token_that_is_not_for_this_sign_in_signs_nobody_in() {
    let (team, provider) = scene(|_| {}).await;
    for change in [
        json!({"aud": "other"}),
        json!({"aud": ["ctx", "other"]}),
        json!({"azp": "other"}),
        json!({"iss": "https://evil.example"}),
        json!({"nonce": "0123456789"}),
        json!({"nonce": null}),
        json!({"exp": 1000}),
        json!({"exp": null}),
        json!({"iat": 4_000_000_000u64}),
        json!({"sub": ""}),
    ] {
        provider.change_tokens(&change);
        refused(&sign_in(&team, &provider, &anna()).await, 403);
    }
    provider.change_tokens(&json!({}));
    let forged = "eyJhbGciOiJub25lIn0.eyJzdWIiOiJhLTEifQ.";
    for (status, body, expected) in [
        (200, json!({ "id_token": forged }).to_string(), 403),
        (200, "no JSON".to_owned(), 403),
        (200, "a".repeat(300_000), 503),
        (400, json!({"error": "<script>"}).to_string(), 403),
        (302, String::new(), 403),
        (500, String::new(), 503),
    ] {
        provider.replace("/token", status, &body);
        let page = refused(&sign_in(&team, &provider, &anna()).await, expected);
        assert!(!page.contains("<script"), "{page}");
    }
    assert_eq!(provider.asked("/real/token"), 0, "a redirect is not followed");
    provider.restore("/token");
    session(&sign_in(&team, &provider, &anna()).await);
}

#[tokio::test]
async fn what_the_provider_says_about_an_error_is_not_shown() {
    let (team, provider) = scene(|_| {}).await;
    let page = refused(&sign_in(&team, &provider, &Value::Null).await, 403);
    assert!(page.contains("did not sign you in") && !page.contains("alert"), "{page}");
}

#[tokio::test]
async fn a_provider_that_cannot_be_used_is_named_as_the_reason() {
    for (path, status, body) in [
        ("/.well-known/openid-configuration", 500, "{}"),
        ("/.well-known/openid-configuration", 302, "{}"),
        ("/.well-known/openid-configuration", 200, "{}"),
        ("/.well-known/openid-configuration", 200, r#"{"issuer": "https://evil.example"}"#),
        ("/keys", 404, "{}"),
        ("/keys", 200, r#"{"keys": [{"kty": "oct", "k": "aGk"}]}"#),
    ] {
        let (team, provider) = scene(|_| {}).await;
        provider.replace(path, status, body);
        let page = refused(&get(&team, HOST, START, "").await, 503);
        assert!(page.contains("The identity provider cannot be reached"), "{page}");
        // The next one does not wait for the provider again.
        refused(&get(&team, HOST, START, "").await, 503);
        assert_eq!((provider.asked(path), provider.asked(&format!("/real{path}"))), (1, 0), "{path}");
    }
}

#[tokio::test]
async fn people_are_admitted_as_the_rules_say() {
    let (team, provider) = scene(|_| {}).await;
    let stranger = json!({"sub": "z-9", "preferred_username": "zoe"});
    let page = refused(&sign_in(&team, &provider, &stranger).await, 403);
    assert!(page.contains("No person of this team is called zoe") && page.contains("ctx people add NAME"), "{page}");
    let browser = session(&sign_in(&team, &provider, &anna()).await);
    let other = json!({"sub": "a-2", "preferred_username": "anna"});
    assert!(refused(&sign_in(&team, &provider, &other).await, 403).contains("another account"));
    team.house.post("people/anna", &json!({"unlink": true})).await;
    assert_eq!(api(&team, "GET", "/control/v1/me", &browser).await.0, 401, "the session ends with its account");
    let browser = session(&sign_in(&team, &provider, &other).await);
    assert_eq!(api(&team, "GET", "/control/v1/me", &browser).await.0, 200);
    team.house.post("people/anna/remove", &json!({})).await;
    assert_eq!(api(&team, "GET", "/control/v1/me", &browser).await.0, 401, "the session ends with its person");
    assert!(refused(&sign_in(&team, &provider, &other).await, 403).contains("was removed"));
}

#[tokio::test]
async fn unlinking_an_account_ends_what_came_through_it_and_names_what_stays() {
    let (team, provider) = scene(|_| {}).await;
    let browser = session(&sign_in(&team, &provider, &anna()).await);
    let (status, made) = api_with(&team, ("POST", "/control/v1/keys"), &browser, r#"{"label": "mine"}"#).await;
    assert_eq!(status, 200, "{made}");
    let bearer = |key: &Value| format!("Authorization: Bearer {}\r\n", key.as_str().expect("a key"));
    // A key that the first one makes ends with it.
    let by_key = bearer(&made["key"]);
    let (_, second) = api_with(&team, ("POST", "/control/v1/keys"), &by_key, r#"{"label": "second"}"#).await;
    let status_with = |lines: String| {
        let team = &team;
        async move { team.call(&lines, "GET", "status", "").await.0 }
    };
    assert_eq!(status_with(by_key.clone()).await, 200);
    let answer = team.post("adam", "people/anna", &json!({"unlink": true})).await;
    let kept = team.get("anna", "keys").await["keys"][0]["id"].as_str().expect("an id").to_owned();
    let warning = answer["warnings"][0].as_str().expect("a warning");
    assert!(warning.contains(&format!("not made through the account: {kept}.")), "{warning}");
    for lines in [by_key, bearer(&second["key"])] {
        assert_eq!(status_with(lines).await, 401);
    }
    assert_eq!(api(&team, "GET", "/control/v1/me", &browser).await.0, 401);
    assert!(refused(&sign_in(&team, &provider, &anna()).await, 403).contains("unlinked this account"));
    team.post("adam", "people/anna", &json!({"link": "a-1"})).await;
    session(&sign_in(&team, &provider, &anna()).await);
}

#[tokio::test]
async fn an_account_with_the_name_of_an_admin_needs_another_admin() {
    let (team, provider) = scene(|_| {}).await;
    let adam = json!({"sub": "m-1", "preferred_username": "adam"});
    let page = refused(&sign_in(&team, &provider, &adam).await, 403);
    assert!(page.contains("has the role admin here") && page.contains("--link ACCOUNT"), "{page}");
    assert_eq!(team.ask("anna", "POST", "people/adam", &json!({"link": "adam"})).await.0, 403);
    // Without `name:` it is an id, and a name that someone chose is none.
    team.house.post("people/adam", &json!({"link": "adam"})).await;
    refused(&sign_in(&team, &provider, &adam).await, 403);
    team.house.post("people/adam", &json!({"link": "name:adam"})).await;
    let browser = session(&sign_in(&team, &provider, &adam).await);
    assert_eq!(api(&team, "GET", "/control/v1/me", &browser).await.1["role"], "admin");
    let notice = &team.get("adam", "notices").await["notices"][0];
    assert_eq!((&notice["by"], &notice["account"]), (&json!("operator"), &json!("name:adam")), "{notice}");
    let audit = team.get("adam", "audit").await.to_string();
    assert!(audit.contains("adam for adam") && audit.contains("account-allowed"), "{audit}");
}

#[tokio::test]
async fn groups_decide_who_comes_in_and_as_what() {
    let set = |name: &str| [name.to_owned()].into_iter().collect();
    let (team, provider) = scene(|rules| {
        rules.groups_claim = Some("groups".to_owned());
        rules.allowed_groups = set("staff");
        rules.admin_groups = set("root");
        rules.adds_people = true;
    })
    .await;
    let zoe = |groups: &[&str]| json!({"sub": "z-9", "preferred_username": "zoe", "groups": groups});
    let page = refused(&sign_in(&team, &provider, &zoe(&["root"])).await, 403);
    assert!(page.contains("None of your groups"), "{page}");
    let browser = session(&sign_in(&team, &provider, &zoe(&["staff", "root"])).await);
    let (_, me) = api(&team, "GET", "/control/v1/me", &browser).await;
    let scopes = ["proxy", "look", "edit", "admin"];
    assert_eq!(me, json!({"name": "zoe", "role": "admin", "groups": ["root", "staff"], "scopes": scopes}));
    session(&sign_in(&team, &provider, &zoe(&["staff"])).await);
    let (_, me) = api(&team, "GET", "/control/v1/me", &browser).await;
    assert_eq!(me, json!({"name": "zoe", "role": "member", "groups": ["staff"], "scopes": scopes}));
}
