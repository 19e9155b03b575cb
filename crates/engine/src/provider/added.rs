//! Adds the edits asked of the provider to a request, composed or not.

use crate::compose::{Otherwise, OutgoingRequest};
use crate::conversation::provider::Asks;
use crate::conversation::sent_parts::Part;
use ctx_wire::provider_edits::{Kind, Splice};
use std::cell::RefCell;

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Additions {
    /// Splices of a group are applied together or not at all.
    groups: Vec<(Vec<Splice>, Vec<Kind>)>,
    /// Removed in any case.
    taken_out: Vec<Splice>,
    /// Removed together with the edits if the provider rejects them.
    goes_too: Vec<Splice>,
    model: Box<str>,
    /// The size of the client's request in bytes.
    length: usize,
    pub asks: Asks,
    left_with: RefCell<Option<Vec<Part>>>,
}

impl Additions {
    pub fn is_for(&mut self, model: &str, length: usize) {
        (self.model, self.length) = (model.into(), length);
    }

    /// Asks for edits of these kinds. Without splices only their betas are named.
    pub fn put(&mut self, splices: Vec<Splice>, kinds: Vec<Kind>) {
        self.groups.push((splices, kinds));
    }

    /// Removes content that the client has only from the proxy.
    pub fn take_out(&mut self, splice: Option<Splice>) {
        self.taken_out.extend(splice);
    }

    /// Marks content that the client has only from the proxy: the provider rejects it without our edits.
    pub fn goes_with_edits(&mut self, splice: Option<Splice>) {
        self.goes_too.extend(splice);
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

    /// The request with the additional edits; unchanged if there are none.
    pub fn lay(&self, outgoing: Option<OutgoingRequest>) -> Option<OutgoingRequest> {
        let outgoing = self.laid_over(outgoing);
        *self.left_with.borrow_mut() = outgoing.as_ref().map(|outgoing| outgoing.parts.clone());
        outgoing
    }

    /// The parts of the last request; `None` if it left unchanged.
    pub fn left_with(&self) -> Option<Vec<Part>> {
        self.left_with.take()
    }

    fn laid_over(&self, outgoing: Option<OutgoingRequest>) -> Option<OutgoingRequest> {
        if self.groups.is_empty() && self.taken_out.is_empty() {
            return outgoing;
        }
        let whole = |outgoing: &Option<OutgoingRequest>| {
            outgoing.clone().unwrap_or_else(|| OutgoingRequest::whole(self.length))
        };
        let cut = |mut outgoing: Option<OutgoingRequest>, splices: &[Splice]| {
            for splice in splices {
                let mut without = whole(&outgoing);
                if without.splice(splice) {
                    outgoing = Some(without);
                }
            }
            outgoing
        };
        let outgoing = cut(outgoing, &self.taken_out);
        let mut with = whole(&outgoing);
        let mut laid = Vec::new();
        for (splices, kinds) in &self.groups {
            let before = with.parts.clone();
            // From the last one, so that splices at the same place keep their order.
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
        let outgoing = cut(outgoing, &self.goes_too);
        with.otherwise = Some(Box::new(Otherwise { kinds: laid, model: self.model.clone(), outgoing }));
        Some(with)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn splice(at: std::ops::Range<usize>, bytes: &str) -> Splice {
        Splice { at, bytes: bytes.as_bytes().to_vec() }
    }

    fn text(outgoing: Option<&OutgoingRequest>) -> String {
        outgoing
            .map_or_else(String::new, |outgoing| String::from_utf8_lossy(&outgoing.bytes(b"0123456789")).into_owned())
    }

    #[test]
    fn it_is_laid_over_a_request_however_that_is_composed() {
        let mut added = Additions::default();
        added.is_for("m", 10);
        assert_eq!(added.lay(None), None);
        added.put(vec![splice(4..4, "a"), splice(4..4, "b"), splice(7..8, "c")], vec![Kind::ToolUses]);
        let laid = added.lay(None).expect("something");
        assert_eq!(
            (text(Some(&laid)).as_str(), laid.betas.as_slice()),
            ("0123ab456c89", [Kind::ToolUses.beta()].as_slice())
        );
        assert_eq!(laid.otherwise.expect("a way out").outgoing, None);
        // The parts are inserted together or not at all; here a place is gone.
        let parts = vec![Part::Source(0..6), Part::Made(b"x".to_vec()), Part::Source(8..10)];
        let composed = OutgoingRequest { parts, ..OutgoingRequest::whole(0) };
        assert_eq!(added.lay(Some(composed.clone())), Some(composed.clone()));
        added.put(vec![splice(2..2, "s")], vec![Kind::Compact]);
        let laid = added.lay(Some(composed.clone())).expect("something");
        assert_eq!(
            (text(Some(&laid)).as_str(), laid.betas.as_slice()),
            ("01s2345x89", [Kind::Compact.beta()].as_slice())
        );
        assert_eq!(laid.otherwise.expect("a way out").outgoing, Some(composed));
    }

    #[test]
    fn what_the_client_has_only_from_us_goes_where_it_is_not_asked_for() {
        let mut added = Additions::default();
        added.is_for("m", 10);
        added.take_out(Some(splice(1..3, "")));
        let laid = added.lay(None).expect("something");
        assert_eq!((text(Some(&laid)).as_str(), laid.otherwise), ("03456789", None));
        let mut added = Additions::default();
        added.is_for("m", 10);
        added.put(Vec::new(), vec![Kind::Compact]);
        added.goes_with_edits(Some(splice(1..3, "")));
        let laid = added.lay(None).expect("something");
        assert_eq!((text(Some(&laid)).as_str(), laid.betas.len()), ("0123456789", 1));
        assert_eq!(text(laid.otherwise.expect("a way out").outgoing.as_ref()), "03456789");
    }
}
