//! Compares a request with a conversation: how far it continues it, and what a fork inherits.

use crate::Problem;
use crate::class::{self, class_within, introduced};
use crate::conversation::Conversation;
use crate::edit::wait::PendingForFork;
use crate::log::OpeningRecord;
use ctx_clients::{ClientId, Hints};
use ctx_core::content::WireId;
use ctx_core::edit::effect::{Effect, EffectId};
use ctx_core::edit::history::KeptText;
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

/// The number of conversations with the same beginning to compare.
pub const CANDIDATES: usize = 8;

/// A forwarded request, complete and decoded.
pub struct SeenRequest {
    pub wire: &'static dyn Wire,
    pub hints: Hints,
    pub pieces: Pieces,
    pub at: u64,
    /// It only counts tokens, and leaves no trace.
    pub counting: bool,
}

/// The ranges to cut from a message to make it bare.
pub type Cuts = Vec<std::ops::Range<usize>>;

/// A request, compared with a conversation.
pub struct ReceivedRequest {
    pub body: Body,
    /// The number of leading messages with the bytes of the current path.
    pub same: usize,
    pub envelope: Arc<Envelope>,
    pub packed: Option<Hash>,
    /// The previously kept body, if the new one did not replace it.
    pub spare: Option<Body>,
    /// All messages, if they had to be read to find the origin of the conversation.
    pub messages: Option<(Vec<Message>, Vec<Cuts>)>,
}

pub struct AttributedRequest {
    pub received: ReceivedRequest,
    pub class: Class,
    /// The way it was attributed, if users should know.
    pub detail: Option<String>,
    /// Content that a new conversation inherits.
    pub origin: Origin,
}

/// A body that was parsed independently.
pub type ParsedBody = (Body, Arc<Envelope>);

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

    /// Older clients mark a request as an agent's without naming the agent: its task identifies it.
    pub fn unnamed_agent(&self, conversation: &Conversation, hints: &Hints) -> Option<NamedAgent> {
        let is_named = hints.agent.is_some() || hints.parent_session.is_some() || conversation.opened().agent.is_some();
        if self.class != Class::Subagent || is_named {
            return None;
        }
        let session = conversation.opened().session.clone()?;
        let asked = self.received.body.read_message(0, ctx_clients::lexicon()).facts.key.to_string();
        Some((session, format!("prompt-{}", asked.get(..12).unwrap_or_default())))
    }

    /// Removes the request from a conversation that it does not belong to.
    pub fn withdraw(self, conversation: &mut Conversation) -> ParsedBody {
        conversation.newest.last.body = self.received.spare;
        (self.received.body, self.received.envelope)
    }
}

/// The identity of a conversation without a turn.
pub struct Newborn {
    pub id: String,
    pub session: Option<String>,
    pub agent: Option<String>,
    pub parent: Option<String>,
    pub wire: WireId,
}

impl Newborn {
    /// `None` if the conversation has a turn: it then has no other origin.
    pub fn of(conversation: &Conversation) -> Option<Newborn> {
        let OpeningRecord { session, agent, parent, .. } = conversation.opened().clone();
        let (id, wire) = (conversation.id().to_owned(), conversation.wire().id());
        conversation.messages.tree.is_empty().then_some(Newborn { id, session, agent, parent, wire })
    }
}

/// Content that a new conversation inherits.
#[derive(Default)]
pub struct Origin {
    pub fork: Option<Fork>,
    pub moved: Option<FormatMove>,
    /// The prompts that its thinking is bound to.
    pub bound: Vec<(Key, Option<Key>)>,
}

/// The previous conversation of a client that moved to another format. Nothing is carried over automatically.
pub struct FormatMove {
    pub from: String,
    pub detail: String,
}

/// The parent of a new conversation, and the inherited content.
pub struct Fork {
    pub from: String,
    /// The parent's title, if the fork shares its beginning.
    pub title: Option<String>,
    pub places: Vec<Place>,
    pub inherited: Inheritance,
    /// Some of the parent's operations could not be read.
    pub lost_edits: bool,
    pub detail: String,
    pub known: usize,
    /// The degree of kinship: same session, direct parent.
    pub kinship: u8,
}

/// Copied from the parent of a fork.
pub struct Inheritance {
    pub from: String,
    /// The parent's active operations.
    pub effects: Vec<(EffectId, Effect)>,
    /// The provider's token calibration, because the fork has no answer yet.
    pub calibration: Calibration,
    /// Offloaded content that the parent's commits keep.
    pub kept: Vec<KeptText>,
    /// Its pending changes and kept results.
    pub pending: PendingForFork,
}

/// The human's texts, message by message.
pub fn human<'m>(messages: impl Iterator<Item = &'m Message>) -> impl Iterator<Item = Key> {
    messages.filter(|message| message.speaks.is_some()).map(|message| message.key)
}

/// The name of the client: its own, otherwise that of the agent named in its system prompt.
pub fn client_name(hints: &Hints, envelope: &Envelope) -> Option<String> {
    let by_prompt = introduced(envelope).filter(|_| hints.client == ClientId::Unknown);
    let name = by_prompt.map(|id| ctx_clients::client(id).name);
    name.or(hints.product.as_deref()).map(str::to_owned)
}

/// Whether the request continues at the end of this conversation: no other needs to be compared.
pub fn goes_on(conversation: &Conversation, received: &ReceivedRequest) -> bool {
    let rest = facts(&received.body, received.same);
    let placed = reconcile(
        &conversation.messages.tree,
        &Sighting { same: received.same, rest: &rest, compacted: false, unanswered: false },
    );
    matches!(placed.verdict, Verdict::Next | Verdict::Retry)
        && conversation.messages.tree.path().any(|slot| slot.message.role == Role::Assistant)
        && conversation.opened().session.as_deref() == received.envelope.session.as_deref()
        && conversation.opened().agent.is_none()
}

