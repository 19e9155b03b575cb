//! Searching text, and finding conversations by title.

use serde_json::Value;

use crate::editing::scene::{Scene, word};
use crate::place::{Place, asking, provider, until};

fn hits(found: &Value) -> Vec<(String, String)> {
    let conversations = found["conversations"].as_array().into_iter().flatten();
    conversations
        .flat_map(|found| {
            let hits = found["hits"].as_array().into_iter().flatten();
            hits.map(|hit| (word(&hit["id"]), word(&hit["kind"]))).collect::<Vec<_>>()
        })
        .collect()
}

#[test]
fn words_are_found_wherever_they_were_said_called_or_answered() {
    let scene = Scene::new();
    let found = scene.json(&["search", "COWS"]);
    assert_eq!((&found["query"], &found["searched"], &found["more"]), (&"COWS".into(), &1.into(), &false.into()));
    let kinds: Vec<String> = hits(&found).into_iter().map(|(_, kind)| kind).collect();
    assert_eq!(kinds, ["text", "tool_use", "tool_use", "tool_result"], "{found}");
    let first = &found["conversations"][0]["hits"][0];
    assert_eq!((&first["frame"], &first["role"], &first["sent"]), (&"t2".into(), &"user".into(), &true.into()));
    assert!(word(&first["snippet"]).contains("Count the cows"), "{first}");
    let shown = scene.place.run(&["show", &word(&first["id"])]).ok().out;
    assert!(shown.contains("Count the cows"), "the id can be shown: {shown}");

    let told = scene.place.run(&["search", "count", "cows"]).ok().out;
    assert!(told.contains("t2#") && told.contains("calls Bash"), "{told}");
    assert_eq!(hits(&scene.json(&["search", "cows", "count"])), hits(&scene.json(&["search", "count", "cows"])));
    assert_eq!(hits(&scene.json(&["search", "seven", "are"])).len(), 1, "both, in any order");
    assert_eq!(hits(&scene.json(&["search", "cows count"])).len(), 0, "in quotes it is a phrase");
    assert!(scene.place.run(&["search", "unicorn"]).ok().out.contains("No match for `unicorn` in 1 conversation."));
    assert_eq!(hits(&scene.json(&["search", "cows", "--limit", "2"])).len(), 2);
}

#[test]
fn what_an_edit_wrote_is_found_and_what_it_took_out_is_marked() {
    let scene = Scene::new();
    scene.change(&["delete", "t2"]);
    scene.change(&["compact", "t3", "--text", "The barn got \"Swedish red\" paint"]);
    let found = scene.json(&["search", "cows"]);
    let hits: Vec<&Value> = found["conversations"][0]["hits"].as_array().into_iter().flatten().collect();
    assert!(!hits.is_empty() && hits.iter().all(|hit| hit["sent"] == false), "{found}");
    assert!(scene.place.run(&["search", "cows"]).ok().out.contains("not sent"));
    let found = scene.json(&["search", "\"swedish RED\""]);
    assert_eq!(found["conversations"][0]["hits"][0]["frame"], "t3", "{found}");
}

#[test]
fn all_conversations_are_searched_also_after_a_restart_or_one_only() {
    let (place, provider) = (Place::new(), provider());
    let up = place.up(&provider.url());
    for seed in 1..=3 {
        up.send(&asking(seed, &format!("SAY:haystack number {seed}")));
    }
    let all = |arguments: &[&str]| {
        let found = place.run(&[arguments, &["--json"]].concat()).ok().json();
        let ids = found["conversations"].as_array().into_iter().flatten().map(|found| word(&found["id"]));
        ids.collect::<Vec<_>>()
    };
    until("all are known", || (all(&["search", "haystack"]).len() == 3).then_some(()));
    let before = all(&["search", "haystack"]);
    until("the answers are known", || {
        let found = place.run(&["search", "haystack", "--json"]).ok().json();
        found["conversations"].as_array()?.iter().all(|found| found["matches"] == 2).then_some(())
    });
    drop(up);
    let _up = place.up(&provider.url());
    assert_eq!(all(&["search", "haystack"]), before, "nothing of it is in memory");
    assert_eq!(all(&["search", "number 2"]).len(), 1);
    let one = &before[1];
    assert_eq!(all(&["search", "haystack", "--conv", one]), [one.as_str()]);
    assert_eq!(place.run(&["search", "haystack", "--conv", "zzz"]).refused().code, Some(1));
    assert_eq!(place.run(&["search", " "]).code, Some(2));
}

#[test]
fn a_conversation_goes_by_words_of_its_title() {
    let (place, provider) = (Place::new(), provider());
    let up = place.up(&provider.url());
    up.send(&asking(1, "SAY:the red barn"));
    up.send(&asking(2, "SAY:the blue barn"));
    until("both are known", || {
        let listed = place.run(&["conversations", "--json"]).ok().json();
        (listed["conversations"].as_array().map(Vec::len) == Some(2)).then_some(())
    });
    let titled = |name: &str| {
        let shown = place.run(&["show", "t1", "--conv", name]).ok().out;
        shown.lines().next().unwrap_or_default().to_owned()
    };
    assert!(titled("Red BARN").contains("the red barn"));
    assert!(titled("blue").contains("the blue barn"));
    assert!(titled("@latest").contains("the blue barn"));
    let ran = place.run(&["list", "--conv", "barn"]).refused();
    assert!(ran.err.contains("the red barn") && ran.err.contains("the blue barn"), "{ran:?}");
    let purged = place.run(&["purge", "--conv", "red", "--yes"]);
    assert_eq!(purged.code, Some(1), "what cannot be taken back goes by ids only: {purged:?}");
    let red = place.run(&["list", "--conv", "red", "--json"]).ok().json()["conversation"].clone();
    assert_eq!(place.run(&["timeline", "--conv", "red", "--json"]).ok().json()["conversation"], red);
}
