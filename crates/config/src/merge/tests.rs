//! Stronger layers win, and untrusted layers can only clear less.

use ctx_core::policy::{Artifact, Budget, Call, Cuts, DietMode, Target, Trims};
use ctx_wire::provider_edits::{ClearToolUses, Who};

use super::*;
use crate::read;
use crate::sections::{AttentionBudget, CutsSection, DietSection, Patterns, TrimsSection};
use crate::sources::Places;
use crate::tree::Node;

fn words(words: &[&str]) -> Option<Vec<String>> {
    Some(words.iter().map(|&word| word.to_owned()).collect())
}

fn patterns(tool: &str) -> Patterns {
    Patterns { tools: vec![tool.to_owned()], ..Patterns::default() }
}

#[test]
fn a_stronger_layer_changes_only_the_keys_that_it_sets() {
    let attention_budget = AttentionBudget { accumulated: Some(9), ..AttentionBudget::default() };
    let one = ContextEditing { mode: Some(Mode::On), attention_budget, ..ContextEditing::default() };
    let artifacts = [("active_beads".to_owned(), patterns("Beads"))].into();
    let other = ContextEditing { preserve_recent_turns: Some(2), artifacts, ..ContextEditing::default() };
    let settings = lay(&lay(&Settings::default(), &one), &other);
    assert_eq!((settings.mode, settings.preserve_recent_turns), (Mode::On, 2));
    assert_eq!(settings.attention_budget, Some(Budget { accumulated: 9, ..Budget::default() }));
    assert_eq!(settings.compact_threshold_percent, 80);
    assert_eq!(settings.artifacts["active_beads"], patterns("Beads").into(), "a definition replaces the one before");
    assert_eq!(settings.artifacts.len(), Settings::default().artifacts.len());
}

/// A layer that clears as much as possible.
fn louder() -> ContextEditing {
    ContextEditing {
        mode: Some(Mode::On),
        compact_threshold_percent: Some(1),
        threshold_with_provider_percent: Some(1),
        target_percent: Some(1),
        preserve_recent_turns: Some(0),
        clear_targets: Some(Target::ALL.to_vec()),
        clear_after_phases: words(&["*"]),
        attention_budget: AttentionBudget { single_search: Some(1), accumulated: Some(1), session_total: Some(1) },
        preserve_artifacts: words(&[]),
        artifacts: [("decision_records".to_owned(), Patterns::default())].into(),
        exclude_tools: words(&[]),
        ledger: Some("Makefile".into()),
        hook: Some("x".into()),
        webhook: Some("http://localhost".into()),
        trims: TrimsSection { views: Some(true), searches: Some(true), outputs: Some(true), edits: Some(true) },
        cuts: CutsSection {
            build: Some(1),
            search: Some(1),
            listing: Some(1),
            log: Some(1),
            page: Some(1),
            repeated_view: Some(1),
        },
        diet: DietSection {
            mode: Some(DietMode::On),
            after_conversations: Some(1),
            shorten_lists: Some(true),
            keep_tools: words(&[]),
            leave_out: words(&["*"]),
        },
        ..ContextEditing::default()
    }
}

#[test]
fn a_layer_without_trust_can_only_clear_less() {
    let cuts = Cuts { build: 3_000, search: 3_000, log: 3_000, ..Cuts::default() };
    let trims = Trims { outputs: false, ..Trims::default() };
    let home = Settings { mode: Mode::Ask, exclude_tools: vec!["Plan*".into()], trims, cuts, ..Settings::default() };
    let mut settings = home.clone();
    lay_quieter(&mut settings, &louder());
    assert_eq!(settings, home, "nothing of it counts");
    let budget = Budget { single_search: 9_000, accumulated: 90_000, session_total: 900_000 };
    lay_quieter(
        &mut settings,
        &ContextEditing {
            mode: Some(Mode::Observe),
            compact_threshold_percent: Some(90),
            threshold_with_provider_percent: Some(99),
            target_percent: Some(70),
            preserve_recent_turns: Some(9),
            clear_targets: Some(vec![Target::VerboseDebug]),
            clear_after_phases: words(&["testing"]),
            attention_budget: AttentionBudget {
                single_search: Some(9_000),
                accumulated: Some(90_000),
                session_total: Some(900_000),
            },
            preserve_artifacts: words(&["plans"]),
            artifacts: [("plans".to_owned(), patterns("plan"))].into(),
            exclude_tools: words(&["Read"]),
            trims: TrimsSection { views: Some(false), outputs: Some(true), ..TrimsSection::default() },
            cuts: CutsSection { build: Some(0), search: Some(9_000), ..CutsSection::default() },
            ..ContextEditing::default()
        },
    );
    assert_eq!((settings.mode, settings.preserve_recent_turns), (Mode::Observe, 9));
    assert_eq!((settings.threshold(false), settings.threshold(true), settings.target_percent), (90, 99, 70));
    assert_eq!(
        (&*settings.clear_targets, settings.clear_after_phases.join(" ")),
        (&[Target::VerboseDebug][..], "testing".into())
    );
    assert_eq!(settings.attention_budget, Some(budget));
    assert_eq!(settings.trims, Trims { views: false, ..trims });
    assert_eq!(settings.cuts, Cuts { build: 0, search: 9_000, ..cuts });
    assert!(settings.preserve_artifacts.starts_with(&home.preserve_artifacts));
    assert!(settings.preserve_artifacts.contains(&"plans".to_owned()));
    assert_eq!(settings.artifacts["plans"], Artifact::from(patterns("plan")));
    assert!(settings.excludes("Read") && settings.excludes("planner"));
    let coding = ContextEditing { clear_after_phases: words(&["coding"]), ..ContextEditing::default() };
    lay_quieter(&mut settings, &coding);
    assert!(settings.clear_after_phases.is_empty(), "only phases that both name");
    let before = settings.clone();
    preserve_more(&mut settings, &ContextEditing { clear_after_phases: words(&["setup"]), ..louder() });
    assert_eq!(settings, before, "nor does a skill clear more");
}

