//! The files that all packages share, laid out as below `/usr`: the program, man pages, completions, licences, the list
//! of components.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Release, binary, licences, sbom};
use crate::failure::{Failure, Outcome};
use crate::files;
use crate::{shell, workspace};

pub struct Kit {
    /// `bin` and `share` are below it.
    pub folder: PathBuf,
}

/// The path of each shell's completions.
const COMPLETIONS: [(&str, &str); 3] = [
    ("bash", "share/bash-completion/completions/ctx"),
    ("zsh", "share/zsh/site-functions/_ctx"),
    ("fish", "share/fish/vendor_completions.d/ctx.fish"),
];

/// The program's file.
pub const PROGRAM: &str = if cfg!(windows) { "ctx.exe" } else { "ctx" };

/// The folder of texts.
pub const DOCS: &str = "share/doc/context-composer";

impl Kit {
    pub fn gather(release: &Release, binary: &Path) -> Outcome<Self> {
        let folder = release.out.join("kit");
        let program = folder.join("bin").join(PROGRAM);
        files::copy(binary, &program)?;
        files::set_mode(&program, 0o755)?;
        for (shell, path) in COMPLETIONS {
            files::write(&folder.join(path), output(Command::new(&program).args(["completions", shell]))?)?;
        }
        let manual = folder.join("share/man/man1");
        files::folder(&manual)?;
        output(Command::new(&program).arg("man").arg(&manual))?;
        let docs = folder.join(DOCS);
        for name in ["README.md", "CHANGELOG.md", "LICENSE-MIT", "LICENSE-APACHE"] {
            files::copy(&workspace::root().join(name), &docs.join(name))?;
        }
        files::write(&docs.join("THIRD-PARTY-LICENSES"), licences::all()?)?;
        files::write(&docs.join("ctx.cdx.json"), sbom::write(&release.version)?)?;
        files::write(&docs.join("build.json"), provenance(release, &program)?)?;
        Ok(Self { folder })
    }

    pub fn program(&self) -> PathBuf {
        self.folder.join("bin").join(PROGRAM)
    }
}

/// The origin of the binary.
fn provenance(release: &Release, program: &Path) -> Outcome<String> {
    let compiler = shell::output(Command::new("rustc").arg("-V")).unwrap_or_default();
    let lock = files::sha256(&workspace::root().join("Cargo.lock"))?;
    let fields = [
        ("version", release.version.clone()),
        ("commit", release.commit.clone()),
        ("target", binary::target()?),
        ("compiler", compiler),
        ("profile", "dist".to_owned()),
        ("cargo_lock_sha256", lock),
        ("binary_sha256", files::sha256(program)?),
    ];
    let lines: Vec<String> =
        fields.iter().map(|(name, value)| format!("  \"{name}\": {}", files::quoted(value))).collect();
    Ok(format!("{{\n{}\n}}\n", lines.join(",\n")))
}

/// The output of the packaged program, which must run here.
fn output(command: &mut Command) -> Outcome<Vec<u8>> {
    let line = shell::shown(command);
    match command.output() {
        Ok(output) if output.status.success() => Ok(output.stdout),
        Ok(output) => Err(Failure::new(format!("`{line}`: {}", String::from_utf8_lossy(&output.stderr)))),
        Err(error) => Err(Failure::new(format!("`{line}` did not start: {error}"))),
    }
}
