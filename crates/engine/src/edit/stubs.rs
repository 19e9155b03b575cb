//! Stubs of offloaded content in what is imported. The content comes along, so that its handle leads to it here too, and
//! the stub tells this conversation's agent how to read it.

use super::files::Files;
use super::handle::{self, UNREADABLE};
use crate::compose::Ground;
use crate::conversation::Conversation;
use crate::ports::handles::{retold, sentences};
use crate::view::show::Texts;
use crate::{Engine, Refusal};
use ctx_core::content::{CallInput, Content};
use ctx_core::edit::effect::Effect;
use ctx_core::edit::history::KeptText;
use ctx_core::hint::Command;
use ctx_core::{ErrorCode, hint};
use std::collections::BTreeSet;

/// The content that stubs of another conversation name.
#[derive(Debug, Clone, Default)]
pub(super) struct StubTexts {
    kept: Vec<KeptText>,
    /// Handles whose content is no longer there.
    lost: Vec<String>,
}

impl Engine {
    /// Collects the content that stubs among these texts of a conversation name. Elsewhere it is in files, whose paths
    /// lead to it from everywhere.
    pub(super) fn stub_texts<'t>(
        &self,
        of: &Conversation,
        texts: impl Iterator<Item = &'t str>,
    ) -> Result<StubTexts, Refusal> {
        let mut found = StubTexts::default();
        if self.handles.is_none() {
            return Ok(found);
        }
        let named: BTreeSet<String> = texts.flat_map(sentences).map(|sentence| sentence.handle.to_owned()).collect();
        let mut sent: Option<Texts> = None;
        for handle in named {
            let text = match (handle::in_history(of, &handle), &mut sent) {
                (Some(text), _) => Some(text),
                (None, sent) => {
                    if sent.is_none() {
                        let slots = Ground::of(of, true).slots;
                        *sent = Some(self.texts(of, &slots, 0..slots.len())?);
                    }
                    let mut messages = sent.iter().flat_map(Texts::values);
                    messages.find_map(|message| handle::in_message(of.wire(), message, &handle))
                }
            };
            match text {
                Some(text) => found.kept.push(KeptText { handle, text }),
                None => found.lost.push(handle),
            }
        }
        Ok(found)
    }

    /// Takes over the content that stubs in imported effects name. Refused if the agent here could not read it.
    pub(super) fn adopt(
        &self,
        into: &Conversation,
        (from, stubs): (&str, &StubTexts),
        effects: &mut [Effect],
        files: &mut Files,
    ) -> Result<(), Refusal> {
        let mut named: BTreeSet<String> = BTreeSet::new();
        each_text(effects, &mut |text| named.extend(sentences(text).map(|sentence| sentence.handle.to_owned())));
        // Any other text that looks like a stub is quoted.
        let is_stub = |handle: &str| stubs.kept.iter().any(|kept| kept.handle == handle) && named.contains(handle);
        if let Some(lost) = stubs.lost.iter().find(|lost| named.contains(*lost)) {
            return Err(Refusal::new(
                ErrorCode::Gone,
                format!("Nothing is imported: the content of `{lost}`, which a stub names, is no longer in `{from}`."),
                hint!["Import other frames, or remove the stub there first: ", Command::Delete, "."],
            ));
        }
        let Some(handles) = self.handles.filter(|_| stubs.kept.iter().any(|kept| is_stub(&kept.handle))) else {
            return Ok(());
        };
        let tools = into.newest.envelope.tools.as_deref();
        let reader = handles.reader(into.id(), tools).ok_or_else(|| {
            Refusal::new(
                ErrorCode::CannotReadBack,
                format!("Nothing is imported: it has stubs of offloaded content, and {UNREADABLE}."),
                "Connect the agent to the MCP server of ctx, or restore the content where it comes from, and import then.",
            )
        })?;
        files.kept.extend(stubs.kept.iter().filter(|kept| is_stub(&kept.handle)).cloned());
        each_text(effects, &mut |text| {
            if let Some(told) = retold(text, reader, &is_stub) {
                *text = told;
            }
        });
        Ok(())
    }
}

/// The texts that an effect sends.
pub(super) fn texts(effect: &Effect) -> Vec<&str> {
    let made = effect.made().iter().flat_map(|made| &made.content).flat_map(texts_of);
    let results = match effect {
        Effect::Results { results, .. } => results.as_slice(),
        _ => &[],
    };
    made.chain(results.iter().map(|result| result.text.as_str())).collect()
}

/// The texts of a content.
pub(super) fn texts_of(content: &Content) -> Vec<&str> {
    match content {
        Content::Text { text } => vec![text],
        Content::Call { input: CallInput::Json(input), .. } => vec![input],
        Content::Raw { json, .. } => vec![json],
        Content::Result { parts, .. } => parts.iter().flat_map(texts_of).collect(),
        Content::Image { .. } | Content::Document { .. } | Content::Reasoning { .. } => Vec::new(),
    }
}

fn each_text(effects: &mut [Effect], change: &mut dyn FnMut(&mut String)) {
    for effect in effects {
        match effect {
            Effect::Results { results, .. } => results.iter_mut().for_each(|result| change(&mut result.text)),
            Effect::Replace { by: messages, .. } | Effect::Insert { messages, .. } => {
                messages
                    .iter_mut()
                    .flat_map(|made| &mut made.content)
                    .for_each(|content| each_text_of(content, change));
            }
            _ => {}
        }
    }
}

fn each_text_of(content: &mut Content, change: &mut dyn FnMut(&mut String)) {
    match content {
        Content::Text { text } => change(text),
        Content::Call { input: CallInput::Json(input), .. } => change(input),
        Content::Raw { json, .. } => change(json),
        Content::Result { parts, .. } => parts.iter_mut().for_each(|part| each_text_of(part, change)),
        Content::Image { .. } | Content::Document { .. } | Content::Reasoning { .. } => {}
    }
}
