//! One daemon, or all, cannot reach the database.

use crate::stage::{Daemon, Left, Stage, session, until};
use ctx_service::recorder::Withheld;
use std::time::{Duration, Instant};
use testkit::{Fault, Session};

/// What an edit may take while a daemon dies, on a busy machine.
const DYING: Duration = Duration::from_secs(6);

/// Edits a conversation through one daemon; the other knows the edit, and a conversation without one. The id of the first.
fn edit_on_one_and_say_on_both(one: &Daemon, two: &Daemon, edited: &Session, plain: &Session) -> String {
    one.say(edited);
    one.settle();
    let id = one.house.ids().remove(0);
    one.rewrite(&id, "t1#0", "FIRST");
    assert!(two.say(edited).says("FIRST"));
    two.say(plain);
    two.settle();
    id
}

#[test]
fn a_daemon_that_is_cut_off_is_named_and_catches_up() {
    let Some(stage) = Stage::new() else { return };
    let (one, two) = (stage.daemon("one"), stage.daemon("two"));
    let (edited, plain) = (session(1, "secret"), session(2, "plain"));
    let id = edit_on_one_and_say_on_both(&one, &two, &edited, &plain);
    for fault in [Fault::Cut, Fault::Stall, Fault::HalfOpen] {
        two.proxy.set(fault);
        let start = Instant::now();
        let new = format!("NEWER {fault:?}");
        let applied = one.rewrite(&id, "t1#0", &new);
        assert!(start.elapsed() < DYING, "{fault:?}: {:?}", start.elapsed());
        assert!(applied.warnings.iter().any(|warning| warning.contains("The daemon two")), "{:?}", applied.warnings);
        assert!(one.say(&edited).says(&new));

        let start = Instant::now();
        let sent = two.say(&edited);
        assert!(matches!(sent, Left::Composed(_)) && !sent.says("secret"), "with the edits that it knows: {sent:?}");
        assert!(matches!(two.say(&plain), Left::Streamed), "untouched requests pass");
        assert!(start.elapsed() < Duration::from_secs(1), "nobody waits: {:?}", start.elapsed());
        until("it notices", || two.house.service.presence().is_some_and(|presence| presence.away.is_some()));

        two.proxy.set(Fault::None);
        until("it catches up", || two.say(&edited).says(&new));
        let mut count = 0;
        until("it is heard of again", || {
            count += 1;
            one.rewrite(&id, "t1#0", &format!("{new} {count}")).warnings.is_empty()
        });
        assert!(two.say(&edited).says(&format!("{new} {count}")), "{fault:?}");
        two.settle();
    }
}

#[test]
fn a_daemon_that_is_cut_off_for_too_long_knows_nothing_any_more() {
    let Some(stage) = Stage::new() else { return };
    knows_nothing_any_more(&stage.daemon("one"), &stage.daemon_knowing("two", Duration::from_secs(3)));
}

#[test]
fn a_daemon_for_many_that_is_cut_off_for_too_long_knows_nothing_any_more_of_anyone() {
    let Some(stage) = Stage::new() else { return };
    let (hour, moment) = (Duration::from_secs(3_600), Duration::from_secs(3));
    knows_nothing_any_more(&stage.desk_knowing("one", hour), &stage.desk_knowing("two", moment));
}

/// Commits name a silent daemon only for a time; it refuses requests before that time is over.
fn knows_nothing_any_more(one: &Daemon, two: &Daemon) {
    let (edited, plain, new) = (session(11, "secret"), session(12, "plain"), session(13, "new"));
    let id = edit_on_one_and_say_on_both(one, two, &edited, &plain);
    assert_eq!(two.say(&plain), Left::Streamed);
    two.proxy.set(Fault::HalfOpen);
    until("it knows nothing any more", || {
        // The next one waits until all of them are observed, and each observation asks the database in vain.
        std::thread::sleep(Duration::from_millis(200));
        two.say(&plain) == Left::Withheld(Withheld::Store)
    });
    let plain_id = two.house.service.resolve(plain.session_id()).expect("it is known");
    one.rewrite(&id, "t1#0", "SECOND");
    one.rewrite(&plain_id, "t1#0", "ELSEWHERE");
    for session in [&edited, &plain, &new] {
        assert_eq!(two.say(session), Left::Withheld(Withheld::Store));
    }
    two.proxy.set(Fault::None);
    until("it reads everything", || two.say(&edited).says("SECOND"));
    assert!(two.say(&plain).says("ELSEWHERE"));
    assert!(matches!(two.say(&new), Left::AsItCame | Left::Streamed));
}

