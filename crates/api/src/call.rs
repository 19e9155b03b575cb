//! The calls of the control API: method, path, query and body of each, with the type of its answer. Every client builds
//! its calls here, over any transport.

use std::marker::PhantomData;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::cache::{Misses, MissesQuery};
use crate::context::{ContextView, WorthView};
use crate::conversations::{Conversations, Purge, PurgeResult};
use crate::edit::{Clear, EditRequest, EditResult, Heal};
use crate::explain::{Term, Terms};
use crate::frames::{AtQuery, Frames, FramesQuery};
use crate::helper::{HelperTest, HelperView, JobView};
use crate::history::{Branches, Diff, DiffQuery, HistoryQuery, HistoryRequest, HistoryView, Tags};
use crate::map::ContextMap;
use crate::models::ModelsView;
use crate::offloaded::{OffloadedQuery, OffloadedView};
use crate::phases::{PhaseRequest, PhasesView};
use crate::plan::{Plan, PlanView};
use crate::requests::{Explanation, SentView};
use crate::search::{SearchQuery, SearchResults};
use crate::show::ContentView;
use crate::stats::{Stats, StatsQuery};
use crate::status::Status;
use crate::team::{
    AllShares, Audit, AuditQuery, Keys, MadeKey, Me, NewKey, NewPerson, Notices, OpenConversation, People,
    PersonChange, PersonConversations, Reason, ShareRequest, Shares,
};
use crate::timeline::{Timeline, TimelineQuery};
use crate::waiting::{Cancel, PendingOutcome, Several, WaitView, WaitingView};

/// A call with the answer type `T`. Its path is relative to `/control/v1`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call<T> {
    /// The path with its query.
    pub path: String,
    /// The JSON body; a call with one is a POST, one without is a GET.
    pub body: Option<String>,
    answer: PhantomData<fn() -> T>,
}

impl<T: DeserializeOwned> Call<T> {
    fn get(path: impl Into<String>) -> Call<T> {
        Call { path: path.into(), body: None, answer: PhantomData }
    }

    fn post(path: impl Into<String>, body: &impl Serialize) -> Call<T> {
        let body = serde_json::to_string(body).unwrap_or_default();
        Call { body: Some(body), ..Call::get(path) }
    }

    fn query(mut self, query: &impl Serialize) -> Call<T> {
        let fields = serde_json::to_value(query).unwrap_or_default();
        for (name, value) in fields.as_object().into_iter().flatten() {
            let value = match value {
                Value::Null | Value::Bool(false) => continue,
                Value::String(text) => encoded(text, ""),
                other => other.to_string(),
            };
            let mark = if self.path.contains('?') { '&' } else { '?' };
            self.path.push_str(&format!("{mark}{name}={value}"));
        }
        self
    }

    /// Parses the answer.
    pub fn read(&self, answer: &[u8]) -> Result<T, serde_json::Error> {
        serde_json::from_slice(answer)
    }
}

/// The state of the daemon.
pub fn status() -> Call<Status> {
    Call::get("/status")
}

/// All conversations.
pub fn conversations() -> Call<Conversations> {
    Call::get("/conversations")
}

/// Deletes conversations for good.
pub fn purge(body: &Purge) -> Call<PurgeResult> {
    Call::post("/purge", body)
}

/// The known models.
pub fn models() -> Call<ModelsView> {
    Call::get("/models")
}

/// Usage and cost.
pub fn stats(query: &StatsQuery) -> Call<Stats> {
    Call::get("/stats").query(query)
}

/// Text in conversations.
pub fn search(query: &SearchQuery) -> Call<SearchResults> {
    Call::get("/search").query(query)
}

/// All rules and error codes.
pub fn terms() -> Call<Terms> {
    Call::get("/explain")
}

/// A rule or an error code.
pub fn term(name: &str) -> Call<Term> {
    Call::get(format!("/explain/{}", encoded(name, "")))
}

/// The helper model and its jobs.
pub fn helper() -> Call<HelperView> {
    Call::get("/helper")
}

/// Sends a test request to the helper model.
pub fn test_helper() -> Call<HelperTest> {
    Call::post("/helper/test", &Nothing {})
}

/// The state of a helper job.
pub fn job(job: &str) -> Call<JobView> {
    Call::get(format!("/helper/jobs/{}", encoded(job, "")))
}

/// Stops a helper job.
pub fn cancel_job(job: &str) -> Call<JobView> {
    Call::post(format!("/helper/jobs/{}/cancel", encoded(job, "")), &Nothing {})
}

/// Starts a helper job again.
pub fn retry_job(job: &str) -> Call<JobView> {
    Call::post(format!("/helper/jobs/{}/retry", encoded(job, "")), &Nothing {})
}

/// The reader of the answers.
pub fn me() -> Call<Me> {
    Call::get("/me")
}

