//! The automatic editor as people switch it on: what it clears, keeps, notes, asks for and tells.

mod back;
mod by_handle;
mod cut;
mod diet;
mod kept;
mod observed;
mod work;

use crate::support;
use ctx_api::context::Standing;
use ctx_api::face::Face;
use ctx_api::phases::{PhaseAction, PhaseRequest};
use ctx_core::ErrorCode;
use ctx_core::policy::{Mode, Settings, Target};
use ctx_engine::conversation::policy::AUTHOR;
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use work::{WINDOW, Work, on, results};

/// The first line of each batch in a ledger tells how many lines the batch has and the sum of their tokens.
#[track_caller]
fn has_totals(ledger: &str) {
    let figures = |text: &str| -> u64 { text.replace(',', "").parse().expect("figures") };
    let tokens = |line: &str| {
        let (before, _) = line.split_once(" tokens)").expect("tokens");
        figures(before.rsplit_once('(').expect("a bracket").1)
    };
    let mut lines = ledger.lines();
    let mut batches = 0;
    while let Some(first) = lines.next() {
        let Some((before, after)) = first.split_once(" in this batch, ") else {
            assert!(!first.contains("same batch"), "no total: {ledger}");
            continue;
        };
        let size = figures(before.rsplit_once("; ").expect("a size").1);
        let total = figures(after.split_once(" tokens in total; ").expect("a total").0);
        let others: Vec<&str> = (1..size).map(|_| lines.next().expect("a line")).collect();
        assert!(others.iter().all(|line| !line.contains("in this batch")), "told once: {others:?}");
        assert_eq!(total, tokens(first) + others.iter().map(|line| tokens(line)).sum::<u64>(), "{first}");
        batches += 1;
    }
    assert!(batches > 0);
}

#[test]
fn before_the_limit_is_reached_old_results_go_and_all_of_them_are_on_disk() {
    let mut work = Work::new(on());
    let last = work.work(30);
    let sent = results(&last);
    assert_eq!(sent.len(), 30);
    let cleared: Vec<usize> = (0..30).filter(|at| sent[*at].starts_with("[Cleared to save context.")).collect();
    assert!(cleared.len() >= 15 && cleared.iter().all(|at| *at < 25), "the newest five stay: {cleared:?}");
    assert!(last.to_string().len() as u64 / 4 < WINDOW, "it fits");
    let ledger = fs::read_to_string(work.home.path().join("NOTES.md")).expect("a ledger");
    for at in cleared {
        let file = sent[at].split("Read it in ").nth(1).and_then(|rest| rest.split(" if needed.").next());
        let file = Path::new(file.expect("a path"));
        assert_eq!(fs::read_to_string(file).expect("a file"), work.texts[at], "to the byte");
        let line = ledger.lines().find(|line| line.contains(&format!("`make part-{at}`"))).expect("a line");
        assert!(line.contains(&file.display().to_string()), "{line}");
    }
    has_totals(&ledger);
    let commits = work.commits();
    assert!(!commits.is_empty() && commits.iter().all(|commit| commit.author == AUTHOR && commit.note.is_some()));
    assert!(commits.len() < 10, "in batches: {}", commits.len());
    let signals: Vec<String> =
        work.events("signal").iter().map(|event| event["signal"].as_str().unwrap_or_default().to_owned()).collect();
    assert!(signals.contains(&"COMPACTION_COMPLETE".to_owned()), "{signals:?}");
    let view = work.service.context(&work.conversation).expect("a view");
    assert_eq!((view.mode, view.status, view.window), (Mode::On, Standing::Normal, WINDOW));
    assert!(view.saved > 40_000 && view.saved_automatically > 40_000, "{view:?}");

    // It is a commit like any other.
    let commit = commits.last().expect("a commit").id.to_string();
    let way = serde_json::from_value(json!({"action": "revert", "target": commit, "author": "cli", "cascade": true}));
    work.service.go(&work.conversation, way.expect("a way")).expect("reverted");
}

