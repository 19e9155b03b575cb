//! A database out of reach: every call ends by its deadline with an error that says later, and afterwards nothing is
//! lost and nothing is stored twice.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::common::{Noise, append, at, step};
use ctx_store::{AppendOutcome, Limits, PostgresStore, Reader, Step, Store, StoreError};
use testkit::{Fault, FaultProxy, PostgresServer};

const LIMITS: Limits = Limits {
    connect: Duration::from_millis(800),
    call: Duration::from_millis(1500),
    known: Duration::from_secs(3_600),
};

/// What a busy machine may add to a deadline.
const SLACK: Duration = Duration::from_secs(3);

struct Stage {
    server: &'static PostgresServer,
    database: String,
    proxy: FaultProxy,
    /// Behind the proxy.
    store: PostgresStore,
}

fn stage() -> Option<Stage> {
    let server = PostgresServer::shared()?;
    let database = server.new_database();
    let proxy = FaultProxy::to(server.port()).unwrap();
    let address = PostgresServer::url_at(proxy.address().port(), &database).parse().unwrap();
    // The database is created on a busy machine; only what follows has short limits.
    PostgresStore::open(&server.url(&database).parse().unwrap()).unwrap();
    let store = PostgresStore::open_within(&address, LIMITS).unwrap();
    Some(Stage { server, database, proxy, store })
}

impl Stage {
    /// Another daemon, with its own way to the database.
    fn other(&self) -> PostgresStore {
        PostgresStore::open(&self.server.url(&self.database).parse().unwrap()).unwrap()
    }

    fn bodies(&self, conversation: &str) -> Vec<String> {
        let records = self.other().records(conversation, 0).unwrap().records;
        records.into_iter().map(|record| String::from_utf8(record.body).unwrap()).collect()
    }
}

fn durable(conversation: &str, body: impl AsRef<[u8]>) -> Step {
    Step { durable: true, ..step(conversation, body, &[b"a blob"]) }
}

/// Repeats an append until it succeeds.
fn insist(store: &PostgresStore, steps: &[Step]) -> Vec<AppendOutcome> {
    let end = Instant::now() + Duration::from_secs(60);
    loop {
        match store.append(steps.to_vec()) {
            Ok(outcomes) => return outcomes,
            Err(error) => assert!(error.is_temporary() && Instant::now() < end, "{error}: {error:?}"),
        }
    }
}

fn late<T: std::fmt::Debug>(call: impl FnOnce() -> Result<T, StoreError>) {
    let start = Instant::now();
    let error = call().expect_err("the database is out of reach");
    assert!(matches!(error, StoreError::Unavailable { .. }) && error.is_temporary(), "{error}");
    assert!(start.elapsed() < LIMITS.call + SLACK, "{:?}", start.elapsed());
}

#[test]
fn a_call_ends_by_its_deadline_and_succeeds_when_it_is_repeated() {
    let Some(stage) = stage() else { return };
    let faults = [Fault::Cut, Fault::Stall, Fault::HalfOpen, Fault::Trickle(Duration::from_millis(200))];
    for (number, fault) in faults.into_iter().enumerate() {
        append(&stage.store, vec![durable("a", format!("before {number}"))]);
        stage.proxy.set(fault);
        let during = [durable("a", format!("during {number}"))];
        late(|| stage.store.append(during.to_vec()));
        late(|| stage.store.records("a", 0));
        late(|| stage.store.conversations());
        stage.proxy.set(Fault::None);
        insist(&stage.store, &during);
        assert_eq!(stage.store.records("a", 0).unwrap().records.len(), 2 * number + 2, "{fault:?}");
    }
    let expected = (0..4).flat_map(|number| [format!("before {number}"), format!("during {number}")]);
    assert_eq!(stage.bodies("a"), expected.collect::<Vec<_>>());
}

#[test]
fn a_delay_is_only_a_delay() {
    let Some(stage) = stage() else { return };
    stage.proxy.set(Fault::Delay(Duration::from_millis(30)));
    for number in 0..5 {
        insist(&stage.store, &[durable("a", number.to_string())]);
    }
    assert_eq!(stage.bodies("a"), ["0", "1", "2", "3", "4"]);
}

#[test]
fn a_large_append_has_time_for_its_bytes() {
    let Some(stage) = stage() else { return };
    // Some 128 chunks: longer than a small append may take.
    stage.proxy.set(Fault::Delay(Duration::from_millis(25)));
    let large = Noise::new(1).bytes(8 << 20);
    let start = Instant::now();
    append(&stage.store, vec![step("a", "with a large blob", &[&large])]);
    assert!(start.elapsed() > LIMITS.call, "{:?}", start.elapsed());
}

#[test]
fn a_commit_whose_answer_was_lost_is_found_and_not_repeated() {
    let Some(stage) = stage() else { return };
    let first = append(&stage.store, vec![durable("a", "first")])[0];
    stage.proxy.set(Fault::LoseAnswer(b"COMMIT"));
    let steps = vec![at("a", first, durable("a", "second")), at("a", 77, durable("a", "late")), durable("b", "third")];
    let outcomes = insist(&stage.store, &steps);
    stage.proxy.set(Fault::None);
    let AppendOutcome::Stored { numbers } = &outcomes[0] else { panic!("{outcomes:?}") };
    assert_eq!(outcomes[1], AppendOutcome::Conflict { version: first });
    assert_eq!(stage.bodies("a"), ["first", "second"]);
    assert_eq!(stage.bodies("b"), ["third"]);
    assert_eq!(numbers[..], [stage.store.records("a", first).unwrap().records[0].seq]);
}

