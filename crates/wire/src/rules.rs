//! The providers' rules by number: the requirement, the repair by `ctx`, and advice. Repairs and refusals name a rule
//! by its number; [`named`] adds its name, and `ctx explain` prints the whole entry. Every wire has its own numbers.

mod entry;

pub use entry::Rule;
pub(crate) use entry::rule;

use crate::{anthropic, chat, gemini, responses};

/// Rules that the formats of OpenAI and Google share.
const SHARED: &[Rule] = &[
    rule(
        "X1",
        "a tool call and its result go together",
        "The provider refuses a call without a result, a result without a call, and messages between the two.",
        "ctx removes the other half, or moves results behind their calls. To keep a call, clear its result instead.",
    ),
    rule(
        "X2",
        "a request ends with a question",
        "The model answers the user's words or tool results that come last. Many servers refuse anything else.",
        "ctx keeps the newest message. Nothing to do.",
    ),
    rule(
        "X3",
        "no message is empty",
        "Providers refuse empty messages and empty parts.",
        "ctx leaves an empty message out. Give the edit a text, or delete the message.",
    ),
    rule(
        "X5",
        "a tool is a definition of the same format",
        "The provider reads tool definitions in its own format only.",
        "ctx leaves the definition out. Copy the form that `ctx show tools --raw` prints.",
    ),
];

/// All rules that a repair, a refusal or the documentation names, in order.
pub fn all() -> impl Iterator<Item = &'static Rule> {
    let lists = [anthropic::rules::RULES, chat::rules::RULES, responses::rules::RULES, gemini::rules::RULES, SHARED];
    lists.into_iter().flatten()
}

/// The rule with this number, whatever its case.
pub fn find(number: &str) -> Option<&'static Rule> {
    all().find(|rule| rule.number.eq_ignore_ascii_case(number))
}

/// A rule's number with its name: `A30 (every tool call has its result)`.
pub fn named(number: &str) -> String {
    match find(number) {
        Some(rule) => format!("{} ({})", rule.number, rule.name),
        None => number.to_owned(),
    }
}

/// Adds the rule's name to every `rule A30` in a sentence.
pub fn spelled_out(text: &str) -> String {
    const WORD: &str = "rule ";
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(WORD) {
        let from = at + WORD.len();
        let length = rest[from..].find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(rest.len() - from);
        out.push_str(&rest[..from]);
        out.push_str(&named(&rest[from..from + length]));
        rest = &rest[from + length..];
        // A processed text already has the name.
        if let Some(name) = out.strip_suffix(')').and_then(|out| Some(&out[out.rfind('(')?..]))
            && rest.strip_prefix(' ').is_some_and(|rest| rest.starts_with(name))
        {
            rest = &rest[name.len() + 2..];
        }
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests;
