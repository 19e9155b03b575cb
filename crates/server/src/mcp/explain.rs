//! `ctx_explain`: explains a rule or an error code.

use serde::Deserialize;
use serde_json::{Map, Value};

use super::answer::Answer;
use super::ask::{Ask, Refusal, call};

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Arguments {
    pub conv: Option<String>,
    pub name: String,
}

pub async fn explain(ask: &impl Ask, given: &Arguments) -> Result<Answer, Refusal> {
    let term = call(ask, ctx_api::call::term(&given.name)).await?;
    let text = format!("{}: {}. {}", term.name, term.meaning, term.advice);
    let fields = match serde_json::to_value(&term) {
        Ok(Value::Object(fields)) => fields,
        _ => Map::new(),
    };
    Ok(Answer { value: fields.into_iter().filter(|(_, value)| !value.is_null()).collect(), text })
}
