//! The phases of a conversation's work.

use crate::Refusal;
use crate::conversation::Conversation;
use ctx_api::phases::{PhaseAction, PhaseRequest, PhaseView, PhasesView};
use ctx_core::edit::refusal::{nearest, suggest};
use ctx_core::hint::Command;
use ctx_core::policy::Phase;
use ctx_core::{ErrorCode, hint};

/// The longest name in characters. Names are for people: short, and on one line.
const LONGEST: usize = 80;

pub fn named(conversation: &Conversation, request: &PhaseRequest) -> Result<String, Refusal> {
    let name = request.name.as_deref().map(str::trim).filter(|name| !name.is_empty());
    let open = || conversation.policy.phases.open().map(|phase| phase.name.as_str());
    let Some(name) = name else {
        let newest = open().next_back().filter(|_| request.action == PhaseAction::End);
        return newest.map(str::to_owned).ok_or_else(|| match request.action {
            PhaseAction::Begin => Refusal::new(
                ErrorCode::NoName,
                "A phase needs a name.",
                hint![Command::Phase.with("begin testing"), "."],
            ),
            PhaseAction::End => Refusal::new(
                ErrorCode::NoPhase,
                "No phase is open.",
                hint![Command::Phase.with("begin NAME"), " begins one."],
            ),
        });
    };
    if name.chars().count() > LONGEST || name.chars().any(char::is_control) {
        let message = format!("A phase name is one line of at most {LONGEST} characters.");
        return Err(Refusal::new(ErrorCode::BadName, message, hint![Command::Phase.with("begin testing"), "."]));
    }
    let is_open = open().any(|phase| phase == name);
    match (request.action, is_open) {
        (PhaseAction::Begin, true) => Err(Refusal::new(
            ErrorCode::OpenAlready,
            format!("The phase `{name}` is already open."),
            hint![Command::Phase.with(format!("end {name}")), " ends it."],
        )),
        (PhaseAction::End, false) => {
            let near = nearest(name, open());
            let message = format!("No phase `{name}` is open.");
            Err(Refusal::new(ErrorCode::NoPhase, message, suggest(&near, hint![Command::Phase, " lists the phases."])))
        }
        _ => Ok(name.to_owned()),
    }
}

pub fn view(conversation: &Conversation) -> PhasesView {
    let path: Vec<_> = conversation.messages.tree.path().map(|slot| slot.id).collect();
    let one = |phase: &Phase| PhaseView {
        name: phase.name.clone(),
        began: phase.began.at,
        ended: phase.ended.map(|moment| moment.at),
        messages: phase.messages(&path).map_or(0, |messages| messages.len()),
    };
    PhasesView {
        conversation: conversation.id().to_owned(),
        phases: conversation.policy.phases.all().iter().map(one).collect(),
    }
}
