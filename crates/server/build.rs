//! Embeds the built page in the binary, if it exists: `page` in a packaged crate, `web/dist` in a checkout. Without it,
//! the daemon works the same and `/ui/` explains how to get the page. `CTX_WEB_DIST` names another folder. Each file is embedded compressed.

use std::env;
use std::fmt::Write as _;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

fn main() -> io::Result<()> {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-env-changed=CTX_WEB_DIST");
    let here = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    let web = here.join("../../web");
    let packaged = Some(here.join("page")).filter(|page| page.is_dir());
    let dist = env::var_os("CTX_WEB_DIST").map(PathBuf::from).or(packaged).unwrap_or_else(|| web.join("dist"));

    let mut files = Vec::new();
    if dist.is_dir() {
        println!("cargo:rerun-if-changed={}", dist.display());
        collect(&dist, &mut files)?;
        files.sort();
    } else if web.is_dir() {
        // Watching a missing path would rebuild every time; its parent changes when it appears.
        println!("cargo:rerun-if-changed={}", web.display());
    }

    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    let mut table = String::from("pub(crate) static ASSETS: &[Asset] = &[\n");
    for (number, file) in files.iter().enumerate() {
        let name = file.strip_prefix(&dist).map_err(io::Error::other)?;
        let name = name.to_string_lossy().replace('\\', "/");
        let packed = out.join(format!("{number}.gz"));
        fs::write(&packed, pack(&fs::read(file)?)?)?;
        writeln!(table, "    Asset {{ name: {name:?}, packed: include_bytes!({packed:?}) }},")
            .map_err(io::Error::other)?;
    }
    table.push_str("];\n");
    fs::write(out.join("page.rs"), table)
}

fn pack(bytes: &[u8]) -> io::Result<Vec<u8>> {
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    packer.write_all(bytes)?;
    packer.finish()
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else {
            files.push(path);
        }
    }
    Ok(())
}
