//! Causes, told from records.

use super::*;
use ctx_core::edit::CommitId;
use ctx_core::edit::effect::Why;
use serde_json::json;

struct Talk {
    story: Story,
    clock: u64,
    request: u32,
    model: &'static str,
    envelope: &'static str,
    verdict: &'static str,
    /// The repairs of the edited request, where it is one.
    repairs: Option<&'static [(&'static str, &'static str)]>,
    expects: Option<u64>,
}

impl Talk {
    fn new() -> Talk {
        let (story, repairs, expects) = (Story::default(), None, None);
        Talk { story, clock: 0, request: 0, model: "m", envelope: "e", verdict: "next", repairs, expects }
    }

    /// One exchange, `wait` seconds after the one before.
    fn ask(&mut self, wait: u64, read: u64, written: u64) -> Option<(Cause, Option<String>, u64)> {
        self.clock += wait * 1000;
        self.request += 1;
        let turn = json!({"base": null, "nodes": 0, "slots": [], "versions": [], "envelope": 0, "current": true});
        let arrived = json!({"request": self.request, "class": "main", "verdict": self.verdict, "known": 0,
            "new": 1, "changed": 0, "model": self.model, "bytes": 1, "turn": turn,
            "composed": self.repairs.is_some(), "expects": self.expects});
        let uses = vec![Hash::of(self.envelope.as_bytes())];
        let body = serde_json::to_vec(&arrived).expect("JSON");
        let record =
            Record { seq: 0, conversation: "c".into(), at: self.clock, kind: "arrived".into(), version: 1, uses, body };
        self.story.arrived(&record).expect("a request");
        let usage = json!({"input": 5, "cache_read": read, "cache_write": written, "output": 1});
        let answered = json!({"request": self.request, "status": 200, "ending": "complete", "usage": usage,
            "total_ms": 1, "repairs": self.repairs.unwrap_or_default()});
        let answered: AnswerRecord = serde_json::from_value(answered).expect("an answer");
        let around = |hash: Hash| {
            let is = |name: &str| hash == Hash::of(name.as_bytes());
            let key = |same: bool| Key::of([&[u8::from(same)][..]]);
            let tools = vec![("Bash".to_owned(), key(is("tools")))];
            Some(Around { tools, system: vec![None, Some(key(is("system")))], manner: Manner::default() })
        };
        let miss = self.story.answered(&answered, Models::listed(), around).miss?;
        Some((miss.cause, miss.place, miss.tokens))
    }

    fn edit(&mut self, operation: serde_json::Value) -> Commit {
        let operations = vec![serde_json::from_value(operation).expect("an operation")];
        let effects = vec![Effect::Replace { why: Why::Deleted, covers: Vec::new(), by: Vec::new() }];
        let commit = self.commit(operations, effects);
        self.story.committed(&commit);
        commit
    }

    fn commit(&self, operations: Vec<Operation>, effects: Vec<Effect>) -> Commit {
        Commit {
            id: CommitId(1),
            parent: None,
            at: 1,
            author: "test".into(),
            note: None,
            reasons: Vec::new(),
            change: Change::Edit { operations, effects },
            summary: String::new(),
            tokens_before: 0,
            tokens_after: 0,
            unattended: false,
            exception: false,
            kept: Vec::new(),
        }
    }
}

#[test]
fn what_is_read_anew_has_a_cause() {
    let mut told = Talk::new();
    let place = |place: &str| Some(place.to_owned());
    assert_eq!(told.ask(1, 0, 5000), Some((Cause::FirstRequest, None, 5005)));
    assert_eq!(told.ask(1, 5000, 5000), None);
    assert_eq!(told.ask(400, 0, 11_000), Some((Cause::Expired, None, 10_000)));
    told.edit(json!({"op": "delete", "ids": ["t3"]}));
    assert_eq!(told.ask(1, 4000, 6000), Some((Cause::Edited, place("t3"), 6005)), "no more than was read anew");
    assert_eq!(told.ask(1, 10_000, 100), None, "an edit is paid for once");
    told.edit(json!({"op": "delete", "ids": ["t11", "t12/2"]}));
    told.edit(json!({"op": "edit", "id": "t9#1", "text": "x"}));
    told.edit(json!({"op": "delete", "ids": ["t10"]}));
    assert_eq!(told.ask(1, 4000, 6100), Some((Cause::Edited, place("t9#1"), 6100)), "the first one counts");
    told.envelope = "tools";
    assert_eq!(told.ask(1, 0, 10_100), Some((Cause::ToolsChanged, place("tools/Bash"), 10_100)));
    told.envelope = "system";
    // Both differ from those before.
    assert_eq!(told.ask(1, 0, 10_100).map(|miss| miss.0), Some(Cause::ToolsChanged));
    told.envelope = "e";
    assert_eq!(told.ask(1, 2000, 8100), Some((Cause::SystemChanged, place("system#1"), 8100)));
    told.model = "n";
    assert_eq!(told.ask(1, 0, 10_100).map(|miss| miss.0), Some(Cause::ModelChanged));
    told.verdict = "rewind";
    assert_eq!(told.ask(1, 3000, 100), None, "what is not sent any more is not missed");
    assert_eq!(told.ask(1, 0, 3100).map(|miss| miss.0), Some(Cause::HistoryChanged));
    told.verdict = "next";
    assert_eq!(told.ask(1, 0, 3100).map(|miss| miss.0), Some(Cause::Unknown));
}

