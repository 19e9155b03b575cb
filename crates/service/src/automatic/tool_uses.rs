//! The tools that the newest conversations were offered and called, for the diet of the next one.

use ctx_core::policy::ToolFigures;
use ctx_core::policy::diet::ToolFigure;
use ctx_engine::conversation::Conversation;
use ctx_engine::conversation::policy::ToolUse;
use std::collections::HashMap;

/// The number of remembered conversations of one agent: a tool that none of them called is not needed often.
const NEWEST: usize = 100;

/// The tools of conversations, by the conversation's id.
#[derive(Debug, Default)]
pub(crate) struct ToolUses(HashMap<String, ToolUse>);

impl ToolUses {
    /// Reads the notes of all conversations.
    pub fn read(notes: Vec<(String, Vec<u8>)>) -> ToolUses {
        let mut uses = ToolUses::default();
        let mut read: Vec<(String, ToolUse)> =
            notes.into_iter().filter_map(|(id, body)| Some((id, serde_json::from_slice(&body).ok()?))).collect();
        read.sort_by_key(|(_, tools)| tools.at);
        read.into_iter().for_each(|(id, tools)| uses.put(&id, tools));
        uses
    }

    /// Puts the tools of a conversation, and forgets the oldest of its agent beyond the limit.
    pub fn put(&mut self, id: &str, tools: ToolUse) {
        let agent = (tools.client.clone(), tools.class.clone());
        self.0.insert(id.to_owned(), tools);
        let of_agent = || self.0.iter().filter(|(_, other)| (&other.client, &other.class) == (&agent.0, &agent.1));
        if of_agent().count() > NEWEST {
            let oldest = of_agent().min_by_key(|(_, other)| other.at).map(|(id, _)| id.clone());
            oldest.into_iter().for_each(|id| self.forget(&id));
        }
    }

    pub fn forget(&mut self, id: &str) {
        self.0.remove(id);
    }

    /// The figures for a conversation: of its own project if that has at least `least` conversations, otherwise of all.
    /// A conversation without any call says nothing about a tool. None if the provider refused to defer tools.
    pub fn figures(&self, conversation: &Conversation, least: u32) -> ToolFigures {
        let Some(client) = conversation.client_name() else { return ToolFigures::new() };
        if self.0.values().any(|tools| tools.refused && tools.client == client) {
            return ToolFigures::new();
        }
        let others = self.0.iter().filter(|(id, tools)| {
            **id != *conversation.id()
                && tools.client == client
                && tools.class == conversation.opened().class
                && !tools.called.is_empty()
        });
        let others: Vec<&ToolUse> = others.map(|(_, tools)| tools).collect();
        let is_here = |tools: &&&ToolUse| tools.folder.is_some() && tools.folder.as_deref() == conversation.folder();
        let here: Vec<&ToolUse> = others.iter().filter(is_here).copied().collect();
        figures(if here.len() >= least as usize { &here } else { &others })
    }
}

fn figures(uses: &[&ToolUse]) -> ToolFigures {
    let mut figures = ToolFigures::new();
    for tools in uses {
        for tool in tools.offered.union(&tools.called) {
            let figure: &mut ToolFigure = figures.entry(tool.clone()).or_default();
            figure.offered += 1;
            figure.called += u32::from(tools.called.contains(tool));
        }
    }
    figures
}

#[cfg(test)]
mod tests {
    use super::*;
    use ctx_engine::log::OpeningRecord;

    fn tools(folder: &str, at: u64, offered: &[&str], called: &[&str]) -> ToolUse {
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        ToolUse {
            client: "claude-code".into(),
            class: "main".into(),
            folder: Some(folder.into()),
            at,
            refused: false,
            offered: names(offered),
            called: names(called),
        }
    }

    fn conversation(folder: &str) -> Conversation {
        let opened = OpeningRecord { client: Some("claude-cli/2.1.325".into()), ..OpeningRecord::unknown() };
        let mut conversation = Conversation::new("new".into(), opened);
        conversation.set_parent_folder(Some(folder.into()));
        conversation.find_folder(None);
        conversation
    }

    #[test]
    fn figures_are_of_the_project_once_it_has_enough_conversations() {
        let mut uses = ToolUses::default();
        uses.put("a", tools("/shop", 1, &["Agent", "Bash"], &["Bash"]));
        uses.put("b", tools("/shop", 2, &["Agent", "Bash"], &["Bash"]));
        uses.put("c", tools("/farm", 3, &["Agent", "Bash"], &["Agent"]));
        uses.put("d", tools("/shop", 4, &["Agent", "Bash"], &[]));
        let figure = |folder: &str, least| uses.figures(&conversation(folder), least)["Agent"];
        assert_eq!(figure("/shop", 2), ToolFigure { offered: 2, called: 0 });
        assert_eq!(figure("/shop", 3), ToolFigure { offered: 3, called: 1 }, "too few, and one says nothing");
        uses.forget("c");
        assert_eq!(uses.figures(&conversation("/shop"), 3)["Agent"].called, 0);
    }

    #[test]
    fn only_the_newest_conversations_of_an_agent_count() {
        let mut uses = ToolUses::default();
        (0..=NEWEST as u64).for_each(|at| uses.put(&format!("c{at}"), tools("/shop", at, &["Agent"], &["Bash"])));
        assert_eq!(uses.0.len(), NEWEST);
        assert!(!uses.0.contains_key("c0") && uses.0.contains_key("c1"));
        let notes = uses.0.iter().map(|(id, tools)| (id.clone(), tools.note(id).body.expect("JSON"))).collect();
        assert_eq!(ToolUses::read(notes).0, uses.0);
    }
}
