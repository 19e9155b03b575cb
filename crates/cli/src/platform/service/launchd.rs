//! launchd: an agent of the user. Written by the documentation of launchd.plist(5) and launchctl(1); never run.

use std::path::PathBuf;

use super::{Definition, Manager};
use crate::env::{self, Environment};

pub static MANAGER: Manager = Manager {
    name: "launchd",
    file,
    text,
    enable: &[&["launchctl", "bootstrap", "gui/{user}", "{file}"]],
    disable: &[&["launchctl", "bootout", "gui/{user}/dev.context-composer.ctx"]],
    forget: &[],
    restart: &["launchctl", "kickstart", "-k", "gui/{user}/dev.context-composer.ctx"],
    reach: &["launchctl", "print", "gui/{user}"],
    probe: &["launchctl", "print", "gui/{user}/dev.context-composer.ctx"],
    hint: "without a graphical login, run the daemon with `ctx up`; nothing was changed",
};

fn file(environment: &Environment) -> Option<PathBuf> {
    let home = PathBuf::from(environment.get(env::USER_HOME)?);
    Some(home.join("Library/LaunchAgents/dev.context-composer.ctx.plist"))
}

fn text(definition: &Definition) -> String {
    let program = definition.program.to_string_lossy();
    let words = std::iter::once(&*program).chain(definition.arguments.iter().map(String::as_str));
    let words: String = words.map(|word| format!("    <string>{}</string>\n", escaped(word))).collect();
    format!(
        r#"<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
  <key>Label</key>
  <string>dev.context-composer.ctx</string>
  <key>ProgramArguments</key>
  <array>
{words}  </array>
  <key>RunAtLoad</key>
  <true/>
  <key>KeepAlive</key>
  <dict>
    <key>SuccessfulExit</key>
    <false/>
  </dict>
  <key>ExitTimeOut</key>
  <integer>20</integer>
  <key>Umask</key>
  <integer>63</integer>
</dict>
</plist>
"#
    )
}

fn escaped(word: &str) -> String {
    word.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_agent_starts_at_login_and_again_when_it_dies() {
        let plist = text(&super::super::example());
        assert!(plist.contains("    <string>/opt/my tools/ctx</string>\n    <string>up</string>\n"), "{plist}");
        assert!(plist.contains("<string>/home/me/50% &amp; \"more\"</string>"), "{plist}");
        assert!(plist.contains("<key>SuccessfulExit</key>\n    <false/>"), "{plist}");
        let place = file(&Environment::of(&[("HOME", "/Users/me")])).expect("a file");
        assert!(place.ends_with("Library/LaunchAgents/dev.context-composer.ctx.plist"));
    }
}
