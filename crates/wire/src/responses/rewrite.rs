//! Rewrites a client's item by cuts and insertions. Everything else stays byte for byte, except its id, which is
//! removed (R27).

use super::content::{part, shell};
use super::item::Item;
use crate::compose::dialect::KeptBlock;
use crate::compose::spell::end_of_members;
use crate::json::{self, Span};
use ctx_core::content::Content;
use serde_json::{Value, json};

pub(super) struct Rewrite<'e> {
    element: &'e [u8],
    item: &'e Item<'e>,
    edits: Vec<(Span, Vec<u8>)>,
}

impl<'e> Rewrite<'e> {
    pub fn of(element: &'e [u8], item: &'e Item<'e>) -> Rewrite<'e> {
        let edits = item.id_cut().map(|id| (id, Vec::new())).into_iter().collect();
        Rewrite { element, item, edits }
    }

    fn replace(&mut self, span: Span, by: impl Into<Vec<u8>>) {
        self.edits.push((span, by.into()));
    }

    fn set(&mut self, name: &str, value: &str) {
        match self.item.value(name) {
            Some(at) => self.replace(at, value),
            None => {
                let (at, comma) = end_of_members(self.element, &(0..self.element.len()));
                let comma = if comma { "," } else { "" };
                self.replace(at..at, format!("{comma}\"{name}\":{value}"));
            }
        }
    }

    /// The same item as one of another type.
    pub fn retype(&mut self, kind: &str) {
        self.set("type", &Value::from(kind).to_string());
    }

    /// Another text for a result, in the form that the client gave it.
    pub fn output(&mut self, text: &str) {
        let is_list = self.item.elements("output").is_some();
        match self.item.kind.as_ref() {
            "program_output" => self.set("result", &Value::from(text).to_string()),
            "shell_call_output" => self.set("output", &shell(text).to_string()),
            _ if is_list => self.set("output", &json!([{"type": "input_text", "text": text}]).to_string()),
            _ => self.set("output", &Value::from(text).to_string()),
        }
    }

    /// Writes the content of a message: client and synthetic parts, in order.
    pub fn content(&mut self, kept: &[&KeptBlock<'_>], assistant: bool) {
        let Some(value) = self.item.value("content") else { return };
        let Some(own) = self.item.elements("content") else { return self.lone(kept, value, assistant) };
        let is_own = |(at, kept): (usize, &&KeptBlock<'_>)| matches!(kept, KeptBlock::Own(own) if *own == at);
        if kept.len() == own.len() && kept.iter().enumerate().all(is_own) {
            return;
        }
        let written = kept.iter().map(|kept| match kept {
            KeptBlock::Own(at) | KeptBlock::Text(at, _) => {
                own.get(*at).map_or(&[][..], |at| &self.element[at.clone()]).to_vec()
            }
            KeptBlock::Made(content) => part(content, assistant).into_owned().into_bytes(),
        });
        let list = written.collect::<Vec<_>>().join(b",".as_slice());
        self.replace(value, [b"[", list.as_slice(), b"]"].concat());
    }

    /// Writes a content that is a single text. It stays one unless other kinds are added.
    fn lone(&mut self, kept: &[&KeptBlock<'_>], value: Span, assistant: bool) {
        if matches!(kept, [KeptBlock::Own(_)]) {
            return;
        }
        let own = Content::text(json::string_value(self.element, value.clone()).unwrap_or_default());
        let content = kept.iter().map(|kept| if let KeptBlock::Made(content) = kept { *content } else { &own });
        let content: Vec<&Content> = content.collect();
        let texts: Option<Vec<&str>> = content.iter().map(|content| content.as_text()).collect();
        let written = match texts {
            Some(texts) => Value::from(texts.join("\n\n")).to_string(),
            None => {
                let parts: Vec<_> = content.into_iter().map(|content| part(content, assistant)).collect();
                format!("[{}]", parts.join(","))
            }
        };
        self.replace(value, written);
    }

    pub fn done(self) -> Vec<u8> {
        crate::compose::spell::spliced(self.element, self.edits)
    }
}
