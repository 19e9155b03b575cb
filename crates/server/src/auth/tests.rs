use super::*;
use http::Request;

fn auth() -> Auth {
    let token = Token::generate().expect("a token");
    Auth::new(token, OwnAddresses::new("127.0.0.1:8788".parse().expect("an address"), None))
}

fn parts(uri: &str, headers: &[(&str, &str)]) -> Parts {
    let mut builder = Request::builder().uri(uri);
    for (name, value) in headers {
        builder = builder.header(*name, *value);
    }
    builder.body(()).expect("a request").into_parts().0
}

const HOST: (&str, &str) = ("host", "127.0.0.1:8788");

/// The header lines of a signed-in browser: its cookie among others, and the page key.
fn session(auth: &Auth) -> (String, String) {
    let login = auth.log_in(&Holder::Operator).expect("a session");
    (format!("other=1; ctx_session_8788={}; more=2", login.cookie), login.page_key)
}

#[test]
fn the_control_door_opens_for_the_token_and_for_both_halves_of_a_session() {
    let auth = auth();
    let bearer = format!("Bearer {}", auth.token.expose());
    let (cookie, key) = session(&auth);
    for headers in [vec![("authorization", bearer.as_str())], vec![("cookie", &cookie), ("x-ctx-page-key", &key)]] {
        let headers = [vec![HOST], headers].concat();
        assert!(auth.admit_control(&parts("/control/v1/status", &headers)).is_ok());
    }
    let events = format!("/control/v1/events?streaming=true&key={key}");
    assert!(auth.admit_control(&parts(&events, &[HOST, ("cookie", &cookie)])).is_ok());
}

#[test]
fn half_a_session_opens_nothing() {
    let auth = auth();
    let (cookie, key) = session(&auth);
    let (_, other_key) = session(&auth);
    let (cookie, token) = (("cookie", cookie.as_str()), auth.token.expose());
    for (path, headers, refusal) in [
        ("/control/v1/status", vec![cookie], Refusal::TokenMissing),
        ("/control/v1/events", vec![cookie], Refusal::TokenMissing),
        ("/control/v1/status", vec![("x-ctx-page-key", key.as_str())], Refusal::TokenMissing),
        ("/control/v1/status", vec![cookie, ("x-ctx-page-key", &other_key)], Refusal::TokenWrong),
        ("/control/v1/status", vec![cookie, ("x-ctx-page-key", token)], Refusal::TokenWrong),
    ] {
        let headers = [vec![HOST], headers].concat();
        assert_eq!(auth.admit_control(&parts(path, &headers)), Err(refusal), "{path} {headers:?}");
    }
    let elsewhere = format!("/control/v1/status?key={key}");
    assert_eq!(auth.admit_control(&parts(&elsewhere, &[HOST, cookie])), Err(Refusal::TokenMissing));
}

#[test]
fn the_control_door_stays_shut_without_the_token() {
    let auth = auth();
    let old = format!("ctx_token={}", auth.token.expose());
    let key = ("x-ctx-page-key", "nope");
    for (headers, refusal) in [
        (vec![HOST], Refusal::TokenMissing),
        (vec![HOST, ("authorization", "Bearer nope")], Refusal::TokenWrong),
        (vec![HOST, ("authorization", "Basic bm9wZQ==")], Refusal::TokenMissing),
        (vec![HOST, ("authorization", "x")], Refusal::TokenMissing),
        (vec![HOST, ("cookie", "ctx_session_8788=nope"), key], Refusal::TokenWrong),
        (vec![HOST, ("cookie", "ctx_session_8788"), key], Refusal::TokenMissing),
        (vec![HOST, ("cookie", &old), key], Refusal::TokenMissing),
    ] {
        assert_eq!(auth.admit_control(&parts("/control/v1/status", &headers)), Err(refusal), "{headers:?}");
    }
}

#[test]
fn a_wrong_bearer_is_not_saved_by_a_right_session() {
    let auth = auth();
    let (cookie, key) = session(&auth);
    let headers = [HOST, ("authorization", "Bearer nope"), ("cookie", &cookie), ("x-ctx-page-key", &key)];
    assert_eq!(auth.admit_control(&parts("/control/v1/status", &headers)), Err(Refusal::TokenWrong));
}

