//! Prints the outcome of an edit.

use ctx_api::edit::{EditResult, RepairView, When};
use ctx_api::helper::{HelperText, Kind};
use ctx_engine::helper::SELF;
use ctx_service::now;
use ctx_wire::rules;

use super::{How, price};
use crate::client::understood;
use crate::commands::waiting::moment;
use crate::failure::Failure;
use crate::output::{Output, text, words};

/// Texts that were written for it.
fn written(written: &HelperText) -> String {
    let by = if written.by == SELF { "ctx itself" } else { &written.by };
    let of = &written.of;
    text::line(&match written.kind {
        Kind::Title => format!("{of} is titled \"{}\" (by {by})", written.text),
        Kind::Summary | Kind::Result => {
            let length = words::plural(written.text.chars().count() as u64, "character");
            format!("the summary of {of} is by {by}: {length}")
        }
    })
}

/// A repair that a provider rule required.
pub fn repaired(repair: &RepairView) -> String {
    text::line(&format!("repaired by rule {}: {}", rules::named(&repair.rule), repair.what))
}

/// Thinking that can no longer be sent after the change.
pub fn thinking(blocks: usize, tokens: u64) -> Option<String> {
    let are = if blocks == 1 { "is" } else { "are" };
    let blocks_in_words = words::plural(blocks as u64, "thinking block");
    let tokens = words::plural(tokens, "token");
    (blocks > 0).then(|| {
        format!(
            "{blocks_in_words} {are} no longer sent ({tokens}): thinking is bound to the content before \
            it"
        )
    })
}

pub fn tell(answer: &[u8], how: &How, output: &Output) -> Result<(), Failure> {
    if how.format.json {
        output.json(answer)?;
    } else {
        output.print(&render(&understood(answer)?, how.dry_run, how.when(), output))?;
    }
    Ok(())
}

/// The outcome, for people.
pub fn render(applied: &EditResult, dry_run: bool, when: When, output: &Output) -> String {
    let paint = &output.paint;
    let head = match (applied.commit.as_ref().or(applied.waiting.as_ref()), dry_run) {
        (_, true) => paint.warning("preview"),
        (Some(id), false) => paint.id(&text::line(id)),
        // A branch without a commit is `none`, as in `--expect`.
        (None, false) => paint.faint("none"),
    };
    let tokens = match applied.tokens_before == applied.tokens_after {
        true => words::plural(applied.tokens_after, "token"),
        false => format!("{} → {} tokens", words::count(applied.tokens_before), words::count(applied.tokens_after)),
    };
    let mut lines = format!("{head}  {}  {}\n", text::line(&words::grouped(&applied.summary)), paint.faint(&tokens));
    let preview = &applied.preview;
    for warning in &applied.warnings {
        lines.push_str(&format!("  {}\n", paint.warning(&text::line(&format!("warning: {warning}")))));
    }
    let mut remarks: Vec<String> = applied.problem.iter().map(|problem| text::line(&words::grouped(problem))).collect();
    remarks.extend(applied.remarks.iter().map(|remark| text::line(remark)));
    remarks.extend(thinking(preview.thinking_dropped, preview.thinking_tokens));
    remarks.extend(preview.repairs.iter().map(repaired));
    if let Some(deferred) = &applied.waiting {
        let cold_at = preview.cache.as_ref().map_or(0, |cache| cache.expires_at);
        remarks.push(moment(when, cold_at, now()));
        remarks.push(text::line(&format!("`ctx waiting` lists it, `ctx waiting cancel {deferred}` cancels it")));
    } else if dry_run && preview.cost.is_some() {
        remarks.extend(price::told(preview, now()).iter().map(|line| text::line(line)));
    } else if preview.tokens_reread > 0 {
        let from = preview.first_change.as_ref().map(|id| format!("; the first change is in {id}")).unwrap_or_default();
        let tokens = words::plural(preview.tokens_reread, "token");
        remarks.push(text::line(&format!("the provider re-reads {tokens} once{from}")));
    }
    remarks.extend(applied.written.iter().map(written));
    remarks.extend(applied.files.iter().map(|file| text::line(&format!("written to {}", file.display()))));
    for remark in remarks {
        lines.push_str(&format!("  {}\n", paint.faint(&remark)));
    }
    lines
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn applied(json: &str) -> EditResult {
        let mut whole = json!({"conversation": "c1", "commit": null, "branch": "main", "frames": [],
            "preview": {"first_change": null, "tokens_reread": 0, "thinking_dropped": 0, "repairs": []}});
        let given: serde_json::Map<_, _> = serde_json::from_str(json).expect("JSON");
        given.into_iter().for_each(|(name, value)| whole[name] = value);
        serde_json::from_value(whole).expect("applied")
    }

    #[test]
    fn a_commit_tells_what_it_did_and_what_it_costs() {
        let applied = applied(
            r#"{"conversation":"c1","commit":"0123456789","branch":"main","frames":["t3"],"tokens_before":18234,
            "tokens_after":17822,"summary":"offloaded t3 (4120 tokens)","preview":{"first_change":"t3",
            "tokens_reread":5120,"thinking_dropped":1,"thinking_tokens":812,"repairs":[{"rule":"A30","what":"the call of \u001b[2J went too"}]},
            "problem":null,"files":["/home/me/offload/t3.md"]}"#,
        );
        insta::assert_snapshot!(render(&applied, false, When::Now, &Output::plain()), @r"
        0123456789  offloaded t3 (4,120 tokens)  18,234 → 17,822 tokens
          1 thinking block is no longer sent (812 tokens): thinking is bound to the content before it
          repaired by rule A30 (every tool call has its result): the call of \x1b[2J went too
          the provider re-reads 5,120 tokens once; the first change is in t3
          written to /home/me/offload/t3.md
        ");
    }

    #[test]
    fn what_would_be_lost_is_warned_of_first() {
        let json = r#"{"commit":null,"tokens_before":9000,"tokens_after":7000,"summary":"delete t1, 2,000 tokens less",
            "warnings":["this removes the client's own notes"],"remarks":["a remark"]}"#;
        insta::assert_snapshot!(render(&applied(json), true, When::Now, &Output::plain()), @r"
        preview  delete t1, 2,000 tokens less  9,000 → 7,000 tokens
          warning: this removes the client's own notes
          a remark
        ");
    }

    #[test]
    fn a_preview_has_no_commit_and_a_branch_none_yet() {
        let json = r#"{"commit":null,"branch":"trial","tokens_before":7,"tokens_after":7,"summary":"now on trial"}"#;
        insta::assert_snapshot!(render(&applied(json), true, When::Now, &Output::plain()), @"preview  now on trial  7 tokens");
        insta::assert_snapshot!(render(&applied(json), false, When::Now, &Output::plain()), @"none  now on trial  7 tokens");
    }

    #[test]
    fn healing_says_what_was_wrong() {
        let json = r#"{"commit":"0123456789","tokens_before":9,"tokens_after":7,"summary":"deleted t3#2.1",
            "problem":"the provider could not process the image t3#2.1"}"#;
        insta::assert_snapshot!(render(&applied(json), false, When::Now, &Output::plain()), @r"
        0123456789  deleted t3#2.1  9 → 7 tokens
          the provider could not process the image t3#2.1
        ");
    }
}
