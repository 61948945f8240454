//! Commits on three servers while all sorts of things happen to the engine and to them. What was
//! acknowledged is there in the end, once, on all of them; what was refused is not.
//! `cargo xtask torture cluster` runs many schedules, each from its seed.

mod tally;
mod world;

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use jungle_cluster::{Fault as Stopped, Survey};
use jungle_testkit::{Back, NatsServers, Passage, Rng};

use self::world::{PATIENCE, SERVERS, World};
use crate::support::{options, schedules, told};

/// How many faults a schedule has.
const FAULTS: &str = "CLUSTER_FAULTS";
/// How long the longest ones last, in milliseconds.
const LASTS_MS: &str = "CLUSTER_LASTS_MS";
/// How soon after a fault a commit must be acknowledged, in milliseconds.
const BACK_MS: &str = "CLUSTER_BACK_MS";
/// How many commits a second must be acknowledged while nothing happens.
const RATE_MIN: &str = "CLUSTER_RATE_MIN";

/// The engine's.
const ENGINE: usize = 3;
const CLIENTS: usize = 12;

/// What happens, for a while.
#[derive(Clone, Copy, Debug)]
enum Fault {
    /// The leader of the log is killed.
    LeaderKilled,
    /// All servers of the engine are killed at once.
    AllKilled,
    /// One of them stops, and does not notice.
    Paused,
    /// One of them is cut off from the others.
    CutOff,
    /// What one of them sends does not arrive; what it is sent does.
    Unheard,
    /// What they send each other stops now and then, as where packets are lost and sent again.
    Faltering,
    /// One of them loses all that it has.
    Wiped,
    /// The disk of one of them is a small one, and gets full.
    DiskFull,
    /// A byte of what one of them has of the log is another one; then it is wiped.
    Damaged,
    /// One of ours leaves, and comes back.
    Away,
    /// The clock of one of ours jumps, by up to a day, and back.
    ClockJumped,
}

const KINDS: [Fault; 11] = [
    Fault::LeaderKilled,
    Fault::CutOff,
    Fault::Damaged,
    Fault::Away,
    Fault::AllKilled,
    Fault::Paused,
    Fault::Unheard,
    Fault::Faltering,
    Fault::Wiped,
    Fault::DiskFull,
    Fault::ClockJumped,
];

#[test]
fn acknowledged_commits_survive_whatever_happens_to_the_engine() {
    let with = format!(" --faults {} --lasts-ms {}", count(), longest().as_millis());
    let mut calm = Calm::default();
    schedules("cluster", 2, &with, |rng| {
        let seed = rng.seed();
        let mut schedule = Schedule::new(seed);
        let world = World::new(&schedule.engine.addresses(), seed);
        let begun = Instant::now();
        thread::scope(|scope| {
            let _over = Over(&world);
            for client in 0..CLIENTS {
                let world = &world;
                scope.spawn(move || world.work(client % SERVERS));
            }
            for fault in faults(seed) {
                schedule.suffer(fault, &world);
            }
        });
        let counts = world.tally.counts();
        let rate = counts.acknowledged as f64 / begun.elapsed().as_secs_f64();
        println!("seed {seed}: {counts:?}, {rate:.0}/s, worst {:?}", schedule.worst);
        schedule.tend(&world);
        world.check();
        calm.commits += schedule.calm.commits;
        calm.time += schedule.calm.time;
    });
    let rate = calm.commits as f64 / calm.time.as_secs_f64();
    println!("while nothing happened: {rate:.0}/s");
    assert!(rate >= told(RATE_MIN, 0.0_f64), "only {rate:.0} commits a second");
}

/// What was acknowledged while nothing happened, and in how long.
#[derive(Default)]
struct Calm {
    commits: u64,
    time: Duration,
}

/// Ends the clients, also in a panic.
struct Over<'w>(&'w World);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.end();
    }
}

/// How many faults a schedule has.
fn count() -> u64 {
    told(FAULTS, 4)
}

/// What happens in the schedule of a seed. Those of seeds that follow each other go on in one row,
/// in which each kind comes before one comes again: short schedules have all of them, too.
fn faults(seed: u64) -> Vec<Fault> {
    let (first, kinds) = (seed.wrapping_mul(count()), KINDS.len() as u64);
    let fault = |at| {
        let place = first.wrapping_add(at);
        let mut round = KINDS;
        Rng::new(place / kinds).shuffle(&mut round);
        round[(place % kinds) as usize]
    };
    (0..count()).map(fault).collect()
}

/// How long a fault lasts at most.
fn longest() -> Duration {
    Duration::from_millis(told(LASTS_MS, 2_000))
}

struct Schedule {
    engine: NatsServers,
    rng: Rng,
    /// Something of the log is damaged, or was until just now: servers may notice.
    is_damaged: bool,
    worst: Back,
    calm: Calm,
}

