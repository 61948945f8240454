//! `fuzz`: input from outside, which libFuzzer changes, and keeps, by what of the code it reaches.
//!
//! The program is `fuzz/`, a package of its own around the targets of the suite `fuzz`. Of each
//! target, `target/fuzz/TARGET` has what is right as it begins (`seeds`, `words`), what has reached
//! something new (`found`: the next run goes on from there), what failed (`failed`), and what
//! libFuzzer said (`log`).

mod corpus;

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::slice::Iter;
use std::sync::Mutex;
use std::thread;

use crate::asan::TARGET;
use crate::command::{cargo, command, need, output, run as run_command, target_dir};
use crate::error::{Context, Result, fail};
use crate::torture::ledger::{Entry, children_cpu_seconds};
use crate::torture::options::today;

const USAGE: &str = "usage: cargo xtask fuzz [TARGET...] [--seconds N] [--asan] [--keep]";

/// Of each target, if nothing else is said.
const SECONDS: u64 = 45;

/// So many targets are tried at a time.
const AT_ONCE: usize = 2;

/// What counts which parts of the code an input reaches, and tells libFuzzer what is compared with
/// what, as cargo-fuzz asks for it. Under `fuzzing` the engine of the checkpoints takes damaged
/// files for damaged, where otherwise it asserts that there are none.
const FLAGS: &str = "-Cpasses=sancov-module \
    -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
    -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares \
    --cfg fuzzing -Ctarget-cpu=x86-64-v2";

/// As the suite has them: no input is longer (bytes), or takes longer (seconds, on a busy machine).
const INPUT: [&str; 2] = ["-max_len=1048576", "-timeout=60"];

/// The memory that the program may have in use: what libFuzzer keeps there comes to what the suite
/// may have. The sanitizer takes more for itself.
const MEMORY: &str = "-rss_limit_mb=1024";
const MEMORY_WATCHED: &str = "-rss_limit_mb=2560";

/// Runs a program whose stack is several times the usual: the sanitizer's frames are that large.
const STACKED: &str = "ulimit -s 32768 && exec \"$0\" \"$@\"";

pub fn run(arguments: &[String]) -> Result<()> {
    let asked = Asked::read(arguments)?;
    let program = build(asked.is_watched)?;
    let cpu_before = children_cpu_seconds();
    // Another one each day; it does not make a run that ends by the clock the same.
    let fuzz = Fuzz { asked, program, seed: today() / 1_000_000 };
    let Tried { runs, failed } = fuzz.try_all(&fuzz.targets()?)?;
    let mut entry = Entry::default();
    for line in [
        format!("fuzz-coverage: {runs} points from seed {}", fuzz.seed),
        format!("{} passed, {failed} failed", runs.saturating_sub(failed)),
    ] {
        println!("{line}");
        entry.read(&line);
    }
    entry.cpu_seconds = children_cpu_seconds() - cpu_before;
    entry.append()?;
    if failed == 0 { Ok(()) } else { fail(format!("{failed} targets failed")) }
}

#[derive(Debug, PartialEq)]
struct Asked {
    /// None stands for all.
    targets: Vec<String>,
    seconds: u64,
    /// Does the address sanitizer watch?
    is_watched: bool,
    /// Is the corpus in the repository added to?
    is_kept: bool,
}

impl Asked {
    fn read(arguments: &[String]) -> Result<Asked> {
        let (is_watched, is_kept) = (false, false);
        let mut asked = Asked { targets: Vec::new(), seconds: SECONDS, is_watched, is_kept };
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--asan" => asked.is_watched = true,
                "--keep" => asked.is_kept = true,
                "--seconds" => {
                    let seconds = arguments.next().and_then(|told| told.parse::<u64>().ok());
                    // libFuzzer takes 0 for no end.
                    asked.seconds = seconds.filter(|seconds| *seconds > 0).context(USAGE)?;
                }
                option if option.starts_with('-') => return fail(USAGE),
                target => asked.targets.push(target.to_owned()),
            }
        }
        Ok(asked)
    }
}

/// Builds the program, in a folder of its own, and gives its place.
fn build(is_watched: bool) -> Result<PathBuf> {
    need("c++", "g++")?;
    let folder = folder().join(if is_watched { "build-asan" } else { "build" });
    let mut build = cargo(["build", "--release", "--quiet", "--manifest-path", "fuzz/Cargo.toml"]);
    build.args(["--target", TARGET, "--target-dir"]).arg(&folder);
    let mut flags = FLAGS.to_owned();
    if is_watched {
        flags += " -Zsanitizer=address";
        build.env("RUSTC_BOOTSTRAP", "1");
        // libFuzzer itself is not to be watched: it reads what the sanitizer keeps from reading.
        build.env("CXXFLAGS", "-fno-sanitize=address");
    }
    build.env("RUSTFLAGS", flags);
    run_command(build)?;
    Ok(folder.join(TARGET).join("release/fuzz"))
}

