//! TOML settings: the parser finds the position of each entry, and only its bytes change.

use std::ops::Range;

use serde_json::Value;
use toml_edit::{Document, Item, Table, TableLike, TomlError};

use super::jsonc::splice::Draft;
use super::jsonc::{BYTE_ORDER_MARK, Broken, Position};
use super::line;
use super::syntax::Entry;

/// Finds the entry at a path.
pub fn find(text: &str, path: &[String]) -> Result<Option<Entry>, Broken> {
    let document = read(text)?;
    let Some(item) = item(document.as_table(), path) else { return Ok(None) };
    let raw = item.span().and_then(|span| text.get(span)).unwrap_or_default();
    Ok(Some(Entry { value: json(item), raw: raw.to_owned() }))
}

/// Sets the entry at a path. Returns the table created for it, if any.
pub fn set(draft: &mut Draft, path: &[String], value: &Value) -> Result<Option<Vec<String>>, Broken> {
    let text = draft.text.clone();
    let document = read(&text)?;
    let written = written(value).ok_or_else(|| broken(&text, 0, "this value cannot be written here"))?;
    let Some((key, parents)) = path.split_last() else { return Ok(None) };
    let mut made = None;
    if let Some(item) = item(document.as_table(), path) {
        let span = item.as_value().and_then(|value| value.span());
        draft.replace(span.ok_or_else(|| not_a_value(&text, path, item))?, &written);
    } else {
        let line = format!("{} = {written}", quoted(key));
        match table(&document, parents, &text)? {
            Some(table) => line::insert(draft, end_of_table(table, &text), &line),
            None => {
                let header: Vec<String> = parents.iter().map(|key| quoted(key)).collect();
                let blank = if text.trim().is_empty() { "" } else { line::newline(&text) };
                let newline = line::newline(&text);
                let section = format!("{blank}[{}]{newline}{line}", header.join("."));
                line::insert(draft, text.len(), &section);
                made = Some(parents.to_vec());
            }
        }
    }
    match find(&draft.text, path)?.and_then(|entry| entry.value) {
        Some(now) if now == *value => Ok(made),
        _ => Err(broken(&text, 0, format!("`{}` cannot be added to this file", path.join(".")))),
    }
}

/// Replaces the value at a path with these bytes.
pub fn put_back(draft: &mut Draft, path: &[String], raw: &str) -> Result<(), Broken> {
    let text = draft.text.clone();
    let span = item(read(&text)?.as_table(), path).and_then(Item::span);
    if let Some(span) = span {
        draft.replace(span, raw);
    }
    Ok(())
}

/// Removes an entry with its line, or a table with its header and the blank line above.
pub fn remove(draft: &mut Draft, path: &[String]) -> Result<(), Broken> {
    let text = draft.text.clone();
    let document = read(&text)?;
    let Some(item) = item(document.as_table(), path) else { return Ok(()) };
    let Some(span) = item.span() else { return Ok(()) };
    if item.is_table() {
        let start = line::start_of_line(&text, span.start);
        let above = text.get(..start).unwrap_or_default();
        let blank = ["\r\n", "\n"].into_iter().find(|newline| above.ends_with(&newline.repeat(2)));
        let end = item.as_table().map_or(span.end, |table| end_of_table(table, &text));
        draft.replace(start - blank.map_or(0, str::len)..line::end_of_line(&text, end), "");
        return Ok(());
    }
    let parents = path.get(..path.len().saturating_sub(1)).unwrap_or_default();
    match table(&document, parents, &text)? {
        Some(_) => line::remove(draft, span),
        None => return Err(not_a_value(&text, path, item)),
    }
    Ok(())
}

fn read(text: &str) -> Result<Document<&str>, Broken> {
    Document::parse(text).map_err(|error: TomlError| {
        let at = error.span().map_or(0, |span| span.start);
        broken(text, at, error.message().lines().next().unwrap_or("it is not TOML"))
    })
}

fn broken(text: &str, at: usize, why: impl Into<String>) -> Broken {
    Broken { position: Position::of(text, at), why: why.into() }
}

fn not_a_value(text: &str, path: &[String], item: &Item) -> Broken {
    let at = item.span().map_or(0, |span| span.start);
    broken(text, at, format!("`{}` is written in a form that ctx does not change", path.join(".")))
}

fn item<'d>(root: &'d Table, path: &[String]) -> Option<&'d Item> {
    let (first, rest) = path.split_first()?;
    rest.iter().try_fold(root.get(first)?, |item, key| item.as_table_like()?.get(key))
}

/// The table at a path with one entry per line; `None` if it has no header yet.
fn table<'d>(document: &'d Document<&str>, path: &[String], text: &str) -> Result<Option<&'d Table>, Broken> {
    let mut table = document.as_table();
    for (depth, key) in path.iter().enumerate() {
        match table.get(key) {
            None => return Ok(None),
            Some(Item::Table(inner)) => table = inner,
            Some(other) => return Err(not_a_value(text, path.get(..=depth).unwrap_or(path), other)),
        }
    }
    Ok(Some(table).filter(|table| path.is_empty() || !(table.is_implicit() || table.is_dotted())))
}

