//! A turn of a conversation: finds its new messages and records them.

use crate::attribution::{self, Fork, FormatMove, Inheritance};
use crate::compose::forecast::first_difference;
use crate::conversation::{Conversation, SlotVersion};
use crate::log::{self, Turn, Version};
use crate::request::circumstances::Circumstances;
use crate::{EDITED, mark, record};
use ctx_clients::ClientId;
use ctx_core::SlotId;
use ctx_core::message::Message;
use ctx_core::reconcile::{Place, RequestPath, Verdict};
use ctx_store::{Hash, Step};
use ctx_wire::body::Body;
use ctx_wire::dress::undress;

/// A turn while its record is written.
pub struct TurnDraft<'a> {
    pub placed: RequestPath,
    pub same: usize,
    pub is_current: bool,
    pub detail: Option<String>,
    pub verdict: &'static str,
    pub uses: Vec<Hash>,
    pub step: Step,
    pub by: &'a Circumstances<'a>,
}

/// The messages of a request, from the first one that may be new.
pub struct Messages<'a> {
    pub body: &'a Body,
    pub facts: Vec<Message>,
    pub cuts: Vec<attribution::Cuts>,
    pub path: Vec<SlotId>,
}

/// The new messages of a turn.
pub struct Versions {
    pub turn: Turn,
    pub fresh: Vec<(SlotId, SlotVersion, Message)>,
    pub changed: u32,
    /// The first message that differs from the last request, and its first differing block.
    pub differs: Option<(usize, Option<usize>)>,
}

impl TurnDraft<'_> {
    /// Makes a new conversation the fork of another one.
    pub fn fork(&mut self, conversation: &mut Conversation, fork: Fork, begins_with_summary: bool) -> Inheritance {
        self.verdict = "fork";
        self.detail = Some(fork.detail);
        // A fork of a summary does not know the beginning of the conversation.
        conversation.identity.opened.title = fork.title.filter(|_| begins_with_summary);
        conversation.identity.opened.forked_from = Some(fork.from);
        // Some may be its own: assigned before everything of it was lost, and inherited by the other one.
        for place in &fork.places {
            if let Place::Known(slot) = place {
                conversation.messages.tree.reserve(*slot);
            }
        }
        self.placed.places = fork.places;
        self.open_anew(conversation);
        fork.inherited
    }

    /// Links a new conversation to the one that its client continued in another format.
    pub fn moved(&mut self, conversation: &mut Conversation, moved: FormatMove) {
        self.detail = Some(moved.detail);
        conversation.identity.opened.forked_from = Some(moved.from);
        self.open_anew(conversation);
    }

    fn open_anew(&mut self, conversation: &Conversation) {
        self.step.records.retain(|record| record.kind != log::OPENED);
        let opened = record(conversation.id(), self.by.at, log::OPENED, conversation.opened(), Vec::new());
        self.step.records.push(opened);
    }

    /// Stores the envelope, unless it is already stored.
    pub fn pack(&mut self, body: &Body, stored: Option<Hash>, is_broken: bool) -> Hash {
        if let Some(hash) = stored.filter(|_| !(is_broken && self.is_current)) {
            self.uses.push(hash);
            return hash;
        }
        let packed = crate::envelope::pack(body);
        self.uses.extend(packed.blobs.iter().map(|(hash, _)| *hash));
        let hash = packed.hash();
        self.step.blobs.extend(packed.blobs);
        self.by.give_way();
        hash
    }

    pub fn record(
        &mut self,
        conversation: &Conversation,
        slots: &[SlotId],
        body: &Body,
        bound: Vec<(ctx_core::Key, Option<ctx_core::Key>)>,
    ) -> Turn {
        if !bound.is_empty() {
            self.step.notes.push(mark(conversation.id(), EDITED, true));
        }
        let restart = conversation.log.broken && self.is_current;
        let behind_base = slots.get(self.placed.depth - self.same..).unwrap_or_default();
        Turn {
            base: self.placed.base.filter(|_| !restart),
            nodes: if restart { 0 } else { conversation.messages.tree.node_count() },
            slots: if restart { slots } else { behind_base }.iter().map(|slot| slot.0).collect(),
            versions: Vec::new(),
            envelope: 0,
            between: between(body),
            current: self.is_current,
            reply: Vec::new(),
            restart,
            bound,
        }
    }

    /// Stores the messages that were never sent in this form.
    pub fn versions(&mut self, conversation: &Conversation, mut turn: Turn, messages: Messages<'_>) -> Versions {
        let (mut fresh, mut changed, mut differs) = (Vec::new(), 0, None);
        let Messages { body, facts, cuts, path } = messages;
        let leaves = matches!(self.placed.verdict, Verdict::Compaction | Verdict::Rewind | Verdict::Return);
        let reply = &conversation.newest.pending;
        let is_sent = || reply.iter().any(|reply| facts.iter().any(|one| one.key == reply.facts.key));
        if leaves && self.is_current && !turn.restart && !is_sent() {
            for (at, message) in (self.placed.new_messages()..).zip(reply) {
                let slot = conversation.messages.tree.next_slot(at);
                let read = conversation.wire().read(&message.bytes, ctx_clients::lexicon());
                turn.reply.push(slot.0);
                let version = self.store(&mut turn, slot, bare(&message.bytes, &read.cuts));
                fresh.push((slot, version, read.facts));
            }
        }
        let before: Vec<SlotId> = conversation.messages.tree.path().skip(self.same).map(|slot| slot.id).collect();
        for (at, ((facts, cuts), slot)) in (self.same..).zip(facts.into_iter().zip(cuts).zip(path)) {
            let known = conversation.messages.versions.get(&slot);
            if !self.is_current && known.is_some() {
                // The current path keeps its bytes.
                continue;
            }
            if at % 16 == 0 {
                self.by.give_way();
            }
            let (bytes, version) = bare(body.message(at), &cuts);
            let old = before.get(at - self.same).filter(|_| differs.is_none() && self.is_current);
            if let Some(old) = old {
                let block =
                    conversation.messages.tree.slot(*old).and_then(|old| first_difference(&old.message, &facts));
                if *old != slot {
                    differs = Some((at, None));
                } else if known.is_some_and(|known| known.blob != version.blob) {
                    differs = Some((at, block));
                }
            }
            match known {
                Some(known) if *known == version && !turn.restart => continue,
                Some(known) => changed += u32::from(known.blob != version.blob),
                None => {}
            }
            let version = self.store(&mut turn, slot, (bytes, version));
            fresh.push((slot, version, facts));
        }
        Versions { turn, fresh, changed, differs }
    }

    fn store(&mut self, turn: &mut Turn, slot: SlotId, (bytes, version): (Vec<u8>, SlotVersion)) -> SlotVersion {
        turn.versions.push(version_record(slot, &version, self.uses.len()));
        self.uses.push(version.blob);
        self.step.blobs.push((version.blob, bytes));
        version
    }
}

