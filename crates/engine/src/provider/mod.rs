//! The provider's own context editing: the edits that a request asks for, and their outcome.
//! `ctx_wire::provider_edits` spells them.

pub mod added;
pub mod cleared;

use crate::Engine;
use crate::conversation::Conversation;
pub use crate::conversation::provider::Asks;
use crate::log::{AnswerRecord, Summary};
use crate::ports::About;
pub use added::Additions;
use ctx_core::Class;
use ctx_models::CacheRules;
use ctx_wire::body::Body;
use ctx_wire::envelope::Envelope;
use ctx_wire::provider_edits::{EditableRequest, Kind, ProviderEdits, ProviderSettings, Who};
use std::ops::Range;

/// A request that the provider may be asked to edit.
pub struct Request<'a> {
    pub at: u64,
    pub class: Class,
    pub body: &'a Body,
    pub envelope: &'a Envelope,
    /// The number of leading messages that its conversation already had.
    pub same: usize,
    pub counting: bool,
}

impl Engine {
    /// Whether the provider itself clears old results of a conversation or summarises it. Takes no conversation lock.
    pub fn provider_edits(&self, about: &About<'_>) -> bool {
        let Some(model) = about.model else { return false };
        let rules = self.provider.rules(about.folder);
        let settings = rules.of(&Who { model, folder: about.folder, is_sub: about.agent.is_some() });
        let Some(settings) = settings else { return false };
        (settings.clear_tool_uses.enabled.unwrap_or(true) && self.provider_can(model, Kind::ToolUses, about.at))
            || (settings.compact.enabled.unwrap_or(false) && self.provider_can(model, Kind::Compact, about.at))
    }

    /// Whether the provider edits this request and had no reason to edit the previous one: then it goes first, because
    /// two cuts at once would be paid for twice. `tokens` and `tool_uses`: of the previous request, and of this one.
    pub fn provider_goes_first(&self, about: &About<'_>, tokens: (u64, u64), tool_uses: (u64, u64)) -> bool {
        let Some(model) = about.model.filter(|_| self.provider_edits(about)) else { return false };
        let rules = self.provider.rules(about.folder);
        let Some(settings) = rules.of(&Who { model, folder: about.folder, is_sub: about.agent.is_some() }) else {
            return false;
        };
        let window = self.provider.known().window(model);
        let window = window.or_else(|| self.models.of(model).model()?.window);
        settings.would_act(window, tokens.1, tool_uses.1) && !settings.would_act(window, tokens.0, tool_uses.0)
    }

    /// The provider's report on a model takes precedence over the table.
    fn provider_can(&self, model: &str, kind: Kind, at: u64) -> bool {
        let listed = || {
            let model = self.models.of(model).model();
            model.is_some_and(|model| if kind == Kind::Compact { model.compaction } else { model.clearing })
        };
        self.provider.known().can(model, kind, at).unwrap_or_else(listed)
    }

    /// Whether the provider is asked to edit a request.
    pub fn is_meant(&self, conversation: &Conversation, request: &Request<'_>) -> bool {
        self.settings_for(conversation, request).is_some()
    }

    fn settings_for(&self, conversation: &Conversation, request: &Request<'_>) -> Option<ProviderSettings> {
        request.body.wire().provider_edits()?;
        let folder = conversation.folder_with(Some(request.body));
        let is_sub = is_sub(conversation, request.class);
        let rules = self.provider.rules(folder.as_deref());
        rules.of(&Who { model: request.envelope.model.as_deref()?, folder: folder.as_deref(), is_sub })
    }

    /// The edits that a request asks of the provider in addition to its client's.
    pub fn adds(&self, conversation: &Conversation, request: &Request<'_>) -> Additions {
        let mut added = self.edits_for(conversation, request).unwrap_or_default();
        added.is_for(request.envelope.model.as_deref().unwrap_or_default(), request.body.bytes().len());
        // Most conversations have no summaries.
        for (summary, span, edits) in summaries_in(conversation, request.body) {
            let bytes = request.body.bytes();
            if !added.asks.compacts {
                // The client does not know it as a summary, and without the edit the provider rejects it.
                added.take_out(edits.remove_summary(bytes, span));
            } else if !added.asks.summarised {
                // The newest one counts.
                added.asks.summarised = true;
                added.goes_with_edits(edits.remove_summary(bytes, span.clone()));
                let splices = edits.insert_summary(bytes, span, summary.block.as_bytes());
                added.put(splices.unwrap_or_default(), vec![Kind::Compact]);
            }
        }
        added
    }

