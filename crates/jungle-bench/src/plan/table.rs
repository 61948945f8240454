//! All cases there are.

use super::case::{Case, Idle, Number, case};
use super::cassandra::CASSANDRA;
use crate::systems::System;

/// A case of E2: each task leaves a tree behind, which takes 1.3 MB with attributes.
const fn of_write(name: &'static str, theirs: &'static str) -> Case {
    case("write", name, Some(theirs)).touching(2 << 20)
}

/// A number of the one run of `wide all`, `diff all` and the like.
const fn one_of(
    experiment: &'static str,
    name: &'static str,
    ours: &'static str,
    unit: &'static str,
) -> Case {
    case(experiment, name, None).from(ours).number(Number::Named(name), unit).on(1)
}

/// A number of the runs of `commit sync`, on as many threads as there are clients.
const fn of_commit(name: &'static str, unit: &'static str) -> Case {
    case("commit", name, None).from("sync").number(Number::Named(name), unit).on_each(&[1, 64])
}

/// A number of the runs of `commit post`.
const fn of_posts(name: &'static str, number: Number, unit: &'static str) -> Case {
    case("commit", name, None).from("post").number(number, unit).on_each(&[64, 1000])
}

/// A number of the runs of `store-peers commit`: microseconds of a commit.
const fn of_store_commit(name: &'static str, number: &'static str) -> Case {
    let case = case("store-peers", name, Some("commit")).from("commit");
    case.number(Number::Named(number), "us").on_each(&[1, 8, 64])
}

/// A number of the run of `store-peers kept`.
const fn of_kept(name: &'static str, number: Number, unit: &'static str) -> Case {
    case("store-peers", name, Some("kept")).from("kept").number(number, unit).on(1)
}

/// A number of the run of `larger-than-memory`.
const fn of_larger(name: &'static str, unit: &'static str) -> Case {
    one_of("larger-than-memory", name, "all", unit)
}

/// A number of the run of `alice OURS` on two threads.
const fn of_alice(name: &'static str, ours: &'static str, unit: &'static str) -> Case {
    one_of("alice", name, ours, unit).on(2)
}

/// The same, which the peers measure as well.
const fn of_alice_and_peers(name: &'static str, ours: &'static str, unit: &'static str) -> Case {
    Case { theirs: Some(name), ..of_alice(name, ours, unit) }
}

/// A number of the run of `board OURS` with a thousand clients.
const fn of_board(name: &'static str, ours: &'static str, unit: &'static str) -> Case {
    one_of("board", name, ours, unit).on(1000)
}

/// The same where nothing is kept in a folder.
const fn of_bare(name: &'static str, number: &'static str) -> Case {
    of_board(name, "watchers-bare", "x").number(Number::Named(number), "x")
}

/// What the peer reaches in the same run, under this name there.
const fn of_warp(name: &'static str, number: &'static str) -> Case {
    of_board(name, "e3", "1/s").number(Number::Named(number), "1/s").of(System::Warp)
}

/// The same of an application's, as of Warp.
const fn of_app(system: System, name: &'static str, number: &'static str) -> Case {
    of_board(name, "e3", "1/s").number(Number::Named(number), "1/s").of(system)
}

/// The same in milliseconds.
const fn of_slow(system: System, name: &'static str, number: &'static str) -> Case {
    of_board(name, "e3", "ms").number(Number::Named(number), "ms").of(system)
}

/// A number of the run of `neighbours RUN`: with several clients, `value` only.
const fn of_neighbours(
    name: &'static str,
    run: &'static str,
    number: Number,
    unit: &'static str,
) -> Case {
    case("neighbours", name, Some(run)).from(run).number(number, unit).on(1)
}

/// A number of the run of `neighbours watched` with a thousand who watch.
const fn of_watched(name: &'static str, number: Number, unit: &'static str) -> Case {
    of_neighbours(name, "watched", number, unit).on(1000)
}

/// A number of the run of `neighbours resumed` with a hundred who watch.
const fn of_resumed(name: &'static str, number: Number) -> Case {
    of_neighbours(name, "resumed", number, "ms").on(100)
}

/// A number of the run of `neighbours three` with eight clients for each server.
const fn of_three(name: &'static str, number: &'static str, unit: &'static str) -> Case {
    of_neighbours(name, "three", Number::Named(number), unit).on(8)
}

/// A number of the run of `neighbours reclaimed`.
const fn of_reclaimed(name: &'static str, number: Number, unit: &'static str) -> Case {
    of_neighbours(name, "reclaimed", number, unit)
}

