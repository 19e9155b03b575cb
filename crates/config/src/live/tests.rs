//! Precedence, and changes while the daemon runs.

use std::fs;

use ctx_api::context::ProjectSetting;
use ctx_core::policy::Mode;

use super::*;

struct Place {
    folder: tempfile::TempDir,
    rules: LiveRules,
}

impl Place {
    fn new() -> Place {
        let folder = tempfile::tempdir().expect("a folder");
        for name in ["home", "me/.claude/skills", "p/.git", "p/src", "p/.claude/skills"] {
            fs::create_dir_all(folder.path().join(name)).expect("a folder");
        }
        let rules = Place::rules(folder.path(), &Flags::default());
        Place { folder, rules }
    }

    fn rules(folder: &Path, flags: &Flags) -> LiveRules {
        let environment = Environment::of(&[("HOME", &folder.join("me").to_string_lossy())]);
        let home = Home::find(Some(&folder.join("home")), &environment).expect("a home");
        LiveRules { every: Duration::ZERO, ..LiveRules::new(flags, &environment, &home) }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, text).expect("written");
    }

    /// Trusts this file in its current state.
    fn trust(&self, name: &str) {
        let home = self.rules.places.home();
        let path = fs::canonicalize(self.path(name)).expect("a file");
        let owner = ctx_store::confined::Identity::of(&fs::metadata(&path).expect("there")).owner;
        let hash = ctx_store::Hash::of(&fs::read(&path).expect("a file")).to_string();
        let mut trust = Trust::load(home).expect("read");
        trust.add(&path, &crate::trust::Fingerprint { owner, hash }, 1);
        trust.save(home).expect("saved");
    }

    /// The waiting keys, and the reasons for ignored ones.
    fn told(&self, folder: &str) -> (Vec<String>, Vec<String>) {
        let told = self.rules.project(Some(&self.path(folder)), &[]).unwrap_or_default();
        let key = |setting: ProjectSetting| setting.key.trim_start_matches("context_editing.").to_owned();
        (told.waiting.into_iter().map(key).collect(), told.ignored.into_iter().map(|one| one.why).collect())
    }

    fn of(&self, folder: &str, skills: &[&str]) -> Arc<Settings> {
        self.rules.of(Some(&self.path(folder)), skills)
    }
}

fn skill(more: &str) -> String {
    format!("---\nname: x\ndescription: does things\ncontext_editing:\n{more}---\n# Text\n")
}

#[test]
fn the_yaml_wins_over_the_project_over_the_home_over_the_defaults() {
    let place = Place::new();
    let target = |folder: &str| place.of(folder, &[]).target_percent;
    assert_eq!(*place.of("p/src", &[]), ctx_clients::editor_settings());
    place.write(
        "home/ctx.toml",
        "[context_editing]\nmode = \"observe\"\ntarget_percent = 41\npreserve_recent_turns = 9\n",
    );
    assert_eq!((target("p/src"), target("elsewhere")), (41, 41));
    place.write("p/ctx.toml", "[context_editing]\ntarget_percent = 42\n");
    assert_eq!((target("p/src"), target("elsewhere")), (42, 41));
    place.write("p/.loa.config.yaml", "context_editing:\n  target_percent: 43\n  enabled: true\n");
    let all = place.of("p/src", &[]);
    assert_eq!((all.target_percent, all.preserve_recent_turns, all.mode), (43, 9, Mode::Observe));
    place.trust("p/.loa.config.yaml");
    assert_eq!(place.of("p/src", &[]).mode, Mode::On);
    let nowhere = place.rules.of(None, &[]);
    assert_eq!((nowhere.target_percent, nowhere.mode), (41, Mode::Observe));
    assert_eq!(*place.rules.of(Some(Path::new("p")), &[]), *nowhere, "a folder that is not whole is none");
}

#[test]
fn a_file_that_was_named_takes_the_place_of_the_others() {
    let place = Place::new();
    place.write("home/ctx.toml", "[context_editing]\ntarget_percent = 41\n");
    place.write("p/ctx.toml", "[context_editing]\ntarget_percent = 42\n");
    place.write("named.toml", "[context_editing]\nhook = \"notify\"\n");
    let flags = Flags { config: Some(place.path("named.toml")), ..Flags::default() };
    let settings = Place::rules(place.folder.path(), &flags).of(Some(&place.path("p")), &[]);
    assert_eq!((settings.target_percent, settings.hook.as_deref()), (60, Some("notify")));
}

