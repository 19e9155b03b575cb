//! Commits, branches and tags: an append-only history, and its active commits.
//!
//! Nothing is ever rewritten. A revert is a commit that deactivates others, and can be reverted itself.

use super::effect::{Effect, EffectId};
use super::operation::Operation;
use super::superseded;
use crate::fast_map::{FastMap, FastSet};
use crate::key::Key;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::str::FromStr;
use std::sync::{Arc, OnceLock};

/// Names a commit; shown as ten hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CommitId(pub u64);

impl CommitId {
    const BITS: u32 = 40;

    /// Derives the id from the parts of a commit.
    pub fn of<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> CommitId {
        let key = Key::of(parts);
        let mut bytes = [0; 8];
        bytes.copy_from_slice(&key.0[..8]);
        CommitId(u64::from_le_bytes(bytes) & ((1 << Self::BITS) - 1))
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for CommitId {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "CommitId".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "string", "pattern": "^[0-9a-f]{10}$" })
    }
}

impl fmt::Display for CommitId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:010x}", self.0)
    }
}

impl FromStr for CommitId {
    type Err = NotACommit;

    fn from_str(text: &str) -> Result<CommitId, NotACommit> {
        let digits = text.len() <= 10 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        u64::from_str_radix(text, 16).ok().filter(|_| digits).map(CommitId).ok_or(NotACommit)
    }
}

/// A text that is not the id of a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotACommit;

impl fmt::Display for NotACommit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not ten hexadecimal digits")
    }
}

impl Serialize for CommitId {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for CommitId {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<CommitId, D::Error> {
        let text = std::borrow::Cow::<str>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

/// One entry of the history.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Commit {
    pub id: CommitId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<CommitId>,
    /// Milliseconds since 1970.
    pub at: u64,
    /// `cli`, `ui`, `mcp`, `api`, `policy`, or `fork` for inherited edits.
    pub author: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// The reason for each operation, in order; none where none was given.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<Option<String>>,
    #[serde(flatten)]
    pub change: Change,
    /// A one-line summary.
    pub summary: String,
    pub tokens_before: u64,
    pub tokens_after: u64,
    /// A deferred edit that fired without a person present.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unattended: bool,
    /// The limit exception: an automatic edit near the end of the window, made although it cost more than the account
    /// allowed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub exception: bool,
    /// Offloaded content whose stubs name it by a handle.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kept: Vec<KeptText>,
}

/// Offloaded content that is in no file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptText {
    pub handle: String,
    pub text: String,
}

impl Commit {
    /// Its effects with their names.
    fn effects(&self) -> impl Iterator<Item = (EffectId, &Effect)> {
        let (own, inherited): (&[Effect], &[(EffectId, Effect)]) = match &self.change {
            Change::Edit { effects, .. } => (effects, &[]),
            Change::Inherit { effects, .. } => (&[], effects),
            Change::Revert { .. } => (&[], &[]),
        };
        let own = (0..).zip(own).map(|(index, effect)| (EffectId { commit: self.id, index }, effect));
        own.chain(inherited.iter().map(|(id, effect)| (*id, effect)))
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// Operations as requested, and their effects.
    Edit { operations: Vec<Operation>, effects: Vec<Effect> },
    /// Deactivates commits.
    Revert { commits: Vec<CommitId>, how: How },
    /// Effects of another conversation's commits, under their original names.
    Inherit { from: String, effects: Vec<(EffectId, Effect)> },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum How {
    Revert,
    Undo,
    Redo,
    Rollback,
}

/// All commits of a conversation, and the current branch. A clone costs a pointer per commit.
#[derive(Debug, Clone, PartialEq)]
pub struct History {
    commits: FastMap<CommitId, Arc<Commit>>,
    /// In order of creation.
    order: Vec<CommitId>,
    branches: BTreeMap<String, Option<CommitId>>,
    tags: BTreeMap<String, CommitId>,
    current: String,
    /// The active commits at the head, oldest first. Every request reads them; only commits change them.
    counting: Vec<Arc<Commit>>,
    superseded: SupersededEffects,
}

/// The effects at the head that do not influence the request. Computed when a request needs them.
#[derive(Debug, Clone, Default)]
struct SupersededEffects(OnceLock<FastSet<EffectId>>);

impl PartialEq for SupersededEffects {
    /// Equal, because it follows from the commits.
    fn eq(&self, _: &SupersededEffects) -> bool {
        true
    }
}

pub const MAIN: &str = "main";

impl Default for History {
    fn default() -> History {
        History {
            commits: FastMap::default(),
            order: Vec::new(),
            branches: BTreeMap::from([(MAIN.to_owned(), None)]),
            tags: BTreeMap::new(),
            current: MAIN.to_owned(),
            counting: Vec::new(),
            superseded: SupersededEffects::default(),
        }
    }
}

/// Why a commit cannot be deactivated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cannot {
    Unknown,
    /// Not on this branch.
    Elsewhere,
    /// Already inactive.
    Inactive,
    /// These commits depend on it.
    Needed(Vec<CommitId>),
    /// There is nothing to undo, redo or roll back.
    Nothing,
}

impl History {
    pub fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    pub fn head(&self) -> Option<CommitId> {
        self.branches.get(&self.current).copied().flatten()
    }

