//! A daemon that serves several people. Each person has a [`Desk`]: a service on a store of their own, and the routes
//! on it. A key leads to one desk, so code that serves a person cannot name the content of another. [`guest`] lets a
//! person use the conversations that others share with them.
//!
//! Without a team, nothing here is on the path of a request.

mod credentials;
pub(crate) mod guest;
mod idle;
pub(crate) mod key;
mod logins;
mod notes;
mod permit;
pub(crate) mod scope;
mod token;

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, PoisonError, RwLock, Weak};
use std::time::Duration;

use axum::Router;
use ctx_engine::Refusal;
use ctx_service::{Recorder, Service, now};
use ctx_team::{Actor, Identity, Recognition, Registry, Scopes};
use tokio::runtime::Handle;
use tokio::sync::Mutex;

pub use self::credentials::{GatewayKey, UpstreamCredentials};
pub(crate) use self::credentials::{NoCredential, without};
pub(crate) use self::key::{KeyPlace, key_of};
pub(crate) use self::logins::{INTERVAL as LOGIN_INTERVAL, LoginLimits};
use self::notes::AuditNotes;
pub(crate) use self::notes::Note;
pub(crate) use self::permit::Permit;
pub(crate) use self::token::Credential;
use crate::api::{self, Api, Surroundings};
use crate::helper::retitle;
use crate::local::ControlError;
use crate::mcp;
use crate::observer::{ComposerObserver, Traffic};
use crate::oidc::Oidc;
use crate::watch::Observer;

/// The people of a daemon, and their conversations.
#[derive(Clone)]
pub struct TeamSettings {
    pub registry: Arc<Registry>,
    pub open: Arc<dyn OpenService>,
    pub credentials: UpstreamCredentials,
    /// The time without use after which the conversations of a person are closed, to be opened again on demand.
    pub idle: Duration,
}

impl fmt::Debug for TeamSettings {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("TeamSettings")
    }
}

/// Opens the conversations of people.
pub trait OpenService: Send + Sync + 'static {
    /// May block.
    fn open(&self, person: u32) -> Result<Arc<Service>, Refusal>;
}

/// Everything that serves one person.
pub(crate) struct Desk {
    pub(crate) service: Arc<Service>,
    pub(crate) recorder: Recorder,
    pub(crate) observer: Arc<dyn Observer>,
    traffic: Arc<Traffic>,
    api: Api,
    /// The number of references to an unused API.
    holders: usize,
    /// The time of the last use, in milliseconds since 1970.
    used: AtomicU64,
    /// The routes of the control API on this person's conversations.
    own: Router,
    /// The same, with the conversations that others share with them.
    pub(crate) routes: Router,
    /// `/metrics` alone, for a port of its own.
    pub(crate) metrics: Router,
}

impl Desk {
    /// `seat` is the person; none if the daemon serves only one.
    pub(crate) fn new(service: Arc<Service>, around: &Surroundings, seat: Option<Seat>) -> std::io::Result<Desk> {
        let recorder = Recorder::start(service.clone())?;
        let traffic: Arc<Traffic> = Arc::default();
        let observer =
            Arc::new(ComposerObserver::new(service.clone(), recorder.clone(), traffic.clone(), around.metrics.clone()));
        service.meter(around.metrics.clone());
        if let Some(seat) = &seat {
            service.authorise(Arc::new(guest::CurrentAuthors(seat.clone())));
        }
        if around.helper.is_on() && around.helper.settings().titles {
            retitle(around.helper.clone(), service.clone());
        }
        let api = Api::new(service.clone(), recorder.clone(), traffic.clone(), around.clone(), seat.clone());
        api::resume_summaries(&api);
        let metrics = api::metrics_router(api.clone());
        let own = api::router(api.clone());
        let with_guests = match seat {
            Some(seat) => guest::admitting(own.clone(), seat),
            None => own.clone(),
        };
        let routes = mcp::beside(with_guests, around.mcp.clone());
        let (holders, used) = (api.holders(), AtomicU64::new(now()));
        Ok(Desk { service, recorder, observer, traffic, api, holders, used, own, routes, metrics })
    }
}

