//! `ctx install`: makes an agent speak through the daemon wherever it is started, and teaches it to edit its context.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use ctx_server::UpstreamUrl;
use serde_json::{Value, json};

use crate::background;
use crate::claude_code::carry_out::{How, Plan, carry_out};
use crate::claude_code::change::{Change, Wanted};
use crate::claude_code::memory::Memory;
use crate::claude_code::places::{Places, Scope};
use crate::claude_code::{Document, read, skill, unreadable};
use crate::client::callable;
use crate::config::{DEFAULT_LISTEN, DEFAULT_UPSTREAM, Flags, Settings};
use crate::context::Context;
use crate::env::{self, Environment, Variable};
use crate::failure::Failure;

/// Make an agent always use the daemon, and add the skill `/compose-context`
#[derive(Args, Debug)]
#[command(after_help = "Shows every change before making it; `ctx uninstall claude-code` restores the previous files.

Examples:
  ctx install claude-code
  ctx install claude-code --scope project --mcp --status-line
  ctx install claude-code --dry-run")]
pub struct Arguments {
    agent: Agent,
    /// For which projects
    #[arg(long, value_enum, default_value = "user")]
    scope: Scope,
    /// Also register the MCP server `ctx mcp`
    #[arg(long)]
    mcp: bool,
    /// Also show context used, saved and cached in the agent's status line
    #[arg(long)]
    status_line: bool,
    /// Even if a base URL points elsewhere, or the skill was changed by hand
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    pub how: How,
}

/// Which agent is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Agent {
    ClaudeCode,
}

pub fn run(arguments: Arguments, context: &Context) -> Result<ExitCode, Failure> {
    let Agent::ClaudeCode = arguments.agent;
    let folder = std::env::current_dir().map_err(|error| Failure::file("find", Path::new("."), &error))?;
    let places = Places::find(arguments.scope, &context.environment, &folder)?;
    let memory = Memory::load(&context.home()?)?;
    let daemon = Daemon::find(context, &folder)?;
    let with_server = arguments.mcp || memory.files.contains_key(&places.servers);
    let mut notes: Vec<String> = (!daemon.is_up).then(|| not_up(with_server)).into_iter().collect();
    let program = program(arguments.scope, &context.environment, &mut notes);

    let settings = SettingsFile::read(&places.settings, &memory)?;
    notes.extend(settings.note.clone());
    settings.check_base_url(&daemon, &context.environment, arguments.force, &mut notes)?;
    let with_status_line = arguments.status_line || settings.has_our_status_line;
    let wanted = settings.wanted(&daemon, context, &program, with_status_line, &mut notes)?;

    let install = |path: &Path, wanted| Change::install(path, &wanted, &memory, arguments.force);
    let mut changes = vec![
        install(&places.settings, Wanted::Entries(wanted))?,
        install(&places.skill, Wanted::Whole(skill::text(&program)))?,
    ];
    if with_server {
        let server = json!({ "type": "stdio", "command": program, "args": daemon.served() });
        let entry = (vec!["mcpServers".to_owned(), "ctx".to_owned()], server);
        changes.push(install(&places.servers, Wanted::Entries(vec![entry]))?);
    }
    notes.extend(
        changes
            .iter()
            .flat_map(|change| &change.stays)
            .map(|what| format!("{what} was changed since it was installed and stays as it is; --force replaces it")),
    );
    if arguments.scope == Scope::Project {
        notes.push(
            "this affects everyone who works in this folder: they need ctx and its daemon too. To avoid that, keep \
                    .claude/settings.json out of version control"
                .to_owned(),
        );
    }
    let scope = if arguments.scope == Scope::Project { " --scope project" } else { "" };
    let done = match &settings.note {
        Some(_) => format!("Written, but not in effect yet: see the note on {}.", places.settings.display()),
        None => format!(
            "Done. Claude Code now goes through {}, from its next start on. Try there:\n  \
             /compose-context drop the long tool results",
            daemon.url()
        ),
    };
    let plan = Plan {
        scope: arguments.scope,
        changes,
        notes,
        base_url: Some(daemon.url()),
        done: format!("{done}\n`ctx uninstall claude-code{scope}` undoes this."),
        nothing: format!("Nothing to do: Claude Code goes through {} already.", daemon.url()),
    };
    carry_out(&plan, &arguments.how, &memory, context)?;
    Ok(ExitCode::SUCCESS)
}

