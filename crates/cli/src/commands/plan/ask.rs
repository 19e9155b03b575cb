//! Asks about each operation of a plan, like `git add -p`.

use std::io::{BufRead, Write};

use ctx_api::call::Conversation;
use ctx_api::plan::{PlanView, PlannedOperation};
use ctx_api::show::ContentView;
use ctx_core::ErrorCode;
use ctx_core::edit::Operation;

use super::file::Plan;
use super::shown;
use crate::arguments::author;
use crate::client::{Client, encoded, of_conversation, understood};
use crate::commands::edit::editor;
use crate::commands::show::readable;
use crate::context::Context;
use crate::env;
use crate::failure::Failure;
use crate::output::{Output, text};

/// Lines to show of a block.
const LINES: usize = 8;

const HELP: &str = "y  apply this operation
n  skip it
e  edit its text (or its JSON) in $EDITOR first
s  show its content
a  apply it and all that follow
d  done: skip it and all that follow
q  quit without changes
?  this help
";

/// The questions' access to the daemon and the editor.
pub trait House {
    /// The effect of these operations of the plan together.
    fn look(&self, plan: &Plan, only: &[usize]) -> Result<PlanView, Failure>;
    /// The content of an operation's target, for people.
    fn show(&self, ids: &[String], output: &Output) -> Result<String, Failure>;
    /// Opens the editor and returns the edited text.
    fn edit(&self, text: &str, ending: &str) -> Result<String, Failure>;
}

/// The numbers of the accepted operations; none if the user quits. The plan may have been edited.
pub fn choose(
    plan: &mut Plan,
    only: &[usize],
    house: &dyn House,
    input: &mut dyn BufRead,
    out: &mut dyn Write,
    output: &Output,
) -> Result<Option<Vec<usize>>, Failure> {
    let all = plan.operations.len();
    let numbers: Vec<usize> = (1..=all).filter(|number| only.is_empty() || only.contains(number)).collect();
    let (mut taken, mut take_all) = (Vec::new(), false);
    for &number in &numbers {
        loop {
            let trial: Vec<usize> = taken.iter().copied().chain([number]).collect();
            let view = match house.look(plan, &trial) {
                Ok(view) => view,
                // If nothing of the plan is possible, compare all of it with the newer commits.
                Err(failure) if failure.code == ErrorCode::Stale => {
                    return Err(house.look(plan, &numbers).err().unwrap_or(failure));
                }
                Err(failure)
                    if failure.code == ErrorCode::NoDaemon || failure.code == ErrorCode::UnknownConversation =>
                {
                    return Err(failure);
                }
                Err(failure) => {
                    let told = text::line(&failure.message);
                    let why = if failure.code == ErrorCode::NothingToDo { "skipped" } else { "skipped, not possible" };
                    writeln!(out, "({number}/{all}) {why}: {told}")?;
                    break;
                }
            };
            // A commit made while we ask invalidates the plan.
            plan.expect.get_or_insert_with(|| view.head.clone().unwrap_or_else(|| "none".to_owned()));
            let Some(planned) = view.operations.iter().find(|planned| planned.number == number) else { break };
            if planned.nothing.is_some() {
                write!(out, "{}", shown::one(planned, output))?;
                break;
            }
            if take_all {
                taken.push(number);
                break;
            }
            write!(out, "{}", shown::one(planned, output))?;
            let question = format!("({number}/{all}) Apply this operation [y,n,e,s,a,d,q,?]?");
            write!(out, "{} ", output.paint.strong(&question))?;
            out.flush()?;
            let mut answer = String::new();
            if input.read_line(&mut answer)? == 0 {
                writeln!(out)?;
                return Ok(None);
            }
            match answer.trim() {
                "y" | "Y" | "yes" => taken.push(number),
                "n" | "N" | "no" => {}
                "a" => {
                    take_all = true;
                    taken.push(number);
                }
                "d" => return Ok(Some(taken)),
                "q" => return Ok(None),
                other => {
                    let done = match other {
                        "e" => edit(plan, number, house),
                        "s" => {
                            let ids = match plan.operations.get(number - 1).map(|planned| planned.operation.ids()) {
                                Some(ids) if !ids.is_empty() => ids.to_vec(),
                                _ => planned.frames.clone(),
                            };
                            house.show(&ids, output).and_then(|shown| Ok(write!(out, "{shown}")?))
                        }
                        _ => Ok(write!(out, "{HELP}")?),
                    };
                    if let Err(failure) = done {
                        writeln!(out, "{}", text::line(&failure.message))?;
                    }
                    continue;
                }
            }
            break;
        }
    }
    Ok(Some(taken))
}