#[test]
fn what_is_off_at_home_no_project_switches_on() {
    let place = Place::new();
    place.write("p/.loa.config.yaml", "context_editing:\n  enabled: true\n");
    place.trust("p/.loa.config.yaml");
    assert_eq!(place.of("p", &[]).mode, Mode::On);
    place.write("home/ctx.toml", "[context_editing]\nmode = \"off\"\n");
    assert_eq!(place.of("p", &[]).mode, Mode::Off);
    assert_eq!(place.told("p"), (vec![], vec![]), "and trust would not change it");
    place.write("home/ctx.toml", "[context_editing]\nmode = \"observe\"\n");
    assert_eq!(place.of("p", &[]).mode, Mode::On, "a stronger word than another mode");
}

#[test]
fn a_change_counts_at_once_and_without_one_nothing_is_made_anew() {
    let place = Place::new();
    place.write("home/ctx.toml", "[context_editing]\nmode = \"on\"\n");
    place.write("p/ctx.toml", "[context_editing]\nmode = \"ask\"\n");
    let (one, two) = (place.of("p", &[]), place.of("p", &[]));
    assert!(Arc::ptr_eq(&one, &two));
    place.write("p/ctx.toml", "[context_editing]\nmode = \"observe\"\n");
    assert_eq!(place.of("p", &[]).mode, Mode::Observe);
    fs::remove_file(place.path("p/ctx.toml")).expect("removed");
    assert_eq!(place.of("p", &[]).mode, Mode::On, "what is gone says nothing");
}

#[test]
fn a_file_is_looked_at_once_in_a_while() {
    let mut place = Place::new();
    place.rules.every = Duration::from_secs(3_600);
    place.write("home/ctx.toml", "[context_editing]\nmode = \"on\"\n");
    place.write("p/ctx.toml", "[context_editing]\nmode = \"ask\"\n");
    assert_eq!(place.of("p", &[]).mode, Mode::Ask);
    place.write("p/ctx.toml", "[context_editing]\nmode = \"observe\"\n");
    assert_eq!(place.of("p", &[]).mode, Mode::Ask);
}

#[test]
fn a_file_that_has_become_wrong_leaves_what_it_said_before() {
    let place = Place::new();
    let good = "[context_editing]\nmode = \"on\"\ntarget_percent = 74\n";
    let now = || place.of("p", &[]).target_percent;
    place.write("p/ctx.toml", good);
    assert_eq!(now(), 74);
    for wrong in [
        "[context_editing]\ncompact_threshold_percent = 140\n",
        "[context_editing\n",
        "garbage = [",
        "[context_editting]\nmode = \"on\"\n",
    ] {
        place.write("p/ctx.toml", wrong);
        assert_eq!(now(), 74, "{wrong}");
        let told = place.rules.wrong(Some(&place.path("p")), &[]);
        let is_told =
            |told: &String| told.contains("ctx.toml") && told.ends_with("its previous settings stay in force");
        assert!(told.len() == 1 && told.iter().all(is_told), "{told:?}");
    }
    fs::write(place.path("p/ctx.toml"), [b'[', 0xff]).expect("written");
    assert_eq!(now(), 74, "not even text");
    place.write("p/ctx.toml", &good.replace("74", "75"));
    assert_eq!(now(), 75, "it is read again when it is right");
    assert!(place.rules.wrong(Some(&place.path("p")), &[]).is_empty());
    place.write("q/.loa.config.yaml", "context_editing: {target_percent: 140}\n");
    assert_eq!(place.of("q", &[]).target_percent, 60, "what was never right says nothing");
}

#[cfg(unix)]
#[test]
fn a_file_that_is_too_large_says_nothing() {
    let place = Place::new();
    place.write("home/ctx.toml", "[context_editing]\nmode = \"on\"\n");
    place.write("p/ctx.toml", &format!("[context_editing]\nmode = \"off\"\n#{}", "x".repeat(2 << 20)));
    assert_eq!(place.of("p", &[]).mode, Mode::On);
}