#[test]
fn what_is_left_of_results_never_fills_the_window_either() {
    let mut work = Work::new(on());
    work.session.user("do all of it");
    work.send();
    let mut last = Value::Null;
    for step in 0..260 {
        // Some are nothing but names, some have words around them.
        let words = if step % 3 == 0 { "" } else { "this is one of the lines, and here comes the " };
        let line = |at: usize| format!("{words}value_{step}_{at} = {}\n", at * 7919 % 9973);
        let text: String = (0..100).map(line).collect();
        last = work.step_with("Bash", json!({"command": format!("make part-{step}")}), text);
        assert!((last.to_string().len() as u64 / 4) < WINDOW * 9 / 10, "step {step}");
    }
    let sent = results(&last);
    let cleared: Vec<usize> = (0..260).filter(|at| sent[*at].starts_with("[Cleared to save context.")).collect();
    let bare = cleared.iter().filter(|at| !sent[**at].contains("Names in it")).count();
    assert!(cleared.len() > 240 && bare > 60, "{} {bare}", cleared.len());
    for at in cleared {
        let file = sent[at].split("Read it in ").nth(1).and_then(|rest| rest.split(" if needed.").next());
        assert_eq!(fs::read_to_string(file.expect("a path")).expect("a file"), work.texts[at], "to the byte");
    }
    assert!(work.commits().len() < 50, "in batches: {}", work.commits().len());
}

#[test]
fn what_is_only_observed_is_noted_and_nothing_changes() {
    let mut work = Work::new(Settings { mode: Mode::Observe, ..ctx_clients::editor_settings() });
    let last = work.work(16);
    assert!(results(&last).iter().all(|text| text.starts_with("line ")));
    assert!(work.commits().is_empty() && work.files().is_empty());
    let noted = work.events("noted");
    assert!(!noted.is_empty() && noted.len() < 8, "once each: {}", noted.len());
    for noted in &noted {
        assert!(noted["tokens_after"].as_u64() < noted["tokens_before"].as_u64(), "{noted}");
    }
    let view = work.service.context(&work.conversation).expect("a view");
    assert!(view.noted > 10_000 && view.saved == 0, "{view:?}");
    assert!(work.events("signal").iter().any(|event| event["signal"] == "CONTEXT_NEAR_LIMIT"));
}

#[test]
fn what_is_proposed_waits_for_a_word_and_is_not_proposed_twice() {
    let mut work = Work::new(Settings { mode: Mode::Ask, ..ctx_clients::editor_settings() });
    let last = work.work(17);
    assert!(results(&last).iter().all(|text| text.starts_with("line ")) && work.commits().is_empty());
    let waiting = work.service.waiting(&work.conversation).expect("a list");
    assert!(!waiting.wishes.is_empty());
    let ids: Vec<&str> = waiting.wishes.iter().map(|edit| edit.id.as_str()).collect();
    assert!(waiting.wishes.iter().all(|edit| edit.author == AUTHOR && edit.state == "waiting"));
    let oldest = *ids.last().expect("a proposal");
    assert!(!work.home.path().join("NOTES.md").exists(), "nothing was cleared yet");
    let accepted = work.service.accept(&work.conversation, oldest, "cli").expect("accepted");
    assert_eq!(accepted.state, "made");
    assert!(work.home.path().join("NOTES.md").exists());
    let again = work.service.accept(&work.conversation, oldest, "cli").expect_err("made already");
    assert_eq!(again.code, ErrorCode::NotWaiting);
    let sent = work.send();
    let cleared = results(&sent).iter().filter(|text| text.starts_with("[Cleared to save")).count();
    assert!(cleared > 0);
    let calls: Vec<String> =
        waiting.wishes.iter().map(|edit| serde_json::to_string(&edit.operations).expect("JSON")).collect();
    assert!(calls.iter().all(|one| calls.iter().filter(|other| *other == one).count() == 1));
    let note = work.commits()[0].note.clone().unwrap_or_default();
    assert!(note.contains("accepted by cli"), "{note}");
    let signals = work.events("signal");
    assert!(signals.iter().any(|event| event["signal"] == "COMPACTION_COMPLETE"), "{signals:?}");
    let ledger = fs::read_to_string(work.home.path().join("NOTES.md")).expect("a ledger");
    assert!(ledger.contains(" tokens) `make part-"), "with its tokens: {ledger}");
    has_totals(&ledger);
    let view = work.service.context(&work.conversation).expect("a view");
    assert!(view.saved_automatically > 0 && view.saved_automatically <= view.saved, "{view:?}");
}

