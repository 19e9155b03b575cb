//! The running account: whatever the session, the automatic editor never costs more than 2 % above doing nothing, at no
//! moment. A session that ends right after an edit is one of these moments.

use ctx_core::policy::{Auto, Policy};
use ctx_lab::policies::Nothing;
use ctx_lab::recording::{Labels, Recording, Turn, Usage, read};
use ctx_lab::replay::{PlayOutcome, RecordingFacts, play};
use ctx_lab::run::with_known;
use ctx_models::Models;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

// Far from the limits of their windows, where edits are forced. The first and the third differ in the price of reads.
const OPUS: &str = "claude-opus-5";
const SONNET: &str = "claude-sonnet-5";
const CHEAP_READS: &str = "claude-opus-5-5";
/// A window of 200,000 tokens.
const NARROW: &str = "claude-opus-4-5";

/// One call and its result.
#[derive(Clone, Copy)]
pub struct Step {
    /// Milliseconds since the request before.
    pub pause: u64,
    /// Words of the result.
    pub words: usize,
    /// Words of thinking before the call.
    pub thinking: usize,
    pub model: &'static str,
    /// The cache keeps what it writes for an hour.
    pub hour: bool,
}

pub const STEP: Step = Step { pause: 20_000, words: 500, thinking: 0, model: OPUS, hour: false };

