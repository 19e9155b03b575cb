//! An unfinished exchange.

use crate::streams::Telling;
use ctx_engine::Credentials;
use ctx_engine::request::Ticket;
use ctx_wire::answer::{Ending, Tap};
use std::time::Duration;

/// An unfinished exchange. The halves come in any order: a provider may answer before it has read the request.
#[derive(Default)]
pub(super) struct OpenExchange {
    pub asked: RequestState,
    pub tap: Option<Box<dyn Tap>>,
    pub telling: Telling,
    pub first_byte: Option<Duration>,
    pub ended: Option<(Option<Ending>, Duration)>,
    /// A piece of the answer is missing.
    pub lost: bool,
    pub credentials: Credentials,
}

#[derive(Default)]
pub(super) enum RequestState {
    #[default]
    Waiting,
    Nothing,
    Turn(Ticket),
}
