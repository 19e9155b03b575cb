use super::*;
use crate::edit::effect::{FrameKey, FrameRef, NewMessage, Place};
use crate::message::Role;
use proptest::prelude::*;
use std::collections::BTreeSet;

#[derive(Clone, Default)]
struct Log {
    history: History,
    made: u64,
}

impl Log {
    fn push(&mut self, change: Change) -> CommitId {
        self.made += 1;
        let id = CommitId(self.made << 20);
        let commit = Commit {
            id,
            parent: self.history.head(),
            at: self.made,
            author: "cli".into(),
            note: None,
            reasons: Vec::new(),
            change,
            summary: String::new(),
            tokens_before: 0,
            tokens_after: 0,
            unattended: false,
            exception: false,
            kept: Vec::new(),
        };
        self.history.push(commit);
        self.check();
        id
    }

    /// Checks the cached active commits against a walk through the history.
    fn check(&self) {
        let found: Vec<CommitId> = self.history.active(self.history.head()).iter().rev().map(|one| one.id).collect();
        let remembered: Vec<CommitId> = self.history.counting.iter().map(|commit| commit.id).collect();
        assert_eq!(remembered, found);
    }

    fn edit(&mut self) -> CommitId {
        self.push(Change::Edit { operations: vec![], effects: vec![insert(Place::Start)] })
    }

    /// Commits a frame behind one that another commit added.
    fn edit_on(&mut self, on: CommitId) -> CommitId {
        let key = FrameKey::Made { effect: EffectId { commit: on, index: 0 }, part: 0 };
        let effects = vec![insert(Place::After(FrameRef { key, until: None }))];
        self.push(Change::Edit { operations: vec![], effects })
    }

    fn off(&mut self, commits: Vec<CommitId>, how: How) -> CommitId {
        self.push(Change::Revert { commits, how })
    }

    fn revert(&mut self, id: CommitId) -> CommitId {
        let commits = self.history.revert(id, true).expect("can be reverted");
        self.off(commits, How::Revert)
    }

    fn undo(&mut self) -> Result<CommitId, Cannot> {
        let commit = self.history.undo()?;
        Ok(self.off(vec![commit], How::Undo))
    }

    fn redo(&mut self) -> Result<CommitId, Cannot> {
        let commit = self.history.redo()?;
        Ok(self.off(vec![commit], How::Redo))
    }

    fn rollback(&mut self, to: CommitId) -> CommitId {
        let commits = self.history.rollback(Some(to)).expect("can be rolled back");
        self.off(commits, How::Rollback)
    }

    /// The active edits.
    fn edits_at(&self, head: Option<CommitId>) -> BTreeSet<CommitId> {
        let active = self.history.active(head).into_iter();
        active.filter(|commit| matches!(commit.change, Change::Edit { .. })).map(|commit| commit.id).collect()
    }

    fn edits(&self) -> BTreeSet<CommitId> {
        self.edits_at(self.history.head())
    }
}

fn insert(to: Place) -> Effect {
    Effect::Insert {
        number: 1,
        messages: vec![NewMessage { role: Some(Role::User), content: vec![] }],
        to,
        title: None,
    }
}

fn set<const N: usize>(ids: [CommitId; N]) -> BTreeSet<CommitId> {
    BTreeSet::from(ids)
}

#[test]
fn undo_and_redo_walk_back_and_forth() {
    let mut log = Log::default();
    assert_eq!((log.undo(), log.redo()), (Err(Cannot::Nothing), Err(Cannot::Nothing)));
    let [a, b] = [log.edit(), log.edit()];
    for _ in 0..3 {
        log.undo().expect("b");
        assert_eq!(log.edits(), set([a]));
        log.undo().expect("a");
        assert_eq!((log.edits(), log.undo()), (set([]), Err(Cannot::Nothing)));
        log.redo().expect("a");
        assert_eq!(log.edits(), set([a]));
        log.redo().expect("b");
        assert_eq!((log.edits(), log.redo()), (set([a, b]), Err(Cannot::Nothing)));
    }
    log.undo().expect("b");
    let c = log.edit();
    assert_eq!(log.redo(), Err(Cannot::Nothing), "what was made since would be passed over");
    assert_eq!(log.edits(), set([a, c]));
}

#[test]
fn a_revert_can_be_reverted_and_undone() {
    let mut log = Log::default();
    let [a, b] = [log.edit(), log.edit()];
    let off = log.revert(a);
    assert_eq!(log.edits(), set([b]));
    assert_eq!(log.history.revert(a, false), Err(Cannot::Inactive));
    let on = log.revert(off);
    assert_eq!(log.edits(), set([a, b]));
    assert_eq!(log.history.revert(off, false), Err(Cannot::Inactive));
    log.revert(on);
    assert_eq!(log.edits(), set([b]));
    log.undo().expect("the last revert");
    assert_eq!(log.edits(), set([a, b]));
    log.redo().expect("the last revert");
    assert_eq!(log.edits(), set([b]));
}

