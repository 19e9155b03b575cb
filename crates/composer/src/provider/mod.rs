//! The provider's own editing, switched on and supervised: for whom it is asked, what it is asked for, what it refuses,
//! and what it did. How the asking is spelled is in `ctx_wire::anthropic::context_management`.

mod added;
mod cleared;
mod known;
mod view;

pub(crate) use added::{Added, Asks};
pub use known::Refused;

use crate::automatic::About;
use crate::conversation::Conversation;
use crate::directory::lock;
use crate::log::{Answered, Summary};
use crate::{Composer, Engine};
use ctx_clients::Hints;
use ctx_core::Class;
use ctx_models::CacheRules;
use ctx_wire::anthropic::context_management::{
    Facts, Kind, Rules, Who, Wish, edits, excluded, excluded_by_client, insert_summary, merge, remove_summary, thinks,
    without_summary, would_act,
};
use ctx_wire::body::Body;
use ctx_wire::envelope::Envelope;
use known::Known;
use std::collections::HashMap;
use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

/// So many sessions are remembered for whether they are meant.
const SESSIONS: usize = 10_000;

type Whose = (Box<str>, Option<Box<str>>);

/// Who knows what is wanted of the provider, asked again for each turn: it may change while the daemon runs. Asking is
/// cheap, and it never fails.
pub trait ProviderRules: Send + Sync {
    /// What counts for a client that works in `folder`. The same `Arc` as long as nothing changes.
    fn provider(&self, folder: Option<&Path>) -> Arc<Rules>;
}

/// The same everywhere, whatever happens.
impl ProviderRules for Arc<Rules> {
    fn provider(&self, _folder: Option<&Path>) -> Arc<Rules> {
        Arc::clone(self)
    }
}

#[derive(Default)]
pub struct Provider {
    /// None: nobody wants anything.
    source: Option<Arc<dyn ProviderRules>>,
    /// What counts wherever nothing else is known, as of the newest turn.
    general: RwLock<Arc<Rules>>,
    upstream: String,
    known: Mutex<Known>,
    /// Whether a session, or an agent of one, is meant, as its newest turn told. The proxy asks before the first byte of
    /// a body is read.
    meant: RwLock<HashMap<Whose, bool>>,
    counts: view::Counts,
}

/// A request that may be asked to be edited.
pub(crate) struct Request<'a> {
    pub at: u64,
    pub class: Class,
    pub body: &'a Body,
    pub envelope: &'a Envelope,
    /// Leading messages that its conversation had before.
    pub same: usize,
    pub counting: bool,
}

impl Provider {
    /// Whether anything is wanted of it, as far as is known.
    fn is_on(&self) -> bool {
        let is_meant = || self.meant.read().unwrap_or_else(PoisonError::into_inner).values().any(|is_meant| *is_meant);
        !self.general().are_off() || is_meant()
    }

    fn general(&self) -> Arc<Rules> {
        self.general.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// What is wanted for a client that works in `folder`. May read files.
    fn rules(&self, folder: Option<&str>) -> Arc<Rules> {
        let Some(source) = &self.source else { return Arc::default() };
        let general = source.provider(None);
        if !Arc::ptr_eq(&general, &self.general()) {
            *self.general.write().unwrap_or_else(PoisonError::into_inner) = general.clone();
            self.meant.write().unwrap_or_else(PoisonError::into_inner).clear();
        }
        folder.map_or(general, |folder| source.provider(Some(Path::new(folder))))
    }

    /// Whether a request may have to be asked for. Of a session that is not known yet nobody can tell where it works:
    /// what counts everywhere decides.
    pub(crate) fn holds(&self, hints: &Hints) -> bool {
        let known = |whose| self.meant.read().unwrap_or_else(PoisonError::into_inner).get(&whose).copied();
        whose(hints).and_then(known).unwrap_or_else(|| self.general().may_cover(hints.agent.is_some()))
    }

    fn note(&self, hints: &Hints, is_meant: bool) {
        let Some(whose) = whose(hints) else { return };
        let known = self.meant.read().unwrap_or_else(PoisonError::into_inner).get(&whose).copied();
        if known != Some(is_meant) {
            let mut meant = self.meant.write().unwrap_or_else(PoisonError::into_inner);
            if meant.len() >= SESSIONS {
                meant.clear();
            }
            meant.insert(whose, is_meant);
        }
    }
}

fn whose(hints: &Hints) -> Option<Whose> {
    Some((hints.session.clone()?, hints.agent.clone()))
}

impl Engine {
    /// Whether old results of a conversation are cleared by the provider itself, or all of it summed up. Takes no lock of
    /// a conversation's.
    pub fn provider_edits(&self, about: &About<'_>) -> bool {
        let Some(model) = about.model else { return false };
        let rules = self.provider.rules(about.folder);
        let wish = rules.of(&Who { model, folder: about.folder, is_sub: about.agent.is_some() });
        let Some(wish) = wish else { return false };
        (wish.clear_tool_uses.enabled.unwrap_or(true) && self.provider_can(model, Kind::ToolUses, about.at))
            || (wish.compact.enabled.unwrap_or(false) && self.provider_can(model, Kind::Compact, about.at))
    }

