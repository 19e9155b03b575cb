//! Three daemons of a team behind nginx on one PostgreSQL server, while daemons and the server are killed and the
//! daemons' connections to it fail. Afterwards, what was acknowledged is compared with what the provider received:
//! every request that began after an acknowledgement carries that edit, and no acknowledged edit is lost.
//!
//! One round by default; with `CTX_LONG=1`, 500 kills and 50 outages for each of the two placements.

mod chaos;
mod check;
mod people;
mod stage;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use testkit::{Placement, Random, first_seed, is_long};

use crate::check::Totals;
use crate::people::Traffic;
use crate::stage::Stage;

/// The kills of daemons and the outages of a round.
const KILLS: usize = 20;
const OUTAGES: usize = 2;
const ROUNDS: u64 = 25;
/// The server is killed in every fifth round, a process of it in every other one.
const SERVER: u64 = 5;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn any_daemon_serves_any_request_through_kills_and_outages() {
    through_kills_and_outages(Placement::RoundRobin, 0).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sessions_with_a_daemon_of_their_own_survive_its_kills_and_outages() {
    through_kills_and_outages(Placement::BySession, 1_000_000).await;
}

async fn through_kills_and_outages(placement: Placement, seeds: u64) {
    static ONE_AT_A_TIME: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());
    let _turn = ONE_AT_A_TIME.lock().await;
    let Some(stage) = Stage::set(placement).await else { return };
    let (stage, first) = (Arc::new(stage), first_seed() + seeds);
    let mut totals = Totals::default();
    for round in 0..if is_long() { ROUNDS } else { 1 } {
        let seed = first + round;
        let traffic = Arc::new(Traffic::new(&stage, seed));
        let over = Arc::new(AtomicBool::new(false));
        let talkers = traffic.begin(&over);
        let mut random = Random::new(seed);
        let (kills, outages) = (Random::new(random.number()), Random::new(random.number()));
        let server = match round % SERVER {
            1 => Some(chaos::Server::Crash),
            at if at % 2 == 0 => Some(chaos::Server::Process),
            _ => None,
        };
        let (kills, outages) =
            tokio::join!(chaos::kills(&stage, KILLS, server, kills), chaos::outages(&stage, OUTAGES, outages),);
        over.store(true, Ordering::SeqCst);
        for talker in talkers {
            talker.await.expect("no panic");
        }
        stage.heal().await;
        totals.add(kills, outages, server);
        let is_last = round % SERVER == 0;
        check::round(&stage, &traffic, seed, is_last, &mut totals).await;
        println!("seed {seed}: {totals}");
    }
    totals.is_meaningful();
}
