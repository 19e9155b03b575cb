//! How the words of clients are told from the words of people, and which part each tool of theirs plays.
//!
//! The rules are here, because wires read messages by them; the words are in `ctx-clients`.

use crate::class::Class;
use crate::pattern::matches;
use crate::title::line;
use crate::tool::ToolRole;
use std::borrow::Cow;

/// The title of a client's own summary of the conversation.
pub const SUMMARY_TITLE: &str = "Summary of the conversation so far";

/// The words before and behind a text. Without a `close`, it ends with the text around it.
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

/// How a client writes down a command that the human gave to it.
#[derive(Debug, Clone, Copy)]
pub struct CommandTags {
    /// A text with a command begins with one of these.
    pub openings: &'static [&'static str],
    pub name: Tag,
    pub arguments: Tag,
}

/// The names of arguments that tools are called with.
#[derive(Debug, Clone, Copy)]
pub struct Arguments {
    /// A file.
    pub path: &'static [&'static str],
    /// A command, or the object of a search.
    pub command: &'static [&'static str],
    /// The name of a skill.
    pub skill: &'static [&'static str],
    /// The arguments that tell most about a call, the best first.
    pub telling: &'static [&'static str],
    /// Lists of texts, or of objects with the arguments above.
    pub lists: &'static [&'static str],
}

impl Arguments {
    /// No names.
    pub const EMPTY: Arguments = Arguments { path: &[], command: &[], skill: &[], telling: &[], lists: &[] };
}

/// Finds a session in the id of a user.
pub type SessionOfUser = fn(&str) -> Option<Box<str>>;

/// The words of one client, or of several that use the same.
#[derive(Debug, Clone, Copy)]
pub struct Vocabulary {
    /// Around reminders, which clients put into texts of the human and into tool results.
    pub reminder: Option<Tag>,
    /// How other texts begin that the client wrote into a user message.
    pub notices: &'static [&'static str],
    pub command: Option<CommandTags>,
    /// Around a shell command that the human ran through the client.
    pub shell_input: Option<Tag>,
    /// How the client's summary of a conversation begins.
    pub summaries: &'static [&'static str],
    /// The whole text of a message whose answer is such a summary.
    pub summary_questions: &'static [&'static str],
    /// How the answer begins that the client gives to such a summary in the model's name.
    pub summary_receipts: &'static [&'static str],
    /// A message with all of these asks for such a summary.
    pub summary_request: &'static [&'static str],
    /// How the last text of a request begins that is no turn of its conversation, with the class of the request.
    pub requests: &'static [(&'static str, Class)],
    /// How the system prompt of such a request begins, with the class of the request.
    pub systems: &'static [(&'static str, Class)],
    /// Stands in the first block of a system prompt and says that a sub-agent speaks.
    pub subagent: Option<&'static str>,
    /// Stand before the path of the working directory, as JSON writes them.
    pub folders: &'static [&'static str],
    /// How the block of the system prompt begins without which a subscription's requests are refused.
    pub identities: &'static [&'static str],
    /// Finds the session in the id of a user that the client sends along.
    pub session_of_user: Option<SessionOfUser>,
    /// Tools by their exact names.
    pub tools: &'static [(&'static str, ToolRole)],
    /// Tools by patterns, where no exact name fits: `*` stands for anything, and case does not matter.
    pub tool_patterns: &'static [(&'static str, ToolRole)],
    /// Tools whose results the model goes on needing however old they are: by name, and by a word of their names.
    pub lasting: &'static [&'static str],
    pub lasting_words: &'static [&'static str],
    pub arguments: Arguments,
    /// How a tool result begins that is an error, though no flag says so.
    pub failed_result: Option<&'static str>,
    /// How a tool result begins that refers to an earlier one.
    pub repeated_result: Option<&'static str>,
    /// Kinds of sub-agents that change no file.
    pub looking_agents: &'static [&'static str],
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
    };
}

/// The author of a text in a user message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Speech {
    /// The client.
    Injected,
    /// The human, with a command to the client; its title.
    Command(String),
    /// The human; the title of the words.
    Human(String),
}

/// The vocabularies that texts are read by, together.
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

    /// The text without the reminders that clients weave into it.
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

    /// Judges a text of a user message whose reminders are already taken out.
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

    /// Whether a first message is the client's own summary of what came before it, or asks the model for its own.
    pub fn is_summary(&self, text: &str) -> bool {
        let text = text.trim();
        self.all(|words| words.summaries).any(|opening| text.starts_with(opening))
            || self.all(|words| words.summary_questions).any(|question| text == question)
    }

    /// Whether an answer says that the message before it is the client's own summary.
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

    /// Whether the raw bytes of a message hold words that begin the last text of a side request. They may stand
    /// anywhere in the message: [`Lexicon::class_of_request`] decides.
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

    /// Whether the first block of a system prompt says that a sub-agent speaks.
    pub fn says_subagent(&self, first_block: &[u8]) -> bool {
        self.each()
            .filter_map(|words| words.subagent)
            .any(|mark| memchr::memmem::find(first_block, mark.as_bytes()).is_some())
    }

    /// The words that stand before the path of the working directory.
    pub fn folder_openings(&self) -> impl Iterator<Item = &'static str> {
        self.all(|words| words.folders)
    }

    /// Whether a block of a system prompt that begins so is the identity that a subscription needs.
    pub fn is_identity(&self, label: &str) -> bool {
        self.all(|words| words.identities).any(|opening| label.starts_with(opening))
    }

    /// The session that the id of a user names.
    pub fn session_of_user(&self, user: &str) -> Option<Box<str>> {
        self.each().filter_map(|words| words.session_of_user).find_map(|session| session(user))
    }

    /// The commands in a text of the human that name what they begin, such as skills.
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

    /// Whether the model goes on needing the results of a tool however old they are.
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

    pub fn skills(&self) -> impl Iterator<Item = &'static str> {
        self.all(|words| words.arguments.skill)
    }

    /// How much an argument tells about its call: 0 is the most.
    pub fn rank(&self, argument: &str) -> usize {
        let mut names = self.all(|words| words.arguments.telling);
        names.position(|name| name == argument).unwrap_or(usize::MAX)
    }

    /// Whether a tool result is an error, though no flag says so.
    pub fn is_failed_result(&self, text: &str) -> bool {
        self.each().filter_map(|words| words.failed_result).any(|opening| text.starts_with(opening))
    }

    /// Whether a tool result refers to an earlier one instead of showing a file again.
    pub fn is_repeated_result(&self, text: &str) -> bool {
        self.each().filter_map(|words| words.repeated_result).any(|opening| text.starts_with(opening))
    }

    /// Whether sub-agents of a kind change no file.
    pub fn is_looking_agent(&self, kind: &str) -> bool {
        self.all(|words| words.looking_agents).any(|looking| looking == kind)
    }
}

/// The class that stands beside the words that a text begins with.
fn named<'w>(mut words: impl Iterator<Item = &'w (&'static str, Class)>, text: &str) -> Option<Class> {
    words.find(|(opening, _)| text.starts_with(opening)).map(|(_, class)| *class)
}

/// The text without what stands between these tags, the tags with it; `None` where there is none.
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

/// The words that a name is made of: `TodoWrite`, `todo_write` and `mcp__todo__write` have the same.
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
