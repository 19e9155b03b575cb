//! `cargo xtask package`: everything that people install, made on this machine into `target/packages`. With `--check`,
//! each package is installed into an empty place and tried there.

mod binary;
mod check;
mod crates;
mod deb;
mod image;
mod kit;
mod licences;
mod npm;
mod sbom;
mod tarball;
mod trial;

use std::path::PathBuf;

use crate::failure::{Failure, Outcome};
use crate::run::target_folder;
use crate::{files, page, workspace};

/// The largest package, compressed.
const LARGEST: u64 = 15_000_000;

/// The packages to make, and the binary in them.
pub struct Plan {
    check: bool,
    binary: Option<PathBuf>,
    only: Option<String>,
}

/// The release that is packaged.
pub struct Release {
    pub version: String,
    pub commit: String,
    /// The folder of the packages.
    pub out: PathBuf,
}

/// Makes one package from the kit.
type Maker = fn(&Release, &kit::Kit) -> Outcome;

const MAKERS: [(&str, Maker); 5] = [
    ("tarball", tarball::make),
    ("deb", deb::make),
    ("npm", npm::make),
    ("image", image::make),
    ("crates", crates::make),
];

impl Plan {
    pub fn parse(arguments: &[String]) -> Outcome<Self> {
        let mut plan = Plan { check: false, binary: None, only: None };
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            let mut value =
                || rest.next().cloned().ok_or_else(|| Failure::usage(format!("`{argument}` needs a value")));
            match argument.as_str() {
                "--check" => plan.check = true,
                "--binary" => plan.binary = Some(workspace::root().join(value()?)),
                "--only" => plan.only = Some(value()?),
                other => return Err(Failure::usage(format!("`package` does not take `{other}`"))),
            }
        }
        match &plan.only {
            Some(name) if MAKERS.iter().all(|(known, _)| known != name) => {
                let known: Vec<&str> = MAKERS.iter().map(|(name, _)| *name).collect();
                Err(Failure::usage(format!("there is no package `{name}`, only {}", known.join(", "))))
            }
            _ => Ok(plan),
        }
    }
}

/// Makes the packages, and tries them if asked.
pub fn package(plan: &Plan) -> Outcome {
    let out = target_folder()?.join("packages");
    files::empty(&out)?;
    let mut release = Release { version: version()?, commit: binary::commit()?, out };
    page::build()?;
    let binary = match &plan.binary {
        Some(binary) => {
            release.commit = binary::commit_of(binary)?;
            binary.clone()
        }
        None => binary::build(&release)?,
    };
    binary::judge(&binary)?;
    let kit = kit::Kit::gather(&release, &binary)?;
    for (name, make) in MAKERS.iter().filter(|(name, _)| plan.only.as_deref().is_none_or(|only| only == *name)) {
        println!("package: {name}");
        make(&release, &kit)?;
    }
    list(&release)?;
    if plan.check { check::all(&release, plan.only.as_deref()) } else { Ok(()) }
}

/// The version of the workspace.
fn version() -> Outcome<String> {
    let manifest = files::read(&workspace::root().join("Cargo.toml"))?;
    let line = manifest.lines().find_map(|line| line.strip_prefix("version = \""));
    line.and_then(|rest| rest.strip_suffix('"'))
        .map(str::to_owned)
        .ok_or_else(|| Failure::new("Cargo.toml names no version"))
}

/// Prints the size of each package, and refuses one that is too large.
fn list(release: &Release) -> Outcome {
    for path in files::packages(&release.out)? {
        let bytes = files::size(&path)?;
        println!("{:>9.1} MB  {}", bytes as f64 / 1e6, path.display());
        if bytes > LARGEST {
            return Err(Failure::new(format!("{} has more than {LARGEST} bytes", path.display())));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(line: &str) -> Outcome<Plan> {
        Plan::parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn only_known_packages_and_flags_are_taken() {
        assert!(plan("--check --only deb").is_ok_and(|plan| plan.check && plan.only.as_deref() == Some("deb")));
        assert!(plan("--only rpm").is_err_and(|failure| failure.to_string().contains("tarball, deb, npm")));
        assert!(plan("--fast").is_err() && plan("--binary").is_err());
    }

    #[test]
    fn the_version_is_that_of_the_workspace() {
        assert_eq!(version().unwrap(), env!("CARGO_PKG_VERSION"));
    }
}
