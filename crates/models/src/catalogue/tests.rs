//! Lookups in the catalogue, and the user's settings.

use super::*;
use crate::cache::{
    ANTHROPIC, DEEPSEEK, FIVE_MINUTES, GEMINI, GEMINI_2, HALF_AN_HOUR, ONE_DAY, ONE_HOUR, OPENAI, OPENAI_BREAKPOINTS,
    PREFIX, QWEN, Reads, TWELVE_HOURS,
};

fn listed() -> &'static Models {
    Models::listed()
}

fn near(one: f64, other: f64) -> bool {
    (one - other).abs() < 1e-9
}

#[test]
fn the_table_is_whole() {
    let models = listed();
    assert_eq!(models.as_of, "2026-11-15");
    for model in &models.list {
        assert_eq!(models.of(&model.name), Lookup::Listed(model), "no name stands twice");
        assert_eq!(names::provider(&model.key), model.provider.as_deref(), "its name tells its provider: {model:?}");
        assert!(model.provider.as_deref().and_then(|id| models.provider(id)).is_some(), "{model:?}");
        assert!(model.window.is_none_or(|window| Some(window) > model.max_output), "{model:?}");
        let price = model.price.is_some();
        assert_eq!((model.as_of.is_some(), model.source.is_some()), (price, price), "a price has a day and a source");
        let rates = model.price.map(|price| price.read / price.input);
        assert!(
            rates.is_none_or(|read| near(read, model.rules.read)),
            "the price of a read is that of the rules: {model:?}"
        );
    }
    let unpriced = models.list.iter().filter(|model| model.price.is_none()).map(|model| model.name.as_str());
    assert_eq!(unpriced.collect::<Vec<_>>(), ["gpt-6.1-luna"], "no price is guessed");
}

#[test]
fn the_factors_of_anthropics_cache_are_those_of_the_rules() {
    let models: Vec<&Model> = listed().list.iter().filter(|model| model.rules.writes == ANTHROPIC.writes).collect();
    assert_eq!(models.len(), 18);
    for model in models {
        let price = model.price.expect("a price");
        let (short, long) = (price.write(300), price.write(3600));
        assert!(near(short, 1.25 * price.input) && near(long, 2.0 * price.input), "{model:?}");
        let read = match model.name.as_str() {
            "claude-opus-5-5" | "claude-sonnet-5-5" => 0.05,
            "claude-fable-5-1" | "claude-mythos-5-1" | "claude-fable-5-2" | "claude-mythos-5-2" => 0.025,
            _ => 0.1,
        };
        assert!(near(price.read, read * price.input), "{model:?}");
        assert!(model.minimum.is_some_and(|least| least >= 512), "{model:?}");
    }
}

/// Input, output, read, and the default write, as in the price lists.
#[test]
fn the_prices_of_other_providers_are_those_of_their_lists() {
    for (name, expected) in [
        ("gpt-6.1-terra", [1.0, 5.0, 0.05, 1.25]),
        ("gpt-6-astra", [10.0, 50.0, 1.0, 12.5]),
        ("gpt-5.6-luna", [0.2, 1.2, 0.02, 0.25]),
        ("gpt-5.5", [5.0, 30.0, 0.5, 5.0]),
        ("gpt-5.4-mini", [0.75, 4.5, 0.075, 0.75]),
        ("gpt-5.3-codex", [1.75, 14.0, 0.175, 1.75]),
        ("gemini-4-argon", [2.0, 10.0, 0.1, 2.0]),
        ("gemini-2.5-flash", [0.3, 2.5, 0.03, 0.3]),
        ("deepseek-flash", [0.15, 0.6, 0.003, 0.15]),
        ("deepseek-v4-pro", [0.66, 1.98, 0.022, 0.66]),
        ("kimi-k2.6", [0.95, 4.0, 0.16, 0.95]),
        ("kimi-k3.1-pro", [2.0, 10.0, 0.2, 2.0]),
        ("qwen3.7-max", [2.5, 7.5, 0.5, 2.5]),
        ("glm-5.2", [1.4, 4.4, 0.26, 1.4]),
    ] {
        let price = listed().price(name, 1).expect(name).0;
        assert_eq!([price.input, price.output, price.read, price.write(0)], expected, "{name}");
    }
    let write = |name| listed().price(name, 1).map(|(price, _)| price.write(TWELVE_HOURS));
    assert_eq!((write("gpt-6.1-terra"), write("kimi-k3.1-pro")), (Some(2.5), Some(4.0)));
}

