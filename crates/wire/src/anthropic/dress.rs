//! The same message in other clothes.
//!
//! A client moves its cache marks from turn to turn and writes a lone text now as a string, now as
//! a list. The *bare* message is without all that, so it is stored once; its [`Dress`] gives the
//! exact bytes back. Dressing only ever inserts, so it is exact by construction.

use crate::json::Span;

/// What to insert into a bare message, in order: `(offset in the bare message, bytes)`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Hash)]
pub struct Dress(pub Vec<(u32, Box<[u8]>)>);

/// Cuts `cuts` (in order, apart from each other) out of a message.
pub fn undress(message: &[u8], cuts: &[Span]) -> (Vec<u8>, Dress) {
    let mut bare = Vec::with_capacity(message.len());
    let mut dress = Vec::with_capacity(cuts.len());
    let mut at = 0;
    for cut in cuts {
        let (Some(kept), Some(gone)) = (message.get(at..cut.start), message.get(cut.clone())) else { continue };
        bare.extend_from_slice(kept);
        dress.push((bare.len() as u32, gone.into()));
        at = cut.end;
    }
    bare.extend_from_slice(message.get(at..).unwrap_or_default());
    (bare, Dress(dress))
}

/// The exact message again; `None` if the dress was made for another one.
pub fn dress(bare: &[u8], dress: &Dress) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(bare.len() + dress.0.iter().map(|(_, bytes)| bytes.len()).sum::<usize>());
    let mut at = 0;
    for (offset, bytes) in &dress.0 {
        out.extend_from_slice(bare.get(at..*offset as usize)?);
        out.extend_from_slice(bytes);
        at = *offset as usize;
    }
    out.extend_from_slice(bare.get(at..)?);
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::super::message;
    use super::*;

    fn bare(text: &str) -> String {
        let (bare, worn) = undress(text.as_bytes(), &message::read(text.as_bytes()).cuts);
        assert_eq!(dress(&bare, &worn).unwrap(), text.as_bytes());
        String::from_utf8(bare).unwrap()
    }

    #[test]
    fn marks_and_the_list_around_a_lone_text_come_off_and_go_on_again() {
        let plain = r#"{"role":"user","content":"hi \" there"}"#;
        assert_eq!(bare(plain), plain);
        assert_eq!(bare(r#"{"role":"user","content":[{"type":"text","text":"hi \" there"}]}"#), plain);
        assert_eq!(
            bare(
                r#"{"role":"user","content":[ {"cache_control":{"type":"ephemeral"}, "type":"text", "text":"hi \" there"} ]}"#
            ),
            plain
        );
        assert_eq!(
            bare(
                r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","cache_control":{"type":"ephemeral","ttl":"1h"},"content":"x"}]}"#
            ),
            r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"x"}]}"#
        );
    }

    #[test]
    fn what_is_not_a_mark_stays() {
        for text in [
            r#"{"role":"user","content":[{"type":"text","text":"a","citations":[]}]}"#,
            r#"{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"\"cache_control\":1"}]}"#,
            r#"{"role":"user","content":[{"type":"text","text":7}]}"#,
            "7",
        ] {
            assert_eq!(bare(text), text);
        }
    }
}
