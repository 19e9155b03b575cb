//! `ctx install` and `ctx uninstall` for other agents: written entries, refusals, and byte-exact restoration.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use serde_json::{Value, json};

use crate::place::{Place, Ran, finish, finish_unread};

/// An agent, its settings file, a user's settings, and the settings after the installation.
struct Case {
    agent: &'static str,
    file: &'static str,
    own: &'static [&'static str],
    written: &'static [&'static str],
}

const URL: &str = "http://127.0.0.1:8788";

const CASES: [Case; 8] = [
    Case {
        agent: "codex",
        file: ".codex/config.toml",
        own: &[
            "model = \"gpt-5.5\" # mine\r\n\r\n[projects.\"/p\"]\r\ntrust_level = \"trusted\"\r\n",
            "# nothing yet",
            "model_provider = 'openai'\n[model_providers.other]\nname = \"x\"\n",
            "[[hooks]]\na = 1\n",
        ],
        written: &[
            "model_provider = \"ctx\"",
            "[model_providers.ctx]",
            "base_url = \"http://127.0.0.1:8788/backend-api/codex\"",
            "requires_openai_auth = true",
        ],
    },
    Case {
        agent: "opencode",
        file: ".config/opencode/opencode.json",
        own: &[
            "{\n  // mine\n  \"provider\": {\"openai\": {\"options\": {\"apiKey\": \"x\"}}},\n}\n",
            "{}",
            "{\"provider\":{\"openai\":{\"options\":{\"baseURL\":\"https://api.openai.com/v1/\"}}}}",
        ],
        written: &["http://127.0.0.1:8788/v1\"", "http://127.0.0.1:8788/v1beta\""],
    },
    Case {
        agent: "gemini-cli",
        file: ".gemini/.env",
        own: &["# keys\nexport GEMINI_API_KEY='k'\n", "A=1", "\r\n"],
        written: &["GOOGLE_GEMINI_BASE_URL=http://127.0.0.1:8788", "CODE_ASSIST_ENDPOINT=http://127.0.0.1:8788"],
    },
    Case {
        agent: "qwen",
        file: ".qwen/settings.json",
        own: &["{\"env\": {\"A\": \"b\"}}\n", "{ /* nothing */ }"],
        written: &["\"OPENAI_BASE_URL\"", "\"http://127.0.0.1:8788/v1\"", "\"ANTHROPIC_BASE_URL\""],
    },
    Case {
        agent: "goose",
        file: ".config/goose/config.yaml",
        own: &[
            "GOOSE_PROVIDER: openai # mine\nextensions:\n  a:\n    enabled: true\n",
            "OPENAI_HOST: https://api.openai.com",
        ],
        written: &["ANTHROPIC_HOST: http://127.0.0.1:8788\n", "OPENAI_HOST: http://127.0.0.1:8788"],
    },
    Case {
        agent: "pi",
        file: ".pi/agent/models.json",
        own: &["{\n\t\"providers\": {\n\t\t\"mine\": {\"baseUrl\": \"http://x\"}\n\t}\n}\n"],
        written: &["\"baseUrl\": \"http://127.0.0.1:8788/v1beta\""],
    },
    Case {
        agent: "cline",
        file: ".cline/data/settings/providers.json",
        own: &["{\"providers\": {\"anthropic\": {\"settings\": {\"provider\": \"anthropic\"}}}}"],
        written: &["\"baseUrl\": \"http://127.0.0.1:8788/v1\""],
    },
    Case {
        agent: "aider",
        file: ".aider.conf.yml",
        own: &["model: openai/x\nread: [A.md]\n", "---\ndark-mode: true"],
        written: &[
            "openai-api-base: http://127.0.0.1:8788/v1",
            "set-env: [\"ANTHROPIC_API_BASE=http://127.0.0.1:8788\"]",
        ],
    },
];

/// A place with the settings of one agent.
struct Machine {
    place: Place,
    file: PathBuf,
}

impl Machine {
    fn new(file: &str, text: Option<&str>) -> Self {
        let place = Place::new();
        let file = place.path(file);
        if let Some(text) = text {
            fs::create_dir_all(file.parent().expect("a folder")).expect("folders");
            fs::write(&file, text).expect("written");
        }
        Self { place, file }
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.place.ctx(arguments);
        command.env("CTX_LISTEN", "127.0.0.1:8788").env("PATH", self.place.path("bin"));
        command
    }

    fn run(&self, arguments: &[&str]) -> Ran {
        finish(self.command(arguments))
    }

