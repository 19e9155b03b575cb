//! `ctx trust`: a project's settings take effect only if a person trusts them.

use serde_json::{Value, json};
use testkit::Session;

use crate::place::{Place, finish, provider, until};

const LOUD: &str = "[context_editing]\nmode = \"observe\"\npreserve_recent_turns = 2\n";

fn keys(settings: &Value) -> Vec<&str> {
    settings.as_array().into_iter().flatten().filter_map(|setting| setting["key"].as_str()).collect()
}

#[test]
fn a_projects_settings_wait_until_a_person_trusts_them_and_again_after_a_change() {
    let (place, provider) = (Place::new(), provider());
    let file = place.write("work/ctx.toml", LOUD);
    let up = place.up(&provider.url());
    let mut session = Session::new(8).lean().hints(true);
    session.user(&format!("Working directory: {}\nSAY:fine", place.path("work").display()));
    let context = || {
        up.send(&session);
        place.run(&["status", "--json"]).ok().json()["context"].clone()
    };
    let told = context();
    assert_eq!(
        (&told["mode"], keys(&told["project_settings"]["waiting"])),
        (&json!("off"), vec!["context_editing.mode", "context_editing.preserve_recent_turns"])
    );
    let said = place.run(&["status"]).ok().out;
    assert!(
        said.contains("note: `context_editing.mode` = observe needs your trust (") && said.contains("`ctx trust "),
        "{said}"
    );
    let ran = place.run(&["run", "--", "true"]).ok();
    assert!(ran.err.contains("some settings of this project need your trust: context_editing.mode, "), "{ran:?}");

    let said = place.run_at_terminal(&["trust"]).ok().out;
    assert!(said.starts_with("trusted  ") && said.contains("\n  context_editing.mode = observe\n"), "{said}");
    until("it takes effect", || (context()["mode"] == "observe").then_some(()));
    assert_eq!(context()["project_settings"], Value::Null);
    let listed = place.run(&["trust", "--list", "--json"]).ok().json();
    assert_eq!(
        (&listed["files"][0]["state"], listed["files"].as_array().map(Vec::len)),
        (&json!("trusted"), Some(1)),
        "{listed}"
    );

    std::fs::write(&file, LOUD.replace("= 2", "= 1")).expect("written");
    until("a changed file waits again", || (context()["mode"] == "off").then_some(()));
    assert!(place.run(&["trust", "--list"]).ok().out.starts_with("changed  "));
    place.run_at_terminal(&["trust", "--json"]).ok();
    until("it takes effect again", || (context()["mode"] == "observe").then_some(()));
    assert!(place.run(&["trust", "--revoke"]).ok().out.starts_with("revoked  "));
    until("trust is taken back", || (context()["mode"] == "off").then_some(()));
    assert!(place.run(&["trust", "--revoke"]).refused().err.contains("nothing in "));
    assert!(place.run(&["trust", "--list"]).ok().out.starts_with("No project is trusted."));
}

#[test]
fn nothing_and_what_is_wrong_cannot_be_trusted() {
    let place = Place::new();
    assert!(place.run_at_terminal(&["trust"]).refused().err.contains("no settings to trust in "));
    assert!(place.run_at_terminal(&["trust", "nowhere"]).refused().err.contains("no folder nowhere"));
    place.write("work/ctx.toml", "[context_editing]\nmode = \"loud\"\n");
    assert!(place.run_at_terminal(&["trust"]).refused().err.contains("line 2: "));
    #[cfg(unix)]
    {
        let file = place.write("work/ctx.toml", LOUD);
        std::fs::set_permissions(file, std::os::unix::fs::PermissionsExt::from_mode(0o666)).expect("opened");
        let ran = place.run_at_terminal(&["trust"]).refused();
        assert!(ran.err.contains("others can write to ") && ran.err.contains("chmod go-w"), "{ran:?}");
    }
    assert!(!place.home().join("trust.json").exists());
}

#[test]
fn only_a_person_at_a_terminal_trusts() {
    let place = Place::new();
    place.write("work/ctx.toml", LOUD);
    for variable in ["CLAUDE_CODE_SESSION_ID", "CODEX_THREAD_ID", "OPENCODE", "GEMINI_CLI", "QWEN_CODE", "AI_AGENT"] {
        let mut by_agent = place.ctx(&["trust", "--json"]);
        by_agent.env(variable, "1").stdin(std::fs::File::open("/dev/ptmx").expect("a terminal"));
        let ran = finish(by_agent);
        assert_eq!(ran.json()["error"]["code"], "trust-by-agent", "{variable}: {ran:?}");
    }
    let ran = place.run(&["trust"]).refused();
    assert!(ran.err.contains("this is not a terminal") && ran.err.contains("your own terminal"), "{ran:?}");
    assert!(!place.home().join("trust.json").exists());
    place.run_at_terminal(&["trust"]).ok();
    assert!(place.run(&["trust", "--revoke"]).ok().out.starts_with("revoked  "), "anybody may take trust back");
}

#[test]
fn settings_of_the_whole_daemon_are_ignored_though_they_are_trusted() {
    let place = Place::new();
    place.write("work/ctx.toml", "[upstream]\nurl = \"http://127.0.0.1:9\"\n[mcp]\nread_only = true\n");
    let said = place.run_at_terminal(&["trust"]).ok().out;
    assert!(said.contains("line 2: `upstream.url` is ignored: it applies to the whole daemon"), "{said}");
    assert!(said.contains("All its settings are ignored, so nothing changes."), "{said}");
    place.write("work/ctx.toml", &format!("[mcp]\nread_only = true\n{LOUD}"));
    let said = place.run_at_terminal(&["trust"]).ok().out;
    assert!(said.contains("`mcp.read_only` is ignored") && !said.contains("All its settings"), "{said}");
}