#[test]
fn the_output_of_a_long_prompt_has_a_factor_of_its_own() {
    let of = |name, prompt| listed().price(name, prompt).map(|(price, _)| [price.input, price.read, price.output]);
    assert_eq!(of("gpt-6-sol", 272_000), Some([2.0, 0.2, 10.0]));
    assert_eq!(of("gpt-6-sol", 272_001), Some([4.0, 0.4, 15.0]));
    assert_eq!(of("gemini-3.1-pro-preview", 200_001), Some([4.0, 0.4, 18.0]));
    assert_eq!(of("gpt-5.3-codex", 272_001), of("gpt-5.3-codex", 1));
}

#[test]
fn models_of_all_providers_are_known_whatever_gateways_call_them() {
    for (name, expected) in [
        ("openai/gpt-5.6-sol", "gpt-5.6-sol"),
        ("gpt-5-2025-08-07", "gpt-5"),
        ("openrouter/google/gemini-2.5-flash-lite:free", "gemini-2.5-flash-lite"),
        ("models/gemini-3.1-pro-preview", "gemini-3.1-pro-preview"),
        ("moonshotai/Kimi-K2.6", "kimi-k2.6"),
        ("us.deepseek.deepseek-v4-pro-v1:0", "deepseek-v4-pro"),
        ("qwen/qwen3.7-max-20260801", "qwen3.7-max"),
        ("z-ai/glm-5.3-latest", "glm-5.3"),
    ] {
        assert!(matches!(listed().of(name), Lookup::Listed(model) if model.name == expected), "{name}");
    }
}

#[test]
fn the_nearest_of_a_family_has_the_same_kind_of_cache() {
    for (name, nearest) in [
        ("gpt-5.7-sol", Some("gpt-5.6-sol")),
        ("gpt-6.2-sol", Some("gpt-6.1-sol")),
        ("gpt-5.1-mini", Some("gpt-5-mini")),
        ("gpt-5-codex", Some("gpt-5.1-codex")),
        ("gemini-3-pro-preview", Some("gemini-3.1-pro-preview")),
        ("gemini-flash-latest", Some("gemini-3.8-flash")),
        ("gemini-2.0-flash-001", Some("gemini-2.5-flash")),
        ("deepseek-v4.1-flash", Some("deepseek-flash")),
        ("glm-6", Some("glm-5.3")),
        ("gpt-7", None),
        ("gpt-5.6", None),
        ("gpt-6-codex", None),
        ("o3", None),
        ("gpt-4o", None),
        ("gpt-oss-120b", None),
        ("kimi-k2-thinking", None),
        ("qwen3-coder:30b", None),
        ("devstral-2512", None),
    ] {
        let found = listed().of(name);
        assert_eq!((found.stand_in(), found == Lookup::Unknown), (nearest, nearest.is_none()), "{name}");
    }
}

#[test]
fn a_model_is_known_whatever_its_provider_calls_it() {
    for name in [
        "claude-opus-5-5",
        "claude-opus-5-5-20260901",
        "anthropic/claude-opus-5-5",
        "openrouter/anthropic/claude-opus-5.5",
        "us.anthropic.claude-opus-5-5-20260901-v1:0",
        "claude-opus-5-5@20260901",
        "claude-opus-5-5[1m]",
        "Claude-Opus-5-5-latest",
    ] {
        assert!(matches!(listed().of(name), Lookup::Listed(model) if model.name == "claude-opus-5-5"), "{name}");
    }
}

#[test]
fn an_unknown_one_takes_the_nearest_of_its_family_and_a_foreign_one_nothing() {
    for (name, nearest) in [
        ("claude-opus-9", "claude-opus-5-5"),
        ("claude-opus-5-4", "claude-opus-5"),
        ("claude-3-5-sonnet-20241022", "claude-sonnet-4-5"),
        ("claude-haiku-5-5-preview", "claude-haiku-5-5"),
        ("claude-sonnet", "claude-sonnet-5-5"),
    ] {
        let found = listed().of(name);
        assert_eq!((matches!(found, Lookup::Nearest(_)), found.stand_in()), (true, Some(nearest)), "{name}");
    }
    for name in ["", "m", "gpt-6", "claude", "claude-2-1", "claude-zephyr-6", "opus", "-", "é"] {
        assert_eq!(listed().of(name), Lookup::Unknown, "{name}");
    }
}

