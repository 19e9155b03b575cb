//! The project's chores, for people and for CI: `cargo xtask <chore>`.
//! This file reads the command line; each chore is a module. No chore holds product code, and the
//! crate has no dependencies, so that the first command on a fresh machine starts quickly.

mod bench;
mod cargo_tools;
mod clients;
mod failure;
mod files;
mod fuzz;
mod lint;
mod package;
mod page;
mod pictures;
mod run;
mod rust_tests;
mod shell;
mod site;
mod system;
mod tally;
mod test;
mod workspace;

use std::process::ExitCode;

use failure::{Failure, Outcome};

const HELP: &str = "\
Chores of this project. Usage: cargo xtask <chore>

  run [-- ARGS]           build the page and the program, then start `ctx up ARGS`
  install                 build both and put `ctx` on the PATH (cargo install)
  test [--long] [FILTER]  install what the tests need, then run every check and every test
                          --long    more cases for property tests, five minutes for each fuzz target
                          FILTER    only Rust tests whose name contains it, without the other checks
  page                    build the page only
  pictures                take the pictures of the documentation anew, from the page of `ctx demo`
  site                    build the documentation site in target/site/book, and check its links
  package [--check] [--only NAME] [--binary FILE]
                          make what people install: tarball, .deb, npm packages, OCI image, crates
                          --check   install each into an empty place and try it
                          --binary  package this binary instead of building one
  bench [--quick] [--only NAME] [--json FILE]
                          measure `ctx` beside nginx: latency, throughput, streaming, daemon, growth
  help                    this text
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match dispatch(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("{failure}");
            ExitCode::from(failure.exit_code())
        }
    }
}

fn dispatch(arguments: &[String]) -> Outcome {
    let (chore, rest) = match arguments.split_first() {
        Some((chore, rest)) => (chore.as_str(), rest),
        None => ("help", arguments),
    };
    match chore {
        "run" => run::run(rest),
        "install" => no_arguments(chore, rest).and_then(|()| run::install()),
        "test" => test::Plan::parse(rest).and_then(|plan| test::test(&plan)),
        "bench" => bench::Plan::parse(rest).and_then(|plan| bench::bench(&plan)),
        "package" => package::Plan::parse(rest).and_then(|plan| package::package(&plan)),
        "page" => no_arguments(chore, rest).and_then(|()| page::build()),
        "pictures" => no_arguments(chore, rest).and_then(|()| pictures::take()),
        "site" => no_arguments(chore, rest).and_then(|()| site::build()),
        "help" | "--help" | "-h" => {
            print!("{HELP}");
            Ok(())
        }
        other => Err(Failure::usage(format!("there is no chore `{other}`"))),
    }
}

fn no_arguments(chore: &str, rest: &[String]) -> Outcome {
    match rest.first() {
        None => Ok(()),
        Some(extra) => Err(Failure::usage(format!("`{chore}` takes no arguments, got `{extra}`"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<String> {
        line.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn an_unknown_chore_is_a_usage_error() {
        let failure = dispatch(&words("tset")).unwrap_err();
        assert_eq!(failure.exit_code(), 2);
        assert!(failure.to_string().contains("`tset`"));
    }

    #[test]
    fn install_refuses_arguments_it_would_ignore() {
        assert!(dispatch(&words("install --force")).is_err());
    }
}