#[test]
fn there_is_one_proposal_however_long_the_work_goes_on_and_it_grows() {
    let mut work = Work::new(Settings { mode: Mode::Ask, ..ctx_clients::editor_settings() });
    let deferred = |work: &Work| work.service.waiting(&work.conversation).expect("a list").wishes;
    work.work(17);
    let first = deferred(&work).remove(0);
    for at in 0..20 {
        work.step("Bash", json!({"command": format!("make more-{at}")}));
    }
    let all = deferred(&work);
    assert_eq!(all.len(), 1, "one question: {:?}", all.iter().map(|edit| &edit.summary).collect::<Vec<_>>());
    let grown = &all[0];
    assert_eq!((grown.id.as_str(), grown.at), (first.id.as_str(), first.at));
    assert!(grown.operations.len() > first.operations.len() && grown.operations.starts_with(&first.operations));
    let saved = |edit: &ctx_api::waiting::WaitView| edit.tokens_before - edit.tokens_after;
    assert!(saved(grown) > saved(&first), "{} {}", saved(grown), saved(&first));
    assert_eq!(grown.reasons.len(), grown.operations.len());
    assert!(!grown.note.as_deref().unwrap_or_default().contains("pays off"), "{:?}", grown.note);
    assert_eq!(work.events("waiting").len(), 1, "told once");
    let frames = work.service.frames(&work.conversation, false, None).expect("frames").frames;
    assert!(frames.iter().any(|frame| frame.waiting == ["w1"]), "its frames are marked");
    let count = grown.operations.len();
    work.restart(Settings { mode: Mode::Ask, ..ctx_clients::editor_settings() });
    assert_eq!(deferred(&work), all, "also after a restart");
    let outcome =
        work.service.accept_many(&work.conversation, &["all".to_owned()], "cli", Face::Shell).expect("accepted");
    assert_eq!((outcome.done.len(), outcome.refused.len()), (1, 0), "{outcome:?}");
    let commit = work.commits().pop().expect("a commit");
    let told = (grown.tokens_before, grown.tokens_after);
    assert_eq!(
        (commit.tokens_before, commit.tokens_after),
        told,
        "the figures of the proposal are those of the commit"
    );
    let cleared = results(&work.send()).iter().filter(|text| text.starts_with("[Cleared to save")).count();
    assert_eq!(cleared, count, "all of it is made");
}

#[test]
fn what_is_stale_is_worth_removing_with_its_price_and_a_plan_that_fits() {
    let mut work = Work::new(Settings { mode: Mode::Off, ..ctx_clients::editor_settings() });
    work.work(20);
    let view = work.service.worth(&work.conversation).expect("a view");
    let worth = view.worth.clone().expect("worth a line");
    assert!(worth.percent > 20 && worth.tokens > 10_000 && worth.stale >= 8, "{worth:?}");
    assert!(worth.words.contains("stale or superseded") && worth.words.contains("per turn"), "{}", worth.words);
    assert_eq!(work.service.worth(&work.conversation).expect("again"), view);
    let edit = ctx_api::edit::EditRequest {
        operations: worth.operations,
        author: "cli".into(),
        dry_run: true,
        ..ctx_api::edit::EditRequest::default()
    };
    let applied = work.service.apply(&work.conversation, edit).expect("the plan fits");
    let saved = applied.tokens_before - applied.tokens_after;
    assert!(saved.abs_diff(worth.tokens) * 10 < worth.tokens, "as foreseen: {saved}, {}", worth.tokens);
}

#[test]
fn results_that_the_provider_clears_itself_are_not_worth_removing() {
    let mut work = Work::new(Settings { mode: Mode::Off, ..ctx_clients::editor_settings() });
    work.work(20);
    assert!(work.service.worth(&work.conversation).expect("a view").worth.is_some());
    work.cleared_by_provider = 30_000;
    work.send();
    let view = work.service.worth(&work.conversation).expect("a view");
    assert_eq!((view.worth, view.cleared_by_provider), (None, 30_000), "its own clearing saves that already");
    work.cleared_by_provider = 0;
    work.send();
    let view = work.service.worth(&work.conversation).expect("a view");
    assert!(view.worth.is_some() && view.cleared_by_provider == 0, "it no longer clears: {view:?}");
}

