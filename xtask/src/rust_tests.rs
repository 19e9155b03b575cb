//! The Rust tests: how they are built and run, and what counts as passed.

use std::process::Command;

use crate::clients::Environment;
use crate::failure::{Failure, Outcome};
use crate::tally::Tally;
use crate::{shell, workspace};

/// More failures than this are not tried again: a change broke them.
const FEW: usize = 3;

/// The way to build and run tests. Commands with the same one share compiled code.
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

    /// All tests, or those whose names contain `filter`. The few that fail are tried once more, without the others: what
    /// a busy machine broke passes then, and is named; a defect fails twice.
    pub fn run(&self, filter: Option<&str>, tally: &mut Tally) -> Outcome {
        let mut tests = self.cargo();
        tests.args(filter.map(|filter| ["--", filter]).into_iter().flatten());
        let mut passed = shell::watch(&mut tests, |line| tally.read(line))?;
        if let Some(names) = tally.failures().filter(|names| names.len() <= FEW).map(<[String]>::to_vec) {
            println!("\n== second try: {}", names.join(", "));
            let mut again = Tally::default();
            let is_good = shell::watch(self.cargo().args(["--", "--exact"]).args(&names), |line| again.read(line))?;
            if is_good && !again.ran_nothing() {
                println!("passed at the second try only: {}", names.join(", "));
                tally.forgive();
                passed = true;
            }
        }
        judge(passed, tally, &tests)
    }

    fn cargo(&self) -> Command {
        let mut cargo = shell::cargo();
        cargo.args(["test", "--workspace", "--locked", "--no-fail-fast"]);
        cargo.envs(self.environment.iter().map(|(name, path)| (name, path)));
        if self.linted {
            cargo.env("RUSTC_WORKSPACE_WRAPPER", "clippy-driver").env("RUSTFLAGS", "-D warnings");
            // Built once from nothing: a quarter less work.
            cargo.env("CARGO_INCREMENTAL", "0").env("CARGO_PROFILE_DEV_DEBUG", "0");
        }
        // Many tests wait for other programs.
        if std::env::var_os("RUST_TEST_THREADS").is_none() {
            let cores = std::thread::available_parallelism().map_or(1, usize::from);
            cargo.env("RUST_TEST_THREADS", (cores * 3).div_ceil(2).to_string());
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
}
