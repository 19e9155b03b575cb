//! Counting tests from what `cargo test` prints, because its exit code alone cannot tell that nothing ran.

use std::fmt;

#[derive(Debug, Default, PartialEq, Eq)]
pub struct Tally {
    passed: u64,
    failed: u64,
    skipped: u64,
    /// The names of the tests that failed.
    names: Vec<String>,
    /// Test programs that began, and those that came to their end.
    begun: u64,
    ended: u64,
}

impl Tally {
    /// Adds a line such as `test result: ok. 12 passed; 0 failed; 1 ignored; …` or `test NAME ... FAILED`.
    pub fn read(&mut self, line: &str) {
        let line = line.trim();
        if let Some(name) = line.strip_prefix("test ").and_then(|rest| rest.strip_suffix(" ... FAILED")) {
            self.names.push(name.to_owned());
        }
        if line.starts_with("running ") && (line.ends_with(" tests") || line.ends_with(" test")) {
            self.begun += 1;
        }
        let Some(counts) = line.strip_prefix("test result: ") else {
            return;
        };
        self.ended += 1;
        for count in counts.split(['.', ';']) {
            let mut words = count.split_whitespace();
            let (Some(number), Some(what)) = (words.next(), words.next()) else {
                continue;
            };
            let Ok(number) = number.parse::<u64>() else {
                continue;
            };
            match what {
                "passed" => self.passed += number,
                "failed" => self.failed += number,
                "ignored" => self.skipped += number,
                _ => {}
            }
        }
    }

    pub fn ran_nothing(&self) -> bool {
        self.passed + self.failed == 0
    }

    pub fn skipped(&self) -> u64 {
        self.skipped
    }

    /// The tests that failed, if every failure has a name: not after a test program crashed.
    pub fn failures(&self) -> Option<&[String]> {
        let is_whole = self.begun == self.ended && self.names.len() as u64 == self.failed;
        (is_whole && self.failed > 0).then_some(self.names.as_slice())
    }

    /// Counts the failures as passed, after they passed at their second try.
    pub fn forgive(&mut self) {
        self.passed += std::mem::take(&mut self.failed);
        self.names.clear();
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} passed, {} failed", self.passed, self.failed)?;
        match self.skipped {
            0 => Ok(()),
            skipped => write!(formatter, ", {skipped} skipped"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally(output: &str) -> Tally {
        let mut tally = Tally::default();
        output.lines().for_each(|line| tally.read(line));
        tally
    }

    #[test]
    fn results_of_several_test_programs_add_up() {
        let tally = tally(
            "running 2 tests\n\
             test result: ok. 12 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.01s\n\
             test result: FAILED. 3 passed; 2 failed; 0 ignored; 0 measured; 7 filtered out; finished in 1.50s",
        );
        assert_eq!(tally.to_string(), "15 passed, 2 failed");
    }

    #[test]
    fn ignored_tests_are_told_and_not_counted_as_run() {
        let tally = tally("test result: ok. 0 passed; 0 failed; 4 ignored; 0 measured; 0 filtered out");
        assert!(tally.ran_nothing());
        assert_eq!(tally.to_string(), "0 passed, 0 failed, 4 skipped");
    }

    #[test]
    fn failures_have_names_unless_a_program_crashed() {
        let whole =
            "running 2 tests\ntest a::b ... FAILED\ntest c ... ok\ntest result: FAILED. 1 passed; 1 failed; 0 ignored";
        let mut told = tally(whole);
        assert_eq!(told.failures(), Some(&["a::b".to_owned()][..]));
        told.forgive();
        assert_eq!((told.to_string().as_str(), told.failures()), ("2 passed, 0 failed", None));
        assert_eq!(tally(&format!("{whole}\nrunning 1 test\n")).failures(), None, "the second program crashed");
        assert_eq!(tally("running 1 test\ntest result: FAILED. 0 passed; 1 failed; 0 ignored").failures(), None);
    }

    #[test]
    fn a_test_that_prints_numbers_counts_nothing() {
        assert_eq!(tally("5 passed; 3 failed"), Tally::default());
    }
}
