//! `ctx man DIR`: writes the help as man pages.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, CommandFactory};
use serde_json::json;

use crate::arguments::{Cli, JsonArguments};
use crate::context::Context;
use crate::failure::Failure;
use crate::output::{text, words};

/// Write man pages to a folder
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  ctx man ~/.local/share/man/man1
  ctx man pages && man pages/ctx-list.1")]
pub struct Arguments {
    /// Folder, created if necessary
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    #[command(flatten)]
    pub format: JsonArguments,
}

pub fn run(arguments: Arguments, context: &Context) -> Result<ExitCode, Failure> {
    let folder = &arguments.folder;
    let pages = write(folder).map_err(|error| Failure::file("write man pages to", folder, &error))?;
    if arguments.format.json {
        let answer = json!({ "folder": folder, "pages": pages });
        context.output.json(answer.to_string().as_bytes())?;
    } else {
        let number = words::plural(pages.len() as u64, "page");
        let folder = text::line(&folder.display().to_string());
        context
            .output
            .print(&format!("Wrote {number} to {folder}. `man ctx` needs this folder in its search path.\n"))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The names of the pages.
fn write(folder: &Path) -> std::io::Result<Vec<String>> {
    fs::create_dir_all(folder)?;
    let mut command = Cli::command();
    command.build();
    let mut pages = Vec::new();
    let verbs = command.get_subcommands().map(|verb| (format!("ctx-{}", verb.get_name()), verb));
    for (name, command) in std::iter::once(("ctx".to_owned(), &command)).chain(verbs) {
        let mut page = Vec::new();
        // The usage line says `ctx list`; the page is named `ctx-list`.
        clap_mangen::Man::new(command.clone()).title(name.clone()).render(&mut page)?;
        let file = format!("{name}.1");
        fs::write(folder.join(&file), page)?;
        pages.push(file);
    }
    Ok(pages)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_verb_has_a_page_with_its_examples() {
        let folder = tempfile::tempdir().expect("a folder");
        let pages = write(&folder.path().join("man1")).expect("written");
        for verb in Cli::command().get_subcommands() {
            let name = format!("ctx-{}.1", verb.get_name());
            assert!(pages.contains(&name), "{name}");
            let page = fs::read_to_string(folder.path().join("man1").join(&name)).expect("a page");
            let plain = page.replace("\\-", "-");
            assert!(plain.contains("Example") && plain.contains(&format!("ctx {}", verb.get_name())), "{page}");
        }
        let all = fs::read_to_string(folder.path().join("man1/ctx.1")).expect("a page").replace("\\-", "-");
        for verb in Cli::command().get_subcommands() {
            assert!(all.contains(&format!("ctx-{}(1)", verb.get_name())), "{all}");
        }
    }
}
