//! Compares a turn with the previous one: the missed part of the cache, and the cause.

use super::{Around, Turn, causes};
use ctx_api::cache::{CacheMiss, Cause};
use ctx_engine::log::AnswerRecord;
use ctx_store::Hash;

/// Two consecutive turns.
pub struct Comparison<'a> {
    pub before: &'a Turn,
    pub now: &'a Turn,
    pub answered: &'a AnswerRecord,
    /// The lifetime of the cache in seconds.
    pub ttl: u64,
    /// The author of the newest commit.
    pub author: &'a str,
}

pub struct Explanation {
    /// Without operations the cached content would have been found.
    pub edited: bool,
    pub miss: Option<CacheMiss>,
}

impl Comparison<'_> {
    /// `around` reads an envelope.
    pub fn explain(&self, around: impl Fn(Hash) -> Option<Around>) -> Explanation {
        let Comparison { before, now: Turn { asked, usage, .. }, answered, author, .. } = self;
        let held = before.usage.cached();
        let missed = held.saturating_sub(usage.cache_read).min(usage.prompt() - usage.cache_read);
        // A few blocks may follow the breakpoint that was found.
        let few = held / 20 + 100;
        let repair = self.repair();
        let is_miss = missed > few || (repair.is_some() && usage.cache_read * 2 < held);
        // An edit of content that was never sent cuts nothing.
        let cuts = asked.expects.is_none_or(|expects| expects + few < held);
        let reason = answered.cache_miss_reason.as_deref().unwrap_or_default();
        let other = self.other_cause(&around, reason, (is_miss, missed));
        if !is_miss || other.is_some() {
            let is_ours = !asked.edited.is_empty() || asked.composed;
            return Explanation { edited: is_ours && other.is_none(), miss: other.filter(|_| is_miss) };
        }
        if let Some(edit) = asked.first_edit().filter(|_| cuts) {
            return Explanation { edited: true, miss: Some(causes::edited(edit, missed)) };
        }
        if let Some(miss) = causes::of_history(asked, answered, reason, missed) {
            return Explanation { edited: false, miss: Some(miss) };
        }
        let is_foreseen = asked.expects.is_some() && cuts;
        let miss = match repair {
            Some(repair) => causes::repaired(repair, author, missed),
            None => causes::unexplained(is_foreseen, missed),
        };
        // An unedited request would have missed it too; breakpoints that do not reach far enough are ours.
        Explanation { edited: asked.composed && miss.cause != Cause::Unknown, miss: Some(miss) }
    }

    /// A cause that would also have cut the cache of an unedited request.
    fn other_cause(
        &self,
        around: impl Fn(Hash) -> Option<Around>,
        reason: &str,
        (is_miss, missed): (bool, u64),
    ) -> Option<CacheMiss> {
        let (last, asked) = (&self.before.asked, &self.now.asked);
        let idle = asked.at.saturating_sub(last.at) / 1000;
        if reason == "model_changed" || asked.model != last.model {
            return Some(causes::model_changed(last, asked, missed));
        }
        if idle > self.ttl {
            return Some(causes::expired(idle, self.ttl, missed));
        }
        let differ = || {
            let (old, new) = last.envelope.zip(asked.envelope).filter(|(old, new)| old != new)?;
            around(old)?.first_difference(&around(new)?)
        };
        if is_miss { causes::around_changed(differ(), reason, missed) } else { None }
    }

    /// The first repair that only one of the two has: without a commit between them, it changed the request.
    fn repair(&self) -> Option<&(String, String)> {
        let (old, new) = (&self.before.repairs, &self.now.repairs);
        let is_ours = self.before.asked.composed && self.now.asked.composed && self.now.asked.edited.is_empty();
        let differing =
            || new.iter().filter(|one| !old.contains(one)).chain(old.iter().filter(|one| !new.contains(one)));
        if is_ours { differing().next() } else { None }
    }
}
