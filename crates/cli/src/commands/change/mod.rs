//! The editing verbs. Each file builds the request of its verb; sending it and printing the outcome are shared.

mod applied;
mod given;
mod names;
pub mod price;
#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Subcommand, ValueEnum};
use ctx_api::edit::{self, When};
use ctx_api::history::{Action, HistoryRequest};
use ctx_core::edit::Operation;

pub use self::applied::{render as applied_in_words, repaired, thinking};
pub use self::given::{
    Ids, Place, Results, SelectedContent, Selection, invalid_json, read, read_bytes, text, without_last_newline,
};
pub use self::names::Names;
use super::plan::file::Plan;
use crate::arguments::{ConversationArguments, JsonArguments, author, non_empty};
use crate::client::{of_conversation, understood};
use crate::context::Context;
use crate::failure::Failure;

macro_rules! changes {
    ($($verb:ident in $module:ident,)*) => {
        #[derive(Subcommand, Debug)]
        pub enum Change {
            $($verb(super::$module::Arguments),)*
        }

        impl Change {
            pub fn how(&mut self) -> &mut How {
                match self {
                    $(Self::$verb(arguments) => &mut arguments.how,)*
                }
            }

            fn request(&self, context: &Context) -> Result<ChangeRequest, Failure> {
                match self {
                    $(Self::$verb(arguments) => arguments.request(context),)*
                }
            }
        }
    };
}

changes! {
    Delete in delete,
    Edit in edit,
    Compact in compact,
    Offload in offload,
    Restore in restore,
    Move in r#move,
    Add in add,
    Combine in combine,
    Split in split,
    DropResults in drop_results,
    SummarizeResults in summarize_results,
    Retitle in retitle,
    Pin in pin,
    Unpin in unpin,
    Import in import,
    Batch in batch,
    Revert in revert,
    Undo in undo,
    Redo in redo,
    Rollback in rollback,
    Branch in branch,
    Checkout in checkout,
    Tag in tag,
    Heal in heal,
}

/// Flags of every edit.
#[derive(Args, Debug, Clone)]
pub struct How {
    /// Reason, for the history
    #[arg(long, value_name = "TEXT", value_parser = non_empty)]
    note: Option<String>,
    /// Refuse unless this commit is the head (`none`: no commit yet)
    #[arg(long, value_name = "COMMIT", value_parser = non_empty)]
    expect: Option<String>,
    /// Show the effect without applying it
    #[arg(long)]
    pub dry_run: bool,
    /// When to apply it: `now`, `cold` (the cache has expired) or `near-limit` (the window is nearly full) [default: now]
    #[arg(long, value_enum, value_name = "MOMENT", hide_possible_values = true)]
    when: Option<Moment>,
    #[command(flatten)]
    pub conversation: ConversationArguments,
    #[command(flatten)]
    pub format: JsonArguments,
}

impl How {
    pub fn when(&self) -> When {
        self.when.map_or(When::Now, Moment::when)
    }

    /// Confines the edit to what the editor showed.
    fn confine(&mut self, base: &Base) {
        self.conversation.conversation.clone_from(&base.conversation);
        self.expect.get_or_insert_with(|| base.head.clone());
    }
}

/// The condition that a deferred edit waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Moment {
    /// Immediately
    Now,
    /// When the provider's cache has expired, so that it costs nothing
    Cold,
    /// When the context nears the model's limit
    NearLimit,
}

impl Moment {
    pub fn when(self) -> When {
        match self {
            Self::Now => When::Now,
            Self::Cold => When::Cold,
            Self::NearLimit => When::NearLimit,
        }
    }
}

/// The request to the daemon.
#[derive(Debug)]
pub enum ChangeRequest {
    /// Operations as one commit.
    Operations {
        operations: Vec<Operation>,
        /// The file that keeps a text from the user's editor until the edit is applied, and what the editor showed.
        draft: Option<(PathBuf, Base)>,
    },
    History {
        action: Action,
        target: Option<String>,
        name: Option<String>,
        cascade: bool,
    },
    Heal,
    /// Operations with their reasons, or some of them.
    Plan {
        plan: Plan,
        only: Vec<usize>,
    },
    /// Everything that the automatic editor may clear.
    Clear {
        reason: Option<String>,
    },
    /// An exported conversation.
    Conversation(PathBuf),
    /// Branches or tags to list; nothing changes.
    Look(Names),
}

/// The state of a conversation that the user's editor showed. The active conversation and the head may change while it
/// is open.
#[derive(Debug)]
pub struct Base {
    /// The full id.
    pub conversation: String,
    /// `none` before the first commit.
    pub head: String,
}

impl From<Operation> for ChangeRequest {
    fn from(operation: Operation) -> Self {
        Self::Operations { operations: vec![operation], draft: None }
    }
}

