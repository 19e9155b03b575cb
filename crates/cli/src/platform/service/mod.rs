//! The daemon as a service of the user: started at login, restarted when it dies. Each service manager is data; this
//! file writes its definition and calls its program.

mod launchd;
mod systemd;
mod windows;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use ctx_core::ErrorCode;

use crate::env::Environment;
use crate::failure::Failure;

/// The program that the service runs, with its arguments.
#[derive(Debug, Clone)]
pub struct Definition {
    pub program: PathBuf,
    pub arguments: Vec<String>,
}

/// A service manager. In its commands, `{file}` is the definition and `{user}` the number of the user.
#[derive(Debug)]
pub struct Manager {
    pub name: &'static str,
    file: fn(&Environment) -> Option<PathBuf>,
    text: fn(&Definition) -> String,
    /// Registers the service and starts it.
    enable: &'static [&'static [&'static str]],
    /// Stops the service and forgets it, before its definition is removed.
    disable: &'static [&'static [&'static str]],
    /// Runs after the definition was removed.
    forget: &'static [&'static [&'static str]],
    restart: &'static [&'static str],
    /// Succeeds if the manager answers this user.
    reach: &'static [&'static str],
    /// Succeeds while the service runs.
    probe: &'static [&'static str],
    /// Advice if it refuses.
    hint: &'static str,
}

impl Manager {
    /// The service manager of this system.
    pub fn of_this_system() -> &'static Self {
        if cfg!(target_os = "macos") {
            &launchd::MANAGER
        } else if cfg!(windows) {
            &windows::MANAGER
        } else {
            &systemd::MANAGER
        }
    }

    /// The file of the definition.
    pub fn file(&self, environment: &Environment) -> Result<PathBuf, Failure> {
        (self.file)(environment).ok_or_else(|| {
            Failure::new(ErrorCode::NoHome, "the folder of the user's services is unknown: HOME is not set")
                .hint("set HOME and run this again")
        })
    }

    /// Whether the service runs.
    pub fn is_active(&self) -> bool {
        call(self.probe, Path::new("")).is_ok()
    }

    /// Fails if the manager does not answer. Changes nothing.
    pub fn reach(&self) -> Result<(), Failure> {
        call(self.reach, Path::new("")).map_err(|why| self.refused(&why))
    }

    pub fn restart(&self) -> Result<(), Failure> {
        call(self.restart, Path::new("")).map_err(|why| self.refused(&why))
    }

    /// Writes the definition and starts the service. If the manager refuses, the previous state returns.
    pub fn install(&self, definition: &Definition, environment: &Environment) -> Result<(), Failure> {
        let file = self.file(environment)?;
        let before = fs::read(&file).ok();
        let write = |bytes: &[u8]| {
            fs::create_dir_all(file.parent().unwrap_or(Path::new(".")))?;
            fs::write(&file, bytes)
        };
        write((self.text)(definition).as_bytes()).map_err(|error| Failure::file("write", &file, &error))?;
        for command in self.enable {
            if let Err(why) = call(command, &file) {
                let _ = self.disable.iter().try_for_each(|command| call(command, &file));
                let _ = match before {
                    Some(before) => write(&before),
                    None => fs::remove_file(&file),
                };
                return Err(self.refused(&why));
            }
        }
        Ok(())
    }

    /// Stops the service and removes its definition. False: there was none.
    pub fn uninstall(&self, environment: &Environment) -> Result<bool, Failure> {
        let file = self.file(environment)?;
        if !file.exists() {
            return Ok(false);
        }
        // A service that is stopped already, or a manager that is away, is no reason to keep the file.
        let _ = self.disable.iter().try_for_each(|command| call(command, &file));
        fs::remove_file(&file).map_err(|error| Failure::file("remove", &file, &error))?;
        let _ = self.forget.iter().try_for_each(|command| call(command, &file));
        Ok(true)
    }

    fn refused(&self, why: &str) -> Failure {
        Failure::new(ErrorCode::Service, format!("{} refused: {why}", self.name)).hint(self.hint)
    }
}

/// Runs a command of the manager; the error is its last line.
fn call(command: &[&str], file: &Path) -> Result<(), String> {
    let Some((program, arguments)) = command.split_first() else { return Ok(()) };
    let filled = arguments
        .iter()
        .map(|argument| argument.replace("{file}", &file.to_string_lossy()).replace("{user}", &user_number()));
    let ran = Command::new(program).args(filled).stdin(Stdio::null()).output();
    let output = ran.map_err(|error| format!("`{program}` did not start ({error})"))?;
    if output.status.success() {
        return Ok(());
    }
    let words = String::from_utf8_lossy(&output.stderr);
    let last = words.lines().rev().find(|line| !line.trim().is_empty());
    Err(last.map_or_else(|| format!("`{}` ended with {}", command.join(" "), output.status), str::to_owned))
}

#[cfg(unix)]
fn user_number() -> String {
    rustix::process::getuid().as_raw().to_string()
}

#[cfg(not(unix))]
fn user_number() -> String {
    String::new()
}

#[cfg(test)]
fn example() -> Definition {
    Definition {
        program: "/opt/my tools/ctx".into(),
        arguments: ["up", "--service", "--home", "/home/me/50% & \"more\""].map(str::to_owned).into(),
    }
}
