//! Cuts: a long result loses lines before it is first sent, when nothing of it is cached. The lines that carry most
//! information stay: failures and the end of an output, some hits in every file, some entries of every folder, the
//! beginning of every section.

use super::outline::{is_definition, is_failure};
use super::searches::program;
use crate::tool::ToolRole;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeSet, HashMap};

/// A kind of result that may be cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CutKind {
    /// The output of a build or of tests.
    Build,
    Search,
    /// A list of files.
    Listing,
    Log,
    /// A fetched page.
    Page,
    /// A view of a file that is still in the request, unchanged.
    View,
}

/// The tokens from which results of each kind are cut; 0: never.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Cuts {
    pub build: u64,
    pub search: u64,
    pub listing: u64,
    pub log: u64,
    pub page: u64,
    pub repeated_view: u64,
}

impl Cuts {
    /// Those that did no harm in recordings: see docs/lab.md.
    pub const SHIPPED: Cuts = Cuts { build: 0, search: 0, listing: 0, log: 0, page: 0, repeated_view: 300 };

    /// The tokens from which a result is cut, if it may be.
    pub fn of(&self, kind: CutKind) -> Option<u64> {
        let most = match kind {
            CutKind::Build => self.build,
            CutKind::Search => self.search,
            CutKind::Listing => self.listing,
            CutKind::Log => self.log,
            CutKind::Page => self.page,
            CutKind::View => self.repeated_view,
        };
        (most > 0).then_some(most)
    }
}

const BUILDS: [&str; 37] = [
    "ant",
    "bazel",
    "bun",
    "cargo",
    "cmake",
    "ctest",
    "dotnet",
    "eslint",
    "go",
    "golangci-lint",
    "gradle",
    "gradlew",
    "jest",
    "just",
    "make",
    "meson",
    "mise",
    "mocha",
    "mvn",
    "mvnw",
    "mypy",
    "ninja",
    "npm",
    "npx",
    "phpunit",
    "pnpm",
    "pytest",
    "rspec",
    "ruff",
    "sbt",
    "swift",
    "tox",
    "tsc",
    "vitest",
    "xcodebuild",
    "yarn",
    "zig",
];

impl CutKind {
    /// The kind of a call's result. Views are told by their text.
    pub fn of(role: ToolRole, command: Option<&str>) -> Option<CutKind> {
        match role {
            ToolRole::Read => Some(CutKind::View),
            ToolRole::Search => Some(CutKind::Search),
            ToolRole::Find => Some(CutKind::Listing),
            ToolRole::Fetch => Some(CutKind::Page),
            ToolRole::Shell => CutKind::of_command(command?),
            _ => None,
        }
    }

    fn of_command(command: &str) -> Option<CutKind> {
        let (program, verb) = program(command)?;
        match (program, verb) {
            ("grep" | "egrep" | "fgrep" | "rg" | "ag" | "ack", _) | ("git", "grep") => Some(CutKind::Search),
            ("find" | "fd" | "ls" | "tree", _) | ("git", "ls-files") => Some(CutKind::Listing),
            ("journalctl", _) | ("docker" | "kubectl", "logs") | ("git", "log") | ("gh", "run") => Some(CutKind::Log),
            ("curl" | "wget", _) => Some(CutKind::Page),
            _ if BUILDS.contains(&program) => Some(CutKind::Build),
            _ => None,
        }
    }

    /// Why it is cut, for the history.
    pub fn reason(self) -> &'static str {
        match self {
            CutKind::Build => "cut before it is first sent: failures and both ends of a long output stay",
            CutKind::Search => "cut before it is first sent: some hits in every file stay",
            CutKind::Listing => "cut before it is first sent: some entries of every folder stay",
            CutKind::Log => "cut before it is first sent: failures and the end of a long log stay",
            CutKind::Page => "cut before it is first sent: the beginning of every section stays",
            CutKind::View => "cut before it is first sent: an earlier view shows the same, unchanged",
        }
    }
}

/// A text without some of its lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CutText {
    shown: usize,
    all: usize,
    body: String,
}

impl CutText {
    /// The whole text, with `kept`, a sentence on the location of the rest.
    pub fn with(&self, kept: Option<&str>) -> String {
        let kept = kept.map(|kept| format!(" {kept}")).unwrap_or_default();
        let CutText { shown, all, body } = self;
        match body.is_empty() {
            true => format!("{REPEATED}{all} lines, and they have not changed.{kept}]"),
            false => format!("[Cut to save context: {shown} of {all} lines.{kept}]\n{body}"),
        }
    }

