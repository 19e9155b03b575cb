//! The changes that the provider's rules make to a view, so that people see what is really sent.

use super::sent::AtHand;
use crate::compose::{Ground, Stops};
use crate::conversation::Conversation;
use crate::point::{at_point, is_source};
use crate::{Engine, Refusal};
use ctx_api::edit::RepairView;
use ctx_api::requests::CompositionView;
use ctx_core::edit::effect::{Effect, EffectId};
use ctx_core::edit::fold::View;
use ctx_core::edit::weigh::LeftOut;
use ctx_wire::compose::{Repair, Segment};
use ctx_wire::rules;

/// The result of composing the newest request with some effects.
#[derive(Default)]
pub struct RepairReport {
    pub repairs: Vec<RepairView>,
    pub thinking_dropped: usize,
    /// The sizes of the client's request and of the composed one, in bytes.
    pub size: Option<(usize, usize)>,
    /// The cache state of the composed request, if it was composed.
    pub stops: Option<Stops>,
    left_out: LeftOut,
}

/// The repair as the API shows it.
pub fn repair_view(repair: &Repair) -> RepairView {
    let name = rules::find(repair.rule).map_or("", |rule| rule.name);
    RepairView { rule: repair.rule.to_owned(), name: name.to_owned(), what: repair.what.clone() }
}

/// Describes a repair and its rule.
pub fn sentence(repair: &RepairView) -> String {
    format!("{}: rule {}", repair.what, rules::named(&repair.rule))
}

impl Engine {
    /// Composes the newest request. No repairs if it leaves unchanged or is not completely stored.
    pub fn repaired(&self, conversation: &Conversation, effects: &[(EffectId, &Effect)]) -> RepairReport {
        if !conversation.reasoning.strayed && !effects.iter().any(|(_, effect)| effect.is_sent()) {
            return RepairReport::default();
        }
        let repaired = self.with_newest(conversation, |at_hand| {
            let (composed, ground, view) = conversation.compose(at_hand, effects.to_vec())?.laid();
            let length = |segment: &Segment| match segment {
                Segment::Source(range) => range.len(),
                Segment::Made(bytes) => bytes.len(),
            };
            Some(RepairReport {
                size: Some((at_hand.body.bytes().len(), composed.segments.iter().map(length).sum())),
                repairs: composed.repairs.iter().map(repair_view).collect(),
                thinking_dropped: composed.thinking_dropped,
                left_out: composed.kept.left_out(&view, &ground.messages),
                stops: Some(conversation.stops(at_hand, Some(&composed))),
            })
        });
        repaired.ok().flatten().unwrap_or_default()
    }

    /// The repairs that the client's own newest request needs: it breaks rules without any edit.
    pub fn own_repairs(&self, conversation: &Conversation) -> Vec<RepairView> {
        let repairs = self.with_newest(conversation, |at_hand| {
            conversation.compose_own(at_hand).repairs.iter().map(repair_view).collect()
        });
        repairs.unwrap_or_default()
    }

    /// Reports how composing changes the newest request; `None` if it is not completely stored.
    pub fn explain_effects(
        &self,
        conversation: &Conversation,
        effects: Vec<(EffectId, &Effect)>,
    ) -> Result<Option<CompositionView>, Refusal> {
        let compose = |at_hand: &AtHand<'_>| conversation.compose(at_hand, effects).map(|written| written.composed);
        let Ok(composed) = self.with_newest(conversation, compose) else { return Ok(None) };
        Ok(Some(match composed {
            None => CompositionView { untouched: true, ..CompositionView::default() },
            Some(composed) => CompositionView {
                repairs: composed.repairs.iter().map(repair_view).collect(),
                thinking_dropped: composed.thinking_dropped,
                marks: composed.marks.len(),
                ..CompositionView::default()
            },
        }))
    }

    /// Lays effects over a conversation, with the provider's rules applied.
    pub fn lay<'e>(
        &self,
        conversation: &Conversation,
        ground: &Ground<'_>,
        effects: Vec<(EffectId, &'e Effect)>,
    ) -> (View<'e>, RepairReport) {
        let mut repaired = self.repaired(conversation, &effects);
        let mut view = ground.lay(effects);
        view.repair(std::mem::take(&mut repaired.left_out));
        (view, repaired)
    }

    /// The same at a point of the history. `source` is shown as the client sends it.
    pub fn lay_at<'e>(
        &self,
        conversation: &'e Conversation,
        ground: &Ground<'_>,
        point: &str,
    ) -> Result<(View<'e>, RepairReport), Refusal> {
        let effects = at_point(conversation, point)?;
        Ok(match is_source(point) {
            true => (ground.lay(effects), RepairReport::default()),
            false => self.lay(conversation, ground, effects),
        })
    }
}
