use super::*;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

const PATIENCE: Duration = Duration::from_secs(60);

fn lane(number: usize) -> Arc<LaneKey> {
    Arc::new(LaneKey::Session(number.to_string().into(), None))
}

fn event(exchange: usize) -> Event {
    Event::NoRequest { exchange: exchange as u64 }
}

fn job(lanes: &Lanes) -> Job {
    match lanes.next(Some(Duration::ZERO)) {
        Next::Work(job) => *job,
        Next::Nothing | Next::End => panic!("nothing is lined up"),
    }
}

#[test]
fn a_thread_that_finishes_takes_the_next_event_and_others_are_added_for_the_rest_only() {
    let lanes = Arc::new(Lanes::default());
    let added = Arc::new(AtomicUsize::new(0));
    let counted = added.clone();
    let count = move || {
        counted.fetch_add(1, Ordering::Relaxed);
        Ok(())
    };
    lanes.start(count).expect("started");
    let added = move || added.load(Ordering::Relaxed) - STAY;
    let (one, other) = (lane(1), lane(2));
    let _urgency = [lanes.urge(&one), lanes.urge(&other)];
    assert!(lanes.push(&one, event(1)));
    assert_eq!(added(), 1, "no thread is free");
    let first = job(&lanes);
    assert!(lanes.push(&one, event(2)));
    assert_eq!(added(), 1, "its lane is worked on");
    lanes.finish(&first.place, first.open);
    assert_eq!(added(), 1, "the thread that has finished takes it");
    let second = job(&lanes);
    assert!(lanes.push(&one, event(3)) && lanes.push(&other, event(4)));
    assert_eq!(added(), 2, "another lane needs another thread");
    lanes.finish(&second.place, second.open);
    assert_eq!(added(), 3, "two lanes wait, and one thread takes one of them");
    for _ in 0..2 {
        let next = job(&lanes);
        lanes.finish(&next.place, next.open);
    }
    assert_eq!(added(), 3);
}

/// Threads take events and sleep when there is none, as those of the recorder do. Nothing here wakes them but
/// what the lanes do themselves.
#[test]
fn no_event_is_left_lying_while_threads_sleep() {
    const LANES: usize = 40;
    const EVENTS: usize = 50;
    let lanes = Arc::new(Lanes::default());
    let seen: Arc<Mutex<HashMap<Arc<LaneKey>, Vec<Order>>>> = Arc::default();
    let (at_work, noted) = (lanes.clone(), seen.clone());
    let work = move || {
        let (lanes, seen) = (at_work.clone(), noted.clone());
        thread::Builder::new().spawn(move || {
            loop {
                match lanes.next(None) {
                    Next::Work(job) => {
                        lock(&seen).entry(job.place.key.clone()).or_default().push(job.place.order);
                        lanes.finish(&job.place, job.open);
                    }
                    Next::Nothing => {}
                    Next::End => return,
                }
            }
        })?;
        Ok(())
    };
    lanes.start(work).expect("started");
    thread::scope(|scope| {
        for pusher in 0..4 {
            let lanes = &lanes;
            scope.spawn(move || {
                for number in 0..LANES * EVENTS / 4 {
                    let key = lane(number % (LANES / 4) * 4 + pusher);
                    // Some lanes are urgent, some become so, and sometimes all threads get to sleep.
                    let _urgency = (number % 3 == pusher % 3).then(|| lanes.urge(&key));
                    assert!(lanes.push(&key, event(number)));
                    if number % 100 == 0 {
                        thread::sleep(Duration::from_millis(2));
                    }
                }
            });
        }
    });
    let deadline = Instant::now() + PATIENCE;
    let count = || lock(&seen).values().map(Vec::len).sum::<usize>();
    while count() < LANES * EVENTS && Instant::now() < deadline {
        thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(count(), LANES * EVENTS, "events that no thread took");
    assert!(lock(&seen).values().all(|orders| orders.is_sorted()), "each lane in its order");
    lanes.close();
}
