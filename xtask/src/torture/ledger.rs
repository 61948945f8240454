//! The ledger of all torture runs: what was tried so far, as a number that can be quoted.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use crate::command::{command, output, target_dir};
use crate::error::{Context, Result, fail};

const HEADER: &str = "suite\tseed\tpassed\tfailed\tcpu_seconds";

/// One run of a suite.
#[derive(Debug, Default, PartialEq)]
pub struct Entry {
    suite: String,
    seed: u64,
    passed: u64,
    failed: u64,
    pub cpu_seconds: f64,
    /// How often what has a line of its own happened in it: as `machines-server`.
    parts: Vec<(String, u64)>,
}

impl Entry {
    /// Takes what a line of the suite says: `SUITE: N points from seed S`, `N passed, N failed` and
    /// that with `, N skipped` behind it, and `kill of a server: N alone, …`.
    pub fn read(&mut self, line: &str) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let number = |word: &str| word.parse().unwrap_or_default();
        match words[..] {
            [suite, _, "points", "from", "seed", seed] => {
                self.suite = suite.trim_end_matches(':').to_owned();
                self.seed = number(seed);
            }
            [passed, "passed,", failed, "failed"]
            | [passed, "passed,", failed, "failed,", _, "skipped"] => {
                (self.passed, self.failed) = (number(passed), number(failed));
            }
            ["kill", "of", .., killed, times, "alone,", "resumed", "after", "at", "most", _] => {
                let part = format!("{}-{}", self.suite, killed.trim_end_matches(':'));
                self.parts.push((part, number(times)));
            }
            _ => {}
        }
    }

    /// A run that did not end well has failed, whatever it has said, or not come to say.
    pub fn ended_badly(&mut self) {
        self.failed = self.failed.max(1);
    }

    fn parse(line: &str) -> Option<Entry> {
        let mut fields = line.split('\t');
        Some(Entry {
            suite: fields.next()?.to_owned(),
            seed: fields.next()?.parse().ok()?,
            passed: fields.next()?.parse().ok()?,
            failed: fields.next()?.parse().ok()?,
            cpu_seconds: fields.next()?.parse().ok()?,
            parts: Vec::new(),
        })
    }

    /// Writes it at the end of the ledger; a run that said nothing is none.
    pub fn append(&self) -> Result<()> {
        if self.suite.is_empty() {
            return Ok(());
        }
        let path = path();
        let file = OpenOptions::new().create(true).append(true).open(&path);
        let mut file = file.context(format!("cannot open {}", path.display()))?;
        let header = match file.metadata() {
            Ok(found) if found.len() > 0 => String::new(),
            _ => format!("{HEADER}\n"),
        };
        let lines = header + &self.lines();
        // In one call: another suite may end at this moment.
        file.write_all(lines.as_bytes()).context(format!("cannot write {}", path.display()))
    }

    /// As the ledger has it: its parts are like suites of their own.
    fn lines(&self) -> String {
        let Entry { suite, seed, passed, failed, cpu_seconds, parts } = self;
        let mut lines = format!("{suite}\t{seed}\t{passed}\t{failed}\t{cpu_seconds:.1}\n");
        for (part, times) in parts {
            lines += &format!("{part}\t{seed}\t{times}\t0\t0.0\n");
        }
        lines
    }
}

/// Tells what each suite has done so far, or keeps that beside the figures of a report, which has
/// bars of it.
pub fn run(arguments: &[String]) -> Result<()> {
    match arguments {
        [] => print!("{}", summed(&read()?)),
        [option, report] if option == "--report" => keep(Path::new(report))?,
        _ => return fail("usage: cargo xtask torture ledger [--report DIR]"),
    }
    Ok(())
}

fn read() -> Result<String> {
    let path = path();
    fs::read_to_string(&path).context(format!("cannot read {}", path.display()))
}

fn keep(report: &Path) -> Result<()> {
    let taken = output(command("date", ["-u", "+%Y-%m-%d %H:%M:%S UTC"]))?;
    let revision = output(command("git", ["rev-parse", "--short=12", "HEAD"]))?;
    let folder = report.join("raw");
    fs::create_dir_all(&folder).context(format!("cannot make {}", folder.display()))?;
    let path = folder.join("torture.json");
    let kept = kept(&read()?, &before(&path)?, taken.trim(), revision.trim());
    fs::write(&path, kept).context(format!("cannot write {}", path.display()))?;
    println!("{}", path.display());
    Ok(())
}

/// What was kept there before; null, if nothing was.
fn before(path: &Path) -> Result<Value> {
    if !path.is_file() {
        return Ok(Value::Null);
    }
    let text = fs::read_to_string(path).context(format!("cannot read {}", path.display()))?;
    serde_json::from_str(&text).context(format!("cannot read {}", path.display()))
}

