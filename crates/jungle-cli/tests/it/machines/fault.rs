//! What happens to machines and what runs on them, several things at once.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use jungle_testkit::Rng;

use super::world::World;
use super::{PATIENCE, RESUMED_MS, SERVERS, told};

/// What happens, for a while.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Kind {
    /// The leader of the log, a server of the engine, is killed.
    LeaderKilled,
    /// A server of the engine stops, and does not notice.
    EnginePaused,
    /// A server of ours is killed.
    Killed,
    /// A server of ours stops, and does not notice.
    Paused,
    /// A server of ours is killed, and loses all that it has.
    Wiped,
    /// A machine loses its power: all that runs there is killed at once.
    PowerLost,
    /// All machines do.
    AllPowerLost,
    /// A machine's cable is pulled.
    Unplugged,
    /// A machine and the others do not hear each other.
    Parted,
    /// What a machine sends to another one, or to both, is lost; what they send is not.
    Unheard,
}

pub(crate) const KINDS: [Kind; 10] = [
    Kind::LeaderKilled,
    Kind::EnginePaused,
    Kind::Killed,
    Kind::Paused,
    Kind::Wiped,
    Kind::PowerLost,
    Kind::AllPowerLost,
    Kind::Unplugged,
    Kind::Parted,
    Kind::Unheard,
];

/// One of these happens by itself, before others do: posts are to go on soon.
pub(crate) const ALONE: [Kind; 3] = [Kind::Killed, Kind::LeaderKilled, Kind::PowerLost];

/// How long after a fault another one counts as one that happens by itself: what was killed is
/// there again, and has what it missed.
const CALM: Duration = Duration::from_secs(8);

/// What was killed by itself.
pub(crate) type Resumed = BTreeMap<&'static str, Kills>;

/// How often that was, and how long at most no post was acknowledged then.
#[derive(Clone, Copy, Default)]
pub(crate) struct Kills {
    pub(crate) times: u64,
    pub(crate) longest: Duration,
}

impl Kills {
    pub(crate) fn add(&mut self, more: Kills) {
        self.times += more.times;
        self.longest = self.longest.max(more.longest);
    }
}

/// What at most one fault has at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    Engine(usize),
    Ours(usize),
    Cable(usize),
    /// What is lost between machines, of which there is one account.
    Ways,
}

/// One that lasts.
struct Fault {
    kind: Kind,
    at: usize,
    parts: Vec<Part>,
    over: Instant,
    /// The longest time meanwhile in which no post was acknowledged.
    gap: Duration,
    /// Nothing else has happened since it began, nor shortly before.
    is_alone: bool,
}

impl Fault {
    /// What was killed, if that is all there was to it.
    fn killed(&self) -> Option<&'static str> {
        match (self.kind, &self.parts[..]) {
            (Kind::Killed, _) => Some("a server"),
            (Kind::LeaderKilled, _) | (Kind::PowerLost, [_]) => Some("the log's leader"),
            (Kind::PowerLost, _) => Some("both"),
            _ => None,
        }
    }
}

/// Those that last.
pub(crate) struct Faults {
    now: Vec<Fault>,
    /// Those that are over, until a post is acknowledged behind so many.
    ended: Vec<(u64, Fault)>,
    /// When that was so of all, if there were any.
    calm: Option<Instant>,
    pub(crate) resumed: Resumed,
    /// The machine of which the server of ours is left alone.
    spared: Option<usize>,
    /// How many there were at once, at most.
    pub(crate) most: usize,
    /// The longest time in which no post was acknowledged, also after they were over.
    pub(crate) gap: Duration,
}

