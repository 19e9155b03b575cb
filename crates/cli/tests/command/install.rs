//! `ctx install claude-code` and `ctx uninstall claude-code`: written and kept entries, and byte-exact restoration.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use serde_json::{Value, json};

use crate::place::{Place, Ran, asking, finish, mode, provider, until};

const SKILL: &str = ".claude/skills/compose-context/SKILL.md";

/// A place that may contain settings of Claude Code.
struct Desk {
    place: Place,
}

impl Desk {
    fn new() -> Self {
        Self { place: Place::new() }
    }

    fn with_settings(text: impl AsRef<[u8]>) -> Self {
        let desk = Self::new();
        fs::create_dir(desk.place.path(".claude")).expect("a folder");
        fs::write(desk.settings(), text).expect("written");
        desk
    }

    fn settings(&self) -> PathBuf {
        self.place.path(".claude/settings.json")
    }

    fn text(&self) -> String {
        fs::read_to_string(self.settings()).expect("settings")
    }

    fn json(&self) -> Value {
        serde_json::from_str(self.text().trim_start_matches('\u{feff}')).expect("JSON")
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.place.ctx(arguments);
        command.env("CTX_LISTEN", "127.0.0.1:8788");
        command
    }

    fn run(&self, arguments: &[&str]) -> Ran {
        finish(self.command(arguments))
    }

    fn install(&self, more: &[&str]) -> Ran {
        self.run(&[&["install", "claude-code", "--yes"], more].concat())
    }

    fn uninstall(&self, more: &[&str]) -> Ran {
        self.run(&[&["uninstall", "claude-code", "--yes"], more].concat())
    }

    /// Every file here except the daemon's, with its text.
    fn everything(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let mut found = Vec::new();
        let mut folders = vec![self.place.path("")];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).expect("a folder") {
                let path = entry.expect("an entry").path();
                if path == self.place.home() {
                    continue;
                }
                if path.is_dir() {
                    folders.push(path.clone());
                }
                let text = if path.is_dir() { Vec::new() } else { fs::read(&path).expect("text") };
                found.push((path, text));
            }
        }
        found.sort();
        found
    }
}

#[test]
fn the_server_starts_the_daemon_that_the_settings_name() {
    let desk = Desk::new();
    desk.install(&["--mcp", "--listen", "127.0.0.1:18999"]).ok();
    assert_eq!(desk.json()["env"]["ANTHROPIC_BASE_URL"], "http://127.0.0.1:18999");
    let servers = fs::read(desk.place.path(".claude.json")).expect("servers");
    let servers: Value = serde_json::from_slice(&servers).expect("JSON");
    assert_eq!(servers["mcpServers"]["ctx"]["args"], json!(["mcp", "--listen", "127.0.0.1:18999"]));
    let nothing = desk.uninstall(&["--scope", "project"]).ok();
    assert!(nothing.out.contains("try `--scope user`"), "{nothing:?}");
}

#[test]
fn all_is_written_for_a_client_that_was_never_there_and_all_of_it_goes_again() {
    let desk = Desk::new();
    let before = desk.everything();
    let ran = desk.install(&["--mcp", "--status-line"]).ok();
    assert!(
        ran.out.contains("settings.json (new)")
            && ran.out.contains("\"ANTHROPIC_BASE_URL\": \"http://127.0.0.1:8788\""),
        "{ran:?}"
    );
    assert!(ran.err.contains("no daemon is running") && ran.err.contains("starts it with `ctx mcp`"), "{ran:?}");
    let settings = desk.json();
    assert_eq!(settings["env"]["ANTHROPIC_BASE_URL"], "http://127.0.0.1:8788");
    assert_eq!(settings["env"]["CLAUDE_CODE_GATEWAY_HINT_HEADERS"], "1");
    assert_eq!(settings["env"]["CTX_HOME"], json!(desk.place.home()));
    assert!(settings["statusLine"]["command"].as_str().expect("a command").ends_with("ctx status-line"));
    let servers: Value =
        serde_json::from_slice(&fs::read(desk.place.path(".claude.json")).expect("servers")).expect("JSON");
    assert_eq!(servers["mcpServers"]["ctx"]["args"], json!(["mcp"]));
    let skill = fs::read_to_string(desk.place.path(SKILL)).expect("a skill");
    assert!(skill.starts_with("---\nname: compose-context\n") && skill.contains("$ARGUMENTS"), "{skill}");
    #[cfg(unix)]
    assert_eq!(mode(&desk.place.home().join("claude-code.json")), 0o600);

    let ran = desk.uninstall(&[]).ok();
    assert!(ran.out.contains("settings.json (removed)"), "{ran:?}");
    assert_eq!(desk.everything(), before, "no file and no folder stays");
    assert!(!desk.place.home().join("claude-code.json").exists(), "nothing is left to remember");
}

