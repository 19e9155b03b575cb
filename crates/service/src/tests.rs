//! Tests from inside: conversations that leave memory at the worst moment.

#[allow(dead_code)]
#[path = "../tests/support/stores.rs"]
pub(crate) mod stores;

use crate::Service;
use crate::parts::PATIENCE;
use crate::threads::lock;
use ctx_clients::Hints;
use ctx_engine::attribution::SeenRequest;
use ctx_store::{Expectation, Reader};
use std::sync::{Arc, Barrier};
use std::time::Duration;
use stores::FailingStore;

fn body(turns: usize) -> Vec<u8> {
    let role = |at: usize| if at.is_multiple_of(2) { "user" } else { "assistant" };
    let message = |at: usize| format!(r#"{{"role":"{}","content":"message {at}"}}"#, role(at));
    let messages: Vec<String> = (0..turns * 2 - 1).map(message).collect();
    format!(r#"{{"model":"m","messages":[{}]}}"#, messages.join(",")).into_bytes()
}

fn see(service: &Service, session: &str, turns: usize) -> String {
    let headers = [("x-claude-code-session-id", session), ("x-claude-code-request-class", "main")];
    let hints = Hints::read(|name| headers.iter().find(|(key, _)| *key == name).map(|(_, value)| *value));
    let seen = SeenRequest {
        wire: &ctx_wire::anthropic::Anthropic,
        hints,
        pieces: Arc::new(body(turns).into()),
        at: turns as u64,
        counting: false,
    };
    service.observe(seen).expect("readable").expect("a conversation").conversation
}

#[test]
fn a_conversation_that_left_memory_comes_back_with_what_was_still_to_be_written() {
    let store = Arc::new(FailingStore::new());
    let service = Service::open(store.clone()).expect("a service");
    let id = see(&service, "s", 1);
    service.settle(PATIENCE);
    store.close_writes();
    see(&service, "s", 2);
    service.parts.start_over();
    let start = Barrier::new(2);
    std::thread::scope(|scope| {
        let asking = scope.spawn(|| {
            start.wait();
            service.frames(&id, false, None).expect("frames").frames.len()
        });
        start.wait();
        // Long enough for one that does not wait to get it wrong.
        std::thread::sleep(Duration::from_millis(50));
        store.open();
        assert_eq!(asking.join().expect("no panic"), 2);
    });
    see(&service, "s", 3);
    service.settle(PATIENCE);
    let service = Service::open(store).expect("a service");
    assert_eq!(service.compose(&id, None).expect("whole"), body(3));
}

#[test]
fn what_leaves_memory_when_there_is_no_room_is_replayed_when_it_is_needed() {
    let service = Service::open(Arc::new(ctx_store::MemoryStore::new())).expect("a service");
    let ids: Vec<String> = (0..5).map(|number| see(&service, &number.to_string(), 1)).collect();
    {
        let mut directory = lock(&service.parts.directory);
        directory.weigh(&ids[4], usize::MAX / 2);
        assert_eq!(directory.at_work().len(), 1, "the one that is at work stays");
    }
    for (number, id) in ids.iter().enumerate() {
        assert_eq!(see(&service, &number.to_string(), 2), *id);
        service.settle(PATIENCE);
        assert_eq!(service.compose(id, None).expect("whole"), body(2));
    }
}

#[test]
fn a_removal_that_fails_half_way_leaves_nothing_of_what_is_gone_and_all_of_the_rest() {
    let store = Arc::new(FailingStore::new());
    let service = Service::open(store.clone()).expect("a service");
    ["one", "two"].iter().for_each(|session| drop(see(&service, session, 1)));
    service.settle(PATIENCE);
    let rows = store.conversations().expect("rows").into_iter();
    let due: Vec<_> = rows.map(|row| Expectation { conversation: row.id, version: row.last_seq }).collect();
    store.fail_every_write(2);
    service.parts.remove_unchanged(&due).expect_err("the second one fails");
    store.heal();
    let is_known = |at: usize| lock(&service.parts.directory).card(&due[at].conversation).is_some();
    assert_eq!([is_known(0), is_known(1)], [false, true]);
    assert_eq!(service.compose(&due[1].conversation, None).expect("stored"), body(1));
}