/// As `jungle-bench` reads it: what the ledger has, and of suites that were not run in this
/// checkout what was kept before, with when and at which revision that was summed up.
fn kept(text: &str, before: &Value, taken: &str, revision: &str) -> String {
    let suite = |(suite, (runs, sum)): (String, (u64, Entry))| {
        let Entry { passed, failed, cpu_seconds, .. } = sum;
        let sum = json!({
            "runs": runs, "passed": passed, "failed": failed, "cpu_seconds": cpu_seconds,
        });
        (suite, sum)
    };
    let mut suites: Map<String, Value> = sums(text).into_iter().map(suite).collect();
    let others: Vec<_> = earlier(before).filter(|(name, _)| !is_of_any(name, &suites)).collect();
    suites.extend(others);
    let kept = json!({ "taken": taken, "revision": revision, "suites": suites });
    format!("{kept:#}\n")
}

/// The sums that were kept, each with when and at which revision.
fn earlier(kept: &Value) -> impl Iterator<Item = (String, Value)> {
    let suites = kept["suites"].as_object().cloned().unwrap_or_default();
    suites.into_iter().filter(|(_, sum)| sum.is_object()).map(move |(name, mut sum)| {
        for of in ["taken", "revision"] {
            if sum[of].is_null() {
                sum[of] = kept[of].clone();
            }
        }
        (name, sum)
    })
}

/// Is this one of these suites, or a part of one?
fn is_of_any(name: &str, suites: &Map<String, Value>) -> bool {
    let is_of = |suite: &String| {
        let rest = name.strip_prefix(suite.as_str());
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
    };
    suites.keys().any(is_of)
}

/// Of each suite how many runs there are, and what they come to.
fn sums(text: &str) -> BTreeMap<String, (u64, Entry)> {
    let mut suites: BTreeMap<String, (u64, Entry)> = BTreeMap::new();
    for entry in text.lines().filter_map(Entry::parse) {
        let (runs, sum) = suites.entry(entry.suite).or_default();
        *runs += 1;
        sum.passed += entry.passed;
        sum.failed += entry.failed;
        sum.cpu_seconds += entry.cpu_seconds;
    }
    suites
}

fn summed(text: &str) -> String {
    let mut lines = String::new();
    for (suite, (runs, sum)) in sums(text) {
        let Entry { passed, failed, cpu_seconds, .. } = sum;
        let hours = cpu_seconds / 3600.0;
        lines += &format!(
            "{suite:15} {runs:5} runs {passed:12} passed {failed:5} failed {hours:9.2} CPU hours\n"
        );
    }
    lines
}

fn path() -> PathBuf {
    target_dir().join("torture-ledger.tsv")
}

