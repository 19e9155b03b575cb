//! Untouched means untouched: what is stored gives back the exact bytes of the request, however it
//! was spelled, from memory and after a restart.

use crate::support::{Headers, House, nameless, with};
use proptest::collection::vec;
use proptest::prelude::*;
use std::collections::HashMap;

/// Headers of a client whose every request is a turn.
fn named() -> Headers {
    let session = vec![("x-claude-code-session-id".to_owned(), "s".to_owned())];
    with(session, "x-claude-code-request-class", "main")
}

fn space() -> impl Strategy<Value = &'static str> {
    prop_oneof![6 => Just(""), 2 => Just(" "), 1 => Just("\n\t "), 1 => Just("\r\n")]
}

/// The inside of a string, spelled in all the ways there are, and some there should not be.
fn letters() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        6 => "[a-z ]{0,6}".prop_map(String::into_bytes),
        1 => Just("größer 名前 😀".as_bytes().to_vec()),
        1 => Just(br#"\u0041\n\/\\\"\ud83d\ude00"#.to_vec()),
        1 => Just(br"\ud83d lone \udc00".to_vec()),
        1 => Just(b"<system-reminder>x</system-reminder>".to_vec()),
        1 => Just(vec![0xFF, 0xC3, 0x28, 0xE2, 0x82]),
        1 => Just(b"\t\x01".to_vec()),
        1 => Just(br#"\"cache_control\":{\"type\":\"ephemeral\"}"#.to_vec()),
    ];
    vec(piece, 0..4).prop_map(|pieces| pieces.concat())
}

fn string() -> impl Strategy<Value = Vec<u8>> {
    letters().prop_map(|inside| [b"\"".as_slice(), &inside, b"\""].concat())
}

fn scalar() -> impl Strategy<Value = Vec<u8>> {
    let spelled = ["0", "-0", "12345678901234567890123", "1e400", "-1.50E+02", "true", "false", "null", "1", "12"];
    prop_oneof![string(), prop::sample::select(spelled.to_vec()).prop_map(|text| text.as_bytes().to_vec())]
}

/// `items` between brackets, with white space anywhere.
fn enclosed(open: u8, items: Vec<Vec<u8>>, spaces: &[&'static str], close: u8) -> Vec<u8> {
    let mut spaces = spaces.iter().cycle();
    let mut out = vec![open];
    let mut pad = |out: &mut Vec<u8>| out.extend_from_slice(spaces.next().copied().unwrap_or_default().as_bytes());
    for (at, item) in items.iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        pad(&mut out);
        out.extend_from_slice(item);
        pad(&mut out);
    }
    pad(&mut out);
    out.push(close);
    out
}

fn array(item: impl Strategy<Value = Vec<u8>>, most: usize) -> impl Strategy<Value = Vec<u8>> {
    (vec(item, 0..most), vec(space(), 1..4)).prop_map(|(items, spaces)| enclosed(b'[', items, &spaces, b']'))
}

/// Members in any order, some of them twice.
fn object(member: impl Strategy<Value = (Vec<u8>, Vec<u8>)>, most: usize) -> impl Strategy<Value = Vec<u8>> {
    (vec((member, space()), 0..most), vec(space(), 1..4)).prop_map(|(members, spaces)| {
        let spell = |((key, value), space): ((Vec<u8>, Vec<u8>), &'static str)| {
            [b"\"", key.as_slice(), b"\"", space.as_bytes(), b":", space.as_bytes(), &value].concat()
        };
        enclosed(b'{', members.into_iter().map(spell).collect(), &spaces, b'}')
    })
}

fn anything() -> impl Strategy<Value = Vec<u8>> {
    let deep = |depth: usize| [b"[".repeat(depth), b"]".repeat(depth)].concat();
    let leaf = prop_oneof![8 => scalar(), 1 => (1..300usize).prop_map(deep)];
    leaf.prop_recursive(4, 24, 4, |inner| {
        let member = (letters_key(), inner.clone());
        prop_oneof![array(inner, 4), object(member, 4)]
    })
}

fn letters_key() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        "[a-d]{1,2}".prop_map(String::into_bytes),
        Just(b"cache_control".to_vec()),
        Just(br"\u0074ext".to_vec())
    ]
}

