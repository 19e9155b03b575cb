//! The requested edits, and that nothing else in a body changes.

use super::super::merge::{excluded, excluded_by_client, merge};
use super::*;
use crate::anthropic::envelope;
use crate::provider_edits::{ClearThinking, ClearToolUses, Compact};
use serde_json::Value;

fn on() -> ProviderSettings {
    ProviderSettings { enabled: Some(true), ..ProviderSettings::default() }
}

fn body(text: &str) -> Body {
    Body::parse(text.as_bytes().to_vec(), &crate::anthropic::Anthropic).expect("a body")
}

fn asked(settings: &ProviderSettings, text: &str, window: Option<u64>) -> Vec<Edit> {
    let body = body(text);
    let envelope = envelope::read(body.bytes(), body.spans(), ctx_clients::lexicon());
    edits(
        settings,
        &Facts {
            envelope: &envelope,
            lexicon: ctx_clients::lexicon(),
            thinks: thinks(&body),
            window,
            price: None,
            lifetime: 300,
        },
    )
}

const TOOLS: &str = r#"{"messages":[],"tools":[{"name":"Read"},{"name":"TodoWrite"},{"name":"mcp__memory__find"},{"name":"Skill"},{"name":"TaskUpdate"},{"name":"Task"},{"name":"memorial"}],"thinking":{"type":"adaptive"}}"#;

