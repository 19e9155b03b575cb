//! `ctx config`: values in force, their sources, and errors.

use std::fs;

use serde_json::Value;

use crate::place::{Place, Ran, asking, provider};

fn value<'a>(told: &'a Value, key: &str) -> &'a Value {
    let values = told["values"].as_array().expect("values");
    values.iter().find(|value| value["key"] == key).unwrap_or_else(|| panic!("{key}: {told}"))
}

fn wrong(ran: &Ran) -> String {
    let told = ran.json();
    assert_eq!(told["healthy"], ran.code == Some(0));
    let words = |told: &Value| format!("{}:{} {}", told["file"], told["line"], told["message"]);
    told["wrong"].as_array().expect("a list").iter().map(words).collect::<Vec<_>>().join("\n")
}

#[test]
fn without_a_file_everything_is_as_by_default() {
    let place = Place::new();
    let ran = place.run(&["config", "check"]).ok();
    assert!(ran.out.contains("[context_editing]\n  mode ") && ran.out.ends_with("No errors.\n"), "{ran:?}");
    let told = place.run(&["config", "check", "--json"]).ok().json();
    assert!(told["values"].as_array().expect("values").iter().all(|value| value["from"] == "default"), "{told}");
    assert_eq!(value(&told, "context_editing.mode")["value"], "off");
    assert_eq!(value(&told, "context_editing.provider.clear_tool_uses.keep")["value"], 5);
    assert!(!place.home().exists(), "looking leaves no trace");
}

#[test]
fn every_value_tells_where_it_was_said() {
    let place = Place::new();
    fs::create_dir_all(place.path("work/.claude/skills/build")).expect("a folder");
    place.write(
        "home/ctx.toml",
        "[upstream]\nproxy = \"http://me:hush@proxy:1\"\n[helper]\nbudget_per_day = 7\n[context_editing]\nmode = \"observe\"\n\
         hook = \"notify\"\ntarget_percent = 90\n[context_editing.provider]\nenabled = true\n",
    );
    place.write("work/ctx.toml", "[context_editing]\npreserve_recent_turns = 3\n[helper]\nbudget_per_day = 9\n");
    place.write("work/.loa.config.yaml", "other: 1\ncontext_editing:\n  enabled: true\n  future: 1\n");
    place.write(
        "work/.claude/skills/build/SKILL.md",
        "---\nname: build\ncontext_editing:\n  clear_after_phases: [coding]\n---\n",
    );
    let told = place.run(&["config", "check", "--json"]).ok().json();
    let place_of = |told: &Value, key: &str| {
        let value = value(told, key);
        let file = value["from"].as_str().expect("a place").rsplit('/').next().unwrap_or_default().to_owned();
        (value["value"].clone(), file, value["line"].as_u64())
    };
    assert_eq!(
        place_of(&told, "context_editing.mode"),
        ("observe".into(), "ctx.toml".into(), Some(6)),
        "not trusted yet"
    );
    let waiting: Vec<&str> =
        told["waiting"].as_array().expect("a list").iter().filter_map(|one| one["key"].as_str()).collect();
    assert_eq!(
        waiting,
        ["context_editing.preserve_recent_turns", "context_editing.mode", "context_editing.clear_after_phases"]
    );
    let ran = place.run(&["config", "check"]).ok();
    assert!(ran.out.contains("need your trust: run `ctx trust`"), "{ran:?}");
    place.run_at_terminal(&["trust"]).ok();
    let told = place.run(&["config", "check", "--json"]).ok().json();
    let at = |key: &str| place_of(&told, key);
    assert_eq!(at("context_editing.mode"), ("on".into(), ".loa.config.yaml".into(), Some(3)));
    assert_eq!(at("context_editing.preserve_recent_turns"), (3.into(), "ctx.toml".into(), Some(2)));
    assert_eq!(at("context_editing.hook"), ("notify".into(), "ctx.toml".into(), Some(7)));
    assert_eq!(at("context_editing.provider.enabled"), (true.into(), "ctx.toml".into(), Some(10)));
    assert_eq!(at("helper.budget_per_day"), (7.into(), "ctx.toml".into(), Some(4)), "a project has no say in it");
    assert_eq!(at("context_editing.ledger"), ("NOTES.md".into(), "default".into(), None));
    assert_eq!(told["skills"][0]["clear_after_phases"][0], "coding");
    let ran = place.run(&["config", "check"]).ok();
    for expected in [
        ".loa.config.yaml:3",
        "the skill build, while active, also clears after coding",
        "`context_editing.future` is unknown to this version and ignored",
        "context_editing.target_percent: it must be well below the threshold of 80 %; using 75 %",
        "(set, not shown)",
    ] {
        assert!(ran.out.contains(expected), "{expected}: {}", ran.out);
    }
    assert!(!ran.out.contains("hush") && !told.to_string().contains("hush"));
}