impl ChangeRequest {
    /// A history action with an optional commit.
    pub fn history(action: Action, target: Option<&String>) -> Self {
        Self::History { action, target: target.cloned(), name: None, cascade: false }
    }

    /// A history action on a branch or a tag.
    pub fn named(action: Action, name: &str, target: Option<&String>) -> Self {
        Self::History { action, target: target.cloned(), name: Some(name.to_owned()), cascade: false }
    }

    fn place(&self) -> &'static str {
        match self {
            Self::Operations { .. } => "operations",
            Self::History { .. } => "history",
            Self::Heal => "heal",
            Self::Plan { .. } => "plan",
            Self::Clear { .. } => "clear",
            Self::Conversation(_) => "import",
            Self::Look(names) => names.place(),
        }
    }

    /// The body of the request.
    fn body(&self, how: &How, author: &str) -> String {
        let (author, note, expect) = (author.to_owned(), how.note.clone(), how.expect.clone());
        let (dry_run, when) = (how.dry_run, how.when());
        let body = match self {
            Self::Operations { operations, .. } => {
                let operations = operations.clone();
                serde_json::to_string(&edit::EditRequest { operations, author, note, expect, dry_run, when })
            }
            Self::History { action, target, name, cascade } => {
                let (action, target, name, cascade) = (*action, target.clone(), name.clone(), *cascade);
                serde_json::to_string(&HistoryRequest {
                    action,
                    target,
                    name,
                    cascade,
                    author,
                    note,
                    expect,
                    dry_run,
                    when,
                })
            }
            Self::Heal => serde_json::to_string(&edit::Heal { author, note, expect, dry_run, when }),
            Self::Plan { plan, only } => {
                let (note, expect) = (note.or(plan.note.clone()), expect.or(plan.expect.clone()));
                let plan = Plan { note, expect, when, ..plan.clone() };
                serde_json::to_string(&plan.request(only, !dry_run, &author))
            }
            Self::Clear { reason } => serde_json::to_string(&edit::Clear { author, reason: reason.clone().or(note) }),
            Self::Conversation(_) | Self::Look(_) => return String::new(),
        };
        body.unwrap_or_default()
    }

    /// Whether it can be deferred: it changes the request.
    fn can_wait(&self) -> bool {
        match self {
            Self::Operations { .. } | Self::Plan { .. } | Self::Heal => true,
            Self::History { action, .. } => {
                matches!(action, Action::Revert | Action::Undo | Action::Redo | Action::Rollback)
            }
            Self::Clear { .. } | Self::Conversation(_) | Self::Look(_) => false,
        }
    }

    /// Whether texts must be written for it.
    fn is_open(&self) -> bool {
        matches!(self, Self::Operations { operations, .. } if operations.iter().any(Operation::is_open))
    }

    fn draft(&self) -> Option<&(PathBuf, Base)> {
        if let Self::Operations { draft, .. } = self { draft.as_ref() } else { None }
    }

    /// Adds where the text from the editor is, so that a failure does not lose it.
    fn keeping_draft(&self, failure: Failure) -> Failure {
        let Some((draft, base)) = self.draft() else { return failure };
        let hint = failure.hint.clone().map(|hint| format!("{hint}\n")).unwrap_or_default();
        let retry = format!("--conv {} --file {}", base.conversation, draft.display());
        failure.hint(format!("{hint}your text is saved; retry with {retry}"))
    }
}

pub fn run(mut change: Change, context: &Context) -> Result<ExitCode, Failure> {
    let request = change.request(context)?;
    let how = change.how();
    if how.when() != When::Now && !request.can_wait() {
        return Err(Failure::usage("--when applies only to edits; this command cannot be deferred"));
    }
    if let ChangeRequest::Conversation(file) = &request {
        super::import::take_in(file, how, context)?;
        return Ok(ExitCode::SUCCESS);
    }
    if let Some((_, base)) = request.draft() {
        how.confine(base);
    }
    let client = context.client().map_err(|failure| request.keeping_draft(failure))?;
    let author = author(&context.environment);
    let path = of_conversation(&how.conversation.conversation, request.place());
    if let ChangeRequest::Look(names) = request {
        names.tell(&client.get(&path)?, how, &context.output)?;
        return Ok(ExitCode::SUCCESS);
    }
    let answer = match request.is_open() && !how.dry_run {
        true => {
            let path = of_conversation(&how.conversation.conversation, "helper");
            client.find_words(&path, &request.body(how, author))
        }
        false => client.ask(&path, Some(&request.body(how, author))),
    };
    let answer = answer.map_err(|failure| request.keeping_draft(failure))?;
    if let Some((draft, _)) = request.draft() {
        let _ = std::fs::remove_file(draft);
    }
    match &request {
        ChangeRequest::Plan { .. } if !how.format.json => {
            super::plan::tell(&understood(&answer)?, how.when(), context)?
        }
        _ => applied::tell(&answer, how, &context.output)?,
    }
    Ok(ExitCode::SUCCESS)
}
