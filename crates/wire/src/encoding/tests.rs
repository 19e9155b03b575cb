use super::{DECODED_LIMIT, DecodeError, Decoder, Encoding, decode_all};
use flate2::Compression;
use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};
use proptest::prelude::*;
use std::io::Write;

const TEXT: &[u8] = b"event: ping\ndata: {\"type\":\"ping\"}\n\n";

/// The ways a server can write each encoding.
#[derive(Debug, Clone, Copy)]
enum Form {
    Gzip,
    Zlib,
    BareDeflate,
    Brotli,
    Zstd,
}

const FORMS: [Form; 5] = [Form::Gzip, Form::Zlib, Form::BareDeflate, Form::Brotli, Form::Zstd];

impl Form {
    fn encoding(self) -> Encoding {
        match self {
            Self::Gzip => Encoding::Gzip,
            Self::Zlib | Self::BareDeflate => Encoding::Deflate,
            Self::Brotli => Encoding::Brotli,
            Self::Zstd => Encoding::Zstd,
        }
    }

    /// Encodes each part and flushes after it. Returns the output length after each flush, and the whole output.
    fn encode(self, parts: &[Vec<u8>]) -> (Vec<usize>, Vec<u8>) {
        fn write<W: Write>(mut writer: W, parts: &[Vec<u8>], so_far: fn(&W) -> usize) -> (Vec<usize>, W) {
            let mut marks = Vec::new();
            for part in parts {
                writer.write_all(part).unwrap();
                writer.flush().unwrap();
                marks.push(so_far(&writer));
            }
            (marks, writer)
        }
        let level = Compression::default();
        match self {
            Self::Gzip => {
                let writer = GzEncoder::new(Vec::new(), level);
                let (marks, writer) = write(writer, parts, |writer| writer.get_ref().len());
                (marks, writer.finish().unwrap())
            }
            Self::Zlib => {
                let writer = ZlibEncoder::new(Vec::new(), level);
                let (marks, writer) = write(writer, parts, |writer| writer.get_ref().len());
                (marks, writer.finish().unwrap())
            }
            Self::BareDeflate => {
                let writer = DeflateEncoder::new(Vec::new(), level);
                let (marks, writer) = write(writer, parts, |writer| writer.get_ref().len());
                (marks, writer.finish().unwrap())
            }
            Self::Brotli => {
                let writer = brotli::CompressorWriter::new(Vec::new(), 4096, 4, 18);
                let (marks, writer) = write(writer, parts, |writer| writer.get_ref().len());
                (marks, writer.into_inner())
            }
            Self::Zstd => {
                let writer = zstd::stream::write::Encoder::new(Vec::new(), 3).unwrap();
                let (marks, writer) = write(writer, parts, |writer| writer.get_ref().len());
                (marks, writer.finish().unwrap())
            }
        }
    }

    fn encode_whole(self, bytes: &[u8]) -> Vec<u8> {
        self.encode(&[bytes.to_vec()]).1
    }
}

#[test]
fn header_values_are_read_as_lists_in_any_case() {
    use Encoding::*;
    let parse = |value| Encoding::parse(value).unwrap();
    assert_eq!(parse("gzip"), [Gzip]);
    assert_eq!(parse(" X-GZIP ,, br"), [Gzip, Brotli]);
    assert_eq!(parse("deflate, zstd"), [Deflate, Zstd]);
    assert_eq!(parse("identity"), []);
    assert_eq!(parse(""), []);
}

#[test]
fn an_unknown_or_overlong_list_is_an_error_value() {
    assert_eq!(Encoding::parse("gzip, Compress"), Err(DecodeError::Unknown { name: "compress".to_owned() }));
    assert_eq!(Encoding::parse("br,br,br,br,br"), Err(DecodeError::TooMany { count: 5 }));
}

#[test]
fn every_form_decodes() {
    for form in FORMS {
        let decoded = decode_all(&[form.encoding()], &form.encode_whole(TEXT), DECODED_LIMIT);
        assert_eq!(decoded.as_deref(), Ok(TEXT), "{form:?}");
    }
}

#[test]
fn a_body_may_arrive_byte_by_byte() {
    for form in FORMS {
        let mut decoder = Decoder::new(&[form.encoding()]).unwrap();
        let mut out = Vec::new();
        for byte in form.encode_whole(TEXT) {
            decoder.feed(&[byte], &mut out).unwrap();
        }
        assert_eq!(out, TEXT, "{form:?}");
        assert_eq!(decoder.finish(), Ok(()), "{form:?}");
    }
}

#[test]
fn stacked_encodings_are_undone_from_the_last() {
    let encoded = Form::Zstd.encode_whole(&Form::Brotli.encode_whole(&Form::Gzip.encode_whole(TEXT)));
    let encodings = Encoding::parse("gzip, br, zstd").unwrap();
    assert_eq!(decode_all(&encodings, &encoded, DECODED_LIMIT).as_deref(), Ok(TEXT));
}

#[test]
fn without_an_encoding_bytes_pass() {
    assert_eq!(decode_all(&[], TEXT, DECODED_LIMIT).as_deref(), Ok(TEXT));
}

#[test]
fn an_empty_body_is_whole_in_every_encoding() {
    for form in FORMS {
        assert_eq!(decode_all(&[form.encoding()], b"", DECODED_LIMIT), Ok(Vec::new()), "{form:?}");
    }
}

