//! Distinguishes the words of clients from those of people, and assigns a role to each tool.
//!
//! The rules are here, because wires read messages with them; the words are in `ctx-clients`.

use crate::class::Class;
use crate::pattern::matches;
use crate::title::line;
use crate::tool::ToolRole;
use std::borrow::Cow;

/// The title of a client's own summary of the conversation.
pub const SUMMARY_TITLE: &str = "Summary of the conversation so far";

/// The words before and after a text. Without a `close`, it ends with the surrounding text.
#[derive(Debug, Clone, Copy)]
pub struct Tag {
    pub open: &'static str,
    pub close: &'static str,
}

impl Tag {
    fn inside<'t>(&self, text: &'t str) -> Option<&'t str> {
        let from = find(text, self.open)? + self.open.len();
        let to = find(&text[from..], self.close)?;
        Some(&text[from..from + to])
    }
}

/// The markup of a command that the human gave to the client.
#[derive(Debug, Clone, Copy)]
pub struct CommandTags {
    /// Openings of a text that contains a command.
    pub openings: &'static [&'static str],
    pub name: Tag,
    pub arguments: Tag,
}

/// Names of tool arguments.
#[derive(Debug, Clone, Copy)]
pub struct Arguments {
    /// A file.
    pub path: &'static [&'static str],
    /// A command, or the pattern of a search.
    pub command: &'static [&'static str],
    /// The name of a skill.
    pub skill: &'static [&'static str],
    /// The text of a file that an edit replaces.
    pub replaced: &'static [&'static str],
    /// The most informative arguments of a call, best first.
    pub telling: &'static [&'static str],
    /// Lists of texts, or of objects with the arguments above.
    pub lists: &'static [&'static str],
}

impl Arguments {
    /// No names.
    pub const EMPTY: Arguments =
        Arguments { path: &[], command: &[], skill: &[], replaced: &[], telling: &[], lists: &[] };
}

/// A list that the client injects for the users of a tool: lines that begin with `- ` up to an empty line.
#[derive(Debug, Clone, Copy)]
pub struct InjectedList {
    /// The words before the list.
    pub opening: &'static str,
    /// The tool that takes an item by its name, so that a short description is enough.
    pub tool: &'static str,
}

/// Extracts a session from a user id.
pub type SessionOfUser = fn(&str) -> Option<Box<str>>;

/// The words of one client, or of several that share them.
#[derive(Debug, Clone, Copy)]
pub struct Vocabulary {
    /// The tags around reminders, which clients insert into the human's texts and into tool results.
    pub reminder: Option<Tag>,
    /// Openings of other texts that the client injects into a user message.
    pub notices: &'static [&'static str],
    pub command: Option<CommandTags>,
    /// The tags around a shell command that the human ran through the client.
    pub shell_input: Option<Tag>,
    /// Openings of the client's summary of a conversation.
    pub summaries: &'static [&'static str],
    /// The exact text of a message whose answer is such a summary.
    pub summary_questions: &'static [&'static str],
    /// Openings of the answer to such a summary that the client writes in the model's name.
    pub summary_receipts: &'static [&'static str],
    /// Words that together identify a request for such a summary.
    pub summary_request: &'static [&'static str],
    /// Openings of the last text of a side request, with the class of the request.
    pub requests: &'static [(&'static str, Class)],
    /// Openings of the system prompt of a side request, with the class of the request.
    pub systems: &'static [(&'static str, Class)],
    /// Words in the first block of a system prompt that identify a sub-agent.
    pub subagent: Option<&'static str>,
    /// Words before the path of the working directory, in JSON spelling.
    pub folders: &'static [&'static str],
    /// Openings of the system block without which the provider refuses a subscription's requests.
    pub identities: &'static [&'static str],
    /// Extracts the session from the user id that the client sends.
    pub session_of_user: Option<SessionOfUser>,
    /// Tools by their exact names.
    pub tools: &'static [(&'static str, ToolRole)],
    /// Tools by pattern, where no exact name matches: `*` matches anything, case is ignored.
    pub tool_patterns: &'static [(&'static str, ToolRole)],
    /// Tools whose results stay relevant at any age: by name, and by a word in their name.
    pub lasting: &'static [&'static str],
    pub lasting_words: &'static [&'static str],
    pub arguments: Arguments,
    /// The opening of a tool result that is an error without a flag.
    pub failed_result: Option<&'static str>,
    /// The opening of a tool result that refers to an earlier one.
    pub repeated_result: Option<&'static str>,
    /// Kinds of sub-agents that change no files.
    pub looking_agents: &'static [&'static str],
    pub lists: &'static [InjectedList],
}

impl Vocabulary {
    /// No words.
    pub const EMPTY: Vocabulary = Vocabulary {
        reminder: None,
        notices: &[],
        command: None,
        shell_input: None,
        summaries: &[],
        summary_questions: &[],
        summary_receipts: &[],
        summary_request: &[],
        requests: &[],
        systems: &[],
        subagent: None,
        folders: &[],
        identities: &[],
        session_of_user: None,
        tools: &[],
        tool_patterns: &[],
        lasting: &[],
        lasting_words: &[],
        arguments: Arguments::EMPTY,
        failed_result: None,
        repeated_result: None,
        looking_agents: &[],
        lists: &[],
    };
}

