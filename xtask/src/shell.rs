//! Running other programs: found or not, passed or not, with their output shown or kept.

use std::env;
use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::failure::{Failure, Outcome};
use crate::workspace;

/// npm, which is a script on Windows.
pub const NPM: &str = if cfg!(windows) { "npm.cmd" } else { "npm" };

/// A command in the checkout's root that cannot wait for input.
pub fn command(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    command.current_dir(workspace::root()).stdin(Stdio::null());
    // `cargo run` describes this crate in the environment. Build scripts that watch those variables
    // would see a change and build again, once from here and once from a plain `cargo build`.
    for (name, _) in env::vars_os() {
        let inherited = name.to_str().is_some_and(|name| {
            name.starts_with("CARGO_PKG_")
                || name.starts_with("CARGO_MANIFEST_")
                || matches!(name, "CARGO_BIN_NAME" | "CARGO_CRATE_NAME" | "CARGO_PRIMARY_PACKAGE")
        });
        if inherited {
            command.env_remove(name);
        }
    }
    command
}

/// The cargo that runs this program, or the one on the PATH.
pub fn cargo() -> Command {
    let mut cargo = command(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    if workspace::on_ci() {
        // Everything is compiled once, and a panic names its line anyway: what helps the next build, or a debugger, only
        // takes time.
        cargo.env("CARGO_INCREMENTAL", "0").env("CARGO_PROFILE_DEV_DEBUG", "0");
    }
    cargo
}

pub fn found(program: &str) -> bool {
    find(program).is_some()
}

/// The program's path, looked up on the PATH and in the folders of system daemons.
pub fn find(program: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path)
        .chain(["/usr/sbin".into(), "/sbin".into()])
        .map(|folder| folder.join(program))
        .find(|candidate| candidate.is_file())
}

/// Runs to the end with the output shown.
pub fn run(command: &mut Command) -> Outcome {
    let line = shown(command);
    let status = command.status().map_err(|error| not_started(&line, &error))?;
    if status.success() {
        return Ok(());
    }
    Err(Failure::new(format!("`{line}` ended with {status}")))
}

/// Runs to the end; shows the output only if it fails.
pub fn run_quietly(command: &mut Command) -> Outcome {
    let line = shown(command);
    let output = command.output().map_err(|error| not_started(&line, &error))?;
    if output.status.success() {
        return Ok(());
    }
    let words = [output.stdout, output.stderr].concat();
    Err(Failure::new(format!("`{line}` ended with {}:\n{}", output.status, String::from_utf8_lossy(&words))))
}

/// Runs to the end with standard output shown and handed to `each_line`; true when it passed.
pub fn watch(command: &mut Command, mut each_line: impl FnMut(&str)) -> Outcome<bool> {
    let line = shown(command);
    let mut child = command.stdout(Stdio::piped()).spawn().map_err(|error| not_started(&line, &error))?;
    let broken = |error: std::io::Error| Failure::new(format!("reading from `{line}`: {error}"));
    if let Some(output) = child.stdout.take() {
        let mut reader = BufReader::new(output);
        let mut bytes = Vec::new();
        while reader.read_until(b'\n', &mut bytes).map_err(broken)? > 0 {
            let mut out = std::io::stdout().lock();
            // A closed output is no reason to stop the tests.
            let _ = out.write_all(&bytes).and_then(|()| out.flush());
            each_line(String::from_utf8_lossy(&bytes).trim_end());
            bytes.clear();
        }
    }
    Ok(child.wait().map_err(broken)?.success())
}

/// Standard output of a command that passed; None when it could not start or failed.
pub fn output(command: &mut Command) -> Option<String> {
    let output = command.stderr(Stdio::null()).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// The command as a person would type it from the checkout's root.
pub fn shown(command: &Command) -> String {
    let program = Path::new(command.get_program());
    let program = program.file_name().unwrap_or(program.as_os_str());
    std::iter::once(program).chain(command.get_args()).map(OsStr::to_string_lossy).collect::<Vec<_>>().join(" ")
}

fn not_started(line: &str, error: &std::io::Error) -> Failure {
    Failure::new(format!("`{line}` did not start: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_that_fails_is_named_in_the_failure() {
        let failure = run(command("sh").args(["-c", "exit 3"])).unwrap_err();
        assert!(failure.to_string().contains("sh -c exit 3"), "{failure}");
    }

    #[test]
    fn output_of_a_quiet_command_is_in_its_failure() {
        let failure = run_quietly(command("sh").args(["-c", "echo one; echo two >&2; exit 3"])).unwrap_err();
        assert!(failure.to_string().contains("one\ntwo\n"), "{failure}");
        assert!(run_quietly(command("echo").arg("unseen")).is_ok());
    }

    #[test]
    fn a_program_that_does_not_exist_is_a_failure_and_not_a_panic() {
        assert!(run(&mut command("no-such-program-here")).is_err());
        assert!(!found("no-such-program-here"));
        assert_eq!(output(&mut command("no-such-program-here")), None);
    }

    #[test]
    fn watching_hands_over_every_line_even_when_it_is_not_text() {
        let mut lines = Vec::new();
        let passed = watch(command("printf").arg("one\\n\\377two\\nthree\\n"), |line| {
            lines.push(line.to_owned());
        });
        assert!(passed.unwrap());
        assert_eq!(lines, ["one", "\u{fffd}two", "three"]);
    }

    #[test]
    fn children_do_not_inherit_what_cargo_says_about_this_crate() {
        let seen = output(&mut command("env")).unwrap();
        assert!(!seen.contains("CARGO_PKG_NAME"), "{seen}");
    }
}
