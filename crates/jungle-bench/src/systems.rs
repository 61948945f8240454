//! The systems: how a measurement of each is started.

use std::path::{Path, PathBuf};
use std::process::Command;

use clap::ValueEnum;

use crate::experiments::Options;

/// A system that is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, ValueEnum)]
pub enum System {
    /// Ours.
    Jungle,
    /// The original's data types in Haskell, children in `Data.Map`: what the bars speak of.
    Haskell,
    /// The same with children in `Data.IntMap`: the harder mark.
    HaskellIntmap,
    /// The same in Java.
    Java,
    /// `imbl`'s maps in Rust.
    Imbl,
    /// redb, made to keep all versions.
    Redb,
    /// LMDB, made to keep all versions.
    Lmdb,
    /// DoltLite: SQLite with versions.
    Doltlite,
    /// Rayon's pool.
    Rayon,
    /// Crossbeam's channel.
    Crossbeam,
    /// Tokio's tasks and its channel.
    Tokio,
    /// What the machine does without any of them.
    #[value(skip)]
    Machine,
}

/// Where a measurement comes from: an argument list of a system's program.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Program {
    /// Whose it is.
    pub system: System,
    /// The program and its arguments.
    pub argv: Vec<String>,
}

impl System {
    /// As it is called on the command line and in the results.
    pub fn name(self) -> &'static str {
        match self {
            System::Jungle => "jungle",
            System::Haskell => "haskell",
            System::HaskellIntmap => "haskell-intmap",
            System::Java => "java",
            System::Imbl => "imbl",
            System::Redb => "redb",
            System::Lmdb => "lmdb",
            System::Doltlite => "doltlite",
            System::Rayon => "rayon",
            System::Crossbeam => "crossbeam",
            System::Tokio => "tokio",
            System::Machine => "machine",
        }
    }

    /// What must be there for it to run.
    fn file(self) -> PathBuf {
        match self {
            System::Jungle | System::Machine => PathBuf::new(),
            System::Haskell => peers().join("haskell/peer-map"),
            System::HaskellIntmap => peers().join("haskell/peer-intmap"),
            System::Java => peers().join("java/Peer.class"),
            System::Imbl => peers().join("imbl/release/peer"),
            System::Redb | System::Lmdb | System::Doltlite => peers().join("store/release/peer"),
            System::Rayon | System::Crossbeam | System::Tokio => {
                peers().join("dataflow/release/peer")
            }
        }
    }

    /// Does it take part in this case? There are peers of trees in memory, of the store and of
    /// Alice; of these, rayon has no channel, and the channels do not sort.
    pub fn takes_part(self, experiment: &str, case: &str) -> bool {
        match (experiment, case) {
            ("store-peers", _) => self.is_store(),
            ("alice", "chain") => self.is_dataflow(),
            ("alice", "tree") => self == System::Rayon,
            ("alice", _) => self.is_dataflow() && self != System::Rayon,
            _ => !self.is_store() && !self.is_dataflow(),
        }
    }

    fn is_store(self) -> bool {
        matches!(self, System::Redb | System::Lmdb | System::Doltlite)
    }

    fn is_dataflow(self) -> bool {
        matches!(self, System::Rayon | System::Crossbeam | System::Tokio)
    }

    /// Can it be run?
    pub fn is_built(self) -> bool {
        matches!(self, System::Jungle | System::Machine) || self.file().is_file()
    }

    /// The program that measures a case (of ours, `experiment case`) once.
    pub fn program(self, case: &str, options: Options) -> Program {
        let mut argv: Vec<String> = match self {
            System::Jungle => vec!["".into(), "sample".into()],
            System::Java => java(),
            system if system.is_store() || system.is_dataflow() => {
                vec![self.file().display().to_string(), self.name().to_owned()]
            }
            _ => vec![self.file().display().to_string()],
        };
        argv.extend(case.split(' ').map(str::to_owned));
        for (name, value) in
            [("threads", options.threads as u64), ("tasks", options.tasks), ("seed", options.seed)]
        {
            argv.extend([format!("--{name}"), value.to_string()]);
        }
        let ours: [(bool, &[&str]); 2] =
            [(options.tiny, &["--tiny"]), (options.quick, &["--quick"])];
        let theirs: [(bool, &[&str]); 1] = [(options.tiny, &["--nodes-scale", "quick"])];
        let flags = if self == System::Jungle { &ours[..] } else { &theirs[..] };
        let flags = flags.iter().filter(|(on, _)| *on).flat_map(|(_, words)| *words);
        argv.extend(flags.map(|word| (*word).to_owned()));
        Program { system: self, argv }
    }
}

impl Program {
    /// Ready to be started.
    ///
    /// # Errors
    /// When our own program cannot be found.
    pub fn command(&self) -> std::io::Result<Command> {
        let mut command = match self.system {
            System::Jungle => Command::new(std::env::current_exe()?),
            _ => Command::new(&self.argv[0]),
        };
        command.args(&self.argv[1..]);
        Ok(command)
    }
}

/// The Java peer's settings; `bench/peers/README.md` says why.
fn java() -> Vec<String> {
    let classes = peers().join("java").display().to_string();
    let flags = "-XX:+UseParallelGC -Xms6g -Xmx6g -XX:+AlwaysPreTouch \
        -XX:+UseTransparentHugePages -cp";
    let words = ["java"].into_iter().chain(flags.split_whitespace());
    words.map(str::to_owned).chain([classes, "Peer".to_owned()]).collect()
}

/// Where `cargo xtask peers` puts the peers.
fn peers() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2);
    root.expect("the crate lies two folders below the root").join("target/peers")
}
