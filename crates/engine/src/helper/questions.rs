//! The texts that an edit request lacks: the material for the helper, and the completed request.

use super::material::{Material, Piece};
use super::prompt::{Prompt, prompt};
use super::{Nonsense, SELF, clean, local};
use crate::compose::{Ground, Weights};
use crate::conversation::Conversation;
use crate::edit::Imports;
use crate::view::{show, titles};
use crate::{Engine, Refusal};
use ctx_api::edit::{EditRequest, When};
use ctx_api::helper::{HelperText, Kind};
use ctx_core::edit::effect::{Effect, FrameKey};
use ctx_core::edit::fold::Unit;
use ctx_core::edit::history::Change;
use ctx_core::edit::resolve::{Desk, Scope, Target};
use ctx_core::edit::{CommitId, Operation};
use ctx_core::hint::{Argument, Command};
use ctx_core::message::Kind as BlockKind;
use ctx_core::{ErrorCode, SlotId, hint};

/// The largest number of questions: more would take minutes, and most of a day's budget.
pub const MOST: usize = 50;

/// A text to be written.
#[derive(Debug, Clone)]
pub struct Question {
    pub kind: Kind,
    pub material: Material,
    /// The operation that needs it.
    pub operation: usize,
}

impl Question {
    pub fn new(kind: Kind, material: Material) -> Question {
        Question { kind, material, operation: 0 }
    }

    pub fn prompt(&self, most: usize, salt: u64) -> Prompt {
        prompt(self.kind, &self.material, most, salt)
    }

    /// Cleans a helper's answer, or says why it is unusable.
    pub fn clean(&self, said: &str) -> Result<String, Nonsense> {
        clean(self.kind, said, self.material.chars().max(200))
    }
}

/// A frame that should get a new title.
#[derive(Debug)]
pub struct StaleTitle {
    pub slot: SlotId,
    pub question: Question,
}

/// An edit request, and the texts that it lacks.
#[derive(Debug)]
pub struct OpenQuestions {
    /// The conversation's id.
    pub conversation: String,
    pub questions: Vec<Question>,
    pub edit: EditRequest,
    /// The original operation of each operation in the request: one may become several.
    pub from: Vec<usize>,
    /// The head at the time of the questions.
    pub head: String,
}

/// A complete edit request, with the reason for each operation.
pub struct FilledRequest {
    pub edit: EditRequest,
    pub reasons: Vec<Option<String>>,
    pub written: Vec<HelperText>,
}

impl OpenQuestions {
    /// Completes the request with these texts, in the order of the questions. `by`: their author. `held`: refused if a
    /// commit was made since. A deferred edit is checked later anyway.
    pub fn filled(self, words: Vec<String>, by: &str, held: bool) -> (EditRequest, Vec<HelperText>) {
        let OpenQuestions { mut edit, questions, head, .. } = self;
        let mut written = Vec::new();
        for (question, text) in questions.into_iter().zip(words) {
            if let Some(operation) = edit.operations.get_mut(question.operation) {
                *operation = operation.clone().filled(text.clone());
            }
            let (kind, of) = (question.kind, question.material.name);
            written.push(HelperText { kind, of, by: by.to_owned(), text });
        }
        if held && edit.expect.is_none() && edit.when == When::Now {
            edit.expect = Some(head);
        }
        // Readers of the history want to know the author of a text.
        if edit.note.is_none() && !written.is_empty() {
            edit.note = Some(if by == SELF { "an extract by ctx".to_owned() } else { format!("words by {by}") });
        }
        (edit, written)
    }
}

impl Engine {
    /// The effects of the previous operations.
    pub fn before(
        &self,
        conversation: &Conversation,
        id: CommitId,
        before: &[Operation],
        imports: &Imports,
    ) -> Result<Vec<Effect>, Refusal> {
        match before {
            [] => Ok(Vec::new()),
            before => match self.would_be(conversation, id, before, imports) {
                Err(refusal) if refusal.code == ErrorCode::NothingToDo => Ok(Vec::new()),
                effects => effects,
            },
        }
    }

