//! What one experiment gave, as it is kept: the report is made of these files and nothing else.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::machine::Machine;
use crate::args::{OccupyIdle, Request};
use crate::plan::{self, Threads};
use crate::results::Row;
use crate::systems::System;
use crate::{Failure, bars, report};

/// A file of `raw/`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Raw {
    /// The experiment, after which the file is named.
    pub experiment: String,
    /// What it was asked for with.
    pub command: String,
    /// Where it was run.
    pub machine: Machine,
    /// What was run, by the names of programs.
    pub versions: BTreeMap<String, String>,
    /// How.
    pub settings: Settings,
    /// When, and beside what.
    pub conditions: Conditions,
    /// The figures.
    pub rows: Vec<Row>,
    /// The same beside busy cores, where both ways were asked for and cores were idle.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub occupied: Vec<Row>,
    /// What was not measured, and why.
    pub left_out: Vec<LeftOut>,
}

/// What decides about the size of an experiment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settings {
    /// Smaller, and in less time.
    pub quick: bool,
    /// To try the programs.
    pub tiny: bool,
    /// Numbers of threads, where a case can use several.
    pub threads: Vec<usize>,
    /// Tasks in each measurement.
    pub tasks: u64,
    /// How many rounds there are at most: of what bars speak of, and of the others.
    pub rounds: usize,
    /// Where the random draws begin.
    pub seed: u64,
    /// What the names of the cases contain.
    pub case: Option<String>,
    /// The systems that were asked for.
    pub systems: Vec<String>,
    /// Were the idle cores kept busy?
    pub occupy_idle: bool,
    /// Were they in a second measurement?
    #[serde(default)]
    pub occupied_too: bool,
}

/// What else it was like.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Conditions {
    /// When it was begun, in universal time.
    pub taken: String,
    /// How many processes wanted to run in the minute before, on average.
    pub load: Option<f64>,
    /// By which policy and priority the system ran it; `None` also in older files.
    #[serde(default)]
    pub scheduling: Option<String>,
    /// How long all of it took.
    pub seconds: f64,
}

/// Something that was not measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOut {
    /// The case; `None` for all of the experiment.
    pub case: Option<String>,
    /// Whose.
    pub system: String,
    /// On so many threads; `None` for any.
    pub threads: Option<usize>,
    /// What kind of reason there is.
    pub cause: Cause,
    /// The reason, and what can be done.
    pub why: String,
}

/// Why something was not measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// Its program is not there.
    Missing,
    /// It failed, or what it gave was wrong.
    Failed,
    /// The experiment's time was used up.
    NoTime,
}

impl Settings {
    /// Those of an experiment of a request.
    pub fn of(request: &Request, experiment: &str) -> Settings {
        let options = request.options(experiment, 1);
        Settings {
            quick: options.quick,
            tiny: options.tiny,
            threads: request.threads(),
            tasks: options.tasks,
            rounds: request.rounds_max(),
            seed: options.seed,
            case: request.case.clone(),
            systems: request.systems.iter().map(|system| system.name().to_owned()).collect(),
            occupy_idle: request.occupy_idle == OccupyIdle::Always,
            occupied_too: request.occupy_idle == OccupyIdle::Both,
        }
    }
}

impl Raw {
    /// Where it lies in the folder of a report.
    pub fn path(report: &Path, experiment: &str) -> PathBuf {
        report.join("raw").join(format!("{experiment}.json"))
    }

    /// Does it stand for what would be measured now, so that it need not be run again? What failed
    /// is tried again.
    pub fn stands_for(
        &self,
        machine: &Machine,
        versions: &BTreeMap<String, String>,
        settings: &Settings,
    ) -> bool {
        self.machine.is(machine)
            && (&self.versions, &self.settings) == (versions, settings)
            && self.left_out.iter().all(|left| left.cause != Cause::Failed)
    }

    /// The revision of this repository that was measured, as it was told.
    pub fn revision(&self) -> &str {
        self.versions.get("revision").map_or("–", String::as_str)
    }

    /// Where its figures come from.
    pub fn source(&self) -> String {
        format!("{}, revision {}, {}", self.machine.processor, self.revision(), self.day())
    }

