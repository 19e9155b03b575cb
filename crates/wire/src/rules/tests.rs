use super::*;
use std::collections::BTreeSet;
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

#[test]
fn every_rule_that_the_program_can_name_is_in_the_table_and_no_other() {
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
    let listed: BTreeSet<String> = all().map(|rule| rule.number.to_owned()).collect();
    assert_eq!(used, listed);
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
