//! The person of the team whom the provider names: found by the account that they signed in with before, else by their
//! name. From the first sign-in on, the account counts and not the name, which people can change at many providers.

use std::collections::BTreeSet;
use std::sync::Arc;

use ctx_core::ErrorCode;

use super::{OidcRules, Subject};
use crate::error::TeamError;
use crate::event::{Entry, Event};
use crate::model::{Actor, Person, Role};
use crate::state::{State, check_name, manages};

/// More groups of one person are not stored.
const MOST_GROUPS: usize = 100;

/// The next step towards a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    Known(Arc<Person>),
    /// This must be stored first. Its maker is the person themselves.
    Change {
        by: u32,
        event: Event,
    },
}

impl State {
    /// The person who signs in. Their groups, and their role if the provider decides it, follow the provider.
    pub fn sign_in(&self, subject: &Subject, rules: &OidcRules) -> Result<Step, TeamError> {
        let person = match self.admit(subject, rules)? {
            Step::Known(person) => person,
            change => return Ok(change),
        };
        let (role, groups) = given(subject, rules, Some(&person));
        if (role, &groups) == (person.role, &person.groups) {
            return Ok(Step::Known(person));
        }
        Ok(Step::Change { by: person.id, event: Event::PersonChanged { person: person.id, role, groups } })
    }

    /// The person of a token that a program sends. It changes neither role nor groups: two tokens of different age
    /// would undo each other.
    pub fn admit(&self, subject: &Subject, rules: &OidcRules) -> Result<Step, TeamError> {
        check_groups(subject, rules)?;
        let linked = self.linked(&subject.issuer, &subject.id);
        if let Some(person) = linked.and_then(|id| self.person(id)) {
            return Ok(Step::Known(person.clone()));
        }
        let name = named(subject, rules)?;
        let link = |person: u32| Step::Change {
            by: person,
            event: Event::PersonLinked { person, issuer: subject.issuer.clone(), subject: subject.id.clone() },
        };
        if let Ok(person) = self.named(name) {
            if self.is_linked(person.id, &subject.issuer) {
                return Err(refused(
                    format!("The name {name} belongs to another account at the identity provider."),
                    "If it is the same person, an admin unlinks the old account: `ctx people set NAME --unlink`.",
                ));
            }
            return Ok(link(person.id));
        }
        if linked.is_some() || self.was_named(name) {
            return Err(refused(
                format!("{name} was removed from this team."),
                "If that was a mistake, an admin adds them again: `ctx people add NAME`.",
            ));
        }
        if !rules.adds_people {
            return Err(refused(
                format!("No person of this team is called {name}."),
                "An admin adds people with `ctx people add NAME`.",
            ));
        }
        let (role, groups) = given(subject, rules, None);
        let (by, event) = self.new_person(name, role, groups)?;
        Ok(Step::Change { by, event })
    }

    /// Lets another account of the identity provider take the place of the one that a person signed in with.
    pub fn unlink_person(&self, actor: &Actor, name: &str) -> Result<Event, TeamError> {
        manages(actor)?;
        Ok(Event::PersonUnlinked { person: self.named(name)?.id })
    }

    /// The person who signed in with an account of an identity provider, present or removed.
    fn linked(&self, issuer: &str, subject: &str) -> Option<u32> {
        self.links.get(&(issuer.to_owned(), subject.to_owned())).copied()
    }

    /// Whether a person has signed in with any account of this provider.
    fn is_linked(&self, person: u32, issuer: &str) -> bool {
        self.links.iter().any(|((of, _), linked)| of == issuer && *linked == person)
    }

    /// Whether anyone ever had this name.
    fn was_named(&self, name: &str) -> bool {
        let is_named = |entry: &Entry| matches!(&entry.event, Event::PersonAdded { name: added, .. } if added == name);
        self.entries().iter().any(is_named)
    }
}

fn check_groups(subject: &Subject, rules: &OidcRules) -> Result<(), TeamError> {
    let groups = subject.groups.iter().flatten();
    if rules.allowed_groups.is_empty() || groups.into_iter().any(|group| rules.allowed_groups.contains(group)) {
        return Ok(());
    }
    Err(refused(
        "None of your groups at the identity provider may use this team's daemon.",
        "Ask an admin which group you need. If you have just joined one, sign out at the identity provider first.",
    ))
}

/// A name that fits, so it may be shown and stored.
fn named<'s>(subject: &'s Subject, rules: &OidcRules) -> Result<&'s str, TeamError> {
    let claim = &rules.name_claim;
    let Some(name) = &subject.name else {
        return Err(refused(
            format!("The identity provider does not tell your name: the claim `{claim}` is missing or unverified."),
            "The operator can add a scope, or choose another `name_claim`, under [team.oidc].",
        ));
    };
    check_name("person", name).map_err(|_| {
        refused(
            format!("The claim `{claim}` has characters that a name here cannot have."),
            "The operator can choose another `name_claim` under [team.oidc].",
        )
    })?;
    Ok(name)
}

/// The role and the groups from now on.
fn given(subject: &Subject, rules: &OidcRules, person: Option<&Person>) -> (Role, BTreeSet<String>) {
    let said = || subject.groups.iter().flatten();
    let is_any = |of: &BTreeSet<String>| said().any(|group| of.contains(group));
    let role = match person {
        Some(person) if !rules.decides_roles() => person.role,
        _ if is_any(&rules.admin_groups) => Role::Admin,
        _ if is_any(&rules.auditor_groups) => Role::Auditor,
        _ => Role::Member,
    };
    let groups = match person {
        Some(person) if rules.groups_claim.is_none() => person.groups.clone(),
        _ => said().filter(|group| check_name("group", group).is_ok()).take(MOST_GROUPS).cloned().collect(),
    };
    (role, groups)
}

fn refused(message: impl Into<String>, hint: &str) -> TeamError {
    TeamError::refused(ErrorCode::IdentityRefused, message, hint)
}
