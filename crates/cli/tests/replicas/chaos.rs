//! Kills and outages.

use std::time::Duration;

use testkit::{Fault, Random};

use crate::stage::Stage;

/// What happens to the database server itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Server {
    /// All of it is killed, and recovers.
    Crash,
    /// One of its processes is killed.
    Process,
}

async fn pause(random: &mut Random, low: usize, high: usize) {
    tokio::time::sleep(Duration::from_millis(random.between(low, high) as u64)).await;
}

/// Kills one daemon after the other, and starts each again: soon, or after its lease. Returns their number.
pub async fn kills(stage: &Stage, count: usize, server: Option<Server>, mut random: Random) -> usize {
    let server_at = random.below(count);
    for number in 0..count {
        pause(&mut random, 50, 700).await;
        let daemon = &stage.daemons[random.below(stage.daemons.len())];
        // One that could not start meanwhile gets another chance first.
        daemon.up().await;
        daemon.kill();
        if random.chance(8) {
            pause(&mut random, 2000, 3500).await;
        } else {
            pause(&mut random, 0, 400).await;
        }
        daemon.start();
        if number == server_at {
            match server {
                Some(Server::Crash) => stage.server.crash().expect("it recovers"),
                Some(Server::Process) => stage.server.kill_backend().expect("a process is killed"),
                None => {}
            }
        }
    }
    count
}

/// Cuts daemons off from the database in one way after the other: one of them, or all. Returns their number.
pub async fn outages(stage: &Stage, count: usize, mut random: Random) -> usize {
    let faults = [
        Fault::Cut,
        Fault::Stall,
        Fault::HalfOpen,
        Fault::Delay(Duration::from_millis(30)),
        Fault::Trickle(Duration::from_millis(1)),
    ];
    for _ in 0..count {
        pause(&mut random, 300, 2500).await;
        let fault = *random.pick(&faults).expect("a fault");
        let (all, one) = (random.chance(30), random.below(stage.daemons.len()));
        let hit = stage.daemons.iter().enumerate().filter(|(number, _)| all || *number == one);
        hit.for_each(|(_, daemon)| daemon.proxy.set(fault));
        pause(&mut random, 200, 4000).await;
        stage.daemons.iter().for_each(|daemon| daemon.proxy.set(Fault::None));
    }
    count
}
