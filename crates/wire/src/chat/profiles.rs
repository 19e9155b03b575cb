//! Servers that differ from OpenAI's: recognised by the model's family, because the same rules apply wherever its
//! template is served.

use super::content::{quoted, rename};
use super::message::Parts;
use crate::compose::dialect::{MadeBlock, Plan, Tag};
use crate::compose::layout::pieces;
use crate::compose::spell::{member, spliced};
use crate::compose::{Input, Out, Piece, Repair};
use crate::json::Span;
use ctx_core::content::Content;
use ctx_core::links::own_id;
use ctx_core::message::Role;
use std::borrow::Cow;
use std::sync::LazyLock;

/// The rules of a family of models.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Profile {
    /// Prefixes of the model's name, without decoration by gateways.
    names: &'static [&'static str],
    /// Whether the roles alternate, and the assistant speaks between results and the user (C20, C21).
    pub alternates: bool,
    pub reasoning: Reasoning,
    /// Whether ids of calls are nine letters and digits (C5).
    pub short_ids: bool,
}

/// A server's requirement for the reasoning of an assistant message with calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reasoning {
    /// The form that the client uses.
    AsSent,
    /// Required; a space suffices (C30, C31).
    Required,
    /// The field is unknown and refused (C32).
    Refused,
}

const OPENAI: Profile = Profile { names: &[], alternates: false, reasoning: Reasoning::AsSent, short_ids: false };

static PROFILES: [Profile; 3] = [
    Profile {
        names: &["mistral", "ministral", "magistral", "devstral", "codestral", "pixtral", "mixtral"],
        alternates: true,
        reasoning: Reasoning::Refused,
        short_ids: true,
    },
    Profile { names: &["gemma", "llama-2", "llama2"], alternates: true, ..OPENAI },
    Profile { names: &["deepseek", "kimi", "moonshot"], reasoning: Reasoning::Required, ..OPENAI },
];

/// The profile of a model; OpenAI's if the name is unknown.
pub(super) fn of(model: Option<&str>) -> Profile {
    let name = ctx_models::bare(model.unwrap_or_default());
    let is_its = |profile: &&Profile| profile.names.iter().any(|opening| name.starts_with(opening));
    PROFILES.iter().find(is_its).copied().unwrap_or(OPENAI)
}

static FROM_ASSISTANT: LazyLock<Content> = LazyLock::new(|| Content::text("Ok."));
static FROM_USER: LazyLock<Content> = LazyLock::new(|| Content::text("Go on."));

/// The speaker of a message, as far as the order matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Voice {
    User,
    Assistant,
    Result,
    /// Its place does not matter.
    Silent,
}

/// Inserts a short message between two that an edit made neighbours and that may not follow each other.
pub(super) fn bridge(plan: &mut Plan<'_>) {
    let mut outs: Vec<Out> = Vec::new();
    // Settled messages end with the user's.
    let mut before: Option<(Voice, Option<u32>)> = (plan.from > 0).then_some((Voice::User, None));
    let whole = std::mem::take(&mut plan.outs);
    let parts: Vec<Out> = whole.into_iter().flat_map(|out| split(plan, out)).collect();
    for out in parts {
        let voice = voice(plan, &out);
        if voice != Voice::Silent {
            let is_own = is_own_order(plan, before.and_then(|(_, source)| source), &out, before.is_some());
            let role = missing(before.map(|(voice, _)| voice), voice).filter(|_| !is_own);
            outs.extend(role.map(|role| made(plan, role, out.anchor)));
            before = Some((voice, out.source.filter(|_| out.is_whole())));
        }
        outs.push(out);
    }
    plan.outs = outs;
}

/// The role of the message required between two.
fn missing(before: Option<Voice>, behind: Voice) -> Option<Role> {
    match (before, behind) {
        (Some(Voice::User | Voice::Result), Voice::User) => Some(Role::Assistant),
        (None | Some(Voice::Assistant), Voice::Assistant) => Some(Role::User),
        _ => None,
    }
}

