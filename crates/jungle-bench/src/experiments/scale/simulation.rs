//! A thousand servers in virtual time: real Jungles, which follow a log by the cluster's own code.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Instant;

use jungle_cluster::{Cluster, Options as Member};
use jungle_db::{Jungle, TreeHandle, UpdateError};
use jungle_tree::{ArenaOptions, EditError, Key};

use super::world::{Told, World};
use crate::Failure;
use crate::experiments::Options;
use crate::sample::Sample;
use crate::scale::{Network, SIMULATED, Site, Topology};
use crate::stats::quantile;
use crate::workload::Random;

/// Between two commits of the whole, in the middle: 50 a second.
const PACE_NS: u64 = 20_000_000;
/// So many places there are that commits write to without looking.
const PLACES: u64 = 64;
/// One commit in so many counts on from what it finds.
const COUNTS_EACH: u64 = 4;
/// In one of so many places.
const COUNTERS: u64 = 8;

/// Of each topology, in virtual time: microseconds from when a commit is sent until all servers
/// show it, the median (`star-seen`) and `star-seen-p99`; how often a commit was sent until it was
/// first (`star-sent`), so that it was rebased each time but the last; how often its closure ran
/// (`star-ran`), since what it had read was changed. `memory` = of the process, `took` = seconds of
/// real time. All servers must be equal in the end, and have each count once.
pub fn sample(options: Options) -> Result<Sample, Failure> {
    let (servers, commits) = match (options.tiny, options.quick) {
        (true, _) => (options.threads.min(12), 12),
        (_, true) => (options.threads, 60),
        _ => (options.threads, 300),
    };
    let begun = Instant::now();
    let mut sample = Sample::value(servers as f64, "x");
    for topology in Topology::ALL {
        let run = simulate(topology, servers, commits, options.seed)?;
        let seen: Vec<f64> = run.told.seen_ns.iter().map(|nanos| *nanos as f64 / 1e3).collect();
        let numbers = [
            ("seen", quantile(&seen, 0.5)),
            ("seen-p99", quantile(&seen, 0.99)),
            ("sent", run.told.attempts as f64 / commits as f64),
            ("ran", run.runs as f64 / commits as f64),
        ];
        for (name, number) in numbers {
            sample = sample.with(&format!("{}-{name}", topology.name()), number);
        }
        let what = format!("servers of the {} with other content", topology.name());
        sample = sample.check_none(run.different, &what);
        let lost = commits.abs_diff(seen.len() as u64) + run.counts_wrong;
        sample = sample.check_none(lost, "commits lost, or made twice");
    }
    let took = begun.elapsed().as_secs_f64();
    Ok(sample.with("memory", memory_bytes()).with("took", took))
}

/// What came of a simulation.
#[derive(Debug, PartialEq, Eq)]
struct Run {
    told: Told,
    /// How often closures ran.
    runs: u64,
    /// How many servers have other content than the first, or another revision.
    different: u64,
    /// By how much the counters are wrong.
    counts_wrong: u64,
    /// The content of the first.
    hash: String,
}

/// One commit.
#[derive(Clone, Copy)]
enum Work {
    Write { place: u64, value: i64 },
    Count { counter: u64 },
}

type Servers = Vec<(Jungle, Cluster)>;

fn simulate(topology: Topology, servers: usize, commits: u64, seed: u64) -> Result<Run, Failure> {
    let network = Network::new(topology, servers);
    let world = World::new(network, &SIMULATED, &Site::default(), seed);
    let all = (0..servers).map(|server| join(&world, server)).collect::<Result<Servers, _>>()?;
    world.add_client();
    world.want(0, 0);
    thread::scope(|scope| {
        let made = scope.spawn(|| {
            let is_made = world.next_commit(0) && make_tree(&all[0].0).is_ok();
            world.remove_client();
            is_made
        });
        let ran = world.run();
        match made.join() {
            Ok(true) => ran.map(drop),
            _ => Err("the tree of the simulation could not be made".into()),
        }
    })?;
    let mut random = Random(seed ^ 0x5ca1e);
    let mut plan: Vec<Vec<Work>> = vec![Vec::new(); servers];
    for value in 0..commits {
        let server = random.below(servers as u64) as usize;
        world.want(server, 1_000_000_000 + random.below(commits * PACE_NS / 1_000) * 1_000);
        plan[server].push(match random.below(COUNTS_EACH) {
            0 => Work::Count { counter: random.below(COUNTERS) },
            _ => Work::Write { place: random.below(PLACES), value: value as i64 },
        });
    }
    let runs = AtomicU64::new(0);
    let told = thread::scope(|scope| {
        for (server, works) in plan.iter().enumerate().filter(|(_, works)| !works.is_empty()) {
            world.add_client();
            let (world, runs, jungle) = (&world, &runs, &all[server].0);
            scope.spawn(move || work(world, server, jungle, works, runs));
        }
        let told = world.run();
        world.end();
        told
    })?;
    let counts = plan.concat().iter().filter(|work| matches!(work, Work::Count { .. })).count();
    let (hash, different, counted) = look(&all)?;
    let counts_wrong = counted.abs_diff(counts as u64);
    Ok(Run { told, runs: runs.into_inner(), different, counts_wrong, hash })
}

