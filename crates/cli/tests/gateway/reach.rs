//! Commands use a gateway with a key.

use serde_json::json;
use testkit::{FakeProvider, Options};

use super::scene::{Gateway, Machine, session};
use super::speaker::Speaker;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn commands_use_the_gateway_over_tls_until_the_user_signs_out() {
    let provider = FakeProvider::start(Options::strict()).expect("the fake provider");
    let gateway = Gateway::open(&provider, &[]);
    let (anna, bob) = (gateway.person("anna"), gateway.person("bob"));
    assert_eq!(gateway.send(&anna, &session(1)).await, 200);
    assert_eq!(gateway.send(&bob, &session(2)).await, 200);
    let machine = Machine::new();
    machine.sign_in(&gateway, &anna);

    let listed = machine.json(&["conversations"]);
    assert_eq!(listed["conversations"].as_array().map(Vec::len), Some(1), "{listed}");
    assert!(machine.told(&["list"]).contains("t1"));
    let shown = machine.told(&["show", "t1"]);
    assert!(shown.starts_with("t1 ") && shown.contains("user t1#0"), "{shown}");
    machine.told(&["pin", "t1"]);
    assert_eq!(machine.json(&["history"])["commits"][0]["author"], "anna");
    assert_eq!(machine.json(&["stats"])["total"]["requests"], 1);
    let found = machine.told(&["search", "second"]);
    assert!(found.contains("second question"), "{found}");
    assert!(!machine.told(&["watch", "--after", "0", "--limit", "1"]).is_empty());

    let status = machine.told(&["status"]);
    let first = status.lines().next().unwrap_or_default().to_owned();
    assert!(first.contains(&gateway.url) && first.contains("signed in as anna (member)"), "{status}");
    assert_eq!(machine.json(&["status"])["gateway"], json!(gateway.url));
    assert_eq!(machine.told(&["ui"]).trim(), format!("{}/ui/", gateway.url));
    let doctor = machine.run(&["doctor"]).stdout;
    assert!(doctor.contains("you are anna (member)") && doctor.contains("were not checked"), "{doctor}");
    assert!(!doctor.contains("upstream  "), "{doctor}");

    let mut agent = machine.command();
    agent.args(["mcp", "--conv", "active"]);
    let mut agent = Speaker::start(agent);
    let answer = agent.ask("tools/call", json!({"name": "ctx_list", "arguments": {}}));
    assert!(answer["result"]["isError"] == false && answer.to_string().contains("t2"), "{answer}");
    drop(agent);

    for verb in [&["stop"][..], &["up"], &["store", "check"], &["lab", "week"], &["service", "status"]] {
        let all: Vec<&str> = verb.iter().copied().chain(["--gateway", &gateway.url]).collect();
        let outcome = machine.run(&all);
        assert!(!outcome.success && outcome.stderr.contains("the machine that it runs on"), "{}", outcome.stderr);
    }

    let stored = std::fs::read_to_string(machine.home.path().join("logins.json")).expect("the logins");
    assert!(stored.contains(&anna));
    let told = machine.told(&["logout"]);
    assert!(told.ends_with("the gateway was not asked and still accepts it.\n"), "{told}");
    let stored = std::fs::read_to_string(machine.home.path().join("logins.json")).expect("the logins");
    assert!(!stored.contains("ctxk_"), "{stored}");
    assert_eq!(machine.refusal(&["conversations"], ""), "no-daemon");
    assert_eq!(gateway.send(&anna, &session(1)).await, 200, "a key that someone made stays valid");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_gateway_that_does_not_prove_its_name_gets_no_key() {
    let provider = FakeProvider::start(Options::strict()).expect("the fake provider");
    let gateway = Gateway::open(&provider, &[]);
    let anna = gateway.person("anna");
    let (machine, certificate) = (Machine::new(), gateway.certificate().display().to_string());
    let with_key = |url: &str, more: &[&str]| {
        let all: Vec<&str> = ["login", url, "--key-file", "-"].iter().chain(more).copied().collect();
        machine.refusal(&all, &anna)
    };
    assert_eq!(with_key(&gateway.url, &[]), "gateway-untrusted", "its authority is unknown");
    let other_name = gateway.url.replace("localhost", "127.0.0.1");
    assert_eq!(with_key(&other_name, &["--ca", &certificate]), "gateway-untrusted", "it has another name");
    assert_eq!(with_key(&gateway.url.replace("https", "http"), &[]), "not-a-daemon", "it does not speak plain HTTP");
    assert_eq!(with_key("http://192.0.2.1:8788", &[]), "usage");
    assert_eq!(with_key(&format!("{}/team", gateway.url), &[]), "usage");
    assert!(!machine.home.path().join("logins.json").exists(), "nothing was stored");
    assert_eq!(with_key("https://localhost:1", &["--ca", &certificate]), "gateway-unreachable");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_program_without_a_home_uses_variables() {
    let provider = FakeProvider::start(Options::strict()).expect("the fake provider");
    let gateway = Gateway::open(&provider, &[]);
    let anna = gateway.person("anna");
    let machine = Machine::new();
    let run = |key: &str| {
        let mut command = machine.command();
        command.env("CTX_GATEWAY", &gateway.url).env("CTX_KEY", key).env("CTX_GATEWAY_CA", gateway.certificate());
        super::scene::finish(command.args(["people", "me"]), "")
    };
    assert!(run(&anna).stdout.starts_with("anna (member)"));
    let wrong = run(&format!("ctxk_{}", "0".repeat(64)));
    assert!(!wrong.success && wrong.stderr.contains("ctx login"), "{}", wrong.stderr);
    assert_eq!(std::fs::read_dir(machine.home.path()).expect("the home").count(), 0);
}
