//! Who decides what, and what is refused.

use std::fs;

use super::*;

struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        fs::create_dir_all(folder.path().join("home")).expect("a home");
        fs::create_dir_all(folder.path().join("project/src")).expect("a project");
        Self { folder }
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.folder.path().join(name);
        fs::write(&path, text).expect("written");
        path
    }

    fn load(&self, flags: &Flags, environment: &[(&str, &str)], from: &str) -> Result<Settings, Failure> {
        let home = Home::find(Some(&self.folder.path().join("home")), &Environment::of(&[])).expect("a home");
        Settings::load(flags, &Environment::of(environment), &home, &self.folder.path().join(from))
    }

    fn upstream(&self, flags: &Flags, environment: &[(&str, &str)]) -> String {
        self.load(flags, environment, "project").expect("settings").upstream.url.to_string()
    }
}

#[test]
fn flags_win_over_the_environment_over_the_project_over_the_home_over_the_default() {
    let place = Place::new();
    let (none, flag) = (Flags::default(), "http://localhost:5".parse().ok());
    assert_eq!(place.upstream(&none, &[]), "https://api.anthropic.com");
    place.write("home/ctx.toml", "[upstream]\nurl = \"https://home.example\"\n[listen]\naddress = \"127.0.0.1:2\"");
    assert_eq!(place.upstream(&none, &[]), "https://home.example");
    place.write("project/ctx.toml", "[upstream]\nurl = \"http://localhost:3\"");
    assert_eq!(place.upstream(&none, &[]), "http://localhost:3");
    let environment = [("CTX_UPSTREAM", "http://localhost:4")];
    assert_eq!(place.upstream(&none, &environment), "http://localhost:4");
    assert_eq!(place.upstream(&Flags { upstream: flag, ..none.clone() }, &environment), "http://localhost:5");

    let settings = place.load(&none, &[], "project").expect("settings");
    assert_eq!(settings.listen.port(), 2, "each key is decided for itself");
    assert_eq!(settings.files.len(), 2);
    assert_eq!(place.load(&none, &[("CTX_LISTEN", "8")], "project").expect("settings").listen.port(), 8);
}

#[test]
fn a_named_file_is_the_only_one_and_must_exist() {
    let place = Place::new();
    place.write("home/ctx.toml", "[upstream]\nurl = \"https://home.example\"");
    place.write("project/ctx.toml", "this is not even TOML");
    let named = place.write("other.toml", "[listen]\naddress = \"127.0.0.1:9\"");
    let flags = Flags { config: Some(named.clone()), ..Flags::default() };
    let settings = place.load(&flags, &[], "project").expect("settings");
    assert_eq!((settings.listen.port(), settings.upstream.url.to_string().as_str()), (9, DEFAULT_UPSTREAM));
    let by_variable = place.load(&Flags::default(), &[("CTX_CONFIG", &named.to_string_lossy())], "project");
    assert_eq!(by_variable.expect("settings").listen.port(), 9);
    let missing = Flags { config: Some("/nowhere/ctx.toml".into()), ..Flags::default() };
    assert!(place.load(&missing, &[], "project").expect_err("refused").message.contains("/nowhere/ctx.toml"));
}

#[test]
fn the_projects_file_is_found_from_below_but_not_beyond_the_repository() {
    let place = Place::new();
    let port = |from: &str| place.load(&Flags::default(), &[], from).expect("settings").listen.port();
    place.write("ctx.toml", "[listen]\naddress = \"127.0.0.1:1\"");
    place.write("project/.git", "");
    assert_eq!(port("project/src"), DEFAULT_LISTEN.port());
    place.write("project/ctx.toml", "[listen]\naddress = \"127.0.0.1:2\"");
    assert_eq!(port("project/src"), 2);
}

