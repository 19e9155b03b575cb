//! Mode `observe` reports all edits that `on` would make.

use super::work::{Work, on, results};
use ctx_core::policy::{Mode, Settings};
use serde_json::{Value, json};

fn observe() -> Settings {
    Settings { mode: Mode::Observe, ..ctx_clients::editor_settings() }
}

impl Work {
    /// Outputs full of colours, and a long text that was written. Gives how many tokens less would be sent at last.
    fn noisy(&mut self) -> u64 {
        self.session.user("do all of it");
        self.send();
        let content = "let some_name_here = 1;\r\n".repeat(300);
        self.step_with("Write", json!({"file_path": "/p/new.rs", "content": content}), "written".into());
        for at in 0..18 {
            let line = |line: usize| format!("\u{1b}[32mok\u{1b}[0m {line} of some_part_{at}\r\n");
            let command = json!({"command": format!("make part-{at}")});
            self.step_with("Bash", command, (0..200).map(line).collect());
        }
        // The cache has expired.
        self.clock += 2 * 3_600_000;
        let sent = self.step("Bash", json!({"command": "make the rest"}));
        (self.session.body().len() - sent.to_string().len()) as u64 / 4
    }
}

#[test]
fn what_would_be_trimmed_and_shortened_is_noted_with_what_it_would_save() {
    let mut observed = Work::new(observe());
    assert_eq!(observed.noisy(), 0, "nothing changes");
    assert!(observed.commits().is_empty() && observed.files().is_empty());
    let mut acting = Work::new(on());
    let saved = acting.noisy();
    let events = observed.events("noted");
    let saving =
        |event: &Value| event["tokens_before"].as_u64().unwrap_or(0) - event["tokens_after"].as_u64().unwrap_or(0);
    assert_eq!(events.len(), acting.commits().len(), "each time that something would have been done");
    let noted: u64 = events.iter().map(saving).sum();
    let told = observed.service.context(&observed.conversation).expect("a context").noted;
    for tokens in [noted, told] {
        let off = tokens.abs_diff(saved) as f64 / saved as f64;
        assert!(saved > 5_000 && off < 0.15, "{saved} are saved, {noted} noted, {told} told");
    }
    // After a restart it is told, too, and not said again.
    observed.restart(observe());
    let sent = observed.send();
    assert!(results(&sent).iter().all(|text| !text.starts_with("[Cleared")));
    assert_eq!(observed.events("noted").len(), events.len());
    let again = observed.service.context(&observed.conversation).expect("a context").noted;
    assert!(again.abs_diff(told) < 500, "{again} {told}");
    observed.decide(on());
    assert_eq!(observed.service.context(&observed.conversation).expect("a context").noted, 0);
}
