//! Recorded requests of the Responses API: they are read as the frames and steps that people had, and whatever is done to
//! them, the provider accepts the result.
//!
//! `CTX_LONG=1` makes many more edits, other ones each time (`CTX_FIRST` repeats them).

#[path = "responses/case.rs"]
mod case;

use case::Case;
use ctx_core::frames::parts;
use ctx_core::message::{Kind, Message};
use serde_json::Value;
use std::collections::HashMap;
use std::path::Path;
use testkit::judges::responses as strict;
use testkit::{Random, first_seed, is_long};

/// The recorded bodies beside the project. On machines that do not have them that is said; in CI they must be there.
fn bodies() -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus-wires/bodies");
    let files = std::fs::read_dir(&folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let name = |path: &Path| path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let mut found: Vec<(String, std::path::PathBuf)> = files.map(|path| (name(&path), path)).collect();
    found.retain(|(_, path)| {
        let text = std::fs::read(path).expect("a readable file");
        serde_json::from_slice::<Value>(&text).is_ok_and(|body| body["input"].is_array())
    });
    found.sort();
    if found.is_empty() {
        println!("SKIPPED: there are no recorded requests in {}", folder.display());
        assert!(std::env::var_os("CI").is_none(), "recorded requests are missing: {}", folder.display());
    }
    found.into_iter().map(|(name, path)| (name, std::fs::read(path).expect("a readable file"))).collect()
}

#[test]
fn recorded_requests_have_the_steps_that_people_had() {
    let bodies = bodies();
    let (mut slots, mut leads, mut steps, mut frames) = (0, 0, 0, 0);
    for (name, bytes) in &bodies {
        let case = Case::read(bytes.clone());
        let path: Vec<&Message> = case.facts.iter().collect();
        let mut calls: HashMap<&str, (usize, usize)> = HashMap::new();
        let mut pairs = 0;
        let cut = case.frames();
        for (at, step) in cut.iter().flat_map(|frame| &frame.steps).enumerate() {
            for part in parts(&path, step.start, step.end) {
                for block in &path[part.message].blocks[part.blocks] {
                    let Some(id) = block.tool_use_id.as_deref() else { continue };
                    match block.kind {
                        Kind::ToolUse => drop(calls.insert(id, (at, part.message))),
                        _ => {
                            assert_eq!(calls.get(id).map(|call| call.0), Some(at), "{name}: {id} is torn");
                            pairs += 1;
                        }
                    }
                }
            }
        }
        assert_eq!(calls.len(), pairs, "{name}: every call has its result");
        slots += case.facts.len();
        leads += case.body.spans().lead.len();
        steps += cut.iter().map(|frame| frame.steps.len()).sum::<usize>();
        frames += cut.len();
    }
    println!("{} bodies: {slots} slots and {leads} leading items, {steps} steps, {frames} frames", bodies.len());
    if !bodies.is_empty() {
        assert_eq!((bodies.len(), slots, leads, steps), (58, 16_404, 88, 4_070));
    }
}

#[test]
fn a_recorded_request_without_edits_leaves_as_it_came() {
    for (name, bytes) in bodies() {
        let composed = Case::read(bytes.clone()).compose();
        assert!(composed.bytes(&bytes) == bytes, "{name}");
        assert_eq!((composed.segments.len(), composed.repairs), (1, vec![]), "{name}");
    }
}

#[test]
fn the_provider_accepts_recorded_requests_whatever_is_edited() {
    let edits = if is_long() { 400 } else { 20 };
    for (name, bytes) in bodies() {
        let source: Value = serde_json::from_slice(&bytes).expect("JSON");
        strict::check(&source, &source).unwrap_or_else(|error| panic!("{name} as it came: {error}"));
        let mut case = Case::read(bytes);
        for seed in first_seed()..first_seed() + edits {
            let mut random = Random::new(seed);
            case.effects.clear();
            for _ in 0..random.between(1, 4) {
                let effect = case.edit(&mut random);
                case.effects.push(effect);
            }
            let composed = case.compose();
            let sent = composed.bytes(case.body.bytes());
            let value: Value =
                serde_json::from_slice(&sent).unwrap_or_else(|error| panic!("{name}, seed {seed}: {error}"));
            if let Err(error) = strict::check(&value, &source) {
                panic!("{name}, seed {seed}: {error}\n{:#?}\n{:#?}", composed.repairs, case.effects);
            }
        }
    }
}