/// What to say without a daemon; the MCP server starts one.
fn not_up(with_server: bool) -> String {
    let way = match with_server {
        true => "Claude Code now starts it with `ctx mcp`",
        false => "`ctx up` starts it, and so does `ctx run -- claude`; with --mcp Claude Code starts it itself",
    };
    format!("no daemon is running, and without one Claude Code cannot reach the provider: {way}")
}

/// The daemon that is meant, whether it runs or not.
struct Daemon {
    address: SocketAddr,
    upstream: String,
    is_up: bool,
}

impl Daemon {
    fn find(context: &Context, folder: &Path) -> Result<Self, Failure> {
        if let Some((client, status)) = background::running(context)? {
            return Ok(Self { address: client.address(), upstream: status.upstream, is_up: true });
        }
        let flags = Flags { listen: context.place.listen, ..Flags::default() };
        let settings = Settings::load(&flags, &context.environment, &context.home()?, folder)?;
        if settings.listen.port() == 0 {
            return Err(Failure::new("no-port", "the daemon would use any free port, so its address is unknown")
                .hint("give it one: --listen 127.0.0.1:8788"));
        }
        Ok(Self { address: callable(settings.listen), upstream: settings.upstream.url.to_string(), is_up: false })
    }

    fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The arguments of the MCP server: if it has to start the daemon, it starts this one.
    fn served(&self) -> Vec<String> {
        let mut arguments = vec!["mcp".to_owned()];
        if self.address != DEFAULT_LISTEN {
            arguments.extend(["--listen".to_owned(), self.address.to_string()]);
        }
        if self.upstream.trim_end_matches('/') != DEFAULT_UPSTREAM {
            arguments.extend(["--upstream".to_owned(), self.upstream.clone()]);
        }
        arguments
    }
}

fn in_env(name: &str) -> Vec<String> {
    vec!["env".to_owned(), name.to_owned()]
}

/// The client's settings without what we wrote into them before.
struct SettingsFile {
    path: PathBuf,
    text: String,
    has_our_status_line: bool,
    note: Option<String>,
}

impl SettingsFile {
    fn read(path: &Path, memory: &Memory) -> Result<Self, Failure> {
        let text = read(path)?;
        let kept = memory.files.get(path);
        let text = match kept {
            Some(kept) => kept.base(path, text.as_deref())?.text,
            None => text,
        };
        let text =
            text.filter(|text| !text.trim_start_matches('\u{feff}').trim().is_empty()).unwrap_or("{}".to_owned());
        let document = Document::read(&text).map_err(|broken| unreadable(path, &broken))?;
        let note = document.relaxed.map(|position| {
            format!(
                "{} has comments or trailing commas ({position}). They are kept, but Claude Code ignores such a \
                 file until you remove them",
                path.display()
            )
        });
        let is_status_line = |path: &[String]| path == ["statusLine"];
        let has_our_status_line = kept.is_some_and(|kept| kept.entries.iter().any(|entry| is_status_line(&entry.path)));
        Ok(Self { path: path.to_owned(), has_our_status_line, note, text })
    }

    fn variable(&self, name: &str) -> Option<Value> {
        Document::read(&self.text).ok()?.get(&in_env(name))
    }

    /// Somebody's own base URL is where their requests should go on going: that is the daemon's upstream now. The
    /// client's settings win over its environment, so one that is only there would be gone as well.
    fn check_base_url(
        &self,
        daemon: &Daemon,
        environment: &Environment,
        force: bool,
        notes: &mut Vec<String>,
    ) -> Result<(), Failure> {
        let name = env::ANTHROPIC_BASE_URL.name();
        let set = self
            .variable(name)
            .map(|set| (set.as_str().unwrap_or_default().to_owned(), self.path.display().to_string()));
        let exported = || environment.text(env::ANTHROPIC_BASE_URL).map(|set| (set, "the environment".to_owned()));
        let Some((given, place)) = set.or_else(exported) else { return Ok(()) };
        let given = given.parse::<UpstreamUrl>();
        if given.as_ref().is_ok_and(|given| given.to_string() == daemon.upstream || given.to_string() == daemon.url()) {
            return Ok(());
        }
        // It may hold a password; only what is sure to be an address is repeated.
        let named = given.map_or_else(|_| "another address".to_owned(), |url| url.to_string());
        let what = format!("{name} in {place} is {named}, but the daemon forwards to {}", daemon.upstream);
        if force {
            notes.push(format!("{what}; from now on requests go there. `ctx uninstall claude-code` undoes this"));
            return Ok(());
        }
        Err(Failure::new("other-base-url", format!("{what}; nothing was changed")).hint(
            "let the daemon forward there (`ctx stop`, then `ctx up --upstream URL`, or `[upstream] url` in ctx.toml) and run \
             this again; --force installs anyway",
        ))
    }

