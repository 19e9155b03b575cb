//! The encoding of values on disk: packed bodies, lists of blob ids, checksums. No SQL, no files.

use std::borrow::Cow;
use std::io;

use zstd::bulk::{Compressor, Decompressor};

use crate::{Damage, StoreError};

/// SQLite limits one value to 1,000,000,000 bytes, including the rest of its row.
pub const LARGEST_BODY: usize = 999_000_000;

/// Below this, the frame header outweighs the compression.
const SMALLEST_WORTH_PACKING: usize = 64;

const PLAIN: i64 = 0;
const PRIMED: i64 = 1;

/// A sample of short records and messages, used as a compression dictionary, so that a record of 300 bytes does not
/// repeat its own field names. Part of the format: never change it, add a codec.
const PRIMER: &[u8] = br#"{"class":"auxiliary","verdict":"side","known":0,"new":1,"changed":0,"model":"claude-sonnet-4-5","bytes":12345}{"class":"subagent","session":"","agent":"","client":"claude-cli/2.1","parent":"c","forked_from":"c"}{"request":1,"status":529,"ending":"cut","error":{"kind":"overloaded_error","message":"Overloaded"},"total_ms":1}{"role":"system","content":[{"type":"text","text":"<system-reminder>\n</system-reminder>"}],"output_config":{"effort":"medium"}}{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_01","is_error":false,"content":[{"type":"text","text":""}]},{"type":"text","text":""}]}{"role":"user","content":[{"tool_use_id":"toolu_01","type":"tool_result","content":"     1\t{"role":"assistant","content":[{"type":"thinking","thinking":"","signature":"E"},{"type":"text","text":"I'll "},{"type":"tool_use","id":"toolu_01","name":"Grep","input":{"pattern":"","path":"/","output_mode":"content"}},{"type":"tool_use","id":"toolu_01","name":"Edit","input":{"replace_all":false,"file_path":"/","old_string":"","new_string":""}},{"type":"tool_use","id":"toolu_01","name":"Bash","input":{"command":"","description":""}},{"type":"tool_use","id":"toolu_01","name":"Read","input":{"file_path":"/"}}]}{"role":"user","content":"{"request":12,"status":200,"ending":"complete","stop_reason":"end_turn","usage":{"input":3,"cache_read":12345,"cache_write":1234,"output":123,"cache_write_1h":1234,"thinking":12},"message_id":"msg_01","signatures":[""],"estimated":12345.678901,"first_byte_ms":1234,"total_ms":12345}{"request":12,"status":200,"ending":"complete","stop_reason":"tool_use","usage":{"input":3,"cache_read":12345,"cache_write":1234,"output":123},"message_id":"msg_01","estimated":12345.678901,"first_byte_ms":1234,"total_ms":12345}{"request":12,"class":"main","verdict":"next","known":12,"new":2,"changed":0,"model":"claude-opus-5-5","bytes":123456,"turn":{"base":12,"nodes":12,"slots":[1234567890123456789,1234567890123456789],"versions":[{"slot":1234567890123456789,"blob":1},{"slot":1234567890123456789,"blob":2},{"slot":1234567890123456789,"blob":3,"dress":[[26,"[{\"type\":\"text\",\"text\":"],[123,",\"cache_control\":{\"type\":\"ephemeral\"}}]"]]}],"envelope":0,"current":true,"restart":false}}"#;

/// A compressor for [`pack`].
pub fn compressor() -> io::Result<Compressor<'static>> {
    const LEVEL: i32 = 1;
    Compressor::with_dictionary(LEVEL, PRIMER)
}

/// Stored bytes.
pub struct PackedBytes<'a> {
    pub codec: i64,
    /// The unpacked size; `None` if stored uncompressed.
    pub size: Option<i64>,
    pub bytes: Cow<'a, [u8]>,
}

/// Compresses the bytes if that makes them smaller.
pub fn pack<'a>(compressor: &mut Compressor<'static>, bytes: &'a [u8]) -> Result<PackedBytes<'a>, StoreError> {
    if bytes.len() > LARGEST_BODY {
        return Err(StoreError::TooLarge { bytes: bytes.len(), limit: LARGEST_BODY });
    }
    if bytes.len() >= SMALLEST_WORTH_PACKING {
        let smaller = compressor.compress(bytes).map_err(StoreError::Compression)?;
        if smaller.len() < bytes.len() {
            return Ok(PackedBytes { codec: PRIMED, size: Some(bytes.len() as i64), bytes: Cow::Owned(smaller) });
        }
    }
    Ok(PackedBytes { codec: PLAIN, size: None, bytes: Cow::Borrowed(bytes) })
}

/// Reverses [`pack`], trusting none of its arguments.
pub fn unpack(codec: i64, size: Option<i64>, bytes: Vec<u8>) -> Result<Vec<u8>, Damage> {
    match (codec, size) {
        (PLAIN, None) => Ok(bytes),
        (PRIMED, Some(size)) => {
            let size = usize::try_from(size).map_err(|_| Damage::Packing)?;
            if size > LARGEST_BODY {
                return Err(Damage::Packing);
            }
            let unpacked = decompress(&bytes, size).map_err(|_| Damage::Packing)?;
            if unpacked.len() == size { Ok(unpacked) } else { Err(Damage::Packing) }
        }
        _ => Err(Damage::Packing),
    }
}

