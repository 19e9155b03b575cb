//! Conversations that others share with a person. Their routes are those of the owner's desk; this module decides which
//! of them a guest may use. Everything else is as if it did not exist.

use std::collections::BTreeSet;

use axum::Router;
use axum::extract::{self, Request};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use ctx_api::conversations::ConversationView;
use ctx_core::ErrorCode;
use ctx_engine::ports::Authors;
use ctx_service::now;
use ctx_team::{Access, State};
use http::{Method, Uri};
use tower_service::Service;

use super::{Guest, Seat, Team};
use crate::local::ControlError;

/// Routes of a conversation that belong to its owner alone.
const OWNERS: [&str; 4] = ["shares", "share", "unshare", "helper"];

/// The routes of a person, and those of conversations that are shared with them.
pub(super) fn admitting(own: Router, seat: Seat) -> Router {
    own.layer(middleware::from_fn_with_state(seat, lead))
}

async fn lead(extract::State(seat): extract::State<Seat>, request: Request, next: Next) -> Response {
    let Some(team) = seat.team() else { return next.run(request).await };
    let Some((name, rest)) = named(request.uri().path()) else { return next.run(request).await };
    let is_own = team.open_desk(seat.person).is_some_and(|desk| desk.service.resolve(&name).is_ok());
    let Some(shared) = (!is_own).then(|| find(&team, &seat, &name)).flatten() else { return next.run(request).await };
    if OWNERS.contains(&rest.split('/').next().unwrap_or_default()) {
        return next.run(request).await;
    }
    if shared.access < Access::Edit && request.method() != Method::GET {
        return ControlError::new(
            ErrorCode::RoleNeeded,
            format!("{} lets you look at this conversation, and not edit it.", shared.owner_name),
            "Ask its owner to let you edit it.",
        )
        .into_response();
    }
    let desk = match team.desk(shared.owner).await {
        Ok(desk) => desk,
        Err(error) => return error.into_response(),
    };
    // The owner's routes also take words of a title, and a share may have outlived its conversation.
    let (service, id) = (desk.service.clone(), shared.conversation.clone());
    match tokio::task::spawn_blocking(move || service.has(&id)).await {
        Ok(Ok(true)) => {}
        Ok(Ok(false)) => return next.run(request).await,
        Ok(Err(refusal)) => return ControlError::from(refusal).into_response(),
        Err(_) => return super::failed().into_response(),
    }
    let path = format!("/conversations/{}/{rest}", ctx_api::call::encoded(&shared.conversation, ""));
    let query = request.uri().query().map(|query| format!("?{query}")).unwrap_or_default();
    let Ok(uri) = format!("{path}{query}").parse::<Uri>() else { return next.run(request).await };
    // A new request: the old one has the parameters of the route that matched here.
    let (head, body) = request.into_parts();
    let mut request = Request::new(body);
    (*request.method_mut(), *request.uri_mut(), *request.headers_mut()) = (head.method, uri, head.headers);
    request.extensions_mut().insert(Guest { person: seat.person, name: seat.name() });
    let mut routes = desk.own.clone();
    match routes.call(request).await {
        Ok(response) => response,
        Err(never) => match never {},
    }
}

/// The authors who may edit the conversations of a person.
pub(super) struct CurrentAuthors(pub(super) Seat);

impl Authors for CurrentAuthors {
    fn may_edit(&self, conversation: &str, author: &str) -> bool {
        let state = self.0.team().map(|team| team.registry().state());
        state.is_none_or(|state| state.may_edit((self.0.person, conversation), author, now()))
    }
}

