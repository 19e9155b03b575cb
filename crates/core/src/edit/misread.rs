//! Explains errors in hand-written JSON, in other words than the parser's.

/// Rewords the parser's message. Unknown messages stay as they are.
pub fn in_words(said: &str) -> String {
    let said = said.split(" at line ").next().unwrap_or(said);
    if let Some((what, expected)) = said.strip_prefix("unknown variant ").and_then(|rest| rest.split_once(", ")) {
        return format!("unknown value {what}; {expected}");
    }
    if let Some((name, expected)) = said.strip_prefix("unknown field ").and_then(|rest| rest.split_once(", ")) {
        let fields = expected.trim_start_matches("expected one of ").trim_start_matches("expected ");
        return format!("unknown field {name}; the fields are {}", fields.replace(" or ", ", "));
    }
    if let Some((given, expected)) = said.strip_prefix("invalid type: ").and_then(|rest| rest.split_once(", expected "))
    {
        return format!("expected {}, not {}", wanted(expected), given_as(given));
    }
    if let Some(name) = said.strip_prefix("missing field ") {
        return format!("the field {name} is missing");
    }
    match said {
        _ if said.starts_with("EOF while parsing") => "the JSON is incomplete".to_owned(),
        "expected value" => "this is not JSON".to_owned(),
        "trailing characters" => "there is text after the end of the JSON".to_owned(),
        _ => said.to_owned(),
    }
}

/// The same for an operation, which takes a `reason` beside its own fields.
pub fn of_operation(said: &str) -> String {
    let words = in_words(said);
    match words.starts_with("unknown field") {
        true => format!("{words}, `reason`"),
        false => words,
    }
}

fn wanted(expected: &str) -> &str {
    match expected {
        "a sequence" => "a list",
        "a map" => "an object",
        "a string" | "string or map" => "a text",
        "a boolean" => "true or false",
        "u64" | "u32" | "usize" => "a whole number",
        _ if expected.contains("enum Operation") => "an operation such as {\"op\":\"delete\",\"ids\":[\"t3\"]}",
        _ if expected.contains("struct ") || expected.contains("enum ") => "an object",
        other => other,
    }
}

fn given_as(given: &str) -> String {
    match given {
        "map" => "an object".to_owned(),
        "sequence" => "a list".to_owned(),
        "null" => "null".to_owned(),
        _ => match given.split_once(' ') {
            Some(("string", text)) => format!("the text {text}"),
            Some(("integer" | "floating", number)) => {
                format!("the number {}", number.trim_start_matches("point ").trim_matches('`'))
            }
            Some(("boolean", value)) => value.trim_matches('`').to_owned(),
            _ => given.to_owned(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edit::Operation;

    fn refused(json: &str) -> String {
        of_operation(&serde_json::from_str::<Operation>(json).expect_err(json).to_string())
    }

    #[test]
    fn what_is_wrong_is_said_without_the_words_of_the_library() {
        assert!(refused(r#"{"op":"delte"}"#).starts_with("unknown value `delte`; expected one of `delete`, `edit`"));
        assert_eq!(
            refused(r#"{"op":"delete","reson":"x"}"#),
            "unknown field `reson`; the fields are `ids`, `select`, `force`, `reason`"
        );
        assert_eq!(refused("\"x\""), r#"expected an operation such as {"op":"delete","ids":["t3"]}, not the text "x""#);
        assert_eq!(refused(r#"{"op":"pin","ids":"t1"}"#), "expected a list, not the text \"t1\"");
        assert_eq!(refused(r#"{"op":"pin","ids":7}"#), "expected a list, not the number 7");
        assert_eq!(refused(r#"{"op":"pin"}"#), "the field `ids` is missing");
        assert_eq!(refused("{\"op\":"), "the JSON is incomplete");
        assert_eq!(refused("delete t3"), "this is not JSON");
    }
}
