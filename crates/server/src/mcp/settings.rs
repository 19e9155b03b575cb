//! The permissions of an agent.

use std::collections::BTreeSet;

use ctx_core::ErrorCode;

pub use ctx_api::operations::NAMES as OPERATIONS;

use super::ask::Refusal;

/// The history actions. The first two undo an agent's own edits.
pub const WAYS: [&str; 10] =
    ["undo", "redo", "revert", "rollback", "branch", "checkout", "tag", "remove_branch", "remove_tag", "heal"];

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Settings {
    /// Read-only: editing tools are not offered.
    pub read_only: bool,
    /// Only these operations; `None`: all. Undo and redo are always allowed.
    pub allow: Option<BTreeSet<String>>,
}

impl Settings {
    /// Combines settings; the stricter one wins, so no file can allow what another one forbids.
    pub fn and(self, other: Settings) -> Settings {
        let allow = match (self.allow, other.allow) {
            (Some(one), Some(another)) => Some(one.intersection(&another).cloned().collect()),
            (one, another) => one.or(another),
        };
        Settings { read_only: self.read_only || other.read_only, allow }
    }

    /// A list such as `delete,drop-results`; unknown names are errors.
    pub fn allowing<'a>(names: impl IntoIterator<Item = &'a str>) -> Result<BTreeSet<String>, String> {
        let known = |name: &&str| OPERATIONS.contains(name) || WAYS.contains(name);
        names
            .into_iter()
            .map(str::trim)
            .filter(|name| !name.is_empty())
            .map(|name| match known(&name) {
                true => Ok(name.to_owned()),
                false => Err(format!("no operation `{name}`; use {}", all().join(", "))),
            })
            .collect()
    }

    pub fn allows(&self, name: &str) -> bool {
        let is_way_back = matches!(name, "undo" | "redo");
        !self.read_only && self.allow.as_ref().is_none_or(|allow| is_way_back || allow.contains(name))
    }

    pub(super) fn check(&self, name: &str) -> Result<(), Refusal> {
        if self.read_only {
            return Err(Refusal::new(
                ErrorCode::ReadOnly,
                "This server is read-only.",
                "Tell the user what you would change; they can use `ctx`, or start the server without --read-only.",
            ));
        }
        if !self.allows(name) {
            let allow = self.allow.iter().flatten().map(String::as_str).collect::<Vec<_>>().join(", ");
            return Err(Refusal::new(
                ErrorCode::NotAllowed,
                format!("This server does not allow `{name}`, only {allow}."),
                "Use those, or ask the user to change --allow or [mcp] allow in ctx.toml.",
            ));
        }
        Ok(())
    }

    /// The allowed ones of a list.
    pub(super) fn of<'a>(&self, names: &[&'a str]) -> Vec<&'a str> {
        names.iter().copied().filter(|name| self.allows(name)).collect()
    }
}

fn all() -> Vec<&'static str> {
    OPERATIONS.into_iter().chain(WAYS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_of_operations_is_the_engines() {
        let told = serde_json::from_str::<ctx_api::edit::EditRequest>(r#"{"author":"a","operations":[{"op":"none"}]}"#)
            .expect_err("no such operation")
            .to_string();
        let expected: Vec<&str> = told.split('`').skip(3).step_by(2).collect();
        assert_eq!(expected, OPERATIONS, "{told}");
        let told = serde_json::from_str::<ctx_api::history::HistoryRequest>(r#"{"author":"a","action":"none"}"#)
            .expect_err("no such way")
            .to_string();
        let mut ways: Vec<&str> = told.split('`').skip(3).step_by(2).chain(["heal"]).collect();
        ways.sort_unstable();
        let mut ours = WAYS;
        ours.sort_unstable();
        assert_eq!(ways, ours, "{told}");
    }

    #[test]
    fn the_stricter_setting_counts_and_the_way_back_is_always_open() {
        let allowing = |names: &[&str]| Settings {
            allow: Some(Settings::allowing(names.iter().copied()).expect("known")),
            ..Settings::default()
        };
        let both = allowing(&["delete", "pin"]).and(allowing(&["pin", "edit"]));
        assert_eq!(both.of(&OPERATIONS), ["pin"]);
        assert!(both.allows("undo") && !both.allows("rollback"));
        let locked = both.and(Settings { read_only: true, allow: None });
        assert!(!locked.allows("pin") && !locked.allows("undo"));
        assert!(Settings::allowing(["delte"]).expect_err("unknown").contains("delete"));
        assert!(Settings::default().allows("delete"));
    }
}