    fn text(&self) -> String {
        fs::read_to_string(&self.file).expect("settings")
    }

    fn journal(&self, agent: &str) -> PathBuf {
        self.place.home().join(format!("{agent}.json"))
    }
}

#[test]
fn settings_of_every_agent_come_back_byte_for_byte() {
    for case in CASES {
        for own in case.own {
            let machine = Machine::new(case.file, Some(own));
            let ran = machine.run(&["install", case.agent, "--yes"]).ok();
            assert!(ran.out.contains("+ ") && ran.out.contains(&format!("uses {URL}")), "{ran:?}");
            for line in case.written {
                assert!(machine.text().contains(line), "{}: {line} is not in {}", case.agent, machine.text());
            }
            let installed = machine.text();
            let again = machine.run(&["install", case.agent, "--yes"]).ok();
            assert!(again.out.contains("Nothing to do"), "{again:?}");
            assert_eq!(machine.text(), installed, "doing it twice is doing it once");
            machine.run(&["uninstall", case.agent, "--yes"]).ok();
            assert_eq!(machine.text(), *own, "{}", case.agent);
            assert!(!machine.journal(case.agent).exists());
        }
    }
}

#[test]
fn an_agent_that_was_never_started_gets_a_file_that_goes_again() {
    for case in CASES.iter().filter(|case| case.agent != "cline") {
        let machine = Machine::new(case.file, None);
        machine.run(&["install", case.agent, "--yes"]).ok();
        assert!(case.written.iter().all(|line| machine.text().contains(line)), "{}", machine.text());
        machine.run(&["uninstall", case.agent, "--yes"]).ok();
        let left: Vec<_> =
            fs::read_dir(machine.place.path("")).expect("a folder").flatten().map(|e| e.file_name()).collect();
        assert!(!machine.file.exists() && left.iter().all(|name| name == "home" || name == "work"), "{left:?}");
    }
}

#[test]
fn only_our_entries_leave_a_file_that_was_changed_since() {
    for case in CASES {
        let machine = Machine::new(case.file, Some(case.own[0]));
        machine.run(&["install", case.agent, "--yes"]).ok();
        let (before, line) = match case.file.rsplit('.').next() {
            Some("json") => ("{", "\"later\": 1, "),
            Some("toml") => ("", "later = 1\n"),
            Some("env") => ("", "LATER=1\n"),
            _ => ("", "later: 1\n"),
        };
        let changed = machine.text().replacen(before, &format!("{before}{line}"), 1);
        fs::write(&machine.file, changed).expect("written");
        machine.run(&["uninstall", case.agent, "--yes"]).ok();
        assert_eq!(machine.text(), case.own[0].replacen(before, &format!("{before}{line}"), 1), "{}", case.agent);
    }
}

#[test]
fn nothing_is_written_without_a_yes_and_a_dry_run_shows_it() {
    for case in CASES {
        let machine = Machine::new(case.file, Some(case.own[0]));
        let ran = machine.run(&["install", case.agent]);
        assert!(ran.code == Some(1) && ran.err.contains("nothing was changed"), "{ran:?}");
        let ran = machine.run(&["install", case.agent, "--dry-run"]).ok();
        assert!(ran.out.contains(URL) && ran.out.contains("dry run"), "{ran:?}");
        let told = machine.run(&["install", case.agent, "--dry-run", "--json"]).ok().json();
        assert_eq!((&told["written"], &told["files"][0]["change"]), (&json!(false), &json!("changed")));
        assert_eq!(machine.text(), case.own[0]);
    }
}

#[test]
fn broken_settings_are_never_overwritten() {
    for (agent, file, text, place) in [
        ("codex", ".codex/config.toml", "a = 1\nb = \n", "line 2"),
        ("codex", ".codex/config.toml", "model_providers = { x = { name = \"y\" } }\n", "line 1, column 19"),
        ("opencode", ".config/opencode/opencode.json", "{\n", "line 2"),
        ("goose", ".config/goose/config.yaml", "a: [1\nb: 2\n", "line 2"),
        ("goose", ".config/goose/config.yaml", "- a\n", "name: value"),
        ("aider", ".aider.conf.yml", "set-env:\n  - A=1\n", "add `set-env: [\"ANTHROPIC_API_BASE="),
        ("pi", ".pi/agent/models.json", "{\"providers\": []}", "`providers` is not an object"),
    ] {
        let machine = Machine::new(file, Some(text));
        let ran = machine.run(&["install", agent, "--yes", "--force"]).refused();
        assert!(ran.err.contains(place) && ran.err.contains("nothing was changed"), "{agent}: {ran:?}");
        assert_eq!(machine.text(), text);
        assert!(!machine.journal(agent).exists());
    }
}

