//! The command line.

use std::path::PathBuf;

use clap::{Parser, Subcommand, ValueEnum};

use crate::experiments::{self, placed};
use crate::lab::cores;
use crate::systems::System;
use crate::track;

/// Runs an experiment: Jungle and its peers, side by side.
#[derive(Parser)]
#[command(version, args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub struct Args {
    #[command(subcommand)]
    other: Option<Other>,
    #[command(flatten)]
    request: Option<Request>,
}

#[derive(Subcommand)]
enum Other {
    /// Makes the report again from what is in FOLDER/raw.
    Report {
        /// The folder that `--report` was given.
        folder: PathBuf,
    },
    /// Counts the instructions of a small fixed set of workloads, in seconds, and tells which take
    /// more or fewer than was recorded (needs valgrind).
    Track(track::Request),
    /// Has servers asked by load clients that are placed with Alice: prints the answers a second
    /// that each client got.
    Load(placed::Request),
    /// A load client, on any machine: waits under LABEL for what `load` says, until its standard
    /// input ends.
    LoadNode {
        /// The addresses of the engine (NATS with JetStream), with commas between them.
        engine: String,
        /// Its label, which nobody else has.
        label: String,
    },
    /// Does these workloads; `track` has them counted.
    #[command(hide = true)]
    TrackWork,
    /// Measures one case once and prints a line of JSON, as the peers do.
    #[command(hide = true)]
    Sample {
        experiment: String,
        case: String,
        #[command(flatten)]
        options: experiments::Options,
        /// Boards that are asked in the same run; all that are built, if nothing is said.
        #[arg(long, value_delimiter = ',', value_enum, num_args = 0..)]
        peers: Option<Vec<System>>,
        /// Steps of a closure's own work in `hot`; as many as take long enough, if nothing is said.
        #[arg(long)]
        steps: Option<u64>,
    },
    /// Opens a folder that `sample open` has made, and reads from it: a line of JSON.
    #[command(hide = true)]
    Reopen {
        folder: PathBuf,
        #[command(flatten)]
        options: experiments::Options,
    },
    /// Uses a folder that `sample larger-than-memory` has made: a line of JSON.
    #[command(hide = true)]
    UseHot {
        folder: PathBuf,
        /// The group of processes to join.
        #[arg(long)]
        group: Option<PathBuf>,
        #[command(flatten)]
        options: experiments::Options,
    },
    /// Commits to a folder that `sample workloads kill` has made: a line for each commit.
    #[command(hide = true)]
    CommitUntilKilled {
        folder: PathBuf,
        /// The first value's number.
        #[arg(long)]
        first: u64,
        #[command(flatten)]
        options: experiments::Options,
    },
}

/// The systems that are measured if nothing else is said: not Ray, which is large.
const SYSTEMS: &str = "jungle,haskell,haskell-intmap,java,imbl,redb,lmdb,doltlite,sqlite,\
loro,automerge,git,rayon,crossbeam,tokio,warp,pocketbase,sqlite-app,cassandra,etcd,zookeeper,oak,\
postgres";

/// The systems that are measured if nothing else is said.
pub fn usual_systems() -> Vec<System> {
    SYSTEMS.split(',').filter_map(System::named).collect()
}

