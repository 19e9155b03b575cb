//! The page's files, embedded at build time (see `build.rs`).

use std::io::{self, Read as _};

use bytes::Bytes;
use flate2::read::GzDecoder;

/// One file of the page.
pub(crate) struct Asset {
    /// Relative to `/ui/`.
    pub(crate) name: &'static str,
    /// Its content, compressed with gzip.
    pub(crate) packed: &'static [u8],
}

impl Asset {
    /// The content for a client that does not accept gzip.
    pub(crate) fn unpacked(&self) -> io::Result<Bytes> {
        let mut bytes = Vec::new();
        GzDecoder::new(self.packed).read_to_end(&mut bytes)?;
        Ok(bytes.into())
    }
}

include!(concat!(env!("OUT_DIR"), "/page.rs"));

/// Whether this binary contains the page.
pub fn is_embedded() -> bool {
    ASSETS.iter().any(|asset| asset.name == "index.html")
}
