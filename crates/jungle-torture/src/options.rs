//! The command line.

use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::build;

pub const USAGE: &str = "\
usage: jungle-torture SUITE [--seed N] [--points N] [--threads N] [--long] [--wake BUG]
suites: model, converge, sim, stress, shuttle, crash, io, rot, erase, kill, syncs, meta, fuzz,
        planted
  --seed N     the seed of the first point; the day's number otherwise, of `planted` always the same
  --points N   how many points, each with the next seed; `--seeds N` is the same
  --threads N  how many points at a time; 2 otherwise
  --long       50 times as many points
  --wake BUG   wakes a planted bug first; `planted` lists them
  --shuttle-program FILE
               for `planted`: this program in its build under `--cfg shuttle`";

/// How many times as many points a long run has.
const LONG: u64 = 50;

#[derive(Debug)]
pub struct Options {
    pub suite: String,
    pub seed: u64,
    /// Those asked for; a suite has a number of its own otherwise.
    pub points: Option<u64>,
    pub threads: usize,
    pub wake: Option<String>,
    pub shuttle_program: Option<PathBuf>,
    long: bool,
}

impl Options {
    pub fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Options, String> {
        let suite = arguments.next().ok_or("no suite given")?;
        if !build::has(&suite) {
            return Err(format!("there is no suite `{suite}` in this build"));
        }
        let seed = build::seed(&suite).unwrap_or_else(today);
        let mut options = Options {
            suite,
            seed,
            points: None,
            threads: 2,
            wake: None,
            shuttle_program: None,
            long: false,
        };
        while let Some(name) = arguments.next() {
            let mut value = || arguments.next().ok_or(format!("{name} needs a value"));
            let number = |text: String| {
                text.parse::<u64>().map_err(|_| format!("`{text}` is no whole number"))
            };
            match name.as_str() {
                "--seed" => options.seed = number(value()?)?,
                "--points" | "--seeds" => options.points = Some(number(value()?)?),
                "--threads" => options.threads = number(value()?)?.clamp(1, 64) as usize,
                "--long" => options.long = true,
                "--wake" => options.wake = Some(value()?),
                "--shuttle-program" => options.shuttle_program = Some(value()?.into()),
                _ => return Err(format!("there is no option `{name}`")),
            }
        }
        if let Some(name) = &options.wake {
            build::wake(name).ok_or(format!("there is no bug `{name}`"))?;
        }
        Ok(options)
    }

    /// How many points there are, of a suite that has so many by itself.
    pub fn points(&self, usual: u64) -> u64 {
        self.points.unwrap_or(usual) * if self.long { LONG } else { 1 }
    }
}

/// Days since 1970: another seed each day, the same all day, far from those of other days.
fn today() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    since.as_secs() / 86_400 * 1_000_000
}
