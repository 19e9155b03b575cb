//! The page's files, put into the binary when it was built (see `build.rs`).

/// One file of the page.
pub(crate) struct Asset {
    /// Relative to `/ui/`.
    pub(crate) name: &'static str,
    pub(crate) bytes: &'static [u8],
    /// The same, as gzip.
    pub(crate) packed: &'static [u8],
}

include!(concat!(env!("OUT_DIR"), "/page.rs"));

/// Was the page there when this binary was built?
pub fn is_embedded() -> bool {
    ASSETS.iter().any(|asset| asset.name == "index.html")
}
