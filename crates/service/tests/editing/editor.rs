//! A random editor: any operation on any target, and any history action.

use crate::check;
use crate::words::{self, Counts, Kind};
use crate::world::{Outcome, World, text};
use ctx_api::edit::{EditRequest, EditResult, RepairView};
use ctx_api::history::{Action, HistoryRequest};
use ctx_api::show::{BlockView, ContentView};
use ctx_core::WireId;
use ctx_core::edit::Operation;
use ctx_core::edit::operation::{Select, Where};
use ctx_core::message::Role;
use ctx_engine::Refusal;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use testkit::{Random, pdf};

/// Everything in a conversation that can be named.
struct Names {
    frames: Vec<String>,
    parts: Vec<String>,
    around: Vec<String>,
    tools: Vec<String>,
    offloaded: Vec<String>,
}

impl World {
    fn names(&self, at: usize) -> Result<Names, String> {
        let name = check::name(self, at);
        let list =
            self.service().frames(&name, true, None).map_err(|refusal| format!("list fails: {}", refusal.message))?;
        let mut names = Names {
            frames: Vec::new(),
            parts: Vec::new(),
            around: Vec::new(),
            tools: Vec::new(),
            offloaded: Vec::new(),
        };
        for frame in list.frames {
            if frame.kind != "turn" {
                names.around.push(frame.id.clone());
                continue;
            }
            names.parts.extend((1..=frame.steps).map(|step| format!("{}/{step}", frame.id)));
            if frame.steps > 1 {
                names.parts.push(format!("{}/{}..{}", frame.id, frame.steps / 2 + 1, frame.steps));
            }
            for message in 0..frame.messages {
                names.parts.push(format!("{}#{message}", frame.id));
                names.parts.extend((0..3).map(|block| format!("{}#{message}.{block}", frame.id)));
            }
            if frame.state.iter().any(|state| state == "offloaded") {
                names.offloaded.push(frame.id.clone());
            }
            names.frames.push(frame.id);
        }
        names.around.extend((0..4).map(|block| format!("system#{block}")));
        for tool in ["Bash", "Read", "Edit", "Later", "web_search"] {
            names.around.push(format!("tools/{tool}"));
            names.tools.push(tool.to_owned());
        }
        Ok(names)
    }

    fn some(random: &mut Random, names: &Names) -> String {
        let pool = match random.below(10) {
            0..=3 => &names.frames,
            4..=8 => &names.parts,
            _ => &names.around,
        };
        random.pick(pool).or(names.frames.first()).cloned().unwrap_or_else(|| "t1".into())
    }

    fn several(random: &mut Random, names: &Names) -> Vec<String> {
        match random.below(10) {
            0 => {
                let (one, two) = (random.below(names.frames.len()), random.below(names.frames.len()));
                let get = |at: usize| names.frames.get(at).cloned().unwrap_or_default();
                vec![format!("{}..{}", get(one.min(two)), get(one.max(two)))]
            }
            1 => vec![format!("{},{}", Self::some(random, names), Self::some(random, names))],
            2 => vec![Self::some(random, names), Self::some(random, names), Self::some(random, names)],
            3 if random.chance(20) => vec!["t99".into()],
            _ => vec![Self::some(random, names)],
        }
    }

    fn place(random: &mut Random, names: &Names) -> Where {
        match random.below(4) {
            0 => Where { start: true, ..Where::default() },
            1 => Where { end: true, ..Where::default() },
            _ => Where { after: random.pick(&names.frames).cloned(), ..Where::default() },
        }
    }

    fn select(random: &mut Random, names: &Names) -> Select {
        let mut select = Select::default();
        if random.chance(10) {
            select.tool = random.pick(&names.tools).cloned();
        }
        if random.chance(5) {
            select.larger_than = Some([1, 100, 2000][random.below(3)]);
        }
        if random.chance(5) {
            select.older_than = Some(random.below(4));
        }
        select.superseded = random.chance(3);
        select
    }

    fn word(&mut self, at: usize) -> String {
        let word = self.words.made();
        self.own(at, &word);
        word
    }

