//! E4 and E5: the board on one server and on three, ours beside the one that is kept in Cassandra.

use super::case::{Case, Number, case};
use crate::systems::System;

/// All of it, in parts: what ten clients do, and each of several servers; what more clients of one
/// server do; how far the turns lie apart; and what the disk does.
pub const CASSANDRA: [&[Case]; 4] =
    [FEW, MORE.as_flattened().as_flattened(), STATISTICS.as_flattened().as_flattened(), DISK];

/// A number of ours on so many servers, in the run of `cassandra OURS`.
const fn ours(
    name: &'static str,
    run: &'static str,
    number: &'static str,
    servers: &'static [usize],
) -> Case {
    let case = case("cassandra", name, None).from(run).on_each(servers);
    case.number(Number::Named(number), "1/s")
}

/// What Cassandra reaches on as many nodes in the same run, under this name there.
const fn theirs(
    name: &'static str,
    run: &'static str,
    number: &'static str,
    servers: &'static [usize],
) -> Case {
    ours(name, run, number, servers).of(System::Cassandra)
}

/// The same, counted in times of something.
const fn in_times(case: Case) -> Case {
    Case { unit: "x", ..case }
}

const ONE: &[usize] = &[1];

const FEW: &[Case] = &[
    ours("read-one", "sync", "read", &[1, 3]),
    theirs("read-one", "sync", "cassandra-read-one", &[1, 3]),
    ours("write-one", "sync", "write", &[1]),
    theirs("write-one", "sync", "cassandra-write-one", &[1, 3]),
    ours("read-quorum", "sync", "read", &[3]),
    theirs("read-quorum", "sync", "cassandra-read-quorum", &[3]),
    ours("read-newest", "sync", "read-newest", &[3]),
    theirs("read-newest", "sync", "cassandra-read-quorum", &[3]),
    ours("write-quorum", "sync", "write", &[3]),
    theirs("write-quorum", "sync", "cassandra-write-quorum", &[3]),
    ours("write-local", "sync", "write-local", &[3]),
    theirs("write-local", "sync", "cassandra-write-one", &[3]),
    ours("write-local-settled", "sync", "write-local-settled", &[3]),
    ours("read-one-unsynced", "unsynced", "read", &[1, 3]),
    theirs("read-one-unsynced", "unsynced", "cassandra-read-one", &[1, 3]),
    ours("write-one-unsynced", "unsynced", "write", &[1]),
    theirs("write-one-unsynced", "unsynced", "cassandra-write-one", &[1, 3]),
    ours("read-quorum-unsynced", "unsynced", "read", &[3]),
    theirs("read-quorum-unsynced", "unsynced", "cassandra-read-quorum", &[3]),
    ours("read-newest-unsynced", "unsynced", "read-newest", &[3]),
    theirs("read-newest-unsynced", "unsynced", "cassandra-read-quorum", &[3]),
    ours("write-quorum-unsynced", "unsynced", "write", &[3]),
    theirs("write-quorum-unsynced", "unsynced", "cassandra-write-quorum", &[3]),
    ours("write-local-unsynced", "unsynced", "write-local", &[3]),
    theirs("write-local-unsynced", "unsynced", "cassandra-write-one", &[3]),
    ours("write-local-settled-unsynced", "unsynced", "write-local-settled", &[3]),
];

/// So many clients of one server, as `-15`: what ours and Cassandra's answer in a second.
macro_rules! rates {
    ($clients:literal) => {
        [
            rates!("read", $clients, "sync", ""),
            rates!("write", $clients, "sync", ""),
            rates!("read", $clients, "unsynced", "-unsynced"),
            rates!("write", $clients, "unsynced", "-unsynced"),
        ]
    };
    ($word:literal, $clients:literal, $run:literal, $end:literal) => {{
        const NAME: &str = concat!($word, "-one", $clients, $end);
        [
            ours(NAME, $run, concat!($word, $clients), ONE),
            theirs(NAME, $run, concat!("cassandra-", $word, "-one", $clients), ONE),
        ]
    }};
}

/// E4 goes up to 45 clients.
const MORE: &[[[Case; 2]; 4]] = &[
    rates!("-15"),
    rates!("-20"),
    rates!("-25"),
    rates!("-30"),
    rates!("-35"),
    rates!("-40"),
    rates!("-45"),
];

/// The mean of the turns of so many clients, and their standard deviation over that.
macro_rules! statistics {
    ($shown:literal, $clients:literal) => {
        [
            statistics!("read", $shown, $clients, "sync", ""),
            statistics!("write", $shown, $clients, "sync", ""),
            statistics!("read", $shown, $clients, "unsynced", "-unsynced"),
            statistics!("write", $shown, $clients, "unsynced", "-unsynced"),
        ]
    };
    ($word:literal, $shown:literal, $clients:literal, $run:literal, $end:literal) => {{
        const MEAN: &str = concat!($word, "-one", $shown, "-mean", $end);
        const DEVIATION: &str = concat!($word, "-one", $shown, "-deviation", $end);
        const OURS: [&str; 2] =
            [concat!($word, $clients, "-mean"), concat!($word, $clients, "-deviation")];
        const THEIRS: [&str; 2] = [
            concat!("cassandra-", $word, "-one", $clients, "-mean"),
            concat!("cassandra-", $word, "-one", $clients, "-deviation"),
        ];
        [
            ours(MEAN, $run, OURS[0], ONE),
            theirs(MEAN, $run, THEIRS[0], ONE),
            in_times(ours(DEVIATION, $run, OURS[1], ONE)),
            in_times(theirs(DEVIATION, $run, THEIRS[1], ONE)),
        ]
    }};
}

/// In the run, the ten have no number in their name.
const STATISTICS: &[[[Case; 4]; 4]] = &[
    statistics!("-10", ""),
    statistics!("-15", "-15"),
    statistics!("-20", "-20"),
    statistics!("-25", "-25"),
    statistics!("-30", "-30"),
    statistics!("-35", "-35"),
    statistics!("-40", "-40"),
    statistics!("-45", "-45"),
];

/// What a bare file is synced in a second, and how often each syncs for a post.
const DISK: &[Case] = &[
    ours("floor", "sync", "floor", &[1, 3]).of(System::Machine),
    ours("syncs", "syncs", "syncs", ONE).counting(1),
    ours("syncs", "syncs-cassandra", "syncs", ONE).counting(1).of(System::Cassandra),
];
