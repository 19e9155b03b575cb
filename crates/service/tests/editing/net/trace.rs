//! Everything that a line of the net stands for, hashed.

use ctx_engine::Refusal;
use ctx_service::Service;
use serde::Serialize;
use serde_json::Value;
use std::collections::HashMap;

/// The fields that are hashed of each view. Others may come.
const FRAME: [&str; 9] = ["id", "kind", "title", "tokens", "source_tokens", "messages", "steps", "state", "pinned"];
const STEP: [&str; 8] = ["id", "title", "tokens", "source_tokens", "messages", "tools", "superseded_results", "state"];
const COMMIT: [&str; 10] = [
    "author",
    "kind",
    "here",
    "active",
    "asleep",
    "source_changed",
    "tokens_before",
    "tokens_after",
    "branches",
    "tags",
];
const REQUEST: [&str; 7] = ["request", "class", "verdict", "known", "new", "changed", "frame"];
const ANSWER: [&str; 5] = ["request", "status", "ending", "usage", "expected"];
const EXPLAINED: [&str; 5] = ["untouched", "thinking_dropped", "marks", "tokens", "source_tokens"];
const APPLIED: [&str; 4] = ["branch", "frames", "tokens_before", "tokens_after"];

#[derive(Default)]
pub struct Trace {
    hasher: blake3::Hasher,
    /// What is hashed, in lines, where it is to be printed.
    printed: Option<Vec<String>>,
    /// Texts that differ from run to run, and what stands for each.
    private: Vec<(String, String)>,
    /// Values that depend on those: each counts as its place among them.
    derived: HashMap<String, usize>,
}

impl Trace {
    /// Prints what it hashes if that line is asked for.
    pub fn of(line: &str) -> Trace {
        let is_wanted = std::env::var("CTX_NET").is_ok_and(|wanted| wanted == line);
        Trace { printed: is_wanted.then(Vec::new), ..Trace::default() }
    }

    /// From now on a text that differs from run to run counts as another one.
    pub fn hide(&mut self, text: &str, as_text: &str) {
        self.private.push((text.to_owned(), as_text.to_owned()));
    }

    pub fn bytes(&mut self, what: &str, bytes: &[u8]) {
        let mut text = String::from_utf8_lossy(bytes).into_owned();
        for (private, stands_for) in &self.private {
            if text.contains(private) {
                text = text.replace(private, stands_for);
            }
        }
        // What was thought is signed for all that was sent before it, and a file is named by its content.
        text = self.numbered(&text, "\"signature\":\"", "\"");
        text = self.numbered(&text, "HOME/offload/", ".md");
        self.hasher.update(format!("{what} {}\n{text}\n", text.len()).as_bytes());
        self.printed.iter_mut().for_each(|lines| lines.push(format!("{what}: {text}")));
    }

    /// The text with a number for each value that stands between these two.
    fn numbered(&mut self, text: &str, before: &str, behind: &str) -> String {
        let mut parts = text.split(before);
        let mut out = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let is_plain =
                |value: &str| value.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+/=-_".contains(&byte));
            out.push_str(before);
            match part.split_once(behind).filter(|(value, _)| is_plain(value)) {
                Some((value, rest)) => {
                    let next = self.derived.len();
                    let number = *self.derived.entry(value.to_owned()).or_insert(next);
                    out.push_str(&format!("{number}{behind}{rest}"));
                }
                None => out.push_str(part),
            }
        }
        out
    }

    pub fn text(&mut self, what: &str, text: impl AsRef<str>) {
        self.bytes(what, text.as_ref().as_bytes());
    }

    pub fn finish(self) -> String {
        self.printed.iter().flatten().for_each(|line| println!("{line}"));
        self.hasher.finalize().to_hex()[..24].to_owned()
    }

    fn fields(&mut self, what: &str, view: &Value, names: &[&str]) {
        let fields: Vec<String> = names.iter().map(|name| format!("{name}={}", view[*name])).collect();
        self.text(what, fields.join(" "));
    }

    /// What an operation or a way through the history did, or the code of its refusal.
    pub fn done(&mut self, what: &str, outcome: &Result<ctx_api::edit::EditResult, Refusal>) {
        match outcome {
            Ok(applied) => self.fields(what, &json(applied), &APPLIED),
            Err(refusal) => self.text(what, refusal.code.as_str()),
        }
    }

    /// What would be sent, and what was repaired in it.
    pub fn composed(&mut self, service: &Service, name: &str) {
        match (service.compose(name, None), service.explain(name, None)) {
            (Ok(bytes), Ok(explained)) => {
                self.bytes("composed", &bytes);
                self.fields("explained", &json(&explained), &EXPLAINED);
                let rules: Vec<&str> = explained.repairs.iter().map(|repair| repair.rule.as_ref()).collect();
                self.text("repairs", rules.join(" "));
            }
            (bytes, explained) => {
                let code = bytes.err().or(explained.err()).map_or("", |refusal| refusal.code.as_str());
                self.text("not composed", code);
            }
        }
    }

    /// The frames and steps, with their weights.
    pub fn frames(&mut self, service: &Service, name: &str) {
        let Ok(mut list) = service.frames(name, true, None) else { return self.text("frames", "none") };
        // The recorded total is the sum of the rounded frames; today's is rounded once.
        list.tokens = list.frames.iter().map(|frame| frame.tokens).sum();
        let list = json(&list);
        self.fields("list", &list, &["tokens", "window", "calibrated", "left_frames"]);
        for frame in list["frames"].as_array().into_iter().flatten() {
            self.fields("frame", frame, &FRAME);
            for step in frame["step_list"].as_array().into_iter().flatten() {
                self.fields("step", step, &STEP);
            }
        }
    }

    /// The commits of all branches. Their ids differ from run to run: each is called by its place.
    pub fn history(&mut self, service: &Service, name: &str) {
        let Ok(history) = service.whole_history(name, usize::MAX) else { return self.text("history", "none") };
        let history = json(&history);
        self.fields("history", &history, &["branch"]);
        let commits: Vec<&Value> = history["commits"].as_array().into_iter().flatten().collect();
        let places: HashMap<&str, usize> =
            commits.iter().enumerate().filter_map(|(at, commit)| Some((commit["id"].as_str()?, at))).collect();
        let place = |id: &Value| id.as_str().and_then(|id| places.get(id)).copied();
        for commit in &commits {
            self.fields("commit", commit, &COMMIT);
            let operations: Vec<&Value> =
                commit["operations"].as_array().into_iter().flatten().map(|operation| &operation["op"]).collect();
            let reverts: Vec<_> = commit["reverts"].as_array().into_iter().flatten().map(place).collect();
            self.text("commit", format!("{:?} {reverts:?} {operations:?}", place(&commit["parent"])));
        }
    }

    /// How each request was taken, and what was foreseen of it.
    pub fn verdicts(&mut self, service: &Service, name: &str) {
        service.settle(crate::support::LONG);
        let Ok(timeline) = service.timeline(name, usize::MAX) else { return self.text("timeline", "none") };
        for event in json(&timeline)["events"].as_array().into_iter().flatten() {
            match event["kind"].as_str() {
                Some("request") => self.fields("request", event, &REQUEST),
                Some("answer") => {
                    self.fields("answer", event, &ANSWER);
                    let repairs: Vec<&Value> =
                        event["repairs"].as_array().into_iter().flatten().map(|repair| &repair[0]).collect();
                    self.text("repairs", format!("{repairs:?}"));
                }
                _ => {}
            }
        }
    }
}

fn json(view: &impl Serialize) -> Value {
    serde_json::to_value(view).expect("a view is JSON")
}
