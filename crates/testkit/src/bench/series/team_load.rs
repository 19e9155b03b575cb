//! Three daemons under a steady load of 200 conversations that grow by 2 KB with each request, with a healthy, a slow and
//! no database.

use super::team::Team;
use crate::bench::report::{Goal, Report, Rounds};
use crate::bench::script::{SIZES, Script};
use crate::bench::stage::Stage;
use crate::bench::{Plan, Rival, stats, steady};
use crate::fault_proxy::Fault;
use std::io;
use std::time::Duration;

const CONVERSATIONS: usize = 200;
const ROUNDS: usize = 3;
const GOAL: Goal = Goal::AtMost(2.0);
const DATABASE: [(&str, Fault); 3] = [
    ("", Fault::None),
    (", database slower by 50 ms", Fault::Delay(Duration::from_millis(50))),
    (", no database", Fault::Cut),
];

pub fn run(stage: &Stage, plan: &Plan, report: &mut Report) -> io::Result<()> {
    let Some(team) = Team::gather(stage, "team-load", report)? else { return Ok(()) };
    let seconds = if plan.quick { 3 } else { 8 };
    for (index, (when, fault)) in DATABASE.into_iter().enumerate() {
        let base = Script::near(SIZES[1], 3700 + index as u64, 1 + ROUNDS * seconds);
        let conversations: Vec<Script> = (0..CONVERSATIONS).map(|number| base.variant(number)).collect();
        steady::send(team.before(Rival::Ctx, stage), &conversations, &(0..1))?;
        team.settle()?;
        team.proxy.set(fault);
        let (mut typical, mut worst) = (Rounds::default(), Rounds::default());
        for round in 0..ROUNDS {
            let numbers = 1 + round * seconds..1 + (round + 1) * seconds;
            for rival in Rival::in_round(round) {
                let mut samples = steady::send(team.before(rival, stage), &conversations, &numbers)?;
                typical.push(rival, stats::micros(stats::percentile(&mut samples, 0.5)));
                worst.push(rival, stats::micros(stats::percentile(&mut samples, 0.99)));
                team.settle()?;
            }
        }
        team.proxy.set(Fault::None);
        let what = format!("{CONVERSATIONS} requests of {} a second{when}", SIZES[1].name);
        report.add(typical.ratio("team-load", format!("{what}, p50"), "µs", GOAL));
        report.add(worst.ratio("team-load", format!("{what}, p99"), "µs", GOAL));
    }
    Ok(())
}
