//! `cargo xtask site`: the documentation as a static site, in `target/site/book`. mdBook builds it from a copy of the
//! pages that is laid out like the checkout, so that links between pages are the same in both.

mod check;
mod html;

use std::path::{Path, PathBuf};

use crate::cargo_tools::{self, Tool};
use crate::failure::{Failure, Outcome};
use crate::run::target_folder;
use crate::{clients, files, page, shell, workspace};

const MDBOOK: Tool = Tool { name: "mdbook", version: "0.5.4", features: &["search"] };
const PLAYER: &str = "3.17.0";
const PLAYER_FILES: [&str; 3] = ["dist/bundle/asciinema-player.min.js", "dist/bundle/asciinema-player.css", "LICENSE"];

/// Pages outside `docs`.
const PAGES: [&str; 3] = ["README.md", "CHANGELOG.md", "CONTRIBUTING.md"];
/// Files of the site itself, besides its list of pages.
const PARTS: [&str; 3] = ["book.toml", "site.css", "player.js"];

/// Builds the site, and fails for a page that is left out, a dead link or a call to another host.
pub fn build() -> Outcome {
    let root = workspace::root();
    let left_out = left_out(&root)?;
    if !left_out.is_empty() {
        return Err(Failure::new(format!("site/SUMMARY.md leaves out {}", left_out.join(", "))));
    }
    let mdbook = cargo_tools::ensure(&MDBOOK)?;
    let player = player()?;
    let place = target_folder()?.join("site");
    files::empty(&place)?;
    for part in PARTS {
        files::copy(&root.join("site").join(part), &place.join(part))?;
    }
    let source = place.join("src");
    files::copy(&root.join("site/SUMMARY.md"), &source.join("SUMMARY.md"))?;
    for name in PAGES.iter().chain(&["docs"]) {
        files::copy(&root.join(name), &source.join(name))?;
    }
    for file in PLAYER_FILES.map(Path::new) {
        files::copy(&player.join(file), &source.join("player").join(file.file_name().unwrap_or_default()))?;
    }
    let book = place.join("book");
    shell::run(shell::command(mdbook).arg("build").arg(&place).arg("--dest-dir").arg(&book))?;
    check::all(&book)?;
    println!("site: {}", book.join("index.html").display());
    Ok(())
}

/// The folder of the asciicast player's package.
fn player() -> Outcome<PathBuf> {
    if !shell::found(shell::NPM) {
        return Err(Failure::new("the site's player comes from npm").hint(page::WITHOUT_NODE));
    }
    let folder = workspace::cache()?.join(format!("asciinema-player-{PLAYER}"));
    let package = folder.join("node_modules/asciinema-player");
    let is_ready = || package.join(PLAYER_FILES[0]).is_file();
    clients::ensure(&format!("asciinema-player {PLAYER}"), is_ready, || {
        clients::npm_install(&folder, &[&format!("asciinema-player@{PLAYER}")])
    })?;
    Ok(package)
}

/// The pages that the list of pages does not name.
fn left_out(root: &Path) -> Outcome<Vec<String>> {
    let summary = files::read(&root.join("site/SUMMARY.md"))?;
    let mut pages: Vec<String> = PAGES.map(str::to_owned).to_vec();
    for path in files::below(&root.join("docs"))? {
        let name = path.strip_prefix(root).unwrap_or(&path).to_string_lossy().replace('\\', "/");
        pages.extend(Some(name).filter(|name| name.ends_with(".md")));
    }
    pages.retain(|page| !summary.contains(&format!("]({page})")));
    Ok(pages)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_page_is_in_the_summary() {
        assert_eq!(left_out(&workspace::root()).unwrap(), Vec::<String>::new());
    }

    #[test]
    fn a_page_that_the_summary_does_not_name_is_found() {
        let root = std::env::temp_dir().join(format!("xtask-{}-summary", std::process::id()));
        files::write(&root.join("docs/decisions/one.md"), "").unwrap();
        files::write(&root.join("docs/two.md"), "").unwrap();
        files::write(&root.join("docs/picture.png"), "").unwrap();
        let summary = "[a](README.md) [b](CHANGELOG.md) [c](CONTRIBUTING.md) [d](docs/two.md)";
        files::write(&root.join("site/SUMMARY.md"), summary).unwrap();
        let found = left_out(&root).unwrap();
        std::fs::remove_dir_all(&root).unwrap();
        assert_eq!(found, ["docs/decisions/one.md"]);
    }
}
