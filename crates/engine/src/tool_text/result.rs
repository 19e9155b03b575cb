//! The content of a tool result: its form in a file, and its words.

use ctx_core::Content;
use ctx_wire::Wire;

/// The content of a result that may be cleared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ResultText {
    /// One text.
    Text(String),
    /// More, such as an image: the client's JSON, and the words in it. `is_text`: it consists of several texts.
    Mixed { json: String, words: String, is_text: bool },
}

/// Raw parts that may accompany text in a clearable result. Later messages may refer to any other part.
const KNOWN: [&str; 3] = ["image", "document", "search_result"];

/// The words of a result; `None` if it must not be cleared.
pub fn words(wire: &dyn Wire, content: &Content) -> Option<String> {
    let Content::Result { parts, .. } = content else { return None };
    parts.iter().all(|part| may_go(wire, part)).then(|| joined(parts))
}

fn may_go(wire: &dyn Wire, part: &Content) -> bool {
    match part {
        Content::Text { .. } | Content::Image { .. } | Content::Document { .. } => true,
        Content::Raw { json, .. } => wire.type_name(json).is_some_and(|name| KNOWN.contains(&&*name)),
        Content::Call { .. } | Content::Result { .. } | Content::Reasoning { .. } => false,
    }
}

fn joined(parts: &[Content]) -> String {
    let texts: Vec<&str> = parts.iter().filter_map(Content::as_text).collect();
    texts.join("\n")
}

impl ResultText {
    /// Reads a block with a result; `None` if it must not be cleared. `block`: its bytes.
    pub fn of(wire: &dyn Wire, content: &Content, block: &[u8]) -> Option<ResultText> {
        let words = words(wire, content)?;
        let Content::Result { parts, .. } = content else { return None };
        let is_text = parts.iter().all(|part| part.as_text().is_some());
        match is_text && parts.len() < 2 {
            true => Some(ResultText::Text(words)),
            false => {
                let json = String::from_utf8(wire.result(block).to_vec()).ok()?;
                Some(ResultText::Mixed { json, words, is_text })
            }
        }
    }

    pub fn words(&self) -> &str {
        match self {
            ResultText::Text(words) | ResultText::Mixed { words, .. } => words,
        }
    }

    /// Whether it consists of text only.
    pub fn is_text(&self) -> bool {
        matches!(self, ResultText::Text(_) | ResultText::Mixed { is_text: true, .. })
    }

    /// The content of its file, and the file extension.
    pub fn file(&self) -> (&str, &'static str) {
        match self {
            ResultText::Text(text) => (text, "txt"),
            ResultText::Mixed { json, .. } => (json, "json"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ctx_wire::anthropic::Anthropic;

    fn read(block: &str) -> Option<ResultText> {
        let message = format!(r#"{{"role":"user","content":[{block}]}}"#);
        let contents = Anthropic.contents(message.as_bytes());
        ResultText::of(&Anthropic, contents.first()?, block.as_bytes())
    }

    fn of(content: &str) -> Option<ResultText> {
        read(&format!(r#"{{"type":"tool_result","tool_use_id":"toolu_1","content":{content}}}"#))
    }

    #[test]
    fn text_is_kept_as_text_and_the_rest_as_the_client_wrote_it() {
        let text = |text: &str| Some(ResultText::Text(text.to_owned()));
        assert_eq!(of(r#""a\r\nb""#), text("a\r\nb"));
        assert_eq!(of(r#"[{"type":"text","text":"a"}]"#), text("a"));
        let two = r#"[{"type":"text","text":"a"}, {"type":"text","text":"b"}]"#;
        let several = of(two).expect("may go");
        assert_eq!((several.words(), several.file(), several.is_text()), ("a\nb", (two, "json"), true));
        assert_eq!((of("null"), of("[]")), (text(""), text("")));
        assert_eq!(read(r#"{"type":"tool_result"}"#), text(""));
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
