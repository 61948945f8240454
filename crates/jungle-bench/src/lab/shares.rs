//! How long each experiment may take.

use std::time::Duration;

/// Seconds of `--quick`, so that all of them are done in a quarter of an hour on two cores. An
/// experiment that has used up its share is stopped, and what it did not come to is told.
const SHARES: [(&str, u64); 20] = [
    ("read", 130),
    ("write", 90),
    ("point", 100),
    ("memory", 30),
    ("wide", 16),
    ("diff", 8),
    ("merge", 8),
    ("hot", 12),
    ("revisions", 6),
    ("commit", 35),
    ("flat", 14),
    ("open", 10),
    ("reclaim", 24),
    ("larger-than-memory", 35),
    ("store-peers", 62),
    ("alice", 60),
    ("board", 65),
    ("cluster", 80),
    ("scale", 70),
    ("idle-trap", 25),
];

/// Seconds of those that are not part of it.
const LONG_SHARES: [(&str, u64); 3] =
    [("cassandra", 1_400), ("neighbours", 1_300), ("workloads", 1_200)];

/// Seconds of those that take another part of the three hours than of the quarter of an hour.
const FULL_SHARES: [(&str, u64); 19] = [
    ("read", 1_900),
    ("write", 650),
    ("point", 400),
    ("memory", 60),
    ("wide", 60),
    ("diff", 30),
    ("merge", 30),
    ("hot", 40),
    ("revisions", 30),
    ("commit", 200),
    ("flat", 60),
    ("open", 30),
    ("reclaim", 100),
    ("larger-than-memory", 150),
    ("store-peers", 450),
    ("alice", 250),
    ("board", 1_000),
    ("cluster", 650),
    ("scale", 550),
];

/// Of an experiment that has no share.
const OTHERWISE: u64 = 20;

/// So many times as long without `--quick`: three hours for all.
const FULL: u64 = 10;

/// How long an experiment may take.
pub fn share(experiment: &str, is_quick: bool) -> Duration {
    let of = |shares: &[(&str, u64)]| {
        let found = shares.iter().find(|(name, _)| *name == experiment);
        found.map(|(_, seconds)| *seconds)
    };
    let quick = || of(&SHARES).unwrap_or(OTHERWISE);
    let seconds = of(&LONG_SHARES).unwrap_or_else(|| match is_quick {
        true => quick(),
        false => of(&FULL_SHARES).unwrap_or_else(|| FULL * quick()),
    });
    Duration::from_secs(seconds)
}

#[cfg(test)]
mod tests {
    use super::{FULL_SHARES, LONG_SHARES, SHARES, share};
    use crate::plan;

    #[test]
    fn all_of_them_end_in_time() {
        let names = |is_quick| plan::experiments(&plan::run("all", is_quick).unwrap());
        let all = |is_quick| {
            names(is_quick).iter().map(|name| share(name, is_quick).as_secs()).sum::<u64>()
        };
        assert!(all(true) <= 15 * 60 - 20, "{} s", all(true));
        assert!(all(false) <= 3 * 60 * 60, "{} s", all(false));
        for (name, _) in SHARES.into_iter().chain(LONG_SHARES).chain(FULL_SHARES) {
            assert!(plan::cases(name).is_ok(), "there is no experiment {name}");
        }
    }
}
