//! The parts of the service, and their assembly. Each room adds its own methods.

use crate::answer_ids::AnswerIds;
use crate::automatic::{Switch, ToolUses};
use crate::bodies::Newest;
use crate::directory::Directory;
use crate::edit::{Alarm, Folder};
use crate::idle::IdleGate;
use crate::intercept::HeldSessions;
use crate::keyed_lock::KeyedLock;
use crate::meter::Meter;
use crate::overview::{Knowledge, Overview};
use crate::provider::ProviderState;
use crate::recorder::Lanes;
use crate::streams::Streams;
use crate::threads::lock;
use crate::uploads::Uploads;
use crate::view::{Ledger, WeightCache};
use crate::writer::{StepFiles, Writer};
use ctx_engine::Engine;
use ctx_engine::conversation::Conversation;
use ctx_engine::conversation::titles::Titles;
use ctx_store::{Replica, Step, Store};
use std::collections::HashMap;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

/// The longest time that a reader waits for pending writes.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

/// The same while the store is known to be out of reach.
const AWAY: Duration = Duration::from_millis(300);

/// The store, the engine, and the state beside the conversations.
pub(crate) struct Parts {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) engine: Engine,
    pub(crate) directory: Arc<Mutex<Directory>>,
    pub(crate) writer: Writer,
    pub(crate) newest: Newest,
    /// Whether the directory has all conversations.
    pub(crate) knowledge: Knowledge,
    pub(crate) held: HeldSessions,
    pub(crate) uploads: Arc<Uploads>,
    pub(crate) gaps: Arc<IdleGate>,
    pub(crate) streams: Arc<Streams>,
    /// Settings and state of the provider's own editing.
    pub(crate) provider: Arc<ProviderState>,
    /// The automatic editor, if any.
    pub(crate) automatic: Arc<Switch>,
    /// The folder for offloaded content, if any.
    pub(crate) offload: Arc<OnceLock<Folder>>,
    /// The tools of the newest conversations.
    pub(crate) tool_uses: Mutex<ToolUses>,
    /// Titles from a helper, by conversation.
    pub(crate) titles: Mutex<HashMap<String, Titles>>,
    /// Usage and cost of requests, read on demand. Locked before the directory.
    pub(crate) ledger: Mutex<Ledger>,
    /// Sizes of edited conversations, computed on demand.
    pub(crate) weighed: WeightCache,
    /// Wakes conversations whose deferred edits wait for a moment.
    pub(crate) alarm: Alarm,
    /// The conversations whose history is being stored; a commit takes effect only afterwards.
    pub(crate) storing: KeyedLock,
    /// Serialises the commits of a conversation.
    pub(crate) editing: KeyedLock,
    /// Observed traffic to process, in one lane per session.
    pub(crate) lanes: Arc<Lanes>,
    pub(crate) answers: AnswerIds,
    /// Requests since the start whose history the provider keeps.
    pub(crate) elsewhere: AtomicU64,
    /// This daemon among those that share the store, if it is shared.
    pub(crate) replica: Option<Arc<dyn Replica>>,
    /// Called when any daemon on the store has stored something.
    pub(crate) growth: Mutex<Vec<GrowthListener>>,
    /// Keeps on disk which conversations are held.
    pub(crate) keeper: OnceLock<Box<dyn Fn() + Send + Sync>>,
    /// Counts for all services of the daemon.
    pub(crate) meter: OnceLock<Arc<dyn Meter>>,
}

pub(crate) type GrowthListener = Box<dyn Fn() -> bool + Send>;

impl Parts {
    pub fn of(store: Arc<dyn Store>, overview: Overview) -> Parts {
        let Overview { mut directory, edited, waiting, titles, tool_uses } = overview;
        let replica = store.replica();
        let mut engine = Engine::new(store.clone());
        if replica.is_some() {
            directory.use_long_ids();
            engine = engine.with_nonce(RandomState::new().hash_one(std::process::id()));
        }
        let directory = Arc::new(Mutex::new(directory));
        let gaps: Arc<IdleGate> = Arc::default();
        let (automatic, offload): (Arc<Switch>, Arc<OnceLock<Folder>>) = Default::default();
        let files = StepFiles { automatic: automatic.clone(), offload: offload.clone() };
        let writer = Writer::start(store.clone(), directory.clone(), gaps.clone(), files);
        let held = HeldSessions::of(replica.clone());
        for card in lock(&directory).cards() {
            let edited = edited.contains(&card.id);
            held.mark(card, edited);
        }
        let alarm = Alarm::of(waiting);
        Parts {
            engine,
            store,
            directory,
            writer,
            newest: Newest::default(),
            knowledge: Knowledge::default(),
            gaps,
            streams: Arc::default(),
            held,
            uploads: Arc::default(),
            provider: Arc::default(),
            automatic,
            offload,
            tool_uses: Mutex::new(tool_uses),
            titles: Mutex::new(titles),
            ledger: Mutex::default(),
            weighed: WeightCache::default(),
            alarm,
            storing: KeyedLock::default(),
            editing: KeyedLock::default(),
            lanes: Arc::default(),
            answers: AnswerIds::default(),
            elsewhere: AtomicU64::new(0),
            replica,
            growth: Mutex::default(),
            keeper: OnceLock::new(),
            meter: OnceLock::new(),
        }
    }

    /// The longest time that a reader waits for pending writes now.
    pub fn patience(&self) -> Duration {
        let is_away = self.replica.as_ref().is_some_and(|replica| replica.presence().away.is_some());
        if is_away { AWAY } else { PATIENCE }
    }

    /// Waits until everything observed so far is stored, at most for `most`.
    pub fn settle(&self, most: Duration) {
        let _ = self.writer.settle(most);
    }

    /// Stores a step that builds on no conversation's state.
    pub fn write(&self, step: Step) {
        self.writer.write(step, None);
    }

    /// Stores a step that builds on this state of a conversation.
    pub fn write_for(&self, conversation: &Conversation, step: Step) {
        self.writer.write(step, Some(conversation.log.losses));
    }
}