fn join(world: &Arc<World>, server: usize) -> Result<(Jungle, Cluster), Failure> {
    // A little of the address range for each of many.
    let arena = ArenaOptions { structure_bytes: 64 << 20, payload_bytes: 64 << 20, spill: None };
    let jungle = Jungle::builder().arena(arena).build()?;
    let member = Member { server: format!("server-{server}"), ..Member::default() };
    let cluster = Cluster::follow(world.connect(server), &jungle, &member)?;
    Ok((jungle, cluster))
}

fn make_tree(jungle: &Jungle) -> Result<(), Failure> {
    let tree = jungle.create_tree("t")?;
    tree.update(|tx| (0..PLACES).try_for_each(|_| tx.append(&[]).map(drop)))?;
    Ok(())
}

/// A client of one server: each of its commits when it is wanted.
fn work(world: &World, server: usize, jungle: &Jungle, works: &[Work], runs: &AtomicU64) {
    let mut works = works.iter();
    while world.next_commit(server) {
        let tree = jungle.open_tree("t");
        if let (Some(work), Ok(tree)) = (works.next(), tree) {
            // One that fails is missed in the number of messages.
            let _ = commit(&tree, *work, runs);
        }
    }
}

fn commit(tree: &TreeHandle, work: Work, runs: &AtomicU64) -> Result<(), Failure> {
    tree.update(|tx| {
        runs.fetch_add(1, Ordering::Relaxed);
        match work {
            Work::Write { place, value } => tx.put_attribute(&[Key::from(place)], "n", value),
            Work::Count { counter } => {
                let name = format!("count-{counter}");
                let count = tx.attribute(&[], &name)?.and_then(|count| count.as_int());
                tx.put_attribute(&[], &name, count.unwrap_or(0) + 1)
            }
        }
    })
    .map_err(|error: UpdateError<EditError>| error)?;
    Ok(())
}

/// The content of the first server, how many have another, and how often was counted.
fn look(all: &Servers) -> Result<(String, u64, u64), Failure> {
    let portrait = |jungle: &Jungle| -> Result<_, Failure> {
        Ok((jungle.revision(), jungle.open_tree("t")?.snapshot().root().content_hash()))
    };
    let (jungle, _) = all.first().ok_or("there are no servers")?;
    let first = portrait(jungle)?;
    let mut different = 0;
    for (jungle, cluster) in all {
        let is_same = portrait(jungle)? == first && cluster.status().fault.is_none();
        different += u64::from(!is_same);
    }
    let tree = jungle.open_tree("t")?.snapshot();
    let count = |counter| {
        let count = tree.root().attribute(&format!("count-{counter}"));
        count.and_then(|count| count.as_int()).unwrap_or(0)
    };
    Ok((first.1.to_string(), different, (0..COUNTERS).map(count).sum::<i64>().unsigned_abs()))
}

/// The most memory that this process has had; 0 where nothing tells.
fn memory_bytes() -> f64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = peak.and_then(|peak| peak.trim().strip_suffix("kB")?.trim().parse().ok());
    kilobytes.map_or(0.0, |kilobytes: f64| 1024.0 * kilobytes)
}

#[cfg(test)]
mod tests {
    use super::simulate;
    use crate::scale::{SIMULATED, Site, Topology, predict};
    use crate::stats::quantile;

    #[test]
    fn equal_seeds_give_equal_runs_and_all_servers_agree() {
        for topology in Topology::ALL {
            let run = |seed| simulate(topology, 20, 40, seed).unwrap();
            let first = run(7);
            assert_eq!((first.different, first.counts_wrong), (0, 0), "{topology:?}, seed 7");
            assert_eq!(first.told.seen_ns.len(), 40, "{topology:?}, seed 7");
            assert_eq!(run(7), first, "{topology:?}, seed 7");
            assert_ne!(run(8).told, first.told, "{topology:?}");
        }
    }

    /// What was worked out for a version that is not the newest any more is sent again, and only
    /// what had read something that changed runs again.
    #[test]
    fn commits_that_lose_are_rebased() {
        let run = simulate(Topology::Ring, 60, 60, 3).unwrap();
        assert!(run.told.attempts > 60 && run.runs >= 60, "{run:?}");
        assert!(run.runs < run.told.attempts, "{run:?}");
        assert_eq!((run.different, run.counts_wrong), (0, 0), "{run:?}");
    }

    /// Where nobody is in the way, the model and the simulation say the same, whose hops take up to
    /// a fifth longer, half of that on average.
    #[test]
    fn the_model_says_what_the_simulation_does() {
        for topology in Topology::ALL {
            let run = simulate(topology, 50, 30, 5).unwrap();
            let seen: Vec<f64> = run.told.seen_ns.iter().map(|nanos| *nanos as f64 / 1e3).collect();
            let predicted = predict(&SIMULATED, &Site::default(), topology, 50, 1.0).seen_us;
            let error = predicted / quantile(&seen, 0.5) - 1.0;
            assert!(error.abs() < 0.15, "{topology:?}: {error} of {predicted}, {seen:?}");
        }
    }
}