/// What is to be run.
#[derive(clap::Args, Clone)]
pub struct Request {
    /// read, write, point, memory, wide, diff, merge, hot, revisions, commit, flat, open,
    /// larger-than-memory, reclaim, store-peers, alice, board, cluster, cassandra, neighbours,
    /// workloads, scale, idle-trap, or all; --quick leaves cassandra, neighbours and workloads out
    /// of all.
    #[arg(required = true)]
    pub experiment: String,
    /// Numbers of threads, where a case can use several; 1 and 2, or with --report up to as many
    /// as there are cores.
    #[arg(long, value_delimiter = ',', value_parser = at_least_one)]
    pub threads: Option<Vec<usize>>,
    /// Which systems.
    #[arg(
        long,
        value_delimiter = ',',
        value_enum,
        default_value = SYSTEMS
    )]
    pub systems: Vec<System>,
    /// A twentieth of the tasks, but of `point` all. With --report, all experiments end within 15
    /// minutes, not three hours.
    #[arg(long)]
    pub quick: bool,
    /// How many times each case is measured; 3, or 1 with --quick. With --report, what bars speak
    /// of is first, so many times; then come the others once, with ours again beside them; then
    /// each of both up to 3 times, or as many as is said here, as far as there is time.
    #[arg(long)]
    pub rounds: Option<usize>,
    /// Tasks in each measurement; 1,000, or 50 with --quick (`point`: 1,000).
    #[arg(long)]
    pub tasks: Option<u64>,
    /// Requests of each load of `board`, in thousands what `tasks` are.
    #[arg(long, conflicts_with = "tasks")]
    pub requests: Option<u64>,
    /// Also write the results here, one row of JSON a line.
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Keep what is measured, experiment by experiment, in this folder, and write a report there:
    /// report.md, report.html, plots. What is there already is not measured again.
    #[arg(long, value_name = "FOLDER", conflicts_with = "json")]
    pub report: Option<PathBuf>,
    /// Measure again what is there already. It stays where something that it was measured with is
    /// missing now, or fails, or is not asked for.
    #[arg(long, requires = "report")]
    pub again: bool,
    /// Keep cores busy that a measurement on fewer threads leaves idle, and the measurement on the
    /// others: idle cores may slow a machine down. `=both` measures it with and without.
    #[arg(
        long,
        value_name = "WHEN",
        value_enum,
        num_args = 0..=1,
        require_equals = true,
        default_value = "never",
        default_missing_value = "always"
    )]
    pub occupy_idle: OccupyIdle,
    /// Where the random draws begin.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Only the cases whose name contains this.
    #[arg(long, value_name = "PART")]
    pub case: Option<String>,
    /// Trees of a thousandth of the size: to try the programs, not to measure.
    #[arg(long, hide = true)]
    pub tiny: bool,
}

/// When cores are kept busy that a measurement leaves idle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum OccupyIdle {
    /// They rest.
    Never,
    /// In each measurement that may be on fewer threads than there are cores.
    Always,
    /// In a second measurement of each of these.
    Both,
}

impl Request {
    /// How many times each case is measured.
    pub fn rounds(&self) -> usize {
        self.rounds.unwrap_or(if self.quick { 1 } else { 3 }).max(1)
    }

    /// How many rounds there are at most, where there is a limit of time: of what bars speak of,
    /// and of the others.
    pub fn rounds_max(&self) -> usize {
        self.rounds.unwrap_or(3).max(1)
    }

    /// Numbers of threads, where a case can use several.
    pub fn threads(&self) -> Vec<usize> {
        match (&self.threads, &self.report) {
            (Some(threads), _) => threads.clone(),
            (None, None) => vec![1, 2],
            (None, Some(_)) => up_to(cores(), self.quick),
        }
    }

    /// What was asked for, as one would ask for it again.
    pub fn line(&self) -> String {
        let mut line = format!("jungle-bench {}", self.experiment);
        let flags = [
            (self.report.is_some(), "report DIR"),
            (self.quick, "quick"),
            (self.tiny, "tiny"),
            (self.occupy_idle == OccupyIdle::Always, "occupy-idle"),
            (self.occupy_idle == OccupyIdle::Both, "occupy-idle=both"),
        ];
        let words = flags.into_iter().filter(|(on, _)| *on).map(|(_, word)| word.to_owned());
        let threads = self.threads.as_ref();
        let threads = threads.map(|all| all.iter().map(usize::to_string).collect::<Vec<_>>());
        let systems: Vec<&str> = self.systems.iter().map(|system| system.name()).collect();
        let systems = Some(systems.join(",")).filter(|systems| systems != SYSTEMS);
        let options = [
            ("rounds", self.rounds.map(|rounds| rounds.to_string())),
            ("tasks", self.tasks.map(|tasks| tasks.to_string())),
            ("requests", self.requests.map(|requests| requests.to_string())),
            ("threads", threads.map(|threads| threads.join(","))),
            ("seed", Some(self.seed.to_string()).filter(|_| self.seed != 1)),
            ("case", self.case.clone()),
            ("systems", systems),
        ];
        let options =
            options.into_iter().filter_map(|(name, value)| Some(format!("{name} {}", value?)));
        words.chain(options).for_each(|word| line += &format!(" --{word}"));
        line
    }

