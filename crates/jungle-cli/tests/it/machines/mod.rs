//! Posts over HTTP to three servers, each beside a server of the engine on a machine of its own,
//! while processes are killed and stopped, machines lose their power, and what they send each
//! other is lost: also while something else has not come back yet. What was acknowledged is there
//! in the end, once, on all of them. `cargo xtask torture machines` runs many schedules, each from
//! its seed, or holds one for as long as is said.
//!
//! What is left out: no more than two machines suffer at once, but for a loss of power everywhere,
//! since with all three nothing would be left that could go on wrongly; and the engine's servers
//! lose nothing that they had on disk, for which they must wait for each other: `torture cluster`
//! does that.

mod clients;
mod fault;
mod memory;
mod server;
mod world;

use std::str::FromStr;
use std::thread;
use std::time::{Duration, Instant};

use jungle_testkit::{Back, Machines, Rng, for_each_seed};

use self::fault::{Faults, Kills, Kind, Resumed};
use self::memory::Memory;
use self::world::World;

const TEST: &str = "machines::posts_survive_whatever_happens_to_machines";

/// How many random schedules are run.
const SCHEDULES: &str = "MACHINES_SCHEDULES";
/// The first of their seeds.
const SEED: &str = "MACHINES_SEED";
/// How many faults a schedule has; each kind comes before one comes again.
const FAULTS: &str = "MACHINES_FAULTS";
/// How long the longest ones last, in milliseconds.
const LASTS_MS: &str = "MACHINES_LASTS_MS";
/// How soon after the last one a post must be acknowledged, in milliseconds.
const BACK_MS: &str = "MACHINES_BACK_MS";
/// How soon one must be after something was killed, and nothing else happened.
const RESUMED_MS: &str = "MACHINES_RESUMED_MS";
/// How long one schedule is held instead, with a fault every twenty seconds.
const MINUTES: &str = "MACHINES_MINUTES";

const SERVERS: usize = 3;
/// How long anything may take in the end: the machine may have little time for us.
const PATIENCE: Duration = Duration::from_secs(60);
/// How often it is looked whether something is to be done.
const TICK: Duration = Duration::from_millis(100);
/// A fault every so often where a schedule is held.
const EVERY: Duration = Duration::from_secs(20);
/// How many revisions are kept there.
const KEPT: u64 = 1_000;

#[test]
fn posts_survive_whatever_happens_to_machines() {
    let minutes: u64 = told(MINUTES, 0);
    let ran = Machines::run(TEST, SERVERS, |machines| {
        let (schedules, first) = (told(SCHEDULES, 2), told(SEED, 0));
        println!("machines: {schedules} points from seed {first}");
        let mut points = Points { passed: 0, seed: first, minutes, resumed: Resumed::new() };
        for_each_seed(schedules, |rng| {
            points.seed = first + rng.seed();
            let begun = Instant::now();
            let world = World::new(machines, points.seed);
            let (memory, resumed) = Schedule::new(&world, points.seed, minutes).run();
            for (killed, kills) in resumed {
                points.resumed.entry(killed).or_default().add(kills);
            }
            world.check();
            memory.iter().for_each(Memory::judge);
            points.passed += 1;
            println!("  {:.0?}", begun.elapsed());
        });
    });
    // Who asks for some gets them, or a failure.
    assert!(ran || std::env::var_os(SCHEDULES).is_none(), "the system gives no machines");
}

/// What the environment says.
fn told<T: FromStr<Err: std::fmt::Debug>>(name: &str, usual: T) -> T {
    std::env::var(name).map_or(usual, |told| told.parse().unwrap())
}

/// How long the longest faults last.
fn longest() -> Duration {
    Duration::from_millis(told(LASTS_MS, 2_000))
}

/// Says how many schedules passed, and what repeats the one that did not.
struct Points {
    passed: u64,
    seed: u64,
    minutes: u64,
    resumed: Resumed,
}

impl Drop for Points {
    fn drop(&mut self) {
        let failed = u64::from(thread::panicking());
        if failed > 0 {
            let held = match self.minutes {
                0 => "--schedules 1".to_owned(),
                minutes => format!("--minutes {minutes}"),
            };
            println!("again: cargo xtask torture machines {held} --seed {}", self.seed);
        }
        // The ledger counts them: a bar asks for those of a server, and of both.
        for (killed, Kills { times, longest }) in &self.resumed {
            println!("kill of {killed}: {times} alone, resumed after at most {longest:.1?}");
        }
        println!("{} passed, {failed} failed", self.passed);
    }
}