#[test]
fn while_the_database_is_away_requests_go_on_and_edits_are_refused() {
    let Some(stage) = Stage::new() else { return };
    let daemons = [stage.daemon("one"), stage.daemon("two")];
    let (edited, plain) = (session(3, "secret"), session(4, "plain"));
    daemons[0].say(&edited);
    daemons[0].settle();
    let id = daemons[0].house.ids().remove(0);
    daemons[0].rewrite(&id, "t1#0", "EDITED");
    for daemon in &daemons {
        assert!(daemon.say(&edited).says("EDITED"));
        daemon.say(&plain);
        daemon.settle();
    }
    // A third daemon knows of the edit, and has nothing of the conversation in memory.
    let third = stage.daemon("three");
    assert_eq!(third.house.ids().len(), 2, "it has read which ones there are");
    daemons.iter().chain([&third]).for_each(|daemon| daemon.proxy.set(Fault::Cut));
    until("they notice", || {
        let all = || daemons.iter().chain([&third]);
        all().all(|daemon| daemon.house.service.presence().is_some_and(|presence| presence.away.is_some()))
    });
    for daemon in &daemons {
        let start = Instant::now();
        assert!(daemon.say(&edited).says("EDITED"), "composed from memory");
        assert_eq!(daemon.say(&plain), Left::Streamed);
        let refused = daemon.edit(&id, serde_json::json!({"op": "delete", "ids": ["t1"]})).expect_err("refused");
        assert!(refused.message.contains("could not be stored"), "{refused:?}");
        assert!(start.elapsed() < DYING, "{:?}", start.elapsed());
    }
    let start = Instant::now();
    assert_eq!(third.say(&edited), Left::Withheld(Withheld::Store), "its edits are out of reach");
    assert_eq!(third.say(&plain), Left::Streamed);
    assert!(start.elapsed() < Duration::from_secs(3), "{:?}", start.elapsed());

    let mut later = edited.clone();
    later.assistant("answer").user("asked during the outage");
    assert!(daemons[0].say(&later).says("EDITED"));
    let during = session(8, "begun during the outage");
    assert!(matches!(daemons[1].say(&during), Left::AsItCame | Left::Streamed));
    daemons.iter().chain([&third]).for_each(|daemon| daemon.proxy.set(Fault::None));
    until("what one daemon observed is stored", || {
        daemons[1].settle();
        stage.alone().service.resolve(during.session_id()).is_ok()
    });
    until("what two of them observed is stored with the next request", || {
        daemons[0].say(&later);
        daemons[0].settle();
        stage.alone().turns(&id).len() == 3
    });
    until("it reads the edits", || third.say(&later).says("EDITED"));
    assert_eq!(daemons[0].house.service.unsaved(), 0);
}

#[test]
fn a_daemon_that_starts_during_an_outage_withholds_what_is_edited_and_passes_the_rest() {
    let Some(stage) = Stage::new() else { return };
    let before = stage.daemon("one");
    let (edited, plain, new) = (session(5, "secret"), session(6, "plain"), session(7, "new"));
    before.say(&edited);
    before.say(&plain);
    before.settle();
    let id = before.house.service.resolve(edited.session_id()).expect("it is known");
    before.rewrite(&id, "t1#0", "EDITED");
    let cards = before.house.service.edited_cards();
    assert!(!serde_json::to_string(&cards).expect("JSON").contains("secret"), "no content: {cards:?}");
    drop(before);

    let daemon = stage.daemon_away("two", cards);
    let start = Instant::now();
    assert_eq!(daemon.say(&edited), Left::Withheld(Withheld::Store));
    let mut fork = edited.clone().fork();
    fork.assistant("yes").user("third");
    assert_eq!(daemon.say(&fork), Left::Withheld(Withheld::Store), "it may have inherited the edit");
    for other in [&plain, &new] {
        assert!(matches!(daemon.say(other), Left::AsItCame | Left::Streamed), "others pass");
    }
    assert!(start.elapsed() < DYING, "{:?}", start.elapsed());

    daemon.proxy.set(Fault::None);
    until("it reads the edits", || daemon.say(&edited).says("EDITED"));
    until("it lists everything", || daemon.house.ids().len() >= 3);
    until("it is back", || daemon.house.service.presence().is_some_and(|presence| presence.away.is_none()));
    assert!(daemon.say(&plain) != Left::Withheld(Withheld::Store));
}
