//! Selects and orders the lines of a conversation.

use super::line::{Line, Message};
use std::collections::{HashMap, HashSet};

/// The lines of one conversation between two compactions, oldest first.
#[derive(Default)]
pub(super) struct Segment<'l> {
    pub(super) lines: Vec<&'l Line<'l>>,
    /// The numbers of the lines that an earlier segment already has.
    pub(super) kept: HashSet<usize>,
}

pub(super) struct Chains<'l> {
    /// The segments of the main conversation, oldest first.
    pub(super) main: Vec<Segment<'l>>,
    pub(super) sides: Vec<Segment<'l>>,
    /// Numbers of lines whose predecessor is missing.
    pub(super) gaps: Vec<usize>,
}

#[derive(Default)]
struct Links<'l> {
    /// The lines with which a conversation can end.
    leaves: Vec<&'l Line<'l>>,
    by_uuid: HashMap<&'l str, &'l Line<'l>>,
    by_answer: HashMap<&'l str, Vec<&'l Line<'l>>>,
    by_result: HashMap<&'l str, Vec<&'l Line<'l>>>,
}

pub(super) fn chains<'l>(lines: &'l [Line<'l>]) -> Chains<'l> {
    let mut links = Links::default();
    for line in lines.iter().filter(|line| !line.uuid.is_empty()) {
        links.by_uuid.insert(&line.uuid, line);
        let Some(message) = &line.message else { continue };
        links.leaves.push(line);
        if let Some(id) = message.id.as_deref().filter(|_| message.is_answer) {
            links.by_answer.entry(id).or_default().push(line);
        }
        for result in &message.results {
            links.by_result.entry(result).or_default().push(line);
        }
    }
    let mut gaps = Vec::new();
    let newest = |side: bool| links.leaves.iter().rev().copied().filter(move |line| line.is_side == side);
    let main = newest(false).next().map(|leaf| links.back_from(leaf, &mut gaps)).unwrap_or_default();
    // The newest line of each sub-agent leads to all of its lines.
    let (mut sides, mut known) = (Vec::new(), HashSet::new());
    for leaf in newest(true) {
        if links.is_new_root(leaf, &mut known) {
            sides.extend(links.back_from(leaf, &mut gaps));
        }
    }
    sides.sort_by_key(|side| side.lines.first().map(|line| line.number));
    Chains { main, sides, gaps }
}

impl<'l> Links<'l> {
    fn parent(&self, line: &Line) -> Option<&'l Line<'l>> {
        self.by_uuid.get(line.parent.as_deref()?).copied()
    }

    /// Whether no earlier leaf led to the same root. `known` remembers lines that lead to a known root.
    fn is_new_root(&self, leaf: &'l Line<'l>, known: &mut HashSet<usize>) -> bool {
        let mut at = Some(leaf);
        while let Some(line) = at.filter(|line| line.is_side) {
            if !known.insert(line.number) {
                return false;
            }
            at = self.parent(line);
        }
        true
    }

    /// The chain that ends in `leaf`, cut at compactions.
    fn back_from(&self, leaf: &'l Line<'l>, gaps: &mut Vec<usize>) -> Vec<Segment<'l>> {
        let (mut segments, mut segment) = (Vec::new(), Vec::new());
        let mut seen = HashSet::new();
        let mut next = Some(leaf);
        while let Some(line) = next.filter(|line| line.is_side == leaf.is_side && seen.insert(line.number)) {
            segment.push(line);
            next = self.parent(line);
            if line.is_boundary || line.is_summary && !next.is_some_and(|parent| parent.is_boundary) {
                segments.push(self.finished(std::mem::take(&mut segment)));
                let before = line.before_boundary.as_deref().and_then(|uuid| self.by_uuid.get(uuid).copied());
                // Older files do not name the compacted lines: they are the preceding ones.
                next = before.or_else(|| self.written_before(line));
            } else if next.is_none() && line.parent.is_some() {
                gaps.push(line.number);
            }
        }
        segments.push(self.finished(segment));
        segments.retain(|segment| !segment.lines.is_empty());
        segments.reverse();
        segments
    }

    fn written_before(&self, line: &Line) -> Option<&'l Line<'l>> {
        let before = self.leaves.partition_point(|leaf| leaf.number < line.number);
        self.leaves.iter().take(before).rev().copied().find(|leaf| leaf.is_side == line.is_side)
    }

    /// Orders the lines of a segment and adds lines beside the chain that belong to it: of parallel calls, only the
    /// last result is on the chain. Content kept by a compaction follows the summary.
    fn finished(&self, mut chain: Vec<&'l Line<'l>>) -> Segment<'l> {
        chain.reverse();
        let here: HashSet<usize> = chain.iter().map(|line| line.number).collect();
        let mut beside = self.beside(&chain, &here);
        let mut segment = Segment::default();
        for line in chain {
            segment.lines.push(line);
            let mut waiting = beside.remove(&line.number).unwrap_or_default();
            while let Some(next) = waiting.pop() {
                segment.lines.push(next);
                waiting.extend(beside.remove(&next.number).unwrap_or_default());
            }
            if line.is_summary {
                let kept = self.parent(line).into_iter().flat_map(|boundary| &boundary.kept.uuids);
                let kept = kept.filter_map(|uuid| self.by_uuid.get(&**uuid).copied());
                let kept: Vec<_> = kept.filter(|line| !here.contains(&line.number)).collect();
                segment.kept.extend(kept.iter().map(|line| line.number));
                segment.lines.extend(kept);
            }
        }
        segment
    }

    /// Lines that belong to a chain without being on it, by predecessor, last first.
    fn beside(&self, chain: &[&'l Line<'l>], here: &HashSet<usize>) -> HashMap<usize, Vec<&'l Line<'l>>> {
        let messages = |lines: &[&'l Line<'l>]| -> Vec<&'l Message<'l>> {
            lines.iter().filter_map(|line| line.message.as_ref()).collect()
        };
        let elsewhere = |line: &&&'l Line<'l>| !here.contains(&line.number);
        let on_it = messages(chain);
        let mut beside: Vec<&'l Line<'l>> = Vec::new();
        for id in on_it.iter().filter_map(|message| message.id.as_deref()).collect::<HashSet<_>>() {
            beside.extend(self.by_answer.get(id).into_iter().flatten().filter(elsewhere));
        }
        let answered: HashSet<&str> = on_it.iter().flat_map(|message| &message.results).map(|id| &**id).collect();
        let calls = on_it.into_iter().chain(messages(&beside)).flat_map(|message| &message.calls);
        let open: HashSet<&str> = calls.map(|id| &**id).filter(|id| !answered.contains(id)).collect();
        for id in open {
            beside.extend(self.by_result.get(id).into_iter().flatten().find(elsewhere));
        }
        beside.sort_by_key(|line| std::cmp::Reverse(line.number));
        beside.dedup_by_key(|line| line.number);
        let mut by_parent: HashMap<usize, Vec<&'l Line<'l>>> = HashMap::new();
        for line in beside {
            if let Some(parent) = self.parent(line) {
                by_parent.entry(parent.number).or_default().push(line);
            }
        }
        by_parent
    }
}
