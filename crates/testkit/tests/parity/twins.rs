//! The two servers in parallel, and conversations in two versions, because ids and signatures differ.

use crate::compare::{content, difference, plain, seen};
use crate::reference::{self, Flags, Reference};
use serde_json::{Value, json};
use testkit::client::{ClientError, Response};
use testkit::{Client, FakeProvider};

/// The same conversation with ours and with the reference.
#[derive(Debug, Clone)]
pub struct Twins {
    pub ours: Value,
    pub theirs: Value,
    pub headers: Vec<(String, String)>,
}

impl Twins {
    pub fn both(body: Value) -> Self {
        Self { ours: body.clone(), theirs: body, headers: Vec::new() }
    }

    /// The same change to both.
    pub fn edit(&mut self, change: impl Fn(&mut Value)) {
        change(&mut self.ours);
        change(&mut self.theirs);
    }

    pub fn push(&mut self, message: &Value) {
        self.edit(|body| push(body, message.clone()));
    }

    /// Appends the answer of each server, and results for its calls.
    pub fn carry_on(&mut self, answers: &(Response, Response)) {
        for (body, answer) in [(&mut self.ours, &answers.0), (&mut self.theirs, &answers.1)] {
            let blocks = content(answer);
            let result = |call: &Value| {
                let text = format!("result of {}", call["name"]);
                json!({"type": "tool_result", "tool_use_id": call["id"], "content": text})
            };
            let calls = blocks.iter().filter(|block| block["type"] == "tool_use");
            let results: Vec<Value> = calls.map(result).collect();
            push(body, json!({"role": "assistant", "content": blocks}));
            if !results.is_empty() {
                push(body, json!({"role": "user", "content": results}));
            }
        }
    }
}

fn push(body: &mut Value, message: Value) {
    if let Some(messages) = body["messages"].as_array_mut() {
        messages.push(message);
    }
}

pub struct Pair {
    ours: Side,
    theirs: Side,
    compared: usize,
    refused: usize,
    _provider: FakeProvider,
    _reference: Reference,
}

impl Pair {
    pub async fn start(flags: Flags) -> Option<Self> {
        let reference = reference::start(flags).await?;
        let provider = FakeProvider::start(flags.options()).expect("a free port");
        Some(Self {
            ours: Side::new(provider.url()),
            theirs: Side::new(reference.url.clone()),
            compared: 0,
            refused: 0,
            _provider: provider,
            _reference: reference,
        })
    }

    /// Sends the same bytes to both and compares the responses.
    pub async fn bytes(
        &mut self,
        label: &str,
        method: &str,
        target: &str,
        headers: &[(String, String)],
        body: &[u8],
    ) -> (Response, Response) {
        let ours = self.ours.send(method, target, headers, body).await;
        let theirs = self.theirs.send(method, target, headers, body).await;
        self.judge(label, ours, theirs)
    }

    /// Sends each its own body and compares the responses.
    pub async fn send(&mut self, label: &str, twins: &Twins) -> (Response, Response) {
        let (ours, theirs) = self.ask(twins).await;
        self.judge(label, ours, theirs)
    }

    /// The same for bodies on which the reference may fail instead of responding. Ours must respond.
    pub async fn send_leniently(&mut self, label: &str, twins: &Twins) {
        let (ours, theirs) = self.ask(twins).await;
        if matches!(theirs, Err(ClientError::NoAnswer)) {
            assert!(ours.is_ok(), "{label}: ours breaks off too");
            return;
        }
        self.judge(label, ours, theirs);
    }

    /// Sends, compares, and expects a refusal with these words; none if they are empty.
    pub async fn expect(&mut self, label: &str, twins: &Twins, refusal: &str) {
        let (ours, _) = self.send(label, twins).await;
        let body = plain(&ours);
        if refusal.is_empty() {
            assert_eq!(ours.status, 200, "{label}: {body}");
        } else {
            assert_eq!(ours.status, 400, "{label}: {body}");
            let error: Value = serde_json::from_str(&body).expect("JSON");
            let sentence = error["error"]["message"].as_str().unwrap_or_default();
            assert!(sentence.contains(refusal), "{label}: {sentence}");
        }
    }

    /// Compares the records of the servers, except the use of connections.
    pub async fn records(&mut self, target: &str) {
        let (ours, theirs) = (self.ours.get(target).await, self.theirs.get(target).await);
        let comparable = |response: Response| -> Vec<Value> {
            let records: Vec<Value> = serde_json::from_slice(&response.body).expect("JSON");
            let bare = |record: Value| json!([record["n"], record["method"], record["target"], record["body_bytes"]]);
            records.into_iter().map(bare).collect()
        };
        assert_eq!(comparable(ours), comparable(theirs));
        self.compared += 1;
    }

    /// The test compared at least this many answers.
    pub fn finish(self, at_least: usize) {
        assert!(self.compared >= at_least, "only {} compared", self.compared);
    }

    /// The same, with at least `each` refusals and acceptances among them.
    pub fn finish_mixed(self, at_least: usize, each: usize) {
        let accepted = self.compared - self.refused;
        let refused = self.refused;
        assert!(refused >= each && accepted >= each, "{refused} refused, {accepted} accepted");
        self.finish(at_least);
    }

    async fn ask(&mut self, twins: &Twins) -> (Result<Response, ClientError>, Result<Response, ClientError>) {
        let target = "/v1/messages?beta=true";
        let body = twins.ours.to_string();
        let ours = self.ours.send("POST", target, &twins.headers, body.as_bytes());
        let ours = ours.await;
        let body = twins.theirs.to_string();
        let theirs = self.theirs.send("POST", target, &twins.headers, body.as_bytes());
        (ours, theirs.await)
    }

    fn judge(
        &mut self,
        label: &str,
        ours: Result<Response, ClientError>,
        theirs: Result<Response, ClientError>,
    ) -> (Response, Response) {
        let theirs = theirs.unwrap_or_else(|error| panic!("{label}: the reference: {error}"));
        let ours = ours.unwrap_or_else(|error| panic!("{label}: ours: {error}"));
        if let Some(difference) = difference(&seen(&ours), &seen(&theirs)) {
            panic!("{label}: {difference}");
        }
        self.compared += 1;
        self.refused += usize::from(ours.status == 400);
        (ours, theirs)
    }
}

/// One server and the connection to it, reopened if it was closed.
struct Side {
    url: String,
    client: Option<Client>,
}

impl Side {
    fn new(url: String) -> Self {
        Self { url, client: None }
    }

    async fn get(&mut self, target: &str) -> Response {
        self.send("GET", target, &[], b"").await.expect("an answer")
    }

    async fn send(
        &mut self,
        method: &str,
        target: &str,
        headers: &[(String, String)],
        body: &[u8],
    ) -> Result<Response, ClientError> {
        let mut client = match self.client.take() {
            Some(client) => client,
            None => Client::connect(&self.url).await?,
        };
        let response = client.send(method, target, headers, body).await?;
        if response.ending == testkit::http1::Ending::Complete {
            self.client = Some(client);
        }
        Ok(response)
    }
}