#[test]
fn the_defaults_are_those_that_are_documented() {
    let made = asked(&on(), TOOLS, Some(200_000));
    assert_eq!(made.iter().map(|edit| edit.kind).collect::<Vec<_>>(), [Kind::Thinking, Kind::ToolUses]);
    assert_eq!(made[0].json, r#"{"type":"clear_thinking_20251015","keep":"all"}"#);
    assert_eq!(
        made[1].json,
        r#"{"type":"clear_tool_uses_20250919","trigger":{"type":"input_tokens","value":120000},"keep":{"type":"tool_uses","value":5},"clear_at_least":{"type":"input_tokens","value":38000},"exclude_tools":["TodoWrite","mcp__memory__find","Skill","TaskUpdate"]}"#
    );
    let without = asked(&on(), &TOOLS.replace("adaptive", "disabled"), None);
    assert_eq!(without.len(), 1, "what does not think has no thinking to clear");
    assert!(without[0].json.contains(r#""trigger":{"type":"input_tokens","value":100000}"#), "{}", without[0].json);
}

#[test]
fn every_setting_comes_through() {
    let settings = ProviderSettings {
        clear_tool_uses: ClearToolUses {
            enabled: None,
            trigger: Some(Trigger::ToolUses(40)),
            keep: Some(0),
            clear_at_least: None,
            exclude_tools: Some(vec![]),
            clear_tool_inputs: Some(Inputs::GoOf(vec!["Ba\"sh".into()])),
        },
        clear_thinking: ClearThinking { enabled: None, keep: Some(Keep::Turns(2)) },
        compact: Compact {
            enabled: Some(true),
            trigger: Some(Trigger::Percent(10)),
            instructions: Some("be\n short".into()),
        },
        ..on()
    };
    let made: Vec<String> = asked(&settings, TOOLS, Some(200_000)).into_iter().map(|edit| edit.json).collect();
    assert_eq!(
        made,
        [
            r#"{"type":"clear_thinking_20251015","keep":{"type":"thinking_turns","value":2}}"#,
            r#"{"type":"clear_tool_uses_20250919","trigger":{"type":"tool_uses","value":40},"keep":{"type":"tool_uses","value":0},"clear_tool_inputs":["Ba\"sh"]}"#,
            r#"{"type":"compact_20260112","trigger":{"type":"input_tokens","value":50000},"instructions":"be\n short"}"#,
        ]
    );
    let least =
        ClearToolUses { clear_at_least: Some(7), trigger: Some(Trigger::Tokens(9)), ..ClearToolUses::default() };
    let made = asked(&ProviderSettings { clear_tool_uses: least, ..on() }, r#"{"messages":[]}"#, None);
    assert!(
        made[0].json.contains(r#""value":9},"#)
            && made[0].json.ends_with(r#""clear_at_least":{"type":"input_tokens","value":7}}"#)
    );
    let off = ProviderSettings {
        clear_tool_uses: ClearToolUses { enabled: Some(false), ..ClearToolUses::default() },
        ..on()
    };
    assert!(asked(&off, r#"{"messages":[]}"#, None).is_empty());
}

fn merge_into(text: &str, kinds: &[Kind]) -> (String, Vec<Kind>) {
    let edits =
        kinds.iter().map(|kind| Edit { kind: *kind, json: format!(r#"{{"type":"{}"}}"#, kind.name()) }).collect();
    let (mut splices, added) = merge(&body(text), edits);
    let mut whole = text.as_bytes().to_vec();
    splices.sort_by_key(|splice| splice.at.start);
    for splice in splices.into_iter().rev() {
        whole.splice(splice.at, splice.bytes);
    }
    (String::from_utf8(whole).expect("text"), added)
}

#[test]
fn ours_come_beside_the_clients_in_the_providers_order() {
    let [thinking, tools, compact] = Kind::ALL.map(|kind| format!(r#"{{"type":"{}"}}"#, kind.name()));
    let theirs = r#"{"type":"clear_thinking_20251015","keep":"all"}"#;
    for (own, whole, added) in [
        ("".to_owned(), Some(format!("[{thinking},{tools},{compact}]")), 3),
        (r#","context_management":null"#.to_owned(), Some(format!("[{thinking},{tools},{compact}]")), 3),
        (r#","context_management":{}"#.to_owned(), Some(format!("[{thinking},{tools},{compact}]")), 3),
        (r#","context_management":{"edits":null}"#.to_owned(), Some(format!("[{thinking},{tools},{compact}]")), 3),
        (r#","context_management":{"edits":[ ]}"#.to_owned(), Some(format!("[{thinking},{tools},{compact}]")), 3),
        (format!(r#","context_management":{{"edits":[{theirs}]}}"#), Some(format!("[{theirs},{tools},{compact}]")), 2),
        (format!(r#","context_management":{{"edits":[{tools}]}}"#), Some(format!("[{thinking},{tools},{compact}]")), 2),
        (
            format!(r#","context_management":{{"edits":[{compact}]}}"#),
            Some(format!("[{thinking},{tools},{compact}]")),
            2,
        ),
        (
            format!(r#","context_management":{{"edits":[{theirs},{compact}]}}"#),
            Some(format!("[{theirs},{tools},{compact}]")),
            1,
        ),
        (format!(r#","context_management":{{"edits":[{theirs},{tools},{compact}]}}"#), None, 0),
        (r#","context_management":3"#.to_owned(), None, 0),
        (r#","context_management":{"edits":[3]}"#.to_owned(), None, 0),
        (r#","context_management":{},"context_management":{}"#.to_owned(), None, 0),
        (r#","compaction":{"type":"summarize"}"#.to_owned(), None, 0),
        (r#","thread":{"type":"create"}"#.to_owned(), None, 0),
    ] {
        let text = format!(r#"{{"model":"m", "messages":[]{own},"system":"s"}}"#);
        let (merged, kinds) = merge_into(&text, &Kind::ALL);
        assert_eq!(kinds.len(), added, "{own}");
        match whole {
            None => assert_eq!(merged, text),
            Some(list) => {
                let read: Value = serde_json::from_str(&merged).expect(&merged);
                let expected: Value = serde_json::from_str(&list).expect("a list");
                assert_eq!(read["context_management"]["edits"], expected, "{merged}");
            }
        }
    }
}

#[test]
fn only_the_edits_differ_in_any_spelling() {
    let text = "{ \"mo\\u0064el\" : \"m\", \"messages\" : [ ],\r\n \"x\":1.50e0 , \"context_management\" : { \"e\\u0064its\" : [ {\"type\":\"clear_thinking_20251015\", \"keep\":\"all\"} ] , \"y\" : [1 ] } }";
    let (merged, kinds) = merge_into(text, &Kind::ALL);
    assert_eq!(kinds, [Kind::ToolUses, Kind::Compact]);
    let ours = format!(r#",{{"type":"{}"}},{{"type":"{}"}}"#, Kind::ToolUses.name(), Kind::Compact.name());
    assert_eq!(merged.replace(&ours, ""), text);
}

#[test]
fn what_is_kept_from_clearing_is_read_from_the_edit_that_is_sent() {
    let ours = &asked(&on(), TOOLS, None)[1];
    assert_eq!(excluded(ours), ["TodoWrite", "mcp__memory__find", "Skill", "TaskUpdate"]);
    let theirs = |edits: &str| {
        excluded_by_client(&body(&format!(r#"{{"messages":[],"context_management":{{"edits":[{edits}]}}}}"#)))
    };
    let both = r#"{"type":"clear_thinking_20251015"},{"type":"clear_tool_uses_20250919","exclude_tools":["A","B"]}"#;
    assert_eq!(theirs(both), Some(vec!["A".to_owned(), "B".to_owned()]));
    assert_eq!(theirs(r#"{"type":"clear_tool_uses_20250919"}"#), Some(vec![]));
    assert_eq!(theirs(r#"{"type":"clear_thinking_20251015"}"#), None);
}
