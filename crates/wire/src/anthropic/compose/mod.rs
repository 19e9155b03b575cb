//! Turns a view into the bytes to send.
//!
//! The pipeline, top to bottom: [`lay_out`] lays the view out as messages of blocks, [`stays`] keeps required content,
//! [`pairs`] and [`roles`] repair what the provider would refuse, [`thinking`] removes thinking that is no longer
//! bound, [`around`] does the same for system and tools, [`marks`] places the cache breakpoints, [`splice`] writes.
//! Untouched content is never parsed: it leaves as a range of the client's bytes. [`settled`] reuses the part that the
//! request shares with the previous one.

mod around;
mod deferred;
mod lay_out;
mod made;
mod marks;
mod memo;
mod open_loop;
mod pages;
mod pairs;
mod paused;
mod plan;
mod roles;
mod settled;
mod spell;
mod splice;
mod stays;
mod thinking;
mod waits;

pub(super) use deferred::deferrable;
pub use paused::is_paused;
pub use settled::go_on;

pub(crate) use crate::compose::{ComposedRequest, Input, Placement, Repair, Segment};

use ctx_core::edit::fold::View;
use settled::FinishedComposition;
use splice::SplicedRegion;

/// Composes a request. Total: the provider accepts the result for any view, provided that it accepts the client's
/// request. The same input gives the same bytes.
///
/// Leaves the reusable part for the next request with the same [`Input::under`] in the memo.
pub fn compose(input: &Input<'_>, view: &View<'_>) -> ComposedRequest {
    let mut plan = lay_out::lay_out(input, view);
    let mut dropped = 0;
    let mut rounds = 0;
    // A message of only thinking is removed with it, and its neighbours meet. Each round has less thinking.
    let (around, thought, border) = loop {
        rounds += 1;
        pairs::repair(&mut plan);
        roles::repair(&mut plan);
        open_loop::repair(&mut plan);
        plan.settle();
        let border = settled::border(&plan).filter(|_| rounds == 1);
        let reported = plan.repairs.len();
        let around = around::arrange(&mut plan, view);
        let thought = thinking::sift(&mut plan, &around, &[]);
        dropped += thought.dropped;
        if !thought.emptied {
            break (around, thought, border);
        }
        plan.repairs.truncate(reported);
    };
    let reported = plan.repairs.len();
    thinking::report_dropped(&mut plan, dropped, &thought.loaded);
    let marks = marks::place(&mut plan, &around, &thought.after);
    let SplicedRegion { segments, settled } =
        splice::write(&plan, &around, &marks, None, border.map(|border| border.out));
    if border.is_none() {
        settled::forget(input);
    }
    if let Some(border) = border {
        let repairs = &plan.repairs[..reported];
        let finished = FinishedComposition {
            around: &around,
            after: &thought.after,
            marks: &marks,
            segments: settled,
            repairs,
            dropped,
        };
        settled::settle(&plan, border, finished);
    }
    ComposedRequest {
        segments,
        repairs: plan.repairs,
        thinking_dropped: dropped + plan.thoughts,
        prefix: thought.after.last().copied().unwrap_or(around.digest),
        marks: marks.written,
        around: around.digest,
        after: thought.after,
        kept: around.placement(plan.settled, plan.outs, &plan.made),
    }
}

#[cfg(test)]
mod tests;
