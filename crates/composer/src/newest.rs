//! The newest body of each session, for comparing the next one with it while it passes.

use crate::conversation::Conversation;
use ctx_wire::anthropic::identify::Hints;
use ctx_wire::pieces::{Piece, Pieces};
use std::collections::HashMap;
use std::sync::{Mutex, Weak};

/// A session and, where one of its agents speaks, which.
type Whose = (Box<str>, Option<Box<str>>);

/// Beyond this many sessions those are looked for that are no longer in memory.
const MANY: usize = 256;

/// The bodies belong to their conversations and go with them.
#[derive(Debug, Default)]
pub struct Newest(Mutex<HashMap<Whose, Weak<Vec<Piece>>>>);

impl Newest {
    /// The body to compare with. The proxy asks, so nobody is waited for: without one all is copied.
    pub fn get(&self, hints: &Hints) -> Option<Pieces> {
        let whose = whose(hints)?;
        self.0.try_lock().ok()?.get(&whose)?.upgrade()
    }

    pub(crate) fn put(&self, hints: &Hints, conversation: &Conversation) {
        let Some(whose) = whose(hints) else { return };
        let opened = &conversation.opened;
        // A request may have turned out to belong to somebody else than its headers say.
        if (opened.session.as_deref(), opened.agent.as_deref()) != (Some(&*whose.0), whose.1.as_deref()) {
            return;
        }
        let pieces = conversation.body.as_ref().map(|body| body.pieces()).filter(|pieces| !pieces.is_empty());
        let mut newest = crate::directory::lock(&self.0);
        match pieces {
            Some(pieces) => {
                if newest.len() >= MANY && !newest.contains_key(&whose) {
                    newest.retain(|_, pieces| pieces.strong_count() > 0);
                }
                newest.insert(whose, std::sync::Arc::downgrade(pieces));
            }
            None => {
                newest.remove(&whose);
            }
        }
    }
}

fn whose(hints: &Hints) -> Option<Whose> {
    Some((hints.session.clone()?, hints.agent.clone()))
}
