//! The rounds: every system, one after the other, each measurement in a process of its own.

mod order;

use std::collections::{BTreeMap, HashMap};
use std::fmt::Display;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use self::order::{Kind, Split};
use crate::args::{OccupyIdle, Request};
use crate::experiments::folder::Folder;
use crate::experiments::{self, Options};
use crate::lab::{Cause, LeftOut, Machine, beside_busy, cores};
use crate::occupy::{Confined, Cores};
use crate::plan::{self, Case, Number};
use crate::progress::Progress;
use crate::results::Row;
use crate::sample::Sample;
use crate::stats::median;
use crate::syncs;
use crate::systems::{Counted, Program, System, root};
use crate::touch::touch;
use crate::watchdog;
use crate::{Failure, bars};

/// Of which of the rows of a case a measurement is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lane {
    /// As it was asked for.
    Main,
    /// Beside busy cores, where both ways were asked for.
    Busy,
}

/// What is to be measured for one row.
struct Cell {
    case: Case,
    lane: Lane,
    system: System,
    threads: usize,
    program: Program,
    /// Each with the round that it is of.
    samples: Vec<(usize, f64)>,
    /// Why it is not measured any more.
    left_out: Option<Reason>,
}

impl Cell {
    /// Does a bar speak of its case, and is it ours, or held against ours there?
    fn is_of_a_bar(&self) -> bool {
        bars::speak_of(self.case.experiment, self.case.name, self.system)
    }

    /// What the case is called.
    fn name(&self) -> String {
        match self.lane {
            Lane::Main => self.case.name.to_owned(),
            Lane::Busy => beside_busy(self.case.name),
        }
    }

    /// Those of whom this is the same do the same, and must hold the same in the end.
    fn content(&self) -> Content {
        (self.case.experiment, self.case.name, self.threads)
    }
}

/// Why something was not measured.
#[derive(Clone, Debug)]
struct Reason {
    cause: Cause,
    why: String,
}

impl Reason {
    fn failed(why: &dyn Display) -> Reason {
        Reason { cause: Cause::Failed, why: why.to_string() }
    }

    fn no_time(why: &str) -> Reason {
        Reason { cause: Cause::NoTime, why: why.to_owned() }
    }

    fn is_failure(&self) -> bool {
        self.cause == Cause::Failed
    }
}

/// What was measured, and what was not.
pub struct Found {
    /// A row for each case, number of threads and system, in that order.
    pub rows: Vec<Row>,
    /// The same beside busy cores, where both ways were asked for.
    pub occupied: Vec<Row>,
    /// What has no row, or fewer samples than it would have.
    pub left_out: Vec<LeftOut>,
}

/// Measures the cases.
///
/// # Errors
/// When a measurement fails or finds its own result wrong.
pub fn run(cases: &[Case], request: &Request) -> Result<Found, Failure> {
    let mut rounds = Rounds::new(cases, request, request.rounds(), None);
    let all: Vec<usize> = (0..rounds.cells.len()).collect();
    for round in 0..request.rounds() {
        rounds.run_one(round, &all, None, OnFailure::Stop);
        let left_out = |cell: &Cell| {
            let Reason { why, .. } = cell.left_out.as_ref().filter(|left| left.is_failure())?;
            Some(format!("{}: {why}\n  {}", cell.system.name(), cell.program.argv.join(" ")))
        };
        if let Some(why) = rounds.cells.iter().find_map(left_out) {
            return Err(why.into());
        }
    }
    Ok(rounds.end())
}

/// As [`run`], until the time is over or all rounds are done, in the order of `order::rounds`. A
/// further round is begun if there is time for one as long as the last of its kind; the first of a
/// kind always is, so that what there was no time for is told. What fails is told, and the rest
/// goes on.
pub fn run_until(cases: &[Case], request: &Request, deadline: Instant) -> Found {
    let mut rounds = Rounds::new(cases, request, request.rounds_max(), Some(deadline));
    let mut lasted: HashMap<Kind, Duration> = HashMap::new();
    let mut round = 0;
    for kind in order::rounds(request.rounds(), request.rounds_max()) {
        let (which, begun) = (rounds.split.cells(kind).to_vec(), Instant::now());
        let has_time = lasted.get(&kind).is_none_or(|lasted| begun + *lasted <= deadline);
        if which.is_empty() || !has_time {
            continue;
        }
        rounds.run_one(round, &which, Some(deadline), OnFailure::GoOn);
        lasted.insert(kind, begun.elapsed());
        round += 1;
    }
    rounds.end()
}

