//! The author of an edit. In a team the daemon writes it from the caller's key; otherwise the client names itself.

use axum::Json;
use axum::extract::rejection::JsonRejection;
use ctx_api::edit::{Clear, EditRequest, Heal};
use ctx_api::history::HistoryRequest;
use ctx_api::phases::PhaseRequest;
use ctx_api::plan::Plan;
use ctx_api::waiting::{Cancel, Several};
use ctx_core::ErrorCode;
use ctx_core::edit::Operation;
use ctx_core::hint;
use ctx_core::hint::Command;
use ctx_team::AGENT;

use super::Api;
use super::read::understood;
use crate::local::ControlError;
use crate::team::guest;

/// The names that agents and programs on their behalf give themselves.
const AGENTS: [&str; 2] = ["agent", "mcp"];

/// A body with an author.
pub trait HasAuthor {
    fn author(&mut self) -> &mut String;

    /// Another conversation that it reads.
    fn reads(&self) -> Option<&str> {
        None
    }
}

impl Api {
    /// A parsed body with its true author.
    pub fn signed<T: HasAuthor>(&self, body: Result<Json<T>, JsonRejection>) -> Result<T, ControlError> {
        let mut body = understood(body)?;
        // A guest may use one conversation of the owner, and no other.
        if let Some(name) = body.reads().filter(|_| self.1.is_some()) {
            return Err(ControlError {
                about: Some(name.to_owned()),
                ..ControlError::new(
                    ErrorCode::UnknownConversation,
                    format!("No conversation `{name}`."),
                    hint![Command::Conversations, " lists them."],
                )
            });
        }
        if let (Some(name), Some(seat)) = (body.reads(), &self.0.seat)
            && self.0.service.resolve(name).is_err()
            && let Some(owner) = guest::owner_of(seat, name)
        {
            return Err(ControlError {
                about: Some(name.to_owned()),
                ..ControlError::new(
                    ErrorCode::RoleNeeded,
                    format!("`{name}` belongs to {owner}: you can import only from conversations of your own."),
                    hint!["Read it there, and write what you need of it here: ", Command::Add, "."],
                )
            });
        }
        let author = self.author(body.author());
        *body.author() = author;
        Ok(body)
    }

    /// The person who imports, in a team.
    pub fn importer(&self) -> Option<String> {
        self.0.seat.as_ref().map(|seat| seat.name())
    }

    fn author(&self, given: &str) -> String {
        let Some(seat) = &self.0.seat else { return given.to_owned() };
        let name = self.1.as_ref().map_or_else(|| seat.name(), |guest| guest.name.clone());
        if AGENTS.contains(&given) { format!("{name}{AGENT}") } else { name }
    }
}

fn import<'a>(mut operations: impl Iterator<Item = &'a Operation>) -> Option<&'a str> {
    operations.find_map(|operation| match operation {
        Operation::Import { from, .. } => Some(from.as_str()),
        _ => None,
    })
}

impl HasAuthor for EditRequest {
    fn author(&mut self) -> &mut String {
        &mut self.author
    }

    fn reads(&self) -> Option<&str> {
        import(self.operations.iter())
    }
}

impl HasAuthor for Plan {
    fn author(&mut self) -> &mut String {
        &mut self.author
    }

    fn reads(&self) -> Option<&str> {
        import(self.operations.iter().map(|planned| &planned.operation))
    }
}

macro_rules! signed {
    ($($body:ty),*) => {
        $(impl HasAuthor for $body {
            fn author(&mut self) -> &mut String {
                &mut self.author
            }
        })*
    };
}

signed!(HistoryRequest, Heal, Clear, PhaseRequest, Cancel, Several);
