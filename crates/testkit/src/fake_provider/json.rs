//! JSON in the provider's spelling.
//!
//! Token counts and the number of stream deltas follow from the length of the JSON text, so the spelling is part of the
//! provider's behaviour: compact and unescaped for counting, spaced and ASCII only for the deltas of tool inputs, and
//! floats with Python's exponents in both. Integers beyond 64 bits count as the float they were parsed as.

use serde::Serialize;
use serde_json::ser::Formatter;
use serde_json::{Map, Value};
use std::io;

pub(crate) type Fields = Map<String, Value>;

pub(crate) fn compact(value: &(impl Serialize + ?Sized)) -> String {
    spell(value, Spelling { spaced: false })
}

pub(crate) fn spaced(value: &(impl Serialize + ?Sized)) -> String {
    spell(value, Spelling { spaced: true })
}

/// A token is four bytes of JSON.
pub(crate) fn tokens(json: &str) -> u64 {
    (json.len() as u64 / 4).max(1)
}

/// Whether a value is neither null, false, zero nor empty.
pub(crate) fn is_truthy(value: Option<&Value>) -> bool {
    match value {
        None | Some(Value::Null) => false,
        Some(Value::Bool(flag)) => *flag,
        Some(Value::Number(number)) => number.as_f64() != Some(0.0),
        Some(Value::String(text)) => !text.is_empty(),
        Some(Value::Array(items)) => !items.is_empty(),
        Some(Value::Object(fields)) => !fields.is_empty(),
    }
}

/// The object at `key`, if any.
pub(crate) fn object<'a>(fields: &'a Fields, key: &str) -> Option<&'a Fields> {
    fields.get(key).and_then(Value::as_object)
}

pub(crate) fn text<'a>(fields: &'a Fields, key: &str) -> Option<&'a str> {
    fields.get(key).and_then(Value::as_str)
}

fn spell(value: &(impl Serialize + ?Sized), spelling: Spelling) -> String {
    let mut bytes = Vec::new();
    let mut serializer = serde_json::Serializer::with_formatter(&mut bytes, spelling);
    // Writing a JSON value to memory cannot fail: its keys are strings.
    let _ = value.serialize(&mut serializer);
    String::from_utf8(bytes).unwrap_or_default()
}

struct Spelling {
    spaced: bool,
}

impl Spelling {
    fn comma<W: io::Write + ?Sized>(&self, writer: &mut W, first: bool) -> io::Result<()> {
        match (first, self.spaced) {
            (true, _) => Ok(()),
            (false, true) => writer.write_all(b", "),
            (false, false) => writer.write_all(b","),
        }
    }
}

impl Formatter for Spelling {
    fn begin_array_value<W: io::Write + ?Sized>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        self.comma(writer, first)
    }

    fn begin_object_key<W: io::Write + ?Sized>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        self.comma(writer, first)
    }

    fn begin_object_value<W: io::Write + ?Sized>(&mut self, writer: &mut W) -> io::Result<()> {
        writer.write_all(if self.spaced { b": " } else { b":" })
    }

    fn write_f64<W: io::Write + ?Sized>(&mut self, writer: &mut W, value: f64) -> io::Result<()> {
        writer.write_all(float(value).as_bytes())
    }

    fn write_string_fragment<W: io::Write + ?Sized>(&mut self, writer: &mut W, fragment: &str) -> io::Result<()> {
        if !self.spaced {
            return writer.write_all(fragment.as_bytes());
        }
        for letter in fragment.chars() {
            if matches!(letter, ' '..='~') {
                write!(writer, "{letter}")?;
            } else {
                for unit in letter.encode_utf16(&mut [0; 2]) {
                    write!(writer, "\\u{unit:04x}")?;
                }
            }
        }
        Ok(())
    }
}

/// Shortest digits; an exponent of at least two digits, with its sign, below 1e-4 and from 1e16.
fn float(value: f64) -> String {
    let scientific = format!("{value:e}");
    let Some((digits, exponent)) = scientific.split_once('e') else {
        return scientific;
    };
    let exponent: i32 = exponent.parse().unwrap_or_default();
    if (-4..16).contains(&exponent) {
        format!("{value:?}")
    } else {
        let sign = if exponent < 0 { '-' } else { '+' };
        format!("{digits}e{sign}{:02}", exponent.unsigned_abs())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn counting_spelling_is_compact_and_unescaped() {
        assert_eq!(compact(&json!({"a": [1, 2.0], "é": "ü\n"})), r#"{"a":[1,2.0],"é":"ü\n"}"#);
    }

    #[test]
    fn delta_spelling_is_spaced_ascii() {
        assert_eq!(
            spaced(&json!({"a": [1, true], "b": "é\"😀\u{7f}"})),
            r#"{"a": [1, true], "b": "\u00e9\"\ud83d\ude00\u007f"}"#
        );
    }

    #[test]
    fn floats_get_an_exponent_where_python_gives_them_one() {
        for (value, spelled) in [
            (0.1, "0.1"),
            (100_000.0, "100000.0"),
            (1e15, "1000000000000000.0"),
            (1e16, "1e+16"),
            (1.5e300, "1.5e+300"),
            (0.0001, "0.0001"),
            (0.00001, "1e-05"),
            (-2.5e-7, "-2.5e-07"),
        ] {
            assert_eq!(float(value), spelled);
        }
    }

    #[test]
    fn a_token_is_four_bytes_and_never_none() {
        assert_eq!(tokens("{}"), 1);
        assert_eq!(tokens("12345678"), 2);
        assert_eq!(tokens("éééé"), 2);
    }
}
