//! File handles: their limit, and a reserve. Every connection needs one or two, and without any left, the daemon could
//! not even report the problem.

use std::fs::File;
use std::io;

/// Handles for other purposes than clients: store, log, event loops, lookups.
const OWN: u64 = 64;

/// The number of control requests that are answered when all other handles are in use.
const SPARE: usize = 8;

/// Raises the soft limit to the hard one, as servers do, and returns the resulting limit. `None`: there is none, or the
/// system does not report it.
#[cfg(unix)]
pub(crate) fn raise_limit() -> Option<u64> {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    /// Some systems do not grant their hard limit, but always this one.
    const GRANTED: u64 = 10_240;
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    if current != maximum {
        let granted = maximum.map_or(GRANTED, |maximum| maximum.min(GRANTED));
        for wanted in [maximum, Some(granted)] {
            let is_more = wanted.is_none_or(|wanted| current.is_some_and(|current| current < wanted));
            if is_more && setrlimit(Resource::Nofile, Rlimit { current: wanted, maximum }).is_ok() {
                break;
            }
        }
    }
    getrlimit(Resource::Nofile).current
}

#[cfg(not(unix))]
pub(crate) fn raise_limit() -> Option<u64> {
    None
}

/// The number of client connections above which idle ones are closed: each may need another one to the upstream.
pub(crate) fn most_connections(limit: Option<u64>) -> usize {
    limit.map_or(usize::MAX, |limit| (limit.saturating_sub(OWN) / 2).max(8) as usize)
}

#[cfg(unix)]
pub(crate) fn are_used_up(error: &io::Error) -> bool {
    let is = |errno: rustix::io::Errno| error.raw_os_error() == Some(errno.raw_os_error());
    is(rustix::io::Errno::MFILE) || is(rustix::io::Errno::NFILE)
}

#[cfg(not(unix))]
pub(crate) fn are_used_up(_error: &io::Error) -> bool {
    false
}

/// Reserved handles, to be released when no others are left.
#[derive(Default)]
pub(crate) struct Spare(Vec<File>);

impl Spare {
    pub(crate) fn fill(&mut self) {
        while self.0.len() < SPARE {
            match File::open(if cfg!(windows) { "NUL" } else { "/dev/null" }) {
                Ok(file) => self.0.push(file),
                Err(_) => return,
            }
        }
    }

    /// Releases one handle. False: none is left.
    pub(crate) fn release(&mut self) -> bool {
        self.0.pop().is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_the_handles_are_for_clients_and_half_for_their_requests() {
        assert_eq!(most_connections(Some(1024)), 480);
        assert_eq!(most_connections(Some(256)), 96);
        assert_eq!(most_connections(Some(10)), 8);
        assert_eq!(most_connections(None), usize::MAX);
    }
}
