//! `ctx trust`: trusts a project's settings, revokes that trust, or lists trusted files. Only the command line can do
//! this, because an agent must not trust the project it works in.

use std::fs;
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use ctx_core::ErrorCode;
use serde::Serialize;

use crate::arguments::{JsonArguments, non_empty_path};
use crate::config::Flags;
use crate::config::layer::{EDITING, Layer, Origin};
use crate::config::merge::{self, SourceLayer, WaitingSetting};
use crate::config::sources::{Places, Source};
use crate::config::trust::{Fingerprint, Trust, TrustedFile};
use crate::context::Context;
use crate::failure::Failure;
use crate::home::Home;
use crate::output::text;

/// Trust a project's settings, or revoke that trust
#[derive(Args, Debug)]
#[command(
    after_help = "Until you trust them, a project's ctx.toml, the context_editing section of its .loa.config.yaml and the front matter of its
skills can only make automatic editing more cautious. Trust covers the exact content of a file; trust a changed file again.
Daemon-wide settings in a project are always ignored. Agents cannot trust a project: run this in your own terminal.

Examples:
  ctx trust                               the project in the current folder
  ctx trust --list
  ctx trust --revoke ~/projects/shop"
)]
pub struct Arguments {
    /// Project folder [default: the current one]
    #[arg(value_name = "DIR", value_parser = non_empty_path)]
    folder: Option<PathBuf>,
    /// List trusted files, and whether they have changed
    #[arg(long, conflicts_with = "revoke")]
    list: bool,
    /// Revoke trust in the project's files
    #[arg(long)]
    revoke: bool,
    #[command(flatten)]
    pub format: JsonArguments,
}

/// The outcome, or the current state.
#[derive(Debug, Serialize)]
struct Answer {
    #[serde(skip_serializing_if = "Option::is_none")]
    folder: Option<PathBuf>,
    files: Vec<FileView>,
    /// Settings that take effect.
    settings: Vec<SettingView>,
    /// Settings that are ignored regardless of trust.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    ignored: Vec<String>,
    /// Every setting of the trusted files is ignored.
    #[serde(skip)]
    nothing_counts: bool,
}

impl Answer {
    fn of(folder: Option<PathBuf>, files: Vec<FileView>) -> Answer {
        Answer { folder, files, settings: Vec::new(), ignored: Vec::new(), nothing_counts: false }
    }
}

