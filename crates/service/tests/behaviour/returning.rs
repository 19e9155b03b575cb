//! Deleted content that the client drops by itself and brings back later.

use crate::support::{House, answers};
use ctx_api::edit::EditRequest;
use serde_json::{Value, json};
use testkit::{Family, Session};

/// A session whose body changes from request to request.
struct Talk {
    house: House,
    session: Session,
    conversation: String,
}

impl Talk {
    /// Sends the first request. Its answer has a thought.
    fn new() -> Talk {
        let house = House::new();
        let mut session = Session::new(3).lean().family(Family::B);
        session.user("fix it");
        let first = house.send(&session);
        house.answer(&first, answers::blocks(&[thought(), said()], 1_000));
        Talk { house, session, conversation: first.conversation }
    }

    fn delete(&self, id: &str) {
        let operations =
            serde_json::from_value(json!([{"op": "delete", "ids": [id], "force": true}])).expect("an operation");
        let edit = EditRequest { operations, author: "test".into(), ..EditRequest::default() };
        self.house.service.apply(&self.conversation, edit).expect("made");
    }

    fn undo(&self) {
        let undo = serde_json::from_value(json!({"action": "undo", "author": "test"})).expect("an action");
        self.house.service.go(&self.conversation, undo).expect("undone");
    }

    /// Sends the reply back with the next question, and returns the request as it leaves.
    fn leaves(&self, reply: &[Value], change: impl Fn(&mut Value)) -> String {
        let mut session = self.session.clone();
        session.assistant_blocks(reply.to_vec()).user("go on");
        let mut body: Value = serde_json::from_slice(&session.body()).expect("JSON");
        change(&mut body);
        let body = body.to_string().into_bytes();
        let (ticket, outgoing) = self.house.hold_body(&self.session.headers(), &body);
        let sent = outgoing.map_or(body.clone(), |outgoing| outgoing.bytes(&body));
        self.house.reply(&ticket, "an answer");
        assert!(self.house.compose(&self.conversation) == sent, "what is shown is sent");
        String::from_utf8(sent).expect("text")
    }
}

fn thought() -> Value {
    json!({"type": "thinking", "thinking": "a deleted thought", "signature": "c2lnbmVk"})
}

fn said() -> Value {
    json!({"type": "text", "text": "done"})
}

#[test]
fn a_deleted_thought_of_a_reply_stays_away_when_the_client_sends_it_again() {
    let talk = Talk::new();
    talk.delete("t1#1.0");
    let with_thought = [thought(), said()];
    assert!(!talk.leaves(&with_thought, |_| ()).contains("a deleted thought"));
    talk.delete("tools/Bash");
    talk.undo();
    talk.leaves(&[said()], |_| ());
    assert!(!talk.leaves(&with_thought, |_| ()).contains("a deleted thought"));
}

#[test]
fn a_deleted_tool_stays_away_when_the_client_offers_it_again() {
    let talk = Talk::new();
    talk.leaves(&[said()], |body| offer(body, true));
    talk.delete("tools/Extra");
    for is_offered in [true, false, false, true] {
        let sent = talk.leaves(&[said()], |body| offer(body, is_offered));
        assert!(!sent.contains("an extra tool"), "offered: {is_offered}");
    }
}

fn offer(body: &mut Value, is_offered: bool) {
    let extra = json!({"name": "Extra", "description": "an extra tool", "input_schema": {"type": "object"}});
    let tools = body["tools"].as_array_mut().expect("tools");
    tools.extend(is_offered.then_some(extra));
}
