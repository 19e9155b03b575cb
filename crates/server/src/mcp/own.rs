//! Selects the conversation of a call: the caller's own, unless it names another. Every answer states how it was
//! selected, because an edit of another conversation would be worse than none.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use ctx_api::call::{Conversation, of_session};
use ctx_api::conversations::ConversationView;
use ctx_api::frames::{AtQuery, FramesQuery};
use ctx_api::history::HistoryQuery;
use ctx_api::show::ContentView;
use ctx_clients::{Client, ClientId};
use ctx_core::{ErrorCode, ReceivedCode};
use ctx_team::Scopes;
use serde_json::Value;

use super::answer::Answer;
use super::ask::{Ask, Refusal, call};
use super::pending::ToolCall;

/// The origin of the server's process.
#[derive(Debug, Clone, Default)]
pub struct Origin {
    /// The default conversation of all calls.
    pub conversation: Option<String>,
    /// The session of the agent, if the user named it.
    pub session: Option<String>,
    /// The sessions that the environment names.
    pub sessions: Vec<(ClientId, String)>,
    /// The agent's working directory.
    pub directory: Option<PathBuf>,
}

impl Origin {
    /// The session of the environment that is the caller's. An agent inherits the variables of one that started it.
    fn inherited(&self, client: Option<&Client>) -> Option<&String> {
        let own = match client {
            Some(client) => self.sessions.iter().find(|(id, _)| *id == client.id),
            None => self.sessions.first().filter(|_| self.sessions.len() == 1),
        };
        own.map(|(_, session)| session)
    }
}

/// The caller of a single call.
#[derive(Debug, Clone, Default)]
pub struct Caller {
    /// The id of the tool call: it occurs only in the conversation that makes it. It therefore distinguishes a
    /// sub-agent from its parent, and stays right when the session changes (`/clear`).
    pub call: Option<String>,
    pub session: Option<String>,
    /// The calling program.
    pub client: Option<String>,
    /// The call itself.
    pub tool: Option<ToolCall>,
    /// Of its key.
    pub scopes: Scopes,
}

impl Caller {
    pub fn known_client(&self) -> Option<&'static Client> {
        ctx_clients::mcp_client(self.client.as_deref()?)
    }
}

/// A conversation, and how it was selected.
#[derive(Debug, Clone)]
pub struct Own {
    pub id: String,
    pub found_by: FoundBy,
    pub head: Option<String>,
    pub branch: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FoundBy {
    Argument,
    Flag,
    Call,
    Session,
    Reply,
    Directory,
    Newest,
}

impl FoundBy {
    pub fn name(self) -> &'static str {
        match self {
            Self::Argument => "argument",
            Self::Flag => "flag",
            Self::Call => "call",
            Self::Session => "session",
            Self::Reply => "reply",
            Self::Directory => "directory",
            Self::Newest => "newest",
        }
    }

    /// Whether it may be another agent's.
    fn is_guess(self) -> bool {
        matches!(self, Self::Directory | Self::Newest)
    }

    pub fn in_words(self) -> &'static str {
        match self {
            Self::Argument => "you named it",
            Self::Flag => "the server was started for it",
            Self::Call => "it contains this call",
            Self::Session => "main conversation of your session",
            Self::Reply => "its newest reply makes exactly this call",
            Self::Directory => "newest main conversation in your working directory; your session is unknown",
            Self::Newest => "newest main conversation; your session is unknown, so it may be another agent's",
        }
    }
}

/// The conversations that a connection has shown as the caller's own.
#[derive(Debug, Default)]
pub struct ShownConversations(Mutex<BTreeSet<String>>);

impl ShownConversations {
    /// Notes the conversation of an answer, unless the caller named it.
    pub fn add(&self, answer: &Answer) {
        let is_named = answer.value.get("found_by").is_some_and(|by| by == FoundBy::Argument.name());
        if let Some(id) = answer.value.get("conversation").and_then(Value::as_str).filter(|_| !is_named) {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(id.to_owned());
        }
    }

