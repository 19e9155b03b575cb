//! `ctx up`: refusals before the port opens, output, and files left behind.

use std::net::TcpListener;

use crate::place::{Place, asking, closed_port, finish, mode, provider};

#[test]
fn a_bad_configuration_is_refused_before_anything_is_opened() {
    let place = Place::new();
    let path = place.write("named.toml", "[listen]\naddress = \"127.0.0.1:0\"\n\n[upstream]\nurl = 5\n");
    let ran = place.run(&["up", "--config", "../named.toml"]).refused();
    let name = path.file_name().expect("a name").to_string_lossy();
    let expected = format!("{name}, line 5: `upstream.url` must be a text in quotes, not a number");
    assert!(ran.err.contains(&expected), "{ran:?}");
    assert!(!place.home().exists(), "not even the home was made");
}

#[test]
fn a_projects_configuration_cannot_send_credentials_elsewhere() {
    let (place, provider) = (Place::new(), provider());
    place.write(
        "home/ctx.toml",
        &format!("[listen]\naddress = \"127.0.0.1:0\"\n[upstream]\nurl = {:?}\n", provider.url()),
    );
    let elsewhere = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = elsewhere.local_addr().expect("an address");
    place.write("work/ctx.toml", &format!("[upstream]\nurl = \"http://{address}\"\n[offload]\nfolder = \"pub\"\n"));
    let ran = place.run(&["run", "--", "true"]).ok();
    assert!(ran.err.contains(&format!("forwarding to {}", provider.url())), "{ran:?}");
    assert_eq!(place.run(&["status", "--json"]).ok().json()["upstream"].as_str(), Some(provider.url().as_str()));
    place.run(&["stop"]).ok();
    let ran = place.run(&["config", "check"]).ok();
    for key in ["upstream.url", "offload.folder"] {
        assert!(ran.out.contains(&format!("`{key}` is ignored: it applies to the whole daemon")), "{ran:?}");
    }
    assert!(ran.out.contains("the home's ctx.toml") && ran.out.contains("--config"), "{ran:?}");
    let up = place.up_with(&[]);
    assert!(up.greeting().contains(&provider.url()) && up.log().contains("`upstream.url` is ignored"), "{}", up.log());
}

#[test]
fn a_variable_that_cannot_be_used_is_named() {
    let place = Place::new();
    for (variable, value) in [("CTX_LISTEN", "nowhere"), ("CTX_UPSTREAM", "ftp://x"), ("CTX_LOG", "ctx=loud")] {
        let mut command = place.ctx(&["up"]);
        command.env(variable, value);
        let ran = finish(command).refused();
        assert!(ran.err.contains(variable), "{ran:?}");
    }
    assert!(!place.home().exists());
}

#[test]
fn keys_of_another_version_are_mentioned_and_do_no_harm() {
    let place = Place::new();
    let upstream = closed_port();
    place.write("home/ctx.toml", &format!("[upstream]\nurl = \"http://{upstream}\"\n\n[future]\nkey = 1\n"));
    let up = place.up_with(&[]);
    assert!(up.log().contains("line 4: `future` is unknown"), "{}", up.log());
    assert!(up.greeting().contains(&format!("forwards to http://{upstream}")), "{}", up.greeting());
}

#[test]
fn a_taken_port_is_told_with_its_holder() {
    let place = Place::new();
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    let ran = place.run(&["up", "--listen", &address]).refused();
    assert!(ran.err.contains(&format!("cannot listen on {address}: the port is in use")), "{ran:?}");
    if cfg!(target_os = "linux") {
        assert!(ran.err.contains(&format!("(process {})", std::process::id())), "{ran:?}");
    }
    assert!(ran.err.contains("hint: "), "{ran:?}");
    assert!(place.notice().is_none());
}

#[test]
fn a_port_taken_by_another_daemon_is_told_as_such() {
    let (one, two) = (Place::new(), Place::new());
    let up = one.up(&format!("http://{}", closed_port()));
    let ran = two.run(&["up", "--listen", &up.listen.to_string()]).refused();
    assert!(ran.err.contains("in use by another ctx daemon"), "{ran:?}");
}