    fn own(&mut self, at: usize, word: &str) {
        self.talks[at].made.extend(words::count(word).keys());
    }

    fn raw(&mut self, at: usize, id: &str, random: &mut Random) -> Value {
        let call = format!("toolu_{}", self.words.number());
        let text = |word: String| json!({"type": "text", "text": word});
        if id.starts_with("tools/") {
            let name = id.trim_start_matches("tools/");
            let mut tool = json!({"name": name, "description": self.word(at), "input_schema": {"type": "object"}});
            if name == "Later" && random.chance(70) {
                tool["defer_loading"] = true.into();
            }
            return tool;
        }
        if id.contains('.') && id.contains('#') || id.starts_with("system") {
            let word = self.word(at);
            return match random.below(5) {
                4 => pdf(random.between(1, 95), &word),
                0 => json!([text(word), text(self.word(at))]),
                1 => json!({"type": "tool_use", "id": call, "name": "Read", "input": {"note": word}}),
                2 => json!({"type": "tool_result", "tool_use_id": call, "content": word}),
                _ => text(word),
            };
        }
        let pair = |world: &mut World| {
            let (one, two) = (world.words.made_for(&call), world.words.made_for(&call));
            world.own(at, &one);
            world.own(at, &two);
            [
                json!({"role": "assistant", "content": [{"type": "tool_use", "id": call, "name": "Read", "input": {"note": one}}]}),
                json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": call, "content": two}]}),
            ]
        };
        match random.below(8) {
            7 => json!({"role": "user", "content": [text(self.word(at)), pdf(random.between(1, 95), &self.word(at))]}),
            0 => json!({"role": "user", "content": self.word(at)}),
            1 => json!({"role": "assistant", "content": [text(self.word(at))]}),
            2 => json!({"role": "system", "content": self.word(at)}),
            3 => Value::from(pair(self).to_vec()),
            4 => pair(self)[random.below(2)].clone(),
            5 => json!([{"role": "user", "content": self.word(at)}, {"role": "assistant", "content": self.word(at)}]),
            _ => json!([{"role": "user", "content": [text(self.word(at)), text(self.word(at))]}]),
        }
    }

