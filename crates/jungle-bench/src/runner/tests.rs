use std::collections::HashMap;
use std::time::Instant;

use clap::Parser;

use super::order::{Kind, rounds};
use super::{Cell, Lane, Rounds, number, run_until};
use crate::args::{Args, Command, Request};
use crate::bars::RULES;
use crate::lab::{Cause, cores};
use crate::occupy::Cores;
use crate::plan::{self, Number};
use crate::results::find;
use crate::sample::Sample;
use crate::systems::System;
use crate::verdicts;

fn asked(line: &str) -> Request {
    match Args::parse_from(line.split(' ')).command() {
        Command::Run(request) => request,
        _ => panic!("an experiment"),
    }
}

#[test]
fn another_system_begins_each_round() {
    let line = "jungle-bench point --systems jungle,haskell,java";
    let request = asked(line);
    let rounds = Rounds::new(&plan::cases("point").unwrap(), &request, 3, None);
    let systems = |round: usize| {
        let all: Vec<usize> = (0..rounds.cells.len()).collect();
        let order = rounds.in_turn(&all, round);
        assert_eq!(order.len(), rounds.cells.len());
        let cells = order.into_iter().map(|at| &rounds.cells[at]);
        let of_case = cells.filter(|cell| cell.case.name == "update");
        of_case.map(|cell| cell.system).collect::<Vec<_>>()
    };
    use System::{Haskell, Java, Jungle};
    assert_eq!(systems(0), [Jungle, Haskell, Java]);
    assert_eq!(systems(1), [Haskell, Java, Jungle]);
    assert_eq!(systems(2), [Java, Jungle, Haskell]);
    assert_eq!(systems(3), systems(0));
}

#[test]
fn what_bars_need_has_its_rounds_before_others_have_one() {
    use Kind::{Bars, Others};
    assert_eq!(rounds(3, 3), [Bars, Bars, Bars, Others, Others, Others]);
    assert_eq!(rounds(1, 3), [Bars, Others, Bars, Bars, Others, Others], "with --quick");
    assert_eq!(rounds(1, 1), [Bars, Others]);
    let of = |line: &str, kind| {
        let request = asked(line);
        let rounds = Rounds::new(&plan::cases(&request.experiment).unwrap(), &request, 1, None);
        let told = |at: &usize| {
            let Cell { case, system, threads, .. } = &rounds.cells[*at];
            format!("{} {} {threads}", case.name, system.name())
        };
        rounds.split.cells(kind).iter().map(told).collect::<Vec<_>>().join(", ")
    };
    let line = "jungle-bench read --threads 1 --systems java,jungle,haskell,imbl";
    let bars = "count jungle 1, count haskell 1, visit jungle 1, visit haskell 1, \
        visit-attribute jungle 1, visit-attribute haskell 1, \
        visit-aged jungle 1, visit-aged haskell 1";
    assert_eq!(of(line, Bars), bars);
    // No bar speaks of the first one; beside each other peer there is ours again.
    let others = "summary jungle 1, count java 1, count jungle 1, count imbl 1, \
        visit java 1, visit jungle 1, visit imbl 1, \
        visit-attribute java 1, visit-attribute jungle 1, visit-attribute imbl 1, \
        visit-aged java 1, visit-aged jungle 1, visit-aged imbl 1";
    assert_eq!(of(line, Others), others);
    // Two threads are held against one.
    let line = "jungle-bench read --threads 1,2 --systems jungle --case visit-aged";
    assert_eq!(of(line, Bars), "visit-aged jungle 1, visit-aged jungle 2");
    assert_eq!(of(line, Others), "");
    let line = "jungle-bench neighbours --systems jungle,oak --case embedded-load";
    let both = ["embedded-load jungle 1", "embedded-load oak 1"];
    assert_eq!((of(line, Bars), of(line, Others)), (String::new(), both.join(", ")));
}

