use super::*;
use http::Request;

fn doors() -> Doors {
    let token = Token::generate().expect("a token");
    Doors::new(token, OwnAddresses::new("127.0.0.1:8788".parse().expect("an address")))
}

fn parts(uri: &str, headers: &[(&str, &str)]) -> Parts {
    let mut builder = Request::builder().uri(uri);
    for (name, value) in headers {
        builder = builder.header(*name, *value);
    }
    builder.body(()).expect("a request").into_parts().0
}

const HOST: (&str, &str) = ("host", "127.0.0.1:8788");

#[test]
fn the_control_door_opens_for_the_token_as_bearer_or_cookie() {
    let doors = doors();
    let bearer = format!("Bearer {}", doors.token.expose());
    let cookie = format!("other=1; ctx_token={}; more=2", doors.token.expose());
    for header in [("authorization", bearer.as_str()), ("cookie", cookie.as_str())] {
        assert_eq!(doors.admit_control(&parts("/control/v1/status", &[HOST, header])), Ok(()));
    }
}

#[test]
fn the_control_door_stays_shut_without_the_token() {
    let doors = doors();
    for (headers, refusal) in [
        (vec![HOST], Refusal::TokenMissing),
        (vec![HOST, ("authorization", "Bearer nope")], Refusal::TokenWrong),
        (vec![HOST, ("authorization", "Basic bm9wZQ==")], Refusal::TokenMissing),
        (vec![HOST, ("authorization", "x")], Refusal::TokenMissing),
        (vec![HOST, ("cookie", "ctx_token=nope")], Refusal::TokenWrong),
        (vec![HOST, ("cookie", "ctx_token")], Refusal::TokenMissing),
    ] {
        assert_eq!(doors.admit_control(&parts("/control/v1/status", &headers)), Err(refusal), "{headers:?}");
    }
}

#[test]
fn a_wrong_bearer_is_not_saved_by_a_right_cookie() {
    let doors = doors();
    let cookie = format!("ctx_token={}", doors.token.expose());
    let head = parts("/control/v1/status", &[HOST, ("authorization", "Bearer nope"), ("cookie", &cookie)]);
    assert_eq!(doors.admit_control(&head), Err(Refusal::TokenWrong));
}

#[test]
fn the_right_token_does_not_help_under_a_foreign_name_or_from_a_foreign_page() {
    let doors = doors();
    let bearer = format!("Bearer {}", doors.token.expose());
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
        assert_eq!(doors.admit_control(&parts("/control/v1/status", &headers)), Err(refusal), "{headers:?}");
    }
    let own = [HOST, ("origin", "http://127.0.0.1:8788"), ("sec-fetch-site", "same-origin"), token];
    assert_eq!(doors.admit_control(&parts("/control/v1/status", &own)), Ok(()));
    let absolute = parts("http://evil.example:8788/control/v1/status", &[HOST, token]);
    assert_eq!(doors.admit_control(&absolute), Err(Refusal::ForeignHost));
}

#[test]
fn the_page_door_opens_for_the_link_from_anywhere_and_for_the_cookie_at_home() {
    let doors = doors();
    let link = format!("/ui/?token={}", doors.token.expose());
    let cookie = format!("ctx_token={}", doors.token.expose());
    let cookie = ("cookie", cookie.as_str());
    let elsewhere = ("sec-fetch-site", "cross-site");
    assert_eq!(doors.admit_page(&parts(&link, &[HOST, elsewhere])), Ok(PagePass::Link));
    assert_eq!(doors.admit_page(&parts("/ui/", &[HOST, cookie])), Ok(PagePass::Known));
    assert_eq!(doors.admit_page(&parts("/ui/", &[HOST, cookie, elsewhere])), Err(Refusal::TokenMissing));
    assert_eq!(doors.admit_page(&parts("/ui/?token=nope", &[HOST, cookie])), Err(Refusal::TokenWrong));
    assert_eq!(doors.admit_page(&parts(&link, &[("host", "evil.example")])), Err(Refusal::ForeignHost));
    assert_eq!(doors.admit_page(&parts("/ui/", &[HOST])), Err(Refusal::TokenMissing));
}

#[test]
fn proxied_paths_need_no_token_but_refuse_foreign_pages() {
    let doors = doors();
    let admit = |headers: &[(&str, &str)]| doors.admit_proxied(&parts("/v1/messages", headers));
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
    let doors = doors();
    let admit = |headers: &[(&str, &str)]| doors.admit_proxied(&parts("/v1/messages", headers));
    let rebound = ("host", "evil.example:8788");
    for sign in [("sec-fetch-site", "same-origin"), ("sec-fetch-site", "none"), ("sec-fetch-dest", "empty")] {
        assert_eq!(admit(&[rebound, sign]), Err(Refusal::ForeignHost), "{sign:?}");
        assert_eq!(admit(&[sign]), Err(Refusal::ForeignHost), "{sign:?}");
        assert_eq!(admit(&[HOST, sign]), Ok(()), "{sign:?}");
    }
}

#[test]
fn the_browser_keeps_the_token_away_from_scripts_other_sites_and_the_provider() {
    let doors = doors();
    let cookies: Vec<HeaderValue> = doors.cookies().collect();
    assert_eq!(cookies.len(), 2);
    for cookie in &cookies {
        let text = cookie.to_str().expect("text");
        assert!(text.contains("HttpOnly") && text.contains("SameSite=Strict"), "{text}");
        assert!(text.contains("Path=/ui;") || text.contains("Path=/control;"), "{text}");
        assert_eq!(format!("{cookie:?}"), "Sensitive");
    }
}

#[test]
fn our_cookie_is_taken_out_of_what_goes_upstream() {
    let value = HeaderValue::from_static("a=1; ctx_token=hush; b=2");
    let rest = without_own_cookie(&value).expect("something to remove").expect("something left");
    assert_eq!(rest, "a=1; b=2");
    assert_eq!(without_own_cookie(&HeaderValue::from_static("ctx_token=hush")), Some(None));
    assert_eq!(without_own_cookie(&HeaderValue::from_static("a=1;b=2")), None);
}
