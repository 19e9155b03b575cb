//! For people who want the program: build it and start it, or install it.

use std::env;
use std::path::PathBuf;
use std::process::Command;
use std::thread;
use std::time::Instant;

use crate::failure::{Failure, Outcome};
use crate::{page, shell, workspace};

/// Compiles much faster than `release`.
const PROFILE: &str = "quick";

/// Builds everything and becomes `ctx up`, so that signals and the exit code are the daemon's own.
pub fn run(arguments: &[String]) -> Outcome {
    let for_daemon = match arguments.split_first() {
        Some((first, rest)) if first == "--" => rest,
        _ => arguments,
    };
    let binary = target_folder()?.join(PROFILE).join(binary_name());
    let is_first = !binary.exists();
    if is_first {
        println!(
            "ctx: building the page (half a minute) and the program (240 parts, four minutes on two cores); \
             later starts take seconds"
        );
    }
    let start = Instant::now();
    build(is_first)?;
    if is_first {
        println!("ctx: built in {} s", start.elapsed().as_secs());
    }
    if !shell::found(&binary_name()) {
        println!("ctx: the program is {}; `cargo xtask install` puts it on the PATH", binary.display());
    }
    let mut daemon = Command::new(binary);
    daemon.arg("up").args(for_daemon);
    become_process(daemon)
}

/// Builds page and program. The first time they are built at once: cargo embeds the page late, when it is there; should
/// it not be, the second build embeds it.
fn build(is_first: bool) -> Outcome {
    let program =
        || shell::run(shell::cargo().args(["build", "--profile", PROFILE, "--locked", "--package", "ctx-cli"]));
    if !is_first {
        page::build_if_possible()?;
        return program();
    }
    let page = thread::spawn(page::build_if_possible);
    let built = program();
    page.join().map_err(|_| Failure::new("the page cannot be built"))??;
    built?;
    program()
}

pub fn install() -> Outcome {
    page::build_if_possible()?;
    println!("ctx: building with all optimisations, ten minutes on two cores, and installing");
    shell::run(shell::cargo().args(["install", "--locked", "--path", "crates/cli"]))?;
    let folder = install_folder()?;
    let on_path = env::var_os("PATH").is_some_and(|path| env::split_paths(&path).any(|entry| entry == folder));
    let place = folder.display();
    if on_path {
        println!("ctx is in {place}, which is on the PATH. Try: ctx run -- claude");
    } else {
        println!("ctx is in {place}, which is not on the PATH. Add it: export PATH=\"{place}:$PATH\"");
    }
    Ok(())
}

/// The folder in which `cargo install` puts programs.
fn install_folder() -> Outcome<PathBuf> {
    let home = || env::var_os("HOME").or_else(|| env::var_os("USERPROFILE"));
    env::var_os("CARGO_INSTALL_ROOT")
        .or_else(|| env::var_os("CARGO_HOME"))
        .map(PathBuf::from)
        .or_else(|| home().map(|home| PathBuf::from(home).join(".cargo")))
        .map(|root| root.join("bin"))
        .ok_or_else(|| Failure::new("no CARGO_HOME or HOME tells where cargo installs programs"))
}

/// Where cargo builds, which the user's own settings may have moved out of the checkout: this program
/// was built there as well, as `<target>/<profile>/xtask`.
pub fn target_folder() -> Outcome<PathBuf> {
    if let Some(folder) = env::var_os("CARGO_TARGET_DIR") {
        return Ok(workspace::root().join(folder));
    }
    let own = env::current_exe().map_err(|error| Failure::new(format!("this program's own path: {error}")))?;
    own.ancestors()
        .nth(2)
        .map(PathBuf::from)
        .ok_or_else(|| Failure::new(format!("{} lies in no target folder", own.display())))
}

fn binary_name() -> String {
    format!("ctx{}", env::consts::EXE_SUFFIX)
}

#[cfg(unix)]
fn become_process(mut command: Command) -> Outcome {
    use std::os::unix::process::CommandExt;
    let line = shell::shown(&command);
    let error = command.exec();
    Err(Failure::new(format!("`{line}` did not start: {error}")))
}

#[cfg(not(unix))]
fn become_process(mut command: Command) -> Outcome {
    shell::run(&mut command)
}
