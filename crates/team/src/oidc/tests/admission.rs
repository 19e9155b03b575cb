//! From an account at the provider to a person of the team.

use std::collections::BTreeSet;

use ctx_core::ErrorCode;

use super::*;
use crate::{Actor, Entry, Event, KeyText, NewKey, Role, State, TeamError};

struct Team {
    state: State,
    rules: OidcRules,
}

fn set(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

fn account(id: &str, name: &str, groups: Option<&[&str]>) -> Subject {
    let (issuer, groups) = (ISSUER.to_owned(), groups.map(set));
    Subject { issuer, id: id.to_owned(), name: Some(name.to_owned()), address: None, groups }
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

    fn unlink(&mut self, name: &str) {
        let unlinked = self.state.unlink_person(&Actor::OPERATOR, name).expect("unlinked");
        self.take(0, unlinked);
    }

    fn allow(&mut self, name: &str, account: &str) -> Result<(), TeamError> {
        let allowed = self.state.allow_account(&Actor::OPERATOR, name, account)?;
        self.take(0, allowed);
        Ok(())
    }

    fn set_role(&mut self, name: &str, role: Role) {
        let changed = self.state.change_person(&Actor::OPERATOR, name, Some(role), None).expect("changed");
        self.take(0, changed);
    }

    fn key(&mut self, by: &Actor) -> KeyText {
        let text = KeyText::generate().expect("random");
        let made = self.state.make_key(by, 1, &text, &NewKey::default()).expect("made");
        self.take(by.id, made);
        text
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
    team.unlink("anna");
    assert!(team.refusal(&account("a-1", "anna", None)).contains("unlinked this account from anna"));
    assert_eq!(team.sign_in(&account("b-2", "anna", None)).expect("anna"), ("anna".to_owned(), 1));
    assert!(team.refusal(&account("a-1", "anna", None)).contains("another account"));
    let member = Actor { id: 1, role: Role::Member, ..Actor::OPERATOR };
    assert!(team.state.unlink_person(&member, "anna").is_err());
}

#[test]
fn a_name_alone_makes_no_account_that_of_an_admin_or_auditor() {
    for role in [Role::Admin, Role::Auditor] {
        let mut team = Team::new(rules());
        team.set_role("anna", role);
        assert!(team.refusal(&account("x-9", "anna", None)).contains("name alone does not link"), "{role}");
        let member = Actor { id: 1, role: Role::Member, ..Actor::OPERATOR };
        assert!(team.state.allow_account(&member, "anna", "anna").is_err());
        for account in ["", " ", "a\nb", "name:", "id: "] {
            assert!(team.allow("anna", account).is_err(), "{account:?}");
        }
        team.allow("anna", "a-1").expect("allowed");
        assert!(team.refusal(&account("x-9", "anna", None)).contains("name alone"), "the id is another");
        assert_eq!(team.sign_in(&account("a-1", "anna@example.com", None)).expect("anna"), ("anna".to_owned(), 1));
        assert!(team.allow("anna", "x-9").is_err(), "she has an account");
        assert!(team.refusal(&account("x-9", "anna", None)).contains("another account"));
    }
}

#[test]
fn an_allowance_by_id_or_address_fits_no_name_that_an_account_chose() {
    let claimed = |id: &str, name: &str, address: Option<(&str, bool)>| {
        let mut claims = serde_json::json!({"sub": id, "preferred_username": name});
        if let Some((address, is_verified)) = address {
            claims["email"] = address.into();
            claims["email_verified"] = is_verified.into();
        }
        Claims(claims.as_object().expect("an object").clone()).subject(&rules())
    };
    let allowing = |account: &str| {
        let mut team = Team::new(rules());
        team.set_role("anna", Role::Admin);
        team.allow("anna", account).expect("allowed");
        team
    };
    const ADDRESS: &str = "anna@example.com";
    for (account, subject) in [
        ("a-1", claimed("x-9", "a-1", None)),
        ("id:a-1", claimed("x-9", "id:a-1", None)),
        ("a-1", claimed("x-9", "anna", Some(("a-1", true)))),
        (ADDRESS, claimed("x-9", ADDRESS, None)),
        (ADDRESS, claimed("x-9", ADDRESS, Some((ADDRESS, false)))),
        (ADDRESS, claimed("x-9", ADDRESS, Some(("mallory@example.com", true)))),
        (ADDRESS, claimed(ADDRESS, "anna", None)),
        ("anna", claimed("x-9", "anna", None)),
        ("name:anna", claimed("name:anna", "mallory", Some(("anna", true)))),
    ] {
        allowing(account).refusal(&subject);
    }
    for (account, subject) in [
        ("a-1", claimed("a-1", "any", None)),
        ("id:a@1", claimed("a@1", "any", None)),
        (ADDRESS, claimed("a-1", "any", Some((ADDRESS, true)))),
        ("name:anna", claimed("a-1", "anna", None)),
    ] {
        let (name, _) = allowing(account).sign_in(&subject).expect(account);
        assert_eq!(name, "anna", "{account}");
    }
}

#[test]
fn a_provider_that_decides_roles_vouches_for_its_admins() {
    let mut team =
        Team::new(OidcRules { groups_claim: Some("groups".to_owned()), admin_groups: set(&["root"]), ..rules() });
    team.set_role("anna", Role::Admin);
    assert!(team.refusal(&account("x-9", "anna", Some(&["staff"]))).contains("name alone"));
    team.sign_in(&account("a-1", "anna", Some(&["root"]))).expect("anna");
}

#[test]
fn unlinking_ends_the_keys_and_sessions_that_came_through_the_account() {
    let mut team = Team::new(rules());
    team.sign_in(&account("a-1", "anna", None)).expect("anna");
    let own = Actor { id: 1, role: Role::Member, ..Actor::OPERATOR };
    let by_account = Actor { by_account: true, ..own.clone() };
    let (kept, ended) = (team.key(&own), team.key(&by_account));
    let unlinks = team.state.unlinks(1);
    team.unlink("anna");
    let is_valid = |team: &Team, key: &KeyText| team.state.holder(&key.hash(), 0).is_some();
    assert!(is_valid(&team, &kept) && !is_valid(&team, &ended));
    assert_eq!(team.state.unlinks(1), unlinks + 1);
    // The account comes back only if an admin allows it.
    assert!(team.refusal(&account("a-1", "anna", None)).contains("unlinked"));
    team.allow("anna", "a-1").expect("allowed");
    assert_eq!(team.sign_in(&account("a-1", "anna", None)).expect("anna"), ("anna".to_owned(), 1));
    let again = team.key(&by_account);
    assert!(is_valid(&team, &again) && !is_valid(&team, &ended));
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
