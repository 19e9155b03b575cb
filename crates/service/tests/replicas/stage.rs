//! Daemons on one database, each with its own way to it.

pub use crate::support::leaving::Left;
use crate::support::{Headers, House, LONG, leaving};
use ctx_api::edit::{EditRequest, EditResult};
use ctx_engine::Refusal;
use ctx_engine::card::Card;
use ctx_service::{Recorder, Service};
use ctx_store::{Limits, Owner, PostgresStore, StoreError};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::{Duration, Instant};
use testkit::{Fault, FaultProxy, PostgresServer, Session};

const LIMITS: Limits = Limits {
    connect: Duration::from_millis(800),
    call: Duration::from_millis(1500),
    known: Duration::from_secs(3_600),
};

pub struct Daemon {
    pub house: House,
    pub recorder: Recorder,
    /// Between it and the database.
    pub proxy: FaultProxy,
}

/// A database for daemons.
pub struct Stage {
    pub server: &'static PostgresServer,
    pub database: String,
}

impl Stage {
    /// `None` if there is no server.
    pub fn new() -> Option<Stage> {
        let server = PostgresServer::shared()?;
        let database = server.new_database();
        PostgresStore::open(&server.url(&database).parse().expect("an address")).expect("a store");
        Some(Stage { server, database })
    }

    pub fn daemon(&self, name: &str) -> Daemon {
        self.daemon_within(name, LIMITS)
    }

    /// A daemon that knows nothing any more after so long without a beat.
    pub fn daemon_knowing(&self, name: &str, known: Duration) -> Daemon {
        self.daemon_within(name, Limits { known, ..LIMITS })
    }

    /// A daemon whose calls of the database may take this long.
    pub fn patient_daemon(&self, name: &str, call: Duration) -> Daemon {
        self.daemon_within(name, Limits { call, ..LIMITS })
    }

    /// The desk of a person on a daemon for many, which knows nothing any more after so long without a beat.
    pub fn desk_knowing(&self, name: &str, known: Duration) -> Daemon {
        self.opened(Limits { known, ..LIMITS }, |store| Ok(store.join_for_several(name)?.of(Owner(7))))
    }

    fn daemon_within(&self, name: &str, limits: Limits) -> Daemon {
        self.opened(limits, |store| store.join(name))
    }

    /// A daemon that meets this fault as soon as its requests pass.
    pub fn daemon_reading(&self, name: &str, fault: Fault) -> Daemon {
        let (store, proxy) = self.store(LIMITS, |store| store.join(name));
        began(store, proxy, fault)
    }

    fn opened(&self, limits: Limits, join: impl FnOnce(PostgresStore) -> Result<PostgresStore, StoreError>) -> Daemon {
        let (store, proxy) = self.store(limits, join);
        began(store, proxy, Fault::None)
    }

    fn store(
        &self,
        limits: Limits,
        join: impl FnOnce(PostgresStore) -> Result<PostgresStore, StoreError>,
    ) -> (Arc<PostgresStore>, FaultProxy) {
        let proxy = FaultProxy::to(self.server.port()).expect("a proxy");
        let address = PostgresServer::url_at(proxy.address().port(), &self.database).parse().expect("an address");
        let store = PostgresStore::open_within(&address, limits).and_then(join).expect("a store");
        (Arc::new(store), proxy)
    }

    /// A daemon that starts while the database is out of reach, and knows only these edited conversations.
    pub fn daemon_away(&self, name: &str, edited: Vec<Card>) -> Daemon {
        let proxy = FaultProxy::to(self.server.port()).expect("a proxy");
        proxy.set(Fault::Cut);
        let address = PostgresServer::url_at(proxy.address().port(), &self.database).parse().expect("an address");
        let store = Arc::new(PostgresStore::join_later(&address, name).expect("a store"));
        let house = House::of(Service::open_away(store.clone(), edited), store);
        let recorder = Recorder::start(house.service.clone()).expect("threads");
        Daemon { house, recorder, proxy }
    }

    /// A daemon that knows the others only from the database.
    pub fn alone(&self) -> House {
        let store = PostgresStore::open(&self.server.url(&self.database).parse().expect("an address"));
        House::on(Arc::new(store.expect("a store")))
    }
}

fn began(store: Arc<PostgresStore>, proxy: FaultProxy, fault: Fault) -> Daemon {
    let house = House::of(Service::open_early(store.clone()).expect("a service"), store);
    proxy.set(fault);
    let recorder = Recorder::start(house.service.clone()).expect("threads");
    Daemon { house, recorder, proxy }
}

impl Daemon {
    pub fn send(&self, headers: &Headers, body: &[u8]) -> Left {
        leaving::send(&self.recorder, headers, body)
    }

    pub fn say(&self, session: &Session) -> Left {
        self.send(&session.headers(), &session.body())
    }

    pub fn settle(&self) {
        self.recorder.settle(LONG);
    }

    pub fn edit(&self, id: &str, operation: Value) -> Result<EditResult, Refusal> {
        let operations = serde_json::from_value(json!([operation])).expect("operations");
        self.house.service.apply(id, EditRequest { operations, ..EditRequest::default() })
    }

    /// Gives a message another text.
    pub fn rewrite(&self, id: &str, message: &str, text: &str) -> EditResult {
        self.edit(id, json!({"op": "edit", "id": message, "text": text})).expect("a commit")
    }
}

pub fn session(seed: u64, first: &str) -> Session {
    let mut session = Session::new(seed).lean();
    session.user(first).assistant("yes").user("second");
    session
}

pub fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let end = Instant::now() + LONG;
    while !is_so() {
        assert!(Instant::now() < end, "{what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}
