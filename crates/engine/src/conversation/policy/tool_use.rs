//! The tools that a conversation was offered and those that it called: the figures for later conversations.

use crate::conversation::Conversation;
use ctx_core::message::Kind;
use ctx_store::Note;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// The name of the note with the tools.
pub const TOOLS: &str = "tools";

/// The tools of a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ToolUse {
    /// The client, by its name in commands, and the class of the conversation: other agents use other tools.
    pub client: String,
    pub class: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
    /// The time of the newest change.
    pub at: u64,
    /// The provider refused to defer tools.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub refused: bool,
    pub offered: BTreeSet<String>,
    pub called: BTreeSet<String>,
}

impl ToolUse {
    pub fn note(&self, conversation: &str) -> Note {
        Note { conversation: conversation.to_owned(), name: TOOLS.into(), body: serde_json::to_vec(self).ok() }
    }
}

impl Conversation {
    /// The name of its client, if it is a known one.
    pub fn client_name(&self) -> Option<&'static str> {
        self.opened().client.as_deref().and_then(ctx_clients::of_product).map(|client| client.name)
    }

    /// The tools that the messages of its path call.
    pub fn called_tools(&self) -> impl Iterator<Item = &str> {
        let blocks = self.messages.tree.path().flat_map(|slot| &slot.message.blocks);
        blocks.filter(|block| block.kind == Kind::ToolUse).filter_map(|block| block.tool.as_deref())
    }

    /// Updates the tools of the conversation; `None` if they are as before, if the client is unknown, or as long as
    /// nothing was called: such a conversation says nothing about a tool.
    pub fn update_tool_use(&mut self, at: u64) -> Option<ToolUse> {
        let client = self.client_name()?;
        let tools = self.newest.envelope.tools.iter().flatten().filter(|tool| !tool.deferred && !tool.server);
        let known = &self.policy.tool_use;
        let is_known = known.client == client
            && known.folder.as_deref() == self.folder()
            && tools.clone().all(|tool| known.offered.contains(&*tool.name))
            && self.called_tools().all(|tool| known.called.contains(tool));
        if is_known {
            return None;
        }
        let mut new = ToolUse {
            client: client.to_owned(),
            class: self.opened().class.clone(),
            folder: self.folder().map(str::to_owned),
            at,
            ..known.clone()
        };
        new.offered.extend(tools.map(|tool| tool.name.to_string()));
        new.called.extend(self.called_tools().map(str::to_owned));
        self.policy.tool_use = new.clone();
        (!new.called.is_empty()).then_some(new)
    }
}
