//! The credentials of one exchange. Gateways repeat a refused key in their errors, so the values in a request are
//! hidden from everything stored about its answer. They stay in memory during the exchange, and no `Debug` prints them.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE, URL_SAFE_NO_PAD};
use ctx_wire::answer::Answer;
use memchr::memmem;
use std::collections::HashSet;
use std::fmt;
use std::ops::Range;

/// Replaces a credential.
const HIDDEN: &str = "[credential]";

/// A run this long that also occurs in a credential is a part of it.
const PART: usize = 6;

/// Shorter values are not credentials, and hiding them would make every error unreadable.
const SHORTEST: usize = 3;

/// A word with the prefix of a provider's keys is a key if it is longer than this.
const LONGEST_PLAIN: usize = 12;

/// The secret values of a request: one allocation, one value per line. (No header value contains a line break.)
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Credentials(Vec<u8>);

impl Credentials {
    pub fn push(&mut self, value: &[u8]) {
        if !value.is_empty() {
            self.0.extend_from_slice(value);
            self.0.push(b'\n');
        }
    }

    /// The text without these credentials, parts of them, or anything that looks like a provider's key.
    pub fn hide(&self, text: &str) -> String {
        let mut is_hidden = vec![false; text.len()];
        let secrets = self.spellings();
        let parts: HashSet<&[u8]> = secrets.iter().flat_map(|secret| secret.windows(PART)).collect();
        for reading in Reading::all(text) {
            let mut mark = |at: usize, length: usize| is_hidden[reading.source(at, length)].fill(true);
            for secret in secrets.iter().filter(|secret| secret.len() < PART) {
                words_equal(&reading.bytes, secret).for_each(|at| mark(at, secret.len()));
            }
            let found = reading.bytes.windows(PART).enumerate().filter(|(_, part)| parts.contains(part));
            found.for_each(|(at, _)| mark(at, PART));
        }
        provider_keys(text).for_each(|(at, length)| is_hidden[at..at + length].fill(true));
        let mut shown = String::with_capacity(text.len());
        let mut was_hidden = false;
        for (at, letter) in text.char_indices() {
            let hidden = is_hidden[at..at + letter.len_utf8()].contains(&true);
            match hidden {
                true if !was_hidden => shown.push_str(HIDDEN),
                true => {}
                false => shown.push(letter),
            }
            was_hidden = hidden;
        }
        shown
    }

    /// Hides them in everything recorded of an answer except the reply, which is the conversation itself.
    pub fn clean(&self, answer: &mut Answer) {
        if let Some(error) = &mut answer.error {
            let texts =
                error.kind.iter_mut().chain(&mut error.code).chain(&mut error.param).chain([&mut error.message]);
            texts.for_each(|text| *text = self.hide(text));
        }
        // Programs compare these names: a model must not lose a syllable that it shares with a cookie.
        let secrets = self.spellings();
        let occurs = |text: &str| {
            let stands_in =
                |secret: &Vec<u8>| Reading::all(text).any(|reading| memmem::find(&reading.bytes, secret).is_some());
            secrets.iter().any(|secret| secret.len() >= PART && stands_in(secret))
        };
        let names = [&mut answer.message_id, &mut answer.model, &mut answer.stop_reason, &mut answer.stop_details];
        let reasons = [&mut answer.cache_miss_reason, &mut answer.undecodable];
        let changes = answer.transformations.iter_mut().flat_map(|change| {
            [Some(&mut change.kind), change.path.as_mut(), change.reason.as_mut()].into_iter().flatten()
        });
        let texts = names.into_iter().chain(reasons).flatten().chain(changes);
        let texts = texts.chain(answer.applied_edits.iter_mut().map(|edit| &mut edit.kind));
        texts.filter(|text| occurs(text)).for_each(|text| *text = self.hide(text));
    }

