//! A clock that is wrong takes nothing from anybody.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, SystemTime};

use jungle_cluster::{Cluster, Log, Options};
use jungle_db::{Clock, Jungle, Retention, Timestamp};
use jungle_testkit::{NatsServers, Rng};

use crate::memory::Engine;
use crate::support::{agree, options, put};

const MINUTE: i64 = 60_000_000;
const DAY: Duration = Duration::from_hours(24);

/// A clock that says what it was told.
#[derive(Clone, Default)]
struct SetClock(Arc<AtomicI64>);

impl SetClock {
    fn set(&self, micros: i64) {
        self.0.store(micros, Ordering::SeqCst);
    }
}

impl Clock for SetClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(self.0.load(Ordering::SeqCst))
    }
}

#[test]
fn a_clock_that_is_far_ahead_does_not_drop_what_is_kept_by_age() {
    let (engine, rng) = (Arc::new(Engine::default()), &mut Rng::new(1));
    let now = 1000 * MINUTE;
    *engine.time.lock().unwrap() = Some(Timestamp::from_micros(now));
    let clocks = [(); 2].map(|()| SetClock::default());
    let servers = clocks.clone().map(|clock| {
        clock.set(now);
        let jungle = Jungle::builder().clock(clock).build().unwrap();
        let log = engine.connect(rng, 0) as Arc<dyn Log>;
        let cluster = Cluster::follow(log, &jungle, &options("s")).unwrap();
        (jungle, cluster)
    });
    let tree = servers[0].0.create_tree("t").unwrap();
    tree.set_retention(Retention::ByAge(DAY)).unwrap();
    let first = tree.update(|tx| tx.append(&[])).unwrap().revision;
    agree(&servers);
    // Ten days, for one of them.
    clocks[1].set(now + 14_400 * MINUTE);
    let theirs = servers[1].0.open_tree("t").unwrap();
    put(&theirs, "/", "n", 1);
    theirs.branch("b", theirs.snapshot().revision()).unwrap();
    let told = theirs.history(..).next().unwrap().unwrap();
    assert_eq!(told.time.as_micros(), now + 2 * MINUTE);
    for (jungle, _) in &servers {
        assert!(jungle.open_tree("t").unwrap().at(first).is_ok());
    }
    agree(&servers);
}

#[test]
fn the_engine_says_what_time_it_is() {
    let engine = NatsServers::start(1);
    let clock = SetClock::default();
    let jungle = Jungle::builder().clock(clock.clone()).build().unwrap();
    let options = Options { replicas: 1, ..options("ahead") };
    let cluster = Cluster::join(&engine.addresses(), &jungle, options).unwrap();
    let now = || {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
        i64::try_from(since.as_micros()).unwrap()
    };
    let before = now();
    clock.set(before + 600 * MINUTE);
    let tree = jungle.create_tree("t").unwrap();
    put(&tree, "/", "n", 1);
    let told = tree.history(..).next().unwrap().unwrap().time.as_micros() - 2 * MINUTE;
    assert!((before - MINUTE..=now() + MINUTE).contains(&told), "{told}, {before}");
    cluster.leave();
}