#[test]
fn doing_it_twice_is_doing_it_once() {
    let desk = Desk::with_settings("{\n  \"model\": \"opus\"\n}\n");
    let before = desk.everything();
    desk.install(&["--status-line"]).ok();
    let installed = desk.everything();
    let ran = desk.install(&[]).ok();
    assert!(ran.out.contains("Nothing to do") && ran.err.contains("start it with `ctx up`"), "{ran:?}");
    assert_eq!(desk.everything(), installed, "also the status line, which was not asked for again");
    desk.uninstall(&[]).ok();
    assert_eq!(desk.everything(), before);
    assert!(desk.uninstall(&[]).ok().out.contains("ctx is not installed there"));
    assert_eq!(desk.everything(), before);
}

#[test]
fn another_address_and_more_options_replace_what_was_installed_and_still_all_comes_back() {
    let text = "{\n    \"env\": {\"A\": \"b\"},\n    \"statusLine\": {\"type\": \"command\", \"command\": \"mine\"}\n}";
    let desk = Desk::with_settings(text);
    desk.install(&[]).ok();
    let ran = desk.install(&["--listen", "127.0.0.1:9000", "--status-line"]).ok();
    assert!(ran.out.contains("-         \"ANTHROPIC") || ran.out.contains("9000"), "{ran:?}");
    let settings = desk.json();
    assert_eq!(settings["env"]["ANTHROPIC_BASE_URL"], "http://127.0.0.1:9000");
    assert_ne!(settings["statusLine"]["command"], "mine");
    desk.uninstall(&[]).ok();
    assert_eq!(desk.text(), text);
}

#[test]
fn every_file_comes_back_byte_for_byte() {
    for text in [
        "{}",
        "",
        " \n",
        "{\"a\":1}",
        "\u{feff}{\r\n\t\"env\": {\r\n\t\t\"A\": \"b\"\r\n\t},\r\n\t\"z\": [1, 2]\r\n}\r\n",
        "{\n  // mine\n  \"env\": { /* nothing */ },\n  \"hooks\": {}, // and more\n}\n",
        "{\"env\":{\"CLAUDE_CODE_GATEWAY_HINT_HEADERS\":\"1\"},\"env2\":null}\n\n\n",
        "{\"statusLine\": {\"type\": \"command\", \"command\": \"mine\"}, \"x\": 1e400, \"\\ud800\": \"\\/\"}",
    ] {
        let desk = Desk::with_settings(text);
        let before = desk.everything();
        desk.install(&["--status-line", "--mcp"]).ok();
        assert_ne!(desk.text(), text);
        desk.uninstall(&[]).ok();
        assert_eq!(desk.everything(), before, "{text:?}");
    }
}

