//! `ctx batch`: many operations, one commit, all or nothing.

use std::path::PathBuf;

use clap::Args;
use ctx_core::edit::Operation;

use super::change::{How, Wish, read};
use crate::context::Context;
use crate::failure::Failure;

/// Make several operations as one commit
#[derive(Args, Debug)]
#[command(after_help = "A line is an operation in JSON, as in the control API and in the log; blank lines and lines
that begin with # are skipped.

Examples:
  ctx batch tidy.jsonl
  echo '{\"op\":\"delete\",\"ids\":[\"t3\"]}' | ctx batch -")]
pub struct Arguments {
    /// The file; `-` is stdin
    #[arg(value_name = "FILE")]
    file: PathBuf,
    #[command(flatten)]
    pub how: How,
}

impl Arguments {
    pub fn wish(&self, _: &Context) -> Result<Wish, Failure> {
        Ok(Wish::Operations { operations: operations(&read(&self.file)?)?, draft: None })
    }
}

const EXAMPLE: &str = r#"a line looks like {"op":"delete","ids":["t3"]}; nothing was changed"#;

fn operations(lines: &str) -> Result<Vec<Operation>, Failure> {
    let is_operation = |line: &str| !line.trim().is_empty() && !line.trim_start().starts_with('#');
    let lines = (1..).zip(lines.lines()).filter(|(_, line)| is_operation(line));
    let operations: Vec<Operation> = lines.map(|(number, line)| operation(number, line)).collect::<Result<_, _>>()?;
    if operations.is_empty() {
        return Err(Failure::new("empty-batch", "the batch holds no operation").hint(EXAMPLE));
    }
    Ok(operations)
}

fn operation(number: usize, line: &str) -> Result<Operation, Failure> {
    serde_json::from_str(line).map_err(|error| {
        let said = error.to_string();
        let said = said.split(" at line ").next().unwrap_or_default();
        let column = column(line, said).unwrap_or(if error.is_data() { 1 } else { error.column() });
        Failure::new("invalid-json", format!("line {number}, column {column}: {said}")).hint(EXAMPLE)
    })
}

/// Where the thing stands that the reader stumbled over. It tells that itself only for what is no JSON at all.
fn column(line: &str, said: &str) -> Option<usize> {
    let (what, _) = said.split_once(", expected")?;
    let name = ['`', '"'].into_iter().find_map(|quote| what.split(quote).nth(1))?;
    let at = line.find(&format!("\"{name}\"")).or_else(|| line.find(name))?;
    Some(line.get(..at)?.chars().count() + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(lines: &str) -> String {
        operations(lines).expect_err("refused").message
    }

    #[test]
    fn blank_lines_and_comments_are_skipped() {
        let read = operations(
            "# tidy\n\n{\"op\":\"pin\",\"ids\":[\"t1\"]}\n  # more\r\n{\"op\":\"unpin\",\"ids\":[\"t2\"]}\r\n",
        );
        let names: Vec<&str> = read.expect("operations").iter().map(Operation::name).collect();
        assert_eq!(names, ["pin", "unpin"]);
    }

    #[test]
    fn a_bad_line_is_told_with_its_place_and_what_was_expected() {
        let told = refused("{\"op\":\"pin\",\"ids\":[\"t1\"]}\n{\"op\":\"delte\",\"ids\":[\"t1\"]}");
        assert!(told.starts_with("line 2, column 7: unknown variant `delte`, expected one of `delete`"), "{told}");
        assert_eq!(refused("{\"op\":\"pin\",\"ids\":[\"t1\"}"), "line 1, column 24: expected `,` or `]`");
        let told = refused("# é\n{\"op\":\"edit\",\"id\":\"é\",\"txt\":\"a\"}");
        assert!(told.starts_with("line 2, column 23: unknown field `txt`, expected one of `id`, `text`"), "{told}");
        let told = refused("{\"op\":\"pin\",\"ids\":\"t1\"}");
        assert_eq!(told, "line 1, column 19: invalid type: string \"t1\", expected a sequence");
        assert_eq!(refused("{\"op\":\"pin\"}"), "line 1, column 1: missing field `ids`");
        assert_eq!(refused("{\"ids\":[\"t1\"]}"), "line 1, column 1: missing field `op`");
    }

    #[test]
    fn a_batch_without_operations_is_refused() {
        assert_eq!(refused("# nothing\n\n"), "the batch holds no operation");
    }
}
