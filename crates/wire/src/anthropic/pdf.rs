//! The number of pages of a PDF, determined without rendering.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use memchr::memmem::find_iter;

/// The pages of a PDF in base64; `None` if it is encrypted. Objects inside compressed streams are not counted, so the
/// number may be too small, never too large.
pub(super) fn pages(base64: &str) -> Option<u32> {
    let bytes = STANDARD.decode(base64).unwrap_or_default();
    if find_iter(&bytes, b"/Encrypt").next().is_some() {
        return None;
    }
    let counted = find_iter(&bytes, b"/Type").filter(|at| is_page(&bytes[at + b"/Type".len()..])).count();
    Some(u32::try_from(counted).unwrap_or(u32::MAX))
}

/// Whether `/Page` follows, and not `/Pages`.
fn is_page(rest: &[u8]) -> bool {
    let rest = rest.trim_ascii_start();
    rest.strip_prefix(b"/Page").is_some_and(|rest| !rest.first().is_some_and(u8::is_ascii_alphanumeric))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_counted_and_an_encrypted_file_has_none() {
        let count = |text: &str| pages(&STANDARD.encode(text));
        let page = "<< /Type /Page /Parent 1 0 R >>";
        let tree = "%PDF-1.7 << /Type /Pages /Count 2 >>";
        assert_eq!(count(&format!("{tree}{page}<</Type/Page>>")), Some(2));
        assert_eq!(count("no pdf at all"), Some(0));
        assert_eq!(count(&format!("{tree}{page} trailer << /Encrypt 9 0 R >>")), None);
        assert_eq!(pages("%% not base64"), Some(0));
    }
}
