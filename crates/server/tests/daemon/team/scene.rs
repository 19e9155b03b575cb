//! A team's daemon with seven people, and a conversation of one of them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::support::body_of;
use crate::support::house::{ANSWER, Arrived, Router, answer, answered_by, conversation};
use crate::support::raw::{Peer, RawServer};
use ctx_core::policy::Settings;
use ctx_engine::Refusal;
use ctx_engine::edit::handle::Handles;
use ctx_server::{
    Limits, OidcSettings, OpenService, RetentionSettings, ServerConfig, TeamSettings, Upstream, UpstreamCredentials,
};
use ctx_service::Service;
use ctx_service::automatic::Editor;
use ctx_store::{MemoryStore, Store};
use ctx_team::Registry;
use serde_json::{Value, json};

/// No test takes this long.
pub const LONG: Duration = Duration::from_secs(3600);

/// A word that only the owner's conversation contains.
pub const SECRET: &str = "zebra";

/// The stores of people, by number, and how their agents read offloaded content.
#[derive(Default)]
pub struct Stores(Mutex<HashMap<u32, Arc<MemoryStore>>>, Handles);

impl Stores {
    pub fn all(&self) -> Vec<Arc<MemoryStore>> {
        self.0.lock().expect("stores").values().cloned().collect()
    }
}

impl OpenService for Stores {
    fn open(&self, person: u32) -> Result<Arc<Service>, Refusal> {
        let store = self.0.lock().expect("stores").entry(person).or_default().clone();
        let service = Service::open(store)?.keeping_in_store(self.1);
        let rules = Arc::new(Settings::default());
        service.automate(Some(Arc::new(Editor::in_store(Arc::new(rules), self.1, Box::new(|_| false)))));
        Ok(Arc::new(service))
    }
}

pub struct Team {
    pub server: RawServer,
    pub house: Router,
    pub stores: Arc<Stores>,
    pub log: Arc<MemoryStore>,
    keys: HashMap<&'static str, String>,
}

/// Everyone with their role.
const PEOPLE: [(&str, &str); 7] = [
    ("anna", "member"),
    ("bob", "member"),
    ("carl", "member"),
    ("dora", "member"),
    ("eve", "auditor"),
    ("adam", "admin"),
    ("fred", "member"),
];

impl Team {
    pub async fn new() -> Team {
        Self::with(UpstreamCredentials::default()).await
    }

    pub async fn with(credentials: UpstreamCredentials) -> Team {
        Self::set_up(credentials, LONG, |_| {}).await
    }

    /// With agents that read offloaded content so.
    pub async fn keeping(handles: Handles) -> Team {
        let stores = Arc::new(Stores(Mutex::default(), handles));
        Self::on(stores, UpstreamCredentials::default(), LONG, |_| {}).await
    }

    /// Removes old conversations.
    pub async fn retaining(retention: RetentionSettings) -> Team {
        Self::set_up(UpstreamCredentials::default(), LONG, |config| config.retention = Some(retention)).await
    }

    /// On other stores, which are closed when their people have been idle for this long.
    pub async fn closing_after(idle: Duration, open: Arc<dyn OpenService>) -> Team {
        let change = |config: &mut ServerConfig| {
            let team = config.team.take();
            config.team = team.map(|team| TeamSettings { open, ..team });
        };
        Self::set_up(UpstreamCredentials::default(), idle, change).await
    }

    /// With other timeouts.
    pub async fn limited(change: impl FnOnce(&mut Limits)) -> Team {
        Self::set_up(UpstreamCredentials::default(), LONG, |config| change(&mut config.limits)).await
    }

    /// A team whose people sign in at an identity provider.
    pub async fn signing_in_at(oidc: OidcSettings, credentials: UpstreamCredentials) -> Team {
        let change = |config: &mut ServerConfig| {
            config.oidc = Some(oidc);
            config.public_url = Some("http://ctx.test".parse().expect("an address"));
        };
        Self::set_up(credentials, LONG, change).await
    }

