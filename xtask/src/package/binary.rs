//! The binary of the packages: static, so that it runs on any Linux, with the profile `dist`.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::Release;
use crate::failure::{Failure, Outcome};
use crate::files;
use crate::run::target_folder;
use crate::shell;

/// The largest binary.
const LARGEST: u64 = 25_000_000;
/// glibc can be linked statically with the files and DNS backends of name lookup since 2.34; the target's own musl
/// would need another toolchain.
const FLAGS: &str = "-C target-feature=+crt-static";

/// A static program relocates itself, so that packed relocations need nothing of the system; they take half a megabyte
/// less.
const PACKED: &str = "link-arg=-Wl,-z,pack-relative-relocs";

/// Functions with the same code become one: no program here compares their addresses. Only LLVM's linker can do it, which
/// is Rust's own on this architecture. `safe` folds nothing, because Rust does not mark which addresses matter.
const FOLDED: &str = "link-arg=-Wl,--icf=all";

/// The commit of the checkout.
pub fn commit() -> Outcome<String> {
    shell::output(shell::command("git").args(["rev-parse", "HEAD"]))
        .ok_or_else(|| Failure::new("git does not name the commit").hint("packages are made from a checkout"))
}

/// The commit that a binary names: `ctx 0.2.0 (3f9a1c2b4d)`.
pub fn commit_of(binary: &Path) -> Outcome<String> {
    let version = shell::output(shell::command(binary).arg("--version")).unwrap_or_default();
    let commit = version.split_once('(').and_then(|(_, rest)| rest.split(')').next()).map(str::to_owned);
    commit.ok_or_else(|| Failure::new(format!("{} names no commit", binary.display())))
}

/// The target of this machine, such as `x86_64-unknown-linux-gnu`.
pub fn target() -> Outcome<String> {
    let told = shell::output(Command::new("rustc").arg("-vV")).unwrap_or_default();
    let host = told.lines().find_map(|line| line.strip_prefix("host: ")).map(str::to_owned);
    host.ok_or_else(|| Failure::new("rustc does not name this machine's target"))
}

pub fn build(release: &Release) -> Outcome<PathBuf> {
    let target = target()?;
    println!("ctx: building the packages' binary, which takes ten minutes or more on two cores");
    let mut cargo = shell::cargo();
    // Naming the target keeps the flags away from build scripts and macros.
    cargo.args(["rustc", "--profile", "dist", "--locked", "--package", "ctx-cli", "--bin", "ctx", "--target", &target]);
    if target.contains("linux") {
        cargo.env("RUSTFLAGS", FLAGS).args(["--", "-C", PACKED]);
    }
    if target == "x86_64-unknown-linux-gnu" {
        cargo.args(["-C", FOLDED]);
    }
    shell::run(cargo.env("CTX_COMMIT", &release.commit))?;
    let binary = target_folder()?.join(target).join("dist").join(format!("ctx{}", std::env::consts::EXE_SUFFIX));
    // With options for single packages, cargo leaves the symbols in.
    if cfg!(unix) {
        shell::run(shell::command("strip").arg(&binary))?;
    }
    Ok(binary)
}

/// Refuses a binary that is too large, or that needs a library of the system.
pub fn judge(binary: &Path) -> Outcome {
    let bytes = files::size(binary)?;
    println!("binary: {:.1} MB", bytes as f64 / 1e6);
    if bytes > LARGEST {
        return Err(Failure::new(format!("{} has {bytes} bytes, more than {LARGEST}", binary.display())));
    }
    let is_linux = cfg!(target_os = "linux");
    // `ldd` fails for a static binary; one that is static and relocatable has a line without a library.
    let needed = shell::output(shell::command("ldd").arg(binary)).unwrap_or_default();
    if is_linux && needed.contains("=>") {
        return Err(Failure::new(format!("{} is not static:\n{needed}", binary.display())));
    }
    Ok(())
}