#[test]
fn a_listed_model_has_a_price_and_no_other_has_one_of_its_own() {
    let own = |name: &str, prompt| match listed().of(name) {
        Lookup::Listed(model) => model.price(prompt),
        Lookup::Nearest(_) | Lookup::Unknown => None,
    };
    let opus = own("claude-opus-5-5", 1).expect("listed");
    assert_eq!((opus.input, opus.output, opus.read), (4.0, 20.0, 0.20));
    assert_eq!((opus.write(300), opus.write(3600)), (5.0, 8.0));
    assert_eq!(own("claude-opus-5-5-20260901", 1), Some(opus));
    for unknown in ["", "m", "claude-opus-9", "claude-opus-5-5-preview", "gpt-6", "claude-opus-5-5-2026090x"] {
        assert_eq!(own(unknown, 1), None, "{unknown}");
    }
    let haiku = |prompt| own("claude-haiku-5-5", prompt).map(|price| price.input);
    assert_eq!((haiku(100_000), haiku(100_001)), (Some(0.10), Some(0.50)));
}

#[test]
fn a_model_has_the_cache_rules_of_its_provider_with_its_own_exceptions() {
    let rules = |name| listed().cache_rules(Some(name));
    assert_eq!((rules("claude-opus-4-5").minimum, rules("claude-opus-5-5").minimum), (4096, 512));
    assert_eq!((rules("claude-opus-5-5").read, rules("claude-opus-5").read), (0.05, 0.1));
    let mut models = listed().clone();
    models.set("claude-opus-5", &Setting { look_back: Some(10), ..Setting::default() }).expect("set");
    assert_eq!(models.cache_rules(Some("claude-opus-5")).reads, Reads::LookBack(10));
}

#[test]
fn a_person_can_say_otherwise_and_what_was_not_said_stays() {
    let mut models = listed().clone();
    let input = Setting { input: Some(8.0), ..Setting::default() };
    models.set("claude-opus-5-5", &input).expect("set");
    let model = models.of("claude-opus-5-5-20260901").model().expect("listed");
    let price = model.price(1).expect("a price");
    assert_eq!((price.input, price.output, price.read, price.write(3600)), (8.0, 20.0, 0.4, 16.0));
    assert_eq!((model.overridden.as_slice(), model.minimum, models.list.len()), (&["input"][..], Some(512), 55));

    let new = Setting { window: Some(300_000), ..Setting::default() };
    models.set("claude-opus-6", &new).expect("set");
    let found = models.of("claude-opus-6");
    assert!(matches!(found, Lookup::Listed(model) if model.window == Some(300_000)), "{found:?}");
    assert_eq!(models.of("claude-opus-6-1").stand_in(), Some("claude-opus-6"));

    let foreign = Setting { input: Some(1.0), output: Some(2.0), ..Setting::default() };
    models.set("gpt-6", &foreign).expect("set");
    let (price, stand_in) = models.price("gpt-6", 5).expect("a price");
    assert_eq!((price.read, price.write(300), stand_in), (0.1, 1.25, None));
}

#[test]
fn what_cannot_be_is_refused() {
    let refused = |name: &str, setting: Setting| listed().clone().set(name, &setting).expect_err("refused");
    assert!(refused("gpt-6", Setting { input: Some(1.0), ..Setting::default() }).contains("`output`"));
    assert!(refused("gpt-6", Setting { dearer_above: Some(1), ..Setting::default() }).contains("together"));
    let both = Setting { window: Some(9), max_output: Some(10), ..Setting::default() };
    assert!(refused("claude-opus-5", both).contains("`max_output`"));
    let mut models = listed().clone();
    models.set("claude-opus-5", &Setting { window: Some(9), ..Setting::default() }).expect("the output fits in");
    assert_eq!(models.of("claude-opus-5").model().and_then(|model| model.max_output), Some(9));
}

