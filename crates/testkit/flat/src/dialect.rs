//! Writes items, and applies the provider's rules. The shared composer does the rest: it lays the view out, pairs calls
//! and results, and keeps the client's bytes wherever nothing changed.

use crate::item;
use ctx_core::content::Content;
use ctx_core::message::{Message, Role};
use ctx_wire::compose::{Dialect, KeptBlock, Plan, Repair, nameless, spell};
use serde_json::Value;
use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

/// The rules for one request.
#[derive(Default)]
pub(crate) struct FlatDialect {
    /// The tools of the calls, by the id that the engine derived. Known once it is settled which are sent.
    tools: OnceLock<HashMap<Arc<str>, Arc<str>>>,
}

impl FlatDialect {
    fn tool(&self, plan: &Plan<'_>, id: &str) -> Option<String> {
        self.tools.get_or_init(|| nameless::tools(plan)).get(id).map(|tool| tool.to_string())
    }

    fn item(&self, content: &Content, role: Role, plan: &Plan<'_>) -> Vec<u8> {
        item::written(content, role, &|id| self.tool(plan, id)).into_bytes()
    }

    /// The client's item: a result with another text, or with the tool that its call has now.
    fn own(&self, own: &[u8], id: Option<&str>, text: Option<&str>, plan: &Plan<'_>) -> Vec<u8> {
        let tool = id.and_then(|id| self.tool(plan, id)).filter(|_| item::role(own) == Role::User);
        let change = |name: &str, to: &str| Some((item::member(own, name)?, Value::from(to).to_string().into_bytes()));
        let text = text.and_then(|text| change("text", text));
        spell::spliced(own, text.into_iter().chain(tool.and_then(|tool| change("tool", &tool))).collect())
    }
}

impl Dialect for FlatDialect {
    fn check(&self, content: &Content, role: Role) -> Result<(), Repair> {
        let refuse = |rule, what: &str| Err(Repair::new(rule, format!("an item of ours is left out: {what}")));
        match (content, role) {
            (Content::Text { text }, _) if text.trim().is_empty() => refuse("X3", "its text is empty"),
            (Content::Text { .. }, _) => Ok(()),
            (Content::Call { id: Some(_), .. }, Role::Assistant)
            | (Content::Result { id: Some(_), .. }, Role::User) => Ok(()),
            (Content::Call { .. } | Content::Result { .. }, _) => refuse("X1", "it belongs to no step"),
            _ => refuse("F1", "an item is a text, a call or a result"),
        }
    }

    fn has_flat_steps(&self) -> bool {
        true
    }

    fn no_system(&self) -> Option<Repair> {
        Some(Repair::new("F2", "a system message of ours is said by the user: no item says it"))
    }

    fn repair(&self, plan: &mut Plan<'_>) {
        nameless::restore_order(plan, "F3");
        plan.drop_empty();
        plan.settle();
        nameless::rename_results(plan);
    }

    fn rewrite(&self, element: &[u8], message: &Message, kept: &[KeptBlock<'_>], plan: &Plan<'_>) -> Vec<Vec<u8>> {
        let id = |at: &usize| message.blocks.get(*at).and_then(|block| block.tool_use_id.as_deref());
        let mut items: Vec<Vec<u8>> = kept
            .iter()
            .map(|kept| match kept {
                KeptBlock::Own(at) => self.own(element, id(at), None, plan),
                KeptBlock::Text(at, text) => self.own(element, id(at), Some(text), plan),
                KeptBlock::Made(content) => self.item(content, message.role, plan),
            })
            .collect();
        results_first(&mut items);
        items
    }

    fn elements(&self, role: Role, content: &[&Content], plan: &Plan<'_>) -> Vec<Vec<u8>> {
        let mut items: Vec<Vec<u8>> = content.iter().map(|content| self.item(content, role, plan)).collect();
        results_first(&mut items);
        items
    }

    /// A result of ours needs the name of its call, which may be in the first part.
    fn divide(&self, plan: &Plan<'_>, _: usize) -> Option<bool> {
        let is_result = |content: &Content| matches!(content, Content::Result { .. });
        (!plan.made.iter().any(|made| is_result(&made.content))).then_some(false)
    }

    fn system(&self, text: &str, _: &[u8]) -> Vec<u8> {
        Value::from(text).to_string().into_bytes()
    }

    fn with_tools(&self) -> &'static [&'static str] {
        &[]
    }
}

/// Results stand directly behind the calls, before the user's words.
fn results_first(items: &mut [Vec<u8>]) {
    items.sort_by_key(|item| spell::text(item, 0, "kind").as_deref() != Some("result"));
}
