//! Requests against each kind of cache.

use super::*;

/// Messages are numbers; a prefix is the list of them up to its end.
type Prefix = [u8; 32];

struct Cache {
    rules: CacheRules,
    cache: PromptCache<Prefix>,
    lifetime: u64,
    model: &'static str,
    /// Tokens of the head and of each message.
    tokens: f64,
    places: usize,
}

impl Cache {
    fn new(rules: CacheRules) -> Cache {
        let lifetime = rules.usual_lifetime();
        Cache { rules, cache: PromptCache::new(usize::MAX), lifetime, model: "one", tokens: 1000.0, places: 1 }
    }

    /// A request with a head and these messages, with breakpoints in the head, if any, and at these messages.
    fn take(&mut self, at: u64, messages: &[u8], breakpoints: &[usize]) -> (f64, f64, f64) {
        let mut prefix = [0; 32];
        let mut after = Vec::new();
        for (at, message) in messages.iter().enumerate() {
            prefix[at + 1] = *message;
            after.push(prefix);
        }
        let breakpoints =
            Breakpoints { head: !breakpoints.is_empty(), messages: breakpoints.to_vec(), ..Breakpoints::default() };
        let tokens = |end: End| self.tokens * end.map_or(1, |end| end + 2) as f64;
        let outline = Outline {
            model: Some(self.model),
            manner: None,
            head: [0; 32],
            after: &after,
            breakpoints: &breakpoints,
            places: &|_| self.places,
            tokens: &tokens,
        };
        let Reading { read, written, input } = self.cache.take(&self.rules, &outline, at, self.lifetime);
        assert_eq!(read + written + input, tokens(outline.last()));
        (read, written, input)
    }
}

#[test]
fn a_request_reads_what_was_written_and_writes_what_is_new() {
    let mut cache = Cache::new(ANTHROPIC);
    assert_eq!(cache.take(0, &[1, 2], &[1]), (0.0, 3000.0, 0.0));
    assert_eq!(cache.take(1, &[1, 2, 3], &[2]), (3000.0, 1000.0, 0.0));
    assert_eq!(cache.take(2, &[1, 9], &[0]), (0.0, 2000.0, 1000.0), "nothing is written behind the last breakpoint");
}

#[test]
fn an_edit_costs_what_stands_behind_it_once() {
    let mut cache = Cache::new(ANTHROPIC);
    cache.take(0, &[1], &[0]);
    cache.take(0, &[1, 2], &[1]);
    cache.take(0, &[1, 2, 3], &[2]);
    assert_eq!(cache.take(1, &[1, 9, 3], &[2]), (2000.0, 2000.0, 0.0));
    assert_eq!(cache.take(1, &[1, 9, 3], &[2]), (4000.0, 0.0, 0.0));
}

#[test]
fn a_model_does_not_read_what_another_wrote() {
    let mut cache = Cache::new(ANTHROPIC);
    assert_eq!(cache.take(0, &[1], &[0]), (0.0, 2000.0, 0.0));
    cache.model = "other";
    assert_eq!(cache.take(1, &[1], &[0]), (0.0, 2000.0, 0.0));
    cache.model = "one";
    assert_eq!(cache.take(2, &[1], &[0]), (2000.0, 0.0, 0.0), "its own is still there");
    (cache.model, cache.rules.minimum) = ("third", 2048);
    assert_eq!(cache.take(3, &[1], &[0]), (0.0, 0.0, 2000.0), "too little to be cached");
}

#[test]
fn an_entry_lives_on_when_it_is_used() {
    let mut cache = Cache::new(ANTHROPIC);
    cache.take(0, &[1], &[0]);
    assert_eq!(cache.take(300_000, &[1], &[0]), (2000.0, 0.0, 0.0));
    assert_eq!(cache.take(600_001, &[1], &[0]), (0.0, 2000.0, 0.0));
}

#[test]
fn an_entry_that_was_written_for_an_hour_stays_that_long() {
    let mut cache = Cache::new(ANTHROPIC);
    cache.lifetime = ONE_HOUR;
    cache.take(0, &[1], &[0]);
    cache.lifetime = FIVE_MINUTES;
    assert_eq!(cache.take(1000, &[1], &[0]), (2000.0, 0.0, 0.0));
    assert_eq!(cache.take(3_000_000, &[1], &[0]), (2000.0, 0.0, 0.0));
    assert_eq!(cache.take(3_600_001, &[1], &[0]), (0.0, 2000.0, 0.0));
}

