//! Separates a message from its spelling.
//!
//! A client moves its cache breakpoints from turn to turn and writes a lone text now as a string, now as a list. The
//! *bare* message lacks both, so it is stored once; its [`Dress`] restores the exact bytes. Dressing only inserts, so
//! it is exact by construction.

use crate::json::Span;

/// The insertions into a bare message, in order: `(offset in the bare message, bytes)`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Hash)]
pub struct Dress(pub Vec<(u32, Box<[u8]>)>);

/// Cuts `cuts` (sorted, disjoint) out of a message.
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

/// Restores the exact message; `None` if the dress belongs to another one.
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
    use super::*;
    use crate::Wire;
    use crate::anthropic::{Anthropic, message};
    use proptest::collection::vec;
    use proptest::prelude::*;

    fn bare(text: &str) -> String {
        let (bare, worn) = undress(text.as_bytes(), &message::read(text.as_bytes(), ctx_clients::lexicon()).cuts);
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

    /// Valid and invalid parts of messages.
    fn soup() -> impl Strategy<Value = Vec<u8>> {
        const TOKENS: [&[u8]; 22] = [
            b"{",
            b"}",
            b"[",
            b"]",
            b",",
            b":",
            b" ",
            b"\n",
            b"\"role\":\"user\"",
            b"\"content\"",
            b"\"type\":\"text\"",
            b"\"text\":\"a\\u00e9\\ud800\"",
            b"\"cache_control\":{\"type\":\"ephemeral\"}",
            b"\"cache_\\u0063ontrol\" : null",
            b"\"type\":\"tool_result\"",
            b"\"tool_use_id\":\"t\"",
            b"\"signature\":\"\xFF\xC3\"",
            b"12345678901234567890123",
            b"1e400",
            b"\"",
            b"\\",
            b"\xFF",
        ];
        vec(prop::sample::select(TOKENS.to_vec()), 0..40).prop_map(|tokens| tokens.concat())
    }

    /// A message with blocks whose members come in any order, some twice, with unusual white space.
    fn spelled() -> impl Strategy<Value = Vec<u8>> {
        let member = prop::sample::select(vec![
            r#""type":"text""#,
            r#""text" : "a \ud83d""#,
            r#""text":7"#,
            r#""cache_control":{"type":"ephemeral"}"#,
            r#""cache_control" :null"#,
            r#""type":"tool_use","id":"t","input":{"a":[{}]}"#,
            r#""extra":1e400"#,
        ]);
        let space = prop::sample::select(vec!["", " ", "\n\t"]);
        let block = (vec(member, 0..5), space.clone())
            .prop_map(|(members, space)| format!("{{{space}{}{space}}}", members.join(&format!("{space},{space}"))));
        (vec(block, 0..4), space).prop_map(|(blocks, space)| {
            let list = blocks.join(&format!(",{space}"));
            format!(r#"{space}{{{space}"role":"user",{space}"content"{space}:[{space}{list}{space}]}}"#).into_bytes()
        })
    }

    proptest! {
        #[test]
        fn what_is_undressed_can_be_dressed_again(message in prop_oneof![soup(), spelled()], spans in vec((0..200usize, 0..9usize), 0..5)) {
            let read = message::read(&message, ctx_clients::lexicon());
            // The displayed content has the same blocks.
            prop_assert_eq!(Anthropic.contents(&message).len(), read.facts.blocks.len());
            let (bare, worn) = undress(&message, &read.cuts);
            prop_assert_eq!(dress(&bare, &worn), Some(message.clone()));
            // The bare message is the same message. (Of two breakpoints on one block only one is removed.)
            let again = message::read(&bare, ctx_clients::lexicon());
            if !again.marked {
                prop_assert_eq!(&again.facts.key, &read.facts.key);
            }
            // Arbitrary cuts can be removed and restored as well.
            let mut at = 0;
            let cuts: Vec<Span> = spans.into_iter().map(|(skip, length)| { let from = at + skip; at = from + length; from..at }).collect();
            let (bare, worn) = undress(&message, &cuts);
            prop_assert_eq!(dress(&bare, &worn), Some(message));
        }

        #[test]
        fn a_dress_made_for_another_message_never_panics(bare in vec(any::<u8>(), 0..20), offsets in vec(0..40u32, 0..4)) {
            let worn = Dress(offsets.into_iter().map(|at| (at, vec![b'x'].into())).collect());
            let _ = dress(&bare, &worn);
        }
    }
}