    fn wanted(
        &self,
        daemon: &Daemon,
        context: &Context,
        program: &str,
        with_status_line: bool,
        notes: &mut Vec<String>,
    ) -> Result<Vec<(Vec<String>, Value)>, Failure> {
        let mut wanted = vec![(in_env(env::ANTHROPIC_BASE_URL.name()), json!(daemon.url()))];
        let hints = env::GATEWAY_HINT_HEADERS.name();
        match self.variable(hints) {
            // What the user has decided stays.
            Some(own) if own != json!("1") => {
                notes.push(format!("{hints} is {own} and stays; ctx classifies requests better with \"1\""))
            }
            _ => wanted.push((in_env(hints), json!("1"))),
        }
        if context.place.home.is_some() || context.environment.get(env::HOME).is_some() {
            // Commands that the agent runs must find the same daemon.
            let home = context.home()?;
            wanted.push((in_env(env::HOME.name()), json!(home.path().to_string_lossy())));
        }
        if let Some(spared) = self.spared_by_proxies(daemon, &context.environment) {
            wanted.push((in_env(env::NO_PROXY.name()), json!(spared)));
        }
        if with_status_line {
            let line = json!({ "type": "command", "command": format!("{program} status-line") });
            wanted.push((vec!["statusLine".to_owned()], line));
        }
        Ok(wanted)
    }

    /// The client would ask a proxy even for a loopback address.
    fn spared_by_proxies(&self, daemon: &Daemon, environment: &Environment) -> Option<String> {
        let text = |variable: Variable| {
            let own = variable.spellings().iter().find_map(|name| self.variable(name));
            own.and_then(|own| own.as_str().map(str::to_owned)).or_else(|| environment.text(variable))
        };
        let is_proxied =
            [env::HTTP_PROXY, env::HTTPS_PROXY, env::ALL_PROXY].into_iter().any(|variable| text(variable).is_some());
        let own = daemon.address.ip().to_string();
        let spared = text(env::NO_PROXY).unwrap_or_default();
        let mut all: Vec<&str> = spared.split(',').map(str::trim).filter(|name| !name.is_empty()).collect();
        if !is_proxied || all.contains(&own.as_str()) || all.contains(&"*") {
            return None;
        }
        all.push(&own);
        all.push("localhost");
        Some(all.join(","))
    }
}

/// How the agent calls this program: by its name where that leads here, else by its path.
fn program(scope: Scope, environment: &Environment, notes: &mut Vec<String>) -> String {
    let own = std::env::current_exe().and_then(|path| path.canonicalize()).unwrap_or_default();
    let name = format!("ctx{}", std::env::consts::EXE_SUFFIX);
    let folders = environment.get(env::PATH).unwrap_or_default();
    let found = std::env::split_paths(&folders).map(|folder| folder.join(&name)).find(|path| path.is_file());
    let is_own = found.as_ref().and_then(|path| path.canonicalize().ok()).is_some_and(|path| path == own);
    if is_own {
        return "ctx".to_owned();
    }
    let why = match found {
        Some(other) => format!("`ctx` on the PATH is another program ({})", other.display()),
        None => "`ctx` is not on the PATH".to_owned(),
    };
    if scope == Scope::Project {
        notes.push(format!("{why}; the agent will need it there"));
        return "ctx".to_owned();
    }
    notes.push(format!("{why}, so the settings name {}; if you move it, run this again", own.display()));
    quoted(&own.to_string_lossy())
}

/// As a word of the shell.
fn quoted(path: &str) -> String {
    let is_plain = |letter: char| letter.is_alphanumeric() || matches!(letter, '/' | '.' | '_' | '-' | '+' | ':');
    if path.chars().all(is_plain) { path.to_owned() } else { format!("'{}'", path.replace('\'', "'\\''")) }
}