#[test]
fn the_right_token_does_not_help_under_a_foreign_name_or_from_a_foreign_page() {
    let auth = auth();
    let bearer = format!("Bearer {}", auth.token.expose());
    let token = ("authorization", bearer.as_str());
    for (headers, refusal) in [
        (vec![token], Refusal::ForeignHost),
        (vec![("host", "evil.example:8788"), token], Refusal::ForeignHost),
        (vec![HOST, ("host", "evil.example:8788"), token], Refusal::ForeignHost),
        (vec![HOST, ("origin", "http://evil.example"), token], Refusal::ForeignOrigin),
        (vec![HOST, ("origin", "https://127.0.0.1:8788"), token], Refusal::ForeignOrigin),
        (vec![HOST, ("origin", "null"), token], Refusal::ForeignOrigin),
        (vec![HOST, ("origin", "http://localhost:3000"), token], Refusal::ForeignOrigin),
        (vec![HOST, ("sec-fetch-site", "cross-site"), token], Refusal::ForeignOrigin),
        (vec![HOST, ("sec-fetch-site", "same-site"), token], Refusal::ForeignOrigin),
    ] {
        assert_eq!(auth.admit_control(&parts("/control/v1/status", &headers)), Err(refusal), "{headers:?}");
    }
    let own = [HOST, ("origin", "http://127.0.0.1:8788"), ("sec-fetch-site", "same-origin"), token];
    assert_eq!(auth.admit_control(&parts("/control/v1/status", &own)), Ok(Caller::Token));
    let absolute = parts("http://evil.example:8788/control/v1/status", &[HOST, token]);
    assert_eq!(auth.admit_control(&absolute), Err(Refusal::ForeignHost));
}

#[test]
fn the_page_door_opens_for_the_link_from_anywhere_and_for_the_cookie_at_home() {
    let auth = auth();
    let link = format!("/ui/?token={}", auth.token.expose());
    let (cookie, _) = session(&auth);
    let cookie = ("cookie", cookie.as_str());
    let elsewhere = ("sec-fetch-site", "cross-site");
    assert_eq!(auth.admit_page(&parts(&link, &[HOST, elsewhere])), Ok(PagePass::Link));
    assert_eq!(auth.admit_page(&parts("/ui/", &[HOST, cookie])), Ok(PagePass::Known));
    assert_eq!(auth.admit_page(&parts("/ui/", &[HOST, cookie, elsewhere])), Err(Refusal::TokenMissing));
    assert_eq!(auth.admit_page(&parts("/ui/?token=nope", &[HOST, cookie])), Err(Refusal::TokenWrong));
    assert_eq!(auth.admit_page(&parts(&link, &[("host", "evil.example")])), Err(Refusal::ForeignHost));
    assert_eq!(auth.admit_page(&parts("/ui/", &[HOST])), Err(Refusal::TokenMissing));
}

#[test]
fn proxied_paths_need_no_token_but_refuse_foreign_pages() {
    let auth = auth();
    let admit = |headers: &[(&str, &str)]| auth.admit_proxied(&parts("/v1/messages", headers));
    assert_eq!(admit(&[]), Ok(()));
    assert_eq!(admit(&[("host", "some-alias:1234")]), Ok(()));
    let mode = ("sec-fetch-mode", "cors");
    assert_eq!(admit(&[("host", "some-alias:1234"), mode]), Ok(()), "programs built on fetch send this");
    assert_eq!(admit(&[HOST, ("sec-fetch-site", "none")]), Ok(()));
    assert_eq!(admit(&[("origin", "https://evil.example")]), Err(Refusal::ForeignOrigin));
    assert_eq!(admit(&[("sec-fetch-site", "cross-site")]), Err(Refusal::ForeignOrigin));
}

