//! Parses a plan: an object with operations, a list of operations, or one operation per line.

use ctx_api::edit::When;
use ctx_api::plan::PlannedOperation;
use ctx_core::ErrorCode;
use ctx_core::edit::misread;
use serde::Deserialize;
use serde_json::Value;

use crate::failure::Failure;

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Plan {
    pub note: Option<String>,
    pub expect: Option<String>,
    /// The condition of a deferred edit; it comes from a flag, not from the file.
    pub when: When,
    pub operations: Vec<PlannedOperation>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Whole {
    #[serde(default)]
    note: Option<String>,
    #[serde(default)]
    expect: Option<String>,
    operations: Vec<Value>,
}

const EXAMPLE: &str = r#"an example of a line: {"op":"delete","ids":["t3"]}; nothing was changed"#;
const WHOLE: &str = r#"an example of a plan: \
    {"note":"…","expect":"HEAD","operations":[{"op":"delete","ids":["t3"],"reason":"…"}]}; nothing was changed"#;

impl Plan {
    /// The request for the daemon.
    pub fn request(&self, only: &[usize], apply: bool, author: &str) -> ctx_api::plan::Plan {
        ctx_api::plan::Plan {
            operations: self.operations.clone(),
            note: self.note.clone(),
            expect: self.expect.clone(),
            only: only.to_vec(),
            author: author.to_owned(),
            apply,
            when: self.when,
        }
    }
}

pub fn read(text: &str) -> Result<Plan, Failure> {
    let is_operation = |line: &str| !line.trim().is_empty() && !line.trim_start().starts_with('#');
    let lines = (1..).zip(text.lines()).filter(|(_, line)| is_operation(line));
    let first = lines.clone().next().map(|(_, line)| line).unwrap_or_default();
    // One operation per line, unless the first line is incomplete JSON or more than one operation.
    let is_line =
        serde_json::from_str::<Value>(first).is_ok_and(|value| value.is_object() && value.get("operations").is_none());
    let is_whole = first.trim_start().starts_with(['{', '[']) && !is_line;
    let plan = match is_whole && (serde_json::from_str::<Value>(text).is_ok() || is_begun(first)) {
        true => whole(text)?,
        false => {
            let operations = lines.map(|(number, line)| operation(number, line)).collect::<Result<_, _>>()?;
            Plan { operations, ..Plan::default() }
        }
    };
    if plan.operations.is_empty() {
        return Err(Failure::new(ErrorCode::EmptyBatch, "it contains no operations").hint(EXAMPLE));
    }
    Ok(plan)
}

/// Whether a line is the beginning of JSON that continues on the next one.
fn is_begun(line: &str) -> bool {
    match serde_json::from_str::<Value>(line) {
        Ok(value) => value.is_array() || value.get("operations").is_some(),
        Err(error) => error.is_eof(),
    }
}

/// Parses a plan that is one JSON value.
fn whole(text: &str) -> Result<Plan, Failure> {
    let told = |error: &serde_json::Error| {
        let said = misread::in_words(&said(error));
        let place = match error.line() {
            0 => String::new(),
            line => format!("line {line}, column {}: ", error.column()),
        };
        Failure::new(ErrorCode::InvalidJson, format!("{place}{said}")).hint(WHOLE)
    };
    let value: Value = serde_json::from_str(text).map_err(|error| told(&error))?;
    let Whole { note, expect, operations } = match value {
        Value::Array(operations) => Whole { note: None, expect: None, operations },
        one @ Value::Object(_) if one.get("op").is_some() => Whole { note: None, expect: None, operations: vec![one] },
        value => serde_json::from_value(value).map_err(|error| told(&error))?,
    };
    let numbered = (1..).zip(operations).map(|(number, value): (usize, Value)| {
        PlannedOperation::read(value).map_err(|error| {
            Failure::new(
                ErrorCode::InvalidJson,
                format!("operation {number}: {}", misread::of_operation(&said(&error))),
            )
            .hint(WHOLE)
        })
    });
    Ok(Plan { note, expect, when: When::Now, operations: numbered.collect::<Result<_, _>>()? })
}

fn operation(number: usize, line: &str) -> Result<PlannedOperation, Failure> {
    let read = serde_json::from_str::<Value>(line).and_then(PlannedOperation::read);
    read.map_err(|error| {
        let said = said(&error);
        let column = column(line, &said).unwrap_or(if error.is_data() { 1 } else { error.column() });
        Failure::new(
            ErrorCode::InvalidJson,
            format!("line {number}, column {column}: {}", misread::of_operation(&said)),
        )
        .hint(EXAMPLE)
    })
}

fn said(error: &serde_json::Error) -> String {
    let said = error.to_string();
    said.split(" at line ").next().unwrap_or_default().to_owned()
}

/// The position of a parse error. The parser reports it only for invalid JSON.
fn column(line: &str, said: &str) -> Option<usize> {
    let (what, _) = said.split_once(", expected")?;
    let name = ['`', '"'].into_iter().find_map(|quote| what.split(quote).nth(1))?;
    let at = line.find(&format!("\"{name}\"")).or_else(|| line.find(name))?;
    Some(line.get(..at)?.chars().count() + 1)
}

/// A selection of operations: `1,3..5`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Only(pub Vec<usize>);

impl std::str::FromStr for Only {
    type Err = String;

    fn from_str(text: &str) -> Result<Only, String> {
        const MOST: usize = 10_000;
        let number = |text: &str| match text.trim().parse::<usize>() {
            Ok(number @ 1..=MOST) => Ok(number),
            _ => Err(format!("`{}` is not an operation number; operations are counted from 1", text.trim())),
        };
        let mut numbers = Vec::new();
        for part in text.split(',').filter(|part| !part.trim().is_empty()) {
            match part.split_once("..") {
                Some((from, to)) => numbers.extend(number(from)?..=number(to)?),
                None => numbers.push(number(part)?),
            }
        }
        numbers.sort_unstable();
        numbers.dedup();
        if numbers.is_empty() { Err("it names no operation".to_owned()) } else { Ok(Only(numbers)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> String {
        read(text).expect_err("refused").message
    }

    fn names(text: &str) -> Vec<&'static str> {
        let plan = read(text).unwrap_or_else(|failure| panic!("{text}: {failure}"));
        plan.operations.iter().map(|planned| planned.operation.name()).collect()
    }

    #[test]
    fn blank_lines_and_comments_are_skipped() {
        let text = "# tidy\n\n{\"op\":\"pin\",\"ids\":[\"t1\"]}\n  # more\r\n{\"op\":\"unpin\",\"ids\":[\"t2\"]}\r\n";
        assert_eq!(names(text), ["pin", "unpin"]);
    }

    #[test]
    fn a_plan_is_an_object_a_list_or_lines() {
        let text = r#"{"note": "tidy", "expect": "3f9a", "operations": [
            {"op": "delete", "ids": ["t3"], "reason": "a dead end"}, {"op": "pin", "ids": ["t1"]}]}"#;
        let plan = read(text).expect("a plan");
        assert_eq!((plan.note.as_deref(), plan.expect.as_deref()), (Some("tidy"), Some("3f9a")));
        assert_eq!(plan.operations[0].reason.as_deref(), Some("a dead end"));
        let request = serde_json::to_value(plan.request(&[], true, "cli")).expect("JSON");
        assert_eq!(request["operations"][0]["reason"], "a dead end");
        assert!(request["operations"][1].get("reason").is_none());
        assert_eq!(names(text), ["delete", "pin"]);
        assert_eq!(names(r#"[{"op":"pin","ids":["t1"]},{"op":"unpin","ids":["t2"]}]"#), ["pin", "unpin"]);
        assert_eq!(names("[\n{\"op\":\"pin\",\"ids\":[\"t1\"]}\n]"), ["pin"]);
        assert_eq!(names("{\n\"op\":\"pin\",\n\"ids\":[\"t1\"]}"), ["pin"], "one operation on several lines");
        assert_eq!(
            read("{\"op\":\"pin\",\"ids\":[\"t1\"],\"reason\":\"mine\"}").expect("a plan").operations[0]
                .reason
                .as_deref(),
            Some("mine")
        );
    }

    #[test]
    fn a_bad_line_is_told_with_its_place_and_what_was_expected() {
        let told = refused("{\"op\":\"pin\",\"ids\":[\"t1\"]}\n{\"op\":\"delte\",\"ids\":[\"t1\"]}");
        assert!(told.starts_with("line 2, column 7: unknown value `delte`; expected one of `delete`"), "{told}");
        assert_eq!(refused("{\"op\":\"pin\",\"ids\":[\"t1\"}"), "line 1, column 24: expected `,` or `]`");
        let told = refused("# é\n{\"op\":\"edit\",\"id\":\"é\",\"txt\":\"a\"}");
        assert!(told.starts_with("line 2, column 23: unknown field `txt`; the fields are `id`, `text`"), "{told}");
        let told = refused("{\"op\":\"pin\",\"ids\":\"t1\"}");
        assert_eq!(told, "line 1, column 19: expected a list, not the text \"t1\"");
        assert_eq!(refused("{\"op\":\"pin\"}"), "line 1, column 1: the field `ids` is missing");
        assert_eq!(refused("{\"ids\":[\"t1\"]}"), "line 1, column 1: the field `op` is missing");
        assert_eq!(refused("delete t3"), "line 1, column 1: this is not JSON");
    }

    #[test]
    fn a_bad_plan_is_told_with_its_place() {
        let told = refused("{\"note\": \"x\",\n \"operations\": [{\"op\": \"pin\" \"ids\": []}]}");
        assert_eq!(told, "line 2, column 30: expected `,` or `}`");
        let told = refused(r#"{"operations": [{"op":"pin","ids":["t1"]}, {"op":"delete","id":"t3"}]}"#);
        assert!(told.starts_with("operation 2: unknown field `id`; the fields are `ids`"), "{told}");
        let told = refused(r#"{"operations": [], "why": "x"}"#);
        assert!(told.starts_with("unknown field `why`; the fields are `note`, `expect`"), "{told}");
        assert!(
            refused(r#"{"operations": [{"op":"pin","ids":["t1"],"reason":7}]}"#)
                .starts_with("operation 1: expected a text, not the number 7")
        );
        assert!(refused("{\"operations\": [").contains("the JSON is incomplete"));
        assert_eq!(refused(r#"{"operations": []}"#), "it contains no operations");
    }

    #[test]
    fn a_batch_without_operations_is_refused() {
        assert_eq!(refused("# nothing\n\n"), "it contains no operations");
        assert_eq!(refused(""), "it contains no operations");
    }

    #[test]
    fn some_operations_are_named_by_number_and_range() {
        let only = |text: &str| text.parse::<Only>().map(|only| only.0);
        assert_eq!(only("3,1"), Ok(vec![1, 3]));
        assert_eq!(only("1, 3..5,4"), Ok(vec![1, 3, 4, 5]));
        for bad in ["", ",", "0", "a", "1..", "1..99999999999", "-1", "5..3"] {
            assert!(only(bad).is_err(), "{bad}");
        }
    }
}
