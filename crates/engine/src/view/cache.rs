//! The content of a conversation in the provider's cache: its end and its expiry.

use crate::Engine;
use crate::compose::compare::around_alike;
use crate::compose::{Ground, RepairReport, Stops};
use crate::conversation::{CacheReport, Conversation};
use ctx_api::cache::CacheView;
use ctx_core::edit::fold::{View, ViewUnit};
use ctx_core::edit::layout::layout;

/// A position up to which a request may be cached, and all tokens before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stop {
    tokens: u64,
    /// The cache was written there, and nothing before it has changed since.
    written: bool,
}

impl Engine {
    pub fn cached(
        &self,
        conversation: &Conversation,
        ground: &Ground<'_>,
        (view, repaired): (&View<'_>, &RepairReport),
        now: u64,
    ) -> Option<CacheView> {
        let cached = conversation.cache.answer.as_ref().filter(|cached| cached.usage.cached() > 0)?;
        let own = if repaired.stops.is_none() { self.own_stops(conversation) } else { None };
        let Stops { places, written } = repaired.stops.as_ref().or(own.as_ref())?;
        let scale = |weight: f64| conversation.tokens(weight);

        let before = ground.lay(conversation.effects(cached.head));
        let around = around_alike(conversation, &before, view);
        let alike: Vec<&(String, f64, bool)> = around.iter().take_while(|(_, _, alike)| *alike).collect();
        let mut weight = 0.0;
        let mut stops: Vec<Stop> = Vec::new();
        for (_, own, alike) in &around {
            weight += own;
            stops.push(Stop { tokens: scale(weight), written: *alike && stops.iter().all(|stop| stop.written) });
        }
        let mut weights = vec![0.0; written.len()];
        let frames: Vec<_> = view.frames.iter().map(|frame| (frame, layout(view, frame, &ground.messages))).collect();
        for laid in frames.iter().flat_map(|(_, layout)| &layout.units) {
            if let Some(own) = places.of(&laid.unit).and_then(|at| weights.get_mut(at)) {
                *own += view.weigh(laid, &ground.messages);
            }
        }
        for (own, written) in weights.iter().zip(written) {
            weight += own;
            stops.push(Stop { tokens: scale(weight), written: *written });
        }

        let all = cached.usage.cached();
        let reach = reach(&stops, all);
        let until = reach.and_then(|reach| alike.get(reach.min(alike.len().saturating_sub(1))));
        let mut until = until.map(|(id, _, _)| id.clone());
        if let Some(last) = reach.and_then(|reach| reach.checked_sub(around.len())) {
            let is_sent = |laid: &ViewUnit| laid.covered.is_none() && !view.is_left_out(laid);
            let is_in = |laid: &ViewUnit| places.of(&laid.unit).is_some_and(|at| at <= last);
            // Removed content ends nothing.
            'all: for (frame, layout) in frames.iter().filter(|(_, layout)| layout.units.iter().any(is_sent)) {
                let mut sent = false;
                for (at, group) in layout.groups.iter().enumerate() {
                    let units = layout.units.get(group.units.clone()).unwrap_or_default();
                    if units.iter().any(|laid| is_sent(laid) && !is_in(laid)) {
                        break 'all;
                    }
                    sent |= units.iter().any(is_sent);
                    let ends = layout.groups.get(at + 1).is_none_or(|next| next.step != group.step);
                    if ends && std::mem::take(&mut sent) && group.step > 0 {
                        until = Some(format!("{}/{}", frame.id, group.step));
                    }
                }
                until = Some(frame.id.to_string());
            }
        }
        let tokens = match reach {
            Some(reach) if reach + 1 == stops.len() => all,
            Some(reach) => stops.get(reach).map_or(0, |stop| stop.tokens.min(all)),
            None => 0,
        };
        Some(told(conversation, cached, until, tokens, now))
    }
}

fn told(conversation: &Conversation, cached: &CacheReport, until: Option<String>, tokens: u64, now: u64) -> CacheView {
    let ttl_seconds = conversation.lifetime();
    let expires_at = cached.at.saturating_add(ttl_seconds * 1000);
    CacheView {
        until,
        tokens,
        at: cached.at,
        ttl_seconds,
        expires_at,
        warm: now < expires_at,
        read: cached.usage.cache_read,
        written: cached.usage.cache_write,
    }
}

/// The last stop that the cache reaches with this many tokens. Tokens before a stop are estimates.
fn reach(stops: &[Stop], cached: u64) -> Option<usize> {
    let most = cached + cached / 10 + 64;
    stops.iter().rposition(|stop| stop.written && stop.tokens <= most)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stop(tokens: u64, written: bool) -> Stop {
        Stop { tokens, written }
    }

    #[test]
    fn the_cache_reaches_the_last_place_that_was_written_and_no_further_than_was_reported() {
        let stops = [stop(1000, true), stop(3000, true), stop(9000, true), stop(9500, false), stop(20_000, true)];
        assert_eq!(reach(&stops, 20_500), Some(4));
        // Estimates are not exact.
        assert_eq!(reach(&stops, 18_500), Some(4));
        assert_eq!(reach(&stops, 10_000), Some(2));
        assert_eq!(reach(&stops, 2_000), Some(0));
        assert_eq!(reach(&stops, 200), None);
    }

    #[test]
    fn what_changed_since_is_not_in_it() {
        let stops = [stop(1000, true), stop(3000, true), stop(9000, false), stop(20_000, false)];
        assert_eq!(reach(&stops, 20_000), Some(1));
        assert_eq!(reach(&[stop(1000, false)], 20_000), None);
        assert_eq!(reach(&[], 20_000), None);
    }
}