    /// The size of each measurement of an experiment.
    pub fn options(&self, experiment: &str, threads: usize) -> experiments::Options {
        let tasks = self.tasks.or(self.requests.map(|requests| requests.div_ceil(1000)));
        // A twentieth of all points is done while each block that they lead to is cold, and before
        // a peer's collector has begun: figures of something else.
        let is_short = self.quick && experiment != "point";
        let tasks = tasks.unwrap_or(if is_short { 50 } else { 1000 });
        experiments::Options { threads, tasks, seed: self.seed, quick: self.quick, tiny: self.tiny }
    }
}

fn at_least_one(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) | Err(_) => Err("a number from 1 up is asked for".to_owned()),
        Ok(number) => Ok(number),
    }
}

/// Numbers of threads that show how something scales over so many cores. Two are always among them:
/// bars speak of two.
pub fn up_to(cores: usize, is_quick: bool) -> Vec<usize> {
    let mut counts = match is_quick {
        true => vec![1, 2, cores / 2, cores],
        false => (0..).map(|power| 1 << power).take_while(|count| *count < cores).collect(),
    };
    counts.extend([1, 2, cores]);
    counts.retain(|count| *count > 0);
    counts.sort_unstable();
    counts.dedup();
    counts
}

/// What the command line asks for.
pub enum Command {
    /// A report from what was measured before.
    Report(PathBuf),
    /// Counting of instructions.
    Track(track::Request),
    /// What is counted.
    TrackWork,
    /// One measurement.
    Sample {
        /// Of this experiment.
        experiment: String,
        /// This case.
        case: String,
        /// This large.
        options: experiments::Options,
        /// Beside these boards, or those that are built.
        peers: Option<Vec<System>>,
        /// With so many steps in each closure, or as many as take long enough.
        steps: Option<u64>,
    },
    /// Opening of a folder.
    Reopen {
        /// This one.
        folder: PathBuf,
        /// And what is to be read.
        options: experiments::Options,
    },
    /// Use of what is hot in a folder.
    UseHot {
        /// This one.
        folder: PathBuf,
        /// As one of this group of processes.
        group: Option<PathBuf>,
        /// And how much.
        options: experiments::Options,
    },
    /// Commits until it is killed.
    CommitUntilKilled {
        /// To this folder.
        folder: PathBuf,
        /// From this value on.
        first: u64,
        /// Of so many leaves.
        options: experiments::Options,
    },
    /// A load by clients that are placed.
    Load(placed::Request),
    /// One of them.
    LoadNode {
        /// It finds the others through this.
        engine: String,
        /// They find it under this.
        label: String,
    },
    /// An experiment.
    Run(Request),
}