/// What becomes of the rest when something fails.
#[derive(Clone, Copy, PartialEq, Eq)]
enum OnFailure {
    Stop,
    GoOn,
}

/// The cells, and how far they are.
struct Rounds {
    cells: Vec<Cell>,
    /// Which of them come first where time is limited.
    split: Split,
    progress: Progress,
}

impl Rounds {
    fn new(cases: &[Case], request: &Request, rounds: usize, deadline: Option<Instant>) -> Rounds {
        let wanted =
            |case: &&Case| request.case.as_ref().is_none_or(|part| case.name.contains(part));
        let cells: Vec<Cell> =
            cases.iter().filter(wanted).flat_map(|case| cells(*case, request)).collect();
        let split = Split::of(&cells);
        // Where time is limited, some are measured in the rounds of both kinds.
        let each = if deadline.is_some() { split.count() } else { cells.len() };
        let progress = Progress::new(each * rounds, deadline);
        Rounds { cells, split, progress }
    }

    /// One sample more for each of these cells, of those that have not failed.
    fn run_one(
        &mut self,
        round: usize,
        which: &[usize],
        deadline: Option<Instant>,
        on_failure: OnFailure,
    ) {
        // Several cells may be numbers of one run.
        let mut measured: HashMap<Program, Result<Sample, Reason>> = HashMap::new();
        for at in self.in_turn(which, round) {
            let cell = &mut self.cells[at];
            if cell.left_out.is_some() {
                continue;
            }
            let (experiment, name) = (cell.case.experiment, cell.name());
            self.progress.begin(format!("{experiment} {name}, {}", cell.system.name()));
            if !measured.contains_key(&cell.program) {
                measured.insert(cell.program.clone(), measure(&cell.program, deadline));
            }
            let found = measured[&cell.program].clone();
            match found.and_then(|sample| number(&sample, cell.system, cell.case.number)) {
                Ok(number) => cell.samples.push((round, number)),
                // There are samples of the rounds before.
                Err(reason) if reason.cause == Cause::NoTime && !cell.samples.is_empty() => {}
                Err(reason) => cell.left_out = Some(reason),
            }
            let is_failure = cell.left_out.as_ref().is_some_and(Reason::is_failure);
            if is_failure && on_failure == OnFailure::Stop {
                return;
            }
            self.progress.done();
        }
        self.refuse_other_content(&measured);
    }

    /// These cells in the order of a round. Of those who are measured one after the other in the
    /// same case another one begins each round: the first may find a cooler processor, or colder
    /// memory.
    fn in_turn(&self, which: &[usize], round: usize) -> Vec<usize> {
        let of = |at: &usize| self.cells[*at].content();
        let turned = |group: &[usize]| {
            let (before, after) = group.split_at(round % group.len());
            [after, before].concat()
        };
        which.chunk_by(|a, b| of(a) == of(b)).flat_map(turned).collect()
    }

    /// Whoever tells what it holds in the end must hold the same, and where one of a case tells it
    /// all must: otherwise it does not count.
    fn refuse_other_content(&mut self, measured: &HashMap<Program, Result<Sample, Reason>>) {
        let told = |cell: &Cell| {
            let sample = measured.get(&cell.program)?.as_ref().ok()?;
            Some(sample.extra.get(CHECKSUM).copied())
        };
        let mut all: BTreeMap<Content, Vec<Option<f64>>> = BTreeMap::new();
        for cell in &self.cells {
            all.entry(cell.content()).or_default().extend(told(cell));
        }
        for cell in &mut self.cells {
            let Some(its) = told(cell) else { continue };
            if let Some(why) = wrong_content(&all[&cell.content()], its) {
                cell.samples.clear();
                cell.left_out = Some(Reason { cause: Cause::Failed, why });
            }
        }
    }

    fn end(self) -> Found {
        self.progress.end();
        let left_out = self.cells.iter().filter_map(|cell| {
            let Reason { cause, why } = cell.left_out.clone()?;
            let why = without_places(&why);
            Some(LeftOut {
                case: Some(cell.name()),
                system: cell.system.name().to_owned(),
                threads: Some(cell.threads),
                cause,
                why,
            })
        });
        let left_out = left_out.collect();
        let cells = self.cells.into_iter().filter(|cell| !cell.samples.is_empty());
        let (busy, main): (Vec<Cell>, Vec<Cell>) = cells.partition(|cell| cell.lane == Lane::Busy);
        let rows = |cells: Vec<Cell>| cells.into_iter().map(row).collect();
        Found { rows: rows(main), occupied: rows(busy), left_out }
    }
}