    /// The day on which it was begun.
    pub fn day(&self) -> &str {
        let taken = self.conditions.taken.as_str();
        taken.split_once(' ').map_or(taken, |(day, _)| day)
    }

    /// Is this figure there, or why it is not?
    pub fn tells(&self, case: &str, system: System, threads: usize) -> bool {
        let is_row = |row: &Row| row.case == case && row.system == system && row.threads == threads;
        self.rows.iter().any(is_row)
            || self.left_out.iter().any(|left| left.is_of(case, system, threads))
    }

    /// The first of these that has figures here, and has none now. Slow peers are what there is no
    /// time for: they are not to keep back what was measured before them, unless the report would
    /// be better for us without them.
    pub fn lost<'l>(&self, left_out: &'l [LeftOut]) -> Option<&'l LeftOut> {
        let has = |left: &&LeftOut| {
            let is_lost = |row: &Row, case: &str, rows: &[Row]| {
                left.is_of(case, row.system, row.threads)
                    && (left.cause != Cause::NoTime || is_needed(row, rows))
            };
            let busy = &self.occupied;
            self.rows.iter().any(|row| is_lost(row, row.case, &self.rows))
                || busy.iter().any(|row| is_lost(row, &beside_busy(row.case), busy))
        };
        left_out.iter().find(has)
    }

    /// The first of its figures that this does not ask for. On how many threads counts only where
    /// the request says it: otherwise the machine does.
    pub fn unasked(&self, request: &Request) -> Option<String> {
        let part = request.case.as_deref().unwrap_or_default();
        let is_choice = |row: &Row| {
            let case = plan::find(row.experiment, row.case);
            case.is_some_and(|case| case.threads == Threads::Asked)
        };
        let is_asked = |row: &Row| {
            let threads = request.threads.as_ref().filter(|_| is_choice(row));
            row.case.contains(part)
                && (row.system == System::Machine || request.systems.contains(&row.system))
                && threads.is_none_or(|threads| threads.contains(&row.threads))
        };
        let are_both_asked = request.occupy_idle == OccupyIdle::Both;
        let of = |row: &Row, case: &str| figure(case, row.system.name(), Some(row.threads));
        let idle = self.rows.iter().find(|row| !is_asked(row)).map(|row| of(row, row.case));
        idle.or_else(|| {
            let mut busy = self.occupied.iter();
            let row = busy.find(|row| !are_both_asked || !is_asked(row))?;
            Some(of(row, &beside_busy(row.case)))
        })
    }

    /// Reads one.
    ///
    /// # Errors
    /// When it cannot be read, or was not written by a program like this one.
    pub fn read(path: &Path) -> Result<Raw, Failure> {
        let failed = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
        let text = fs::read_to_string(path).map_err(|error| failed(&error))?;
        Ok(serde_json::from_str(&text).map_err(|error| failed(&error))?)
    }

    /// Writes it whole or not at all.
    ///
    /// # Errors
    /// When that is not possible.
    pub fn write(&self, report: &Path) -> Result<(), Failure> {
        let path = Raw::path(report, &self.experiment);
        let text = serde_json::to_string_pretty(self)? + "\n";
        let half = path.with_extension("half");
        let written = fs::write(&half, text).and_then(|()| fs::rename(&half, &path));
        Ok(written.map_err(|error| format!("cannot write {}: {error}", path.display()))?)
    }
}

/// Is this one of these rows ours, what a bar needs, or a peer's that is ahead?
fn is_needed(row: &Row, rows: &[Row]) -> bool {
    matches!(row.system, System::Jungle | System::Machine)
        || bars::speak_of(row.experiment, row.case, row.system)
        || report::is_ahead(row, rows)
}

/// What a case is called where it is measured a second time, beside busy cores.
pub fn beside_busy(case: &str) -> String {
    format!("{case} beside busy cores")
}

impl LeftOut {
    /// Would this figure have been measured with it?
    fn is_of(&self, case: &str, system: System, threads: usize) -> bool {
        self.system == system.name()
            && self.case.as_ref().is_none_or(|of| of == case)
            && self.threads.is_none_or(|of| of == threads)
    }

    /// What it is.
    pub fn what(&self) -> String {
        figure(self.case.as_deref().unwrap_or("all cases"), &self.system, self.threads)
    }

