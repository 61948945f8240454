//! What is run: the cases of an experiment, or of all.

mod case;
mod cassandra;
mod table;

use clap::ValueEnum;

use crate::Failure;
use crate::systems::System;

pub use case::{Case, Number, Threads};
use table::CASES;

/// Experiments that are no part of `all --quick`: what they start takes minutes.
const LONG: [&str; 3] = ["cassandra", "neighbours", "workloads"];

/// The cases of an experiment, or of `all`.
///
/// # Errors
/// When there is no such experiment.
pub fn cases(experiment: &str) -> Result<Vec<Case>, Failure> {
    let found = CASES.iter().filter(|case| experiment == "all" || case.experiment == experiment);
    let found: Vec<Case> = found.copied().collect();
    if found.is_empty() {
        let names = experiments(CASES);
        return Err(format!(
            "there is no experiment `{experiment}`; there are {} and all",
            names.join(", ")
        )
        .into());
    }
    Ok(found)
}

/// Those that are run for `experiment`: of all, not the long ones where it is to be quick.
///
/// # Errors
/// As [`cases`].
pub fn run(experiment: &str, is_quick: bool) -> Result<Vec<Case>, Failure> {
    let mut cases = cases(experiment)?;
    let is_left_out = |name: &str| is_quick && LONG.contains(&name);
    cases.retain(|case| case.experiment == experiment || !is_left_out(case.experiment));
    Ok(cases)
}

/// The experiments of these cases, in their order.
pub fn experiments(cases: &[Case]) -> Vec<&'static str> {
    let mut names: Vec<&str> = cases.iter().map(|case| case.experiment).collect();
    names.dedup();
    names
}

/// The servers of boards that our own program asks in a run that measures ours, unless some are
/// left out.
pub fn peers(experiment: &str, ours: &str) -> Vec<System> {
    let is_of_run =
        |case: &&Case| (case.experiment, case.ours) == (experiment, ours) && case.counted.is_none();
    let is_asked = |system: &System| {
        let mut cases = CASES.iter().filter(is_of_run);
        system.is_board() && cases.any(|case| case.system == Some(*system))
    };
    System::value_variants().iter().copied().filter(is_asked).collect()
}

/// The case of this name.
pub fn find(experiment: &str, name: &str) -> Option<&'static Case> {
    CASES.iter().find(|case| (case.experiment, case.name) == (experiment, name))
}

#[cfg(test)]
mod tests {
    use clap::ValueEnum;

    use super::case::Idle;
    use super::{CASES, LONG, cases, experiments, find, peers, run};
    use crate::occupy::Cores;
    use crate::systems::{System, root};

