//! The person of the team whom the provider names: found by the account that they signed in with before, else by their
//! name. From the first sign-in on, the account counts and not the name, which people can change at many providers.

use std::collections::BTreeSet;
use std::sync::Arc;

use ctx_core::ErrorCode;

use super::{AllowedAccount, OidcRules, Subject};
use crate::error::TeamError;
use crate::event::{Entry, Event};
use crate::model::{Actor, Person, Role};
use crate::name::{check_group, check_person};
use crate::state::{State, manages};

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
        let link = |person: u32| Step::Change {
            by: person,
            event: Event::PersonLinked { person, issuer: subject.issuer.clone(), subject: subject.id.clone() },
        };
        if let Some(person) = self.allowed_for(subject) {
            return Ok(link(person));
        }
        let name = self.name_at(subject, rules)?;
        if let Ok(person) = self.named(name) {
            return self.check_link(person, subject, rules).map(|()| link(person.id));
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

    /// Whether a name alone makes an account that of a person.
    fn check_link(&self, person: &Person, subject: &Subject, rules: &OidcRules) -> Result<(), TeamError> {
        let name = &person.name;
        if self.is_linked(person.id, &subject.issuer) {
            return Err(refused(
                format!("The name {name} belongs to another account at the identity provider."),
                "If it is the same person, an admin unlinks the old account: `ctx people set NAME --unlink`.",
            ));
        }
        let account = (subject.issuer.clone(), subject.id.clone());
        if self.unlinked.get(&account) == Some(&person.id) {
            return Err(refused(
                format!("An admin unlinked this account from {name}."),
                "If that was a mistake, an admin allows it again: `ctx people set NAME --link ACCOUNT`.",
            ));
        }
        // People can choose their names at many providers, but not their groups.
        let is_vouched_for = rules.decides_roles() && given(subject, rules, Some(person)).0 >= person.role;
        if person.role > Role::Member && !is_vouched_for {
            return Err(refused(
                format!(
                    "The name {name} has the role {} here, so the name alone does not link an account to it.",
                    person.role
                ),
                "If it is the same person, an admin allows the account first, by its id or verified address: \
                 `ctx people set NAME --link ACCOUNT`.",
            ));
        }
        Ok(())
    }

    /// Takes the accounts from a person. The keys and sessions that came through them end.
    pub fn unlink_person(&self, actor: &Actor, name: &str) -> Result<Event, TeamError> {
        manages(actor)?;
        Ok(Event::PersonUnlinked { person: self.named(name)?.id })
    }

    /// Allows the next account with this id or address, or with this name behind `name:`, to be that of a person.
    pub fn allow_account(&self, actor: &Actor, name: &str, account: &str) -> Result<Event, TeamError> {
        /// No provider has longer ids.
        const LONGEST: usize = 255;
        manages(actor)?;
        let person = self.named(name)?.id;
        let account = account.trim();
        let is_empty = AllowedAccount::of(account).is_empty();
        if is_empty || account.len() > LONGEST || account.chars().any(char::is_control) {
            let hint =
                "Give the id or the verified address that the identity provider has for it, or `name:` and its name.";
            return Err(TeamError::refused(ErrorCode::BadRequest, "This names no account.", hint));
        }
        if self.links.values().any(|linked| *linked == person) {
            let message = format!("{name} has an account already.");
            let hint = "Unlink it first: `ctx people set NAME --unlink --link ACCOUNT`.";
            return Err(TeamError::refused(ErrorCode::PersonExists, message, hint));
        }
        Ok(Event::AccountAllowed { person, account: account.to_owned() })
    }

    /// The person for whom an admin allowed this account.
    fn allowed_for(&self, subject: &Subject) -> Option<u32> {
        self.allowed.iter().find(|(account, _)| account.fits(subject)).map(|(_, person)| *person)
    }

    /// The name of an account, as a name in the team: of a person, or fit for a new one.
    fn name_at<'s>(&self, subject: &'s Subject, rules: &OidcRules) -> Result<&'s str, TeamError> {
        let claim = &rules.name_claim;
        let Some(name) = &subject.name else {
            return Err(refused(
                format!("The identity provider does not tell your name: the claim `{claim}` is missing or unverified."),
                "The operator can add a scope, or choose another `name_claim`, under [team.oidc].",
            ));
        };
        if self.named(name).is_err() {
            check_person(name).map_err(|_| {
                refused(
                    format!("The claim `{claim}` contains no name that a person can have here."),
                    "The operator can choose another `name_claim` under [team.oidc].",
                )
            })?;
        }
        Ok(name)
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
    pub(crate) fn was_named(&self, name: &str) -> bool {
        let is_named = |entry: &Entry| matches!(&entry.event, Event::PersonAdded { name: added, .. } if added.eq_ignore_ascii_case(name));
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
        _ => said().filter(|group| check_group(group).is_ok()).take(MOST_GROUPS).cloned().collect(),
    };
    (role, groups)
}

fn refused(message: impl Into<String>, hint: &str) -> TeamError {
    TeamError::refused(ErrorCode::IdentityRefused, message, hint)
}
