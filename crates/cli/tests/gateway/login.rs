//! `ctx login` with a browser, and `ctx logout`.

use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStderr, Stdio};

use serde_json::{Value, json};
use testkit::{Client, FakeProvider, Options, PostgresServer};

use super::scene::{Gateway, Machine, session};

/// A `ctx login` that waits for approval.
struct WaitingLogin {
    login: Child,
    /// A command whose reader is gone would fail.
    _stderr: BufReader<ChildStderr>,
    code: String,
}

impl WaitingLogin {
    fn begin(machine: &Machine, gateway: &Gateway) -> WaitingLogin {
        let mut command = machine.command();
        command.args(["login", &gateway.url, "--name", "annas-laptop", "--json", "--ca"]).arg(gateway.certificate());
        let mut login = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("ctx login starts");
        let mut line = String::new();
        let mut stderr = BufReader::new(login.stderr.take().expect("stderr"));
        stderr.read_line(&mut line).expect("a line");
        let link = format!("{}/ui/#login/", gateway.url);
        let code = line.split_once(&link).map(|(_, rest)| rest[..9].to_owned()).expect(&line);
        assert!(line.contains(&format!("approve the code {code}")), "{line}");
        WaitingLogin { login, _stderr: stderr, code }
    }

    fn end(self) -> (bool, Value) {
        let output = self.login.wait_with_output().expect("its end");
        let told = String::from_utf8_lossy(&output.stdout).into_owned();
        (output.status.success(), serde_json::from_str(&told).expect(&told))
    }
}

/// A person's browser on the gateway's page.
struct Browser<'a> {
    gateway: &'a Gateway,
    headers: Vec<(String, String)>,
}

impl Browser<'_> {
    async fn sign_in<'a>(gateway: &'a Gateway, key: &str) -> Browser<'a> {
        let origin = ("origin".to_owned(), format!("http://{}", gateway.nearby));
        let mut browser = Browser { gateway, headers: vec![origin] };
        let (cookie, body) = browser.post("/ui/sign-in", &json!({"key": key})).await;
        let cookie = cookie.split(';').next().unwrap_or_default().to_owned();
        let page_key = body["page_key"].as_str().expect("a page key").to_owned();
        browser.headers.push(("cookie".to_owned(), cookie));
        browser.headers.push(("x-ctx-page-key".to_owned(), page_key));
        browser
    }

    /// The cookie and the body of a successful answer.
    async fn post(&self, path: &str, body: &Value) -> (String, Value) {
        let mut client = Client::connect(&format!("http://{}", self.gateway.nearby)).await.expect("a connection");
        let body = body.to_string().into_bytes();
        let answer = client.send("POST", path, &self.headers, &body).await.expect("an answer");
        assert_eq!(answer.status, 200, "{}", String::from_utf8_lossy(&answer.body));
        let lines = answer.headers.iter().filter(|(name, _)| name.eq_ignore_ascii_case("set-cookie"));
        let session = lines.map(|(_, value)| value.to_owned()).find(|value| value.starts_with("ctx_session"));
        (session.unwrap_or_default(), answer.json().expect("JSON"))
    }

    async fn decide(&self, code: &str, action: &str) {
        self.post(&format!("/control/v1/logins/{code}/{action}"), &json!({})).await;
    }
}