#[test]
fn a_browser_that_was_led_here_under_another_name_is_refused() {
    let auth = auth();
    let admit = |headers: &[(&str, &str)]| auth.admit_proxied(&parts("/v1/messages", headers));
    let rebound = ("host", "evil.example:8788");
    for sign in [("sec-fetch-site", "same-origin"), ("sec-fetch-site", "none"), ("sec-fetch-dest", "empty")] {
        assert_eq!(admit(&[rebound, sign]), Err(Refusal::ForeignHost), "{sign:?}");
        assert_eq!(admit(&[sign]), Err(Refusal::ForeignHost), "{sign:?}");
        assert_eq!(admit(&[HOST, sign]), Ok(()), "{sign:?}");
    }
    // Browsers do not describe requests to an insecure origin.
    assert_eq!(admit(&[rebound]), Err(Refusal::ForeignHost));
    assert_eq!(admit(&[HOST, rebound]), Err(Refusal::ForeignHost));
    let absolute = parts("http://evil.example:8788/v1/models", &[HOST]);
    assert_eq!(auth.admit_proxied(&absolute), Err(Refusal::ForeignHost));
}

#[test]
fn what_the_provider_answers_is_never_shown_as_a_page_of_ours() {
    let auth = auth();
    let admit = |headers: &[(&str, &str)]| auth.admit_proxied(&parts("/docs/help", headers));
    for sign in [
        ("sec-fetch-dest", "document"),
        ("sec-fetch-dest", "iframe"),
        ("sec-fetch-dest", "script"),
        ("sec-fetch-mode", "navigate"),
        ("sec-fetch-user", "?1"),
        ("upgrade-insecure-requests", "1"),
    ] {
        assert_eq!(admit(&[HOST, sign]), Err(Refusal::Navigation), "{sign:?}");
    }
    let (page, browser) = (("accept", "text/html,*/*"), ("user-agent", "Mozilla/5.0 (Macintosh)"));
    assert_eq!(admit(&[HOST, page, browser]), Err(Refusal::Navigation));
    assert_eq!(admit(&[HOST, page]), Ok(()));
    assert_eq!(admit(&[HOST, browser, ("accept", "application/json")]), Ok(()));
}

#[test]
fn the_browser_keeps_its_session_away_from_scripts_other_sites_and_the_provider() {
    let auth = auth();
    let login = auth.log_in(&Holder::Operator).expect("a session");
    let cookies: Vec<HeaderValue> = auth.set_cookies(&parts("/ui/", &[HOST]), &login).collect();
    assert_eq!(cookies.len(), 4);
    for cookie in &cookies {
        let text = cookie.to_str().expect("text");
        assert!(text.contains("HttpOnly") && text.ends_with("SameSite=Strict"), "{text}");
        assert!(text.contains("Path=/ui;") || text.contains("Path=/control;"), "{text}");
        assert!(!text.contains(auth.token.expose()) && !text.contains(&login.page_key), "{text}");
        assert!(text.starts_with("ctx_session_8788=") || text.starts_with("ctx_token=; "), "{text}");
        assert_eq!(format!("{cookie:?}"), "Sensitive");
    }
}

#[test]
fn our_cookies_are_taken_out_of_what_goes_upstream() {
    let auth = auth();
    let value = HeaderValue::from_static("a=1; ctx_session_8788=hush; b=2; ctx_token=hush; ctx_session_8789=c");
    let rest = auth.without_own_cookie(&value).expect("something to remove").expect("something left");
    assert_eq!(rest, "a=1; b=2; ctx_session_8789=c");
    assert_eq!(auth.without_own_cookie(&HeaderValue::from_static("ctx_token=hush")), Some(None));
    assert_eq!(auth.without_own_cookie(&HeaderValue::from_static("a=1;b=2")), None);
}