fn cells(case: Case, request: &Request) -> Vec<Cell> {
    let mut cells = Vec::new();
    for (threads, system) in case.rows(&request.threads(), &request.systems) {
        let Some(program) = program(&case, system, threads, request) else { continue };
        for (lane, cores) in lanes(&case, threads, request.occupy_idle) {
            let program = Program { cores, ..program.clone() };
            let samples = Vec::new();
            cells.push(Cell { case, lane, system, threads, program, samples, left_out: None });
        }
    }
    cells
}

/// What measures a case, if the system takes part.
fn program(case: &Case, system: System, threads: usize, request: &Request) -> Option<Program> {
    let options = request.options(case.experiment, threads);
    let told = case.told(system)?;
    // Such are measured by our own program, in the run that is held against them.
    let runs = if case.system.is_some() { System::Jungle } else { system };
    let program = |tasks| {
        let mut program = runs.program(&told, Options { tasks, ..options });
        program.argv.extend(peers(case, request));
        program.argv.extend(steps(case, options));
        // Where syncs are counted nothing is timed.
        if case.counted.is_none() {
            program.argv.extend(runs.warm_up(options));
        }
        program
    };
    let [short, long] = syncs::TASKS.map(program);
    let mut program = match case.counted {
        None => program(options.tasks),
        Some(commits) => Program { counted: Some(Counted { longer: long.argv, commits }), ..short },
    };
    program.touched = case.touched.saturating_mul(options.tasks);
    Some(program)
}

/// In which ways a case is measured, and on which cores then: on all cores there is but one.
fn lanes(case: &Case, threads: usize, asked: OccupyIdle) -> Vec<(Lane, Cores)> {
    let has_idle = threads < cores();
    if case.needs_idle_core() && !has_idle {
        return Vec::new();
    }
    let main = case.cores(threads, asked == OccupyIdle::Always);
    let busy = case.cores(threads, true);
    let is_both = asked == OccupyIdle::Both && has_idle && busy != main;
    let both = [(Lane::Main, main)].into_iter().chain(is_both.then_some((Lane::Busy, busy)));
    both.collect()
}

/// What tells our own program which peers it is to ask in the same run, if there are any.
fn peers(case: &Case, request: &Request) -> Vec<String> {
    let mut peers = plan::peers(case.experiment, case.ours);
    if peers.is_empty() {
        return Vec::new();
    }
    peers.retain(|system| request.systems.contains(system));
    let names = (!peers.is_empty())
        .then(|| peers.iter().map(|system| system.name()).collect::<Vec<_>>().join(","));
    ["--peers".to_owned()].into_iter().chain(names).collect()
}

/// What tells runs whose closures must do the same how much that is.
fn steps(case: &Case, options: Options) -> Vec<String> {
    match case.experiment == "hot" && !options.tiny {
        true => vec!["--steps".to_owned(), experiments::steps().to_string()],
        false => Vec::new(),
    }
}

fn measure(program: &Program, deadline: Option<Instant>) -> Result<Sample, Reason> {
    if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
        return Err(Reason::no_time("the experiment's was over before it was begun"));
    }
    touch(program.touched, Machine::here().memory_bytes).map_err(|error| Reason::failed(&error))?;
    let _confined = Confined::to(program.cores).map_err(|error| Reason::failed(&error))?;
    match &program.counted {
        None => once(program.command().map_err(|error| Reason::failed(&error))?, deadline),
        Some(counted) => syncs_of_a_commit(program, counted, deadline),
    }
}

/// One run of a program that prints what it measured.
fn once(mut command: Command, deadline: Option<Instant>) -> Result<Sample, Reason> {
    // What it says when it fails goes into the report.
    command.env("RUST_BACKTRACE", "0");
    let output = watchdog::output(command, deadline).map_err(|error| Reason::failed(&error))?;
    let Some(Output { status, stdout, stderr }) = output else {
        return Err(Reason::no_time("the experiment's was over before it had ended"));
    };
    let stdout = String::from_utf8_lossy(&stdout);
    let sample = serde_json::from_str::<Sample>(stdout.trim());
    if let Ok(Sample { check, .. }) = &sample
        && check != "ok"
    {
        return Err(Reason::failed(&format_args!("wrong result: {check}")));
    }
    if !status.success() {
        return Err(Reason::failed(&format_args!("{status}: {}", last_words(&stderr))));
    }
    sample.map_err(|error| Reason::failed(&error))
}

