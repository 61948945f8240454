//! What the plan has today and a raw file lacks without a word: it was not there yet when that was
//! taken, or not asked for.

use clap::ValueEnum;

use crate::args;
use crate::lab::Raw;
use crate::plan::{self, Case, Threads};
use crate::systems::System;

/// A line for each experiment and each of the two reasons.
pub fn lines(raws: &[Raw]) -> Vec<String> {
    raws.iter().flat_map(of).collect()
}

fn of(raw: &Raw) -> Vec<String> {
    let part = raw.settings.case.as_deref().unwrap_or_default();
    let cases = plan::cases(&raw.experiment).unwrap_or_default();
    let (cases, others): (Vec<Case>, Vec<Case>) =
        cases.into_iter().partition(|case| case.name.contains(part));
    let (mut new, mut unasked) = (Vec::new(), Vec::new());
    if !others.is_empty() {
        unasked.push(format!("all cases without `{part}` in their names"));
    }
    // Whoever names no systems asks all that there are.
    let is_choice = raw.command.contains(" --systems ");
    let systems = if is_choice { &mut unasked } else { &mut new };
    systems.extend(unasked_of(raw, &cases, args::usual_systems()).into_iter().map(all_of));
    unasked.extend(unasked_by_name(raw, &cases));
    unasked.extend(unasked_threads(raw, &cases));
    new.extend(lacking(raw, &cases));
    let line = |why: &str, what: &[String]| {
        let (experiment, day, revision) = (&raw.experiment, raw.day(), raw.revision());
        let when = format!("when this was taken, on {day} at revision {revision}");
        format!("{experiment}: {why} {when} ({})", what.join("; "))
    };
    let both = [("not there yet", new), ("not asked for", unasked)];
    let both = both.iter().filter(|(_, what)| !what.is_empty());
    both.map(|(why, what)| line(why, what)).collect()
}

fn all_of(system: System) -> String {
    format!("all of {}", system.name())
}

/// Those of these systems that take part, and were not asked.
fn unasked_of(raw: &Raw, cases: &[Case], mut systems: Vec<System>) -> Vec<System> {
    let takes_part = |system: System| {
        let rows = |case: &Case| case.rows(&raw.settings.threads, &[system]);
        cases.iter().flat_map(rows).any(|(_, whose)| whose == system)
    };
    let asked = asked(raw);
    systems.retain(|system| !asked.contains(system) && takes_part(*system));
    systems
}

/// The same of those that nobody asks who names no systems.
fn unasked_by_name(raw: &Raw, cases: &[Case]) -> Vec<String> {
    let usual = args::usual_systems();
    let others = System::value_variants().iter().filter(|system| !usual.contains(system));
    let line = |system: System| {
        let (name, peer) = (system.name(), system.peer());
        format!("all of {name}: `cargo xtask peers {peer}`, then name it to `--systems`")
    };
    unasked_of(raw, cases, others.copied().collect()).into_iter().map(line).collect()
}

fn asked(raw: &Raw) -> Vec<System> {
    raw.settings.systems.iter().filter_map(|name| System::named(name)).collect()
}

/// The numbers of threads on which it is measured if nothing else is said, and was not.
fn unasked_threads(raw: &Raw, cases: &[Case]) -> Option<String> {
    let mut counts = args::up_to(raw.machine.cores, false);
    counts.retain(|count| !raw.settings.threads.contains(count));
    let is_asked = cases.iter().any(|case| case.threads == Threads::Asked);
    let why = if raw.settings.quick { ", which --quick leaves out" } else { "" };
    let is_gap = is_asked && !counts.is_empty();
    is_gap.then(|| format!("{} threads{why}", numbers(&counts)))
}

/// A figure that is not there, with no reason.
struct Gap {
    case: &'static str,
    system: System,
    threads: usize,
}

/// What those who were asked have not given.
fn lacking(raw: &Raw, cases: &[Case]) -> Vec<String> {
    let asked = asked(raw);
    let mut gaps = Vec::new();
    for case in cases {
        // On all cores the runner leaves such a case out.
        let is_run = |row: &(usize, System)| !case.needs_idle_core() || row.0 < raw.machine.cores;
        let rows = case.rows(&raw.settings.threads, &asked).into_iter().filter(is_run);
        let gap = |(threads, system)| Gap { case: case.name, system, threads };
        gaps.extend(rows.map(gap).filter(|gap| !raw.tells(gap.case, gap.system, gap.threads)));
    }
    let is_silent = |system: &System| {
        let has = raw.rows.iter().any(|row| row.system == *system)
            || raw.left_out.iter().any(|left| left.system == system.name());
        !has && *system != System::Machine
    };
    let silent = distinct(gaps.iter().map(|gap| gap.system).filter(is_silent));
    gaps.retain(|gap| !silent.contains(&gap.system));
    let names = distinct(gaps.iter().map(|gap| gap.case));
    let of_cases = names.into_iter().flat_map(|name| of_case(raw, name, &gaps));
    silent.into_iter().map(all_of).chain(of_cases).collect()
}

/// The name of the case, if nothing is told of it; else whose figures are lacking.
fn of_case(raw: &Raw, name: &str, gaps: &[Gap]) -> Vec<String> {
    let is_told = raw.rows.iter().any(|row| row.case == name)
        || raw.left_out.iter().any(|left| left.case.as_deref() == Some(name));
    if !is_told {
        return vec![name.to_owned()];
    }
    let gaps: Vec<&Gap> = gaps.iter().filter(|gap| gap.case == name).collect();
    let of_system = |system: System| {
        let its = gaps.iter().filter(|gap| gap.system == system).map(|gap| gap.threads);
        let its: Vec<usize> = its.collect();
        match raw.rows.iter().any(|row| row.case == name && row.system == system) {
            true => format!("{name} of {}, threads {}", system.name(), numbers(&its)),
            false => format!("{name} of {}", system.name()),
        }
    };
    distinct(gaps.iter().map(|gap| gap.system)).into_iter().map(of_system).collect()
}

fn numbers(all: &[usize]) -> String {
    all.iter().map(usize::to_string).collect::<Vec<_>>().join(", ")
}

/// Each once, in the order in which they come.
fn distinct<T: PartialEq>(all: impl Iterator<Item = T>) -> Vec<T> {
    let mut found = Vec::new();
    for one in all {
        if !found.contains(&one) {
            found.push(one);
        }
    }
    found
}
