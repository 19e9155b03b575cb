//! Minimal PDF documents with countable pages.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

/// A document block with a PDF of this many pages.
pub fn pdf(pages: usize, title: &str) -> Value {
    let bytes = format!("%PDF-1.7 {}", "<< /Type /Page >> ".repeat(pages));
    let source = json!({"type": "base64", "media_type": "application/pdf", "data": STANDARD.encode(bytes)});
    json!({"type": "document", "title": title, "source": source})
}