#[cfg(unix)]
#[test]
fn links_stay_and_a_link_to_nothing_is_refused() {
    let machine = Machine::new(".codex/config.toml", Some(""));
    let dotfile = machine.place.write("dot.toml", "model = \"x\"\n");
    fs::remove_file(&machine.file).expect("removed");
    std::os::unix::fs::symlink(&dotfile, &machine.file).expect("a link");
    machine.run(&["install", "codex", "--yes"]).ok();
    assert!(machine.file.is_symlink() && machine.text().contains("model_provider"));
    machine.run(&["uninstall", "codex", "--yes"]).ok();
    assert_eq!(fs::read_to_string(&dotfile).expect("text"), "model = \"x\"\n");
    fs::remove_file(dotfile).expect("removed");
    assert!(machine.run(&["install", "codex", "--yes"]).refused().err.contains("a link to a missing file"));
}

#[test]
fn an_address_or_a_provider_of_the_users_own_is_replaced_only_by_force() {
    for (agent, file, text, told) in [
        ("codex", ".codex/config.toml", "model_provider = \"azure\"\n", "`azure`"),
        ("goose", ".config/goose/config.yaml", "OPENAI_HOST: https://gw.example/x\n", "https://gw.example/x"),
        ("gemini-cli", ".gemini/.env", "GOOGLE_GEMINI_BASE_URL=https://me:hush@gw.example\n", "another address"),
        (
            "opencode",
            ".config/opencode/opencode.json",
            "{\"provider\":{\"openai\":{\"options\":{\"baseURL\":\"https://gw.example\"}}}}",
            "https://gw.example",
        ),
    ] {
        let machine = Machine::new(file, Some(text));
        let ran = machine.run(&["install", agent, "--yes"]).refused();
        assert!(ran.err.contains(told) && ran.err.contains("--force"), "{ran:?}");
        assert_eq!(machine.text(), text);
        let forced = machine.run(&["install", agent, "--yes", "--force"]).ok();
        assert!(!format!("{ran:?}{forced:?}").contains("hush"), "{forced:?}");
        machine.run(&["uninstall", agent, "--yes"]).ok();
        assert_eq!(machine.text(), text);
    }
}

#[test]
fn codex_goes_by_its_login_or_by_its_key() {
    let base_url = |auth: Option<&str>, key: bool| {
        let machine = Machine::new(".codex/config.toml", Some(""));
        if let Some(auth) = auth {
            fs::write(machine.file.with_file_name("auth.json"), auth).expect("written");
        }
        let mut command = machine.command(&["install", "codex", "--yes"]);
        if key {
            command.env("OPENAI_API_KEY", "k");
        }
        finish(command).ok();
        let line = machine.text().lines().find_map(|line| line.strip_prefix("base_url = ").map(str::to_owned));
        (line.expect("a line").contains("/v1"), machine.text().contains("env_key"))
    };
    assert_eq!(base_url(None, true), (true, true));
    assert_eq!(base_url(Some("{\"tokens\": {\"id_token\": \"x\"}}"), true), (false, false));
    assert_eq!(base_url(Some("{\"OPENAI_API_KEY\": \"k\", \"tokens\": null}"), false), (true, false));
    assert_eq!(base_url(None, false), (false, false));
}

#[test]
fn the_mcp_server_is_registered_where_the_agent_looks() {
    for (agent, file, path) in [
        ("opencode", ".config/opencode/opencode.json", "/mcp/ctx/command/1"),
        ("gemini-cli", ".gemini/settings.json", "/mcpServers/ctx/args/0"),
        ("qwen", ".qwen/settings.json", "/mcpServers/ctx/args/0"),
    ] {
        let machine = Machine::new(file, None);
        machine.run(&["install", agent, "--yes", "--mcp"]).ok();
        let settings: Value = serde_json::from_str(&machine.text()).expect("JSON");
        assert_eq!(settings.pointer(path), Some(&json!("mcp")), "{settings}");
        machine.run(&["install", agent, "--yes"]).ok();
        assert!(machine.text().contains("\"mcp\""), "it stays when the agent is installed again");
        machine.run(&["uninstall", agent, "--yes"]).ok();
        assert!(!machine.file.exists());
    }
    let machine = Machine::new(".codex/config.toml", Some("a = 1\n"));
    machine.run(&["install", "codex", "--yes", "--mcp"]).ok();
    assert!(
        machine.text().contains("[mcp_servers.ctx]\n") && machine.text().contains("args = [\"mcp\"]\n"),
        "{}",
        machine.text()
    );
    assert!(machine.text().contains("env = { CTX_HOME = "), "{}", machine.text());
    machine.run(&["uninstall", "codex", "--yes"]).ok();
    assert_eq!(machine.text(), "a = 1\n");
    let again = machine.run(&["uninstall", "codex", "--yes"]).ok();
    assert!(again.out.contains("not installed for Codex") && !again.out.contains("--scope"), "{again:?}");
}

