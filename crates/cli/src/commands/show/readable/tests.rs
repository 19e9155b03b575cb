//! Formatted parts of a conversation.

use serde_json::json;

use super::*;

fn block(kind: &str, text: &str) -> BlockView {
    serde_json::from_value(json!({"id": "t1#0.0", "kind": kind, "tokens": 12, "text": text, "is_error": false}))
        .expect("a block")
}

fn shown() -> ContentView {
    let message = |id: &str, role: &str, step: usize, blocks| MessageView {
        blocks,
        ..serde_json::from_value(
            json!({"id": id, "role": role, "tokens": 40, "step": step, "pending": false, "blocks": []}),
        )
        .expect("a message")
    };
    let of_read = |block: BlockView| BlockView {
        tool: (block.kind == "tool_use").then(|| "Read".into()),
        tool_use_id: Some("toolu_1".into()),
        ..block
    };
    ContentView {
        conversation: "c3f9a1".into(),
        id: "t1".into(),
        kind: "turn".into(),
        left: None,
        title: "Fix the parser".into(),
        tokens: 1_234,
        calibrated: false,
        state: Vec::new(),
        by: Vec::new(),
        messages: vec![
            message(
                "t1#0",
                "user",
                0,
                vec![block("reminder", "<system-reminder>\nBe good.\n"), block("text", "Fix the parser.\n\nPlease.")],
            ),
            message(
                "t1#1",
                "assistant",
                1,
                vec![
                    block("thinking", "one\ntwo\nthree\nfour"),
                    block("thinking", ""),
                    of_read(block("tool_use", r#"{"file_path":"src/main.rs","limit":5,"why":"a\nb"}"#)),
                ],
            ),
            MessageView {
                pending: true,
                ..message(
                    "t1#2",
                    "user",
                    1,
                    vec![
                        of_read(block("tool_result", "1\n2\n3\n\u{1b}[31m4")),
                        of_read(BlockView { is_error: true, ..block("tool_result", "no such file") }),
                        block("image", ""),
                    ],
                )
            },
        ],
    }
}

#[test]
fn a_frame_is_readable_and_its_bulk_is_folded() {
    insta::assert_snapshot!(render(&shown(), 3, &Output::plain()), @r"
    t1  Fix the parser  ≈1,234 tokens

    user t1#0 ≈40 tokens
      reminder ≈12 tokens
        <system-reminder>
        Be good.
      Fix the parser.

      Please.

    assistant t1#1 ≈40 tokens · step 1
      thinking ≈12 tokens
        one
        two
        three
        … 1 more line; --full shows all
      thinking, not readable ≈12 tokens
      calls Read ≈12 tokens
        file_path: src/main.rs
        limit: 5
        why:
        … 2 more lines; --full shows all

    user t1#2 ≈40 tokens · step 1 · pending: the agent has not sent it back yet
      result of Read ≈12 tokens
        1
        2
        3
        … 1 more line; --full shows all
      Read failed ≈12 tokens
        no such file
      image ≈12 tokens
    ");
}

#[test]
fn what_an_edit_took_out_or_wrote_is_marked() {
    let mut shown = shown();
    let first = shown.messages.remove(0);
    let covered = |block| BlockView { covered: Some("00000000c3".into()), ..block };
    shown.messages.push(MessageView { blocks: first.blocks.into_iter().map(covered).collect(), ..first });
    shown.messages[0] = MessageView {
        made: true,
        blocks: vec![
            BlockView { covered: Some("00000000a1".into()), ..block("text", "old words") },
            block("text", "new words"),
            BlockView { repaired: Some("its result is not sent (A30)".into()), ..block("tool_use", "{}") },
        ],
        ..shown.messages[0].clone()
    };
    shown.messages[1].blocks.truncate(1);
    shown.messages[1].blocks[0].replaced = Some("00000000b2".into());
    shown.state = vec!["trimmed".into(), "repaired".into()];
    insta::assert_snapshot!(render(&shown, 1, &Output::plain()), @r"
    t1  [trimmed] [repaired] Fix the parser  ≈1,234 tokens

    assistant t1#1 ≈40 tokens · step 1 · written by an edit
      text, not sent since 00000000a1 ≈12 tokens
        old words
      new words
      tool_use, omitted: its result is not sent (A30) ≈12 tokens
        {}

    user t1#2 ≈40 tokens · step 1 · pending: the agent has not sent it back yet
      result of a tool, written by 00000000b2 ≈12 tokens
        1
        … 3 more lines; --full shows all

    1 message is not sent since 00000000c3; --full or --at source shows all
    ");
}

#[test]
fn several_frames_are_told_as_that() {
    let mut shown = shown();
    shown.id = "t1..t2".into();
    shown.messages[2].id = "t2#0".into();
    assert!(render(&shown, 1, &Output::plain()).starts_with("t1..t2  2 frames  ≈1,234 tokens\n"));
}

#[test]
fn folded_lines_fit_the_terminal_and_words_are_folded_at_its_edge() {
    let mut shown = shown();
    shown.messages[2].blocks[0].text = "x".repeat(500);
    shown.messages[0].blocks[1].text = "word ".repeat(60);
    let narrow = render(&shown, 1, &Output::narrow(80));
    assert!(narrow.lines().all(|line| text::width(line) <= 80), "{narrow}");
}

#[test]
fn full_folds_nothing_and_still_escapes() {
    let whole = render(&shown(), usize::MAX, &Output::plain());
    assert!(whole.contains("four") && whole.contains("\\x1b[31m4"), "{whole}");
    assert!(!whole.contains(" more line") && !whole.contains('\u{1b}'), "{whole}");
}

#[test]
fn one_endless_line_is_cut_when_folded() {
    let (short, hidden) = folded(&"x".repeat(10_000), 8, FOLDED_COLUMNS);
    assert!(short.len() < 300 && short.ends_with('…'));
    assert_eq!(hidden, 0);
}

#[test]
fn the_text_of_a_person_or_the_model_is_never_folded() {
    let mut shown = shown();
    for message in &mut shown.messages {
        message.blocks = vec![block("text", &"line\n".repeat(100))];
    }
    assert_eq!(render(&shown, 1, &Output::plain()).matches("line").count(), 300);
}
