//! How long each experiment may take.

use std::time::Duration;

/// Seconds of `--quick`, so that all of them are done in a quarter of an hour on two cores. An
/// experiment that has used up its share is stopped, and what it did not come to is told.
const SHARES: [(&str, u64); 20] = [
    ("read", 130),
    ("write", 90),
    ("point", 100),
    ("memory", 30),
    ("wide", 20),
    ("diff", 8),
    ("merge", 8),
    ("hot", 12),
    ("revisions", 10),
    ("commit", 35),
    ("flat", 10),
    ("open", 10),
    ("reclaim", 20),
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
    [("cassandra", 1_100), ("neighbours", 900), ("workloads", 900)];

/// Of an experiment that has no share.
const OTHERWISE: u64 = 20;

/// So many times as long without `--quick`: three hours for all.
const FULL: u64 = 10;

/// How long an experiment may take.
pub fn share(experiment: &str, is_quick: bool) -> Duration {
    if let Some((_, seconds)) = LONG_SHARES.iter().find(|(name, _)| *name == experiment) {
        return Duration::from_secs(*seconds);
    }
    let found = SHARES.iter().find(|(name, _)| *name == experiment);
    let seconds = found.map_or(OTHERWISE, |(_, seconds)| *seconds);
    Duration::from_secs(if is_quick { seconds } else { FULL * seconds })
}

#[cfg(test)]
mod tests {
    use super::{LONG_SHARES, SHARES, share};
    use crate::plan;

    #[test]
    fn all_of_them_end_in_time() {
        let names = |is_quick| plan::experiments(&plan::run("all", is_quick).unwrap());
        let all = |is_quick| {
            names(is_quick).iter().map(|name| share(name, is_quick).as_secs()).sum::<u64>()
        };
        assert!(all(true) <= 15 * 60 - 20, "{} s", all(true));
        assert!(all(false) <= 3 * 60 * 60, "{} s", all(false));
        for (name, _) in SHARES.into_iter().chain(LONG_SHARES) {
            assert!(plan::cases(name).is_ok(), "there is no experiment {name}");
        }
    }
}
