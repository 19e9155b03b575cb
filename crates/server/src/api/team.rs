//! People, keys and shares. `ctx_team` decides; this translates its values.

use std::sync::Arc;

use axum::Json;
use axum::extract::rejection::{JsonRejection, QueryRejection};
use axum::extract::{Path, Query};
use ctx_api::team::{
    AllShares, Audit, AuditEntry, AuditQuery, ConversationFigures, ConversationShare, KeyView, Keys, MadeKey, Me,
    NewKey, NewPerson, NoticeView, Notices, OpenConversation, People, PersonChange, PersonConversations, PersonView,
    Reason, ShareRequest, ShareView, Shares,
};
use ctx_api::timeline::{AccessAction, AccessView};
use ctx_core::ErrorCode;
use ctx_service::now;
use ctx_team::{
    Access, Actor, Deed, Entry, Event, GLASS_LIFETIME, Grantee, KeyText, Role, Scope, Scopes, State, StoredChange,
    TeamError,
};

use super::Api;
use super::read::{Answer, asked, bad_request, understood};
use crate::local::ControlError;
use crate::team::{KeyLimits, Note, Seat, Team};

const DAY_MS: u64 = 24 * 60 * 60 * 1000;
/// The default number of entries of the audit log.
const USUAL: usize = 100;

impl From<TeamError> for ControlError {
    fn from(error: TeamError) -> Self {
        match error {
            TeamError::Refused { code, message, hint } => ControlError::new(code, message, hint),
            TeamError::Store(error) if error.is_temporary() => ControlError::new(
                ErrorCode::NotStored,
                format!("Nothing was changed: {error}."),
                "Try again in a moment.",
            ),
            TeamError::Store(error) => ctx_engine::Refusal::from(error).into(),
        }
    }
}

impl Api {
    pub(super) fn seat(&self) -> Result<(&Seat, Arc<Team>), ControlError> {
        let seat = self.0.seat.as_ref().and_then(|seat| Some((seat, seat.team()?)));
        seat.ok_or_else(|| {
            ControlError::new(
                ErrorCode::NoTeam,
                "This daemon serves one person.",
                "Set `enabled = true` under [team] in the home's ctx.toml, and restart it.",
            )
        })
    }

    /// The reader, if the daemon serves a team.
    pub fn person(&self) -> Option<Me> {
        self.seat().ok().map(|(seat, team)| described(seat, &team, self.2))
    }

    /// The same for a role that sees figures of everyone.
    pub(super) fn auditor(&self) -> Result<(&Seat, Arc<Team>), ControlError> {
        let (seat, team) = self.seat()?;
        if seat.actor().role.audits() {
            return Ok((seat, team));
        }
        Err(ControlError::new(
            ErrorCode::RoleNeeded,
            "This needs the role auditor or admin.",
            "Ask an admin to change your role.",
        ))
    }

    /// Makes a change where it may block.
    pub(super) async fn change<T: Send + 'static>(
        &self,
        decide: impl Fn(&State, &Actor) -> Result<(Event, T), TeamError> + Send + 'static,
    ) -> Result<StoredChange<T>, ControlError> {
        let (seat, team) = self.seat()?;
        let KeyLimits { expires_at, by_account } = self.3;
        let actor = Actor { scopes: self.2, expires_at, by_account, ..seat.actor() };
        let (registry, before) = (team.registry().clone(), team.registry().state());
        let changed = tokio::task::spawn_blocking(move || registry.change(&actor, |state| decide(state, &actor))).await;
        let failed =
            || ControlError::new(ErrorCode::Internal, "The daemon failed; this is a bug.", "Please report it.");
        let mut changed = changed.map_err(|_| failed())??;
        changed.warnings.extend(team.withdraw_lost(&before).await);
        Ok(changed)
    }

    /// Ends every access of others to conversations that will be removed.
    pub async fn end_access(&self, conversations: Vec<String>) -> Result<(), ControlError> {
        let Ok((seat, team)) = self.seat() else { return Ok(()) };
        let owner = seat.person();
        if team.registry().state().opened_to_others(owner, &conversations).is_empty() {
            return Ok(());
        }
        let ended = self.change(move |state, _| {
            let conversations = state.opened_to_others(owner, &conversations);
            Ok((Event::AccessEnded { owner, conversations }, ()))
        });
        ended.await?.warnings.iter().for_each(|warning| tracing::warn!("{warning}"));
        Ok(())
    }

    /// Enters an export or a purge by the caller, who may be a guest, into the audit log, behind the answer.
    pub fn note_taken(&self, action: &'static str, conversations: u64) {
        let Ok((seat, team)) = self.seat() else { return };
        let actor = self.1.as_ref().map_or_else(|| seat.actor(), |guest| team.seat(guest.person).actor());
        team.note(actor, Note::Taken { owner: seat.person(), action }, conversations);
    }
}

