//! The sizes of recorded requests, compared with the provider's counts.

use crate::{played, recording};
use ctx_lab::policies::{Keep, Nothing};
use ctx_lab::recording::{Recording, Split, Usage, read};
use ctx_lab::request::Script;
use serde_json::json;
use serde_json::value::to_raw_value;
use std::path::Path;

/// The recordings of `corpus2` that policies are chosen by.
fn tune() -> Vec<Recording> {
    if testkit::recorded_files("corpus2").is_empty() {
        return Vec::new();
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus2");
    let is_tune = |recording: &Recording| recording.labels.split == Split::Tune;
    read(&[folder]).recordings.into_iter().filter(is_tune).collect()
}

fn quantile(list: &mut [f64], share: f64) -> f64 {
    list.sort_by(f64::total_cmp);
    list.get((list.len() as f64 * share) as usize).copied().unwrap_or_default()
}

#[test]
fn reconstructed_prompts_have_the_size_that_the_provider_counted() {
    let recordings = tune();
    let mut off = Vec::new();
    for recording in &recordings {
        let script = Script::of(recording);
        for (at, turn) in recording.turns.iter().enumerate() {
            let Some(usage) = turn.usage else { continue };
            let counted = (usage.input + usage.cache_read + usage.cache_written) as f64;
            if counted > 0.0 {
                off.push((script.size(at) - counted).abs() / counted);
            }
        }
    }
    let [median, most, rare] = [0.5, 0.9, 0.99].map(|share| quantile(&mut off, share));
    let percent = [median, most, rare].map(|off| format!("{:.2} %", off * 100.0)).join(", ");
    println!("{} requests: off by {percent} (median, 90th, 99th percentile)", off.len());
    assert!(recordings.is_empty() || (off.len() > 15_000 && median < 0.001 && most < 0.03), "{median} {most}");
}

/// On newer models most thinking has no text. The counted output of a reply, without its visible part, tells its size
/// independently of the prompts.
#[test]
fn hidden_thinking_is_as_large_as_the_counted_output_tells() {
    let recordings = tune();
    let (mut grown, mut told, mut unrecorded, mut all) = (0.0, 0.0, 0.0, 0.0);
    let mut scales = Vec::new();
    for recording in &recordings {
        let script = Script::of(recording);
        let shares = script.shares();
        if shares.hidden_thinking < 20_000.0 {
            continue;
        }
        scales.push(script.sizes.scale);
        grown += shares.hidden_thinking;
        unrecorded += shares.unrecorded;
        all += shares.visible + shares.hidden_thinking + shares.unrecorded;
        let outputs: f64 = recording.turns.iter().filter_map(|turn| turn.usage).map(|usage| usage.output as f64).sum();
        told += outputs - script.visible_replies();
    }
    let [low, high] = [0.1, 0.9].map(|share| quantile(&mut scales, share));
    println!(
        "{} conversations: {grown:.0} tokens of hidden thinking, {told:.0} by the output; {:.1} % of all, {:.1} % unrecorded; \
         scales {low:.2} to {high:.2}",
        scales.len(),
        grown / all * 100.0,
        unrecorded / all * 100.0
    );
    if !recordings.is_empty() {
        assert!(scales.len() > 20 && (grown / told - 1.0).abs() < 0.1, "{grown} {told}");
        assert!(low > 1.0 && high < 1.7 && unrecorded < 0.1 * all, "{low} {high} {unrecorded} of {all}");
    }
}

/// A conversation in which every reply thinks 2,000 tokens without text, at a scale of 1 and a head of 10,000.
fn thinking_hidden(calls: usize) -> Recording {
    let mut recording = recording(calls);
    let plain = Script::of(&recording);
    let sizes: Vec<f64> = (0..recording.turns.len()).map(|turn| plain.size(turn)).collect();
    drop(plain);
    for (at, turn) in recording.turns.iter_mut().enumerate() {
        let prompt = sizes[at] - 10_000.0 + 2000.0 * at as f64;
        let usage = Usage { input: prompt as u64, output: 2100, ..Usage::default() };
        turn.usage = Some(usage);
        let mut reply: serde_json::Value = serde_json::from_str(recording.messages[turn.answer].get()).expect("JSON");
        let thought = json!({"type": "thinking", "thinking": "", "signature": format!("signature {at}")});
        reply["content"].as_array_mut().expect("blocks").insert(0, thought);
        recording.messages[turn.answer] = to_raw_value(&reply).expect("JSON");
    }
    recording
}

#[test]
fn a_change_that_drops_thinking_takes_its_hidden_tokens_along() {
    let recording = thinking_hidden(20);
    let (none, cleared) = (played(&recording, Nothing), played(&recording, Keep::above(40_000, 3)));
    let acted = cleared.turns.iter().position(|turn| turn.cleared).expect("it acts");
    assert!(none.turns[acted].reading.prompt() > 40_000.0);
    let less = none.turns[acted].reading.prompt() - cleared.turns[acted].reading.prompt();
    let results = cleared.turns[acted].done.iter().map(|done| done.tokens_less).sum::<u64>() as f64;
    let thinking = less - results;
    println!("{less:.0} tokens less, {results:.0} of them results, before request {acted}");
    assert!(thinking > 3.0 * 2000.0, "{thinking} of {acted} replies");
}
