//! Precedence and errors.

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

    fn load(&self, flags: &Flags, environment: &[(&str, &str)], from: &str) -> Result<Settings, ConfigError> {
        let home = Home::find(Some(&self.folder.path().join("home")), &Environment::of(&[])).expect("a home");
        Settings::load(flags, &Environment::of(environment), &home, &self.folder.path().join(from))
    }

    fn upstream(&self, flags: &Flags, environment: &[(&str, &str)]) -> String {
        self.load(flags, environment, "project").expect("settings").upstream.url.to_string()
    }
}

#[test]
fn flags_win_over_the_environment_over_the_home_over_the_default() {
    let place = Place::new();
    let (none, flag) = (Flags::default(), "http://localhost:5".parse().ok());
    assert_eq!(place.upstream(&none, &[]), "https://api.anthropic.com");
    place.write("home/ctx.toml", "[upstream]\nurl = \"https://home.example\"\n[listen]\naddress = \"127.0.0.1:2\"");
    assert_eq!(place.upstream(&none, &[]), "https://home.example");
    place.write("project/ctx.toml", "[upstream]\nurl = \"http://localhost:3\"");
    assert_eq!(place.upstream(&none, &[]), "https://home.example", "a project decides nothing here");
    let environment = [("CTX_UPSTREAM", "http://localhost:4")];
    assert_eq!(place.upstream(&none, &environment), "http://localhost:4");
    assert_eq!(place.upstream(&Flags { upstream: flag, ..none.clone() }, &environment), "http://localhost:5");

    let settings = place.load(&none, &[], "project").expect("settings");
    assert_eq!(settings.listen.port(), 2, "each key is decided for itself");
    assert_eq!(settings.files.len(), 1);
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
    let remarks = |from: &str| place.load(&Flags::default(), &[], from).expect("settings").remarks;
    place.write("ctx.toml", "[listen]\naddress = \"127.0.0.1:1\"");
    place.write("project/.git", "");
    assert!(remarks("project/src").is_empty());
    place.write("project/ctx.toml", "[listen]\naddress = \"127.0.0.1:2\"");
    assert!(remarks("project/src")[0].contains("`listen.address` is ignored"));
}

#[test]
fn a_projects_file_decides_nothing_for_the_daemon_unless_it_is_named() {
    for (text, key) in [
        ("[upstream]\nurl = \"https://elsewhere.example\"", "upstream.url"),
        ("[upstream]\nurl = \"http://localhost:3\"", "upstream.url"),
        ("[store]\nurl = \"postgres://u@elsewhere.example/d\"", "store.url"),
        ("[upstream]\nproxy = \"http://elsewhere.example:3128\"", "upstream.proxy"),
        ("[upstream]\nca_files = [\"ca.pem\"]", "upstream.ca_files"),
        ("[listen]\nallow_remote = true", "listen.allow_remote"),
        ("[listen]\naddress = \"127.0.0.1:3\"", "listen.address"),
        ("[listen]\ntls_certificate = \"tls.pem\"\ntls_key = \"tls.key\"", "listen.tls_certificate"),
        ("[listen]\nmetrics = \"127.0.0.1:4\"", "listen.metrics"),
        ("[retention]\ncontent_days = 1", "retention.content_days"),
        ("[listen]\npublic_url = \"https://elsewhere.example\"", "listen.public_url"),
        ("[team]\nenabled = true", "team.enabled"),
        ("[team]\nsubscriptions = \"pass\"", "team.subscriptions"),
        ("[team]\nreads_back = \"cli\"", "team.reads_back"),
        (
            "[team.oidc]\nissuer = \"https://evil.example\"\nclient_id = \"c\"\n[listen]\npublic_url = \"https://a.example\"",
            "team.oidc",
        ),
        ("[offload]\nfolder = \"pub\"", "offload.folder"),
        ("[mcp]\nread_only = true", "mcp.read_only"),
        ("[edits]\nnear_limit_percent = 3", "edits.near_limit_percent"),
        ("[models.m]\nwindow = 9", "models.m"),
        ("[helper]\nprovider = \"claude\"", "helper.provider"),
        ("[helper]\nkey_env = \"AWS_SECRET\"", "helper.key_env"),
    ] {
        let place = Place::new();
        let usual = format!("{:?}", place.load(&Flags::default(), &[], "project").expect("settings"));
        let path = place.write("project/ctx.toml", text);
        let settings = place.load(&Flags::default(), &[], "project").expect(text);
        let remark = settings.remarks.join("\n");
        assert!(
            remark.contains(&format!("line 2: `{key}` is ignored")) || remark.contains(&format!("line 1: `{key}` is")),
            "{remark}"
        );
        assert!(remark.contains("the home's ctx.toml") && remark.contains("--config"), "{remark}");
        assert_eq!(format!("{:?}", Settings { remarks: Vec::new(), ..settings }), usual, "{text}");
        let flags = Flags { config: Some(path), ..Flags::default() };
        let named = place.load(&flags, &[], "project").expect(text);
        assert_ne!(format!("{:?}", Settings { files: Vec::new(), ..named }), usual, "{text}");
    }
}

#[test]
fn nothing_in_a_projects_file_keeps_the_daemon_from_starting() {
    let place = Place::new();
    for text in ["this is not even TOML", "[upstream]\nurl = 5", "[context_editing]\nmode = 5", "[models.m]\nprice = 3"]
    {
        place.write("project/ctx.toml", text);
        assert!(place.load(&Flags::default(), &[], "project").is_ok(), "{text}");
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
    assert_eq!(settings.remarks, ["SSL_CERT_FILE names /nowhere.pem, which does not exist; it is ignored"]);
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
