//! Stock Claude Code with only the settings of `ctx install claude-code`: it uses the daemon, in both scopes, and edits
//! its own context on `/compose-context` without asking for permissions.

use std::path::PathBuf;
use std::process::{Command, Output};

use serde_json::Value;

use crate::claude::Claude;
use crate::interactive::ClaudeTerminal;
use crate::stage::{Stage, finish};

/// A client that knows the daemon only from its settings.
struct Installed<'a> {
    claude: &'a Claude,
    stage: &'a Stage,
}

impl<'a> Installed<'a> {
    fn new(claude: &'a Claude, stage: &'a Stage, flags: &[&str]) -> Self {
        let programs = stage.path("bin");
        std::fs::create_dir_all(&programs).expect("a folder");
        let _ = std::fs::remove_file(programs.join("ctx"));
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_ctx"), programs.join("ctx")).expect("a link");
        let installed = Self { claude, stage };
        let ran = installed.ctx(&[&["install", "claude-code", "--yes"], flags].concat());
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
        installed
    }

    fn environment(&self) -> Vec<(&'static str, String)> {
        let mut environment = self.claude.environment(self.stage);
        for (name, value) in &mut environment {
            match *name {
                "PATH" => *value = format!("{}:{value}", self.stage.path("bin").display()),
                // Nothing listens at its default address.
                "ANTHROPIC_BASE_URL" => *value = "http://127.0.0.1:1".to_owned(),
                _ => {}
            }
        }
        environment
    }

    fn ctx(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new(self.stage.path("bin").join("ctx"));
        command.args(arguments).env_clear().envs(self.environment()).env("CTX_HOME", self.stage.path("ctx"));
        command.env_remove("ANTHROPIC_BASE_URL").current_dir(self.stage.path("work"));
        finish(command)
    }

    /// Runs it headless once, with only the permissions of the settings and the skill.
    fn ask(&self, prompt: &str, arguments: &[&str]) -> Value {
        let mut command = Command::new(self.claude.program());
        command.args(["-p", prompt, "--output-format", "json"]).args(arguments);
        command.env_clear().envs(self.environment()).current_dir(self.stage.path("work"));
        let output = finish(command);
        let said = String::from_utf8_lossy(&output.stdout);
        let result: Value = serde_json::from_str(&said)
            .unwrap_or_else(|_| panic!("claude said: {said}\n{}", String::from_utf8_lossy(&output.stderr)));
        assert_eq!(result["is_error"], false, "{result:#}");
        result
    }

    /// Makes the provider follow the skill: the fake one takes its script from the text it reads.
    fn script(&self, skill: PathBuf, steps: &[&str]) {
        let mut text = std::fs::read_to_string(&skill).expect("the skill");
        text.push_str(&format!("\n{}\n", steps.join("\nTHEN\n")));
        std::fs::write(skill, text).expect("written");
    }

    /// A session in which a file was read.
    fn read_notes(&self) -> String {
        let path = self.stage.file("notes.txt", "the pelican lives in the notes\n");
        let result = self.ask(&format!("USE_TOOL:Read:{path} ;; THEN ;; SAY:the heron was read"), &[]);
        assert!(self.sent().contains("the pelican lives"));
        result["session_id"].as_str().expect("a session").to_owned()
    }

    /// The newest model call as the provider received it.
    fn sent(&self) -> String {
        String::from_utf8(self.stage.received_bodies().pop().expect("a request")).expect("text")
    }

    /// The tool results of the newest call, in order, as the provider received them.
    fn results(&self) -> Vec<String> {
        let sent: Value = serde_json::from_str(&self.sent()).expect("JSON");
        let messages = sent["messages"].as_array().expect("messages").iter();
        let blocks = messages.filter_map(|message| message["content"].as_array()).flatten();
        let results = blocks.filter(|block| block["type"] == "tool_result");
        results
            .map(|block| block["content"].as_str().map_or_else(|| block["content"].to_string(), str::to_owned))
            .collect()
    }
}

fn bash(command: &str) -> String {
    format!("USE_TOOL:Bash:{}", serde_json::json!({ "command": command }))
}

const DROP: &str = r#"{"op":"drop-results","ids":["t1"]}"#;

