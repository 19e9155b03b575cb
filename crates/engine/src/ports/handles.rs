//! Handles of offloaded content, and how agents read it back.

use ctx_core::ToolRole;
use ctx_store::Hash;
use ctx_wire::envelope::Piece;
use std::ops::Range;

/// The tool of our MCP server that reads content back.
pub const TOOL: &str = "ctx_show";

const PREFIX: &str = "o-";
/// Digits of the hash in a handle.
const DIGITS: usize = 16;
/// Longer names of tools are not repeated in a stub.
const LONGEST_NAME: usize = 128;

/// Why nothing is offloaded.
pub const UNREADABLE: &str = "its agent could not read it back: its requests offer no tool `ctx_show`, and none that may \
                              run `ctx cat`";

/// The handle of a text: the same on every daemon.
pub fn of(text: &str) -> String {
    let hash = Hash::of(text.as_bytes()).to_string();
    format!("{PREFIX}{}", hash.get(..DIGITS).unwrap_or_default())
}

pub fn is_handle(name: &str) -> bool {
    let digits = name.strip_prefix(PREFIX).unwrap_or_default();
    digits.len() == DIGITS && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// The ways in which agents read content in the store.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Handles {
    /// Those with a tool that runs commands can run `ctx cat`.
    pub by_command: bool,
}

/// The way in which one agent reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadsBack<'c> {
    /// With this tool, as its request names it.
    Tool(&'c str),
    /// With `ctx cat` in this conversation.
    Command(&'c str),
}

impl Handles {
    /// How the agent of a conversation reads, by the tools of its newest request; `None` if it cannot.
    pub fn reader<'c>(self, conversation: &'c str, tools: Option<&'c [Piece]>) -> Option<ReadsBack<'c>> {
        let names = || tools.into_iter().flatten().map(|tool| &*tool.name);
        let runs_commands = || names().any(|name| ctx_clients::lexicon().role(name) == ToolRole::Shell);
        let by_command = || (self.by_command && runs_commands()).then_some(ReadsBack::Command(conversation));
        names().find(|name| is_ours(name)).map(ReadsBack::Tool).or_else(by_command)
    }
}

const BY_TOOL: &str = "Read it with the tool ";
const BY_COMMAND: &str = "Read it with `ctx cat ";

impl ReadsBack<'_> {
    /// The sentence that tells the agent.
    pub fn sentence(self, handle: &str) -> String {
        match self {
            Self::Tool(tool) => format!("{BY_TOOL}{tool}, id {handle}."),
            Self::Command(conversation) => format!("{BY_COMMAND}{handle} --conv {conversation}`."),
        }
    }
}

/// A sentence of [`ReadsBack`] in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sentence<'t> {
    pub at: Range<usize>,
    pub handle: &'t str,
}

/// The sentences in a text that name handles, in order.
pub fn sentences(text: &str) -> impl Iterator<Item = Sentence<'_>> {
    const OPENING: &str = "Read it with ";
    text.match_indices(OPENING).filter_map(|(start, _)| {
        let sentence = text.get(start..)?;
        let (handle, rest) = match sentence.strip_prefix(BY_TOOL) {
            Some(rest) => {
                let (_, rest) = rest.split_once(", id ").filter(|(tool, _)| is_ours(tool))?;
                let (handle, rest) = rest.split_at_checked(PREFIX.len() + DIGITS)?;
                (handle, rest.strip_prefix('.')?)
            }
            None => {
                let (handle, rest) = sentence.strip_prefix(BY_COMMAND)?.split_at_checked(PREFIX.len() + DIGITS)?;
                let (conversation, rest) = rest.strip_prefix(" --conv ")?.split_once("`.")?;
                (handle, Some(rest).filter(|_| !conversation.contains(char::is_whitespace))?)
            }
        };
        is_handle(handle).then(|| Sentence { at: start..text.len() - rest.len(), handle })
    })
}