impl Team {
    /// Withdraws the deferred edits of guests who could edit a conversation before, and no longer can. Returns words
    /// about them.
    pub(crate) async fn withdraw_lost(&self, before: &State) -> Vec<String> {
        let after = self.registry().state();
        let kept = after.edited_by_guests();
        let lost = before.edited_by_guests().into_iter().filter(|access| !kept.contains(access));
        let conversations: BTreeSet<(u32, String)> =
            lost.map(|(owner, conversation, _)| (owner, conversation)).collect();
        let mut words = Vec::new();
        for (owner, conversation) in conversations {
            let Ok(desk) = self.desk(owner).await else { continue };
            let name = format!("{}:{conversation}", after.name_of(owner));
            let withdrawn = tokio::task::spawn_blocking(move || desk.service.withdraw(&conversation)).await;
            match withdrawn {
                Ok(Ok(edits)) => words.extend(
                    edits
                        .iter()
                        .map(|(id, author)| format!("The deferred edit {id} of {author} in {name} was withdrawn.")),
                ),
                // The edit is checked again at its moment.
                failed => tracing::warn!(conversation = %name, ?failed, "deferred edits were not withdrawn yet"),
            }
        }
        words
    }
}

/// The conversation that a path names, and the rest of the path.
fn named(path: &str) -> Option<(String, String)> {
    let (name, rest) = path.strip_prefix("/conversations/")?.split_once('/')?;
    Some((decoded(name)?, rest.to_owned()))
}

fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, behind)) = rest.split_first() {
        rest = behind;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let (digits, behind) = rest.split_at_checked(2)?;
        bytes.push(u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?);
        rest = behind;
    }
    String::from_utf8(bytes).ok()
}

/// A conversation that a person may use as a guest.
struct SharedConversation {
    owner: u32,
    owner_name: String,
    conversation: String,
    access: Access,
}

/// `OWNER:ID` names it for certain; the id alone, or its beginning, if only one fits.
fn find(team: &Team, seat: &Seat, name: &str) -> Option<SharedConversation> {
    let state = team.registry().state();
    let (owner, id) = match name.split_once(':') {
        Some((owner, id)) => (Some(owner), id),
        None => (None, name),
    };
    if id.is_empty() {
        return None;
    }
    let open = state.open_to(seat.person, now());
    let fits = |other: &&(u32, &str, Access)| {
        other.1.starts_with(id) && owner.is_none_or(|owner| state.name_of(other.0) == owner)
    };
    let fitting: Vec<_> = open.iter().filter(fits).collect();
    let exact: Vec<_> = fitting.iter().filter(|other| other.1 == id).collect();
    let (owner, conversation, access) = match (&exact[..], &fitting[..]) {
        ([one], _) => ***one,
        ([], [one]) => **one,
        _ => return None,
    };
    Some(SharedConversation { owner, owner_name: state.name_of(owner), conversation: conversation.to_owned(), access })
}

/// The owner of a conversation that is shared with a person, by a name that is none of their own.
pub(crate) fn owner_of(seat: &Seat, name: &str) -> Option<String> {
    find(seat.team().as_deref()?, seat, name).map(|shared| shared.owner_name)
}

/// The conversations that others share with a person, under their full names.
pub(crate) async fn shared_with(seat: &Seat) -> Vec<ConversationView> {
    let Some(team) = seat.team() else { return Vec::new() };
    let state = team.registry().state();
    let open: Vec<(u32, String)> =
        state.open_to(seat.person, now()).iter().map(|(owner, id, _)| (*owner, (*id).to_owned())).collect();
    let mut found = Vec::new();
    for (owner, id) in open {
        let Ok(desk) = team.desk(owner).await else { continue };
        let all = desk.service.conversations().conversations;
        let name = state.name_of(owner);
        found.extend(all.into_iter().find(|one| one.id == id).map(|one| ConversationView {
            id: format!("{name}:{id}"),
            active: false,
            owner: Some(name),
            ..one
        }));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_names_its_conversation() {
        let of = |path: &str| named(path);
        assert_eq!(of("/conversations/anna%3Ac1/frames/t1"), Some(("anna:c1".into(), "frames/t1".into())));
        assert_eq!(of("/conversations"), None);
        assert_eq!(of("/conversations/%zz/frames"), None);
        assert_eq!(of("/search"), None);
    }
}