fn edit(plan: &mut Plan, number: usize, house: &dyn House) -> Result<(), Failure> {
    let Some(planned) = plan.operations.get_mut(number - 1) else { return Ok(()) };
    if let Some(text) = words(&mut planned.operation) {
        *text = house.edit(text, "md")?;
        return Ok(());
    }
    let json = serde_json::to_string_pretty(&planned.operation).unwrap_or_default();
    let edited = house.edit(&json, "json")?;
    let refuse = |error: serde_json::Error| Failure::new(ErrorCode::InvalidJson, format!("rejected: {error}"));
    let PlannedOperation { operation, reason } = serde_json::from_str(&edited).map_err(refuse)?;
    *planned = PlannedOperation { operation, reason: reason.or(planned.reason.take()) };
    Ok(())
}

/// The text of an operation.
fn words(operation: &mut Operation) -> Option<&mut String> {
    match operation {
        Operation::Edit { text, .. }
        | Operation::Compact { text, .. }
        | Operation::SummarizeResults { text, .. }
        | Operation::Offload { summary: text, .. } => text.as_mut(),
        Operation::Add { text, .. } => Some(text),
        _ => None,
    }
}

/// The daemon, and the user's editor.
pub struct Daemon<'a> {
    client: Client,
    /// The full id: the active conversation may change while we ask.
    conversation: String,
    context: &'a Context,
}

impl<'a> Daemon<'a> {
    pub fn new(conversation: &str, context: &'a Context) -> Result<Self, Failure> {
        let client = context.client()?;
        let conversation = client.resolve(conversation)?;
        Ok(Self { client, conversation, context })
    }

    pub fn apply(&self, plan: &Plan, only: &[usize]) -> Result<PlanView, Failure> {
        self.post(plan, only, true)
    }

    fn post(&self, plan: &Plan, only: &[usize], apply: bool) -> Result<PlanView, Failure> {
        let request = plan.request(only, apply, author(&self.context.environment));
        self.client.call(&Conversation(&self.conversation).plan(&request))
    }
}

