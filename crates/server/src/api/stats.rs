//! Costs and the cache: models, usage, and cache misses.

use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query};
use ctx_api::cache::Misses;
use ctx_api::cache::MissesQuery;
use ctx_api::models::ModelsView;
use ctx_api::stats::{Grouping, Stats, StatsQuery};
use ctx_core::ErrorCode;
use ctx_service::view::{Figures, StatsScope};
use ctx_team::Actor;

use super::read::{Answer, asked, bad_request, request_number};
use super::{Api, SETTLE};
use crate::local::ControlError;
use crate::team::Team;

/// The default number of misses.
const USUAL: usize = 20;

pub async fn models(api: Api) -> Answer<ModelsView> {
    api.ask(|service| Ok(service.models())).await.map(Json)
}

pub async fn stats(api: Api, query: Result<Query<StatsQuery>, QueryRejection>) -> Answer<Stats> {
    let StatsQuery { by, since, conv, everyone, limit } = asked(query)?;
    let wanted = StatsScope { by, since, conversation: conv, most: limit };
    let is_about_people = matches!(by, Grouping::Person | Grouping::Group);
    if !everyone && !is_about_people {
        return api.ask(move |service| service.stats(&wanted)).await.map(Json);
    }
    if wanted.conversation.is_some() {
        return Err(bad_request("`conv` names a conversation of yours; leave it out".to_owned()));
    }
    let (seat, team) = if everyone { api.auditor()? } else { api.seat()? };
    let people = match seat.actor().role.audits() {
        true => team.registry().state().everyone().into_iter().chain([Actor::OPERATOR.id]).collect(),
        false => vec![seat.person()],
    };
    let mut all = Figures::default();
    for person in people {
        all.add(figures_of(&team, person, &wanted).await?);
    }
    Ok(Json(all.view(&wanted)))
}

/// The figures of one person, in groups that mean something beside those of others.
async fn figures_of(team: &Team, person: u32, wanted: &StatsScope) -> Result<Figures, ControlError> {
    let desk = team.desk(person).await?;
    let (asked, state) = (wanted.clone(), team.registry().state());
    let read = tokio::task::spawn_blocking(move || {
        desk.recorder.settle(SETTLE);
        desk.service.figures(&asked)
    });
    let figures = read.await.map_err(|_| failed())??;
    let present = state.person(person);
    let is_removed = present.is_none() && person != Actor::OPERATOR.id;
    let name = format!("{}{}", state.name_of(person), if is_removed { " (removed)" } else { "" });
    Ok(match wanted.by {
        Grouping::Person => figures.under(&[Some(name)]),
        Grouping::Group => {
            let groups: Vec<Option<String>> =
                present.iter().flat_map(|person| &person.groups).map(|group| Some(group.clone())).collect();
            figures.under(if groups.is_empty() { &[None] } else { &groups })
        }
        Grouping::Conversation | Grouping::Request => figures.of_owner(&name),
        Grouping::Project | Grouping::Day | Grouping::Model => figures,
    })
}

fn failed() -> ControlError {
    ControlError::new(ErrorCode::Internal, "The daemon failed; this is a bug.", "Please report it.")
}

pub async fn misses(
    api: Api,
    Path(name): Path<String>,
    query: Result<Query<MissesQuery>, QueryRejection>,
) -> Answer<Misses> {
    let MissesQuery { request, limit } = asked(query)?;
    let request = request.as_deref().map(request_number).transpose()?;
    api.ask(move |service| service.misses(&name, request, limit.unwrap_or(USUAL))).await.map(Json)
}
