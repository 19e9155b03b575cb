use super::*;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The source files of a folder, without tests.
fn sources(folder: &Path, into: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().and_then(|name| name.to_str()).expect("a name");
        if path.is_dir() && name != "tests" {
            sources(&path, into);
        } else if name.ends_with(".rs") && !name.contains("test") && name != "rules.rs" {
            into.push(path);
        }
    }
}

/// The rule numbers in a line of code: a literal of its own, or behind the word `rule`.
fn numbers(line: &str) -> Vec<String> {
    let is_number = |word: &str| {
        let digits = word.strip_prefix(|c: char| c.is_ascii_uppercase());
        digits.is_some_and(|digits| digits.len() <= 2 && digits.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let literals = line.split('"').skip(1).step_by(2).filter(|text| is_number(text));
    let cited = line.split("rule ").skip(1).filter_map(|rest| rest.split(|c: char| !c.is_ascii_alphanumeric()).next());
    let in_brackets = line.split("(A").skip(1).filter_map(|rest| rest.split(')').next());
    let loose = in_brackets.filter(|rest| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit()));
    assert_eq!(loose.count(), 0, "write `rule A1`, which gets its name, not `(A1)`: {line}");
    literals.chain(cited.filter(|word| is_number(word))).map(str::to_owned).collect()
}

/// The rules that the program can name.
fn used() -> BTreeSet<String> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the crates");
    let mut files = Vec::new();
    for folder in ["core/src", "wire/src", "engine/src", "service/src", "server/src"] {
        sources(&crates.join(folder), &mut files);
    }
    let mut used = BTreeSet::new();
    for file in files {
        let text = std::fs::read_to_string(&file).expect("a source file");
        let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
        let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
        used.extend(code.flat_map(numbers));
    }
    used
}

/// Every file below a folder with this ending.
fn files(folder: &Path, ending: &str, into: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        match path.is_dir() {
            true => files(&path, ending, into),
            false if path.extension().is_some_and(|extension| extension == ending) => into.push(path),
            false => {}
        }
    }
}

/// The rules that a text cites: each number, and those between two with `–` or `to` between them.
fn cited(text: &str) -> Vec<String> {
    let mut cited: Vec<String> = Vec::new();
    let mut separator = "";
    for word in text.split_inclusive(|c: char| !c.is_ascii_alphanumeric()) {
        let number = word.trim_end_matches(|c: char| !c.is_ascii_alphanumeric());
        let digits = number.strip_prefix(['A', 'C', 'G', 'R', 'X']).filter(|digits| matches!(digits.len(), 1 | 2));
        if let Some(last) = digits.and_then(|digits| digits.parse::<u32>().ok()) {
            let first = cited.last().filter(|_| separator == "range").and_then(|first| first[1..].parse().ok());
            cited.extend(
                first.into_iter().flat_map(|first: u32| first + 1..last).map(|at| format!("{}{at}", &number[..1])),
            );
            cited.push(number.to_owned());
            separator = if word.ends_with('–') { "range" } else { "one" };
        } else {
            separator = if separator == "one" && number == "to" { "range" } else { "" };
        }
    }
    cited
}

/// The rules that the documentation and comments cite, and a place of each. What a judge answers begins with the number.
fn cited_anywhere() -> BTreeMap<String, PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("the project");
    let (mut pages, mut code) = (vec![root.join("CHANGELOG.md"), root.join("README.md")], Vec::new());
    files(&root.join("docs"), "md", &mut pages);
    files(&root.join("crates"), "rs", &mut code);
    assert!(pages.len() > 20 && code.len() > 500, "{} pages and {} files", pages.len(), code.len());
    let mut found = BTreeMap::new();
    for path in pages {
        let text = std::fs::read_to_string(&path).expect("a page");
        found.extend(cited(&text).into_iter().map(|number| (number, path.clone())));
    }
    for path in code.into_iter().filter(|path| !path.ends_with("rules/tests.rs")) {
        let text = std::fs::read_to_string(&path).expect("a source file");
        let comments = text.lines().filter_map(|line| Some(line.split_once("// ").or(line.split_once("//! "))?.1));
        let answers = text.split('"').filter_map(|text| text.split(": ").next()).filter(|start| start.len() < 4);
        found.extend(comments.chain(answers).flat_map(cited).map(|number| (number, path.clone())));
    }
    found
}

#[test]
fn every_rule_that_is_cited_anywhere_is_in_the_table_and_no_other() {
    let listed: BTreeSet<String> = all().map(|rule| rule.number.to_owned()).collect();
    let (used, mut cited) = (used(), cited_anywhere());
    assert_eq!(used.difference(&listed).collect::<Vec<_>>(), Vec::<&String>::new(), "not in the table");
    let unused: Vec<&String> =
        listed.iter().filter(|number| !used.contains(*number) && !cited.contains_key(*number)).collect();
    assert_eq!(unused, Vec::<&String>::new(), "never cited");
    cited.retain(|number, _| !listed.contains(number));
    assert_eq!(cited, BTreeMap::new(), "not in the table");
}

#[test]
fn citations_are_found_in_lists_and_ranges() {
    assert_eq!(
        cited("rules C1 to C3, C13 and X3 (R52–R54), A4x, %C3 or E"),
        ["C1", "C2", "C3", "C13", "X3", "R52", "R53", "R54", "C3"]
    );
    assert_eq!(cited("R20 towards R22; from A1 or to A3"), ["R20", "R22", "A1", "A3"]);
}

#[test]
fn the_table_is_in_order_and_every_entry_says_what_to_do() {
    let place = |rule: &&Rule| (rule.number[..1].to_owned(), rule.number[1..].parse::<u32>().unwrap_or(0));
    for table in [anthropic::rules::RULES, chat::rules::RULES, responses::rules::RULES, gemini::rules::RULES, SHARED] {
        assert!(table.iter().collect::<Vec<_>>().windows(2).all(|pair| place(&pair[0]) < place(&pair[1])));
    }
    for rule in all() {
        assert!(rule.name.len() <= 48 && !rule.name.ends_with('.'), "{}: a few words", rule.number);
        assert!(rule.why.ends_with('.') && rule.advice.ends_with('.'), "{}: sentences", rule.number);
    }
}

#[test]
fn a_number_is_shown_with_its_name_once() {
    assert_eq!(named("a30"), "A30 (every tool call has its result)");
    assert_eq!(named("Z9"), "Z9");
    let text = "It would part a call from its result: rule A38.";
    let spelled = "It would part a call from its result: rule A38 (a tool call and its result stay together).";
    assert_eq!(spelled_out(text), spelled);
    assert_eq!(spelled_out(spelled), spelled, "not twice");
    assert_eq!(spelled_out("a rule of the provider"), "a rule of the provider");
}
