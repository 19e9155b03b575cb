//! Counting tests from what `cargo test` prints, because its exit code alone cannot tell that nothing ran.

use std::fmt;

#[derive(Debug, Default, PartialEq, Eq)]
pub struct Tally {
    passed: u64,
    failed: u64,
    skipped: u64,
}

impl Tally {
    /// Adds a line such as `test result: ok. 12 passed; 0 failed; 1 ignored; …`; other lines count nothing.
    pub fn read(&mut self, line: &str) {
        let Some(counts) = line.trim_start().strip_prefix("test result: ") else {
            return;
        };
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
    fn a_test_that_prints_numbers_counts_nothing() {
        assert_eq!(tally("5 passed; 3 failed"), Tally::default());
    }
}