    /// The conversation, if it was one and the same all the time.
    fn only(&self) -> Option<String> {
        let shown = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        shown.first().filter(|_| shown.len() == 1).cloned()
    }
}

/// The number of newest conversations to search for a call or a folder.
const LOOKED_AT: usize = 6;
/// The response that makes the call may still be streaming when the call arrives.
const LOOKS: usize = 3;
const PAUSE: Duration = Duration::from_millis(100);

pub async fn find(ask: &impl Ask, origin: &Origin, caller: &Caller, named: Option<&str>) -> Result<Own, Refusal> {
    if let Some(name) = named {
        return at(ask, name, FoundBy::Argument).await;
    }
    if let Some(name) = &origin.conversation {
        return at(ask, name, FoundBy::Flag).await;
    }
    let client = caller.known_client();
    let session = caller.session.as_ref().or(origin.session.as_ref()).or_else(|| origin.inherited(client));
    if let Some(call) = &caller.call
        && let Some(id) = calling(ask, call, session).await?
    {
        return at(ask, &id, FoundBy::Call).await;
    }
    if let Some(session) = session {
        return at(ask, &of_session(session), FoundBy::Session).await.map_err(|refusal| match refusal.code {
            ReceivedCode::Known(ErrorCode::UnknownConversation) => Refusal::new(
                ErrorCode::NotThroughCtx,
                format!("This session ({session}) does not use ctx."),
                format!("Start the agent with `ctx run -- {}`, or name a conversation with `conv`.", program(client)),
            ),
            _ => refusal,
        });
    }
    if let Some(tool) = &caller.tool
        && let Some(id) = replying(ask, tool, client).await?
    {
        return at(ask, &id, FoundBy::Reply).await;
    }
    if let Some(id) = in_directory(ask, origin).await? {
        return at(ask, &id, FoundBy::Directory).await;
    }
    at(ask, "active", FoundBy::Newest).await
}

/// The conversation to change. A guess may be another one with each call, as agents become active, and a head tells only
/// edited ones apart. So a guess counts only if no other conversation is possible; otherwise the caller edits the one
/// that it was shown.
pub async fn to_change(ask: &impl Ask, own: Own, shown: &ShownConversations) -> Result<Own, Refusal> {
    if !own.found_by.is_guess() {
        return Ok(own);
    }
    if let Some(id) = shown.only() {
        return at(ask, &id, own.found_by).await;
    }
    let mut mains = candidates(ask).await?;
    mains.retain(|one| one.class == "main");
    match &mains[..] {
        [one] if one.id == own.id => Ok(own),
        _ => Err(only_guessed(&own)),
    }
}

fn only_guessed(guess: &Own) -> Refusal {
    let message = format!("Your session is unknown, so your conversation is only guessed: {}.", guess.id);
    let hint = "Look at it with ctx_list, and call again with `conv` set to the id of yours. Nothing was changed.";
    Refusal::new(ErrorCode::AmbiguousConversation, message, hint)
}

/// What a person types to start the agent.
fn program(client: Option<&Client>) -> &'static str {
    let known = client.and_then(|client| client.launch.programs.first());
    known.or(ctx_clients::DEFAULT.launch.programs.first()).copied().unwrap_or("AGENT")
}

async fn at(ask: &impl Ask, name: &str, found_by: FoundBy) -> Result<Own, Refusal> {
    let query = HistoryQuery { limit: Some(0), ..HistoryQuery::default() };
    let history = call(ask, Conversation(name).history(&query)).await?;
    let head = history.head.map(|head| head.to_string());
    Ok(Own { id: history.conversation, found_by, head, branch: history.branch })
}

/// The conversations that an agent of the caller may run in. Imported copies are none, because no agent uses them, nor
/// those that others share: they write the replies there, so they could make one look like the caller's own.
async fn candidates(ask: &impl Ask) -> Result<Vec<ConversationView>, Refusal> {
    let mut all = call(ask, ctx_api::call::conversations()).await?.conversations;
    all.retain(|one| !one.imported && one.owner.is_none());
    Ok(all)
}

