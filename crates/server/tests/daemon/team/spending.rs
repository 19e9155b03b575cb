//! The figures of people and groups.

use serde_json::{Value, json};

use super::scene::Team;
use crate::support::house::{Router, conversation};
use crate::support::raw::RawServer;

const MODEL: &str = "claude-opus-5-5";

/// Anna is in two groups, bob in one of them, dora in none.
async fn spending() -> Team {
    let team = Team::new().await;
    team.house.post("people/anna", &json!({"groups": ["core", "web"]})).await;
    team.house.post("people/bob", &json!({"groups": ["core"]})).await;
    for (name, turns) in [("anna", 3), ("bob", 2), ("dora", 1)] {
        for turn in 1..=turns {
            let (session, body) = (format!("{name}-session"), conversation("zebra", turn));
            team.talk_to(name, MODEL, &session, &body).await;
        }
    }
    team
}

fn groups(stats: &Value) -> Vec<(Option<&str>, u64)> {
    let mut groups: Vec<_> = stats["groups"]
        .as_array()
        .expect("groups")
        .iter()
        .map(|group| (group["key"].as_str(), group["requests"].as_u64().expect("a number")))
        .collect();
    groups.sort();
    groups
}

/// In billionths of a dollar.
fn cost(spent: &Value) -> i64 {
    (spent["cost"].as_f64().expect("a cost") * 1e9).round() as i64
}

#[tokio::test]
async fn auditors_see_what_everyone_spends_and_it_is_the_sum_of_conversations() {
    let team = spending().await;
    let own = [team.get("anna", "stats").await, team.get("bob", "stats").await, team.get("dora", "stats").await];
    for name in ["eve", "adam"] {
        let people = team.get(name, "stats?by=person").await;
        assert_eq!(groups(&people), [(Some("anna"), 3), (Some("bob"), 2), (Some("dora"), 1)]);
        for group in people["groups"].as_array().expect("groups") {
            let own = own.iter().find(|own| own["total"]["requests"] == group["requests"]).expect("the same");
            assert!(cost(group) > 0 && cost(group) == cost(&own["total"]), "{group} {own}");
        }
        assert_eq!(cost(&people["total"]), own.iter().map(|own| cost(&own["total"])).sum::<i64>());
        let by_group = team.get(name, "stats?by=group").await;
        assert_eq!(groups(&by_group), [(None, 1), (Some("core"), 5), (Some("web"), 3)]);
        assert_eq!(by_group["total"], people["total"], "anna counts once in the sum");
        let by_model = team.get(name, "stats?by=model&everyone=true").await;
        assert_eq!(groups(&by_model), [(Some(MODEL), 6)]);
        assert_eq!(by_model["total"], people["total"]);
        let all = team.get(name, "stats?by=conversation&everyone=true").await;
        let keys: Vec<_> = groups(&all).into_iter().filter_map(|(key, _)| key?.split_once(':')).collect();
        assert_eq!(keys.iter().map(|(owner, _)| *owner).collect::<Vec<_>>(), ["anna", "bob", "dora"]);
        assert!(!all.to_string().contains("zebra"), "figures, and no words: {all}");
        assert_eq!(all["total"], people["total"]);
    }
    // Figures stay when a person goes.
    team.house.post("people/bob/remove", &json!({})).await;
    let people = team.get("eve", "stats?by=person").await;
    assert_eq!(groups(&people), [(Some("anna"), 3), (Some("bob (removed)"), 2), (Some("dora"), 1)]);
    let limited = team.get("eve", "stats?by=person&limit=1").await;
    assert_eq!((groups(&limited), &limited["more"]), (vec![(Some("anna"), 3)], &json!(2)));
}

#[tokio::test]
async fn members_see_their_own_figures_only() {
    let team = spending().await;
    assert_eq!(groups(&team.get("anna", "stats?by=person").await), [(Some("anna"), 3)]);
    assert_eq!(groups(&team.get("anna", "stats?by=group").await), [(Some("core"), 3), (Some("web"), 3)]);
    assert_eq!(groups(&team.get("carl", "stats?by=person").await), []);
    for by in ["person", "group", "model", "project", "day", "conversation", "request"] {
        let (status, answer) = team.ask("anna", "GET", &format!("stats?by={by}&everyone=true"), &json!({})).await;
        assert_eq!((status, &answer["error"]["code"]), (403, &json!("role-needed")), "{by}");
    }
    let (status, _) = team.ask("eve", "GET", "stats?by=person&conv=active", &json!({})).await;
    assert_eq!(status, 400);
}

#[tokio::test]
async fn without_a_team_there_are_no_people() {
    let server = RawServer::open().await;
    let house = Router::before(&server).await;
    house.refuses("GET", "stats?by=person", "", 409, "no-team").await;
    house.refuses("GET", "stats?by=day&everyone=true", "", 409, "no-team").await;
}
