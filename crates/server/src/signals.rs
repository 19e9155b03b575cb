//! Sends signals of the automatic editor to a command, or to an address on this machine.

use ctx_engine::automatic::Rules;
use std::collections::HashSet;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use ctx_api::timeline::SignalView;
use ctx_engine::log;
use ctx_service::Service;
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::process::Command;
use tokio::sync::mpsc;
use tokio::time::timeout;

/// The queue of signals; further ones are dropped, but stay in the timeline.
const WAITING: usize = 64;
/// The timeout of a command or an address.
const PATIENCE: Duration = Duration::from_secs(30);

/// Runs from now on, until the service ends.
pub(crate) fn tell(service: &Service, rules: Arc<dyn Rules>) {
    let (send, mut heard) = mpsc::channel::<(String, u64, SignalView)>(WAITING);
    service.listen(move |record| {
        if record.kind == log::AUTOMATIC
            && let Ok(log::Automatic::Signal(told)) = serde_json::from_slice(&record.body)
        {
            let _ = send.try_send((record.conversation.clone(), record.at, told));
        }
        !send.is_closed()
    });
    tokio::spawn(async move {
        let mut complained = HashSet::new();
        while let Some((conversation, at, told)) = heard.recv().await {
            // They come from the user's own settings, never from a project's.
            let settings = rules.of(None, &[]);
            let body = body(&conversation, at, &told).to_string();
            if let Some(command) = &settings.hook {
                let ran = timeout(PATIENCE, run(command, told.signal.name(), &body)).await;
                complain("the hook", ran, &mut complained);
            }
            if let Some(address) = &settings.webhook {
                let posted = timeout(PATIENCE, post(address, body)).await;
                complain("the webhook", posted, &mut complained);
            }
        }
    });
}

fn body(conversation: &str, at: u64, told: &SignalView) -> Value {
    let mut body = json!(told);
    body["conversation"] = conversation.into();
    body["at"] = at.into();
    body
}

/// Logs a repeated failure once, until it succeeds again.
fn complain(
    who: &'static str,
    outcome: Result<Result<(), String>, tokio::time::error::Elapsed>,
    complained: &mut HashSet<(&'static str, String)>,
) {
    let why = match outcome {
        Ok(Ok(())) => return complained.retain(|(other, _)| *other != who),
        Ok(Err(why)) => why,
        Err(_) => format!("it took longer than {} s", PATIENCE.as_secs()),
    };
    if complained.insert((who, why.clone())) {
        tracing::warn!(%why, "{who} did not get the signal");
    }
}

/// A command gets the signal's name as its argument, and the whole signal on stdin.
async fn run(command: &str, signal: &str, body: &str) -> Result<(), String> {
    let mut child = Command::new("sh")
        .args(["-c", &format!("{command} \"$@\""), "sh", signal])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .map_err(|error| error.to_string())?;
    if let Some(mut input) = child.stdin.take() {
        // It need not read its input.
        let _ = input.write_all(body.as_bytes()).await;
    }
    let status = child.wait().await.map_err(|error| error.to_string())?;
    if status.success() { Ok(()) } else { Err(format!("the command ended with {status}")) }
}

async fn post(address: &str, body: String) -> Result<(), String> {
    let uri: http::Uri = address.parse().map_err(|_| "the address is not a URL".to_owned())?;
    let host = uri.host().filter(|host| matches!(*host, "localhost" | "127.0.0.1" | "[::1]"));
    let Some(host) = host.filter(|_| uri.scheme_str() == Some("http")) else {
        return Err("only http:// addresses on this machine get signals".to_owned());
    };
    let place = (host.trim_matches(['[', ']']), uri.port_u16().unwrap_or(80));
    let stream = TcpStream::connect(place).await.map_err(|error| error.to_string())?;
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.map_err(|error| error.to_string())?;
    tokio::spawn(connection);
    let path = uri.path_and_query().map_or("/", |path| path.as_str());
    let request = http::Request::post(path)
        .header("host", uri.authority().map(|authority| authority.as_str()).unwrap_or_default())
        .header("content-type", "application/json")
        .body(body)
        .map_err(|error| error.to_string())?;
    let answer = sender.send_request(request).await.map_err(|error| error.to_string())?;
    if answer.status().is_success() { Ok(()) } else { Err(format!("it responded with {}", answer.status())) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_command_gets_the_name_and_the_figures() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("told");
        let command = format!("cat > {}; echo", file.display());
        run(&command, "CONTEXT_NEAR_LIMIT", r#"{"tokens":1}"#).await.expect("it ran");
        assert_eq!(std::fs::read_to_string(&file).expect("a file"), r#"{"tokens":1}"#);
        assert!(run("test x =", "CONTEXT_NEAR_LIMIT", "{}").await.is_err());
    }

    #[tokio::test]
    async fn only_this_machine_is_told() {
        for address in ["http://example.com/x", "https://127.0.0.1/x", "ftp://localhost", "x"] {
            assert!(post(address, String::new()).await.is_err(), "{address}");
        }
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let server = tokio::spawn(async move {
            use tokio::io::AsyncReadExt;
            let (mut stream, _) = listener.accept().await.expect("a caller");
            let mut heard = Vec::new();
            while !heard.ends_with(b"{}") {
                let mut more = [0; 512];
                let count = stream.read(&mut more).await.expect("bytes");
                heard.extend_from_slice(&more[..count]);
            }
            stream.write_all(b"HTTP/1.1 204 No Content\r\n\r\n").await.expect("answered");
            String::from_utf8(heard).expect("text")
        });
        post(&format!("http://127.0.0.1:{port}/told?x=1"), "{}".to_owned()).await.expect("told");
        let heard = server.await.expect("heard");
        assert!(heard.starts_with("POST /told?x=1 HTTP/1.1\r\n"), "{heard}");
    }
}