#[test]
fn an_active_skill_adds_phases_and_artifacts_and_nothing_else() {
    let place = Place::new();
    place.write("p/ctx.toml", "[context_editing]\nclear_after_phases = [\"testing\"]\n");
    place.write(
        "p/.claude/skills/build/SKILL.md",
        &skill(
            "  clear_after_phases: [setup, coding]\n  preserve_artifacts:\n    - test_results\n  mode: on\n  \
             artifacts:\n    trajectory_events:\n      paths: [nothing]\n    test_results:\n      paths: ['*.xml']\n",
        ),
    );
    let without = place.of("p/src", &[]);
    let quieter = place.of("p/src", &["build"]);
    assert_eq!(quieter.clear_after_phases, ["testing"], "nobody trusts it yet");
    assert!(quieter.preserve_artifacts.ends_with(&["test_results".to_owned()]), "it may preserve more");
    place.trust("p/.claude/skills/build/SKILL.md");
    let with = place.of("p/src", &["build", "unknown"]);
    assert_eq!(with.clear_after_phases, ["testing", "setup", "coding"]);
    assert!(with.preserve_artifacts.ends_with(&["test_results".to_owned()]));
    assert_eq!(with.artifacts["test_results"].paths, ["*.xml"]);
    assert_eq!((with.mode, &with.artifacts["trajectory_events"]), (Mode::Off, &without.artifacts["trajectory_events"]));
    assert_eq!(without.clear_after_phases, ["testing"], "only while it is active");
    assert_eq!(place.of("p/src", &["plugin:build"]), with, "by the name of its plugin, too");
    place.write("me/.claude/skills/build/SKILL.md", &skill("  clear_after_phases: [mine]\n"));
    assert_eq!(place.of("p", &["build"]).clear_after_phases, ["testing", "mine"], "the user's own comes first");
    assert_eq!(place.rules.of(None, &["build"]).clear_after_phases, ["*", "mine"]);
}

#[test]
fn a_skills_name_is_no_way_to_other_folders() {
    let place = Place::new();
    let text = skill("  clear_after_phases: [out]\n");
    place.write("p/SKILL.md", &text);
    place.write("p/.claude/other/SKILL.md", &text);
    place.write("p/.claude/skills/SKILL.md", &text);
    let outside = place.path("p/.claude/other");
    for name in
        ["..", "../other", "a/../../other", "plugin:other", ".", "", "..\\other", "a\0b", &outside.to_string_lossy()]
    {
        assert_eq!(place.of("p", &[name]).clear_after_phases, ["*"], "{name:?}");
    }
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(&outside, place.path("p/.claude/skills/linked")).expect("a link");
        assert_eq!(place.of("p", &["linked"]).clear_after_phases, ["*"], "a link out of the folder is not followed");
    }
}

#[test]
fn a_skills_text_is_not_read_and_a_broken_one_says_nothing() {
    let place = Place::new();
    place.write("p/.claude/skills/a/SKILL.md", "# No front matter\ncontext_editing:\n  clear_after_phases: [x]\n");
    place.write("p/.claude/skills/b/SKILL.md", &skill("  clear_after_phases: [x\n"));
    place.write("p/.claude/skills/c/SKILL.md", "---\nname: c\ndescription: use it: always\n---\n");
    assert_eq!(place.of("p", &["a", "b", "c"]).clear_after_phases, ["*"]);
}

#[test]
fn what_nobody_asks_for_any_more_is_forgotten() {
    let mut all: HashMap<usize, Instant> = HashMap::new();
    let now = Instant::now() + A_WHILE + A_WHILE;
    let old = Instant::now();
    all.extend((0..MOST).map(|number| (number, if number % 2 == 0 { now } else { old })));
    forget(&mut all, now, |at| *at);
    assert_eq!(all.len(), MOST / 2);
}