/// Of all experiments: the rounds of bars alone give every verdict, and with those of others every
/// figure is there, and every peer's has ours beside it.
#[test]
fn what_is_held_against_each_other_is_measured_in_one_round() {
    for experiment in plan::experiments(&plan::cases("all").unwrap()) {
        let request = asked(&format!("jungle-bench {experiment} --threads 1,2"));
        let cases = plan::cases(experiment).unwrap();
        let found = |kinds: &[Kind]| {
            let mut rounds = Rounds::new(&cases, &request, 1, None);
            for (round, kind) in kinds.iter().enumerate() {
                for at in rounds.split.cells(*kind).to_vec() {
                    rounds.cells[at].samples.push((round, 1.0));
                }
            }
            (rounds.cells.len(), rounds.end().rows)
        };
        let (_, rows) = found(&[Kind::Bars]);
        let rules = RULES.iter().filter(|rule| rule.experiment == experiment).count();
        assert_eq!(verdicts::all(&rows).len(), rules, "{experiment}");
        let (cells, rows) = found(&[Kind::Bars, Kind::Others]);
        assert_eq!(rows.len(), cells, "{experiment}");
        for its in rows.iter().filter(|row| row.system != System::Jungle) {
            let case = (its.experiment, its.case);
            if let Some(ours) = find(&rows, case, System::Jungle, its.threads) {
                assert!(!ours.over(its).is_empty(), "{its:?}");
            }
        }
    }
}

#[test]
fn all_for_which_there_is_no_time_is_told() {
    let request = asked("jungle-bench write --threads 1,2 --systems jungle,haskell,java");
    let cases = plan::cases("write").unwrap();
    let cells = Rounds::new(&cases, &request, 1, None).cells.len();
    let found = run_until(&cases, &request, Instant::now());
    assert!(found.rows.is_empty());
    assert_eq!(found.left_out.len(), cells);
    assert!(found.left_out.iter().all(|left| left.cause == Cause::NoTime));
}

#[test]
fn a_jvm_warms_up_for_half_a_minute() {
    let warmed = |line: &str| {
        let line = format!("jungle-bench {line} --threads 1");
        let request = asked(&line);
        let rounds = Rounds::new(&plan::cases(&request.experiment).unwrap(), &request, 1, None);
        let is_warmed =
            |cell: &Cell| cell.program.argv.windows(2).any(|two| two == ["--warm-up", "30"]);
        let told = rounds.cells.iter().map(|cell| (cell.system.name(), is_warmed(cell)));
        told.collect::<Vec<_>>()
    };
    let line = "read --case visit-aged --systems jungle,java";
    assert_eq!(warmed(line), [("jungle", false), ("java", true)]);
    assert_eq!(warmed(&format!("{line} --quick")), [("jungle", false), ("java", false)]);
    let line = "neighbours --systems oak,zookeeper --case";
    assert_eq!(warmed(&format!("{line} embedded-read-old")), [("oak", true)]);
    assert_eq!(warmed(&format!("{line} served-syncs")), [("zookeeper", false)]);
}

#[test]
fn the_trap_is_only_looked_for_where_a_core_is_idle() {
    let line = "jungle-bench idle-trap --threads 1,9999 --systems jungle,postgres";
    let request = asked(line);
    let rounds = Rounds::new(&plan::cases("idle-trap").unwrap(), &request, 1, None);
    let on = |threads: usize| {
        let cells = rounds.cells.iter().filter(move |cell| cell.threads == threads);
        cells.map(|cell| (cell.case.name, cell.program.cores)).collect::<Vec<_>>()
    };
    let free = [("free", Cores::All), ("select-free", Cores::All)];
    assert_eq!(on(9999), free);
    let kinds = ["pinned", "occupied", "select-pinned", "select-occupied"];
    let names: Vec<&str> = on(1).into_iter().map(|(name, _)| name).collect();
    for kind in kinds {
        assert_eq!(names.contains(&kind), cores() > 1, "{kind}");
    }
}

#[test]
fn both_ways_are_measured_where_a_core_is_idle() {
    for (when, busy) in [("", 0), ("=both", 2)] {
        let line = format!("jungle-bench read --case visit-aged --occupy-idle{when}");
        let line = format!("{line} --threads 1,9999 --systems jungle,haskell");
        let request = asked(&line);
        let mut rounds = Rounds::new(&plan::cases("read").unwrap(), &request, 1, None);
        rounds.cells.iter_mut().for_each(|cell| cell.samples.push((0, 1.0)));
        let lanes = rounds.cells.iter().map(|cell| (cell.lane, cell.program.cores));
        let busy = if cores() > 1 { busy } else { 0 };
        let is_busy = (Lane::Busy, Cores::BesideBusy(1));
        assert_eq!(lanes.filter(|lane| *lane == is_busy).count(), busy, "{when}");
        let found = rounds.end();
        assert_eq!((found.rows.len(), found.occupied.len()), (4, busy), "{when}");
    }
}

