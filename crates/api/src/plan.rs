//! Plans: several operations with a preview and the risk of each.

use ctx_core::edit::Operation;
use serde_json::Value;

use crate::cost::Cost;
use crate::edit::{EditResult, RepairView, When};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

/// A list of operations to preview or apply.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    pub operations: Vec<PlannedOperation>,
    #[serde(default)]
    pub note: Option<String>,
    /// The expected head.
    #[serde(default)]
    pub expect: Option<String>,
    /// Only these operations, counted from 1; all if empty.
    #[serde(default)]
    pub only: Vec<usize>,
    #[serde(default = "api")]
    pub author: String,
    /// Apply them as one commit; otherwise only preview.
    #[serde(default)]
    pub apply: bool,
    /// The condition to wait for.
    #[serde(default)]
    pub when: When,
}

/// An operation in its usual JSON, with a `reason` beside it.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(transform = beside)]
pub struct PlannedOperation {
    #[serde(flatten)]
    pub operation: Operation,
    /// The reason, stored with the commit.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(default)]
    pub reason: Option<String>,
}

/// The effect of a plan, or its outcome.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PlanView {
    #[serde(flatten)]
    pub applied: EditResult,
    /// The head that it was previewed against.
    pub head: Option<String>,
    #[serde(default)]
    pub note: Option<String>,
    /// The effect of each operation; empty for an applied plan.
    pub operations: Vec<PlannedView>,
    /// The highest risk of its operations; none for an applied plan.
    #[serde(default)]
    pub risk: Option<Level>,
    /// Thinking blocks that would no longer be sent.
    pub thinking_lost: usize,
    /// Cache breakpoints in the request.
    pub marks: usize,
    pub cost: Cost,
}

/// The effect of one operation, on top of the previous ones.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PlannedView {
    /// Its number in the plan, counted from 1.
    pub number: usize,
    pub operation: Operation,
    #[serde(default)]
    pub reason: Option<String>,
    pub frames: Vec<String>,
    pub tokens_before: u64,
    pub tokens_after: u64,
    pub thinking_lost: usize,
    pub repairs: Vec<RepairView>,
    pub risk: Level,
    pub risks: Vec<Risk>,
    /// Why it has no effect, if so; it is skipped.
    #[serde(default)]
    pub nothing: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    #[default]
    Low,
    Medium,
    High,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Risk {
    pub level: Level,
    pub what: String,
}

impl<'de> Deserialize<'de> for PlannedOperation {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<PlannedOperation, D::Error> {
        PlannedOperation::read(Value::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}

impl PlannedOperation {
    /// Removes the reason before parsing, because an operation refuses unknown fields.
    pub fn read(mut value: Value) -> Result<PlannedOperation, serde_json::Error> {
        let reason = value.as_object_mut().and_then(|fields| fields.remove("reason"));
        let reason: Option<String> = reason.map(serde_json::from_value).transpose()?.flatten();
        let reason = reason.filter(|reason| !reason.trim().is_empty());
        Ok(PlannedOperation { operation: serde_json::from_value(value)?, reason })
    }
}

/// Adds the reason to the schema of every operation, because they refuse unknown fields.
fn beside(schema: &mut schemars::Schema) {
    let Some(reason) = schema.get("properties").and_then(|fields| fields.get("reason")).cloned() else { return };
    let each = schema.get_mut("oneOf").and_then(Value::as_array_mut).into_iter().flatten();
    for one in each.filter_map(Value::as_object_mut) {
        one.insert("additionalProperties".to_owned(), false.into());
        if let Some(fields) = one.get_mut("properties").and_then(Value::as_object_mut) {
            fields.insert("reason".to_owned(), reason.clone());
        }
    }
}

fn api() -> String {
    "api".to_owned()
}

impl Level {
    pub fn name(self) -> &'static str {
        match self {
            Level::Low => "low",
            Level::Medium => "medium",
            Level::High => "high",
        }
    }
}

impl Risk {
    pub fn new(level: Level, what: impl Into<String>) -> Risk {
        Risk { level, what: what.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_operation_may_have_a_reason_and_nothing_else_that_it_does_not_know() {
        let read = |value: Value| serde_json::from_value::<PlannedOperation>(value);
        let planned = read(json!({"op": "delete", "ids": ["t3"], "reason": "a dead end"})).expect("read");
        assert_eq!((planned.operation.name(), planned.reason.as_deref()), ("delete", Some("a dead end")));
        assert_eq!(read(json!({"op": "delete", "ids": ["t3"], "reason": " "})).expect("read").reason, None);
        assert_eq!(read(json!({"op": "delete", "ids": ["t3"], "reason": null})).expect("read").reason, None);
        for bad in
            [json!({"op": "delete", "why": "x"}), json!({"op": "delete", "reason": 3}), json!("delete"), json!(null)]
        {
            assert!(read(bad.clone()).is_err(), "{bad}");
        }
        let again = serde_json::to_value(&planned).expect("JSON");
        assert_eq!(again["reason"], "a dead end", "it is written as it is read: {again}");
        assert_eq!(read(again).expect("read again"), planned);
        let told = read(json!({"op": "delte"})).expect_err("refused").to_string();
        assert!(told.contains("expected one of `delete`"), "{told}");
    }
}
