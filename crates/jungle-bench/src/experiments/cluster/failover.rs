//! How long a cluster's commits take to be seen elsewhere, and how long they stand still when the
//! server of the engine that leads the log is killed, or ends in order: three of them on loopback,
//! three replicas, each synced before it answers.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use jungle_cluster::{Cluster, Options as Member, Survey};
use jungle_db::{Jungle, Revision, TreeHandle};
use jungle_testkit::NatsServers;

use super::super::Options;
use super::super::turns::named;
use crate::Failure;
use crate::sample::Sample;
use crate::stats::{median, quantile};

/// So long commits, and reads, are waited for at most.
const PATIENCE: Duration = Duration::from_secs(60);

/// A server that commits, and another one.
struct Pair {
    tree: TreeHandle,
    ours: Cluster,
    other: TreeHandle,
    others: Cluster,
    _jungles: (Jungle, Jungle),
}

impl Pair {
    fn new(engine: &NatsServers) -> Result<Pair, Failure> {
        let member = || Member { replicas: 3, commit_within: PATIENCE, ..Member::default() };
        let (jungle, other) = (Jungle::new()?, Jungle::new()?);
        let ours = Cluster::join(&engine.addresses(), &jungle, member())?;
        let others = Cluster::join(&engine.addresses(), &other, member())?;
        let tree = jungle.create_tree("t")?;
        others.sync(PATIENCE)?;
        let there = other.open_tree("t")?;
        Ok(Pair { tree, ours, other: there, others, _jungles: (jungle, other) })
    }

    fn commit(&self, n: i64) -> Result<(), Failure> {
        self.tree.update(|tx| tx.put_attribute(&[], "n", n)).map(drop).map_err(Into::into)
    }
}

/// Milliseconds from the call of a commit on one server until another one shows it: the median,
/// and `seen-p99`; `seen-after-p99` from when the commit was acknowledged.
pub fn seen(options: Options) -> Result<Sample, Failure> {
    let commits = match (options.tiny, options.quick) {
        (true, _) => 8,
        (_, true) => 300,
        _ => 3_000,
    };
    let engine = NatsServers::start(3);
    let pair = Pair::new(&engine)?;
    let (mut whole, mut after) = (Vec::new(), Vec::new());
    for n in 0..commits {
        let begun = Instant::now();
        let seen = thread::scope(|scope| {
            let watcher = scope.spawn(|| pair.wait_for(n));
            pair.commit(n).map_err(|error| error.to_string())?;
            let acknowledged = Instant::now();
            let seen = watcher.join().map_err(|_| "the reader panicked")?;
            Ok::<_, String>(seen.map(|seen| (seen, acknowledged)))
        })?;
        let (seen, acknowledged) = seen.ok_or("a commit was not seen in time")?;
        whole.push(1e3 * (seen - begun).as_secs_f64());
        after.push(1e3 * seen.saturating_duration_since(acknowledged).as_secs_f64());
    }
    let numbers = [
        ("seen", median(&whole)),
        ("seen-p99", quantile(&whole, 0.99)),
        ("seen-after-p99", quantile(&after, 0.99)),
    ];
    Ok(named("ms", &numbers))
}

impl Pair {
    /// Waits until the other server shows a value; tells when that was.
    fn wait_for(&self, n: i64) -> Option<Instant> {
        let begun = Instant::now();
        while begun.elapsed() < PATIENCE {
            let before = self.others.status().revision;
            let there = self.other.read().root().attribute("n").and_then(|n| n.as_int());
            if there == Some(n) {
                return Some(Instant::now());
            }
            // What comes after that look ends the wait at once.
            let _ = self.others.wait_for(Revision::new(before.number() + 1), PATIENCE);
        }
        None
    }
}