#[test]
fn only_boards_that_are_asked_for_are_asked() {
    for (systems, told) in [
        ("jungle,pocketbase,warp,cassandra", &["--peers", "warp,pocketbase"][..]),
        ("jungle,etcd", &["--peers"]),
    ] {
        let line = format!("jungle-bench board --case read --systems {systems}");
        let request = asked(&line);
        let told: Vec<String> = told.iter().map(|word| (*word).to_owned()).collect();
        let rounds = Rounds::new(&plan::cases("board").unwrap(), &request, 1, None);
        assert!(rounds.cells.iter().any(|cell| cell.system == System::Jungle));
        for cell in rounds.cells {
            assert!(cell.program.argv.ends_with(&told), "{:?}", cell.program);
        }
    }
}

#[test]
fn closures_work_as_much_on_one_thread_as_on_two() {
    let request = asked("jungle-bench hot --threads 1,2 --systems jungle");
    let rounds = Rounds::new(&plan::cases("hot").unwrap(), &request, 1, None);
    let told = |cell: &Cell| {
        let mut behind = cell.program.argv.iter().skip_while(|word| *word != "--steps").skip(1);
        behind.next().unwrap().parse::<u64>().unwrap()
    };
    let mut steps: Vec<u64> = rounds.cells.iter().map(told).collect();
    assert!(steps.len() > 2, "{steps:?}");
    steps.dedup();
    assert_eq!(steps.len(), 1, "{steps:?}");
    assert!(steps[0] >= 45_000);
}

#[test]
fn a_peer_that_failed_leaves_the_others_their_numbers() {
    let sample = Sample::rate(1.0, 3).with("warp-read", 2.0);
    let sample = sample.with_failed("pocketbase", "it ended".to_owned());
    let of = |system, name| number(&sample, system, Number::Named(name));
    assert_eq!(of(System::Warp, "warp-read").unwrap(), 2.0);
    assert_eq!(number(&sample, System::Jungle, Number::Value).unwrap(), 3.0);
    assert_eq!(of(System::Pocketbase, "pocketbase-read").unwrap_err().why, "it ended");
}

#[test]
fn systems_that_hold_other_things_are_told() {
    let part = "merge-10-disk-conflicts";
    let line = format!("jungle-bench workloads --case {part} --systems jungle,doltlite,git");
    let request = asked(&line);
    let cases = plan::cases("workloads").unwrap();
    let left_out = |sums: [Option<f64>; 3]| {
        let mut rounds = Rounds::new(&cases, &request, 1, None);
        assert_eq!(rounds.cells.len(), sums.len());
        let mut measured = HashMap::new();
        for (cell, sum) in rounds.cells.iter_mut().zip(sums) {
            let sample = Sample::value(1.0, "us");
            let sample = sum.into_iter().fold(sample, |all, sum| all.with("checksum", sum));
            measured.insert(cell.program.clone(), Ok(sample));
            cell.samples.push((0, 1.0));
        }
        rounds.refuse_other_content(&measured);
        let why = |cell: Cell| {
            assert_eq!(cell.samples.is_empty(), cell.left_out.is_some());
            cell.left_out.map(|left| left.why).unwrap_or_default()
        };
        rounds.cells.into_iter().map(why).collect::<Vec<String>>()
    };
    assert_eq!(left_out([Some(3.0); 3]), [""; 3]);
    assert_eq!(left_out([None; 3]), [""; 3]);
    let other = left_out([Some(3.0), Some(3.0), Some(4.0)]);
    assert!(other.iter().all(|why| why.contains("do not hold the same")), "{other:?}");
    let silent = left_out([Some(3.0), None, Some(3.0)]);
    assert_eq!((&*silent[0], &*silent[2]), ("", ""));
    assert!(silent[1].contains("does not tell what it holds"), "{silent:?}");
}
