//! The command line, the page, the API, its OpenAPI document and MCP offer the same operations.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::over_http::ask;
use crate::scene::Scene;
use crate::speaker::Speaker;

#[test]
fn command_line_page_api_its_description_and_mcp_have_the_same_operations() {
    let scene = Scene::new();
    let names = |value: Option<&Value>| -> BTreeSet<String> {
        let list = value.and_then(Value::as_array).expect("a list").iter();
        list.filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let tools = Speaker::start(scene.place.ctx(&["mcp"])).tools();
    let schema = |name: &str| &tools.iter().find(|tool| tool["name"] == name).expect("the tool")["inputSchema"];
    let operation = "/properties/operations/items/properties/op/enum";
    let operations = names(schema("ctx_preview").pointer(operation));
    assert_eq!(operations, names(schema("ctx_apply").pointer(operation)));
    let ways = names(schema("ctx_undo").pointer("/properties/action/enum"));

    // The API's error lists the operations it knows.
    let expected = |path: &str, body: Value| -> BTreeSet<String> {
        let answer =
            ask(&scene.place, "POST", &format!("/control/v1/conversations/active/{path}"), &[], &body.to_string());
        let message = answer.1["error"]["message"].as_str().expect("a message").to_owned();
        message
            .split("expected one of")
            .nth(1)
            .expect(&message)
            .split('`')
            .skip(1)
            .step_by(2)
            .map(str::to_owned)
            .collect()
    };
    assert_eq!(expected("operations", json!({"author": "a", "operations": [{"op": "none"}]})), operations);
    let mut of_api = expected("history", json!({"author": "a", "action": "none"}));
    of_api.insert("heal".into());
    assert_eq!(of_api, ways);

    // So does the OpenAPI document.
    let (_, document) = ask(&scene.place, "GET", "/control/v1/openapi.json", &[], "");
    let described = |pointer: &str| -> &Value {
        let place = document.pointer(pointer).and_then(Value::as_str).expect(pointer);
        document.pointer(place.trim_start_matches('#')).expect(place)
    };
    let each = described("/components/schemas/EditRequest/properties/operations/items/$ref")["oneOf"].as_array();
    let each = each.expect("operations").iter().filter_map(|one| one.pointer("/properties/op/const")?.as_str());
    assert_eq!(each.map(str::to_owned).collect::<BTreeSet<_>>(), operations);
    assert_eq!(names(described("/components/schemas/HistoryRequest/properties/action/$ref").get("enum")), {
        let heal = BTreeSet::from(["heal".to_owned()]);
        ways.difference(&heal).cloned().collect::<BTreeSet<_>>()
    });

    // The command line lists its editing verbs; a batch is a list of operations, like `ctx_apply`.
    let help = scene.place.run(&["preview", "--help"]).ok().out;
    let verbs = help.split("Verbs:").nth(1).and_then(|rest| rest.split("\n\n").next()).expect(&help);
    let indented = |line: &&str| line.starts_with("  ") && !line.starts_with("   ");
    let mut verbs: BTreeSet<String> =
        verbs.lines().filter(indented).filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect();
    assert!(verbs.remove("batch"), "{verbs:?}");
    // Those two are flags of the verbs that create them.
    verbs.extend(["remove_branch", "remove_tag"].map(str::to_owned));
    assert_eq!(verbs, operations.union(&ways).cloned().collect::<BTreeSet<_>>());

    // The page has a catalogue of operations, and names the history actions where it runs them.
    let page = read_page();
    let catalogue = page.iter().find(|(path, _)| path.ends_with("edit/operations.ts")).expect("the catalogue");
    let named = catalogue.1.split("name: \"").skip(1).filter_map(|rest| rest.split('"').next());
    assert_eq!(named.map(str::to_owned).collect::<BTreeSet<_>>(), operations);
    for way in ways {
        // By name, or by path.
        let ways = [format!("\"{way}\""), format!("/{way}\"")];
        let says = |(path, text): &(PathBuf, String)| {
            !path.ends_with("api/schema.ts") && ways.iter().any(|way| text.contains(way))
        };
        assert!(page.iter().any(says), "the page has no way to {way}");
    }
}

fn read_page() -> Vec<(PathBuf, String)> {
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("../../web/src")];
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for path in std::fs::read_dir(&folder).expect("the page").map(|entry| entry.expect("an entry").path()) {
            match path.is_dir() {
                true => folders.push(path),
                false => files.push((path.clone(), std::fs::read_to_string(&path).unwrap_or_default())),
            }
        }
    }
    files
}