    /// Whether the provider edits the request at hand and had no reason to before: then it goes first, for two cuts at
    /// once would be paid for twice. `tokens` and `tool_uses`: of the request before, and of this one.
    pub(crate) fn provider_goes_first(&self, about: &About<'_>, tokens: (u64, u64), tool_uses: (u64, u64)) -> bool {
        let Some(model) = about.model.filter(|_| self.provider_edits(about)) else { return false };
        let rules = self.provider.rules(about.folder);
        let Some(wish) = rules.of(&Who { model, folder: about.folder, is_sub: about.agent.is_some() }) else {
            return false;
        };
        let window = lock(&self.provider.known).window(model);
        let window = window.or_else(|| self.models.of(model).model()?.window);
        would_act(&wish, window, tokens.1, tool_uses.1) && !would_act(&wish, window, tokens.0, tool_uses.0)
    }

    /// What the provider said of a model counts, then the table.
    fn provider_can(&self, model: &str, kind: Kind, at: u64) -> bool {
        let listed = || {
            let model = self.models.of(model).model();
            model.is_some_and(|model| if kind == Kind::Compact { model.compaction } else { model.clearing })
        };
        lock(&self.provider.known).can(model, kind, at).unwrap_or_else(listed)
    }

    /// Whether a turn is meant: from then on its session is held, or is not.
    pub(crate) fn note_meant(&self, hints: &Hints, conversation: &Conversation, request: &Request<'_>) {
        if self.provider.source.is_some() && request.class.is_turn() && !request.counting {
            self.provider.note(hints, self.wished(conversation, request).is_some());
        }
    }

    fn wished(&self, conversation: &Conversation, request: &Request<'_>) -> Option<Wish> {
        if !request.body.wire().edits_context() {
            return None;
        }
        let folder = conversation.folder_with(Some(request.body));
        let is_sub = is_sub(conversation, request.class);
        let rules = self.provider.rules(folder.as_deref());
        rules.of(&Who { model: request.envelope.model.as_deref()?, folder: folder.as_deref(), is_sub })
    }

    /// What a request asks of the provider beside what its client does.
    pub(crate) fn adds(&self, conversation: &Conversation, request: &Request<'_>) -> Added {
        let mut added = self.edits_for(conversation, request).unwrap_or_default();
        added.is_for(request.envelope.model.as_deref().unwrap_or_default(), request.body.bytes().len());
        // Most conversations have no summaries.
        for (summary, span) in summaries_in(conversation, request.body) {
            let bytes = request.body.bytes();
            if !added.asks.compacts {
                // Nobody told the client what that is, and where it is not asked for it is refused.
                added.take_out(remove_summary(bytes, span));
            } else if !added.asks.summarised {
                // The newest one counts.
                added.asks.summarised = true;
                added.goes_with_edits(remove_summary(bytes, span.clone()));
                added.put(
                    insert_summary(bytes, span, summary.block.as_bytes()).unwrap_or_default(),
                    vec![Kind::Compact],
                );
            }
        }
        added
    }