    #[test]
    fn every_case_has_a_name_of_its_own() {
        let name = |case: &super::Case| (case.experiment, case.name, case.system.map(System::name));
        let mut names: Vec<_> = CASES.iter().map(name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), CASES.len());
        assert_eq!(cases("all").unwrap().len(), CASES.len());
        assert!(cases("tea").unwrap_err().to_string().contains("read, write, point"));
        assert_eq!(experiments(&cases("all").unwrap()).len(), 23);
    }

    #[test]
    fn all_of_them_are_quick_without_the_long_ones() {
        for long in LONG {
            let has = |experiment, is_quick| {
                experiments(&run(experiment, is_quick).unwrap()).contains(&long)
            };
            assert!(has("all", false) && !has("all", true) && has(long, true));
        }
        assert_eq!(run("all", false).unwrap().len(), CASES.len());
    }

    #[test]
    fn a_durable_commit_is_timed_by_all_who_make_one() {
        let durable = ["redb", "lmdb", "doltlite", "sqlite", "postgres"].map(System::named);
        let durable = [Some(System::Jungle)].into_iter().chain(durable).flatten();
        let durable: Vec<System> = durable.collect();
        for name in ["commit", "commit-p50", "commit-p99"] {
            let case = find("store-peers", name).unwrap();
            let rows = case.rows(&[1, 2], System::value_variants());
            let ought = [1, 8, 64].map(|clients| durable.iter().map(move |it| (clients, *it)));
            assert_eq!(rows, ought.into_iter().flatten().collect::<Vec<_>>(), "{name}");
        }
    }

    #[test]
    fn who_can_do_without_history_is_told_apart() {
        let case = find("store-peers", "commit-bare").unwrap();
        let without = ["redb", "lmdb", "sqlite"].map(|name| System::named(name).unwrap());
        let rows = case.rows(&[1, 2], System::value_variants());
        let ought = [1, 8, 64].map(|clients| without.map(|system| (clients, system)));
        assert_eq!(rows, ought.concat());
    }

    #[test]
    fn neighbours_are_asked_for_what_they_have() {
        let takes_part = |system| {
            let told = |case: &&super::Case| {
                case.experiment == "neighbours" && case.told(system).is_some()
            };
            CASES.iter().filter(told).map(|case| case.name).collect::<Vec<_>>()
        };
        let both = ["load", "commit", "commit-p50", "commit-p99", "syncs", "read"];
        let both = both.map(|name| format!("served-{name}"));
        let [etcd, zookeeper] = [System::Etcd, System::Zookeeper].map(takes_part);
        let watched = ["delivery", "half", "commit", "slowed", "rate"];
        let watched = watched.map(|name| format!("watched-{name}"));
        let (served, rest) = etcd.split_at(8);
        let (watching, rest) = rest.split_at(watched.len());
        let (resumed, rest) = rest.split_at(3);
        assert_eq!(resumed, ["resumed-late", "resumed-half", "resumed-up"]);
        let (three, reclaimed) = rest.split_at(10);
        assert!(three.iter().all(|name| name.starts_with("three-")));
        let is_of_it = |name: &&str| name.starts_with("reclaimed-");
        assert!(reclaimed.len() == 8 && reclaimed.iter().all(is_of_it));
        let with = |more: [&str; 2]| [&both[..], &more.map(str::to_owned)].concat();
        assert_eq!(served, with(["served-read-old", "served-folder"]));
        assert_eq!(watching, watched);
        let (served, together) = zookeeper.split_at(8);
        assert_eq!(served, with(["served-folder", "served-growth"]));
        assert_eq!(together, three);
        assert!(takes_part(System::Oak).contains(&"embedded-diff"));
        assert_eq!(takes_part(System::Oak).len(), 10);
    }

    #[test]
    fn workloads_are_raced_by_those_who_have_them() {
        let racers = |name: &str| {
            let case = find("workloads", name).unwrap();
            let told = |system: &System| case.told(*system).is_some();
            System::value_variants()
                .iter()
                .copied()
                .filter(told)
                .map(System::name)
                .collect::<Vec<_>>()
        };
        // Of the disk alone, which our own run takes.
        for name in ["merge-0-disk-floor", "readers-floor", "load-1000000-floor"] {
            assert_eq!(racers(name), ["jungle"]);
            assert!(find("workloads", name).unwrap().told(System::Machine).is_some());
        }
        assert_eq!(racers("merge-10"), ["jungle", "loro", "automerge"]);
        for name in ["merge-0-disk", "merge-10-disk-conflicts", "merge-disk-syncs"] {
            assert_eq!(racers(name), ["jungle", "doltlite", "git"]);
        }
        assert_eq!(racers("merge-10-disk-synced"), ["jungle", "git"]);
        assert_eq!(
            racers("children-move-10000"),
            ["jungle", "doltlite", "sqlite", "loro", "automerge"]
        );
        assert_eq!(racers("subtree"), ["jungle", "redb", "doltlite", "sqlite", "loro", "oak"]);
        assert_eq!(racers("subtree-bare"), ["redb"]);
        assert_eq!(racers("readers-beside"), ["jungle", "redb", "lmdb", "sqlite", "oak"]);
        assert_eq!(racers("space-after"), ["jungle", "redb", "doltlite", "sqlite"]);
        for name in ["reader", "reader-beside", "writer", "writer-beside", "took"] {
            assert_eq!(racers(&format!("stall-{name}")), ["jungle", "sqlite", "git"]);
        }
        for name in ["kill-reopen", "load-100000", "load-1000000-folder"] {
            assert_eq!(racers(name), ["jungle", "redb", "lmdb", "doltlite", "sqlite"]);
        }
        let documents = ["loro", "automerge"];
        let stores = [&["jungle", "redb", "lmdb", "doltlite", "sqlite"][..], &documents].concat();
        for name in ["diff-1", "diff-1000"] {
            assert_eq!(racers(name), [&stores[..], &["git", "oak"]].concat());
        }
        assert_eq!(racers("history-old-100"), stores);
        assert_eq!(
            racers("history-list-100"),
            stores.into_iter().filter(|name| *name != "loro").collect::<Vec<_>>()
        );
    }

    #[test]
    fn boards_are_asked_in_the_run_that_measures_ours() {
        assert_eq!(peers("board", "e3"), [System::Warp, System::Pocketbase, System::SqliteApp]);
        assert_eq!(peers("board", "mixed-pocketbase"), [System::Pocketbase]);
        assert_eq!(peers("cassandra", "sync"), [System::Cassandra]);
        for (experiment, ours) in [
            ("board", "syncs-pocketbase"),
            ("cassandra", "syncs-cassandra"),
            ("board", "pages"),
            ("a", "b"),
        ] {
            assert_eq!(peers(experiment, ours), [], "{experiment} {ours}");
        }
    }

    /// Where it takes too long, it is stopped, and all else of the experiment is there.
    #[test]
    fn the_mix_of_pocketbase_comes_behind_all_else() {
        let runs: Vec<&str> = cases("board").unwrap().iter().map(|case| case.ours).collect();
        let (others, last) = runs.split_at(runs.len() - 2);
        assert_eq!(last, ["mixed-pocketbase"; 2]);
        assert!(!others.contains(&"mixed-pocketbase"));
    }

    #[test]
    fn the_board_in_cassandra_is_asked_by_as_many_clients_as_in_the_original() {
        for clients in (10..=45).step_by(5) {
            for word in ["read", "write"] {
                for end in ["", "-unsynced"] {
                    let name = |what: &str| format!("{word}-one{what}{end}");
                    let rates = if clients == 10 { name("") } else { name(&format!("-{clients}")) };
                    let mean = name(&format!("-{clients}-mean"));
                    let deviation = name(&format!("-{clients}-deviation"));
                    for (name, unit) in [(rates, "1/s"), (mean, "1/s"), (deviation, "x")] {
                        let of = |case: &&super::Case| {
                            (case.experiment, case.name, case.unit) == ("cassandra", &*name, unit)
                        };
                        let whose = CASES.iter().filter(of).map(|case| case.system);
                        assert_eq!(
                            whose.collect::<Vec<_>>(),
                            [None, Some(System::Cassandra)],
                            "{name}"
                        );
                    }
                }
            }
        }
    }

    /// Whoever looks up a published experiment, or what is asked of such systems, in the tables of
    /// `bench/peers/README.md` finds cases that there are.
    #[test]
    fn the_tables_of_what_is_measured_name_cases_that_there_are() {
        let page = std::fs::read_to_string(root().join("bench/peers/README.md")).unwrap();
        let mut found = Vec::new();
        for line in page.lines().filter_map(|line| line.strip_prefix("| ")) {
            let Some((name, _)) = line.split_once([':', ',']) else { continue };
            let number = name.strip_prefix(['E', 'W']).map(str::parse::<u8>);
            let (Some(Ok(_)), Some(place)) = (number, line.split(" | ").nth(1)) else { continue };
            let mut spoken_of = "";
            for told in place.split('`').skip(1).step_by(2) {
                spoken_of = speaks_of(spoken_of, told)
                    .unwrap_or_else(|| panic!("{name}: `{told}` is no case"));
            }
            found.push(name);
        }
        let all = [("E", 7), ("W", 13)];
        let all =
            all.iter().flat_map(|(name, last)| (1..=*last).map(move |n| format!("{name}{n}")));
        for name in all {
            assert!(found.contains(&&*name), "{name} of {found:?}");
        }
    }

    /// The experiment that a table goes on with where it tells this: an experiment, a case of it or
    /// of the one before, or how cases begin or end. `None` if there is no such thing.
    fn speaks_of<'t>(before: &'t str, told: &'t str) -> Option<&'t str> {
        const SUITES: &str = "cargo xtask torture";
        let has = |experiment: &str, part: &str| {
            let is_named = |name: &str| match part.strip_suffix('*') {
                Some(begin) => name.starts_with(begin),
                None if part.starts_with('-') => name.ends_with(part),
                None => name == part,
            };
            let is_its = |case: &super::Case| case.experiment == experiment && is_named(case.name);
            CASES.iter().any(is_its)
        };
        match told.split_once(' ') {
            _ if told.starts_with(SUITES) => Some(SUITES),
            Some((experiment, case)) => has(experiment, case).then_some(experiment),
            None if before == SUITES || told.starts_with("--") || has(before, told) => Some(before),
            None => CASES.iter().find(|case| case.experiment == told).map(|case| case.experiment),
        }
    }

    /// Its program is a server, which would never end.
    #[test]
    fn a_board_is_only_told_of_its_own_cases() {
        let is_board = |system: &&System| system.is_board();
        for &board in System::value_variants().iter().filter(is_board) {
            for case in CASES.iter().filter(|case| case.system != Some(board)) {
                assert_eq!(case.told(board), None, "{case:?}");
            }
            assert!(CASES.iter().any(|case| case.told(board).is_some()));
        }
    }

    #[test]
    fn idle_cores_are_kept_busy_where_threads_are_asked_for() {
        let cores = |experiment, name, asked| find(experiment, name).unwrap().cores(3, asked);
        assert_eq!(cores("read", "visit", true), Cores::BesideBusy(3));
        assert_eq!(cores("read", "visit", false), Cores::All);
        assert_eq!(cores("commit", "sync", true), Cores::All);
        assert_eq!(cores("idle-trap", "free", true), Cores::All);
        assert_eq!(cores("idle-trap", "pinned", true), Cores::Pinned(3));
        assert_eq!(cores("idle-trap", "select-occupied", false), Cores::BesideBusy(3));
        assert_eq!(find("read", "visit").unwrap().idle, Idle::Asked);
    }
}
