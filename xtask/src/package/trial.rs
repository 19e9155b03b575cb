//! A trial of an installed program: its version, the daemon, the page, and one edit before the fake provider.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::Release;
use crate::failure::{Failure, Outcome};
use crate::files;
use crate::run::target_folder;
use crate::shell;

const PATIENCE: Duration = Duration::from_secs(30);
/// The text in a tool result that an edit removes.
const NEEDLE: &str = "needle-in-the-tool-result";

/// The command that starts the installed program.
pub struct Installed {
    pub name: &'static str,
    /// The command up to the program, such as `chroot …`.
    pub command: Vec<String>,
    /// The daemon's home as the program sees it, and as this process does.
    pub home: PathBuf,
    pub home_outside: PathBuf,
    /// Further variables.
    pub variables: Vec<(&'static str, String)>,
}

impl Installed {
    /// Runs on this machine, with a home in this folder.
    pub fn here(name: &'static str, program: &Path, place: &Path) -> Self {
        let home = place.join("ctx-home");
        let command = vec![program.display().to_string()];
        Self { name, command, home: home.clone(), home_outside: home, variables: Vec::new() }
    }

    /// Runs in a root of its own.
    pub fn in_root(name: &'static str, root: &Path, program: &str, user: &str) -> Self {
        let chroot = shell::find("chroot").unwrap_or_else(|| "chroot".into()).display().to_string();
        let command = vec![chroot, format!("--userspec={user}"), root.display().to_string(), program.to_owned()];
        let home_outside = root.join("data/home");
        Self { name, command, home: "/data/home".into(), home_outside, variables: Vec::new() }
    }

    fn ctx(&self, arguments: &[&str]) -> Command {
        let mut words = self.command.iter();
        let mut command = shell::command(words.next().map_or("", String::as_str));
        command.args(words).args(arguments).env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("HOME", self.home.parent().unwrap_or(&self.home)).env("CTX_HOME", &self.home);
        command.envs(self.variables.iter().map(|(name, value)| (name, value))).current_dir("/");
        command
    }

    fn says(&self, arguments: &[&str]) -> Outcome<String> {
        let output = self.ctx(arguments).output();
        let output = output.map_err(|error| Failure::new(format!("{}: {error}", self.command.join(" "))))?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        match output.status.success() {
            true => Ok(text),
            false => Err(Failure::new(format!(
                "{}: `ctx {}` failed: {text}{}",
                self.name,
                arguments.join(" "),
                String::from_utf8_lossy(&output.stderr)
            ))),
        }
    }

    /// Tries the program.
    pub fn try_out(&self, release: &Release) -> Outcome {
        let started = Instant::now();
        let version = self.says(&["--version"])?;
        let short: String = release.commit.chars().take(10).collect();
        ensure(self, version.contains(&release.version) && version.contains(&short), &version)?;
        let place = release.out.join("trial").join(self.name);
        files::empty(&place)?;
        let provider = Process::start(&mut fake_provider(&place)?)?;
        let port = wait("the provider's port", || files::read(&place.join("port")).ok())?;
        let upstream = format!("http://127.0.0.1:{}", port.trim());
        let daemon = Process::start(&mut self.ctx(&["up", "--listen", "127.0.0.1:0", "--upstream", &upstream]))?;
        let outcome = self.use_daemon(&place, started);
        drop((daemon, provider));
        outcome
    }