    /// A text that an earlier call showed.
    pub fn shown_before(text: &str) -> CutText {
        CutText { shown: 0, all: text.lines().count(), body: String::new() }
    }

    /// The number of lines of a text that an earlier call showed, if this refers to one.
    pub fn repeated_lines(text: &str) -> Option<usize> {
        text.strip_prefix(REPEATED)?.split(' ').next()?.parse().ok()
    }
}

/// The beginning of a text that refers to an earlier call; stored, so that it must stay readable.
const REPEATED: &str = "[Cut to save context: an earlier call showed these ";

/// A longer line loses its middle.
const LONGEST: usize = 600;
/// Lines at the beginning and at the end of an output that always stay.
const HEAD: usize = 10;
const TAIL: usize = 25;
/// Lines behind a failure that belong to it.
const REPORT: usize = 4;

/// A text with at most about `most` bytes; none if little would go.
pub fn cut(kind: CutKind, text: &str, most: usize) -> Option<CutText> {
    let lines: Vec<&str> = text.lines().collect();
    let mut order: Vec<(usize, usize)> = ranks(kind, &lines).into_iter().zip(0..).collect();
    order.sort_unstable();
    let mut left = most;
    let mut kept = BTreeSet::new();
    for (_, at) in order {
        let length = lines.get(at).map_or(0, |line| line.len().min(LONGEST) + 1);
        left = match left.checked_sub(length) {
            Some(left) => left,
            None => break,
        };
        kept.insert(at);
    }
    let body = body(&lines, &kept);
    (body.len() + body.len() / 8 < text.len()).then_some(CutText { shown: kept.len(), all: lines.len(), body })
}

/// The rank of each line; the lowest stay.
fn ranks(kind: CutKind, lines: &[&str]) -> Vec<usize> {
    match kind {
        CutKind::Build | CutKind::Log => output_ranks(lines),
        CutKind::Search => ranks_in_groups(lines, |line, group| match line.split_once(':') {
            Some((file, rest)) if !file.is_empty() && rest.starts_with(|letter: char| letter.is_ascii_digit()) => file,
            Some((number, _)) if number.bytes().all(|byte| byte.is_ascii_digit()) => group,
            _ if line.starts_with(|letter: char| letter.is_ascii_digit()) || line == "--" => group,
            _ => line,
        }),
        CutKind::Listing => {
            ranks_in_groups(lines, |line, _| line.trim().rsplit_once('/').map_or("", |(folder, _)| folder))
        }
        CutKind::Page | CutKind::View => {
            ranks_in_groups(lines, |line, group| if is_definition(line) { line } else { group })
        }
    }
}

/// Both ends, then failures with their reports, then the lines nearest to the end.
fn output_ranks(lines: &[&str]) -> Vec<usize> {
    let mut report = 0;
    let rank = |(at, line): (usize, &&str)| {
        report = if is_failure(line) { REPORT } else { usize::saturating_sub(report, 1) };
        let from_end = lines.len() - at;
        let is_end = at < HEAD || from_end <= TAIL;
        if is_end { 0 } else { 1 + if report > 0 { 0 } else { from_end } }
    };
    lines.iter().enumerate().map(rank).collect()
}

/// The place of each line in its group. `group`: the group of a line, given that of the line before.
fn ranks_in_groups<'l>(lines: &[&'l str], group: impl Fn(&'l str, &'l str) -> &'l str) -> Vec<usize> {
    let mut counts: HashMap<&str, usize> = HashMap::new();
    let mut newest = "";
    let mut rank = |line: &&'l str| {
        newest = group(line, newest);
        let count = counts.entry(newest).or_default();
        *count += 1;
        *count
    };
    lines.iter().map(&mut rank).collect()
}

