//! The rounds: every system, one after the other, each measurement in a process of its own.

use std::collections::HashMap;
use std::io::IsTerminal;
use std::process::Output;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::Failure;
use crate::args::Request;
use crate::plan::{Case, Number, Threads};
use crate::results::Row;
use crate::sample::Sample;
use crate::stats::median;
use crate::systems::{Program, System};

/// What is to be measured for one row.
struct Cell {
    case: Case,
    system: System,
    threads: usize,
    program: Program,
    samples: Vec<f64>,
}

/// Measures the cases; gives a row for each case, number of threads and system, in that order.
///
/// # Errors
/// When a measurement fails or finds its own result wrong.
pub fn run(cases: &[Case], request: &Request) -> Result<Vec<Row>, Failure> {
    let wanted = |case: &&Case| request.case.as_ref().is_none_or(|part| case.name.contains(part));
    let mut cells: Vec<Cell> =
        cases.iter().filter(wanted).flat_map(|case| cells(*case, request)).collect();
    let bar = ProgressBar::new((cells.len() * request.rounds()) as u64);
    if !std::io::stderr().is_terminal() {
        bar.set_draw_target(ProgressDrawTarget::hidden());
    }
    let style = ProgressStyle::with_template("{bar:30} {pos}/{len} {elapsed} {msg}");
    bar.set_style(style.expect("the template is a literal"));
    for _ in 0..request.rounds() {
        // Several cells may be numbers of one run.
        let mut measured: HashMap<Program, Sample> = HashMap::new();
        for cell in &mut cells {
            let (experiment, name) = (cell.case.experiment, cell.case.name);
            bar.set_message(format!("{experiment} {name}, {}", cell.system.name()));
            if !measured.contains_key(&cell.program) {
                measured.insert(cell.program.clone(), measure(&cell.program)?);
            }
            cell.samples.push(number(&measured[&cell.program], cell.case.number)?);
            bar.inc(1);
        }
        same_content(measured.values())?;
    }
    bar.finish_and_clear();
    Ok(cells.into_iter().map(row).collect())
}

fn cells(case: Case, request: &Request) -> Vec<Cell> {
    let threads = match case.threads {
        Threads::Asked => request.threads.clone(),
        Threads::Fixed(threads) => vec![threads],
        Threads::Each(threads) => threads.to_vec(),
    };
    let systems = case.system.map_or(request.systems.clone(), |system| vec![system]);
    let pairs =
        threads.iter().flat_map(|&threads| systems.iter().map(move |&system| (threads, system)));
    let cell = |(threads, system)| {
        let options = request.options(threads);
        let told = case.told(system)?;
        // The machine is measured by our own program, in the run that is held against it.
        let runs = if system == System::Machine { System::Jungle } else { system };
        let program = runs.program(&told, options);
        Some(Cell { case, system, threads, program, samples: Vec::new() })
    };
    pairs.filter_map(cell).collect()
}

fn measure(program: &Program) -> Result<Sample, Failure> {
    let failed = |what: &dyn std::fmt::Display| -> Failure {
        format!("{}: {what}\n  {}", program.system.name(), program.argv.join(" ")).into()
    };
    let Output { status, stdout, stderr } =
        program.command()?.output().map_err(|error| failed(&error))?;
    let stdout = String::from_utf8_lossy(&stdout);
    let sample = serde_json::from_str::<Sample>(stdout.trim());
    if let Ok(Sample { check, .. }) = &sample
        && check != "ok"
    {
        return Err(failed(&format_args!("wrong result: {check}")));
    }
    if !status.success() {
        let stderr = String::from_utf8_lossy(&stderr);
        return Err(failed(&format_args!("{status}: {}", stderr.trim())));
    }
    sample.map_err(|error| failed(&error))
}

/// Whoever tells what it holds in the end must hold the same.
fn same_content<'s>(measured: impl Iterator<Item = &'s Sample>) -> Result<(), Failure> {
    let mut sums: Vec<f64> =
        measured.filter_map(|sample| sample.extra.get("checksum").copied()).collect();
    sums.dedup();
    match sums.len() {
        0 | 1 => Ok(()),
        _ => Err(format!("the systems do not hold the same: checksums {sums:?}").into()),
    }
}

fn number(sample: &Sample, number: Number) -> Result<f64, Failure> {
    match number {
        Number::Value => Ok(sample.value),
        Number::Over(less) => Ok(sample.value - less),
        Number::Named(name) => {
            let found = sample.extra.get(name).copied();
            found.ok_or_else(|| format!("{} measured no `{name}`", sample.case).into())
        }
    }
}

fn row(cell: Cell) -> Row {
    let Cell { case, system, threads, samples, .. } = cell;
    Row {
        experiment: case.experiment,
        case: case.name,
        system,
        threads,
        value: median(&samples),
        unit: case.unit,
        samples,
    }
}

#[cfg(test)]
mod tests {
    use super::same_content;
    use crate::sample::Sample;

    #[test]
    fn systems_that_hold_other_things_are_told() {
        let held = |sum: f64| Sample::value(1.0, "us").with("checksum", sum);
        let silent = Sample::value(1.0, "us");
        assert!(same_content([&held(3.0), &silent, &held(3.0)].into_iter()).is_ok());
        let error = same_content([&held(3.0), &held(4.0)].into_iter()).unwrap_err();
        assert!(error.to_string().contains("do not hold the same"));
    }
}
