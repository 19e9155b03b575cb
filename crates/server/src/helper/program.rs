//! Calls the user's own agent for one answer, in an empty folder.

use ctx_engine::helper::Prompt;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use ctx_clients::question::{self, PROGRAM, ProgramOutput};
use ctx_core::hint;
use ctx_wire::question::{QuestionAnswer, QuestionTokens};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::Command;

use super::Trouble;
use super::settings::Settings;

/// A meaningful response is never longer.
const LONGEST: u64 = 1024 * 1024;

pub(super) async fn ask(settings: &Settings, prompt: &Prompt) -> Result<QuestionAnswer, Trouble> {
    let folder = Folder::new().map_err(|error| Trouble::Down(format!("it has no empty folder to run in: {error}")))?;
    let mut command = Command::new(PROGRAM);
    command
        .args(question::arguments(settings.model(), &prompt.system))
        .env_clear()
        .envs(settings.environment.all())
        .current_dir(folder.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true);
    if let Some(url) = &settings.url {
        command.env(question::BASE_URL, url.to_string());
    }
    let mut running = command.spawn().map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => Trouble::Settings {
            what: format!("`{PROGRAM}` is not on the daemon's PATH."),
            hint: hint![
                "Install it, or restart the daemon with it on the PATH (",
                hint::Command::Stop,
                ", then ",
                hint::Command::Up,
                ")."
            ],
        },
        _ => Trouble::Down(format!("`{PROGRAM}` cannot be started: {error}")),
    })?;
    let (mut input, output) = (running.stdin.take(), running.stdout.take());
    let write = async {
        if let Some(input) = &mut input {
            // Its response shows whether it read everything.
            let _ = input.write_all(prompt.user.as_bytes()).await;
        }
        drop(input);
    };
    let read = async {
        let mut said = Vec::new();
        if let Some(output) = output {
            output.take(LONGEST + 1).read_to_end(&mut said).await?;
        }
        Ok::<_, std::io::Error>(said)
    };
    let ((), said) = tokio::join!(write, read);
    let said = said.map_err(|error| Trouble::Down(format!("`{PROGRAM}` broke off: {error}")))?;
    if said.len() as u64 > LONGEST {
        return Err(Trouble::Nonsense("it is too long"));
    }
    let ended = running.wait().await.map_err(|error| Trouble::Down(format!("`{PROGRAM}` broke off: {error}")))?;
    let ProgramOutput { result, is_error, tokens } = match ProgramOutput::read(&said) {
        Some(printed) => printed,
        None if !ended.success() => return Err(Trouble::Down(format!("`{PROGRAM}` failed ({ended})"))),
        None => return Err(Trouble::Nonsense("it is not JSON")),
    };
    if is_error || !ended.success() {
        let why: String =
            result.as_deref().unwrap_or("no reason").chars().filter(|c| !c.is_control()).take(200).collect();
        return Err(Trouble::Down(format!("`{PROGRAM}` says: {why}")));
    }
    let tokens = tokens.map(|(input, output)| QuestionTokens { input, output });
    Ok(QuestionAnswer { text: result.ok_or(Trouble::Nonsense("it has no result"))?, tokens })
}

/// A temporary, empty and private folder.
struct Folder(PathBuf);

impl Folder {
    fn new() -> std::io::Result<Self> {
        let mut random = [0; 8];
        getrandom::fill(&mut random).map_err(std::io::Error::other)?;
        let path = std::env::temp_dir().join(format!("ctx-helper-{:016x}", u64::from_le_bytes(random)));
        let mut builder = std::fs::DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(&path)?;
        Ok(Self(path))
    }

    fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