pub fn session(steps: &[Step]) -> Recording {
    let raw = |value: &Value| -> Box<RawValue> { to_raw_value(value).expect("JSON") };
    let mut messages = vec![json!({"role": "user", "content": "please build all of it"})];
    let (mut turns, mut at) = (Vec::new(), 1_000_000);
    for (number, step) in steps.iter().enumerate() {
        at += step.pause as i64;
        let usage = Usage { cache_written_1h: Some(u64::from(step.hour)), cache_written: 1, ..Usage::default() };
        let turn = Turn { answer: messages.len(), at: Some(at), model: Some(step.model.into()), usage: Some(usage) };
        turns.push(Turn { usage: turn.usage.filter(|_| step.hour), ..turn });
        let (id, input) = (format!("toolu_{number}"), json!({"command": format!("make part-{number}")}));
        let mut said = vec![json!({"type": "tool_use", "id": id, "name": "Bash", "input": input})];
        if step.thinking > 0 {
            let thinking = format!("thought-{number} again ").repeat(step.thinking / 2);
            said.insert(0, json!({"type": "thinking", "thinking": thinking, "signature": format!("signed-{number}")}));
        }
        messages.push(json!({"role": "assistant", "content": said}));
        let text: String = (0..step.words).map(|word| format!("{word} of {number}\n")).collect();
        messages
            .push(json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": id, "content": text}]}));
    }
    Recording {
        name: "made".into(),
        wire: ctx_wire::WireId::Anthropic,
        lead: Vec::new(),
        model: OPUS.into(),
        head: raw(&json!({"model": OPUS, "max_tokens": 1000, "tools": [{"name": "Bash", "input_schema": {}}]})),
        messages: messages.iter().map(raw).collect(),
        turns,
        labels: Labels::default(),
    }
}

fn played(recording: &Recording, cache_losses: &[usize], policy: Arc<dyn Policy>) -> PlayOutcome {
    with_known(recording, Models::listed(), |known| play(&RecordingFacts { cache_losses, ..*known }, policy))
        .expect("played")
}

/// The largest share by which the editor was dearer at any moment, and the number of its edits of sent content.
fn worst(steps: &[Step], cache_losses: &[usize]) -> (f64, usize) {
    let recording = session(steps);
    let none = played(&recording, cache_losses, Arc::new(Nothing));
    let auto = played(&recording, cache_losses, Arc::new(Auto::default()));
    let (mut without, mut with, mut worst) = (0.0, 0.0, f64::MIN);
    for (none, auto) in none.turns.iter().zip(&auto.turns) {
        without += none.input_cost + none.output_cost;
        with += auto.input_cost + auto.output_cost;
        worst = f64::max(worst, with / without - 1.0);
    }
    (worst, auto.turns.iter().filter(|turn| turn.cleared).count())
}

#[track_caller]
fn check(what: &str, steps: &[Step]) -> usize {
    check_losing(what, steps, &[])
}

/// The same with caches that are lost before these steps.
#[track_caller]
fn check_losing(what: &str, steps: &[Step], cache_losses: &[usize]) -> usize {
    let (worst, edits) = worst(steps, cache_losses);
    println!("{what}: at worst {:+.2} %, {edits} edits", worst * 100.0);
    assert!(worst <= 0.02, "{what}: {worst}");
    edits
}

#[test]
fn a_session_that_may_end_right_after_each_edit_is_never_much_dearer() {
    check("steady", &[STEP; 90]);
    // Large results first, which make edits attractive, then hardly anything.
    let (large, small) = (Step { words: 3_000, ..STEP }, Step { words: 20, ..STEP });
    let steps: Vec<Step> = (0..90).map(|at| if at % 30 < 10 { large } else { small }).collect();
    assert!(check("large, then small", &steps) > 0);
}

#[test]
fn bursts_pauses_and_two_hundred_results_a_minute_are_never_much_dearer() {
    let quick = Step { pause: 300, words: 300, ..STEP };
    check("200 a minute", &[quick; 120]);
    // Just before the cache expires, and just after.
    let bursts = |pause: u64| -> Vec<Step> {
        (0..90).map(|at| if at % 15 == 14 { Step { pause, ..quick } } else { Step { words: 900, ..quick } }).collect()
    };
    check("bursts, still warm", &bursts(295_000));
    check("bursts, cold", &bursts(305_000));
}

#[test]
fn models_that_change_and_caches_of_different_lifetimes_are_never_much_dearer() {
    let by = |of: &dyn Fn(usize) -> Step| (0..90).map(of).collect::<Vec<Step>>();
    let models = by(&|at| Step { model: if at / 7 % 2 == 0 { OPUS } else { SONNET }, ..STEP });
    check("two models", &models);
    check("two lifetimes", &by(&|at| Step { hour: at / 20 % 2 == 0, pause: 100_000, ..STEP }));
    // Each entry that is not read again expires before the next edit.
    check("slow steps", &by(&|_| Step { pause: 280_000, ..STEP }));
}

#[test]
fn caches_that_expire_early_are_never_much_dearer() {
    let (large, small) = (Step { words: 3_000, ..STEP }, Step { words: 20, ..STEP });
    let steps: Vec<Step> = (0..90).map(|at| if at % 30 < 10 { large } else { small }).collect();
    let every = |nth: usize| (nth..90).step_by(nth).collect::<Vec<usize>>();
    let edits = check_losing("lost often", &steps, &every(4)) + check_losing("lost at times", &steps, &every(17));
    assert!(edits > 0);
    // Right after each edit: the request that was to read what the edit wrote.
    let edited = played(&session(&steps), &[], Arc::new(Auto::default()));
    let edits = edited.turns.iter().enumerate().filter(|(_, turn)| turn.cleared);
    check_losing("lost after each edit", &steps, &edits.map(|(turn, _)| turn + 1).collect::<Vec<usize>>());
}

#[test]
fn thinking_and_a_window_of_a_million_tokens_are_never_much_dearer() {
    let thoughtful = Step { thinking: 1_500, words: 400, ..STEP };
    assert!(check("thinking", &[thoughtful; 90]) > 0);
    let window = |model| Models::listed().of(model).model().and_then(|model| model.window);
    assert_eq!([OPUS, SONNET, CHEAP_READS].map(window), [Some(1_000_000); 3]);
    check("a million", &[Step { model: CHEAP_READS, words: 3_500, thinking: 500, ..STEP }; 50]);
}

#[test]
fn random_sessions_are_never_much_dearer() {
    let mut state = 7_u64;
    let mut random = |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    for number in 0..6 {
        let mut steps = Vec::new();
        while steps.len() < 70 {
            let pause = [300, 5_000, 60_000, 290_000, 310_000][random(5) as usize];
            let words = [10, 150, 700, 2_000][random(4) as usize];
            let (thinking, model) = ([0, 0, 1_200][random(3) as usize], [OPUS, OPUS, OPUS, SONNET][random(4) as usize]);
            let burst = 1 + random(12) as usize;
            steps.extend(vec![Step { pause, words, thinking, model, hour: false }; burst]);
        }
        check(&format!("random {number}"), &steps);
    }
}

/// The largest share by which the editor was dearer at any moment, without the cost of limit exceptions; and the turns
/// of these.
fn worst_without_exceptions(steps: &[Step]) -> (f64, Vec<usize>) {
    worst_of(&session(steps))
}

fn worst_of(recording: &Recording) -> (f64, Vec<usize>) {
    let none = played(recording, &[], Arc::new(Nothing));
    let auto = played(recording, &[], Arc::new(Auto::default()));
    let (mut without, mut with, mut worst, mut exceptions) = (0.0, 0.0, f64::MIN, Vec::new());
    for (turn, (none, auto)) in none.turns.iter().zip(&auto.turns).enumerate() {
        let cost = |turn: &ctx_lab::replay::Turn| turn.input_cost + turn.output_cost;
        without += cost(none);
        with += cost(auto);
        if auto.exception {
            with -= (cost(auto) - cost(none)).max(0.0);
            exceptions.push(turn);
        }
        worst = f64::max(worst, with / without - 1.0);
    }
    (worst, exceptions)
}

#[test]
fn only_limit_exceptions_exceed_the_bound_and_only_near_the_limit() {
    let narrow = Step { model: NARROW, words: 4_000, ..STEP };
    // Large results fill the window at once, and again after each clearing; then the session ends, or goes on in vain.
    let small = Step { words: 20, ..narrow };
    let sessions = [
        ("filled once", vec![narrow; 9]),
        ("filled again and again", vec![narrow; 40]),
        ("filled, then nothing", (0..60).map(|at| if at < 9 { narrow } else { small }).collect()),
        ("bursts", (0..80).map(|at| if at % 16 < 8 { narrow } else { small }).collect::<Vec<Step>>()),
        ("just warm", vec![Step { pause: 295_000, ..narrow }; 30]),
    ];
    let mut all = 0;
    for (what, steps) in sessions {
        let (with_all, _) = worst(&steps, &[]);
        let (worst, exceptions) = worst_without_exceptions(&steps);
        println!(
            "{what}: at worst {:+.2} %, {:+.2} % without exceptions {exceptions:?}",
            with_all * 100.0,
            worst * 100.0
        );
        assert!(worst <= 0.02, "{what}: {worst}");
        assert!(with_all <= 0.02 || !exceptions.is_empty(), "{what}: {with_all}");
        let recording = session(&steps);
        let auto = played(&recording, &[], Arc::new(Auto::default()));
        for turn in &exceptions {
            let before = turn.checked_sub(1).map_or(0.0, |before| auto.turns[before].reading.prompt());
            assert!(before > 0.5 * 200_000.0, "{what}: {turn} {before}");
        }
        all += exceptions.len();
    }
    assert!(all >= 4, "{all}");
    // In a wide window, the same results force nothing.
    let wide: Vec<Step> = vec![Step { model: OPUS, ..narrow }; 40];
    assert_eq!(worst_without_exceptions(&wide).1, Vec::<usize>::new());
}

/// A few recordings, or all with `CTX_LONG=1`, of both splits: nothing is chosen by this.
#[test]
fn recorded_sessions_are_never_much_dearer_at_any_request_but_by_limit_exceptions() {
    let folders = ["corpus", "corpus2"].map(|set| (set, testkit::recorded_files(set)));
    let folders = folders.iter().filter(|(_, files)| !files.is_empty());
    let shared = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    let recordings: Vec<Recording> = folders.flat_map(|(set, _)| read(&[shared.join(set)]).recordings).collect();
    let every = if testkit::is_long() { 1 } else { 30 };
    let (next, worst) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(recording) = recordings.get(next.fetch_add(every, Ordering::Relaxed)) {
                    let (share, exceptions) = worst_of(recording);
                    let mut worst = worst.lock().expect("a list");
                    worst.push((share, exceptions.len(), recording.name.to_string()));
                }
            });
        }
    });
    let mut worst = worst.into_inner().expect("a list");
    worst.sort_by(|one, other| other.0.total_cmp(&one.0));
    let with_exceptions = worst.iter().filter(|(_, exceptions, _)| *exceptions > 0).count();
    println!("{} recordings, {with_exceptions} with limit exceptions; {:?}", worst.len(), worst.first());
    for (share, _, name) in &worst {
        assert!(*share <= 0.02, "{name}: {share}");
    }
}