/// The login at this gateway as the machine keeps it.
fn stored_login(machine: &Machine, gateway: &Gateway) -> Value {
    let file = std::fs::read(machine.home.path().join("logins.json")).expect("the logins");
    let logins: Value = serde_json::from_slice(&file).expect("JSON");
    logins["logins"][&gateway.url].clone()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_person_approves_their_machine_and_logout_ends_its_key() {
    let provider = FakeProvider::start(Options::strict()).expect("the fake provider");
    let gateway = Gateway::open(&provider, &[]);
    let anna = gateway.person("anna");
    let (machine, browser) = (Machine::new(), Browser::sign_in(&gateway, &anna).await);
    let waiting = WaitingLogin::begin(&machine, &gateway);
    browser.decide(&waiting.code, "approve").await;
    let (success, told) = waiting.end();
    assert!(success && told["person"] == "anna" && told["gateway"] == json!(gateway.url), "{told}");
    assert!(told["expires_at"].is_u64() && !told.to_string().contains("ctxk_"), "{told}");
    assert_eq!(machine.json(&["people", "me"])["me"]["name"], "anna");
    let file = machine.home.path().join("logins.json");
    let stored = stored_login(&machine, &gateway);
    let key = stored["key"].as_str().expect("a key").to_owned();
    assert_ne!(key, anna, "the machine has a key of its own");
    assert_eq!(gateway.send(&key, &session(1)).await, 200);
    let keys = machine.json(&["keys", "list"])["keys"].to_string();
    assert!(keys.contains("annas-laptop"), "{keys}");

    // A second login replaces the key of the first.
    let waiting = WaitingLogin::begin(&machine, &gateway);
    browser.decide(&waiting.code, "approve").await;
    assert!(waiting.end().0);
    assert_eq!(gateway.send(&key, &session(1)).await, 401, "the older key is revoked");
    let stored = stored_login(&machine, &gateway);
    let key = stored["key"].as_str().expect("a key").to_owned();
    assert_eq!(gateway.send(&key, &session(1)).await, 200);
    let id = stored["made"].as_str().expect("its id");
    let told = machine.told(&["logout"]);
    assert_eq!(told, format!("Signed out of {}. The key is deleted here; the gateway revoked it.\n", gateway.url));
    assert!(!std::fs::read_to_string(&file).expect("the logins").contains("ctxk_"), "the key is forgotten");
    assert_eq!(gateway.send(&key, &session(1)).await, 401);
    assert_eq!(machine.refusal(&["conversations"], ""), "no-daemon");
    assert_eq!(machine.refusal(&["logout"], ""), "not-signed-in");
    let audit = gateway.operate(&["audit", "list"]);
    let is_revocation = |line: &&str| line.contains("key-revoked") && line.contains(id) && line.contains("anna");
    assert_eq!(audit.lines().filter(is_revocation).count(), 1, "{audit}");
    assert!(audit.contains("login-approved") && audit.contains("annas-laptop as anna"), "{audit}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn logout_says_when_the_gateway_had_ended_the_key_before() {
    let provider = FakeProvider::start(Options::strict()).expect("the fake provider");
    let gateway = Gateway::open(&provider, &[]);
    let anna = gateway.person("anna");
    let (machine, browser) = (Machine::new(), Browser::sign_in(&gateway, &anna).await);
    let waiting = WaitingLogin::begin(&machine, &gateway);
    browser.decide(&waiting.code, "approve").await;
    assert!(waiting.end().0);
    let stored = stored_login(&machine, &gateway);
    gateway.operate(&["keys", "revoke", stored["made"].as_str().expect("its id")]);
    let told = machine.json(&["logout"]);
    assert!(told["key"] == "over" && told["revoked"] == true, "{told}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refused_machine_gets_nothing() {
    let provider = FakeProvider::start(Options::strict()).expect("the fake provider");
    let gateway = Gateway::open(&provider, &[]);
    let anna = gateway.person("anna");
    let (machine, browser) = (Machine::new(), Browser::sign_in(&gateway, &anna).await);
    let waiting = WaitingLogin::begin(&machine, &gateway);
    browser.decide(&waiting.code, "refuse").await;
    let (success, told) = waiting.end();
    assert!(!success && told["error"]["code"] == "login-refused", "{told}");
    assert!(!machine.home.path().join("logins.json").exists());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_login_that_begins_at_one_daemon_is_approved_at_another() {
    let Some(server) = PostgresServer::shared() else { return };
    let url = server.url(&server.new_database());
    let provider = FakeProvider::start(Options::strict()).expect("the fake provider");
    let one = Gateway::open(&provider, &["--store", &url]);
    let other = Gateway::open(&provider, &["--store", &url]);
    let anna = one.person("anna");
    let (machine, browser) = (Machine::new(), Browser::sign_in(&other, &anna).await);
    let waiting = WaitingLogin::begin(&machine, &one);
    browser.decide(&waiting.code, "approve").await;
    let (success, told) = waiting.end();
    assert!(success && told["person"] == "anna", "{told}");
    let stored = stored_login(&machine, &one);
    let key = stored["key"].as_str().expect("a key");
    assert_eq!(other.send(key, &session(1)).await, 200, "the key counts on all daemons at once");
}