#[derive(Debug, Serialize)]
struct FileView {
    #[serde(flatten)]
    file: TrustedFile,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum State {
    Trusted,
    /// Changed since it was trusted; it needs trust again.
    Changed,
    Missing,
    Revoked,
}

#[derive(Debug, Serialize)]
struct SettingView {
    file: PathBuf,
    line: usize,
    key: String,
    value: String,
}

pub fn run(arguments: Arguments, context: &Context) -> Result<ExitCode, Failure> {
    let home = context.home()?;
    let mut trust = Trust::load(&home)?;
    let answer = if arguments.list {
        let folder = arguments.folder.as_deref().map(real).transpose()?;
        let is_meant = |file: &&TrustedFile| folder.as_ref().is_none_or(|folder| file.path.starts_with(folder));
        let files = trust.files.iter().filter(is_meant).map(|file| view(file.clone(), state(file))).collect();
        Answer::of(folder, files)
    } else {
        let folder = real(arguments.folder.as_deref().unwrap_or(Path::new(".")))?;
        match arguments.revoke {
            true => revoke(folder, &mut trust, &home, context)?,
            false => add(folder, &mut trust, &home, context)?,
        }
    };
    match arguments.format.json {
        true => context.output.json(&serde_json::to_vec(&answer).unwrap_or_default())?,
        false => context.output.print(&in_words(&answer))?,
    }
    Ok(ExitCode::SUCCESS)
}

fn real(folder: &Path) -> Result<PathBuf, Failure> {
    let found = fs::canonicalize(folder).ok().filter(|folder| folder.is_dir());
    found.ok_or_else(|| Failure::new(ErrorCode::NoFolder, format!("no folder {}", folder.display())))
}

/// The project's sources, after those of the home.
fn sources(folder: &Path, home: &Home, context: &Context) -> Vec<(Source, Option<Layer>)> {
    let places = Places::new(&Flags::default(), &context.environment, home);
    let skills = places.skills(Some(folder)).into_iter().map(|(_, source)| source);
    let all = std::iter::once(places.general()).chain(places.project(folder)).chain(skills);
    all.map(|source| (source.clone(), source.read())).collect()
}

fn add(folder: PathBuf, trust: &mut Trust, home: &Home, context: &Context) -> Result<Answer, Failure> {
    refuse_agents(context)?;
    let all = sources(&folder, home, context);
    let layers: Vec<SourceLayer<'_>> =
        all.iter().map(|(source, layer)| SourceLayer { source, layer: layer.as_ref() }).collect();
    let waiting = merge::waiting(&folder, &layers, trust);
    let (mut files, mut ignored, mut counts) = (Vec::new(), Vec::new(), false);
    for (source, layer) in all.iter().filter(|(source, _)| source.is_of_project) {
        let Some(layer) = layer else { continue };
        if let Some(wrong) = layer.all_wrong(&source.path).first() {
            return Err(Failure::new(ErrorCode::Config, wrong.clone()).hint("correct the file, then trust it"));
        }
        match &layer.print {
            Some(print) if says_something(source, layer) => {
                trust.add(&source.path, print, ctx_service::now());
                files.push(source.path.clone());
                ignored.extend(layer.ignored.iter().map(|remark| remark.at(&source.path)));
                counts |= layer.entries.iter().any(|entry| entry.is_in(EDITING));
            }
            Some(_) => {}
            // Another user owns it, or others can write to it.
            None => {
                let why = layer.ignored.first().map(|remark| remark.words.clone()).unwrap_or_default();
                return Err(Failure::new(ErrorCode::NotYours, why).hint("trust only files that you alone can write to"));
            }
        }
    }
    if files.is_empty() {
        let message = format!("no settings to trust in {}", folder.display());
        return Err(Failure::new(ErrorCode::NothingToTrust, message)
            .hint("a project's settings are in its ctx.toml, its .loa.config.yaml or the front matter of its skills"));
    }
    trust.save(home)?;
    let trusted = trust.files.iter().filter(|file| files.contains(&file.path));
    let files = trusted.map(|file| view(file.clone(), State::Trusted)).collect();
    let settings = waiting.into_iter().map(setting).collect();
    Ok(Answer { folder: Some(folder), files, settings, ignored, nothing_counts: !counts })
}

/// Only a person can trust. An agent is recognised by the variables that it sets for its commands, or by the missing
/// terminal. No flag replaces the terminal, because an agent could add it.
fn refuse_agents(context: &Context) -> Result<(), Failure> {
    const HINT: &str = "run `ctx trust` in your own terminal";
    if let Some(client) = ctx_clients::running_in(|name| context.environment.raw(name).is_some()) {
        let message = format!("an agent ({}) cannot trust the project it works in", client.title);
        return Err(Failure::new(ErrorCode::TrustByAgent, message).hint(HINT));
    }
    if !io::stdin().is_terminal() {
        let message = "only a person can trust a project, and this is not a terminal";
        return Err(Failure::new(ErrorCode::NoTerminal, message).hint(HINT));
    }
    Ok(())
}

/// A skill without such settings needs no trust.
fn says_something(source: &Source, layer: &Layer) -> bool {
    source.origin == Origin::Project || !layer.entries.is_empty()
}

fn revoke(folder: PathBuf, trust: &mut Trust, home: &Home, context: &Context) -> Result<Answer, Failure> {
    let all = sources(&folder, home, context);
    let is_of_it = |path: &Path| path.starts_with(&folder) || all.iter().any(|(source, _)| source.path == path);
    let gone = trust.revoke(is_of_it);
    if gone.is_empty() {
        return Err(Failure::new(ErrorCode::NotTrusted, format!("nothing in {} is trusted", folder.display()))
            .hint("`ctx trust --list` lists trusted files"));
    }
    trust.save(home)?;
    let files = gone.into_iter().map(|file| view(file, State::Revoked)).collect();
    Ok(Answer::of(Some(folder), files))
}

fn view(file: TrustedFile, state: State) -> FileView {
    FileView { file, state }
}

fn setting(setting: WaitingSetting) -> SettingView {
    let WaitingSetting { file, line, key, value } = setting;
    SettingView { file, line, key, value }
}

/// The state of a file compared with its trusted content.
fn state(file: &TrustedFile) -> State {
    let Ok(bytes) = fs::read(&file.path) else { return State::Missing };
    let owner = fs::metadata(&file.path).map(|found| ctx_store::confined::Identity::of(&found).owner);
    let hash = ctx_store::Hash::of(&bytes).to_string();
    let now = owner.ok().map(|owner| Fingerprint { owner, hash });
    match now.is_some_and(|now| now.owner == file.owner && now.hash == file.hash) {
        true => State::Trusted,
        false => State::Changed,
    }
}

fn in_words(answer: &Answer) -> String {
    if answer.files.is_empty() {
        return "No project is trusted. `ctx trust DIR` trusts one.\n".to_owned();
    }
    let mut words = String::new();
    for FileView { file, state } in &answer.files {
        let state = match state {
            State::Trusted => "trusted",
            State::Changed => "changed",
            State::Missing => "missing",
            State::Revoked => "revoked",
        };
        words.push_str(&format!("{state}  {}\n", text::line(&file.path.display().to_string())));
    }
    for SettingView { key, value, .. } in &answer.settings {
        words.push_str(&format!("  {}\n", text::line(&format!("{key} = {value}"))));
    }
    answer.ignored.iter().for_each(|remark| words.push_str(&format!("  {}\n", text::line(remark))));
    if answer.nothing_counts && !answer.ignored.is_empty() {
        words.push_str("All its settings are ignored, so nothing changes.\n");
    }
    if answer.files.iter().any(|file| file.state == State::Changed) {
        words.push_str("After a change, a file needs `ctx trust` again.\n");
    }
    words
}