/// The most recently active conversations, those of the session first.
async fn newest(ask: &impl Ask, session: Option<&String>) -> Result<Vec<ConversationView>, Refusal> {
    let mut all = candidates(ask).await?;
    let is_of_session = |one: &ConversationView| session.is_some() && one.session.as_ref() == session;
    all.sort_by_key(|one| Reverse((is_of_session(one), one.last_activity)));
    all.truncate(LOOKED_AT);
    Ok(all)
}

/// The conversation whose newest step makes this call.
async fn calling(ask: &impl Ask, call: &str, session: Option<&String>) -> Result<Option<String>, Refusal> {
    for look in 0..LOOKS {
        if look > 0 {
            tokio::time::sleep(PAUSE).await;
        }
        for one in newest(ask, session).await? {
            // A conversation that disappears in the meantime is not the caller's.
            if makes(ask, &one.id, call).await.unwrap_or(false) {
                return Ok(Some(one.id));
            }
        }
    }
    Ok(None)
}

async fn makes(ask: &impl Ask, id: &str, tool_call: &str) -> Result<bool, Refusal> {
    let Some((shown, _)) = newest_step(ask, id).await? else { return Ok(false) };
    let mut blocks = shown.messages.iter().flat_map(|message| &message.blocks);
    Ok(blocks.any(|block| block.tool_use_id.as_deref() == Some(tool_call)))
}

/// The newest step of a conversation, and whether its reply is pending. A frame may contain hundreds of steps.
async fn newest_step(ask: &impl Ask, id: &str) -> Result<Option<(ContentView, bool)>, Refusal> {
    let frames = call(ask, Conversation(id).frames(&FramesQuery::default())).await?.frames;
    let pending = frames.iter().find(|frame| frame.pending);
    let last = pending.or_else(|| frames.iter().rfind(|frame| frame.kind == "turn"));
    let Some(step) = last.map(|frame| format!("{}/{}", frame.id, frame.steps)) else { return Ok(None) };
    Ok(Some((call(ask, Conversation(id).show(&step, &AtQuery::default())).await?, pending.is_some())))
}

/// The conversation of this client whose pending reply makes exactly this call. Several that do are refused: an edit of
/// the wrong one would be worse than none.
async fn replying(ask: &impl Ask, tool: &ToolCall, client: Option<&Client>) -> Result<Option<String>, Refusal> {
    let is_its = |one: &ConversationView| {
        let sender = one.client.as_deref().and_then(ctx_clients::of_product);
        client.zip(sender).is_none_or(|(client, sender)| client.id == sender.id)
    };
    for look in 0..LOOKS {
        if look > 0 {
            tokio::time::sleep(PAUSE).await;
        }
        let mut candidates = Vec::new();
        for one in newest(ask, None).await?.into_iter().filter(is_its) {
            // A conversation that disappears in the meantime is not the caller's.
            let Ok(Some((shown, true))) = newest_step(ask, &one.id).await else { continue };
            if tool.is_made_in(&shown) {
                candidates.push(one);
            }
        }
        match &candidates[..] {
            [] => {}
            [one] => return Ok(Some(one.id.clone())),
            several => return Err(ambiguous(several)),
        }
    }
    Ok(None)
}

fn ambiguous(candidates: &[ConversationView]) -> Refusal {
    let named = candidates.iter().map(|one| format!("{} (\u{201c}{}\u{201d})", one.id, one.title));
    let named: Vec<String> = named.collect();
    let message = format!("{} conversations are making this very call: {}.", named.len(), named.join(", "));
    let hint = "Call again with `conv` set to the id of yours; its title is its first question.";
    Refusal::new(ErrorCode::AmbiguousConversation, message, hint)
}