#[test]
fn a_session_over_the_public_address_never_leaves_without_tls() {
    let token = Token::generate().expect("a token");
    let public = "https://ctx.example.com".parse().expect("an address");
    let auth = Auth::new(token, OwnAddresses::new("0.0.0.0:8788".parse().expect("an address"), Some(public)));
    let login = auth.log_in(&Holder::Key("3f9a81c2".into())).expect("a session");
    let lines = |host: &str| -> Vec<String> {
        let parts = parts("/ui/sign-in", &[("host", host)]);
        auth.set_cookies(&parts, &login).map(|value| value.to_str().expect("text").to_owned()).collect()
    };
    assert!(lines("ctx.example.com").iter().all(|line| line.ends_with("SameSite=Strict; Secure")));
    assert!(lines("ctx.example.com")[0].starts_with("ctx_session_443="));
    assert!(lines("127.0.0.1:8788").iter().all(|line| !line.contains("Secure")));
}

#[test]
fn only_our_own_page_signs_a_person_in() {
    let auth = auth();
    let admit = |headers: &[(&str, &str)]| auth.admit_sign_in(&parts("/ui/sign-in", headers));
    let (own, site) = (("origin", "http://127.0.0.1:8788"), ("sec-fetch-site", "same-origin"));
    assert_eq!(admit(&[HOST, own, site]), Ok(()));
    for (headers, refusal) in [
        (vec![HOST], Refusal::ForeignOrigin),
        (vec![HOST, ("origin", "null")], Refusal::ForeignOrigin),
        (vec![HOST, ("origin", "http://evil.example")], Refusal::ForeignOrigin),
        (vec![HOST, own, ("sec-fetch-site", "cross-site")], Refusal::ForeignOrigin),
        (vec![("host", "evil.example"), own], Refusal::ForeignHost),
    ] {
        assert_eq!(admit(&headers), Err(refusal), "{headers:?}");
    }
}

#[test]
fn a_link_does_not_sign_a_person_in_as_its_author() {
    let auth = auth();
    let (cookie, key) = {
        let login = auth.log_in(&Holder::Key("3f9a81c2".into())).expect("a session");
        (format!("{}={}", auth.sessions.cookie_name(), login.cookie), login.page_key)
    };
    let (own_cookie, own_key) = session(&auth);
    let trusts = |uri: &str, cookie: &str, site: &str| {
        let headers = [HOST, ("cookie", cookie), ("sec-fetch-site", site)];
        auth.is_trusted_key(&parts(uri, if site.is_empty() { &headers[..2] } else { &headers }))
    };
    // The author's session, of which another site has set the cookie.
    for site in ["cross-site", "same-site", "none"] {
        for uri in [format!("/ui/?key={key}"), format!("/ui/c/1?a&k%65y={key}"), "/ui/?key".to_owned()] {
            assert!(!trusts(&uri, &cookie, site), "{uri} {site}");
        }
        assert!(trusts("/ui/?a=1", &cookie, site), "{site}");
    }
    assert!(trusts(&format!("/ui/?key={key}"), &cookie, "same-origin"));
    assert!(trusts(&format!("/ui/?key={key}"), &cookie, ""), "a browser that does not say");
    // The operator's link.
    assert!(trusts(&format!("/ui/?key={own_key}"), &own_cookie, "none"));
    assert!(!trusts(&format!("/ui/?key={own_key}&key={key}"), &own_cookie, "none"));
}

#[test]
fn the_cookie_of_a_sign_in_over_tls_comes_from_the_host_itself() {
    let token = Token::generate().expect("a token");
    let public = "https://ctx.example.com".parse().expect("an address");
    let auth = Auth::new(token, OwnAddresses::new("0.0.0.0:8788".parse().expect("an address"), Some(public)));
    let at = |cookie: &'static str| parts("/ui/sign-in/oidc", &[("host", "ctx.example.com"), ("cookie", cookie)]);
    let line = auth.flow_cookie(&at("a=b"), "x", 60).expect("a cookie");
    assert_eq!(line, "__Host-ctx_sign_in=x; Path=/; Max-Age=60; HttpOnly; SameSite=Lax; Secure");
    assert_eq!(auth.flow_cookies(&at("ctx_sign_in=tossed; __Host-ctx_sign_in=own")).collect::<Vec<_>>(), ["own"]);
    let forwarded = HeaderValue::from_static("a=1; __Host-ctx_sign_in=own");
    assert_eq!(auth.without_own_cookie(&forwarded), Some(Some(HeaderValue::from_static("a=1"))));
}
