//! Writes messages of this wire, and applies its providers' rules.

use super::content::{quoted, write};
use super::message::{self, Parts, REASONING, Site};
use super::profiles::{self, Profile, Reasoning};
use crate::anthropic::cache;
use crate::compose::dialect::{Dialect, Element, KeptBlock, Plan};
use crate::compose::spell::cut;
use crate::compose::{Input, Repair};
use crate::dress::undress;
use crate::json::Span;
use ctx_core::content::{Content, WireId};
use ctx_core::message::{Message, Role};
use std::borrow::Cow;

/// Chat Completions as a family of model servers accepts them.
pub(super) struct ChatDialect {
    profile: Profile,
}

impl ChatDialect {
    /// The dialect for a model.
    pub(super) fn of(model: Option<&str>) -> ChatDialect {
        ChatDialect { profile: profiles::of(model) }
    }

    /// Whether a synthetic message with calls carries reasoning: if the client's messages do (C36), or if the server
    /// requires it and every message of the client has it (C30, C31).
    fn brings_reasoning_back(&self, input: &Input<'_>) -> bool {
        match self.profile.reasoning {
            Reasoning::Refused => false,
            Reasoning::AsSent => calls_with_reasoning(input).any(|has| has),
            Reasoning::Required => {
                let mut calls = calls_with_reasoning(input).peekable();
                calls.peek().is_none() || calls.any(|has| has)
            }
        }
    }

    /// The result of a call: kept, with another text, or replaced.
    fn tool(&self, element: &[u8], parts: &Parts, kept: &[KeptBlock<'_>], plan: &Plan<'_>) -> Vec<Vec<u8>> {
        let mut out = Vec::new();
        let mut made: Vec<&Content> = Vec::new();
        for kept in kept {
            match kept {
                KeptBlock::Own(_) => out.push(element.to_vec()),
                KeptBlock::Text(_, text) => {
                    let mut rewrite = Rewrite { element, parts, edits: Vec::new() };
                    rewrite.result(text);
                    out.push(rewrite.done());
                }
                KeptBlock::Made(content) if is_result(content) => out.push(write(content).into_owned().into_bytes()),
                KeptBlock::Made(content) => made.push(content),
            }
        }
        if !made.is_empty() {
            out.extend(self.elements(Role::User, &made, plan));
        }
        out
    }
}

impl Dialect for ChatDialect {
    fn check(&self, content: &Content, role: Role) -> Result<(), Repair> {
        let refuse =
            |rule: &'static str, what: &str| Err(Repair::new(rule, format!("a block of ours is left out: {what}")));
        match (content, role) {
            (Content::Text { text }, _) if text.trim().is_empty() => refuse("C23", "its text is empty"),
            (Content::Reasoning { .. }, _) => refuse("C36", "reasoning is never ours"),
            (Content::Call { id: None, .. }, _) => refuse("C1", "a call needs an id"),
            (Content::Call { .. }, Role::User | Role::System) => refuse("C1", "only the assistant calls tools"),
            (Content::Result { id: None, .. }, _) => refuse("C2", "a result names its call"),
            (Content::Result { .. }, Role::Assistant | Role::System) => refuse("C2", "results answer the assistant"),
            (Content::Image { .. } | Content::Document { .. }, Role::Assistant | Role::System) => {
                refuse("C7", "only the user shows images and files")
            }
            (Content::Raw { wire, .. }, _) if *wire != WireId::OpenaiChat => {
                refuse("C7", "it is JSON of another provider's format")
            }
            _ => Ok(()),
        }
    }

    fn has_flat_steps(&self) -> bool {
        false
    }

    fn repair(&self, plan: &mut Plan<'_>) {
        if self.profile.alternates {
            profiles::bridge(plan);
        }
    }