/// A number of the run of `workloads RUN`.
const fn of_workload(
    name: &'static str,
    run: &'static str,
    number: Number,
    unit: &'static str,
) -> Case {
    case("workloads", name, Some(run)).from(run).number(number, unit).on(1)
}

/// Syncs a second of a bare file on the same disk, taken in the run of `EXPERIMENT RUN`.
const fn of_floor(experiment: &'static str, name: &'static str, run: &'static str) -> Case {
    one_of(experiment, name, run, "1/s").number(Number::Named("floor"), "1/s").of(System::Machine)
}

/// A number that the model of `scale` is fed with.
const fn of_model(name: &'static str, unit: &'static str) -> Case {
    one_of("scale", name, "parameters", unit)
}

/// A number of so many servers on this machine.
const fn of_servers(name: &'static str, unit: &'static str) -> Case {
    one_of("scale", name, "servers", unit).on_each(&[1, 3, 5, 7])
}

/// A number of so many servers in virtual time.
const fn of_simulated(name: &'static str, unit: &'static str) -> Case {
    one_of("scale", name, "simulated", unit).on_each(&[10, 100, 1000])
}

/// Bytes of a key and a value in tree R.
const PAYLOAD_BYTES: f64 = 116.0;

const PARTS: [&[Case]; 6] =
    [BEFORE, CASSANDRA[0], CASSANDRA[1], CASSANDRA[2], CASSANDRA[3], BEHIND];

/// Every case, those of an experiment one behind the other.
pub const CASES: &[Case] = &joined::<{ count(&PARTS) }>(&PARTS);

const fn count(parts: &[&[Case]]) -> usize {
    let (mut part, mut count) = (0, 0);
    while part < parts.len() {
        count += parts[part].len();
        part += 1;
    }
    count
}

const fn joined<const COUNT: usize>(parts: &[&[Case]]) -> [Case; COUNT] {
    let mut all = [parts[0][0]; COUNT];
    let (mut part, mut at, mut next) = (0, 0, 0);
    while part < parts.len() {
        while at < parts[part].len() {
            all[next] = parts[part][at];
            (at, next) = (at + 1, next + 1);
        }
        (part, at) = (part + 1, 0);
    }
    all
}