impl House for Daemon<'_> {
    fn look(&self, plan: &Plan, only: &[usize]) -> Result<PlanView, Failure> {
        self.post(plan, only, false)
    }

    fn show(&self, ids: &[String], output: &Output) -> Result<String, Failure> {
        let mut all = String::new();
        for id in ids.iter().flat_map(|ids| ids.split(',')).map(str::trim).filter(|id| !id.is_empty()) {
            let path = of_conversation(&self.conversation, &format!("frames/{}", encoded(id, "/")));
            let shown: ContentView = understood(&self.client.get(&path)?)?;
            all.push_str(&readable::render(&shown, LINES, output));
            all.push('\n');
        }
        Ok(all)
    }

    fn edit(&self, text: &str, ending: &str) -> Result<String, Failure> {
        let editor = self
            .context
            .environment
            .text(env::EDITOR)
            .ok_or_else(|| Failure::new(ErrorCode::NoEditor, "no editor is set (VISUAL, EDITOR)"))?;
        let draft = self.context.home()?.path().join(format!("plan-{}.{ending}", std::process::id()));
        let edited = editor::written(text, &editor, &draft);
        let _ = std::fs::remove_file(&draft);
        edited
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use serde_json::json;

    use super::*;

    /// A daemon that accepts everything but `split`, and an editor that writes `edited`.
    #[derive(Default)]
    struct Fake {
        looked: RefCell<Vec<Vec<usize>>>,
    }

    impl House for Fake {
        fn look(&self, plan: &Plan, only: &[usize]) -> Result<PlanView, Failure> {
            self.looked.borrow_mut().push(only.to_vec());
            let operations: Vec<_> = only
                .iter()
                .map(|number| {
                    let operation = &plan.operations[number - 1].operation;
                    json!({"number": number, "operation": operation, "frames": ["t1"], "tokens_before": 9, "tokens_after": 7,
                        "thinking_lost": 0, "repairs": [], "risk": "low", "risks": []})
                })
                .collect();
            if operations.iter().any(|planned| planned["operation"]["op"] == "split") {
                return Err(Failure::new(ErrorCode::UnknownId, "Nothing is called `t9`."));
            }
            Ok(serde_json::from_value(json!({"conversation": "c1", "commit": null, "branch": "main", "frames": [],
                "tokens_before": 9, "tokens_after": 7, "summary": "", "head": "00000000a1", "risk": "low", "thinking_lost": 0,
                "preview": {"first_change": null, "tokens_reread": 0, "thinking_dropped": 0, "repairs": []},
                "marks": 0, "cost": {"without": 1, "first": 1, "later": 1, "pays_off_after": null}, "operations": operations}))
            .expect("a plan"))
        }

        fn show(&self, ids: &[String], _: &Output) -> Result<String, Failure> {
            Ok(format!("shown: {}\n", ids.join(" ")))
        }

        fn edit(&self, text: &str, _: &str) -> Result<String, Failure> {
            match text.contains("broken") {
                true => Err(Failure::new(ErrorCode::Editor, "the editor failed")),
                false if text.starts_with('{') => Ok(text.replace("t3", "t4")),
                false => Ok("edited".to_owned()),
            }
        }
    }

    fn asked(answers: &str, only: &[usize]) -> (Option<Vec<usize>>, Plan, String) {
        let mut plan = super::super::file::read(
            r#"[{"op":"delete","ids":["t1"]}, {"op":"compact","ids":["t2"],"text":"short"}, {"op":"split","id":"t9","each_step":true},
                {"op":"drop-results","ids":["t3"],"reason":"old"}]"#,
        )
        .expect("a plan");
        let mut out = Vec::new();
        let chosen = choose(&mut plan, only, &Fake::default(), &mut answers.as_bytes(), &mut out, &Output::plain());
        (chosen.expect("asked"), plan, String::from_utf8(out).expect("text"))
    }

    #[test]
    fn each_operation_is_asked_for_on_top_of_those_that_were_taken() {
        let (chosen, plan, told) = asked("y\nn\ny\n", &[]);
        assert_eq!(chosen, Some(vec![1, 4]));
        assert_eq!(plan.expect.as_deref(), Some("00000000a1"), "the head that was seen");
        assert!(told.contains("(1/4) Apply this operation") && told.contains("(3/4) skipped, not possible"), "{told}");
        assert_eq!(asked("y\n", &[2]).0, Some(vec![2]));
    }

    #[test]
    fn a_stale_plan_is_compared_as_a_whole() {
        struct Moved;
        impl House for Moved {
            fn look(&self, _: &Plan, only: &[usize]) -> Result<PlanView, Failure> {
                Err(Failure::new(ErrorCode::Stale, format!("compared with {only:?}")))
            }
            fn show(&self, _: &[String], _: &Output) -> Result<String, Failure> {
                Ok(String::new())
            }
            fn edit(&self, text: &str, _: &str) -> Result<String, Failure> {
                Ok(text.to_owned())
            }
        }
        let told = |only: &[usize]| {
            let text = r#"[{"op":"delete","ids":["t1"]}, {"op":"delete","ids":["t2"]}, {"op":"delete","ids":["t3"]}]"#;
            let mut plan = super::super::file::read(text).expect("a plan");
            let (mut input, mut out) = (&b"y\n"[..], Vec::new());
            choose(&mut plan, only, &Moved, &mut input, &mut out, &Output::plain()).expect_err("stale").message
        };
        assert_eq!(told(&[]), "compared with [1, 2, 3]");
        assert_eq!(told(&[2, 3]), "compared with [2, 3]");
    }

    #[test]
    fn all_done_and_quit_end_it() {
        assert_eq!(asked("n\na\n", &[]).0, Some(vec![2, 4]));
        assert_eq!(asked("y\nd\n", &[]).0, Some(vec![1]));
        assert_eq!(asked("y\nq\n", &[]).0, None);
        assert_eq!(asked("y\n", &[]).0, None, "whoever leaves has taken nothing");
    }

    #[test]
    fn texts_are_edited_shown_and_explained() {
        let (chosen, plan, told) = asked("?\ns\nn\ne\ny\ne\ny\n", &[]);
        assert_eq!(chosen, Some(vec![2, 4]));
        assert!(told.contains("apply this operation") && told.contains("shown: t1"), "{told}");
        assert!(told.contains("compact t2 “edited”"), "{told}");
        assert_eq!(plan.operations[3].operation.ids(), ["t4"], "the JSON was edited");
        assert_eq!(plan.operations[3].reason.as_deref(), Some("old"), "the reason stays");
    }
}
