//! Tests of the checks on what a provider sends.

mod admission;
mod tokens;

use super::*;

const ISSUER: &str = "https://login.example.com";

fn issuer(text: &str) -> Issuer {
    text.parse().expect(text)
}

fn rules() -> OidcRules {
    OidcRules::new(issuer(ISSUER), "ctx")
}

fn document(change: impl Fn(&mut serde_json::Value)) -> Vec<u8> {
    let mut document = serde_json::json!({
        "issuer": ISSUER,
        "authorization_endpoint": "https://login.example.com/authorize?tenant=a",
        "token_endpoint": "https://oauth.example.com:8443/token",
        "jwks_uri": "https://keys.example.com/jwks.json",
    });
    change(&mut document);
    document.to_string().into_bytes()
}

fn discovery(change: impl Fn(&mut serde_json::Value)) -> Result<Discovery, &'static str> {
    Discovery::parse(&document(change), &issuer(ISSUER))
}

#[test]
fn an_issuer_is_https_and_on_this_machine_also_http() {
    for text in [ISSUER, "https://a.example/realms/b", "http://127.0.0.1:9000", "http://[::1]:1/x", "http://localhost"]
    {
        assert!(text.parse::<Issuer>().is_ok(), "{text}");
    }
    for text in [
        "http://login.example.com",
        "http://127.0.0.1.evil.example",
        "https://user@login.example.com",
        "https://login.example.com/?tenant=a",
        "https://login.example.com/#a",
        "login.example.com",
        "ftp://login.example.com",
        "https://login.example.com/a b",
        "",
    ] {
        assert_eq!(text.parse::<Issuer>(), Err(IssuerError), "{text}");
    }
    let place = |text: &str| issuer(text).document().expect("an address").to_string();
    assert_eq!(place("https://a.example/b/"), "https://a.example/b/.well-known/openid-configuration");
    assert_eq!(issuer("https://a.example:8443/b").host(), "a.example");
}

#[test]
fn a_provider_speaks_for_itself_only_and_over_https() {
    let found = discovery(|_| {}).expect("a description");
    assert_eq!(found.token.origin, "https://oauth.example.com:8443");
    assert_eq!(found.authorization.path, "/authorize?tenant=a");
    for (name, value) in [
        ("issuer", serde_json::json!("https://login.example.com/")),
        ("issuer", serde_json::json!("https://evil.example")),
        ("authorization_endpoint", serde_json::json!("http://login.example.com/authorize")),
        ("token_endpoint", serde_json::json!("http://127.0.0.1/token")),
        ("jwks_uri", serde_json::json!("https://user:hush@keys.example.com/")),
        ("jwks_uri", serde_json::json!("file:///etc/passwd")),
        ("jwks_uri", serde_json::json!(null)),
        ("response_types_supported", serde_json::json!(["token"])),
        ("code_challenge_methods_supported", serde_json::json!(["plain"])),
    ] {
        assert!(discovery(|document| document[name] = value.clone()).is_err(), "{name}: {value}");
    }
    assert!(Discovery::parse(b"<html>", &issuer(ISSUER)).is_err());
}

#[test]
fn a_sign_in_is_tied_to_its_browser_and_ends_after_ten_minutes() {
    let key = [7; 32];
    let flow = Flow::begin(&key, 1000).expect("random");
    let cookie = flow.cookie();
    let resumed = Flow::resume(&key, &cookie, 1000 + FLOW_LIFETIME).expect("the same");
    assert!(resumed.is_state(&flow.state()) && resumed.nonce() == flow.nonce());
    assert!(!resumed.is_state("") && !resumed.is_state(&flow.nonce()));
    assert!(Flow::resume(&key, &cookie, 1001 + FLOW_LIFETIME).is_none(), "too late");
    assert!(Flow::resume(&key, &cookie, 939).is_none(), "from the future");
    assert!(Flow::resume(&[8; 32], &cookie, 1000).is_none(), "of another daemon");
    assert!(Flow::resume(&key, &format!("f{cookie}"), 1000).is_none(), "changed");
    let other = Flow::begin(&key, 1000).expect("random");
    assert!(other.state() != flow.state() && !flow.is_state(&other.state()));
    for secret in [flow.state(), flow.nonce()] {
        assert!(!cookie.contains(&secret), "the cookie reveals nothing");
    }
}

#[test]
fn the_browser_is_sent_with_pkce_and_the_code_is_exchanged_with_the_secret() {
    let flow = Flow::begin(&[7; 32], 1000).expect("random");
    let client = Client {
        id: "ctx&co",
        secret: Some("s:e%"),
        redirect: "https://ctx.example.com/ui/sign-in/oidc/return",
        scopes: "openid email",
    };
    let plain = discovery(|_| {}).expect("a description");
    let address = client.authorization(&plain, &flow);
    assert!(address.starts_with("https://login.example.com/authorize?tenant=a&response_type=code&client_id=ctx%26co&"));
    assert!(address.contains("&code_challenge_method=S256") && address.contains("scope=openid%20email"), "{address}");
    let request = client.exchange(&plain, &flow, "a/b");
    let verifier = request.body.split("code_verifier=").nth(1).expect("a verifier");
    assert!(verifier.len() == 64 && !address.contains(verifier), "the verifier stays here");
    // base64 of `ctx%26co:s%3Ae%25`
    assert_eq!(request.authorization.as_deref(), Some("Basic Y3R4JTI2Y286cyUzQWUlMjU="));
    assert!(request.body.contains("code=a%2Fb&") && !request.body.contains("client_secret"), "{}", request.body);
    let posts = discovery(|document| {
        document["token_endpoint_auth_methods_supported"] = serde_json::json!(["client_secret_post"]);
    });
    let request = client.exchange(&posts.expect("a description"), &flow, "c");
    assert!(request.authorization.is_none() && request.body.contains("client_secret=s%3Ae%25"), "{}", request.body);
    let public = Client { secret: None, ..client }.exchange(&plain, &flow, "c");
    assert!(public.authorization.is_none() && public.body.ends_with("client_id=ctx%26co"), "{}", public.body);
}

#[test]
fn the_way_back_has_each_parameter_once_and_names_the_right_issuer() {
    let back = ReturnedCode::parse("code=a%2Fb%2Bc+d&state=s&session_state=x").expect("a way back");
    assert_eq!((back.code.as_deref(), back.state.as_str()), (Some("a/b+c d"), "s"));
    assert_eq!(ReturnedCode::parse("error=access_denied&code=c&state=s").expect("a refusal").code, None);
    for query in ["", "code=c", "code=c&state=s&state=t", "code=c&code=d&state=s", "state=%zz", &"a".repeat(10_000)] {
        assert_eq!(ReturnedCode::parse(query), None, "{query:.40}");
    }
    let quiet = discovery(|_| {}).expect("a description");
    let naming = discovery(|document| {
        document["authorization_response_iss_parameter_supported"] = serde_json::json!(true);
    })
    .expect("a description");
    let is_from =
        |query: &str, of: &Discovery| ReturnedCode::parse(query).expect("a way back").is_from(&issuer(ISSUER), of);
    assert!(is_from("state=s&code=c", &quiet) && !is_from("state=s&code=c", &naming));
    for of in [&quiet, &naming] {
        assert!(is_from("state=s&code=c&iss=https%3A%2F%2Flogin.example.com", of));
        assert!(!is_from("state=s&code=c&iss=https%3A%2F%2Fevil.example", of));
    }
}
