//! Counting with valgrind's callgrind: it needs no counters of the processor, which virtual
//! machines often do not give, and counts the same each time.
//!
//! One process does all workloads. Callgrind counts only within one function, and writes what it
//! counted each time that is left: one part of its file for each workload. What other threads do
//! meanwhile is not counted.

use std::fs;
use std::io;
use std::process::{Command, ExitStatus, Output};

use super::record::Figure;
use super::workloads::{Done, function};
use crate::experiments::folder::Folder;

/// Why nothing was counted.
#[derive(Debug, thiserror::Error)]
pub enum CountError {
    /// There is no valgrind.
    #[error(
        "cannot start valgrind, which counts: {0} (Debian's package is `valgrind`; \
         `cargo xtask track` installs it)"
    )]
    Missing(io::Error),
    /// What it writes cannot be kept or read.
    #[error("what valgrind counts cannot be kept: {0}")]
    Io(#[from] io::Error),
    /// It, or a workload, failed.
    #[error("the workloads failed under valgrind, {status}: {said}")]
    Failed {
        /// How it ended.
        status: ExitStatus,
        /// What was said.
        said: String,
    },
    /// A line that the workloads print is none of theirs.
    #[error("the workloads print `{0}`, which is no name, tab and number of operations")]
    NoWorkload(String),
    /// Something else was counted.
    #[error(
        "valgrind counted {parts} parts in {workloads} workloads: it did not find the function \
         `{}` in this program, whose symbols it needs",
        function()
    )]
    OtherParts {
        /// What was counted.
        parts: usize,
        /// What should have been.
        workloads: usize,
    },
}

/// The valgrind that is there.
///
/// # Errors
/// When there is none.
pub fn version() -> Result<String, CountError> {
    let output = Command::new("valgrind").arg("--version").output().map_err(CountError::Missing)?;
    Ok(succeeded(&output)?.trim().to_owned())
}

/// Does all workloads, and gives how many instructions an operation of each takes.
///
/// # Errors
/// When valgrind is missing, or a workload fails or is not counted.
pub fn count() -> Result<Vec<Figure>, CountError> {
    let folder = Folder::new("track")?;
    let file = folder.0.join("counted");
    let mut valgrind = Command::new("valgrind");
    // What is in the environment lies on the stack and moves what comes behind it.
    let path = std::env::var_os("PATH").unwrap_or_default();
    valgrind.env_clear().env("PATH", path).current_dir(&folder.0);
    valgrind.args(["--tool=callgrind", "--quiet", "--combine-dumps=yes"]);
    valgrind.arg(format!("--callgrind-out-file={}", file.display()));
    for option in ["toggle-collect", "dump-after"] {
        valgrind.arg(format!("--{option}={}", function()));
    }
    valgrind.arg(std::env::current_exe()?).arg("track-work");
    let output = valgrind.output().map_err(CountError::Missing)?;
    figures(&succeeded(&output)?, &fs::read_to_string(file)?)
}

fn succeeded(output: &Output) -> Result<String, CountError> {
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(CountError::Failed { status: output.status, said })
}

/// From what the workloads print and callgrind writes.
fn figures(printed: &str, counted: &str) -> Result<Vec<Figure>, CountError> {
    let no_workload = |line: &str| CountError::NoWorkload(line.to_owned());
    let done = printed.lines().map(|line| Done::parse(line).ok_or_else(|| no_workload(line)));
    let done: Vec<Done> = done.collect::<Result<_, _>>()?;
    let totals = counted.lines().filter_map(|line| line.strip_prefix("totals: ")?.parse().ok());
    // The last part is what came after the last workload.
    let counts: Vec<u64> = totals.filter(|count| *count > 0).collect();
    if counts.len() != done.len() {
        return Err(CountError::OtherParts { parts: counts.len(), workloads: done.len() });
    }
    let figure = |(done, count): (Done, u64)| Figure {
        instructions: count as f64 / done.operations as f64,
        name: done.name,
    };
    Ok(done.into_iter().zip(counts).map(figure).collect())
}

#[cfg(test)]
mod tests {
    use super::{CountError, figures};

    const COUNTED: &str = "# callgrind format\npart: 1\nevents: Ir\nfn=(1) a\n5 1000\n\
                           totals: 1000\npart: 2\ntotals: 3000\npart: 3\ntotals: 0\n";

    #[test]
    fn each_part_is_a_workload() {
        let found = figures("a\t10\nb\t1000\n", COUNTED).unwrap();
        let found: Vec<_> = found.iter().map(|it| (it.name.as_str(), it.instructions)).collect();
        assert_eq!(found, [("a", 100.0), ("b", 3.0)]);
    }

    #[test]
    fn what_does_not_fit_is_told() {
        let error = figures("a\t10\n", COUNTED).unwrap_err();
        assert!(matches!(error, CountError::OtherParts { parts: 2, workloads: 1 }), "{error}");
        for line in ["a", "a\t0", "a\tmany", "\t1"] {
            let error = figures(line, COUNTED).unwrap_err();
            assert!(matches!(&error, CountError::NoWorkload(told) if told == line), "{error}");
        }
    }
}