fn made(plan: &mut Plan<'_>, role: Role, anchor: Option<u32>) -> Out {
    let content: &'static Content = if role == Role::Assistant { &FROM_ASSISTANT } else { &FROM_USER };
    plan.made.push(MadeBlock { content: Cow::Borrowed(content), from: None });
    plan.repairs.push(Repair::new("C21", "a short message of ours keeps the roles alternating"));
    Out::ours(role, vec![Piece::Made(plan.made.len() as u32 - 1)], anchor)
}

/// Splits a message of results and words: results first.
fn split(plan: &Plan<'_>, out: Out) -> Vec<Out> {
    let is_result = |piece: &Piece| matches!(plan.tag(*piece), Tag::Result(_));
    let (results, words): (Vec<Piece>, Vec<Piece>) = pieces(plan.input, &out).partition(is_result);
    if results.is_empty() || words.is_empty() {
        return vec![out];
    }
    let part = |list: Vec<Piece>| match list.iter().any(|piece| matches!(piece, Piece::Client { .. })) {
        true => Out { pieces: Some(list), ..out.clone() },
        false => Out::ours(out.role, list, out.anchor),
    };
    vec![part(results), part(words)]
}

fn voice(plan: &Plan<'_>, out: &Out) -> Voice {
    let is_result = || pieces(plan.input, out).any(|piece| matches!(plan.tag(piece), Tag::Result(_)));
    match out.role {
        Role::Assistant => Voice::Assistant,
        Role::User if is_result() => Voice::Result,
        Role::User => Voice::User,
        Role::System | Role::Other => Voice::Silent,
    }
}

/// Whether the client itself sends these two messages in this order, or this one first.
fn is_own_order(plan: &Plan<'_>, before: Option<u32>, out: &Out, is_second: bool) -> bool {
    let Some(source) = out.source.filter(|_| out.is_whole()) else { return false };
    let from = match (before, is_second) {
        (Some(before), _) => before + 1,
        (None, false) => 0,
        (None, true) => return false,
    };
    let between = plan.input.messages.get(from as usize..source as usize);
    between.is_some_and(|between| between.iter().all(|message| matches!(message.role, Role::System | Role::Other)))
}

/// A message whose synthetic calls and results have ids that the server takes (C5). The client's ids stay.
pub(super) fn with_fitting_ids(profile: Profile, message: Vec<u8>, input: &Input<'_>) -> Vec<u8> {
    let fits = |id: &str| match profile.short_ids {
        true => id.len() == 9 && id.bytes().all(|byte| byte.is_ascii_alphanumeric()),
        false => id.len() <= 40,
    };
    let is_own = |id: &str| {
        let mut blocks = input.messages.iter().flat_map(|message| &message.blocks);
        blocks.any(|block| own_id(block) == Some(id))
    };
    let parts = Parts::read(&message);
    let calls = parts.call_elements.iter().filter_map(|call| member(&message, call.start, "id"));
    let result = member(&message, 0, "tool_call_id").filter(|_| parts.is_tool());
    let edits: Vec<(Span, Vec<u8>)> = calls
        .chain(result)
        .filter_map(|member| {
            let id = crate::json::string_value(&message, member.value.clone())?;
            (!fits(&id) && !is_own(&id)).then(|| (member.value, quoted(&rename(&id, "")).into_bytes()))
        })
        .collect();
    if edits.is_empty() { message } else { spliced(&message, edits) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_has_the_profile_of_its_family_wherever_it_is_served() {
        for name in ["mistral-large-latest", "mistralai/Devstral-Small-2507", "codestral:22b"] {
            let profile = of(Some(name));
            assert!(profile.alternates && profile.reasoning == Reasoning::Refused, "{name}");
        }
        assert!(of(Some("google/gemma-3-27b-it")).alternates && of(Some("llama-2-70b-chat")).alternates);
        for name in ["deepseek-v4-flash", "moonshotai/kimi-k3", "deepseek-ai/DeepSeek-V4"] {
            assert_eq!((of(Some(name)).reasoning, of(Some(name)).alternates), (Reasoning::Required, false), "{name}");
        }
        for name in [Some("gpt-5.5"), Some("llama-4"), Some("qwen3-coder"), Some(""), None] {
            assert_eq!(of(name), OPENAI, "{name:?}");
        }
    }
}
