//! Installs each package into an empty place and tries it there.

use std::path::{Path, PathBuf};

use super::trial::{Installed, make_root};
use super::{Release, crates, deb, image, npm, tarball};
use crate::failure::{Failure, Outcome};
use crate::files;
use crate::shell;

/// Installs a package into an empty folder.
type Installer = fn(&Release, &Path) -> Outcome<Installed>;

const INSTALLERS: [(&str, Installer); 5] =
    [("tarball", of_tarball), ("deb", of_deb), ("npm", of_npm), ("image", of_image), ("crates", of_crates)];

pub fn all(release: &Release, only: Option<&str>) -> Outcome {
    shell::run(shell::cargo().args(["build", "--quiet", "--locked", "--workspace", "--bin", "testkit"]))?;
    for (name, install) in INSTALLERS.iter().filter(|(name, _)| only.is_none_or(|only| only == *name)) {
        let place = release.out.join("check").join(name);
        files::empty(&place)?;
        install(release, &place)?.try_out(release)?;
    }
    Ok(())
}

/// The script refuses a damaged archive, and installs the original into a root with busybox and nothing else.
fn of_tarball(release: &Release, place: &Path) -> Outcome<Installed> {
    let name = format!("{}.tar.gz", tarball::name(release));
    let busybox = shell::find("busybox").ok_or_else(|| {
        Failure::new("the tarball is tried beside a static busybox").hint("apt-get install busybox-static")
    })?;
    let root = place.join("root");
    make_root(&root)?;
    files::copy(&busybox, &root.join("bin/busybox"))?;
    for tool in ["sh", "tar", "gzip", "sha256sum", "mktemp", "find", "uname", "dirname", "cut", "sed", "sort", "mkdir"]
    {
        link("busybox", &root.join("bin").join(tool))?;
    }
    for tool in ["mv", "cp", "rm", "rmdir", "cat", "echo"] {
        link("busybox", &root.join("bin").join(tool))?;
    }
    for folder in ["tmp", "data", "proc"] {
        files::folder(&root.join(folder))?;
    }
    let chroot = |line: &str| {
        let mut command = shell::command(shell::find("chroot").unwrap_or_else(|| "chroot".into()));
        command.arg(&root).args(["/bin/sh", "-c", line]).env_clear().env("PATH", "/bin").env("HOME", "/data");
        command
    };
    for file in [name.as_str(), &format!("{name}.sha256"), "install.sh"] {
        files::copy(&release.out.join(file), &root.join("tmp").join(file))?;
    }
    files::write(&root.join("tmp/broken/install.sh"), "")?;
    files::write(&root.join("tmp/broken").join(&name), "not the original")?;
    files::copy(&release.out.join(format!("{name}.sha256")), &root.join("tmp/broken").join(format!("{name}.sha256")))?;
    if shell::output(&mut chroot(&format!("/tmp/install.sh /tmp/broken/{name} 2>&1"))).is_some() {
        return Err(Failure::new("the script installed a damaged archive"));
    }
    shell::run(&mut chroot(&format!("/tmp/install.sh /tmp/{name} >/dev/null")))?;
    shell::run(&mut chroot(
        "/tmp/install.sh --uninstall && /tmp/install.sh --uninstall && ! test -e /data/.local/bin/ctx",
    ))?;
    shell::run(&mut chroot(&format!("/tmp/install.sh --prefix /usr /tmp/{name} >/dev/null")))?;
    Ok(Installed::in_root("tarball", &root, "/usr/bin/ctx", "0:0"))
}

#[cfg(unix)]
fn link(target: &str, path: &Path) -> Outcome {
    std::os::unix::fs::symlink(target, path).map_err(|error| files::failed(path, &error))
}

#[cfg(not(unix))]
fn link(_target: &str, path: &Path) -> Outcome {
    Err(Failure::new(format!("{}: this system has no links", path.display())))
}

/// dpkg installs into an empty root.
fn of_deb(release: &Release, place: &Path) -> Outcome<Installed> {
    let root = place.join("root");
    make_root(&root)?;
    for folder in ["var/lib/dpkg/info", "var/lib/dpkg/updates", "var/lib/dpkg/triggers", "data"] {
        files::folder(&root.join(folder))?;
    }
    for file in ["status", "available"] {
        files::write(&root.join("var/lib/dpkg").join(file), "")?;
    }
    let package = release.out.join(deb::file_name(release)?);
    let mut dpkg = shell::command("dpkg");
    shell::run(
        dpkg.arg(format!("--root={}", root.display())).args(["--force-script-chrootless", "--install"]).arg(package),
    )?;
    for file in [
        "usr/lib/systemd/user/ctx.service",
        "usr/share/man/man1/ctx.1.gz",
        "usr/share/bash-completion/completions/ctx",
        "usr/share/doc/context-composer/copyright",
    ] {
        files::size(&root.join(file))?;
    }
    Ok(Installed::in_root("deb", &root, "/usr/bin/ctx", "0:0"))
}

/// npm installs both packages below an empty prefix.
fn of_npm(release: &Release, place: &Path) -> Outcome<Installed> {
    let version = &release.version;
    let platform = npm::platform()?;
    let mut npm = shell::command(shell::NPM);
    npm.args(["install", "--global", "--silent", "--no-audit", "--no-fund", "--prefix"]).arg(place.join("prefix"));
    npm.env("npm_config_cache", place.join("cache"));
    for name in [format!("context-composer-{platform}-{version}.tgz"), format!("context-composer-{version}.tgz")] {
        npm.arg(release.out.join(name));
    }
    shell::run(&mut npm)?;
    Ok(Installed::here("npm", &place.join("prefix/bin/ctx"), place))
}

/// The image's layers are unpacked into an empty root and run as the image's user, which can write only to its data.
fn of_image(release: &Release, place: &Path) -> Outcome<Installed> {
    let root = place.join("root");
    make_root(&root)?;
    let blobs = image::folder(release).join("blobs/sha256");
    let entries = std::fs::read_dir(&blobs).map_err(|error| files::failed(&blobs, &error))?;
    let mut layers: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    layers.retain(|path| std::fs::read(path).is_ok_and(|bytes| bytes.starts_with(&[0x1f, 0x8b])));
    for layer in &layers {
        shell::run(shell::command("tar").args(["--numeric-owner", "-xzf"]).arg(layer).arg("-C").arg(&root))?;
    }
    let mut installed = Installed::in_root("image", &root, "/usr/bin/ctx", image::USER);
    files::write(&root.join("etc/ctx-token"), "0123456789abcdef0123456789abcdef-trial\n")?;
    installed.variables.push(("CTX_TOKEN_FILE", "/etc/ctx-token".to_owned()));
    Ok(installed)
}

/// Builds the packaged crates outside the checkout, so that every file comes from them.
fn of_crates(release: &Release, place: &Path) -> Outcome<Installed> {
    let program = crates::install(release, place)?;
    Ok(Installed::here("crates", &program, place))
}
