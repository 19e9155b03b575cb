//! The state of a team: the fold of its log, and every decision about it. Pure.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use ctx_core::ErrorCode;
use ctx_store::Hash;

use crate::error::TeamError;
use crate::event::{Entry, Event};
use crate::key::KeyText;
use crate::login::DecidedLogin;
use crate::model::{Access, Actor, Deed, Glass, Grantee, Key, Notice, Person, Role, Share};
use crate::name::{check_group, check_person};
use crate::oidc::AllowedAccount;
use crate::scope::Scopes;

/// The duration of an access that a person opened with a reason, in milliseconds.
pub const GLASS_LIFETIME: u64 = 60 * 60 * 1000;

const LONGEST_LABEL: usize = 64;
const LONGEST_REASON: usize = 1000;

/// Behind a person's name, the author of what their agent edits.
pub const AGENT: &str = " (agent)";

#[derive(Debug, Clone, Default)]
pub struct State {
    /// The number of the last record in the log.
    pub(crate) version: u64,
    people: BTreeMap<u32, Arc<Person>>,
    keys: BTreeMap<String, Arc<Key>>,
    by_hash: HashMap<Hash, Arc<Key>>,
    shares: Vec<Share>,
    glasses: Vec<Glass>,
    /// Sessions of the page that ended before their time.
    ended_sessions: BTreeSet<String>,
    /// Logins of machines that a person decided, by the hash of their code.
    pub(crate) logins: BTreeMap<String, DecidedLogin>,
    entries: Vec<Entry>,
    /// Includes removed people, whose numbers are not reused.
    last_person: u32,
    /// Accounts of identity providers, as (issuer, subject), also of removed people.
    pub(crate) links: BTreeMap<(String, String), u32>,
    /// Those that an admin unlinked.
    pub(crate) unlinked: BTreeMap<(String, String), u32>,
    /// How often the accounts of a person were unlinked.
    unlinks: BTreeMap<u32, u64>,
    /// Accounts that an admin allows for a person.
    pub(crate) allowed: BTreeMap<AllowedAccount, u32>,
}

/// A key to be made.
#[derive(Debug, Clone, Default)]
pub struct NewKey {
    pub label: String,
    pub expires_at: Option<u64>,
    /// The login that it is made for.
    pub login: Option<String>,
    /// Those of the maker's key by default.
    pub scopes: Option<Scopes>,
}

impl State {
    pub fn of(entries: impl IntoIterator<Item = Entry>) -> State {
        let mut state = State::default();
        entries.into_iter().for_each(|entry| state.take(entry));
        state
    }