pub async fn me(api: Api) -> Answer<Me> {
    let (seat, team) = api.seat()?;
    Ok(Json(described(seat, &team, api.2)))
}

fn described(seat: &Seat, team: &Team, scopes: Scopes) -> Me {
    let groups = team.registry().state().person(seat.person()).map(|person| person.groups.iter().cloned().collect());
    let role = seat.actor().role.name().to_owned();
    Me { name: seat.name(), role, groups: groups.unwrap_or_default(), scopes: names(scopes) }
}

fn names(scopes: Scopes) -> Vec<String> {
    scopes.names().map(str::to_owned).collect()
}

pub async fn people(api: Api) -> Answer<People> {
    let (_, team) = api.auditor()?;
    Ok(Json(everyone(&team, Vec::new())))
}

fn everyone(team: &Team, warnings: Vec<String>) -> People {
    let (registry, at) = (team.registry(), now());
    let state = registry.state();
    let view = |person: &Arc<ctx_team::Person>| {
        let valid = |key: &&Arc<ctx_team::Key>| {
            key.person == person.id && key.revoked_at.is_none() && key.expires_at.is_none_or(|end| at < end)
        };
        PersonView {
            name: person.name.clone(),
            role: person.role.name().to_owned(),
            groups: person.groups.iter().cloned().collect(),
            keys: state.keys().filter(valid).count(),
            last_used: state
                .keys()
                .filter(|key| key.person == person.id)
                .filter_map(|key| registry.last_used(&key.id))
                .max(),
        }
    };
    People { people: state.people().map(view).collect(), warnings }
}

fn role(text: Option<&str>) -> Result<Option<Role>, ControlError> {
    text.map(|text| text.parse::<Role>().map_err(bad_request)).transpose()
}

pub async fn add(api: Api, request: Result<Json<NewPerson>, JsonRejection>) -> Answer<People> {
    let NewPerson { name, role: named, groups } = understood(request)?;
    let role = role(named.as_deref())?.unwrap_or(Role::Member);
    let changed = api
        .change(move |state, actor| Ok((state.add_person(actor, &name, role, groups.iter().cloned().collect())?, ())));
    let warnings = changed.await?.warnings;
    Ok(Json(everyone(&api.seat()?.1, warnings)))
}

pub async fn change(
    api: Api,
    Path(name): Path<String>,
    request: Result<Json<PersonChange>, JsonRejection>,
) -> Answer<People> {
    let PersonChange { role: named, groups, unlink, link } = understood(request)?;
    let role = role(named.as_deref())?;
    let has_account_change = unlink || link.is_some();
    let mut warnings = Vec::new();
    if unlink {
        let name = name.clone();
        let changed = api.change(move |state, actor| Ok((state.unlink_person(actor, &name)?, name.clone()))).await?;
        warnings.extend(changed.warnings);
        warnings.extend(other_keys(&api.seat()?.1, &changed.value));
    }
    if let Some(account) = link {
        let name = name.clone();
        let changed = api.change(move |state, actor| Ok((state.allow_account(actor, &name, &account)?, ())));
        warnings.extend(changed.await?.warnings);
    }
    if !has_account_change || role.is_some() || groups.is_some() {
        let changed = api.change(move |state, actor| {
            let groups = groups.as_ref().map(|groups| groups.iter().cloned().collect());
            Ok((state.change_person(actor, &name, role, groups)?, ()))
        });
        warnings.extend(changed.await?.warnings);
    }
    Ok(Json(everyone(&api.seat()?.1, warnings)))
}

/// Names the keys that a person keeps after their account was unlinked.
fn other_keys(team: &Team, name: &str) -> Option<String> {
    let (state, at) = (team.registry().state(), now());
    let person = state.named(name).ok()?.id;
    let is_valid = |key: &&Arc<ctx_team::Key>| {
        key.person == person && key.revoked_at.is_none() && key.expires_at.is_none_or(|end| at < end)
    };
    let keys: Vec<&str> = state.keys().filter(is_valid).map(|key| key.id.as_str()).collect();
    let hint = "`ctx keys revoke ID` ends one.";
    (!keys.is_empty())
        .then(|| format!("{name} keeps the keys that were not made through the account: {}. {hint}", keys.join(", ")))
}

