//! Which conversation a call is about: the caller's own, unless it names another. How it was found is part of every
//! answer, because an edit of somebody else's conversation would be worse than none.

use std::cmp::Reverse;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value;

use super::ask::{Ask, Refusal, encoded};

/// What is known of whoever started the server.
#[derive(Debug, Clone, Default)]
pub struct Origin {
    /// The one conversation that is meant unless a call names another.
    pub conversation: Option<String>,
    /// The session of the agent.
    pub session: Option<String>,
    /// The folder that the agent works in.
    pub directory: Option<PathBuf>,
}

/// What a single call tells of who makes it.
#[derive(Debug, Clone, Default)]
pub struct Caller {
    /// The id of the tool call itself: it stands in the conversation that makes it, and nowhere else. So it tells a
    /// sub-agent from its parent, and is still right when the session has changed (`/clear`).
    pub call: Option<String>,
    pub session: Option<String>,
    /// The program that asks.
    pub client: Option<String>,
}

/// A conversation, and how it was found.
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
            Self::Directory => "directory",
            Self::Newest => "newest",
        }
    }

    pub fn in_words(self) -> &'static str {
        match self {
            Self::Argument => "you named it",
            Self::Flag => "the server was started for it",
            Self::Call => "this very call was made in it",
            Self::Session => "it is the main conversation of your session",
            Self::Directory => {
                "it is the newest main conversation in your working directory; your session is not known"
            }
            Self::Newest => {
                "it is the newest main conversation; your session is not known, so it may be another agent's"
            }
        }
    }
}

/// How many conversations are looked through for a call or a folder, the newest first.
const LOOKED_AT: usize = 6;
/// The answer that makes the call may not be over yet when the call comes.
const LOOKS: usize = 3;
const PAUSE: Duration = Duration::from_millis(100);

pub async fn find(ask: &impl Ask, origin: &Origin, caller: &Caller, named: Option<&str>) -> Result<Own, Refusal> {
    if let Some(name) = named {
        return at(ask, name, FoundBy::Argument).await;
    }
    if let Some(name) = &origin.conversation {
        return at(ask, name, FoundBy::Flag).await;
    }
    let session = caller.session.as_ref().or(origin.session.as_ref());
    if let Some(call) = &caller.call
        && let Some(id) = calling(ask, call, session).await?
    {
        return at(ask, &id, FoundBy::Call).await;
    }
    if let Some(session) = session {
        return at(ask, session, FoundBy::Session).await.map_err(|refusal| match refusal.code.as_str() {
            "unknown-conversation" => Refusal::new(
                "not-through-ctx",
                format!("Nothing of this session ({session}) has passed through ctx."),
                "The agent must speak through ctx: start it with `ctx run -- claude`. Or name a conversation with `conv`.",
            ),
            _ => refusal,
        });
    }
    if let Some(id) = in_directory(ask, origin).await? {
        return at(ask, &id, FoundBy::Directory).await;
    }
    at(ask, "active", FoundBy::Newest).await
}

async fn at(ask: &impl Ask, name: &str, found_by: FoundBy) -> Result<Own, Refusal> {
    let history = ask.ask(format!("/conversations/{}/history?limit=0", encoded(name)), None).await?;
    let word = |name: &str| history[name].as_str().map(str::to_owned);
    Ok(Own {
        id: word("conversation").unwrap_or_else(|| name.to_owned()),
        found_by,
        head: word("head"),
        branch: word("branch").unwrap_or_default(),
    })
}

async fn all(ask: &impl Ask) -> Result<Vec<Value>, Refusal> {
    let mut answer = ask.ask("/conversations".to_owned(), None).await?;
    Ok(match answer["conversations"].take() {
        Value::Array(all) => all,
        _ => Vec::new(),
    })
}

/// The conversations that were active last, those of the session first.
async fn newest(ask: &impl Ask, session: Option<&String>) -> Result<Vec<Value>, Refusal> {
    let mut all = all(ask).await?;
    let is_of_session = |one: &Value| session.is_some_and(|session| one["session"] == session.as_str());
    all.sort_by_key(|one| Reverse((is_of_session(one), one["last_activity"].as_u64())));
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
            let Some(id) = one["id"].as_str() else { continue };
            // One that vanishes meanwhile is not the one that calls.
            if makes(ask, id, call).await.unwrap_or(false) {
                return Ok(Some(id.to_owned()));
            }
        }
    }
    Ok(None)
}