    /// The edits that a request asks for; `None` if the provider is not to edit it.
    fn edits_for(&self, conversation: &Conversation, request: &Request<'_>) -> Option<Additions> {
        // Side traffic that carries the history shares its cache, so it gets the same edits; other side traffic passes
        // unchanged.
        let carries =
            (request.class.is_turn() && !request.counting) || (request.same > 0 && conversation.progress.turns > 0);
        if !carries {
            return None;
        }
        let Request { body, envelope, .. } = *request;
        let (settings, model) = (self.settings_for(conversation, request)?, envelope.model.as_deref()?);
        let window = self.provider.known().window(model);
        let window = window.or_else(|| self.models.of(model).model()?.window);
        let editable = EditableRequest {
            body,
            envelope,
            lexicon: ctx_clients::lexicon(),
            counting: request.counting,
            window,
            price: self.models.price(model, window.unwrap_or(0) / 2).map(|(price, _)| price),
            lifetime: body
                .wire()
                .cache_lifetime(body.bytes(), body.spans())
                .unwrap_or_else(|| CacheRules::default().usual_lifetime()),
        };
        let is_supported = |kind| self.provider_can(model, kind, request.at);
        let addition = body.wire().provider_edits()?.addition(&settings, &editable, &is_supported);
        let mut added = Additions::default();
        (added.asks.compacts, added.asks.excluded) = (addition.compacts, addition.excluded);
        if !addition.splices.is_empty() {
            added.put(addition.splices, addition.kinds);
        }
        Some(added)
    }

    /// Remembers the additional edits of a request until it is answered.
    pub fn asked(&self, conversation: &mut Conversation, request: u32, added: &Additions) {
        if !added.kinds().is_empty() {
            conversation.provider.asks.insert(request, added.asks.clone());
        }
    }

    /// Adds to an answer the facts that follow from the request: the cleared and the summarised content.
    pub fn told(&self, conversation: &mut Conversation, answered: &mut AnswerRecord, turn: Option<&[u8]>) {
        let asks = conversation.provider.asks.remove(&answered.request);
        answered.summarised = asks.as_ref().is_some_and(|asks| asks.summarised);
        // A client that asked for it itself can handle it.
        let compacts = asks.as_ref().is_some_and(|asks| asks.compacts);
        if let Some(reply) = turn {
            let by_client = || {
                let body = conversation.newest.last.body.as_ref()?;
                body.wire().provider_edits()?.excluded_by_client(body)
            };
            let excluded = asks.and_then(|asks| asks.excluded).or_else(by_client).unwrap_or_default();
            for edit in &mut answered.applied_edits {
                let count = edit.cleared_tool_uses.filter(|count| *count > 0);
                let steps = count.and_then(|count| cleared::steps(conversation, count, &excluded));
                if let Some((first, last)) = steps {
                    (edit.first, edit.last) = (Some(first), Some(last));
                }
            }
            answered.summary = Summary::of(conversation.wire(), reply, conversation.messages.tree.current().len())
                .filter(|_| compacts);
        }
    }
}

/// The summaries whose messages a request contains, newest first, with their positions and the way to edit them.
fn summaries_in<'a>(
    conversation: &'a Conversation,
    body: &Body,
) -> Vec<(&'a Summary, Range<usize>, &'static dyn ProviderEdits)> {
    let found = |summary: &'a Summary| {
        let edits = body.wire().provider_edits()?;
        let span = body.spans().messages.get(summary.messages as usize)?;
        let message = edits.without_summary(body.bytes().get(span.clone())?);
        let facts = body.wire().read(&message, ctx_clients::lexicon()).facts;
        summary.is_of(&facts).then(|| (summary, span.clone(), edits))
    };
    conversation.provider.summaries.iter().rev().filter_map(found).collect()
}

fn is_sub(conversation: &Conversation, class: Class) -> bool {
    class == Class::Subagent
        || conversation.opened().agent.is_some()
        || conversation.opened().class == Class::Subagent.name()
}
