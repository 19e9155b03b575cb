//! The port for other machines.

use std::path::Path;
use std::sync::Arc;

use ctx_server::{BindError, Server, ServerConfig, TeamSettings, TlsFiles, UpstreamCredentials};
use ctx_store::MemoryStore;
use ctx_team::Registry;
use rustls::{ClientConfig, RootCertStore};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, ServerName};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use super::scene::{LONG, Stores};
use crate::support::house::Router;
use crate::support::raw::RawServer;
use crate::support::{Plan, body_of};

/// Writes a certificate of its own authority for this name.
fn certificate(folder: &Path, name: &str) -> TlsFiles {
    let made = rcgen::generate_simple_self_signed(vec![name.to_owned()]).expect("a certificate");
    let files = TlsFiles { certificate: folder.join("tls.pem"), key: folder.join("tls.key") };
    std::fs::write(&files.certificate, made.cert.pem()).expect("written");
    std::fs::write(&files.key, made.signing_key.serialize_pem()).expect("written");
    files
}

fn team() -> TeamSettings {
    let registry = Arc::new(Registry::open(Arc::new(MemoryStore::new())).expect("a registry"));
    let (open, credentials) = (Arc::new(Stores::default()), UpstreamCredentials::default());
    TeamSettings { registry, open, credentials, idle: LONG }
}

/// Sends a request over TLS, trusting only the certificate in the file.
async fn ask(house: &Router, trusted: &Path, name: &str, request: &str) -> std::io::Result<String> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(trusted).expect("a certificate")).expect("added");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_root_certificates(roots)
        .with_no_client_auth();
    let socket = TcpStream::connect(house.address).await?;
    let name = ServerName::try_from(name.to_owned()).expect("a name");
    let mut stream = TlsConnector::from(Arc::new(config)).connect(name, socket).await?;
    stream.write_all(request.as_bytes()).await?;
    let mut answer = Vec::new();
    // The daemon may close without a farewell.
    let _ = stream.read_to_end(&mut answer).await;
    Ok(String::from_utf8_lossy(&answer).into_owned())
}

fn refusal(config: &ServerConfig, error: BindError) -> String {
    assert!(matches!(error, BindError::RemoteRefused { .. }), "{error} for {}", config.listen);
    assert!(error.hint().contains("--tls-cert") && error.hint().contains("--team"), "{}", error.hint());
    error.to_string()
}

#[tokio::test]
async fn beyond_loopback_the_daemon_needs_tls_and_keys() {
    let folder = tempfile::tempdir().expect("a folder");
    let files = certificate(folder.path(), "gateway.example");
    for (tls, keys, missing) in [
        (false, false, Some("without TLS and keys")),
        (true, false, Some("without keys")),
        (false, true, Some("without TLS")),
        (true, true, None),
    ] {
        let mut plan = Plan::new("http://127.0.0.1:1");
        plan.config.listen = ([0, 0, 0, 0], 0).into();
        plan.config.tls = tls.then(|| files.clone());
        plan.config.team = keys.then(team);
        let config = plan.config.clone();
        match (Server::bind(plan.config, plan.recorder, plan.control).await, missing) {
            (Ok(_), None) => {}
            (Err(error), Some(missing)) => assert!(refusal(&config, error).ends_with(missing)),
            (outcome, _) => panic!("tls {tls}, keys {keys}: {:?}", outcome.map(|_| ())),
        }
    }
}

#[tokio::test]
async fn people_use_the_port_over_tls_and_a_renewed_certificate_needs_no_restart() {
    let (folder, server) = (tempfile::tempdir().expect("a folder"), RawServer::open().await);
    let files = certificate(folder.path(), "gateway.example");
    let upstream = format!("http://{}", server.address);
    let house = Router::with(&upstream, |config| {
        config.tls = Some(files.clone());
        config.team = Some(team());
    })
    .await;
    let request = "GET /control/v1/me HTTP/1.1\r\nHost: gateway.example\r\nConnection: close\r\n\r\n";
    let answer = ask(&house, &files.certificate, "gateway.example", request).await.expect("an answer");
    let body: serde_json::Value = serde_json::from_str(body_of(&answer)).expect(&answer);
    assert_eq!(body["error"]["code"], json!("key-needed"), "{answer}");

    let old = folder.path().join("old.pem");
    std::fs::copy(&files.certificate, &old).expect("copied");
    tokio::time::sleep(std::time::Duration::from_millis(1100)).await;
    certificate(folder.path(), "gateway.example");
    assert!(ask(&house, &files.certificate, "gateway.example", request).await.is_ok(), "the new one is served");
    assert!(ask(&house, &old, "gateway.example", request).await.is_err(), "and the old one no more");
}

#[tokio::test]
async fn a_certificate_that_cannot_be_used_is_refused_with_the_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let files = certificate(folder.path(), "gateway.example");
    std::fs::write(&files.key, "no key").expect("written");
    let mut plan = Plan::new("http://127.0.0.1:1");
    plan.config.tls = Some(files.clone());
    let Err(error) = Server::bind(plan.config, plan.recorder, plan.control).await else { panic!("refused") };
    assert!(error.to_string().contains("tls.key"), "{error}");
}
