//! `jungle-bench EXPERIMENT --report FOLDER`: experiments one after the other, each in its share of
//! the time, each kept as soon as it has ended; then the report of all that are there.

mod details;
mod machine;
mod raw;
mod shares;
mod versions;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Instant;

pub use self::machine::{Machine, cores};
pub use self::raw::{Cause, Conditions, LeftOut, Raw, Settings, beside_busy};
pub use self::versions::{engine, revision, said};
use crate::args::Request;
use crate::plan::{self, Case};
use crate::runner::{self, Found};
use crate::systems::System;
use crate::{Failure, report};

/// Runs what is asked for and not there yet, and writes the report into the folder. What is there
/// stays where less is asked for than it has, where a program that it was measured with is missing
/// now or fails, or there was no time for ours, for what a bar needs, or for a peer that was ahead.
/// Other peers that there was no time for go from it: they come last, and what was measured before
/// them counts more.
///
/// # Errors
/// When there is no such experiment, or the folder cannot be written to. An experiment that fails
/// is a line of the report.
pub fn run(request: &Request, folder: &Path) -> Result<(), Failure> {
    let all = plan::run(&request.experiment, request.quick)?;
    let names = plan::experiments(&all);
    let raw = folder.join("raw");
    fs::create_dir_all(&raw).map_err(|error| format!("cannot make {}: {error}", raw.display()))?;
    let lab = Lab::new(request);
    lab.tell_absent(&all);
    for (at, name) in names.iter().enumerate() {
        let place = format!("[{}/{}] {name}", at + 1, names.len());
        if !request.again && lab.has(folder, name) {
            eprintln!("{place}: is there");
            continue;
        }
        let before = Raw::read(&Raw::path(folder, name)).ok();
        let cases = plan::cases(name)?;
        let tell = |what: &str, why: &str| {
            let how = format!("to replace it, remove raw/{name}.json");
            eprintln!("{place}: stays as it was, which has {what} ({why}); {how}");
        };
        if let Some(what) = before.as_ref().and_then(|raw| raw.unasked(request)) {
            tell(&what, "not asked for");
            continue;
        }
        let stays = |left_out: &[LeftOut]| {
            let lost = before.as_ref().and_then(|raw| raw.lost(left_out));
            if let Some(lost) = lost {
                tell(&lost.what(), &lost.reason());
            }
            lost.is_some()
        };
        if stays(&lab.missing(&cases)) {
            continue;
        }
        let raw = lab.measure(name, &cases)?;
        if stays(&raw.left_out) {
            continue;
        }
        raw.write(folder)?;
        eprintln!(
            "{place}: {} figures in {:.0} s, {} left out",
            raw.rows.len() + raw.occupied.len(),
            raw.conditions.seconds,
            raw.left_out.len()
        );
    }
    report::write(folder)
}

/// What all experiments of a run have in common.
struct Lab {
    asked: Request,
    /// Of the systems that are there.
    request: Request,
    command: String,
    machine: Machine,
    versions: BTreeMap<String, String>,
    missing: Vec<System>,
}

impl Lab {
    fn new(request: &Request) -> Lab {
        let (here, missing): (Vec<System>, Vec<System>) =
            request.systems.iter().copied().partition(|system| system.is_built());
        let versions = versions::of(&here);
        let command = request.line();
        let (asked, request) = (request.clone(), Request { systems: here, ..request.clone() });
        let machine = Machine::here();
        Lab { asked, request, command, machine, versions, missing }
    }

    /// Is it there, of this machine, of these programs, asked for alike?
    fn has(&self, folder: &Path, experiment: &str) -> bool {
        let found = Raw::read(&Raw::path(folder, experiment));
        let settings = Settings::of(&self.asked, experiment);
        found.is_ok_and(|raw| raw.stands_for(&self.machine, &self.versions, &settings))
    }

    /// Who takes part in these cases, and is not there.
    fn absent(&self, cases: &[Case]) -> Vec<System> {
        let takes_part = |system: &System| {
            cases.iter().any(|case| {
                case.system.map_or_else(|| case.told(*system).is_some(), |of| of == *system)
            })
        };
        self.missing.iter().copied().filter(takes_part).collect()
    }

    fn missing(&self, cases: &[Case]) -> Vec<LeftOut> {
        self.absent(cases).into_iter().map(missing).collect()
    }

    /// Says so before hours are spent without them, and not only in the report.
    fn tell_absent(&self, cases: &[Case]) {
        let absent = self.absent(cases);
        if absent.is_empty() {
            return;
        }
        let names: Vec<&str> = absent.iter().map(|system| system.name()).collect();
        let mut peers: Vec<&str> = absent.iter().map(|system| system.peer()).collect();
        peers.dedup();
        eprintln!("without {}, until `cargo xtask peers {}`", names.join(", "), peers.join(" "));
    }

    fn measure(&self, experiment: &'static str, cases: &[Case]) -> Result<Raw, Failure> {
        let (taken, load, begun) = (now(), machine::load(), Instant::now());
        let deadline = begun + shares::share(experiment, self.request.quick);
        let Found { rows, occupied, mut left_out } =
            runner::run_until(cases, &self.request, deadline);
        left_out.extend(self.missing(cases));
        let seconds = begun.elapsed().as_secs_f64();
        Ok(Raw {
            experiment: experiment.to_owned(),
            command: self.command.clone(),
            machine: self.machine.clone(),
            versions: self.versions.clone(),
            settings: Settings::of(&self.asked, experiment),
            conditions: Conditions { taken, load, scheduling: machine::scheduling(), seconds },
            rows,
            occupied,
            left_out,
        })
    }
}

/// The time of the day, to the second.
fn now() -> String {
    jiff::Timestamp::now().strftime("%Y-%m-%d %H:%M:%S UTC").to_string()
}

fn missing(system: System) -> LeftOut {
    LeftOut {
        case: None,
        system: system.name().to_owned(),
        threads: None,
        cause: Cause::Missing,
        why: format!("it is not built: `cargo xtask peers {}`", system.peer()),
    }
}