#[test]
fn a_projects_file_cannot_take_the_credentials_elsewhere_unless_it_is_named() {
    for text in [
        "[upstream]\nurl = \"https://elsewhere.example\"",
        "[upstream]\nproxy = \"http://elsewhere.example:3128\"",
        "[upstream]\nca_files = [\"ca.pem\"]",
        "[listen]\nallow_remote = true",
        "[offload]\nfolder = \"/elsewhere\"",
        "[helper]\nurl = \"https://elsewhere.example\"",
        "[helper]\nprovider = \"claude\"",
        "[helper]\nkey_env = \"AWS_SECRET\"",
        "[helper]\nmodel = \"dear\"",
        "[helper]\ntitles = true",
    ] {
        let place = Place::new();
        let path = place.write("project/ctx.toml", text);
        let refused = place.load(&Flags::default(), &[], "project").expect_err(text);
        assert_eq!(refused.code, "config-untrusted");
        assert!(refused.hint.unwrap_or_default().contains("--config"));
        let flags = Flags { config: Some(path.clone()), ..Flags::default() };
        assert!(place.load(&flags, &[], "project").is_ok(), "{text}");
        fs::remove_file(path).expect("removed");
        place.write("home/ctx.toml", text);
        assert!(place.load(&Flags::default(), &[], "project").is_ok(), "the home's file is the user's own: {text}");
    }
}

#[test]
fn the_environments_proxies_win_over_the_files() {
    let place = Place::new();
    place.write("home/ctx.toml", "[upstream]\nproxy = \"http://file:1\"\nno_proxy = \"a\"");
    let proxies = |environment: &[(&str, &str)]| {
        place.load(&Flags::default(), environment, "project").expect("settings").upstream.proxies
    };
    let shown = |secret: &Option<Secret>| secret.as_ref().map(|secret| secret.expose_secret().to_owned());
    assert_eq!(shown(&proxies(&[]).all).as_deref(), Some("http://file:1"));
    assert_eq!(proxies(&[]).no.as_deref(), Some("a"));
    let from_environment = proxies(&[("https_proxy", "http://env:2"), ("NO_PROXY", "b")]);
    assert_eq!(shown(&from_environment.https).as_deref(), Some("http://env:2"));
    assert_eq!((from_environment.all, from_environment.no.as_deref()), (None, Some("b")));
}

#[test]
fn certificate_files_of_other_programs_are_used_if_they_are_there() {
    let place = Place::new();
    let there = place.write("ca.pem", "");
    let environment = [("NODE_EXTRA_CA_CERTS", &*there.to_string_lossy()), ("SSL_CERT_FILE", "/nowhere.pem")];
    let settings = place.load(&Flags::default(), &environment, "project").expect("settings");
    assert_eq!(settings.upstream.extra_ca, [there]);
    assert_eq!(settings.remarks, ["SSL_CERT_FILE names /nowhere.pem, which is not there; it is ignored"]);
}

#[test]
fn a_variable_that_cannot_be_used_is_named_and_its_value_is_not() {
    let place = Place::new();
    for (variable, value) in [("CTX_LISTEN", "hush:x"), ("CTX_UPSTREAM", "https://me:hush@api.example")] {
        let refused = place.load(&Flags::default(), &[(variable, value)], "project").expect_err(value);
        assert!(refused.message.starts_with(variable) && !refused.message.contains("hush"), "{refused}");
    }
}

#[test]
fn listen_addresses_are_numbers_or_localhost() {
    let port = |text| parse_listen(text).map(|address| address.to_string());
    assert_eq!(port("127.0.0.1:8788").as_deref(), Ok("127.0.0.1:8788"));
    assert_eq!(port("localhost:1").as_deref(), Ok("127.0.0.1:1"));
    assert_eq!(port(" 1 ").as_deref(), Ok("127.0.0.1:1"));
    assert_eq!(port("[::1]:1").as_deref(), Ok("[::1]:1"));
    for wrong in ["", "somewhere:1", "127.0.0.1", "70000", "localhost:"] {
        assert!(parse_listen(wrong).is_err(), "{wrong}");
    }
}