pub async fn remove(api: Api, Path(name): Path<String>) -> Answer<People> {
    let changed = api.change(move |state, actor| Ok((state.remove_person(actor, &name)?, ())));
    let warnings = changed.await?.warnings;
    Ok(Json(everyone(&api.seat()?.1, warnings)))
}

pub async fn conversations_of(api: Api, Path(name): Path<String>) -> Answer<PersonConversations> {
    let (_, team) = api.auditor()?;
    let person = team.registry().state().named(&name)?.id;
    let desk = team.desk(person).await?;
    let figures = |one: ctx_api::conversations::ConversationView| ConversationFigures {
        id: one.id,
        class: one.class,
        model: one.model,
        requests: one.requests,
        tokens: one.tokens,
        last_activity: one.last_activity,
    };
    let conversations = desk.service.conversations().conversations.into_iter().map(figures).collect();
    Ok(Json(PersonConversations { person: name, conversations }))
}

/// Opens a conversation without its owner. The owner's timeline has it first: a look that its owner cannot see does not
/// happen.
pub async fn open(
    api: Api,
    Path((name, conversation)): Path<(String, String)>,
    why: Result<Json<Reason>, JsonRejection>,
) -> Answer<OpenConversation> {
    let Reason { reason } = understood(why)?;
    let (seat, team) = api.auditor()?;
    let owner = team.registry().state().named(&name)?.id;
    let (at, actor) = (now(), seat.actor());
    team.registry().state().break_glass(&actor, (owner, ""), &reason, at)?;
    let desk = team.desk(owner).await?;
    let told = AccessView {
        action: AccessAction::Opened,
        by: seat.name(),
        with: None,
        reason: Some(reason.trim().to_owned()),
    };
    let noted = tokio::task::spawn_blocking(move || {
        let id = desk.service.resolve(&conversation)?;
        desk.service.note_access(&id, &told)?;
        Ok::<_, ctx_engine::Refusal>(id)
    });
    let failed = || ControlError::new(ErrorCode::Internal, "The daemon failed; this is a bug.", "Please report it.");
    let id = noted.await.map_err(|_| failed())??;
    let opened = id.clone();
    let changed = api.change(move |state, actor| Ok((state.break_glass(actor, (owner, &opened), &reason, at)?, ())));
    let warnings = changed.await?.warnings;
    Ok(Json(OpenConversation { conversation: format!("{name}:{id}"), until: at + GLASS_LIFETIME, warnings }))
}

pub async fn keys(api: Api) -> Answer<Keys> {
    let (seat, team) = api.seat()?;
    Ok(Json(keys_for(&seat.actor(), &team, Vec::new())))
}

/// Members see their own keys, auditors and admins all.
fn keys_for(actor: &Actor, team: &Team, warnings: Vec<String>) -> Keys {
    let (registry, state) = (team.registry(), team.registry().state());
    let mut keys: Vec<KeyView> = state
        .keys()
        .filter(|key| key.person == actor.id || actor.role.audits())
        .map(|key| KeyView {
            id: key.id.clone(),
            person: state.name_of(key.person),
            shown: key.shown.clone(),
            label: key.label.clone(),
            made_at: key.made_at,
            expires_at: key.expires_at,
            scopes: names(key.scopes),
            revoked_at: key.revoked_at,
            made_by: (key.made_by != key.person).then(|| state.name_of(key.made_by)),
            last_used: registry.last_used(&key.id),
        })
        .collect();
    keys.sort_by(|one, other| (&one.person, one.made_at).cmp(&(&other.person, other.made_at)));
    Keys { keys, warnings }
}