/// What is built and found.
fn folder() -> PathBuf {
    target_dir().join("fuzz")
}

struct Fuzz {
    asked: Asked,
    program: PathBuf,
    seed: u64,
}

/// Inputs that were tried, and targets of which one failed.
#[derive(Default)]
struct Tried {
    runs: u64,
    failed: u64,
}

impl Fuzz {
    /// Those asked for, or all that the program has.
    fn targets(&self) -> Result<Vec<String>> {
        let known = output(self.program())?;
        let known: Vec<String> = known.lines().map(str::to_owned).collect();
        let asked = &self.asked.targets;
        if let Some(unknown) = asked.iter().find(|target| !known.contains(target)) {
            return fail(format!("there is no target `{unknown}`, but {}", known.join(", ")));
        }
        Ok(if asked.is_empty() { known } else { asked.clone() })
    }

    fn try_all(&self, targets: &[String]) -> Result<Tried> {
        let waiting = Mutex::new(targets.iter());
        thread::scope(|scope| {
            let workers = [(); AT_ONCE].map(|()| scope.spawn(|| self.try_some(&waiting)));
            let mut all = Tried::default();
            for worker in workers {
                let Tried { runs, failed } = worker.join().expect("it gives its errors back")?;
                all.runs += runs;
                all.failed += failed;
            }
            Ok(all)
        })
    }

    /// Tries one target after the other, until there is none left.
    fn try_some(&self, waiting: &Mutex<Iter<'_, String>>) -> Result<Tried> {
        let mut some = Tried::default();
        loop {
            let next = waiting.lock().expect("nothing panics while it is held").next();
            let Some(target) = next else { return Ok(some) };
            let log = self.try_one(target)?;
            some.runs += log.runs();
            println!("{target}: {} inputs reached {} places", log.runs(), log.reached());
            if log.status.success() {
                self.keep(target)?;
            } else {
                some.failed += 1;
                self.tell(target, &log)?;
            }
        }
    }

    fn try_one(&self, target: &str) -> Result<Log> {
        let folder = folder().join(target);
        for name in ["found", "failed"] {
            let made = fs::create_dir_all(folder.join(name));
            made.context(format!("cannot make {}", folder.display()))?;
        }
        // Those of this revision are written anew.
        emptied(&folder.join("seeds"))?;
        let mut run = self.of(target);
        // What is new goes into the first.
        run.args(["found", "seeds"].map(|name| folder.join(name)));
        let kept = corpus::folder(target);
        if kept.is_dir() {
            run.arg(kept);
        }
        run.arg(format!("-dict={}", folder.join("words").display()));
        run.arg(format!("-artifact_prefix={}/", folder.join("failed").display()));
        run.arg(format!("-max_total_time={}", self.asked.seconds));
        run.arg(format!("-seed={}", self.seed)).args(INPUT).arg("-print_final_stats=1");
        logged(run, &folder.join("log"))
    }

    /// Adds to the corpus in the repository what reaches more than that does, where asked to.
    fn keep(&self, target: &str) -> Result<()> {
        if !self.asked.is_kept {
            return Ok(());
        }
        let folder = folder().join(target);
        let merged = folder.join("merged");
        emptied(&merged)?;
        corpus::copy(target, &merged)?;
        let mut merge = self.of(target);
        merge.args(["-merge=1", corpus::INPUT_MAX, INPUT[1]]).arg(&merged);
        merge.args(["found", "seeds"].map(|name| folder.join(name)));
        let log = logged(merge, &folder.join("log-of-merge"))?;
        if !log.status.success() {
            return fail(format!("{target}: the merge ended with {}: {}", log.status, log.end()));
        }
        println!("{target}: {} inputs added to the corpus", corpus::add(target, &merged)?);
        Ok(())
    }

    /// Says what failed and what repeats it. What crashed is in the corpus from then on.
    fn tell(&self, target: &str, log: &Log) -> Result<()> {
        println!("{}\n{target}: ended with {}", log.end(), log.status);
        let Some(input) = log.failed_input() else {
            println!("it left no input, as where the stack is too small: `--asan` leaves one");
            return Ok(());
        };
        println!("failed; again: FUZZ_TARGET={target} {} {input}", self.program.display());
        if let Some(kept) = corpus::keep_crash(target, Path::new(input))? {
            println!("kept as {}: mend it, and commit that, too", kept.display());
        }
        Ok(())
    }