#[test]
fn a_breakpoint_looks_back_twenty_places() {
    let reads = |places: usize, messages: u8| {
        let mut cache = Cache { places, ..Cache::new(ANTHROPIC) };
        cache.take(0, &[1], &[0]);
        let messages: Vec<u8> = (1..=messages).collect();
        cache.take(1, &messages, &[messages.len() - 1]).0
    };
    assert_eq!((reads(1, 20), reads(1, 21)), (2000.0, 0.0));
    assert_eq!((reads(2, 10), reads(2, 11)), (2000.0, 0.0), "its messages take two places each");
}

#[test]
fn a_cache_of_any_prefix_reads_the_longest_one_in_whole_steps() {
    let mut cache = Cache::new(OPENAI);
    assert_eq!(cache.take(0, &[1, 2, 3], &[]), (0.0, 0.0, 4000.0), "writing is not counted");
    assert_eq!(cache.take(1, &[1, 2, 3, 4], &[]), (3968.0, 0.0, 1032.0));
    assert_eq!(cache.take(2, &[1, 2, 9], &[]), (2944.0, 0.0, 1056.0), "the edit cuts at its own message");
    assert_eq!(cache.take(3, &[9], &[]), (0.0, 0.0, 2000.0), "the head is shorter than the minimum");
    assert_eq!(cache.take(400_000, &[1, 2, 9], &[]), (0.0, 0.0, 4000.0), "it has expired");
    let mut cache = Cache { tokens: 2000.0, ..Cache::new(GEMINI) };
    cache.take(0, &[1], &[]);
    assert_eq!(cache.take(1, &[1, 2], &[]), (0.0, 0.0, 6000.0), "4,000 tokens are too few");
    assert_eq!(cache.take(2, &[1, 2, 3], &[]), (6000.0, 0.0, 2000.0), "to the token");
}

#[test]
fn a_cache_at_the_last_input_reads_at_entries_only() {
    let mut cache = Cache::new(OPENAI_BREAKPOINTS);
    assert_eq!(cache.take(0, &[1, 2], &[]), (0.0, 3000.0, 0.0));
    assert_eq!(cache.take(1, &[1, 2, 3, 4], &[]), (3000.0, 2000.0, 0.0));
    assert_eq!(cache.take(2, &[1, 2, 3, 9], &[]), (3000.0, 2000.0, 0.0), "nothing was written behind 3");
    assert_eq!(cache.take(3, &[1, 9, 3], &[]), (0.0, 4000.0, 0.0), "nor behind 1");
    let far: Vec<u8> = (1..=30).collect();
    assert_eq!(cache.take(4, &far, &[]).0, 5000.0, "no breakpoint limits how far it looks back");
}

#[test]
fn explicit_breakpoints_add_to_the_implicit_one_up_to_the_most() {
    let mut cache = Cache::new(OPENAI_BREAKPOINTS);
    cache.take(0, &[1, 2, 3, 4, 5], &[0, 1, 2]);
    assert_eq!(cache.take(1, &[1, 2, 9], &[]).0, 3000.0);
    assert_eq!(cache.take(2, &[1, 8], &[]).0, 2000.0);
    assert_eq!(cache.take(3, &[7], &[]).0, 0.0, "the head was the fifth");
}

#[test]
fn only_the_newest_entries_are_considered() {
    let mut cache = Cache::new(CacheRules { reads: Reads::AtEntries { newest: 2 }, ..OPENAI_BREAKPOINTS });
    cache.take(0, &[1], &[]);
    cache.take(1, &[2], &[]);
    cache.take(2, &[3], &[]);
    assert_eq!(cache.take(3, &[1], &[]).0, 0.0);
}

#[test]
fn a_request_that_sets_its_own_breakpoints_only_is_not_written_at_its_end() {
    let after = [[1; 32], [2; 32], [3; 32]];
    let breakpoints = Breakpoints { head: false, messages: vec![1], is_explicit: true };
    let outline = Outline {
        model: None,
        manner: None,
        head: [0; 32],
        after: &after,
        breakpoints: &breakpoints,
        places: &|_| 1,
        tokens: &|_| 0.0,
    };
    assert_eq!(OPENAI_BREAKPOINTS.writes(&outline), [Some(1)]);
    let implicit = Breakpoints { is_explicit: false, ..breakpoints.clone() };
    assert_eq!(OPENAI_BREAKPOINTS.writes(&Outline { breakpoints: &implicit, ..outline }), [Some(1), Some(2)]);
}
