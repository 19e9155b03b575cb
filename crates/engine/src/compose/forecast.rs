//! The cache forecast of a request: the cached tokens of its common beginning with earlier requests. It is made before
//! the answer, so that the two can be compared.

use crate::compose::Ground;
use crate::conversation::cache::NewestRequest;
use crate::conversation::cache_forecast::Forecast;
use crate::conversation::{Conversation, estimate};
use crate::log::Differs;
use ctx_core::edit::CommitId;
use ctx_core::edit::effect::{Cover, Effect, MessageRef};
use ctx_core::edit::fold::Unit;
use ctx_core::edit::history::Change;
use ctx_core::edit::layout::layout;
use ctx_core::fast_map::FastSet;
use ctx_core::message::{Block, Kind, Message};
use ctx_core::{Key, SlotId};
use ctx_models::CacheRules;
use ctx_models::cache::{Breakpoints, Outline};
use ctx_wire::body::Body;
use ctx_wire::compose::Placement;
use ctx_wire::envelope::Envelope;

impl Conversation {
    /// The cache forecast of the newest request of the path.
    pub fn forecast(&mut self, body: &Body, envelope: &Envelope, at: u64, rules: &CacheRules) -> Forecast {
        // Composing has recorded the breakpoints, so the body is not searched again.
        let composed = self.composing.sent.get_mut(&self.progress.requests).map(|sent| {
            let after = std::mem::take(&mut sent.after);
            let is_mark = |(_, prefix): &(usize, &Key)| sent.marks.contains(prefix);
            let messages = after.iter().enumerate().filter(is_mark).map(|(at, _)| at).collect();
            let breakpoints = Breakpoints {
                head: body.wire().marks_envelope(body, envelope),
                messages,
                is_explicit: body.wire().is_cache_explicit(body),
            };
            (breakpoints, sent.around, after, Some(std::mem::take(&mut sent.kept)))
        });
        let (breakpoints, head, after, kept) = composed.unwrap_or_else(|| {
            self.own_prefixes();
            let mut prefixes = self.composing.chain.after(envelope.digest, self.composing.chain.digests());
            (body.wire().breakpoints(body, envelope), prefixes.remove(0), prefixes, None)
        });
        let mut forecast = std::mem::take(&mut self.cache.forecast);
        let own = |at: usize| {
            self.messages
                .tree
                .current()
                .get(at)
                .map_or(1, |node| self.messages.tree.slot_at(*node).message.cache_places())
        };
        let places: &dyn Fn(usize) -> usize = if kept.is_some() { &|_| 1 } else { &own };
        let tokens = |end: Option<usize>| {
            let count = end.map_or(0, |end| end + 1);
            let tokens = self.tokens(match &kept {
                Some(kept) => self.weigh_first(envelope, kept, (count, after.len())),
                None => estimate(envelope, self.messages.tree.path().take(count).map(|slot| &slot.message)),
            });
            tokens as f64
        };
        let outline = Outline {
            model: envelope.model.as_deref(),
            manner: envelope.manner.key(),
            head,
            after: &after,
            breakpoints: &breakpoints,
            places,
            tokens: &tokens,
        };
        let expected = forecast.of(rules, &outline, at);
        self.cache.forecast = forecast;
        self.cache.newest = NewestRequest { head, after, messages: self.messages.tree.current().len() };
        expected
    }

    /// The estimate of the first sent messages, and of everything before them.
    fn weigh_first(&self, envelope: &Envelope, kept: &Placement, (first, all): (usize, usize)) -> f64 {
        let ground = Ground::of(self, false);
        let view = ground.lay(self.effects(self.history.head()));
        ground.weigh_up_to(&view, envelope, &kept.places(), all).get(first).copied().unwrap_or_default()
    }

    /// The id of the first message of the path that commits change.
    pub fn first_changed(&self, commits: &[CommitId]) -> Option<String> {
        // The usual case.
        if commits.is_empty() {
            return None;
        }
        let effects =
            commits.iter().filter_map(|commit| self.history.get(*commit)).flat_map(|commit| match &commit.change {
                Change::Edit { effects, .. } => effects.as_slice(),
                Change::Revert { .. } | Change::Inherit { .. } => &[],
            });
        let mut changed: FastSet<SlotId> = FastSet::default();
        for effect in effects {
            let mut note = |of: &MessageRef| match of {
                MessageRef::Slot(slot) => drop(changed.insert(*slot)),
                MessageRef::Reply { .. } => {}
            };
            match effect {
                Effect::Results { results, .. } => results.iter().for_each(|result| note(&result.of)),
                Effect::Replace { covers, .. } => covers.iter().for_each(|cover| {
                    if let Cover::Blocks(covered) = cover {
                        note(&covered.of)
                    }
                }),
                _ => {}
            }
        }
        let first = self.messages.tree.path().position(|slot| changed.contains(&slot.id))?;
        self.named(first, None).map(|named| named.place)
    }

    /// The id of a message of the path, or of a block in it.
    pub fn named(&self, message: usize, block: Option<usize>) -> Option<Differs> {
        let ground = Ground::of(self, false);
        let view = ground.lay(self.effects(self.history.head()));
        let facts = ground.messages.get(message)?;
        let what = match block.and_then(|block| facts.blocks.get(block)) {
            Some(block) => match (block.kind, block.tool.as_deref()) {
                (Kind::ToolUse, Some(tool)) => format!("a call of {tool}"),
                (kind, _) => format!("a block of kind {}", kind.name()),
            },
            None => format!("a message of the {}", facts.role.name()),
        };
        for frame in &view.frames {
            let layout = layout(&view, frame, &ground.messages);
            let is_it = |unit: &Unit| match unit {
                Unit::Source { message: at, block: own } => *at == message && (block.is_none() || *own == block),
                Unit::Made(_) => false,
            };
            for group in &layout.groups {
                if layout.units.get(group.units.clone()).unwrap_or_default().iter().any(|laid| is_it(&laid.unit)) {
                    let block = block.map(|block| format!(".{block}")).unwrap_or_default();
                    return Some(Differs { place: format!("{}#{}{block}", frame.id, group.number), what });
                }
            }
        }
        None
    }
}

/// The first block in which two versions of a message differ, judged by their facts.
pub fn first_difference(old: &Message, new: &Message) -> Option<usize> {
    // The size of thinking without text is ours.
    let fixed = |block: &Block| if block.kind == Kind::Thinking { 0 } else { block.fixed_tokens };
    let same = |(one, other): &(&Block, &Block)| {
        (one.kind, one.chars, fixed(one), &one.tool_use_id, &one.label, one.signature)
            == (other.kind, other.chars, fixed(other), &other.tool_use_id, &other.label, other.signature)
    };
    let alike = old.blocks.iter().zip(&new.blocks).take_while(same).count();
    (alike < new.blocks.len()).then_some(alike)
}
