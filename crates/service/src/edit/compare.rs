//! `diff`: compares two points of a history.

use crate::parts::Parts;
use crate::threads::lock;
use ctx_api::history::{Diff, FrameDiff};
use ctx_core::edit::fold::View;
use ctx_engine::Refusal;
use ctx_engine::compose::Ground;
use ctx_engine::compose::compare::{Overview, by_id, only_cut, overview};
use ctx_engine::view::titles;
use std::collections::{BTreeSet, HashMap, HashSet};

impl Parts {
    pub(crate) fn diff(&self, name: &str, from: &str, to: &str) -> Result<Diff, Refusal> {
        let shared = self.stored(name)?;
        let conversation = lock(&shared);
        let ground = Ground::of(&conversation, true);
        let (old, _) = self.engine.lay_at(&conversation, &ground, from)?;
        let (new, _) = self.engine.lay_at(&conversation, &ground, to)?;
        let scale = |weight: f64| conversation.tokens(weight);
        let (before, after) = (overview(&conversation, &ground, &old), overview(&conversation, &ground, &new));
        let changed = Overview::sent_otherwise(&before, &after);
        let changed: HashSet<&str> = changed.iter().map(String::as_str).collect();
        let (weight_before, weight_after) = (by_id(&before), by_id(&after));
        let places = |view: &View<'_>| -> HashMap<String, usize> {
            view.frames.iter().enumerate().map(|(at, frame)| (frame.id.to_string(), at)).collect()
        };
        let (old_places, new_places) = (places(&old), places(&new));
        let (mut frames, mut differing) = (Vec::new(), Vec::new());
        let gone = before.frames.iter().filter(|frame| !weight_after.contains_key(frame.id.as_str()));
        // Splitting alone does not change the request: the parts equal the whole.
        let (cut, joined) = (only_cut(&before, &after), only_cut(&after, &before));
        for id in after.frames.iter().chain(gone).map(|frame| frame.id.as_str()) {
            if cut.wholes.contains(id) || joined.parts.contains(id) {
                continue;
            }
            if let Some(weight) = weight_after.get(id).filter(|_| cut.parts.contains(id) || joined.wholes.contains(id))
            {
                frames.push(FrameDiff {
                    id: id.to_owned(),
                    title: titles::title(&ground, &new, id, new_places.get(id).copied()).unwrap_or_default(),
                    change: "same".to_owned(),
                    tokens_before: scale(*weight),
                    tokens_after: scale(*weight),
                    before: String::new(),
                    after: String::new(),
                });
                continue;
            }
            let (was, is) = (weight_before.get(id).copied(), weight_after.get(id).copied());
            let (old_at, new_at) = (old_places.get(id).copied(), new_places.get(id).copied());
            let moved = |view: &View<'_>, at: Option<usize>| at.is_some_and(|at| view.frames[at].moved);
            let change = match (was, is) {
                (None, _) => "added",
                (_, None) => "removed",
                (Some(was), Some(is)) if was > 0.0 && is == 0.0 => "removed",
                (Some(was), Some(is)) if was == 0.0 && is > 0.0 => "added",
                _ if moved(&old, old_at) != moved(&new, new_at) => "moved",
                _ if changed.contains(id) => "changed",
                _ => "same",
            };
            let title = |view: &View<'_>, at: Option<usize>| titles::title(&ground, view, id, at);
            if change != "same" {
                differing.push((frames.len(), old_at, new_at));
            }
            frames.push(FrameDiff {
                id: id.to_owned(),
                title: title(&new, new_at).or_else(|| title(&old, old_at)).unwrap_or_default(),
                change: change.to_owned(),
                tokens_before: scale(was.unwrap_or(0.0)),
                tokens_after: scale(is.unwrap_or(0.0)),
                before: String::new(),
                after: String::new(),
            });
        }
        // Only texts of differing frames are read: a long conversation has thousands of others.
        let messages = |view: &View<'_>, at: Option<usize>| {
            let frame = at.and_then(|at| view.frames.get(at));
            frame
                .map(|frame| ctx_engine::view::show::messages_of(&view.units(frame, &ground.messages)).collect())
                .unwrap_or_default()
        };
        let wanted: BTreeSet<usize> = differing
            .iter()
            .flat_map(|(_, old_at, new_at)| -> [Vec<usize>; 2] { [messages(&old, *old_at), messages(&new, *new_at)] })
            .flatten()
            .collect();
        let texts = self.engine.texts(&conversation, &ground.slots, wanted.into_iter())?;
        let text = |view: &View<'_>, at: Option<usize>| {
            at.map(|at| ctx_engine::view::show::plain(&conversation, &ground, view, at, &texts)).unwrap_or_default()
        };
        for (frame, old_at, new_at) in differing {
            frames[frame].before = text(&old, old_at);
            frames[frame].after = text(&new, new_at);
        }
        Ok(Diff {
            conversation: conversation.id().to_owned(),
            from: from.to_owned(),
            to: to.to_owned(),
            tokens_before: scale(before.weight),
            tokens_after: scale(after.weight),
            frames,
        })
    }
}
