//! The bars: what each case must reach.

use crate::systems::System;

/// What is compared.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bar {
    /// Ours is at least so many times the Haskell peer's.
    TimesHaskell(f64),
    /// Ours is at least so many times this peer's.
    Times(System, f64),
    /// Ours on 2 threads is at least so many times ours on 1.
    TimesOneThread(f64),
    /// Ours is at least so many times the machine's floor of the same run, on as many threads.
    TimesFloor(f64),
    /// Ours is more a second than this peer's.
    MoreThan(System),
    /// Ours is less than this peer's.
    LessThan(System),
    /// Ours is at most this.
    AtMost(f64),
    /// Ours is at most this in every round: a count of which one too many is wrong, or the longest
    /// of all, which is that of all rounds.
    NeverOver(f64),
    /// Ours is at least this.
    AtLeast(f64),
    /// Nothing: it is told beside what is judged.
    Told,
}

impl Bar {
    /// Whom ours is held against.
    pub fn peer(&self) -> Option<System> {
        match self {
            TimesHaskell(_) => Some(System::Haskell),
            TimesFloor(_) => Some(System::Machine),
            Times(peer, _) | MoreThan(peer) | LessThan(peer) => Some(*peer),
            TimesOneThread(_) | AtMost(_) | NeverOver(_) | AtLeast(_) | Told => None,
        }
    }
}

/// A bar, and where it holds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rule {
    /// The experiment.
    pub experiment: &'static str,
    /// The case.
    pub case: &'static str,
    /// On so many threads.
    pub threads: usize,
    /// What it must reach.
    pub bar: Bar,
}

const fn rule(experiment: &'static str, case: &'static str, threads: usize, bar: Bar) -> Rule {
    Rule { experiment, case, threads, bar }
}

use Bar::{
    AtLeast, AtMost, LessThan, MoreThan, NeverOver, Times, TimesFloor, TimesHaskell,
    TimesOneThread, Told,
};

