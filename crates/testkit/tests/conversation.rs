//! Built conversations: in the stock client's shape, and accepted by the strict provider.

use serde_json::{Value, json};
use testkit::fake_provider::{FakeProvider, Options};
use testkit::{Client, Family, Session};

fn value(session: &Session) -> Value {
    serde_json::from_slice(&session.body()).expect("JSON")
}

/// A loop with parallel calls, an event, an interjection, and a second question.
fn eventful(family: Family) -> Session {
    let mut session = Session::new(3).family(family);
    session
        .user("first")
        .assistant_tools(&[("Read", json!({"file_path": "/a"})), ("Bash", json!({"command": "ls"}))])
        .event("a file changed")
        .interject("hurry")
        .results(&["one", "two  \n"])
        .assistant("done")
        .user("second");
    session
}

async fn accepted(provider: &FakeProvider, session: &Session) -> Value {
    let mut client = Client::connect(&provider.url()).await.expect("listening");
    let (headers, body) = (session.headers(), session.body());
    let sent = client.send("POST", "/v1/messages?beta=true", &headers, &body);
    let response = sent.await.expect("an answer");
    let text = String::from_utf8_lossy(&response.body);
    assert_eq!(response.status, 200, "{text}");
    serde_json::from_slice(&response.body).unwrap_or_default()
}

#[tokio::test]
async fn every_turn_of_both_families_passes_the_strict_provider() {
    let provider = FakeProvider::start(Options::strict()).expect("a free port");
    for family in [Family::A, Family::B] {
        accepted(&provider, &eventful(family)).await;
        let mut session = Session::new(11).family(family);
        for _ in 0..6 {
            session.turn().user("and now?");
            accepted(&provider, &session).await;
        }
        let mut agent = session.subagent();
        agent.user("look").step();
        accepted(&provider, &agent).await;
        accepted(&provider, &session.fork()).await;
    }
}

#[tokio::test]
async fn real_answers_can_be_carried_on() {
    let provider = FakeProvider::start(Options::strict()).expect("a free port");
    let mut session = Session::new(5).stream(false);
    session.user("THINK:hm;;SAY:look;;USE_TOOL:Read:/a;;THEN;;THINK:so;;SAY:done");
    for stop in ["tool_use", "end_turn"] {
        let answer = accepted(&provider, &session).await;
        assert_eq!(answer["stop_reason"], stop);
        let blocks = answer["content"].as_array().expect("blocks").clone();
        session.assistant_blocks(blocks).results(&["content of a"]);
    }
    session.turn().user("SAY:bye");
    let answer = accepted(&provider, &session).await;
    assert_eq!(answer["content"][0]["text"], "bye");
    assert!(answer["usage"]["cache_read_input_tokens"].as_u64() > Some(10_000));
}

#[test]
fn the_body_has_the_key_order_and_the_marks_of_the_client() {
    let body = value(&eventful(Family::A));
    let keys: Vec<&str> = body.as_object().expect("fields").keys().map(|key| &**key).collect();
    assert_eq!(
        keys,
        [
            "model",
            "messages",
            "system",
            "tools",
            "metadata",
            "max_tokens",
            "thinking",
            "context_management",
            "output_config",
            "stream"
        ]
    );
    let text = body.to_string();
    assert_eq!(text.matches("\"cache_control\"").count(), 3);
    let last = body["messages"].as_array().expect("messages").last().cloned();
    let last = last.expect("a message");
    assert_eq!(last["content"][0]["cache_control"]["type"], "ephemeral");
}

#[test]
fn the_mark_moves_and_contents_flip_while_history_stays() {
    let mut session = eventful(Family::A);
    let before = value(&session);
    session.assistant("fine").user("third");
    let after = value(&session);
    let last = before["messages"].as_array().expect("messages").len() - 1;
    for index in 0..last {
        assert_eq!(before["messages"][index], after["messages"][index]);
    }
    assert_eq!(before["messages"][last]["content"][0]["text"], "second");
    assert_eq!(after["messages"][last]["content"], "second");
}

#[test]
fn families_tell_the_same_in_different_places() {
    let a = value(&eventful(Family::A));
    let roles = |body: &Value| -> String {
        let messages = body["messages"].as_array().expect("messages").iter();
        messages.filter_map(|message| message["role"].as_str()?.chars().next()).collect()
    };
    assert_eq!(roles(&a), "usausau");
    assert_eq!(a["messages"][1]["output_config"]["effort"], "medium");
    assert_eq!(a["messages"][3]["content"][2]["text"], "hurry");
    assert_eq!(a["messages"][4]["content"], "a file changed");

    let b = value(&eventful(Family::B));
    assert_eq!(roles(&b), "uauau");
    let result = b["messages"][2]["content"][1]["content"].as_str();
    let result = result.expect("a string");
    assert!(result.starts_with("two\n\n<system-reminder>"), "{result}");
    assert!(result.contains("a file changed") && result.contains("hurry"));
}

#[test]
fn ids_say_who_speaks() {
    let mut session = Session::new(1).hints(true);
    session.user("x");
    let mut agent = session.subagent();
    agent.user("y");
    let fork = session.fork();
    let header = |session: &Session, wanted: &str| {
        let headers = session.headers().into_iter();
        let mut values = headers.filter(|(name, _)| name == wanted);
        values.next().map(|(_, value)| value)
    };
    let id = "X-Claude-Code-Session-Id";
    assert_eq!(header(&session, id), header(&agent, id));
    assert_ne!(header(&session, id), header(&fork, id));
    let class = "x-claude-code-request-class";
    assert_eq!(header(&session, class).as_deref(), Some("main"));
    assert_eq!(header(&agent, class).as_deref(), Some("subagent"));
    assert_eq!(header(&session, "x-claude-code-agent-id"), None);
    assert_eq!(header(&agent, "x-claude-code-agent-id").as_deref(), agent.agent_id());
    let user: Value = serde_json::from_str(value(&agent)["metadata"]["user_id"].as_str().expect("a string"))
        .expect("JSON in a string");
    assert_eq!(user["session_id"], session.session_id());
    let attribution = value(&agent)["system"][0]["text"].to_string();
    assert!(attribution.contains("cc_is_subagent=true;"));
}

#[test]
fn the_same_seed_gives_the_same_bytes() {
    let build = |seed| Session::new(seed).family(Family::B).grow_to(200_000).body();
    assert_eq!(build(7), build(7));
    assert_ne!(build(7), build(8));
}

#[test]
fn a_session_grows_to_the_size_asked_for_and_on_from_there() {
    for family in [Family::A, Family::B] {
        let mut session = Session::new(9).family(family).lean();
        let mut before = Vec::new();
        for size in [30_000, 300_000, 1_400_000] {
            let body = session.grow_to(size).body();
            assert!((size..size + 200_000).contains(&body.len()), "{}", body.len());
            // The first messages equal those of the smaller body.
            let (shorter, longer) = (&before, &body);
            let start = shorter.len().saturating_sub(80_000);
            assert_eq!(shorter.get(..start), longer.get(..start));
            before = body;
        }
    }
}

#[test]
fn a_first_request_is_as_large_as_the_clients() {
    let mut session = Session::new(2);
    session.user("hello");
    let size = session.body().len();
    assert!((45_000..60_000).contains(&size), "{size}");
}