fn composes(scope: &str, config: &str) {
    let Some(claude) = Claude::find() else { return };
    let stage = Stage::new();
    let installed = Installed::new(&claude, &stage, &["--scope", scope]);
    let session = installed.read_notes();
    let conversation = stage.conversation(|conversation| conversation["session"] == *session);
    let verdicts = stage.verdicts(&conversation);
    assert!(
        verdicts.iter().all(|(class, _)| class == "main"),
        "the client says what its requests are for: {verdicts:?}"
    );
    // Another conversation is active by now.
    installed.ask("SAY:something else", &[]);

    installed.script(
        stage.path(config).join("skills/compose-context/SKILL.md"),
        &[
            &bash("ctx list --json --compact"),
            &bash(&format!("ctx batch - --dry-run --expect none <<< '{DROP}\n{}'", r#"{"op":"pin","ids":["t1"]}"#)),
            &bash(&format!("ctx batch - --expect none --note 'what was read first' <<< '{DROP}'")),
            &bash("ctx run -- touch ran-away"),
            "SAY:I dropped what was read",
        ],
    );
    let prompt = "/compose-context drop the results of the first turn";
    let result = installed.ask(prompt, &["--resume", &session]);
    assert_eq!(result["result"], "I dropped what was read");
    assert_eq!(result["permission_denials"].as_array().map(Vec::len), Some(1), "{result:#}");
    assert!(!stage.path("work").join("ran-away").exists(), "it may edit the context, and nothing else");

    let results = installed.results();
    let [read, list, preview, applied, denied] = results.as_slice() else { panic!("{results:#?}") };
    assert!(!read.contains("the pelican lives"), "already the next request is without it: {read}");
    assert!(list.contains(conversation["id"].as_str().expect("an id")), "its own conversation: {list}");
    assert!(preview.starts_with("preview") && preview.contains("t1"), "{preview}");
    assert!(applied.contains("drop-results t1"), "{applied}");
    assert!(denied.contains("approval"), "{denied}");
    let turns = stage.turns(&conversation);
    assert_eq!(
        turns.last().map(|turn| turn["title"].clone()),
        Some(prompt.into()),
        "it is called what it was asked for"
    );
    let history = stage.json(&["history", "--conv", &session]);
    assert_eq!(history["commits"].as_array().map(Vec::len), Some(1), "{history:#}");
    assert_eq!(history["commits"][0]["note"], "what was read first");
    assert_eq!(history["commits"][0]["author"], "agent", "it was not a person");

    installed.ask("SAY:on we go", &["--resume", &session]);
    assert!(!installed.sent().contains("the pelican lives") && installed.sent().contains("heron"));
    stage.json(&["undo", "--conv", &session]);
    installed.ask("SAY:on we go", &["--resume", &session]);
    assert!(installed.sent().contains("the pelican lives"), "nothing was lost");
}

#[test]
fn the_agent_drops_the_results_of_the_first_turn_on_request() {
    composes("user", "config");
}

#[test]
fn the_agent_of_one_project_does_so_too() {
    composes("project", "work/.claude");
}

#[test]
fn the_agent_may_take_the_skill_itself_and_stays_in_the_frame_of_the_prompt() {
    let Some(claude) = Claude::find() else { return };
    let stage = Stage::new();
    let installed = Installed::new(&claude, &stage, &[]);
    let session = installed.read_notes();
    let skill = stage.path("config").join("skills/compose-context/SKILL.md");
    installed.script(skill, &[&bash(&format!("ctx batch - <<< '{DROP}'")), "SAY:dropped"]);
    let prompt =
        r#"please forget what you read ;; USE_TOOL:Skill:{"skill":"compose-context","args":"forget what was read"}"#;
    // The user is asked whether the agent may use the skill, not about its actions.
    let result = installed.ask(prompt, &["--resume", &session, "--allowedTools", "Skill"]);
    assert_eq!(result["permission_denials"], serde_json::json!([]), "{result:#}");
    assert!(!installed.sent().contains("the pelican lives"), "{:#?}", installed.results());
    let conversation = stage.conversation(|conversation| conversation["session"] == *session);
    assert_eq!(stage.turns(&conversation).len(), 2);
}

#[test]
fn the_status_line_tells_of_its_session() {
    let Some(claude) = Claude::find() else { return };
    let stage = Stage::new();
    let installed = Installed::new(&claude, &stage, &["--status-line"]);
    let Some(terminal) = ClaudeTerminal::open_in(&stage, &claude, &installed.environment()) else { return };
    terminal.ask("SAY:alpha-answer", "● alpha-answer");
    terminal.wait_for("of 1M (1%)");
    let session = stage.conversation(|conversation| conversation["class"] == "main");
    stage.json(&["edit", "t1", "--text", "a stork", "--conv", session["id"].as_str().expect("an id")]);
    terminal.ask("SAY:beta-answer", "● beta-answer");
    terminal.wait_for(" · saved ");
}

#[test]
fn the_agent_finds_our_server_and_its_own_conversation_there() {
    let Some(claude) = Claude::find() else { return };
    let stage = Stage::new();
    for flags in [&["--mcp"] as &[&str], &["--mcp", "--scope", "project"]] {
        let installed = Installed::new(&claude, &stage, flags);
        let path = stage.file("notes.txt", "the pelican lives in the notes\n");
        let prompt = format!("USE_TOOL:Read:{path} ;; THEN ;; USE_TOOL:mcp__ctx__ctx_list:{{}} ;; THEN ;; SAY:seen");
        let result = installed.ask(&prompt, &["--allowedTools", "mcp__ctx"]);
        let session = result["session_id"].as_str().expect("a session");
        let conversation = stage.conversation(|conversation| conversation["session"] == session);
        let results = installed.results();
        let listed = results.last().expect("a list");
        assert!(
            listed.contains(conversation["id"].as_str().expect("an id")) && listed.contains("t1"),
            "{flags:?}: {listed}"
        );
        let ran = installed.ctx(&[&["uninstall", "claude-code", "--yes"], flags.get(1..).unwrap_or_default()].concat());
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    }
}

#[test]
fn after_uninstalling_the_client_does_not_know_us() {
    let Some(claude) = Claude::find() else { return };
    let stage = Stage::new();
    let installed = Installed::new(&claude, &stage, &["--status-line", "--mcp"]);
    installed.ask("SAY:hello", &[]);
    let before = stage.received_bodies().len();
    // The client has written its own files in the meantime.
    let ran = installed.ctx(&["uninstall", "claude-code", "--yes", "--json"]);
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    assert!(!stage.path("config").join("settings.json").exists() && !stage.path("config").join("skills").exists());
    let own = std::fs::read_to_string(stage.path("config").join(".claude.json")).expect("the client's own");
    assert!(!own.contains("\"ctx\"") && own.contains("\"userID\""), "{own}");
    let mut command = Command::new(claude.program());
    command.args(["-p", "SAY:hello", "--output-format", "json"]);
    command.env_clear().envs(installed.environment());
    command.env("CLAUDE_CODE_MAX_RETRIES", "0").current_dir(stage.path("work"));
    assert!(!finish(command).status.success());
    assert_eq!(stage.received_bodies().len(), before);
}
