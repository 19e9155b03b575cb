//! The registry of operations: name, arguments and help of each, shared by all interfaces. The JSON is that of
//! [`ctx_core::edit::Operation`].

/// The description of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OperationInfo {
    /// The `op` of its JSON.
    pub name: &'static str,
    /// Its fields: `|` between alternatives, `?` after optional ones.
    pub arguments: &'static str,
    /// Its effect, in one line.
    pub help: &'static str,
}

const fn operation(name: &'static str, arguments: &'static str, help: &'static str) -> OperationInfo {
    OperationInfo { name, arguments, help }
}

/// All operations, in the order of the engine.
pub const OPERATIONS: [OperationInfo; 15] = [
    operation("delete", "ids|select", "Removes content; the model no longer sees it."),
    operation("edit", "id, text|raw", "Replaces a text or messages."),
    operation("compact", "ids|select, text?: the summary", "Replaces content with a summary."),
    operation("offload", "ids|select, summary?", "Moves content to a file that the agent can read."),
    operation("restore", "ids", "Brings offloaded content back."),
    operation("move", "ids, to", "Moves frames to another place."),
    operation("add", "text, role?, to", "Inserts a new frame."),
    operation("combine", "ids", "Shows several frames as one."),
    operation("split", "id, at|at_step|each_step", "Shows one frame as several."),
    operation("drop-results", "ids|select|result", "Replaces tool results with a short note; the calls stay."),
    operation("summarize-results", "ids|select|result, text?", "Replaces tool results with summaries; the calls stay."),
    operation("retitle", "id, title", "Gives a frame another title."),
    operation("pin", "ids", "Protects content from the automatic editor."),
    operation("unpin", "ids", "Ends the protection of a pin."),
    operation(
        "import",
        "from: conversation, ids|edits, to?",
        "Copies frames of another conversation, or carries its edits over.",
    ),
];

/// The names of all operations, in the same order.
pub const NAMES: [&str; OPERATIONS.len()] = {
    let mut names = [""; OPERATIONS.len()];
    let mut at = 0;
    while at < names.len() {
        names[at] = OPERATIONS[at].name;
        at += 1;
    }
    names
};

/// The operation with this name.
pub fn find(name: &str) -> Option<&'static OperationInfo> {
    const ALL: &[OperationInfo] = &OPERATIONS;
    ALL.iter().find(|operation| operation.name == name)
}

#[cfg(test)]
mod tests {
    use ctx_core::edit::Operation;
    use serde_json::Value;

    use super::*;

    /// The variants of the engine's type: name and schema.
    fn variants() -> Vec<(String, Value)> {
        let schema = schemars::schema_for!(Operation).to_value();
        let variants = schema["oneOf"].as_array().expect("variants");
        variants
            .iter()
            .map(|variant| (variant["properties"]["op"]["const"].as_str().expect("a name").to_owned(), variant.clone()))
            .collect()
    }

    #[test]
    fn the_registry_lists_the_operations_of_the_engine_in_their_order() {
        let names: Vec<String> = variants().into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, NAMES);
        assert_eq!(find("pin").map(|pin| pin.arguments), Some("ids"));
    }

    #[test]
    fn every_argument_is_a_field_of_its_operation_and_no_required_one_is_missing() {
        for (name, schema) in variants() {
            let told = find(&name).expect("registered").arguments;
            let fields: Vec<&str> = told
                .split(", ")
                .flat_map(|one| one.split('|'))
                .map(|field| field.split([':', '?']).next().unwrap_or_default())
                .collect();
            for field in &fields {
                assert!(schema["properties"].get(field).is_some(), "`{name}` has no `{field}`");
            }
            let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
            let missing: Vec<&str> = required.filter(|field| *field != "op" && !fields.contains(field)).collect();
            assert!(missing.is_empty(), "`{name}` needs {missing:?}");
        }
    }
}
