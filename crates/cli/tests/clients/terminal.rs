//! A program in a terminal: its screen is read, and its keys are pressed.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use crate::stage::needed;

pub struct Terminal {
    tmux: PathBuf,
    socket: PathBuf,
}

impl Terminal {
    /// Runs a command with its environment, and nothing else in it, in its folder. `None` if there is no tmux.
    pub fn open(socket: PathBuf, command: &Command) -> Option<Terminal> {
        let terminal = Terminal { tmux: needed("CTX_TEST_TMUX")?, socket };
        let mut new = terminal.tmux(&["new-session", "-d", "-s", "s", "-x", "160", "-y", "50"]);
        new.arg("env").arg("-i").arg("TERM=xterm-256color");
        for (name, value) in command.get_envs() {
            let mut pair = name.to_owned();
            pair.push("=");
            pair.push(value.unwrap_or_default());
            new.arg(pair);
        }
        new.arg(command.get_program()).args(command.get_args());
        new.current_dir(command.get_current_dir().unwrap_or(Path::new(".")));
        assert!(new.status().expect("tmux runs").success());
        Some(terminal)
    }

    fn tmux(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.tmux);
        command.arg("-S").arg(&self.socket).args(arguments);
        command
    }

    pub fn screen(&self) -> String {
        let output = self.tmux(&["capture-pane", "-p", "-t", "s"]).output().expect("tmux runs");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    pub fn press(&self, key: &str) {
        assert!(self.tmux(&["send-keys", "-t", "s", key]).status().expect("tmux runs").success());
        std::thread::sleep(Duration::from_millis(500));
    }

    /// Types a line and sends it.
    pub fn say(&self, text: &str) {
        assert!(self.tmux(&["send-keys", "-t", "s", "-l", "--", text]).status().expect("tmux runs").success());
        std::thread::sleep(Duration::from_millis(700));
        self.press("Enter");
    }

    pub fn wait_for(&self, text: &str) {
        let deadline = Instant::now() + Duration::from_secs(60);
        while !self.screen().contains(text) {
            assert!(Instant::now() < deadline, "never saw {text:?} on the screen:\n{}", self.screen());
            std::thread::sleep(Duration::from_millis(100));
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("the screen:\n{}", self.screen());
        }
        let _ = self.tmux(&["kill-server"]).status();
    }
}
