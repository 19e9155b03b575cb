//! What a result holds: as it is kept in a file, and the words in it.

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

/// The content of a result that may be cleared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// One text.
    Text(String),
    /// More than that, such as an image: as the client wrote it, and the words in it. `is_text`: these are several texts.
    Mixed { json: String, words: String, is_text: bool },
}

/// What may stand beside text in a result that goes. Whatever else there is, later messages may refer to.
const KNOWN: [&str; 3] = ["image", "document", "search_result"];

#[derive(Deserialize)]
struct Block<'b> {
    #[serde(borrow, default)]
    content: Option<&'b RawValue>,
}

impl Content {
    /// Reads a block with a result; none if it must not go.
    pub fn of(block: &[u8]) -> Option<Content> {
        let Some(raw) = serde_json::from_slice::<Block<'_>>(block).ok()?.content else {
            return Some(Content::Text(String::new()));
        };
        match serde_json::from_str(raw.get()).ok()? {
            Value::String(text) => Some(Content::Text(text)),
            Value::Null => Some(Content::Text(String::new())),
            Value::Array(blocks) => {
                let text = |block: &Value| block["text"].as_str().map(str::to_owned);
                let is_known = |block: &Value| block["type"].as_str().is_some_and(|kind| KNOWN.contains(&kind));
                if !blocks.iter().all(|block| text(block).is_some() || is_known(block)) {
                    return None;
                }
                let texts: Vec<String> = blocks.iter().filter_map(text).collect();
                let words = texts.join("\n");
                let is_text = texts.len() == blocks.len();
                match is_text && texts.len() < 2 {
                    true => Some(Content::Text(words)),
                    false => Some(Content::Mixed { json: raw.get().to_owned(), words, is_text }),
                }
            }
            _ => None,
        }
    }

    pub fn words(&self) -> &str {
        match self {
            Content::Text(words) | Content::Mixed { words, .. } => words,
        }
    }

    /// Whether there is nothing but text in it.
    pub fn is_text(&self) -> bool {
        matches!(self, Content::Text(_) | Content::Mixed { is_text: true, .. })
    }

    /// What goes to a file, and how the name of that ends.
    pub fn file(&self) -> (&str, &'static str) {
        match self {
            Content::Text(text) => (text, "txt"),
            Content::Mixed { json, .. } => (json, "json"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(content: &str) -> Option<Content> {
        Content::of(format!(r#"{{"type":"tool_result","tool_use_id":"toolu_1","content":{content}}}"#).as_bytes())
    }

    #[test]
    fn text_is_kept_as_text_and_the_rest_as_the_client_wrote_it() {
        let text = |text: &str| Some(Content::Text(text.to_owned()));
        assert_eq!(of(r#""a\r\nb""#), text("a\r\nb"));
        assert_eq!(of(r#"[{"type":"text","text":"a"}]"#), text("a"));
        let two = r#"[{"type":"text","text":"a"}, {"type":"text","text":"b"}]"#;
        let several = of(two).expect("may go");
        assert_eq!((several.words(), several.file(), several.is_text()), ("a\nb", (two, "json"), true));
        assert_eq!((of("null"), of("[]")), (text(""), text("")));
        assert_eq!(Content::of(b"{\"type\":\"tool_result\"}"), text(""));
        let json = r#"[ {"text":"a \u0062","type":"text"}, {"type":"image","source":{"data":"iVBO","n":1.0e0}} ]"#;
        let mixed = of(json).expect("may go");
        assert_eq!((mixed.words(), mixed.file(), mixed.is_text()), ("a b", (json, "json"), false));
    }

    #[test]
    fn what_later_messages_refer_to_stays() {
        assert_eq!(of(r#"[{"type":"tool_reference","tool_name":"Later"}]"#), None);
        assert_eq!(of(r#"[{"type":"text","text":"a"},{"type":"browser_state"}]"#), None);
        assert_eq!(of("7"), None);
    }
}
