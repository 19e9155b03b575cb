//! The proxy's side: places each request as its recorder does, and holds the result against the truth.

use crate::behaviour::Behaviour;
use crate::history::Identity;
use crate::render::{Rendered, Truth};
use crate::tally::Tally;
use ctx_core::message::Message;
use ctx_core::reconcile::{Place, RequestPath, Sighting, reconcile};
use ctx_core::{NodeIx, SlotId, Tree, Verdict};
use ctx_wire::body::Body;
use ctx_wire::{Wire, WireId, wire};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// What the client knows of the verdict that its request should get.
#[derive(Clone, Copy, Debug)]
pub enum Expect {
    Any,
    /// The history grew at its end, or is there again as it was.
    Plain,
    Verdict(Verdict),
}

/// What a store would keep: enough to build the tree again.
enum Entry {
    Put(SlotId, Message),
    Path { base: Option<NodeIx>, slots: Vec<SlotId>, truth: Vec<Identity> },
}

pub struct Watch<'a> {
    wire: &'static dyn Wire,
    tree: Tree,
    log: Vec<Entry>,
    body: Option<Body>,
    /// The true path of the last turn.
    last: Vec<Identity>,
    /// Whom each slot was made for.
    owners: HashMap<SlotId, Truth>,
    /// The slot that each message got first: edits made there must reach it ever after.
    homes: HashMap<Identity, SlotId>,
    /// Which messages stood in slots of others, and where a message was first lost.
    taken: HashSet<(Identity, SlotId)>,
    lost: HashMap<Identity, Behaviour>,
    tally: &'a mut Tally,
    trees: u64,
    /// Names the conversation in what is printed.
    name: String,
    /// The client says in each request that it has summarised its history.
    pub compacts: bool,
    /// Replays the log after every request.
    pub replays: bool,
    /// Prints every request.
    pub traces: bool,
}