/// What all children that have ended took of the processors. It is 0 where the system does not
/// say it in `/proc`.
pub fn children_cpu_seconds() -> f64 {
    /// Linux counts in hundredths of a second, whatever its own clock does.
    const TICKS_PER_SECOND: f64 = 100.0;
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The name in parentheses may have spaces in it; behind it, these are the 14th and the 15th.
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
    let ticks: f64 = fields.skip(13).take(2).filter_map(|ticks| ticks.parse::<f64>().ok()).sum();
    ticks / TICKS_PER_SECOND
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::root;

    #[test]
    fn entry_is_read_from_what_a_suite_prints() {
        let mut entry = Entry::default();
        for line in ["model: 20 points from seed 7", "noise", "19 passed, 1 failed"] {
            entry.read(line);
        }
        let suite = "model".to_owned();
        let ought = Entry { suite, seed: 7, passed: 19, failed: 1, ..Entry::default() };
        assert_eq!(entry, ought);
    }

    #[test]
    fn kills_that_happened_alone_are_counted_beside_their_suite() {
        let mut entry = Entry::default();
        for line in [
            "machines: 6 points from seed 7",
            "  kill of both by itself: resumed after 1.2s",
            "kill of a server: 2 alone, resumed after at most 31.5ms",
            "kill of both: 3 alone, resumed after at most 6.1s",
            "kill of the log's leader: 1 alone, resumed after at most 5.8s",
            "6 passed, 0 failed",
        ] {
            entry.read(line);
        }
        let ought = "machines\t7\t6\t0\t0.0\nmachines-server\t7\t2\t0\t0.0\n\
            machines-both\t7\t3\t0\t0.0\nmachines-leader\t7\t1\t0\t0.0\n";
        assert_eq!(entry.lines(), ought);
        let sums = sums(ought);
        assert_eq!((sums.len(), sums["machines-both"].1.passed), (4, 3));
    }

    #[test]
    fn every_suite_says_what_the_ledger_reads() {
        let lines = said();
        for line in &lines {
            let mut entry = Entry::default();
            entry.read(line);
            assert_ne!(entry, Entry::default(), "nothing is read from `{line}`");
        }
        for known in [
            "syncs: 7 points from seed 7",
            "7 passed, 7 failed, 7 skipped",
            "kill of 7: 7 alone, resumed after at most 7",
        ] {
            assert!(lines.iter().any(|line| line == known), "nobody says `{known}`: {lines:?}");
        }
    }

    /// How suites begin and end, as their source has it, with a number in each gap.
    fn said() -> Vec<String> {
        let (mut folders, mut lines) = (vec![root().join("crates")], Vec::new());
        while let Some(folder) = folders.pop() {
            for path in fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()) {
                if path.is_dir() {
                    folders.push(path);
                } else if path.extension().is_some_and(|extension| extension == "rs") {
                    let text = fs::read_to_string(path).unwrap();
                    let printed = text.split("println!(\"").skip(1);
                    let printed = printed.filter_map(|rest| rest.split('"').next());
                    lines.extend(printed.flat_map(|line| line.split("\\n")).map(filled));
                }
            }
        }
        lines.retain(|line| {
            line.contains(" points ") && line.contains(" seed ")
                || line.contains(" passed, ")
                || line.contains(" alone, ")
        });
        lines
    }

    fn filled(line: &str) -> String {
        let mut parts = line.split('{');
        let first = parts.next().unwrap_or_default().to_owned();
        let behind = parts.map(|part| part.split_once('}').map_or(part, |(_, rest)| rest));
        behind.fold(first, |line, rest| line + "7" + rest)
    }

    #[test]
    fn run_that_ended_badly_has_failed_whatever_it_said() {
        let mut killed = Entry::default();
        killed.read("fuzz: 5000 points from seed 7");
        killed.ended_badly();
        assert_eq!((killed.passed, killed.failed), (0, 1));
        let mut told = Entry::default();
        told.read("soak: 4800 points from seed 0");
        told.read("4800 passed, 0 failed");
        told.ended_badly();
        assert_eq!((told.passed, told.failed), (4800, 1));
    }

    #[test]
    fn sum_adds_runs_of_a_suite_and_skips_the_header() {
        let text = format!("{HEADER}\na\t1\t10\t0\t1800.0\na\t2\t5\t1\t1800.0\nb\t1\t1\t0\t0.0\n");
        let lines: Vec<String> = summed(&text).lines().map(squeezed).collect();
        let expected = [
            "a 2 runs 15 passed 1 failed 1.00 CPU hours",
            "b 1 runs 1 passed 0 failed 0.00 CPU hours",
        ];
        assert_eq!(lines, expected);
    }

    #[test]
    fn what_is_kept_has_the_sums_of_each_suite() {
        let text = format!("{HEADER}\nengine\t1\t10\t0\t1.5\nengine\t2\t5\t1\t2.0\n");
        let kept = kept(&text, &Value::Null, "2026-01-01 00:00:00 UTC", "abc");
        let expected = json!({
            "taken": "2026-01-01 00:00:00 UTC",
            "revision": "abc",
            "suites": { "engine": { "runs": 2, "passed": 15, "failed": 1, "cpu_seconds": 3.5 } },
        });
        assert_eq!(serde_json::from_str::<Value>(&kept).unwrap(), expected);
        assert!(kept.ends_with("}\n"));
    }

    #[test]
    fn what_other_checkouts_have_run_is_kept_with_when_that_was() {
        let kept = |text: &str, before: &Value, taken: &str, revision: &str| -> Value {
            serde_json::from_str(&kept(text, before, taken, revision)).unwrap()
        };
        let text = "lin\t1\t7\t0\t0.0\nmachines\t1\t6\t1\t0.0\nmachines-both\t1\t1\t0\t0.0\n";
        let first = kept(text, &Value::Null, "then", "abc");
        let second = kept("machines\t1\t9\t0\t0.0\n", &first, "now", "def");
        let sum = |passed: u64| {
            json!({
                "runs": 1, "passed": passed, "failed": 0, "cpu_seconds": 0.0,
            })
        };
        let mut lin = sum(7);
        (lin["taken"], lin["revision"]) = (json!("then"), json!("abc"));
        let suites = json!({ "lin": lin, "machines": sum(9) });
        assert_eq!(second, json!({ "taken": "now", "revision": "def", "suites": suites }));
        let third = kept("", &second, "later", "ghi");
        assert_eq!(third["suites"]["lin"], lin);
        assert_eq!(third["suites"]["machines"]["taken"], "now");
    }

    fn squeezed(line: &str) -> String {
        line.split_whitespace().collect::<Vec<_>>().join(" ")
    }
}
