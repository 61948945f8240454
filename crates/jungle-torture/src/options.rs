//! The command line.

use std::time::{SystemTime, UNIX_EPOCH};

use crate::store;

pub const USAGE: &str = "\
usage: jungle-torture SUITE [--seed N] [--cases N] [--threads N] [--long] [--wake BUG]
suites: model, converge, shuttle, crash, io, rot, kill, syncs, planted
  --seed N     the seed of the first case; the day's number otherwise
  --cases N    how many cases, each with the next seed
  --threads N  how many cases at a time; 2 otherwise
  --long       50 times as many cases
  --wake BUG   wakes a planted bug first; `planted` lists them";

/// How many times as many cases a long run has.
const LONG: u64 = 50;

pub const SUITES: [&str; 4] = ["model", "converge", "shuttle", "planted"];

#[derive(Debug)]
pub struct Options {
    pub suite: String,
    pub seed: u64,
    /// Those asked for; a suite has a number of its own otherwise.
    pub cases: Option<u64>,
    pub threads: usize,
    pub wake: Option<String>,
    long: bool,
}

impl Options {
    pub fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Options, String> {
        let suite = arguments.next().ok_or("no suite given")?;
        if !SUITES.contains(&suite.as_str()) && !store::SUITES.contains(&suite.as_str()) {
            return Err(format!("there is no suite `{suite}`"));
        }
        let (seed, cases, wake) = (today(), None, None);
        let mut options = Options { suite, seed, cases, threads: 2, wake, long: false };
        while let Some(name) = arguments.next() {
            let mut value = || arguments.next().ok_or(format!("{name} needs a value"));
            let number = |text: String| {
                text.parse::<u64>().map_err(|_| format!("`{text}` is no whole number"))
            };
            match name.as_str() {
                "--seed" => options.seed = number(value()?)?,
                "--cases" => options.cases = Some(number(value()?)?),
                "--threads" => options.threads = number(value()?)?.clamp(1, 64) as usize,
                "--long" => options.long = true,
                "--wake" => options.wake = Some(value()?),
                _ => return Err(format!("there is no option `{name}`")),
            }
        }
        if let Some(name) = &options.wake {
            let woken = jungle_tree::planted::wake(name).is_some()
                || jungle_store::planted::wake(name).is_some();
            if !woken {
                return Err(format!("there is no bug `{name}`"));
            }
        }
        Ok(options)
    }

    /// How many cases to run, of a suite that runs so many by itself.
    pub fn cases(&self, usual: u64) -> u64 {
        self.cases.unwrap_or(usual) * if self.long { LONG } else { 1 }
    }
}

/// Days since 1970: another seed each day, the same all day, far from those of other days.
fn today() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    since.as_secs() / 86_400 * 1_000_000
}
