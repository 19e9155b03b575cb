//! Equality of messages, speakers and weights.

use super::*;
use ctx_core::key::Key;
use ctx_core::message::{How, Message, Touch};

fn facts(text: &str) -> Message {
    read(text.as_bytes(), ctx_clients::lexicon()).facts
}

#[test]
fn spelling_marks_and_reminders_do_not_change_the_key() {
    let key = facts(r#"{"role":"user","content":"fix it"}"#).key;
    for same in [
        r#"{"content":"fix it","role":"user"}"#,
        r#"{ "role" : "user", "content" : [ { "text" : "f\u0069x it\n", "type" : "text" } ] }"#,
        r#"{"role":"user","content":[{"type":"text","text":"fix it","cache_control":{"type":"ephemeral"}}]}"#,
        r#"{"role":"user","content":[{"type":"text","text":"<system-reminder>noon</system-reminder>"},{"type":"text","text":"fix it"}]}"#,
        r#"{"role":"user","content":"<system-reminder>one</system-reminder>fix it"}"#,
    ] {
        assert_eq!(facts(same).key, key, "{same}");
    }
    for other in [r#"{"role":"assistant","content":"fix it"}"#, r#"{"role":"user","content":"fix that"}"#] {
        assert_ne!(facts(other).key, key, "{other}");
    }
}

#[test]
fn a_compaction_with_content_sums_up_what_is_before_it() {
    let message = |block: &str| facts(&format!(r#"{{"role":"assistant","content":[{block}]}}"#));
    let whole = message(r#"{"type":"compaction","content":"so far","encrypted_content":"xyz"}"#);
    assert!(whole.is_setting(0) && whole.blocks[0].sums_up);
    for other in [r#"{"type":"compaction","content":null}"#, r#"{"type":"fallback","content":"so far"}"#] {
        assert!(!message(other).is_setting(0), "{other}");
    }
}

#[test]
fn an_image_is_identified_by_its_bytes() {
    let words = |block: &str| facts(&format!(r#"{{"role":"user","content":[{block}]}}"#)).blocks[0].words;
    let image = r#"{"type":"image","source":{"type":"url","url":"http://host/a"}}"#;
    let marked = image.replace("}}", r#"},"cache_control":{"type":"ephemeral"}}"#);
    assert!(words(image).is_some());
    assert_eq!(words(&marked), words(image));
    assert_ne!(words(&image.replace("/a", "/b")), words(image));
}

#[test]
fn tool_messages_are_recognised_by_their_ids() {
    let call = |input: &str| {
        format!(r#"{{"role":"assistant","content":[{{"type":"tool_use","id":"t1","name":"Read","input":{input}}}]}}"#)
    };
    assert_eq!(facts(&call(r#"{"file_path":"/a"}"#)).key, facts(&call(r#"{"file_path":"/a","limit":3}"#)).key);
    let result = |content: &str| {
        format!(r#"{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"t1","content":{content}}}]}}"#)
    };
    assert_eq!(facts(&result("\"a\"")).key, facts(&result("[]")).key);
    assert_ne!(facts(&result("\"a\"")).key, facts(&call("{}")).key);
}

#[test]
fn stripped_thinking_does_not_change_the_key() {
    let with = r#"{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"s"},{"type":"text","text":"done"}]}"#;
    let without = r#"{"role":"assistant","content":[{"type":"text","text":"done"}]}"#;
    assert_eq!(facts(with).key, facts(without).key);
    assert_eq!(facts(with).anchors.len(), 1);
}

#[test]
fn messages_of_nothing_but_reminders_differ_by_what_they_say() {
    let say =
        |text: &str| facts(&format!(r#"{{"role":"user","content":"<system-reminder>{text}</system-reminder>"}}"#));
    assert_eq!(say("a").key, say("a").key);
    assert_ne!(say("a").key, say("b").key);
    assert_eq!(say("a").speaks, None);
}

#[test]
fn a_human_speaks_behind_the_tool_results() {
    let mixed = r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"x"},{"type":"text","text":"and now stop"}]}"#;
    assert_eq!(facts(mixed).speaks, Some(1));
    assert_eq!(facts(mixed).title.as_deref(), Some("and now stop"));
    let reminded = r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"x"},{"type":"text","text":"<system-reminder>r</system-reminder>"}]}"#;
    assert_eq!(facts(reminded).speaks, None);
    assert_eq!(facts(r#"{"role":"assistant","content":"hello"}"#).speaks, None);
}

#[test]
fn a_prompt_wins_over_the_command_output_glued_to_it() {
    let glued = r#"{"role":"user","content":[{"type":"text","text":"<command-name>/context</command-name>"},{"type":"text","text":"<local-command-stdout>x</local-command-stdout>"},{"type":"text","text":"go on"}]}"#;
    assert_eq!(facts(glued).title.as_deref(), Some("go on"));
    assert_eq!(facts(glued).speaks, Some(0));
}

#[test]
fn a_skill_is_called_by_its_command_and_no_human_speaks_when_the_model_calls_it() {
    let skill = r##"{"type":"text","text":"Base directory for this skill: /s/tidy\n\n# Tidy"}"##;
    let command = r#"{"type":"text","text":"<command-message>tidy</command-message>\n<command-name>/tidy</command-name>\n<command-args>all of it</command-args>\n"}"#;
    let named = facts(&format!(r#"{{"role":"user","content":[{command},{skill}]}}"#));
    assert_eq!((named.title.as_deref(), named.speaks), (Some("/tidy all of it"), Some(0)));
    let result = r#"{"type":"tool_result","tool_use_id":"t","content":"Launching skill: tidy"}"#;
    assert_eq!(facts(&format!(r#"{{"role":"user","content":[{result},{skill}]}}"#)).speaks, None);
}

#[test]
fn weights_count_characters_not_escapes_and_not_signatures() {
    let block = |text: &str| facts(text).blocks[0].clone();
    assert_eq!(block(r#"{"role":"user","content":"a\n\u00e9é\"b"}"#).chars, 6);
    assert_eq!(
        block(r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"a\n\u00e9é\"b"}]}"#)
            .chars,
        6
    );
    assert_eq!(block(r#"{"role":"assistant","content":[{"type":"thinking","thinking":"abc","signature":"xxxxxxxxxxxxxxxxxxxx"}]}"#).chars, 3);
}

#[test]
fn a_call_is_labelled_by_its_main_argument() {
    let call = facts(
        r#"{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"Bash","input":{"description":"list","command":"ls  -l"}}]}"#,
    );
    assert_eq!(call.blocks[0].label.as_deref(), Some("ls -l"));
    assert_eq!(call.blocks[0].tool.as_deref(), Some("Bash"));
}

#[test]
fn what_is_no_message_is_carried() {
    for odd in [
        "7",
        "null",
        "{}",
        r#"{"role":3,"content":{}}"#,
        r#"{"role":"user","content":[1,null,{"type":"new_thing","x":[[]]}]}"#,
    ] {
        let read = read(odd.as_bytes(), ctx_clients::lexicon());
        assert!(read.cuts.is_empty(), "{odd}");
    }
    assert_eq!(facts(r#"{"role":"user","content":[{"type":"new_thing"}]}"#).blocks[0].kind, Kind::Other);
}

#[test]
fn calls_that_read_or_change_a_file_are_known_by_it() {
    let touches = |name: &str, input: &str| {
        let call = format!(r#"{{"type":"tool_use","id":"t1","name":"{name}","input":{input}}}"#);
        facts(&format!(r#"{{"role":"assistant","content":[{call}]}}"#)).blocks[0].touches.as_deref().copied()
    };
    let file = Key::of([b"/a".as_slice()]);
    assert_eq!(touches("Read", r#"{"file_path":"/a"}"#), Some(Touch { file, how: How::Read(None) }));
    assert_eq!(touches("Edit", r#"{"old_string":"x","file_path":"\/a"}"#), Some(Touch { file, how: How::Change }));
    let part = |input: &str| touches("Read", input).map(|touch| (touch.file == file, touch.how));
    let first = part(r#"{"file_path":"/a","limit":10}"#);
    assert!(matches!(first, Some((true, How::Read(Some(_))))), "{first:?}");
    assert_ne!(first, part(r#"{"file_path":"/a","limit":10,"offset":10}"#));
    for (name, input) in [("Bash", r#"{"path":"/a"}"#), ("Read", "{}"), ("Read", "3"), ("Read", r#"{"file_path":3}"#)] {
        assert_eq!(touches(name, input), None, "{name} {input}");
    }
}

#[test]
fn a_glance_sees_the_role_and_the_mark_that_reading_sees() {
    for text in [
        r#"{"role":"user","content":"hi"}"#,
        r#"{"content":[{"type":"text","text":"hi","cache_control":{"type":"ephemeral"}}],"role":"assistant"}"#,
        r#"{"role":"user","content":[{"type":"text","text":"cache_control"}]}"#,
        r#"{"role":"system","content":[1,{"cache_control":null}]}"#,
        "7",
        "{",
    ] {
        let read = read(text.as_bytes(), ctx_clients::lexicon());
        assert_eq!(glance(text.as_bytes()), (read.facts.role, read.marked), "{text}");
    }
}

#[test]
fn what_is_nested_deeply_is_counted_by_its_bytes_and_not_scanned_for_every_level() {
    let chars = |levels: usize| {
        let (open, close) = ("[".repeat(levels), "]".repeat(levels));
        let block = format!(r#"{{"type":"tool_result","tool_use_id":"a","content":{open}"xx"{close}}}"#);
        read(format!(r#"{{"role":"user","content":[{block}]}}"#).as_bytes(), ctx_clients::lexicon()).facts.blocks[0]
            .chars
    };
    assert_eq!((chars(0), chars(7)), (2, 2));
    assert_eq!(chars(10), r#"[["xx"]]"#.len() as u32);
    assert_eq!(chars(300_000), 4 + 2 * (300_000 - 8));
}

#[test]
fn arguments_in_lists_name_the_call_and_its_file() {
    let call = |name: &str, input: &str| {
        let call = format!(r#"{{"type":"tool_use","id":"t","name":"{name}","input":{input}}}"#);
        facts(&format!(r#"{{"role":"assistant","content":[{call}]}}"#)).blocks.remove(0)
    };
    let label = |name, input| call(name, input).label.map(String::from);
    assert_eq!(label("run_commands", r#"{"commands":["cargo test","ls"]}"#).as_deref(), Some("cargo test"));
    assert_eq!(label("read_files", r#"{"files":[{"start_line":1,"path":"/a"}]}"#).as_deref(), Some("/a"));
    assert_eq!(label("Read", r#"{"filepath":"/a"}"#).as_deref(), Some("/a"));

    let touches = |name, input| call(name, input).touches.map(|touch| *touch);
    let file = Key::of([b"/a".as_slice()]);
    assert_eq!(touches("read_files", r#"{"files":[{"path":"/a"}]}"#), Some(Touch { file, how: How::Read(None) }));
    let part = touches("read_files", r#"{"files":[{"path":"/a","start_line":5}]}"#).expect("a touch");
    assert!(part.file == file && matches!(part.how, How::Read(Some(_))));
    assert_eq!(touches("read_files", r#"{"files":[{"path":"/a"},{"path":"/b"}]}"#), None, "none of them alone");
    assert_eq!(touches("editor", r#"{"path":"/a","old_text":"x"}"#), Some(Touch { file, how: How::Change }));
    assert_eq!(touches("Read", r#"{"filepath":"/a"}"#), Some(Touch { file, how: How::Read(None) }));
}

#[test]
fn a_message_keeps_its_key_when_a_moving_notice_comes_or_goes() {
    let user = |content: &str| facts(&format!(r#"{{"role":"user","content":{content}}}"#));
    let plain = user(r#""fix it""#);
    let before = user(r#"[{"type":"text","text":"<info-msg>noon</info-msg>"},{"type":"text","text":"fix it"}]"#);
    let behind = user(r#"[{"type":"text","text":"fix it"},{"type":"text","text":"<info-msg>one</info-msg>"}]"#);
    assert_eq!((before.key, behind.key), (plain.key, plain.key));
    assert_eq!((before.title.as_deref(), behind.title.as_deref()), (Some("fix it"), Some("fix it")));
    assert!(user(r#""<info-msg>noon</info-msg>""#).speaks.is_none());
}