    /// Each value as received, percent-decoded, and decoded from base64 (`Basic`: name and password); and all of these
    /// in base64, because a gateway may repeat credentials derived from a key. In lower case, like a [`Reading`].
    fn spellings(&self) -> Vec<Vec<u8>> {
        let mut spellings: Vec<Vec<u8>> = Vec::new();
        for value in self.0.split(|byte| *byte == b'\n').filter(|value| value.len() >= SHORTEST) {
            spellings.push(value.to_vec());
            if value.contains(&b'%') {
                spellings.push(percent_decoded(value).0);
            }
            let decoded = STANDARD.decode(value).or_else(|_| URL_SAFE_NO_PAD.decode(value)).ok();
            if let Some(decoded) = decoded.filter(|decoded| std::str::from_utf8(decoded).is_ok()) {
                let parts = decoded.splitn(2, |byte| *byte == b':').map(<[u8]>::to_vec);
                spellings.extend(parts.filter(|part| part.len() >= SHORTEST));
            }
        }
        let encoded: Vec<Vec<u8>> = spellings.iter().flat_map(|secret| in_base64(secret)).collect();
        spellings.extend(encoded);
        spellings.iter_mut().for_each(|secret| secret.make_ascii_lowercase());
        spellings
    }
}

impl fmt::Debug for Credentials {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Credentials(…)")
    }
}

/// A text prepared for the search for secrets: in lower case, and perhaps percent-decoded.
struct Reading {
    bytes: Vec<u8>,
    /// The position of each byte in the text, and the end of the text; `None` if nothing was decoded.
    places: Option<Vec<usize>>,
}

impl Reading {
    /// The text itself, and percent-decoded if that differs.
    fn all(text: &str) -> impl Iterator<Item = Reading> {
        let plain = Reading { bytes: text.as_bytes().to_ascii_lowercase(), places: None };
        let decoded = text.contains('%').then(|| {
            let (mut bytes, places) = percent_decoded(text.as_bytes());
            bytes.make_ascii_lowercase();
            Reading { bytes, places: Some(places) }
        });
        std::iter::once(plain).chain(decoded)
    }

    /// The part of the text that these bytes were read from.
    fn source(&self, at: usize, length: usize) -> Range<usize> {
        match &self.places {
            Some(places) => places[at]..places[at + length],
            None => at..at + length,
        }
    }
}

/// The positions of a short secret as a whole word.
fn words_equal(bytes: &[u8], secret: &[u8]) -> impl Iterator<Item = usize> {
    let is_letter = |at: Option<usize>| at.and_then(|at| bytes.get(at)).is_some_and(u8::is_ascii_alphanumeric);
    memmem::find_iter(bytes, secret)
        .filter(|at| !is_letter(at.checked_sub(1)) && !is_letter(Some(at + secret.len())))
        .collect::<Vec<_>>()
        .into_iter()
}

/// The positions of keys such as `sk-ant-…`, even glued to other text: `key=sk-…`, `https://u:sk-…@host`; but not words
/// that merely end in "sk-" (`task-list-of-today`).
fn provider_keys(text: &str) -> impl Iterator<Item = (usize, usize)> {
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    let bytes = text.as_bytes();
    memmem::find_iter(bytes, "sk-").filter_map(move |at| {
        let rest = bytes.get(at..).unwrap_or_default();
        let length = rest.iter().take_while(|byte| is_part(byte)).count();
        let inside_a_word = at.checked_sub(1).and_then(|at| bytes.get(at)).is_some_and(u8::is_ascii_alphanumeric);
        let is_key = length > LONGEST_PLAIN && (!inside_a_word || rest.starts_with(b"sk-ant-"));
        is_key.then_some((at, length))
    })
}