async fn makes(ask: &impl Ask, id: &str, call: &str) -> Result<bool, Refusal> {
    let id = encoded(id);
    let list = ask.ask(format!("/conversations/{id}/frames"), None).await?;
    let frames = list["frames"].as_array().map(Vec::as_slice).unwrap_or_default();
    let pending = frames.iter().find(|frame| frame["pending"] == true);
    let last = pending.or_else(|| frames.iter().rfind(|frame| frame["kind"] == "turn"));
    // The newest step is enough: a frame may hold hundreds.
    let step = last.and_then(|frame| Some(format!("{}/{}", frame["id"].as_str()?, frame["steps"].as_u64()?)));
    let Some(step) = step else { return Ok(false) };
    let shown = ask.ask(format!("/conversations/{id}/frames/{}", encoded(&step)), None).await?;
    let messages = shown["messages"].as_array().into_iter().flatten();
    let mut blocks = messages.filter_map(|message| message["blocks"].as_array()).flatten();
    Ok(blocks.any(|block| block["tool_use_id"] == call))
}

/// The main conversation that was told our working directory: the active one, else the newest. A copy from a file was
/// told of it too, and nobody speaks in it.
async fn in_directory(ask: &impl Ask, origin: &Origin) -> Result<Option<String>, Refusal> {
    let Some(directory) = origin.directory.as_ref().and_then(|path| path.to_str()) else { return Ok(None) };
    let mut mains = all(ask).await?;
    mains.retain(|one| one["class"] == "main" && one["imported"] != true);
    mains.sort_by_key(|one| Reverse((one["active"] == true, one["last_activity"].as_u64())));
    for one in mains.iter().take(LOOKED_AT) {
        let Some(id) = one["id"].as_str() else { continue };
        for part in ["t1%231", "t1%230", "system"] {
            let shown = ask.ask(format!("/conversations/{}/frames/{part}", encoded(id)), None).await;
            let Ok(shown) = shown else { continue };
            let messages = shown["messages"].as_array().into_iter().flatten();
            let mut blocks = messages.filter_map(|message| message["blocks"].as_array()).flatten();
            if blocks.any(|block| block["text"].as_str().is_some_and(|text| tells(text, directory))) {
                return Ok(Some(id.to_owned()));
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
    use serde_json::json;

    use super::*;

    #[test]
    fn the_working_directory_is_the_whole_one() {
        let told = "# Environment\n - Primary working directory: /home/me/a\n - Platform: linux";
        assert!(tells(told, "/home/me/a"));
        assert!(!tells(told, "/home/me") && !tells(told, "/home/me/a/b"));
        assert!(tells("Working directory: /x", "/x"));
    }

    /// A daemon whose conversations were all told the same folder.
    struct Daemon(Value);

    impl Ask for Daemon {
        async fn ask(&self, path: String, _: Option<Value>) -> Result<Value, Refusal> {
            if path == "/conversations" {
                return Ok(json!({ "conversations": self.0 }));
            }
            let id = path.split('/').nth(2).unwrap_or_default();
            match path.contains("/history") {
                true => Ok(json!({ "conversation": id, "head": null, "branch": "main" })),
                false => Ok(json!({ "messages": [{ "blocks": [{ "text": "Working directory: /x" }] }] })),
            }
        }
    }

    #[tokio::test]
    async fn a_folder_means_the_active_conversation_and_never_a_copy() {
        let one = |id: &str, class: &str, at: u64, more: Value| {
            let mut one = json!({ "id": id, "class": class, "last_activity": at });
            more.as_object().into_iter().flatten().for_each(|(name, value)| one[name] = value.clone());
            one
        };
        let mut all = vec![
            one("copy", "main", 99, json!({ "imported": true })),
            one("newer", "main", 9, json!({})),
            one("active", "main", 8, json!({ "active": true })),
        ];
        // However many sub-agents are at work.
        all.extend((0..10).map(|number| one(&format!("s{number}"), "subagent", 50, json!({}))));
        let origin = Origin { directory: Some("/x".into()), ..Origin::default() };
        let found = find(&Daemon(json!(all)), &origin, &Caller::default(), None).await.expect("found");
        assert_eq!((found.id.as_str(), found.found_by), ("active", FoundBy::Directory));
        all.retain(|one| one["id"] != "active");
        let found = find(&Daemon(json!(all)), &origin, &Caller::default(), None).await.expect("found");
        assert_eq!((found.id.as_str(), found.found_by), ("newer", FoundBy::Directory));
    }
}
