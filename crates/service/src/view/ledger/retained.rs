//! The sums of a conversation whose content was removed.

use super::row::Sum;
use ctx_core::day::Day;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The kind of the records.
pub const FIGURES: &str = "figures";
/// The beginning of the ids of conversations that consist of such sums, one for each month.
const PREFIX: &str = "figures-";

/// Whether a conversation of the store consists of figures.
pub fn is_figures(id: &str) -> bool {
    id.starts_with(PREFIX)
}

/// The conversation for the figures of those that were last active at this time. The ids are in the order of time.
pub fn figures_id(last: u64) -> String {
    let day = Day::of(last).to_string();
    format!("{PREFIX}{}", day.get(..7).unwrap_or(&day))
}

/// The body of a record.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct RetainedFigures {
    pub conversation: String,
    #[serde(default)]
    pub folder: Option<String>,
    days: Vec<DayOfModel>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct DayOfModel {
    /// Its start, in milliseconds since 1970.
    day: u64,
    #[serde(default)]
    model: Option<String>,
    sum: Sum,
}

impl RetainedFigures {
    pub fn new(conversation: &str, folder: Option<String>, days: BTreeMap<(Day, Option<String>), Sum>) -> Self {
        let day = |((day, model), sum): ((Day, Option<String>), Sum)| DayOfModel { day: day.start(), model, sum };
        Self { conversation: conversation.to_owned(), folder, days: days.into_iter().map(day).collect() }
    }

    pub fn days(&self) -> impl Iterator<Item = ((Day, Option<String>), &Sum)> {
        self.days.iter().map(|one| ((Day::of(one.day), one.model.clone()), &one.sum))
    }
}