/// Everyone who uses the daemon.
pub fn people() -> Call<People> {
    Call::get("/people")
}

/// Adds a person.
pub fn add_person(body: &NewPerson) -> Call<People> {
    Call::post("/people", body)
}

/// Changes the role or the groups of a person.
pub fn change_person(name: &str, body: &PersonChange) -> Call<People> {
    Call::post(format!("/people/{}", encoded(name, "")), body)
}

/// Removes a person, with their keys and shares.
pub fn remove_person(name: &str) -> Call<People> {
    Call::post(format!("/people/{}/remove", encoded(name, "")), &Nothing {})
}

/// The conversations of a person, without words.
pub fn conversations_of(person: &str) -> Call<PersonConversations> {
    Call::get(format!("/people/{}/conversations", encoded(person, "")))
}

/// Opens the conversation of another person for a while.
pub fn open_conversation(person: &str, conversation: &str, why: &Reason) -> Call<OpenConversation> {
    let (person, conversation) = (encoded(person, ""), encoded(conversation, ""));
    Call::post(format!("/people/{person}/conversations/{conversation}/open"), why)
}

/// The keys of the reader; of everyone, for auditors and admins.
pub fn keys() -> Call<Keys> {
    Call::get("/keys")
}

/// Makes a key.
pub fn make_key(body: &NewKey) -> Call<MadeKey> {
    Call::post("/keys", body)
}

/// Revokes a key.
pub fn revoke_key(id: &str) -> Call<Keys> {
    Call::post(format!("/keys/{}/revoke", encoded(id, "")), &Nothing {})
}

/// The shares of the reader's conversations; of everyone's, for auditors and admins.
pub fn shares() -> Call<AllShares> {
    Call::get("/shares")
}

/// Looks at the reader's conversations that they did not allow.
pub fn notices() -> Call<Notices> {
    Call::get("/notices")
}

/// The audit log.
pub fn audit(query: &AuditQuery) -> Call<Audit> {
    Call::get("/audit").query(query)
}

/// Begins the name of the main conversation of a session. No person's name begins like this, so it is no `OWNER:ID`.
pub const SESSION: &str = "@session:";

/// The name of the main conversation of exactly this session. For sessions that a program tells: an unknown one must not
/// pass for the beginning of another, or for words of a title.
pub fn of_session(session: &str) -> String {
    format!("{SESSION}{session}")
}

/// The calls about one conversation, named by its id, the start of one, words of its title, `active`, or [`of_session`].
#[derive(Debug, Clone, Copy)]
pub struct Conversation<'a>(pub &'a str);