    fn use_daemon(&self, place: &Path, started: Instant) -> Outcome {
        let address = wait("the daemon's notice", || address(&self.home_outside.join("daemon.json")))?;
        send(&address)?;
        // The daemon records a request after it has forwarded it.
        wait("the conversation in `ctx list`", || self.says(&["list"]).ok().filter(|list| list.contains("t1")))?;
        let seconds = started.elapsed().as_secs_f32();
        let link = self.says(&["ui"])?;
        let page = load(place, link.trim())?;
        ensure(self, page.contains("<div id=\"root\">") || page.contains("type=\"module\""), &page)?;
        let health = curl(&[&format!("http://{address}/control/health")])?;
        ensure(self, health.contains("true"), &health)?;
        ensure(self, newest(place)?.contains(NEEDLE), "the first request is complete")?;
        self.says(&["drop-results", "t1"])?;
        send(&address)?;
        ensure(self, !newest(place)?.contains(NEEDLE), "the second request is edited")?;
        println!("{:>9} ok: version, list after {seconds:.1} s, page, health, one edit", self.name);
        Ok(())
    }
}

/// Makes a root with the devices that every container has.
pub fn make_root(root: &Path) -> Outcome {
    files::folder(&root.join("dev"))?;
    for (device, minor) in [("null", "3"), ("random", "8"), ("urandom", "9")] {
        let mut mknod = shell::command("mknod");
        shell::run(mknod.arg("--mode=666").arg(root.join("dev").join(device)).args(["c", "1", minor]))?;
    }
    Ok(())
}

fn ensure(installed: &Installed, holds: bool, told: &str) -> Outcome {
    if holds { Ok(()) } else { Err(Failure::new(format!("the trial of `{}` failed: {told}", installed.name))) }
}

/// A process that ends with this value.
struct Process(Child);

impl Process {
    fn start(command: &mut Command) -> Outcome<Self> {
        let line = shell::shown(command);
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn();
        child.map(Process).map_err(|error| Failure::new(format!("`{line}` did not start: {error}")))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // A signal that a wrapper can pass on, unlike a kill.
        let _ = shell::output(shell::command("kill").arg(self.0.id().to_string()));
        let _ = self.0.wait();
    }
}

/// The strict provider of the test kit. It writes every request to a file.
fn fake_provider(place: &Path) -> Outcome<Command> {
    let mut provider = shell::command(target_folder()?.join("debug/testkit"));
    provider.args(["fake-provider", "--strict", "--port", "0", "--record-raw", "--port-file"]).arg(place.join("port"));
    provider.arg("--record").arg(place.join("requests"));
    Ok(provider)
}

fn wait<T>(what: &str, look: impl Fn() -> Option<T>) -> Outcome<T> {
    let deadline = Instant::now() + PATIENCE;
    while Instant::now() < deadline {
        if let Some(found) = look() {
            return Ok(found);
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Err(Failure::new(format!("waited in vain for {what}")))
}

/// The address in a daemon's notice.
fn address(notice: &Path) -> Option<String> {
    let text = files::read(notice).ok()?;
    let rest = text.split_once("\"listen\":\"")?.1;
    rest.split('"').next().map(str::to_owned)
}

fn curl(arguments: &[&str]) -> Outcome<String> {
    let mut curl = shell::command("curl");
    curl.args(["--silent", "--show-error", "--fail", "--max-time", "20"]).args(arguments);
    shell::output(&mut curl).ok_or_else(|| Failure::new(format!("`{}` failed", shell::shown(&curl))))
}

/// Sends a conversation with a tool result.
fn send(address: &str) -> Outcome {
    let body = format!(
        r#"{{"model":"claude-sonnet-4-5","max_tokens":100,
        "tools":[{{"name":"Read","input_schema":{{"type":"object"}}}}],"messages":[
        {{"role":"user","content":"Read the notes."}},
        {{"role":"assistant","content":[{{"type":"tool_use","id":"toolu_1","name":"Read","input":{{"file_path":"n"}}}}]}},
        {{"role":"user","content":[{{"type":"tool_result","tool_use_id":"toolu_1","content":"{}"}}]}},
        {{"role":"assistant","content":"Done."}},
        {{"role":"user","content":"SAY:thanks"}}]}}"#,
        format!("{NEEDLE} ").repeat(50)
    );
    let url = format!("http://{address}/v1/messages");
    let headers = ["content-type: application/json", "anthropic-version: 2023-06-01", "x-api-key: none"];
    let mut arguments = vec!["--data-binary", &body, &url];
    for header in &headers {
        arguments.extend(["--header", header]);
    }
    curl(&arguments).map(drop)
}

/// Opens the page as a browser does: the link signs in and leads to the page.
fn load(place: &Path, link: &str) -> Outcome<String> {
    let jar = place.join("cookies").display().to_string();
    curl(&["--location", "--cookie-jar", &jar, "--cookie", &jar, link])
}

/// The newest request that the provider received.
fn newest(place: &Path) -> Outcome<String> {
    let folder = place.join("requests");
    let entries = std::fs::read_dir(&folder).map_err(|error| files::failed(&folder, &error))?;
    let mut found: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    found.retain(|path| path.extension().is_some_and(|ending| ending == "raw"));
    found.sort();
    let last = found.pop().ok_or_else(|| Failure::new("the provider received nothing"))?;
    files::read(&last)
}
