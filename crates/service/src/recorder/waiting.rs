//! A held request whose client waits: it leaves, or is withheld.
//!
//! A request that may belong to an edited conversation leaves composed or not at all. Every other request leaves
//! unchanged if anything fails.

use super::event::{Composition, Flaw, Reply, Withheld};
use crate::service::Service;
use ctx_clients::Hints;
use ctx_engine::Problem;
use ctx_engine::compose::OutgoingRequest;
use ctx_wire::Wire;
use ctx_wire::body::{Body, Unreadable};
use ctx_wire::rope::{Pieces, concat};
use std::sync::Arc;

pub(super) struct HeldRequest {
    reply: Option<Reply>,
    service: Arc<Service>,
    wire: &'static dyn Wire,
    session: Option<Box<str>>,
    agent: Option<Box<str>>,
    /// The body, still encoded.
    came: Pieces,
    /// The decoded body, once known.
    pub decoded: Option<Pieces>,
}

impl HeldRequest {
    pub fn new(
        reply: Reply,
        service: Arc<Service>,
        wire: &'static dyn Wire,
        (hints, came): (&Hints, &Pieces),
    ) -> HeldRequest {
        let (session, agent) = (hints.session.clone(), hints.agent.clone());
        HeldRequest { reply: Some(reply), service, wire, session, agent, came: came.clone(), decoded: None }
    }

    /// Releases the request; `None`: unchanged. Only the first call counts. While memory is outdated, it may lack edits.
    pub fn leaves(&mut self, outgoing: Option<OutgoingRequest>) {
        match self.service.parts.held.is_outdated() {
            true => drop(self.withhold(Withheld::Store)),
            false => self.release(outgoing),
        }
    }

    fn release(&mut self, outgoing: Option<OutgoingRequest>) {
        if let Some(reply) = self.reply.take() {
            let source = self.decoded.as_ref().unwrap_or(&self.came).clone();
            reply(Ok(Composition { outgoing, source, wire: self.wire }));
        }
    }

    /// True if it is withheld.
    pub fn failed(mut self, problem: &Problem) -> bool {
        self.give_up(match problem {
            Problem::LostEdits => return self.withhold(Withheld::LostEdits),
            // It contains nothing of any conversation.
            Problem::Unreadable(Unreadable::NoMessages(_)) if !self.has_history() => {
                self.release(None);
                return false;
            }
            Problem::Store(_) | Problem::History(_) => Withheld::Store,
            Problem::Unreadable(error) => Withheld::Unreadable(Flaw::of_body(error)),
            Problem::Encoding(error) => Withheld::Unreadable(Flaw::of_encoding(error)),
        })
    }

    /// Whether the body has a history, in whatever format.
    fn has_history(&self) -> bool {
        ctx_wire::of_body(&concat(self.decoded.as_ref().unwrap_or(&self.came))).is_some()
    }

    fn give_up(&mut self, why: Withheld) -> bool {
        if self.reply.is_none() {
            return false;
        }
        let may_be_edited = match (why, &self.session) {
            // An unknown session has no edits of its own, and no sign of being a fork.
            (Withheld::Unreadable(_), Some(session)) => {
                !self.is_empty() && self.service.parts.held.is_edited_session(session, self.agent.as_deref())
            }
            _ => self.may_be_edited(),
        };
        if !may_be_edited {
            self.release(None);
            return false;
        }
        self.withhold(why)
    }

    fn withhold(&mut self, why: Withheld) -> bool {
        let reply = self.reply.take();
        let is_withheld = reply.is_some();
        reply.into_iter().for_each(|reply| reply(Err(why)));
        is_withheld
    }

    /// An empty body contains nothing of any conversation.
    fn is_empty(&self) -> bool {
        self.came.iter().all(|piece| piece.as_ref().is_empty())
    }

    /// Whether its conversation is edited, according to memory.
    fn may_be_edited(&self) -> bool {
        let agent = self.agent.as_deref();
        if self.is_empty() {
            return false;
        }
        if self.session.is_some() {
            return self.service.parts.held.may_be_edited(self.session.as_deref(), agent);
        }
        match self.decoded.as_ref().and_then(|decoded| Body::read(decoded, self.wire).ok()) {
            Some(body) => self.service.parts.may_continue_edited(&body, agent),
            None => self.service.parts.held.may_be_edited(None, agent),
        }
    }
}

/// Replies if our code panicked before it did.
impl Drop for HeldRequest {
    fn drop(&mut self) {
        self.give_up(Withheld::Defect);
    }
}