impl Faults {
    pub(crate) fn new(spared: Option<usize>) -> Faults {
        Faults {
            now: Vec::new(),
            ended: Vec::new(),
            calm: None,
            resumed: Resumed::new(),
            spared,
            most: 0,
            gap: Duration::ZERO,
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.now.is_empty()
    }

    /// Are all over, and was a post acknowledged since?
    pub(crate) fn are_past(&self) -> bool {
        self.now.is_empty() && self.ended.is_empty()
    }

    /// For so long no post was acknowledged; of those that are, so many were before that was known.
    pub(crate) fn note(&mut self, gap: Duration, acknowledged: u64) {
        self.gap = self.gap.max(gap);
        let ended = self.ended.iter_mut().map(|(_, fault)| fault);
        self.now.iter_mut().chain(ended).for_each(|fault| fault.gap = fault.gap.max(gap));
        let is_past = |(before, _): &mut (u64, Fault)| *before < acknowledged;
        let past: Vec<(u64, Fault)> = self.ended.extract_if(.., is_past).collect();
        for (_, fault) in past {
            self.judge(&fault);
            self.calm = Some(Instant::now());
        }
    }

    /// Did posts go on soon after something was killed, if nothing else happened?
    fn judge(&mut self, fault: &Fault) {
        let Some(killed) = fault.killed().filter(|_| fault.is_alone) else { return };
        let (gap, limit) = (fault.gap, told(RESUMED_MS, PATIENCE.as_millis()));
        println!("  kill of {killed} by itself: resumed after {gap:.1?}");
        assert!(gap.as_millis() <= limit, "kill of {killed}: resumed only after {gap:.1?}");
        self.resumed.entry(killed).or_default().add(Kills { times: 1, longest: gap });
    }

    /// Begins one somewhere; tells whether there was a place for it.
    pub(crate) fn begin(
        &mut self,
        kind: Kind,
        longest: Duration,
        world: &World<'_>,
        rng: &mut Rng,
    ) -> bool {
        let is_calm = self.calm.is_none_or(|calm| calm.elapsed() >= CALM);
        let is_alone = self.are_past() && is_calm;
        let at = match kind {
            Kind::LeaderKilled => world.leader(),
            // By itself it takes the leader along.
            Kind::PowerLost if is_alone => world.leader(),
            _ => None,
        };
        let at = at.unwrap_or_else(|| rng.index(SERVERS));
        let parts = self.parts(kind, at);
        if !self.is_free(kind, at, &parts) {
            return false;
        }
        let lasts = lasts(kind, longest, rng);
        println!("  {}: {kind:?} at m{at} for {lasts:.1?}", world.progress());
        self.strike(kind, at, world, rng);
        let (over, gap) = (Instant::now() + lasts, Duration::ZERO);
        let ended = self.ended.iter_mut().map(|(_, fault)| fault);
        self.now.iter_mut().chain(ended).for_each(|fault| fault.is_alone = false);
        self.now.push(Fault { kind, at, parts, over, gap, is_alone });
        self.most = self.most.max(self.now.len());
        true
    }

    /// What it takes.
    fn parts(&self, kind: Kind, at: usize) -> Vec<Part> {
        let powered = |at| {
            let ours = (self.spared != Some(at)).then_some(Part::Ours(at));
            [Part::Engine(at)].into_iter().chain(ours)
        };
        match kind {
            Kind::LeaderKilled | Kind::EnginePaused => vec![Part::Engine(at)],
            Kind::Killed | Kind::Paused | Kind::Wiped => vec![Part::Ours(at)],
            Kind::PowerLost => powered(at).collect(),
            Kind::AllPowerLost => (0..SERVERS).flat_map(powered).collect(),
            Kind::Unplugged => vec![Part::Cable(at)],
            Kind::Parted | Kind::Unheard => vec![Part::Ways],
        }
    }

    fn is_free(&self, kind: Kind, at: usize, parts: &[Part]) -> bool {
        let taken = |part| self.now.iter().any(|fault| fault.parts.contains(part));
        // Stopped is as good as killed for what is measured of it.
        let is_spared = |part: &Part| self.spared.is_some_and(|at| *part == Part::Ours(at));
        let mut suffering: BTreeSet<usize> = self.now.iter().map(|fault| fault.at).collect();
        suffering.insert(at);
        let few = suffering.len() < SERVERS || kind == Kind::AllPowerLost;
        few && !parts.iter().any(|part| taken(part) || is_spared(part))
    }

    fn strike(&self, kind: Kind, at: usize, world: &World<'_>, rng: &mut Rng) {
        let ours = |at| self.spared != Some(at);
        match kind {
            Kind::LeaderKilled => world.engine().kill(at),
            Kind::EnginePaused => world.engine().pause(at),
            Kind::Killed => world.server(at).kill(),
            Kind::Paused => world.server(at).pause(),
            Kind::Wiped => {
                world.server(at).kill();
                world.server(at).wipe();
            }
            Kind::PowerLost => world.lose_power(&[at], ours),
            Kind::AllPowerLost => world.lose_power(&[0, 1, 2], ours),
            Kind::Unplugged => world.machines.unplug(at),
            Kind::Parted => world.machines.part(&[at], &others(at)),
            Kind::Unheard => {
                let only = rng.chance(1, 2).then(|| *rng.pick(&others(at)));
                let unheard = others(at).into_iter().filter(|&to| only.is_none_or(|it| it == to));
                unheard.for_each(|to| world.machines.lose(at, to));
            }
        }
    }

    /// Ends those that have lasted long enough.
    pub(crate) fn end_over(&mut self, world: &World<'_>) {
        let now = Instant::now();
        for fault in self.now.extract_if(.., |fault| fault.over <= now) {
            let Fault { kind, at, gap, .. } = fault;
            println!("  {}: {kind:?} at m{at} is over, no post for {gap:.1?}", world.progress());
            for &part in &fault.parts {
                match (kind, part) {
                    (Kind::EnginePaused, Part::Engine(at)) => world.engine().resume(at),
                    (_, Part::Engine(at)) => world.engine().restart(at),
                    (Kind::Paused, Part::Ours(at)) => world.server(at).resume(),
                    (_, Part::Ours(at)) => world.server(at).start(),
                    (_, Part::Cable(at)) => world.machines.plug(at),
                    (_, Part::Ways) => world.machines.mend(),
                }
            }
            self.ended.push((world.tally.counts().acknowledged, fault));
        }
    }
}

fn others(at: usize) -> [usize; 2] {
    [(at + 1) % SERVERS, (at + 2) % SERVERS]
}

fn lasts(kind: Kind, longest: Duration, rng: &mut Rng) -> Duration {
    // Without any power there is little to look at.
    let parts = if kind == Kind::AllPowerLost { [4, 8, 16] } else { [1, 1, 4] };
    (longest / *rng.pick(&parts)).mul_f64(rng.range(10..100) as f64 / 100.0)
}