#[test]
fn what_stands_on_a_commit_is_named_and_taken_along() {
    let mut log = Log::default();
    let a = log.edit();
    let b = log.edit_on(a);
    let c = log.edit_on(b);
    let d = log.edit();
    assert_eq!(log.history.revert(a, false), Err(Cannot::Needed(vec![c, b])));
    assert_eq!(log.history.revert(a, true), Ok(vec![c, b, a]));
    assert_eq!(log.history.revert(c, false), Ok(vec![c]));
    let off = log.revert(c);
    assert_eq!(log.history.revert(b, false), Ok(vec![b]), "what is off stands on nothing");
    log.revert(off);
    log.revert(a);
    assert_eq!(log.edits(), set([d]));
    log.undo().expect("all three come back");
    assert_eq!(log.edits(), set([a, b, c, d]));
}

#[test]
fn what_stands_on_inherited_effects_is_found() {
    let mut log = Log::default();
    let theirs = EffectId { commit: CommitId(77), index: 0 };
    let effects = vec![(theirs, insert(Place::Start))];
    let inherited = log.push(Change::Inherit { from: "other".into(), effects });
    assert_eq!(log.history.effects(log.history.head()).first().map(|(id, _)| *id), Some(theirs));
    let on = log.edit_on(CommitId(77));
    assert_eq!(log.history.revert(inherited, false), Err(Cannot::Needed(vec![on])));
    log.revert(inherited);
    assert!(log.history.effects(log.history.head()).is_empty());
}

#[test]
fn a_rollback_restores_what_was_active_then() {
    let mut log = Log::default();
    let [a, b] = [log.edit(), log.edit()];
    log.revert(a);
    let then = log.undo().expect("the revert");
    let c = log.edit();
    log.revert(b);
    log.undo().expect("the revert of b");
    log.undo().expect("c");
    let d = log.edit();
    log.revert(a);
    assert_eq!(log.edits(), set([b, d]));
    let back = log.rollback(then);
    assert_eq!((log.edits(), log.edits_at(Some(then))), (set([a, b]), set([a, b])));
    log.undo().expect("the rollback");
    assert_eq!(log.edits(), set([b, d]));
    log.redo().expect("the rollback");
    log.rollback(c);
    assert_eq!(log.edits(), set([a, b, c]));
    log.rollback(back);
    assert_eq!(log.edits(), set([a, b]));
    assert_eq!(log.history.rollback(log.history.head()), Err(Cannot::Nothing));
    assert_eq!(log.history.rollback(Some(CommitId(1))), Err(Cannot::Unknown));
}

#[test]
fn branches_go_their_own_ways() {
    let mut log = Log::default();
    let a = log.edit();
    log.history.branch("try", log.history.head());
    let b = log.edit();
    assert!(log.history.checkout("try") && !log.history.checkout("nope"));
    log.check();
    assert_eq!((log.history.current(), log.edits()), ("try", set([a])));
    let c = log.edit();
    assert_eq!(log.edits(), set([a, c]));
    assert_eq!(log.history.revert(b, false), Err(Cannot::Elsewhere));
    assert_eq!(log.history.rollback(Some(b)), Err(Cannot::Elsewhere));
    log.revert(a);
    assert_eq!(log.edits(), set([c]));
    assert!(log.history.checkout(MAIN));
    log.check();
    assert_eq!(log.edits(), set([a, b]), "a revert holds on its branch");
    log.history.branch("start", None);
    assert!(log.history.checkout("start"));
    log.check();
    assert_eq!((log.edits(), log.history.head()), (set([]), None));
    assert_eq!(log.history.all().count(), 4);
}

#[test]
fn commits_are_found_by_their_beginning_and_by_name() {
    let mut log = Log::default();
    assert_eq!(log.history.find("HEAD"), Err(vec![]));
    let a = log.edit();
    assert_eq!((log.history.find(""), log.history.find(" ")), (Err(vec![]), Err(vec![])), "no name is no name");
    let b = log.edit();
    assert_eq!((a.to_string().as_str(), b.to_string().as_str()), ("0000100000", "0000200000"));
    assert_eq!(log.history.find("00001"), Ok(a));
    assert_eq!(log.history.find("0000200000"), Ok(b));
    assert_eq!(log.history.find("0000"), Err(vec![a, b]), "both are offered");
    assert_eq!(log.history.find("f"), Err(vec![]));
    assert_eq!((log.history.find("head"), log.history.find(MAIN)), (Ok(b), Ok(b)));
    log.history.tag("good", a);
    assert_eq!((log.history.find("good"), log.history.tags().len()), (Ok(a), 1));
    log.history.branch("old", Some(a));
    assert_eq!(log.history.find("old"), Ok(a));
    log.push(Change::Edit { operations: vec![], effects: vec![] });
    let capital = CommitId(0xab_cdef_0123);
    let commit = Commit { id: capital, ..log.history.get(b).expect("b").clone() };
    log.history.push(commit);
    assert_eq!(log.history.find("ABCD"), Ok(capital));
}

