//! The components inside the binary, and the texts of their licences.

use std::collections::BTreeSet;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use crate::failure::{Failure, Outcome};
use crate::files;
use crate::{page, shell};

/// A library of others.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Component {
    /// `cargo`, `npm` or `deb/debian`.
    pub kind: &'static str,
    pub name: String,
    pub version: String,
    pub licence: String,
    /// Its sources, with its licence.
    pub folder: Option<PathBuf>,
}

/// The crates in the binary.
pub fn crates() -> Outcome<Vec<Component>> {
    let mut tree = shell::cargo();
    tree.args(["tree", "--package", "ctx-cli", "--edges", "normal,no-proc-macro", "--prefix", "none", "--no-dedupe"]);
    tree.args(["--locked", "--format", "{p}|{l}"]);
    let told = shell::output(&mut tree).ok_or_else(|| Failure::new("`cargo tree` failed"))?;
    let sources = registry_folders();
    let found: BTreeSet<Component> = told.lines().filter_map(|line| of_line(line, &sources)).collect();
    Ok(found.into_iter().collect())
}

/// Parses `tokio v1.2.3|MIT`; our own crates have a path and are left out.
fn of_line(line: &str, sources: &[PathBuf]) -> Option<Component> {
    let (package, licence) = line.split_once('|')?;
    let mut words = package.split_whitespace();
    let (name, version) = (words.next()?, words.next()?.strip_prefix('v')?);
    if package.contains('/') {
        return None;
    }
    let place = format!("{name}-{version}");
    let folder = sources.iter().map(|source| source.join(&place)).find(|folder| folder.is_dir());
    // The old spelling of a choice.
    let licence = licence.replace('/', " OR ");
    Some(Component { kind: "cargo", name: name.to_owned(), version: version.to_owned(), licence, folder })
}

/// The folders with unpacked crates.
fn registry_folders() -> Vec<PathBuf> {
    let home = env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(PathBuf::from(env::var_os("HOME")?).join(".cargo")));
    let sources = home.map(|home| home.join("registry/src")).unwrap_or_default();
    fs::read_dir(sources).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
}

/// The npm packages in the page.
pub fn npm_packages() -> Outcome<Vec<Component>> {
    let told =
        shell::output(&mut page::npm(&["ls", "--omit=dev", "--all", "--parseable", "--long"])).unwrap_or_default();
    let found: BTreeSet<Component> = told.lines().filter_map(of_npm_line).collect();
    Ok(found.into_iter().collect())
}

/// Parses `/web/node_modules/react:react@19.0.0:…`.
fn of_npm_line(line: &str) -> Option<Component> {
    let mut parts = line.split(':');
    let (folder, package) = (PathBuf::from(parts.next()?), parts.next()?);
    let (name, version) = package.rsplit_once('@')?;
    if !folder.components().any(|part| part.as_os_str() == "node_modules") {
        return None;
    }
    let manifest = fs::read_to_string(folder.join("package.json")).unwrap_or_default();
    let licence = manifest.split_once("\"license\": \"").and_then(|(_, rest)| rest.split('"').next());
    let licence = licence.unwrap_or("NOASSERTION").to_owned();
    Some(Component { kind: "npm", name: name.to_owned(), version: version.to_owned(), licence, folder: Some(folder) })
}

/// The libraries of the system that a static binary contains; each text is in the library's folder of documentation.
pub fn system_libraries() -> Outcome<Vec<Component>> {
    if !cfg!(target_os = "linux") {
        return Ok(Vec::new());
    }
    let library = |name: &str, licence: &str| {
        let mut query = shell::command("dpkg-query");
        let told = shell::output(query.args(["--show", "--showformat", "${Package} ${Version}\\n", name]));
        // Versions of packages that are not installed are empty.
        let mut lines = told.iter().flat_map(|told| told.lines().filter_map(|line| line.split_once(' ')));
        let (package, version) = lines.rfind(|(_, version)| !version.is_empty()).ok_or_else(|| {
            Failure::new(format!("{name} is not installed")).hint("packages are made on Debian or Ubuntu")
        })?;
        let folder = Path::new("/usr/share/doc").join(package);
        let (name, version) = (package.to_owned(), version.to_owned());
        Ok(Component { kind: "deb/debian", name, version, licence: licence.to_owned(), folder: Some(folder) })
    };
    Ok(vec![
        library("libc6-dev", "LGPL-2.1-or-later")?,
        library("libgcc-*-dev", "GPL-3.0-or-later WITH GCC-exception-3.1")?,
    ])
}

/// All components.
pub fn components() -> Outcome<Vec<Component>> {
    let mut components = crates()?;
    components.extend(npm_packages()?);
    components.extend(system_libraries()?);
    Ok(components)
}

/// The licences of all components, each with its texts. Equal texts are printed once.
pub fn all() -> Outcome<String> {
    let components = components()?;
    let mut texts: Vec<(String, Vec<String>)> = Vec::new();
    for component in &components {
        let title = format!("{} {} ({})", component.name, component.version, component.licence);
        let text = component.folder.as_deref().map(texts_in).unwrap_or_default();
        match texts.iter_mut().find(|(known, _)| *known == text) {
            Some((_, titles)) => titles.push(title),
            None => texts.push((text, vec![title])),
        }
    }
    let line = "=".repeat(80);
    let mut all = String::from("ctx contains the following software.\n");
    for (text, titles) in texts {
        let text = if text.is_empty() {
            "The package contains no licence text; see its name above.\n".to_owned()
        } else {
            text
        };
        all.push_str(&format!("\n{line}\n{}\n{line}\n\n{text}", titles.join("\n")));
    }
    Ok(all)
}

/// The licence files of a package, one after the other.
fn texts_in(folder: &Path) -> String {
    let is_licence = |path: &PathBuf| {
        let name = path.file_name().map(|name| name.to_string_lossy().to_uppercase()).unwrap_or_default();
        path.is_file()
            && ["LICENSE", "LICENCE", "COPYING", "COPYRIGHT", "NOTICE"].iter().any(|start| name.starts_with(start))
    };
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut found: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(is_licence).collect();
    found.sort();
    found.iter().filter_map(|path| files::read(path).ok()).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_os = "linux")]
    fn libraries_of_the_system_bring_their_texts() {
        // On another system than Debian, packages are not made.
        let Ok(libraries) = system_libraries() else { return };
        assert!(libraries[0].name == "libc6-dev" && libraries[1].name.starts_with("libgcc-"), "{libraries:?}");
        for library in libraries {
            let text = texts_in(library.folder.as_deref().unwrap());
            assert!(text.contains("General Public License"), "{}: {text}", library.name);
            assert!(library.version.starts_with(|first: char| first.is_ascii_digit()));
        }
    }

    #[test]
    fn lines_of_cargo_are_read_and_our_own_crates_left_out() {
        let found = of_line("ring v0.17.14|Apache-2.0 AND ISC", &[]).unwrap();
        assert_eq!((&*found.name, &*found.version, &*found.licence), ("ring", "0.17.14", "Apache-2.0 AND ISC"));
        assert_eq!(of_line("ctx-core v0.2.0 (/x/crates/core)|MIT OR Apache-2.0", &[]), None);
        assert_eq!(of_line("bitflags v2.9.0 (*)|MIT/Apache-2.0", &[]).unwrap().licence, "MIT OR Apache-2.0");
    }
}
