//! Models, costs and cache misses, with the real program and a provider with a cache.

use serde_json::Value;

use crate::editing::scene::Scene;

/// A conversation long enough to be cached.
fn talk() -> Scene {
    let mut scene = Scene::configured("[models.\"claude-opus-5-5\"]\ninput = 8\n");
    for number in 1..5 {
        scene.next(&format!("SAY:{} and so on {number}", "it is as it is ".repeat(100)));
    }
    scene.settle();
    scene
}

#[test]
fn models_are_shown_with_what_the_settings_say() {
    let scene = Scene::configured("[models.\"claude-opus-5-5\"]\ninput = 8\n");
    let models = scene.json(&["models"]);
    let opus = models["models"].as_array().into_iter().flatten().find(|model| model["name"] == "claude-opus-5-5");
    let opus = opus.expect("it is listed");
    assert_eq!((opus["input"].as_f64(), opus["read"].as_f64()), (Some(8.0), Some(0.4)), "{opus}");
    assert_eq!(opus["overridden"], serde_json::json!(["input"]));
    let shown = scene.place.run(&["models"]).ok().out;
    assert!(shown.contains("8*") && shown.contains("as of 2026-11-15"), "{shown}");
}

#[test]
fn models_are_shown_without_a_daemon_too() {
    let place = crate::place::Place::new();
    place.write("home/ctx.toml", "[models.\"claude-opus-5-5\"]\ncache_seconds = 900\nlook_back = 10\n");
    let shown = place.run(&["models"]).ok().out;
    assert!(shown.contains("its cache lives for 900 s*; a breakpoint looks back 10 blocks*"), "{shown}");
    let json = place.run(&["models", "--json"]).ok().json();
    assert!(json["models"].as_array().is_some_and(|models| models.len() > 10), "{json}");
}

#[test]
fn models_of_all_providers_are_shown_and_can_be_set() {
    let place = crate::place::Place::new();
    place.write("home/ctx.toml", "[models.\"gpt-6-sol\"]\nwrite = 3\ndearer_output_times = 2\n");
    let json = place.run(&["models", "--json"]).ok().json();
    let of = |name: &str| json["models"].as_array().into_iter().flatten().find(|model| model["name"] == name);
    let gpt = of("gpt-6-sol").expect("it is listed");
    assert_eq!((&gpt["provider"], &gpt["as_of"]), (&"openai".into(), &"2026-09-22".into()), "{gpt}");
    assert_eq!(gpt["writes"], serde_json::json!([{"seconds": 1800, "price": 3.0}]), "{gpt}");
    assert_eq!(gpt["dearer_output_times"].as_f64(), Some(2.0), "{gpt}");
    let unpriced = of("gpt-6.1-luna").expect("it is listed");
    assert_eq!((&unpriced["input"], &unpriced["source"]), (&Value::Null, &Value::Null), "{unpriced}");
    let shown = place.run(&["models"]).ok().out;
    let providers = ["Anthropic", "OpenAI", "Google", "DeepSeek", "Moonshot", "Alibaba", "Zhipu"];
    let missing = providers.iter().find(|name| !shown.contains(&format!("{name}, as of 2026-11-1")));
    assert_eq!(missing, None, "{shown}");

    place.write("home/ctx.toml", "[models.\"gpt-6-sol\"]\nwrite_1h = 3\n");
    let ran = place.run(&["up", "--listen", "127.0.0.1:0"]).refused();
    assert!(ran.err.contains("`models.\"gpt-6-sol\"`: the model's cache does not live for that time"), "{ran:?}");
}

#[test]
fn a_setting_that_nobody_knows_keeps_the_daemon_from_starting() {
    let place = crate::place::Place::new();
    place.write("home/ctx.toml", "[models.\"claude-opus-5-5\"]\n\nprice = 8\n");
    let ran = place.run(&["up", "--listen", "127.0.0.1:0"]).refused();
    assert!(ran.err.contains("line 3: `models.\"claude-opus-5-5\".price` is unknown"), "{ran:?}");
    assert!(ran.err.contains("hint: "), "{ran:?}");
}

#[test]
fn what_was_spent_is_the_same_however_it_is_summed_up() {
    let scene = talk();
    let of = |by: &str| scene.json(&["stats", "--by", by]);
    let total = of("conversation")["total"].clone();
    let timeline = scene.json(&["timeline"]);
    let answers: Vec<&Value> =
        timeline["events"].as_array().into_iter().flatten().filter(|event| event["kind"] == "answer").collect();
    assert_eq!(total["requests"].as_u64(), Some(answers.len() as u64), "{total}");
    let money: f64 = answers.iter().filter_map(|answer| answer["money"].as_f64()).sum();
    assert!((total["cost"].as_f64().expect("a cost") - money).abs() < 1e-6, "{total}, {money}");
    for by in ["project", "day", "request"] {
        assert_eq!(of(by)["total"], total, "{by}");
    }
    let csv = scene.place.run(&["stats", "--by", "request", "--csv"]).ok().out;
    assert_eq!(csv.lines().count(), answers.len() + 1, "{csv}");
    assert!(scene.place.run(&["stats", "--since", "1d"]).ok().out.contains('$'));
    let wrong = scene.place.run(&["stats", "--since", "yesterday"]);
    assert_eq!(wrong.code, Some(2), "{wrong:?}");
    assert!(wrong.err.contains("2026-11-01"), "{wrong:?}");
}

#[test]
fn an_edit_is_found_again_as_a_miss_and_in_what_it_saved() {
    let mut scene = talk();
    scene.json(&["delete", "t1/1"]);
    scene.next("SAY:after the edit");
    scene.next("SAY:and later");
    scene.settle();
    let told = scene.json(&["why-miss"]);
    let newest = &told["misses"][0];
    assert_eq!(newest["miss"]["cause"], "edited", "{told}");
    assert_eq!(
        (newest["miss"]["place"].as_str(), newest["miss"]["by"].as_str()),
        (Some("t1/1"), Some("user")),
        "{told}"
    );
    let request = newest["request"].to_string();
    let shown = scene.place.run(&["why-miss", &request]).ok().out;
    assert!(shown.contains("edited") && shown.contains("by cli changed t1/1"), "{shown}");
    assert!(shown.contains("The forecast was right within 5% for"), "{shown}");
    let all = told["foreseen"].as_u64().expect("a number");
    assert!(told["came_true"].as_u64().is_some_and(|number| number + 1 >= all && number > 0), "{told}");

    let stats = scene.json(&["stats", "--by", "request"]);
    let rows = stats["groups"].as_array().expect("rows");
    let saved: Vec<f64> = rows.iter().rev().take(2).filter_map(|row| row["saved"].as_f64()).collect();
    assert!(saved[1] < 0.0 && saved[0] > 0.0, "it costs once and saves then: {saved:?}");
    let unknown = scene.place.run(&["why-miss", "999"]).refused();
    assert!(unknown.err.contains("Request 999"), "{unknown:?}");
}