/// Seconds without an acknowledged commit when the leader of the log is killed, and `drained`, when
/// it ends in order; `reads` = the longest time in milliseconds that a read took meanwhile. Nothing
/// acknowledged may be missing. All who keep the log are up to date before one of them ends, as
/// whoever ends one on purpose sees to.
pub fn resume(options: Options) -> Result<Sample, Failure> {
    let rounds = match (options.tiny, options.quick) {
        (true, _) => 1,
        (_, true) => 2,
        _ => 6,
    };
    let mut engine = NatsServers::start(3);
    let pair = Pair::new(&engine)?;
    let (mut gaps, mut reads) = ([Vec::new(), Vec::new()], Vec::new());
    let mut n = 0;
    for round in 0..2 * rounds {
        let is_drained = round % 2;
        let leader = leader(&pair.ours, &engine)?;
        let (is_over, slowest) = (AtomicBool::new(false), AtomicU64::new(0));
        let gap = thread::scope(|scope| {
            scope.spawn(|| read_until(&pair.tree, &is_over, &slowest));
            let gap = pair.longest_gap(&mut n, || match is_drained {
                0 => engine.kill(leader),
                _ => engine.drain(leader),
            });
            is_over.store(true, Ordering::SeqCst);
            gap
        })?;
        gaps[is_drained].push(gap);
        reads.push(slowest.into_inner() as f64 / 1e6);
        if is_drained == 1 {
            // It has ended by itself, or is about to.
            engine.kill(leader);
        }
        engine.restart(leader);
    }
    pair.others.sync(PATIENCE)?;
    let there = pair.other.read();
    let is_there = |n: &i64| there.root().attribute(&of_its_own(*n)).is_some();
    let lost = (1..=n).filter(|n| !is_there(n)).count() as u64;
    let [killed, drained] = &gaps;
    let numbers = [
        ("resume", median(killed)),
        ("resume-most", quantile(killed, 1.0)),
        ("drained", median(drained)),
        ("drained-most", quantile(drained, 1.0)),
    ];
    let sample = named("s", &numbers).with("reads", quantile(&reads, 1.0));
    Ok(sample.check_none(lost, "acknowledged commits lost"))
}

/// Where a number stays, so that it is seen if its commit is lost.
fn of_its_own(n: i64) -> String {
    format!("n{n}")
}

impl Pair {
    /// Commits, and has a server end on the way; the longest time in seconds between two
    /// acknowledgements.
    fn longest_gap(&self, n: &mut i64, end: impl FnOnce()) -> Result<f64, Failure> {
        const COMMITS: i64 = 100;
        let (mut longest, mut last, mut end) = (Duration::ZERO, Instant::now(), Some(end));
        for commit in 0..2 * COMMITS {
            if commit == COMMITS
                && let Some(end) = end.take()
            {
                end();
            }
            *n += 1;
            let kept = self.tree.update(|tx| tx.put_attribute(&[], &of_its_own(*n), *n));
            kept.map(drop)?;
            longest = longest.max(last.elapsed());
            last = Instant::now();
        }
        Ok(longest.as_secs_f64())
    }
}

fn read_until(tree: &TreeHandle, is_over: &AtomicBool, slowest: &AtomicU64) {
    while !is_over.load(Ordering::SeqCst) {
        let begun = Instant::now();
        std::hint::black_box(tree.read().root().attribute("n1").map(|n| n.to_value()));
        let nanos = u64::try_from(begun.elapsed().as_nanos()).unwrap_or(u64::MAX);
        slowest.fetch_max(nanos, Ordering::Relaxed);
        thread::yield_now();
    }
}

/// The server that leads the log, once the others have all of it.
fn leader(cluster: &Cluster, engine: &NatsServers) -> Result<usize, Failure> {
    let begun = Instant::now();
    while begun.elapsed() < PATIENCE {
        let Some(Survey { log, .. }) = cluster.survey(Duration::ZERO)? else { continue };
        let is_whole = !log.replicas.is_empty() && log.replicas.iter().all(|it| it.current);
        if let Some(at) = log.leader.filter(|_| is_whole).and_then(|it| engine.position(&it)) {
            return Ok(at);
        }
    }
    Err("the log has no leader, or others who keep it do not have all of it".into())
}
