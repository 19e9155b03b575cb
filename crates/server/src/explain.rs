//! Explains a provider rule or an error code: its meaning, its reason and advice, for the API, MCP and the command
//! line.

use ctx_api::codes;
use ctx_api::explain::{Term, TermKind, Terms};
use ctx_core::ErrorCode;
use ctx_service::nearest;
use ctx_wire::rules;

use crate::local::ControlError;

fn rule(rule: &rules::Rule) -> Term {
    Term {
        name: rule.number.to_owned(),
        kind: TermKind::Rule,
        meaning: rule.name.to_owned(),
        why: Some(rule.why.to_owned()),
        advice: rule.advice.to_owned(),
    }
}

/// The rules in order, then the codes by name.
pub fn known() -> Terms {
    let lists = [codes::CONTROL, codes::MCP, codes::PROXY, codes::SHELL];
    let mut codes: Vec<Term> = lists.into_iter().flatten().map(Term::code).collect();
    codes.sort_by(|one, other| one.name.cmp(&other.name));
    Terms { terms: rules::all().map(rule).chain(codes).collect() }
}

/// The explanation with this name, ignoring case. If there is none, the hint contains the nearest names.
pub fn find<'a>(terms: &'a Terms, name: &str) -> Result<&'a Term, ControlError> {
    let wanted = name.trim();
    let wanted = wanted.strip_prefix("rule ").unwrap_or(wanted);
    terms.terms.iter().find(|term| term.name.eq_ignore_ascii_case(wanted)).ok_or_else(|| {
        let names = terms.terms.iter().map(|term| term.name.as_str());
        let hint = match nearest(wanted, names).as_slice() {
            [] => "Omit the name to list all rules and codes.".to_owned(),
            near => format!("Did you mean {}? Omit the name to list all.", near.join(", ")),
        };
        ControlError::new(ErrorCode::UnknownRule, format!("No rule or error code `{wanted}`."), hint)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_and_every_code_is_explained_with_something_to_do() {
        let terms = known().terms;
        assert_eq!(terms.iter().filter(|term| term.kind == TermKind::Rule).count(), rules::all().count());
        for term in &terms {
            let sentence =
                term.advice.ends_with('.') && term.advice.starts_with(|c: char| c.is_uppercase() || c == 'c');
            assert!(!term.meaning.is_empty() && sentence, "{}", term.name);
        }
    }

    #[test]
    fn a_name_is_found_in_any_case_and_a_wrong_one_gets_the_nearest() {
        let terms = known();
        assert_eq!(find(&terms, "a65").map(|term| term.name.as_str()), Ok("A65"));
        assert_eq!(find(&terms, "rule A65").map(|term| term.name.as_str()), Ok("A65"));
        assert_eq!(find(&terms, "unknown-id").map(|term| term.kind), Ok(TermKind::Code));
        let error = find(&terms, "unknwon-id").expect_err("no such code");
        assert_eq!((error.code, error.status.as_u16()), (ErrorCode::UnknownRule, 404));
        assert!(error.hint.to_string().contains("unknown-id"), "{}", error.hint);
    }
}