impl Schedule {
    fn new(seed: u64) -> Schedule {
        let engine = NatsServers::start_relayed(ENGINE);
        let (worst, calm) = Default::default();
        Schedule { engine, rng: Rng::new(seed), is_damaged: false, worst, calm }
    }

    /// Some commits are acknowledged, and nothing happens.
    fn rest(&mut self, world: &World) {
        let (begun, before) = (Instant::now(), world.tally.counts().acknowledged);
        assert!(world.tally.wait(self.rng.range(20..80), PATIENCE), "{}", world.statuses());
        self.calm.commits += world.tally.counts().acknowledged - before;
        self.calm.time += begun.elapsed();
    }

    fn suffer(&mut self, fault: Fault, world: &World) {
        self.rest(world);
        let leader = self.leader();
        // Where there is a leader, more happens.
        let at = if self.rng.chance(1, 2) { leader } else { self.rng.index(ENGINE) };
        let lasts = self.lasts();
        match fault {
            Fault::LeaderKilled => {
                self.engine.kill(leader);
                world.tally.wait(u64::MAX, lasts);
                self.engine.restart(leader);
            }
            Fault::AllKilled => {
                (0..ENGINE).for_each(|at| self.engine.kill(at));
                (0..ENGINE).for_each(|at| self.engine.restart(at));
            }
            Fault::Paused => {
                self.engine.pause(at);
                world.tally.wait(u64::MAX, lasts);
                self.engine.resume(at);
            }
            Fault::CutOff => {
                let passage = self.passage();
                self.engine.part(at, passage);
                world.tally.wait(u64::MAX, lasts);
                self.engine.mend();
            }
            Fault::Unheard => {
                self.silence(at);
                world.tally.wait(u64::MAX, lasts);
                self.engine.mend();
            }
            Fault::Faltering => self.falter(lasts, world),
            Fault::Wiped => self.wipe(at, world),
            Fault::DiskFull => self.fill(at, lasts, world),
            Fault::Damaged => self.damage(at, lasts, world),
            Fault::Away => {
                let ours = self.rng.index(SERVERS);
                println!("  s{ours} leaves");
                world.leave(ours);
                world.tally.wait(self.rng.range(50..600), lasts);
                world.enter(ours);
            }
            Fault::ClockJumped => {
                let (ours, hours) = (self.rng.index(SERVERS), self.rng.range(1..25) as i64);
                let hours = if self.rng.chance(1, 2) { hours } else { -hours };
                println!("  the clock of s{ours} jumps by {hours} hours");
                world.set_clock(ours, hours);
                world.tally.wait(self.rng.range(50..600), lasts);
                world.set_clock(ours, 0);
            }
        }
        let back = self.back(fault, world);
        println!("  {fault:?} of n{at} (leader n{leader}) for {lasts:.1?}: {back:.1?}");
        if matches!(fault, Fault::Wiped | Fault::Damaged | Fault::DiskFull) {
            // No other one may be lost before that.
            self.survey(|survey| {
                let current = survey.log.replicas.iter().filter(|replica| replica.current);
                current.count() == ENGINE - 1
            });
        }
        self.is_damaged = false;
    }

    fn lasts(&mut self) -> Duration {
        let most = longest() / *self.rng.pick(&[1, 4, 16]);
        most.mul_f64(self.rng.range(5..100) as f64 / 100.0)
    }

    fn passage(&mut self) -> Passage {
        *self.rng.pick(&[Passage::Held, Passage::Lost])
    }

    /// Nothing of what one sends arrives at the others, or at one of them.
    fn silence(&mut self, at: usize) {
        let passage = self.passage();
        let only = self.rng.chance(1, 2).then(|| (at + 1 + self.rng.index(2)) % ENGINE);
        for other in (0..ENGINE).filter(|&other| other != at) {
            if only.is_none_or(|only| only == other) {
                self.engine.pass(at, other, passage);
            }
        }
    }

    /// One way after the other stops for a moment.
    fn falter(&mut self, lasts: Duration, world: &World) {
        let begun = Instant::now();
        while begun.elapsed() < lasts {
            let (from, to) = (self.rng.index(ENGINE), 1 + self.rng.index(ENGINE - 1));
            self.engine.pass(from, (from + to) % ENGINE, Passage::Held);
            world.tally.wait(u64::MAX, Duration::from_millis(self.rng.range(10..300)));
            self.engine.mend();
        }
    }

    /// One server loses what it has. It may not come back, and vote, before the others have gone on
    /// without it: until then some of what is acknowledged only it and the leader may have.
    fn wipe(&mut self, at: usize, world: &World) {
        self.engine.kill(at);
        self.go_on(world);
        fs::remove_dir_all(self.engine.kept(at)).unwrap();
        self.engine.restart(at);
    }