#[test]
fn a_model_without_figures_has_the_rules_of_its_provider_and_a_foreign_one_those_of_its_wire() {
    let rules = |name| listed().rules(Some(name), PREFIX);
    assert_eq!([rules("gpt-5.4"), rules("o3"), rules("codex-1")], [OPENAI; 3]);
    assert_eq!([rules("gpt-5.6-sol"), rules("gpt-6-sol"), rules("gpt-6"), rules("gpt-5.7")], [OPENAI_BREAKPOINTS; 4]);
    assert_eq!([rules("gemini-3.8-flash"), rules("gemini-9-neon")], [GEMINI; 2]);
    assert_eq!([rules("gemini-2.5-pro"), rules("gemini-2-nano")], [GEMINI_2; 2]);
    assert_eq!((rules("deepseek-r1"), rules("deepseek-v4-pro").minimum), (DEEPSEEK, 64));
    assert_eq!([rules("qwen3-coder:30b"), rules("qwen3.7-max")], [QWEN; 2]);
    assert_eq!([rules("claude-2-1"), rules("claude")], [ANTHROPIC; 2]);
    for fallback in [PREFIX, GEMINI, ANTHROPIC] {
        let rules = |name| listed().rules(name, fallback);
        assert_eq!([rules(None), rules(Some("llama-4")), rules(Some("gpt-oss:20b"))], [fallback; 3]);
    }
    let mut models = listed().clone();
    models.set("llama-4", &Setting { minimum: Some(16), ..Setting::default() }).expect("set");
    assert_eq!(models.rules(Some("llama-4"), QWEN), CacheRules { minimum: 16, ..QWEN });
}

#[test]
fn a_cache_lives_as_long_as_its_provider_decides_unless_requests_choose() {
    let seconds = |name| listed().cache_seconds_of(Some(name), None);
    assert_eq!([seconds("claude-opus-5-5"), seconds("m"), listed().cache_seconds_of(None, None)], [None; 3]);
    assert_eq!([seconds("gpt-5.4"), seconds("gpt-5.5")], [Some(FIVE_MINUTES), Some(ONE_DAY)]);
    assert_eq!([seconds("gpt-6"), seconds("gpt-6.1-sol")], [Some(HALF_AN_HOUR); 2]);
    assert_eq!(seconds("deepseek-flash"), Some(ONE_HOUR));
    let mut models = listed().clone();
    models.set("gpt-5.4", &Setting { cache_seconds: Some(9), ..Setting::default() }).expect("set");
    assert_eq!(models.cache_seconds_of(Some("openai/gpt-5.4"), None), Some(9));
    let asked = |name| models.cache_seconds_of(Some(name), Some(ONE_DAY));
    assert_eq!([asked("gpt-5.5"), asked("gpt-6.1-sol")], [Some(ONE_DAY); 2], "as the request asks");
    assert_eq!([asked("gpt-5.4"), asked("claude-opus-5-5")], [Some(9), None], "as set; by breakpoints");
}

#[test]
fn settings_apply_to_models_of_all_providers() {
    let mut models = listed().clone();
    let own = Setting { input: Some(4.0), write: Some(6.0), dearer_output_times: Some(3.0), ..Setting::default() };
    models.set("openai/gpt-6-sol", &own).expect("set");
    let price = |prompt| models.price("gpt-6-sol", prompt).expect("a price").0;
    assert_eq!([price(1).input, price(1).read, price(1).write(1)], [4.0, 0.4, 6.0]);
    assert_eq!([price(300_000).input, price(300_000).output], [8.0, 30.0]);
    let mut models = listed().clone();
    models.set("gpt-6-sol", &Setting { dearer_times: Some(5.0), ..Setting::default() }).expect("set");
    assert_eq!(models.price("gpt-6-sol", 300_000).map(|(price, _)| price.output), Some(50.0), "all prices");
    let hour = Setting { write_1h: Some(1.0), ..Setting::default() };
    assert!(models.set("gpt-6-sol", &hour).expect_err("refused").contains("`write`"), "it lives for half an hour");
    assert!(models.set("kimi-k3.1-pro", &hour).is_ok());
}