/// The base64 forms of a secret, alone or behind a name (`name:secret`): base64 encodes three bytes at a time, so the
/// letters depend on the secret's offset. Letters that also encode the text before it are omitted.
fn in_base64(secret: &[u8]) -> Vec<Vec<u8>> {
    let mut forms = Vec::new();
    for ahead in 0..3 {
        let text = [&[0; 2][..ahead], secret].concat();
        let shared = (ahead * 8).div_ceil(6);
        for form in [STANDARD.encode(&text), URL_SAFE.encode(&text)] {
            let own = form.as_bytes().get(shared..).unwrap_or_default();
            if own.len() >= PART && forms.last().is_none_or(|last| last != own) {
                forms.push(own.to_vec());
            }
        }
    }
    forms
}

/// The bytes, the position of each, and the end.
fn percent_decoded(value: &[u8]) -> (Vec<u8>, Vec<usize>) {
    let (mut decoded, mut places) = (Vec::with_capacity(value.len()), Vec::with_capacity(value.len() + 1));
    let mut at = 0;
    while let Some(first) = value.get(at) {
        let digits = value.get(at + 1..at + 3).filter(|_| *first == b'%');
        let byte = digits.and_then(|digits| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok());
        decoded.push(byte.unwrap_or(*first));
        places.push(at);
        at += if byte.is_some() { 3 } else { 1 };
    }
    places.push(at);
    (decoded, places)
}