/// Whether a turn certainly belongs to this conversation. Most clients send title requests under the same session; such
/// a path is trusted once a later request continues it.
pub fn is_trusted(conversation: &Conversation, client: ClientId, placed: &RequestPath, has_tools: bool) -> bool {
    let tentative = match placed.verdict {
        Verdict::Unrelated => true,
        Verdict::Return => placed.places.is_empty(),
        _ => false,
    };
    let gains_tools = conversation.newest.envelope.tools.is_none() && has_tools;
    ctx_clients::client(client).tells_side_requests || !tentative || gains_tools
}

/// A version of a slot as recorded; `blob`: its index in the record's uses.
fn version_record(slot: SlotId, version: &SlotVersion, blob: usize) -> Version {
    let dress = version.dress.0.iter().map(|(at, bytes)| (*at, String::from_utf8_lossy(bytes).into_owned())).collect();
    Version { slot: slot.0, blob: blob as u32, dress }
}

/// A message without its dress. Dress that is not valid text stays on.
fn bare(message: &[u8], cuts: &[std::ops::Range<usize>]) -> (Vec<u8>, SlotVersion) {
    let is_text =
        |cut: &std::ops::Range<usize>| message.get(cut.clone()).is_some_and(|raw| std::str::from_utf8(raw).is_ok());
    let cuts = if cuts.iter().all(is_text) { cuts } else { &[] };
    let (bare, dress) = undress(message, cuts);
    let version = SlotVersion { blob: Hash::of(&bare), dress };
    (bare, version)
}

/// The slots of the messages from `same` on: those already walked, then those placed.
pub fn slots(conversation: &Conversation, placed: &RequestPath, same: usize) -> Vec<SlotId> {
    let tree = &conversation.messages.tree;
    let mut slots: Vec<SlotId> = std::iter::successors(placed.base, |&node| tree.parent(node))
        .take(placed.depth - same)
        .map(|node| tree.slot_at(node).id)
        .collect();
    slots.reverse();
    let mut promised = 0;
    for place in &placed.places {
        slots.push(match place {
            Place::Known(slot) => *slot,
            Place::New => {
                promised += 1;
                tree.next_slot(promised - 1)
            }
        });
    }
    slots
}

/// The bytes between the messages, if they are not commas.
fn between(body: &Body) -> Option<Vec<String>> {
    let messages = &body.spans().messages;
    let gaps = || messages.iter().zip(messages.iter().skip(1)).map(|(one, next)| body.bytes().get(one.end..next.start));
    let first = gaps().next()?;
    let text = |gap: Option<&[u8]>| String::from_utf8_lossy(gap.unwrap_or_default()).into_owned();
    if gaps().all(|gap| gap == first) {
        return (first != Some(b",".as_slice())).then(|| vec![text(first)]);
    }
    Some(gaps().map(text).collect())
}