    fn operation(&mut self, at: usize, random: &mut Random, names: &Names) -> Operation {
        let ids = Self::several(random, names);
        let id = Self::some(random, names);
        let select = Self::select(random, names);
        match random.below(30) {
            0..=5 => Operation::Delete { ids, select, force: random.chance(30) },
            6..=8 => {
                Operation::Edit { text: Some(self.word(at)), id, raw: None, content: None, force: random.chance(30) }
            }
            9..=11 => Operation::Edit {
                raw: Some({
                    let raw = self.raw(at, &id, random);
                    self.talks[at].client.manner.raw(&raw, &id)
                }),
                id,
                text: None,
                content: None,
                force: random.chance(30),
            },
            12 | 13 => Operation::Compact { ids, select, text: Some(self.word(at)) },
            14 | 15 => Operation::Offload { ids, select, summary: random.chance(50).then(|| self.word(at)) },
            16 => Operation::Restore { ids: random.pick(&names.offloaded).map_or(ids, |id| vec![id.clone()]) },
            17..=19 => Operation::Move { ids: Self::frames(random, names), to: Self::place(random, names) },
            20 | 21 => {
                let role = [Role::User, Role::User, Role::Assistant, Role::System][random.below(4)];
                Operation::Add { text: self.word(at), role, to: Self::place(random, names), title: None }
            }
            22 | 23 => {
                let after = random.chance(30).then(|| random.pick(&names.frames).cloned()).flatten();
                Operation::Combine { ids: Self::frames(random, names), after }
            }
            24 | 25 => {
                let id = random.pick(&names.frames).cloned().unwrap_or_default();
                let (mut cuts, mut steps, mut each_step) = (Vec::new(), Vec::new(), false);
                match random.below(3) {
                    0 => cuts = (0..random.between(1, 3)).map(|_| random.between(1, 6)).collect(),
                    1 => steps = (0..random.between(1, 3)).map(|_| random.between(1, 5)).collect(),
                    _ => each_step = true,
                }
                Operation::Split { id, at: cuts, at_step: steps, each_step }
            }
            26 => Operation::DropResults { ids, select, result: None },
            27 => Operation::SummarizeResults { ids, select, result: None, text: Some(self.word(at)) },
            28 if random.chance(50) => Operation::Retitle {
                id,
                title: Some("a title".into()),
                summary: random.chance(50).then(|| "short".into()),
                auto: false,
            },
            28 if random.chance(50) => Operation::Pin { ids },
            28 => Operation::Unpin { ids },
            _ => {
                let mut other = random.below(self.talks.len());
                if other == at && random.chance(80) {
                    other = (at + 1) % self.talks.len();
                }
                let from = self.talks[other].conversation.clone().unwrap_or_else(|| "nobody".into());
                let theirs = if self.talks[other].conversation.is_some() { self.names(other).ok() } else { None };
                let ids = theirs.map(|names| Self::several(random, &names)).unwrap_or(ids);
                if self.talks[other].conversation.is_some() {
                    // Words of ours that are copied are ours twice.
                    let theirs = &self.talks[other];
                    let history = words::count(&theirs.client.body().to_string());
                    // A copy may also show what the client has left or never heard to its end.
                    let shown = check::expected(self, other, true).unwrap_or_default();
                    let mut copied: BTreeSet<u64> = theirs.said.iter().chain(shown.sent.keys()).copied().collect();
                    match other == at {
                        true => copied.retain(|word| !history.contains_key(word)),
                        false => copied.extend(theirs.made.iter().chain(history.keys())),
                    }
                    self.talks[at].made.extend(copied);
                }
                Operation::Import { from, ids, to: Self::place(random, names), edits: false }
            }
        }
    }

    fn frames(random: &mut Random, names: &Names) -> Vec<String> {
        let count = random.between(1, 4);
        let mut ids: Vec<String> = (0..count).filter_map(|_| random.pick(&names.frames).cloned()).collect();
        if random.chance(5) {
            ids.push(Self::some(random, names));
        }
        ids
    }

    fn refused(&mut self, at: usize, what: &str, refusal: &Refusal, before: &str) -> Outcome {
        self.tell(format!("  refused: {} ({})", refusal.message, refusal.code));
        *self.tally.refusals.entry(format!("{what}: {}", refusal.code)).or_default() += 1;
        if refusal.message.is_empty() || refusal.hint.is_empty() {
            return Err(format!("a refusal without a word: {refusal:?}"));
        }
        let after = check::whole(self, at)?;
        if before != after {
            return Err(format!("a refusal changed something:\n{before}\n{after}"));
        }
        Ok(())
    }

    /// An operation, or a batch of them.
    pub fn operate(&mut self, at: usize, random: &mut Random) -> Outcome {
        if self.talks[at].conversation.is_none() {
            return self.first(at, random);
        }
        let names = self.names(at)?;
        let count = if random.chance(20) { random.between(2, 5) } else { 1 };
        let operations: Vec<Operation> = (0..count).map(|_| self.operation(at, random, &names)).collect();
        let kinds: Vec<&str> = operations.iter().map(Operation::name).collect();
        let what = if count > 1 { "batch".to_owned() } else { kinds.concat() };
        let name = check::name(self, at);
        self.tell(format!("on {at}: {}", serde_json::to_string(&operations).unwrap_or_default()));
        let bytes = check::compose(self, at)?;
        let before = check::with(self, at, &bytes)?;
        let repaired = check::explain(self, at)?.repairs;
        let named = self.named(at, &operations);
        let head = self.service().history(&name, 1).map_err(|refusal| refusal.message)?.head;
        let dry_run = random.chance(8);
        let expect = match random.below(20) {
            0 => Some("0123456789".to_owned()),
            1..=5 => Some(head.map_or("none".to_owned(), |head| head.to_string())),
            _ => None,
        };
        let edit = EditRequest {
            operations: operations.clone(),
            author: "cli".into(),
            note: None,
            expect,
            dry_run,
            ..EditRequest::default()
        };
        let applied = match self.service().apply(&name, edit) {
            Err(refusal) => return self.refused(at, &what, &refusal, &before),
            Ok(applied) => applied,
        };
        if dry_run {
            return match check::whole(self, at)? == before {
                true => Ok(()),
                false => Err("a dry run changed something".into()),
            };
        }
        kinds.iter().for_each(|kind| *self.tally.operations.entry((*kind).to_owned()).or_default() += 1);
        self.tell(format!("  {}: {}", applied.commit.as_deref().unwrap_or("?"), applied.summary));
        let (after, repairs) = check::composed(self, at)?;
        if let ([operation], Some(named)) = (operations.as_slice(), named) {
            self.did(at, operation, &bytes, &after, &named, &[repaired, repairs].concat())?;
        }
        if random.chance(25) {
            self.back_and_forth(at, &bytes, &after)?;
        }
        Ok(())
    }