#[test]
fn the_mcp_server_of_cline_stands_in_a_file_beside_its_settings() {
    let case = CASES.iter().find(|case| case.agent == "cline").expect("a case");
    let machine = Machine::new(case.file, Some(case.own[0]));
    let servers = machine.file.with_file_name("cline_mcp_settings.json");
    let own = "{\"mcpServers\": {\"mine\": {\"command\": \"x\"}}}\n";
    fs::write(&servers, own).expect("written");
    machine.run(&["install", "cline", "--yes", "--mcp"]).ok();
    let written: Value = serde_json::from_slice(&fs::read(&servers).expect("servers")).expect("JSON");
    assert_eq!(written.pointer("/mcpServers/ctx/args/0"), Some(&json!("mcp")), "{written}");
    assert_eq!(written.pointer("/mcpServers/mine/command"), Some(&json!("x")), "{written}");
    machine.run(&["uninstall", "cline", "--yes"]).ok();
    assert_eq!((fs::read_to_string(&servers).expect("servers"), machine.text()), (own.into(), case.own[0].into()));
}

#[cfg(unix)]
#[test]
fn a_path_with_a_space_is_quoted_for_a_shell_and_nowhere_else() {
    let cline = CASES.iter().find(|case| case.agent == "cline").expect("a case");
    let machine = Machine::new(cline.file, Some(cline.own[0]));
    let folder = machine.place.path("my tools");
    fs::create_dir(&folder).expect("a folder");
    let ctx = folder.canonicalize().expect("a folder").join("ctx");
    let own = env!("CARGO_BIN_EXE_ctx");
    fs::hard_link(own, &ctx).or_else(|_| fs::copy(own, &ctx).map(|_| ())).expect("a program");
    let install = |agent: &str, more: &[&str]| {
        let mut command = machine.place.alone(&ctx);
        command.env("CTX_LISTEN", "127.0.0.1:8788").env("PATH", machine.place.path("bin"));
        command.args([&["install", agent, "--yes", "--mcp"], more].concat());
        finish(command).ok();
    };
    let text = |file: &str| fs::read_to_string(machine.place.path(file)).expect(file);
    let raw = ctx.display().to_string();
    for (agent, file, path) in [
        ("claude-code", ".claude.json", "/mcpServers/ctx/command"),
        ("opencode", ".config/opencode/opencode.json", "/mcp/ctx/command/0"),
        ("gemini-cli", ".gemini/settings.json", "/mcpServers/ctx/command"),
        ("qwen", ".qwen/settings.json", "/mcpServers/ctx/command"),
        ("cline", ".cline/data/settings/cline_mcp_settings.json", "/mcpServers/ctx/command"),
    ] {
        install(agent, &[]);
        let settings: Value = serde_json::from_str(&text(file)).expect("JSON");
        assert_eq!(settings.pointer(path), Some(&json!(raw)), "{agent}: {settings}");
    }
    install("codex", &[]);
    assert!(text(".codex/config.toml").contains(&format!("command = \"{raw}\"\n")), "{}", text(".codex/config.toml"));
    install("claude-code", &["--status-line"]);
    assert!(text(".claude/settings.json").contains(&format!("\"'{raw}' status-line\"")));
    for skill in [".claude/skills/compose-context/SKILL.md", ".codex/skills/compose-context/SKILL.md"] {
        assert!(text(skill).contains(&format!("`'{raw}' list --json")), "{skill}");
        assert!(!text(skill).replace(&format!("'{raw}'"), "").contains(&raw), "{skill}");
    }
}

/// The agents that read skills, and where.
const SKILLS: [(&str, &str); 7] = [
    ("codex", ".codex"),
    ("opencode", ".config/opencode"),
    ("gemini-cli", ".gemini"),
    ("qwen", ".qwen"),
    ("goose", ".config/goose"),
    ("pi", ".pi/agent"),
    ("cline", ".cline"),
];