    /// The edits that a request asks for; `None` when it is not meant.
    fn edits_for(&self, conversation: &Conversation, request: &Request<'_>) -> Option<Added> {
        // Side traffic that carries the history shares its cache, so it is edited alike; other side traffic is left alone.
        let carries =
            (request.class.is_turn() && !request.counting) || (request.same > 0 && conversation.progress.turns > 0);
        if !carries {
            return None;
        }
        let Request { body, envelope, .. } = request;
        let (wish, model) = (self.wished(conversation, request)?, envelope.model.as_deref()?);
        let window = lock(&self.provider.known).window(model);
        let window = window.or_else(|| self.models.of(model).model()?.window);
        let facts = Facts {
            envelope,
            lexicon: ctx_clients::lexicon(),
            thinks: thinks(body),
            window,
            price: self.models.price(model, window.unwrap_or(0) / 2).map(|(price, _)| price),
            lifetime: body
                .wire()
                .cache_lifetime(body.bytes())
                .unwrap_or_else(|| CacheRules::default().usual_lifetime()),
        };
        let mut wanted = edits(&wish, &facts);
        wanted.retain(|edit| self.provider_can(model, edit.kind, request.at));
        let mut added = Added::default();
        added.asks.compacts = wanted.iter().any(|edit| edit.kind == Kind::Compact);
        // Counting summarises nothing (C12), and a signed summary goes with no other (C34).
        let has_signed = memchr::memmem::find(body.message(0), br#""compaction""#).is_some();
        wanted.retain(|edit| edit.kind != Kind::Compact || !(request.counting || has_signed));
        let ours = wanted.iter().find(|edit| edit.kind == Kind::ToolUses).map(excluded);
        let (splices, kinds) = merge(body, wanted);
        added.asks.excluded = ours.filter(|_| kinds.contains(&Kind::ToolUses)).or_else(|| excluded_by_client(body));
        if !splices.is_empty() {
            added.put(splices, kinds);
        }
        Some(added)
    }

    /// What is known of a request that left with something asked beside its client, until it is answered.
    pub(crate) fn asked(&self, conversation: &mut Conversation, request: u32, added: &Added) {
        if !added.kinds().is_empty() {
            self.provider.counts.asked();
            conversation.provider.asks.insert(request, added.asks.clone());
        }
    }

    /// Adds to an answer what only the asking tells: what must have been cleared, and what a summary stands for.
    pub(crate) fn told(&self, conversation: &mut Conversation, answered: &mut Answered, turn: Option<&[u8]>) {
        let asks = conversation.provider.asks.remove(&answered.request);
        answered.summarised = asks.as_ref().is_some_and(|asks| asks.summarised);
        // A client that asked for it itself knows what to do with it.
        let compacts = asks.as_ref().is_some_and(|asks| asks.compacts);
        if let Some(reply) = turn {
            let by_client = || conversation.last.body.as_ref().and_then(excluded_by_client);
            let excluded = asks.and_then(|asks| asks.excluded).or_else(by_client).unwrap_or_default();
            for edit in &mut answered.applied_edits {
                let count = edit.cleared_tool_uses.filter(|count| *count > 0);
                let steps = count.and_then(|count| cleared::steps(conversation, count, &excluded));
                if let Some((first, last)) = steps {
                    (edit.first, edit.last) = (Some(first), Some(last));
                }
            }
            answered.summary =
                Summary::of(conversation.wire, reply, conversation.tree.current().len()).filter(|_| compacts);
        }
        self.provider.counts.answered(answered);
    }
}

impl Composer {
    /// What the provider shall edit by itself. `upstream` says which provider that is.
    pub fn with_provider(mut self, source: Arc<dyn ProviderRules>, upstream: &str) -> Composer {
        let known = Mutex::new(Known::load(&*self.store, upstream));
        let general = RwLock::new(source.provider(None));
        let (source, upstream) = (Some(source), upstream.to_owned());
        self.engine.provider = Provider { source, general, upstream, known, ..Provider::default() };
        self
    }

    /// Whether the provider edits the requests of a conversation by itself.
    pub fn provider_edits(&self, about: &About<'_>) -> bool {
        self.engine.provider_edits(about)
    }

    /// Whether anything is asked of a provider at all.
    pub fn asks_provider(&self) -> bool {
        self.engine.provider.is_on()
    }
}

/// The summaries whose messages a request holds, the newest first, and where those stand.
fn summaries_in<'a>(conversation: &'a Conversation, body: &Body) -> Vec<(&'a Summary, Range<usize>)> {
    let found = |summary: &'a Summary| {
        let span = body.spans().messages.get(summary.messages as usize)?;
        let facts = body.wire().read(&without_summary(body.bytes().get(span.clone())?), ctx_clients::lexicon()).facts;
        summary.is_of(&facts).then(|| (summary, span.clone()))
    };
    conversation.provider.summaries.iter().rev().filter_map(found).collect()
}

fn is_sub(conversation: &Conversation, class: Class) -> bool {
    class == Class::Subagent
        || conversation.opened.agent.is_some()
        || conversation.opened.class == Class::Subagent.name()
}