pub async fn make_key(api: Api, request: Result<Json<NewKey>, JsonRejection>) -> Answer<MadeKey> {
    let NewKey { person, label, days, scopes } = understood(request)?;
    let parsed = |wanted: Vec<String>| wanted.iter().map(|name| name.parse::<Scope>()).collect::<Result<Vec<_>, _>>();
    let scopes = scopes.map(parsed).transpose().map_err(bad_request)?.map(Scopes::of);
    let text = KeyText::generate().ok_or_else(|| {
        ControlError::new(ErrorCode::Internal, "The system provides no random bytes for a key.", "Try again.")
    })?;
    let expires_at = days.map(|days| now() + u64::from(days) * DAY_MS);
    let new = ctx_team::NewKey { label, expires_at, scopes, ..ctx_team::NewKey::default() };
    let made = text.clone();
    let changed = api.change(move |state, actor| {
        let id = match &person {
            // Another person's existence is known only to those who manage people.
            Some(name) if !actor.role.manages() && state.name_of(actor.id) != *name => u32::MAX,
            Some(name) => state.named(name)?.id,
            None => actor.id,
        };
        let event = state.make_key(actor, id, &made, &new)?;
        Ok((event, (state.name_of(id), new.scopes.unwrap_or(actor.scopes))))
    });
    let StoredChange { value: (person, scopes), warnings } = changed.await?;
    let id = text.id();
    Ok(Json(MadeKey { id, person, key: text.expose_secret().to_owned(), scopes: names(scopes), warnings }))
}

pub async fn revoke(api: Api, Path(id): Path<String>) -> Answer<Keys> {
    let changed = api.change(move |state, actor| Ok((state.revoke_key(actor, &id)?, ())));
    let warnings = changed.await?.warnings;
    // A key that ended itself may not be allowed to look.
    if !Scopes::only(Scope::Look).without(api.2).is_empty() {
        return Ok(Json(Keys { keys: Vec::new(), warnings }));
    }
    let (seat, team) = api.seat()?;
    Ok(Json(keys_for(&seat.actor(), &team, warnings)))
}

pub async fn shares(api: Api, Path(name): Path<String>) -> Answer<Shares> {
    let (seat, team) = api.seat()?;
    let id = api.ask(move |service| service.resolve(&name)).await?;
    Ok(Json(shares_of(&team.registry().state(), seat.person(), id, Vec::new())))
}

fn shares_of(state: &State, owner: u32, conversation: String, warnings: Vec<String>) -> Shares {
    let shares = state.shares_of(owner, &conversation).map(|share| share_view(state, share)).collect();
    Shares { shares, conversation, warnings }
}

fn share_view(state: &State, share: &ctx_team::Share) -> ShareView {
    let (person, group) = match &share.with {
        Grantee::Person(id) => (Some(state.name_of(*id)), None),
        Grantee::Group(name) => (None, Some(name.clone())),
    };
    ShareView { person, group, access: share.access.name().to_owned(), at: share.at }
}

/// Members see what they share, auditors and admins everything that is shared.
pub async fn all_shares(api: Api) -> Answer<AllShares> {
    let (seat, team) = api.seat()?;
    let (actor, state) = (seat.actor(), team.registry().state());
    let visible = state.shares().iter().filter(|share| share.owner == actor.id || actor.role.audits());
    let shares = visible.map(|share| ConversationShare {
        owner: state.name_of(share.owner),
        conversation: share.conversation.clone(),
        share: share_view(&state, share),
    });
    Ok(Json(AllShares { shares: shares.collect() }))
}

pub async fn share(
    api: Api,
    Path(name): Path<String>,
    request: Result<Json<ShareRequest>, JsonRejection>,
) -> Answer<Shares> {
    let request = understood(request)?;
    let access = if request.edit { Access::Edit } else { Access::Look };
    change_shares(&api, name, request, move |state, actor, id, with| state.share(actor, id, with, access)).await
}

pub async fn unshare(
    api: Api,
    Path(name): Path<String>,
    request: Result<Json<ShareRequest>, JsonRejection>,
) -> Answer<Shares> {
    change_shares(&api, name, understood(request)?, |state, actor, id, with| state.end_share(actor, id, with)).await
}

async fn change_shares(
    api: &Api,
    name: String,
    request: ShareRequest,
    decide: impl Fn(&State, &Actor, &str, Grantee) -> Result<Event, TeamError> + Send + 'static,
) -> Answer<Shares> {
    let (seat, team) = api.seat()?;
    let id = api.ask(move |service| service.resolve(&name)).await?;
    let with = request.person.clone().or_else(|| request.group.as_ref().map(|group| format!("group {group}")));
    let of = id.clone();
    let changed = api.change(move |state, actor| {
        let with = state.grantee(request.person.as_deref(), request.group.as_deref())?;
        let event = decide(state, actor, &of, with)?;
        let action = match event {
            Event::Unshared { .. } => AccessAction::Unshared,
            _ => AccessAction::Shared,
        };
        Ok((event, action))
    });
    let StoredChange { value: action, warnings } = changed.await?;
    let (of, told) = (id.clone(), AccessView { action, by: seat.name(), with, reason: None });
    api.ask(move |service| service.note_access(&of, &told)).await?;
    Ok(Json(shares_of(&team.registry().state(), seat.person(), id, warnings)))
}

