//! The Rust tests. They are built once; then the programs that mostly wait for other programs run beside all others.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::clients::Environment;
use crate::failure::{Failure, Outcome};
use crate::tally::Tally;
use crate::{shell, workspace};

/// These drive agents, which start slowly and wait for answers.
const WAITING: [&str; 1] = ["clients"];

/// How the tests are built and run. Commands that share one share what they compile.
pub struct Tests<'a> {
    pub environment: &'a Environment,
    pub long: bool,
    /// Clippy compiles, so what it finds fails the build.
    pub linted: bool,
}

impl Tests<'_> {
    pub fn build(&self) -> Outcome {
        shell::run(self.cargo().args(["--no-run", "--quiet"]))
    }

    /// All tests, or those whose names contain `filter`.
    pub fn run(&self, filter: Option<&str>, tally: &mut Tally) -> Outcome {
        let mut tests = self.cargo();
        tests.args(filter.map(|filter| ["--", filter]).into_iter().flatten());
        counted(&mut tests, tally)
    }

    /// Tests of programs that wait. Their output is kept, because other tests write at the same time.
    pub fn run_waiting(&self, tally: &mut Tally) -> (Outcome, String) {
        let mut tests = self.cargo();
        tests.args(WAITING.iter().flat_map(|name| ["--test", name]));
        let (passed, words) = shell::keep(&mut tests);
        words.lines().for_each(|line| tally.read(line));
        (passed.and_then(|passed| judge(passed, tally, &tests)), words)
    }

    /// All others, and the examples of the documentation.
    pub fn run_others(&self, tally: &mut Tally) -> Outcome {
        let names = programs(&workspace::root())?;
        let mut tests = self.cargo();
        tests.args(["--lib", "--bins", "--examples"]);
        tests.args(names.iter().filter(|name| !WAITING.contains(&name.as_str())).flat_map(|name| ["--test", name]));
        counted(&mut tests, tally)?;
        counted(self.cargo().arg("--doc"), tally)
    }

    fn cargo(&self) -> Command {
        let mut cargo = shell::cargo();
        cargo.args(["test", "--workspace", "--locked", "--no-fail-fast"]);
        cargo.envs(self.environment.iter().map(|(name, path)| (name, path)));
        if self.linted {
            cargo.env("RUSTC_WORKSPACE_WRAPPER", "clippy-driver").env("RUSTFLAGS", "-D warnings");
        }
        // Without `--long` always the same cases: a run turns red by a change, not by chance. With it, new ones each time
        // (`testkit::first_seed`); a failing test prints the seed that repeats it.
        match self.long {
            true => cargo.env("CTX_LONG", "1").env("PROPTEST_CASES", "10000"),
            false => cargo.env("PROPTEST_RNG_SEED", "1"),
        };
        cargo
    }
}

/// The names of all test programs: a file in a `tests` folder, or a folder there with a `main.rs`.
fn programs(root: &Path) -> Outcome<Vec<String>> {
    let crates = list(&root.join("crates"))?;
    let mut names = Vec::new();
    for member in crates.into_iter().chain([root.join("xtask")]) {
        let tests = member.join("tests");
        if !tests.is_dir() {
            continue;
        }
        for path in list(&tests)? {
            let is_program = path.join("main.rs").is_file() || path.extension().is_some_and(|ending| ending == "rs");
            if let (true, Some(name)) = (is_program, path.file_stem().and_then(|name| name.to_str())) {
                names.push(name.to_owned());
            }
        }
    }
    names.sort();
    names.dedup();
    Ok(names)
}

fn list(folder: &Path) -> Outcome<Vec<std::path::PathBuf>> {
    let unreadable = |error| Failure::new(format!("{}: {error}", folder.display()));
    Ok(fs::read_dir(folder).map_err(unreadable)?.flatten().map(|entry| entry.path()).collect())
}

fn counted(tests: &mut Command, total: &mut Tally) -> Outcome {
    let mut tally = Tally::default();
    let passed = shell::watch(tests, |line| tally.read(line))?;
    total.add(&tally);
    judge(passed, &tally, tests)
}

fn judge(passed: bool, tally: &Tally, tests: &Command) -> Outcome {
    if !passed && tally.ran_nothing() {
        return Err(Failure::new("the tests did not build"));
    }
    if !passed {
        return Err(
            Failure::new(format!("tests: {tally}")).hint("run one again with: cargo xtask test NAME_OF_THE_TEST")
        );
    }
    if tally.ran_nothing() {
        return Err(Failure::new(format!("`{}` ran no test", shell::shown(tests))));
    }
    if workspace::on_ci() && tally.skipped() > 0 {
        return Err(Failure::new(format!("{} ignored tests did not run", tally.skipped()))
            .hint("CI leaves nothing out: make them run, or remove them"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_without_any_test_is_a_failure() {
        let nothing = judge(true, &Tally::default(), &Command::new("cargo"));
        assert!(nothing.unwrap_err().to_string().contains("ran no test"));
    }

    #[test]
    fn every_program_of_the_waiting_ones_exists_and_so_do_others() {
        let programs = programs(&workspace::root()).unwrap();
        assert!(WAITING.iter().all(|name| programs.iter().any(|program| program == name)), "{programs:?}");
        assert!(["daemon", "seam", "wires"].iter().all(|name| programs.iter().any(|program| program == name)));
        assert!(!programs.iter().any(|program| program == "support" || program == "main"), "{programs:?}");
    }
}