    /// Without a conversation there is nothing to edit.
    fn first(&mut self, at: usize, random: &mut Random) -> Outcome {
        let edit = EditRequest { operations: vec![], author: "cli".into(), ..EditRequest::default() };
        if self.service().apply("nobody", edit).is_ok() {
            return Err("an operation on nothing".into());
        }
        let _ = (at, random);
        Ok(())
    }

    /// The words that an operation names, all of which are sent now; none when it is not that simple.
    fn named(&self, at: usize, operations: &[Operation]) -> Option<Counts> {
        let [operation] = operations else { return None };
        let ids = match operation {
            Operation::Delete { ids, select, .. }
            | Operation::Compact { ids, select, .. }
            | Operation::Offload { ids, select, .. } => select.is_empty().then(|| ids.clone())?,
            Operation::Edit { id, .. } => vec![id.clone()],
            _ => return Some(Counts::new()),
        };
        let mut expected = check::Expected::default();
        for id in ids.iter().flat_map(|ids| ids.split(',')) {
            let mut shown = self.service().show(&check::name(self, at), id, None).ok()?;
            if keeps_notes(operation, id, &shown) {
                shown.messages.iter_mut().for_each(|message| {
                    let role = message.role.clone();
                    message.blocks.retain(|block| !is_note(&role, block));
                });
            }
            expected.take(&shown, false);
        }
        Some(expected.sent)
    }

    /// The words of the newest step of the last request: of the human, or of calls and their results, with what the
    /// client tells behind them.
    pub fn newest(&self, at: usize) -> Counts {
        let messages = &self.talks[at].client.messages;
        // The answer has come since.
        let answered = messages.iter().rposition(|message| message.role != "system");
        let answered = answered.filter(|at| messages[*at].role == "assistant").unwrap_or(messages.len());
        let (mut counts, mut spoken) = (Counts::new(), 0);
        for message in messages[..answered].iter().rev() {
            if message.role != "system" {
                spoken += 1;
            }
            message.blocks.iter().for_each(|block| words::add(&mut counts, &block.to_string()));
            let is_question = message.blocks.iter().all(|block| block["type"] != "tool_result");
            if spoken == 2 || message.role == "user" && is_question {
                break;
            }
        }
        counts
    }

