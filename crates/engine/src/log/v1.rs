//! Records of version 1: the content of an edit is a list of blocks, each as JSON of the Anthropic wire.

use ctx_core::edit::Commit;
use ctx_wire::anthropic::content;
use serde_json::Value;

pub fn commit(body: &[u8]) -> Option<Commit> {
    let mut commit: Value = serde_json::from_slice(body).ok()?;
    for effect in effects(&mut commit) {
        for list in ["by", "messages"] {
            effect.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten().try_for_each(upgrade)?;
        }
    }
    serde_json::from_value(commit).ok()
}

/// The effects of an edit; inherited ones are beside their names.
fn effects(commit: &mut Value) -> impl Iterator<Item = &mut Value> {
    let changes = commit.as_object_mut().into_iter().flat_map(|fields| fields.values_mut());
    let effects = changes.filter_map(|change| change.get_mut("effects")?.as_array_mut()).flatten();
    effects.filter_map(|effect| match effect {
        Value::Array(named) => named.get_mut(1),
        effect => Some(effect),
    })
}

/// Replaces the blocks of a message with its content.
fn upgrade(made: &mut Value) -> Option<()> {
    let made = made.as_object_mut()?;
    let Some(Value::Array(blocks)) = made.remove("blocks") else { return None };
    let content = blocks.iter().map(|block| serde_json::to_value(content::restored(block.as_str()?)).ok());
    let content = content.collect::<Option<Vec<Value>>>()?;
    made.insert("content".to_owned(), Value::Array(content));
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use ctx_core::content::Content;
    use ctx_core::edit::effect::Effect;
    use ctx_core::edit::history::Change;
    use serde_json::json;

    fn stored(change: Value) -> Vec<u8> {
        let mut commit = json!({
            "id": "98fc616501", "at": 1, "author": "cli", "summary": "edit t1", "tokens_before": 9, "tokens_after": 1,
        });
        commit.as_object_mut().expect("an object").extend(change.as_object().expect("an object").clone());
        serde_json::to_vec(&commit).expect("JSON")
    }

    #[test]
    fn blocks_become_content() {
        let blocks = [r#"{"type":"text","text":"new"}"#, r#"{"text":"odd","type":"text"}"#];
        let replace =
            json!({"effect": "replace", "why": "edited", "covers": [], "by": [{"role": "user", "blocks": blocks}]});
        let name = json!({"commit": "98fc616502", "index": 0});
        let edit = json!({"edit": {"operations": [], "effects": [replace]}});
        let inherit = json!({"inherit": {"from": "c1", "effects": [[name, replace]]}});
        for change in [edit, inherit] {
            let effect = match commit(&stored(change)).expect("a commit").change {
                Change::Edit { mut effects, .. } => effects.remove(0),
                Change::Inherit { mut effects, .. } => effects.remove(0).1,
                Change::Revert { .. } => panic!("it reverts nothing"),
            };
            let Effect::Replace { by, .. } = effect else { panic!("{effect:?}") };
            assert_eq!(by[0].content[0], Content::text("new"));
            assert!(by[0].content.iter().map(content::write).eq(blocks), "each is sent as it was");
        }
    }
}
