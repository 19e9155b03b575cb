//! The provider's own context editing: the edits for one request, and their place in its body beside
//! the client's.

mod answers;
mod edits;
mod merge;
mod summary;

use crate::body::Body;
use crate::json::{self, Span};
use crate::provider_edits::{Addition, Capability, EditableRequest, Kind, ProviderEdits, ProviderSettings, Splice};
use edits::{Edit, Facts};

#[derive(Debug)]
pub(super) struct ContextManagement;

impl ProviderEdits for ContextManagement {
    fn addition(
        &self,
        settings: &ProviderSettings,
        request: &EditableRequest<'_>,
        is_supported: &dyn Fn(Kind) -> bool,
    ) -> Addition {
        let EditableRequest { body, envelope, lexicon, counting, window, price, lifetime } = *request;
        let facts = Facts { envelope, lexicon, thinks: edits::thinks(body), window, price, lifetime };
        let mut wanted = edits::edits(settings, &facts);
        wanted.retain(|edit| is_supported(edit.kind));
        let compacts = wanted.iter().any(|edit| edit.kind == Kind::Compact);
        // Counting summarises nothing, and a signed summary goes with no other.
        let has_signed = memchr::memmem::find(body.message(0), br#""compaction""#).is_some();
        wanted.retain(|edit| edit.kind != Kind::Compact || !(counting || has_signed));
        let ours = wanted.iter().find(|edit| edit.kind == Kind::ToolUses).map(merge::excluded);
        let (splices, kinds) = merge::merge(body, wanted);
        let excluded = ours.filter(|_| kinds.contains(&Kind::ToolUses)).or_else(|| merge::excluded_by_client(body));
        Addition { splices, kinds, excluded, compacts }
    }

    fn excluded_by_client(&self, body: &Body) -> Option<Vec<String>> {
        merge::excluded_by_client(body)
    }

    fn refused(&self, status: u16, answer: &[u8], added: &[Kind]) -> Vec<Kind> {
        answers::refused(status, answer, added)
    }

    fn capabilities(&self, answer: &[u8]) -> Vec<Capability> {
        answers::capabilities(answer)
    }

    fn summary<'m>(&self, message: &'m [u8]) -> Option<&'m [u8]> {
        summary::summary(message)
    }

    fn without_summary(&self, message: &[u8]) -> Vec<u8> {
        summary::without_summary(message)
    }

    fn remove_summary(&self, body: &[u8], message: Span) -> Option<Splice> {
        summary::remove_summary(body, message)
    }

    fn insert_summary(&self, body: &[u8], message: Span, block: &[u8]) -> Option<Vec<Splice>> {
        summary::insert_summary(body, message, block)
    }
}

fn member(bytes: &[u8], object: usize, name: &str) -> Option<Span> {
    let mut members = json::members(bytes, object)?.flatten();
    members
        .find(|member| bytes.get(member.key.clone()).is_some_and(|key| json::key_is(key, name)))
        .map(|found| found.value)
}