    /// Resolves an incomplete operation on top of others, with texts by ctx itself.
    pub fn resolve_open(
        &self,
        conversation: &Conversation,
        before: (CommitId, &[Effect]),
        operation: &Operation,
    ) -> Result<Vec<Operation>, Refusal> {
        let open = self.lacking(conversation, before, operation)?.into_iter();
        let fill = |(operation, kind, material): (Operation, Kind, Material)| {
            Ok(operation.filled(Question::new(kind, material).local()?))
        };
        open.map(fill).collect()
    }

    /// The operations that an incomplete one becomes, with placeholder texts, and the material for the real ones.
    pub fn lacking(
        &self,
        conversation: &Conversation,
        (id, effects): (CommitId, &[Effect]),
        operation: &Operation,
    ) -> Result<Vec<(Operation, Kind, Material)>, Refusal> {
        let ground = Ground::of(conversation, true);
        let source = ground.source();
        let weights = Weights::of(conversation);
        let scale = |estimate: f64| conversation.tokens(estimate);
        let view = ground.lay(crate::edit::on_top(conversation, id, effects));
        let desk = conversation.desk(&view, &source, &weights, &scale, 0);
        // A placeholder text, to check whether the operation is possible at all.
        let filled = operation.clone().filled("…".to_owned());
        match operation {
            Operation::SummarizeResults { ids, select, result, .. } => {
                let wanted = desk.wanted_results(ids, select, result.as_deref())?;
                if wanted.is_empty() {
                    desk.effects(&filled)?;
                }
                let mut open = Vec::new();
                for (laid, _, found) in wanted {
                    let (Some(call), Unit::Source { message, .. }) = (found.id.as_deref(), laid.unit) else { continue };
                    let Some(target) = block(&desk, message, found.at as usize) else { continue };
                    let material = self.material(conversation, &desk, &[target])?;
                    if local::words(Kind::Result, &material).is_err() && result.is_none() {
                        continue;
                    }
                    let one = Operation::SummarizeResults {
                        ids: ids.clone(),
                        select: select.clone(),
                        result: Some(call.to_owned()),
                        text: Some("…".to_owned()),
                    };
                    open.push((one, Kind::Result, material));
                }
                if open.is_empty() {
                    return Err(too_short("these results"));
                }
                Ok(open)
            }
            Operation::Retitle { id, .. } => {
                desk.effects(&filled)?;
                let targets = desk.named(std::slice::from_ref(id))?;
                let frame = targets.first().and_then(|target| view.frames.get(target.frame?));
                if let Some(frame) = frame.filter(|frame| is_named_by_hand(conversation, frame.key)) {
                    return Err(Refusal::new(
                        ErrorCode::Titled,
                        format!("A person wrote the title of `{}`.", frame.id),
                        hint!["Change it with ", Argument::new("title"), ", or undo it with ", Command::Revert, "."],
                    ));
                }
                Ok(vec![(filled, Kind::Title, self.material(conversation, &desk, &targets)?)])
            }
            Operation::Compact { ids, select, .. } => {
                desk.effects(&filled)?;
                let targets = desk.without_staying(desk.targets(ids, select)?)?;
                Ok(vec![(filled, Kind::Summary, self.material(conversation, &desk, &targets)?)])
            }
            _ => Ok(Vec::new()),
        }
    }