/// The log output of an action.
fn logged(doing: impl FnOnce()) -> String {
    // Without a global subscriber, a test beside this one can switch a message off for all threads.
    let _ = tracing::subscriber::set_global_default(tracing_subscriber::fmt().with_writer(std::io::sink).finish());
    #[derive(Clone, Default)]
    struct Log(Arc<Mutex<Vec<u8>>>);
    impl std::io::Write for Log {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            lock(&self.0).extend(bytes);
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let log = Log::default();
    let writer = log.clone();
    let subscriber = tracing_subscriber::fmt().with_ansi(false).with_writer(move || writer.clone()).finish();
    tracing::subscriber::with_default(subscriber, doing);
    String::from_utf8(lock(&log.0).clone()).expect("text")
}

#[test]
fn what_is_wrong_is_logged_once_with_its_line_and_reason() {
    let place = Place::new();
    place.write("p/ctx.toml", "[context_editing]\nmode = \"on\"\n");
    assert_eq!(logged(|| drop(place.of("p", &[]))), "");
    place.write("p/ctx.toml", "[context_editing]\ncompact_threshold_percent = 140\nfoo = 1\n");
    let log = logged(|| (0..3).for_each(|_| drop(place.of("p/src", &[]))));
    assert_eq!(log.lines().count(), 1, "{log}");
    for expected in ["WARN", "p/ctx.toml, line 2: ", "not 140", "line 3: ", "its previous settings stay in force"] {
        assert!(log.contains(expected), "{expected}: {log}");
    }
    place.write("p/ctx.toml", "[context_editing]\ncompact_threshold_percent = 1400\n");
    assert_eq!(logged(|| drop(place.of("p", &[]))).lines().count(), 1, "another version is told of again");
}

#[test]
fn what_the_provider_shall_do_counts_where_it_is_said_and_from_when_it_is_said() {
    use ctx_wire::provider_edits::Who;
    let place = Place::new();
    let keep = |folder: &str| {
        let folder = place.path(folder);
        let rules = place.rules.provider(Some(&folder));
        let settings = rules.of(&Who { model: "m", folder: folder.to_str(), is_sub: false })?;
        Some(settings.clear_tool_uses.keep)
    };
    assert_eq!((keep("p/src"), keep("elsewhere")), (None, None));
    place.write("p/ctx.toml", "[context_editing.provider]\nenabled = true\nclear_tool_uses = { keep = 7 }\n");
    assert_eq!((keep("p/src"), keep("elsewhere")), (None, None), "nobody trusts it yet");
    place.trust("p/ctx.toml");
    assert_eq!((keep("p/src"), keep("elsewhere")), (Some(Some(7)), None), "a project's file speaks for the project");
    assert!(place.rules.provider(None).are_off());
    place.write("home/ctx.toml", "[context_editing.provider]\nenabled = true\nclear_tool_uses = { keep = 3 }\n");
    assert_eq!((keep("p"), keep("elsewhere")), (Some(Some(7)), Some(Some(3))));
    let (one, two) = (place.rules.provider(None), place.rules.provider(None));
    assert!(Arc::ptr_eq(&one, &two), "without a change nothing is made anew");

    let wrong = "[context_editing]\ntarget_percent = 44\n[context_editing.provider]\nenabled = 3\n";
    place.write("home/ctx.toml", wrong);
    assert_eq!(keep("elsewhere"), Some(Some(3)), "its previous settings stay in force");
    assert_eq!(place.of("elsewhere", &[]).target_percent, 44, "and the rest counts");
    place.write("home/ctx.toml", "");
    assert_eq!((keep("p"), keep("elsewhere")), (Some(Some(7)), None));
}

#[test]
fn a_project_that_nobody_trusts_only_makes_it_quieter_and_what_waits_is_told() {
    let place = Place::new();
    place.write("home/ctx.toml", "[context_editing]\nmode = \"ask\"\n");
    let text = "[context_editing]\nmode = \"on\"\ncompact_threshold_percent = 1\npreserve_recent_turns = 9\nledger = \"Makefile\"\n\
                [context_editing.provider]\nenabled = true\nclear_thinking = { enabled = false }\n";
    place.write("p/ctx.toml", text);
    let settings = place.of("p/src", &[]);
    assert_eq!((settings.mode, settings.compact_threshold_percent, &*settings.ledger), (Mode::Ask, 80, "NOTES.md"));
    assert_eq!(settings.preserve_recent_turns, 9, "this is quieter");
    assert!(place.rules.provider(Some(&place.path("p"))).are_off());
    let waiting = ["mode", "compact_threshold_percent", "ledger", "provider.enabled"];
    assert_eq!(place.told("p/src").0, waiting);
    let told = place.rules.project(Some(&place.path("p")), &[]).expect("told");
    let mode = &told.waiting[0];
    assert_eq!((mode.line, mode.value.as_deref()), (Some(2), Some("on")));
    assert!(mode.file.ends_with("p/ctx.toml") && told.folder.ends_with("/p"), "{told:?}");

    place.trust("p/ctx.toml");
    let settings = place.of("p/src", &[]);
    assert_eq!((settings.mode, settings.compact_threshold_percent, &*settings.ledger), (Mode::On, 1, "Makefile"));
    assert_eq!(place.rules.project(Some(&place.path("p")), &[]), None);
    place.write("p/ctx.toml", &text.replace("= 9", "= 8"));
    assert_eq!((place.of("p", &[]).mode, place.told("p").0.len()), (Mode::Ask, 4), "a changed file waits again");
    place.write("p/ctx.toml", text);
    assert_eq!(place.of("p", &[]).mode, Mode::On, "what was trusted is trusted");
}

#[test]
fn a_trusted_file_whose_provider_section_becomes_wrong_stays_as_it_was() {
    let place = Place::new();
    let good = "[context_editing]\nmode = \"on\"\n[context_editing.provider]\nenabled = true\n";
    place.write("p/ctx.toml", good);
    place.trust("p/ctx.toml");
    let now = || (place.of("p", &[]).mode, place.rules.provider(Some(&place.path("p"))).are_off());
    assert_eq!(now(), (Mode::On, false));
    place.write("p/ctx.toml", &good.replace("true", "3"));
    assert_eq!(now(), (Mode::On, false));
    let told = place.rules.wrong(Some(&place.path("p")), &[]);
    assert!(told.len() == 1 && told[0].contains("must be true or false"), "{told:?}");
    place.write("p/ctx.toml", "[context_editing]\nmode = \"ask\"\n");
    assert_eq!(now(), (Mode::Off, true), "a changed file that is right waits for trust");
}

#[test]
fn what_concerns_the_whole_daemon_is_ignored_in_a_project_and_told() {
    let place = Place::new();
    let text = "[upstream]\nurl = \"http://localhost:1\"\n[mcp]\nallow = []\n[future]\nx = 1\n[context_editing]\nhook = \"x\"\n";
    place.write("p/ctx.toml", text);
    place.trust("p/ctx.toml");
    let (waiting, ignored) = place.told("p");
    assert_eq!((waiting, ignored.len()), (vec![], 4), "{ignored:?}");
    for expected in ["`upstream.url` is ignored", "`mcp.allow` is ignored", "`future` is unknown", "run commands"] {
        assert!(ignored.iter().any(|why| why.contains(expected)), "{expected}: {ignored:?}");
    }
    assert_eq!(place.of("p", &[]).hook, None, "trusted or not");
}

#[cfg(unix)]
#[test]
fn files_of_others_are_not_believed_at_all() {
    use std::os::unix::fs::{PermissionsExt, chown, symlink};
    let place = Place::new();
    let text = "[context_editing]\nmode = \"observe\"\n";
    place.write("home/ctx.toml", "[context_editing]\nmode = \"on\"\n");
    place.write("p/ctx.toml", text);
    let now = || (place.of("p", &[]).mode, place.told("p").1.join("\n"));
    let set = |name: &str, mode| fs::set_permissions(place.path(name), fs::Permissions::from_mode(mode)).expect("set");
    assert_eq!(now(), (Mode::Observe, String::new()));
    for (name, mode, usual) in
        [("p/ctx.toml", 0o666, 0o644), ("p/ctx.toml", 0o664, 0o644), ("p", 0o777, 0o755), ("p", 0o775, 0o755)]
    {
        set(name, mode);
        let (found, why) = now();
        assert!(
            found == Mode::On && why.contains("others can write to") && why.contains("chmod go-w"),
            "{name} {mode:o}: {why}"
        );
        set(name, usual);
        assert_eq!(now().0, Mode::Observe, "{name}");
    }
    place.trust("p/ctx.toml");
    // Only root can give a file away.
    if chown(place.path("p/ctx.toml"), Some(65_534), None).is_ok() {
        let (found, why) = now();
        assert!(found == Mode::On && why.contains("belongs to another user (id 65534)"), "{why}");
        chown(place.path("p/ctx.toml"), Some(0), None).expect("taken back");
        chown(place.path("p"), Some(65_534), None).expect("given away");
        assert_eq!(now().0, Mode::On, "the folder is another's");
        chown(place.path("p"), Some(0), None).expect("taken back");
    }
    fs::rename(place.path("p/ctx.toml"), place.path("p/real.toml")).expect("renamed");
    symlink(place.path("p/real.toml"), place.path("p/ctx.toml")).expect("a link");
    assert!(place.rules.wrong(Some(&place.path("p")), &[])[0].contains("this is a link"));
}