#[test]
fn what_is_taken_back_was_changed_where_it_was() {
    let mut told = Talk::new();
    told.ask(1, 0, 5000);
    let commit = told.edit(json!({"op": "delete", "ids": ["t3"]}));
    told.ask(1, 1000, 3000);
    let commits = vec![commit.id];
    let change = Change::Revert { commits, how: ctx_core::edit::history::How::Undo };
    told.story.committed(&Commit { id: CommitId(2), change, ..commit });
    assert_eq!(told.ask(1, 1000, 4000), Some((Cause::Edited, Some("t3".into()), 3000)));
}

#[test]
fn a_repair_that_comes_or_goes_without_a_commit_is_a_cause() {
    let mut told = Talk::new();
    told.ask(1, 0, 9_000);
    told.edit(json!({"op": "delete", "ids": ["tools"]}));
    told.repairs = Some(&[]);
    told.expects = Some(0);
    assert_eq!(told.ask(1, 0, 8_000), Some((Cause::Edited, Some("tools".into()), 8_005)));
    told.repairs = Some(&[("A23", "the tool Bash stays")]);
    assert_eq!(told.ask(1, 0, 9_000), Some((Cause::Edited, None, 8_000)));
    told.expects = None;
    assert_eq!(told.ask(1, 9_000, 100), None);
    told.expects = Some(9_100);
    assert_eq!(told.ask(1, 0, 9_200), Some((Cause::Unknown, None, 9_100)), "the repair is as it was");
    told.expects = Some(0);
    told.repairs = Some(&[]);
    assert_eq!(told.ask(1, 0, 16), Some((Cause::Edited, None, 21)));
    told.repairs = Some(&[("A23", "the tool Bash stays")]);
    assert_eq!(told.ask(1, 0, 700), Some((Cause::Edited, None, 16)), "also where little was there");
}

#[test]
fn what_was_made_and_taken_back_between_two_requests_is_no_cause() {
    let mut told = Talk::new();
    told.ask(1, 0, 5000);
    let undone = told.edit(json!({"op": "delete", "ids": ["t1"]}));
    let change = Change::Revert { commits: vec![undone.id], how: ctx_core::edit::history::How::Undo };
    told.story.committed(&Commit { id: CommitId(2), change, ..undone.clone() });
    let commit = Commit { id: CommitId(3), ..undone.clone() };
    let operation: Operation = serde_json::from_value(json!({"op": "delete", "ids": ["t3"]})).expect("an operation");
    let Change::Edit { effects, .. } = commit.change.clone() else { panic!("an edit") };
    told.story.committed(&Commit { change: Change::Edit { operations: vec![operation], effects }, ..commit });
    assert_eq!(told.ask(1, 1000, 3000), Some((Cause::Edited, Some("t3".into()), 3005)));
    // To redo what was undone changes the first place again.
    let change = Change::Revert { commits: vec![CommitId(2)], how: ctx_core::edit::history::How::Redo };
    told.story.committed(&Commit { id: CommitId(4), change, ..undone });
    assert_eq!(told.ask(1, 500, 3500), Some((Cause::Edited, Some("t1".into()), 3500)));
}

#[test]
fn an_edit_that_selects_its_content_was_made_in_the_first_frame_that_it_changed() {
    let mut told = Talk::new();
    told.story.frames =
        [(7, "t4"), (9, "t8")].map(|(slot, frame)| (SlotId(slot), frame.parse().expect("an id"))).into();
    told.ask(1, 0, 5000);
    let operation: Operation =
        serde_json::from_value(json!({"op": "drop-results", "select": {"larger_than": 1000}})).expect("an operation");
    let result = |slot: u64| json!({"of": {"slot": slot}, "block": {"at": 0, "kind": "tool_result", "chars": 1}, "text": "gone"});
    let effect = json!({"effect": "results", "results": [result(9), result(7)], "summarized": false});
    let effects = vec![serde_json::from_value(effect).expect("an effect")];
    let commit = told.commit(vec![operation], effects);
    told.story.committed(&commit);
    assert_eq!(told.ask(1, 1000, 3000), Some((Cause::Edited, Some("t4".into()), 3005)));
}