#[test]
fn an_agent_with_skills_gets_one_that_is_shown_before_and_goes_again() {
    for (agent, folder) in SKILLS {
        let case = CASES.iter().find(|case| case.agent == agent).expect("a case");
        let machine = Machine::new(case.file, Some(case.own[0]));
        let skill = machine.place.path(folder).join("skills/compose-context/SKILL.md");
        let shown = machine.run(&["install", agent, "--dry-run"]).ok();
        assert!(shown.out.contains("compose-context/SKILL.md (new)") && !skill.exists(), "{shown:?}");
        machine.run(&["install", agent, "--yes"]).ok();
        let text = fs::read_to_string(&skill).expect("a skill");
        assert!(
            text.starts_with("---\nname: compose-context\ndescription: ") && text.contains(" list --json"),
            "{text}"
        );
        machine.run(&["uninstall", agent, "--yes"]).ok();
        assert!(!skill.exists() && !skill.parent().expect("a folder").exists(), "{agent}");

        // A file of the user's comes back, and one that was changed since stays.
        fs::create_dir_all(skill.parent().expect("a folder")).expect("folders");
        fs::write(&skill, "mine\r\n").expect("written");
        machine.run(&["install", agent, "--yes"]).ok();
        assert_eq!(fs::read_to_string(&skill).expect("a skill"), text);
        machine.run(&["uninstall", agent, "--yes"]).ok();
        assert_eq!(fs::read_to_string(&skill).expect("a skill"), "mine\r\n");
        machine.run(&["install", agent, "--yes"]).ok();
        fs::write(&skill, "changed").expect("written");
        let again = machine.run(&["install", agent, "--yes"]).ok();
        assert!(format!("{again:?}").contains("--force replaces it"), "{again:?}");
        machine.run(&["uninstall", agent, "--yes"]).ok();
        assert_eq!(fs::read_to_string(&skill).expect("a skill"), "changed", "{agent}");
    }
}

#[test]
fn a_project_has_settings_of_its_own_where_the_agent_reads_them() {
    let machine = Machine::new("work/opencode.json", Some("{}"));
    let skill = machine.place.path("work/.opencode/skills/compose-context/SKILL.md");
    machine.run(&["install", "opencode", "--yes", "--scope", "project"]).ok();
    assert!(machine.text().contains(URL) && skill.exists());
    machine.run(&["uninstall", "opencode", "--yes", "--scope", "project"]).ok();
    assert!(machine.text() == "{}" && !machine.place.path("work/.opencode").exists());
    let ran = machine.run(&["install", "codex", "--yes", "--scope", "project"]).refused();
    assert!(ran.err.contains("only from the user's settings"), "{ran:?}");
}

#[test]
fn what_cannot_be_written_is_said_with_the_line_to_write() {
    let machine = Machine::new(".continue/config.yaml", Some("models: []\n"));
    let ran = machine.run(&["install", "continue", "--yes"]).refused();
    assert!(ran.err.contains("`apiBase: http://127.0.0.1:8788/v1/`") && ran.err.contains("config.yaml"), "{ran:?}");
    let machine = Machine::new(".cline/data/settings/providers.json", Some("{}"));
    let ran = machine.run(&["install", "cline", "--yes"]).refused();
    assert!(ran.err.contains("has no `providers.anthropic.settings`") && ran.err.contains("cline auth"), "{ran:?}");
}

#[test]
fn without_a_name_every_agent_on_the_machine_is_set_up_and_taken_back() {
    let machine = Machine::new(".codex/config.toml", Some("a = 1\n"));
    let nothing = Machine::new("nothing", None).run(&["install", "--yes"]).refused();
    assert!(nothing.err.contains("no supported agent"), "{nothing:?}");
    fs::create_dir_all(machine.place.path("bin")).expect("a folder");
    fs::write(machine.place.path("bin/goose"), "").expect("a program");
    fs::create_dir_all(machine.place.path(".continue")).expect("a folder");
    fs::write(machine.place.path(".continue/config.yaml"), "models: []\n").expect("settings");
    let goose = machine.place.path(".config/goose/config.yaml");
    let shown = machine.run(&["install", "--dry-run"]).ok();
    assert!(shown.out.contains("config.toml") && shown.out.contains("config.yaml (new)"), "{shown:?}");
    assert!(shown.err.contains("skipped Continue") && !goose.exists(), "{shown:?}");
    let told = machine.run(&["install", "--yes", "--json"]).ok().json();
    let names: Vec<_> = told["agents"].as_array().expect("agents").iter().map(|agent| agent["agent"].clone()).collect();
    assert_eq!(names, [json!("Codex"), json!("goose")]);
    assert!(machine.text().contains("model_provider") && goose.exists());
    machine.run(&["uninstall", "--yes"]).ok();
    assert_eq!(machine.text(), "a = 1\n");
    assert!(!goose.exists());
    assert!(machine.run(&["uninstall", "--yes"]).ok().err.contains("ctx is not installed for any agent"));
}

