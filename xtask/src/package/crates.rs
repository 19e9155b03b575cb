//! The crates for `cargo install`, with the page inside.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::Release;
use super::kit::Kit;
use crate::failure::{Failure, Outcome};
use crate::files;
use crate::run::target_folder;
use crate::{shell, workspace};

/// The crates of the program, each after those that it depends on.
const CRATES: [&str; 12] = [
    "ctx-models",
    "ctx-core",
    "ctx-api",
    "ctx-clients",
    "ctx-wire",
    "ctx-store",
    "ctx-engine",
    "ctx-service",
    "ctx-lab",
    "ctx-server",
    "ctx-config",
    "ctx-cli",
];

/// The page's place in its crate. The build script prefers it to `web/dist`.
fn page() -> PathBuf {
    workspace::root().join("crates/server/page")
}

pub fn make(release: &Release, _kit: &Kit) -> Outcome {
    files::empty(&page())?;
    files::copy(&workspace::root().join("web/dist"), &page())?;
    let packed = pack(release);
    std::fs::remove_dir_all(page()).map_err(|error| files::failed(&page(), &error))?;
    packed
}

fn pack(release: &Release) -> Outcome {
    let mut cargo = shell::cargo();
    // Verifying would build everything again for each crate; the check builds the last one from all of them.
    cargo.args(["package", "--quiet", "--locked", "--no-verify", "--allow-dirty"]);
    for name in CRATES {
        cargo.args(["--package", name]);
    }
    shell::run(&mut cargo)?;
    for name in CRATES {
        let file = format!("{name}-{}.crate", release.version);
        files::copy(&target_folder()?.join("package").join(&file), &release.out.join(&file))?;
    }
    Ok(())
}

/// Installs the program from the crates in a folder outside the checkout. Third-party crates that are built already are
/// used again.
pub fn install(release: &Release, place: &Path) -> Outcome<PathBuf> {
    let sources = std::env::temp_dir().join(format!("ctx-crates-{}", std::process::id()));
    files::empty(&sources)?;
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.current_dir(&sources).env("CARGO_TARGET_DIR", target_folder()?);
    cargo.args(["install", "--debug", "--offline", "--quiet", "--path"]).arg(sources.join(folder("ctx-cli", release)));
    cargo.arg("--root").arg(place.join("root"));
    for name in CRATES {
        let archive = release.out.join(format!("{}.crate", folder(name, release)));
        shell::run(shell::command("tar").arg("-xzf").arg(archive).arg("-C").arg(&sources))?;
        if name != "ctx-cli" {
            let place = sources.join(folder(name, release));
            cargo.arg("--config").arg(format!("patch.crates-io.{name}.path={:?}", place.display().to_string()));
        }
    }
    let outcome = shell::run(&mut cargo);
    let _ = std::fs::remove_dir_all(&sources);
    outcome.map_err(|failure| failure.hint("a file outside the crate may be missing in the package"))?;
    let program = place.join("root/bin/ctx");
    if program.is_file() { Ok(program) } else { Err(Failure::new("cargo installed nothing")) }
}

fn folder(name: &str, release: &Release) -> String {
    format!("{name}-{}", release.version)
}
