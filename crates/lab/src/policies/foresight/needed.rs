//! The content that must stay, and until when: later steps rely on it. Each is in the smallest block that has it.

use crate::harm::text_of;
use crate::needs::{Kind, Need, Place, value_of};
use crate::recording::Recording;
use ctx_core::Content;
use ctx_core::policy::stub::{StubForm, top_names};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Shorter inputs are not shortened.
const SHORT: usize = 300;

/// The newest turn that relies on something, by call.
pub(super) type Until = HashMap<Arc<str>, usize>;

/// The last turn that relies on the result of a call, on its names, and on the input of the call.
#[derive(Default)]
pub(super) struct LastUses {
    pub(super) results: Until,
    pub(super) names: Until,
    pub(super) inputs: Until,
}

/// The content of a block: a result, or the input of its call.
struct BlockText {
    call: Arc<str>,
    is_input: bool,
    length: usize,
    names: Vec<Box<str>>,
}

impl BlockText {
    /// Whether a name is still visible after shortening.
    fn names(&self, name: &str) -> bool {
        self.names.iter().any(|told| told.contains(name)) || (self.is_input && self.length < SHORT)
    }
}

fn said(recording: &Recording) -> HashMap<Place, BlockText> {
    let mut all = HashMap::new();
    let mut steering: HashSet<String> = HashSet::new();
    for (message, json) in recording.messages.iter().enumerate() {
        let contents = recording.wire().contents(json.get().as_bytes());
        // A call with its result in the same message is the provider's own and stays.
        let is_own = |id: &str| contents.iter().any(|content| content.answers() == Some(id));
        for (block, content) in contents.iter().enumerate() {
            let of = |call: &str, is_input, text: String| BlockText {
                call: call.into(),
                is_input,
                length: text.len(),
                names: top_names(&text, StubForm::default().names, &|_: &str| false)
                    .into_iter()
                    .map(Into::into)
                    .collect(),
            };
            if let Content::Call { id: Some(call), name, .. } = content
                && ctx_clients::role(name).is_steering()
            {
                steering.insert(call.clone());
            }
            let said = match (content, content.answers()) {
                // Results that steer the agent stay.
                _ if content.calls().or(content.answers()).is_some_and(|call| steering.contains(call)) => continue,
                (Content::Call { id: Some(call), input, .. }, _) if !is_own(call) => {
                    of(call, true, value_of(input).to_string())
                }
                (_, Some(call)) => of(call, false, text_of(content)),
                _ => continue,
            };
            all.insert(Place { message, block }, said);
        }
    }
    all
}

impl LastUses {
    pub(super) fn of(recording: &Recording, needs: &[Need]) -> LastUses {
        let said = said(recording);
        let mut known = LastUses::default();
        // From the end: content kept for a later step is also there for earlier ones.
        for need in needs.iter().rev() {
            // Content with another copy stays anyway.
            let sources: Option<Vec<&BlockText>> = need.sources.iter().map(|place| said.get(place)).collect();
            if let Some(sources) = sources {
                known.keep(need, &sources);
            }
        }
        known
    }

    fn keep(&mut self, need: &Need, sources: &[&BlockText]) {
        let is_kept = |until: &Until, said: &BlockText| until.get(&said.call).is_some_and(|turn| *turn >= need.turn);
        let whole = |said: &&&BlockText| is_kept(if said.is_input { &self.inputs } else { &self.results }, said);
        if sources.iter().any(|said| whole(&said)) {
            return;
        }
        if need.kind == Kind::Name {
            let named: Vec<&&BlockText> = sources.iter().filter(|said| said.names(&need.text)).collect();
            if named.iter().any(|said| said.is_input || is_kept(&self.names, said)) {
                return;
            }
            if let Some(said) = named.last() {
                self.names.insert(said.call.clone(), need.turn);
                return;
            }
        }
        if let Some(said) = sources.iter().min_by_key(|said| said.length) {
            let until = if said.is_input { &mut self.inputs } else { &mut self.results };
            until.insert(said.call.clone(), need.turn);
        }
    }
}
