//! Cargo's own helpers that checks need, built once into the cache from crates.io at pinned versions.

use std::path::PathBuf;

use crate::failure::Outcome;
use crate::run::target_folder;
use crate::{shell, workspace};

pub const DENY: Tool = Tool { name: "cargo-deny", version: "0.20.2", features: &[] };

/// A program from crates.io.
pub struct Tool {
    pub name: &'static str,
    pub version: &'static str,
    /// The features that the checks use; others would only take time to build.
    pub features: &'static [&'static str],
}

/// The program's path; builds it first if this version is not in the cache yet.
pub fn ensure(&Tool { name, version, features }: &Tool) -> Outcome<PathBuf> {
    let root = workspace::cache()?.join(format!("{name}-{version}"));
    let program = root.join("bin").join(name);
    if program.is_file() {
        println!("{name} {version}: there");
        return Ok(program);
    }
    println!("{name} {version}: building, which takes some minutes the first time");
    let mut install = shell::cargo();
    // Unoptimised: it runs for a second, and building it is what takes the time. One folder, because the tools share
    // many of their dependencies.
    install.env("CARGO_PROFILE_DEV_DEBUG", "0").env("CARGO_INCREMENTAL", "0");
    install.args(["install", "--locked", "--debug", "--quiet", "--version", version]);
    install.arg("--target-dir").arg(target_folder()?.join("tools"));
    install.args(["--no-default-features", "--features", &features.join(",")]);
    shell::run(install.arg("--root").arg(&root).arg(name))?;
    Ok(program)
}
