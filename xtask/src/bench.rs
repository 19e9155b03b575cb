//! `cargo xtask bench`: builds what is measured and what measures it, brings nginx, and starts the
//! bench. The measuring itself is in `crates/testkit/src/bench`.

use crate::failure::{Failure, Outcome};
use crate::{run, shell, system};

const PROGRAMS: [system::Program; 2] = [
    system::Program { binary: "nginx", package: "nginx-light", used_for: "the plain proxy beside `ctx`" },
    system::Program { binary: "pg_ctlcluster", package: "postgresql", used_for: "the series `team`" },
];

/// The arguments of the bench.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Plan {
    arguments: Vec<String>,
}

impl Plan {
    pub fn parse(arguments: &[String]) -> Outcome<Plan> {
        let mut plan = Plan::default();
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            plan.arguments.push(argument.clone());
            match argument.as_str() {
                "--quick" => {}
                "--only" | "--json" => match rest.next() {
                    Some(value) => plan.arguments.push(value.clone()),
                    None => return Err(Failure::usage(format!("`bench {argument}` wants a value"))),
                },
                other => return Err(Failure::usage(format!("`bench` does not know `{other}`"))),
            }
        }
        Ok(plan)
    }
}

pub fn bench(plan: &Plan) -> Outcome {
    if !cfg!(target_os = "linux") {
        return Err(Failure::new("the bench reads /proc and runs on Linux only"));
    }
    system::install_missing(&PROGRAMS)?;
    let nginx = shell::find("nginx").ok_or_else(|| Failure::new("nginx is installed but not found"))?;
    println!("building the release binaries");
    // Not in one go: features that only the bench asks for must not get into the measured binary.
    for package in ["ctx-cli", "testkit"] {
        shell::run(shell::cargo().args(["build", "--release", "--locked", "--package", package]))?;
    }
    let folder = run::target_folder()?.join("release");
    let mut bench = shell::command(folder.join("testkit"));
    bench.args(["bench", "--ctx"]).arg(folder.join("ctx")).arg("--nginx").arg(nginx).args(&plan.arguments);
    shell::run(&mut bench)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Outcome<Plan> {
        Plan::parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn options_of_the_bench_are_handed_on_and_others_refused() {
        assert_eq!(parse("--quick --only latency").unwrap().arguments, ["--quick", "--only", "latency"]);
        assert!(parse("--only").is_err());
        assert!(parse("--fast").is_err());
    }
}