/// The messages from `from` on, and the cuts that make them bare.
pub fn read_from(body: &Body, from: usize) -> (Vec<Message>, Vec<Cuts>) {
    let reads = (from..body.spans().messages.len()).map(|at| body.read_message(at, ctx_clients::lexicon()));
    reads.map(|read| (read.facts, read.cuts)).unzip()
}

pub fn facts(body: &Body, from: usize) -> Vec<Message> {
    (from..body.spans().messages.len()).map(|at| body.read_message(at, ctx_clients::lexicon()).facts).collect()
}

/// Takes in the body by comparing it with the previous one.
pub fn receive(conversation: &mut Conversation, seen: &SeenRequest) -> Result<ReceivedRequest, Problem> {
    let pieces = &seen.pieces;
    match conversation.newest.last.body.take() {
        Some(old) if old.shares_history(pieces) => {
            let behind = old.spans().array.end;
            let (body, shared) = old.advance(pieces)?;
            let (envelope, packed) = match shared.envelope {
                true => {
                    let moved = conversation.newest.last.envelope.moved(behind, body.spans().array.end);
                    (
                        moved.map_or_else(|| conversation.newest.last.envelope.clone(), Arc::new),
                        conversation.newest.last.packed,
                    )
                }
                false => (Arc::new(body.envelope(ctx_clients::lexicon())), None),
            };
            Ok(ReceivedRequest {
                same: shared.messages.min(conversation.newest.last.aligned),
                body,
                envelope: with_model(envelope, seen),
                packed,
                spare: None,
                messages: None,
            })
        }
        old => {
            conversation.newest.last.body = old;
            let body = Body::read(pieces, conversation.wire())?;
            let envelope = with_model(Arc::new(body.envelope(ctx_clients::lexicon())), seen);
            Ok(beside(conversation, (body, envelope)))
        }
    }
}

/// The envelope with the model named in the request's URL.
pub fn with_model(mut envelope: Arc<Envelope>, seen: &SeenRequest) -> Arc<Envelope> {
    if seen.hints.model.is_some() && seen.hints.model != envelope.model {
        Arc::make_mut(&mut envelope).model = seen.hints.model.clone();
    }
    envelope
}

/// Takes in an independently parsed body; the previous one is set aside.
pub fn beside(conversation: &mut Conversation, (body, envelope): ParsedBody) -> ReceivedRequest {
    let spare = conversation.newest.last.body.take();
    let same = spare.as_ref().map_or(0, |old| old.same_messages(&body)).min(conversation.newest.last.aligned);
    ReceivedRequest { body, same, envelope, packed: None, spare, messages: None }
}

/// How far a request continues a conversation: the deeper, the likelier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Continuation {
    /// The number of known messages, including the pending reply; 0 if it is another conversation.
    pub depth: usize,
    /// It continues at the end of the conversation.
    at_end: bool,
}

/// How far `messages` continue this conversation.
pub fn continues(conversation: &Conversation, messages: &[Message]) -> Continuation {
    let placed = reconcile(
        &conversation.messages.tree,
        &Sighting { same: 0, rest: messages, compacted: false, unanswered: false },
    );
    let at_end = matches!(placed.verdict, Verdict::Next | Verdict::Retry);
    let reply = if conversation.progress.answered { conversation.newest.pending.as_slice() } else { &[] };
    let is_reply = |message: &Message| reply.iter().any(|one| one.is(message));
    let next = messages.get(placed.known()..).unwrap_or_default();
    let brought = next.iter().take(reply.len()).filter(|message| at_end && is_reply(message)).count();
    let reached = Continuation { depth: placed.known() + brought, at_end };
    if recognises_an_answer(&placed, messages) {
        return reached;
    }
    // Only the opening is shared, and the same words may begin another conversation.
    let said = messages.iter().skip(examples(messages)).skip_while(|message| message.role != Role::Assistant);
    let mut answer = said.take_while(|message| message.role != Role::User).peekable();
    let same = match answer.peek() {
        _ if !at_end => false,
        // A repeated request without an answer is a retry; with an answer, it is a new question.
        None => !conversation.progress.answered,
        Some(_) => reply.is_empty() || answer.any(is_reply),
    };
    if same { reached } else { Continuation::default() }
}

/// The number of messages before a person speaks: they are the same in every conversation of a client.
fn examples(messages: &[Message]) -> usize {
    messages.iter().position(|message| message.speaks.is_some()).unwrap_or(0)
}

/// The number of messages that a client has kept of this conversation behind a summary; 0 unless an answer is among
/// them.
pub fn kept_messages(conversation: &Conversation, messages: &[Message]) -> usize {
    let placed = reconcile(
        &conversation.messages.tree,
        &Sighting { same: 0, rest: messages, compacted: true, unanswered: false },
    );
    let is_reply = |message: &Message| conversation.newest.pending.iter().any(|reply| reply.is(message));
    let replies = messages.iter().filter(|message| is_reply(message)).count();
    match placed.known() {
        known if recognises_an_answer(&placed, messages) || known > 0 && replies > 0 => known + replies,
        _ => 0,
    }
}

fn recognises_an_answer(placed: &RequestPath, messages: &[Message]) -> bool {
    let known = |(at, message): (usize, &Message)| {
        let recognised = at
            .checked_sub(placed.depth)
            .is_none_or(|behind| matches!(placed.places.get(behind), Some(Place::Known(_))));
        recognised && message.role == Role::Assistant
    };
    messages.iter().enumerate().skip(examples(messages)).any(known)
}
