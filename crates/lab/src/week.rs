//! Savings and harm of the automatic editor in the newest conversations of a home, replayed.

use crate::policies::Nothing;
use crate::recording::newest;
use crate::report::{Summary, groups};
use crate::run::run_on;
use ctx_api::status::WeekView;
use ctx_core::policy::{Auto, Policy};
use ctx_models::Models;
use ctx_store::Reader;
use std::sync::Arc;

/// Replays the newest conversations, at most so many. `None`: none of them can be replayed.
pub fn week(
    store: &dyn Reader,
    most: usize,
    models: &Models,
    cores: usize,
    at: u64,
) -> Result<Option<WeekView>, String> {
    let (recordings, _) = newest(store, most)?;
    let policies: [Arc<dyn Policy>; 2] = [Arc::new(Nothing), Arc::new(Auto::default())];
    let outcome = run_on(cores, &recordings, &policies, models, &|_| {});
    let names = policies.each_ref().map(|policy| (policy.name().to_owned(), policy.about().to_owned()));
    let all = groups(&outcome, &names).into_iter().next();
    Ok(all.and_then(|all| match all.policies.as_slice() {
        [none, auto] => Some(view(none, auto, at)),
        _ => None,
    }))
}

fn view(none: &Summary, auto: &Summary, at: u64) -> WeekView {
    WeekView {
        at,
        conversations: none.conversations,
        steps: none.steps,
        cost: none.cost,
        saved: none.cost - auto.cost,
        saved_range: auto.change_range.map(|[least, most]| [-most * none.cost, -least * none.cost]),
        harmed_steps: auto.harmed_steps,
    }
}
