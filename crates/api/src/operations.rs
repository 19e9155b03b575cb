//! The registry of operations: name, arguments and help of each, once for every face. The JSON is that of
//! [`ctx_core::edit::Operation`].

use serde::Serialize;

/// An operation as people and models are told of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct OperationInfo {
    /// The `op` of its JSON.
    pub name: &'static str,
    /// The fields that it takes: `|` between alternatives, `?` after optional ones.
    pub arguments: &'static str,
    /// Its effect, as a command without a full stop.
    pub help: &'static str,
}

const fn operation(name: &'static str, arguments: &'static str, help: &'static str) -> OperationInfo {
    OperationInfo { name, arguments, help }
}

/// All operations, in the order of the engine.
pub const OPERATIONS: [OperationInfo; 15] = [
    operation("delete", "ids|select", "Remove content from the request"),
    operation("edit", "id, text|raw", "Replace text or messages"),
    operation("compact", "ids|select, text?: the summary", "Replace content with a summary"),
    operation("offload", "ids|select, summary?", "Move content to a file that the agent can read, and leave a note"),
    operation("restore", "ids", "Restore offloaded content"),
    operation("move", "ids, to", "Move frames"),
    operation("add", "text, role?, to", "Add a frame"),
    operation("combine", "ids", "Merge frames into one"),
    operation("split", "id, at|at_step|each_step", "Split a frame into several"),
    operation("drop-results", "ids|select|result", "Replace tool results with a placeholder; keep the calls"),
    operation("summarize-results", "ids|select|result, text?", "Replace tool results with summaries; keep the calls"),
    operation("retitle", "id, title", "Change a title in the list, not the request"),
    operation("pin", "ids", "Exempt content from automatic editing"),
    operation("unpin", "ids", "Allow automatic editing of content again"),
    operation("import", "from: conversation, ids|edits, to?", "Copy frames or edits from another conversation"),
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

/// The help of the operation with this name; a test of each face names them all.
pub fn help(name: &str) -> &'static str {
    find(name).map_or("", |operation| operation.help)
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

    /// The page reads the registry from a file.
    #[test]
    fn the_page_has_the_same_registry() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../web/src/edit/operations.json");
        let registry = serde_json::to_string_pretty(&OPERATIONS).expect("JSON") + "\n";
        if std::env::var_os("CTX_BLESS").is_some() {
            std::fs::write(path, &registry).expect("written");
        }
        let committed = std::fs::read_to_string(path).unwrap_or_default();
        assert!(committed == registry, "{path} is not what the code says: run this test with CTX_BLESS=1");
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
