//! The locations of Claude Code's files.

use super::skill;
use crate::claude_code::folders;
use crate::setup::{Scope, SetupError};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use ctx_core::ErrorCode;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Places {
    pub settings: PathBuf,
    pub skill: PathBuf,
    /// The file that registers MCP servers.
    pub servers: PathBuf,
}

impl Places {
    /// Finds the locations. `variable` looks up an environment variable; an empty one is unset.
    pub fn find(scope: Scope, folder: &Path, variable: impl Fn(&str) -> Option<OsString>) -> Result<Self, SetupError> {
        let absolute =
            |path: PathBuf| std::path::absolute(&path).map_err(|error| SetupError::file("find", &path, error));
        let (config, servers) = match scope {
            Scope::Project => (folder.join(folders::CONFIG), folder.join(".mcp.json")),
            Scope::User => {
                let (config, servers) = folders::of_user(variable).ok_or_else(|| {
                    SetupError::new(
                        ErrorCode::NoHome,
                        "the folder of Claude Code's settings is unknown: HOME is not set",
                        "set CLAUDE_CONFIG_DIR, or use --scope project",
                    )
                })?;
                (config, servers.join(".claude.json"))
            }
        };
        let config = absolute(config)?;
        Ok(Self {
            settings: config.join("settings.json"),
            skill: config.join(folders::SKILLS).join(skill::NAME).join("SKILL.md"),
            servers: absolute(servers)?,
        })
    }

    pub fn all(&self) -> [&Path; 3] {
        [&self.settings, &self.skill, &self.servers]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variables<'v>(values: &'v [(&str, &str)]) -> impl Fn(&str) -> Option<OsString> + 'v {
        |name| values.iter().find(|(known, _)| *known == name).map(|(_, value)| value.into())
    }

    #[test]
    fn the_clients_own_variable_is_honoured_and_a_project_has_its_own_places() {
        let found = |scope, values: &[(&str, &str)]| {
            let places = Places::find(scope, Path::new("/project"), variables(values)).expect("places");
            places.all().map(|path| path.display().to_string())
        };
        let skill = "skills/compose-context/SKILL.md";
        assert_eq!(
            found(Scope::User, &[("HOME", "/me")]),
            ["/me/.claude/settings.json".to_owned(), format!("/me/.claude/{skill}"), "/me/.claude.json".to_owned()]
        );
        assert_eq!(
            found(Scope::User, &[("HOME", "/me"), ("CLAUDE_CONFIG_DIR", "/cfg")]),
            ["/cfg/settings.json".to_owned(), format!("/cfg/{skill}"), "/cfg/.claude.json".to_owned()]
        );
        assert_eq!(
            found(Scope::Project, &[("CLAUDE_CONFIG_DIR", "/cfg")]),
            [
                "/project/.claude/settings.json".to_owned(),
                format!("/project/.claude/{skill}"),
                "/project/.mcp.json".to_owned()
            ]
        );
        let nothing = Places::find(Scope::User, Path::new("/project"), variables(&[])).expect_err("refused");
        assert_eq!(nothing.code(), ErrorCode::NoHome);
    }
}
