//! The cost of an image: determined by its size in pixels, which its first bytes contain.

use crate::json::{self, Span};
use base64::Engine;

/// An image of unknown size counts as a full one.
const UNKNOWN: u32 = 1568;
const LARGEST: u32 = 4784;
const PATCH: u32 = 28;

/// The tokens of an image or document `source`.
pub fn tokens(bytes: &[u8], source: Option<Span>) -> u32 {
    let Some(source) = source else { return UNKNOWN };
    let data = json::members(bytes, source.start)
        .into_iter()
        .flatten()
        .flatten()
        .find(|member| bytes.get(member.key.clone()) == Some(b"data"));
    let head = data.and_then(|member| bytes.get(member.value.start + 1..member.value.end.saturating_sub(1)));
    match head.and_then(dimensions) {
        Some((width, height)) => (width.div_ceil(PATCH) * height.div_ceil(PATCH)).clamp(1, LARGEST),
        None => UNKNOWN,
    }
}

/// Width and height from base64 data: PNG, GIF, JPEG, WebP.
fn dimensions(base64: &[u8]) -> Option<(u32, u32)> {
    let head = base64.get(..base64.len().min(64 * 1024) / 4 * 4)?;
    let data = base64::engine::general_purpose::STANDARD.decode(head).ok()?;
    let size = match data.get(..4)? {
        b"\x89PNG" => (be32(&data, 16)?, be32(&data, 20)?),
        b"GIF8" => (le16(&data, 6)?, le16(&data, 8)?),
        [0xFF, 0xD8, ..] => jpeg(&data)?,
        b"RIFF" => webp(&data)?,
        _ => return None,
    };
    (size.0 > 0 && size.1 > 0 && size.0 <= 20_000 && size.1 <= 20_000).then_some(size)
}

fn be32(data: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(data.get(at..at + 4)?.try_into().ok()?))
}

fn be16(data: &[u8], at: usize) -> Option<u32> {
    Some(u32::from(u16::from_be_bytes(data.get(at..at + 2)?.try_into().ok()?)))
}

fn le16(data: &[u8], at: usize) -> Option<u32> {
    Some(u32::from(u16::from_le_bytes(data.get(at..at + 2)?.try_into().ok()?)))
}

/// Walks the segments up to the frame header.
fn jpeg(data: &[u8]) -> Option<(u32, u32)> {
    let mut at = 2;
    while *data.get(at)? == 0xFF {
        let marker = *data.get(at + 1)?;
        if matches!(marker, 0xC0..=0xCF) && !matches!(marker, 0xC4 | 0xC8 | 0xCC) {
            return Some((be16(data, at + 7)?, be16(data, at + 5)?));
        }
        at += 2 + be16(data, at + 2)? as usize;
    }
    None
}

fn webp(data: &[u8]) -> Option<(u32, u32)> {
    match data.get(12..16)? {
        b"VP8X" => {
            let three =
                |at: usize| Some(u32::from_le_bytes([*data.get(at)?, *data.get(at + 1)?, *data.get(at + 2)?, 0]) + 1);
            Some((three(24)?, three(27)?))
        }
        b"VP8 " => Some((le16(data, 26)? & 0x3FFF, le16(data, 28)? & 0x3FFF)),
        b"VP8L" => {
            let bits = u32::from_le_bytes(data.get(21..25)?.try_into().ok()?);
            Some(((bits & 0x3FFF) + 1, ((bits >> 14) & 0x3FFF) + 1))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cost(data: &[u8]) -> u32 {
        let text =
            format!("{{\"type\":\"base64\",\"data\":\"{}\"}}", base64::engine::general_purpose::STANDARD.encode(data));
        tokens(text.as_bytes(), Some(0..text.len()))
    }

    #[test]
    fn the_size_in_pixels_decides() {
        let png = [
            b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".as_slice(),
            &280u32.to_be_bytes(),
            &56u32.to_be_bytes(),
            &[8, 6, 0, 0, 0],
        ]
        .concat();
        assert_eq!(cost(&png), 20);
        let gif = [b"GIF89a".as_slice(), &28u16.to_le_bytes(), &29u16.to_le_bytes()].concat();
        assert_eq!(cost(&gif), 2);
        let jpeg = [0xFF, 0xD8, 0xFF, 0xE0, 0, 4, 0, 0, 0xFF, 0xC0, 0, 11, 8, 0, 28, 0, 56, 3, 0, 0, 0];
        assert_eq!(cost(&jpeg), 2);
    }

    #[test]
    fn what_cannot_be_read_counts_as_a_full_image() {
        assert_eq!(cost(b"nonsense, really"), UNKNOWN);
        assert_eq!(tokens(b"", None), UNKNOWN);
        assert_eq!(cost(&[b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".as_slice(), &[0xFF; 13]].concat()), UNKNOWN);
    }
}