#[test]
fn what_the_user_changed_since_stays_and_only_ours_goes() {
    let desk =
        Desk::with_settings("{\n  \"env\": {\n    \"ANTHROPIC_BASE_URL\": \"https://api.anthropic.com\"\n  }\n}\n");
    desk.install(&["--status-line", "--mcp"]).ok();
    let changed = desk.text().replace(
        "{\n  \"env\": {\n",
        "{\n  // my own words\n  \"model\": \"opus\",\n  \"env\": {\n    \"MINE\": \"1\",\n",
    );
    fs::write(desk.settings(), changed).expect("written");
    // The client rewrites this file often, in its own format.
    let servers = desk.place.path(".claude.json");
    let mut written: Value = serde_json::from_slice(&fs::read(&servers).expect("servers")).expect("JSON");
    written["numStartups"] = 7.into();
    fs::write(&servers, written.to_string()).expect("written");
    desk.uninstall(&[]).ok();
    assert_eq!(
        desk.text(),
        "{\n  // my own words\n  \"model\": \"opus\",\n  \"env\": {\n    \"MINE\": \"1\",\n    \"ANTHROPIC_BASE_URL\": \"https://api.anthropic.com\"\n  }\n}\n"
    );
    assert_eq!(fs::read_to_string(&servers).expect("servers"), "{\"numStartups\":7}");
}

#[test]
fn an_entry_that_the_user_changed_is_theirs() {
    let desk = Desk::with_settings("{}");
    desk.install(&[]).ok();
    fs::write(desk.settings(), desk.text().replace("http://127.0.0.1:8788", "https://gateway.example"))
        .expect("written");
    fs::write(desk.place.path(SKILL), "my own skill").expect("written");
    let ran = desk.uninstall(&[]).ok();
    assert!(
        ran.err.contains("env.ANTHROPIC_BASE_URL in ") && ran.err.contains("SKILL.md has been changed since"),
        "{ran:?}"
    );
    assert_eq!(desk.json(), json!({"env": {"ANTHROPIC_BASE_URL": "https://gateway.example"}}));
    assert_eq!(fs::read_to_string(desk.place.path(SKILL)).expect("a skill"), "my own skill");
}

#[test]
fn a_skill_that_was_changed_is_replaced_only_by_force_and_one_that_was_there_comes_back() {
    let desk = Desk::new();
    fs::create_dir_all(desk.place.path(SKILL).parent().expect("a folder")).expect("folders");
    fs::write(desk.place.path(SKILL), "an older skill").expect("written");
    desk.install(&[]).ok();
    assert_ne!(fs::read_to_string(desk.place.path(SKILL)).expect("a skill"), "an older skill");
    desk.uninstall(&[]).ok();
    assert_eq!(fs::read_to_string(desk.place.path(SKILL)).expect("a skill"), "an older skill");

    desk.install(&[]).ok();
    fs::write(desk.place.path(SKILL), "changed").expect("written");
    let ran = desk.install(&[]).ok();
    assert!(ran.err.contains("SKILL.md has been changed since") && ran.err.contains("--force"), "{ran:?}");
    assert_eq!(fs::read_to_string(desk.place.path(SKILL)).expect("a skill"), "changed");
    desk.install(&["--force"]).ok();
    assert!(fs::read_to_string(desk.place.path(SKILL)).expect("a skill").starts_with("---"));
}

