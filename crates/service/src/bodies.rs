//! The newest body of each session, with which the next one is compared while it passes.

use ctx_clients::Hints;
use ctx_engine::conversation::Conversation;
use ctx_wire::rope::{Pieces, Whole};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, Weak};

/// A session, and the agent in it, if any.
type Whose = (Box<str>, Option<Box<str>>);

/// Beyond this many sessions, those no longer in memory are dropped.
const MANY: usize = 256;

/// The bodies are owned by the worker, later by their conversations, and freed with them. The proxy never waits here:
/// without a body to compare with, it copies the whole next one.
#[derive(Debug, Default)]
pub struct Newest(Mutex<HashMap<Whose, Weak<Whole>>>);

impl Newest {
    /// The body to compare the next one with.
    pub fn get(&self, hints: &Hints) -> Option<Pieces> {
        let whose = whose(hints)?;
        self.0.try_lock().ok()?.get(&whose)?.upgrade()
    }

    /// Adds a body that has passed but is not processed yet. A much shorter one does not replace the current one: title
    /// requests come under the same session.
    pub fn passed(&self, hints: &Hints, body: &Pieces) {
        let (Some(whose), true) = (whose(hints), body.is_long()) else { return };
        let Ok(mut newest) = self.0.try_lock() else { return };
        let before = newest.get(&whose).and_then(Weak::upgrade);
        if before.is_none_or(|before| before.len() / 2 <= body.len()) {
            insert(&mut newest, whose, body);
        }
    }

    /// Adds the body of a conversation, which knows its kind and its end.
    pub(crate) fn put(&self, hints: &Hints, conversation: &Conversation) {
        let Some((whose, body)) = whose(hints).zip(conversation.newest.last.body.as_ref().map(|body| body.in_pieces()))
        else {
            return;
        };
        let opened = conversation.opened();
        // A request may belong to another conversation than its headers say.
        let is_theirs = (opened.session.as_deref(), opened.agent.as_deref()) == (Some(&*whose.0), whose.1.as_deref());
        if !is_theirs || body.is_empty() {
            return;
        }
        let mut newest = crate::threads::lock(&self.0);
        // A body that has passed meanwhile continues this one and is closer to the next.
        let there = newest.get(&whose).and_then(Weak::upgrade);
        if !there.is_some_and(|there| there.has_end() && there.is_akin(body)) {
            insert(&mut newest, whose, body);
        }
    }
}

fn insert(newest: &mut HashMap<Whose, Weak<Whole>>, whose: Whose, body: &Pieces) {
    if newest.len() >= MANY && !newest.contains_key(&whose) {
        newest.retain(|_, body| body.strong_count() > 0);
    }
    newest.insert(whose, Arc::downgrade(body));
}

fn whose(hints: &Hints) -> Option<Whose> {
    Some((hints.session.clone()?, hints.agent.clone()))
}