/// Those in front of Cassandra's.
const BEFORE: &[Case] = &[
    case("read", "count", Some("read-visit")),
    case("read", "visit", Some("read-visit")),
    case("read", "visit-attribute", Some("read-visit-attribute")),
    case("read", "visit-aged", Some("read-visit-aged")),
    case("read", "summary", None),
    of_write("nodes", "write-nodes"),
    of_write("batch-nodes", "write-nodes"),
    of_write("cursor-nodes", "write-nodes"),
    of_write("attributes", "write-attributes"),
    of_write("batch-attributes", "write-attributes"),
    of_write("cursor-attributes", "write-attributes"),
    of_write("db-nodes", "write-nodes"),
    of_write("db-attributes", "write-attributes"),
    of_write("db-root-nodes", "write-nodes"),
    of_write("db-root-attributes", "write-attributes"),
    case("point", "update", Some("point-update")).on(1),
    case("point", "update-ahead", Some("point-update")).on(1),
    case("point", "read", Some("point-read")),
    case("point", "read-16", Some("point-read")),
    case("point", "db-update", Some("point-update")).on(1),
    case("point", "db-read", Some("point-read")),
    case("point", "walker-update", Some("walker-update")).from("walker").on(2),
    case("point", "walker-visits", Some("walker-update"))
        .from("walker")
        .number(Number::Named("walker"), "1/s")
        .on(2),
    case("memory", "bare", Some("memory-bare")).number(Number::Value, "B").on(1),
    case("memory", "attribute", Some("memory-attribute")).number(Number::Value, "B").on(1),
    case("memory", "over-payload", Some("memory-attribute"))
        .from("attribute")
        .number(Number::Over(PAYLOAD_BYTES), "B")
        .on(1),
    case("wide", "build", Some("wide")).on(1),
    one_of("wide", "append-few", "all", "ns"),
    one_of("wide", "append-many", "all", "ns"),
    one_of("wide", "append", "all", "x"),
    one_of("wide", "insert-few", "all", "ns"),
    one_of("wide", "insert-many", "all", "ns"),
    one_of("wide", "insert", "all", "x"),
    one_of("wide", "remove-few", "all", "ns"),
    one_of("wide", "remove-many", "all", "ns"),
    one_of("wide", "remove", "all", "x"),
    one_of("wide", "page-few", "all", "ns"),
    one_of("wide", "page-many", "all", "ns"),
    one_of("wide", "page", "all", "x"),
    case("diff", "1", None).number(Number::Value, "us").on(1),
    case("diff", "10", None).number(Number::Value, "us").on(1),
    case("diff", "100", None).number(Number::Value, "us").on(1),
    case("diff", "1000", None).number(Number::Value, "us").on(1),
    case("merge", "1", None).number(Number::Value, "us").on(1),
    case("merge", "10", None).number(Number::Value, "us").on(1),
    case("merge", "100", None).number(Number::Value, "us").on(1),
    case("merge", "1000", None).number(Number::Value, "us").on(1),
    case("hot", "work-alone", None),
    case("hot", "disjoint", None),
    case("hot", "disjoint-runs", None).from("disjoint").number(Number::Named("runs"), "x"),
    case("hot", "disjoint-work", None).from("disjoint").number(Number::Named("work"), "us"),
    case("hot", "overlapping", None),
    case("hot", "overlapping-runs", None).from("overlapping").number(Number::Named("runs"), "x"),
    one_of("revisions", "commit-few", "all", "ns"),
    one_of("revisions", "commit-many", "all", "ns"),
    one_of("revisions", "commit", "all", "x"),
    one_of("revisions", "open-few", "all", "ns"),
    one_of("revisions", "open-many", "all", "ns"),
    one_of("revisions", "open", "all", "x"),
    one_of("revisions", "open-cold-few", "all", "ns"),
    one_of("revisions", "open-cold-many", "all", "ns"),
    one_of("revisions", "open-cold", "all", "x"),
    one_of("revisions", "diff-few", "all", "ns"),
    one_of("revisions", "diff-many", "all", "ns"),
    one_of("revisions", "diff", "all", "x"),
    of_commit("floor", "1/s").of(System::Machine),
    of_commit("floor-append", "1/s").of(System::Machine),
    of_commit("sync", "1/s").number(Number::Value, "1/s"),
    of_commit("syncs", "x"),
    of_commit("bytes", "B"),
    case("commit", "sync-all", None).on_each(&[1, 64]),
    case("commit", "sync-all-floor", None)
        .from("sync-all")
        .number(Number::Named("floor"), "1/s")
        .on_each(&[1, 64])
        .of(System::Machine),
    of_posts("post", Number::Value, "1/s"),
    of_posts("post-floor", Number::Named("floor"), "1/s").of(System::Machine),
    of_posts("post-syncs", Number::Named("syncs"), "x"),
    one_of("commit", "readers-alone", "readers", "ns"),
    one_of("commit", "readers-beside", "readers", "ns"),
    one_of("commit", "readers-buffered-beside", "readers", "ns"),
    one_of("commit", "readers", "readers", "x"),
    one_of("commit", "readers-buffered", "readers", "x"),
    one_of("commit", "readers-counting", "readers", "x"),
    one_of("commit", "readers-writing", "readers", "x"),
    one_of("flat", "reopen-few", "all", "us"),
    one_of("flat", "reopen-many", "all", "us"),
    one_of("flat", "reopen", "all", "x"),
    one_of("flat", "open-first-few", "all", "us"),
    one_of("flat", "open-first-many", "all", "us"),
    one_of("flat", "open-first", "all", "x"),
    one_of("flat", "open-few", "all", "us"),
    one_of("flat", "open-many", "all", "us"),
    one_of("flat", "open", "all", "x"),
    one_of("flat", "open-again-few", "all", "us"),
    one_of("flat", "open-again-many", "all", "us"),
    one_of("flat", "open-again", "all", "x"),
    one_of("flat", "list-few", "all", "us"),
    one_of("flat", "list-many", "all", "us"),
    one_of("flat", "list", "all", "x"),
    one_of("flat", "commit-first-few", "all", "us"),
    one_of("flat", "commit-first-many", "all", "us"),
    one_of("flat", "commit-first", "all", "x"),
    one_of("flat", "commit-few", "all", "us"),
    one_of("flat", "commit-many", "all", "us"),
    one_of("flat", "commit", "all", "x"),
    one_of("flat", "checkpoint-few", "all", "us"),
    one_of("flat", "checkpoint-many", "all", "us"),
    one_of("flat", "checkpoint", "all", "x"),
    one_of("flat", "bytes", "all", "B"),
    one_of("flat", "bytes-allocated", "all", "B"),
    case("open", "warm", None).from("all").number(Number::Value, "us").on(1),
    one_of("open", "cold", "all", "us"),
    one_of("open", "process", "all", "us"),
    one_of("open", "folder", "all", "B"),
    case("reclaim", "reader", None).from("all").number(Number::Value, "ms").on(1),
    one_of("reclaim", "writer", "all", "ms"),
    one_of("reclaim", "reader-wall", "all", "ms"),
    one_of("reclaim", "writer-wall", "all", "ms"),
    one_of("reclaim", "reader-beside", "all", "ms"),
    one_of("reclaim", "writer-beside", "all", "ms"),
    one_of("reclaim", "reader-wall-beside", "all", "ms"),
    one_of("reclaim", "writer-wall-beside", "all", "ms"),
    one_of("reclaim", "took", "all", "ms"),
    one_of("reclaim", "disk", "all", "x"),
    one_of("reclaim", "disk-after", "all", "x"),
    one_of("reclaim", "compact-took", "all", "ms"),
    one_of("reclaim", "compact-disk", "all", "x"),
    one_of("reclaim", "compact-after", "all", "x"),
    case("larger-than-memory", "read", None).from("all").number(Number::Value, "x").on(1),
    of_larger("commit", "x"),
    of_larger("read-enough", "ns"),
    of_larger("read-limited", "ns"),
    of_larger("commit-enough", "ns"),
    of_larger("commit-limited", "ns"),
    of_larger("cold-enough", "ns"),
    of_larger("cold-limited", "ns"),
    of_larger("walk-enough", "us"),
    of_larger("walk-limited", "us"),
    of_larger("tree", "B"),
    of_larger("limit", "B"),
    of_larger("peak", "B"),
    case("store-peers", "commit", Some("commit")).on_each(&[1, 8, 64]),
    of_store_commit("commit-p50", "p50"),
    of_store_commit("commit-p99", "p99"),
    case("store-peers", "floor", None)
        .from("commit")
        .number(Number::Named("floor"), "1/s")
        .on_each(&[1, 8, 64])
        .of(System::Machine),
    case("store-peers", "syncs", Some("kept")).from("kept").counting(1),
    of_kept("read-old", Number::Value, "us"),
    of_kept("diff", Number::Named("diff"), "us"),
    of_kept("folder", Number::Named("folder"), "B"),
    of_kept("growth", Number::Named("growth"), "B"),
    one_of("store-peers", "growth-used", "kept", "B"),
    case("store-peers", "commit-memory", Some("commit-memory")).on(1),
    case("store-peers", "merge", Some("merge")).number(Number::Value, "us").on(1),
    // Without history, which ours never is: they stand beside their own `commit`.
    case("store-peers", "commit-bare", Some("commit-bare")).from("").on_each(&[1, 8, 64]),
    of_alice_and_peers("chain", "chain", "us"),
    of_alice("here", "chain", "us"),
    of_alice("pool", "chain", "us"),
    of_alice("keys", "chain", "us"),
    of_alice("keys-pool", "chain", "us"),
    of_alice_and_peers("put-take-8", "queue", "ns"),
    of_alice_and_peers("put-take-4mb", "queue", "ns"),
    of_alice("put-take-key", "queue", "ns"),
    of_alice("flip-take-8", "queue", "ns"),
    of_alice("flip-take-4mb", "queue", "ns"),
    of_alice("flip", "queue", "x"),
    of_alice("flip-size", "queue", "x"),
    of_alice("one", "sort", "us"),
    of_alice_and_peers("tree", "sort", "us"),
    of_alice("join", "sort", "us"),
    of_alice("network", "sort", "us"),
    of_alice("sort", "sort", "x"),
    of_alice("sort-join", "sort", "x"),
    of_alice("bitonic", "sort", "x"),
    of_alice("overhead", "overhead", "x"),
    of_alice("overhead-pool", "overhead", "x"),
    of_alice("overhead-pool-newest", "overhead", "x"),
    of_alice("overhead-work", "overhead", "x"),
    of_alice("overhead-pool-work", "overhead", "x"),
    of_alice("live", "remote", "us"),
    of_alice("bare", "remote", "us"),
    of_alice("remote-live", "remote", "x"),
    of_alice("durable", "remote", "us"),
    of_alice("engine", "remote", "us"),
    of_alice("remote-durable", "remote", "x"),
    of_alice("remote-durable-disk", "remote", "x"),
    of_alice("durable-64", "remote", "us"),
    of_alice("engine-64", "remote", "us"),
    of_alice("engine-memory", "remote", "us"),
    of_alice("engine-memory-64", "remote", "us"),
    of_alice("remote-durable-64", "remote", "x"),
    of_alice("remote-durable-64-disk", "remote", "x"),
    of_board("hello", "e3", "1/s"),
    of_warp("hello", "warp-hello"),
    of_board("read", "e3", "1/s"),
    of_warp("read", "warp-read"),
    of_app(System::Pocketbase, "read", "pocketbase-read"),
    of_app(System::SqliteApp, "read", "sqlite-app-read"),
    of_app(System::Pocketbase, "read-api", "pocketbase-read-api"),
    of_board("read-hello", "e3", "x"),
    of_board("write", "e3", "1/s"),
    of_warp("write", "warp-write"),
    of_board("write-bare", "e3", "1/s"),
    of_board("write-buffered", "e3", "1/s"),
    of_app(System::Pocketbase, "write-buffered", "pocketbase-write-buffered"),
    of_app(System::SqliteApp, "write-buffered", "sqlite-app-write-buffered"),
    of_board("write-sync", "e3", "1/s"),
    of_app(System::Pocketbase, "write-sync", "pocketbase-write-sync"),
    of_app(System::SqliteApp, "write-sync", "sqlite-app-write-sync"),
    of_board("mixed", "e3", "1/s"),
    of_app(System::SqliteApp, "mixed", "sqlite-app-mixed"),
    of_board("read-p99", "e3", "ms"),
    of_slow(System::Warp, "read-p99", "warp-read-p99"),
    of_slow(System::Pocketbase, "read-p99", "pocketbase-read-p99"),
    of_slow(System::SqliteApp, "read-p99", "sqlite-app-read-p99"),
    of_slow(System::Pocketbase, "read-api-p99", "pocketbase-read-api-p99"),
    of_board("write-p99", "e3", "ms"),
    of_slow(System::Warp, "write-p99", "warp-write-p99"),
    of_board("write-buffered-p99", "e3", "ms"),
    of_slow(System::Pocketbase, "write-buffered-p99", "pocketbase-write-buffered-p99"),
    of_slow(System::SqliteApp, "write-buffered-p99", "sqlite-app-write-buffered-p99"),
    of_board("write-sync-p99", "e3", "ms"),
    of_slow(System::Pocketbase, "write-sync-p99", "pocketbase-write-sync-p99"),
    of_slow(System::SqliteApp, "write-sync-p99", "sqlite-app-write-sync-p99"),
    of_board("mixed-p99", "e3", "ms"),
    of_slow(System::SqliteApp, "mixed-p99", "sqlite-app-mixed-p99"),
    one_of("board", "write-syncs", "syncs", "x").counting(1),
    one_of("board", "write-syncs", "syncs-pocketbase", "x").counting(1).of(System::Pocketbase),
    one_of("board", "write-syncs", "syncs-sqlite-app", "x").counting(1).of(System::SqliteApp),
    of_board("floor", "e3", "1/s").of(System::Machine),
    of_board("delivery", "watchers", "ms").number(Number::Value, "ms"),
    of_board("half", "watchers", "ms"),
    of_board("commit", "watchers", "ms"),
    of_board("commit-alone", "watchers", "ms"),
    of_board("slowed", "watchers", "x"),
    of_board("slowed-mean", "watchers", "x"),
    of_board("rate", "watchers", "1/s"),
    of_bare("delivery-bare", "delivery").number(Number::Value, "ms"),
    of_bare("slowed-bare", "slowed"),
    of_bare("slowed-mean-bare", "slowed-mean"),
    one_of("board", "first-few", "pages", "us"),
    one_of("board", "first-many", "pages", "us"),
    one_of("board", "first", "pages", "x").number(Number::Value, "x"),
    one_of("board", "last-few", "pages", "us"),
    one_of("board", "last-many", "pages", "us"),
    one_of("board", "last", "pages", "x"),
    one_of("board", "start", "start", "ms").number(Number::Value, "ms"),
    one_of("board", "start-cold", "start", "ms"),
    // In a run of their own, and behind all others, which must not be lost where it takes long.
    of_board("mixed", "mixed-pocketbase", "1/s")
        .number(Number::Named("pocketbase-mixed"), "1/s")
        .of(System::Pocketbase),
    of_board("mixed-p99", "mixed-pocketbase", "ms")
        .number(Number::Named("pocketbase-mixed-p99"), "ms")
        .of(System::Pocketbase),
    one_of("cluster", "one", "quorum", "us"),
    one_of("cluster", "bare-one", "quorum", "us"),
    one_of("cluster", "quorum", "quorum", "x"),
    one_of("cluster", "many", "quorum", "us"),
    one_of("cluster", "bare-many", "quorum", "us"),
    one_of("cluster", "quorum-64", "quorum", "x"),
    one_of("cluster", "together", "quorum", "x"),
    one_of("cluster", "seen", "seen", "ms"),
    one_of("cluster", "seen-p99", "seen", "ms"),
    one_of("cluster", "seen-after-p99", "seen", "ms"),
    one_of("cluster", "resume", "resume", "s"),
    one_of("cluster", "resume-most", "resume", "s"),
    one_of("cluster", "drained", "resume", "s"),
    one_of("cluster", "drained-most", "resume", "s"),
    one_of("cluster", "reads", "resume", "ms"),
    one_of("cluster", "page-alone", "share", "us"),
    one_of("cluster", "page-three", "share", "us"),
    one_of("cluster", "share", "share", "x"),
    one_of("cluster", "newcomer", "newcomer", "ms"),
    one_of("cluster", "newcomer-memory", "newcomer", "ms"),
    one_of("cluster", "checkpoint", "newcomer", "ms"),
    one_of("cluster", "tree-seen", "tree", "ms"),
    one_of("cluster", "tree-seen-p99", "tree", "ms"),
    one_of("cluster", "tree-root", "tree", "ms"),
    one_of("cluster", "tree-root-p99", "tree", "ms"),
];

