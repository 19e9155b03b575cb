//! One conversation for programs that use the engine without the service: in memory, without automatic editing.

use crate::attribution::{self, AttributedRequest, SeenRequest};
use crate::compose::Ground;
use crate::conversation::Conversation;
use crate::edit::past::{refused, verb};
use crate::edit::{Files, Imports, apply};
use crate::log::OpeningRecord;
use crate::point::listed;
use crate::provider::Additions;
use crate::request::circumstances::Circumstances;
use crate::{Engine, Problem, Refusal, view};
use ctx_api::edit::{EditRequest, EditResult, When};
use ctx_api::frames::Frames;
use ctx_api::history::Action;
use ctx_clients::Hints;
use ctx_core::edit::history::{Cannot, How};
use ctx_core::edit::{CommitId, Operation};
use ctx_core::policy::ToolFigures;
use ctx_store::{MemoryStore, Store};
use ctx_wire::Wire;
use ctx_wire::rope::Arriving;
use std::sync::Arc;

/// A conversation that is edited while its client keeps sending it.
pub struct Standalone {
    engine: Engine,
    store: Arc<MemoryStore>,
    conversation: Conversation,
    wire: &'static dyn Wire,
}

impl Standalone {
    pub fn new(wire: &'static dyn Wire) -> Standalone {
        let store = Arc::new(MemoryStore::new());
        let opened = OpeningRecord { wire: wire.id(), ..OpeningRecord::unknown() };
        let conversation = Conversation::new("standalone".into(), opened);
        Standalone { engine: Engine::new(store.clone()), store, conversation, wire }
    }

    /// Takes a request from the client, and returns the bytes to send instead. `at`: milliseconds since 1970.
    pub fn request(&mut self, body: &[u8], at: u64) -> Result<Vec<u8>, Problem> {
        let mut pieces = Arriving::alone();
        pieces.push(body);
        let hints = Hints::default();
        let seen = SeenRequest { wire: self.wire, hints, pieces: pieces.finish(), at, counting: false };
        let received = attribution::receive(&mut self.conversation, &seen)?;
        let found = AttributedRequest::new(&self.conversation, received, &seen.hints, None);
        let by = Circumstances {
            at,
            hints: &seen.hints,
            counting: false,
            is_held: true,
            is_committing: false,
            editor: None,
            figures: &|_, _| ToolFigures::default(),
            imports: &Imports::default(),
            added: &Additions::default(),
            give_way: || {},
        };
        let mut sent = None;
        let mut entry = self.engine.arrive(&mut self.conversation, found, &by);
        self.engine.leave(&mut self.conversation, &mut entry, &mut |outgoing| {
            sent = outgoing.map(|outgoing| outgoing.bytes(body));
        })?;
        let booking = self.engine.book(&mut self.conversation, entry, &by);
        self.store.append(vec![booking.step])?;
        Ok(sent.unwrap_or_else(|| body.to_vec()))
    }

    /// Applies operations, all or none, from the next request on.
    pub fn edit(&mut self, operations: Vec<Operation>, at: u64) -> Result<EditResult, Refusal> {
        let edit = EditRequest { operations, author: "program".into(), ..EditRequest::default() };
        let mut files = Files::default();
        let (commit, mut applied) =
            self.engine.prepared(&self.conversation, edit, Vec::new(), (at, Some(When::Now)), &mut files)?;
        self.engine.write_soon(&self.conversation, &files)?;
        applied.commit = Some(commit.id.to_string());
        apply::push(&mut self.conversation, commit);
        Ok(applied)
    }

    /// Undoes the newest active commit, and those that depend on it.
    pub fn undo(&mut self, at: u64) -> Result<EditResult, Refusal> {
        let history = &self.conversation.history;
        let commits = history.undo().and_then(|newest| history.revert(newest, true));
        self.switch(Action::Undo, commits, at)
    }

    /// Takes back the newest undo.
    pub fn redo(&mut self, at: u64) -> Result<EditResult, Refusal> {
        let commits = self.conversation.history.redo().map(|undo| vec![undo]);
        self.switch(Action::Redo, commits, at)
    }

    /// Switches commits off by another commit.
    fn switch(
        &mut self,
        action: Action,
        commits: Result<Vec<CommitId>, Cannot>,
        at: u64,
    ) -> Result<EditResult, Refusal> {
        let commits = commits.map_err(|cannot| refused(&self.conversation, action, "", cannot))?;
        let how = if action == Action::Redo { How::Redo } else { How::Undo };
        let said = ("program", None, format!("{} {}", verb(action), listed(&commits)));
        let (commit, mut applied) =
            self.engine.reverting(&self.conversation, (commits, how), said, (at, Some(When::Now)))?;
        applied.commit = Some(commit.id.to_string());
        apply::push(&mut self.conversation, commit);
        Ok(applied)
    }

    /// The frames as the next request would send them.
    pub fn frames(&self) -> Frames {
        let ground = Ground::of(&self.conversation, true);
        let view = ground.lay(self.conversation.effects(self.conversation.history.head()));
        view::frames::of(&self.engine, &self.conversation, &ground, &view, false)
    }
}
