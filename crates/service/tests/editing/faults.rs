//! The store fails for a while. Whatever leaves meanwhile is what leaves when the store works, and every commit that was
//! acknowledged is there afterwards, and no other.

use crate::check;
use crate::support::{self, LONG};
use crate::world::{Outcome, World, text};
use ctx_api::edit::EditRequest;
use serde_json::json;
use std::collections::BTreeSet;
use std::time::Duration;
use testkit::Random;

impl World {
    pub fn faults(&mut self, at: usize, random: &mut Random) -> Outcome {
        // An automatic editor acts again on the request that comes again.
        if self.automated || self.talks[at].conversation.is_none() {
            return Ok(());
        }
        let talk = &mut self.talks[at];
        if !talk.client.is_waiting() {
            talk.client.speak(random, &mut self.words);
        }
        let script = talk.client.script(random, &mut self.words);
        let mut commits = self.all_commits(at)?;
        self.service().settle(LONG);
        if random.chance(50) {
            self.reopen();
        }
        let (reads, writes) = match random.below(4) {
            0 => (1, 0),
            1 => (0, 1),
            2 => (1, 1),
            _ => (random.between(2, 4) as u64, random.between(2, 4) as u64),
        };
        self.tell(format!("the store refuses every read number {reads}, every write number {writes}"));
        self.failing.fail_every_read(reads);
        self.failing.fail_every_write(writes);
        self.failing.slow(Duration::from_millis(u64::from(random.chance(10))));
        self.tally.faults += 1;
        let left = self.leaves(at);
        // Not one of the words that are followed: an offload says the title of its frame.
        let title = format!("title {}", self.story.len());
        let operations = serde_json::from_value(json!([{"op": "retitle", "id": "t1", "title": title}]));
        let edit = EditRequest {
            operations: operations.expect("an operation"),
            author: "cli".into(),
            ..EditRequest::default()
        };
        if let Ok(applied) = self.service().apply(&check::name(self, at), edit) {
            self.tell("  a commit is acknowledged");
            commits.extend(applied.commit.map(|commit| commit.to_string()));
        }
        let again = self.leaves(at);
        self.service().settle(LONG);
        self.failing.heal();
        self.tell("the store works again");
        self.reopen();
        if self.all_commits(at)? != commits {
            return Err(format!("acknowledged were {commits:?}, stored are {:?}", self.all_commits(at)?));
        }
        let (ticket, blocks) = self.request(at, script)?;
        let sent = self.talks[at].sent.as_ref().map(|(sent, _)| check::bare(sent));
        for left in [left, again].into_iter().flatten() {
            if Some(check::bare(&left)) != sent {
                return Err(format!("left while the store failed: {}\nleaves now: {sent:?}", text(&left)));
            }
        }
        self.answered(at, &ticket, &blocks)?;
        self.talks[at].client.answer(blocks);
        Ok(())
    }

    /// What leaves of the client's request, if it leaves.
    fn leaves(&mut self, at: usize) -> Option<Vec<u8>> {
        let headers = self.talks[at].client.headers();
        let body = self.talks[at].client.body().to_string().into_bytes();
        let is_held = self.service().holds(&support::hints(&headers));
        match self.pass(self.talks[at].client.manner.wire, &headers, &body, false) {
            Ok((_, sent, _)) => Some(sent),
            Err(_) if is_held => {
                self.tally.withheld += 1;
                None
            }
            Err(_) => Some(body),
        }
    }

    fn all_commits(&self, at: usize) -> Result<BTreeSet<String>, String> {
        let history = self.service().whole_history(&check::name(self, at), usize::MAX);
        let history = history.map_err(|refusal| refusal.message)?;
        Ok(history.commits.iter().map(|commit| commit.id.to_string()).collect())
    }
}
