//! The texts that Claude Code injects into a conversation, and its tools.

use ctx_core::ToolRole;
use ctx_core::lexicon::{Arguments, CommandTags, InjectedList, Tag, Vocabulary};
use serde_json::Value;

pub static VOCABULARY: Vocabulary = Vocabulary {
    reminder: Some(Tag { open: "<system-reminder>", close: "</system-reminder>" }),
    notices: &[
        "[Request interrupted by user",
        "<local-command-stdout>",
        "<local-command-stderr>",
        "<local-command-caveat>",
        "Caveat: The messages below were generated",
        "<bash-stdout>",
        "<bash-stderr>",
        "<task-notification>",
        // The text of a skill, called by the human with a command or by the model with a tool call.
        "Base directory for this skill: ",
    ],
    command: Some(CommandTags {
        openings: &["<command-name>", "<command-message>"],
        name: Tag { open: "<command-name>", close: "</command-name>" },
        arguments: Tag { open: "<command-args>", close: "</command-args>" },
    }),
    shell_input: Some(Tag { open: "<bash-input>", close: "</bash-input>" }),
    summaries: &["This session is being continued from a previous conversation"],
    summary_request: &["<analysis>", "<summary>"],
    subagent: Some("cc_is_subagent=true"),
    identities: &["You are Claude Code", "You are a Claude agent", "You are an interactive agent"],
    session_of_user: Some(session_of_user),
    tools: &[
        ("Read", ToolRole::Read),
        ("Write", ToolRole::Write),
        ("Edit", ToolRole::Edit),
        ("MultiEdit", ToolRole::Edit),
        ("NotebookEdit", ToolRole::Edit),
        ("Bash", ToolRole::Shell),
        ("Grep", ToolRole::Search),
        ("Glob", ToolRole::Find),
        ("WebSearch", ToolRole::Search),
        ("WebFetch", ToolRole::Fetch),
        ("TodoWrite", ToolRole::Todo),
        ("TodoRead", ToolRole::Todo),
        ("TaskCreate", ToolRole::Todo),
        ("TaskUpdate", ToolRole::Todo),
        ("Task", ToolRole::Agent),
        ("Agent", ToolRole::Agent),
        ("AskUserQuestion", ToolRole::Ask),
        ("Skill", ToolRole::Skill),
    ],
    lasting: &["TaskCreate", "TaskGet", "TaskList", "TaskUpdate"],
    arguments: Arguments {
        path: &["file_path", "path", "notebook_path", "filePath"],
        command: &["command", "cmd", "pattern", "query", "url", "prompt"],
        skill: &["skill", "command"],
        replaced: &["old_string"],
        telling: &["file_path", "path", "command", "pattern", "url", "query", "description", "skill", "prompt"],
        ..Arguments::EMPTY
    },
    failed_result: Some("<tool_use_error>"),
    repeated_result: Some("File unchanged"),
    looking_agents: &["Explore", "Plan"],
    lists: &[
        InjectedList { opening: "Available agent types for the Agent tool:", tool: "Agent" },
        InjectedList { opening: "The following skills are available for use with the Skill tool:", tool: "Skill" },
    ],
    ..Vocabulary::EMPTY
};

/// The session in `metadata.user_id`: a JSON text of its own, or the older `…_session_<id>`.
fn session_of_user(user: &str) -> Option<Box<str>> {
    let object: Option<Value> = serde_json::from_str(user).ok();
    let named = object.and_then(|object| Some(object.get("session_id")?.as_str()?.to_owned()));
    let older = || user.rsplit_once("_session_").map(|(_, id)| id.to_owned());
    named.or_else(older).filter(|id| !id.is_empty()).map(String::into_boxed_str)
}

#[cfg(test)]
mod tests {
    use crate::lexicon;
    use ctx_core::ToolRole;
    use ctx_core::lexicon::Speech;

    #[test]
    fn a_title_is_the_humans_words_not_the_reminders() {
        let judge = |text: &str| lexicon().judge(&lexicon().without_reminders(text));
        let text = "<system-reminder>Today is Monday</system-reminder>\nfix the   parser\nplease";
        assert_eq!(judge(text), Speech::Human("fix the parser please".into()));
        assert_eq!(judge("<system-reminder>x</system-reminder>"), Speech::Injected);
        assert_eq!(judge("[Request interrupted by user for tool use]"), Speech::Injected);
        assert_eq!(
            judge(
                "<command-message>compact</command-message>\n<command-name>/compact</command-name>\n<command-args>now</command-args>"
            ),
            Speech::Command("/compact now".into())
        );
        assert_eq!(judge("Base directory for this skill: /home/me/.claude/skills/tidy\n\n# Tidy"), Speech::Injected);
        assert_eq!(judge("<bash-input>ls -la</bash-input>"), Speech::Human("! ls -la".into()));
    }

    #[test]
    fn an_unclosed_reminder_is_text() {
        let without = |text| lexicon().without_reminders(text).into_owned();
        assert_eq!(without("a<system-reminder>b"), "a<system-reminder>b");
        assert_eq!(without("a<system-reminder>b</system-reminder>c<system-reminder>"), "ac<system-reminder>");
    }

    #[test]
    fn the_session_is_in_the_user_id_in_both_spellings() {
        let session = |user| lexicon().session_of_user(user).map(String::from);
        assert_eq!(session(r#"{"device_id":"d","session_id":"s-1"}"#).as_deref(), Some("s-1"));
        assert_eq!(session("user_a_account__session_abc-1").as_deref(), Some("abc-1"));
        assert_eq!((session("me"), session(""), session(r#"{"session_id":""}"#)), (None, None, None));
    }

    #[test]
    fn commands_name_what_they_begin() {
        let text = "<command-message>review</command-message>\n<command-name>/review</command-name> <command-name>x";
        assert_eq!(lexicon().commands(text), ["review"]);
        assert!(lexicon().commands("<command-name>plain</command-name>").is_empty());
    }

    #[test]
    fn tools_have_roles_and_other_agents_names_are_told_by_their_words() {
        let role = |tool| lexicon().role(tool);
        assert_eq!(
            (role("Read"), role("NotebookEdit"), role("Bash")),
            (ToolRole::Read, ToolRole::Edit, ToolRole::Shell)
        );
        assert_eq!((role("Glob"), role("GREP"), role("ls")), (ToolRole::Find, ToolRole::Search, ToolRole::Search));
        assert_eq!((role("BASH"), role("todowrite")), (ToolRole::Shell, ToolRole::Todo));
        assert_eq!(role("mcp__web__search_pages"), ToolRole::Search);
        assert_eq!(
            (role("read_file"), role("patch"), role("write")),
            (ToolRole::Read, ToolRole::Edit, ToolRole::Write)
        );
        assert_eq!(
            (role("webfetch"), role("TaskList"), role("deploy")),
            (ToolRole::Fetch, ToolRole::Other, ToolRole::Other)
        );
    }

    #[test]
    fn what_the_model_goes_on_needing_is_told_by_name_and_by_word() {
        let lasting = |tool: &&&str| lexicon().is_lasting(tool);
        let tools = ["Read", "TodoWrite", "mcp__memory__find", "Skill", "TaskUpdate", "Task", "memorial"];
        let lasting: Vec<&&str> = tools.iter().filter(lasting).collect();
        assert_eq!(lasting, [&"TodoWrite", &"mcp__memory__find", &"Skill", &"TaskUpdate"]);
    }
}
