//! The crates for `cargo install`, with the page inside.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::Release;
use super::kit::Kit;
use crate::failure::{Failure, Outcome};
use crate::files;
use crate::run::target_folder;
use crate::{shell, workspace};

/// The names of the crates that are published.
fn published() -> Outcome<Vec<String>> {
    let crates = workspace::root().join("crates");
    let entries = std::fs::read_dir(&crates).map_err(|error| files::failed(&crates, &error))?;
    let manifests = entries.flatten().map(|entry| files::read(&entry.path().join("Cargo.toml")));
    let mut names = Vec::new();
    for manifest in manifests.collect::<Outcome<Vec<String>>>()? {
        names.extend(published_name(&manifest).map(str::to_owned));
    }
    names.sort();
    Ok(names)
}

/// The name in a manifest, unless the crate stays in the workspace.
fn published_name(manifest: &str) -> Option<&str> {
    let is_private = manifest.lines().any(|line| line == "publish = false");
    let name = manifest.lines().find_map(|line| line.strip_prefix("name = \"")?.strip_suffix('"'));
    name.filter(|_| !is_private)
}

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
    let names = published()?;
    for name in &names {
        cargo.args(["--package", name]);
    }
    shell::run(&mut cargo)?;
    for name in &names {
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
    for name in &published()? {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_crate_is_published_but_the_test_kit() {
        let names = published().expect("names");
        assert!(
            names.iter().any(|name| name == "ctx-cli") && names.iter().all(|name| name.starts_with("ctx-")),
            "{names:?}"
        );
        let crates = std::fs::read_dir(workspace::root().join("crates")).expect("a folder").count();
        assert_eq!(names.len(), crates - 1);
    }
}
