//! Two npm packages: a wrapper, and the program for this platform as its optional dependency.

use super::Release;
use super::kit::{DOCS, Kit, PROGRAM};
use crate::failure::{Failure, Outcome};
use crate::files;
use crate::files::quoted;
use crate::{shell, workspace};

/// The platforms for which releases are built, as node names them.
const PLATFORMS: [&str; 5] = ["linux-x64", "linux-arm64", "darwin-x64", "darwin-arm64", "win32-x64"];

/// This platform.
pub fn platform() -> Outcome<&'static str> {
    let system = match std::env::consts::OS {
        "macos" => "darwin",
        "windows" => "win32",
        other => other,
    };
    let machine = match std::env::consts::ARCH {
        "x86_64" => "x64",
        "aarch64" => "arm64",
        other => other,
    };
    let name = format!("{system}-{machine}");
    PLATFORMS
        .into_iter()
        .find(|platform| *platform == name)
        .ok_or_else(|| Failure::new(format!("there is no npm package for {name}")))
}

pub fn make(release: &Release, kit: &Kit) -> Outcome {
    let platform = platform()?;
    let folder = release.out.join("stage-npm").join(format!("context-composer-{platform}"));
    files::copy(&kit.program(), &folder.join("bin").join(PROGRAM))?;
    for name in ["THIRD-PARTY-LICENSES", "LICENSE-MIT", "LICENSE-APACHE", "ctx.cdx.json", "build.json"] {
        files::copy(&kit.folder.join(DOCS).join(name), &folder.join(name))?;
    }
    files::write(&folder.join("package.json"), of_platform(&release.version, platform))?;
    pack(release, &folder)?;

    let source = workspace::root().join("packaging/npm");
    let folder = release.out.join("stage-npm/context-composer");
    files::copy(&source.join("ctx.js"), &folder.join("bin/ctx.js"))?;
    files::set_mode(&folder.join("bin/ctx.js"), 0o755)?;
    files::copy(&source.join("README.md"), &folder.join("README.md"))?;
    files::write(&folder.join("package.json"), of_wrapper(&release.version))?;
    pack(release, &folder)
}

fn pack(release: &Release, folder: &std::path::Path) -> Outcome {
    let mut npm = shell::command(shell::NPM);
    npm.args(["pack", "--silent", "--pack-destination"]).arg(&release.out).current_dir(folder);
    shell::run(&mut npm)
}

fn of_platform(version: &str, platform: &str) -> String {
    let (system, machine) = platform.split_once('-').unwrap_or((platform, ""));
    format!(
        "{{\n  \"name\": \"context-composer-{platform}\",\n  \"version\": {},\n  \"description\": \"ctx for {platform}\",\n  \
         \"license\": \"MIT OR Apache-2.0\",\n  \"os\": [\"{system}\"],\n  \"cpu\": [\"{machine}\"],\n  \
         \"preferUnplugged\": true\n}}\n",
        quoted(version)
    )
}

fn of_wrapper(version: &str) -> String {
    let version = quoted(version);
    let platforms: Vec<String> =
        PLATFORMS.iter().map(|platform| format!("    \"context-composer-{platform}\": {version}")).collect();
    format!(
        "{{\n  \"name\": \"context-composer\",\n  \"version\": {version},\n  \"description\": \"Shows and edits the context of \
         coding agents\",\n  \"license\": \"MIT OR Apache-2.0\",\n  \"bin\": {{ \"ctx\": \"bin/ctx.js\" }},\n  \"engines\": \
         {{ \"node\": \">=18\" }},\n  \"optionalDependencies\": {{\n{}\n  }}\n}}\n",
        platforms.join(",\n")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wrapper_depends_on_every_platform_and_runs_no_script() {
        let wrapper: serde_json::Value = serde_json::from_str(&of_wrapper("1.2.3")).unwrap();
        assert_eq!(wrapper["optionalDependencies"].as_object().unwrap().len(), PLATFORMS.len());
        assert!(wrapper["scripts"].is_null() && wrapper["bin"]["ctx"] == "bin/ctx.js");
        let own: serde_json::Value = serde_json::from_str(&of_platform("1.2.3", "linux-x64")).unwrap();
        assert_eq!((&own["os"][0], &own["cpu"][0]), (&"linux".into(), &"x64".into()));
    }
}
