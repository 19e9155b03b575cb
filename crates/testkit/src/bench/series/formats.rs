//! One connection in the format of each provider, untouched and edited.

use super::editing::{compare, edit};
use super::latency::without_a_pause;
use super::streaming;
use crate::bench::format::Format;
use crate::bench::report::{Goal, Report, Row};
use crate::bench::script::{SIZES, Script};
use crate::bench::stage::Stage;
use crate::bench::{Plan, stats};
use std::io;
use std::time::Duration;

const REQUESTS: usize = 60;
const UNTOUCHED: Goal = Goal::AtMost(2.0);
/// Compared with Anthropic's format.
const EDITED: Goal = Goal::AtMost(1.1);

pub fn run(stage: &Stage, plan: &Plan, report: &mut Report) -> io::Result<()> {
    let mut messages = None;
    for format in Format::ALL {
        let name = format.name();
        let home = stage.home(&format!("formats-{name}"))?;
        let daemon = stage.daemon(&home)?;
        let (small, size) = (SIZES[0], SIZES[SIZES.len() - 1]);
        let base = Script::of(format, size, 300, REQUESTS);
        let (typical, worst) = compare(stage, plan, (&daemon, &base), |_| Ok(()))?;
        report.add(typical.ratio("formats", format!("{name}, {} p50", size.name), "µs", UNTOUCHED));
        report.add(worst.ratio("formats", format!("{name}, {} p99", size.name), "µs", Goal::None));
        let base = Script::of(format, size, 400, REQUESTS);
        let (typical, _) = compare(stage, plan, (&daemon, &base), |sent| edit(stage, &home, &daemon, sent))?;
        report.add(typical.ratio("formats", format!("{name}, {}, 500 operations, p50", size.name), "µs", Goal::None));
        let edited = stats::median(&typical.ctx);
        let compared = edited / *messages.get_or_insert(edited);
        report.add(Row::alone("formats", format!("{name} edited, compared with Messages"), "×", compared, EDITED));
        // Last, because it leaves thousands of conversations: a session has few requests of this size.
        let base = Script::of(format, small, 300, REQUESTS);
        let (rounds, time) = if plan.quick { (1, 2) } else { (3, 4) };
        let (typical, worst) = without_a_pause(stage, &daemon, &base, (rounds, Duration::from_secs(time)))?;
        let row = |what: &str| format!("{name}, {}, {time} s without a pause, {what}", small.name);
        report.add(typical.ratio("formats", row("p50"), "µs", UNTOUCHED));
        report.add(worst.ratio("formats", row("p99"), "µs", Goal::None));
        daemon.stop()?;
    }
    streaming::formats(stage, plan, report)
}
