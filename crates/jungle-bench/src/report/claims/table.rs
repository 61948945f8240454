//! The bars in their words, and which rules or which suite hold each.

use crate::bars::{Bar, Rule};
use crate::systems::System;

/// A bar in words, and the rules that hold it.
pub(super) struct Claim {
    pub(super) part: &'static str,
    pub(super) what: &'static str,
    pub(super) least: &'static str,
    pub(super) by: By,
}

/// How a bar is measured.
pub(super) enum By {
    /// These rules hold all of it.
    Rules(fn(&Rule) -> bool),
    /// A torture suite, which counts and does not time: so many points of it at least, and none
    /// that failed; and each of these kills happened alone in some of them.
    Suite(&'static str, u64, &'static [&'static str]),
}

use By::{Rules, Suite};

const fn claim(part: &'static str, what: &'static str, least: &'static str, by: By) -> Claim {
    Claim { part, what, least, by }
}

fn is(rule: &Rule, experiment: &str, cases: &[&str]) -> bool {
    rule.experiment == experiment && cases.contains(&rule.case)
}

fn is_haskell(rule: &Rule) -> bool {
    matches!(rule.bar, Bar::TimesHaskell(_))
}

fn is_against(rule: &Rule, peer: System) -> bool {
    rule.experiment == "store-peers" && rule.bar.peer() == Some(peer)
}

fn is_of_cassandra(rule: &Rule, cases: &str) -> bool {
    rule.experiment == "cassandra" && rule.case.starts_with(cases)
}

const CORE: &str = "Core";
pub(super) const STORE: &str = "Store";
const SERVER: &str = "Server";
const ALICE: &str = "Alice";
const CLUSTER: &str = "Cluster";

const AHEAD: &str = "commits at 1 and 64 clients, an old revision, a diff, bytes: all ahead";

/// Every bar, in its words.
pub(super) const CLAIMS: &[Claim] = &[
    claim(
        CORE,
        "read count, against Haskell, 1 and 2 threads",
        "25 ×",
        Rules(|rule| is(rule, "read", &["count"]) && is_haskell(rule)),
    ),
    claim(
        CORE,
        "read visit, no attributes, against Haskell",
        "12 ×",
        Rules(|rule| is(rule, "read", &["visit"]) && is_haskell(rule)),
    ),
    claim(
        CORE,
        "read visit, an attribute on every node; aged",
        "18 × · 18 ×",
        Rules(|rule| is(rule, "read", &["visit-attribute", "visit-aged"]) && is_haskell(rule)),
    ),
    claim(
        CORE,
        "read and write, 2 threads against 1",
        "1.9 ×",
        Rules(|rule| {
            matches!((rule.experiment, rule.bar), ("read" | "write", Bar::TimesOneThread(_)))
        }),
    ),
    claim(
        CORE,
        "write nodes and attributes, a call a node",
        "3 ×, 2 threads 3.5 ×",
        Rules(|rule| is(rule, "write", &["nodes", "attributes"]) && is_haskell(rule)),
    ),
    claim(
        CORE,
        "write batch: attributes · nodes · with a cursor",
        "8 × · 10 × · 20 ×",
        Rules(|rule| {
            let cases = ["batch-attributes", "batch-nodes", "cursor-attributes", "cursor-nodes"];
            is(rule, "write", &cases) && is_haskell(rule)
        }),
    ),
    claim(
        CORE,
        "point updates, each published · looked ahead",
        "5 × · 9 ×",
        Rules(|rule| is(rule, "point", &["update", "update-ahead"])),
    ),
    claim(
        CORE,
        "point reads, 1 and 2 threads · 16 at a time",
        "7 × · 30 ×",
        Rules(|rule| is(rule, "point", &["read", "read-16"])),
    ),
    claim(
        CORE,
        "updates beside a walking reader · its walk",
        "4 × · 15 ×",
        Rules(|rule| is(rule, "point", &["walker-update", "walker-visits"])),
    ),
    claim(
        CORE,
        "bytes a node, bare · over the payload",
        "≤ 5 · ≤ 16",
        Rules(|rule| rule.experiment == "memory"),
    ),
    claim(
        CORE,
        "1,000,000 children under one node, against 1,000",
        "each ≤ 3 ×",
        Rules(|rule| rule.experiment == "wide"),
    ),
    claim(
        CORE,
        "diff of one place in 1,000,000 nodes",
        "≤ 10 µs",
        Rules(|rule| rule.experiment == "diff"),
    ),
    claim(
        CORE,
        "commit, old revision opened again and again, diff at 1,000,000 revisions; opened for \
         the first time",
        "≤ 1.2 ×; told",
        Rules(|rule| rule.experiment == "revisions"),
    ),
    claim(
        CORE,
        "hot disjoint, 2 threads against 1; no closure twice; its own work",
        "1.9 ×; 1 in every round; told",
        Rules(|rule| rule.experiment == "hot"),
    ),
    claim(
        STORE,
        "durable commits, 1 client, 100 revisions kept · all; one sync each",
        "≥ 90 % of the floor; 1 in every round",
        Rules(|rule| is(rule, "commit", &["sync", "syncs", "sync-all"]) && rule.threads == 1),
    ),
    claim(
        STORE,
        "durable commits, 64 clients, 100 revisions kept · all",
        "≥ 20 × the floor",
        Rules(|rule| is(rule, "commit", &["sync", "sync-all"]) && rule.threads == 64),
    ),
    claim(
        STORE,
        "readers' p99 beside a writer; beside a thread that only counts · writes a file",
        "≤ 1.1 ×; told",
        Rules(|rule| rule.experiment == "commit" && rule.case.starts_with("readers")),
    ),
    claim(
        STORE,
        "bytes on disk of a one-attribute commit",
        "≤ 400",
        Rules(|rule| {
            is(rule, "commit", &["bytes"]) || is(rule, "flat", &["bytes", "bytes-allocated"])
        }),
    ),
    claim(
        STORE,
        "commit, open, list, reopen at 1,000,000 revisions",
        "≤ 1.2 × each",
        Rules(|rule| is(rule, "flat", &["commit", "open", "list", "reopen"])),
    ),
    claim(
        STORE,
        "open a folder of 1,000,000 nodes, read a path",
        "≤ 50 ms",
        Rules(|rule| rule.experiment == "open"),
    ),
    claim(
        STORE,
        "open and read a random old revision, warm",
        "≤ 25 µs",
        Rules(|rule| is(rule, "flat", &["open-many"])),
    ),
    claim(
        STORE,
        "a tree 4 × larger than memory, hot set",
        "≤ 5 ×",
        Rules(|rule| rule.experiment == "larger-than-memory"),
    ),
    claim(
        STORE,
        "longest stall while reclaiming, without waiting for a processor; extra disk; by the \
         clock, and so where nothing is reclaimed",
        "≤ 5 ms in every round; ≤ 10 %; told",
        Rules(|rule| rule.experiment == "reclaim" && rule.case != "compact-disk"),
    ),
    claim(
        STORE,
        "the folder on disk at most, while its checkpoint's file is made smaller (compact)",
        "told",
        Rules(|rule| is(rule, "reclaim", &["compact-disk"])),
    ),
    claim(STORE, "against DoltLite", AHEAD, Rules(|rule| is_against(rule, System::Doltlite))),
    claim(STORE, "against redb", AHEAD, Rules(|rule| is_against(rule, System::Redb))),
    claim(STORE, "against LMDB", AHEAD, Rules(|rule| is_against(rule, System::Lmdb))),
    claim(
        SERVER,
        "E3 read against the constant answer",
        "≥ 90 %",
        Rules(|rule| is(rule, "board", &["read-hello"])),
    ),
    claim(
        SERVER,
        "E3 read and write against Warp",
        "≥ 3 × each",
        Rules(|rule| is(rule, "board", &["read", "write"])),
    ),
    claim(
        SERVER,
        "write with sync, 1,000 connections",
        "≥ 20 × the floor",
        Rules(|rule| is(rule, "board", &["write-sync"])),
    ),
    claim(
        SERVER,
        "1,000 watchers: p99; writers slowed, by medians; by means",
        "≤ 50 ms; ≤ 5 %; told",
        Rules(|rule| {
            let is_watched = ["delivery", "slowed"].into_iter().any(|it| rule.case.starts_with(it));
            rule.experiment == "board" && is_watched
        }),
    ),
    claim(
        SERVER,
        "a board of 1,000,000: first and last page",
        "≤ 2 × one of 100",
        Rules(|rule| is(rule, "board", &["first", "last"])),
    ),
    claim(
        SERVER,
        "start to first answer, 1,000,000 nodes",
        "≤ 200 ms",
        Rules(|rule| is(rule, "board", &["start"])),
    ),
    claim(
        ALICE,
        "E6: 10,000 chained code segments",
        "≤ 1.5 ms, pool ≤ 5 ms",
        Rules(|rule| is(rule, "alice", &["chain", "here", "pool"])),
    ),
    claim(
        ALICE,
        "E6: put and take; flip, free of size",
        "≤ 0.25 µs; ≤ put",
        Rules(|rule| {
            let puts = ["put-take-8", "put-take-4mb", "put-take-key", "flip", "flip-size"];
            is(rule, "alice", &puts)
        }),
    ),
    claim(
        ALICE,
        "E6: sort of 1,000,000 against one thread",
        "≥ 1.6 ×",
        Rules(|rule| is(rule, "alice", &["sort"])),
    ),
    claim(
        ALICE,
        "a code segment against rayon's closure",
        "≤ 2 ×",
        Rules(|rule| rule.experiment == "alice" && rule.case.starts_with("overhead")),
    ),
    claim(
        ALICE,
        "remote live put and take against bare requests",
        "≤ 1.3 ×",
        Rules(|rule| is(rule, "alice", &["remote-live"])),
    ),
    claim(
        ALICE,
        "remote durable against the engine · 64 at once",
        "≤ 1 · ≥ 2 ×",
        Rules(|rule| is(rule, "alice", &["remote-durable", "remote-durable-64"])),
    ),
    claim(
        ALICE,
        "10,000 remote segments, takers and the leader killed",
        "none lost, none twice",
        Suite("engine", 10_000, &[]),
    ),
    claim(
        CLUSTER,
        "a page's processor time on each of 3 servers, over 1 alone: flat if reads of a server do \
         not fall",
        "≤ 1.05 ×; less passes",
        Rules(|rule| is(rule, "cluster", &["share"])),
    ),
    claim(
        CLUSTER,
        "E5: reads against Cassandra ONE · QUORUM",
        "≥ 8 × · ≥ 15 ×",
        Rules(|rule| is_of_cassandra(rule, "read") && rule.threads > 1),
    ),
    claim(
        CLUSTER,
        "E5: writes, quorum against QUORUM",
        "≥ 3 ×",
        Rules(|rule| is_of_cassandra(rule, "write-quorum")),
    ),
    claim(
        CLUSTER,
        "E5: writes, local against ONE",
        "≥ 5 ×",
        Rules(|rule| is_of_cassandra(rule, "write-local")),
    ),
    claim(
        CLUSTER,
        "E4: one server, reads · writes",
        "≥ 3 × · ≥ 2 ×",
        Rules(|rule| rule.experiment == "cassandra" && rule.threads == 1),
    ),
    claim(
        CLUSTER,
        "quorum commit against bare publish · 64 clients",
        "≤ 1.3 × · ≥ 0.8 ×",
        Rules(|rule| is(rule, "cluster", &["quorum", "quorum-64"])),
    ),
    claim(CLUSTER, "propagation, p99", "≤ 20 ms", Rules(|rule| is(rule, "cluster", &["seen-p99"]))),
    claim(
        CLUSTER,
        "newcomer: 1,000,000 nodes, 100,000 records",
        "≤ 15 s",
        Rules(|rule| is(rule, "cluster", &["newcomer"])),
    ),
    claim(
        CLUSTER,
        "kill -9 of the leader, under load",
        "none lost; writes resume ≤ 8 s in every round",
        Rules(|rule| is(rule, "cluster", &["resume-most"])),
    ),
    claim(
        CLUSTER,
        "the leader ends in order, under load",
        "writes resume ≤ 0.5 s in every round",
        Rules(|rule| is(rule, "cluster", &["drained-most"])),
    ),
    claim(
        CLUSTER,
        "reads of a server meanwhile",
        "never stop: none takes 100 ms in any round",
        Rules(|rule| is(rule, "cluster", &["reads"])),
    ),
    claim(
        CLUSTER,
        "kill -9 of a server, of both, under load",
        "none lost; again ≤ 8 s, each by itself",
        Suite("machines", 6, &["server", "both"]),
    ),
];
