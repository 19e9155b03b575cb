//! Where stock Claude Code keeps what concerns us.

use std::path::{Path, PathBuf};

use clap::ValueEnum;

use super::skill;
use crate::env::{self, Environment};
use crate::failure::Failure;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Scope {
    /// Every project of this user
    User,
    /// The project in the current folder
    Project,
}

impl Scope {
    pub fn name(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Project => "project",
        }
    }

    pub fn other(self) -> Self {
        match self {
            Self::User => Self::Project,
            Self::Project => Self::User,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Places {
    pub settings: PathBuf,
    pub skill: PathBuf,
    /// Where MCP servers are named.
    pub servers: PathBuf,
}

impl Places {
    pub fn find(scope: Scope, environment: &Environment, folder: &Path) -> Result<Self, Failure> {
        let absolute = |path: PathBuf| std::path::absolute(&path).map_err(|error| Failure::file("find", &path, &error));
        let (config, servers) = match scope {
            Scope::Project => (folder.join(".claude"), folder.join(".mcp.json")),
            Scope::User => match environment.get(env::CLAUDE_CONFIG_DIR).map(PathBuf::from) {
                Some(config) => (config.clone(), config.join(".claude.json")),
                None => {
                    let home = environment.get(env::USER_HOME).map(PathBuf::from).ok_or_else(|| {
                        Failure::new("no-home", "the folder of Claude Code's settings is unknown: HOME is not set")
                            .hint("set CLAUDE_CONFIG_DIR, or use --scope project")
                    })?;
                    (home.join(".claude"), home.join(".claude.json"))
                }
            },
        };
        let config = absolute(config)?;
        Ok(Self {
            settings: config.join("settings.json"),
            skill: config.join("skills").join(skill::NAME).join("SKILL.md"),
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

    #[test]
    fn the_clients_own_variable_is_honoured_and_a_project_has_its_own_places() {
        let found = |scope, values: &[(&str, &str)]| {
            let places = Places::find(scope, &Environment::of(values), Path::new("/project")).expect("places");
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
        let nothing = Places::find(Scope::User, &Environment::of(&[]), Path::new("/project")).expect_err("refused");
        assert_eq!(nothing.code, "no-home");
    }
}
