//! The authors of imported records. A file can claim anything: in a team no record of it speaks for anyone but the person
//! who imports it.

use ctx_engine::conversation::policy;
use ctx_engine::helper::phases;
use ctx_engine::log;
use ctx_store::NewRecord;
use serde_json::value::{RawValue, to_raw_value};
use std::collections::BTreeMap;

/// The fields of an object, whose values stay byte for byte.
type Fields = BTreeMap<String, Box<RawValue>>;

/// Authors that are no people.
const DAEMON: [&str; 3] = [policy::AUTHOR, phases::AUTHOR, "fork"];
const AUTHOR: &str = "author";
const NOTE: &str = "note";
/// Characters of an author that are kept as a note.
const LONGEST: usize = 64;

/// Whether a record says who opened or shared the conversation. That is about another daemon.
pub(super) fn is_access(record: &NewRecord) -> bool {
    let fields = || serde_json::from_slice::<Fields>(&record.body).ok();
    record.kind == log::AUTOMATIC && fields().is_some_and(|fields| fields.contains_key("access"))
}

/// Makes the importer the author of a record, and notes the author that it names.
pub(super) fn sign(record: &mut NewRecord, importer: &str) {
    let signed = match record.kind.as_str() {
        log::COMMIT => signed(&record.body, importer, true),
        log::WAIT | log::AUTOMATIC => signed_inside(&record.body, importer),
        _ => None,
    };
    if let Some(body) = signed {
        record.body = body;
    }
}

/// Records of these kinds have one field, named after what happened.
fn signed_inside(body: &[u8], importer: &str) -> Option<Vec<u8>> {
    let mut fields: Fields = serde_json::from_slice(body).ok()?;
    let (name, event) = fields.pop_first().filter(|_| fields.is_empty())?;
    let event = signed(event.get().as_bytes(), importer, name == "wished")?;
    fields.insert(name, RawValue::from_string(String::from_utf8(event).ok()?).ok()?);
    serde_json::to_vec(&fields).ok()
}

/// `None` if it names no other author.
fn signed(body: &[u8], importer: &str, has_note: bool) -> Option<Vec<u8>> {
    let mut fields: Fields = serde_json::from_slice(body).ok()?;
    let author: String = serde_json::from_str(fields.get(AUTHOR)?.get()).ok()?;
    let is_own = author.strip_prefix(importer).is_some_and(|rest| rest.is_empty() || rest == AGENT);
    if is_own || DAEMON.contains(&author.as_str()) {
        return None;
    }
    fields.insert(AUTHOR.to_owned(), to_raw_value(importer).ok()?);
    if has_note {
        let note = fields.get(NOTE).and_then(|note| serde_json::from_str::<Option<String>>(note.get()).ok()?);
        let author: String = author.chars().take(LONGEST).collect();
        let words = [Some(format!("imported, written by {author}")), note].into_iter().flatten();
        fields.insert(NOTE.to_owned(), to_raw_value(&words.collect::<Vec<_>>().join("; ")).ok()?);
    }
    serde_json::to_vec(&fields).ok()
}

/// Behind the name of a person whose agent edited.
const AGENT: &str = " (agent)";

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn record(kind: &str, body: &Value) -> NewRecord {
        NewRecord {
            conversation: "c1".into(),
            at: 1,
            kind: kind.into(),
            version: log::VERSION,
            uses: Vec::new(),
            body: body.to_string().into_bytes(),
        }
    }

    fn signed(kind: &str, body: &Value) -> Value {
        let mut record = record(kind, body);
        sign(&mut record, "anna");
        serde_json::from_slice(&record.body).expect("JSON")
    }

    #[test]
    fn a_record_names_its_importer_and_notes_the_author_that_it_claims() {
        let of = |author: &str, note: Value| json!({"id": "98fc616501", "author": author, "note": note, "big": 1e300});
        for (author, note, told) in [
            ("bob", json!(null), "imported, written by bob"),
            ("anna2", json!("why"), "imported, written by anna2; why"),
            ("cli", json!(null), "imported, written by cli"),
        ] {
            assert_eq!(signed(log::COMMIT, &of(author, note.clone())), of("anna", json!(told)), "{author}");
            let wished = signed(log::WAIT, &json!({"wished": of(author, note)}));
            assert_eq!(wished, json!({"wished": of("anna", json!(told))}), "{author}");
        }
        for author in ["anna", "anna (agent)", "policy", "helper", "fork"] {
            assert_eq!(signed(log::COMMIT, &of(author, json!(null))), of(author, json!(null)), "{author}");
        }
        let cancelled = |author: &str| json!({"cancelled": {"id": "w1", "author": author}});
        assert_eq!(signed(log::WAIT, &cancelled("bob")), cancelled("anna"));
        let began = |author: &str| json!({"phase_began": {"name": "x", "author": author}});
        assert_eq!(signed(log::AUTOMATIC, &began("bob")), began("anna"));
    }

    #[test]
    fn a_record_without_an_author_stays_byte_for_byte() {
        for (kind, body) in [
            (log::ARRIVED, json!({"author": "bob"})),
            (log::WAIT, json!({"made": {"id": "w1", "commit": "98fc616501"}})),
            (log::COMMIT, json!([1])),
        ] {
            let before = record(kind, &body);
            let mut after = before.clone();
            sign(&mut after, "anna");
            assert_eq!(after, before);
        }
    }

    #[test]
    fn an_entry_about_access_is_known() {
        let access = json!({"access": {"action": "opened", "by": "eve", "reason": "none"}});
        assert!(is_access(&record(log::AUTOMATIC, &access)));
        assert!(!is_access(&record(log::AUTOMATIC, &json!({"kept": {"calls": []}}))));
        assert!(!is_access(&record(log::COMMIT, &access)));
    }
}