/// A content block: known kinds, unknown ones, marks at any place.
fn block() -> impl Strategy<Value = Vec<u8>> {
    let kinds = [
        "text",
        "tool_use",
        "tool_result",
        "thinking",
        "redacted_thinking",
        "image",
        "document",
        "server_tool_use",
        "invented",
    ];
    let kind = prop::sample::select(kinds.to_vec()).prop_map(|kind| format!("\"{kind}\"").into_bytes());
    let mark = prop::sample::select(vec![r#"{"type":"ephemeral"}"#, r#"{ "type" : "ephemeral", "ttl":"1h" }"#, "null"]);
    let id = "[a-c]{1,2}".prop_map(|id| format!("\"toolu_{id}\"").into_bytes());
    let member = prop_oneof![
        4 => kind.prop_map(|kind| (b"type".to_vec(), kind)),
        4 => string().prop_map(|text| (b"text".to_vec(), text)),
        2 => mark.prop_map(|mark| (b"cache_control".to_vec(), mark.as_bytes().to_vec())),
        1 => string().prop_map(|mark| (b"cache_control".to_vec(), mark)),
        1 => id.clone().prop_map(|id| (b"id".to_vec(), id)),
        1 => id.prop_map(|id| (b"tool_use_id".to_vec(), id)),
        1 => string().prop_map(|signature| (b"signature".to_vec(), signature)),
        1 => anything().prop_map(|value| (b"input".to_vec(), value)),
        1 => anything().prop_map(|value| (b"content".to_vec(), value)),
        1 => (letters_key(), anything()),
    ];
    prop_oneof![6 => object(member, 5), 1 => anything()]
}

/// A message, or what stands where one should.
fn message() -> impl Strategy<Value = Vec<u8>> {
    let role = prop::sample::select(vec!["\"user\"", "\"assistant\"", "\"system\"", "\"\\u0075ser\"", "\"tool\"", "7"]);
    let member = prop_oneof![
        4 => role.prop_map(|role| (b"role".to_vec(), role.as_bytes().to_vec())),
        3 => array(block(), 3).prop_map(|list| (b"content".to_vec(), list)),
        2 => string().prop_map(|text| (b"content".to_vec(), text)),
        1 => (letters_key(), anything()),
    ];
    prop_oneof![8 => object(member, 4), 1 => anything()]
}

/// Members around the messages; never `messages` itself.
fn around() -> impl Strategy<Value = Vec<u8>> {
    let large = string().prop_map(|text| [b"\"".as_slice(), &text.repeat(400).replace_quotes(), b"\""].concat());
    let name =
        prop::sample::select(vec!["model", "system", "tools", "metadata", "stream", "max_tokens", "x", "thinking"]);
    let value = prop_oneof![6 => anything(), 1 => large, 1 => array(block(), 3)];
    (name, value, space()).prop_map(|(name, value, space)| {
        [b"\"", name.as_bytes(), b"\"", space.as_bytes(), b":", space.as_bytes(), &value].concat()
    })
}

trait ReplaceQuotes {
    fn replace_quotes(&self) -> Vec<u8>;
}

impl ReplaceQuotes for Vec<u8> {
    /// Strings repeated one after the other, as the inside of one.
    fn replace_quotes(&self) -> Vec<u8> {
        self.iter().copied().filter(|byte| *byte != b'"' && *byte != b'\\').collect()
    }
}

/// One request of a conversation: how much of the one before it keeps, and what is new in it.
#[derive(Debug, Clone)]
struct Sent {
    keep: prop::sample::Index,
    new: Vec<Vec<u8>>,
    before: Vec<Vec<u8>>,
    after: Vec<Vec<u8>>,
    /// Whether head and tail are those of the request before.
    same_around: bool,
    spaces: Vec<&'static str>,
    outer: &'static str,
}

fn sent() -> impl Strategy<Value = Sent> {
    let around = || vec(around(), 0..3);
    (any::<prop::sample::Index>(), vec(message(), 0..4), around(), around(), any::<bool>(), vec(space(), 1..4), space())
        .prop_map(|(keep, new, before, after, same_around, spaces, outer)| Sent {
            keep,
            new,
            before,
            after,
            same_around,
            spaces,
            outer,
        })
}

/// The bodies of a conversation.
fn bodies(requests: Vec<Sent>) -> Vec<Vec<u8>> {
    let mut messages: Vec<Vec<u8>> = Vec::new();
    let mut around: Option<Sent> = None;
    let mut bodies = Vec::new();
    for request in requests {
        messages.truncate(request.keep.index(messages.len() + 1));
        messages.extend(request.new.clone());
        let frame = match &around {
            Some(before) if request.same_around => before.clone(),
            _ => request.clone(),
        };
        let list = enclosed(b'[', messages.clone(), &request.spaces, b']');
        let mut members = frame.before.clone();
        members.push([b"\"messages\":".as_slice(), &list].concat());
        members.extend(frame.after.clone());
        let object = enclosed(b'{', members, &frame.spaces, b'}');
        bodies.push([frame.outer.as_bytes(), &object, frame.outer.as_bytes()].concat());
        around = Some(frame);
    }
    bodies
}

fn config() -> ProptestConfig {
    ProptestConfig { failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn any_spelling_comes_back_byte_for_byte(requests in vec(sent(), 1..6), restart_after in 0..5usize) {
        let mut house = House::new();
        let mut newest = None;
        for (number, body) in bodies(requests).into_iter().enumerate() {
            let ticket = house.see(&named(), &body);
            prop_assert!(ticket.turn);
            prop_assert_eq!(show(&house.compose(&ticket.conversation)), show(&body));
            if number == restart_after {
                house = house.restart();
            }
            newest = Some((ticket.conversation, body));
        }
        house = house.restart();
        let (id, body) = newest.expect("a request");
        prop_assert_eq!(show(&house.compose(&id)), show(&body));
    }

    #[test]
    fn so_does_any_spelling_of_nameless_conversations(requests in vec(sent(), 1..6)) {
        let mut house = House::new();
        let mut newest: HashMap<String, Vec<u8>> = HashMap::new();
        for body in bodies(requests) {
            let ticket = house.pass(&nameless(), &body).expect("readable");
            if let Some(ticket) = ticket.filter(|ticket| ticket.turn) {
                prop_assert_eq!(show(&house.compose(&ticket.conversation)), show(&body));
                newest.insert(ticket.conversation, body);
            }
        }
        house = house.restart();
        for (id, body) in newest {
            prop_assert_eq!(show(&house.compose(&id)), show(&body));
        }
    }
}

fn show(bytes: &[u8]) -> String {
    bytes.escape_ascii().to_string()
}

/// The body as it was when each answer was asked for.
fn prefixes(whole: &[u8]) -> Vec<Vec<u8>> {
    let request = ctx_wire::body::parse(whole, &ctx_wire::anthropic::SHAPE).expect("a request");
    let (head, tail) = request.envelope();
    let is_answer = |at: &usize| {
        let message: serde_json::Value = serde_json::from_slice(&whole[request.messages[*at].clone()]).expect("JSON");
        *at > 0 && message["role"] == "assistant"
    };
    let ends = (0..request.messages.len()).filter(is_answer).chain([request.messages.len()]);
    ends.map(|end| [&whole[..head.end], &whole[head.end..request.messages[end - 1].end], &whole[tail.start..]].concat())
        .collect()
}

#[test]
fn every_turn_of_every_recorded_conversation_comes_back_byte_for_byte() {
    let recorded = testkit::recorded_conversations();
    let mut turns = 0;
    for (name, whole) in &recorded {
        let headers = with(named(), "x-claude-code-session-id", name);
        let house = House::new();
        let mut id = String::new();
        for body in prefixes(whole) {
            let ticket = house.see(&headers, &body);
            assert!(house.compose(&ticket.conversation) == body, "{name} turn {}", ticket.request);
            id = ticket.conversation;
            turns += 1;
        }
        assert!(
            house.events(&id).iter().all(|event| event["kind"] != "request"
                || ["new", "next"].contains(&event["verdict"].as_str().unwrap_or_default())),
            "{name}"
        );
        let house = house.restart();
        assert!(house.compose(&id) == *whole, "{name} after a restart");
    }
    println!("{turns} turns of {} conversations", recorded.len());
}