/// The main conversation in our working directory: the active one, otherwise the newest.
async fn in_directory(ask: &impl Ask, origin: &Origin) -> Result<Option<String>, Refusal> {
    let Some(directory) = origin.directory.as_ref().and_then(|path| path.to_str()) else { return Ok(None) };
    let mut mains = candidates(ask).await?;
    mains.retain(|one| one.class == "main");
    mains.sort_by_key(|one| Reverse((one.active, one.last_activity)));
    for one in mains.into_iter().take(LOOKED_AT) {
        for part in ["t1#1", "t1#0", "system"] {
            let shown = call(ask, Conversation(&one.id).show(part, &AtQuery::default())).await;
            let Ok(shown) = shown else { continue };
            let mut blocks = shown.messages.iter().flat_map(|message| &message.blocks);
            if blocks.any(|block| tells(&block.text, directory)) {
                return Ok(Some(one.id));
            }
        }
    }
    Ok(None)
}

/// The stock client tells the model `Primary working directory: /path`, others `Working directory: /path`.
fn tells(text: &str, directory: &str) -> bool {
    text.lines().any(|line| {
        let place = line.split_once("orking directory: ").map(|(_, place)| place.trim());
        place == Some(directory)
    })
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use serde_json::json;

    use super::*;

    #[test]
    fn the_working_directory_is_the_whole_one() {
        let told = "# Environment\n - Primary working directory: /home/me/a\n - Platform: linux";
        assert!(tells(told, "/home/me/a"));
        assert!(!tells(told, "/home/me") && !tells(told, "/home/me/a/b"));
        assert!(tells("Working directory: /x", "/x"));
    }

    /// A daemon whose conversations all have the same folder.
    struct Daemon(Value);

    impl Ask for Daemon {
        async fn ask(&self, path: String, _: Option<String>) -> Result<Bytes, Refusal> {
            let id = path.split('/').nth(2).unwrap_or_default();
            let block = json!({ "id": "t1#0.0", "kind": "text", "tokens": 1, "text": "Working directory: /x", "is_error": false });
            let message =
                json!({ "id": "t1#0", "role": "user", "tokens": 1, "step": 0, "pending": false, "blocks": [block] });
            let answer = match path.as_str() {
                "/conversations" => json!({ "conversations": self.0 }),
                path if path.contains("/history") => {
                    json!({ "conversation": id, "branch": "main", "branches": [], "tags": [], "commits": [] })
                }
                _ => json!({ "conversation": id, "id": "t1", "kind": "turn", "title": "", "tokens": 1,
                    "calibrated": true, "messages": [message] }),
            };
            Ok(answer.to_string().into())
        }
    }

    #[tokio::test]
    async fn a_folder_means_the_active_conversation_and_never_a_copy() {
        let one = |id: &str, class: &str, at: u64, more: Value| {
            let mut one = json!({ "id": id, "class": class, "last_activity": at, "active": false, "title": "",
                "frames": 1, "messages": 1, "requests": 1, "tokens": 1, "calibrated": true });
            more.as_object().into_iter().flatten().for_each(|(name, value)| one[name] = value.clone());
            one
        };
        let mut all = vec![
            one("copy", "main", 99, json!({ "imported": true })),
            one("bob:shared", "main", 98, json!({ "owner": "bob" })),
            one("newer", "main", 9, json!({})),
            one("active", "main", 8, json!({ "active": true })),
        ];
        // With any number of sub-agents.
        all.extend((0..10).map(|number| one(&format!("s{number}"), "subagent", 50, json!({}))));
        let origin = Origin { directory: Some("/x".into()), ..Origin::default() };
        let found = find(&Daemon(json!(all)), &origin, &Caller::default(), None).await.expect("found");
        assert_eq!((found.id.as_str(), found.found_by), ("active", FoundBy::Directory));
        all.retain(|one| one["id"] != "active");
        let found = find(&Daemon(json!(all)), &origin, &Caller::default(), None).await.expect("found");
        assert_eq!((found.id.as_str(), found.found_by), ("newer", FoundBy::Directory));
    }
}