fn decompress(bytes: &[u8], size: usize) -> io::Result<Vec<u8>> {
    let mut unpacked = Vec::new();
    // A damaged size must not exhaust the memory.
    unpacked.try_reserve_exact(size)?;
    Decompressor::with_dictionary(PRIMER)?.decompress_to_buffer(bytes, &mut unpacked)?;
    Ok(unpacked)
}

/// Eight bytes that change when any part changes, or a byte moves from one part to the next.
pub fn checksum(parts: &[&[u8]]) -> i64 {
    let mut hasher = blake3::Hasher::new();
    for part in parts {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part);
    }
    let mut first = [0; 8];
    hasher.finalize_xof().fill(&mut first);
    i64::from_le_bytes(first)
}

/// Encodes a list of blob ids, preserving the order. Blobs stored in sequence have consecutive ids, so a list is
/// encoded as runs: the distance from the end of the last run, and the length. A whole path of a long conversation
/// takes a few bytes.
pub fn encode_uses(ids: &[i64]) -> Vec<u8> {
    let mut encoded = Vec::new();
    let mut expected = 0_i64;
    let mut rest = ids;
    while let Some(&start) = rest.first() {
        let neighbours = rest.iter().enumerate();
        let length = neighbours.take_while(|(index, id)| **id == start.wrapping_add(*index as i64)).count();
        let distance = start.wrapping_sub(expected);
        write_varint(&mut encoded, zigzag(distance));
        write_varint(&mut encoded, length as u64);
        expected = start.wrapping_add(length as i64);
        rest = rest.get(length..).unwrap_or_default();
    }
    encoded
}

/// Decodes the output of [`encode_uses`] as half-open ranges; `None` if it is invalid.
pub fn decode_uses(mut encoded: &[u8]) -> Option<Vec<std::ops::Range<i64>>> {
    let mut runs = Vec::new();
    let mut expected = 0_i64;
    while !encoded.is_empty() {
        let distance = unzigzag(read_varint(&mut encoded)?);
        let length = i64::try_from(read_varint(&mut encoded)?).ok()?;
        let start = expected.checked_add(distance)?;
        let end = start.checked_add(length)?;
        runs.push(start..end);
        expected = end;
    }
    Some(runs)
}

fn zigzag(number: i64) -> u64 {
    ((number << 1) ^ (number >> 63)).cast_unsigned()
}

fn unzigzag(number: u64) -> i64 {
    (number >> 1).cast_signed() ^ -(number & 1).cast_signed()
}

fn write_varint(to: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        to.push((number as u8) | 0x80);
        number >>= 7;
    }
    to.push(number as u8);
}

fn read_varint(from: &mut &[u8]) -> Option<u64> {
    let mut number = 0_u64;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = from.split_first()?;
        *from = rest;
        let bits = u64::from(byte & 0x7f);
        if (bits << shift) >> shift != bits {
            return None;
        }
        number |= bits << shift;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn decoded(encoded: &[u8]) -> Option<Vec<i64>> {
        Some(decode_uses(encoded)?.into_iter().flatten().collect())
    }

    proptest! {
        #[test]
        fn uses_survive_being_written_and_read(ids in prop::collection::vec(1..2000_i64, 0..60)) {
            prop_assert_eq!(decoded(&encode_uses(&ids)), Some(ids));
        }

        #[test]
        fn far_apart_uses_survive_too(ids in prop::collection::vec(0..i64::MAX, 0..9)) {
            prop_assert_eq!(decoded(&encode_uses(&ids)), Some(ids));
        }

        #[test]
        fn any_bytes_as_uses_are_read_or_refused(bytes: Vec<u8>) {
            let _ = decode_uses(&bytes);
        }

        #[test]
        fn bodies_survive_packing(pattern: Vec<u8>, times in 1..40_usize) {
            let body = pattern.repeat(times);
            let mut compressor = compressor()?;
            let packed = pack(&mut compressor, &body).unwrap();
            prop_assert!(packed.bytes.len() <= body.len());
            prop_assert_eq!(unpack(packed.codec, packed.size, packed.bytes.into_owned()), Ok(body));
        }

        #[test]
        fn any_bytes_as_a_packed_body_are_unpacked_or_refused(bytes: Vec<u8>, size: i64) {
            let _ = unpack(PRIMED, Some(size % 100_000), bytes);
        }
    }

    #[test]
    fn a_path_of_neighbours_takes_a_few_bytes() {
        let path: Vec<i64> = (70_000..72_000).collect();
        assert!(encode_uses(&path).len() <= 5);
    }

    #[test]
    fn a_checksum_knows_where_its_parts_end() {
        assert_ne!(checksum(&[b"ab", b"c"]), checksum(&[b"a", b"bc"]));
    }

    #[test]
    fn a_packing_of_the_future_is_damage_not_a_panic() {
        assert_eq!(unpack(7, None, vec![1]), Err(Damage::Packing));
        assert_eq!(unpack(PRIMED, Some(i64::MAX), vec![1]), Err(Damage::Packing));
        assert_eq!(unpack(PRIMED, Some(-1), vec![1]), Err(Damage::Packing));
    }
}
