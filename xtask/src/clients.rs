//! The real clients that end-to-end tests drive: the stock Claude Code, Codex, opencode, Gemini CLI, pi, Qwen Code,
//! goose, Cline, Continue and aider, the official SDKs, and schemathesis, which asks the control API whatever its
//! description allows. All at pinned versions, each in its own folder of the cache. A client that already answers with
//! its version is left alone.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::failure::{Failure, Outcome};
use crate::{page, shell, system, workspace};

const CLAUDE_CODE: &str = "2.1.325";
const CODEX: &str = "0.166.0";
const OPENCODE: &str = "1.18.33";
const GEMINI_CLI: &str = "0.61.0";
const PI: &str = "0.87.1";
const QWEN_CODE: &str = "0.24.4";
/// The version of the package; the program has another.
const GOOSE: &str = "0.20.1";
const CLINE: &str = "3.0.65";
const CONTINUE: &str = "1.5.47";
const AIDER: &str = "0.86.2";
/// For pi and Qwen Code, which run on no older version.
const NODE: &str = "22.23.3";
/// Three usual MCP servers, for the size of a prefix with them.
const MCP_SERVERS: [&str; 3] = ["filesystem@2026.8.31", "memory@2026.8.31", "github@2025.4.8"];
const PYTHON_SDK: &str = "2.8.0";
const TYPESCRIPT_SDK: &str = "1.8.0";
const SCHEMATHESIS: &str = "4.32.5";

/// Environment variables that tell the tests where the clients are.
pub type Environment = Vec<(&'static str, PathBuf)>;

/// Installs what is missing and says where everything is.
pub fn install_missing() -> Outcome<Environment> {
    if !shell::found(shell::NPM) {
        return Err(Failure::new("the tests need npm for the stock client").hint(page::WITHOUT_NODE));
    }
    let cache = workspace::cache()?;
    let mut environment = vec![
        ("CTX_TEST_CLAUDE", claude_code(&cache)?),
        ("CTX_TEST_CODEX", npm_program(&cache, "@openai/codex", "codex", CODEX)?),
        ("CTX_TEST_OPENCODE", npm_program(&cache, "opencode-ai", "opencode", OPENCODE)?),
        ("CTX_TEST_GEMINI", npm_program(&cache, "@google/gemini-cli", "gemini", GEMINI_CLI)?),
        ("CTX_TEST_PI", with_node(&cache, "@earendil-works/pi-coding-agent", "pi", PI)?),
        ("CTX_TEST_QWEN", with_node(&cache, "@qwen-code/qwen-code", "qwen", QWEN_CODE)?),
        ("CTX_TEST_GOOSE", goose(&cache)?),
        ("CTX_TEST_CLINE", npm_program(&cache, "cline", "cline", CLINE)?),
        ("CTX_TEST_CONTINUE", npm_program(&cache, "@continuedev/cli", "cn", CONTINUE)?),
        ("CTX_TEST_AIDER", python_program(&cache, "aider-chat", "aider", AIDER)?),
        ("CTX_TEST_MCP_SERVERS", mcp_servers(&cache)?),
        ("CTX_TEST_ANTHROPIC_PY", python_sdk(&cache)?),
        ("CTX_TEST_ANTHROPIC_TS", typescript_sdk(&cache)?),
        ("CTX_TEST_SCHEMATHESIS", python_program(&cache, "schemathesis", "schemathesis", SCHEMATHESIS)?),
    ];
    environment.extend(shell::find("chromium").map(|chromium| ("CTX_TEST_CHROMIUM", chromium)));
    environment.extend(shell::find("tmux").map(|tmux| ("CTX_TEST_TMUX", tmux)));
    Ok(environment)
}

fn claude_code(cache: &Path) -> Outcome<PathBuf> {
    let folder = cache.join(format!("claude-code-{CLAUDE_CODE}"));
    let package = folder.join("node_modules/@anthropic-ai/claude-code");
    // The package names its native program `claude.exe` on every platform.
    let binary = package.join("bin/claude.exe");
    ensure(
        &format!("Claude Code {CLAUDE_CODE}"),
        || answers(Command::new(&binary).arg("--version"), CLAUDE_CODE),
        || {
            npm_install(&folder, &[&format!("@anthropic-ai/claude-code@{CLAUDE_CODE}")])?;
            // npm may be set up to skip install scripts. This one copies the native program, which came as a package
            // of its own, into place; running it twice does no harm.
            shell::run(shell::command("node").arg("install.cjs").current_dir(&package))
        },
    )?;
    Ok(binary)
}

/// A program that an npm package brings.
fn npm_program(cache: &Path, package: &str, program: &str, version: &str) -> Outcome<PathBuf> {
    let folder = cache.join(format!("{program}-{version}"));
    let binary = folder.join("node_modules/.bin").join(program);
    ensure(
        &format!("{program} {version}"),
        || answers(Command::new(&binary).arg("--version"), version),
        || npm_install(&folder, &[&format!("{package}@{version}")]),
    )?;
    Ok(binary)
}

/// A program that an npm package brings, with a Node of its own beside it.
fn with_node(cache: &Path, package: &str, program: &str, version: &str) -> Outcome<PathBuf> {
    let folder = cache.join(format!("{program}-{version}"));
    let programs = folder.join("node_modules/.bin");
    let binary = programs.join(program);
    let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap_or_default());
    ensure(
        &format!("{program} {version}"),
        || answers(Command::new(&binary).arg("--version").env("PATH", &path), version),
        || npm_install(&folder, &[&format!("{package}@{version}"), &format!("node@{NODE}")]),
    )?;
    Ok(binary)
}

