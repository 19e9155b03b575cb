//! The helpers' daily token budget (in UTC), kept over restarts.

use crate::clock::now;
use ctx_core::hint::Argument;
use ctx_core::{ErrorCode, hint};
use ctx_engine::Refusal;
use serde::{Deserialize, Serialize};
use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

const DAY_MS: u64 = 24 * 60 * 60 * 1000;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
struct TokenUse {
    /// Days since 1970.
    day: u64,
    tokens: u64,
}

#[derive(Debug)]
pub struct Budget {
    /// Tokens per day.
    pub most: u64,
    file: PathBuf,
    used: Mutex<TokenUse>,
}

/// Tokens reserved for a request. The unused rest is returned.
#[derive(Debug)]
pub struct Reservation {
    budget: Arc<Budget>,
    day: u64,
    tokens: u64,
}

impl Budget {
    pub fn open(file: PathBuf, most: u64) -> Arc<Budget> {
        let used = fs::read(&file).ok().and_then(|text| serde_json::from_slice(&text).ok()).unwrap_or_default();
        Arc::new(Budget { most, file, used: Mutex::new(used) })
    }

    /// Used today, including reservations.
    pub fn used(&self) -> u64 {
        self.today(now()).tokens
    }

    /// Reserves tokens. They count at once, even if the daemon dies before the real use is known.
    pub fn reserve(self: &Arc<Budget>, tokens: u64) -> Result<Reservation, Refusal> {
        let mut used = self.today(now());
        if used.tokens.saturating_add(tokens) > self.most {
            return Err(Refusal::new(
                ErrorCode::HelperBudget,
                format!(
                    "The helper model's budget is used up: {} of {} tokens today, and this may need {tokens} more.",
                    used.tokens, self.most
                ),
                hint![
                    "Write the text with ",
                    Argument::new("text"),
                    ", or raise `budget_per_day` under [helper] in ctx.toml."
                ],
            ));
        }
        let more = TokenUse { tokens: used.tokens + tokens, ..*used };
        self.keep(&more)?;
        *used = more;
        Ok(Reservation { budget: self.clone(), day: used.day, tokens })
    }

    fn today(&self, at: u64) -> MutexGuard<'_, TokenUse> {
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        if used.day != at / DAY_MS {
            *used = TokenUse { day: at / DAY_MS, tokens: 0 };
        }
        used
    }

    /// Fails if the use cannot be stored: the budget would have no effect.
    fn keep(&self, used: &TokenUse) -> Result<(), Refusal> {
        self.write(used).map_err(|error| {
            Refusal::new(
                ErrorCode::NotWritten,
                format!("The helper model's budget cannot be written to {}: {error}.", self.file.display()),
                hint!["Check free space and permissions, or write the text with ", Argument::new("text"), "."],
            )
        })
    }

    fn write(&self, used: &TokenUse) -> io::Result<()> {
        let beside = self.file.with_extension("new");
        let mut options = fs::OpenOptions::new();
        options.write(true).create(true).truncate(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        options.open(&beside)?.write_all(&serde_json::to_vec(used)?)?;
        fs::rename(&beside, &self.file)
    }
}

impl Reservation {
    /// Records the real use, or the whole reservation if it is unknown.
    pub fn settle(self, tokens: Option<u64>) {
        let Some(tokens) = tokens else { return };
        let mut used = self.budget.today(now());
        if used.day == self.day {
            used.tokens = used.tokens.saturating_sub(self.tokens).saturating_add(tokens);
            // At worst an old number counts too much.
            let _ = self.budget.keep(&used);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_has_so_many_tokens_and_a_restart_does_not_change_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("helper.json");
        let budget = Budget::open(file.clone(), 1_000);
        budget.reserve(600).expect("within").settle(Some(400));
        assert_eq!(budget.used(), 400);
        let refused = budget.reserve(700).expect_err("beyond");
        assert_eq!(refused.code, ErrorCode::HelperBudget);
        budget.reserve(500).expect("within").settle(None);
        let again = Budget::open(file.clone(), 1_000);
        assert_eq!(again.used(), 900);
        assert_eq!(again.today(now() + DAY_MS).tokens, 0, "tomorrow it begins anew");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            assert_eq!(fs::metadata(&file).expect("a file").permissions().mode() & 0o777, 0o600);
        }
        fs::write(&file, "nonsense").expect("written");
        assert_eq!(Budget::open(file, 1_000).used(), 0);
    }

    #[test]
    fn what_cannot_be_written_down_is_not_spent() {
        let budget = Budget::open("/nowhere/at/all/helper.json".into(), 1_000);
        assert_eq!(budget.reserve(1).expect_err("no folder").code, ErrorCode::NotWritten);
    }
}