    /// The sent, readable content of these targets. Thinking is private to the model.
    pub fn material(
        &self,
        conversation: &Conversation,
        desk: &Desk<'_>,
        targets: &[Target],
    ) -> Result<Material, Refusal> {
        let path = desk.source.messages;
        let texts = self.texts(
            conversation,
            desk.source.slots,
            targets.iter().flat_map(|target| show::messages_of(&target.units)),
        )?;
        let mut pieces = Vec::new();
        for target in targets {
            for message in show::message_views(conversation, desk.view, desk.source, target, &texts) {
                let blocks = message.blocks.into_iter();
                pieces.extend(blocks.filter(|block| block.is_sent() && block.kind != "thinking").map(|block| {
                    let is_call = |facts: &&ctx_core::message::Block| {
                        facts.kind == BlockKind::ToolUse && facts.tool_use_id.as_deref() == block.tool_use_id.as_deref()
                    };
                    let call = block
                        .tool_use_id
                        .as_ref()
                        .and_then(|_| path.iter().flat_map(|facts| &facts.blocks).find(is_call));
                    Piece {
                        role: message.role.clone(),
                        label: call.and_then(|call| call.label.as_deref()).map(str::to_owned),
                        kind: block.kind,
                        tool: block.tool,
                        is_error: block.is_error,
                        text: ctx_clients::lexicon().without_reminders(&block.text).into_owned(),
                    }
                }));
            }
        }
        let names: Vec<&str> = targets.iter().map(|target| target.name.as_str()).collect();
        let title = targets.first().map(|target| titles::target_title(desk, target)).unwrap_or_default();
        Ok(Material { name: names.join(", "), title, pieces })
    }
}

impl Question {
    /// The text by ctx itself.
    pub fn local(&self) -> Result<String, Refusal> {
        local::words(self.kind, &self.material).map_err(|nonsense| match nonsense {
            Nonsense::NotShorter => too_short(&format!("`{}`", self.material.name)),
            _ => Refusal::new(
                ErrorCode::NoWords,
                format!("`{}` contains no text for a {}.", self.material.name, self.kind.name()),
                if self.kind == Kind::Title {
                    hint!["Write one with ", Argument::new("title"), "."]
                } else {
                    hint!["Write one with ", Argument::new("text"), "."]
                },
            ),
        })
    }
}

fn block(desk: &Desk<'_>, message: usize, at: usize) -> Option<Target> {
    desk.view.frames.iter().enumerate().find_map(|(place, frame)| {
        let units = desk.view.units(frame, desk.source.messages);
        let wanted = Unit::Source { message, block: Some(at) };
        let laid = units.into_iter().find(|laid| laid.unit == wanted && laid.covered.is_none())?;
        let layout = ctx_core::edit::layout::layout(desk.view, frame, desk.source.messages);
        let number = layout.groups.iter().find(|group| group.source == Some(message))?.number;
        let name = format!("{}#{number}.{at}", frame.id);
        Some(Target {
            name,
            scope: Scope::Block,
            frame: Some(place),
            units: vec![laid],
            covers: Vec::new(),
            weight: 0.0,
        })
    })
}

/// Whether a person, or an agent, gave this frame its title.
pub fn is_named_by_hand(conversation: &Conversation, key: FrameKey) -> bool {
    let history = &conversation.history;
    history.active(history.head()).iter().any(|commit| match &commit.change {
        Change::Edit { operations, effects } => {
            let by_hand =
                |operation: &Operation| matches!(operation, Operation::Retitle { auto: false, title: Some(_), .. });
            let names =
                |effect: &Effect| matches!(effect, Effect::Title { frame, title: Some(_), .. } if *frame == key);
            operations.iter().any(by_hand) && effects.iter().any(names)
        }
        Change::Inherit { effects, .. } => effects
            .iter()
            .any(|(_, effect)| matches!(effect, Effect::Title { frame, title: Some(_), .. } if *frame == key)),
        Change::Revert { .. } => false,
    })
}

fn too_short(what: &str) -> Refusal {
    Refusal::new(
        ErrorCode::TooShort,
        format!("A summary would not be shorter than {what}."),
        hint![
            "Keep the content, write a shorter summary with ",
            Argument::new("text"),
            ", or remove the content with ",
            Command::DropResults,
            " or ",
            Command::Delete,
            "."
        ],
    )
}
