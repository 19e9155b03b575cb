//! Everything that must hold before a change lands, one named and timed step after another.
//! The first failure ends the run, and the last line says which step it was.

use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::clients::{self, Environment};
use crate::failure::{Failure, Outcome};
use crate::rust_tests::Tests;
use crate::tally::Tally;
use crate::{cargo_tools, fuzz, lint, page, pictures, shell, site, system, workspace};

#[derive(Debug, Default, PartialEq, Eq)]
pub struct Plan {
    long: bool,
    filter: Option<String>,
}

impl Plan {
    pub fn parse(arguments: &[String]) -> Outcome<Self> {
        let mut plan = Plan::default();
        for argument in arguments {
            match argument.as_str() {
                "--long" => plan.long = true,
                flag if flag.starts_with('-') => {
                    return Err(Failure::usage(format!("`test` does not know `{flag}`")));
                }
                _ if plan.filter.is_some() => {
                    return Err(Failure::usage("`test` takes one filter"));
                }
                filter => plan.filter = Some(filter.to_owned()),
            }
        }
        Ok(plan)
    }
}

pub fn test(plan: &Plan) -> Outcome {
    let mut steps = Steps::default();
    let mut tally = Tally::default();
    let passed = match &plan.filter {
        Some(_) => only_rust_tests(plan, &mut steps, &mut tally),
        None => everything(plan, &mut steps, &mut tally),
    };
    steps.summary();
    // This line is for programs, which expect it alone and last; a failure says its words after it.
    println!("{tally}");
    passed
}

/// Cheap checks first. The page comes before anything is compiled, because the server embeds it.
fn everything(plan: &Plan, steps: &mut Steps, tally: &mut Tally) -> Outcome {
    steps.run("rustfmt", formatting)?;
    steps.run("programs of the system", || system::install_missing(system::FOR_TESTS))?;
    // Downloads of minutes, while the processor compiles.
    let clients = std::thread::spawn(clients::install_missing);
    steps.run("page: packages", page::install_packages)?;
    steps.run("page: types", || shell::run(&mut page::npm(&["run", "typecheck"])))?;
    steps.run("page: unit tests", || shell::run(&mut page::npm(&["run", "test"])))?;
    steps.run("page: build", page::build)?;
    steps.run("licences and sources of dependencies", dependencies)?;
    steps.run("documentation site", site::build)?;
    steps.run("scripts and workflows", lint::all)?;
    // On CI everything is compiled once, by Clippy; elsewhere what it compiled would be of no use to `cargo test`.
    let linted = workspace::on_ci();
    if !linted {
        steps.run("clippy", || {
            let arguments = ["clippy", "--workspace", "--all-targets", "--locked", "--quiet", "--", "-D", "warnings"];
            shell::run(shell::cargo().args(arguments))
        })?;
    }
    let environment = steps.run("clients", || joined(clients))?;
    let tests = Tests { environment: &environment, long: plan.long, linted };
    steps.run(if linted { "clippy and build of the tests" } else { "tests: build" }, || tests.build())?;
    steps.run("tests", || tests.run(None, tally))?;
    // A browser waits for much of its time.
    let fuzz_targets = std::thread::spawn(fuzz::build);
    steps.run("page: in a browser", || page_in_a_browser(&environment))?;
    steps.run("pictures of the documentation", || pictures::check(&environment))?;
    steps.run("fuzzing: build", || joined(fuzz_targets))?;
    steps.run("fuzzing", || fuzz::run_all(plan.long))
}

/// For the person working on one thing: a tool that is missing fails the test that needs it, not the run.
fn only_rust_tests(plan: &Plan, steps: &mut Steps, tally: &mut Tally) -> Outcome {
    let environment = steps.run("clients", || {
        let installed = system::install_missing(system::FOR_TESTS).and_then(|()| clients::install_missing());
        match installed {
            Err(failure) if !workspace::on_ci() => {
                println!("going on without: {failure}");
                Ok(Environment::new())
            }
            outcome => outcome,
        }
    })?;
    let tests = Tests { environment: &environment, long: plan.long, linted: false };
    steps.run("tests", || tests.run(plan.filter.as_deref(), tally))
}

fn formatting() -> Outcome {
    shell::run(shell::cargo().args(["fmt", "--all", "--check"]))?;
    // A workspace of its own.
    shell::run(shell::cargo().args(["fmt", "--check", "--manifest-path", "fuzz/Cargo.toml"]))
}

fn dependencies() -> Outcome {
    let mut deny = shell::command(cargo_tools::ensure(&cargo_tools::DENY)?);
    deny.args(["--all-features", "check", "licenses", "bans", "sources"]);
    shell::run(&mut deny)
}

fn joined<T>(thread: JoinHandle<Outcome<T>>) -> Outcome<T> {
    thread.join().unwrap_or_else(|_| Err(Failure::new("a step beside the others panicked")))
}

/// The page of the binary that the tests have built, before a provider that is not fooled.
fn page_in_a_browser(environment: &Environment) -> Outcome {
    shell::run(page::npm(&["run", "e2e"]).envs(environment.iter().map(|(name, path)| (name, path))))
}

/// A step that ran, and its duration.
#[derive(Default)]
struct Steps {
    done: Vec<(&'static str, Duration, bool)>,
}

impl Steps {
    fn run<T>(&mut self, name: &'static str, step: impl FnOnce() -> Outcome<T>) -> Outcome<T> {
        println!("\n== {name}");
        let start = Instant::now();
        let outcome = step();
        self.done.push((name, start.elapsed(), outcome.is_ok()));
        outcome
    }

    fn summary(&self) {
        println!();
        for (name, took, passed) in &self.done {
            let mark = if *passed { "ok    " } else { "FAILED" };
            println!("{mark} {:>7.1} s  {name}", took.as_secs_f64());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Outcome<Plan> {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        Plan::parse(&words)
    }

    #[test]
    fn a_filter_and_a_flag_come_in_any_order() {
        let expected = Plan { long: true, filter: Some("frames".into()) };
        assert_eq!(parse("--long frames").unwrap(), expected);
        assert_eq!(parse("frames --long").unwrap(), expected);
    }

    #[test]
    fn a_misspelt_flag_or_a_second_filter_is_refused() {
        assert_eq!(parse("--lnog").unwrap_err().exit_code(), 2);
        assert_eq!(parse("one two").unwrap_err().exit_code(), 2);
    }

    #[test]
    fn a_failed_step_is_kept_in_the_summary() {
        let mut steps = Steps::default();
        assert!(steps.run("broken", || Outcome::<()>::Err(Failure::new("on purpose"))).is_err());
        assert!(!steps.done[0].2);
    }
}
