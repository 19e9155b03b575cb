//! Lists must not flood the context.

use ctx_core::tokens::estimate;
use serde_json::{Value, json};
use testkit::{FakeProvider, Options, Session};

use crate::place::Place;
use crate::speaker::Speaker;

fn tokens(text: &str) -> f64 {
    estimate(text.chars().count() as u32, 0)
}

#[test]
fn a_list_of_two_hundred_frames_costs_less_than_six_thousand_tokens() {
    let place = Place::new();
    let provider = FakeProvider::start(Options::strict()).expect("a provider");
    let up = place.up(&provider.url());
    let mut session = Session::new(1).lean().hints(true);
    for turn in 1..200 {
        let question =
            format!("Question {turn}: why does the \"parser\" of chapter {turn} stop before the end of its input?");
        session.user(&question);
        session.assistant_tools(&[("Read", json!({"file_path": format!("src/chapter_{turn}.rs")}))]);
        session.results(&[&"fn parse() {}\n".repeat(30)]).assistant("Because of the border.");
    }
    session.user("SAY:that is all");
    up.send(&session);
    for (client, least_title) in [("claude-code", 45), ("another-client", 12)] {
        let (mut agent, _) = Speaker::named(place.ctx(&["mcp"]), client);
        let result = agent.result("ctx_list", json!({}));
        let (structure, text) =
            (result["structuredContent"].to_string(), result["content"][0]["text"].as_str().expect("text"));
        let rows = result["structuredContent"]["rows"].as_array().expect("rows");
        assert!(rows.len() >= 200 && result["structuredContent"]["next"].is_null(), "{} rows", rows.len());
        let cost = tokens(&structure) + tokens(text);
        assert!(cost < 6_000.0, "{client}: {cost:.0} tokens for {} rows", rows.len());
        eprintln!("{client}: {cost:.0} tokens for {} rows", rows.len());
        let title = |row: &Value| row[3].as_str().map_or(0, |title| title.chars().count());
        assert!(
            rows.iter().filter(|row| row[2] == 2).all(|row| title(row) >= least_title),
            "{client}: {:?}",
            rows.last()
        );
        for (tool, arguments) in [
            ("ctx_status", json!({})),
            ("ctx_search", json!({"text": "parser"})),
            ("ctx_preview", json!({"operations": [{"op": "drop-results", "select": {"tool": "Read"}}]})),
        ] {
            let result = agent.result(tool, arguments);
            assert_eq!(result["isError"], false, "{tool}: {result}");
            let cost = tokens(&result["structuredContent"].to_string());
            assert!(cost < 1_500.0, "{tool}: {cost:.0} tokens, {result}");
        }
        let shown = agent.call("ctx_show", json!({"id": "t1..t200"}));
        assert!(tokens(&shown.to_string()) < 3_000.0, "ctx_show of everything");
    }
}
