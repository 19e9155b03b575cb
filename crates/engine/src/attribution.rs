//! Compares a request with a conversation: how far it continues it, and what a fork inherits.

use crate::Problem;
use crate::class::{self, class_within, introduced};
use crate::conversation::Conversation;
use crate::edit::wait::PendingForFork;
use crate::log::OpeningRecord;
use ctx_clients::{ClientId, Hints};
use ctx_core::content::WireId;
use ctx_core::edit::effect::{Effect, EffectId};
use ctx_core::message::{Message, Role};
use ctx_core::reconcile::{Place, RequestPath, Sighting, Verdict, reconcile};
use ctx_core::tokens::Calibration;
use ctx_core::{Class, Key};
use ctx_store::Hash;
use ctx_wire::Wire;
use ctx_wire::body::Body;
use ctx_wire::envelope::Envelope;
use ctx_wire::rope::Pieces;
use std::sync::Arc;

/// How many conversations that begin alike are looked at.
pub const CANDIDATES: usize = 8;

/// A request that was forwarded, complete and decoded.
pub struct SeenRequest {
    pub wire: &'static dyn Wire,
    pub hints: Hints,
    pub pieces: Pieces,
    pub at: u64,
    /// It only asks how many tokens it would be: it leaves no trace.
    pub counting: bool,
}

/// What to cut from a message to get it bare.
pub type Cuts = Vec<std::ops::Range<usize>>;

/// A request beside the conversation it belongs to.
pub struct ReceivedRequest {
    pub body: Body,
    /// Leading messages with the bytes of the current path.
    pub same: usize,
    pub envelope: Arc<Envelope>,
    pub packed: Option<Hash>,
    /// The body kept so far, if the new one did not replace it.
    pub spare: Option<Body>,
    /// All messages, where they had to be read to find out where the conversation comes from.
    pub messages: Option<(Vec<Message>, Vec<Cuts>)>,
}

/// A request whose conversation is known.
pub struct AttributedRequest {
    pub received: ReceivedRequest,
    pub class: Class,
    /// How it was found, where people should know that.
    pub detail: Option<String>,
    /// What a new conversation takes over from others.
    pub origin: Origin,
}

/// A body that was read on its own.
pub type ParsedBody = (Body, Arc<Envelope>);

/// A session and an agent in it.
pub type NamedAgent = (String, String);

impl AttributedRequest {
    pub fn new(
        conversation: &Conversation,
        received: ReceivedRequest,
        hints: &Hints,
        detail: Option<String>,
    ) -> AttributedRequest {
        let ReceivedRequest { body, envelope, same, .. } = &received;
        let class = class_within(conversation, hints, &class::RequestSigns { body, envelope, same: *same });
        AttributedRequest { received, class, detail, origin: Origin::default() }
    }

    /// Older clients say that an agent speaks, but not which: what it was asked tells.
    pub fn unnamed_agent(&self, conversation: &Conversation, hints: &Hints) -> Option<NamedAgent> {
        let is_named = hints.agent.is_some() || hints.parent_session.is_some() || conversation.opened.agent.is_some();
        if self.class != Class::Subagent || is_named {
            return None;
        }
        let session = conversation.opened.session.clone()?;
        let asked = self.received.body.read_message(0, ctx_clients::lexicon()).facts.key.to_string();
        Some((session, format!("prompt-{}", asked.get(..12).unwrap_or_default())))
    }

    /// Takes the request out of a conversation that it does not belong to.
    pub fn withdraw(self, conversation: &mut Conversation) -> ParsedBody {
        conversation.last.body = self.received.spare;
        (self.received.body, self.received.envelope)
    }
}

/// Who a conversation is that has no turn yet.
pub struct Newborn {
    pub id: String,
    pub session: Option<String>,
    pub agent: Option<String>,
    pub parent: Option<String>,
    pub wire: WireId,
}

impl Newborn {
    /// `None` when the conversation has a turn: then it comes from itself.
    pub fn of(conversation: &Conversation) -> Option<Newborn> {
        let OpeningRecord { session, agent, parent, .. } = conversation.opened.clone();
        let (id, wire) = (conversation.id.clone(), conversation.wire.id());
        conversation.tree.is_empty().then_some(Newborn { id, session, agent, parent, wire })
    }
}

/// What a new conversation takes over from others.
#[derive(Default)]
pub struct Origin {
    pub fork: Option<Fork>,
    pub moved: Option<FormatMove>,
    /// What the thinking in it is bound to.
    pub bound: Vec<(Key, Option<Key>)>,
}

/// Where a new conversation was before its client moved to another format. Nothing is taken along by itself.
pub struct FormatMove {
    pub from: String,
    pub detail: String,
}

/// Where a new conversation comes from, and what it takes along.
pub struct Fork {
    pub from: String,
    /// Its title, where the fork shares its beginning.
    pub title: Option<String>,
    pub places: Vec<Place>,
    pub inherited: Inheritance,
    /// Not all of its operations could be read.
    pub lost_edits: bool,
    pub detail: String,
    pub known: usize,
    /// How near it stands: of the same session, the very parent.
    pub kinship: u8,
}

/// Copied from the conversation that a fork comes from.
pub struct Inheritance {
    pub from: String,
    /// Its active operations.
    pub effects: Vec<(EffectId, Effect)>,
    /// How the provider counts: the fork has no answer yet.
    pub calibration: Calibration,
    /// What waits there, and what stays there.
    pub pending: PendingForFork,
}

/// What a person said, message by message.
pub fn human<'m>(messages: impl Iterator<Item = &'m Message>) -> impl Iterator<Item = Key> {
    messages.filter(|message| message.speaks.is_some()).map(|message| message.key)
}

