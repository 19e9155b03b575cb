//! The recorded form of a sent request: ranges of the client's body, and the insertions between them.
//!
//! An edited conversation grows at its end, so a record has only the parts behind those shared with the previous
//! request.

use crate::log::{SentBody, SentPart};
use ctx_store::{Hash, Reader, StoreError};
use std::ops::Range;

/// The smallest insertion that is stored as a blob: stored once, however many requests contain it.
const LONG: usize = 200;

/// A part of a request to send: a range of the client's body, or inserted bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    Source(Range<usize>),
    Made(Vec<u8>),
}

impl Part {
    /// In bytes.
    pub fn len(&self) -> usize {
        match self {
            Part::Source(range) => range.len(),
            Part::Made(bytes) => bytes.len(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// All parts of the newest request recorded in this form.
#[derive(Debug, Default)]
pub struct SentParts(Vec<KnownParts>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum KnownParts {
    Source(u64, u64),
    Text(String),
    Blob(Hash),
    /// A blob that its record does not name.
    Missing,
}

impl SentParts {
    /// The record of a request sent in these parts of `body`. Long insertions become blobs. `None`: an insertion is not
    /// text.
    pub fn note(
        &mut self,
        parts: &[Part],
        body: &[u8],
        uses: &mut Vec<Hash>,
        blobs: &mut Vec<(Hash, Vec<u8>)>,
    ) -> Option<SentBody> {
        let mut known = Vec::with_capacity(parts.len());
        for part in parts.iter().filter(|part| !part.is_empty()) {
            known.push(match part {
                Part::Source(range) => KnownParts::Source(range.start as u64, range.end as u64),
                Part::Made(made) if made.len() < LONG => KnownParts::Text(String::from_utf8(made.clone()).ok()?),
                Part::Made(made) => KnownParts::Blob(Hash::of(made)),
            });
        }
        let as_before = known.iter().zip(&self.0).take_while(|(now, before)| now == before).count();
        let behind = parts.iter().filter(|part| !part.is_empty()).zip(&known).skip(as_before);
        let behind = behind.map(|(part, known)| match (part, known) {
            (Part::Source(range), _) => SentPart::Source(range.start as u64, range.end as u64),
            (Part::Made(made), KnownParts::Blob(hash)) => {
                let place = uses.iter().position(|used| used == hash).unwrap_or(uses.len());
                if place == uses.len() {
                    uses.push(*hash);
                    blobs.push((*hash, made.clone()));
                }
                SentPart::Blob { blob: place as u32 }
            }
            (Part::Made(made), _) => SentPart::Text(String::from_utf8_lossy(made).into_owned()),
        });
        let behind = behind.collect();
        self.0 = known;
        Some(SentBody { checksum: checksum(parts, body), as_before: as_before as u32, parts: behind })
    }

    /// Applies the record of the next request. `uses`: the blobs that its record names.
    pub fn follow(&mut self, sent: &SentBody, uses: &[Hash]) {
        self.0.truncate(sent.as_before as usize);
        self.0.extend(sent.parts.iter().map(|part| match part {
            SentPart::Source(start, end) => KnownParts::Source(*start, *end),
            SentPart::Text(text) => KnownParts::Text(text.clone()),
            SentPart::Blob { blob } => {
                uses.get(*blob as usize).map_or(KnownParts::Missing, |hash| KnownParts::Blob(*hash))
            }
        }));
    }

    /// Its approximate memory use in bytes.
    pub fn weight(&self) -> usize {
        self.0.len() * size_of::<KnownParts>()
    }

    /// The parts with the text of their blobs; `None` if one is missing.
    pub fn read(&self, store: &dyn Reader) -> Result<Option<Vec<Part>>, StoreError> {
        let mut parts = Vec::with_capacity(self.0.len());
        for part in &self.0 {
            parts.push(match part {
                KnownParts::Source(start, end) => Part::Source(*start as usize..*end as usize),
                KnownParts::Text(text) => Part::Made(text.clone().into_bytes()),
                KnownParts::Blob(hash) => {
                    let Some(bytes) = store.blob(*hash)? else { return Ok(None) };
                    Part::Made(bytes)
                }
                KnownParts::Missing => return Ok(None),
            });
        }
        Ok(Some(parts))
    }
}

/// CRC-32 of the sent body. Detects a wrongly rebuilt body in a tenth of the time of a hash.
pub fn checksum(parts: &[Part], body: &[u8]) -> u32 {
    let mut checksum = crc32fast::Hasher::new();
    for part in parts {
        checksum.update(match part {
            Part::Source(range) => body.get(range.clone()).unwrap_or_default(),
            Part::Made(bytes) => bytes,
        });
    }
    checksum.finalize()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::{self, ArrivalRecord};
    use ctx_store::{MemoryStore, Record, Step, Store};

    const BODY: &[u8] = &[b'x'; 5000];

    fn made(words: &str) -> Part {
        Part::Made(words.as_bytes().to_vec())
    }

    /// Notes requests that left in these parts, each as a record of one conversation.
    fn recorded(requests: &[Vec<Part>]) -> (MemoryStore, Vec<SentBody>) {
        let (store, mut sent, mut noted) = (MemoryStore::new(), SentParts::default(), Vec::new());
        for (number, parts) in requests.iter().enumerate() {
            let (mut uses, mut step) = (vec![], Step::default());
            let body = sent.note(parts, BODY, &mut uses, &mut step.blobs).expect("text");
            noted.push(body.clone());
            let arrived = serde_json::json!({
                "request": number + 1, "class": "main", "verdict": "append", "known": 0, "new": 0, "changed": 0,
                "bytes": BODY.len(), "sent": body,
            });
            let arrived: ArrivalRecord = serde_json::from_value(arrived).expect("a record");
            step.records.push(crate::record("c", 1, log::ARRIVED, &arrived, uses));
            store.append(vec![step]).expect("a store");
        }
        (store, noted)
    }

    fn of_records(records: &[Record]) -> SentParts {
        let mut all = SentParts::default();
        for record in records {
            let arrived: ArrivalRecord = serde_json::from_slice(&record.body).expect("a record");
            all.follow(&arrived.sent.expect("how it left"), &record.uses);
        }
        all
    }

    #[test]
    fn a_record_tells_only_what_the_one_before_has_not() {
        let long = "a summary that is long enough to be stored by itself ".repeat(10);
        let first = vec![Part::Source(0..10), made(&long), Part::Source(20..30), made("short")];
        let grown = [&first[..3], &[made("other"), Part::Source(40..50), made(&long)]].concat();
        let again = vec![made(&long)];
        let (store, noted) = recorded(&[first.clone(), grown.clone(), grown.clone(), again.clone()]);
        let told: Vec<(u32, usize)> = noted.iter().map(|body| (body.as_before, body.parts.len())).collect();
        assert_eq!(told, [(0, 4), (3, 3), (6, 0), (0, 1)]);

        let records = store.records("c", 0).expect("records").records;
        for (end, parts) in [first, grown.clone(), grown, again].iter().enumerate() {
            let read = of_records(&records[..=end]).read(&store).expect("a store");
            assert_eq!(read.as_ref(), Some(parts), "request {}", end + 1);
        }
    }

    #[test]
    fn a_blob_that_no_record_names_is_missing() {
        let (store, _) = recorded(&[vec![made(&"long ".repeat(100))]]);
        let mut records = store.records("c", 0).expect("records").records;
        records[0].uses.clear();
        assert_eq!(of_records(&records).read(&store).expect("a store"), None);
    }
}