#[test]
fn nothing_is_written_without_a_yes() {
    let desk = Desk::with_settings("{\"model\": \"opus\"}");
    let before = desk.everything();
    let ran = desk.run(&["install", "claude-code"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.out.contains("+ ") && ran.err.contains("nothing was changed") && ran.err.contains("--yes"), "{ran:?}");
    let ran = desk.run(&["install", "claude-code", "--dry-run"]).ok();
    assert!(ran.out.contains("ANTHROPIC_BASE_URL") && ran.out.contains("dry run"), "{ran:?}");
    let ran = desk.run(&["install", "claude-code", "--dry-run", "--json"]).ok();
    assert_eq!(
        (&ran.json()["written"], &ran.json()["files"][0]["change"]),
        (&json!(false), &json!("changed")),
        "{ran:?}"
    );
    let ran = desk.run(&["install", "claude-code", "--json"]);
    assert_eq!((ran.code, &ran.json()["error"]["code"]), (Some(1), &json!("not-confirmed")), "{ran:?}");
    assert_eq!(desk.everything(), before);
    assert!(!desk.place.home().join("claude-code.json").exists());

    let ran = desk.install(&["--json"]).ok().json();
    assert_eq!((&ran["written"], &ran["base_url"]), (&json!(true), &json!("http://127.0.0.1:8788")));
    let installed = desk.everything();
    assert_eq!(desk.run(&["uninstall", "claude-code"]).code, Some(1));
    desk.run(&["uninstall", "claude-code", "--dry-run"]).ok();
    assert_eq!(desk.everything(), installed);
}

#[test]
fn what_is_not_json_is_never_overwritten() {
    for (text, told) in [
        ("{\n  \"env\": {\n", "line 3, column 1"),
        ("{\"a\": 1 \"b\": 2}", "line 1, column 9"),
        ("[]", "the whole is not an object"),
        ("[{\"env\": {}}]", "the whole is not an object"),
        ("{\n \"env\": [\"A=b\"]\n}", "line 2, column 9: `env` is not an object"),
        ("{\"env\": null}", "`env` is not an object"),
        ("<<<<<<< HEAD\n{}\n", "line 1, column 1"),
        ("null", "the whole is not an object"),
    ] {
        let desk = Desk::with_settings(text);
        let before = desk.everything();
        let ran = desk.install(&["--force"]).refused();
        assert!(
            ran.err.contains(told) && ran.err.contains("settings.json") && ran.err.contains("nothing was changed"),
            "{text}: {ran:?}"
        );
        assert!(ran.err.contains("hint: correct the file"), "{ran:?}");
        assert_eq!(desk.everything(), before, "{text}");
    }
    let desk = Desk::with_settings(b"{\"a\": \"\xff\"}");
    assert!(desk.install(&[]).refused().err.contains("UTF-8"));
    let desk = Desk::with_settings("{}");
    fs::write(desk.place.path(".claude.json"), "{\"mcpServers\": 7}").expect("written");
    let ran = desk.install(&["--mcp"]).refused();
    assert!(ran.err.contains("`mcpServers` is not an object"), "{ran:?}");
    assert_eq!(desk.text(), "{}", "all or nothing");
}

#[test]
fn what_became_unreadable_after_it_was_installed_is_not_touched() {
    let desk = Desk::with_settings("{}");
    desk.install(&[]).ok();
    fs::write(desk.settings(), "{ oh").expect("written");
    let before = desk.everything();
    for ran in [desk.uninstall(&[]), desk.install(&[])] {
        assert!(ran.refused().err.contains("line 1, column 3"));
    }
    assert_eq!(desk.everything(), before);
    fs::remove_file(desk.settings()).expect("removed");
    desk.uninstall(&[]).ok();
    assert!(!desk.settings().exists() && !desk.place.path(SKILL).exists());
}

#[test]
fn comments_are_kept_and_it_is_said_that_the_client_does_not_take_them() {
    let desk = Desk::with_settings("{\n  // mine\n  \"a\": 1,\n}\n");
    let ran = desk.install(&[]).ok();
    assert!(ran.err.contains("line 2, column 3") && ran.err.contains("Claude Code ignores the file"), "{ran:?}");
    assert!(
        desk.text().starts_with("{\n  // mine\n  \"a\": 1,\n  \"env\": {\n    \"ANTHROPIC_BASE_URL\""),
        "{}",
        desk.text()
    );
    let ran = Desk::with_settings("\u{feff}{\r\n}\r\n").install(&[]).ok();
    assert!(!ran.err.contains("skips"), "a mark and line ends are no matter: {ran:?}");
}

#[test]
fn a_base_url_that_leads_elsewhere_is_refused_unless_the_daemon_goes_there() {
    let text = "{\"env\": {\"ANTHROPIC_BASE_URL\": \"https://gateway.example/team\", \"X\": \"y\"}}";
    let desk = Desk::with_settings(text);
    let ran = desk.install(&[]).refused();
    assert!(
        ran.err.contains("https://gateway.example/team") && ran.err.contains("forwards to https://api.anthropic.com"),
        "{ran:?}"
    );
    assert!(ran.err.contains("--upstream") && ran.err.contains("--force"), "{ran:?}");
    assert_eq!(desk.text(), text);

    let mut command = desk.command(&["install", "claude-code", "--yes"]);
    command.env("CTX_UPSTREAM", "https://gateway.example/team");
    finish(command).ok();
    assert_eq!(desk.json()["env"]["ANTHROPIC_BASE_URL"], "http://127.0.0.1:8788");
    desk.uninstall(&[]).ok();
    assert_eq!(desk.text(), text);

    let ran = desk.install(&["--force"]).ok();
    assert!(ran.err.contains("requests will go there"), "{ran:?}");
    desk.uninstall(&[]).ok();
    assert_eq!(desk.text(), text);

    let exported = |arguments: &[&str]| {
        let mut command = desk.command(arguments);
        fs::write(desk.settings(), "{}").expect("written");
        finish({
            command.env("ANTHROPIC_BASE_URL", "https://gateway.example");
            command
        })
    };
    let ran = exported(&["install", "claude-code", "--yes"]).refused();
    assert!(ran.err.contains("in the environment is https://gateway.example"), "{ran:?}");
    exported(&["install", "claude-code", "--yes", "--force"]).ok();

    let desk = Desk::with_settings("{\"env\": {\"ANTHROPIC_BASE_URL\": \"https://me:hush@gateway.example\"}}");
    let (refused, shown) = (desk.install(&[]), desk.run(&["install", "claude-code", "--force", "--dry-run"]));
    assert!(refused.code == Some(1) && shown.code == Some(0));
    assert!(!format!("{refused:?}{shown:?}").contains("hush"), "{refused:?} {shown:?}");
}

#[test]
fn credentials_are_neither_shown_nor_remembered() {
    let desk = Desk::with_settings("{\n  \"env\": {\n    \"ANTHROPIC_API_KEY\": \"sk-hush\"\n  }\n}\n");
    let ran = desk.install(&["--mcp"]).ok();
    assert!(!format!("{ran:?}").contains("hush"), "{ran:?}");
    let remembered = fs::read_to_string(desk.place.home().join("claude-code.json")).expect("a memory");
    assert!(!remembered.contains("hush"), "{remembered}");
}

#[test]
fn a_choice_about_hints_stays_and_a_proxy_is_told_to_spare_us() {
    let desk = Desk::with_settings(
        "{\"env\": {\"CLAUDE_CODE_GATEWAY_HINT_HEADERS\": \"0\", \"HTTPS_PROXY\": \"http://proxy:1\"}}",
    );
    let mut command = desk.command(&["install", "claude-code", "--yes"]);
    command.env("NO_PROXY", "intranet");
    let ran = finish(command).ok();
    assert!(ran.err.contains("CLAUDE_CODE_GATEWAY_HINT_HEADERS is \"0\""), "{ran:?}");
    assert_eq!(desk.json()["env"]["CLAUDE_CODE_GATEWAY_HINT_HEADERS"], "0");
    assert_eq!(desk.json()["env"]["NO_PROXY"], "intranet,127.0.0.1,localhost");
}

#[test]
fn the_daemon_that_runs_is_the_one_that_is_written() {
    let (desk, provider) = (Desk::new(), provider());
    let up = desk.place.up(&provider.url());
    let ran = finish(desk.place.ctx(&["install", "claude-code", "--yes"])).ok();
    assert!(!ran.err.contains("no daemon is running"), "{ran:?}");
    assert_eq!(desk.json()["env"]["ANTHROPIC_BASE_URL"], json!(up.url()));
    let nowhere = Desk::new();
    let ran = nowhere.install(&["--listen", "127.0.0.1:0"]).refused();
    assert!(ran.err.contains("any free port") && ran.err.contains("--listen"), "{ran:?}");
}

#[test]
fn a_project_has_settings_of_its_own_and_the_clients_folder_may_be_elsewhere() {
    let desk = Desk::with_settings("{}");
    let work = desk.place.path("work");
    let ran = desk.install(&["--scope", "project", "--mcp"]).ok();
    assert!(ran.err.contains("everyone who works in this folder"), "{ran:?}");
    assert_eq!(desk.text(), "{}", "the user's are not touched");
    assert!(
        work.join(".claude/settings.json").exists() && work.join(SKILL).exists() && work.join(".mcp.json").exists()
    );
    desk.install(&[]).ok();
    desk.uninstall(&[]).ok();
    assert!(work.join(SKILL).exists(), "each scope for itself");
    desk.uninstall(&["--scope", "project"]).ok();
    assert_eq!(fs::read_dir(&work).expect("a folder").count(), 0);

    let mut command = desk.command(&["install", "claude-code", "--yes", "--mcp"]);
    command.env("CLAUDE_CONFIG_DIR", desk.place.path("elsewhere"));
    finish(command).ok();
    for name in ["settings.json", ".claude.json", "skills/compose-context/SKILL.md"] {
        assert!(desk.place.path("elsewhere").join(name).exists(), "{name}");
    }
    assert_eq!(desk.text(), "{}");
}

#[cfg(unix)]
#[test]
fn links_and_modes_stay_and_what_is_read_only_is_left_alone() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let desk = Desk::with_settings("{}");
    let dotfiles = desk.place.write("dotfiles.json", "{\n  \"a\": 1\n}\n");
    fs::set_permissions(&dotfiles, fs::Permissions::from_mode(0o600)).expect("a mode");
    fs::remove_file(desk.settings()).expect("removed");
    symlink(&dotfiles, desk.settings()).expect("a link");
    desk.install(&[]).ok();
    assert!(desk.settings().is_symlink() && desk.json()["env"].is_object());
    assert_eq!(mode(&dotfiles), 0o600);
    desk.uninstall(&[]).ok();
    assert!(desk.settings().is_symlink());
    assert_eq!(fs::read_to_string(&dotfiles).expect("text"), "{\n  \"a\": 1\n}\n");

    fs::set_permissions(&dotfiles, fs::Permissions::from_mode(0o400)).expect("a mode");
    let before = desk.everything();
    let ran = desk.install(&[]);
    assert!(ran.code == Some(1) && ran.err.contains("is read-only; nothing was changed"), "{ran:?}");
    assert_eq!(desk.everything(), before, "no half of it either");
    fs::remove_file(&dotfiles).expect("removed");
    assert!(desk.install(&[]).refused().err.contains("a link to a missing file"));
}

