//! From an account at the provider to a person of the team.

use std::collections::BTreeSet;

use ctx_core::ErrorCode;

use super::*;
use crate::{Actor, Entry, Event, Role, Scopes, State, TeamError};

struct Team {
    state: State,
    rules: OidcRules,
}

fn set(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

fn account(id: &str, name: &str, groups: Option<&[&str]>) -> Subject {
    Subject { issuer: ISSUER.to_owned(), id: id.to_owned(), name: Some(name.to_owned()), groups: groups.map(set) }
}

impl Team {
    fn new(rules: OidcRules) -> Team {
        let mut team = Team { state: State::default(), rules };
        let added = team.state.add_person(&Actor::OPERATOR, "anna", Role::Member, set(&["old"])).expect("added");
        team.take(0, added);
        team
    }

    fn take(&mut self, by: u32, event: Event) {
        let seq = self.state.entries().len() as u64 + 1;
        self.state.take(Entry { seq, at: seq, by, event });
    }

    /// Signs in with all its steps; returns the name, and the number of steps.
    fn sign_in(&mut self, subject: &Subject) -> Result<(String, usize), TeamError> {
        for steps in 0..10 {
            match self.state.sign_in(subject, &self.rules)? {
                Step::Known(person) => return Ok((person.name.clone(), steps)),
                Step::Change { by, event } => self.take(by, event),
            }
        }
        panic!("it never ends");
    }

    fn refusal(&mut self, subject: &Subject) -> String {
        let TeamError::Refused { code, message, hint } = self.sign_in(subject).expect_err("refused") else {
            panic!("a refusal");
        };
        assert_eq!(code, ErrorCode::IdentityRefused);
        assert!(hint.ends_with('.'), "{hint}");
        message
    }

    fn person(&self, name: &str) -> (Role, Vec<String>) {
        let person = self.state.named(name).expect("known");
        (person.role, person.groups.iter().cloned().collect())
    }
}

#[test]
fn a_person_is_found_by_name_once_and_by_their_account_ever_after() {
    let mut team = Team::new(rules());
    assert_eq!(team.sign_in(&account("a-1", "anna", None)).expect("anna"), ("anna".to_owned(), 1));
    assert_eq!(team.sign_in(&account("a-1", "anna", None)).expect("anna"), ("anna".to_owned(), 0));
    // A new name at the provider changes nothing, and nobody else gets in under the old one.
    assert_eq!(team.sign_in(&account("a-1", "anne", None)).expect("anna"), ("anna".to_owned(), 0));
    assert!(team.refusal(&account("b-2", "anna", None)).contains("another account"));
    assert_eq!(team.person("anna"), (Role::Member, vec!["old".to_owned()]), "nothing is taken over without a claim");
    let unlinked = team.state.unlink_person(&Actor::OPERATOR, "anna").expect("unlinked");
    team.take(0, unlinked);
    assert_eq!(team.sign_in(&account("b-2", "anna", None)).expect("anna"), ("anna".to_owned(), 1));
    assert!(team.refusal(&account("a-1", "anna", None)).contains("another account"));
    let member = Actor { id: 1, role: Role::Member, scopes: Scopes::ALL, expires_at: None };
    assert!(team.state.unlink_person(&member, "anna").is_err());
}

#[test]
fn unknown_people_are_refused_or_added_as_the_rules_say() {
    let mut team = Team::new(rules());
    assert!(team.refusal(&account("b-2", "bob", None)).contains("No person of this team is called bob"));
    team.rules.adds_people = true;
    assert_eq!(team.sign_in(&account("b-2", "bob", None)).expect("bob"), ("bob".to_owned(), 2));
    assert_eq!(team.person("bob"), (Role::Member, vec![]));
    for name in ["operator", "a b", "<script>", ""] {
        assert!(team.sign_in(&account("c-3", name, None)).is_err(), "{name}");
    }
    let nameless = Subject { name: None, ..account("c-3", "", None) };
    assert!(team.refusal(&nameless).contains("`preferred_username`"));
}

#[test]
fn a_removed_person_does_not_come_back_by_signing_in() {
    let mut team = Team::new(OidcRules { adds_people: true, ..rules() });
    team.sign_in(&account("a-1", "anna", None)).expect("anna");
    let removed = team.state.remove_person(&Actor::OPERATOR, "anna").expect("removed");
    team.take(0, removed);
    for subject in [account("a-1", "anna", None), account("a-1", "anne", None), account("b-2", "anna", None)] {
        assert!(team.refusal(&subject).contains("was removed"), "{subject:?}");
    }
    let added = team.state.add_person(&Actor::OPERATOR, "anna", Role::Member, set(&[])).expect("added");
    team.take(0, added);
    team.sign_in(&account("a-1", "anna", None)).expect("an admin has let her in again");
}

#[test]
fn groups_and_roles_follow_the_provider_if_it_tells_them() {
    let mut team = Team::new(OidcRules {
        groups_claim: Some("groups".to_owned()),
        allowed_groups: set(&["staff"]),
        admin_groups: set(&["root"]),
        auditor_groups: set(&["audit"]),
        ..rules()
    });
    let told = |groups: &[&str]| account("a-1", "anna", Some(groups));
    assert!(team.refusal(&told(&["root"])).contains("None of your groups"));
    assert!(team.refusal(&account("a-1", "anna", None)).contains("None of your groups"), "silence is no group");
    team.sign_in(&told(&["staff", "audit", "/a path"])).expect("anna");
    assert_eq!(team.person("anna"), (Role::Auditor, vec!["audit".to_owned(), "staff".to_owned()]));
    team.sign_in(&told(&["staff", "audit", "root"])).expect("anna");
    assert_eq!(team.person("anna").0, Role::Admin);
    team.sign_in(&told(&["staff"])).expect("anna");
    assert_eq!(team.person("anna"), (Role::Member, vec!["staff".to_owned()]));
    // The token of a program is checked, and changes nothing.
    let step = team.state.admit(&told(&["staff", "root"]), &team.rules).expect("anna");
    assert!(matches!(step, Step::Known(person) if person.role == Role::Member));
    assert!(team.state.admit(&told(&["other"]), &team.rules).is_err());
}