#[test]
fn ids_are_read_as_they_are_written_and_commits_survive_json() {
    for id in [0, 1, 0xff_ffff_ffff] {
        assert_eq!(CommitId(id).to_string().parse(), Ok(CommitId(id)));
    }
    for text in ["", "+1", "xyz", "-1", "1 ", "12345678901"] {
        assert!(text.parse::<CommitId>().is_err(), "{text}");
    }
    assert!(CommitId::of([&b"a"[..]]).0 < 1 << 40);
    let mut log = Log::default();
    let a = log.edit();
    log.edit_on(a);
    log.revert(a);
    log.push(Change::Inherit {
        from: "x".into(),
        effects: vec![(EffectId { commit: a, index: 3 }, insert(Place::Start))],
    });
    for commit in log.history.all() {
        let json = serde_json::to_string(commit).expect("can be written");
        assert_eq!(serde_json::from_str::<Commit>(&json).expect(&json), *commit);
    }
}

/// Whether a commit is active, in the simplest definition: no later active commit deactivates it.
fn counts(line: &[Commit], at: usize) -> bool {
    let switches =
        |later: &Commit| matches!(&later.change, Change::Revert { commits, .. } if commits.contains(&line[at].id));
    !(at + 1..line.len()).any(|later| switches(&line[later]) && counts(line, later))
}

/// Undo and redo as in any editor.
#[derive(Default)]
struct Editor {
    now: BTreeSet<CommitId>,
    past: Vec<BTreeSet<CommitId>>,
    future: Vec<BTreeSet<CommitId>>,
}

impl Editor {
    fn becomes(&mut self, next: BTreeSet<CommitId>) {
        self.past.push(std::mem::replace(&mut self.now, next));
        self.future.clear();
    }
}

proptest! {
    #[test]
    fn any_history_is_what_a_simple_model_says(steps in proptest::collection::vec((0..7u8, any::<prop::sample::Index>()), 1..24)) {
        let mut log = Log::default();
        let mut editor = Editor::default();
        for (kind, which) in steps {
            let line: Vec<Commit> = log.history.line(log.history.head()).cloned().collect();
            let pick = (!line.is_empty()).then(|| line[which.index(line.len())].id);
            match (kind, pick) {
                (0 | 1, _) => {
                    let id = log.edit();
                    let mut next = editor.now.clone();
                    next.insert(id);
                    editor.becomes(next);
                }
                (2, Some(on)) if editor.now.contains(&on) => {
                    let id = log.edit_on(on);
                    let mut next = editor.now.clone();
                    next.insert(id);
                    editor.becomes(next);
                }
                (3, Some(target)) => {
                    if let Ok(commits) = log.history.revert(target, true) {
                        prop_assert_eq!(commits.last(), Some(&target));
                        log.off(commits, How::Revert);
                        editor.becomes(log.edits());
                    }
                }
                (4, Some(target)) => {
                    let then = log.edits_at(Some(target));
                    if log.history.rollback(Some(target)).is_ok() {
                        log.rollback(target);
                        editor.becomes(then);
                    }
                }
                (5, _) => match (log.undo(), editor.past.pop()) {
                    (Ok(_), Some(past)) => {
                        editor.future.push(std::mem::replace(&mut editor.now, past));
                    }
                    (Err(Cannot::Nothing), None) => {}
                    (mine, model) => prop_assert!(false, "undo: {:?}, {:?}", mine, model),
                },
                (6, _) => match (log.redo(), editor.future.pop()) {
                    (Ok(_), Some(future)) => {
                        editor.past.push(std::mem::replace(&mut editor.now, future));
                    }
                    (Err(Cannot::Nothing), None) => {}
                    (mine, model) => prop_assert!(false, "redo: {:?}, {:?}", mine, model),
                },
                _ => {}
            }
            let mut line: Vec<Commit> = log.history.line(log.history.head()).cloned().collect();
            line.reverse();
            let simple: Vec<CommitId> = (0..line.len()).filter(|&at| counts(&line, at)).map(|at| line[at].id).collect();
            let mut active: Vec<CommitId> = log.history.active(log.history.head()).iter().map(|commit| commit.id).collect();
            active.reverse();
            prop_assert_eq!(active, simple);
            prop_assert_eq!(log.edits(), editor.now.clone());
        }
    }

    #[test]
    fn reverting_in_any_order_leaves_the_same(
        on in proptest::collection::vec(proptest::option::of(any::<prop::sample::Index>()), 2..12),
        first in any::<prop::sample::Index>(),
        second in any::<prop::sample::Index>(),
    ) {
        let mut log = Log::default();
        let mut made = Vec::new();
        for on in on {
            made.push(match on {
                Some(on) if !made.is_empty() => { let on = made[on.index(made.len())]; log.edit_on(on) }
                _ => log.edit(),
            });
        }
        let both = [made[first.index(made.len())], made[second.index(made.len())]];
        let gone = |order: [CommitId; 2]| {
            let mut log = log.clone();
            for id in order {
                if log.history.revert(id, true).is_ok() {
                    log.revert(id);
                }
            }
            log.edits()
        };
        prop_assert_eq!(gone(both), gone([both[1], both[0]]));
    }
}