/// The start of the line behind the last entry of a table, or behind its header.
fn end_of_table(table: &Table, text: &str) -> usize {
    let values = table.get_values();
    let ends = values.iter().filter_map(|(_, value)| Some(value.span()?.end));
    match (ends.max(), table.span().filter(|span: &Range<usize>| !span.is_empty())) {
        (Some(end), _) => line::end_of_line(text, end),
        (None, Some(header)) if text.get(header.clone()).is_some_and(|header| header.starts_with('[')) => {
            line::end_of_line(text, header.end)
        }
        _ if text.starts_with(BYTE_ORDER_MARK) => BYTE_ORDER_MARK.len_utf8(),
        _ => 0,
    }
}

/// A value as JSON, for comparison. `ctx` writes no dates and numbers.
fn json(item: &Item) -> Option<Value> {
    match item {
        Item::Value(value) => value_json(value),
        Item::Table(table) => table_json(table),
        _ => None,
    }
}

fn value_json(value: &toml_edit::Value) -> Option<Value> {
    match value {
        toml_edit::Value::String(text) => Some(text.value().as_str().into()),
        toml_edit::Value::Boolean(switch) => Some((*switch.value()).into()),
        toml_edit::Value::Array(items) => items.iter().map(value_json).collect::<Option<Vec<_>>>().map(Value::Array),
        toml_edit::Value::InlineTable(table) => table_json(table),
        _ => None,
    }
}

fn table_json(table: &dyn TableLike) -> Option<Value> {
    let members = table.iter().map(|(key, item)| Some((key.to_owned(), json(item)?)));
    members.collect::<Option<serde_json::Map<_, _>>>().map(Value::Object)
}

/// A value in TOML.
fn written(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(toml_edit::Value::from(text.as_str()).to_string()),
        Value::Bool(switch) => Some(switch.to_string()),
        Value::Array(items) => Some(format!("[{}]", items.iter().map(written).collect::<Option<Vec<_>>>()?.join(", "))),
        Value::Object(members) => {
            let member = |(key, value): (&String, &Value)| Some(format!("{} = {}", quoted(key), written(value)?));
            Some(format!("{{ {} }}", members.iter().map(member).collect::<Option<Vec<_>>>()?.join(", ")))
        }
        _ => None,
    }
}

fn quoted(key: &str) -> String {
    toml_edit::Key::new(key).display_repr().into_owned()
}

#[cfg(test)]
mod tests {
    use super::super::jsonc::splice::take_back;
    use super::*;

    fn path(text: &str) -> Vec<String> {
        text.split('.').map(str::to_owned).collect()
    }

    fn installed(text: &str) -> Draft {
        let mut draft = Draft::of(text);
        for (name, value) in [("model_provider", "ctx"), ("p.ctx.name", "OpenAI"), ("p.ctx.url", "http://h/v1")] {
            set(&mut draft, &path(name), &value.into()).expect(text);
        }
        draft
    }

    #[test]
    fn entries_are_added_where_they_belong_and_taken_back() {
        for text in [
            "",
            "# mine\n",
            "model = \"x\" # why\n[p.other]\nname = \"y\"",
            "model_provider = 'openai'\r\n\r\n[tui]\r\n# nothing\r\n",
            "[p.ctx]\n[z]\na = 1\n",
            "p.other.name = 1\n[[hooks]]\nx = \"\"\"\n[p.ctx]\n\"\"\"\n",
            "\u{feff}[a]\n",
        ] {
            let draft = installed(text);
            let get = |name: &str| find(&draft.text, &path(name)).expect("read").and_then(|entry| entry.value);
            assert_eq!(get("model_provider"), Some("ctx".into()), "{}", draft.text);
            assert_eq!((get("p.ctx.name"), get("p.ctx.url")), (Some("OpenAI".into()), Some("http://h/v1".into())));
            assert_eq!(take_back(&draft.text, &draft.steps).as_deref(), Some(text));
        }
    }

    #[test]
    fn a_table_of_ours_stands_behind_the_others_and_goes_with_its_blank_line() {
        let text = "model = \"x\"\n\n[tui]\na = 1\n";
        let mut draft = installed(text);
        let added = "\n[p.ctx]\nname = \"OpenAI\"\nurl = \"http://h/v1\"\n";
        assert_eq!(draft.text, format!("model = \"x\"\nmodel_provider = \"ctx\"\n\n[tui]\na = 1\n{added}"));
        for name in ["p.ctx.url", "p.ctx.name", "p.ctx", "model_provider"] {
            remove(&mut draft, &path(name)).expect("removed");
        }
        assert_eq!(draft.text, text);
    }

    #[test]
    fn a_form_that_cannot_be_changed_and_what_is_no_toml_are_refused() {
        let refused = |text: &str| {
            let mut draft = Draft::of(text);
            set(&mut draft, &path("p.ctx.name"), &"x".into()).expect_err(text).to_string()
        };
        assert!(refused("a = 1\np = { other = 1 }\n").starts_with("line 2, column 5: `p` is written in a form"));
        assert!(refused("a = 1\nb = \n").starts_with("line 2"), "{}", refused("a = 1\nb = \n"));
    }

    #[test]
    fn lists_and_tables_are_written_in_one_line() {
        let mut draft = Draft::of("");
        set(&mut draft, &path("m.args"), &serde_json::json!(["mcp", "a\"b"])).expect("set");
        set(&mut draft, &path("m.env"), &serde_json::json!({"CTX_HOME": "/h"})).expect("set");
        assert_eq!(draft.text, "[m]\nargs = [\"mcp\", 'a\"b']\nenv = { CTX_HOME = \"/h\" }\n");
    }
}
