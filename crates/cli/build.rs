//! Names the commit of this build for `ctx --version`: CTX_COMMIT if packaging sets it, else git's, else the one that
//! `cargo package` recorded, else none.

use std::path::Path;
use std::process::Command;

/// The digits to show.
const DIGITS: usize = 10;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-env-changed=CTX_COMMIT");
    let given = std::env::var("CTX_COMMIT").ok().filter(|commit| !commit.is_empty());
    let commit = given.or_else(of_package).or_else(of_checkout);
    let short = commit.map(|commit| commit.chars().take(DIGITS).collect::<String>());
    let version = std::env::var("CARGO_PKG_VERSION").unwrap_or_default();
    match short {
        Some(commit) => println!("cargo:rustc-env=CTX_VERSION={version} ({commit})"),
        None => println!("cargo:rustc-env=CTX_VERSION={version}"),
    }
}

/// The commit that `cargo package` wrote beside the sources.
fn of_package() -> Option<String> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(".cargo_vcs_info.json");
    let text = std::fs::read_to_string(file).ok()?;
    let rest = text.split_once("\"sha1\"")?.1;
    rest.split('"').nth(1).map(str::to_owned)
}

/// The commit of the checkout that contains this crate. Its log of positions changes with every commit.
fn of_checkout() -> Option<String> {
    let log = git(&["rev-parse", "--git-path", "logs/HEAD"])?;
    println!("cargo:rerun-if-changed={}", Path::new(env!("CARGO_MANIFEST_DIR")).join(log).display());
    git(&["rev-parse", "HEAD"])
}

fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).current_dir(env!("CARGO_MANIFEST_DIR")).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?.trim().to_owned();
    (output.status.success() && !text.is_empty()).then_some(text)
}
