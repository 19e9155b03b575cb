//! What a rule of the provider or an error code means, why it exists and what to do: one answer for the API, MCP and the
//! command line.

use ctx_composer::nearest;
use ctx_wire::rules;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::codes;
use crate::local::ControlError;

/// What a name stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum TermKind {
    /// A rule of the provider, which a repair or a refusal names.
    Rule,
    /// An error code of the control API, the proxy, the MCP server or the command line.
    Code,
}

/// A rule or an error code, explained.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Term {
    /// A number such as `A30`, or a code such as `unknown-id`.
    pub name: String,
    pub kind: TermKind,
    pub meaning: String,
    /// Why the provider has the rule and what happens otherwise; codes have none.
    #[serde(default)]
    pub why: Option<String>,
    /// What to do about it.
    pub advice: String,
}

/// All rules and error codes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Terms {
    pub terms: Vec<Term>,
}

impl Term {
    pub fn code(name: &str, meaning: &str, advice: &str) -> Term {
        let (name, meaning, advice) = (name.to_owned(), meaning.to_owned(), advice.to_owned());
        Term { name, kind: TermKind::Code, meaning, why: None, advice }
    }
}

impl From<&rules::Rule> for Term {
    fn from(rule: &rules::Rule) -> Term {
        Term {
            name: rule.number.to_owned(),
            kind: TermKind::Rule,
            meaning: rule.name.to_owned(),
            why: Some(rule.why.to_owned()),
            advice: rule.advice.to_owned(),
        }
    }
}

impl Terms {
    /// The rules in order, then the codes of the daemon by name.
    pub fn known() -> Terms {
        let api = codes::API.iter().map(|code| Term::code(code.code, code.meaning, code.advice));
        let others = codes::MCP.iter().chain(codes::PROXY);
        let others = others.map(|other| Term::code(other.code, other.meaning, other.advice));
        let mut codes: Vec<Term> = api.chain(others).collect();
        codes.sort_by(|one, other| one.name.cmp(&other.name));
        Terms { terms: rules::all().map(Term::from).chain(codes).collect() }
    }

    /// The one with this name, whatever its case. Where there is none, the nearest names are in the hint.
    pub fn find(&self, name: &str) -> Result<&Term, ControlError> {
        let wanted = name.trim();
        let wanted = wanted.strip_prefix("rule ").unwrap_or(wanted);
        self.terms.iter().find(|term| term.name.eq_ignore_ascii_case(wanted)).ok_or_else(|| {
            let names = self.terms.iter().map(|term| term.name.as_str());
            let hint = match nearest(wanted, names).as_slice() {
                [] => "Without a name, all rules and codes are listed.".to_owned(),
                near => format!("Did you mean {}? Without a name, all are listed.", near.join(", ")),
            };
            ControlError::new("unknown-rule", format!("There is no rule and no error code `{wanted}`."), hint)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_and_every_code_is_explained_with_something_to_do() {
        let terms = Terms::known().terms;
        assert_eq!(terms.iter().filter(|term| term.kind == TermKind::Rule).count(), rules::all().count());
        for term in &terms {
            let sentence =
                term.advice.ends_with('.') && term.advice.starts_with(|c: char| c.is_uppercase() || c == 'c');
            assert!(!term.meaning.is_empty() && sentence, "{}", term.name);
        }
    }

    #[test]
    fn a_name_is_found_in_any_case_and_a_wrong_one_gets_the_nearest() {
        let terms = Terms::known();
        assert_eq!(terms.find("a65").map(|term| term.name.as_str()), Ok("A65"));
        assert_eq!(terms.find("rule A65").map(|term| term.name.as_str()), Ok("A65"));
        assert_eq!(terms.find("unknown-id").map(|term| term.kind), Ok(TermKind::Code));
        let error = terms.find("unknwon-id").expect_err("no such code");
        assert_eq!((error.code, error.status.as_u16()), ("unknown-rule", 404));
        assert!(error.hint.contains("unknown-id"), "{}", error.hint);
    }
}