    /// What an operation has done, judged by what was sent before.
    fn did(
        &mut self,
        at: usize,
        operation: &Operation,
        before: &[u8],
        after: &[u8],
        named: &Counts,
        repairs: &[RepairView],
    ) -> Outcome {
        let (was, is) = (words::count(&text(before)), words::count(&text(after)));
        let newest = self.newest(at);
        let told = |word: u64| {
            let tool = self.words.tool(word);
            let named = tool.is_some_and(|id| repairs.iter().any(|repair| repair.what.contains(id)));
            let system = self.words.kind(word) == Kind::Told && repairs.iter().any(|repair| repair.rule == "A13");
            let stays =
                self.words.kind(word) == Kind::Around && repairs.iter().any(|repair| repair.what.contains("stays"));
            // What is held back until a paused answer is finished.
            let paused = repairs.iter().any(|repair| repair.rule == "A44");
            // The newest message stays where the model would have nothing to answer.
            let asked = repairs.iter().any(|repair| repair.rule == "X2") && newest.contains_key(&word);
            // Calls without ids have none that a repair could name.
            let manner = self.talks[at].client.manner;
            let nameless = manner.wire == WireId::Gemini && !manner.has_ids && tool.is_some() && !repairs.is_empty();
            named || nameless || system || stays || paused || asked || self.talks[at].made.contains(&word)
        };
        // The other half of a call goes along, wherever it stands.
        let partners: Vec<&str> = named.keys().filter_map(|word| self.words.tool(*word)).collect();
        let with = |word: u64| self.words.tool(word).is_some_and(|id| partners.contains(&id));
        let removes = matches!(
            operation,
            Operation::Delete { .. } | Operation::Edit { .. } | Operation::Compact { .. } | Operation::Offload { .. }
        );
        let results = matches!(operation, Operation::DropResults { .. } | Operation::SummarizeResults { .. });
        let fail =
            |what: &str, word: u64| Err(format!("{what}: ~{word}~\nbefore: {}\nafter: {}", text(before), text(after)));
        for &word in named.keys().filter(|_| removes) {
            if is.contains_key(&word) && !told(word) {
                return fail("it was named, and is still there", word);
            }
        }
        for (&word, times) in &was {
            let gone = is.get(&word).copied().unwrap_or(0) < *times;
            let meant =
                (removes && (named.contains_key(&word) || with(word))) || (results && self.words.tool(word).is_some());
            let restored = matches!(operation, Operation::Restore { .. });
            if gone && !meant && !told(word) && !restored {
                return fail("it was not named, and is gone", word);
            }
        }
        let brings = |word: u64| {
            self.words.kind(word) == Kind::Made
                || matches!(operation, Operation::Restore { .. } | Operation::Import { .. })
        };
        for &word in is.keys() {
            if !was.contains_key(&word) && !brings(word) && !told(word) {
                return fail("it was not there before", word);
            }
        }
        Ok(())
    }

    fn go(
        &self,
        at: usize,
        action: Action,
        target: Option<String>,
        name: Option<String>,
        cascade: bool,
    ) -> Result<EditResult, Refusal> {
        let request = HistoryRequest {
            action,
            target,
            name,
            cascade,
            author: "ui".into(),
            note: None,
            expect: None,
            dry_run: false,
            when: Default::default(),
        };
        self.service().go(&check::name(self, at), request)
    }

    /// Undo brings back what was, redo what was made of it.
    fn back_and_forth(&mut self, at: usize, before: &[u8], after: &[u8]) -> Outcome {
        self.tell("  undo");
        self.go(at, Action::Undo, None, None, false)
            .map_err(|refusal| format!("undo is refused: {}", refusal.message))?;
        let undone = check::compose(self, at)?;
        if undone != before {
            return Err(format!("undo does not bring back what was:\n{}\n{}", text(before), text(&undone)));
        }
        self.tell("  redo");
        self.go(at, Action::Redo, None, None, false)
            .map_err(|refusal| format!("redo is refused: {}", refusal.message))?;
        let redone = check::compose(self, at)?;
        if redone != after {
            return Err(format!("redo does not bring back what was undone:\n{}\n{}", text(after), text(&redone)));
        }
        Ok(())
    }

    fn commits(&self, at: usize) -> Vec<String> {
        let history = self.service().history(&check::name(self, at), usize::MAX);
        history.map(|history| history.commits.iter().map(|commit| commit.id.to_string()).collect()).unwrap_or_default()
    }