/// The folder with the packages of [`MCP_SERVERS`].
fn mcp_servers(cache: &Path) -> Outcome<PathBuf> {
    let folder = cache.join("mcp-servers-2026.8.31");
    let packages = folder.join("node_modules/@modelcontextprotocol");
    let names = MCP_SERVERS.map(|server| format!("@modelcontextprotocol/server-{server}"));
    ensure(
        "MCP servers",
        || {
            let name = |server: &&str| server.split('@').next().unwrap_or_default().to_owned();
            MCP_SERVERS.iter().all(|server| packages.join(format!("server-{}/dist/index.js", name(server))).exists())
        },
        || npm_install(&folder, &names.each_ref().map(String::as_str)),
    )?;
    Ok(packages)
}

fn typescript_sdk(cache: &Path) -> Outcome<PathBuf> {
    let folder = cache.join(format!("anthropic-typescript-{TYPESCRIPT_SDK}"));
    let print =
        "console.log(JSON.parse(require('fs').readFileSync('node_modules/@anthropic-ai/sdk/package.json')).version)";
    ensure(
        &format!("TypeScript SDK {TYPESCRIPT_SDK}"),
        || answers(Command::new("node").args(["-e", print]).current_dir(&folder), TYPESCRIPT_SDK),
        || npm_install(&folder, &[&format!("@anthropic-ai/sdk@{TYPESCRIPT_SDK}")]),
    )?;
    Ok(folder)
}

fn python_sdk(cache: &Path) -> Outcome<PathBuf> {
    let folder = cache.join(format!("anthropic-python-{PYTHON_SDK}"));
    let python = folder.join("bin/python");
    let print = "import anthropic; print(anthropic.__version__)";
    ensure(
        &format!("Python SDK {PYTHON_SDK}"),
        || answers(Command::new(&python).args(["-c", print]), PYTHON_SDK),
        || pip_install(&folder, &format!("anthropic=={PYTHON_SDK}")),
    )?;
    Ok(python)
}

/// A program that a Python package brings.
fn python_program(cache: &Path, package: &str, program: &str, version: &str) -> Outcome<PathBuf> {
    let folder = cache.join(format!("{program}-{version}"));
    let binary = folder.join("bin").join(program);
    ensure(
        &format!("{program} {version}"),
        || answers(Command::new(&binary).arg("--version"), version),
        || pip_install(&folder, &format!("{package}=={version}")),
    )?;
    Ok(binary)
}

/// The native program alone: the package around it brings another runtime.
fn goose(cache: &Path) -> Outcome<PathBuf> {
    let folder = cache.join(format!("goose-{GOOSE}"));
    let system = std::env::consts::OS.replace("macos", "darwin");
    let machine = std::env::consts::ARCH.replace("aarch64", "arm64").replace("x86_64", "x64");
    let package = format!("@aaif/goose-binary-{system}-{machine}");
    let binary = folder.join("node_modules").join(&package).join("bin/goose");
    ensure(
        &format!("goose {GOOSE}"),
        || shell::output(Command::new(&binary).arg("--version")).is_some(),
        || npm_install(&folder, &[&format!("{package}@{GOOSE}")]),
    )?;
    Ok(binary)
}

/// Installs what is not ready, and fails if it is not ready then.
pub fn ensure(name: &str, is_ready: impl Fn() -> bool, install: impl FnOnce() -> Outcome) -> Outcome {
    if is_ready() {
        println!("{name}: there");
        return Ok(());
    }
    println!("{name}: installing");
    install()?;
    if is_ready() {
        return Ok(());
    }
    Err(Failure::new(format!("{name} was installed but does not answer with its version"))
        .hint("remove its folder from the cache (~/.cache/ctx-tests) and try again"))
}

fn answers(command: &mut Command, version: &str) -> bool {
    shell::output(command).is_some_and(|said| said.split_whitespace().any(|word| word == version))
}

/// One package in a Python environment of its own, made anew.
fn pip_install(folder: &Path, package: &str) -> Outcome {
    let environment = || {
        let mut command = shell::command("python3");
        command.args(["-m", "venv", "--clear"]).arg(folder);
        command
    };
    if shell::run(&mut environment()).is_err() {
        // Debian ships Python without the part that makes environments.
        system::install_packages(&["python3-venv"])?;
        shell::run(&mut environment())?;
    }
    let mut pip = shell::command(folder.join("bin/python"));
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
    shell::run(pip.arg(package))
}

/// Packages in a folder of their own, made anew: what an interrupted run left there is not trusted.
pub fn npm_install(folder: &Path, packages: &[&str]) -> Outcome {
    let unusable = |error: std::io::Error| Failure::new(format!("{}: {error}", folder.display()));
    if folder.exists() {
        fs::remove_dir_all(folder).map_err(unusable)?;
    }
    fs::create_dir_all(folder).map_err(unusable)?;
    // Without a package.json npm would look for one in the folders above.
    fs::write(folder.join("package.json"), "{\"private\":true}\n").map_err(unusable)?;
    let mut npm = shell::command(shell::NPM);
    npm.args(["install", "--no-audit", "--no-fund", "--save-exact"]).args(packages);
    shell::run(npm.current_dir(folder))
}
