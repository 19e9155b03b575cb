//! `cargo xtask pictures`: the pictures of the documentation, taken from the page of `ctx demo`.

use crate::clients::Environment;
use crate::failure::Outcome;
use crate::{page, shell, system, workspace};

/// Takes every picture anew, into `docs/pictures`.
pub fn take() -> Outcome {
    system::install_missing(system::FOR_TESTS)?;
    page::build()?;
    build()?;
    shell::run(&mut page::npm(&["run", "pictures"]))
}

/// Fails on CI if a picture does not show the page as it is now. Elsewhere other fonts may be the reason.
pub fn check(environment: &Environment) -> Outcome {
    let mut pictures = page::npm(&["run", "pictures", "--", "--check"]);
    match shell::run(pictures.envs(environment.iter().map(|(name, path)| (name, path)))) {
        Err(failure) if !workspace::on_ci() => {
            println!("going on: {failure}");
            Ok(())
        }
        outcome => outcome,
    }
}

/// Builds the programs that show the page.
fn build() -> Outcome {
    shell::run(shell::cargo().args(["build", "--locked", "--quiet", "-p", "ctx-cli", "-p", "testkit"]))
}
