use std::collections::HashMap;

use clap::Parser;

use super::{Cell, Lane, Rounds, number};
use crate::args::{Args, Command, Request};
use crate::lab::cores;
use crate::occupy::Cores;
use crate::plan::{self, Number};
use crate::sample::Sample;
use crate::systems::System;

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
        let order = rounds.in_turn(round);
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
