//! The stored envelope of a request: all bytes around the messages.
//!
//! It is cut into pieces, so that changing one small setting every turn does not store the tools and the system prompt
//! again. Credentials in a client's body (of servers that the provider should call) are cut out and never stored.

use ctx_store::Hash;
use ctx_wire::body::{Body, Spans};
use ctx_wire::json::Span;
use serde::{Deserialize, Serialize};

/// The size from which a value is stored as a separate blob.
const LARGE: usize = 1024;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
enum Piece {
    #[serde(rename = "text")]
    Text(String),
    #[serde(rename = "blob")]
    Blob(String),
    #[serde(rename = "messages")]
    Messages,
    /// A value that was a credential.
    #[serde(rename = "secret")]
    Secret,
}

/// Replaces a credential.
const NOT_STORED: &[u8] = b"\"(not stored)\"";

/// An envelope ready to be stored: its own bytes, then the blobs that it names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackedEnvelope {
    pub blobs: Vec<(Hash, Vec<u8>)>,
}

impl PackedEnvelope {
    pub fn hash(&self) -> Hash {
        self.blobs[0].0
    }
}

/// Cuts the envelope of a request into pieces.
pub fn pack(body: &Body) -> PackedEnvelope {
    let (bytes, spans) = (body.bytes(), body.spans());
    let (head, tail) = spans.envelope();
    let secrets = body.wire().secrets(bytes, spans);
    let mut packer = Packer { bytes, spans, secrets, pieces: Vec::new(), blobs: Vec::new() };
    packer.range(0, head.end);
    packer.pieces.push(Piece::Messages);
    packer.range(tail.start, bytes.len());
    let own = serde_json::to_vec(&packer.pieces).unwrap_or_default();
    packer.blobs.insert(0, (Hash::of(&own), own));
    PackedEnvelope { blobs: packer.blobs }
}

struct Packer<'a> {
    bytes: &'a [u8],
    spans: &'a Spans,
    secrets: Vec<Span>,
    pieces: Vec<Piece>,
    blobs: Vec<(Hash, Vec<u8>)>,
}

impl Packer<'_> {
    fn range(&mut self, mut at: usize, end: usize) {
        for member in &self.spans.members {
            let value = member.value.clone();
            let inside = value.start >= at && value.end <= end && value.start != self.spans.array.start;
            let is_in = |secret: &&Span| value.start <= secret.start && secret.end <= value.end;
            let secrets: Vec<Span> = self.secrets.iter().filter(is_in).cloned().collect();
            if inside && !secrets.is_empty() {
                for secret in secrets {
                    self.text(at, secret.start);
                    self.pieces.push(Piece::Secret);
                    at = secret.end;
                }
            } else if inside && value.len() >= LARGE {
                self.text(at, value.start);
                self.blob(value.start, value.end);
                at = value.end;
            }
        }
        self.text(at, end);
    }

    fn text(&mut self, from: usize, to: usize) {
        match std::str::from_utf8(&self.bytes[from..to]) {
            Ok("") => {}
            Ok(text) => self.pieces.push(Piece::Text(text.to_owned())),
            Err(_) => self.blob(from, to),
        }
    }

    fn blob(&mut self, from: usize, to: usize) {
        let raw = &self.bytes[from..to];
        let hash = Hash::of(raw);
        self.pieces.push(Piece::Blob(hash.to_string()));
        self.blobs.push((hash, raw.to_vec()));
    }
}

/// A request rebuilt from the store.
#[derive(Debug, PartialEq, Eq)]
pub struct Whole {
    pub bytes: Vec<u8>,
    /// Whether these are the exact bytes: false if a credential was omitted.
    pub exact: bool,
}

/// The blobs that an envelope names.
pub fn named(own: &[u8]) -> Vec<Hash> {
    let pieces: Vec<Piece> = serde_json::from_slice(own).unwrap_or_default();
    let named = pieces.iter().filter_map(|piece| match piece {
        Piece::Blob(hash) => hash.parse().ok(),
        _ => None,
    });
    named.collect()
}