#[test]
fn a_proposal_that_waits_is_as_good_as_made_for_who_asks() {
    let mut work = Work::new(Settings { mode: Mode::Ask, ..ctx_clients::editor_settings() });
    let proposals = |work: &Work| work.service.waiting(&work.conversation).expect("a list").wishes.len();
    let mut steps = 0;
    work.session.user("do all of it");
    work.send();
    while proposals(&work) == 0 {
        steps += 1;
        work.step("Bash", json!({"command": format!("make part-{steps}")}));
    }
    work.step("Bash", json!({"command": "make more"}));
    assert_eq!(proposals(&work), 1, "the first would suffice");
    // Who may act does not wait for an answer to it.
    work.decide(on());
    let sent = work.step("Bash", json!({"command": "make the rest"}));
    assert!(results(&sent).iter().any(|text| text.starts_with("[Cleared to save")));
    let view = work.service.context(&work.conversation).expect("a view");
    assert!(view.percent <= 62, "down to the target: {view:?}");
}

#[test]
fn why_somebody_clears_by_hand_stands_in_the_ledger() {
    let mut work = Work::new(Settings { mode: Mode::Observe, ..ctx_clients::editor_settings() });
    work.work(16);
    work.service.clear_now(&work.conversation, "before the review").expect("cleared");
    let ledger = fs::read_to_string(work.home.path().join("NOTES.md")).expect("a ledger");
    assert!(ledger.lines().next().is_some_and(|line| line.contains("before the review; ")), "{ledger}");
    assert!(ledger.lines().filter(|line| line.contains(", same batch; ")).count() > 5, "told once: {ledger}");
}

#[test]
fn what_cannot_be_written_is_not_cleared_and_goes_on() {
    let mut work = Work::new(on());
    // A folder stands where the ledger should be.
    fs::create_dir(work.home.path().join("NOTES.md")).expect("a folder");
    let last = work.work(16);
    assert!(results(&last).iter().all(|text| text.starts_with("line ")));
    assert!(work.commits().is_empty() && work.files().is_empty(), "no files without a line in the ledger");
    let by_hand = work.service.clear_now(&work.conversation, "tidy").expect_err("it cannot be written either");
    assert_eq!(by_hand.code, ErrorCode::NotWritten);
    assert!(
        by_hand.message.contains("NOTES.md cannot be written") && by_hand.message.contains("`ledger`"),
        "{by_hand:?}"
    );
    let hindrances = || work.service.context(&work.conversation).expect("a context").hindrances;
    assert!(matches!(&hindrances()[..], [why] if why.contains("NOTES.md cannot be written")), "{:?}", hindrances());
    let near = work.events("signal").iter().filter(|event| event["signal"] == "CONTEXT_NEAR_LIMIT").count();
    assert_eq!(near, 1, "the limit is near all the same: {:?}", work.events("signal"));

    fs::remove_dir(work.home.path().join("NOTES.md")).expect("removed");
    let next = work.step("Bash", json!({"command": "make more"}));
    assert!(results(&next)[0].starts_with("[Cleared to save context."));
    assert!(work.service.context(&work.conversation).expect("a context").hindrances.is_empty());
}

