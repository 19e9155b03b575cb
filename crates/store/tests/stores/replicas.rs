//! Several daemons on one database: an edit counts when all of them know it, or those out of reach are named.

use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use crate::common::{append, step};
use ctx_store::{Limits, Owner, PostgresStore, Replica, Step, Store};
use testkit::{Fault, FaultProxy, PostgresServer};

const LIMITS: Limits = Limits {
    connect: Duration::from_millis(800),
    call: Duration::from_millis(1500),
    known: Duration::from_secs(3_600),
};

/// The time for a poll that has nothing to wait for.
const SOON: Duration = Duration::from_millis(20);

struct Daemon {
    store: PostgresStore,
    replica: Arc<dyn Replica>,
}

fn daemon(url: &str, name: &str) -> Daemon {
    let store = PostgresStore::open_within(&url.parse().unwrap(), LIMITS).unwrap().join(name).unwrap();
    let replica = store.replica().unwrap();
    Daemon { store, replica }
}

/// A daemon that serves several owners.
fn for_several(url: &str, name: &str) -> PostgresStore {
    let store = PostgresStore::open_within(&url.parse().unwrap(), LIMITS).unwrap();
    store.join_for_several(name).unwrap()
}

impl Daemon {
    fn edit(&self, conversation: &str) {
        append(&self.store, vec![announced(conversation)]);
    }

    /// The edits of others, taken into account.
    fn take(&self) -> Vec<String> {
        let mut edited = self.replica.poll(SOON).unwrap().edited;
        self.replica.beat().unwrap();
        edited.sort();
        edited
    }

    /// The daemons that do not know the newest edit of a conversation.
    fn absent(&self, conversation: &str) -> Vec<String> {
        let absent = self.replica.await_others(conversation).unwrap();
        absent.into_iter().map(|absent| absent.name).collect()
    }
}

fn announced(conversation: &str) -> Step {
    Step { durable: true, is_announced: true, ..step(conversation, "an edit", &[]) }
}

#[test]
fn an_edit_counts_when_every_other_daemon_has_taken_it_into_account() {
    let Some(server) = PostgresServer::shared() else { return };
    let url = server.url(&server.new_database());
    let (one, two, three) = (daemon(&url, "one"), daemon(&url, "two"), daemon(&url, "three"));
    one.edit("c");
    let (tell, told) = channel();
    std::thread::scope(|scope| {
        scope.spawn(|| tell.send(one.absent("c")).unwrap());
        assert_eq!(two.take(), ["c"]);
        assert_eq!(three.replica.poll(SOON).unwrap().edited, ["c"]);
        assert!(told.recv_timeout(Duration::from_millis(300)).is_err(), "the third has not applied it yet");
        three.replica.beat().unwrap();
        two.replica.beat().unwrap();
        assert_eq!(told.recv_timeout(Duration::from_secs(20)).unwrap(), [""; 0]);
    });
    assert_eq!(
        (two.take(), three.take(), one.take()),
        (vec![], vec![], vec![]),
        "each is told once, and not of its own"
    );
    let names =
        |daemon: &Daemon| daemon.replica.presence().others.into_iter().map(|(name, _)| name).collect::<Vec<_>>();
    assert_eq!(names(&one), ["three", "two"]);
    drop(three);
    one.take();
    assert_eq!(names(&one), ["two"], "it took leave");
}

#[test]
fn a_daemon_out_of_reach_is_named_when_its_lease_is_over() {
    let Some(server) = PostgresServer::shared() else { return };
    let database = server.new_database();
    let one = daemon(&server.url(&database), "one");
    for fault in [Fault::Cut, Fault::Stall, Fault::HalfOpen] {
        let proxy = FaultProxy::to(server.port()).unwrap();
        let two = daemon(&PostgresServer::url_at(proxy.address().port(), &database), "two");
        two.take();
        proxy.set(fault);
        one.edit("c");
        let start = Instant::now();
        assert_eq!(one.absent("c"), ["two"], "{fault:?}");
        assert!(start.elapsed() < Duration::from_secs(4), "{fault:?}: {:?}", start.elapsed());
        assert!(two.replica.poll(SOON).is_err() && two.replica.presence().away.is_some(), "{fault:?}");
        one.take();
        assert!(one.replica.presence().away.is_none());
        proxy.set(Fault::None);
        let end = Instant::now() + Duration::from_secs(20);
        let news = loop {
            match two.replica.poll(SOON) {
                Ok(news) => break news,
                Err(error) => assert!(error.is_temporary() && Instant::now() < end, "{error}"),
            }
        };
        assert_eq!(news.edited, ["c"], "{fault:?}: it hears of it when it is back");
        two.replica.beat().unwrap();
        assert_eq!(one.absent("c"), [""; 0], "{fault:?}");
    }
}

