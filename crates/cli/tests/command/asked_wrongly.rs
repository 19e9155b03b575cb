//! Invalid commands, and help for valid ones.

use crate::place::Place;

const VERBS: [&str; 18] = [
    "up",
    "run",
    "stop",
    "ui",
    "conversations",
    "list",
    "show",
    "search",
    "compose",
    "preview",
    "history",
    "diff",
    "timeline",
    "watch",
    "status",
    "doctor",
    "config",
    "purge",
];

/// The editing verbs.
const CHANGES: [&str; 24] = [
    "delete",
    "edit",
    "compact",
    "offload",
    "restore",
    "move",
    "add",
    "combine",
    "split",
    "drop-results",
    "summarize-results",
    "retitle",
    "pin",
    "unpin",
    "import",
    "batch",
    "revert",
    "undo",
    "redo",
    "rollback",
    "branch",
    "checkout",
    "tag",
    "heal",
];

#[test]
fn a_command_that_makes_no_sense_exits_with_two_and_says_why() {
    let place = Place::new();
    for arguments in [
        &[][..],
        &["lsit"],
        &["list", "--stpes"],
        &["list", "--conv", ""],
        &["show"],
        &["show", "t1", "--raw", "--json"],
        &["compose", "--dump", "--json"],
        &["compose", "--dump", "--explain"],
        &["delete"],
        &["delete", "t1", "--older-than", "yesterday"],
        &["compact", "t1", "--reason", "because"],
        &["edit", "t1", "--text", "a", "--raw", "b"],
        &["move", "t1"],
        &["preview"],
        &["preview", "list"],
        &["history", "--limit", "0"],
        &["timeline", "--limit", "0"],
        &["timeline", "--limit", "many"],
        &["up", "--listen", "somewhere"],
        &["up", "--upstream", "api.anthropic.com"],
        &["run"],
        &["purge"],
        &["purge", "--all", "--older-than", "3"],
        &["purge", "--older-than", "-1"],
    ] {
        let ran = place.run(arguments);
        assert_eq!((ran.code, ran.out.as_str()), (Some(2), ""), "{arguments:?}: {ran:?}");
        assert!(!ran.err.is_empty(), "{arguments:?}");
    }
    assert!(!place.home().exists());
}

#[test]
fn an_upstream_with_a_password_is_refused_and_not_repeated() {
    let ran = Place::new().run(&["up", "--upstream", "https://me:hush@api.example"]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.err.contains("contains a user name or password") && !ran.err.contains("hush"), "{ran:?}");
}

#[test]
fn the_help_of_every_verb_shows_an_example() {
    let place = Place::new();
    let overview = place.run(&["--help"]).ok().out;
    let listed = overview.lines().filter_map(|line| line.strip_prefix("  ctx ")?.split(' ').next());
    let listed: Vec<&str> = listed.collect();
    for verb in VERBS.iter().chain(&CHANGES) {
        assert!(listed.contains(verb), "{verb} is in the overview:\n{overview}");
    }
    for verb in listed {
        let help = place.run(&[verb, "--help"]).ok().out;
        let examples = help.split("Example").nth(1).unwrap_or_default();
        assert!(examples.contains(&format!("ctx {verb}")), "{help}");
    }
    assert!(overview.contains("--home"), "options of every verb are listed once: {overview}");
}

#[test]
fn every_verb_that_looks_takes_json() {
    let place = Place::new();
    for verb in VERBS.iter().filter(|verb| !["up", "run"].contains(verb)) {
        let help = place.run(&[verb, "--help"]).ok().out;
        assert!(help.contains("--json"), "{help}");
    }
    for verb in ["list", "show", "compose", "history", "diff", "timeline", "watch", "ui", "purge"] {
        let help = place.run(&[verb, "--help"]).ok().out;
        assert!(help.contains("--conv"), "{help}");
    }
    for verb in CHANGES {
        for help in [place.run(&[verb, "--help"]).ok().out, place.run(&["preview", verb, "--help"]).ok().out] {
            for flag in ["--json", "--conv", "--note", "--expect", "--dry-run"] {
                assert!(help.contains(flag), "{help}");
            }
        }
    }
}

#[test]
fn help_is_also_a_command() {
    let place = Place::new();
    assert!(place.run(&["help"]).ok().out.contains("ctx COMMAND --help"));
    assert!(place.run(&["help", "add"]).ok().out.contains("--file"));
}

#[test]
fn text_that_is_missing_or_unreadable_is_named() {
    let place = Place::new();
    let ran = place.run(&["add", "--start"]);
    assert!(ran.code == Some(2) && ran.err.contains("--text <TEXT>|--file <FILE>"), "{ran:?}");
    let config = place.path("work/ctx.toml");
    std::fs::write(&config, b"# a note\n\xff\xfe").expect("written");
    let ran = place.run(&["config", "check", "--config", "ctx.toml"]);
    assert!(ran.code == Some(1) && ran.out.contains("ctx.toml, line 2: it is not UTF-8 text"), "{ran:?}");
}