#[test]
fn an_upstream_that_is_the_daemon_itself_is_refused() {
    let place = Place::new();
    let address = closed_port().to_string();
    for verb in [&["up"][..], &["run"]] {
        let upstream = format!("http://{address}");
        let rest: &[&str] = if verb == ["run"] { &["--", "true"] } else { &[] };
        let ran = place.run(&[verb, &["--listen", &address, "--upstream", &upstream], rest].concat()).refused();
        assert!(ran.err.contains("is this daemon itself") && ran.err.contains("hint: set the upstream"), "{ran:?}");
    }
    assert!(place.notice().is_none());
}

#[cfg(unix)]
#[test]
fn an_orderly_end_leaves_everything_in_the_one_file() {
    let (place, provider) = (Place::new(), provider());
    let up = place.up(&provider.url());
    up.send(&asking(1, "SAY:one"));
    place.run(&["list"]).ok();
    let log = place.home().join("ctx.db-wal");
    assert!(std::fs::metadata(&log).is_ok_and(|log| log.len() > 0), "while it runs the log is in use");
    assert!(up.terminate().success());
    assert_eq!(std::fs::metadata(&log).map_or(0, |log| log.len()), 0);
}

#[test]
fn a_home_in_use_names_the_daemon_that_uses_it() {
    let place = Place::new();
    let up = place.up(&format!("http://{}", closed_port()));
    let ran = place.run(&["up", "--listen", "127.0.0.1:0"]).refused();
    assert!(ran.err.contains(&format!("(process {})", up.pid())), "{ran:?}");
    assert!(ran.err.contains(&up.listen.to_string()) && ran.err.contains("ctx stop"), "{ran:?}");
    assert_eq!(place.run(&["status", "--json"]).ok().json()["pid"], up.pid(), "the first one is not disturbed");
}

#[test]
fn other_machines_are_kept_out_unless_that_is_meant() {
    let ran = Place::new().run(&["up", "--listen", "0.0.0.0:0"]).refused();
    assert!(ran.err.contains("other machines") && ran.err.contains("--allow-remote"), "{ran:?}");
}

#[test]
fn it_says_where_it_listens_and_what_to_do_next() {
    let place = Place::new();
    let up = place.up("http://127.0.0.1:1/base");
    let greeting = up.greeting();
    assert!(
        greeting.contains(&format!("listens on {} and forwards to http://127.0.0.1:1/base", up.listen)),
        "{greeting}"
    );
    assert!(greeting.contains(&format!("ANTHROPIC_BASE_URL=http://{} claude\n", up.listen)), "{greeting}");
    let token = std::fs::read_to_string(place.home().join("token")).expect("a token");
    let link = format!("http://{}/ui/?token={}", up.listen, token.trim());
    assert!(greeting.contains("page    ctx ui\n"), "{greeting}");
    assert!(!greeting.contains(token.trim()), "a file or a pipe may have other readers: {greeting}");
    assert_eq!(place.run(&["ui"]).ok().out.trim(), link);
    let ran = place.run(&["ui", "--conv", "zzz"]).refused();
    assert!(ran.err.contains("`zzz`"), "an id is looked up as everywhere: {ran:?}");
    assert!(!up.log().contains(token.trim()), "the log holds no token");
}

#[cfg(unix)]
#[test]
fn its_files_are_private_and_a_request_to_end_ends_it_in_order() {
    let place = Place::new();
    let provider = provider();
    let up = place.up(&provider.url());
    up.send(&crate::place::asking(1, "SAY:hello"));
    assert_eq!(mode(&place.home()), 0o700);
    for entry in std::fs::read_dir(place.home()).expect("the home").flatten() {
        assert_eq!(mode(&entry.path()), 0o600, "{:?}", entry.path());
    }
    assert!(up.terminate().success());
    assert!(place.notice().is_none(), "the notice is taken down");
    let ran = place.run(&["list"]).refused();
    assert!(ran.err.contains("no daemon is running"), "{ran:?}");
}
