//! Programs of the operating system that tests drive. Installed only where that needs no question:
//! on Debian, as root. Anywhere else the failure says what to install.

use std::path::Path;

use crate::failure::{Failure, Outcome};
use crate::shell;

pub struct Program {
    pub binary: &'static str,
    /// Debian's name for the package that brings it.
    pub package: &'static str,
    pub used_for: &'static str,
}

pub const FOR_TESTS: &[Program] = &[
    Program { binary: "c++", package: "g++", used_for: "the fuzzer's engine" },
    Program { binary: "python3", package: "python3", used_for: "the Python SDK and schemathesis" },
    Program { binary: "tmux", package: "tmux", used_for: "interactive sessions of the stock client" },
    Program { binary: "nginx", package: "nginx-light", used_for: "the plain proxy that the bench compares with" },
    Program { binary: "pg_ctlcluster", package: "postgresql", used_for: "the store in a database" },
    Program { binary: "pgbouncer", package: "pgbouncer", used_for: "the store behind a pooler" },
    Program { binary: "chromium", package: "chromium", used_for: "tests of the page in a browser" },
];

pub fn install_missing(programs: &[Program]) -> Outcome {
    let missing: Vec<&Program> = programs.iter().filter(|program| !shell::found(program.binary)).collect();
    if missing.is_empty() {
        return Ok(());
    }
    for program in &missing {
        println!("missing: {} (for {})", program.binary, program.used_for);
    }
    let packages: Vec<&str> = missing.iter().map(|program| program.package).collect();
    install_packages(&packages)
}

pub fn install_packages(packages: &[&str]) -> Outcome {
    let list = packages.join(" ");
    if !shell::found("apt-get") || !is_root() {
        return Err(Failure::new(format!("the tests need {list}")).hint(format!(
            "on Debian or Ubuntu: sudo apt-get install {list}; elsewhere use your package manager's names for them"
        )));
    }
    println!("installing with apt-get: {list}");
    apt_get(&["update", "--quiet"])?;
    let mut arguments = vec!["install", "--yes", "--quiet", "--no-install-recommends"];
    arguments.extend(packages);
    apt_get(&arguments)
}

fn apt_get(arguments: &[&str]) -> Outcome {
    let mut command = shell::command("apt-get");
    command.args(arguments).env("DEBIAN_FRONTEND", "noninteractive");
    shell::run(&mut command)
}

fn is_root() -> bool {
    Path::new("/proc/self").exists() && shell::output(shell::command("id").arg("-u")).as_deref() == Some("0")
}
