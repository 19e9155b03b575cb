//! The Debian package: the kit below `/usr`, and the service as a unit of the user.

use super::Release;
use super::kit::{DOCS, Kit};
use crate::failure::{Failure, Outcome};
use crate::files;
use crate::{shell, workspace};

pub const NAME: &str = "context-composer";

/// Debian's name of this architecture.
pub fn architecture() -> Outcome<&'static str> {
    match std::env::consts::ARCH {
        "x86_64" => Ok("amd64"),
        "aarch64" => Ok("arm64"),
        other => Err(Failure::new(format!("there is no Debian package for {other}"))),
    }
}

/// The file's name.
pub fn file_name(release: &Release) -> Outcome<String> {
    Ok(format!("{NAME}_{}_{}.deb", release.version, architecture()?))
}

pub fn make(release: &Release, kit: &Kit) -> Outcome {
    let stage = release.out.join("stage-deb");
    files::copy(&kit.folder, &stage.join("usr"))?;
    let docs = stage.join("usr").join(DOCS);
    let licences = ["LICENSE-MIT", "LICENSE-APACHE"].map(|name| files::read(&docs.join(name)));
    let [mit, apache] = licences;
    files::write(
        &docs.join("copyright"),
        format!("ctx is licensed under MIT or Apache-2.0, at your option.\n\n{}\n\n{}", mit?, apache?),
    )?;
    let unit = files::read(&workspace::root().join("crates/cli/src/platform/service/ctx.service"))?;
    let unit = unit.replace("{command}", "/usr/bin/ctx up --service");
    files::write(&stage.join("usr/lib/systemd/user/ctx.service"), unit)?;
    let manual = stage.join("usr/share/man/man1");
    shell::run(shell::command("sh").args(["-c", "gzip -9n \"$0\"/*"]).arg(manual))?;
    shell::run(shell::command("gzip").arg("-9n").arg(docs.join("CHANGELOG.md")))?;
    let kilobytes = files::total(&stage) / 1024;
    files::write(&stage.join("DEBIAN/control"), control(&release.version, architecture()?, kilobytes))?;
    let package = release.out.join(file_name(release)?);
    shell::run(shell::command("dpkg-deb").args(["--root-owner-group", "-Zxz", "--build"]).arg(&stage).arg(package))
}

fn control(version: &str, architecture: &str, kilobytes: u64) -> String {
    format!(
        "Package: {NAME}
Version: {version}
Architecture: {architecture}
Maintainer: Context Composer <maintainers@context-composer.example>
Installed-Size: {kilobytes}
Section: devel
Priority: optional
Suggests: systemd
Description: shows and edits the context of coding agents
 A local proxy between coding agents and model APIs. It shows exactly what the
 model receives and lets you edit it: delete, rewrite, compact, offload, move,
 split. Every edit is a commit that you can revert.
"
    )
}