/// Those behind Cassandra's.
const BEHIND: &[Case] = &[
    of_neighbours("served-load", "served", Number::Named("load"), "1/s"),
    of_neighbours("served-commit", "served", Number::Value, "1/s").on_each(&[1, 8, 64]),
    of_neighbours("served-commit-p50", "served", Number::Named("p50"), "us").on_each(&[1, 8, 64]),
    of_neighbours("served-commit-p99", "served", Number::Named("p99"), "us").on_each(&[1, 8, 64]),
    of_floor("neighbours", "served-floor", "served").on_each(&[1, 8, 64]),
    // Each is done in the tree before, too, and there twice.
    of_neighbours("served-syncs", "served", Number::Value, "x").counting(3),
    of_neighbours("served-read", "served", Number::Named("read"), "us"),
    of_neighbours("served-read-old", "served", Number::Named("read-old"), "us"),
    of_neighbours("served-diff", "served", Number::Named("diff"), "us"),
    of_neighbours("served-folder", "served", Number::Named("folder"), "B"),
    of_neighbours("served-growth", "served", Number::Named("growth"), "B"),
    of_neighbours("embedded-load", "embedded", Number::Named("load"), "1/s"),
    of_neighbours("embedded-commit", "embedded", Number::Value, "1/s").on_each(&[1, 8, 64]),
    of_neighbours("embedded-commit-p50", "embedded", Number::Named("p50"), "us")
        .on_each(&[1, 8, 64]),
    of_neighbours("embedded-commit-p99", "embedded", Number::Named("p99"), "us")
        .on_each(&[1, 8, 64]),
    of_floor("neighbours", "embedded-floor", "embedded").on_each(&[1, 8, 64]),
    of_neighbours("embedded-syncs", "embedded", Number::Value, "x").counting(3),
    of_neighbours("embedded-read", "embedded", Number::Named("read"), "us"),
    of_neighbours("embedded-read-old", "embedded", Number::Named("read-old"), "us"),
    of_neighbours("embedded-diff", "embedded", Number::Named("diff"), "us"),
    of_neighbours("embedded-folder", "embedded", Number::Named("folder"), "B"),
    of_neighbours("embedded-growth", "embedded", Number::Named("growth"), "B"),
    of_watched("watched-delivery", Number::Value, "ms"),
    of_watched("watched-half", Number::Named("half"), "ms"),
    of_watched("watched-commit", Number::Named("commit"), "ms"),
    of_watched("watched-slowed", Number::Named("slowed"), "x"),
    of_watched("watched-rate", Number::Named("rate"), "1/s"),
    of_resumed("resumed-late", Number::Value),
    of_resumed("resumed-half", Number::Named("half")),
    of_resumed("resumed-up", Number::Named("up")),
    of_three("three-read-alone", "read-alone", "1/s"),
    of_three("three-read-two", "read-two", "1/s"),
    of_three("three-read", "read", "1/s"),
    of_three("three-read-cpu-alone", "read-cpu-alone", "us"),
    of_three("three-read-cpu-two", "read-cpu-two", "us"),
    of_three("three-read-cpu", "read-cpu", "us"),
    of_three("three-seen", "seen", "ms"),
    of_three("three-seen-p99", "seen-p99", "ms"),
    of_three("three-resume", "resume", "s"),
    of_three("three-resume-most", "resume-most", "s"),
    of_reclaimed("reclaimed-reader", Number::Value, "ms"),
    of_reclaimed("reclaimed-reader-beside", Number::Named("reader-beside"), "ms"),
    of_reclaimed("reclaimed-writer", Number::Named("writer"), "ms"),
    of_reclaimed("reclaimed-writer-beside", Number::Named("writer-beside"), "ms"),
    of_reclaimed("reclaimed-took", Number::Named("took"), "ms"),
    of_reclaimed("reclaimed-before", Number::Named("before"), "B"),
    of_reclaimed("reclaimed-after", Number::Named("after"), "B"),
    of_reclaimed("reclaimed-peak", Number::Named("peak"), "x"),
    of_workload("merge-0", "merge-0", Number::Value, "us"),
    of_workload("merge-10", "merge-10", Number::Value, "us"),
    of_workload("merge-10-conflicts", "merge-10", Number::Named("conflicts"), "x"),
    of_workload("merge-0-disk", "merge-0-disk", Number::Value, "us"),
    of_workload("merge-0-disk-synced", "merge-0-disk-synced", Number::Value, "us")
        .from("merge-0-disk"),
    of_floor("workloads", "merge-0-disk-floor", "merge-0-disk"),
    of_workload("merge-10-disk", "merge-10-disk", Number::Value, "us"),
    of_workload("merge-10-disk-synced", "merge-10-disk-synced", Number::Value, "us")
        .from("merge-10-disk"),
    of_floor("workloads", "merge-10-disk-floor", "merge-10-disk"),
    of_workload("merge-disk-syncs", "merge-disk-syncs", Number::Value, "x").counting(1),
    of_workload("merge-10-disk-conflicts", "merge-10-disk", Number::Named("conflicts"), "x"),
    of_workload("children-front-10000", "children-10000", Number::Named("front"), "us"),
    of_workload("children-middle-10000", "children-10000", Number::Value, "us"),
    of_workload("children-end-10000", "children-10000", Number::Named("end"), "us"),
    of_workload("children-move-10000", "children-10000", Number::Named("move"), "us"),
    of_workload("children-page-10000", "children-10000", Number::Named("page"), "us"),
    of_workload("children-page-at-10000", "children-10000", Number::Named("page-at"), "us"),
    of_workload("children-front-100000", "children-100000", Number::Named("front"), "us"),
    of_workload("children-middle-100000", "children-100000", Number::Value, "us"),
    of_workload("children-end-100000", "children-100000", Number::Named("end"), "us"),
    of_workload("children-move-100000", "children-100000", Number::Named("move"), "us"),
    of_workload("children-page-100000", "children-100000", Number::Named("page"), "us"),
    of_workload("children-page-at-100000", "children-100000", Number::Named("page-at"), "us"),
    of_workload("children-front-1000000", "children-1000000", Number::Named("front"), "us"),
    of_workload("children-middle-1000000", "children-1000000", Number::Value, "us"),
    of_workload("children-end-1000000", "children-1000000", Number::Named("end"), "us"),
    of_workload("children-move-1000000", "children-1000000", Number::Named("move"), "us"),
    of_workload("children-page-1000000", "children-1000000", Number::Named("page"), "us"),
    of_workload("children-page-at-1000000", "children-1000000", Number::Named("page-at"), "us"),
    of_workload("subtree", "subtree", Number::Value, "us"),
    of_workload("subtree-bare", "subtree-bare", Number::Value, "us").from(""),
    of_workload("subtree-read", "subtree", Number::Named("read"), "us"),
    of_workload("history-old-100", "history-100", Number::Value, "us"),
    of_workload("history-reopen-100", "history-100", Number::Named("reopen"), "us"),
    of_workload("history-list-100", "history-100", Number::Named("list"), "us"),
    of_workload("history-commit-100", "history-100", Number::Named("commit"), "us"),
    of_workload("history-old-1000", "history-1000", Number::Value, "us"),
    of_workload("history-reopen-1000", "history-1000", Number::Named("reopen"), "us"),
    of_workload("history-list-1000", "history-1000", Number::Named("list"), "us"),
    of_workload("history-commit-1000", "history-1000", Number::Named("commit"), "us"),
    of_workload("history-old-10000", "history-10000", Number::Value, "us"),
    of_workload("history-reopen-10000", "history-10000", Number::Named("reopen"), "us"),
    of_workload("history-list-10000", "history-10000", Number::Named("list"), "us"),
    of_workload("history-commit-10000", "history-10000", Number::Named("commit"), "us"),
    of_workload("history-old-100000", "history-100000", Number::Value, "us"),
    of_workload("history-reopen-100000", "history-100000", Number::Named("reopen"), "us"),
    of_workload("history-list-100000", "history-100000", Number::Named("list"), "us"),
    of_workload("history-commit-100000", "history-100000", Number::Named("commit"), "us"),
    of_workload("diff-1", "diff", Number::Named("adjacent"), "us"),
    of_workload("diff-1000", "diff", Number::Value, "us"),
    of_workload("readers-beside", "readers", Number::Value, "ns"),
    of_workload("readers-alone", "readers", Number::Named("alone"), "ns"),
    of_workload("readers-commits", "readers", Number::Named("commits"), "1/s"),
    of_workload("readers-commits-alone", "readers", Number::Named("commits-alone"), "1/s"),
    of_floor("workloads", "readers-floor", "readers"),
    of_workload("space-took", "space", Number::Value, "ms"),
    of_workload("space-before", "space", Number::Named("before"), "B"),
    of_workload("space-after", "space", Number::Named("after"), "B"),
    of_workload("space-peak", "space", Number::Named("peak"), "x"),
    of_workload("stall-reader", "stall", Number::Value, "ms"),
    of_workload("stall-reader-beside", "stall", Number::Named("reader-beside"), "ms"),
    of_workload("stall-writer", "stall", Number::Named("writer"), "ms"),
    of_workload("stall-writer-beside", "stall", Number::Named("writer-beside"), "ms"),
    of_workload("stall-took", "stall", Number::Named("took"), "ms"),
    of_workload("kill-reopen", "kill", Number::Value, "ms"),
    of_workload("load-100000", "load-100000", Number::Value, "1/s"),
    of_workload("load-100000-folder", "load-100000", Number::Named("folder"), "B"),
    of_floor("workloads", "load-100000-floor", "load-100000"),
    of_workload("load-1000000", "load-1000000", Number::Value, "1/s"),
    of_workload("load-1000000-folder", "load-1000000", Number::Named("folder"), "B"),
    of_floor("workloads", "load-1000000-floor", "load-1000000"),
    of_model("prepare", "us"),
    of_model("joined", "us"),
    of_model("message", "us"),
    of_model("record", "us"),
    of_model("message-bytes", "B"),
    of_model("record-bytes", "B"),
    of_model("publish", "us"),
    of_model("publish-byte", "ns"),
    of_model("deliver", "us"),
    of_model("engine", "us"),
    of_model("engine-byte", "ns"),
    of_model("copy", "us"),
    of_model("receive", "us"),
    of_model("wake", "us"),
    of_model("read", "ns"),
    of_servers("seen", "us"),
    of_servers("seen-p99", "us"),
    of_servers("commits", "1/s"),
    of_servers("together", "x"),
    of_simulated("star-seen", "us"),
    of_simulated("star-seen-p99", "us"),
    of_simulated("star-sent", "x"),
    of_simulated("star-ran", "x"),
    of_simulated("tree-seen", "us"),
    of_simulated("tree-seen-p99", "us"),
    of_simulated("tree-sent", "x"),
    of_simulated("tree-ran", "x"),
    of_simulated("ring-seen", "us"),
    of_simulated("ring-seen-p99", "us"),
    of_simulated("ring-sent", "x"),
    of_simulated("ring-ran", "x"),
    of_simulated("mesh-seen", "us"),
    of_simulated("mesh-seen-p99", "us"),
    of_simulated("mesh-sent", "x"),
    of_simulated("mesh-ran", "x"),
    of_simulated("memory", "B"),
    of_simulated("took", "s"),
    case("idle-trap", "free", None).from("visit").idle(Idle::Rest),
    case("idle-trap", "pinned", None).from("visit").idle(Idle::Pinned),
    case("idle-trap", "occupied", None).from("visit").idle(Idle::Busy),
    case("idle-trap", "select-free", Some("select")).from("").idle(Idle::Rest),
    case("idle-trap", "select-pinned", Some("select")).from("").idle(Idle::Pinned),
    case("idle-trap", "select-occupied", Some("select")).from("").idle(Idle::Busy),
];
