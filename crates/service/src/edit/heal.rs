//! `heal`: removes the block that the provider refuses.

use crate::parts::Parts;
use crate::threads::lock;
use ctx_api::edit::{EditRequest, EditResult};
use ctx_core::edit::Operation;
use ctx_core::edit::operation::Select;
use ctx_core::hint::Command;
use ctx_core::message::Kind;
use ctx_core::{ErrorCode, hint};
use ctx_engine::Refusal;
use ctx_engine::compose::repaired::sentence;
use ctx_engine::edit::heal::{Illness, RefusedContent, answer_of, id_of, ours};

impl Parts {
    pub(crate) fn heal(&self, name: &str, edit: EditRequest) -> Result<EditResult, Refusal> {
        let illness = self.illness(name)?;
        // Readers of the history want to know the reason.
        let note = match edit.note {
            Some(note) => format!("{note} ({})", illness.problem),
            None => illness.problem.clone(),
        };
        let mut applied =
            self.apply(name, EditRequest { operations: vec![illness.operation], note: Some(note), ..edit })?;
        applied.problem = Some(illness.problem);
        // The agent is stuck, so the cost is irrelevant.
        applied.preview.cost = None;
        Ok(applied)
    }

    pub(crate) fn illness(&self, name: &str) -> Result<Illness, Refusal> {
        let healthy = |why: &str| {
            Refusal::new(
                ErrorCode::Healthy,
                format!("Nothing to heal: {why}."),
                hint![Command::Timeline, " shows the provider's error."],
            )
        };
        let shared = self.stored(name)?;
        let conversation = lock(&shared);
        let records = self.store.records(conversation.id(), 0)?.records;
        let newest = records.iter().rev().find_map(answer_of).ok_or_else(|| healthy("there is no response yet"))?;
        let error = newest
            .error
            .as_ref()
            .filter(|_| matches!(newest.status, 200 | 400 | 404 | 422))
            .ok_or_else(|| healthy("the newest request was not refused"))?;
        let (message, block, misplaced) = match self.engine.refused(&conversation, &newest) {
            Some(RefusedContent::Client { message, block, misplaced }) => (message, block, misplaced),
            Some(RefusedContent::Written) => return Err(ours(&conversation, &error.message)),
            // A stream also fails for reasons that are not in the request.
            None if conversation.is_edited() && matches!(newest.status, 400 | 422) => {
                return Err(ours(&conversation, &error.message));
            }
            None => {
                let unnamed = healthy("the provider's refusal names no message");
                let own = self.engine.own_repairs(&conversation);
                return Err(match own.first().filter(|_| matches!(newest.status, 400 | 422)) {
                    Some(repair) => Refusal {
                        hint: hint![
                            "Any edit, such as ",
                            Command::DropResults.with("ID"),
                            format!(", sends the request repaired ({}).", sentence(repair))
                        ],
                        ..unnamed
                    },
                    None => unnamed,
                });
            }
        };
        let (id, kind) =
            id_of(&conversation, message, block).ok_or_else(|| healthy("the message that it names is gone"))?;
        let problem = format!("the provider refuses `{id}`: {}", error.message);
        let operation = match kind {
            // A result has to stay beside its call, if the error is in its content.
            Some(Kind::ToolResult) if !misplaced => {
                Operation::DropResults { ids: vec![id], select: Select::default(), result: None }
            }
            _ => Operation::Delete { ids: vec![id], select: Select::default(), force: false },
        };
        Ok(Illness { problem, operation })
    }
}
