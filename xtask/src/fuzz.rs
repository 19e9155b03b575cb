//! A short run of every fuzz target in `fuzz/`, so that a parser that panics on odd bytes is found early.
//! fuzz/README.md describes the targets, and how to continue from a finding.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::failure::{Failure, Outcome};
use crate::{shell, workspace};

/// A single input that takes longer than this is a finding.
const SECONDS_PER_INPUT: u64 = 10;

/// Builds all targets at a low priority, so that it can go on beside tests.
pub fn build() -> Outcome {
    let folder = workspace::root().join("fuzz");
    let mut build = match shell::find("nice") {
        Some(nice) => shell::command(nice),
        None => return shell::run(cargo_in(&folder).args(BUILD)),
    };
    let cargo = cargo_in(&folder);
    build.args(["-n", "19"]).arg(cargo.get_program()).args(BUILD).current_dir(&folder);
    build.envs(cargo.get_envs().filter_map(|(name, value)| Some((name, value?))));
    shell::run(&mut build)
}

const BUILD: [&str; 5] = ["build", "--release", "--locked", "--bins", "--quiet"];

/// Five minutes for all targets at once, on paths that differ from run to run, if `long`; else a moment on the same path.
pub fn run_all(long: bool) -> Outcome {
    let time = Duration::from_secs(if long { 300 } else { 20 });
    let folder = workspace::root().join("fuzz");
    let targets = targets(&folder)?;
    println!("fuzzing {} for {} s", targets.join(" and "), time.as_secs());
    std::thread::scope(|scope| {
        let folder = &folder;
        let running: Vec<_> =
            targets.iter().map(|target| scope.spawn(move || run(folder, target, time, long))).collect();
        running.into_iter().try_for_each(|run| run.join().unwrap_or_else(|_| Err(Failure::new("a fuzz run panicked"))))
    })
}

fn run(folder: &Path, target: &str, time: Duration, long: bool) -> Outcome {
    let corpus = PathBuf::from("corpus").join(target);
    for made in [corpus.as_path(), Path::new("artifacts")] {
        fs::create_dir_all(folder.join(made))
            .map_err(|error| Failure::new(format!("{}: {error}", folder.join(made).display())))?;
    }
    let mut fuzz = cargo_in(folder);
    fuzz.args(["run", "--release", "--locked", "--quiet", "--bin", target, "--"]).arg(&corpus);
    let seeds = PathBuf::from("seeds").join(target);
    if folder.join(&seeds).is_dir() {
        fuzz.arg(seeds);
    }
    let dictionary = format!("{target}.dict");
    if folder.join(&dictionary).is_file() {
        fuzz.arg(format!("-dict={dictionary}"));
    }
    fuzz.arg(format!("-max_total_time={}", time.as_secs()));
    if !long {
        fuzz.arg("-seed=1");
    }
    fuzz.arg(format!("-timeout={SECONDS_PER_INPUT}"));
    fuzz.args(["-artifact_prefix=artifacts/", "-print_final_stats=1", "-verbosity=0"]);
    shell::run(&mut fuzz).map_err(|_| {
        Failure::new(format!("fuzz target {target} broke"))
            .hint("the input that broke it is in fuzz/artifacts; fuzz/README.md says how to run it alone")
    })
}

/// The compiler's flags for fuzzing are set in the folder, so cargo has to run there.
fn cargo_in(folder: &Path) -> std::process::Command {
    let mut cargo = shell::cargo();
    cargo.current_dir(folder);
    cargo
}

/// The names of the files in `fuzz_targets`, in a fixed order.
fn targets(folder: &Path) -> Outcome<Vec<String>> {
    let folder = folder.join("fuzz_targets");
    let unreadable = |error| Failure::new(format!("{}: {error}", folder.display()));
    let mut names: Vec<String> = fs::read_dir(&folder)
        .map_err(unreadable)?
        .flatten()
        .filter_map(|entry| Some(entry.file_name().to_str()?.strip_suffix(".rs")?.to_owned()))
        .collect();
    names.sort();
    if names.is_empty() {
        return Err(Failure::new("fuzz/fuzz_targets holds no target"));
    }
    Ok(names)
}