    /// The program on a target.
    fn of(&self, target: &str) -> Command {
        let mut program = self.program();
        program.env("FUZZ_TARGET", target).env("FUZZ_FOLDER", folder().join(target));
        program.arg(if self.asked.is_watched { MEMORY_WATCHED } else { MEMORY });
        program
    }

    fn program(&self) -> Command {
        let mut program = command(&self.program, [""; 0]);
        if self.asked.is_watched {
            program = command("sh", ["-c", STACKED]);
            program.arg(&self.program);
            // Leaks are not looked for, as in `asan`; cargo-fuzz has the other.
            program.env("ASAN_OPTIONS", "detect_leaks=0:detect_odr_violation=0");
            program.arg("-detect_leaks=0");
        }
        program.env_remove("FUZZ_TARGET").env_remove("FUZZ_FOLDER");
        program
    }
}

/// What libFuzzer said, and how it ended.
struct Log {
    status: ExitStatus,
    text: String,
}

/// Runs it with what it says in a file.
fn logged(mut program: Command, path: &Path) -> Result<Log> {
    let making = || format!("cannot make {}", path.display());
    let file = File::create(path).context(making())?;
    program.stdout(file.try_clone().context(making())?).stderr(file);
    let status = program.status().context("cannot start the program of `fuzz`")?;
    let said = fs::read(path).context(format!("cannot read {}", path.display()))?;
    // Of an input that is no text, some may be in it.
    Ok(Log { status, text: String::from_utf8_lossy(&said).into_owned() })
}

impl Log {
    /// Inputs that were tried; 0 where it ended without a word.
    fn runs(&self) -> u64 {
        self.number_behind("stat::number_of_executed_units:")
    }

    /// Places in the code that some input has reached.
    fn reached(&self) -> u64 {
        self.number_behind(" cov: ")
    }

    /// The last number that stands behind a mark.
    fn number_behind(&self, mark: &str) -> u64 {
        let behind = self.text.rsplit_once(mark).map(|(_, behind)| behind);
        let word = behind.and_then(|behind| behind.split_whitespace().next());
        word.and_then(|word| word.parse().ok()).unwrap_or_default()
    }

    /// Where the input is that failed.
    fn failed_input(&self) -> Option<&str> {
        let (_, behind) = self.text.rsplit_once("Test unit written to ")?;
        behind.lines().next()
    }

    /// The last that was said.
    fn end(&self) -> String {
        const LINES: usize = 60;
        let lines: Vec<&str> = self.text.lines().collect();
        lines[lines.len().saturating_sub(LINES)..].join("\n")
    }
}

/// Makes a folder in which there is nothing.
fn emptied(folder: &Path) -> Result<()> {
    if folder.is_dir() {
        fs::remove_dir_all(folder).context(format!("cannot empty {}", folder.display()))?;
    }
    fs::create_dir_all(folder).context(format!("cannot make {}", folder.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_targets_and_options() {
        let read = |text: &str| {
            let words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
            Asked::read(&words).ok()
        };
        let usual = || read("").unwrap();
        assert_eq!((usual().seconds, usual().is_watched, usual().is_kept), (45, false, false));
        let ought = Asked {
            targets: vec!["json".to_owned(), "xml".to_owned()],
            seconds: 7,
            is_watched: true,
            is_kept: true,
        };
        assert_eq!(read("json --asan --seconds 7 xml --keep"), Some(ought));
        for wrong in ["--seconds", "--seconds 0", "--seconds x", "--runs 5", "-runs=5"] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn log_tells_runs_places_and_what_failed() {
        let log = |text: &str| Log { status: ExitStatus::default(), text: text.to_owned() };
        let good = log("#2\tINITED cov: 12 ft: 13 corp: 1/1b exec/s: 0 rss: 40Mb\n\
             #900\tDONE   cov: 345 ft: 678 corp: 9/99b lim: 4 exec/s: 20 rss: 41Mb\n\
             Done 900 runs in 46 second(s)\n\
             stat::number_of_executed_units: 900\n\
             stat::average_exec_per_sec:     19\n");
        assert_eq!((good.runs(), good.reached(), good.failed_input()), (900, 345, None));
        let bad = log("slow; Test unit written to failed/slow-unit-1\n\
             artifact_prefix='failed/'; Test unit written to failed/crash-2\nBase64: AA==\n");
        assert_eq!((bad.runs(), bad.reached()), (0, 0));
        assert_eq!(bad.failed_input(), Some("failed/crash-2"));
        assert!(bad.end().ends_with("Base64: AA=="));
    }
}
