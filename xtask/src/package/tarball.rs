//! The archive for any Linux, its checksum, and the script that verifies and installs it.

use super::Release;
use super::kit::Kit;
use crate::failure::Outcome;
use crate::files;
use crate::workspace;

/// The name without its ending.
pub fn name(release: &Release) -> String {
    format!("ctx-{}-{}-{}", release.version, std::env::consts::ARCH, std::env::consts::OS)
}

pub fn make(release: &Release, kit: &Kit) -> Outcome {
    let name = name(release);
    let stage = release.out.join("stage-tarball");
    files::copy(&kit.folder, &stage.join(&name))?;
    let archive = release.out.join(format!("{name}.tar.gz"));
    files::tar(&stage, &name, &archive)?;
    let digest = files::sha256(&archive)?;
    files::write(&release.out.join(format!("{name}.tar.gz.sha256")), format!("{digest}  {name}.tar.gz\n"))?;
    let script = release.out.join("install.sh");
    files::copy(&workspace::root().join("packaging/install.sh"), &script)?;
    files::set_mode(&script, 0o755)
}