#[test]
fn a_skill_adds_and_removes_nothing() {
    let before = Settings { clear_after_phases: vec!["testing".into()], ..Settings::default() };
    let skill = ContextEditing {
        mode: Some(Mode::On),
        clear_after_phases: words(&["coding", "testing"]),
        preserve_artifacts: words(&["coverage_data"]),
        ..ContextEditing::default()
    };
    let settings = add(&before, &skill);
    assert_eq!(settings.mode, before.mode);
    assert_eq!(settings.clear_after_phases, ["testing", "coding"]);
    assert_eq!(settings.preserve_artifacts.len(), before.preserve_artifacts.len() + 1);
    assert!(settings.clears_after("coding") && !settings.clears_after("setup"));
    let read = Call { tool: "Read", path: Some("/p/out/coverage-data.json"), ..Call::default() };
    assert_eq!(settings.preserves(&read), Some("coverage_data"), "a name without a definition matches that name");
}

fn layer(text: &str) -> Layer {
    read::read(&Node::of_toml(text).expect("TOML"), Origin::User)
}

#[test]
fn the_provider_section_of_a_project_without_trust_can_only_switch_off() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = "[context_editing.provider]\nenabled = true\nmodels = [\"*\"]\n\
         clear_tool_uses = { enabled = false, keep = 0 }\ncompact = { enabled = true }\n";
    std::fs::write(folder.path().join("ctx.toml"), text).expect("written");
    let environment = crate::env::Environment::of(&[]);
    let home = crate::home::Home::find(Some(&folder.path().join("home")), &environment).expect("a home");
    let source = Places::new(&crate::Flags::default(), &environment, &home).project(folder.path()).remove(0);
    let layer = source.read().expect("a layer");
    let off = ClearToolUses { enabled: Some(false), ..ClearToolUses::default() };
    let quieter = quieter(&layer.config.context_editing.provider);
    assert_eq!(quieter.settings, ProviderSettings { clear_tool_uses: off, ..ProviderSettings::default() });
    let layers = [SourceLayer { source: &source, layer: Some(&layer) }];
    let (rules, waiting) = provider_rules(Some(folder.path()), &layers, &Trust::default());
    assert!(rules.are_off());
    let keys: Vec<(&str, usize)> =
        waiting.iter().map(|one| (one.key.rsplit('.').next().unwrap_or_default(), one.line)).collect();
    assert_eq!(keys, [("enabled", 2), ("models", 3), ("keep", 4), ("enabled", 5)]);
}

#[test]
fn a_projects_file_sets_the_provider_for_itself_and_the_homes_for_all() {
    let home = layer(
        "[context_editing.provider]\nenabled = false\n\
         [context_editing.provider.projects.\"/srv/a/b/\"]\nenabled = false\n\
         [context_editing.provider.projects.\"/srv/a\"]\nenabled = true\n",
    );
    let project = layer(
        "[context_editing.provider]\nenabled = true\n[context_editing.provider.projects.\"/srv/z\"]\nenabled = true\n",
    );
    let mut rules = Rules::default();
    let folder = Path::new("/srv/p");
    add_rules(&mut rules, None, home.config.context_editing.provider);
    add_rules(&mut rules, Some((folder, folder)), project.config.context_editing.provider);
    let is_on = |folder| rules.of(&Who { model: "m", folder, is_sub: false }).is_some();
    assert!(is_on(Some("/srv/p/src")) && is_on(Some("/srv/a/c")));
    assert!(!is_on(Some("/srv/a/b/c")) && !is_on(Some("/srv/z")) && !is_on(Some("/else")) && !is_on(None));
}
