//! Commits in the words that history, timeline and live view share.

use ctx_api::history::CommitView;
use ctx_core::edit::Operation;

use crate::output::words;

/// Reasons that are told of one commit.
const MOST: usize = 12;

/// What it did, after what is odd about it.
pub fn in_words(commit: &CommitView) -> String {
    let is_asleep = commit.active && commit.asleep;
    let chips = [(!commit.active, "off"), (is_asleep, "asleep"), (commit.source_changed, "source changed")];
    let chips: String = chips.iter().filter(|(holds, _)| *holds).map(|(_, chip)| format!("[{chip}] ")).collect();
    format!("{chips}{}", words::grouped(&commit.summary))
}

/// The names that point at it.
pub fn names(commit: &CommitView) -> String {
    let tags = commit.tags.iter().map(|tag| format!("tag {tag}"));
    let names: Vec<String> = commit.branches.iter().cloned().chain(tags).collect();
    if names.is_empty() { String::new() } else { format!("({}) ", names.join(", ")) }
}

/// Why a commit was made: its note, and the reasons of its operations.
pub fn whys(note: Option<&str>, operations: &[Operation], reasons: &[Option<String>]) -> Vec<String> {
    let told = operations.iter().zip(reasons);
    let mut told: Vec<(&Operation, &str)> =
        told.filter_map(|(operation, reason)| Some((operation, reason.as_deref()?))).collect();
    // What the note says for all of them need not be said of each.
    told.retain(|(_, reason)| note != Some(*reason));
    // Nor what one reason says of many.
    let mut alike: Vec<(&Operation, &str, usize)> = Vec::new();
    for (operation, reason) in told {
        let same = |other: &&mut (&Operation, &str, usize)| other.0.name() == operation.name() && other.1 == reason;
        match alike.iter_mut().find(same) {
            Some((_, _, count)) => *count += 1,
            None => alike.push((operation, reason, 1)),
        }
    }
    let all: Vec<&str> = alike.iter().map(|(_, reason, _)| *reason).collect();
    let note = note.filter(|note| *note != all.join("; ")).map(str::to_owned);
    let more = alike.len().saturating_sub(MOST);
    alike.truncate(MOST);
    let reasons = alike.into_iter().map(|(operation, reason, count)| match count {
        1 if names_calls(operation) => format!("{}: {reason}", operation.name()),
        1 => format!("{}: {reason}", crate::commands::plan::shown::operation(operation)),
        count => format!("{count} × {}: {reason}", operation.name()),
    });
    let more = (more > 0).then(|| format!("and {more} more: --json has them all"));
    note.into_iter().chain(reasons).chain(more).collect()
}

/// Whether an operation names tool results by their calls, which a reader does not know.
fn names_calls(operation: &Operation) -> bool {
    match operation {
        Operation::DropResults { select, .. } | Operation::SummarizeResults { select, .. } => !select.calls.is_empty(),
        _ => false,
    }
}

/// The tokens before and after it.
pub fn tokens(commit: &CommitView) -> String {
    // Older forks did not note what they inherited is worth.
    if commit.kind == "inherit" && commit.tokens_before == 0 {
        return String::new();
    }
    format!("{} → {}", words::count(commit.tokens_before), words::count(commit.tokens_after))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ctx_core::edit::operation::Select;

    #[test]
    fn what_one_reason_says_of_many_is_told_once() {
        let delete =
            |id: &str| Operation::Delete { ids: vec![id.to_owned()], select: Default::default(), force: false };
        let operations = [delete("t1"), delete("t2"), Operation::Pin { ids: vec!["t3".to_owned()] }];
        let reasons = ["old", "old", "dear"].map(|reason| Some(reason.to_owned()));
        assert_eq!(
            whys(Some("old; dear"), &operations, &reasons),
            ["2 × delete: old", "pin t3: dear"],
            "what the note says is told already"
        );
        assert_eq!(whys(Some("before the review"), &operations, &reasons).len(), 3);
        let select = Select { calls: vec!["toolu_1".to_owned()], ..Select::default() };
        let by_call =
            Operation::SummarizeResults { ids: Vec::new(), select, result: None, text: Some("[gone]".to_owned()) };
        assert_eq!(whys(None, &[by_call], &[Some("old".to_owned())]), ["summarize-results: old"]);
    }
}
