//! The tool calls in operations of the automatic editor.

use ctx_core::Content;
use ctx_core::edit::Operation;
use ctx_wire::Wire;
use std::borrow::Cow;

/// The calls whose results or inputs the automatic editor's operations change.
pub fn calls<'o>(wire: &dyn Wire, operations: &'o [Operation]) -> impl Iterator<Item = Cow<'o, str>> {
    operations.iter().flat_map(move |operation| {
        let (calls, input) = match operation {
            Operation::SummarizeResults { select, .. } | Operation::DropResults { select, .. } => {
                (select.calls.as_slice(), None)
            }
            operation => (&[][..], input(wire, operation)),
        };
        calls.iter().map(|call| Cow::Borrowed(call.as_str())).chain(input)
    })
}

/// The call whose input an operation of the automatic editor shortens.
pub fn input<'o>(wire: &dyn Wire, operation: &'o Operation) -> Option<Cow<'o, str>> {
    match operation {
        Operation::Edit { content: Some(content), .. } => content.iter().find_map(Content::calls).map(Cow::Borrowed),
        // Older commits contain the JSON of their wire.
        Operation::Edit { raw: Some(block), .. } => {
            wire.content(&block.to_string())?.calls().map(|call| Cow::Owned(call.to_owned()))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ctx_wire::anthropic::Anthropic;
    use serde_json::json;

    #[test]
    fn a_short_input_names_its_call_in_commits_old_and_new() {
        let read = |fields| serde_json::from_value::<Operation>(fields).expect("an operation");
        let block = json!({"type": "tool_use", "id": "a", "name": "Edit", "input": {}});
        let old = read(json!({"op": "edit", "id": "t1#1.0", "raw": block}));
        let call = json!({"kind": "call", "id": "b", "name": "Edit", "input": {"json": "{}"}});
        let new = read(json!({"op": "edit", "id": "t1#1.0", "content": [call]}));
        let text = read(json!({"op": "edit", "id": "t1#1.0", "text": "x"}));
        assert_eq!(calls(&Anthropic, &[old, new, text]).collect::<Vec<_>>(), ["a", "b"]);
    }
}
