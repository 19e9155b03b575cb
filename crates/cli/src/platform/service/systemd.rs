//! systemd: a unit of the user's own instance.

use std::path::PathBuf;

use super::{Definition, Manager};
use crate::env::{self, Environment};

pub static MANAGER: Manager = Manager {
    name: "systemd",
    file,
    text,
    enable: &[&["systemctl", "--user", "daemon-reload"], &["systemctl", "--user", "enable", "--now", "ctx.service"]],
    disable: &[&["systemctl", "--user", "disable", "--now", "ctx.service"]],
    forget: &[&["systemctl", "--user", "daemon-reload"]],
    restart: &["systemctl", "--user", "restart", "ctx.service"],
    reach: &["systemctl", "--user", "show-environment"],
    probe: &["systemctl", "--user", "--quiet", "is-active", "ctx.service"],
    hint: "without a login session of systemd, run the daemon with `ctx up`; nothing was changed",
};

fn file(environment: &Environment) -> Option<PathBuf> {
    // The standard requires ignoring a relative path here.
    let config = environment.get(env::XDG_CONFIG_HOME).map(PathBuf::from).filter(|path| path.is_absolute());
    let config = config.or_else(|| Some(PathBuf::from(environment.get(env::USER_HOME)?).join(".config")))?;
    Some(config.join("systemd/user/ctx.service"))
}

fn text(definition: &Definition) -> String {
    let program = quoted(&definition.program.to_string_lossy());
    let arguments: Vec<String> = definition.arguments.iter().map(|argument| quoted(argument)).collect();
    include_str!("ctx.service").replace("{command}", &format!("{program} {}", arguments.join(" ")))
}

/// A word of `ExecStart`: specifiers and variables are escaped, everything else is quoted if necessary.
fn quoted(word: &str) -> String {
    let escaped = word.replace('\\', "\\\\").replace('"', "\\\"").replace('%', "%%").replace('$', "$$");
    let is_plain = |letter: char| letter.is_alphanumeric() || "/._-+:=@,".contains(letter);
    if word.chars().all(is_plain) && !word.is_empty() { escaped } else { format!("\"{escaped}\"") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_unit_runs_the_daemon_at_login_and_again_when_it_dies() {
        let unit = text(&super::super::example());
        let line = "ExecStart=\"/opt/my tools/ctx\" up --service --home \"/home/me/50%% & \\\"more\\\"\"\n";
        assert!(unit.contains(line), "{unit}");
        for line in ["Restart=on-failure\n", "WantedBy=default.target\n", "UMask=0077\n", "TimeoutStopSec=20\n"] {
            assert!(unit.contains(line), "{line} {unit}");
        }
    }

    #[test]
    fn the_unit_is_in_the_users_configuration() {
        let found = |values: &[(&str, &str)]| file(&Environment::of(values)).map(|path| path.display().to_string());
        assert_eq!(found(&[("HOME", "/h")]).as_deref(), Some("/h/.config/systemd/user/ctx.service"));
        let both = [("HOME", "/h"), ("XDG_CONFIG_HOME", "/c")];
        assert_eq!(found(&both).as_deref(), Some("/c/systemd/user/ctx.service"));
        assert_eq!(found(&[]), None);
    }
}