/// The people and their open desks.
pub(crate) struct Team {
    registry: Arc<Registry>,
    open: Arc<dyn OpenService>,
    credentials: UpstreamCredentials,
    login_limits: LoginLimits,
    notes: Arc<AuditNotes>,
    oidc: Option<Arc<Oidc>>,
    around: Surroundings,
    desks: RwLock<HashMap<u32, Arc<Desk>>>,
    /// Held while a desk is opened.
    opening: Mutex<()>,
    /// The runtime of the handlers.
    runtime: Handle,
    this: Weak<Team>,
}

/// A key that does not lead to a desk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeyRefusal {
    Missing,
    Wrong,
    /// It is unknown here, and the database is out of reach.
    Unchecked,
    /// It is not made for this.
    Lacks(Scopes),
    /// A token of the identity provider that is not valid here.
    IdentityWrong,
    /// Its person is not admitted.
    IdentityRefused,
    /// The provider's keys, or the database, are out of reach.
    IdentityUnchecked,
}

impl Team {
    /// `operator` has the conversations of the daemon's own home.
    pub(crate) fn new(
        settings: TeamSettings,
        oidc: Option<Arc<Oidc>>,
        around: Surroundings,
        operator: Arc<Service>,
    ) -> std::io::Result<Arc<Team>> {
        let TeamSettings { registry, open, credentials, idle } = settings;
        registry.follow()?;
        let team = Arc::new_cyclic(|this| Team {
            registry,
            open,
            credentials,
            login_limits: LoginLimits::default(),
            notes: Arc::default(),
            oidc,
            around,
            desks: RwLock::default(),
            opening: Mutex::default(),
            runtime: Handle::current(),
            this: this.clone(),
        });
        let desk = Desk::new(operator, &team.around, Some(team.seat(Actor::OPERATOR.id)))?;
        team.write().insert(Actor::OPERATOR.id, Arc::new(desk));
        idle::start(&team, idle);
        Ok(team)
    }

    pub(crate) fn operator(&self) -> Option<Arc<Desk>> {
        self.open_desk(Actor::OPERATOR.id)
    }

    pub(crate) fn registry(&self) -> &Arc<Registry> {
        &self.registry
    }

    pub(crate) fn credentials(&self) -> &UpstreamCredentials {
        &self.credentials
    }

    pub(crate) fn login_limits(&self) -> &LoginLimits {
        &self.login_limits
    }

    /// Enters `count` of these into the audit log, behind the answer.
    pub(crate) fn note(&self, by: Actor, note: Note, count: u64) {
        self.notes.enter((&self.registry, &self.runtime), by, note, count);
    }

    /// The identity provider, if there is one.
    pub(crate) fn oidc(&self) -> Option<&Arc<Oidc>> {
        self.oidc.as_ref()
    }

    pub(crate) fn seat(&self, person: u32) -> Seat {
        Seat { team: self.this.clone(), person }
    }

    /// The holder of a key that has these scopes.
    pub(crate) fn recognise(&self, key: Option<&[u8]>, needed: Scopes) -> Result<Identity, KeyRefusal> {
        known(self.registry.recognise(key.ok_or(KeyRefusal::Missing)?), needed)
    }

    /// The person of a session that began with this key.
    pub(crate) fn recognise_session(&self, session: &str, key: &str, needed: Scopes) -> Result<Identity, KeyRefusal> {
        known(self.registry.recognise_session(session, key), needed)
    }

    /// The person of a session that began at the identity provider, after so many times at which their account was
    /// unlinked.
    pub(crate) fn recognise_signed_in(
        &self,
        session: &str,
        (person, unlinks): (u32, u64),
        needed: Scopes,
    ) -> Result<Identity, KeyRefusal> {
        // Without the provider, nothing vouches for the person any more.
        self.oidc.as_ref().ok_or(KeyRefusal::Missing)?;
        known(self.registry.recognise_signed_in(session, person, unlinks), needed)
    }