    /// A way through the history.
    pub fn travel(&mut self, at: usize, random: &mut Random) -> Outcome {
        if self.talks[at].conversation.is_none() {
            return Ok(());
        }
        let commits = self.commits(at);
        let number = random.below(commits.len());
        let commit = commits.get(number).cloned();
        let name = ["main", "other", "third/one", "beef", "x"][random.below(5)].to_owned();
        let (action, target, name) = match random.below(15) {
            0..=2 => (Action::Undo, None, None),
            3 | 4 => (Action::Redo, None, None),
            5..=7 => (Action::Revert, commit, None),
            8 => (Action::Rollback, commit, None),
            9 => (Action::Branch, commit.filter(|_| random.chance(50)), Some(name)),
            10 => (Action::Checkout, None, Some(if random.chance(20) { "source".to_owned() } else { name })),
            11 => (Action::RemoveBranch, None, Some(name)),
            12 => (Action::RemoveTag, None, Some(name)),
            13 => (Action::Rollback, Some("source".to_owned()), None),
            _ => (Action::Tag, commit, Some(name)),
        };
        let cascade = random.chance(50);
        // Ids of commits differ from run to run.
        self.tell(format!(
            "on {at}: {action:?} {} {name:?} cascade {cascade}",
            target.as_ref().map_or(String::new(), |_| format!("HEAD~{number}"))
        ));
        let before = check::whole(self, at)?;
        match self.go(at, action, target, name, cascade) {
            Err(refusal) => self.refused(at, &format!("{action:?}").to_lowercase(), &refusal, &before),
            Ok(applied) => {
                *self.tally.operations.entry(format!("{action:?}").to_lowercase()).or_default() += 1;
                self.tell(format!("  {}", applied.summary));
                check::composed(self, at).map(drop)
            }
        }
    }

    /// Reverting two commits in one order or the other comes to the same.
    pub fn any_order(&mut self, at: usize, random: &mut Random) -> Outcome {
        let commits = self.commits(at);
        if self.talks[at].conversation.is_none() || commits.len() < 2 {
            return Ok(());
        }
        let (one, two) = (random.below(commits.len()), random.below(commits.len()));
        if one == two {
            return Ok(());
        }
        self.tell(format!("on {at}: revert HEAD~{one} and HEAD~{two} in both orders"));
        let history = self.service().history(&check::name(self, at), 1).map_err(|refusal| refusal.message)?;
        let mut outcomes = Vec::new();
        for order in [[one, two], [two, one]] {
            let branch = format!("order-{}", self.words.number());
            self.go(at, Action::Branch, None, Some(branch), false).map_err(|refusal| refusal.message)?;
            let mut done = true;
            for number in order {
                done &= self.go(at, Action::Revert, Some(commits[number].clone()), None, false).is_ok();
            }
            outcomes.push(if done { Some(check::composed(self, at)?.0) } else { None });
            self.go(at, Action::Checkout, None, Some(history.branch.clone()), false)
                .map_err(|refusal| refusal.message)?;
        }
        match outcomes.as_slice() {
            [Some(one), Some(two)] if one != two => {
                Err(format!("the order of reverts matters:\n{}\n{}", text(one), text(two)))
            }
            _ => Ok(()),
        }
    }
}

/// Project instructions, environment and reminders.
fn is_note(role: &str, block: &BlockView) -> bool {
    let is_reminder = || block.text.trim_start().starts_with("<system-reminder>");
    // Tools declared in mid-conversation stay too.
    let is_setting = role == "system" && block.kind == "other";
    is_setting || block.kind == "reminder" && (role == "system" || is_reminder())
}

/// Whether the client's own notes stay in what an id names: they were not named themselves.
fn keeps_notes(operation: &Operation, id: &str, shown: &ContentView) -> bool {
    let part = id.split_once('#').map(|(_, part)| part);
    let mut blocks =
        shown.messages.iter().flat_map(|message| message.blocks.iter().map(|block| (&message.role, block)));
    let only_notes = blocks.all(|(role, block)| is_note(role, block));
    match operation {
        Operation::Delete { force: true, .. }
        | Operation::Edit { raw: Some(_), .. }
        | Operation::Edit { force: true, .. } => false,
        _ => part.is_none() || !only_notes,
    }
}
