//! Files and the programs that pack them. Every archive is the same for the same content: sorted, without times and
//! owners.

use std::fs;
use std::path::{Path, PathBuf};

use crate::failure::{Failure, Outcome};
use crate::shell;

pub fn failed(path: &Path, error: &std::io::Error) -> Failure {
    Failure::new(format!("{}: {error}", path.display()))
}

/// An empty folder.
pub fn empty(path: &Path) -> Outcome {
    if path.exists() {
        fs::remove_dir_all(path).map_err(|error| failed(path, &error))?;
    }
    folder(path)
}

pub fn folder(path: &Path) -> Outcome {
    fs::create_dir_all(path).map_err(|error| failed(path, &error))
}

pub fn read(path: &Path) -> Outcome<String> {
    fs::read_to_string(path).map_err(|error| failed(path, &error))
}

/// Writes a file and its folders.
pub fn write(path: &Path, content: impl AsRef<[u8]>) -> Outcome {
    folder(path.parent().unwrap_or(Path::new(".")))?;
    fs::write(path, content).map_err(|error| failed(path, &error))
}

/// Copies a file with its permissions, or a whole folder.
pub fn copy(from: &Path, to: &Path) -> Outcome {
    if !from.is_dir() {
        folder(to.parent().unwrap_or(Path::new(".")))?;
        return fs::copy(from, to).map(drop).map_err(|error| failed(from, &error));
    }
    folder(to)?;
    for entry in fs::read_dir(from).map_err(|error| failed(from, &error))?.flatten() {
        copy(&entry.path(), &to.join(entry.file_name()))?;
    }
    Ok(())
}

pub fn size(path: &Path) -> Outcome<u64> {
    fs::metadata(path).map(|metadata| metadata.len()).map_err(|error| failed(path, &error))
}

/// All files in a folder and the folders in it, sorted.
pub fn below(path: &Path) -> Outcome<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(path).map_err(|error| failed(path, &error))?.flatten() {
        let path = entry.path();
        if path.is_dir() { found.extend(below(&path)?) } else { found.push(path) }
    }
    found.sort();
    Ok(found)
}

/// The size of all files in a folder.
pub fn total(path: &Path) -> u64 {
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    let size = |path: PathBuf| if path.is_dir() { total(&path) } else { size(&path).unwrap_or_default() };
    entries.map(|entry| size(entry.path())).sum()
}

#[cfg(unix)]
pub fn set_mode(path: &Path, mode: u32) -> Outcome {
    let mode = std::os::unix::fs::PermissionsExt::from_mode(mode);
    fs::set_permissions(path, mode).map_err(|error| failed(path, &error))
}

#[cfg(not(unix))]
pub fn set_mode(_path: &Path, _mode: u32) -> Outcome {
    Ok(())
}

/// The packages in the folder of a release.
pub fn packages(out: &Path) -> Outcome<Vec<PathBuf>> {
    let is_package = |path: &PathBuf| {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        [".tar.gz", ".deb", ".tgz", ".tar", ".crate"].iter().any(|ending| name.ends_with(ending))
    };
    let entries = fs::read_dir(out).map_err(|error| failed(out, &error))?;
    let mut found: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).filter(is_package).collect();
    found.sort();
    Ok(found)
}

/// Packs `name` of a folder into an archive, compressed if its name says so. Needs GNU tar, which macOS calls `gtar`.
pub fn tar(folder: &Path, name: &str, archive: &Path) -> Outcome {
    let mut tar = shell::command(if shell::found("gtar") { "gtar" } else { "tar" });
    tar.args(["--sort=name", "--mtime=@0", "--owner=0", "--group=0", "--numeric-owner", "--format=ustar"]);
    let is_compressed = archive.extension().is_some_and(|ending| ending == "gz" || ending == "tgz");
    if is_compressed {
        tar.args(["--use-compress-program", "gzip -9n"]);
    }
    shell::run(tar.arg("--create").arg("--file").arg(archive).arg("--directory").arg(folder).arg(name))
}

/// The SHA-256 of a file, in hexadecimal.
pub fn sha256(path: &Path) -> Outcome<String> {
    let line = shell::output(shell::command("sha256sum").arg(path))
        .or_else(|| shell::output(shell::command("shasum").args(["-a", "256"]).arg(path)));
    let digest = line.as_deref().and_then(|line| line.split_whitespace().next()).map(str::to_owned);
    digest.ok_or_else(|| Failure::new(format!("no SHA-256 of {}: sha256sum is missing", path.display())))
}

/// A JSON string.
pub fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            letter if letter.is_control() => out.push_str(&format!("\\u{:04x}", u32::from(letter))),
            letter => out.push(letter),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_valid_json() {
        let text = "a \"b\" \\ c\n\u{1}é";
        assert_eq!(serde_json::from_str::<String>(&quoted(text)).unwrap(), text);
    }
}
