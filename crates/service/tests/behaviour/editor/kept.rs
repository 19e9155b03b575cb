//! Cleared content of every kind is kept in files.

use super::work::{Work, on, results};
use ctx_engine::log::{HelperUse, PhaseSummary};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};

/// The file that a stub names.
fn file(stub: &str) -> PathBuf {
    let file = stub.split("Read it in ").nth(1).and_then(|rest| rest.split(" if needed.").next());
    Path::new(file.unwrap_or_else(|| panic!("a path in {stub}"))).to_owned()
}

impl Work {
    /// A call whose result is a text and an image.
    fn image(&mut self, at: usize) -> (String, Value) {
        let words: String =
            (0..300).map(|line| format!("line {line} of view {at}, with some_name_{at}\\r\\n")).collect();
        let image = r#"{"type":"image", "source":{"type":"base64","media_type":"image/png","data":"iVBORw0KGgo="}}"#;
        let content = format!(r#"[ {{"type":"text","text":"{words}"}}, {image} ]"#);
        self.spelled.push((format!("\"image-{at}\""), content.clone()));
        (content, self.step_with("Read", json!({"file_path": format!("/p/{at}.png")}), format!("image-{at}")))
    }
}

#[test]
fn results_with_images_go_like_others_in_one_batch_and_are_kept_to_the_byte() {
    let mut work = Work::new(on());
    work.session.user("look at all of them");
    work.send();
    let mut contents = Vec::new();
    let mut last = Value::Null;
    for at in 0..24 {
        let (content, sent) = work.image(at);
        contents.push(content);
        last = sent;
    }
    let sent = results(&last);
    let cleared: Vec<usize> = (0..24).filter(|at| sent[*at].starts_with("[Cleared to save context.")).collect();
    assert!(cleared.len() >= 5 && cleared.iter().all(|at| *at < 19), "{cleared:?}");
    assert!(work.commits().len() <= 4, "in batches: {}", work.commits().len());
    for at in cleared {
        let file = file(&sent[at]);
        assert_eq!(fs::read_to_string(&file).expect("a file"), contents[at], "to the byte");
        assert_eq!(file.extension().and_then(|ending| ending.to_str()), Some("json"));
        assert!(sent[at].contains(&format!("some_name_{at}")), "{}", sent[at]);
    }
}

#[test]
fn what_must_not_go_is_not_counted_on() {
    let mut work = Work::new(on());
    work.session.user("find tools");
    work.send();
    let words = "these are words on a tool\\n".repeat(600);
    for at in 0..4 {
        let content = format!(r#"[{{"type":"text","text":"{words}"}},{{"type":"tool_reference","tool_name":"Read"}}]"#);
        work.spelled.push((format!("\"tool-{at}\""), content));
        work.step_with("Bash", json!({"command": format!("find {at}")}), format!("tool-{at}"));
    }
    let preserved = work.service.context(&work.conversation).expect("a context").preserved;
    for at in 0..9 {
        work.step("Bash", json!({"command": format!("make part-{at}")}));
    }
    let view = work.service.context(&work.conversation).expect("a context");
    assert!(view.preserved >= preserved && view.percent <= 80, "{view:?}");
    let sent = results(&work.send());
    assert!(sent[..4].iter().all(|text| text.starts_with("these are")));
    assert!(sent[4..7].iter().all(|text| text.starts_with("[Cleared")), "down to the target, at once");
    assert_eq!(work.commits().len(), 1);
}

#[test]
fn what_a_call_was_asked_with_is_kept_as_it_was_sent_and_told_apart_from_its_result() {
    let mut work = Work::new(on());
    work.session.user("write it");
    work.send();
    let content = "let some_name_here = 1;\r\n".repeat(200);
    work.spelled.push(("\"NUMBER\"".into(), "12345678901234567890123, \"e\": 1.0e+2".into()));
    let input = json!({"file_path": "/p/new.rs", "content": content, "size": "NUMBER"});
    let said = "it was written, and some_other_name with it\n".repeat(100);
    work.step_with("Write", input, said);
    for at in 0..20 {
        work.step("Bash", json!({"command": format!("make part-{at}")}));
    }
    work.service.clear_now(&work.conversation, "tidy").expect("cleared");
    let sent = work.step("Bash", json!({"command": "make the rest"}));
    let blocks = sent["messages"].as_array().into_iter().flatten().filter_map(|message| message["content"].as_array());
    let call = blocks.flatten().find(|block| block["name"] == "Write").expect("the call");
    let stub = call["input"]["content"].as_str().expect("a text");
    assert!(stub.starts_with("[removed to save context; it was done. Read it in "), "{stub}");
    assert!(stub.ends_with(" if needed. Names in it: some_name_here]"), "{stub}");
    let kept = fs::read_to_string(file(stub)).expect("a file");
    let spelled = r#""size":12345678901234567890123, "e": 1.0e+2"#;
    assert!(kept.contains(spelled) && kept.contains(r"some_name_here = 1;\r\n"), "{kept}");
    let composed = String::from_utf8(work.service.compose(&work.conversation, None).expect("composed"));
    assert!(composed.expect("text").contains(spelled), "what is not long stays to the byte");

    let ledger = fs::read_to_string(work.home.path().join("NOTES.md")).expect("a ledger");
    let lines: Vec<&str> = ledger.lines().filter(|line| line.contains("`/p/new.rs`")).collect();
    let [result, input] = lines[..] else { panic!("two lines: {ledger}") };
    assert!(input.contains("cleared the input of Write (") && result.contains("cleared Write ("), "{lines:?}");
    let tokens =
        |line: &str| line.split(" tokens)").next().and_then(|start| start.rsplit('(').next()).map(str::to_owned);
    assert_ne!(tokens(input), tokens(result));
}

#[test]
fn the_text_that_an_edit_replaced_is_not_sent_unless_the_edit_failed() {
    let mut work = Work::new(on());
    work.session.user("change it");
    work.send();
    let replaced = "let some_name_here = 1;\n".repeat(60);
    let input = |path: &str| json!({"file_path": path, "old_string": replaced, "new_string": replaced});
    work.step_with("Edit", input("/p/done.rs"), "The file was updated.".into());
    let sent = work.step_with("Edit", input("/p/failed.rs"), "<tool_use_error>not found</tool_use_error>".into());
    let blocks = sent["messages"].as_array().into_iter().flatten().filter_map(|message| message["content"].as_array());
    let inputs: Vec<_> =
        blocks.flatten().filter(|block| block["name"] == "Edit").map(|block| &block["input"]).collect();
    let [done, failed] = inputs[..] else { panic!("two calls: {inputs:?}") };
    assert_eq!(done["old_string"], "[removed to save context; it was done.]");
    assert_eq!((&done["new_string"], &failed["old_string"]), (&json!(replaced), &json!(replaced)));
    assert!(!work.home.path().join("NOTES.md").exists(), "the file had it");
}

#[test]
fn the_account_is_the_same_after_a_restart() {
    let mut work = Work::new(on());
    work.work(30);
    assert!(!work.commits().is_empty(), "it has edited");
    let account = |work: &Work| work.service.context(&work.conversation).expect("a view").account.expect("an account");
    let before = account(&work);
    assert!(before.spent > 0.0 && before.saved != 0.0 && before.credit > 0.0, "{before:?}");
    work.restart(on());
    assert_eq!(account(&work), before);
    work.work(5);
    assert!(account(&work).spent > before.spent, "it goes on");
}

#[test]
fn the_account_counts_with_the_lifetime_that_the_cache_had_also_after_a_restart() {
    let mut work = Work::new(on()).caching_for(1_800, on());
    work.cached = Some(Vec::new());
    work.work(30);
    assert!(!work.commits().is_empty(), "it has edited");
    let account = |work: &Work| work.service.context(&work.conversation).expect("a view").account.expect("an account");
    for at in 0..3 {
        work.clock += 20 * 60_000;
        work.step("Bash", json!({"command": format!("make more-{at}")}));
    }
    let before = account(&work);
    work.restart(on());
    assert_eq!(account(&work), before);
}

#[test]
fn an_edit_that_the_limit_forces_beyond_the_account_is_named_and_counted_apart() {
    let mut work = Work::new(on());
    work.cached = Some(Vec::new());
    let account = |work: &Work| work.service.context(&work.conversation).expect("a view").account.expect("an account");
    work.session.user("do all of it");
    work.send();
    let mut next = String::new();
    for step in 0..30 {
        if !work.commits().is_empty() {
            break;
        }
        next = account(&work).next;
        work.step("Bash", json!({"command": format!("make part-{step}")}));
    }
    let [commit] = &work.commits()[..] else { panic!("one commit: {:?}", work.commits()) };
    let note = commit.note.as_deref().unwrap_or_default();
    assert!(note.ends_with("; limit exception: this costs more than the account allows"), "{note}");
    let forced = account(&work);
    assert_eq!((forced.exceptions, forced.bound), (1, 0.02));
    assert!(forced.exceptions_cost > forced.credit && forced.saved < -forced.credit, "{forced:?}");
    assert!((forced.exceptions_cost + forced.saved).abs() < 1e-9, "it is all that edits have cost: {forced:?}");
    assert!(next.contains("limit exception"), "announced: {next}");
    // Until it has paid off, only the limit forces another.
    work.step("Bash", json!({"command": "make more"}));
    assert_eq!((work.commits().len(), account(&work).exceptions_cost), (1, forced.exceptions_cost));
    work.restart(on());
    assert_eq!(account(&work).exceptions, 1);
    for step in 0..12 {
        next = account(&work).next;
        if next.contains("limit exception") {
            break;
        }
        work.step("Bash", json!({"command": format!("make again-{step}")}));
    }
    let end = "; from 48,000 tokens on, it clears even beyond the account (limit exception)";
    assert!(next.ends_with(end), "{next}");
}

#[test]
fn a_summary_waits_for_the_account_and_is_due_once() {
    let mut work = Work::new(on());
    work.work(6);
    let context = work.service.context(&work.conversation).expect("a view");
    let account = context.account.expect("an account");
    let most = ((account.credit + account.saved) / 4e-6) as u64;
    let waits = |ended: u64, input: u64| {
        let waits_for = Some(HelperUse { model: "claude-opus-5-5".to_owned(), input, output: 0 });
        PhaseSummary { phase: "testing".to_owned(), ended, waits_for }
    };
    let note =
        |work: &Work, summary: &PhaseSummary| work.service.note_summary(&work.conversation, summary).expect("stored");
    let due = |work: &Work| work.service.due_summaries(&work.conversation).expect("a list");
    let (dear, cheap) = (waits(1, most * 2), waits(2, most / 2));
    assert!(note(&work, &dear) && !note(&work, &dear) && note(&work, &cheap));
    assert_eq!(due(&work), std::slice::from_ref(&cheap), "phases of one name are told apart");
    work.restart(on());
    assert_eq!(due(&work), std::slice::from_ref(&cheap));
    let taken = PhaseSummary { waits_for: None, ..cheap };
    assert!(note(&work, &taken) && !note(&work, &taken), "one takes it");
    assert_eq!(due(&work), []);
    // The account grows with what is spent.
    work.work(12);
    assert_eq!(due(&work), [dear]);
}

#[test]
fn the_price_of_a_helper_is_in_the_account_and_limits_what_it_may_still_cost() {
    let mut work = Work::new(on());
    work.work(6);
    let account = |work: &Work| work.service.context(&work.conversation).expect("a view").account.expect("an account");
    let used = |input: u64| HelperUse { model: "claude-opus-5-5".to_owned(), input, output: 0 };
    let before = account(&work);
    // At $4 per million tokens of input.
    let most = ((before.credit + before.saved) / 4e-6) as u64;
    let allows =
        |work: &Work, input: u64| work.service.allows_help(&work.conversation, &used(input)).expect("an answer");
    assert!(allows(&work, most) && !allows(&work, most * 51 / 50), "{most}");
    work.service.helped(&work.conversation, used(most / 2)).expect("stored");
    let after = account(&work);
    let price = (most / 2) as f64 * 4e-6;
    for (more, before) in [(after.help, 0.0), (after.spent, before.spent), (before.saved, after.saved)] {
        assert!((more - before - price).abs() < 1e-9, "{after:?}");
    }
    assert!(!allows(&work, most * 2 / 3));
    work.restart(on());
    let again = account(&work);
    assert_eq!((again.help, again.spent), (after.help, after.spent));
    assert!((again.saved - after.saved).abs() < 1e-9, "{again:?}");
}