impl<'a> Watch<'a> {
    pub fn new(name: String, tally: &'a mut Tally) -> Watch<'a> {
        Watch::on(WireId::Anthropic, name, tally)
    }

    /// The same for requests of this format.
    pub fn on(format: WireId, name: String, tally: &'a mut Tally) -> Watch<'a> {
        Watch {
            wire: wire(format),
            tree: Tree::new(1),
            log: Vec::new(),
            body: None,
            last: Vec::new(),
            owners: HashMap::new(),
            homes: HashMap::new(),
            taken: HashSet::new(),
            lost: HashMap::new(),
            tally,
            trees: 1,
            name,
            compacts: false,
            replays: false,
            traces: false,
        }
    }

    /// The process ends and begins again: all that is left is the log.
    pub fn restart(&mut self) {
        let again = self.replay();
        assert_eq!(again, self.tree, "{}: the log gives another tree", self.name);
        self.tree = again;
        self.body = None;
    }

    /// The same, and the last `requests` requests were seen but not stored.
    pub fn restart_with_loss(&mut self, requests: usize) {
        for _ in 0..requests {
            let is_path = |entry: &Entry| matches!(entry, Entry::Path { .. });
            let older = &self.log[..self.log.len().saturating_sub(1)];
            let Some(kept) = older.iter().rposition(is_path) else { break };
            self.log.truncate(kept + 1);
        }
        self.tree = self.replay();
        self.body = None;
        if let Some(Entry::Path { truth, .. }) = self.log.last() {
            self.last = truth.clone();
        }
        self.owners.retain(|slot, _| self.tree.slot(*slot).is_some());
        self.homes.retain(|_, slot| self.tree.slot(*slot).is_some());
    }

    fn replay(&self) -> Tree {
        let mut tree = Tree::new(self.trees);
        for entry in &self.log {
            match entry {
                Entry::Put(slot, message) => tree.put(*slot, message.clone()),
                Entry::Path { base, slots, .. } => {
                    let tip = tree.extend(*base, slots).expect("the log names only slots that it made");
                    tree.set_current(tip);
                }
            }
        }
        tree
    }

    /// A new conversation that begins with the slots of this one, as its recorder makes it.
    pub fn fork(&mut self) {
        let shared: Vec<(SlotId, Message)> = self.tree.path().map(|slot| (slot.id, slot.message.clone())).collect();
        self.trees += 1;
        self.tree = Tree::new(self.trees);
        self.log.clear();
        let slots: Vec<SlotId> = shared.iter().map(|(slot, _)| *slot).collect();
        shared.into_iter().for_each(|(slot, message)| self.put(slot, message));
        // What the fork does not share was never seen in this conversation.
        self.homes.retain(|_, slot| slots.contains(slot));
        self.path(None, slots);
    }

    fn put(&mut self, slot: SlotId, message: Message) {
        self.tree.put(slot, message.clone());
        self.log.push(Entry::Put(slot, message));
    }

    fn path(&mut self, base: Option<NodeIx>, slots: Vec<SlotId>) {
        let tip = self.tree.extend(base, &slots).expect("every slot was put");
        self.tree.set_current(tip);
        self.log.push(Entry::Path { base, slots, truth: self.last.clone() });
    }

    /// A request of the conversation: placed, judged, applied.
    pub fn turn(&mut self, sent: &Rendered, behaviour: Behaviour, expect: Expect) {
        let (body, same) = match self.body.take() {
            Some(old) => {
                let (body, shared) = old.advance(&Arc::new(sent.bytes.clone().into())).expect("the client writes JSON");
                (body, shared.messages)
            }
            None => (Body::parse(sent.bytes.clone(), self.wire).expect("the client writes JSON"), 0),
        };
        let (facts, placed, slots) = self.place(&body, same);
        assert_eq!(slots.len(), sent.truth.len(), "{}: one slot for each message", self.name);
        self.judge(sent, &slots, &placed, behaviour, expect, begins_with_summary(&body));
        self.compare(sent, &body, &slots, &placed, behaviour, true);
        if self.traces {
            self.trace(sent, &body, &slots, &placed, behaviour);
        }

        for (at, facts) in (same..).zip(facts) {
            if self.tree.slot(slots[at]).is_none_or(|slot| slot.message != facts) {
                self.put(slots[at], facts);
            }
        }
        self.last = sent.truth.iter().map(|truth| truth.identity).collect();
        self.path(placed.base, slots[placed.depth..].to_vec());
        assert!(self.tree.path().map(|slot| slot.id).eq(slots), "{}: the current path is the request", self.name);
        if self.replays {
            assert_eq!(self.replay(), self.tree, "{}: the log gives another tree", self.name);
        }
        self.body = Some(body);
    }

    /// A request beside the conversation: it gets the same edits and leaves no trace.
    pub fn side(&mut self, sent: &Rendered, behaviour: Behaviour) {
        let body = Body::parse(sent.bytes.clone(), self.wire).expect("the client writes JSON");
        let same = self.body.as_ref().map_or(0, |old| old.same_messages(&body));
        let (_, placed, slots) = self.place(&body, same);
        self.compare(sent, &body, &slots, &placed, behaviour, false);
    }

    fn place(&self, body: &Body, same: usize) -> (Vec<Message>, RequestPath, Vec<SlotId>) {
        let count = body.spans().messages.len();
        let facts: Vec<Message> = (same..count).map(|at| body.read_message(at, ctx_clients::lexicon()).facts).collect();
        let compacted = self.compacts || (same == 0 && begins_with_summary(body));
        let placed = reconcile(&self.tree, &Sighting { same, rest: &facts, compacted, unanswered: false });

        assert_eq!(placed.known() + placed.new_messages(), count, "{}: known and new", self.name);
        let known = self.tree.path_to(placed.base);
        assert_eq!(known.len(), placed.depth, "{}: depth is the length of the known path", self.name);
        let mut slots: Vec<SlotId> = known.into_iter().map(|node| self.tree.slot_at(node).id).collect();
        let mut promised = 0;
        for place in &placed.places {
            slots.push(match place {
                Place::Known(slot) => *slot,
                Place::New => {
                    promised += 1;
                    self.tree.next_slot(promised - 1)
                }
            });
        }
        let different: HashSet<&SlotId> = slots.iter().collect();
        assert_eq!(different.len(), slots.len(), "{}: a slot stands twice on a path", self.name);
        (facts, placed, slots)
    }

    /// Holds the verdict against what the client did, where the wire leaves no doubt.
    fn judge(
        &mut self,
        sent: &Rendered,
        slots: &[SlotId],
        placed: &RequestPath,
        behaviour: Behaviour,
        expect: Expect,
        told: bool,
    ) {
        let truth = || sent.truth.iter().map(|truth| truth.identity);
        let common = truth().zip(&self.last).take_while(|(a, b)| a == *b).count();
        // What was said at this place long before would make it a return, and so does what is taken for it: that
        // is counted as a swallow.
        let is_new = |(identity, slot)| !self.homes.contains_key(&identity) && !self.owners.contains_key(slot);
        let unseen = truth().zip(slots).skip(common).all(is_new);
        let expected = match expect {
            Expect::Any => None,
            _ if self.tree.is_empty() => Some(Verdict::New),
            Expect::Plain if common < self.last.len() => None,
            Expect::Plain if sent.truth.len() == common => Some(Verdict::Retry),
            Expect::Plain => unseen.then_some(Verdict::Next),
            Expect::Verdict(Verdict::Rewind) => unseen.then_some(Verdict::Rewind),
            // A summary in unknown words that keeps nothing looks like another conversation.
            Expect::Verdict(Verdict::Compaction) if !told && placed.known() == 0 => Some(Verdict::Unrelated),
            Expect::Verdict(verdict) => Some(verdict),
        };
        self.tally.verdict(behaviour, expected, placed.verdict, &self.name);
    }

    /// Counts leaks and swallows; remembers who is who if the request `counts` as a turn.
    fn compare(
        &mut self,
        sent: &Rendered,
        body: &Body,
        slots: &[SlotId],
        placed: &RequestPath,
        behaviour: Behaviour,
        counts: bool,
    ) {
        self.tally.request(behaviour, slots.len(), placed.places.len());
        for (at, (&truth, &slot)) in sent.truth.iter().zip(slots).enumerate() {
            let shown = || {
                let (name, verdict) = (&self.name, placed.verdict.name());
                format!("{name}, {verdict}: message {at} of {}: {}", slots.len(), excerpt(body, at))
            };
            let swallowed = self
                .owners
                .get(&slot)
                .is_some_and(|owner| owner.identity != truth.identity && !(truth.either && owner.injected));
            let leaked = !truth.either && self.homes.get(&truth.identity).is_some_and(|home| *home != slot);
            if swallowed {
                let first = self.taken.insert((truth.identity, slot));
                self.tally.swallow(behaviour, first, shown);
            } else if leaked {
                let first = !self.lost.contains_key(&truth.identity);
                let cause = *self.lost.entry(truth.identity).or_insert(behaviour);
                self.tally.leak(cause, first, shown);
            }
            if counts {
                self.owners.entry(slot).or_insert(truth);
                self.homes.entry(truth.identity).or_insert(slot);
            }
        }
    }

    fn trace(&self, sent: &Rendered, body: &Body, slots: &[SlotId], placed: &RequestPath, behaviour: Behaviour) {
        println!("{behaviour:?}: {}, {} messages known exactly", placed.verdict.name(), placed.depth);
        for (at, (truth, slot)) in sent.truth.iter().zip(slots).enumerate().skip(placed.depth.saturating_sub(2)) {
            println!("  {at} truly {} slot {:x} {}", truth.identity, slot.0, excerpt(body, at));
        }
    }
}

fn excerpt(body: &Body, at: usize) -> String {
    String::from_utf8_lossy(body.message(at)).chars().take(160).collect()
}

fn begins_with_summary(body: &Body) -> bool {
    fn first_text(value: &serde_json::Value) -> Option<&str> {
        match value {
            serde_json::Value::Array(parts) => parts.first().and_then(first_text),
            serde_json::Value::Object(members) => {
                ["content", "parts", "text"].iter().find_map(|name| members.get(*name)).and_then(first_text)
            }
            text => text.as_str(),
        }
    }
    let first: serde_json::Value = serde_json::from_slice(body.message(0)).unwrap_or_default();
    first_text(&first).is_some_and(|text| ctx_clients::lexicon().is_summary(text))
}
