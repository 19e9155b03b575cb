//! Stock Gemini CLI, started by `ctx run`, in front of a strict stand-in for Google's API: turns, a tool loop, a resumed
//! session, and edits in the middle of it.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};

use serde_json::{Value, json};

use crate::providers::{KEY, Providers};

/// Writes the client's settings for this kind of login.
fn settle(stage: &Providers, login: &str) {
    std::fs::create_dir(stage.path("home/.gemini")).expect("a folder");
    compress_at(stage, login, 0.9);
}

/// The same, with the part of the window at which the client compresses its history.
fn compress_at(stage: &Providers, login: &str, threshold: f64) {
    let settings = json!({
        "security": {"auth": {"selectedType": login}}, "privacy": {"usageStatisticsEnabled": false},
        "general": {"disableAutoUpdate": true}, "model": {"compressionThreshold": threshold},
    });
    std::fs::write(stage.path("home/.gemini/settings.json"), settings.to_string()).expect("settings");
}

/// The service behind a Google login: answers for the account itself, and leaves the model's answers to the stand-in.
fn account(stand_in: u16) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    std::thread::spawn(move || {
        for client in listener.incoming().flatten() {
            std::thread::spawn(move || serve(client, stand_in));
        }
    });
    port
}

fn serve(mut client: TcpStream, stand_in: u16) -> Option<()> {
    let (mut request, mut buffer) = (Vec::new(), [0; 65536]);
    let end = loop {
        let count = client.read(&mut buffer).ok().filter(|count| *count > 0)?;
        request.extend_from_slice(&buffer[..count]);
        let Some(head) = request.windows(4).position(|four| four == b"\r\n\r\n") else { continue };
        let text = String::from_utf8_lossy(&request[..head]).to_ascii_lowercase();
        let length = text.split("content-length: ").nth(1).and_then(|rest| rest.lines().next()?.parse().ok());
        if request.len() >= head + 4 + length.unwrap_or(0) {
            break head;
        }
    };
    let first = String::from_utf8_lossy(&request[..end]).lines().next()?.to_owned();
    if first.contains("enerateContent") || first.contains(":countTokens") {
        let mut provider = TcpStream::connect(("127.0.0.1", stand_in)).ok()?;
        provider.write_all(&request[..end]).ok()?;
        provider.write_all(b"\r\nConnection: close").ok()?;
        provider.write_all(&request[end..]).ok()?;
        std::io::copy(&mut provider, &mut client).ok()?;
        return Some(());
    }
    let body = match first.contains(":loadCodeAssist") {
        true => json!({"currentTier": {"id": "standard-tier"}, "cloudaicompanionProject": "a-project"}),
        false => json!({}),
    };
    let body = body.to_string();
    let head = format!("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n", body.len());
    client.write_all(format!("{head}Connection: close\r\n\r\n{body}").as_bytes()).ok()
}

#[test]
fn gemini_cli_with_a_google_login_is_edited_in_its_wrapped_requests() {
    let behind = |stand_in| vec![format!("code-assist=http://127.0.0.1:{}", account(stand_in))];
    let Some(stage) = Providers::behind("CTX_TEST_GEMINI", behind) else { return };
    settle(&stage, "oauth-personal");
    let login = format!("GOOGLE_GENAI_USE_GCA=true\nGOOGLE_CLOUD_ACCESS_TOKEN={KEY}\n");
    std::fs::write(stage.path("home/.gemini/.env"), login).expect("a login");
    let gemini =
        |arguments: &[&str]| stage.agent(&[&["gemini", "-m", "gemini-3-pro-preview", "--yolo"], arguments].concat());
    let said = gemini(&["-p", "look [[chain echo first_output ;; echo second_output]]"]);
    assert!(said.contains("_output"), "{said}");
    assert_eq!(stage.titles(), ["look [[chain echo first_output ;; echo second_output]]"]);
    stage.assert_taken();
    stage.edit(&["drop-results", "t1/1"]);
    gemini(&["-r", "latest", "-p", "a tangent_word [[say something_else]]"]);
    stage.edit(&["delete", "t2"]);
    gemini(&["-r", "latest", "-p", "go on [[say back_again]]"]);
    stage.assert_taken();
    let (newest, _) = stage.received().pop().expect("a request");
    assert!(!newest.contains("tangent_word") && !newest.contains("Output: first_output"), "{newest}");
    let body: Value = serde_json::from_str(&newest).expect("JSON");
    assert_eq!(body["project"], "a-project");
    assert!(body["request"]["contents"].to_string().contains("second_output"), "{newest}");
}