    pub(crate) fn take(&mut self, entry: Entry) {
        self.version = self.version.max(entry.seq);
        match &entry.event {
            Event::PersonAdded { person, name, role, groups } => {
                self.last_person = self.last_person.max(*person);
                let added = Person { id: *person, name: name.clone(), role: *role, groups: groups.clone() };
                self.people.insert(*person, Arc::new(added));
            }
            Event::PersonChanged { person, role, groups } => {
                if let Some(known) = self.people.get_mut(person) {
                    *known = Arc::new(Person { role: *role, groups: groups.clone(), ..(**known).clone() });
                }
            }
            Event::PersonRemoved { person } => self.remove(*person),
            Event::KeyMade { key, person, hash, shown, label, expires_at, login, scopes, by_account } => {
                if let Some(login) = login
                    && let Some(used) = self.logins.get_mut(login)
                {
                    used.is_used = true;
                }
                let Ok(hash) = hash.parse::<Hash>() else { return };
                let made = Arc::new(Key {
                    id: key.clone(),
                    person: *person,
                    hash,
                    shown: shown.clone(),
                    label: label.clone(),
                    made_at: entry.at,
                    expires_at: *expires_at,
                    scopes: *scopes,
                    revoked_at: None,
                    made_by: entry.by,
                    by_account: *by_account,
                });
                self.by_hash.insert(hash, made.clone());
                self.keys.insert(key.clone(), made);
            }
            Event::KeyRevoked { key } => self.revoke(key, entry.at),
            Event::Shared { owner, conversation, with, access } => {
                self.unshare(*owner, conversation, with);
                let (conversation, with) = (conversation.clone(), with.clone());
                self.shares.push(Share { owner: *owner, conversation, with, access: *access, at: entry.at });
            }
            Event::Unshared { owner, conversation, with } => self.unshare(*owner, conversation, with),
            Event::AccessEnded { owner, conversations } => {
                let is_gone = |of: u32, id: &str| of == *owner && conversations.contains(id);
                self.shares.retain(|share| !is_gone(share.owner, &share.conversation));
                self.glasses.retain(|glass| !is_gone(glass.owner, &glass.conversation));
            }
            Event::GlassBroken { owner, conversation, reason, until } => self.glasses.push(Glass {
                owner: *owner,
                conversation: conversation.clone(),
                by: entry.by,
                reason: reason.clone(),
                at: entry.at,
                until: *until,
            }),
            Event::PersonLinked { person, issuer, subject } => {
                let account = (issuer.clone(), subject.clone());
                self.unlinked.remove(&account);
                self.links.insert(account, *person);
                self.allowed.retain(|_, of| of != person);
            }
            Event::PersonUnlinked { person } => self.unlink(*person, entry.at),
            Event::AccountAllowed { person, account } => {
                self.allowed.insert(AllowedAccount::of(account), *person);
            }
            Event::SignedOut { session, .. } => {
                self.ended_sessions.insert(session.clone());
            }
            Event::LoginApproved { person, login, device, machine, .. }
            | Event::LoginRefused { person, login, device, machine } => {
                let (scopes, expires_at, by_account) = match &entry.event {
                    Event::LoginApproved { scopes, expires_at, by_account, .. } => {
                        (Some(*scopes), *expires_at, *by_account)
                    }
                    _ => (None, None, false),
                };
                let decided = DecidedLogin {
                    person: *person,
                    device: device.clone(),
                    machine: machine.clone(),
                    at: entry.at,
                    scopes,
                    expires_at,
                    is_used: false,
                    by_account,
                };
                self.logins.insert(login.clone(), decided);
            }
            Event::SignedIn { .. } | Event::Taken { .. } => {}
        }
        self.entries.push(entry);
    }

    fn remove(&mut self, person: u32) {
        self.people.remove(&person);
        self.by_hash.retain(|_, key| key.person != person);
        self.keys.retain(|_, key| key.person != person);
        self.shares.retain(|share| share.owner != person && share.with != Grantee::Person(person));
        self.glasses.retain(|glass| glass.by != person);
        self.allowed.retain(|_, of| *of != person);
    }

    /// Ends what came through the accounts of a person.
    fn unlink(&mut self, person: u32, at: u64) {
        let (gone, kept) = std::mem::take(&mut self.links).into_iter().partition(|(_, linked)| *linked == person);
        self.links = kept;
        self.unlinked.extend::<BTreeMap<_, _>>(gone);
        self.allowed.retain(|_, of| *of != person);
        *self.unlinks.entry(person).or_default() += 1;
        let is_open = |key: &&Arc<Key>| key.person == person && key.by_account && key.revoked_at.is_none();
        let keys: Vec<String> = self.keys.values().filter(is_open).map(|key| key.id.clone()).collect();
        keys.iter().for_each(|key| self.revoke(key, at));
        // A machine that has not taken its key yet gets none.
        let approved = self.logins.values_mut().filter(|login| login.person == person && login.by_account);
        approved.for_each(|login| login.is_used = true);
    }

    fn revoke(&mut self, id: &str, at: u64) {
        if let Some(key) = self.keys.get_mut(id) {
            self.by_hash.remove(&key.hash);
            *key = Arc::new(Key { revoked_at: Some(at), ..(**key).clone() });
        }
    }

    fn unshare(&mut self, owner: u32, conversation: &str, with: &Grantee) {
        self.shares.retain(|share| share.owner != owner || share.conversation != conversation || share.with != *with);
    }