#[test]
fn everything_that_is_wrong_is_told_with_its_line_and_the_exit_code_says_so() {
    let place = Place::new();
    for (name, text, line, says) in [
        ("work/ctx.toml", "[context_editing]\ncompact_threshold_percent = 140\n", 2, "from 1 to 100, not 140"),
        ("work/ctx.toml", "[context_editing]\npreserve_recent_turns = -1\n", 2, "from 0 to 100000, not -1"),
        ("work/ctx.toml", "[context_editing]\nclear_targets = [\"verbose\"]\n", 2, "cannot be `verbose`"),
        ("work/ctx.toml", "[context_editing.provider]\nclear_tool_uses = { keep = -1 }\n", 2, "from 0 to 100000"),
        ("work/ctx.toml", "[context_editing\n", 1, ""),
        ("home/ctx.toml", "\n[upstream]\nurl = 5\n", 3, "must be a text in quotes"),
        ("work/.loa.config.yaml", "context_editing:\n  enabled: [true\n", 3, "this is not YAML"),
        ("work/.loa.config.yaml", "context_editing:\n  enabled: perhaps\n", 2, "must be true or false"),
    ] {
        let path = place.write(name, text);
        let ran = place.run(&["config", "check", "--json"]);
        assert_eq!(ran.code, Some(1), "{text}: {ran:?}");
        let told = wrong(&ran);
        assert_eq!(told.lines().count(), 1, "{text}: {told}");
        let file = name.rsplit('/').next().unwrap_or_default();
        assert!(told.contains(&format!("{file}\":{line} ")) && told.contains(says), "{text}: {told}");
        let ran = place.run(&["config", "check"]);
        assert!(ran.code == Some(1) && ran.out.contains("1 error."), "{ran:?}");
        fs::remove_file(path).expect("removed");
    }
    place.write("home/ctx.toml", "[upstream]\nurl = \"https://me:hush@api.example\"\n");
    let ran = place.run(&["config", "check"]);
    assert!(ran.out.contains("The daemon cannot start with these settings.") && !ran.out.contains("hush"), "{ran:?}");
    let ran = place.run(&["config", "check", "--project", "nowhere"]).refused();
    assert!(ran.err.contains("no folder nowhere"), "{ran:?}");
}

#[cfg(unix)]
#[test]
fn a_file_that_cannot_be_read_is_told_of() {
    let place = Place::new();
    fs::create_dir_all(place.home().join("ctx.toml")).expect("a folder in its place");
    let ran = place.run(&["config", "check", "--json"]);
    assert!(ran.code == Some(1) && wrong(&ran).contains("this is not a file"), "{ran:?}");
}

#[test]
fn a_daemon_with_a_wrong_section_says_so_and_forwards() {
    let (place, provider) = (Place::new(), provider());
    place.write(
        "work/ctx.toml",
        "[context_editing]\ncompact_threshold_percent = 140\n[context_editing.provider]\nkeeps = 1\n",
    );
    let up = place.up(&provider.url());
    up.send(&asking(1, "SAY:hello"));
    assert!(place.run(&["list"]).ok().out.contains("t1"));
    let ran = place.run(&["doctor", "--offline"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.out.contains("line 2: ") && ran.out.contains("line 4: "), "{ran:?}");
}

#[test]
fn a_file_that_becomes_wrong_while_the_daemon_runs_is_told_of_once_and_what_it_said_stays() {
    let (place, provider) = (Place::new(), provider());
    let up = place.up(&provider.url());
    let mut session = asking(1, "SAY:hello");
    let mut turn = |text: &str| {
        place.write("home/ctx.toml", text);
        // Files are checked once a second.
        std::thread::sleep(std::time::Duration::from_millis(1_100));
        for _ in 0..2 {
            up.send(&session);
            session.assistant("hello").user("SAY:hello");
        }
        let status = place.run(&["status", "--json"]).ok().json();
        status["context"]["mode"].as_str().map(str::to_owned)
    };
    assert_eq!(turn("[context_editing]\nmode = \"observe\"\n").as_deref(), Some("observe"));
    let wrong = "[context_editing]\nmode = \"on\"\ncompact_threshold_percent = 140\n";
    assert_eq!(turn(wrong).as_deref(), Some("observe"));
    let log = up.log();
    assert_eq!(log.matches("home/ctx.toml, line 3: ").count(), 1, "{log}");
    assert!(log.contains("from 1 to 100, not 140"), "{log}");
    assert_eq!(turn("[context_editing]\nmode = \"ask\"\n").as_deref(), Some("ask"));
    assert_eq!(provider.requests().len(), 6, "everything was forwarded");
}

#[test]
fn the_schema_is_printed() {
    let ran = Place::new().run(&["config", "schema"]).ok();
    assert_eq!(ran.json()["properties"]["context_editing"]["properties"]["compact_threshold_percent"]["maximum"], 100);
    let alone = Place::new().run(&["config"]);
    assert!(alone.code == Some(2) && alone.err.contains("ctx config check"), "{alone:?}");
}