    pub fn current(&self) -> &str {
        &self.current
    }

    pub fn branches(&self) -> &BTreeMap<String, Option<CommitId>> {
        &self.branches
    }

    pub fn tags(&self) -> &BTreeMap<String, CommitId> {
        &self.tags
    }

    pub fn get(&self, id: CommitId) -> Option<&Commit> {
        self.commits.get(&id).map(|commit| &**commit)
    }

    /// All commits, oldest first.
    pub fn all(&self) -> impl DoubleEndedIterator<Item = &Commit> {
        self.order.iter().filter_map(|id| self.get(*id))
    }

    /// Appends to the current branch.
    pub fn push(&mut self, commit: Commit) {
        let goes_on = commit.parent == self.head() && !matches!(commit.change, Change::Revert { .. });
        let commit = Arc::new(commit);
        self.branches.insert(self.current.clone(), Some(commit.id));
        self.order.push(commit.id);
        self.commits.insert(commit.id, commit.clone());
        if goes_on {
            self.counting.push(commit);
            self.superseded = SupersededEffects::default();
        } else {
            self.count_anew();
        }
    }

    /// Recomputes the active commits after the head has moved by other means than a new commit.
    fn count_anew(&mut self) {
        let active: Vec<CommitId> = self.active(self.head()).iter().rev().map(|commit| commit.id).collect();
        self.counting = active.iter().filter_map(|id| self.commits.get(id).cloned()).collect();
        self.superseded = SupersededEffects::default();
    }

    /// Removes the newest commit, which could not be stored; `parent` was the head before.
    pub fn pop(&mut self, parent: Option<CommitId>) {
        if let Some(id) = self.order.pop() {
            self.commits.remove(&id);
            self.branches.insert(self.current.clone(), parent);
            self.count_anew();
        }
    }

    /// Creates a branch at the head of the current one, or at `at`, without checking it out.
    pub fn branch(&mut self, name: &str, at: Option<CommitId>) {
        self.branches.insert(name.to_owned(), at);
        if name == self.current {
            self.count_anew();
        }
    }

    /// Checks out a branch; false if there is none of that name.
    pub fn checkout(&mut self, name: &str) -> bool {
        let known = self.branches.contains_key(name);
        if known {
            self.current = name.to_owned();
            self.count_anew();
        }
        known
    }

    pub fn tag(&mut self, name: &str, at: CommitId) {
        self.tags.insert(name.to_owned(), at);
    }

    /// Removes a branch, unless it is checked out. Its commits stay.
    pub fn remove_branch(&mut self, name: &str) {
        if name != self.current {
            self.branches.remove(name);
        }
    }

    pub fn remove_tag(&mut self, name: &str) {
        self.tags.remove(name);
    }

    /// Finds a commit by id, start of an id, tag, branch, or `HEAD`. The error lists ambiguous matches.
    pub fn find(&self, name: &str) -> Result<CommitId, Vec<CommitId>> {
        if name.eq_ignore_ascii_case("head") {
            return self.head().ok_or_else(Vec::new);
        }
        let named = self.tags.get(name).copied().or_else(|| self.branches.get(name).copied().flatten());
        if let Some(id) = named {
            return Ok(id);
        }
        let beginning = name.to_ascii_lowercase();
        let begins = |id: &CommitId| !beginning.is_empty() && id.to_string().starts_with(&beginning);
        let found: Vec<CommitId> = self.order.iter().copied().filter(begins).collect();
        match found.as_slice() {
            [one] => Ok(*one),
            _ => Err(found),
        }
    }

    /// From `head` back to the first commit.
    pub fn line(&self, head: Option<CommitId>) -> impl Iterator<Item = &Commit> {
        std::iter::successors(head.and_then(|id| self.get(id)), |commit| {
            commit.parent.and_then(|parent| self.get(parent))
        })
    }

    /// The active commits at `head`, newest first, including reverts.
    pub fn active(&self, head: Option<CommitId>) -> Vec<&Commit> {
        let mut off: HashSet<CommitId> = HashSet::new();
        let mut active = Vec::new();
        for commit in self.line(head) {
            if off.contains(&commit.id) {
                continue;
            }
            if let Change::Revert { commits, .. } = &commit.change {
                off.extend(commits);
            }
            active.push(commit);
        }
        active
    }

