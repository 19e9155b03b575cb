//! One connection in the format of each provider, untouched and edited.

use super::editing::{compare, edit};
use crate::bench::format::Format;
use crate::bench::report::{Goal, Report, Row};
use crate::bench::script::{SIZES, Script};
use crate::bench::stage::Stage;
use crate::bench::{Plan, stats};
use std::io;

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
        for size in [SIZES[0], SIZES[SIZES.len() - 1]] {
            let base = Script::of(format, size, 300, REQUESTS);
            let (typical, worst) = compare(stage, plan, (&daemon, &base), |_| Ok(()))?;
            report.add(typical.ratio("formats", format!("{name}, {} p50", size.name), "µs", UNTOUCHED));
            report.add(worst.ratio("formats", format!("{name}, {} p99", size.name), "µs", Goal::None));
        }
        let size = SIZES[SIZES.len() - 1];
        let base = Script::of(format, size, 400, REQUESTS);
        let (typical, _) = compare(stage, plan, (&daemon, &base), |sent| edit(stage, &home, &daemon, sent))?;
        report.add(typical.ratio("formats", format!("{name}, {}, 500 operations, p50", size.name), "µs", Goal::None));
        let edited = stats::median(&typical.ctx);
        let compared = edited / *messages.get_or_insert(edited);
        report.add(Row::alone("formats", format!("{name} edited, compared with Messages"), "×", compared, EDITED));
        daemon.stop()?;
    }
    Ok(())
}
