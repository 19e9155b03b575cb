//! One request through the recorder, and how it leaves.

use super::{Headers, LONG, hints};
use ctx_service::Recorder;
use ctx_service::recorder::Withheld;
use std::sync::mpsc::channel;

/// How a request left.
#[derive(Debug, PartialEq, Eq)]
pub enum Left {
    /// It was not held.
    Streamed,
    AsItCame,
    Composed(String),
    Withheld(Withheld),
}

impl Left {
    /// Whether it was composed and contains this text.
    pub fn says(&self, text: &str) -> bool {
        matches!(self, Left::Composed(sent) if sent.contains(text))
    }
}

pub fn send(recorder: &Recorder, headers: &Headers, body: &[u8]) -> Left {
    let (mut request, mut response) =
        recorder.exchange((&ctx_wire::anthropic::Anthropic, ctx_wire::Call::Generate), hints(headers), None);
    request.chunk(body);
    let left = if request.is_held() {
        let (tell, told) = channel();
        request.compose(Box::new(move |reply| tell.send(reply).expect("a listener")));
        match told.recv_timeout(LONG).expect("an answer") {
            Ok(composition) => match composition.outgoing {
                Some(outgoing) => Left::Composed(String::from_utf8(outgoing.bytes(body)).expect("text")),
                None => Left::AsItCame,
            },
            Err(why) => Left::Withheld(why),
        }
    } else {
        request.end(true);
        Left::Streamed
    };
    response.end(None);
    left
}