    /// The active effects at `head`, oldest first.
    pub fn effects(&self, head: Option<CommitId>) -> Vec<(EffectId, &Effect)> {
        if head == self.head() {
            return self.counting.iter().flat_map(|commit| commit.effects()).collect();
        }
        self.active(head).into_iter().rev().flat_map(Commit::effects).collect()
    }

    /// The effects at the head that determine the request, oldest first, without superseded ones.
    pub fn sent_effects(&self) -> Vec<(EffectId, &Effect)> {
        let mut effects = self.effects(self.head());
        let superseded = self.superseded.0.get_or_init(|| superseded::superseded(&effects));
        effects.retain(|(id, _)| !superseded.contains(id));
        effects
    }

    /// Whether an active effect at the head can change the request.
    pub fn is_sent(&self) -> bool {
        self.counting.iter().flat_map(|commit| commit.effects()).any(|(_, effect)| effect.is_sent())
    }

    /// Active commits that depend on one of `gone`, directly or indirectly; newest first.
    fn standing_on(&self, gone: &HashSet<CommitId>) -> Vec<CommitId> {
        let active = self.active(self.head());
        let mut gone = gone.clone();
        for commit in &active {
            if let (true, Change::Inherit { effects, .. }) = (gone.contains(&commit.id), &commit.change) {
                gone.extend(effects.iter().map(|(id, _)| id.commit));
            }
        }
        let mut standing = Vec::new();
        for commit in active.iter().rev() {
            let needs = |effects: &[Effect]| {
                effects
                    .iter()
                    .flat_map(Effect::needs)
                    .any(|need| need.commit != commit.id && gone.contains(&need.commit))
            };
            let stands = match &commit.change {
                Change::Edit { effects, .. } => needs(effects),
                Change::Inherit { .. } | Change::Revert { .. } => false,
            };
            if stands && gone.insert(commit.id) {
                standing.push(commit.id);
            }
        }
        standing.reverse();
        standing
    }

    /// The commits to deactivate so that `target` is inactive; with `cascade`, including its dependents.
    pub fn revert(&self, target: CommitId, cascade: bool) -> Result<Vec<CommitId>, Cannot> {
        if !self.commits.contains_key(&target) {
            return Err(Cannot::Unknown);
        }
        if !self.line(self.head()).any(|commit| commit.id == target) {
            return Err(Cannot::Elsewhere);
        }
        if !self.active(self.head()).iter().any(|commit| commit.id == target) {
            return Err(Cannot::Inactive);
        }
        let mut standing = self.standing_on(&HashSet::from([target]));
        if !standing.is_empty() && !cascade {
            return Err(Cannot::Needed(standing));
        }
        standing.push(target);
        Ok(standing)
    }

    /// The newest active commit that is not itself an undo or a revert.
    pub fn undo(&self) -> Result<CommitId, Cannot> {
        let newest = self.active(self.head()).into_iter().find(|commit| !is_way_back(commit));
        newest.map(|commit| commit.id).ok_or(Cannot::Nothing)
    }

    /// The newest undo in force, if no commit followed it.
    pub fn redo(&self) -> Result<CommitId, Cannot> {
        for commit in self.active(self.head()) {
            match &commit.change {
                Change::Revert { how: How::Undo, .. } => return Ok(commit.id),
                Change::Revert { how: How::Redo, .. } => {}
                _ => break,
            }
        }
        Err(Cannot::Nothing)
    }

    /// The commits made after `target` on this branch, newest first; without one, all of them.
    pub fn rollback(&self, target: Option<CommitId>) -> Result<Vec<CommitId>, Cannot> {
        if let Some(target) = target {
            if !self.commits.contains_key(&target) {
                return Err(Cannot::Unknown);
            }
            if !self.line(self.head()).any(|commit| commit.id == target) {
                return Err(Cannot::Elsewhere);
            }
        }
        let ids = |at: Option<CommitId>| -> Vec<EffectId> { self.effects(at).into_iter().map(|(id, _)| id).collect() };
        if ids(target) == ids(self.head()) {
            return Err(Cannot::Nothing);
        }
        // All of them, including inactive ones: the commits that deactivated them are reverted too.
        Ok(self.line(self.head()).map(|commit| commit.id).take_while(|id| Some(*id) != target).collect())
    }
}

fn is_way_back(commit: &Commit) -> bool {
    matches!(commit.change, Change::Revert { how: How::Undo | How::Redo, .. })
}

#[cfg(test)]
mod tests;