    async fn set_up(credentials: UpstreamCredentials, idle: Duration, change: impl FnOnce(&mut ServerConfig)) -> Team {
        Self::on(Arc::default(), credentials, idle, change).await
    }

    async fn on(
        stores: Arc<Stores>,
        credentials: UpstreamCredentials,
        idle: Duration,
        change: impl FnOnce(&mut ServerConfig),
    ) -> Team {
        let log = Arc::new(MemoryStore::new());
        let registry = Arc::new(Registry::open(log.clone()).expect("a registry"));
        let server = RawServer::open().await;
        let settings = TeamSettings { registry, open: stores.clone(), credentials, idle };
        let upstream = format!("http://{}", server.address);
        let house = Router::with(&upstream, |config| {
            config.team = Some(settings);
            // A provider that takes no API keys.
            config.upstreams.push(("code-assist".to_owned(), Upstream::new(upstream.parse().expect("an address"))));
            change(config);
        })
        .await;
        let mut team = Team { server, house, stores, log, keys: HashMap::new() };
        for (name, role) in PEOPLE {
            team.house.post("people", &json!({"name": name, "role": role})).await;
            let key = team.house.post("keys", &json!({"person": name, "label": "test"})).await;
            team.keys.insert(name, key["key"].as_str().expect("a key").to_owned());
        }
        team
    }

    /// With a conversation of anna that bob may look at and carl may edit, and fred's key revoked. Returns its id.
    pub async fn sharing() -> (Team, String) {
        let team = Team::new().await;
        team.talk("anna", "annas", &conversation(SECRET, 3)).await;
        let id = team.get("anna", "conversations").await["conversations"][0]["id"].as_str().expect("an id").to_owned();
        team.post("anna", &format!("conversations/{id}/share"), &json!({"person": "bob"})).await;
        team.post("anna", &format!("conversations/{id}/share"), &json!({"person": "carl", "edit": true})).await;
        let keys = team.get("fred", "keys").await;
        let key = keys["keys"][0]["id"].as_str().expect("an id");
        team.house.post(&format!("keys/{key}/revoke"), &json!({})).await;
        (team, id)
    }

    pub fn key(&self, name: &str) -> &str {
        &self.keys[name]
    }

    pub fn keys(&self) -> impl Iterator<Item = &String> {
        self.keys.values()
    }