/// A provider's message, shortened for people. Some gateways repeat keys other than the client's own, which the
/// recorder has already hidden.
pub fn quoted(message: &str) -> String {
    const MOST: usize = 2000;
    let cut: String = message.chars().take(MOST).collect();
    Credentials::default().hide(&cut)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ctx_wire::answer::Ending;

    fn of(values: &[&str]) -> Credentials {
        let mut credentials = Credentials::default();
        values.iter().for_each(|value| credentials.push(value.as_bytes()));
        credentials
    }

    #[test]
    fn a_key_of_any_shape_is_hidden_wherever_it_stands() {
        for key in ["MARKKEY1abcdefghijkl", "eyJhbGciOi.eyJzdWIiOiIx.c2lnbmF0dXJl", "a+b/c0ffee==", "key.with.dots"] {
            for text in ["bad key: KEY", "{\"x-api-key\":\"KEY\"}", "https://u:KEY@host/", "Bearer:KEY,bad", "KEYKEY"] {
                let hidden = of(&["other-secret", key]).hide(&text.replace("KEY", key));
                assert_eq!(hidden, text.replace("KEYKEY", "KEY").replace("KEY", HIDDEN));
            }
        }
    }

    #[test]
    fn a_part_of_a_key_is_hidden_too_and_the_rest_of_the_sentence_stays() {
        let key = of(&["MARKKEY1abcdefghijkl"]);
        assert_eq!(key.hide("MARKKEY1a… is not valid"), "[credential]… is not valid");
        assert_eq!(key.hide("…fghijkl: messages.1 is bad"), "…[credential]: messages.1 is bad");
        assert_eq!(key.hide("schlüssel MARKKEY1abcdefghijklß"), "schlüssel [credential]ß");
    }

    #[test]
    fn both_halves_of_basic_credentials_and_encoded_parameters_are_hidden() {
        // "someone:pa55" in base64.
        let basic = of(&["c29tZW9uZTpwYTU1"]);
        assert_eq!(basic.hide("user someone, password pa55, c29tZW9uZTpwYTU1"), {
            "user [credential], password [credential], [credential]"
        });
        assert_eq!(of(&["hush%2Bhush%2F1"]).hide("key hush+hush/1"), "key [credential]");
    }

    #[test]
    fn a_key_in_base64_is_hidden_wherever_it_begins() {
        for key in ["MARKKEY1abcdefghijkl", "hush?hush>hush", "pa55wrd"] {
            for name in ["", "u:", "me:", "you:", "someone@example.com:"] {
                for form in [STANDARD.encode(format!("{name}{key}")), URL_SAFE_NO_PAD.encode(format!("{name}{key}"))] {
                    let hidden = of(&[key]).hide(&format!("bad credentials <{form}>"));
                    let shown = hidden.replace(HIDDEN, "");
                    let told = shown.trim_start_matches("bad credentials <").trim_end_matches('>');
                    // Of the letters that a name shares with the key, at most one holds bits of the key.
                    let names = (name.len() * 8).div_ceil(6);
                    assert!(hidden.contains(HIDDEN) && told.len() <= names, "{key} {form}: {hidden}");
                    assert!(form.starts_with(told), "{key} {form}: {hidden}");
                }
            }
        }
        // "someone:pa55wrd1" came as `Basic`; a gateway repeats only the password, in base64.
        let basic = of(&["c29tZW9uZTpwYTU1d3JkMQ=="]);
        assert_eq!(basic.hide(&format!("key {} is bad", STANDARD.encode("pa55wrd1"))), "key [credential] is bad");
    }

    #[test]
    fn a_key_is_hidden_in_other_letters_and_percent_encoded_by_any_program() {
        let key = "MBRK+base/64==abcdefgh";
        let encoded = "MBRK%2Bbase%2F64%3D%3Dabcdefgh";
        for form in [encoded, &encoded.to_lowercase(), &encoded.replace("%2F", "/"), &key.to_uppercase()] {
            assert_eq!(of(&[key]).hide(&format!("100% of {form} is bad")), "100% of [credential] is bad");
        }
        assert_eq!(of(&["a%41b%zz-hush"]).hide("key a%41b%zz-hush, aAb%zz-hush"), "key [credential], [credential]");
        let encoded = STANDARD.encode("me:hush?hush>hush!").replace('/', "%2f").replace('=', "%3D");
        let hidden = of(&["hush?hush>hush!"]).hide(&encoded);
        assert!(hidden.contains(HIDDEN) && hidden.replace(HIDDEN, "").len() <= 4, "{hidden}");
    }

    #[test]
    fn short_values_are_hidden_only_as_words_of_their_own() {
        assert_eq!(of(&["abc"]).hide("abc is no key, abcd may be"), "[credential] is no key, abcd may be");
        assert_eq!(of(&["1"]).hide("messages.1: bad"), "messages.1: bad");
    }

    #[test]
    fn keys_of_the_provider_are_hidden_inside_of_words_whose_ever_they_are() {
        let none = Credentials::default();
        for text in ["x-api-key:KEY", "key=KEY", "{\"k\":\"KEY\"}", "https://u:KEY@host/", "%3DKEY", "'KEY'."] {
            let told = none.hide(&text.replace("KEY", "sk-ant-api03-hush-hush"));
            assert_eq!(told, text.replace("KEY", HIDDEN));
        }
        for plain in ["task-list-of-today is missing", "sk-1 is short", "messages.1: bad\n  role"] {
            assert_eq!(none.hide(plain), plain);
        }
    }

    #[test]
    fn an_answer_is_cleaned_but_its_model_keeps_its_name() {
        let mut tap = ctx_wire::wire(ctx_wire::WireId::Anthropic).tap(401, Some("application/json"), None);
        tap.feed(br#"{"model":"claude-x","error":{"type":"bad-MARKKEY1","message":"no MARKKEY1"}}"#);
        let mut answer = tap.finish(Ending::Complete);
        of(&["MARKKEY1", "claude-session-1"]).clean(&mut answer);
        assert_eq!(answer.model.as_deref(), Some("claude-x"));
        let error = answer.error.expect("an error");
        assert_eq!((error.kind.as_deref(), error.message.as_str()), (Some("bad-[credential]"), "no [credential]"));
    }

    #[test]
    fn credentials_print_nothing() {
        assert_eq!(format!("{:?}", of(&["hush"])), "Credentials(…)");
    }

    #[test]
    fn the_providers_words_are_kept_but_no_key_and_no_book() {
        assert_eq!(quoted("messages.1: bad\n  role"), "messages.1: bad\n  role");
        assert!(!quoted("Incorrect API key provided: 'sk-ant-api03-hush-hush'.").contains("hush"));
        assert_eq!(quoted(&"x".repeat(100_000)).len(), 2000);
    }
}