#[cfg(unix)]
#[test]
fn an_agent_with_read_only_settings_is_skipped_and_the_others_are_set_up() {
    use std::os::unix::fs::PermissionsExt;
    let machine = Machine::new(".codex/config.toml", Some("a = 1\n"));
    let set_mode = |mode| fs::set_permissions(&machine.file, fs::Permissions::from_mode(mode)).expect("a mode");
    set_mode(0o444);
    let alone = machine.run(&["install", "--yes"]).refused();
    assert!(alone.err.contains("config.toml is read-only; nothing was changed"), "{alone:?}");
    fs::create_dir_all(machine.place.path("bin")).expect("a folder");
    fs::write(machine.place.path("bin/goose"), "").expect("a program");
    fs::create_dir_all(machine.place.path(".gemini")).expect("a folder");
    fs::write(machine.place.path(".gemini/.env"), "A=1\n").expect("settings");
    let told = machine.run(&["install", "--yes", "--json"]).ok();
    let written = |told: &Value| -> Vec<(String, bool)> {
        let agents = told["agents"].as_array().expect("agents").iter();
        agents.map(|one| (one["agent"].as_str().unwrap_or_default().into(), one["written"] == true)).collect()
    };
    assert!(told.err.contains("skipped Codex") && !told.err.contains("nothing was changed"), "{told:?}");
    assert!(written(&told.json()).contains(&("Codex".into(), false)), "{told:?}");
    assert_eq!(written(&told.json()).iter().filter(|(_, written)| *written).count(), 2, "{told:?}");
    assert_eq!(machine.text(), "a = 1\n");
    assert!(fs::read_to_string(machine.place.path(".gemini/.env")).expect("settings").contains("127.0.0.1:8788"));

    set_mode(0o644);
    machine.run(&["install", "--yes"]).ok();
    set_mode(0o444);
    let ran = machine.run(&["uninstall", "--yes"]).ok();
    assert!(ran.err.contains("skipped Codex") && ran.out.contains("goose no longer uses ctx"), "{ran:?}");
    assert_eq!(fs::read_to_string(machine.place.path(".gemini/.env")).expect("settings"), "A=1\n");
    assert!(machine.run(&["uninstall", "--yes"]).refused().err.contains("is read-only"), "it is still installed there");
}

#[test]
fn output_without_a_reader_keeps_nobody_from_the_changes() {
    let machine = Machine::new(".codex/config.toml", Some("a = 1\n"));
    let run = |arguments: &[&str]| finish_unread(machine.command(arguments));
    assert_eq!((run(&["install"]), machine.text()), (Some(1), "a = 1\n".to_owned()), "nobody could see it");
    assert_eq!((run(&["install", "--dry-run"]), machine.text()), (Some(0), "a = 1\n".to_owned()));
    assert_eq!(run(&["install", "--yes"]), Some(0));
    assert!(machine.text().contains("model_provider"));
    assert_eq!((run(&["uninstall", "codex", "--yes"]), machine.text()), (Some(0), "a = 1\n".to_owned()));
}

#[test]
fn keys_in_settings_are_neither_shown_nor_remembered() {
    for (agent, file, text) in [
        ("gemini-cli", ".gemini/.env", "GEMINI_API_KEY=hush\n"),
        ("codex", ".codex/config.toml", "[model_providers.x]\nexperimental_bearer_token = \"hush\"\n"),
        ("aider", ".aider.conf.yml", "openai-api-key: hush\n"),
    ] {
        let machine = Machine::new(file, Some(text));
        let ran = machine.run(&["install", agent, "--yes"]).ok();
        assert!(!format!("{ran:?}").contains("hush"), "{ran:?}");
        let remembered = fs::read_to_string(machine.journal(agent)).expect("a journal");
        assert!(!remembered.contains("hush"), "{remembered}");
    }
}