    /// One server goes on with nothing, on a disk that gets full; then it has its own again. As
    /// when it is wiped, the others have gone on each time.
    fn fill(&mut self, at: usize, lasts: Duration, world: &World) {
        self.engine.kill(at);
        self.go_on(world);
        let bytes = self.rng.range(1..4) << 19;
        if self.engine.restart_on_small_disk(at, bytes) {
            let (begun, mut is_full) = (Instant::now(), false);
            while !is_full && begun.elapsed() < longest() {
                world.tally.wait(100, Duration::from_millis(100));
                is_full = self.engine.has_said(at, "JetStream out of");
            }
            world.tally.wait(u64::MAX, lasts);
            println!("  n{at} had {bytes} bytes: {}", if is_full { "full" } else { "enough" });
            self.engine.kill(at);
            self.go_on(world);
        } else {
            println!("  n{at} has no small disk: the system does not give one");
        }
        self.engine.restart(at);
    }

    /// One server goes on with a damaged copy of the log, also as one of two, until it is wiped.
    /// One of ours comes back meanwhile, and may read what is damaged: then it says so.
    fn damage(&mut self, at: usize, lasts: Duration, world: &World) {
        self.engine.kill(at);
        self.go_on(world);
        self.flip(at);
        self.is_damaged = true;
        let ours = self.rng.index(SERVERS);
        world.leave(ours);
        self.engine.restart(at);
        let other = self.rng.chance(1, 2).then(|| (at + 1 + self.rng.index(2)) % ENGINE);
        other.into_iter().for_each(|other| self.engine.kill(other));
        if let Err(error) = world.try_to_enter(ours) {
            println!("  s{ours} did not get in: {error:?}");
        }
        world.tally.wait(u64::MAX, lasts);
        other.into_iter().for_each(|other| self.engine.restart(other));
        self.wipe(at, world);
        if !world.is_there(ours) {
            world.enter(ours);
        }
    }

    /// Changes one bit of the log's messages, as one server keeps them.
    fn flip(&mut self, at: usize) {
        let folder = self.engine.kept(at).join("jetstream/JUNGLE/streams/jungle-jungle/msgs");
        let files = fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
        let blocks = files.filter(|file| file.extension().is_some_and(|kind| kind == "blk"));
        let mut blocks: Vec<_> = blocks.collect();
        blocks.sort();
        let block = self.rng.pick(&blocks);
        let mut bytes = fs::read(block).unwrap();
        let byte = self.rng.index(bytes.len());
        bytes[byte] ^= 1 << self.rng.below(8);
        fs::write(block, bytes).unwrap();
        println!("  n{at} damaged at byte {byte} of {}", block.display());
    }

    /// Waits until the engine says that something is so.
    fn survey(&self, is_so: impl Fn(&Survey) -> bool) -> Survey {
        let begun = Instant::now();
        let options = options("asks");
        let addresses = self.engine.addresses();
        loop {
            let survey = Survey::take(&addresses, &options, Duration::ZERO);
            match survey {
                Ok(survey) if survey.log.leader.is_some() && is_so(&survey) => return survey,
                survey => assert!(begun.elapsed() < PATIENCE, "{survey:?}"),
            }
        }
    }

    fn leader(&self) -> usize {
        let leader = self.survey(|_| true).log.leader.unwrap();
        self.engine.position(&leader).unwrap()
    }

    /// Commits are acknowledged that were not on their way yet.
    fn go_on(&self, world: &World) {
        let begun = Instant::now();
        while !world.tally.wait(2 * CLIENTS as u64, Duration::from_millis(200)) {
            self.tend(world);
            assert!(begun.elapsed() < PATIENCE, "no commits\n{}", world.statuses());
        }
    }

    /// Waits until there are commits on all servers again; tells how long it took.
    fn back(&mut self, fault: Fault, world: &World) -> Back {
        world.tally.heal();
        let begun = Instant::now();
        loop {
            self.tend(world);
            if let Some(back) = world.tally.wait_back(Duration::from_millis(200)) {
                let Back { first, all } = &mut self.worst;
                (*first, *all) = (back.first.max(*first), back.all.max(*all));
                let limit = told(BACK_MS, PATIENCE.as_millis());
                assert!(back.first.as_millis() <= limit, "after {fault:?}: {back:?}");
                return back;
            }
            let statuses = || world.statuses();
            assert!(begun.elapsed() < PATIENCE, "no commits after {fault:?}\n{}", statuses());
        }
    }

    /// Servers that stopped with a reason are started again, as they say.
    fn tend(&self, world: &World) {
        while let Some((at, fault)) = world.stopped() {
            let may_be = match &*fault {
                Stopped::Trimmed { .. } => true,
                Stopped::Gap { .. } | Stopped::Damaged { .. } | Stopped::NotRead { .. } => {
                    self.is_damaged
                }
                _ => false,
            };
            assert!(may_be, "s{at} follows no further: {fault}");
            println!("  s{at} begins again: {fault}");
            world.leave(at);
            world.enter(at);
        }
    }
}
