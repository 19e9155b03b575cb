//! What people and programs are shown. These types are the control API's JSON; nothing here is stored.

mod cache;
mod context;
mod conversations;
mod frames;
mod ledger;
mod map;
mod misses;
mod models;
mod readable;
mod search;
mod sent;
pub(crate) mod show;
mod timeline;
pub(crate) mod titles;
mod worth;

pub(crate) use conversations::Weighed;
pub use ledger::Asked;
pub(crate) use ledger::Ledger;
pub(crate) use ledger::day_and_time;
pub use search::terms;
pub(crate) use worth::Remembered;

use crate::conversation::Conversation;
use crate::directory::{Shared, lock};
use crate::envelope::Whole;
use crate::{Composer, Engine};
use ctx_core::edit::refusal::{nearest, suggest};
use ctx_core::hint;
use ctx_core::hint::Command;
use ctx_core::{ErrorCode, Hint};
use ctx_store::StoreError;
use ctx_wire::rules;

/// Something that could not be done or answered: what, why, and what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Refusal {
    pub code: ErrorCode,
    pub message: String,
    pub hint: Hint,
    /// The name that the error is about.
    pub about: Option<String>,
}

impl Refusal {
    pub fn new(code: ErrorCode, message: impl Into<String>, hint: impl Into<Hint>) -> Refusal {
        Refusal { code, message: message.into(), hint: hint.into(), about: None }
    }

    /// Adds the name that the error is about.
    pub fn about(self, name: &str) -> Refusal {
        Refusal { about: Some(name.to_owned()), ..self }
    }
}

impl From<ctx_core::edit::Refusal> for Refusal {
    fn from(refusal: ctx_core::edit::Refusal) -> Refusal {
        Refusal::new(refusal.code, rules::spelled_out(&refusal.message), refusal.hint.map_text(rules::spelled_out))
    }
}

impl From<StoreError> for Refusal {
    fn from(error: StoreError) -> Refusal {
        Refusal::new(
            ErrorCode::Store,
            format!("The store cannot be read: {error}."),
            hint!["Run ", Command::Doctor, " to see what is wrong."],
        )
    }
}

impl Composer {
    /// The id that somebody means by `name`: an id or a session, the beginning of one, or `active`. A whole session
    /// is its main conversation: an agent that names its own session means itself, not those that it started.
    pub fn resolve(&self, name: &str) -> Result<String, Refusal> {
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
        if directory.card(name).is_some() {
            return Ok(name.to_owned());
        }
        let is_main = |card: &&crate::directory::Card| card.session.as_deref() == Some(name) && card.agent.is_none();
        if let Some(main) = directory.cards().find(is_main) {
            return Ok(main.id.clone());
        }
        let matches = |card: &&crate::directory::Card| {
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
                format!("`{name}` could be {}.", many.join(", ")),
                "Give a few more characters.",
            )),
        }
    }

    /// Like [`Composer::resolve`], but words of a title do as well if no other has them. Not for what cannot be
    /// taken back.
    pub fn meant(&self, name: &str) -> Result<String, Refusal> {
        let refusal = match self.resolve(if name == "@latest" { "active" } else { name }) {
            Err(refusal) if refusal.code == ErrorCode::UnknownConversation => refusal,
            outcome => return outcome,
        };
        let words = name.trim().to_lowercase();
        let directory = lock(&self.directory);
        let has_words = |card: &&crate::directory::Card| card.title.to_lowercase().contains(&words);
        let found: Vec<&crate::directory::Card> = directory.cards().filter(has_words).collect();
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
                    format!("`{name}` is in several titles: {}{more}.", some.join(", ")),
                    "Give more of the title, or an id.",
                ))
            }
            _ => Err(refusal),
        }
    }

    pub(crate) fn conversation(&self, name: &str) -> Result<Shared, Refusal> {
        let id = self.meant(name)?;
        let found = self.get(&id)?;
        found.ok_or_else(|| {
            Refusal::new(
                ErrorCode::UnknownConversation,
                format!("Conversation `{id}` is gone."),
                hint![Command::Conversations, " lists those there are."],
            )
        })
    }

    /// A conversation whose bytes are wanted: what still waits to be written is waited for.
    pub(crate) fn stored(&self, name: &str) -> Result<Shared, Refusal> {
        let id = self.meant(name)?;
        let shared = self.conversation(&id)?;
        self.writer.settle_conversation(&id, crate::PATIENCE);
        Ok(shared)
    }
}

pub(crate) fn rebuilt(engine: &Engine, conversation: &Conversation) -> Result<Whole, Refusal> {
    conversation.rebuild(&*engine.contents)?.ok_or_else(|| {
        Refusal::new(
            ErrorCode::Incomplete,
            format!("Conversation `{}` is not completely stored.", conversation.id),
            hint!["Its next request completes it; ", Command::Doctor, " shows whether the store is damaged."],
        )
    })
}
