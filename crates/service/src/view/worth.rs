//! Caches the content worth removing until the conversation changes.

use crate::parts::Parts;
use crate::threads::lock;
use ctx_api::context::WorthView;
use ctx_api::cost::Cache;
use ctx_engine::Refusal;
use ctx_engine::automatic::Now;
use ctx_engine::conversation::policy::RememberedView;

impl Parts {
    pub(crate) fn worth(&self, name: &str) -> Result<WorthView, Refusal> {
        let shared = self.conversation(name)?;
        let mut conversation = lock(&shared);
        let head = conversation.history.head();
        let at = crate::clock::now();
        let cold = conversation.cache(at) != Cache::Warm;
        let messages = conversation.messages.tree.current().len() + conversation.newest.pending.len();
        let cleared_by_provider = conversation.provider.cleared;
        let of = (conversation.progress.requests, head, cold, messages, cleared_by_provider);
        if let Some(known) = conversation.policy.worth.as_ref().filter(|known| known.of == of) {
            return Ok(known.view.clone());
        }
        conversation.remember();
        // The provider reports how much it cleared, not what; and with fewer tokens it may stop clearing.
        let editor = self.automatic.get();
        let now = Now { at, editor: editor.as_deref(), is_cold: cold };
        let worth = if cleared_by_provider > 0 { None } else { self.engine.worked_out(&conversation, &now) };
        let head = head.map(|head| head.to_string());
        let view = WorthView { conversation: conversation.id().to_owned(), head, worth, cleared_by_provider };
        conversation.policy.worth = Some(Box::new(RememberedView { of, view: view.clone() }));
        Ok(view)
    }
}