pub async fn notices(api: Api) -> Answer<Notices> {
    let (seat, team) = api.seat()?;
    let view = |notice: ctx_team::Notice| {
        let (mut conversation, mut reason, mut key, mut account) = (String::new(), String::new(), None, None);
        match notice.deed {
            Deed::Opened { conversation: opened, reason: given } => (conversation, reason) = (opened, given),
            Deed::MadeKey { key: made } => key = Some(made),
            Deed::AllowedAccount { account: allowed } => account = Some(allowed),
        }
        let role = notice.role.name().to_owned();
        NoticeView { at: notice.at, conversation, by: notice.by, role, reason, key, account }
    };
    let notices = team.registry().state().notices(seat.person()).into_iter().map(view).collect();
    Ok(Json(Notices { notices }))
}

pub async fn audit(api: Api, query: Result<Query<AuditQuery>, QueryRejection>) -> Answer<Audit> {
    let (_, team) = api.auditor()?;
    let most = asked(query)?.limit.unwrap_or(USUAL);
    let state = team.registry().state();
    let entries = state.entries().iter().rev().take(most).map(|entry| in_words(&state, entry)).collect();
    Ok(Json(Audit { entries }))
}

fn in_words(state: &State, entry: &Entry) -> AuditEntry {
    let name = |id: &u32| state.name_of(*id);
    let with = |with: &Grantee| match with {
        Grantee::Person(id) => state.name_of(*id),
        Grantee::Group(name) => format!("group {name}"),
    };
    let joined = |groups: &std::collections::BTreeSet<String>| {
        let all: Vec<&str> = groups.iter().map(String::as_str).collect();
        if all.is_empty() { String::new() } else { format!(", groups {}", all.join(", ")) }
    };
    let (event, what) = match &entry.event {
        Event::PersonAdded { name, role, groups, .. } => ("person-added", format!("{name}: {role}{}", joined(groups))),
        Event::PersonChanged { person, role, groups } => {
            ("person-changed", format!("{}: {role}{}", name(person), joined(groups)))
        }
        Event::PersonRemoved { person } => ("person-removed", name(person)),
        Event::KeyMade { key, person, shown, scopes, .. } => {
            let scopes = if scopes.is_all() { "all scopes".to_owned() } else { format!("scopes {scopes}") };
            ("key-made", format!("{key} ({shown}…) for {}, {scopes}", name(person)))
        }
        Event::KeyRevoked { key } => ("key-revoked", key.clone()),
        Event::Shared { owner, conversation, with: to, access } => {
            ("shared", format!("{}:{conversation} with {}, to {}", name(owner), with(to), access.name()))
        }
        Event::Unshared { owner, conversation, with: to } => {
            ("unshared", format!("{}:{conversation} with {}", name(owner), with(to)))
        }
        Event::AccessEnded { owner, conversations } => {
            let gone: Vec<&str> = conversations.iter().map(String::as_str).collect();
            ("access-ended", format!("{} of {}, removed", gone.join(", "), name(owner)))
        }
        Event::GlassBroken { owner, conversation, reason, .. } => {
            ("opened", format!("{}:{conversation}: {reason}", name(owner)))
        }
        Event::PersonLinked { person, subject, .. } => {
            ("person-linked", format!("{} with the account {subject}", name(person)))
        }
        Event::PersonUnlinked { person } => ("person-unlinked", name(person)),
        Event::AccountAllowed { person, account } => ("account-allowed", format!("{account} for {}", name(person))),
        Event::SignedIn { person, with } => ("signed-in", format!("{} with {with}", name(person))),
        Event::SignedOut { person, .. } => ("signed-out", name(person)),
        Event::LoginApproved { person, machine, .. } => ("login-approved", format!("{machine} as {}", name(person))),
        Event::LoginRefused { person, machine, .. } => ("login-refused", format!("{machine} as {}", name(person))),
        Event::Taken { owner, action, conversations } => {
            ("taken", format!("{action} {conversations} of {}", name(owner)))
        }
    };
    AuditEntry { at: entry.at, by: state.name_of(entry.by), event: event.to_owned(), what }
}
