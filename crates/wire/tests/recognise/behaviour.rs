//! Behaviours of clients with their frequencies, and the content of conversations.

use crate::random::Random;
use crate::render::Family;
use serde_json::json;

/// One thing a client, or the human in front of it, does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Behaviour {
    Turn,
    Retry,
    RetryWithoutStream,
    /// The proxy restarts; the client knows nothing of it.
    Restart,
    /// The same, and the last of what it saw was not stored.
    RestartWithLoss,
    SideRequest,
    Rewind,
    RewindAndSaySame,
    RewindAndSayLater,
    RewindAndReturn,
    /// To some branch that was left long ago.
    Return,
    Compaction,
    CompactionWithoutTail,
    /// In the middle of a tool loop, or after the provider found the prompt too long.
    CompactionInLoop,
    SummariseUpToHere,
    SummariseFromHere,
    Fork,
    ModelSwitch,
    EnvironmentChanged,
    ThinkingStripped,
    ResultsCleared,
    RemindersChanged,
    LateEvent,
    /// Interrupted before any output: the prompt is gone.
    Vanish,
    InterruptKeepsPartial,
    InterruptAfterResults,
    /// Turns that did not pass through the proxy, or a rewind, or a compaction.
    Elsewhere,
    ElsewhereRewind,
    ElsewhereCompaction,
    /// A client that drops the oldest turns without a word.
    WindowSlides,
    /// A client that keeps files or a map in front of the dialogue writes them anew.
    FrontRewritten,
}

use Behaviour::*;

/// How often each comes, out of the sum. In captured traffic one request in twenty was something
/// else than a plain continuation or a retry; here more than half of all behaviours are.
pub const MIX: [(Behaviour, usize); 31] = [
    (Turn, 40),
    (Retry, 4),
    (RetryWithoutStream, 3),
    (Restart, 3),
    (RestartWithLoss, 2),
    (SideRequest, 4),
    (Rewind, 4),
    (RewindAndSaySame, 2),
    (RewindAndSayLater, 2),
    (RewindAndReturn, 3),
    (Return, 2),
    (Compaction, 4),
    (CompactionWithoutTail, 2),
    (CompactionInLoop, 2),
    (SummariseUpToHere, 2),
    (SummariseFromHere, 1),
    (Fork, 2),
    (ModelSwitch, 4),
    (EnvironmentChanged, 3),
    (ThinkingStripped, 3),
    (ResultsCleared, 3),
    (RemindersChanged, 3),
    (LateEvent, 3),
    (Vanish, 3),
    (InterruptKeepsPartial, 3),
    (InterruptAfterResults, 3),
    (Elsewhere, 2),
    (ElsewhereRewind, 1),
    (ElsewhereCompaction, 1),
    (WindowSlides, 1),
    (FrontRewritten, 1),
];

/// What only ever adds to the end of the history.
pub const APPENDING: [Behaviour; 6] = [Turn, Retry, RetryWithoutStream, Restart, SideRequest, InterruptKeepsPartial];

impl Behaviour {
    pub fn any(random: &mut Random) -> Behaviour {
        random.weighted(&MIX)
    }
}

/// What a conversation is made of.
#[derive(Clone, Debug)]
pub struct Nature {
    /// How many answers in a hundred carry thinking.
    pub thinking: u64,
    /// How many turns in a hundred use tools.
    pub tools: u64,
    /// Tool ids that count from zero after each compaction, as some models give them.
    pub counted_ids: bool,
    /// A notice with the time that moves to the end of every request.
    pub moving_notice: bool,
    pub family: Family,
    pub mark: Option<serde_json::Value>,
}

impl Nature {
    pub fn any(random: &mut Random) -> Nature {
        let (thinking, tools) = match random.below(100) {
            0..60 => (95, 75),
            60..85 => (0, 75),
            _ => (0, 10),
        };
        let mark = match random.below(10) {
            0 => None,
            1..4 => Some(json!({"type": "ephemeral", "ttl": "1h"})),
            _ => Some(json!({"type": "ephemeral"})),
        };
        Nature {
            thinking,
            tools,
            counted_ids: random.percent(4),
            moving_notice: random.percent(4),
            family: if random.percent(65) { Family::A } else { Family::B },
            mark,
        }
    }
}

const SHORT_PROMPTS: [&str; 7] = ["yes", "continue", "go on", "ok", "no", "do it", "thanks, next"];
const LONG_PROMPTS: [&str; 3] = [
    "Read the plan in PLAN.md, take the next open item, implement it with tests, run the whole suite, and tell me what you changed.",
    "Please review the last change carefully: correctness first, then naming, then tests; list what you would do differently and why.",
    "The build is red again. Find out why, fix the cause and not the symptom, and run everything once more before you report back.",
];
const SHORT_ANSWERS: [&str; 4] = ["Done.", "OK.", "All tests pass.", "I'll continue."];
const LONG_ANSWERS: [&str; 2] = [
    "I have made the change and run the whole test suite: everything passes. Tell me if you would like me to go on with the next item.",
    "The file has been updated as you asked. Nothing else was touched; let me know whether I should commit this or change it further.",
];

/// What a human says: three times in ten a word that is said all the time, once in eight a long
/// prompt that is pasted again and again.
pub fn prompt_words(random: &mut Random) -> String {
    match random.below(100) {
        0..30 => (*random.pick(&SHORT_PROMPTS)).to_owned(),
        30..42 => (*random.pick(&LONG_PROMPTS)).to_owned(),
        _ => {
            let count = random.between(3, 40);
            random.words(count)
        }
    }
}

pub fn answer_words(random: &mut Random) -> String {
    match random.below(100) {
        0..25 => (*random.pick(&SHORT_ANSWERS)).to_owned(),
        25..35 => (*random.pick(&LONG_ANSWERS)).to_owned(),
        _ => {
            let count = random.between(4, 40);
            random.words(count)
        }
    }
}

/// A file that is attached; the same one comes again now and then.
pub fn attached_file(random: &mut Random) -> String {
    format!("Contents of src/file{}.rs:\nfn main() {{}}", random.below(3))
}

pub fn summary_words(random: &mut Random) -> String {
    let words = random.words(40);
    // Some clients begin their summaries in words that we do not know.
    if random.percent(80) {
        format!("This session is being continued from a previous conversation. {words}")
    } else {
        format!("Summary: {words}")
    }
}
