//! The container image as an OCI layout, written without a container runtime: the static program, a user that is not
//! root, and a folder for its data.

use std::path::{Path, PathBuf};

use super::Release;
use super::kit::{DOCS, Kit};
use crate::failure::{Failure, Outcome};
use crate::files;
use crate::files::quoted;
use crate::shell;

/// The user of the daemon.
pub const USER: &str = "65532:65532";

/// The path of the layout.
pub fn folder(release: &Release) -> PathBuf {
    release.out.join("image")
}

pub fn make(release: &Release, kit: &Kit) -> Outcome {
    let layout = folder(release);
    let root = release.out.join("stage-image");
    files::copy(&kit.program(), &root.join("usr/bin/ctx"))?;
    for name in ["THIRD-PARTY-LICENSES", "LICENSE-MIT", "LICENSE-APACHE", "ctx.cdx.json", "build.json"] {
        files::copy(&kit.folder.join(DOCS).join(name), &root.join("usr").join(DOCS).join(name))?;
    }
    files::write(&root.join("etc/passwd"), "ctx:x:65532:65532:ctx:/data:/sbin/nologin\n")?;
    files::write(&root.join("etc/group"), "ctx:x:65532:\n")?;
    for name in ["data", "tmp"] {
        files::folder(&root.join(name))?;
    }
    let plain = release.out.join("layer.tar");
    layer(&root, &plain)?;
    let difference = files::sha256(&plain)?;
    shell::run(shell::command("gzip").arg("-9nf").arg(&plain))?;
    let (layer, layer_size) = keep(&layout, &release.out.join("layer.tar.gz"))?;
    let (config, config_size) = keep_text(&layout, release, &config(release, &difference)?)?;
    let manifest = format!(
        "{{\"schemaVersion\":2,\"mediaType\":\"application/vnd.oci.image.manifest.v1+json\",\"config\":{{\"mediaType\":\
         \"application/vnd.oci.image.config.v1+json\",\"digest\":\"sha256:{config}\",\"size\":{config_size}}},\"layers\":\
         [{{\"mediaType\":\"application/vnd.oci.image.layer.v1.tar+gzip\",\"digest\":\"sha256:{layer}\",\"size\":\
         {layer_size}}}]}}"
    );
    let (manifest, manifest_size) = keep_text(&layout, release, &manifest)?;
    files::write(
        &layout.join("index.json"),
        format!(
            "{{\"schemaVersion\":2,\"manifests\":[{{\"mediaType\":\"application/vnd.oci.image.manifest.v1+json\",\
             \"digest\":\"sha256:{manifest}\",\"size\":{manifest_size},\"platform\":{{\"os\":\"linux\",\"architecture\":\
             \"{}\"}},\"annotations\":{{\"org.opencontainers.image.ref.name\":{}}}}}]}}",
            architecture()?,
            quoted(&format!("context-composer:{}", release.version))
        ),
    )?;
    files::write(&layout.join("oci-layout"), "{\"imageLayoutVersion\":\"1.0.0\"}")?;
    files::tar(&release.out, "image", &release.out.join(format!("ctx-{}-oci.tar", release.version)))
}

/// The layer: everything belongs to root, but for the data folder of the daemon's user and the folder of temporary
/// files, which are open to it.
fn layer(root: &Path, archive: &Path) -> Outcome {
    files::set_mode(&root.join("tmp"), 0o1777)?;
    files::set_mode(&root.join("data"), 0o700)?;
    let common = ["--sort=name", "--mtime=@0", "--numeric-owner", "--format=ustar"];
    let mut tar = shell::command("tar");
    tar.args(common).args(["--owner=0", "--group=0", "--create", "--file"]).arg(archive);
    shell::run(tar.arg("--directory").arg(root).args(["etc", "tmp", "usr"]))?;
    let mut tar = shell::command("tar");
    tar.args(common).args(["--owner=65532", "--group=65532", "--append", "--file"]).arg(archive);
    shell::run(tar.arg("--directory").arg(root).arg("data"))
}

fn config(release: &Release, difference: &str) -> Outcome<String> {
    Ok(format!(
        "{{\"architecture\":\"{}\",\"os\":\"linux\",\"config\":{{\"User\":\"{USER}\",\"Env\":[\"PATH=/usr/bin\",\
         \"HOME=/data\",\"CTX_HOME=/data\"],\"Entrypoint\":[\"/usr/bin/ctx\"],\"Cmd\":[\"up\",\"--listen\",\
         \"0.0.0.0:8788\",\"--allow-remote\"],\"ExposedPorts\":{{\"8788/tcp\":{{}}}},\"Volumes\":{{\"/data\":{{}}}},\
         \"WorkingDir\":\"/data\",\"StopSignal\":\"SIGTERM\",\"Labels\":{{\"org.opencontainers.image.version\":{},\
         \"org.opencontainers.image.revision\":{},\"org.opencontainers.image.licenses\":\"MIT OR Apache-2.0\"}}}},\
         \"rootfs\":{{\"type\":\"layers\",\"diff_ids\":[\"sha256:{difference}\"]}}}}",
        architecture()?,
        quoted(&release.version),
        quoted(&release.commit)
    ))
}

/// The name of this architecture in images.
fn architecture() -> Outcome<&'static str> {
    match std::env::consts::ARCH {
        "x86_64" => Ok("amd64"),
        "aarch64" => Ok("arm64"),
        other => Err(Failure::new(format!("there is no image for {other}"))),
    }
}

/// Moves a file into the layout; returns digest and size.
fn keep(layout: &Path, file: &Path) -> Outcome<(String, u64)> {
    let (digest, size) = (files::sha256(file)?, files::size(file)?);
    files::copy(file, &layout.join("blobs/sha256").join(&digest))?;
    std::fs::remove_file(file).map_err(|error| files::failed(file, &error))?;
    Ok((digest, size))
}

fn keep_text(layout: &Path, release: &Release, text: &str) -> Outcome<(String, u64)> {
    let draft = release.out.join("draft.json");
    files::write(&draft, text)?;
    keep(layout, &draft)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_configuration_is_json_with_a_user_that_is_not_root() {
        let release = Release { version: "1.2.3".into(), commit: "abc".into(), out: PathBuf::new() };
        let config: serde_json::Value = serde_json::from_str(&config(&release, "00").unwrap()).unwrap();
        assert_eq!(config["config"]["User"], USER);
        assert_eq!(config["config"]["Entrypoint"][0], "/usr/bin/ctx");
        assert_eq!(config["rootfs"]["diff_ids"][0], "sha256:00");
    }
}