    /// A person's desk, if it is open.
    pub(crate) fn open_desk(&self, person: u32) -> Option<Arc<Desk>> {
        let desk = self.desks.read().unwrap_or_else(PoisonError::into_inner).get(&person).cloned();
        desk.iter().for_each(|desk| desk.touch());
        desk
    }

    /// All open desks.
    pub(crate) fn open_desks(&self) -> Vec<Arc<Desk>> {
        self.desks.read().unwrap_or_else(PoisonError::into_inner).values().cloned().collect()
    }

    /// A person's desk. The first use of a desk reads the list of its conversations.
    pub(crate) async fn desk(&self, person: u32) -> Result<Arc<Desk>, ControlError> {
        if let Some(desk) = self.open_desk(person) {
            return Ok(desk);
        }
        let _one_at_a_time = self.opening.lock().await;
        if let Some(desk) = self.open_desk(person) {
            return Ok(desk);
        }
        let open = self.open.clone();
        let opened = self.runtime.spawn_blocking(move || open.open(person)).await;
        let service = opened.map_err(|_| failed())??;
        let _runtime = self.runtime.enter();
        let desk = Desk::new(service, &self.around.of_person(), Some(self.seat(person))).map_err(|_| failed())?;
        let desk = Arc::new(desk);
        self.write().insert(person, desk.clone());
        Ok(desk)
    }

    fn write(&self) -> std::sync::RwLockWriteGuard<'_, HashMap<u32, Arc<Desk>>> {
        self.desks.write().unwrap_or_else(PoisonError::into_inner)
    }
}

fn known(recognition: Recognition, needed: Scopes) -> Result<Identity, KeyRefusal> {
    match recognition {
        Recognition::Known(identity) => match needed.without(identity.scopes) {
            missing if missing.is_empty() => Ok(identity),
            missing => Err(KeyRefusal::Lacks(missing)),
        },
        Recognition::Unknown => Err(KeyRefusal::Wrong),
        Recognition::OutOfReach => Err(KeyRefusal::Unchecked),
    }
}

fn failed() -> ControlError {
    ControlError::new(
        ctx_core::ErrorCode::Internal,
        "The daemon could not open the conversations of a person.",
        "Try again. If it persists, look at the daemon's log.",
    )
}

/// A person at their desk.
#[derive(Clone)]
pub(crate) struct Seat {
    team: Weak<Team>,
    person: u32,
}

/// Limits of the keys that a caller makes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct KeyLimits {
    /// The end of the key that they use.
    pub(crate) expires_at: Option<u64>,
    /// They came through an account at the identity provider.
    pub(crate) by_account: bool,
}

impl KeyLimits {
    pub(crate) fn of(identity: &Identity) -> KeyLimits {
        KeyLimits { expires_at: identity.expires_at, by_account: identity.by_account }
    }
}

impl Seat {
    pub(crate) fn person(&self) -> u32 {
        self.person
    }

    /// `None` while the daemon ends.
    pub(crate) fn team(&self) -> Option<Arc<Team>> {
        self.team.upgrade()
    }

    /// The person with their present role, as if with all scopes. One who was just removed is a member without keys.
    pub(crate) fn actor(&self) -> Actor {
        if self.person == Actor::OPERATOR.id {
            return Actor::OPERATOR;
        }
        let state = self.team().map(|team| team.registry.state());
        let role = state.and_then(|state| state.person(self.person).map(|person| person.role));
        Actor { id: self.person, role: role.unwrap_or(ctx_team::Role::Member), ..Actor::OPERATOR }
    }

    pub(crate) fn name(&self) -> String {
        self.team().map(|team| team.registry.state().name_of(self.person)).unwrap_or_default()
    }
}

/// A person who uses the conversation of another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Guest {
    pub(crate) person: u32,
    pub(crate) name: String,
}