/// What happens, and when.
struct Schedule<'w> {
    world: &'w World<'w>,
    rng: Rng,
    seed: u64,
    /// Those that are to come, the next one last.
    kinds: Vec<Kind>,
    faults: Faults,
    /// There if the schedule is held.
    memory: Option<Memory>,
}

impl<'w> Schedule<'w> {
    fn new(world: &'w World<'w>, seed: u64, minutes: u64) -> Schedule<'w> {
        let is_held = minutes > 0;
        let held = minutes * 60 / EVERY.as_secs();
        let count = if is_held { held as usize } else { told(FAULTS, 2) };
        let (mut rng, mut kinds) = (Rng::new(seed), Vec::new());
        while kinds.len() < count {
            let mut all = fault::KINDS;
            rng.shuffle(&mut all);
            kinds.extend(all);
        }
        kinds.truncate(count);
        let memory = is_held.then(|| Memory::new(SERVERS - 1));
        let faults = Faults::new(memory.as_ref().map(|memory| memory.spared));
        Schedule { world, rng, seed, kinds, faults, memory }
    }

    fn run(mut self) -> (Option<Memory>, Resumed) {
        let world = self.world;
        let begun = Instant::now();
        thread::scope(|scope| {
            let _over = Over(world);
            world.begin(scope);
            if self.memory.is_some() {
                world.keep(KEPT);
                scope.spawn(|| world.sweep());
            }
            assert!(world.tally.wait(100, PATIENCE), "no posts\n{}", world.said());
            self.suffer_one();
            self.suffer();
            let back = self.back();
            let (counts, rate) = (world.tally.counts(), world.rate(begun.elapsed()));
            let (seed, Faults { most, gap, .. }) = (self.seed, &self.faults);
            println!(
                "seed {seed}: {counts:?}, {rate:.0}/s, {most} faults at once, no post for \
                 {gap:.1?} at most, back {back:.1?}"
            );
            println!("  the slowest read of a server that was there: {:.1?}", world.slowest());
        });
        (self.memory, self.faults.resumed)
    }

    /// Lets one thing be killed, and nothing else happen until posts go on and it is there again.
    fn suffer_one(&mut self) {
        let kinds = fault::ALONE;
        let (kind, longest) = (kinds[self.seed as usize % kinds.len()], longest());
        let begun = Instant::now();
        while !self.faults.begin(kind, longest, self.world, &mut self.rng) {}
        while !self.faults.are_past() {
            self.tick();
            self.faults.end_over(self.world);
            assert!(begun.elapsed() < longest + PATIENCE, "no posts\n{}", self.world.said());
        }
    }

    /// Lets everything happen, and come to its end.
    fn suffer(&mut self) {
        let mut next = Instant::now();
        while !self.kinds.is_empty() || !self.faults.is_empty() {
            self.tick();
            self.faults.end_over(self.world);
            if next > Instant::now() {
                continue;
            }
            let Some(&kind) = self.kinds.last() else { continue };
            let longest = longest();
            // What it takes may be taken by another one: then it waits for that.
            if self.faults.begin(kind, longest, self.world, &mut self.rng) {
                self.kinds.pop();
                let pause = (longest / 4).mul_f64(self.rng.range(5..100) as f64 / 100.0);
                next = Instant::now() + if self.memory.is_some() { EVERY } else { pause };
            }
        }
    }

    fn tick(&mut self) {
        self.world.tally.wait(u64::MAX, TICK);
        // In this order: the gap before each of these is known then.
        let acknowledged = self.world.tally.counts().acknowledged;
        self.faults.note(self.world.tally.gap(), acknowledged);
        self.world.tend();
        if let Some(memory) = &mut self.memory {
            memory.look(self.world);
        }
    }

    /// Waits until there are posts on all servers again; tells how long it took.
    fn back(&mut self) -> Back {
        self.world.tally.heal();
        let healed = Instant::now();
        loop {
            self.tick();
            if let Some(back) = self.world.tally.wait_back(Duration::ZERO) {
                let limit = told(BACK_MS, PATIENCE.as_millis());
                assert!(back.first.as_millis() <= limit, "posts only after {back:?}");
                return back;
            }
            assert!(healed.elapsed() < PATIENCE, "no posts\n{}", self.world.said());
        }
    }
}

/// Ends the clients, also in a panic.
struct Over<'w>(&'w World<'w>);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.end();
    }
}
