//! Collects the texts that edit requests lack, and completes the requests.

use crate::clock::now;
use crate::parts::Parts;
use crate::threads::lock;
use ctx_api::edit::EditRequest;
use ctx_core::edit::Operation;
use ctx_core::hint::{Argument, Command};
use ctx_core::{ErrorCode, hint};
use ctx_engine::Refusal;
use ctx_engine::helper::SELF;
use ctx_engine::helper::questions::{FilledRequest, MOST, OpenQuestions, Question};

impl Parts {
    /// Completes and applies an edit request with texts by ctx itself.
    pub(crate) fn fill_locally(
        &self,
        name: &str,
        edit: EditRequest,
        reasons: Vec<Option<String>>,
    ) -> Result<FilledRequest, Refusal> {
        if !edit.operations.iter().any(Operation::is_open) {
            return Ok(FilledRequest { edit, reasons, written: Vec::new() });
        }
        let open = self.questions(name, edit)?;
        let words: Result<Vec<String>, Refusal> = open.questions.iter().map(Question::local).collect();
        let spread = |at: &usize| reasons.get(*at).cloned().flatten();
        let reasons = if reasons.is_empty() { reasons } else { open.from.iter().map(spread).collect() };
        let (edit, written) = open.filled(words?, SELF, false);
        Ok(FilledRequest { edit, reasons, written })
    }

    pub(crate) fn questions(&self, name: &str, edit: EditRequest) -> Result<OpenQuestions, Refusal> {
        let imports = self.gather(&self.meant(name)?, &edit.operations);
        let shared = self.stored(name)?;
        let conversation = lock(&shared);
        ctx_engine::edit::expected(&conversation, edit.expect.as_deref())?;
        let id = self.engine.commit_id(&conversation, now());
        let mut operations: Vec<Operation> = Vec::new();
        let mut questions = Vec::new();
        let mut from = Vec::new();
        for (at, operation) in edit.operations.iter().enumerate() {
            if !operation.is_open() {
                operations.push(operation.clone());
                from.push(at);
                continue;
            }
            let before = self.engine.before(&conversation, id, &operations, &imports)?;
            for (filled, kind, material) in self.engine.lacking(&conversation, (id, &before), operation)? {
                questions.push(Question { kind, material, operation: operations.len() });
                operations.push(filled);
                from.push(at);
            }
        }
        if questions.len() > MOST {
            return Err(Refusal::new(
                ErrorCode::ManyQuestions,
                format!("{} summaries are too many at once; the limit is {MOST}.", questions.len()),
                hint![
                    "Select fewer, for example with ",
                    Argument::new("larger-than").with("2000"),
                    "; ",
                    Command::DropResults,
                    " needs no text."
                ],
            ));
        }
        let head = conversation.history.head().map_or_else(|| "none".to_owned(), |head| head.to_string());
        Ok(OpenQuestions {
            conversation: conversation.id().to_owned(),
            questions,
            from,
            edit: EditRequest { operations, ..edit },
            head,
        })
    }
}