/// The kept lines, with a mark where others are missing.
fn body(lines: &[&str], kept: &BTreeSet<usize>) -> String {
    let mut out = String::new();
    let mut next = 0;
    let mark = |out: &mut String, missing: usize| {
        if missing > 0 {
            out.push_str(&format!("[{missing} {} cut]\n", if missing == 1 { "line" } else { "lines" }));
        }
    };
    for at in kept.iter().copied() {
        mark(&mut out, at - next);
        next = at + 1;
        let line = lines.get(at).copied().unwrap_or_default();
        let half = |from: usize| (from..).find(|at| line.is_char_boundary(*at)).unwrap_or(line.len());
        match line.len() > LONGEST {
            true => {
                let (start, end) = (half(LONGEST / 2), half(line.len() - LONGEST / 2));
                let (head, tail) = (line.get(..start).unwrap_or_default(), line.get(end..).unwrap_or_default());
                out.push_str(&format!("{head}[{} characters cut]{tail}\n", end - start));
            }
            false => out.extend([line, "\n"]),
        }
    }
    mark(&mut out, lines.len() - next);
    out.pop();
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_told_by_tool_and_command() {
        use CutKind::{Build, Listing, Log, Page, Search, View};
        let shell = |command: &str| CutKind::of(ToolRole::Shell, Some(command));
        assert_eq!(shell("cd a && go test ./... 2>&1"), Some(Build));
        assert_eq!(shell("RUST_LOG=x cargo build"), Some(Build));
        assert_eq!([shell("rg -n x"), shell("git grep x")], [Some(Search); 2]);
        assert_eq!([shell("ls -R"), shell("find . -name a"), shell("git ls-files")], [Some(Listing); 3]);
        assert_eq!([shell("docker logs x"), shell("git log -p")], [Some(Log); 2]);
        assert_eq!([shell("git diff"), shell("cat a"), shell("")], [None; 3], "the agent asked for exactly this");
        assert_eq!(CutKind::of(ToolRole::Fetch, None), Some(Page));
        assert_eq!(CutKind::of(ToolRole::Read, None), Some(View));
        assert_eq!(CutKind::of(ToolRole::Edit, None), None);
    }

    #[test]
    fn of_a_long_output_both_ends_and_all_failures_stay() {
        let mut lines: Vec<String> = (0..2000).map(|at| format!("compiling part {at} of many")).collect();
        lines[700] = "error: no such_name in src/a.rs".into();
        lines[701] = "  help: try other_name".into();
        let text = lines.join("\n");
        let short = cut(CutKind::Build, &text, 3000).expect("shorter").with(Some("All of it is in x."));
        assert!(short.len() < 3500, "{}", short.len());
        assert!(short.contains(" of 2000 lines. All of it is in x.]\ncompiling part 0 of many\n"), "{short}");
        assert!(short.contains("lines cut]\nerror: no such_name in src/a.rs\n  help: try other_name\n"), "{short}");
        assert!(short.ends_with("compiling part 1999 of many"), "{short}");
        assert_eq!(cut(CutKind::Build, &text, text.len() * 9 / 10), None, "hardly anything would go");
    }

    #[test]
    fn every_file_of_a_search_keeps_its_first_hits() {
        let hits = |file: &str, count: usize| -> String {
            (0..count).map(|at| format!("src/{file}.rs:{at}:let x = {at};\n")).collect()
        };
        let text = [hits("one", 200), hits("two", 2), hits("three", 200)].concat();
        let short = cut(CutKind::Search, &text, 900).expect("shorter").with(None);
        for hit in ["src/one.rs:0:", "src/two.rs:0:", "src/two.rs:1:", "src/three.rs:0:", "src/three.rs:3:"] {
            assert!(short.contains(hit), "{hit} {short}");
        }
        let headed = "src/one.rs\n1:a\n2:b\n3:c\nsrc/two.rs\n9:d\n10:e\n";
        assert_eq!(ranks(CutKind::Search, &headed.lines().collect::<Vec<_>>()), [1, 2, 3, 4, 1, 2, 3]);
    }

    #[test]
    fn every_folder_and_every_section_keeps_its_beginning() {
        let files = "a/1\na/2\nb/1\na/3\nc\n";
        assert_eq!(ranks(CutKind::Listing, &files.lines().collect::<Vec<_>>()), [1, 2, 1, 3, 1]);
        let page = "intro\nmore\n# One\ntext\n# Two\ntext\nmore";
        assert_eq!(ranks(CutKind::Page, &page.lines().collect::<Vec<_>>()), [1, 2, 1, 2, 1, 2, 3]);
    }

    #[test]
    fn a_long_line_loses_its_middle() {
        let text = format!("start {} end", "ä".repeat(5000));
        let short = cut(CutKind::Page, &text, 2000).expect("shorter").with(None);
        assert!(short.contains(" characters cut]") && short.ends_with(" end") && short.len() < 800, "{short}");
    }
}
