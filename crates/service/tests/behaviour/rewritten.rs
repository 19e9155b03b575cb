//! Edits hold when the client writes its history otherwise, as it does for another model.

use crate::support::{House, answers};
use ctx_api::edit::EditRequest;
use serde_json::{Value, json};
use testkit::{Family, Session};

/// A conversation whose client sends any messages.
struct Story {
    house: House,
    session: Session,
    conversation: String,
}

impl Story {
    /// Sends these messages first, and gets an answer.
    fn new(messages: &Value) -> Story {
        Story::answered(messages, &[text("an answer")])
    }

    fn answered(messages: &Value, reply: &[Value]) -> Story {
        let mut session = Session::new(7).lean().family(Family::B);
        session.user("x");
        let mut story = Story { house: House::new(), session, conversation: String::new() };
        let ticket = story.house.see(&story.session.headers(), &story.body(messages));
        story.house.answer(&ticket, answers::blocks(reply, 1_000));
        story.conversation = ticket.conversation;
        story
    }

    fn body(&self, messages: &Value) -> Vec<u8> {
        let mut body = self.session.body_value();
        body["messages"] = messages.clone();
        body.to_string().into_bytes()
    }

    fn delete(&self, id: &str) {
        let operations = serde_json::from_value(json!([{"op": "delete", "ids": [id]}])).expect("an operation");
        let edit = EditRequest { operations, author: "test".into(), ..EditRequest::default() };
        self.house.service.apply(&self.conversation, edit).expect("made");
    }

    /// The messages of a request as it leaves.
    fn leaves(&self, messages: &Value) -> String {
        let body = self.body(messages);
        let (_, outgoing) = self.house.hold_body(&self.session.headers(), &body);
        let sent = outgoing.map_or(body.clone(), |outgoing| outgoing.bytes(&body));
        assert!(self.house.compose(&self.conversation) == sent, "what is shown is sent");
        serde_json::from_slice::<Value>(&sent).expect("JSON")["messages"].to_string()
    }
}

fn user(blocks: Value) -> Value {
    json!({"role": "user", "content": blocks})
}

fn text(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

fn reminder(about: &str) -> Value {
    text(&format!("<system-reminder>\n{about}\n</system-reminder>\n"))
}

fn image(name: &str) -> Value {
    json!({"type": "image", "source": {"type": "url", "url": format!("https://host/{name}")}})
}

/// A message, an answer and a question.
fn talk(first: Value) -> Value {
    json!([user(first), {"role": "assistant", "content": [text("I see.")]}, user(json!("go on"))])
}

#[test]
fn a_deleted_image_stays_away_when_a_reminder_comes_before_it() {
    let images = [image("first"), image("second"), text("which one is it?")];
    let with = |reminders: &[Value]| talk([reminders, &images].concat().into());
    let story = Story::new(&with(&[reminder("one")]));
    story.delete("t1#0.2");
    for reminders in [vec![reminder("two"), reminder("one")], vec![], vec![reminder("one")]] {
        let sent = story.leaves(&with(&reminders));
        assert!(sent.contains("host/first") && !sent.contains("host/second"), "{sent}");
    }
}

#[test]
fn a_deleted_text_stays_away_wherever_the_client_puts_it() {
    let story = Story::new(&talk(json!([reminder("one"), text("words to keep"), text("words to drop")])));
    story.delete("t1#0.2");
    let sent =
        story.leaves(&talk(json!([reminder("two"), reminder("one"), text("words to keep"), text("words to drop")])));
    assert!(sent.contains("to keep") && !sent.contains("to drop"), "{sent}");

    let story = Story::new(&talk(json!([reminder("one"), text("words to drop")])));
    story.delete("t1#0.1");
    let sent = story.leaves(&talk(json!("<system-reminder>\none\n</system-reminder>\nwords to drop")));
    assert!(!sent.contains("to drop"), "{sent}");
}

fn call(id: &str, note: &str) -> Value {
    json!({"type": "tool_use", "id": id, "name": "Read", "input": {"file_path": "/a", "note": note}})
}

fn result(id: &str, said: &str) -> Value {
    user(json!([{"type": "tool_result", "tool_use_id": id, "content": said}]))
}

fn assistant(blocks: &[Value]) -> Value {
    json!({"role": "assistant", "content": blocks})
}

#[test]
fn a_deleted_reply_stays_away_when_the_client_has_summarised_all_before_it() {
    let before = [user(json!("look")), assistant(&[call("toolu_1", "first")]), result("toolu_1", "found")];
    let reply = [text("words to drop"), call("toolu_2", "also to drop")];
    let story = Story::answered(&before.to_vec().into(), &reply);
    story.delete("t1/2");
    let summary = "This session is being continued from a previous conversation that ran out of context.\nThey looked.";
    let kept = [user(json!(summary)), assistant(&reply), result("toolu_2", "found"), user(json!("go on"))];
    let sent = story.leaves(&kept[..3].to_vec().into());
    assert!(!sent.contains("to drop"), "{sent}");
    let next = [&kept[..3], &[assistant(&[text("I see.")])], &kept[3..]].concat();
    let sent = story.leaves(&next.into());
    assert!(!sent.contains("to drop") && sent.contains("go on"), "{sent}");
}

#[test]
fn a_deleted_text_stays_away_when_the_client_puts_it_into_a_result() {
    let typed = text("words to drop");
    let found = json!({"type": "tool_result", "tool_use_id": "toolu_1", "content": "found"});
    let talk = |results: Value| -> Value {
        let asked = [user(json!("look")), assistant(&[call("toolu_1", "first")]), user(results)];
        [&asked[..], &[assistant(&[text("I see.")]), user(json!("go on"))]].concat().into()
    };
    let story = Story::new(&talk(json!([found, typed])));
    story.delete("t2");
    let glued = "found\n\nThe user sent a message while you were working:\nwords to drop";
    let inside = json!([{"type": "tool_result", "tool_use_id": "toolu_1", "content": glued}]);
    let sent = story.leaves(&talk(inside));
    assert!(!sent.contains("to drop") && !sent.contains("I see.") && sent.contains("Cleared"), "{sent}");
    // A client that has only left the words out keeps its result.
    let sent = story.leaves(&talk(json!([found])));
    assert!(sent.contains("found") && !sent.contains("Cleared"), "{sent}");
    let sent = story.leaves(&talk(json!([found, typed])));
    assert!(sent.contains("found") && !sent.contains("to drop"), "{sent}");
}
