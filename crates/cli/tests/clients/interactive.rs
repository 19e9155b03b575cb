//! Stock Claude Code in a terminal: side questions, its own compaction, rewinding and clearing.

use std::ops::Deref;
use std::process::Command;

use serde_json::{Value, json};

use crate::claude::{Claude, KEY};
use crate::stage::{Stage, until};
use crate::terminal::Terminal;

/// A terminal that runs the client.
pub struct ClaudeTerminal<'a> {
    stage: &'a Stage,
    terminal: Terminal,
}

impl Deref for ClaudeTerminal<'_> {
    type Target = Terminal;

    fn deref(&self) -> &Terminal {
        &self.terminal
    }
}

impl<'a> ClaudeTerminal<'a> {
    fn open(stage: &'a Stage, claude: &Claude) -> Option<ClaudeTerminal<'a>> {
        ClaudeTerminal::open_in(stage, claude, &claude.environment(stage))
    }

    pub fn open_in(stage: &'a Stage, claude: &Claude, environment: &[(&str, String)]) -> Option<ClaudeTerminal<'a>> {
        let work = stage.path("work").display().to_string();
        let settings = json!({
            "hasCompletedOnboarding": true, "lastOnboardingVersion": "9.9.9", "theme": "dark", "autoUpdates": false,
            "customApiKeyResponses": {"approved": [&KEY[KEY.len() - 20..]], "rejected": []},
            "projects": {work.as_str(): {"hasTrustDialogAccepted": true, "hasCompletedProjectOnboarding": true, "allowedTools": []}},
        });
        std::fs::write(stage.path("config").join(".claude.json"), settings.to_string()).expect("the settings");
        let mut command = Command::new(claude.program());
        command.args(["--permission-mode", "acceptEdits"]).current_dir(stage.path("work"));
        command.envs(environment.iter().map(|(name, value)| (name, value)));
        let terminal = Terminal::open(stage.path("tmux"), &command)?;
        until("the client is ready", || terminal.screen().contains("accept edits").then_some(()));
        Some(ClaudeTerminal { stage, terminal })
    }

    /// Rewinds to before the newest question.
    fn rewind(&self) {
        self.say("/rewind");
        self.wait_for("Rewind");
        self.press("Up");
        self.press("Enter");
        self.wait_for("Restore conversation");
        self.press("1");
        self.idle();
        self.press("C-u");
    }

    /// Types a prompt and waits for the reply that it requests from the fake provider.
    pub fn ask(&self, prompt: &str, answer: &str) {
        self.say(prompt);
        self.wait_for(answer);
        self.idle();
    }

    /// Waits until no request is running.
    fn idle(&self) {
        let mut quiet = 0;
        until("the client is idle", || {
            let exchanges = self.stage.front.exchanges();
            let busy =
                exchanges.iter().any(|exchange| !exchange.is_over()) || self.screen().contains("esc to interrupt");
            quiet = if busy { 0 } else { quiet + 1 };
            (quiet > 10).then_some(())
        });
    }
}

fn titles(stage: &Stage, conversation: &Value) -> Vec<String> {
    stage.turns(conversation).iter().map(|turn| turn["title"].as_str().unwrap_or_default().to_owned()).collect()
}

/// One session through all interactive features, with and without the client's own hints.
fn a_day_at_the_terminal(claude: &Claude) {
    let stage = Stage::new();
    let Some(terminal) = ClaudeTerminal::open(&stage, claude) else { return };
    terminal.ask("SAY:alpha-answer", "● alpha-answer");
    terminal.ask("SAY:beta-answer", "● beta-answer");
    let main = |stage: &Stage| stage.conversation(|conversation| conversation["class"] == "main");
    assert_eq!(titles(&stage, &main(&stage)), ["SAY:alpha-answer", "SAY:beta-answer"]);

    // A side question carries the history and adds nothing to it.
    terminal.say("/btw SAY:aside-answer");
    terminal.wait_for("aside-answer");
    terminal.idle();
    terminal.press("Escape");
    let conversation = main(&stage);
    assert_eq!(titles(&stage, &conversation).len(), 2);
    let sides = stage
        .verdicts(&conversation)
        .iter()
        .filter(|(class, verdict)| class == "auxiliary" && verdict == "side")
        .count();
    assert!(sides >= 1, "{:?}", stage.verdicts(&conversation));

    // Rewind: the abandoned branch disappears from view.
    terminal.rewind();
    terminal.ask("SAY:gamma-answer", "● gamma-answer");
    let conversation = main(&stage);
    assert_eq!(titles(&stage, &conversation), ["SAY:alpha-answer", "SAY:gamma-answer"]);
    assert_eq!(stage.verdicts(&conversation).last().map(|(_, verdict)| verdict.as_str()), Some("rewind"));

    // The client's own compaction: a request for a summary, then a new root in the same conversation.
    terminal.say("/compact");
    until("the history is compacted", || {
        stage.verdicts(&main(&stage)).iter().any(|(class, _)| class == "compaction").then_some(())
    });
    terminal.idle();
    terminal.ask("SAY:delta-answer", "● delta-answer");
    let conversation = main(&stage);
    assert_eq!(stage.verdicts(&conversation).last(), Some(&("main".to_owned(), "compaction".to_owned())));
    assert_eq!(titles(&stage, &conversation).last().map(String::as_str), Some("SAY:delta-answer"));
    stage.assert_dump_was_sent(&conversation);

    // Clearing starts another conversation.
    terminal.say("/clear");
    terminal.idle();
    terminal.ask("SAY:epsilon-answer", "● epsilon-answer");
    let mains: Vec<Value> =
        stage.conversations().into_iter().filter(|conversation| conversation["class"] == "main").collect();
    assert_eq!(mains.len(), 2);
    let active = stage.conversation(|conversation| conversation["active"] == true);
    assert_eq!(titles(&stage, &active).last().map(String::as_str), Some("SAY:epsilon-answer"));
    drop(terminal);
    stage.assert_faithful();
}

#[test]
fn a_session_in_a_terminal_is_followed_through_side_questions_rewind_compaction_and_clear() {
    let Some(claude) = Claude::find() else { return };
    a_day_at_the_terminal(&claude);
}

#[test]
fn the_same_with_the_clients_own_hints() {
    let Some(claude) = Claude::find() else { return };
    a_day_at_the_terminal(&claude.hinting());
}

/// Deleted content stays out of side questions, a rewound branch and the client's own summary, and the client continues
/// after all of them.
#[test]
fn edits_hold_through_side_questions_rewind_and_the_clients_own_compaction() {
    let Some(claude) = Claude::find() else { return };
    let stage = Stage::new();
    let Some(terminal) = ClaudeTerminal::open(&stage, &claude) else { return };
    terminal.ask("SAY:alpha-answer", "● alpha-answer");
    terminal.ask("SAY:plover-answer", "● plover-answer");
    terminal.ask("SAY:beta-answer", "● beta-answer");
    let before = stage.received_bodies().len();
    let main = stage.conversation(|conversation| conversation["class"] == "main");
    let id = main["id"].as_str().expect("an id");
    let deleted = stage.json(&["delete", "t2", "--conv", id]);
    assert!(deleted["commit"].is_string(), "{deleted:#}");

    terminal.say("/btw SAY:aside-answer");
    terminal.wait_for("aside-answer");
    terminal.idle();
    terminal.press("Escape");

    terminal.rewind();
    terminal.ask("SAY:gamma-answer", "● gamma-answer");

    terminal.say("/compact");
    until("the history is compacted", || {
        stage.verdicts(&main).iter().any(|(class, _)| class == "compaction").then_some(())
    });
    terminal.idle();
    terminal.ask("SAY:delta-answer", "● delta-answer");
    drop(terminal);

    let since = stage.received_bodies().split_off(before);
    assert!(since.len() >= 4, "an aside, a turn, a summary and a turn: {}", since.len());
    for body in since {
        let text = String::from_utf8_lossy(&body);
        assert!(!text.contains("plover"), "what was deleted came back: {text}");
    }
    let answers = stage.json(&["timeline", "--conv", id]);
    let refused = answers["events"].as_array().expect("events").iter().filter(|event| event["status"] == 400).count();
    assert_eq!(refused, 0, "the provider refused something");
}