/// The author of a text in a user message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Speech {
    /// The client.
    Injected,
    /// The human, with a command to the client; holds its title.
    Command(String),
    /// The human; holds the title of the words.
    Human(String),
}

/// The vocabularies by which texts are read, together.
#[derive(Debug, Clone, Copy)]
pub struct Lexicon(pub &'static [&'static Vocabulary]);

impl Lexicon {
    fn each(&self) -> impl Iterator<Item = &'static Vocabulary> {
        self.0.iter().copied()
    }

    /// All words of one kind.
    fn all(&self, of: fn(&Vocabulary) -> &'static [&'static str]) -> impl Iterator<Item = &'static str> {
        self.each().flat_map(move |words| of(words).iter().copied())
    }

    /// The text without reminders inserted by clients.
    pub fn without_reminders<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let mut left = Cow::Borrowed(text);
        for tag in self.each().filter_map(|words| words.reminder) {
            if let Some(without) = without(&left, tag) {
                left = Cow::Owned(without);
            }
        }
        left
    }

    pub fn opens_reminder(&self, line: &str) -> bool {
        self.each().filter_map(|words| words.reminder).any(|tag| line.contains(tag.open))
    }

    pub fn closes_reminder(&self, line: &str) -> bool {
        self.each().filter_map(|words| words.reminder).any(|tag| !tag.close.is_empty() && line.contains(tag.close))
    }

    /// Classifies a text of a user message, without its reminders.
    pub fn judge(&self, text: &str) -> Speech {
        let text = text.trim();
        if text.is_empty() || self.all(|words| words.notices).any(|notice| text.starts_with(notice)) {
            return Speech::Injected;
        }
        let commands = self.each().filter_map(|words| words.command);
        let is_command = |tags: &CommandTags| tags.openings.iter().any(|opening| text.starts_with(opening));
        if let Some(tags) = commands.into_iter().find(is_command) {
            let name = tags.name.inside(text).unwrap_or("/command");
            let arguments = tags.arguments.inside(text).unwrap_or_default();
            return Speech::Command(line(&format!("{} {}", name.trim(), arguments.trim())));
        }
        let shell = self.each().filter_map(|words| words.shell_input);
        if let Some(command) = shell.into_iter().find_map(|tag| tag.inside(text)) {
            return Speech::Human(line(&format!("! {}", command.trim())));
        }
        if self.is_summary(text) {
            return Speech::Human(SUMMARY_TITLE.to_owned());
        }
        Speech::Human(line(text))
    }

    /// Whether a first message is the client's summary of the history, or the question that precedes the model's.
    pub fn is_summary(&self, text: &str) -> bool {
        let text = text.trim();
        self.all(|words| words.summaries).any(|opening| text.starts_with(opening))
            || self.all(|words| words.summary_questions).any(|question| text == question)
    }

    /// Whether an answer acknowledges the client's summary in the message before it.
    pub fn acknowledges_summary(&self, answer: &str) -> bool {
        self.all(|words| words.summary_receipts).any(|opening| answer.starts_with(opening))
    }

    /// Whether a message asks for such a summary.
    pub fn asks_for_summary(&self, message: &[u8]) -> bool {
        let asks = |tags: &'static [&'static str]| {
            !tags.is_empty() && tags.iter().all(|tag| memchr::memmem::find(message, tag.as_bytes()).is_some())
        };
        self.each().any(|words| asks(words.summary_request))
    }

    /// Whether the raw bytes of a message contain an opening of a side request, in any position:
    /// [`Lexicon::class_of_request`] decides.
    pub fn may_be_side_request(&self, message: &[u8]) -> bool {
        let holds = |words: &str| memchr::memmem::find(message, words.as_bytes()).is_some();
        self.each().flat_map(|words| words.requests).any(|(opening, _)| holds(opening))
    }

    /// The class of a request by the first words of its last text.
    pub fn class_of_request(&self, last_text: &str) -> Option<Class> {
        named(self.each().flat_map(|words| words.requests), last_text)
    }

    /// The class of a request by the first words of a block of its system prompt.
    pub fn class_of_system(&self, block: &str) -> Option<Class> {
        named(self.each().flat_map(|words| words.systems), block)
    }

    /// Whether the first block of a system prompt identifies a sub-agent.
    pub fn says_subagent(&self, first_block: &[u8]) -> bool {
        self.each()
            .filter_map(|words| words.subagent)
            .any(|mark| memchr::memmem::find(first_block, mark.as_bytes()).is_some())
    }

    /// The words before the path of the working directory.
    pub fn folder_openings(&self) -> impl Iterator<Item = &'static str> {
        self.all(|words| words.folders)
    }

    /// Whether a system block with this label is the identity that a subscription requires.
    pub fn is_identity(&self, label: &str) -> bool {
        self.all(|words| words.identities).any(|opening| label.starts_with(opening))
    }

    /// The session in a user id.
    pub fn session_of_user(&self, user: &str) -> Option<Box<str>> {
        self.each().filter_map(|words| words.session_of_user).find_map(|session| session(user))
    }

    /// The commands in the human's text that name their object, such as skills.
    pub fn commands<'t>(&self, text: &'t str) -> Vec<&'t str> {
        let named = |tags: CommandTags| {
            let opening = format!("{}/", tags.name.open);
            let named = text.split(opening.as_str()).skip(1).filter_map(|rest| rest.split_once(tags.name.close));
            named.map(|(name, _)| name).collect::<Vec<_>>()
        };
        self.each().filter_map(|words| words.command).flat_map(named).collect()
    }

    /// The role of a tool: by its exact name, by its name in another case, by a pattern.
    pub fn role(&self, tool: &str) -> ToolRole {
        let names = || self.each().flat_map(|words| words.tools);
        let exact = names().find(|(name, _)| *name == tool);
        let folded = || names().find(|(name, _)| name.eq_ignore_ascii_case(tool));
        let pattern = || self.each().flat_map(|words| words.tool_patterns).find(|(pattern, _)| matches(pattern, tool));
        exact.or_else(folded).or_else(pattern).map_or(ToolRole::Other, |(_, role)| *role)
    }

    /// Whether the results of a tool stay relevant at any age.
    pub fn is_lasting(&self, tool: &str) -> bool {
        let names_it = |word: &String| self.all(|words| words.lasting_words).any(|lasting| lasting == word);
        self.all(|words| words.lasting).any(|name| name.eq_ignore_ascii_case(tool))
            || words_of(tool).iter().any(names_it)
    }

    pub fn is_path(&self, argument: &str) -> bool {
        self.paths().any(|name| name == argument)
    }

    /// Whether an argument is a list of texts, or of objects with arguments of their own.
    pub fn is_list(&self, argument: &str) -> bool {
        self.all(|words| words.arguments.lists).any(|name| name == argument)
    }

    pub fn paths(&self) -> impl Iterator<Item = &'static str> {
        self.all(|words| words.arguments.path)
    }

    pub fn commands_of_tools(&self) -> impl Iterator<Item = &'static str> {
        self.all(|words| words.arguments.command)
    }

    /// The arguments with text that an edit replaces.
    pub fn replaced(&self) -> impl Iterator<Item = &'static str> {
        self.all(|words| words.arguments.replaced)
    }

    pub fn skills(&self) -> impl Iterator<Item = &'static str> {
        self.all(|words| words.arguments.skill)
    }

    /// The rank of an argument by information: 0 is the best.
    pub fn rank(&self, argument: &str) -> usize {
        let mut names = self.all(|words| words.arguments.telling);
        names.position(|name| name == argument).unwrap_or(usize::MAX)
    }

    /// Whether a tool result is an error without a flag.
    pub fn is_failed_result(&self, text: &str) -> bool {
        self.each().filter_map(|words| words.failed_result).any(|opening| text.starts_with(opening))
    }

    /// Whether a tool result refers to an earlier one instead of showing a file again.
    pub fn is_repeated_result(&self, text: &str) -> bool {
        self.each().filter_map(|words| words.repeated_result).any(|opening| text.starts_with(opening))
    }

    /// Whether sub-agents of this kind change no files.
    pub fn is_looking_agent(&self, kind: &str) -> bool {
        self.all(|words| words.looking_agents).any(|looking| looking == kind)
    }
}

