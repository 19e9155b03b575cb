//! One connection in the format of each provider, untouched and edited.

use super::editing::{compare, edit, samples};
use super::latency::{in_turn, without_a_pause};
use super::streaming;
use crate::bench::format::Format;
use crate::bench::load::Connection;
use crate::bench::report::{Goal, Report, Row};
use crate::bench::script::{SIZES, Script};
use crate::bench::stage::Stage;
use crate::bench::{Pace, Plan, stats};
use std::io;
use std::time::Duration;

const REQUESTS: usize = 60;
/// Measured requests of 30 KB in each round.
const SMALL: usize = 600;
const UNTOUCHED: Goal = Goal::AtMost(2.0);
/// Compared with Anthropic's format.
const EDITED: Goal = Goal::AtMost(1.1);

pub fn run(stage: &Stage, plan: &Plan, report: &mut Report) -> io::Result<()> {
    for format in Format::ALL {
        let name = format.name();
        let home = stage.home(&format!("formats-{name}"))?;
        let daemon = stage.daemon(&home)?;
        let (small, size) = (SIZES[0], SIZES[SIZES.len() - 1]);
        let base = Script::of(format, size, 300, REQUESTS);
        let (typical, worst) = compare(stage, plan, (&daemon, &base), |_| Ok(()))?;
        report.add(typical.ratio("formats", format!("{name}, {} p50", size.name), "µs", UNTOUCHED));
        report.add(worst.ratio("formats", format!("{name}, {} p99", size.name), "µs", Goal::None));
        let base = Script::of(format, small, 300, REQUESTS);
        let (rounds, time) = if plan.quick { (3, 6) } else { (7, 14) };
        let (typical, worst) = in_turn(stage, &daemon, (&base, SMALL), (rounds, Duration::from_secs(time)))?;
        report.add(typical.ratio("formats", format!("{name}, {} p50", small.name), "µs", UNTOUCHED));
        report.add(worst.ratio("formats", format!("{name}, {} p99", small.name), "µs", Goal::None));
        // Last, because it leaves thousands of conversations: a session has few requests of this size.
        let (rounds, time) = if plan.quick { (1, 2) } else { (3, 4) };
        let (typical, _) = without_a_pause(stage, &daemon, &base, (rounds, Duration::from_secs(time)))?;
        let what = format!("{name}, {}, {time} s without a pause, p50", small.name);
        report.add(typical.ratio("formats", what, "µs", Goal::None));
        daemon.stop()?;
    }
    streaming::formats(stage, plan, report)
}

/// Edited requests compared with Messages in the same round: over minutes, the speed of a machine changes.
pub fn edited(stage: &Stage, plan: &Plan, report: &mut Report) -> io::Result<()> {
    let size = SIZES[SIZES.len() - 1];
    let mut servers = Vec::new();
    for format in Format::ALL {
        let home = stage.home(&format!("formats-edited-{}", format.name()))?;
        let daemon = stage.daemon(&home)?;
        let connection = Connection::open(daemon.address)?;
        servers.push((home, daemon, connection, Script::of(format, size, 400, REQUESTS)));
    }
    let mut times: [Vec<f64>; Format::ALL.len()] = Default::default();
    let (rounds, time) = if plan.quick { (3, 30) } else { (9, 120) };
    for round in Pace::new(rounds, Duration::from_secs(time)).rounds() {
        for place in 0..servers.len() {
            let at = (place + round) % servers.len();
            let (home, daemon, connection, script) = &mut servers[at];
            let prepare = |sent: usize| edit(stage, home, daemon, sent);
            let mut samples = samples(connection, (daemon, &script.variant(round)), &prepare)?;
            times[at].push(stats::micros(stats::percentile(&mut samples, 0.5)));
            daemon.settle()?;
        }
    }
    for (format, own) in Format::ALL.iter().zip(&times) {
        let what = format!("{}, {}, 500 operations, p50", format.name(), size.name);
        report.add(Row::alone("formats-edited", what, "µs", stats::median(own), Goal::None));
    }
    for (format, own) in Format::ALL.iter().zip(&times).skip(1) {
        let ratios: Vec<f64> = own.iter().zip(&times[0]).map(|(own, messages)| own / messages).collect();
        let what = format!("{}, {}, 500 operations, compared with Messages", format.name(), size.name);
        report.add(Row::alone("formats-edited", what, "×", stats::median(&ratios), EDITED));
    }
    servers.into_iter().try_for_each(|(_, daemon, ..)| daemon.stop())
}