/// A text whose sentences about these handles are for another reader; `None` if nothing changes.
pub fn retold(text: &str, reader: ReadsBack<'_>, is_meant: &dyn Fn(&str) -> bool) -> Option<String> {
    let mut told = String::with_capacity(text.len());
    let mut from = 0;
    for sentence in sentences(text).filter(|sentence| is_meant(sentence.handle)) {
        told.push_str(text.get(from..sentence.at.start)?);
        told.push_str(&reader.sentence(sentence.handle));
        from = sentence.at.end;
    }
    told.push_str(text.get(from..)?);
    (told != text).then_some(told)
}

/// Whether a tool is ours. Clients put the name of the server before it.
pub fn is_ours(name: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    let server = name.strip_suffix(TOOL).filter(|_| name.len() <= LONGEST_NAME && name.chars().all(is_plain));
    server.is_some_and(|server| !server.ends_with(|c: char| c.is_ascii_alphanumeric()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HANDLE: &str = "o-7f3a2c9104bd31aa";

    #[test]
    fn a_stub_is_told_anew_for_another_agent() {
        let (tool, command) = (ReadsBack::Tool("mcp__ctx__ctx_show"), ReadsBack::Command("c1"));
        let stub = |reader: ReadsBack<'_>| format!("[Offloaded to save context: x]\n{} é", reader.sentence(HANDLE));
        for reader in [tool, command] {
            let text = stub(reader);
            let found: Vec<Sentence<'_>> = sentences(&text).collect();
            let [Sentence { at, handle }] = found.as_slice() else { panic!("{found:?}") };
            assert_eq!((*handle, &text[at.clone()]), (HANDLE, reader.sentence(HANDLE).as_str()));
            let other = ReadsBack::Tool("ctx_show");
            assert_eq!(retold(&text, other, &|_| true), Some(stub(other)));
            assert_eq!(retold(&text, other, &|_| false), None);
            assert_eq!(retold(&text, reader, &|_| true), None, "it is so already");
        }
        for other in [
            "Read it with care.",
            "Read it with the tool Bash, id o-7f3a2c9104bd31aa.",
            "Read it with the tool ctx_show, id o-7f3a2c9104bd31a",
            "Read it with the tool ctx_show, id t1.",
            "Read it with `ctx cat o-7f3a2c9104bd31aa`.",
        ] {
            assert_eq!(sentences(other).count(), 0, "{other}");
        }
    }

    #[test]
    fn an_agent_reads_with_a_tool_of_its_own_request() {
        let named = |name: &str| Piece {
            name: name.into(),
            at: 0..0,
            chars: 0,
            label: "".into(),
            deferred: false,
            server: false,
            is_attribution: false,
            key: ctx_core::Key::of([name.as_bytes()]),
        };
        let reader = |by_command, names: &[&str]| {
            let tools: Vec<Piece> = names.iter().map(|name| named(name)).collect();
            Handles { by_command }.reader("c1", Some(&tools)).map(|reader| reader.sentence(HANDLE))
        };
        let by_tool = Some(ReadsBack::Tool("mcp__ctx__ctx_show").sentence(HANDLE));
        assert_eq!(reader(false, &["Bash", "mcp__ctx__ctx_show"]), by_tool);
        assert_eq!(reader(true, &["Bash", "mcp__ctx__ctx_show"]), by_tool, "it needs no permission");
        assert_eq!(reader(true, &["Read", "Bash"]), Some(ReadsBack::Command("c1").sentence(HANDLE)));
        assert_eq!(reader(true, &["Read"]), None, "it runs no commands");
        assert_eq!((reader(false, &["Bash"]), reader(true, &[])), (None, None));
    }

    #[test]
    fn our_tool_is_known_under_the_names_that_clients_give_it() {
        for name in ["ctx_show", "mcp__ctx__ctx_show", "ctx.ctx_show", "mcp__my-ctx__ctx_show"] {
            assert!(is_ours(name), "{name}");
        }
        let long = format!("{}_ctx_show", "x".repeat(200));
        for name in
            ["", "show", "notctx_show", "ctx_show_all", "mcp__ctx__ctx_list", "a b_ctx_show", "`x`_ctx_show", &long]
        {
            assert!(!is_ours(name), "{name}");
        }
    }
}
