//! A request in short, for people: how much it holds, and its settings.

use crate::body::Body;
use crate::registry::WIRES;
use ctx_core::Lexicon;

/// Settings that people look for, on any wire.
const SETTINGS: [&str; 9] = [
    "model",
    "max_tokens",
    "max_output_tokens",
    "stream",
    "thinking",
    "reasoning",
    "output_config",
    "generationConfig",
    "context_management",
];

/// The content of a request.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Outline {
    pub messages: usize,
    /// Blocks of the system prompt.
    pub system: usize,
    pub tools: usize,
    /// Name and JSON of each setting.
    pub settings: Vec<(&'static str, String)>,
}

/// The outline of a body of any wire; empty if no wire can read it.
pub fn outline(bytes: &[u8]) -> Outline {
    let read = WIRES.iter().rev().filter_map(|wire| Body::parse(bytes.to_vec(), *wire).ok());
    // Two wires have a list of the same name; only one of them begins it with the system prompt.
    let Some(body) = read.max_by_key(|body| body.spans().lead.len()) else { return Outline::default() };
    let envelope = body.envelope(&Lexicon(&[]));
    let setting = |name: &'static str| {
        let (_, value) = body.spans().member(bytes, name)?;
        Some((name, String::from_utf8_lossy(value).into_owned())).filter(|(_, value)| value != "null")
    };
    Outline {
        messages: body.spans().messages.len(),
        system: envelope.system.len(),
        tools: envelope.tools.map_or(0, |tools| tools.len()),
        settings: SETTINGS.into_iter().filter_map(setting).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_wire_is_outlined() {
        for (body, parts, settings) in [
            (
                r#"{"model":"m","max_tokens":9,"stream":null,"system":"Hi.","tools":[{"name":"a"}],"messages":[{"role":"user","content":"x"}]}"#,
                (1, 1, 1),
                vec![("model", "\"m\""), ("max_tokens", "9")],
            ),
            (
                r#"{"model":"m","messages":[{"role":"system","content":"Hi."},{"role":"user","content":"x"}]}"#,
                (1, 1, 0),
                vec![("model", "\"m\"")],
            ),
            (
                r#"{"model":"m","instructions":"Hi.","input":[{"role":"user","content":"x"},{"role":"user","content":"y"}]}"#,
                (2, 1, 0),
                vec![("model", "\"m\"")],
            ),
            (
                r#"{"systemInstruction":{"parts":[{"text":"Hi."}]},"contents":[{"role":"user","parts":[{"text":"x"}]}]}"#,
                (1, 1, 0),
                vec![],
            ),
        ] {
            let outline = outline(body.as_bytes());
            assert_eq!((outline.messages, outline.system, outline.tools), parts, "{body}");
            let shown: Vec<(&str, &str)> =
                outline.settings.iter().map(|(name, value)| (*name, value.as_str())).collect();
            assert_eq!(shown, settings, "{body}");
        }
        assert_eq!(outline(b"\xff\xfe"), Outline::default());
    }
}
