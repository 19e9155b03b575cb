//! The headers of Codex. One of them describes the request in JSON.

use crate::hints::is_product;
use crate::{HeaderNames, Headers, Hints};
use ctx_core::Class;
use serde::Deserialize;

/// Describes the request.
const METADATA: &str = "x-codex-turn-metadata";
/// Names the thread, followed by a colon and the number of its compactions.
const WINDOW: &str = "x-codex-window-id";
/// Names the kind of sub-agent.
const SUBAGENT: &str = "x-openai-subagent";

/// The thread is the conversation: sub-agents share the session of their parent.
pub const NAMES: HeaderNames = HeaderNames {
    session: &["thread-id"],
    parent_session: Some("x-codex-parent-thread-id"),
    class: Some(SUBAGENT),
    classes: &[("compact", Class::Compaction), ("memory_consolidation", Class::Auxiliary)],
    ..HeaderNames::NONE
};

/// The relevant members of the metadata.
#[derive(Deserialize, Default)]
#[serde(default)]
struct Metadata {
    request_kind: Option<String>,
    thread_source: Option<String>,
    window_number: Option<u64>,
}

pub fn recognises(headers: Headers<'_>) -> bool {
    headers(METADATA).or(headers(WINDOW)).is_some() || is_product(headers, super::CLIENT.products)
}

pub fn refine(headers: Headers<'_>, hints: &mut Hints) {
    let metadata: Metadata = headers(METADATA).and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
    let counted = || headers(WINDOW)?.rsplit_once(':')?.1.parse().ok();
    hints.compacted |= metadata.window_number.or_else(counted).is_some_and(|number| number > 0);
    let class = match (metadata.request_kind.as_deref(), metadata.thread_source.as_deref()) {
        (Some("compaction"), _) => Some(Class::Compaction),
        (Some("prewarm" | "memory"), _) | (_, Some("thread_title")) => Some(Class::Auxiliary),
        (_, _) if hints.parent_session.is_some() || headers(SUBAGENT).is_some() => Some(Class::Subagent),
        (Some("turn"), _) => Some(Class::Main),
        (_, _) => None,
    };
    hints.class = hints.class.or(class);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ClientId;

    fn hints(headers: &[(&'static str, &'static str)]) -> Hints {
        Hints::read(|name| headers.iter().find(|(key, _)| *key == name).map(|(_, value)| *value))
    }

    #[test]
    fn the_thread_is_the_conversation_and_not_the_session() {
        let read = hints(&[("user-agent", "codex_exec/0.166.0 (Linux)"), ("session-id", "s"), ("thread-id", "t")]);
        assert_eq!((read.client, read.session.as_deref()), (ClientId::Codex, Some("t")));
        let older = hints(&[("user-agent", "codex_cli_rs/0.145.0"), ("session_id", "s")]);
        assert_eq!((older.client, older.session.as_deref()), (ClientId::Codex, Some("s")));
    }

    #[test]
    fn the_metadata_tells_the_class() {
        let class = |metadata| hints(&[("thread-id", "t"), (METADATA, metadata)]).class;
        assert_eq!(class(r#"{"request_kind":"turn","thread_source":"user"}"#), Some(Class::Main));
        assert_eq!(class(r#"{"request_kind":"turn","thread_source":"thread_title"}"#), Some(Class::Auxiliary));
        assert_eq!(class(r#"{"request_kind":"compaction"}"#), Some(Class::Compaction));
        assert_eq!(class(r#"{"request_kind":"prewarm"}"#), Some(Class::Auxiliary));
        assert_eq!(class(r#"{"request_kind":"memory"}"#), Some(Class::Auxiliary));
        assert_eq!((class("{not json"), class(r#"{"request_kind":"new"}"#)), (None, None));
    }

    #[test]
    fn a_sub_agent_names_its_parents_thread() {
        let parent = ("x-codex-parent-thread-id", "p");
        let read = hints(&[("thread-id", "t"), parent, (SUBAGENT, "collab_spawn"), (METADATA, "{}")]);
        assert_eq!(
            (read.session.as_deref(), read.parent_session.as_deref(), read.class),
            (Some("t"), Some("p"), Some(Class::Subagent))
        );
        let memory = hints(&[("thread-id", "t"), (SUBAGENT, "memory_consolidation"), (METADATA, "{}")]);
        assert_eq!(memory.class, Some(Class::Auxiliary));
    }

    #[test]
    fn a_later_window_follows_a_compaction() {
        let compacted = |header| hints(&[("thread-id", "t"), header]).compacted;
        assert!(compacted((METADATA, r#"{"window_number":1}"#)) && compacted((WINDOW, "t:2")));
        assert!(!compacted((METADATA, r#"{"window_number":0}"#)) && !compacted((WINDOW, "t:0")));
        assert!(!compacted((WINDOW, "t")));
    }
}