/// The name of the client: the one that it gives itself, else that of the agent that its system prompt names.
pub fn client_name(hints: &Hints, envelope: &Envelope) -> Option<String> {
    let by_prompt = introduced(envelope).filter(|_| hints.client == ClientId::Unknown);
    let name = by_prompt.map(|id| ctx_clients::client(id).name);
    name.or(hints.product.as_deref()).map(str::to_owned)
}

/// Whether the request goes on where this conversation ends, so that no other needs to be looked at.
pub fn goes_on(conversation: &Conversation, received: &ReceivedRequest) -> bool {
    let rest = facts(&received.body, received.same);
    let placed = reconcile(
        &conversation.tree,
        &Sighting { same: received.same, rest: &rest, compacted: false, unanswered: false },
    );
    matches!(placed.verdict, Verdict::Next | Verdict::Retry)
        && conversation.tree.path().any(|slot| slot.message.role == Role::Assistant)
        && conversation.opened.session.as_deref() == received.envelope.session.as_deref()
        && conversation.opened.agent.is_none()
}

/// The messages from `from` on, and how each of them becomes bare.
pub fn read_from(body: &Body, from: usize) -> (Vec<Message>, Vec<Cuts>) {
    let reads = (from..body.spans().messages.len()).map(|at| body.read_message(at, ctx_clients::lexicon()));
    reads.map(|read| (read.facts, read.cuts)).unzip()
}

pub fn facts(body: &Body, from: usize) -> Vec<Message> {
    (from..body.spans().messages.len()).map(|at| body.read_message(at, ctx_clients::lexicon()).facts).collect()
}

/// Takes the body in by comparing it with the one before.
pub fn receive(conversation: &mut Conversation, seen: &SeenRequest) -> Result<ReceivedRequest, Problem> {
    let pieces = &seen.pieces;
    match conversation.last.body.take() {
        Some(old) if old.shares_history(pieces) => {
            let behind = old.spans().array.end;
            let (body, shared) = old.advance(pieces)?;
            let (envelope, packed) = match shared.envelope {
                true => {
                    let moved = conversation.last.envelope.moved(behind, body.spans().array.end);
                    (moved.map_or_else(|| conversation.last.envelope.clone(), Arc::new), conversation.last.packed)
                }
                false => (Arc::new(body.envelope(ctx_clients::lexicon())), None),
            };
            Ok(ReceivedRequest {
                same: shared.messages.min(conversation.last.aligned),
                body,
                envelope: with_model(envelope, seen),
                packed,
                spare: None,
                messages: None,
            })
        }
        old => {
            conversation.last.body = old;
            let body = Body::read(pieces, conversation.wire)?;
            let envelope = with_model(Arc::new(body.envelope(ctx_clients::lexicon())), seen);
            Ok(beside(conversation, (body, envelope)))
        }
    }
}

/// The envelope with the model that the address of the request names.
pub fn with_model(mut envelope: Arc<Envelope>, seen: &SeenRequest) -> Arc<Envelope> {
    if seen.hints.model.is_some() && seen.hints.model != envelope.model {
        Arc::make_mut(&mut envelope).model = seen.hints.model.clone();
    }
    envelope
}

/// A body that was parsed on its own; the one kept so far is set aside.
pub fn beside(conversation: &mut Conversation, (body, envelope): ParsedBody) -> ReceivedRequest {
    let spare = conversation.last.body.take();
    let same = spare.as_ref().map_or(0, |old| old.same_messages(&body)).min(conversation.last.aligned);
    ReceivedRequest { body, same, envelope, packed: None, spare, messages: None }
}

/// How far a request continues a conversation: the deeper, the likelier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Continuation {
    /// Messages that are known, the reply that was not sent back before among them; 0 when it is another conversation.
    pub depth: usize,
    /// It goes on where the conversation ends.
    at_end: bool,
}

/// How far `messages` continue this conversation.
pub fn continues(conversation: &Conversation, messages: &[Message]) -> Continuation {
    let placed =
        reconcile(&conversation.tree, &Sighting { same: 0, rest: messages, compacted: false, unanswered: false });
    let at_end = matches!(placed.verdict, Verdict::Next | Verdict::Retry);
    let reply = conversation.pending.as_ref().filter(|_| conversation.progress.answered);
    let is_reply = |answer: &Message| {
        let is = |reply: &Message| {
            answer.key == reply.key || answer.anchors.iter().any(|anchor| reply.anchors.contains(anchor))
        };
        reply.is_some_and(|reply| is(&reply.facts))
    };
    let brings_reply = at_end && messages.get(placed.known()).is_some_and(is_reply);
    let reached = Continuation { depth: placed.known() + usize::from(brings_reply), at_end };
    if recognises_an_answer(&placed, messages) {
        return reached;
    }
    // Only the opening is shared, and the same words may well begin another conversation.
    let mut said = messages.iter().skip(examples(messages));
    let same = match said.find(|message| message.role == Role::Assistant) {
        _ if !at_end => false,
        // A repeat of what was never answered is a retry; of what was, somebody asks anew.
        None => !conversation.progress.answered,
        Some(answer) => reply.is_none() || is_reply(answer),
    };
    if same { reached } else { Continuation::default() }
}

/// The number of messages before a person speaks: what a client puts there is the same in every conversation.
fn examples(messages: &[Message]) -> usize {
    messages.iter().position(|message| message.speaks.is_some()).unwrap_or(0)
}

pub fn recognises_an_answer(placed: &RequestPath, messages: &[Message]) -> bool {
    let known = |(at, message): (usize, &Message)| {
        let recognised = at
            .checked_sub(placed.depth)
            .is_none_or(|behind| matches!(placed.places.get(behind), Some(Place::Known(_))));
        recognised && message.role == Role::Assistant
    };
    messages.iter().enumerate().skip(examples(messages)).any(known)
}