#[test]
fn a_commit_that_reaches_the_server_after_the_deadline_is_not_repeated() {
    let Some(stage) = stage() else { return };
    append(&stage.store, vec![durable("a", "first")]);
    for number in 0..3 {
        stage.proxy.set(Fault::HoldFrom(b"INSERT INTO ctx.records"));
        let steps = [durable("a", format!("second {number}"))];
        let error = std::thread::scope(|scope| {
            let waiting = scope.spawn(|| stage.store.append(steps.to_vec()));
            // Sometimes the server has given up by then, sometimes it still waits for the rest.
            std::thread::sleep(Duration::from_millis([200, 1300, 3000][number]));
            stage.proxy.set(Fault::None);
            waiting.join().unwrap()
        });
        if let Err(error) = error {
            assert!(error.is_temporary(), "{error}");
            insist(&stage.store, &steps);
        }
        assert_eq!(stage.bodies("a").len(), number + 2);
    }
}

#[test]
fn a_daemon_that_hangs_in_a_transaction_does_not_hold_up_others_for_long() {
    let Some(stage) = stage() else { return };
    append(&stage.store, vec![durable("a", "first"), durable("b", "first")]);
    stage.proxy.set(Fault::HoldFrom(b"INSERT INTO ctx.records"));
    std::thread::scope(|scope| {
        let hanging = scope.spawn(|| stage.store.append(vec![durable("a", "hangs")]));
        std::thread::sleep(Duration::from_millis(500));
        let (other, start) = (stage.other(), Instant::now());
        append(&other, vec![durable("b", "at once")]);
        insist(&other, &[durable("a", "soon")]);
        assert!(start.elapsed() < LIMITS.call + SLACK, "{:?}", start.elapsed());
        assert!(hanging.join().unwrap().is_err());
    });
    stage.proxy.set(Fault::None);
    insist(&stage.store, &[durable("a", "goes on")]);
    let bodies = stage.bodies("a");
    assert_eq!(bodies.last().map(String::as_str), Some("goes on"));
    assert!(bodies.contains(&"soon".to_owned()) && bodies.len() == 3, "{bodies:?}");
}

#[test]
fn nothing_is_lost_or_doubled_under_random_faults() {
    let Some(stage) = stage() else { return };
    let seed = testkit::first_seed();
    let (rounds, mut noise) = (if testkit::is_long() { 400 } else { 25 }, Noise::new(seed));
    let is_over = AtomicBool::new(false);
    let total = std::thread::scope(|scope| {
        let (store, over) = (&stage.store, &is_over);
        let writing = scope.spawn(move || {
            let mut number = 0_u64;
            while !over.load(Ordering::SeqCst) {
                insist(store, &[durable("a", number.to_string()), step("b", number.to_string(), &[])]);
                number += 1;
            }
            number
        });
        for _ in 0..rounds {
            let fault = match noise.number() % 6 {
                0 => Fault::Cut,
                1 => Fault::Stall,
                2 => Fault::HalfOpen,
                3 => Fault::LoseAnswer(b"COMMIT"),
                4 => Fault::HoldFrom(b"INSERT INTO ctx.records"),
                _ => Fault::Delay(Duration::from_millis(20)),
            };
            stage.proxy.set(fault);
            std::thread::sleep(Duration::from_millis(noise.number() % 300));
            stage.proxy.set(Fault::None);
            std::thread::sleep(Duration::from_millis(noise.number() % 100));
        }
        is_over.store(true, Ordering::SeqCst);
        writing.join().unwrap()
    });
    let expected: Vec<String> = (0..total).map(|number| number.to_string()).collect();
    assert_eq!(stage.bodies("a"), expected, "seed {seed}");
    assert_eq!(stage.bodies("b"), expected, "seed {seed}");
    assert!(total > 0 && stage.other().check().unwrap().is_sound());
}

#[test]
fn a_daemon_has_at_most_six_connections() {
    let Some(stage) = stage() else { return };
    let store = stage.store.clone().join("a daemon").unwrap();
    let replica = store.replica().unwrap();
    let is_over = AtomicBool::new(false);
    let most = std::thread::scope(|scope| {
        for thread in 0..16 {
            let (store, over) = (&stage.store, &is_over);
            scope.spawn(move || {
                while !over.load(Ordering::SeqCst) {
                    let name = format!("c{thread}");
                    insist(store, &[step(&name, "x", &[])]);
                    let _ = store.records(&name, 0);
                }
            });
        }
        let count = format!("SELECT count(*) FROM pg_stat_activity WHERE datname = '{}'", stage.database);
        let (news, over) = (&replica, &is_over);
        scope.spawn(move || {
            while !over.load(Ordering::SeqCst) {
                let _ = news.poll(Duration::from_millis(10)).and_then(|_| news.beat());
            }
        });
        let counts = (0..20).map(|_| stage.server.sql("postgres", &count).unwrap().parse::<u64>().unwrap());
        let most = counts.max();
        is_over.store(true, Ordering::SeqCst);
        most
    });
    assert!(most.is_some_and(|most| (2..=6).contains(&most)), "{most:?}");
}

#[test]
fn a_connection_that_the_server_closed_at_rest_is_replaced() {
    let Some(stage) = stage() else { return };
    append(&stage.store, vec![durable("a", "first")]);
    let others =
        format!("SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE datname = '{}'", stage.database);
    assert!(stage.server.sql("postgres", &others).unwrap().parse::<u64>().unwrap() > 0);
    assert_eq!(stage.store.records("a", 0).unwrap().records.len(), 1);
    assert_eq!(append(&stage.store, vec![durable("a", "second")]).len(), 1);
}
