//! Building the web page in `web/` with npm. The binary embeds what this leaves in `web/dist`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

use crate::failure::{Failure, Outcome};
use crate::{shell, workspace};

pub const WITHOUT_NODE: &str =
    "npm was not found. Install Node.js 20.19 or newer (it brings npm) and run the same command again";

fn folder() -> PathBuf {
    workspace::root().join("web")
}

/// `npm …` in `web/`.
pub fn npm(arguments: &[&str]) -> Command {
    let mut command = shell::command(shell::NPM);
    command.args(arguments).current_dir(folder());
    command
}

/// Builds the page if its sources are newer than the last build.
pub fn build() -> Outcome {
    if !shell::found(shell::NPM) {
        return Err(Failure::new("the page cannot be built").hint(WITHOUT_NODE));
    }
    install_packages()?;
    if is_fresh(&folder()) {
        println!("page: up to date");
        return Ok(());
    }
    println!("page: building");
    shell::run_quietly(&mut npm(&["run", "build"]))?;
    println!("page: built");
    Ok(())
}

/// For the binary, which works without a page: says so instead of failing when there is no npm.
pub fn build_if_possible() -> Outcome {
    if shell::found(shell::NPM) {
        return build();
    }
    println!("page: left out, so /ui/ will only say how to get it. {WITHOUT_NODE}");
    Ok(())
}

/// `npm ci`, unless what is installed came from the very same lock file.
pub fn install_packages() -> Outcome {
    let web = folder();
    let lock = fs::read(web.join("package-lock.json"))
        .map_err(|error| Failure::new(format!("web/package-lock.json: {error}")))?;
    let installed_from = web.join("node_modules/.installed-from-lock.json");
    if fs::read(&installed_from).is_ok_and(|installed| installed == lock) {
        return Ok(());
    }
    println!("page: installing its npm packages");
    shell::run_quietly(&mut npm(&["ci", "--no-audit", "--no-fund"]))
        .map_err(|failure| failure.hint("the program works without its page: cargo run --release -p ctx-cli -- up"))?;
    fs::write(&installed_from, lock).map_err(|error| Failure::new(format!("{}: {error}", installed_from.display())))
}

/// Building anew touches every file and makes cargo link the binary again, so an unchanged page is kept.
fn is_fresh(web: &Path) -> bool {
    let Some(built) = modified(&web.join("dist/index.html")) else {
        return false;
    };
    let Ok(entries) = fs::read_dir(web) else {
        return false;
    };
    entries.flatten().all(|entry| {
        let name = entry.file_name();
        name == "dist" || name == "node_modules" || newest(&entry.path()) <= Some(built)
    })
}

/// The latest change of a file or of anything below a folder (a folder itself changes when a file leaves it).
fn newest(path: &Path) -> Option<SystemTime> {
    let below = fs::read_dir(path).into_iter().flatten().flatten();
    below.filter_map(|entry| newest(&entry.path())).chain(modified(path)).max()
}

fn modified(path: &Path) -> Option<SystemTime> {
    fs::metadata(path).and_then(|metadata| metadata.modified()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    struct Folder(PathBuf);

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn page_built_at(name: &str, built: SystemTime) -> Folder {
        let folder = Folder(std::env::temp_dir().join(format!("xtask-{}-{name}", std::process::id())));
        for file in ["src/main.tsx", "src/frames/list.tsx", "dist/index.html"] {
            let path = folder.0.join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "content").unwrap();
        }
        let index = fs::File::options().write(true).open(folder.0.join("dist/index.html")).unwrap();
        index.set_modified(built).unwrap();
        folder
    }

    #[test]
    fn a_page_built_after_its_last_change_is_fresh() {
        let folder = page_built_at("fresh", SystemTime::now() + Duration::from_secs(60));
        assert!(is_fresh(&folder.0));
    }

    #[test]
    fn a_page_older_than_a_source_deep_inside_is_built_again() {
        let folder = page_built_at("stale", SystemTime::now() - Duration::from_secs(60));
        assert!(!is_fresh(&folder.0));
    }

    #[test]
    fn a_page_that_was_never_built_is_not_fresh() {
        let folder = page_built_at("absent", SystemTime::now());
        fs::remove_dir_all(folder.0.join("dist")).unwrap();
        assert!(!is_fresh(&folder.0));
    }
}