impl Conversation<'_> {
    fn path(self, rest: &str) -> String {
        format!("/conversations/{}/{rest}", encoded(self.0, ""))
    }

    /// Its frames.
    pub fn frames(self, query: &FramesQuery) -> Call<Frames> {
        Call::get(self.path("frames")).query(query)
    }

    /// The content of a frame, step, message or block.
    pub fn show(self, id: &str, query: &AtQuery) -> Call<ContentView> {
        Call::get(self.path(&format!("frames/{}", encoded(id, "/")))).query(query)
    }

    /// A sent request, and its answer.
    pub fn sent(self, request: &str) -> Call<SentView> {
        Call::get(self.path(&format!("requests/{}", encoded(request, ""))))
    }

    /// The difference between the client's request and the composed one.
    pub fn explain(self, query: &AtQuery) -> Call<Explanation> {
        Call::get(self.path("explain")).query(query)
    }

    /// Offloaded content by its handle.
    pub fn offloaded(self, handle: &str, query: &OffloadedQuery) -> Call<OffloadedView> {
        Call::get(self.path(&format!("offloaded/{}", encoded(handle, "")))).query(query)
    }

    /// Two points of the history compared.
    pub fn diff(self, query: &DiffQuery) -> Call<Diff> {
        Call::get(self.path("diff")).query(query)
    }

    /// Its commits.
    pub fn history(self, query: &HistoryQuery) -> Call<HistoryView> {
        Call::get(self.path("history")).query(query)
    }

    /// Runs a history action, or names a commit.
    pub fn go(self, body: &HistoryRequest) -> Call<EditResult> {
        Call::post(self.path("history"), body)
    }

    /// Its branches.
    pub fn branches(self) -> Call<Branches> {
        Call::get(self.path("branches"))
    }

    /// Its tags.
    pub fn tags(self) -> Call<Tags> {
        Call::get(self.path("tags"))
    }

    /// Applies operations as one commit.
    pub fn apply(self, body: &EditRequest) -> Call<EditResult> {
        Call::post(self.path("operations"), body)
    }

    /// Previews operations, or applies them.
    pub fn plan(self, plan: &Plan) -> Call<PlanView> {
        Call::post(self.path("plan"), plan)
    }

    /// Applies operations after the helper model has written their texts.
    pub fn find_words(self, body: &EditRequest) -> Call<JobView> {
        Call::post(self.path("helper"), body)
    }

    /// Applies the edit that makes the provider accept the request again.
    pub fn heal(self, body: &Heal) -> Call<EditResult> {
        Call::post(self.path("heal"), body)
    }

    /// Clears everything clearable.
    pub fn clear(self, body: &Clear) -> Call<EditResult> {
        Call::post(self.path("clear"), body)
    }

    /// Its deferred edits and proposals.
    pub fn waiting(self) -> Call<WaitingView> {
        Call::get(self.path("waiting"))
    }

    /// Applies a deferred edit now.
    pub fn accept(self, id: &str, body: &Cancel) -> Call<WaitView> {
        Call::post(self.path(&format!("waiting/{}/accept", encoded(id, ""))), body)
    }

    /// Cancels a deferred edit.
    pub fn cancel(self, id: &str, body: &Cancel) -> Call<WaitView> {
        Call::post(self.path(&format!("waiting/{}/cancel", encoded(id, ""))), body)
    }

    /// Applies several deferred edits.
    pub fn accept_many(self, body: &Several) -> Call<PendingOutcome> {
        Call::post(self.path("waiting/accept"), body)
    }

    /// Cancels several deferred edits.
    pub fn cancel_many(self, body: &Several) -> Call<PendingOutcome> {
        Call::post(self.path("waiting/cancel"), body)
    }

    /// How full its context is.
    pub fn context(self) -> Call<ContextView> {
        Call::get(self.path("context"))
    }

    /// Stale content.
    pub fn worth(self) -> Call<WorthView> {
        Call::get(self.path("worth"))
    }

    /// The composition of its context.
    pub fn map(self, query: &AtQuery) -> Call<ContextMap> {
        Call::get(self.path("map")).query(query)
    }

    /// Its events.
    pub fn timeline(self, query: &TimelineQuery) -> Call<Timeline> {
        Call::get(self.path("timeline")).query(query)
    }

    /// The misses of the provider's cache.
    pub fn misses(self, query: &MissesQuery) -> Call<Misses> {
        Call::get(self.path("misses")).query(query)
    }

    /// The people it is shared with.
    pub fn shares(self) -> Call<Shares> {
        Call::get(self.path("shares"))
    }

    /// Shares it.
    pub fn share(self, body: &ShareRequest) -> Call<Shares> {
        Call::post(self.path("share"), body)
    }

    /// Ends a share.
    pub fn unshare(self, body: &ShareRequest) -> Call<Shares> {
        Call::post(self.path("unshare"), body)
    }

    /// Its phases.
    pub fn phases(self) -> Call<PhasesView> {
        Call::get(self.path("phases"))
    }

    /// Begins or ends a phase.
    pub fn phase(self, body: &PhaseRequest) -> Call<PhasesView> {
        Call::post(self.path("phases"), body)
    }
}

/// The body of a POST that takes none.
#[derive(Serialize)]
struct Nothing {}

/// Percent-encoding for one part of a path or a query; `spared` stays as it is.
pub fn encoded(text: &str, spared: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => encoded.push(byte.into()),
            _ if spared.as_bytes().contains(&byte) => encoded.push(byte.into()),
            _ => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_survive_the_way_through_an_address() {
        assert_eq!(Conversation("c3f9a1").branches().path, "/conversations/c3f9a1/branches");
        assert_eq!(Conversation("a/b?c").tags().path, "/conversations/a%2Fb%3Fc/tags");
        assert_eq!(encoded("t3#2.1", "/"), "t3%232.1");
        assert_eq!(encoded("tools/Bash é", "/"), "tools/Bash%20%C3%A9");
    }

    #[test]
    fn a_query_holds_what_is_set() {
        let query = FramesQuery { steps: true, ..FramesQuery::default() };
        assert_eq!(Conversation("c1").frames(&query).path, "/conversations/c1/frames?steps=true");
        let query = SearchQuery { q: "a & b".to_owned(), conv: None, limit: Some(3) };
        assert_eq!(search(&query).path, "/search?q=a%20%26%20b&limit=3");
        assert_eq!(Conversation("c1").show("t1/2#0", &AtQuery::default()).path, "/conversations/c1/frames/t1/2%230");
    }

    #[test]
    fn a_call_with_a_body_reads_its_answer() {
        let call = purge(&Purge { conversations: vec!["c1".to_owned()], ..Purge::default() });
        assert_eq!(call.body.as_deref(), Some(r#"{"conversations":["c1"],"older_than_days":null,"all":false}"#));
        let purged = call.read(br#"{"conversations":1,"bytes_freed":9}"#).expect("an answer");
        assert_eq!((purged.conversations, purged.bytes_freed), (1, 9));
    }
}