/// The class of the opening that a text begins with.
fn named<'w>(mut words: impl Iterator<Item = &'w (&'static str, Class)>, text: &str) -> Option<Class> {
    words.find(|(opening, _)| text.starts_with(opening)).map(|(_, class)| *class)
}

/// The text without the tags and the content between them; `None` if there are none.
fn without(text: &str, tag: Tag) -> Option<String> {
    find(text, tag.open)?;
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = find(rest, tag.open) {
        if tag.close.is_empty() {
            out.push_str(&rest[..start]);
            return Some(out);
        }
        let Some(length) = find(&rest[start..], tag.close) else { break };
        out.push_str(&rest[..start]);
        rest = &rest[start + length + tag.close.len()..];
    }
    out.push_str(rest);
    Some(out)
}

/// Finds words at memory speed: texts may have many megabytes.
fn find(text: &str, words: &str) -> Option<usize> {
    memchr::memmem::find(text.as_bytes(), words.as_bytes())
}

/// The words of a name: `TodoWrite`, `todo_write` and `mcp__todo__write` have the same.
fn words_of(name: &str) -> Vec<String> {
    let mut words: Vec<String> = vec![String::new()];
    let mut was_small = false;
    for letter in name.chars() {
        if !letter.is_alphanumeric() || (letter.is_uppercase() && was_small) {
            words.push(String::new());
        }
        was_small = letter.is_lowercase();
        if let Some(word) = words.last_mut().filter(|_| letter.is_alphanumeric()) {
            word.extend(letter.to_lowercase());
        }
    }
    words
}