    /// The whole log, oldest first.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    pub fn people(&self) -> impl Iterator<Item = &Arc<Person>> {
        self.people.values()
    }

    /// The numbers of all people who ever were in the team.
    pub fn everyone(&self) -> BTreeSet<u32> {
        let added = |entry: &Entry| match entry.event {
            Event::PersonAdded { person, .. } => Some(person),
            _ => None,
        };
        self.entries.iter().filter_map(added).collect()
    }

    pub fn person(&self, id: u32) -> Option<&Arc<Person>> {
        self.people.get(&id)
    }

    pub fn named(&self, name: &str) -> Result<&Arc<Person>, TeamError> {
        let found = self.people.values().find(|person| person.name == name);
        found.ok_or_else(|| {
            let message = format!("No person is called `{name}`.");
            TeamError::refused(ErrorCode::UnknownPerson, message, "The list of people has all names.")
        })
    }

    /// The name to show for a number, also of a person who was removed.
    pub fn name_of(&self, id: u32) -> String {
        if id == Actor::OPERATOR.id {
            return Actor::OPERATOR_NAME.to_owned();
        }
        let added = self.entries.iter().find_map(|entry| match &entry.event {
            Event::PersonAdded { person, name, .. } if *person == id => Some(name.clone()),
            _ => None,
        });
        added.unwrap_or_else(|| format!("#{id}"))
    }

    /// All keys of present people, revoked ones included.
    pub fn keys(&self) -> impl Iterator<Item = &Arc<Key>> {
        self.keys.values()
    }

    /// The valid key with this hash, and its person.
    pub fn holder(&self, hash: &Hash, now: u64) -> Option<(&Arc<Key>, &Arc<Person>)> {
        let key = self.by_hash.get(hash).filter(|key| key.expires_at.is_none_or(|end| now < end))?;
        Some((key, self.people.get(&key.person)?))
    }

    /// A valid key by its id, and its person.
    pub fn holder_of(&self, id: &str, now: u64) -> Option<(&Arc<Key>, &Arc<Person>)> {
        self.holder(&self.keys.get(id)?.hash, now)
    }

    /// How often the accounts of a person were unlinked: their sessions from before are over.
    pub fn unlinks(&self, person: u32) -> u64 {
        self.unlinks.get(&person).copied().unwrap_or_default()
    }

    /// Whether a session of the page was ended.
    pub fn is_ended(&self, session: &str) -> bool {
        self.ended_sessions.contains(session)
    }

    pub fn shares(&self) -> &[Share] {
        &self.shares
    }

    pub fn shares_of(&self, owner: u32, conversation: &str) -> impl Iterator<Item = &Share> {
        self.shares.iter().filter(move |share| share.owner == owner && share.conversation == conversation)
    }

    /// Those of these conversations that others may open, or could.
    pub fn opened_to_others(&self, owner: u32, conversations: &[String]) -> BTreeSet<String> {
        let shared = self.shares.iter().filter(|share| share.owner == owner).map(|share| &share.conversation);
        let opened = self.glasses.iter().filter(|glass| glass.owner == owner).map(|glass| &glass.conversation);
        let open: BTreeSet<&String> = shared.chain(opened).collect();
        conversations.iter().filter(|id| open.contains(id)).cloned().collect()
    }

    /// The conversations of others that a person may open now, as (owner, conversation, access).
    pub fn open_to(&self, person: u32, now: u64) -> Vec<(u32, &str, Access)> {
        let groups = self.people.get(&person).map(|person| &person.groups);
        let is_mine = |with: &Grantee| match with {
            Grantee::Person(id) => *id == person,
            Grantee::Group(name) => groups.is_some_and(|groups| groups.contains(name)),
        };
        let shared = self.shares.iter().filter(|share| share.owner != person && is_mine(&share.with));
        let shared = shared.map(|share| (share.owner, share.conversation.as_str(), share.access));
        // What a role has opened ends with it.
        let audits = person == Actor::OPERATOR.id || self.people.get(&person).is_some_and(|one| one.role.audits());
        let opened = self.glasses.iter().filter(|glass| audits && glass.by == person && now < glass.until);
        let opened = opened.map(|glass| (glass.owner, glass.conversation.as_str(), Access::Look));
        let mut all: BTreeMap<(u32, &str), Access> = BTreeMap::new();
        for (owner, conversation, access) in shared.chain(opened) {
            let most = all.entry((owner, conversation)).or_insert(access);
            *most = access.max(*most);
        }
        all.into_iter().map(|((owner, conversation), access)| (owner, conversation, access)).collect()
    }

    /// Whether an author may edit a conversation now. Only people can lose that: others write on behalf of its owner.
    pub fn may_edit(&self, (owner, conversation): (u32, &str), author: &str, now: u64) -> bool {
        let name = author.strip_suffix(AGENT).unwrap_or(author);
        if name == self.name_of(owner) {
            return true;
        }
        match self.named(name) {
            Ok(person) => self.open_to(person.id, now).contains(&(owner, conversation, Access::Edit)),
            Err(_) => !self.was_named(name),
        }
    }

    /// The conversations that people may edit as guests, as (owner, conversation, person).
    pub fn edited_by_guests(&self) -> BTreeSet<(u32, String, u32)> {
        let is_guest = |share: &Share, person: &Person| match &share.with {
            Grantee::Person(id) => person.id == *id,
            Grantee::Group(name) => person.id != share.owner && person.groups.contains(name),
        };
        let guests = |share: &Share| {
            let guests = self.people.values().filter(|person| is_guest(share, person));
            guests.map(|person| (share.owner, share.conversation.clone(), person.id)).collect::<Vec<_>>()
        };
        self.shares.iter().filter(|share| share.access == Access::Edit).flat_map(guests).collect()
    }

    /// What others did without asking a person, newest first: looks at their conversations, keys in their name, and
    /// accounts that may sign in as them.
    pub fn notices(&self, person: u32) -> Vec<Notice> {
        let deed = |entry: &Entry| match &entry.event {
            Event::GlassBroken { owner, conversation, reason, .. } if *owner == person => {
                Some(Deed::Opened { conversation: conversation.clone(), reason: reason.clone() })
            }
            Event::KeyMade { key, person: of, .. } if *of == person && entry.by != person => {
                Some(Deed::MadeKey { key: key.clone() })
            }
            Event::AccountAllowed { person: of, account } if *of == person && entry.by != person => {
                Some(Deed::AllowedAccount { account: account.clone() })
            }
            _ => None,
        };
        let notice = |entry: &Entry| {
            let role = self.people.get(&entry.by).map_or(Role::Admin, |person| person.role);
            Some(Notice { at: entry.at, by: self.name_of(entry.by), role, deed: deed(entry)? })
        };
        self.entries.iter().rev().filter_map(notice).collect()
    }

    pub fn add_person(
        &self,
        actor: &Actor,
        name: &str,
        role: Role,
        groups: BTreeSet<String>,
    ) -> Result<Event, TeamError> {
        manages(actor)?;
        self.new_person(name, role, groups).map(|(_, event)| event)
    }

    /// A new person with their number.
    pub(crate) fn new_person(
        &self,
        name: &str,
        role: Role,
        groups: BTreeSet<String>,
    ) -> Result<(u32, Event), TeamError> {
        check_person(name)?;
        groups.iter().try_for_each(|group| check_group(group))?;
        let is_taken = |person: &Arc<Person>| person.name.eq_ignore_ascii_case(name);
        if name.eq_ignore_ascii_case(Actor::OPERATOR_NAME) || self.people.values().any(is_taken) {
            let message = format!("A person called `{name}` already exists.");
            return Err(TeamError::refused(ErrorCode::PersonExists, message, "Choose another name."));
        }
        let person = self.last_person + 1;
        Ok((person, Event::PersonAdded { person, name: name.to_owned(), role, groups }))
    }

    pub fn change_person(
        &self,
        actor: &Actor,
        name: &str,
        role: Option<Role>,
        groups: Option<BTreeSet<String>>,
    ) -> Result<Event, TeamError> {
        manages(actor)?;
        let person = self.named(name)?;
        groups.iter().flatten().try_for_each(|group| check_group(group))?;
        let (role, groups) = (role.unwrap_or(person.role), groups.unwrap_or_else(|| person.groups.clone()));
        Ok(Event::PersonChanged { person: person.id, role, groups })
    }

    pub fn remove_person(&self, actor: &Actor, name: &str) -> Result<Event, TeamError> {
        manages(actor)?;
        Ok(Event::PersonRemoved { person: self.named(name)?.id })
    }

    /// Members make keys for themselves, admins for anyone. No key makes one that may do more than itself, or that lasts
    /// longer.
    pub fn make_key(&self, actor: &Actor, person: u32, text: &KeyText, new: &NewKey) -> Result<Event, TeamError> {
        if actor.id != person {
            manages(actor)?;
        }
        if !self.people.contains_key(&person) {
            let message = "The operator's key is the daemon's token.";
            let hint = "Name the person that the key is for.";
            return Err(TeamError::refused(ErrorCode::UnknownPerson, message, hint));
        }
        let scopes = new.scopes.unwrap_or(actor.scopes);
        check_scopes(actor, scopes)?;
        let hash = text.hash().to_string();
        Ok(Event::KeyMade {
            key: text.id(),
            person,
            hash,
            shown: text.shown(),
            label: new.label.chars().take(LONGEST_LABEL).collect(),
            expires_at: new.expires_at.into_iter().chain(actor.expires_at).min(),
            login: new.login.clone(),
            scopes,
            by_account: actor.by_account,
        })
    }

    /// A key that is not the actor's own is unknown to them, unless they manage keys.
    pub fn revoke_key(&self, actor: &Actor, id: &str) -> Result<Event, TeamError> {
        let key = self.keys.get(id).filter(|key| key.person == actor.id || actor.role.manages());
        let key = key.filter(|key| key.revoked_at.is_none()).ok_or_else(|| {
            let message = format!("There is no valid key `{id}`.");
            TeamError::refused(ErrorCode::UnknownKey, message, "The list of keys has their ids.")
        })?;
        Ok(Event::KeyRevoked { key: key.id.clone() })
    }

    pub fn grantee(&self, person: Option<&str>, group: Option<&str>) -> Result<Grantee, TeamError> {
        match (person, group) {
            (Some(name), None) => Ok(Grantee::Person(self.named(name)?.id)),
            (None, Some(name)) => check_group(name).map(|()| Grantee::Group(name.to_owned())),
            _ => Err(TeamError::refused(
                ErrorCode::BadRequest,
                "A conversation is shared with one person or with one group.",
                "Name a `person` or a `group`.",
            )),
        }
    }

    /// Shares a conversation of the actor.
    pub fn share(&self, actor: &Actor, conversation: &str, with: Grantee, access: Access) -> Result<Event, TeamError> {
        if with == Grantee::Person(actor.id) {
            let message = "This conversation is your own.";
            return Err(TeamError::refused(ErrorCode::BadRequest, message, "Name another person, or a group."));
        }
        Ok(Event::Shared { owner: actor.id, conversation: conversation.to_owned(), with, access })
    }

    pub fn end_share(&self, actor: &Actor, conversation: &str, with: Grantee) -> Result<Event, TeamError> {
        if !self.shares_of(actor.id, conversation).any(|share| share.with == with) {
            let message = "The conversation is not shared with them.";
            let hint = "The conversation's shares list everyone who may open it.";
            return Err(TeamError::refused(ErrorCode::UnknownPerson, message, hint));
        }
        Ok(Event::Unshared { owner: actor.id, conversation: conversation.to_owned(), with })
    }

    /// Opens a conversation of another person for a while.
    pub fn break_glass(
        &self,
        actor: &Actor,
        (owner, conversation): (u32, &str),
        reason: &str,
        now: u64,
    ) -> Result<Event, TeamError> {
        audits(actor)?;
        let reason = reason.trim();
        if reason.chars().count() < 8 {
            let message = "Opening the conversation of another person needs a reason.";
            let hint = "Give a reason in a few words: the owner reads it, and it stays in the audit log.";
            return Err(TeamError::refused(ErrorCode::BadRequest, message, hint));
        }
        let reason = reason.chars().take(LONGEST_REASON).collect();
        let until = now + GLASS_LIFETIME;
        Ok(Event::GlassBroken { owner, conversation: conversation.to_owned(), reason, until })
    }
}