    /// Why it was not measured.
    pub fn reason(&self) -> String {
        let kind = match self.cause {
            Cause::Missing => "missing",
            Cause::Failed => "failed",
            Cause::NoTime => "no time",
        };
        format!("{kind}: {}", self.why)
    }
}

/// A figure, as it is told: `visit, jungle, 2 threads`.
fn figure(case: &str, system: &str, threads: Option<usize>) -> String {
    let threads = match threads {
        Some(1) => ", 1 thread".to_owned(),
        Some(threads) => format!(", {threads} threads"),
        None => String::new(),
    };
    format!("{case}, {system}{threads}")
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use serde_json::json;

    use super::{Cause, LeftOut, Machine, Raw, beside_busy};
    use crate::args::{Args, Command};

    /// E1: a bar needs Haskell, imbl is behind ours, and Java ahead of it.
    fn raw() -> Raw {
        let row = |case: &str, system: &str, rate: f64| {
            json!({
                "experiment": "read", "case": case, "system": system, "threads": 1,
                "unit": "1/s", "samples": [rate],
            })
        };
        let rows = [
            row("count", "jungle", 5e8),
            row("count", "haskell", 1e7),
            row("count", "imbl", 1e8),
            row("count", "java", 9e8),
            row("summary", "jungle", 1e8),
        ];
        let raw = json!({
            "experiment": "read", "command": "read", "machine": Machine::here(), "versions": {},
            "settings": {
                "quick": false, "tiny": false, "threads": [1], "tasks": 1000, "rounds": 1,
                "seed": 1, "case": null, "systems": [], "occupy_idle": false,
            },
            "conditions": {"taken": "2026-01-01", "load": null, "seconds": 60.0},
            "rows": rows, "left_out": [],
        });
        serde_json::from_value(raw).unwrap()
    }

    fn is_lost(raw: &Raw, case: &str, system: &str, cause: Cause) -> bool {
        let (case, system) = (Some(case.to_owned()), system.to_owned());
        let left = LeftOut { case, system, threads: Some(1), cause, why: String::new() };
        raw.lost(&[left]).is_some()
    }

    #[test]
    fn figures_are_lost_for_want_of_time_where_only_a_peer_behind_had_them() {
        let mut raw = raw();
        for (case, system, is_kept) in [
            ("count", "jungle", true),
            ("summary", "jungle", true),
            ("count", "haskell", true),
            ("count", "java", true),
            ("count", "imbl", false),
            ("summary", "imbl", false),
        ] {
            assert_eq!(is_lost(&raw, case, system, Cause::NoTime), is_kept, "{case} {system}");
        }
        for cause in [Cause::Failed, Cause::Missing] {
            assert!(is_lost(&raw, "count", "imbl", cause), "{cause:?}");
            assert!(!is_lost(&raw, "summary", "imbl", cause), "{cause:?}");
        }
        let busy = beside_busy("count");
        assert!(!is_lost(&raw, &busy, "java", Cause::NoTime));
        raw.occupied = raw.rows.clone();
        assert!(is_lost(&raw, &busy, "java", Cause::NoTime));
        assert!(!is_lost(&raw, &busy, "imbl", Cause::NoTime));
    }

    fn unasked(raw: &Raw, more: &str) -> Option<String> {
        let line = format!("jungle-bench read --report a{more}");
        match Args::parse_from(line.split(' ')).command() {
            Command::Run(request) => raw.unasked(&request),
            _ => panic!("an experiment"),
        }
    }

    #[test]
    fn figures_that_are_not_asked_for_are_named() {
        let mut raw = raw();
        for (more, told) in [
            ("", None),
            (" --threads 1,2", None),
            (" --threads 2", Some("count, jungle, 1 thread")),
            (" --case summary", Some("count, jungle, 1 thread")),
            (" --case u", None),
            (" --systems jungle,haskell,imbl", Some("count, java, 1 thread")),
        ] {
            assert_eq!(unasked(&raw, more).as_deref(), told, "{more}");
        }
        raw.occupied = raw.rows.clone();
        let told = Some("count beside busy cores, jungle, 1 thread");
        assert_eq!(unasked(&raw, "").as_deref(), told);
        assert_eq!(unasked(&raw, " --occupy-idle=both"), None);
    }
}
