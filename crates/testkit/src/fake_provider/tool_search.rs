//! Deferred tools and the provider's search for them (A40, A45, A78).

use super::json::{Fields, compact, is_truthy, text};
use super::refusal::{Place, Refusal};
use super::request::{Request, kind_of};
use serde_json::{Value, json};

/// Refuses tools that the API refuses, and calls of the search without its result.
pub(crate) fn validate(request: &Request<'_>) -> Result<(), Refusal> {
    if !request.tools.is_empty() && request.loaded_tools().next().is_none() {
        return Err(Refusal::AllDeferred);
    }
    if deferred(request).any(|tool| is_truthy(tool.get("cache_control"))) {
        return Err(Refusal::MarkOnDeferred);
    }
    for (index, message) in request.messages.iter().enumerate() {
        let mut open: Option<&str> = None;
        for (position, block) in message.blocks.iter().enumerate() {
            let place = Place { message: index, block: position };
            match kind_of(block) {
                Some("server_tool_use") if is_search(block) => open = text(block, "id"),
                Some("tool_search_tool_result") => {
                    let id = text(block, "tool_use_id");
                    if id.is_none() || open.take() != id {
                        return Err(Refusal::UnexpectedSearch(place, id.unwrap_or_default().to_owned()));
                    }
                    known(request, place, block)?;
                }
                _ => {}
            }
        }
        if let Some(id) = open {
            return Err(Refusal::SearchWithoutResult(id.to_owned()));
        }
    }
    Ok(())
}

/// Whether a call is one of the provider's search for tools.
fn is_search(call: &Fields) -> bool {
    text(call, "name").is_some_and(|name| name.starts_with("tool_search_tool_"))
}

fn deferred<'r>(request: &'r Request<'_>) -> impl Iterator<Item = &'r Fields> {
    request.tools.iter().copied().filter(|tool| is_truthy(tool.get("defer_loading")))
}

/// The tools that a search found must still be defined.
fn known(request: &Request<'_>, place: Place, block: &Fields) -> Result<(), Refusal> {
    let is_known = |name: &String| request.tools.iter().any(|tool| text(tool, "name") == Some(name));
    match references(&block["content"]).into_iter().find(|name| !is_known(name)) {
        Some(name) => Err(Refusal::UnknownReference(place, name)),
        None => Ok(()),
    }
}

fn references(value: &Value) -> Vec<String> {
    match value {
        Value::Object(fields) if kind_of(fields) == Some("tool_reference") => {
            text(fields, "tool_name").map(str::to_owned).into_iter().collect()
        }
        Value::Object(fields) => fields.values().flat_map(references).collect(),
        Value::Array(items) => items.iter().flat_map(references).collect(),
        _ => Vec::new(),
    }
}

/// The call of the search and its result: the deferred tools whose definition contains `query`.
pub(crate) fn find(request: &Request<'_>, query: &str, id: &str) -> Option<[Fields; 2]> {
    let is_search = |tool: &&&Fields| kind_of(tool).is_some_and(|kind| kind.starts_with("tool_search_tool_"));
    let search = text(request.tools.iter().find(is_search)?, "name")?;
    let found = deferred(request).filter(|tool| compact(tool).contains(query)).filter_map(|tool| text(tool, "name"));
    let found: Vec<Value> = found.map(|name| json!({"type": "tool_reference", "tool_name": name})).collect();
    let id = id.replace("toolu_", "srvtoolu_");
    let call = json!({"type": "server_tool_use", "id": id, "name": search, "input": {"query": query}});
    let content = json!({"type": "tool_search_tool_search_result", "tool_references": found});
    let result = json!({"type": "tool_search_tool_result", "tool_use_id": id, "content": content});
    Some([call, result].map(|block| block.as_object().cloned().unwrap_or_default()))
}

/// Replaces calls of deferred tools that nothing has loaded: the model does not know them.
pub(crate) fn hold_back(request: &Request<'_>, blocks: &mut [Fields]) {
    let said = request.messages.iter().flat_map(|message| &message.blocks);
    let mut loaded: Vec<String> = said.flat_map(|block| references(&Value::Object(block.as_ref().clone()))).collect();
    for block in blocks {
        loaded.extend(references(&Value::Object(block.clone())));
        let name = text(block, "name").filter(|_| kind_of(block) == Some("tool_use")).unwrap_or_default().to_owned();
        let is_deferred = deferred(request).any(|tool| text(tool, "name") == Some(&name));
        if is_deferred && !loaded.contains(&name) {
            let said = json!({"type": "text", "text": format!("{name} is not loaded")});
            *block = said.as_object().cloned().unwrap_or_default();
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::fake_provider::{Options, check};
    use serde_json::{Value, json};

    fn refused(change: impl Fn(&mut Value)) -> Option<String> {
        let call =
            json!({"type": "server_tool_use", "id": "srvtoolu_1", "name": "tool_search_tool_regex", "input": {}});
        let found = json!({"tool_references": [{"type": "tool_reference", "tool_name": "Later"}]});
        let result = json!({"type": "tool_search_tool_result", "tool_use_id": "srvtoolu_1", "content": found});
        let mut body = json!({
            "model": "m", "max_tokens": 9,
            "tools": [
                {"type": "tool_search_tool_regex_20251119", "name": "tool_search_tool_regex"},
                {"name": "Later", "input_schema": {}, "defer_loading": true},
            ],
            "messages": [
                {"role": "user", "content": "a"},
                {"role": "assistant", "content": [call, result, {"type": "text", "text": "b"}]},
                {"role": "user", "content": "c"},
            ],
        });
        change(&mut body);
        let options = Options { tool_search: true, ..Options::strict() };
        check(body.to_string().as_bytes(), &options).err()
    }

    #[test]
    fn a_search_has_its_result_and_finds_tools_that_are_there() {
        assert_eq!(refused(|_| {}), None);
        for (change, says) in [
            (
                (|body| {
                    drop(body["tools"][0].as_object_mut().map(|tool| tool.insert("defer_loading".into(), true.into())))
                }) as fn(&mut Value),
                "All tools cannot be deferred",
            ),
            (|body| body["tools"][1]["cache_control"] = json!({"type": "ephemeral"}), "cache_control"),
            (|body| body["tools"][1]["name"] = "Other".into(), "Tool reference 'Later' not found"),
            (|body| body["messages"][1]["content"][1]["tool_use_id"] = "srvtoolu_2".into(), "unexpected `tool_use_id`"),
            (
                |body| drop(body["messages"][1]["content"].as_array_mut().map(|blocks| blocks.remove(1))),
                "without a corresponding",
            ),
        ] {
            let refusal = refused(change).expect(says);
            assert!(refusal.contains(says), "{refusal}");
        }
    }
}