    fn rewrite(&self, element: &[u8], _: &Message, kept: &[KeptBlock<'_>], plan: &Plan<'_>) -> Vec<Vec<u8>> {
        let parts = Parts::read(element);
        if parts.is_tool() {
            return self.tool(element, &parts, kept, plan);
        }
        let sites = parts.sites();
        let mut rewrite = Rewrite { element, parts: &parts, edits: Vec::new() };
        let has_calls = kept.iter().any(|kept| match kept {
            KeptBlock::Own(at) | KeptBlock::Text(at, _) => matches!(sites.get(*at), Some(Site::Call(_))),
            KeptBlock::Made(content) => is_call(content),
        });
        let (texts, calls, results) = sorted(kept, &sites);
        if texts.is_empty() && !has_calls {
            return result_messages(&results);
        }
        rewrite.reasoning(kept, &sites, (has_calls, self.profile.reasoning != Reasoning::Refused));
        rewrite.content(&texts);
        rewrite.calls(&calls);
        // Results stand directly behind their calls, before the words (C1).
        let mut out = result_messages(&results);
        out.push(rewrite.done());
        out
    }

    fn elements(&self, role: Role, content: &[&Content], plan: &Plan<'_>) -> Vec<Vec<u8>> {
        let (results, rest): (Vec<&Content>, Vec<&Content>) = content.iter().partition(|content| is_result(content));
        let mut out = result_messages(&results);
        if rest.is_empty() {
            return out;
        }
        let (calls, said): (Vec<&Content>, Vec<&Content>) = rest.into_iter().partition(|content| is_call(content));
        let role = match role {
            Role::Assistant => "assistant",
            Role::System => system_role(plan.input),
            Role::User | Role::Other => "user",
        };
        let mut message = format!(r#"{{"role":"{role}","content":{}"#, content_of(&said));
        if !calls.is_empty() {
            let calls: Vec<_> = calls.into_iter().map(write).collect();
            message.push_str(&format!(r#","tool_calls":[{}]"#, calls.join(",")));
            if self.brings_reasoning_back(plan.input) {
                message.push_str(r#","reasoning_content":" ""#);
            }
        }
        message.push('}');
        out.push(message.into_bytes());
        out
    }

    fn polish(&self, elements: Vec<Element>, plan: &Plan<'_>) -> Vec<Element> {
        let fitting = |element| match element {
            Element::Made(bytes) => Element::Made(profiles::with_fitting_ids(self.profile, bytes, plan.input)),
            Element::Source(at) => Element::Source(at),
        };
        elements.into_iter().map(fitting).collect()
    }

    fn system(&self, text: &str, like: &[u8]) -> Vec<u8> {
        let role = Parts::read(like).role.unwrap_or_else(|| "system".to_owned());
        format!(r#"{{"role":{},"content":{}}}"#, quoted(&role), quoted(text)).into_bytes()
    }

    fn breakpoint(&self) -> Option<&'static [u8]> {
        Some(cache::NAME)
    }

    fn marked(&self, element: &[u8], mark: &[u8], plan: &Plan<'_>) -> Option<Vec<u8>> {
        message::marked(element, mark, plan.input.envelope.tools.as_ref().is_some_and(|tools| !tools.is_empty()))
    }

    fn bare<'e>(&self, element: &'e [u8]) -> Cow<'e, [u8]> {
        let (cuts, _) = message::bare_cuts(element, &Parts::read(element));
        match cuts.is_empty() {
            true => Cow::Borrowed(element),
            false => Cow::Owned(undress(element, &cuts).0),
        }
    }

    fn with_tools(&self) -> &'static [&'static str] {
        &["tool_choice", "parallel_tool_calls"]
    }
}

/// A kept block of the content.
enum ContentPart<'k> {
    Own(usize),
    Made(&'k Content),
}

fn is_call(content: &Content) -> bool {
    content.calls().is_some() || matches!(content, Content::Call { .. })
}

fn is_result(content: &Content) -> bool {
    content.answers().is_some() || matches!(content, Content::Result { .. })
}

/// The kept blocks by destination: content, calls, synthetic results.
fn sorted<'k>(
    kept: &[KeptBlock<'k>],
    sites: &[Site],
) -> (Vec<ContentPart<'k>>, Vec<ContentPart<'k>>, Vec<&'k Content>) {
    let (mut texts, mut calls, mut results) = (Vec::new(), Vec::new(), Vec::new());
    for kept in kept {
        match kept {
            KeptBlock::Own(at) | KeptBlock::Text(at, _) => match sites.get(*at) {
                Some(Site::Text | Site::Element(_)) => texts.push(ContentPart::Own(*at)),
                Some(Site::Call(call)) => calls.push(ContentPart::Own(*call)),
                Some(Site::Reasoning(_) | Site::Whole) | None => {}
            },
            KeptBlock::Made(content) if is_call(content) => calls.push(ContentPart::Made(content)),
            KeptBlock::Made(content) if is_result(content) => results.push(*content),
            KeptBlock::Made(content) => texts.push(ContentPart::Made(content)),
        }
    }
    (texts, calls, results)
}

/// The value of `content` for synthetic texts and parts.
fn content_of(said: &[&Content]) -> String {
    let texts: Option<Vec<&str>> = said.iter().map(|content| content.as_text()).collect();
    match texts {
        Some(texts) if texts.is_empty() => "null".to_owned(),
        Some(texts) => quoted(&texts.join("\n\n")),
        None => format!("[{}]", said.iter().map(|content| write(content)).collect::<Vec<_>>().join(",")),
    }
}

fn result_messages(results: &[&Content]) -> Vec<Vec<u8>> {
    results.iter().map(|result| write(result).into_owned().into_bytes()).collect()
}

/// The role that this client gives its system prompt (C8).
fn system_role(input: &Input<'_>) -> &'static str {
    let lead = input.body.spans().lead.first().and_then(|span| input.body.bytes().get(span.clone()));
    let role = lead.and_then(|lead| Parts::read(lead).role);
    if role.as_deref() == Some("developer") { "developer" } else { "system" }
}

/// For each message with calls in this request, whether it carries `reasoning_content`.
fn calls_with_reasoning(input: &Input<'_>) -> impl Iterator<Item = bool> {
    (0..input.messages.len()).filter_map(|at| {
        let message = input.body.message(at);
        memchr::memmem::find(message, b"\"tool_calls\"")?;
        let parts = Parts::read(message);
        let is_content = |at: &usize| is_named(message, &parts, *at, REASONING[0]);
        (!parts.call_elements.is_empty()).then(|| parts.reasoning.iter().any(is_content))
    })
}

/// Whether all words of a message stay, with nothing of ours beside them.
fn is_unchanged(kept: &[KeptBlock<'_>], sites: &[Site]) -> bool {
    let is_said = |site: &Site| matches!(site, Site::Text | Site::Element(_));
    let own = kept.iter().map(|kept| match kept {
        KeptBlock::Own(at) => sites.get(*at),
        KeptBlock::Text(..) | KeptBlock::Made(_) => None,
    });
    let own: Option<Vec<&Site>> = own.collect();
    own.is_some_and(|own| own.into_iter().filter(|site| is_said(site)).eq(sites.iter().filter(|site| is_said(site))))
}

fn is_named(element: &[u8], parts: &Parts, member: usize, name: &str) -> bool {
    let key = parts.members.get(member).and_then(|member| element.get(member.key.clone()));
    key.is_some_and(|key| crate::json::key_is(key, name))
}

/// A client's message with cuts and insertions.
struct Rewrite<'e> {
    element: &'e [u8],
    parts: &'e Parts,
    edits: Vec<(Span, Vec<u8>)>,
}

impl Rewrite<'_> {
    fn replace(&mut self, span: Span, by: impl Into<Vec<u8>>) {
        self.edits.push((span, by.into()));
    }

    /// Cuts members out, adjacent ones together.
    fn cut_members(&mut self, gone: &[usize]) {
        let members = &self.parts.members;
        let mut at = 0;
        while at < members.len() {
            if !gone.contains(&at) {
                at += 1;
                continue;
            }
            let run = (at..members.len()).take_while(|at| gone.contains(at)).count();
            let (first, last) = (members[at].whole(), members[at + run - 1].whole());
            let span = match (at.checked_sub(1), members.get(at + run)) {
                (Some(before), _) => members[before].value.end..last.end,
                (None, Some(behind)) => first.start..behind.whole().start,
                (None, None) => first.start..last.end,
            };
            self.replace(span, "");
            at += run;
        }
    }

    /// Removes reasoning that is not kept, except the field that some providers require with calls: it then holds a
    /// space (C30, C31). Where the words have changed, typed reasoning goes (C34), and a text of a router stays only with
    /// calls, for which the provider behind it requires it.
    fn reasoning(&mut self, kept: &[KeptBlock<'_>], sites: &[Site], (has_calls, is_known): (bool, bool)) {
        let stays = |at: usize| {
            kept.iter().any(|kept| matches!(kept, KeptBlock::Own(own) if sites.get(*own) == Some(&Site::Reasoning(at))))
        };
        let is_unchanged = is_unchanged(kept, sites);
        let mut gone = Vec::new();
        for &at in &self.parts.reasoning {
            let is_plain = is_named(self.element, self.parts, at, REASONING[0]);
            let is_text = self.element.get(self.parts.value(at).start) == Some(&b'"');
            match (stays(at), is_plain) {
                (true, true) => {}
                (true, false) if is_unchanged || (has_calls && is_text) => {}
                (false, true) if has_calls && is_known => self.edits.push((self.parts.value(at), b"\" \"".to_vec())),
                _ => gone.push(at),
            }
        }
        // Together with the list of calls, if that is removed too, in one cut.
        if !has_calls {
            gone.extend(self.parts.calls);
        }
        self.cut_members(&gone);
    }

    fn content(&mut self, said: &[ContentPart<'_>]) {
        let Some(content) = self.parts.content else {
            let made: Vec<&Content> = said.iter().filter_map(made).collect();
            if !made.is_empty() {
                self.add_member("content", &content_of(&made));
            }
            return;
        };
        let value = self.parts.value(content);
        let Some(elements) = self.parts.elements.clone() else {
            let is_own = said.iter().any(|said| matches!(said, ContentPart::Own(_)));
            let made: Vec<&Content> = said.iter().filter_map(made).collect();
            return match (is_own, made.is_empty()) {
                (true, true) => {}
                (false, _) => self.replace(value, content_of(&made)),
                (true, false) => self.replace(value.clone(), self.joined(said, value)),
            };
        };
        if said.is_empty() {
            return self.replace(value, "null");
        }
        let first_element = self.first_element();
        let own = |said: &ContentPart<'_>| match said {
            ContentPart::Own(at) => Some(at - first_element),
            ContentPart::Made(_) => None,
        };
        self.list(&elements, value, said, &own);
    }

    /// The index of the first content element among the blocks.
    fn first_element(&self) -> usize {
        self.parts.reasoning.len()
    }

    /// Joins a client's text and synthetic ones in one string.
    fn joined(&self, said: &[ContentPart<'_>], value: Span) -> String {
        let own = crate::json::string_value(self.element, value).unwrap_or_default();
        let texts: Vec<String> = said
            .iter()
            .map(|said| match said {
                ContentPart::Own(_) => own.clone().into_owned(),
                ContentPart::Made(content) => {
                    content.as_text().map_or_else(|| write(content).into_owned(), str::to_owned)
                }
            })
            .collect();
        quoted(&texts.join("\n\n"))
    }

    fn calls(&mut self, calls: &[ContentPart<'_>]) {
        let own = |said: &ContentPart<'_>| match said {
            ContentPart::Own(at) => Some(*at),
            ContentPart::Made(_) => None,
        };
        match (self.parts.calls, calls.is_empty()) {
            (_, true) => {}
            (Some(member), false) => {
                let elements = self.parts.call_elements.clone();
                self.list(&elements, self.parts.value(member), calls, &own);
            }
            (None, false) => {
                let made: Vec<_> = calls.iter().filter_map(made).map(write).collect();
                self.add_member("tool_calls", &format!("[{}]", made.join(",")));
            }
        }
    }

    /// Writes a list with these elements: if all are its own and in order, cuts the others; else writes a new one.
    fn list(
        &mut self,
        elements: &[Span],
        value: Span,
        said: &[ContentPart<'_>],
        own: &dyn Fn(&ContentPart<'_>) -> Option<usize>,
    ) {
        let places: Option<Vec<usize>> = said.iter().map(own).collect();
        match places {
            Some(places) if places.len() == elements.len() => {}
            Some(places) if places.len() + 1 == elements.len() && places.is_sorted() => {
                let gone = (0..elements.len()).find(|at| !places.contains(at));
                self.edits.extend(gone.map(|gone| (cut(elements, gone), Vec::new())));
            }
            _ => {
                let written = said.iter().map(|said| match (own(said), said) {
                    (Some(at), _) => elements.get(at).map_or(Vec::new(), |span| self.element[span.clone()].to_vec()),
                    (None, ContentPart::Made(content)) => write(content).into_owned().into_bytes(),
                    (None, ContentPart::Own(_)) => Vec::new(),
                });
                let list = written.collect::<Vec<_>>().join(b",".as_slice());
                self.replace(value, [b"[", list.as_slice(), b"]"].concat());
            }
        }
    }

    /// Replaces the text of a result, in the client's form (C24).
    fn result(&mut self, text: &str) {
        let text = match self.parts.elements {
            Some(_) => format!("[{}]", write(&Content::text(text))),
            None => quoted(text),
        };
        match self.parts.content {
            Some(content) => self.replace(self.parts.value(content), text),
            None => self.add_member("content", &text),
        }
    }

    fn add_member(&mut self, name: &str, value: &str) {
        // A `null` content still has a member.
        let null = (0..self.parts.members.len()).find(|at| is_named(self.element, self.parts, *at, name));
        if let Some(at) = null {
            return self.replace(self.parts.value(at), value);
        }
        let (at, comma) = crate::compose::spell::end_of_members(self.element, &(0..self.element.len()));
        let comma = if comma { "," } else { "" };
        self.replace(at..at, format!("{comma}\"{name}\":{value}"));
    }

    fn done(self) -> Vec<u8> {
        crate::compose::spell::spliced(self.element, self.edits)
    }
}

fn made<'k>(said: &ContentPart<'k>) -> Option<&'k Content> {
    match said {
        ContentPart::Made(content) => Some(content),
        ContentPart::Own(_) => None,
    }
}
