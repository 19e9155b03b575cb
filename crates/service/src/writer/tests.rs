use super::work::put_first;
use super::*;
use crate::automatic::Switch;
use crate::tests::stores::FailingStore;
use ctx_core::policy::{Facts, Look, Proposal, Settings};
use ctx_engine::Refusal;
use ctx_engine::ports::{About, Automatic};
use ctx_store::{NewRecord, Reader, StoreError};
use std::collections::VecDeque;

#[test]
fn what_somebody_waits_for_goes_before_other_conversations_and_behind_its_own() {
    let step = |conversation: &str, kind: &str| Step {
        records: vec![NewRecord { conversation: conversation.into(), kind: kind.into(), ..NewRecord::default() }],
        ..Step::default()
    };
    let later = |step| Job::Step(PendingStep { step, losses: None });
    let now = |step| Job::Now(step, 0.into(), sync_channel(1).0, sync_channel(1).1);
    let mut backlog = VecDeque::from([
        later(step("a", "1")),
        later(step("b", "2")),
        Job::Settle(sync_channel(1).0),
        later(step("b", "3")),
        now(step("b", "4")),
        later(step("b", "5")),
    ]);
    put_first(&mut backlog);
    let kinds: Vec<&str> = backlog
        .iter()
        .map(|job| match job {
            Job::Step(PendingStep { step, .. }) | Job::Now(step, ..) => step.records[0].kind.as_str(),
            Job::Settle(_) => "settle",
            Job::Lost(_) => "lost",
        })
        .collect();
    assert_eq!(kinds, ["2", "3", "4", "1", "settle", "5"]);
}

#[test]
fn a_store_that_was_removed_is_not_taken_for_a_full_disk() {
    let hint = |refusal: &Refusal| ctx_api::face::Face::Shell.words(&refusal.hint);
    let gone = WriteError::from(StoreError::Gone { path: "ctx.db".into() }).refusal("The commit");
    assert_eq!(gone.message, "The commit could not be stored: ctx.db was removed or replaced while it was in use.");
    assert!(hint(&gone).contains("Restart the daemon") && !hint(&gone).contains("disk"), "{gone:?}");
    assert!(hint(&WriteError::Stopped.refusal("The commit")).contains("Is the disk full?"));
}

#[test]
fn what_an_editor_kept_is_secured_before_its_commit_is_stored() {
    struct Keeper(Arc<FailingStore>, AtomicU64);
    impl Automatic for Keeper {
        fn propose(&self, _: &About<'_>, _: &Look<'_>, _: (&Settings, Facts<'_>), _: bool) -> Vec<Proposal> {
            Vec::new()
        }

        fn secure(&self) {
            let stored = self.0.records("one", 0).expect("records").records.len() as u64;
            self.1.store(10 + stored, Ordering::Relaxed);
        }
    }
    let store = Arc::new(FailingStore::new());
    let keeper = Arc::new(Keeper(store.clone(), AtomicU64::new(0)));
    let automatic: Arc<Switch> = Arc::default();
    automatic.put(Some(keeper.clone()));
    let files = StepFiles { automatic, ..StepFiles::default() };
    let writer = Writer::start(store, Arc::default(), Arc::default(), files);
    let record = NewRecord { conversation: "one".into(), kind: "any".into(), ..NewRecord::default() };
    let step = |durable| Step { records: vec![record.clone()], durable, ..Step::default() };
    assert_eq!(keeper.1.load(Ordering::Relaxed), 0);
    for (durable, stored) in [(false, 10), (true, 11)] {
        writer.write(step(durable), None);
        assert!(writer.settle(Duration::from_secs(60)));
        assert_eq!(keeper.1.load(Ordering::Relaxed), stored, "before its record");
    }
    assert!(writer.write_now(step(false), 0).is_ok());
    assert_eq!(keeper.1.load(Ordering::Relaxed), 12);
}

#[test]
fn a_step_is_refused_when_something_it_builds_on_was_lost() {
    let store = Arc::new(FailingStore::new());
    let directory: Arc<Mutex<Directory>> = Arc::default();
    let writer = Writer::start(store.clone(), directory.clone(), Arc::default(), StepFiles::default());
    let step = |conversation: &str| Step {
        records: vec![NewRecord { conversation: conversation.into(), kind: "any".into(), ..NewRecord::default() }],
        ..Step::default()
    };
    store.refuse_writes(true);
    writer.write(step("one"), Some(0));
    assert!(writer.settle(Duration::from_secs(60)));
    store.refuse_writes(false);
    for (conversation, losses) in [("one", Some(0)), ("two", Some(0)), ("one", None)] {
        writer.write(step(conversation), losses);
    }
    assert!(writer.settle(Duration::from_secs(60)));
    let stored = |conversation| store.records(conversation, 0).expect("records").records.len();
    assert_eq!((stored("one"), stored("two")), (1, 1), "only what builds on nothing");
    assert!(matches!(writer.write_now(step("one"), 0), Err(WriteError::BuiltOnLost)));
    assert!(writer.write_now(step("two"), 0).is_ok(), "it lost nothing");
    let losses = lock(&directory).losses("one");
    assert!(writer.write_now(step("one"), losses).is_ok(), "it was read anew");
}

#[test]
fn steps_wait_for_a_store_out_of_reach_and_awaited_ones_are_refused() {
    let store = Arc::new(FailingStore::new());
    let directory: Arc<Mutex<Directory>> = Arc::default();
    let writer = Writer::start(store.clone(), directory.clone(), Arc::default(), StepFiles::default());
    let step = |kind: &str| Step {
        records: vec![NewRecord { conversation: "one".into(), kind: kind.into(), ..NewRecord::default() }],
        ..Step::default()
    };
    store.go_away(true);
    writer.write(step("first"), Some(0));
    writer.write(step("second"), Some(0));
    assert!(matches!(writer.write_now(step("refused"), 0), Err(WriteError::Away(_))));
    writer.write(step("third"), Some(0));
    assert!(!writer.settle(Duration::from_millis(300)), "they still wait");
    assert_eq!((writer.unsaved(), lock(&directory).losses("one")), (0, 0), "nothing is lost");
    store.go_away(false);
    assert!(writer.settle(Duration::from_secs(60)));
    assert!(writer.write_now(step("fourth"), 0).is_ok());
    let stored = store.records("one", 0).expect("records").records;
    let kinds: Vec<&str> = stored.iter().map(|record| record.kind.as_str()).collect();
    assert_eq!(kinds, ["first", "second", "third", "fourth"]);
}

#[test]
fn a_conversation_is_read_again_after_a_commit_of_unknown_outcome() {
    let store = Arc::new(FailingStore::new());
    let directory: Arc<Mutex<Directory>> = Arc::default();
    let writer = Writer::start(store.clone(), directory.clone(), Arc::default(), StepFiles::default());
    let record = NewRecord { conversation: "one".into(), kind: "any".into(), ..NewRecord::default() };
    store.go_away(true);
    let refused = writer.write_now(Step { records: vec![record], ..Step::default() }, 0);
    assert!(matches!(refused, Err(WriteError::Refused(StoreError::Unavailable { .. }))));
    assert_eq!(lock(&directory).losses("one"), 1);
}
