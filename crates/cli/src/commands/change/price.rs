//! The cost of an edit as text: in the current state of the cache, once, and per later request.

use ctx_api::cost::{Cache, Cost};
use ctx_api::edit::Preview;
use ctx_models::Rates;

use crate::output::words::{self, dollars};

/// The price of a preview, one line per fact.
pub fn told(preview: &Preview, now: u64) -> Vec<String> {
    let Some(first) = preview.first_step.as_ref().or(preview.first_change.as_ref()) else { return Vec::new() };
    let ahead = words::plural(preview.tokens_ahead, "token");
    let mut lines = vec![format!("the first change is in {first}; the {ahead} before it are unchanged")];
    let Some(cost) = &preview.cost else { return lines };
    let again = words::plural(cost.reread, "token");
    lines.push(match (cost.cache, &preview.cache) {
        (Cache::Warm, Some(cache)) if cache.expires_at > now => {
            let until = words::clock(cache.expires_at);
            format!("the cache is warm until {until}: the provider re-reads {again} once")
        }
        (Cache::Warm, _) => format!("the cache is warm: the provider re-reads {again} once"),
        (Cache::Cold, Some(cache)) if cache.expires_at > now => {
            "with a cold cache, the provider re-reads everything anyway: the edit costs nothing".to_owned()
        }
        (Cache::Cold, _) => {
            "the cache is cold: the provider re-reads everything anyway, so the edit costs nothing".to_owned()
        }
        (Cache::Unused, _) => "this context is not cached".to_owned(),
    });
    lines.push(figures(cost));
    if cost.cache == Cache::Warm && cost.once > 0 {
        lines.push("`--when cold` defers it until it costs nothing".to_owned());
    }
    lines
}

/// In dollars if the model's price is known, otherwise in tokens.
fn figures(cost: &Cost) -> String {
    let (next, first, before, later, saves, pays, unit) = match &cost.money {
        Some(money) => (
            dollars(money.next_without),
            dollars(money.first),
            dollars(money.without),
            dollars(money.later),
            money.saves > 0.0,
            money.pays_off_after,
            if money.nearest { " (≈ priced as the nearest model of its family)".to_owned() } else { String::new() },
        ),
        None => (
            words::count(cost.next_without),
            words::count(cost.first),
            words::count(cost.without),
            words::count(cost.later),
            cost.saves > 0,
            cost.pays_off_after,
            in_input_tokens(),
        ),
    };
    let pays = match pays {
        Some(_) if cost.once <= 0 => "pays off at once".to_owned(),
        Some(requests) => format!("pays off after {}", words::plural(requests, "request")),
        None if saves => "pays off at once".to_owned(),
        None => "saves nothing".to_owned(),
    };
    format!("the next request costs {first} instead of {next}, later ones {later} instead of {before}: {pays}{unit}")
}

fn in_input_tokens() -> String {
    let Rates { write, read, .. } = Rates::default();
    format!(" (in input tokens; a cache write counts {write}, a cache read {read})")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn preview(cache: &str, expires_at: u64, money: bool) -> Preview {
        let money = money.then(|| {
            json!({"without": 0.02, "next_without": 0.02, "first": 0.0523, "later": 0.0154, "once": 0.0323,
                "saves": 0.0046, "pays_off_after": 9})
        });
        serde_json::from_value(json!({
            "first_change": "t3", "first_step": "t3/2", "tokens_ahead": 12345, "tokens_reread": 5120,
            "thinking_dropped": 0, "repairs": [],
            "cache": {"until": "t9", "tokens": 20000, "at": 0, "ttl_seconds": 300, "expires_at": expires_at, "warm": true,
                "read": 1, "written": 1},
            "cost": {"cache": cache, "reread": 5500, "without": 2000, "next_without": if cache == "cold" { 25000 } else { 2000 },
                "first": 5230, "later": 1540, "once": if cache == "cold" { -19770 } else { 3230 }, "saves": 460,
                "pays_off_after": 9, "money": money},
        }))
        .expect("a preview")
    }

    #[test]
    fn with_a_warm_cache_it_is_told_for_how_long_and_when_it_pays_off() {
        insta::assert_snapshot!(told(&preview("warm", 260_500, true), 0).join("\n"), @r"
        the first change is in t3/2; the 12,345 tokens before it are unchanged
        the cache is warm until 00:04:20Z: the provider re-reads 5,500 tokens once
        the next request costs $0.052 instead of $0.020, later ones $0.015 instead of $0.020: pays off after 9 requests
        `--when cold` defers it until it costs nothing
        ");
    }

    #[test]
    fn with_a_cold_cache_it_costs_nothing() {
        insta::assert_snapshot!(told(&preview("cold", 0, false), 1_000).join("\n"), @r"
        the first change is in t3/2; the 12,345 tokens before it are unchanged
        the cache is cold: the provider re-reads everything anyway, so the edit costs nothing
        the next request costs 5,230 instead of 25,000, later ones 1,540 instead of 2,000: pays off at once (in input tokens; a cache write counts 1.25, a cache read 0.1)
        ");
        assert!(told(&preview("cold", 9_000, false), 0)[1].starts_with("with a cold cache"));
    }
}
