//! The chosen gateway, and the key that goes to it.

use super::*;

const KEY: &str = "ctxk_0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
const OTHER: &str = "ctxk_fedcba9876543210fedcba9876543210fedcba9876543210fedcba9876543210";

fn url(text: &str) -> GatewayUrl {
    text.parse().expect(text)
}

fn login(key: &str) -> Login {
    Login { key: key.to_owned(), made: None, person: "anna".to_owned(), expires_at: None, authority: None }
}

/// A home with logins for these gateways; the last one is the current one.
fn signed_in(urls: &[&str]) -> (tempfile::TempDir, Home) {
    let folder = tempfile::tempdir().expect("a folder");
    let home = Home::find(Some(folder.path()), &Environment::of(&[])).expect("a home");
    for text in urls {
        Logins::load(&home).expect("read").add(&url(text), login(KEY), &home).expect("written");
    }
    (folder, home)
}

fn chosen(home: &Home, named: Option<&str>, values: &[(&str, &str)]) -> Result<Option<(String, String)>, Failure> {
    let found = Gateway::chosen(named.map(url).as_ref(), home, &Environment::of(values))?;
    Ok(found.map(|gateway| (gateway.url.to_string(), gateway.key().expose().to_owned())))
}

#[test]
fn the_last_login_is_used_until_another_gateway_or_a_local_daemon_is_named() {
    let (_folder, home) = signed_in(&["https://one.example", "https://two.example"]);
    let used = |named, values: &[(&str, &str)]| chosen(&home, named, values).expect("chosen").map(|(url, _)| url);
    assert_eq!(used(None, &[]).as_deref(), Some("https://two.example"));
    assert_eq!(used(Some("https://one.example"), &[]).as_deref(), Some("https://one.example"));
    assert_eq!(used(None, &[("CTX_GATEWAY", "https://ONE.example/")]).as_deref(), Some("https://one.example"));
    assert_eq!(used(None, &[("CTX_LISTEN", "127.0.0.1:8788")]), None);
    Logins::load(&home).expect("read").remove(&url("https://two.example"), &home).expect("written");
    assert_eq!(used(None, &[]), None, "the other login is not chosen by itself");
}

#[test]
fn a_key_goes_only_to_the_gateway_that_it_was_made_for() {
    let (_folder, home) = signed_in(&["https://one.example"]);
    let key = |named, values: &[(&str, &str)]| chosen(&home, named, values).map(|found| found.map(|(_, key)| key));
    let of_one = Some(KEY.to_owned());
    assert_eq!(key(None, &[("CTX_KEY", OTHER)]), Ok(of_one.clone()), "CTX_KEY is for the daemon on this machine");
    let environment = [("CTX_KEY", OTHER), ("CTX_GATEWAY", "https://two.example")];
    assert_eq!(key(None, &environment), Ok(Some(OTHER.to_owned())));
    assert_eq!(key(Some("https://one.example"), &environment), Ok(of_one));
    for (named, values) in [(Some("https://two.example"), &[][..]), (Some("https://three.example"), &environment)] {
        let refused = key(named, values).expect_err("no key for it");
        assert_eq!(refused.code, ErrorCode::NotSignedIn);
        assert!(refused.hint.expect("a hint").contains(named.expect("a name")));
    }
    let short = key(None, &[("CTX_KEY", "ctxk_1"), ("CTX_GATEWAY", "https://two.example")]).expect_err("no key");
    assert!(!short.message.contains("ctxk_1"), "{short:?}");
}

#[cfg(unix)]
#[test]
fn the_file_with_the_keys_is_private_and_is_closed_again() {
    use std::os::unix::fs::PermissionsExt;
    let (_folder, home) = signed_in(&["https://one.example"]);
    let file = Logins::file(&home);
    let mode = || std::fs::metadata(&file).expect("a file").permissions().mode() & 0o777;
    assert_eq!(mode(), 0o600);
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).expect("opened");
    Logins::load(&home).expect("read");
    assert_eq!(mode(), 0o600);
    std::fs::write(&file, "{").expect("written");
    assert!(Logins::load(&home).err().expect("refused").hint.expect("a hint").contains("ctx login"));
}
