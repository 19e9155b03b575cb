//! Searches all conversations, or one.

use crate::parts::Parts;
use crate::threads::lock;
use ctx_api::search::{ConversationHits, Hit, SearchResults};
use ctx_core::{ErrorCode, SlotId};
use ctx_engine::Refusal;
use ctx_engine::conversation::{Conversation, SlotVersion};
use ctx_engine::view::search::{AT_A_TIME, BySlot, OF_EACH, hits, longest_run, may_hold, newest_versions, terms};
use ctx_store::{Blob, Hash};
use ctx_wire::dress::dress;
use std::collections::HashMap;

impl Parts {
    pub(crate) fn search(&self, query: &str, name: Option<&str>, most: usize) -> Result<SearchResults, Refusal> {
        let terms = terms(query);
        if terms.is_empty() {
            return Err(Refusal::new(ErrorCode::BadQuery, "The search is empty.", "Enter one or more words."));
        }
        self.settle(self.patience());
        let wanted = name.map(|name| self.meant(name)).transpose()?;
        let mut found =
            SearchResults { query: query.trim().to_owned(), searched: 0, more: false, conversations: Vec::new() };
        let mut left = most;
        for card in self.listed().conversations {
            if wanted.as_ref().is_some_and(|id| *id != card.id) {
                continue;
            }
            if left == 0 {
                found.more = true;
                break;
            }
            found.searched += 1;
            let mut hits = self.search_in(&card.id, &terms)?;
            let matches = hits.len();
            hits.truncate(if wanted.is_some() { left } else { left.min(OF_EACH) });
            left -= hits.len();
            if matches > 0 {
                let (id, title, last_activity) = (card.id, card.title, card.last_activity);
                found.conversations.push(ConversationHits { id, title, last_activity, matches, hits });
            }
        }
        Ok(found)
    }

    fn search_in(&self, id: &str, terms: &[String]) -> Result<Vec<Hit>, Refusal> {
        let shared = lock(&self.directory).touch(id);
        let Some(shared) = shared else {
            // Loaded only for this: a search must not evict the conversations that agents work on.
            let Some(conversation) = Conversation::load(id, &*self.store)? else { return Ok(Vec::new()) };
            let texts = self.texts_with(newest_versions(&conversation), terms)?;
            return Ok(hits(&conversation, texts, terms));
        };
        // The store is read without the lock of the conversation.
        let versions = newest_versions(&lock(&shared));
        let texts = self.texts_with(versions, terms)?;
        Ok(hits(&lock(&shared), texts, terms))
    }

    /// The messages that may contain the words.
    fn texts_with(&self, versions: Vec<(SlotId, SlotVersion)>, terms: &[String]) -> Result<BySlot, Refusal> {
        let mut texts = HashMap::new();
        let runs: Vec<&str> = terms.iter().map(|term| longest_run(term)).collect();
        for some in versions.chunks(AT_A_TIME) {
            let hashes: Vec<Hash> = some.iter().map(|(_, version)| version.blob).collect();
            for ((slot, version), blob) in some.iter().zip(self.store.blobs(&hashes)?) {
                if let Blob::Present(bare) = blob
                    && may_hold(&bare, &runs)
                {
                    texts.insert(*slot, dress(&bare, &version.dress).unwrap_or(bare));
                }
            }
        }
        Ok(texts)
    }
}
