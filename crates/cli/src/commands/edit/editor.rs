//! Edits a text in the user's editor.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use ctx_api::call::Conversation;
use ctx_api::frames::AtQuery;
use ctx_api::history::HistoryQuery;
use ctx_api::show::{BlockView, ContentView, MessageView};
use ctx_core::ErrorCode;
use serde_json::{Value, json};

use crate::client::Client;
use crate::commands::change::{Base, read, without_last_newline};
use crate::context::Context;
use crate::env;
use crate::failure::Failure;
use crate::home;
use crate::platform::process;

/// The content before and after editing.
pub enum Draft {
    Text(String),
    /// Several messages, or more than text: messages in JSON.
    Messages(String),
}

/// The new content, the file that keeps it until the edit is applied, and the state that was shown.
pub fn ask(id: &str, conversation: &str, context: &Context) -> Result<(Draft, PathBuf, Base), Failure> {
    let client = context.client()?;
    let base = base(&client, conversation)?;
    let mut shown = client.call(&Conversation(&base.conversation).show(id, &AtQuery::default()))?;
    shown.messages.iter_mut().for_each(|message| message.blocks.retain(|block| block.covered.is_none()));
    shown.messages.retain(|message| !message.blocks.is_empty());
    let editor = context.environment.text(env::EDITOR).ok_or_else(|| {
        Failure::new(ErrorCode::NoEditor, "no text was given, and no editor is set (VISUAL, EDITOR)")
            .hint("use --text, --raw or --file, or set EDITOR")
    })?;
    let current = current(&shown);
    let (before, ending) = match &current {
        Draft::Text(text) => (text, "md"),
        Draft::Messages(json) => (json, "json"),
    };
    let draft = context.home()?.path().join(format!("edit-{}.{ending}", std::process::id()));
    let asked = written(before, &editor, &draft);
    if asked.is_err() {
        let _ = fs::remove_file(&draft);
    }
    let after = match current {
        Draft::Text(_) => Draft::Text(asked?),
        Draft::Messages(_) => Draft::Messages(asked?),
    };
    Ok((after, draft, base))
}

/// Read before the content: a commit in between makes the edit stale, and is not lost.
fn base(client: &Client, conversation: &str) -> Result<Base, Failure> {
    let query = HistoryQuery { limit: Some(0), ..HistoryQuery::default() };
    let history = client.call(&Conversation(conversation).history(&query))?;
    let head = history.head.map_or_else(|| "none".to_owned(), |head| head.to_string());
    Ok(Base { conversation: history.conversation, head })
}

/// Opens the editor and returns the edited text.
pub fn written(before: &str, editor: &str, draft: &Path) -> Result<String, Failure> {
    home::open_private(draft, |options| options.truncate(true))
        .and_then(|mut file| file.write_all(format!("{before}\n").as_bytes()))
        .map_err(|error| Failure::file("write", draft, &error))?;
    let hint = "nothing was changed";
    match process::editor(editor, draft).status() {
        Ok(status) if status.success() => {}
        Ok(status) => {
            return Err(Failure::new(ErrorCode::Editor, format!("the editor `{editor}` failed: {status}")).hint(hint));
        }
        Err(error) => {
            return Err(
                Failure::new(ErrorCode::Editor, format!("the editor `{editor}` cannot be started: {error}")).hint(hint)
            );
        }
    }
    let after = without_last_newline(read(draft)?);
    if after.trim().is_empty() {
        return Err(Failure::new(ErrorCode::Empty, "the text is empty").hint(
            "nothing was changed; to delete, use `ctx \
                delete`",
        ));
    }
    if after == before {
        return Err(Failure::new(ErrorCode::Unchanged, "the text is unchanged").hint(hint));
    }
    Ok(after)
}

/// The current content: plain text if it contains nothing else, otherwise messages in JSON. Thinking cannot be edited,
/// so it is omitted.
fn current(shown: &ContentView) -> Draft {
    let thinks = |block: &&BlockView| block.kind == "thinking";
    let blocks: Vec<_> = shown.messages.iter().flat_map(|message| &message.blocks).filter(|b| !thinks(b)).collect();
    let has_one_voice = shown.messages.len() == 1 && blocks.iter().all(|block| block.kind == "text");
    if blocks.len() == 1 || has_one_voice {
        return Draft::Text(blocks.iter().map(|block| block.text.as_str()).collect::<Vec<_>>().join("\n\n"));
    }
    let content = |message: &MessageView| -> Vec<Value> {
        let blocks = message.blocks.iter().filter(|block| !thinks(block));
        blocks.filter_map(|block| as_block(block.raw.as_deref()?.get(), block)).collect()
    };
    let messages: Vec<Value> = shown
        .messages
        .iter()
        .map(|message| (message, content(message)))
        .filter(|(_, content)| !content.is_empty())
        .map(|(message, content)| json!({ "role": message.role, "content": content }))
        .collect();
    Draft::Messages(serde_json::to_string_pretty(&messages).unwrap_or_default())
}

/// A block as sent, without its cache breakpoint.
fn as_block(raw: &str, block: &BlockView) -> Option<Value> {
    let mut value = match serde_json::from_str(raw).ok()? {
        Value::String(text) => json!({ "type": "text", "text": text }),
        value => value,
    };
    if let Value::Object(fields) = &mut value {
        fields.shift_remove("cache_control");
        if block.replaced.is_some() {
            fields.insert("content".into(), block.text.clone().into());
        }
    }
    Some(value)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn edited(script: &str) -> Result<String, Failure> {
        let folder = tempfile::tempdir().expect("a folder");
        written("Fix the parser.", script, &folder.path().join("draft.md"))
    }

    #[test]
    fn what_the_editor_leaves_is_the_text() {
        assert_eq!(edited("sed -i s/parser/lexer/").expect("a text"), "Fix the lexer.");
        assert_eq!(edited("sh -c 'printf \"a  b\\n\\n\" > \"$0\"'").expect("a text"), "a  b\n");
    }

    #[test]
    fn nothing_is_changed_by_the_same_text_an_empty_one_or_an_editor_that_fails() {
        let code = |script| edited(script).expect_err("refused").code;
        assert_eq!(code("true"), ErrorCode::Unchanged);
        assert_eq!(code("truncate -s 0"), ErrorCode::Empty);
        assert_eq!(code("false"), ErrorCode::Editor);
        assert_eq!(code("/nowhere/editor 2>&-"), ErrorCode::Editor);
    }
}
