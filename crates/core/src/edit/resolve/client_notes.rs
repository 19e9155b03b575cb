//! The client's notes: project instructions, environment, reminders. They are inside frames but not part of the events
//! there. Editing a frame keeps them; naming one removes it.

use super::{Desk, Scope, Target};
use crate::edit::fold::{Unit, ViewUnit};
use crate::edit::refusal::Refusal;
use crate::hint;
use crate::hint::Command;

impl Desk<'_> {
    pub fn is_client_note(&self, laid: &ViewUnit) -> bool {
        match laid.unit {
            Unit::Source { message, block: Some(block) } => self.source.messages[message].is_client_note(block),
            _ => false,
        }
    }

    /// Whether a target consists only of notes and was therefore named for them.
    pub(super) fn is_named_note(&self, target: &Target) -> bool {
        matches!(target.scope, Scope::Block | Scope::Message)
            && !target.units.is_empty()
            && target.units.iter().all(|laid| self.is_client_note(laid))
    }

    /// The targets without the client's notes in them, unless a note was named itself.
    pub fn without_client_notes(&self, targets: Vec<Target>) -> Result<Vec<Target>, Refusal> {
        let names: Vec<String> = targets.iter().map(|target| target.name.clone()).collect();
        let mut left = Vec::with_capacity(targets.len());
        for target in targets {
            if self.is_named_note(&target) || !target.units.iter().any(|laid| self.is_client_note(laid)) {
                left.push(target);
                continue;
            }
            let units: Vec<ViewUnit> = target.units.iter().copied().filter(|laid| !self.is_client_note(laid)).collect();
            if units.iter().any(|laid| laid.covered.is_none()) {
                left.push(Target { covers: self.cover(&units), weight: self.weight(&units), units, ..target });
            }
        }
        if left.is_empty() {
            let names = names.join(", ");
            return Err(Refusal {
                hint: hint![
                    Command::Show.with(names.to_string()),
                    " shows their ids; to remove them, name those ids or ",
                    Command::Delete.with("--force"),
                    "."
                ],
                ..Refusal::nothing(format!("Only the client's own notes are left in `{names}`, and they are kept."))
            });
        }
        Ok(left)
    }
}
