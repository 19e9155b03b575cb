//! Blocks that stay when the content around them is edited: the client's notes (project instructions, environment,
//! reminders), which are no events of their frame, and settings (a provider's compaction, declared tools), which
//! everything behind them depends on. Naming one removes it.

use super::{Desk, Scope, Target};
use crate::edit::fold::{Unit, ViewUnit};
use crate::edit::refusal::Refusal;
use crate::hint;
use crate::hint::Command;

impl Desk<'_> {
    pub fn stays(&self, laid: &ViewUnit) -> bool {
        match laid.unit {
            Unit::Source { message, block: Some(block) } => self.source.messages[message].stays(block),
            _ => false,
        }
    }

    /// The type of a setting.
    pub(super) fn setting(&self, laid: &ViewUnit) -> Option<&str> {
        match laid.unit {
            Unit::Source { message, block: Some(block) } => {
                let message = self.source.messages[message];
                message.is_setting(block).then(|| message.blocks.get(block)?.label.as_deref()).flatten()
            }
            _ => None,
        }
    }

    /// Whether a target consists only of such blocks and was therefore named for them.
    pub(super) fn is_named(&self, target: &Target) -> bool {
        matches!(target.scope, Scope::Block | Scope::Message)
            && !target.units.is_empty()
            && target.units.iter().all(|laid| self.stays(laid))
    }

    /// The targets without the blocks that stay, unless one was named itself.
    pub fn without_staying(&self, targets: Vec<Target>) -> Result<Vec<Target>, Refusal> {
        let names: Vec<String> = targets.iter().map(|target| target.name.clone()).collect();
        let has_setting = targets.iter().flat_map(|target| &target.units).any(|laid| self.setting(laid).is_some());
        let mut left = Vec::with_capacity(targets.len());
        for target in targets {
            if self.is_named(&target) || !target.units.iter().any(|laid| self.stays(laid)) {
                left.push(target);
                continue;
            }
            let units: Vec<ViewUnit> = target.units.iter().copied().filter(|laid| !self.stays(laid)).collect();
            if units.iter().any(|laid| laid.covered.is_none()) {
                left.push(Target { covers: self.cover(&units), weight: self.weight(&units), units, ..target });
            }
        }
        if left.is_empty() {
            let names = names.join(", ");
            let what = if has_setting { "settings that later content depends on" } else { "the client's own notes" };
            return Err(Refusal {
                hint: hint![
                    Command::Show.with(names.to_string()),
                    " shows their ids; to remove them, name those ids or ",
                    Command::Delete.with("--force"),
                    "."
                ],
                ..Refusal::nothing(format!("Only {what} are left in `{names}`, and they are kept."))
            });
        }
        Ok(left)
    }
}
