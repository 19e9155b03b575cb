//! The automatic editor: it acts when a request arrives, and on nothing else.

use crate::support::{self, House, sides};
use ctx_core::Content;
use ctx_core::edit::history::Change;
use ctx_core::edit::{Commit, Operation};
use ctx_core::policy::{Action, Facts, Item, Look, Proposal, Settings};
use ctx_engine::Refusal;
use ctx_engine::attribution::SeenRequest;
use ctx_engine::conversation::policy::AUTHOR;
use ctx_engine::ports::{About, Automatic, ClearedDestination, Removal};
use ctx_wire::rope::Arriving;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};
use testkit::Session;

/// Shortens results that were never sent, or wants something that cannot be.
#[derive(Default)]
struct Editor {
    nonsense: bool,
    inputs: bool,
    oldest: bool,
    keeps_nothing: bool,
    looks: Mutex<Vec<Vec<Item>>>,
    texts: Mutex<Vec<Option<String>>>,
    folders: Mutex<Vec<Option<String>>>,
    done: Mutex<Vec<String>>,
    edits: Mutex<Vec<Operation>>,
}

impl Automatic for Editor {
    fn propose(&self, about: &About<'_>, look: &Look<'_>, _: (&Settings, Facts<'_>), _: bool) -> Vec<Proposal> {
        assert!(about.request > 0 && look.window > 0 && look.tokens > 0);
        self.looks.lock().expect("looks").push(look.items.clone());
        self.folders.lock().expect("folders").push(about.folder.map(str::to_owned));
        self.texts.lock().expect("texts").extend(look.items.iter().map(|item| look.text(&item.call)));
        if self.nonsense {
            let operation = Operation::Pin { ids: vec!["t99".into()] };
            return vec![Proposal { what: Action::Operation(operation), reason: "no reason".into() }];
        }
        if self.inputs {
            let long = look.items.iter().filter(|item| item.input.is_some_and(|input| input.left < input.tokens / 2));
            return long.map(|item| Proposal::short_input(item, "it is new")).collect();
        }
        if self.oldest {
            let old = look.whole().find(|item| look.age(item) > 3);
            return Proposal::shorten(old, "it is new");
        }
        Proposal::shorten(look.whole().filter(|item| item.fresh), "it is new")
    }

    fn keep(
        &self,
        _: &About<'_>,
        _: &Settings,
        (removed, _): (&Removal<'_>, &str),
        _: ClearedDestination,
    ) -> Result<Option<String>, String> {
        assert!(!removed.text.is_empty() && ["Read", "Write"].contains(&removed.tool) && removed.reason == "it is new");
        if self.keeps_nothing { Err("the disk is full".into()) } else { Ok(Some("It is in a.txt.".into())) }
    }

    fn done(&self, _: &About<'_>, done: Result<&Commit, &Refusal>) {
        if let Ok(Commit { change: Change::Edit { operations, .. }, .. }) = done {
            let edits = operations.iter().filter(|operation| matches!(operation, Operation::Edit { .. }));
            self.edits.lock().expect("edits").extend(edits.cloned());
        }
        let told = done.map_or_else(|refusal| refusal.code.to_string(), |commit| commit.summary.clone());
        self.done.lock().expect("done").push(told);
    }
}

fn house(editor: Editor) -> (House, Arc<Editor>) {
    let (house, editor) = (House::new(), Arc::new(editor));
    house.service.automate(Some(editor.clone()));
    (house, editor)
}

fn read(session: &mut Session, name: &str) {
    session.assistant_tools(&[("Read", json!({"file_path": name}))]);
    session.results(&[&format!("fn name_of_{}() {{}}\n", name.len()).repeat(300)]);
}

fn session() -> Session {
    let mut session = Session::new(1);
    session.user("read the files");
    read(&mut session, "a.rs");
    session
}

/// What leaves, and the conversation it belongs to.
fn sent(house: &House, session: &Session) -> (String, Option<Value>) {
    let (ticket, outgoing) = house.hold(session);
    house.reply(&ticket, "well");
    let body = session.body();
    let outgoing = outgoing.map(|outgoing| serde_json::from_slice(&outgoing.bytes(&body)).expect("JSON"));
    (ticket.conversation, outgoing)
}

/// What is left of the first result.
fn result(body: &Value) -> String {
    let blocks = body["messages"].as_array().into_iter().flatten().flat_map(|message| message["content"].as_array());
    let result = blocks.flatten().find(|block| block["type"] == "tool_result").expect("a result");
    result["content"].to_string()
}

#[test]
fn without_an_editor_nothing_is_held_and_nothing_changes() {
    let house = House::new();
    let session = session();
    let hints = support::hints(&session.headers());
    assert!(!house.service.holds(&hints));
    assert_eq!(sent(&house, &session).1, None);
    house.service.automate(Some(Arc::new(Editor::default())));
    assert!(house.service.holds(&hints), "every request is looked at");
    house.service.automate(None);
    assert!(!house.service.holds(&hints));
    assert_eq!(sent(&house, &session).1, None);
}

#[test]
fn a_result_is_shortened_before_it_is_sent_for_the_first_time_and_stays_so() {
    let (house, editor) = house(Editor::default());
    let mut session = session();
    let (conversation, first) = sent(&house, &session);
    let first = first.expect("composed");
    let left = result(&first);
    assert!(left.contains("It is in a.txt. Names in it: name_of_4]") && left.len() < 400, "{left}");
    let history = house.service.history(&conversation, 100).expect("a history").commits;
    assert_eq!(history.len(), 1);
    assert_eq!((history[0].author.as_str(), history[0].note.as_deref()), (AUTHOR, Some("it is new")));
    assert!(history[0].tokens_after < history[0].tokens_before);
    assert!(editor.texts.lock().expect("texts")[0].as_deref().is_some_and(|text| text.starts_with("fn name_of_4")));

    read(&mut session, "other.rs");
    let (_, second) = sent(&house, &session);
    let second = second.expect("composed");
    assert_eq!(result(&second), left);
    let looks = editor.looks.lock().expect("looks").clone();
    assert!(looks[0][0].fresh && !looks[0][0].cleared);
    let [old, new] = looks[1].as_slice() else { panic!("two results: {looks:?}") };
    assert!(!old.fresh && old.cleared && new.fresh && !new.cleared && new.left < new.tokens / 4, "{looks:?}");
    assert_eq!(house.service.history(&conversation, 100).expect("a history").commits.len(), 2);

    // The same request again, also after a restart and without an editor, leaves the same.
    let restarted = house.restart();
    assert_eq!(sent(&restarted, &session).1, Some(second));
    assert_eq!(restarted.service.history(&conversation, 100).expect("a history").commits.len(), 2);
}

#[test]
fn only_what_stands_behind_the_last_answer_is_fresh() {
    let (house, editor) = house(Editor::default());
    let mut session = session();
    read(&mut session, "other.rs");
    sent(&house, &session);
    let looks = editor.looks.lock().expect("looks");
    let fresh: Vec<bool> = looks[0].iter().map(|item| item.fresh).collect();
    assert_eq!(fresh, [false, true], "the provider may know what stood before it");
}

#[test]
fn what_is_asked_beside_gets_the_same_and_lets_nobody_act() {
    let (house, editor) = house(Editor::default());
    let mut session = session();
    let (conversation, _) = sent(&house, &session);
    read(&mut session, "other.rs");
    let looked = editor.looks.lock().expect("looks").len();
    let mut counting = None;
    let mut arriving = Arriving::alone();
    arriving.push(&session.body());
    let hints = support::hints(&session.headers());
    let seen = SeenRequest {
        wire: &ctx_wire::anthropic::Anthropic,
        hints,
        pieces: arriving.finish(),
        at: house.now(),
        counting: true,
    };
    house.service.hold(seen, &mut |out| counting = out).expect("counted");
    assert!(counting.is_some_and(|out| {
        let text = String::from_utf8(out.bytes(&session.body())).expect("text");
        text.contains("It is in a.txt.") && text.contains("name_of_8")
    }));
    for side in sides::all(&session, true) {
        let body = side.body.to_string().into_bytes();
        let mut arriving = Arriving::alone();
        arriving.push(&body);
        let seen = SeenRequest {
            wire: &ctx_wire::anthropic::Anthropic,
            hints: support::hints(&side.headers),
            pieces: arriving.finish(),
            at: house.now(),
            counting: false,
        };
        house.service.hold(seen, &mut |_| {}).expect("noted");
    }
    assert_eq!(editor.looks.lock().expect("looks").len(), looked);
    assert_eq!(house.service.history(&conversation, 100).expect("a history").commits.len(), 1);
}

#[test]
fn what_is_refused_or_cannot_be_kept_changes_nothing() {
    let (refused, editor) = house(Editor { nonsense: true, ..Editor::default() });
    let (conversation, left) = sent(&refused, &session());
    assert_eq!((left, editor.done.lock().expect("done").join(",").as_str()), (None, "unknown-id"));
    assert!(refused.service.history(&conversation, 100).expect("a history").commits.is_empty());
    let (full, editor) = house(Editor { keeps_nothing: true, ..Editor::default() });
    assert_eq!(sent(&full, &session()).1, None);
    assert!(editor.done.lock().expect("done").is_empty());
}

#[test]
fn what_is_pinned_is_left_alone() {
    let (house, editor) = house(Editor::default());
    let mut session = Session::new(1);
    session.user("read the files").assistant("Which?").user("this one");
    let (conversation, _) = sent(&house, &session);
    let pin = serde_json::from_value(json!({"op": "pin", "ids": ["t2"]})).expect("an operation");
    let edit = ctx_api::edit::EditRequest { operations: vec![pin], author: "cli".into(), ..Default::default() };
    house.service.apply(&conversation, edit).expect("pinned");
    read(&mut session, "a.rs");
    sent(&house, &session);
    assert!(editor.looks.lock().expect("looks")[1][0].pinned);
    assert!(editor.done.lock().expect("done").is_empty());
}

#[test]
fn what_a_call_was_asked_with_is_shortened_and_the_call_stays() {
    let (house, editor) = house(Editor { inputs: true, ..Editor::default() });
    let mut session = Session::new(1);
    session.user("write the file");
    let content = "fn some_name() {}\n".repeat(100);
    session.assistant_tools(&[("Write", json!({"file_path": "src/new.rs", "content": content}))]);
    session.results(&["written"]);
    let (conversation, sent_) = sent(&house, &session);
    let text = sent_.expect("composed").to_string();
    assert!(
        text.contains("src/new.rs") && text.contains("Names in it: some_name]"),
        "the call stays, its long text does not"
    );
    assert!(!text.contains("fn some_name"));
    let history = house.service.history(&conversation, 100).expect("a history").commits;
    assert_eq!((history.len(), history[0].author.as_str()), (1, AUTHOR));
    let edits = editor.edits.lock().expect("edits").clone();
    let [Operation::Edit { raw: None, content: Some(content), .. }] = &edits[..] else { panic!("{edits:?}") };
    assert!(matches!(&content[..], [Content::Call { .. }]), "the log holds no provider's JSON: {content:?}");
    // It is not done twice, and leaves the same after a restart.
    session.assistant("done").user("thanks");
    let (_, again) = sent(&house, &session);
    let restarted = house.restart();
    assert_eq!(sent(&restarted, &session).1, again);
    assert_eq!(restarted.service.history(&conversation, 100).expect("a history").commits.len(), 1);
}

#[test]
fn the_mark_before_what_goes_next_stands_there_after_a_restart() {
    let (house, editor) = house(Editor { oldest: true, ..Editor::default() });
    let mut session = session();
    let mut conversation = String::new();
    for name in ["b.rs", "c.rs", "d.rs", "e.rs", "f.rs"] {
        conversation = sent(&house, &session).0;
        read(&mut session, name);
    }
    sent(&house, &session);
    assert!(house.service.history(&conversation, 100).expect("a history").commits.len() > 1);
    let composed = |house: &House| house.service.compose(&conversation, None).expect("composed");
    let before = composed(&house);
    let restarted = house.restart();
    restarted.service.automate(Some(editor));
    assert_eq!(String::from_utf8(composed(&restarted)), String::from_utf8(before));
}

#[test]
fn a_sub_agent_works_where_its_parent_does() {
    let (house, editor) = house(Editor::default());
    let mut session = Session::new(1).lean();
    session.user("Working directory: /srv/project\nread the files");
    let mut agent = session.subagent().lean();
    agent.user("read one of them");
    sent(&house, &session);
    let (conversation, _) = sent(&house, &agent);
    let restarted = house.restart();
    restarted.service.automate(Some(editor.clone()));
    agent.assistant("done").user("read another");
    assert_eq!(sent(&restarted, &agent).0, conversation);
    let folders = editor.folders.lock().expect("folders").clone();
    assert_eq!(folders, vec![Some("/srv/project".to_owned()); 3]);
}
