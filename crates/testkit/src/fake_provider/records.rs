//! The requests and answers of the provider: in memory for tests in this process, as files for others.

use super::Options;
use crate::http1::{Headers, header};
use bytes::Bytes;
use serde_json::{Value, json};
use std::io::{self, Read};
use std::path::Path;

/// The end of an exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The whole answer was sent.
    Complete,
    /// A directive dropped the connection.
    Cut,
    /// The client closed the connection before the end of the answer.
    ClientGone,
}

#[derive(Debug, Clone)]
pub struct RequestRecord {
    /// Counted from 1, not reset.
    pub number: u64,
    /// Seconds since the provider started.
    pub seconds: f64,
    /// Counted from 1 in the order of opening.
    pub connection: u64,
    pub nth_on_connection: u64,
    pub version: String,
    pub method: String,
    pub target: String,
    /// In the original order and case.
    pub headers: Headers,
    pub body_bytes: usize,
    /// The exact body, still compressed if it was; without chunk framing.
    pub body: Bytes,
    /// Status and message or error, as soon as they are decided.
    pub answer: Option<Value>,
    /// `None` while the answer is being sent.
    pub outcome: Option<Outcome>,
}

impl RequestRecord {
    pub fn header(&self, name: &str) -> Option<&str> {
        header(&self.headers, name)
    }

    /// The path without its query.
    pub fn path(&self) -> &str {
        self.target.split('?').next().unwrap_or_default()
    }

    /// The body as JSON, if it is.
    pub fn json(&self) -> Option<Value> {
        let plain = decoded(&self.headers, &self.body).ok()?;
        serde_json::from_slice(&plain).ok()
    }

    pub(crate) fn summary(&self) -> Value {
        json!({
            "n": self.number, "t": self.seconds, "conn": self.connection,
            "method": self.method, "target": self.target, "body_bytes": self.body_bytes,
        })
    }

    pub(crate) fn whole(&self) -> Value {
        let body = self.json();
        let mut whole = json!({
            "n": self.number, "t": self.seconds, "conn": self.connection,
            "nth_on_conn": self.nth_on_connection, "http": self.version,
            "method": self.method, "target": self.target, "headers": self.headers,
            "body_bytes": self.body_bytes, "body": body,
        });
        if let Some(fields) = whole.as_object_mut() {
            if body.is_none() && !self.body.is_empty() {
                let text = String::from_utf8_lossy(&self.body).into_owned();
                fields.insert("body_text".into(), text.into());
            }
            if let Some(answer) = &self.answer {
                fields.insert("answer".into(), answer.clone());
            }
        }
        whole
    }

    /// Writes the request to the folder of the options, if any.
    pub(crate) fn save(&self, options: &Options) {
        let Some(folder) = &options.record else {
            return;
        };
        let stem = format!("{:04}_{}_{}", self.number, self.method, slug(self.path()));
        report(write_whole(folder, &format!("{stem}.json"), &self.whole()));
        if options.record_raw && !self.body.is_empty() {
            report(std::fs::write(folder.join(format!("{stem}.raw")), &self.body));
        }
    }

    pub(crate) fn save_answer(&self, options: &Options) {
        if let (Some(folder), Some(answer)) = (&options.record, &self.answer) {
            let name = format!("{:04}_answer.json", self.number);
            report(write_whole(folder, &name, answer));
        }
    }
}

/// The body without its content coding.
pub(crate) fn decoded(headers: &[(String, String)], body: &Bytes) -> io::Result<Bytes> {
    let mut plain = Vec::new();
    match header(headers, "content-encoding") {
        Some("gzip") => flate2::read::GzDecoder::new(&body[..]).read_to_end(&mut plain)?,
        Some("deflate") => flate2::read::ZlibDecoder::new(&body[..]).read_to_end(&mut plain)?,
        _ => return Ok(body.clone()),
    };
    Ok(plain.into())
}

/// Readers of the folder never see a partial file.
fn write_whole(folder: &Path, name: &str, value: &Value) -> io::Result<()> {
    let mut bytes = Vec::new();
    let indented = serde_json::ser::PrettyFormatter::with_indent(b" ");
    let mut serializer = serde_json::Serializer::with_formatter(&mut bytes, indented);
    serde::Serialize::serialize(value, &mut serializer)?;
    let unfinished = folder.join(format!("{name}.tmp"));
    std::fs::write(&unfinished, bytes)?;
    std::fs::rename(unfinished, folder.join(name))
}

/// A failed recording, such as on a full disk, does not stop the answers.
fn report(written: io::Result<()>) {
    if let Err(error) = written {
        eprintln!("fake provider: a request was not recorded: {error}");
    }
}

fn slug(path: &str) -> String {
    let words: Vec<&str> =
        path.split(|letter: char| !letter.is_ascii_alphanumeric()).filter(|word| !word.is_empty()).collect();
    match words.is_empty() {
        true => "root".to_owned(),
        false => words.join("_"),
    }
}
