//! Signatures of thinking blocks. Each contains a keyed hash of the thinking text, the prefix of the block, its own
//! name and the name of the thinking block before it, so that altered thinking and altered prefixes are detected.

use base64::Engine;
use base64::alphabet;
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig, STANDARD};

const CONTEXT: &str = "testkit fake provider thinking signature";

/// The name for "no thinking before".
pub(crate) const NONE: &str = "-";

/// The content of a signature of ours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Signature {
    pub(crate) text_hash: String,
    pub(crate) prefix: String,
    pub(crate) name: String,
    pub(crate) before: String,
}

pub(crate) fn sign(text: &str, prefix: &str, name: &str, before: &str) -> String {
    let hash = text_hash(text);
    STANDARD.encode(format!("fake:{hash}:{prefix}:{name}:{before}"))
}

impl Signature {
    /// `None` if it is not ours.
    pub(crate) fn read(signature: &str) -> Option<Self> {
        let plain = String::from_utf8(decode(signature)?).ok()?;
        let parts: Vec<&str> = plain.split(':').collect();
        let ["fake", text_hash, prefix, name, before] = parts[..] else {
            return None;
        };
        Some(Self {
            text_hash: text_hash.to_owned(),
            prefix: prefix.to_owned(),
            name: name.to_owned(),
            before: before.to_owned(),
        })
    }

    pub(crate) fn is_of(&self, text: &str) -> bool {
        self.text_hash == text_hash(text)
    }
}

/// Sixteen hexadecimal digits of a hash.
pub(crate) fn short(hash: &blake3::Hash) -> String {
    hash.to_hex().chars().take(16).collect()
}

fn text_hash(text: &str) -> String {
    let key = blake3::derive_key(CONTEXT, b"");
    short(&blake3::keyed_hash(&key, text.as_bytes()))
}

/// Base64 as lenient as the provider: invalid letters are skipped, data after the padding are ignored, missing padding
/// is an error.
fn decode(signature: &str) -> Option<Vec<u8>> {
    const LENIENT: GeneralPurpose = GeneralPurpose::new(
        &alphabet::STANDARD,
        GeneralPurposeConfig::new()
            .with_decode_allow_trailing_bits(true)
            .with_decode_padding_mode(DecodePaddingMode::Indifferent),
    );
    if !signature.is_ascii() {
        return None;
    }
    let mut data = String::new();
    let mut padding = 0;
    for letter in signature.chars() {
        match letter {
            'A'..='Z' | 'a'..='z' | '0'..='9' | '+' | '/' => {
                data.push(letter);
                padding = 0;
            }
            // Padding counts only where a group of four can end with it.
            '=' if data.len() % 4 >= 2 => {
                padding += 1;
                if data.len() % 4 + padding == 4 {
                    break;
                }
            }
            _ => {}
        }
    }
    let odd = data.len() % 4;
    if odd != 0 && odd + padding != 4 {
        return None;
    }
    LENIENT.decode(data).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_says_what_was_signed() {
        let signature = sign("thought", "0123456789abcdef", "name", NONE);
        let read = Signature::read(&signature).expect("ours");
        assert!(read.is_of("thought"));
        assert!(!read.is_of("thought "));
        assert_eq!((&*read.prefix, &*read.name, &*read.before), ("0123456789abcdef", "name", NONE));
    }

    #[test]
    fn foreign_signatures_are_not_read() {
        for foreign in ["", "é", "Zm9v", "=", "A", "not base64 at all", "ZmFrZTphOmI6Yw=="] {
            assert_eq!(Signature::read(foreign), None, "{foreign}");
        }
    }

    #[test]
    fn letters_that_do_not_belong_are_skipped_and_missing_padding_is_not_forgiven() {
        let signature = sign("thought", "p", "n", NONE);
        let spaced = signature.replacen('Z', "Z !\n", 1);
        assert!(Signature::read(&spaced).is_some());
        let padded = sign("thought", "pq", "n", NONE);
        assert!(padded.ends_with('='));
        assert!(Signature::read(&format!("{padded}more")).is_some());
        assert_eq!(Signature::read(padded.trim_end_matches('=')), None);
    }
}