#[test]
fn a_memory_that_cannot_be_read_stops_everything() {
    let desk = Desk::with_settings("{}");
    desk.install(&[]).ok();
    let memory = desk.place.home().join("claude-code.json");
    fs::write(&memory, "{\"version\": 9, \"files\": {}}").expect("written");
    let before = desk.everything();
    for ran in [desk.install(&[]), desk.uninstall(&[])] {
        let ran = ran.refused();
        assert!(ran.err.contains("version 9") && ran.err.contains("by hand"), "{ran:?}");
    }
    assert_eq!(desk.everything(), before);
}

#[test]
fn the_status_line_is_one_line_of_the_session_that_asks_and_silent_otherwise() {
    let (place, provider) = (Place::new(), provider());
    let line = |told: &str| {
        let file = place.write("told.json", told);
        let mut command = place.ctx(&["status-line"]);
        command.stdin(fs::File::open(file).expect("a file"));
        let ran = finish(command).ok();
        assert_eq!(ran.err, "", "{ran:?}");
        ran.out
    };
    assert_eq!(line("{\"session_id\": \"nobody\"}"), "", "no daemon");
    let up = place.up(&provider.url());
    let session = asking(1, "what is a pelican");
    up.send(&session);
    let told = json!({"session_id": session.session_id(), "context_window": {"context_window_size": 200_000,
        "current_usage": {"input_tokens": 1, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 3}}});
    let said = until("the session is known", || Some(line(&told.to_string())).filter(|said| !said.is_empty()));
    assert!(said.starts_with("ctx ") && said.contains(" (0%) NORMAL") && said.ends_with(" · cached 75%\n"), "{said}");
    assert_eq!(line("{\"session_id\": \"nobody\"}"), "", "another session");
    assert_eq!(line("not JSON"), "", "nonsense");
    assert_eq!(line(""), "", "nothing");
}