#[test]
fn gzip_members_and_zstd_frames_may_follow_each_other() {
    for form in [Form::Gzip, Form::Zstd] {
        let twice = form.encode_whole(TEXT).repeat(2);
        assert_eq!(decode_all(&[form.encoding()], &twice, DECODED_LIMIT), Ok(TEXT.repeat(2)), "{form:?}");
    }
}

#[test]
fn padding_behind_gzip_is_ignored() {
    let padded = [Form::Gzip.encode_whole(TEXT), vec![0; 100]].concat();
    assert_eq!(decode_all(&[Encoding::Gzip], &padded, DECODED_LIMIT).as_deref(), Ok(TEXT));
}

#[test]
fn a_cut_body_gives_what_came_and_says_that_it_was_cut() {
    for form in FORMS {
        let encoded = form.encode_whole(&TEXT.repeat(20));
        for length in 1..encoded.len() {
            let mut decoder = Decoder::new(&[form.encoding()]).unwrap();
            let mut out = Vec::new();
            decoder.feed(&encoded[..length], &mut out).unwrap();
            assert!(TEXT.repeat(20).starts_with(&out));
            assert!(
                matches!(decoder.finish(), Err(DecodeError::Truncated { .. })),
                "{form:?} cut at {length} of {}",
                encoded.len()
            );
        }
    }
}

#[test]
fn a_body_that_is_not_in_its_encoding_is_an_error() {
    for form in [Form::Gzip, Form::Zstd, Form::Brotli] {
        let decoded = decode_all(&[form.encoding()], b"{\"a\":1}\xff\xff", DECODED_LIMIT);
        assert!(matches!(decoded, Err(DecodeError::Corrupt { .. })), "{form:?}: {decoded:?}");
    }
}

#[test]
fn a_wrong_checksum_is_an_error() {
    let mut encoded = Form::Gzip.encode_whole(TEXT);
    let at = encoded.len() - 8;
    encoded[at] ^= 1;
    assert!(matches!(decode_all(&[Encoding::Gzip], &encoded, DECODED_LIMIT), Err(DecodeError::Corrupt { .. })));
}

#[test]
fn a_compression_bomb_stops_at_the_limit() {
    let zeros = vec![0; 3_000_000];
    for form in FORMS {
        let bomb = form.encode_whole(&zeros);
        assert!(bomb.len() < 10_000);
        assert_eq!(
            decode_all(&[form.encoding()], &bomb, 1_000_000),
            Err(DecodeError::TooLarge { limit: 1_000_000 }),
            "{form:?}"
        );
        assert_eq!(decode_all(&[form.encoding()], &bomb, zeros.len()).map(|out| out.len()), Ok(zeros.len()));
    }
}

#[test]
fn pieces_stay_small_however_well_the_input_was_compressed() {
    for form in FORMS {
        let bomb = form.encode_whole(&vec![0; 3_000_000]);
        let mut largest = 0;
        Decoder::new(&[form.encoding()])
            .unwrap()
            .feed_into(&bomb, &mut |piece| {
                largest = largest.max(piece.len());
                Ok(())
            })
            .unwrap();
        assert!(largest <= 64 * 1024, "{form:?}: {largest}");
    }
}

#[test]
fn a_zstd_frame_that_wants_a_window_over_128_mib_is_refused() {
    let mut writer = zstd::stream::write::Encoder::new(Vec::new(), 1).unwrap();
    writer.window_log(28).unwrap();
    writer.write_all(TEXT).unwrap();
    writer.flush().unwrap();
    let encoded = writer.finish().unwrap();
    assert!(matches!(decode_all(&[Encoding::Zstd], &encoded, DECODED_LIMIT), Err(DecodeError::Corrupt { .. })));
}

#[test]
fn decoders_can_be_handed_to_another_thread() {
    fn assert_send<T: Send>() {}
    assert_send::<Decoder>();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn what_was_flushed_comes_out_at_once(
        parts in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 1..300), 1..8),
    ) {
        for form in FORMS {
            let (marks, encoded) = form.encode(&parts);
            let mut decoder = Decoder::new(&[form.encoding()]).unwrap();
            let (mut out, mut expected, mut fed) = (Vec::new(), Vec::new(), 0);
            for (part, mark) in parts.iter().zip(marks) {
                decoder.feed(&encoded[fed..mark], &mut out).unwrap();
                expected.extend_from_slice(part);
                fed = mark;
                prop_assert_eq!(&out, &expected, "{:?}", form);
            }
            decoder.feed(&encoded[fed..], &mut out).unwrap();
            prop_assert_eq!(&out, &expected, "{:?}", form);
            prop_assert_eq!(decoder.finish(), Ok(()), "{:?}", form);
        }
    }

    #[test]
    fn chunking_does_not_matter(
        bytes in proptest::collection::vec(prop_oneof![Just(7_u8), any::<u8>()], 0..4000),
        size in 1_usize..50,
        form in proptest::sample::select(&FORMS[..]),
    ) {
        let encoded = form.encode_whole(&bytes);
        let mut decoder = Decoder::new(&[form.encoding()]).unwrap();
        let mut out = Vec::new();
        for chunk in encoded.chunks(size) {
            decoder.feed(chunk, &mut out).unwrap();
        }
        prop_assert_eq!(decoder.finish(), Ok(()));
        prop_assert_eq!(out, bytes);
    }

    #[test]
    fn arbitrary_bytes_never_panic(
        bytes in proptest::collection::vec(any::<u8>(), 0..400),
        form in proptest::sample::select(&FORMS[..]),
    ) {
        let _ = decode_all(&[form.encoding()], &bytes, 1_000_000);
    }
}