impl Args {
    /// What it asks for.
    pub fn command(self) -> Command {
        match (self.other, self.request) {
            (Some(Other::Report { folder }), _) => Command::Report(folder),
            (Some(Other::Track(request)), _) => Command::Track(request),
            (Some(Other::TrackWork), _) => Command::TrackWork,
            (Some(Other::Sample { experiment, case, options, peers, steps }), _) => {
                Command::Sample { experiment, case, options, peers, steps }
            }
            (Some(Other::Reopen { folder, options }), _) => Command::Reopen { folder, options },
            (Some(Other::UseHot { folder, group, options }), _) => {
                Command::UseHot { folder, group, options }
            }
            (Some(Other::CommitUntilKilled { folder, first, options }), _) => {
                Command::CommitUntilKilled { folder, first, options }
            }
            (Some(Other::Load(request)), _) => Command::Load(request),
            (Some(Other::LoadNode { engine, label }), _) => Command::LoadNode { engine, label },
            (None, Some(request)) => Command::Run(request),
            (None, None) => unreachable!("clap asks for an experiment"),
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory, Parser};

    use super::{Args, Command, OccupyIdle, Request, System, up_to};

    fn request(line: &str) -> Request {
        match Args::parse_from(line.split(' ')).command() {
            Command::Run(request) => request,
            _ => panic!("an experiment"),
        }
    }

    #[test]
    fn both_forms_are_read() {
        <Args as CommandFactory>::command().debug_assert();
        let line = "jungle-bench read --threads 2 --systems jungle,haskell-intmap --quick";
        let asked = request(line);
        assert_eq!((asked.threads().as_slice(), asked.rounds()), (&[2][..], 1));
        let line = "jungle-bench sample read count --threads 2 --tasks 7 --seed 3";
        let Command::Sample { case, options, .. } = Args::parse_from(line.split(' ')).command()
        else {
            panic!("a sample");
        };
        assert_eq!((case.as_str(), options.tasks), ("count", 7));
        for (words, told) in [
            ("", None),
            (" --peers", Some(vec![])),
            (" --peers warp,sqlite-app", Some(vec![System::Warp, System::SqliteApp])),
        ] {
            let line = format!("jungle-bench sample board e3 --tiny{words}");
            let Command::Sample { peers, .. } = Args::parse_from(line.split(' ')).command() else {
                panic!("a sample");
            };
            assert_eq!(peers, told, "{line}");
        }
        let line = "jungle-bench reopen a/folder --seed 3 --tiny";
        let Command::Reopen { folder, options } = Args::parse_from(line.split(' ')).command()
        else {
            panic!("a folder");
        };
        assert_eq!((folder.as_path(), options.seed), ("a/folder".as_ref(), 3));
    }

    #[test]
    fn a_report_is_asked_for() {
        let asked = request("jungle-bench all --report a --quick --again");
        assert_eq!((asked.report.as_deref(), asked.again), (Some("a".as_ref()), true));
        assert_eq!(
            (asked.rounds_max(), asked.line().as_str()),
            (3, "jungle-bench all --report DIR --quick")
        );
        let asked = request("jungle-bench read --threads 1,4 --systems jungle --occupy-idle");
        let line = "jungle-bench read --occupy-idle --threads 1,4 --systems jungle";
        assert_eq!((asked.line().as_str(), asked.occupy_idle), (line, OccupyIdle::Always));
        let line = "jungle-bench read --occupy-idle=both";
        let asked = request(line);
        assert_eq!((asked.line().as_str(), asked.occupy_idle), (line, OccupyIdle::Both));
        assert_eq!(request("jungle-bench --occupy-idle read").experiment, "read");
        assert_eq!(request("jungle-bench read").occupy_idle, OccupyIdle::Never);
        assert!(Args::try_parse_from(["jungle-bench", "all", "--again"]).is_err());
        assert!(Args::try_parse_from(["jungle-bench", "read", "--threads", "0"]).is_err());
        let again = Args::parse_from(["jungle-bench", "report", "a/folder"]).command();
        assert!(matches!(again, Command::Report(folder) if folder.ends_with("a/folder")));
    }

    #[test]
    fn figures_are_asked_for() {
        let track = |more: &str| {
            let line = format!("jungle-bench track{more}");
            Args::try_parse_from(line.split(' ')).map(Args::command)
        };
        let Ok(Command::Track(asked)) = track("") else { panic!("figures") };
        assert_eq!((asked.record, asked.json, asked.tolerance), (false, false, 2.0));
        let Ok(Command::Track(asked)) = track(" --tolerance 0.5 --json") else { panic!("figures") };
        assert_eq!((asked.json, asked.tolerance), (true, 0.5));
        for wrong in [" --record --json", " --tolerance -1", " --tolerance NaN", " all"] {
            assert!(track(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn threads_go_up_to_the_cores() {
        assert_eq!(up_to(1, false), [1, 2]);
        assert_eq!(up_to(2, true), [1, 2]);
        assert_eq!(up_to(12, false), [1, 2, 4, 8, 12]);
        assert_eq!(up_to(12, true), [1, 2, 6, 12]);
    }
}
