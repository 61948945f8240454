//! `jungle-bench`: the published experiments, Jungle and its peers side by side on one machine.
//!
//! Each round runs the systems one after the other (A B C A B C …), each measurement in a process
//! of its own; a result is the median of the rounds, a ratio the median of the rounds' ratios.
//! Every measurement checks what it did. With `--report` all of it is kept, and becomes one page
//! with the bars, curves and what could not be measured. See `bench/peers/README.md` for what the
//! peers are.
//!
//! `jungle-bench track` is for every day: it counts instructions, takes seconds, and tells what
//! became slower than was recorded.
//!
//! Where what is:
//!
//! - `plan` has all cases, `systems` how each system is started, `experiments` our side of them on
//!   the trees and draws of `workload`; `sample` is the line that one measurement prints.
//! - `runner` takes the rounds; `results`, `stats` and `table` are what comes of them.
//! - `occupy`, `touch`, `syncs` and `watchdog` keep a measurement honest: idle cores, cold memory,
//!   counted syncs, an end to what hangs.
//! - `bars` says what a case must reach, `verdicts` whether it does.
//! - `lab` runs experiments and keeps what they gave, `report` makes the pages of that.
//! - `scale` is a model of clusters that are larger than one machine; `track` counts instructions.

mod args;
mod bars;
mod experiments;
mod lab;
mod occupy;
mod plan;
mod progress;
mod report;
mod results;
mod runner;
mod sample;
mod scale;
mod stats;
mod syncs;
mod systems;
mod table;
mod touch;
mod track;
mod verdicts;
mod watchdog;
mod workload;

use std::process::ExitCode;

use clap::Parser;

use crate::args::{Args, Command};
use crate::experiments::{folder, placed};
use crate::runner::Found;

/// What went wrong, in words.
type Failure = Box<dyn std::error::Error + Send + Sync>;

fn main() -> ExitCode {
    let result = match Args::parse().command() {
        Command::Sample { experiment, case, options, peers, steps } => {
            let built = || {
                let peers = plan::peers(&experiment, &case).into_iter();
                peers.filter(|system| system.is_built()).collect()
            };
            let peers = peers.unwrap_or_else(built);
            experiments::sample(&experiment, &case, options, &peers, steps).and_then(print)
        }
        Command::Reopen { folder, options } => {
            experiments::reopen(&folder, options).and_then(print)
        }
        Command::UseHot { folder, group, options } => {
            experiments::hot(&folder, group.as_deref(), options).and_then(print)
        }
        Command::CommitUntilKilled { folder, first, options } => {
            experiments::commit_until_killed(&folder, first, options)
        }
        Command::Report(folder) => report::write(&folder),
        Command::Track(request) => track::run(&request),
        Command::TrackWork => track::work(),
        Command::Load(request) => placed::load(&request),
        Command::LoadNode { engine, label } => placed::node(&engine, &label),
        Command::Run(request) => {
            folder::sweep();
            match &request.report {
                Some(folder) => lab::run(&request, folder),
                None => run(&request),
            }
        }
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("jungle-bench: {failure}");
            ExitCode::FAILURE
        }
    }
}

/// One measurement, as the peers do: a line of JSON.
fn print(sample: sample::Sample) -> Result<(), Failure> {
    println!("{}", serde_json::to_string(&sample)?);
    if sample.check == "ok" { Ok(()) } else { Err(sample.check.into()) }
}

/// All measurements of an experiment, as a table and perhaps as rows.
fn run(request: &args::Request) -> Result<(), Failure> {
    let mut request = request.clone();
    let here = std::mem::take(&mut request.systems).into_iter().filter(|system| {
        let found = system.is_built();
        if !found {
            let build = format!("cargo xtask peers {}", system.peer());
            eprintln!("{} is not there: build it with `{build}`", system.name());
        }
        found
    });
    request.systems = here.collect();
    let cases = plan::run(&request.experiment, request.quick)?;
    let Found { rows, occupied, left_out } = runner::run(&cases, &request)?;
    let verdicts = verdicts::all(&rows);
    print!("{}", table::render(&cases, &rows, &verdicts));
    if !occupied.is_empty() {
        print!("\nbeside busy cores\n{}", table::render(&[], &occupied, &[]));
    }
    left_out.iter().for_each(|left| println!("{}: {}", left.what(), left.reason()));
    if let Some(beyond) = report::beyond(&rows) {
        print!("\n{beyond}");
    }
    if let Some(path) = &request.json {
        std::fs::write(path, results::to_json_lines(&rows, &occupied))
            .map_err(|error| format!("cannot write {}: {error}", path.display()))?;
    }
    Ok(())
}
