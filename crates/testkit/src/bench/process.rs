//! Processes that the bench starts, stops and measures. Linux only, like the bench.

use rustix::process::{Pid, Signal, kill_process};
use std::io;
use std::path::Path;
use std::process::{Child, ChildStdout, Command};
use std::time::{Duration, Instant};

/// A child process that ends with the bench at the latest.
pub struct Running {
    child: Child,
}

impl Running {
    pub fn start(command: &mut Command) -> io::Result<Self> {
        let child = command.spawn().map_err(|error| {
            io::Error::new(error.kind(), format!("{} did not start: {error}", command.get_program().display()))
        })?;
        Ok(Self { child })
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Its output, if it was piped.
    pub fn output(&mut self) -> Option<ChildStdout> {
        self.child.stdout.take()
    }

    /// Its exit status, if it has ended.
    pub fn has_ended(&mut self) -> io::Result<Option<std::process::ExitStatus>> {
        self.child.try_wait()
    }

    /// Stops it and waits, a few seconds at most.
    pub fn stop(&mut self) -> io::Result<()> {
        // It may have ended already.
        let _ = signal(self.child.id(), Signal::TERM);
        let deadline = Instant::now() + Duration::from_secs(10);
        while self.child.try_wait()?.is_none() {
            if Instant::now() > deadline {
                self.child.kill()?;
                self.child.wait()?;
                return Err(io::Error::other("a process did not end when asked to"));
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        Ok(())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.stop();
    }
}

/// Stops a process until [`resume`]; for others it looks dead.
pub fn pause(process: u32) -> io::Result<()> {
    signal(process, Signal::STOP)
}

pub fn resume(process: u32) -> io::Result<()> {
    signal(process, Signal::CONT)
}

fn signal(process: u32, signal: Signal) -> io::Result<()> {
    let process = i32::try_from(process).ok().and_then(Pid::from_raw);
    Ok(kill_process(process.ok_or(io::ErrorKind::InvalidInput)?, signal)?)
}

/// The memory of a process, in bytes.
pub fn resident(process: u32) -> io::Result<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes: Option<u64> = line.and_then(|line| line.trim().trim_end_matches("kB").trim().parse().ok());
    kilobytes.map(|number| number * 1024).ok_or_else(|| io::Error::other("the process tells no VmRSS"))
}

/// Processor time of the threads of a process whose names begin with one of `names`.
pub fn thread_time(process: u32, names: &[&str]) -> io::Result<Duration> {
    let mut total = 0;
    for task in std::fs::read_dir(format!("/proc/{process}/task"))? {
        let task = task?.path();
        let name = std::fs::read_to_string(task.join("comm")).unwrap_or_default();
        if names.iter().any(|begin| name.starts_with(begin)) {
            total += time_of(&task);
        }
    }
    Ok(Duration::from_nanos(total))
}

/// Nanoseconds on a processor: the first number of `schedstat`.
fn time_of(task: &Path) -> u64 {
    let text = std::fs::read_to_string(task.join("schedstat")).unwrap_or_default();
    text.split(' ').next().and_then(|number| number.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_was_started_is_gone_when_it_is_dropped() {
        let mut sleeper = Running::start(Command::new("sleep").arg("60")).unwrap();
        let id = sleeper.id();
        assert!(sleeper.has_ended().unwrap().is_none());
        assert!(resident(id).unwrap() > 0);
        drop(sleeper);
        assert!(resident(id).is_err());
    }

    #[test]
    fn the_time_of_a_thread_is_found_by_its_name() {
        let busy = std::thread::Builder::new().name("bench-busy".into()).spawn(|| {
            let until = Instant::now() + Duration::from_millis(30);
            while Instant::now() < until {
                std::hint::black_box(0);
            }
            thread_time(std::process::id(), &["bench-busy"]).unwrap()
        });
        assert!(busy.unwrap().join().unwrap() > Duration::ZERO);
        assert_eq!(thread_time(std::process::id(), &["no-such-thread"]).unwrap(), Duration::ZERO);
    }
}
