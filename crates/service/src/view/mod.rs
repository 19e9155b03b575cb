//! Views for people and programs, as types of the control API: finds and locks the conversation, and reads the log.

mod context;
mod conversations;
mod frames;
mod ledger;
mod map;
mod misses;
mod models;
mod offloaded;
mod search;
mod sent;
pub(crate) mod show;
mod stats;
mod timeline;
mod weighed;
mod worth;

use crate::directory::{Directory, SharedConversation};
use crate::parts::Parts;
use crate::threads::lock;
use ctx_api::call::SESSION;
use ctx_core::edit::refusal::{nearest, suggest};
use ctx_core::hint::Command;
use ctx_core::{ErrorCode, hint};
use ctx_engine::Refusal;
use ctx_engine::card::Card;
pub(crate) use ledger::Ledger;
pub(crate) use ledger::{FIGURES, figures_id, is_figures};
pub use stats::{Figures, StatsScope};
pub(crate) use weighed::WeightCache;

impl Parts {
    /// Resolves `name` to an id, see [`crate::Service::resolve`].
    pub(crate) fn resolve(&self, name: &str) -> Result<String, Refusal> {
        let directory = lock(&self.directory);
        if name == "active" || name.is_empty() {
            return directory.active().map(|card| card.id.clone()).ok_or_else(|| {
                Refusal::new(
                    ErrorCode::NoConversation,
                    "No conversation has been recorded yet.",
                    hint!["Start one with ", Command::Run.with("-- claude"), "."],
                )
            });
        }
        let session = name.strip_prefix(SESSION);
        if let Some(id) = exact(&directory, session.unwrap_or(name)) {
            return Ok(id);
        }
        if let Some(session) = session {
            return Err(no_session(session).about(name));
        }
        let matches = |card: &&Card| {
            card.id.starts_with(name) || card.session.as_deref().is_some_and(|session| session.starts_with(name))
        };
        let found: Vec<&str> = directory.cards().filter(matches).map(|card| card.id.as_str()).collect();
        match found.as_slice() {
            [one] => Ok((*one).to_owned()),
            [] => {
                let near = nearest(name, directory.cards().map(|card| card.id.as_str()));
                Err(Refusal::new(
                    ErrorCode::UnknownConversation,
                    format!("No conversation `{name}`."),
                    suggest(&near, hint![Command::Conversations, " lists them."]),
                )
                .about(name))
            }
            many => Err(Refusal::new(
                ErrorCode::AmbiguousConversation,
                format!("`{name}` matches {}.", many.join(", ")),
                "Use more characters.",
            )),
        }
    }

    /// Like [`Parts::resolve`], but also accepts words of a title if they are unique. Not for irreversible actions. Reads
    /// a conversation from the store that another daemon has just begun.
    pub(crate) fn meant(&self, name: &str) -> Result<String, Refusal> {
        match self.meant_here(name) {
            Err(refusal)
                if refusal.code == ErrorCode::UnknownConversation
                    && self.read_new(name.strip_prefix(SESSION).unwrap_or(name))? =>
            {
                self.meant_here(name)
            }
            outcome => outcome,
        }
    }

    /// The same among the conversations that this daemon knows.
    pub(crate) fn meant_here(&self, name: &str) -> Result<String, Refusal> {
        let refusal = match self.resolve(if name == "@latest" { "active" } else { name }) {
            Err(refusal) if refusal.code == ErrorCode::UnknownConversation && !name.starts_with(SESSION) => refusal,
            outcome => return outcome,
        };
        let words = name.trim().to_lowercase();
        let directory = lock(&self.directory);
        let has_words = |card: &&Card| card.title.to_lowercase().contains(&words);
        let found: Vec<&Card> = directory.cards().filter(has_words).collect();
        match found.as_slice() {
            [one] => Ok(one.id.clone()),
            many if many.len() > 1 && !words.is_empty() => {
                let some: Vec<String> =
                    many.iter().take(5).map(|card| format!("{} ({})", card.id, card.title)).collect();
                let more = if many.len() > some.len() {
                    format!(" and {} more", many.len() - some.len())
                } else {
                    String::new()
                };
                Err(Refusal::new(
                    ErrorCode::AmbiguousConversation,
                    format!("Several titles contain `{name}`: {}{more}.", some.join(", ")),
                    "Use more of the title, or an id.",
                ))
            }
            _ => Err(refusal),
        }
    }

    /// Whether a conversation has exactly this id.
    pub(crate) fn has(&self, id: &str) -> Result<bool, Refusal> {
        match self.meant(id) {
            Ok(found) => Ok(found == id),
            Err(refusal) => match refusal.code {
                ErrorCode::UnknownConversation | ErrorCode::AmbiguousConversation => Ok(false),
                _ => Err(refusal),
            },
        }
    }

    pub(crate) fn conversation(&self, name: &str) -> Result<SharedConversation, Refusal> {
        let id = self.meant(name)?;
        let found = self.get(&id)?;
        found.ok_or_else(|| {
            Refusal::new(
                ErrorCode::UnknownConversation,
                format!("Conversation `{id}` no longer exists."),
                hint![Command::Conversations, " shows all conversations."],
            )
        })
    }

    /// A conversation whose stored bytes are needed: waits for pending writes.
    pub(crate) fn stored(&self, name: &str) -> Result<SharedConversation, Refusal> {
        let id = self.meant(name)?;
        let shared = self.conversation(&id)?;
        self.writer.settle_conversation(&id, self.patience());
        Ok(shared)
    }
}

/// The conversation with this id, or the main one of this session: the newest if it moved to another format.
fn exact(directory: &Directory, name: &str) -> Option<String> {
    if directory.card(name).is_some() {
        return Some(name.to_owned());
    }
    let is_main = |card: &&Card| card.session.as_deref() == Some(name) && card.agent.is_none();
    let newest = directory.cards().filter(is_main).max_by_key(|card| card.last_activity);
    newest.map(|card| card.id.clone())
}

fn no_session(session: &str) -> Refusal {
    Refusal::new(
        ErrorCode::UnknownConversation,
        format!("No conversation belongs to the session `{session}`."),
        hint![Command::Conversations, " lists them."],
    )
}