pub(crate) fn manages(actor: &Actor) -> Result<(), TeamError> {
    if actor.role.manages() { Ok(()) } else { Err(needs("admin")) }
}

/// Refuses everyone who is neither an auditor nor an admin.
fn audits(actor: &Actor) -> Result<(), TeamError> {
    if actor.role.audits() { Ok(()) } else { Err(needs("auditor or admin")) }
}

pub(crate) fn needs(role: &str) -> TeamError {
    TeamError::refused(
        ErrorCode::RoleNeeded,
        format!("This needs the role {role}."),
        "Ask an admin to change your role.",
    )
}

fn check_scopes(actor: &Actor, scopes: Scopes) -> Result<(), TeamError> {
    if scopes.is_empty() {
        let hint = "Name some of proxy, look, edit and admin.";
        return Err(TeamError::refused(ErrorCode::BadRequest, "A key needs at least one scope.", hint));
    }
    let missing = scopes.without(actor.scopes);
    if missing.is_empty() {
        return Ok(());
    }
    Err(TeamError::refused(
        ErrorCode::ScopeNeeded,
        format!("Your key lacks the scope {missing}, so it cannot create a key with it."),
        format!("Choose from {}, or use a key with more scopes.", actor.scopes),
    ))
}

#[cfg(test)]
mod tests;