#[test]
fn after_a_failed_write_nothing_more_is_cleared_until_it_is_made_up_for() {
    let mut work = Work::new(on());
    work.work(16);
    let (notes, aside) = (work.home.path().join("NOTES.md"), work.home.path().join("aside"));
    assert_eq!(work.commits().len(), 1);
    let lines = || fs::read_to_string(&notes).expect("a ledger").lines().count();
    let before = lines();
    fs::rename(&notes, &aside).expect("moved");
    fs::create_dir(&notes).expect("a folder");
    let cleared = |sent: &Value| results(sent).iter().filter(|text| text.starts_with("[Cleared to save")).count();
    let mut at = 0;
    let mut step = |work: &mut Work| {
        at += 1;
        cleared(&work.step("Bash", json!({"command": format!("make more-{at}")})))
    };
    let first = before;
    while step(&mut work) == first {}
    assert_eq!(work.commits().len(), 2, "the request had left by then");
    let hindrances = work.service.context(&work.conversation).expect("a context").hindrances;
    assert!(matches!(&hindrances[..], [why] if why.contains("NOTES.md cannot be written")), "{hindrances:?}");
    let second = cleared(&work.send());
    assert_eq!((0..12).map(|_| step(&mut work)).max(), Some(second), "nothing more goes");
    assert_eq!(work.files().len(), second, "all of them are on disk");
    fs::remove_dir(&notes).expect("removed");
    fs::rename(&aside, &notes).expect("moved back");
    work.send();
    assert_eq!(lines(), second, "the lines are made up for");
    assert!(step(&mut work) > second, "and it goes on");
    assert!(work.service.context(&work.conversation).expect("a context").hindrances.is_empty());
}

#[test]
fn what_must_stay_stays_whatever_happens() {
    let mut work = Work::new(on());
    work.session.user("do all of it");
    work.send();
    work.step("Read", json!({"file_path": "/p/NOTES.md"}));
    work.step("Bash", json!({"command": "bd show 12"}));
    work.step("TodoWrite", json!({"todos": []}));
    for at in 0..20 {
        work.step("Bash", json!({"command": format!("make part-{at}")}));
    }
    let sent = results(&work.send());
    assert!(sent[..3].iter().all(|text| text.starts_with("line ")), "{:?}", &sent[..3]);
    assert!(sent[3].starts_with("[Cleared to save"), "{}", sent[3]);
    let applied = work.service.clear_now(&work.conversation, "before the review");
    let sent = results(&work.send());
    assert!(sent[..3].iter().all(|text| text.starts_with("line ")), "by hand neither");
    if let Ok(applied) = applied {
        assert!(applied.tokens_after < applied.tokens_before);
        assert!(work.commits()[0].note.as_deref().is_some_and(|note| note.starts_with("before the review")));
    }
}

#[test]
fn by_hand_all_that_may_go_goes_even_if_the_mode_is_off() {
    let mut work = Work::new(ctx_clients::editor_settings());
    let last = work.work(8);
    assert!(!work.service.holds(&support::hints(&work.session.headers())), "nothing is held for it");
    assert!(results(&last).iter().all(|text| text.starts_with("line ")));
    let phase =
        |action, name: Option<&str>| PhaseRequest { action, name: name.map(str::to_owned), author: "cli".into() };
    let view = work.service.context(&work.conversation).expect("a view");
    assert!(view.clearable.iter().all(|one| one.tokens == 0 || one.target == Target::VerboseDebug), "{view:?}");
    work.service.phase(&work.conversation, &phase(PhaseAction::Begin, Some("testing"))).expect("begun");
    let twice = work.service.phase(&work.conversation, &phase(PhaseAction::Begin, Some("testing"))).expect_err("open");
    assert_eq!(twice.code, ErrorCode::OpenAlready);
    let none = work.service.phase(&work.conversation, &phase(PhaseAction::End, Some("tasting"))).expect_err("unknown");
    assert!(none.hint.to_string().contains("testing"), "{none:?}");
    for _ in 0..7 {
        work.step("Edit", json!({"file_path": "/p/a.rs"}));
    }
    let ended = work.service.phase(&work.conversation, &phase(PhaseAction::End, None)).expect("ended");
    assert!(ended.phases[0].ended.is_some() && ended.phases[0].messages >= 12, "{ended:?}");
    let view = work.service.context(&work.conversation).expect("a view");
    let of = |target| view.clearable.iter().find(|one| one.target == target).map_or(0, |one| one.tokens);
    assert!(of(Target::CompletedPhaseDetails) > 0, "{view:?}");
    let applied = work.service.clear_now(&work.conversation, "tidy").expect("cleared");
    assert!(applied.tokens_after < applied.tokens_before && applied.commit.is_some());
    let nothing = work.service.clear_now(&work.conversation, "tidy").expect_err("nothing left");
    assert_eq!(nothing.code, ErrorCode::NothingToClear);
    assert_eq!(work.events("phase").len(), 2);
}
