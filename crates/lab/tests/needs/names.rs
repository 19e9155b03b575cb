//! Paths and identifiers.

use super::{Talk, need};
use serde_json::{Value, json};

#[test]
fn a_path_in_a_call_relies_on_where_it_stands_as_a_whole_word() {
    let list = "src/main.rs\nsrc/main.rs.old\nmy-src/main.rs\n";
    let talk = Talk::new().call("Glob", json!({"pattern": "**"}), list).call(
        "Read",
        json!({"file_path": "src/main.rs"}),
        "fn",
    );
    let talk = talk.user("src/main.rs.old").user("my-src/main.rs").call(
        "Grep",
        json!({"pattern": "x", "path": "./src/main.rs/"}),
        "",
    );
    assert_eq!(talk.names(), [need(1, "src/main.rs", &[(2, 0)]), need(2, "src/main.rs", &[(2, 0), (3, 0)])]);
}

#[test]
fn of_a_path_that_stands_nowhere_the_longest_end_counts() {
    let talk =
        Talk::new().user("see sub/dir/file.rs").call("Read", json!({"file_path": "/home/me/sub/dir/file.rs"}), "x");
    assert_eq!(talk.names(), [need(0, "sub/dir/file.rs", &[(1, 0)])]);
    let talk = Talk::new().user("see /home/me/sub/file.rs").call("Read", json!({"file_path": "sub/file.rs"}), "x");
    assert_eq!(talk.names(), [need(0, "sub/file.rs", &[(1, 0)])], "and the end of a longer one is the same file");
}

#[test]
fn names_have_a_length_and_a_shape() {
    let words = "a_name aName9 plain- longerword Capital x.y/z_ 123456 some-word getUser.x _private";
    let talk = Talk::new()
        .user(words)
        .says("`a_name` `aName9` `plain-` `longerword` `Capital` `x.y/z_` `123456` `some-word` `getUser` `_private`");
    let names: Vec<String> = talk.names().into_iter().map(|(_, name, _)| name).collect();
    assert_eq!(names, ["a_name", "aName9", "x.y/z_", "123456", "some-word", "getUser"]);
}

#[test]
fn a_text_quotes_in_backticks_and_not_in_blocks_of_code() {
    let talk = Talk::new().user("first_name second_name third_name fourth_name");
    let talk = talk.says("I saw `first_name(second_name)` and third_name.\n```\n`fourth_name`\n```\n");
    assert_eq!(talk.names(), [need(0, "first_name", &[(1, 0)]), need(0, "second_name", &[(1, 0)])]);
}

#[test]
fn of_a_command_the_words_count_but_not_its_programs_options_and_documents() {
    let talk =
        Talk::new().user("my_tool some_flag env_name the_file in_document last_one /bin/run_it dev/null --long-flag");
    let command = "env_name=1 my_tool --long-flag --x=some_flag the_file > /dev/null <<'EOF'\nx in_document\nEOF\n./bin/run_it \"last_one\"";
    let names: Vec<String> =
        talk.call("Bash", json!({"command": command}), "").names().into_iter().map(|(_, name, _)| name).collect();
    assert_eq!(names, ["some_flag", "the_file", "bin/run_it", "last_one"]);
}

#[test]
fn of_other_inputs_single_words_and_patterns_count_and_of_prose_what_it_quotes() {
    let input = json!({
        "order_id": "#W1519594", "items": ["item_12345"], "pattern": "func.*(save_it|loadIt) ", "count": 1234567,
        "prompt": "Look at the_prose and at `the_quoted` there", "content": "the_written", "edits": [{"new_string": "the_written"}],
    });
    let before = "W1519594 item_12345 save_it loadIt the_prose the_quoted the_written 1234567 func.";
    let names: Vec<String> =
        Talk::new().user(before).call("tool", input, "").names().into_iter().map(|(_, name, _)| name).collect();
    assert_eq!(names, ["W1519594", "item_12345", "save_it", "loadIt", "the_quoted"]);
}

#[test]
fn what_is_always_visible_or_stands_nowhere_is_no_need() {
    let mut talk =
        Talk::new().user("in_system and in_messages").says("`in_system`, `in_tools`, `in_messages` and `in_nothing`");
    talk.head = json!({"system": [{"type": "text", "text": "Use in_system."}], "tools": [{"name": "in_tools"}]});
    assert_eq!(talk.names(), [need(0, "in_messages", &[(1, 0)])]);
}

#[test]
fn results_calls_and_texts_are_sources_and_thinking_and_images_are_not() {
    let result: Value = json!([{"type": "tool_result", "tool_use_id": "1", "content": [
        {"type": "image", "source": {"type": "base64", "data": "the_name"}}, {"type": "text", "text": "has the_name"}]}]);
    let mut talk = Talk::new().call("Read", json!({"note": ["x", {"deep": "the_name"}]}), "");
    talk.messages[2]["content"] = result;
    talk.messages.push(json!({"role": "assistant", "content": [
        {"type": "thinking", "thinking": "the_name"}, {"type": "text", "text": "`the_name` and again `the_name`"}]}));
    let talk = talk
        .user([json!({"type": "image", "source": {"type": "base64", "data": "the_name"}})].to_vec())
        .says("`the_name`");
    assert_eq!(talk.names(), [need(1, "the_name", &[(1, 0), (2, 0)]), need(2, "the_name", &[(1, 0), (2, 0), (3, 1)])]);
}