/// How many syncs a commit more is, as it is seen from outside. Where one client commits, it is one
/// at least, or what was acknowledged may be lost.
fn syncs_of_a_commit(
    program: &Program,
    counted: &Counted,
    deadline: Option<Instant>,
) -> Result<Sample, Reason> {
    if !syncs::can_be_counted() {
        let why =
            "its syncs are not counted: strace is missing, or may not look at others".to_owned();
        return Err(Reason { cause: Cause::Missing, why });
    }
    let failed = |error: std::io::Error| Reason::failed(&error);
    let folder = Folder::new("syncs").map_err(failed)?;
    let file = folder.0.join("trace");
    let run = |argv: &[String]| {
        let program = Program { argv: argv.to_owned(), ..program.clone() };
        let command = program.command().map_err(failed)?;
        let sample = once(syncs::traced(&command, &file), deadline)?;
        let trace = std::fs::read(&file).map_err(failed)?;
        Ok((syncs::count(&String::from_utf8_lossy(&trace)), sample.operations * counted.commits))
    };
    let (short, long) = (run(&program.argv)?, run(&counted.longer)?);
    let syncs = long.0 as f64 - short.0 as f64;
    let each = syncs / (long.1 as f64 - short.1 as f64);
    if each < 0.9 {
        return Err(Reason::failed(&format_args!("{each:.2} syncs for each commit of one client")));
    }
    Ok(Sample::value(each, "x").with("syncs", each))
}

/// What a program said that failed, on one line, which a table has room for. Of a panic what it is
/// about, not how to see more of it.
fn last_words(stderr: &[u8]) -> String {
    let stderr = String::from_utf8_lossy(stderr);
    let is_aside = |line: &&str| line.is_empty() || line.starts_with("note: run with `RUST_BACK");
    stderr.lines().map(str::trim).filter(|line| !is_aside(line)).collect::<Vec<_>>().join(" ")
}

/// Without the folders of this machine, which are nobody's business who reads a report.
fn without_places(why: &str) -> String {
    let program = std::env::current_exe().unwrap_or_default();
    let target = program.ancestors().nth(2).map(|folder| folder.display().to_string());
    let target = target.filter(|folder| folder.len() > 1).unwrap_or_else(|| "target".to_owned());
    why.replace(&target, "target").replace(&root().display().to_string(), ".")
}

/// What a sample may tell of what the system holds in the end.
const CHECKSUM: &str = "checksum";

/// What the content in the end depends on: the experiment, the case, and on how many threads.
type Content = (&'static str, &'static str, usize);

/// What is wrong with one of a case, of whom this and of all of whom that is told.
fn wrong_content(all: &[Option<f64>], its: Option<f64>) -> Option<String> {
    let sums: Vec<f64> = all.iter().copied().flatten().collect();
    let first = sums.first()?;
    if sums.iter().any(|sum| sum != first) {
        return Some(format!("the systems do not hold the same: checksums {sums:?}"));
    }
    its.is_none().then(|| "it does not tell what it holds in the end, as others do".to_owned())
}

fn number(sample: &Sample, system: System, number: Number) -> Result<f64, Reason> {
    if let Some(why) = sample.failed.get(system.name()) {
        return Err(Reason::failed(why));
    }
    let (name, found) = match number {
        Number::Value => ("value", Some(sample.value)),
        Number::Over(less) => ("value", Some(sample.value - less)),
        Number::Named(name) => (name, sample.extra.get(name).copied()),
    };
    found.filter(|number| number.is_finite()).ok_or_else(|| Reason {
        cause: Cause::Failed,
        why: format!("{} measured no `{name}`", sample.case),
    })
}

fn row(cell: Cell) -> Row {
    let Cell { case, system, threads, samples, .. } = cell;
    let (rounds, samples): (Vec<usize>, Vec<f64>) = samples.into_iter().unzip();
    Row {
        experiment: case.experiment,
        case: case.name,
        system,
        threads,
        value: median(&samples),
        unit: case.unit,
        samples,
        rounds,
    }
}

#[cfg(test)]
mod tests;
