//! The texts that Codex injects into a conversation, and its tools.

use ctx_core::lexicon::{Arguments, Vocabulary};
use ctx_core::{Class, ToolRole};

pub static VOCABULARY: Vocabulary = Vocabulary {
    notices: &[
        "<environment_context>",
        "<user_instructions>",
        "# AGENTS.md instructions",
        "<user_shell_command>",
        "<turn_aborted>",
        "<subagent_notification>",
        "<skill>",
        "<skills_instructions>",
        "<recommended_plugins>",
    ],
    summaries: &["Another language model started to solve this problem"],
    requests: &[("You are performing a CONTEXT CHECKPOINT COMPACTION", Class::Compaction)],
    folders: &["<cwd>"],
    tools: &[
        ("shell", ToolRole::Shell),
        ("local_shell", ToolRole::Shell),
        ("shell_command", ToolRole::Shell),
        ("exec_command", ToolRole::Shell),
        ("exec", ToolRole::Shell),
        ("write_stdin", ToolRole::Shell),
        ("apply_patch", ToolRole::Edit),
        ("update_plan", ToolRole::Todo),
        ("spawn_agent", ToolRole::Agent),
        ("wait_agent", ToolRole::Agent),
        ("send_message", ToolRole::Agent),
        ("list_agents", ToolRole::Agent),
        ("close_agent", ToolRole::Agent),
        ("request_user_input", ToolRole::Ask),
    ],
    lasting: &["update_plan"],
    arguments: Arguments { command: &["cmd"], telling: &["cmd", "message"], lists: &["command"], ..Arguments::EMPTY },
    ..Vocabulary::EMPTY
};

#[cfg(test)]
mod tests {
    use crate::lexicon;
    use ctx_core::lexicon::{SUMMARY_TITLE, Speech};
    use ctx_core::{Class, ToolRole};

    #[test]
    fn context_that_codex_adds_is_not_said_by_the_human() {
        let injected = [
            "<environment_context>\n  <cwd>/p</cwd>\n</environment_context>",
            "# AGENTS.md instructions for /p\n\n<INSTRUCTIONS>",
            "<user_instructions>\nbe brief",
            "<turn_aborted>\nThe user interrupted",
            "<subagent_notification>\n{}",
        ];
        for text in injected {
            assert_eq!(lexicon().judge(text), Speech::Injected, "{text}");
        }
        assert_eq!(lexicon().judge("# Fix the parser"), Speech::Human("# Fix the parser".into()));
    }

    #[test]
    fn its_compaction_is_recognised_before_and_after() {
        let asks = "You are performing a CONTEXT CHECKPOINT COMPACTION. Create a handoff summary";
        assert_eq!(lexicon().class_of_request(asks), Some(Class::Compaction));
        let summary = "Another language model started to solve this problem and produced a summary";
        assert_eq!(lexicon().judge(summary), Speech::Human(SUMMARY_TITLE.into()));
    }

    #[test]
    fn its_tools_have_roles() {
        let role = |tool| lexicon().role(tool);
        assert_eq!((role("exec_command"), role("shell")), (ToolRole::Shell, ToolRole::Shell));
        assert_eq!((role("apply_patch"), role("update_plan")), (ToolRole::Edit, ToolRole::Todo));
        assert!(role("spawn_agent").is_steering() && lexicon().is_lasting("update_plan"));
    }
}