#[test]
fn gemini_cli_is_seen_and_goes_on_with_an_edited_history() {
    let Some(stage) = Providers::with("CTX_TEST_GEMINI", &["gemini"]) else { return };
    settle(&stage, "gemini-api-key");
    let gemini =
        |arguments: &[&str]| stage.agent(&[&["gemini", "-m", "gemini-3-pro-preview", "--yolo"], arguments].concat());
    let said = gemini(&["-p", "look [[chain echo first_output ;; echo second_output]]"]);
    assert!(said.contains("_output"), "{said}");
    assert!(stage.client().starts_with("GeminiCLI"), "{}", stage.client());
    assert_eq!(stage.titles(), ["look [[chain echo first_output ;; echo second_output]]"]);
    let listed = stage.json(&["list", "--steps"]);
    let turn = listed["frames"].as_array().and_then(|frames| frames.iter().find(|frame| frame["kind"] == "turn"));
    assert!(turn.expect("a turn")["steps"].as_u64().is_some_and(|steps| steps >= 2), "{listed}");
    stage.assert_taken();

    // The resumed client sends each result twice, which the provider refuses; an edited history contains each once.
    stage.edit(&["drop-results", "t1/1"]);
    gemini(&["-r", "latest", "-p", "a tangent_word [[say something_else]]"]);
    gemini(&["-r", "latest", "-p", "back [[say back_again]]"]);
    stage.edit(&["delete", "t2"]);
    let said = gemini(&["-r", "latest", "-p", "go on [[tool echo third_output]]"]);
    assert!(said.contains("_output"), "{said}");
    assert_eq!(stage.titles().last().map(String::as_str), Some("go on [[tool echo third_output]]"));
    stage.assert_taken();
    let (newest, _) = stage.received().pop().expect("a request");
    assert!(!newest.contains("tangent_word") && !newest.contains("something_else"), "what was deleted stays away");
    let body: Value = serde_json::from_str(&newest).expect("JSON");
    let parts = body["contents"].as_array().expect("contents").iter().flat_map(|content| content["parts"].as_array());
    let results: Vec<String> =
        parts.flatten().filter(|part| part.get("functionResponse").is_some()).map(Value::to_string).collect();
    assert_eq!(results.len(), 3, "{results:?}");
    assert!(!results[0].contains("first_output"), "a dropped result stays away: {results:?}");
    assert!(results[1].contains("second_output") && results[2].contains("third_output"), "{results:?}");
}

#[test]
fn gemini_cli_compresses_what_an_edit_left() {
    let Some(stage) = Providers::with("CTX_TEST_GEMINI", &["gemini"]) else { return };
    settle(&stage, "gemini-api-key");
    let gemini =
        |arguments: &[&str]| stage.agent(&[&["gemini", "-m", "gemini-3-pro-preview", "--yolo"], arguments].concat());
    // Without tools: the resumed client sends each result twice, and the provider refuses it.
    gemini(&["-p", "look [[say first_words]]"]);
    gemini(&["-r", "latest", "-p", "a tangent_word [[say something_else]]"]);
    stage.edit(&["delete", "t2"]);
    let before = stage.received().len();
    compress_at(&stage, "gemini-api-key", 0.000_01);
    gemini(&["-r", "latest", "-p", "go on [[say back_again]]"]);
    gemini(&["-r", "latest", "-p", "and on [[say once_more]]"]);
    let later: Vec<String> = stage.received().split_off(before).into_iter().map(|(body, _)| body).collect();
    assert!(later.iter().any(|body| body.contains("<state_snapshot>")), "it compressed nothing: {later:?}");
    for body in &later {
        assert!(!body.contains("tangent_word") && !body.contains("something_else"), "{body}");
    }
    stage.assert_taken();
}
