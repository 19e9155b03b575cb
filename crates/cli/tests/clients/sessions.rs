//! Session ids: continue, resume, fork, and two sessions with the same beginning.

use crate::claude::Claude;
use crate::stage::Stage;

#[test]
fn continue_and_resume_go_on_in_the_same_conversation() {
    let Some(claude) = Claude::find() else { return };
    let stage = Stage::new();
    let session = claude.ask_well(&stage, "SAY:one", &[]);
    assert_eq!(claude.ask_well(&stage, "SAY:two", &["--continue"]), session);
    assert_eq!(claude.ask_well(&stage, "SAY:three", &["--resume", &session]), session);
    stage.assert_faithful();

    let conversation = stage.conversation(|_| true);
    let titles: Vec<_> = stage.turns(&conversation).iter().map(|turn| turn["title"].clone()).collect();
    assert_eq!(titles, ["SAY:one", "SAY:two", "SAY:three"]);
    let verdicts: Vec<_> = stage.verdicts(&conversation).into_iter().map(|(_, verdict)| verdict).collect();
    assert_eq!(verdicts, ["new", "next", "next"]);
    stage.assert_dump_was_sent(&conversation);
}

#[test]
fn a_fork_is_a_new_conversation_that_knows_where_it_came_from() {
    let Some(claude) = Claude::find() else { return };
    let stage = Stage::new();
    let session = claude.ask_well(&stage, "SAY:shared beginning", &[]);
    let forked = claude.ask_well(&stage, "SAY:another way", &["--resume", &session, "--fork-session"]);
    assert_ne!(forked, session);
    claude.ask_well(&stage, "SAY:the first way", &["--resume", &session]);
    stage.assert_faithful();

    let parent = stage.conversation(|conversation| conversation["session"] == *session);
    let fork = stage.conversation(|conversation| conversation["session"] == *forked);
    assert_eq!(fork["forked_from"], parent["id"]);
    assert_eq!(stage.verdicts(&fork)[0].1, "fork");
    let titles = |conversation| stage.turns(conversation).iter().map(|turn| turn["title"].clone()).collect::<Vec<_>>();
    assert_eq!(titles(&fork), ["SAY:shared beginning", "SAY:another way"]);
    assert_eq!(titles(&parent), ["SAY:shared beginning", "SAY:the first way"]);
}

#[test]
fn two_sessions_with_the_same_first_prompt_stay_two() {
    let Some(claude) = Claude::find() else { return };
    let stage = Stage::new();
    let one = claude.ask_well(&stage, "SAY:the same words", &[]);
    let two = claude.ask_well(&stage, "SAY:the same words", &[]);
    claude.ask_well(&stage, "SAY:only in the first", &["--resume", &one]);
    stage.assert_faithful();
    assert_eq!(stage.conversations().len(), 2);
    let turns =
        |session: &str| stage.turns(&stage.conversation(|conversation| conversation["session"] == *session)).len();
    assert_eq!((turns(&one), turns(&two)), (2, 1));
}