#[test]
fn a_silent_daemon_of_the_same_name_is_replaced() {
    let Some(server) = PostgresServer::shared() else { return };
    let url = server.url(&server.new_database());
    let one = daemon(&url, "one");
    // Killed: it takes no leave.
    std::mem::forget(daemon(&url, "two"));
    let again = daemon(&url, "two");
    one.edit("c");
    std::thread::sleep(Duration::from_millis(2300));
    assert_eq!(again.take(), ["c"]);
    one.take();
    assert_eq!(one.absent("c"), [""; 0]);
    assert_eq!(one.replica.presence().others.len(), 1);
}

#[test]
fn an_edit_that_commits_behind_a_later_one_is_not_missed() {
    let Some(server) = PostgresServer::shared() else { return };
    let database = server.new_database();
    let url = server.url(&database);
    let proxy = FaultProxy::to(server.port()).unwrap();
    let slow = daemon(&PostgresServer::url_at(proxy.address().port(), &database), "slow");
    let (fast, other) = (daemon(&url, "fast"), daemon(&url, "other"));
    // Its transaction has a number, and waits before it commits.
    proxy.set(Fault::HoldFrom(b"INSERT INTO ctx.edits"));
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| slow.store.append(vec![announced("first")]));
        std::thread::sleep(Duration::from_millis(400));
        fast.edit("second");
        assert_eq!(other.take(), ["second"]);
        proxy.set(Fault::None);
        waiting.join().unwrap().unwrap();
    });
    assert_eq!(slow.replica.await_others("first").map(|absent| absent.len()).unwrap(), 2, "nobody has seen it");
    assert_eq!(other.take(), ["first"]);
    assert_eq!(fast.take(), ["first"]);
    assert_eq!(slow.absent("first"), [""; 0]);
}

#[test]
fn growth_and_purges_are_told() {
    let Some(server) = PostgresServer::shared() else { return };
    let url = server.url(&server.new_database());
    let (one, two) = (daemon(&url, "one"), daemon(&url, "two"));
    append(&one.store, vec![step("a", "a turn", &[]), step("b", "a turn", &[])]);
    let last = append(&one.store, vec![step("a", "another", &[])])[0];
    let mut grown = Vec::new();
    let end = Instant::now() + Duration::from_secs(20);
    while grown.len() < 2 {
        assert!(Instant::now() < end, "{grown:?}");
        let news = two.replica.poll(SOON).unwrap();
        assert_eq!(news.edited, [""; 0], "a turn is no edit");
        two.replica.beat().unwrap();
        grown.extend(news.grown);
    }
    grown.sort();
    assert_eq!(grown.last().map(|(name, _)| name.as_str()), Some("b"));
    assert!(grown.contains(&("a".to_owned(), last)), "{grown:?}");
    one.store.purge(&["a".to_owned()]).unwrap();
    assert_eq!(two.take(), ["a"]);
    assert_eq!(one.absent("a"), [""; 0]);
}

#[test]
fn edits_are_found_without_notifications() {
    let Some(server) = PostgresServer::shared() else { return };
    let Some(port) = server.pooler() else { return };
    let url = PostgresServer::url_at(port, &server.new_database());
    let (one, two) = (daemon(&url, "one"), daemon(&url, "two"));
    for number in 0..5 {
        let name = format!("c{number}");
        one.edit(&name);
        assert_eq!(two.take(), [name.as_str()]);
        assert_eq!(one.absent(&name), [""; 0]);
    }
}

/// Each waits for the lock after it has seen that there is no schema.
#[test]
fn several_daemons_may_open_an_empty_database_at_once() {
    let Some(server) = PostgresServer::shared() else { return };
    for _ in 0..4 {
        let url = server.url(&server.new_database());
        std::thread::scope(|scope| {
            let open = || PostgresStore::open_within(&url.parse().unwrap(), LIMITS).map(|_| ());
            let opening: Vec<_> = (0..6).map(|_| scope.spawn(open)).collect();
            opening.into_iter().for_each(|opened| opened.join().unwrap().unwrap());
        });
    }
}

#[test]
fn a_daemon_that_joins_later_counts_as_seeing_nothing_before_it_has_read_everything() {
    let Some(server) = PostgresServer::shared() else { return };
    let url = server.url(&server.new_database());
    let one = daemon(&url, "one");
    let store = PostgresStore::join_later(&url.parse().unwrap(), "later").unwrap();
    let later = store.replica().unwrap();
    one.edit("before");
    assert!(later.poll(SOON).unwrap().is_incomplete, "it must read everything");
    let (tell, told) = channel();
    std::thread::scope(|scope| {
        scope.spawn(|| tell.send(one.absent("before")).unwrap());
        assert!(told.recv_timeout(Duration::from_millis(300)).is_err(), "it has not read it yet");
        later.beat().unwrap();
        assert_eq!(told.recv_timeout(Duration::from_secs(20)).unwrap(), [""; 0]);
    });
}

