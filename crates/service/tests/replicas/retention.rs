//! Old conversations on a database that several daemons share.

use crate::stage::{Daemon, Stage, session, until};
use ctx_api::stats::Spending;
use ctx_service::Retention;
use ctx_service::view::StatsScope;
use std::time::Duration;
use testkit::Fault;

fn total(daemon: &Daemon) -> Spending {
    daemon.house.service.stats(&StatsScope::default()).expect("stats").total
}

#[test]
fn old_conversations_go_from_all_daemons_and_their_figures_stay() {
    let Some(stage) = Stage::new() else { return };
    let (one, two) = (stage.daemon("one"), stage.daemon("two"));
    let (plain, edited) = (session(21, "plain"), session(22, "edited"));
    for talk in [&plain, &edited] {
        let ticket = one.house.send(talk);
        one.house.reply(&ticket, "so it is");
        one.settle();
    }
    let id = one.house.service.resolve(edited.session_id()).expect("an id");
    one.rewrite(&id, "t1#0", "OTHER");
    until("both are known", || two.house.ids().len() == 2);
    let before = total(&one);
    assert_eq!((before.requests, total(&two)), (2, before));
    std::thread::sleep(Duration::from_millis(20));

    let rules = Retention { content: 0, figures: None, edited: false };
    let batch = two.house.service.retain(&rules).expect("a batch");
    assert_eq!((batch.removed.len(), batch.remaining), (1, 0), "the edited one stays");
    until("the other daemon forgets it", || one.house.ids() == [id.clone()]);
    // The feed waits for every transaction of the server, so the figures may come after the content is gone.
    until("the figures stay", || (total(&one), total(&two)) == (before, before));
    assert!(one.say(&edited).says("OTHER"));

    // The session goes on through the other daemon.
    let ticket = one.house.send(&plain);
    one.house.reply(&ticket, "again");
    one.settle();
    until("its figures are added", || total(&one).requests == 3 && total(&two).requests == 3);
    let everything = Retention { edited: true, ..rules };
    std::thread::sleep(Duration::from_millis(20));
    let spent = total(&one);
    assert_eq!(one.house.service.retain(&everything).expect("a batch").removed.len(), 2);
    until("nothing is left", || two.house.ids().is_empty());
    until("all figures stay", || (total(&one), total(&two)) == (spent, spent));
    assert_eq!(total_of(&stage), spent, "also after a restart");
}

/// A daemon that no longer hears of edits can still reach the database: it asks there what is edited.
#[test]
fn an_edit_that_a_daemon_has_not_heard_of_keeps_its_conversation() {
    let Some(stage) = Stage::new() else { return };
    let (one, two) = (stage.daemon("one"), stage.daemon("two"));
    let (plain, edited) = (session(23, "plain"), session(24, "secret"));
    for talk in [&plain, &edited] {
        one.say(talk);
        one.settle();
    }
    until("both are known", || two.house.ids().len() == 2);
    let id = one.house.service.resolve(edited.session_id()).expect("an id");
    two.proxy.set(Fault::HoldFrom(b"INSERT INTO ctx.replicas"));
    until("its lease is over", || two.house.service.presence().is_some_and(|presence| presence.is_blind()));
    let applied = one.rewrite(&id, "t1#0", "OTHER");
    assert!(applied.warnings.iter().any(|warning| warning.contains("The daemon two")), "{:?}", applied.warnings);
    std::thread::sleep(Duration::from_millis(20));

    let rules = Retention { content: 0, figures: None, edited: false };
    let batch = two.house.service.retain(&rules).expect("a batch");
    assert_eq!((batch.removed.len(), batch.remaining), (1, 0), "the edited one stays");
    two.proxy.set(Fault::None);
    assert!(one.say(&edited).says("OTHER"));
    until("it hears of the edit", || two.say(&edited).says("OTHER"));
}

fn total_of(stage: &Stage) -> Spending {
    stage.alone().service.stats(&StatsScope::default()).expect("stats").total
}