/// Every bar, and what is told beside them.
pub const RULES: &[Rule] = &[
    rule("read", "count", 1, TimesHaskell(25.0)),
    rule("read", "count", 2, TimesHaskell(25.0)),
    rule("read", "count", 2, TimesOneThread(1.9)),
    rule("read", "visit", 1, TimesHaskell(12.0)),
    rule("read", "visit", 2, TimesHaskell(12.0)),
    rule("read", "visit", 2, TimesOneThread(1.9)),
    rule("read", "visit-attribute", 1, TimesHaskell(18.0)),
    rule("read", "visit-attribute", 2, TimesHaskell(18.0)),
    rule("read", "visit-attribute", 2, TimesOneThread(1.9)),
    rule("read", "visit-aged", 1, TimesHaskell(18.0)),
    rule("read", "visit-aged", 2, TimesHaskell(18.0)),
    rule("read", "visit-aged", 2, TimesOneThread(1.9)),
    rule("write", "nodes", 1, TimesHaskell(3.0)),
    rule("write", "nodes", 2, TimesHaskell(3.5)),
    rule("write", "nodes", 2, TimesOneThread(1.9)),
    rule("write", "batch-nodes", 1, TimesHaskell(10.0)),
    rule("write", "batch-nodes", 2, TimesHaskell(10.0)),
    rule("write", "batch-nodes", 2, TimesOneThread(1.9)),
    rule("write", "cursor-nodes", 1, TimesHaskell(20.0)),
    rule("write", "cursor-nodes", 2, TimesHaskell(20.0)),
    rule("write", "cursor-nodes", 2, TimesOneThread(1.9)),
    rule("write", "attributes", 1, TimesHaskell(3.0)),
    rule("write", "attributes", 2, TimesHaskell(3.5)),
    rule("write", "attributes", 2, TimesOneThread(1.9)),
    rule("write", "batch-attributes", 1, TimesHaskell(8.0)),
    rule("write", "batch-attributes", 2, TimesHaskell(8.0)),
    rule("write", "batch-attributes", 2, TimesOneThread(1.9)),
    rule("write", "cursor-attributes", 1, TimesHaskell(20.0)),
    rule("write", "cursor-attributes", 2, TimesHaskell(20.0)),
    rule("write", "cursor-attributes", 2, TimesOneThread(1.9)),
    rule("point", "update", 1, TimesHaskell(5.0)),
    rule("point", "update-ahead", 1, TimesHaskell(9.0)),
    rule("point", "read", 1, TimesHaskell(7.0)),
    rule("point", "read", 2, TimesHaskell(7.0)),
    rule("point", "read-16", 1, TimesHaskell(30.0)),
    rule("point", "read-16", 2, TimesHaskell(30.0)),
    rule("point", "walker-update", 2, TimesHaskell(4.0)),
    rule("point", "walker-visits", 2, TimesHaskell(15.0)),
    rule("memory", "bare", 1, AtMost(5.0)),
    rule("memory", "over-payload", 1, AtMost(16.0)),
    rule("wide", "append", 1, AtMost(3.0)),
    rule("wide", "insert", 1, AtMost(3.0)),
    rule("wide", "remove", 1, AtMost(3.0)),
    rule("wide", "page", 1, AtMost(3.0)),
    rule("diff", "1", 1, AtMost(10.0)),
    rule("hot", "disjoint", 2, TimesOneThread(1.9)),
    rule("hot", "disjoint-runs", 1, NeverOver(1.0)),
    rule("hot", "disjoint-runs", 2, NeverOver(1.0)),
    rule("hot", "disjoint-work", 1, Told),
    rule("hot", "disjoint-work", 2, Told),
    rule("revisions", "commit", 1, AtMost(1.2)),
    rule("revisions", "open", 1, AtMost(1.2)),
    rule("revisions", "diff", 1, AtMost(1.2)),
    // Those that are opened above are in the processor's caches.
    rule("revisions", "open-cold", 1, Told),
    rule("commit", "sync", 1, TimesFloor(0.9)),
    rule("commit", "sync", 64, TimesFloor(20.0)),
    rule("commit", "syncs", 1, NeverOver(1.0)),
    rule("commit", "sync-all", 1, TimesFloor(0.9)),
    rule("commit", "sync-all", 64, TimesFloor(20.0)),
    rule("commit", "bytes", 1, AtMost(400.0)),
    rule("commit", "bytes", 64, AtMost(400.0)),
    rule("commit", "readers", 1, AtMost(1.1)),
    rule("commit", "readers-buffered", 1, AtMost(1.1)),
    // What of that is the machine's.
    rule("commit", "readers-counting", 1, Told),
    rule("commit", "readers-writing", 1, Told),
    rule("flat", "reopen", 1, AtMost(1.2)),
    rule("flat", "open", 1, AtMost(1.2)),
    rule("flat", "open-many", 1, AtMost(25.0)),
    rule("flat", "list", 1, AtMost(1.2)),
    rule("flat", "commit", 1, AtMost(1.2)),
    rule("flat", "bytes", 1, AtMost(400.0)),
    rule("flat", "bytes-allocated", 1, AtMost(400.0)),
    rule("open", "warm", 1, AtMost(50_000.0)),
    rule("open", "cold", 1, AtMost(50_000.0)),
    rule("reclaim", "reader", 1, NeverOver(5.0)),
    rule("reclaim", "writer", 1, NeverOver(5.0)),
    rule("reclaim", "disk", 1, AtMost(1.1)),
    rule("reclaim", "compact-disk", 1, Told),
    // As it is by the clock; and what of that is the machine's, where nothing is reclaimed.
    rule("reclaim", "reader-wall", 1, Told),
    rule("reclaim", "writer-wall", 1, Told),
    rule("reclaim", "reader-wall-beside", 1, Told),
    rule("reclaim", "writer-wall-beside", 1, Told),
    rule("larger-than-memory", "read", 1, AtMost(5.0)),
    rule("larger-than-memory", "commit", 1, AtMost(5.0)),
    rule("store-peers", "commit", 1, MoreThan(System::Redb)),
    rule("store-peers", "commit", 64, MoreThan(System::Redb)),
    rule("store-peers", "read-old", 1, LessThan(System::Redb)),
    rule("store-peers", "diff", 1, LessThan(System::Redb)),
    rule("store-peers", "folder", 1, LessThan(System::Redb)),
    rule("store-peers", "growth", 1, LessThan(System::Redb)),
    rule("store-peers", "commit", 1, MoreThan(System::Lmdb)),
    rule("store-peers", "commit", 64, MoreThan(System::Lmdb)),
    rule("store-peers", "read-old", 1, LessThan(System::Lmdb)),
    rule("store-peers", "diff", 1, LessThan(System::Lmdb)),
    rule("store-peers", "folder", 1, LessThan(System::Lmdb)),
    rule("store-peers", "growth", 1, LessThan(System::Lmdb)),
    rule("store-peers", "commit", 1, MoreThan(System::Doltlite)),
    rule("store-peers", "commit", 64, MoreThan(System::Doltlite)),
    rule("store-peers", "read-old", 1, LessThan(System::Doltlite)),
    rule("store-peers", "diff", 1, LessThan(System::Doltlite)),
    rule("store-peers", "folder", 1, LessThan(System::Doltlite)),
    rule("store-peers", "growth", 1, LessThan(System::Doltlite)),
    rule("alice", "chain", 2, AtMost(1500.0)),
    rule("alice", "here", 2, AtMost(1500.0)),
    rule("alice", "pool", 2, AtMost(5000.0)),
    rule("alice", "put-take-8", 2, AtMost(250.0)),
    rule("alice", "put-take-4mb", 2, AtMost(250.0)),
    rule("alice", "put-take-key", 2, AtMost(250.0)),
    rule("alice", "flip", 2, AtMost(1.0)),
    rule("alice", "flip-size", 2, AtMost(1.2)),
    rule("alice", "sort", 2, AtLeast(1.6)),
    rule("alice", "overhead", 2, AtMost(2.0)),
    rule("alice", "overhead-pool", 2, AtMost(2.0)),
    rule("alice", "overhead-work", 2, AtMost(2.0)),
    rule("alice", "overhead-pool-work", 2, AtMost(2.0)),
    rule("cluster", "quorum", 1, AtMost(1.3)),
    rule("cluster", "quorum-64", 1, AtLeast(0.8)),
    rule("cluster", "seen-p99", 1, AtMost(20.0)),
    rule("cluster", "resume-most", 1, NeverOver(8.0)),
    rule("cluster", "drained-most", 1, NeverOver(0.5)),
    rule("cluster", "reads", 1, NeverOver(100.0)),
    // Of what a page costs: whoever needs less beside others answers more, and nothing falls.
    rule("cluster", "share", 1, AtMost(1.05)),
    rule("cluster", "newcomer", 1, AtMost(15_000.0)),
    rule("alice", "remote-live", 2, AtMost(1.3)),
    rule("alice", "remote-durable", 2, AtMost(1.0)),
    rule("alice", "remote-durable-64", 2, AtLeast(2.0)),
    rule("board", "read-hello", 1000, AtLeast(0.9)),
    rule("board", "read", 1000, Times(System::Warp, 3.0)),
    rule("board", "write", 1000, Times(System::Warp, 3.0)),
    rule("board", "write-sync", 1000, TimesFloor(20.0)),
    rule("board", "delivery", 1000, AtMost(50.0)),
    rule("board", "slowed", 1000, AtMost(1.05)),
    rule("board", "delivery-bare", 1000, AtMost(50.0)),
    rule("board", "slowed-bare", 1000, AtMost(1.05)),
    // Those are of medians.
    rule("board", "slowed-mean", 1000, Told),
    rule("board", "slowed-mean-bare", 1000, Told),
    rule("board", "first", 1, AtMost(2.0)),
    rule("board", "last", 1, AtMost(2.0)),
    rule("board", "start", 1, AtMost(200.0)),
    rule("cassandra", "read-one", 1, Times(System::Cassandra, 3.0)),
    rule("cassandra", "write-one", 1, Times(System::Cassandra, 2.0)),
    rule("cassandra", "read-one-unsynced", 1, Times(System::Cassandra, 3.0)),
    rule("cassandra", "write-one-unsynced", 1, Times(System::Cassandra, 2.0)),
    rule("cassandra", "read-one", 3, Times(System::Cassandra, 8.0)),
    rule("cassandra", "read-quorum", 3, Times(System::Cassandra, 15.0)),
    rule("cassandra", "write-quorum", 3, Times(System::Cassandra, 3.0)),
    rule("cassandra", "read-one-unsynced", 3, Times(System::Cassandra, 8.0)),
    rule("cassandra", "read-quorum-unsynced", 3, Times(System::Cassandra, 15.0)),
    rule("cassandra", "write-quorum-unsynced", 3, Times(System::Cassandra, 3.0)),
    rule("cassandra", "write-local", 3, Times(System::Cassandra, 5.0)),
    rule("cassandra", "write-local-unsynced", 3, Times(System::Cassandra, 5.0)),
];

/// Does a bar speak of this system in this case: is it ours, or held against ours there?
pub fn speak_of(experiment: &str, case: &str, system: System) -> bool {
    let speaks = |rule: &Rule| {
        (rule.experiment, rule.case) == (experiment, case)
            && (system == System::Jungle || rule.bar.peer() == Some(system))
    };
    RULES.iter().any(speaks)
}

#[cfg(test)]
mod tests {
    use super::RULES;
    use crate::plan::cases;

    #[test]
    fn every_bar_is_of_a_case() {
        let cases = cases("all").unwrap();
        for rule in RULES {
            let of = |case: &crate::plan::Case| {
                (case.experiment, case.name) == (rule.experiment, rule.case)
            };
            assert!(cases.iter().any(of), "{rule:?}");
        }
    }
}