/// Rebuilds an envelope around `messages`; `find` returns a blob's bytes.
pub fn unpack(own: &[u8], messages: &[u8], mut find: impl FnMut(Hash) -> Option<Vec<u8>>) -> Option<Whole> {
    let pieces: Vec<Piece> = serde_json::from_slice(own).ok()?;
    let exact = !pieces.contains(&Piece::Secret);
    let mut out = Vec::with_capacity(messages.len() + own.len());
    for piece in pieces {
        match piece {
            Piece::Text(text) => out.extend_from_slice(text.as_bytes()),
            Piece::Blob(hash) => out.extend_from_slice(&find(hash.parse().ok()?)?),
            Piece::Messages => out.extend_from_slice(messages),
            Piece::Secret => out.extend_from_slice(NOT_STORED),
        }
    }
    Some(Whole { bytes: out, exact })
}

#[cfg(test)]
mod tests {
    use super::*;
    use ctx_wire::anthropic::Anthropic;
    use std::collections::HashMap;

    #[test]
    fn every_byte_around_the_messages_comes_back() {
        let big = "x".repeat(LARGE);
        let spellings: [Vec<u8>; 5] = [
            br#"{"messages":[]}"#.to_vec(),
            format!(r#" {{ "system" : "{big}" , "messages" : [ {{}} , 3 ] , "tools":["{big}"],"a":1, "b":"{big}" }} "#)
                .into_bytes(),
            format!(r#"{{"messages":[{{"a":"{big}"}}],"metadata":{{"user_id":"u"}}}}"#).into_bytes(),
            [br#"{"x":""#.as_slice(), &[0xFF, 0xFE], br#"","messages":[1]}"#].concat(),
            format!(r#"{{"messages":[ ],"system":[{{"text":"{big}"}}]}}"#).into_bytes(),
        ];
        for bytes in spellings {
            let body = Body::parse(bytes.clone(), &Anthropic).unwrap();
            let packed = pack(&body);
            let (head, tail) = body.spans().envelope();
            let blobs: HashMap<Hash, Vec<u8>> = packed.blobs.iter().cloned().collect();
            let inner = bytes[head.end..tail.start].to_vec();
            let whole = unpack(&packed.blobs[0].1, &inner, |hash| blobs.get(&hash).cloned()).unwrap();
            assert_eq!(whole, Whole { bytes, exact: true });
        }
    }

    #[test]
    fn a_credential_in_the_body_is_not_stored() {
        let padding = "x".repeat(LARGE);
        let body = format!(
            r#"{{"messages":[],"mcp_servers":[{{"url":"u"}},{{"authorization_token" : "hush\"hush","name":"{padding}"}}],"a":1}}"#
        );
        let packed = pack(&Body::parse(body.clone().into_bytes(), &Anthropic).unwrap());
        let stored: Vec<u8> = packed.blobs.iter().flat_map(|(_, bytes)| bytes.clone()).collect();
        assert!(!String::from_utf8_lossy(&stored).contains("hush"));
        let blobs: HashMap<Hash, Vec<u8>> = packed.blobs.iter().cloned().collect();
        let whole = unpack(&packed.blobs[0].1, b"", |hash| blobs.get(&hash).cloned()).unwrap();
        assert_eq!(String::from_utf8(whole.bytes).unwrap(), body.replace(r#""hush\"hush""#, "\"(not stored)\""));
        assert!(!whole.exact);
    }

    #[test]
    fn a_small_change_does_not_repeat_the_tools() {
        let body =
            |n: u32| format!(r#"{{"messages":[],"tools":["{}"],"max_tokens":{n}}}"#, "t".repeat(50_000)).into_bytes();
        let packed: Vec<PackedEnvelope> = [1, 2].map(|n| pack(&Body::parse(body(n), &Anthropic).unwrap())).into();
        assert_ne!(packed[0].hash(), packed[1].hash());
        assert_eq!(packed[0].blobs[1], packed[1].blobs[1]);
        assert!(packed[1].blobs[0].1.len() < 300);
    }
}
