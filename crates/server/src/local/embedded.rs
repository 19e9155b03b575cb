//! The page's files, embedded at build time (see `build.rs`).

/// One file of the page.
pub(crate) struct Asset {
    /// Relative to `/ui/`.
    pub(crate) name: &'static str,
    pub(crate) bytes: &'static [u8],
    /// The same, compressed with gzip.
    pub(crate) packed: &'static [u8],
}

include!(concat!(env!("OUT_DIR"), "/page.rs"));

/// Whether this binary contains the page.
pub fn is_embedded() -> bool {
    ASSETS.iter().any(|asset| asset.name == "index.html")
}
