//! What is asked of the provider, laid over a request however that is composed.

use crate::edit::{Otherwise, Outgoing};
use ctx_wire::anthropic::context_management::{Kind, Splice};

/// What is remembered of the asking until the answer comes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Asks {
    /// The tools whose results are not cleared; nothing where no clearing is asked for.
    pub excluded: Option<Vec<String>>,
    /// A summary of the provider's stands for a part of it.
    pub summarised: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Added {
    /// What belongs together comes in together or not at all.
    groups: Vec<(Vec<Splice>, Vec<Kind>)>,
    model: Box<str>,
    /// Bytes of the client's request.
    length: usize,
    pub asks: Asks,
}

impl Added {
    pub fn new(model: &str, length: usize) -> Added {
        Added { model: model.into(), length, ..Added::default() }
    }

    pub fn put(&mut self, splices: Vec<Splice>, kinds: Vec<Kind>) {
        if !splices.is_empty() {
            self.groups.push((splices, kinds));
        }
    }

    pub fn kinds(&self) -> Vec<Kind> {
        let mut kinds: Vec<Kind> = self.groups.iter().flat_map(|(_, kinds)| kinds).copied().collect();
        kinds.sort();
        kinds.dedup();
        kinds
    }

    pub fn names(&self) -> Vec<String> {
        self.kinds().into_iter().map(|kind| kind.name().to_owned()).collect()
    }

    /// The request with what is asked beside it; where nothing is, it leaves as it would have.
    pub fn lay(&self, outgoing: Option<Outgoing>) -> Option<Outgoing> {
        let mut with = outgoing.clone().unwrap_or_else(|| Outgoing::whole(self.length));
        let mut laid = Vec::new();
        for (splices, kinds) in &self.groups {
            let before = with.parts.clone();
            // From behind, so that those in one place keep their order.
            if splices.iter().rev().all(|splice| with.splice(splice)) {
                laid.extend(kinds.iter().copied());
            } else {
                with.parts = before;
            }
        }
        if laid.is_empty() {
            return outgoing;
        }
        for kind in &laid {
            with.name_beta(kind.beta());
        }
        laid.sort();
        laid.dedup();
        with.otherwise = Some(Box::new(Otherwise { kinds: laid, model: self.model.clone(), outgoing }));
        Some(with)
    }
}
