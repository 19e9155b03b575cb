//! Which steps relied on something that a policy had taken away.

use crate::needs::{Kind, Need, Place};
use crate::recording::Recording;
use crate::shorten::text_of;
use serde_json::Value;
use std::collections::HashMap;

/// A result of a recording.
pub struct Recorded {
    place: Place,
    call: String,
    text: String,
}

/// All results of a recording, in order.
pub fn results(recording: &Recording) -> Vec<Recorded> {
    let mut results = Vec::new();
    for (at, message) in recording.messages.iter().enumerate() {
        let Ok(message) = serde_json::from_str::<Value>(message.get()) else { continue };
        for (block, json) in message["content"].as_array().into_iter().flatten().enumerate() {
            if let Some(call) = json["tool_use_id"].as_str() {
                let text = text_of(&json["content"]);
                results.push(Recorded { place: Place { message: at, block }, call: call.to_owned(), text });
            }
        }
    }
    results
}

/// What of a recording is not to be seen in its newest request as it was recorded, and what stands there instead.
#[derive(Default)]
pub struct Sight {
    hidden: HashMap<Place, Option<String>>,
}

impl Sight {
    /// Looks at a request that was composed, with the first `count` messages of the recording.
    pub fn look(&mut self, sent: &[u8], results: &[Recorded], count: usize) {
        let Ok(body) = serde_json::from_slice::<Value>(sent) else { return };
        let messages = body["messages"].as_array().into_iter().flatten();
        let blocks = messages.flat_map(|message| message["content"].as_array()).flatten();
        let said: HashMap<&str, String> =
            blocks.filter_map(|block| Some((block["tool_use_id"].as_str()?, text_of(&block["content"])))).collect();
        self.hidden.clear();
        for result in results.iter().filter(|result| result.place.message < count) {
            match said.get(&*result.call) {
                Some(text) if *text == result.text => {}
                other => drop(self.hidden.insert(result.place, other.cloned())),
            }
        }
    }

    /// Whether what an answer relied on is nowhere to be seen. To read a file again is no loss as long as its result
    /// stands.
    pub fn misses(&self, need: &Need) -> bool {
        let is_lost = |place: &Place| match self.hidden.get(place) {
            None => false,
            Some(None) => true,
            Some(Some(text)) => need.kind == Kind::Reread || !text.contains(&need.text),
        };
        need.sources.iter().all(is_lost)
    }
}
