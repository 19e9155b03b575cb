//! What people and programs are shown. These types are the control API's JSON; nothing here is stored.

mod conversations;
mod frames;
mod show;
mod timeline;

pub use conversations::{ConversationView, Conversations};
pub use frames::{FrameView, Frames, StepView};
pub use show::{BlockView, MessageView, Shown};
pub use timeline::{Timeline, event};

use crate::Composer;
use crate::conversation::Conversation;
use crate::directory::{Shared, lock};
use crate::envelope::Whole;
use ctx_store::StoreError;

/// A question that could not be answered: what, why, and what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Refusal {
    pub code: &'static str,
    pub message: String,
    pub hint: String,
}

impl Refusal {
    fn new(code: &'static str, message: impl Into<String>, hint: impl Into<String>) -> Refusal {
        Refusal { code, message: message.into(), hint: hint.into() }
    }
}

impl From<StoreError> for Refusal {
    fn from(error: StoreError) -> Refusal {
        Refusal::new("store", format!("The store cannot be read: {error}."), "Run `ctx doctor` to see what is wrong.")
    }
}

impl Composer {
    /// The id that a person means by `name`: an id, the beginning of one, or `active`.
    pub fn resolve(&self, name: &str) -> Result<String, Refusal> {
        let directory = lock(&self.directory);
        if name == "active" || name.is_empty() {
            return directory.active().map(|card| card.id.clone()).ok_or_else(|| {
                Refusal::new(
                    "no-conversation",
                    "No conversation has passed yet.",
                    "Start one with `ctx run -- claude`.",
                )
            });
        }
        if directory.card(name).is_some() {
            return Ok(name.to_owned());
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
                    "unknown-conversation",
                    format!("No conversation `{name}`."),
                    suggest(&near, "`ctx conversations` lists them."),
                ))
            }
            many => Err(Refusal::new(
                "ambiguous-conversation",
                format!("`{name}` could be {}.", many.join(", ")),
                "Give a few more characters.",
            )),
        }
    }

    fn conversation(&self, name: &str) -> Result<Shared, Refusal> {
        let id = self.resolve(name)?;
        let found = self.get(&id)?;
        found.ok_or_else(|| {
            Refusal::new(
                "unknown-conversation",
                format!("Conversation `{id}` is gone."),
                "`ctx conversations` lists those there are.",
            )
        })
    }

    /// A conversation whose bytes are wanted: what still waits to be written is waited for.
    fn stored(&self, name: &str) -> Result<Shared, Refusal> {
        let shared = self.conversation(name)?;
        self.settle(crate::PATIENCE);
        Ok(shared)
    }

    /// Exactly the body that the provider would get if the newest request came again now.
    pub fn compose(&self, name: &str) -> Result<Vec<u8>, Refusal> {
        let shared = self.stored(name)?;
        let conversation = lock(&shared);
        let whole = rebuilt(self, &conversation)?;
        match whole.exact {
            true => Ok(whole.bytes),
            false => Err(Refusal::new(
                "credential",
                "This request carries a credential in its body. Credentials are never stored, so its exact bytes cannot be shown.",
                "`ctx show` shows the rest of it.",
            )),
        }
    }
}

fn rebuilt(composer: &Composer, conversation: &Conversation) -> Result<Whole, Refusal> {
    conversation.rebuild(&*composer.store)?.ok_or_else(|| {
        Refusal::new(
            "incomplete",
            format!("Conversation `{}` is not completely stored.", conversation.id),
            "Its next request completes it; `ctx doctor` tells whether the store is damaged.",
        )
    })
}

/// The known names most like `name`, best first.
fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut scored: Vec<(usize, &str)> = known.map(|other| (distance(name, other), other)).collect();
    scored.sort();
    let worst = name.chars().count().max(3) / 2 + 1;
    scored.into_iter().filter(|(distance, _)| *distance <= worst).take(3).map(|(_, other)| other).collect()
}

fn suggest(near: &[&str], otherwise: &str) -> String {
    match near {
        [] => otherwise.to_owned(),
        near => format!("Did you mean {}? {otherwise}", near.join(", ")),
    }
}

/// Letters to insert, delete or replace to get from one to the other.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut before = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let cost = before + usize::from(x != *y);
            before = row[j + 1];
            row[j + 1] = cost.min(before + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_names_are_offered() {
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(nearest("t13", ["t1", "t3", "t12", "system"].into_iter()), ["t1", "t12", "t3"]);
        assert!(nearest("zzzzzz", ["t1", "system"].into_iter()).is_empty());
    }
}
