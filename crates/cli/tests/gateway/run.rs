//! `ctx run` through a gateway: the agent gets the gateway's address and the person's key.

use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use testkit::{FakeProvider, Options};

use super::scene::{Gateway, Machine, Outcome, finish};
use super::stage::{needed, until};

/// Runs an agent on a person's machine, with settings of its own.
fn agent(machine: &Machine, program: &Path, arguments: &[&str], variables: &[(&str, &str)]) -> Outcome {
    let home = machine.home.path();
    let mut command: Command = machine.command();
    command.args(["run", "--"]).arg(program).args(arguments).current_dir(home);
    let programs = program.parent().unwrap_or(program).display().to_string();
    command.env("PATH", format!("{programs}:/usr/local/bin:/usr/bin:/bin")).env("LANG", "C.UTF-8");
    command.env("HOME", home).env("TMPDIR", home).envs(variables.iter().copied());
    finish(&mut command, "")
}

/// A strict stand-in for the providers other than Anthropic.
struct StandIn {
    process: Child,
    port: u16,
    _log: tempfile::TempDir,
}

impl Drop for StandIn {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl StandIn {
    /// `None` if it is missing.
    fn start() -> Option<StandIn> {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/tools/fake_upstreams.py");
        if !script.exists() {
            assert!(std::env::var_os("CI").is_none(), "the stand-in for the providers is missing");
            eprintln!("SKIPPED: there is no stand-in for the providers at {}", script.display());
            return None;
        }
        let log = tempfile::tempdir().expect("a folder");
        let port = TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr()).expect("a port").port();
        let mut command = Command::new("python3");
        command.arg(script).args(["--strict", "--port", &port.to_string(), "--log"]).arg(log.path());
        let process = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        until("the stand-in listens", || std::net::TcpStream::connect(("127.0.0.1", port)).ok());
        Some(StandIn { process: process.expect("python3 starts"), port, _log: log })
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_gets_the_address_of_the_gateway_and_the_key() {
    let provider = FakeProvider::start(Options::strict()).expect("the fake provider");
    let gateway = Gateway::open(&provider, &[]);
    let anna = gateway.person("anna");
    let machine = Machine::new();
    machine.sign_in(&gateway, &anna);
    let script = "echo $ANTHROPIC_BASE_URL; echo $ANTHROPIC_CUSTOM_HEADERS; echo $NODE_EXTRA_CA_CERTS";
    let outcome = agent(&machine, Path::new("/bin/sh"), &["-c", script], &[]);
    let lines: Vec<&str> = outcome.stdout.lines().collect();
    let certificate = gateway.certificate().display().to_string();
    assert_eq!(lines, [gateway.url.as_str(), &format!("x-ctx-key: {anna}"), &certificate], "{}", outcome.stderr);
    assert!(outcome.stderr.contains("sent no request") && !outcome.stderr.contains("ctxk_"), "{}", outcome.stderr);
    assert!(!machine.home.path().join("daemon.json").exists(), "no daemon was started here");
    let refused = machine.run(&["run", "--upstream", "https://other.example", "--", "true"]);
    assert!(!refused.success && refused.stderr.contains("--listen"), "{}", refused.stderr);
    drop(gateway);
    let refused = agent(&machine, Path::new("/bin/sh"), &["-c", "echo started"], &[]);
    assert!(!refused.success && refused.stdout.is_empty(), "without the gateway the agent does not run");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stock_claude_code_talks_through_the_gateway() {
    let Some(claude) = needed("CTX_TEST_CLAUDE") else { return };
    let provider = FakeProvider::start(Options::strict()).expect("the fake provider");
    let gateway = Gateway::open(&provider, &[]);
    let anna = gateway.person("anna");
    let machine = Machine::new();
    machine.sign_in(&gateway, &anna);
    let own = [("ANTHROPIC_API_KEY", "sk-ant-own"), ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")];
    let outcome = agent(&machine, &claude, &["-p", "count the herons"], &own);
    assert!(outcome.success, "{}{}", outcome.stdout, outcome.stderr);
    let list = machine.json(&["conversations"]);
    assert!(list["conversations"].to_string().contains("herons"), "{list}");
    let requests = provider.requests();
    assert!(!requests.is_empty());
    for request in requests {
        assert!(!format!("{request:?}").contains("ctxk_"), "the key has left");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn other_stock_clients_send_the_key_to_the_gateway() {
    let Some(stand_in) = StandIn::start() else { return };
    let provider = FakeProvider::start(Options::strict()).expect("the fake provider");
    let upstreams: Vec<String> =
        ["openai", "gemini"].iter().map(|name| format!("{name}=http://127.0.0.1:{}", stand_in.port)).collect();
    let flags: Vec<&str> = upstreams.iter().flat_map(|upstream| ["--upstream", upstream]).collect();
    let gateway = Gateway::open(&provider, &flags);
    let url = format!("http://{}", gateway.nearby);
    let codex = ["exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", "[[say codex_word]]"];
    let gemini = ["-m", "gemini-3-pro-preview", "--yolo", "-p", "[[say gemini_word]]"];
    let opencode = ["run", "-m", "openai/gpt-5.4", "[[say opencode_word]]"];
    let clients: [(&str, &str, &[&str]); 3] = [
        ("CTX_TEST_CODEX", "codex", &codex),
        ("CTX_TEST_GEMINI", "gemini", &gemini),
        ("CTX_TEST_OPENCODE", "opencode", &opencode),
    ];
    for (variable, name, arguments) in clients {
        let Some(program) = needed(variable) else { continue };
        let key = gateway.person(name);
        let machine = Machine::new();
        let outcome = machine.run_with(&["login", &url, "--key-file", "-"], &key);
        assert!(outcome.success, "{}", outcome.stderr);
        let settings = machine.home.path().join(".gemini");
        std::fs::create_dir(&settings).expect("a folder");
        let chosen = r#"{"security":{"auth":{"selectedType":"gemini-api-key"}}}"#;
        std::fs::write(settings.join("settings.json"), chosen).expect("settings");
        let own = "sk-proj-own-credential";
        let variables = [("OPENAI_API_KEY", own), ("GEMINI_API_KEY", own), ("GEMINI_CLI_TRUST_WORKSPACE", "true")];
        let outcome = agent(&machine, &program, arguments, &variables);
        assert!(outcome.success, "{name}: {}{}", outcome.stdout, outcome.stderr);
        assert!(!outcome.stderr.contains("no request"), "{name}: {}", outcome.stderr);
        let list = machine.json(&["conversations"]);
        assert!(list["conversations"].to_string().contains(&format!("{name}_word")), "{name}: {list}");
    }
}
