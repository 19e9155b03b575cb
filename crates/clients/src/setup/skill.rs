//! The skill `compose-context`: instructions for an agent that edits its own context.

use super::shell::quoted;

pub const NAME: &str = "compose-context";

const TEXT: &str = include_str!("skill.md");

/// The parts of the text that differ by agent.
pub struct Wording<'a> {
    /// Further lines of the front matter.
    pub head: &'a str,
    /// Where the user's request stands.
    pub request: &'a str,
    /// How the agent knows that the conversation is its own.
    pub newest: &'a str,
    /// What the agent's shell needs a permission for.
    pub quoting: &'a str,
    /// When another conversation may be named.
    pub conversation: &'a str,
}

/// For agents without arguments of skills: they may have the MCP server, and a session that `ctx` does not know.
const PLAIN: Wording<'_> = Wording {
    head: "",
    request: "If you have the tools of the MCP server ctx (`ctx_list`, `ctx_preview`, `ctx_apply`, `ctx_undo`), use them with the same \
              operations\ninstead of the commands below: they know which conversation is yours.\n\n",
    newest: "The newest frame\n   must be this one, with the user's request; otherwise another conversation is active: stop, and say so.",
    quoting: "",
    conversation: "No `--force`. `--conv` only to name\n  your own session, if ctx asks for it.",
};

/// The text for an agent that calls the program by this name or path.
pub fn plain(program: &str) -> String {
    worded(&PLAIN, program)
}

pub fn worded(wording: &Wording<'_>, program: &str) -> String {
    let program = quoted(program);
    let parts = [
        ("{head}", wording.head),
        ("{request}", wording.request),
        ("{newest}", wording.newest),
        ("{quoting}", wording.quoting),
        ("{conv}", wording.conversation),
        ("{ctx}", program.as_str()),
    ];
    parts.into_iter().fold(TEXT.to_owned(), |text, (name, part)| text.replace(name, part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plain_text_has_the_two_members_that_every_agent_reads_and_nothing_to_fill_in() {
        let text = plain("/opt/my ctx");
        let head = text.strip_prefix("---\nname: compose-context\ndescription: ").expect("a front matter");
        assert!(head.split_once('\n').is_some_and(|(about, rest)| about.len() < 1024 && rest.starts_with("---\n")));
        assert!(!text.contains('$') && !text.contains("{ctx}") && text.contains("'/opt/my ctx' batch - --dry-run"));
        for name in ["{head}", "{request}", "{newest}", "{quoting}", "{conv}"] {
            assert!(TEXT.contains(name) && !text.contains(name), "{name}");
        }
        assert!(text.contains("must be this one") && text.contains("ctx_preview"), "{text}");
    }
}