    /// Calls the control API with these header lines. The body of the answer may be any text.
    pub async fn call(&self, lines: &str, method: &str, path: &str, body: &str) -> (u16, String) {
        let mut client = self.house.connect().await;
        let length = body.len();
        client
            .send(format!(
                "{method} /control/v1/{path} HTTP/1.1\r\nHost: gateway.example\r\n{lines}Content-Type: \
                 application/json\r\nAccept: application/json, text/event-stream\r\nContent-Length: {length}\r\n\
                 Connection: close\r\n\r\n{body}"
            ))
            .await;
        let answer = if path.starts_with("events") { client.head().await } else { text(client).await };
        let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok()).expect(&answer);
        (status, body_of(&answer).to_owned())
    }

    pub fn bearer(&self, name: &str) -> String {
        format!("Authorization: Bearer {}\r\n", self.key(name))
    }

    pub async fn ask(&self, name: &str, method: &str, path: &str, body: &Value) -> (u16, Value) {
        let (status, answer) = self.call(&self.bearer(name), method, path, &body.to_string()).await;
        (status, serde_json::from_str(&answer).expect(&answer))
    }

    pub async fn get(&self, name: &str, path: &str) -> Value {
        let (status, answer) = self.ask(name, "GET", path, &json!({})).await;
        assert_eq!(status, 200, "{path}: {answer}");
        answer
    }

    pub async fn post(&self, name: &str, path: &str, body: &Value) -> Value {
        let (status, answer) = self.ask(name, "POST", path, body).await;
        assert_eq!(status, 200, "{path} {body}: {answer}");
        answer
    }

    /// One complete exchange of a person; returns the request that the provider received.
    pub async fn talk(&self, name: &str, session: &str, body: &str) -> Arrived {
        self.talk_to(name, "m", session, body).await
    }

    /// The same with the answer of this model.
    pub async fn talk_to(&self, name: &str, model: &str, session: &str, body: &str) -> Arrived {
        let lines = format!("x-ctx-key: {}\r\nx-api-key: sk-{name}\r\n", self.key(name));
        self.exchange(&lines, session, body, &answered_by(model)).await
    }

    /// The same with this answer.
    pub async fn talk_saying(&self, name: &str, session: &str, body: &str, said: &str) -> Arrived {
        let lines = format!("x-ctx-key: {}\r\nx-api-key: sk-{name}\r\n", self.key(name));
        self.exchange(&lines, session, body, said).await
    }

    /// The same with other header lines.
    pub async fn talk_with(&self, lines: &str, session: &str, body: &str) -> Arrived {
        self.exchange(lines, session, body, ANSWER).await
    }

    /// The same as [`Team::talk`] at another path of a provider.
    pub async fn talk_at(&self, path: &str, name: &str, session: &str, body: &str) -> Arrived {
        let lines = format!("x-ctx-key: {}\r\nx-api-key: sk-{name}\r\n", self.key(name));
        self.exchange_of(&request(&lines, session, body).replacen("/v1/messages", path, 1), ANSWER).await
    }

    async fn exchange(&self, lines: &str, session: &str, body: &str, said: &str) -> Arrived {
        self.exchange_of(&request(lines, session, body), said).await
    }

    async fn exchange_of(&self, request: &str, said: &str) -> Arrived {
        let mut client = self.house.connect().await;
        client.send(request.to_owned()).await;
        let mut arrived = Arrived::at(&self.server).await;
        arrived.peer.send(answer("200 OK", said)).await;
        assert!(client.head().await.starts_with("HTTP/1.1 200 "));
        client.rest().await;
        arrived
    }

    /// The refusal of a proxied request with these header lines.
    pub async fn refused(&self, lines: &str) -> (u16, String) {
        self.refused_at("/v1/messages", lines).await
    }

    /// The same at another path.
    pub async fn refused_at(&self, path: &str, lines: &str) -> (u16, String) {
        let mut client = self.house.connect().await;
        let request = request(lines, "any", &conversation("any", 1));
        client.send(request.replacen("/v1/messages", path, 1)).await;
        let answer = text(client).await;
        let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok()).expect(&answer);
        let code = answer.lines().find_map(|line| line.strip_prefix("x-context-composer-error: "));
        (status, code.unwrap_or_default().to_owned())
    }

    /// Everything stored about anyone, as text.
    pub fn stored(&self) -> String {
        let mut all = String::new();
        let log: Arc<MemoryStore> = self.log.clone();
        for store in self.stores.all().into_iter().chain([log]) {
            let store: Arc<dyn Store> = store;
            for record in store.log(0, 100_000).expect("a log").records {
                all.push_str(&String::from_utf8_lossy(&record.body));
                for blob in &record.uses {
                    let bytes = store.blob(*blob).expect("a blob").unwrap_or_default();
                    all.push_str(&String::from_utf8_lossy(&bytes));
                }
            }
        }
        all
    }
}

async fn text(mut client: Peer) -> String {
    String::from_utf8_lossy(&client.rest().await).into_owned()
}

fn request(lines: &str, session: &str, body: &str) -> String {
    format!(
        "POST /v1/messages HTTP/1.1\r\nHost: gateway.example\r\n{lines}X-Session-Id: {session}\r\nContent-Length: \
         {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    )
}

impl Team {
    /// Another daemon for the same people.
    pub fn around(server: RawServer, house: Router, other: &Team) -> Team {
        Team { server, house, stores: Arc::default(), log: Arc::default(), keys: other.keys.clone() }
    }
}