#[test]
fn a_daemon_for_several_is_told_of_edits_whose_owner_it_does_not_serve() {
    let Some(server) = PostgresServer::shared() else { return };
    let url = server.url(&server.new_database());
    let (one, two) = (for_several(&url, "one"), for_several(&url, "two"));
    let (tell, told) = channel();
    two.on_unserved(move |owner, ids| {
        let _ = tell.send((owner, ids.to_vec()));
    });
    let theirs = one.of(Owner(7));
    append(&theirs, vec![announced("c")]);
    assert_eq!(theirs.replica().unwrap().await_others("c").unwrap(), []);
    let told = told.try_recv().expect("before it counted as seen");
    assert_eq!(told, (Some(Owner(7)), vec!["c".to_owned()]));
}

#[test]
fn edits_during_the_opening_of_a_store_are_known_before_it_serves() {
    let Some(server) = PostgresServer::shared() else { return };
    let url = server.url(&server.new_database());
    let (one, two) = (for_several(&url, "one"), for_several(&url, "two"));
    // Everything of the owner is read now, and served in a moment.
    let replica = two.of(Owner(7)).replica().unwrap();
    let theirs = one.of(Owner(7));
    append(&theirs, vec![announced("c")]);
    assert_eq!(theirs.replica().unwrap().await_others("c").unwrap(), []);
    assert_eq!(replica.catch_up().edited, ["c"]);
    append(&theirs, vec![announced("d")]);
    let (tell, told) = channel();
    std::thread::scope(|scope| {
        scope.spawn(|| tell.send(theirs.replica().unwrap().await_others("d").unwrap()).unwrap());
        assert!(told.recv_timeout(Duration::from_millis(300)).is_err(), "from now on it is waited for");
        while told.try_recv().is_err() {
            replica.poll(SOON).unwrap();
            replica.beat().unwrap();
        }
    });
}

/// The store of an owner closes while its follower waits for news.
#[test]
fn a_follower_that_ends_with_news_in_its_hands_holds_no_edit_up() {
    let Some(server) = PostgresServer::shared() else { return };
    let url = server.url(&server.new_database());
    let (one, two) = (for_several(&url, "one"), for_several(&url, "two"));
    let (tell, told) = channel();
    two.on_unserved(move |owner, ids| {
        let _ = tell.send((owner, ids.to_vec()));
    });
    let replica = two.of(Owner(7)).replica().unwrap();
    let follower = std::thread::spawn(move || {
        loop {
            let news = replica.poll(Duration::from_secs(60)).unwrap();
            if !news.edited.is_empty() {
                return news.edited;
            }
            replica.beat().unwrap();
        }
    });
    std::thread::sleep(Duration::from_millis(300));
    let (mine, theirs) = (one.of(Owner(0)), one.of(Owner(7)));
    append(&theirs, vec![announced("c")]);
    assert_eq!(follower.join().unwrap(), ["c"]);
    assert_eq!(theirs.replica().unwrap().await_others("c").unwrap(), []);
    assert_eq!(told.try_recv(), Ok((Some(Owner(7)), vec!["c".to_owned()])), "the file of its owner is outdated");
    append(&mine, vec![announced("d")]);
    assert_eq!(mine.replica().unwrap().await_others("d").unwrap(), [], "the daemon goes on beating");
}

/// After a crash, the server gives numbers of transactions again that it lost.
#[test]
fn a_crash_of_the_server_hides_no_edit() {
    let Some(server) = PostgresServer::start_another() else { return };
    let database = server.new_database();
    server.sql(&database, "ALTER SYSTEM SET wal_writer_delay = '10s'").unwrap();
    server.sql(&database, "SELECT pg_reload_conf()").unwrap();
    let url = server.url(&database);
    let (one, two) = (daemon(&url, "one"), daemon(&url, "two"));
    assert_eq!(two.take(), [""; 0]);
    for round in 0..3 {
        for number in 0..20 {
            append(&one.store, vec![step("c", format!("{round} {number}"), &[])]);
        }
        assert_eq!(two.take(), [""; 0]);
        server.crash().unwrap();
        let name = format!("edited {round}");
        while one.store.append(vec![announced(&name)]).is_err() {}
        let news = (0..50).find_map(|_| two.replica.poll(SOON).ok()).unwrap();
        assert!(news.is_incomplete || news.edited.contains(&name), "{round}: {news:?}");
        two.replica.beat().unwrap();
    }
}
