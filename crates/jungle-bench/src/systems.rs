//! The systems: how a measurement of each is started.

use std::path::{Path, PathBuf};
use std::process::Command;

use clap::ValueEnum;

use crate::experiments::Options;
use crate::occupy::Cores;

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
    /// SQLite with a table of what was before.
    Sqlite,
    /// Loro's documents.
    Loro,
    /// Automerge's documents.
    Automerge,
    /// git, a file for each leaf.
    Git,
    /// Rayon's pool.
    Rayon,
    /// Crossbeam's channel.
    Crossbeam,
    /// Tokio's tasks and its channel.
    Tokio,
    /// The board in Haskell on the Warp server.
    Warp,
    /// The board on PocketBase.
    Pocketbase,
    /// The board as an application on SQLite, behind a web front as ours.
    SqliteApp,
    /// The board in Cassandra, behind a web front as ours.
    Cassandra,
    /// etcd, which keeps revisions until it is told to forget them.
    Etcd,
    /// ZooKeeper, which keeps no history.
    Zookeeper,
    /// Apache Jackrabbit Oak, its store of segments.
    Oak,
    /// Ray's tasks, in Python.
    Ray,
    /// PostgreSQL, under its own benchmark of reads, and with a table of what was before.
    Postgres,
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
    /// Which cores it may use.
    pub cores: Cores,
    /// So many bytes of memory are touched before it.
    pub touched: u64,
    /// Its syncs are counted instead of its time.
    pub counted: Option<Counted>,
}

/// How syncs are counted.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Counted {
    /// What is held against the program: the same with more to do.
    pub longer: Vec<String>,
    /// How many commits there are for each of the operations that a sample tells.
    pub commits: u64,
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
            System::Sqlite => "sqlite",
            System::Loro => "loro",
            System::Automerge => "automerge",
            System::Git => "git",
            System::Rayon => "rayon",
            System::Crossbeam => "crossbeam",
            System::Tokio => "tokio",
            System::Warp => "warp",
            System::Pocketbase => "pocketbase",
            System::SqliteApp => "sqlite-app",
            System::Cassandra => "cassandra",
            System::Etcd => "etcd",
            System::Zookeeper => "zookeeper",
            System::Oak => "oak",
            System::Ray => "ray",
            System::Postgres => "postgres",
            System::Machine => "machine",
        }
    }

    /// The one of this name.
    pub fn named(name: &str) -> Option<System> {
        let all = System::value_variants().iter().chain([&System::Machine]);
        all.copied().find(|system| system.name() == name)
    }

    /// What `cargo xtask peers` calls that which it is built with.
    pub fn peer(self) -> &'static str {
        match self {
            System::Haskell | System::HaskellIntmap => "haskell",
            system if system.is_store() => "store",
            System::Rayon | System::Crossbeam | System::Tokio => "dataflow",
            System::Warp => "board",
            other => other.name(),
        }
    }

    /// What must be there for it to run.
    pub fn file(self) -> PathBuf {
        match self {
            System::Jungle | System::Machine => PathBuf::new(),
            System::Haskell => peers().join("haskell/peer-map"),
            System::HaskellIntmap => peers().join("haskell/peer-intmap"),
            System::Java => peers().join("java/Peer.class"),
            System::Imbl => peers().join("imbl/release/peer"),
            System::Redb | System::Lmdb | System::Doltlite => peers().join("store/release/peer"),
            System::Sqlite => peers().join("store/release/peer-sqlite"),
            System::Loro | System::Automerge => peers().join("store/release/peer-documents"),
            System::Git => peers().join("store/release/peer-git"),
            System::Warp => peers().join("board/peer"),
            System::Pocketbase => peers().join("pocketbase/peer"),
            System::SqliteApp => peers().join("sqlite-app/release/peer"),
            System::Cassandra => peers().join("cassandra/release/peer"),
            System::Rayon | System::Crossbeam | System::Tokio => {
                peers().join("dataflow/release/peer")
            }
            System::Etcd => peers().join("etcd/peer"),
            System::Zookeeper => peers().join("zookeeper/classes/Peer.class"),
            System::Oak => peers().join("oak/classes/Peer.class"),
            System::Ray => peers().join("ray/bin/python"),
            System::Postgres => peers().join("postgres/peer.py"),
        }
    }

    /// Does it take part in this case? There are peers of trees in memory, of the store and of
    /// Alice; of the store's, documents make nothing durable, and are all that can merge; of
    /// Alice's, rayon and Ray have no channel, and only rayon sorts. Servers of boards are
    /// measured by our own program, and PostgreSQL is a store that also shows what idle cores do.
    /// Of the neighbours, two are servers, which are also asked as a cluster of three; of these one
    /// looks back, and tells those who watch what changed, also while they were away; none compares
    /// revisions.
    pub fn takes_part(self, experiment: &str, case: &str) -> bool {
        match (experiment, case) {
            ("idle-trap", _) => self == System::Postgres,
            ("store-peers", _) if self == System::Git => false,
            ("store-peers", "commit-bare") => {
                matches!(self, System::Redb | System::Lmdb | System::Sqlite)
            }
            ("store-peers", "commit-memory") => self == System::Sqlite || self.is_document(),
            ("store-peers", "merge") => self.is_document(),
            ("store-peers", _) if self == System::Postgres => true,
            ("store-peers", "commit" | "commit-p50" | "commit-p99" | "syncs") => {
                self.is_store() && !self.is_document()
            }
            ("store-peers", _) => self.is_store(),
            ("neighbours", "served-diff") => false,
            ("neighbours", "served-read-old") => self == System::Etcd,
            // What etcd's commits add goes where it has set 64 MB aside.
            ("neighbours", "served-growth") => self == System::Zookeeper,
            ("neighbours", case) if case.starts_with("served") || case.starts_with("three") => {
                matches!(self, System::Etcd | System::Zookeeper)
            }
            ("neighbours", case) if case.starts_with("embedded") => self == System::Oak,
            ("neighbours", _) => self == System::Etcd,
            ("workloads", case) => self.takes_part_in_workload(case),
            ("alice", "chain") => self.is_dataflow(),
            ("alice", "tree") => self == System::Rayon,
            ("alice", _) => self.is_dataflow() && !matches!(self, System::Rayon | System::Ray),
            _ if self.is_board() || self == System::Postgres => false,
            _ => !self.is_store() && !self.is_dataflow() && !self.is_neighbour(),
        }
    }

    /// Documents merge in memory, git and DoltLite in their files, DoltLite always synced. Of those
    /// that move something in memory, Automerge has no subtree, and redb would have to order
    /// children as SQLite does.
    fn takes_part_in_workload(self, case: &str) -> bool {
        match case.split('-').next() {
            Some("merge") if case.ends_with("-synced") => self == System::Git,
            Some("merge") if case.contains("-disk") => {
                matches!(self, System::Doltlite | System::Git)
            }
            Some("merge") => self.is_document(),
            Some("children") => {
                self.is_document() || matches!(self, System::Sqlite | System::Doltlite)
            }
            Some("subtree") if case == "subtree-bare" => self == System::Redb,
            Some("subtree") => matches!(
                self,
                System::Loro | System::Sqlite | System::Doltlite | System::Redb | System::Oak
            ),
            // Here DoltLite has one connection, in which a reader would wait for the writer's sync.
            Some("readers") => {
                matches!(self, System::Redb | System::Lmdb | System::Sqlite | System::Oak)
            }
            // LMDB's file becomes smaller only where it is copied.
            Some("space") => {
                matches!(self, System::Redb | System::Sqlite | System::Doltlite)
            }
            // redb lets nobody read or write meanwhile, and DoltLite gives nothing back then.
            Some("stall") => matches!(self, System::Sqlite | System::Git),
            Some("kill" | "load") => {
                let is_durable = self.is_store() && !self.is_document();
                is_durable && self != System::Git
            }
            // Loro puts commits of one writer together, so it has no list of them.
            Some("history") if case.contains("-list-") && self == System::Loro => false,
            Some("diff") => self.is_store() || self == System::Oak,
            Some("history") => self.is_store() && self != System::Git,
            _ => false,
        }
    }

    fn is_store(self) -> bool {
        let has_files = matches!(
            self,
            System::Redb | System::Lmdb | System::Doltlite | System::Sqlite | System::Git
        );
        has_files || self.is_document()
    }

    fn is_document(self) -> bool {
        matches!(self, System::Loro | System::Automerge)
    }

    fn is_neighbour(self) -> bool {
        matches!(self, System::Etcd | System::Zookeeper | System::Oak)
    }

    /// Is it a server of a bulletin board, which our own program asks?
    pub fn is_board(self) -> bool {
        matches!(self, System::Warp | System::Pocketbase | System::SqliteApp | System::Cassandra)
    }

    fn is_dataflow(self) -> bool {
        matches!(self, System::Rayon | System::Crossbeam | System::Tokio | System::Ray)
    }

    /// Can it be run?
    pub fn is_built(self) -> bool {
        matches!(self, System::Jungle | System::Machine) || self.file().is_file()
    }

    /// What tells a program on a JVM to warm up as long as it ought to, unless it is to be quick:
    /// then it does so for a few seconds.
    pub fn warm_up(self, options: Options) -> Vec<String> {
        let is_jvm = matches!(self, System::Java | System::Zookeeper | System::Oak);
        match is_jvm && !options.quick && !options.tiny {
            true => ["--warm-up", WARM_UP].map(str::to_owned).into(),
            false => Vec::new(),
        }
    }

    /// The program that measures a case (of ours, `experiment case`) once.
    pub fn program(self, case: &str, options: Options) -> Program {
        let mut argv: Vec<String> = match self {
            System::Jungle => vec!["".into(), "sample".into()],
            System::Java => java(),
            System::Zookeeper | System::Oak => on_jars(self.name()),
            System::Ray => {
                let program = root().join("bench/peers/ray/peer.py");
                let files = [self.file(), program].map(|file| file.display().to_string());
                [&files[..], &[self.name().to_owned()]].concat()
            }
            System::Postgres => vec!["python3".into(), self.file().display().to_string()],
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
        Program { system: self, argv, cores: Cores::All, touched: 0, counted: None }
    }
}

/// Seconds for which a JVM does the work, or as much of it as can be done again and again, before
/// the clock starts.
const WARM_UP: &str = "30";

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

/// A peer that works with the programs of a system as Maven has them: `bench/peers/jvm`.
fn on_jars(peer: &str) -> Vec<String> {
    let [classes, jars] = ["classes", "jars/*"].map(|name| peers().join(peer).join(name));
    let path = format!("{}:{}", classes.display(), jars.display());
    let words = ["java", "-Xms2g", "-Xmx2g", "-XX:-UsePerfData", "-cp", &path, "Peer"];
    words.map(str::to_owned).into()
}

/// Where `cargo xtask peers` puts the peers.
fn peers() -> PathBuf {
    root().join("target/peers")
}

/// The checkout that this program was built from.
pub fn root() -> &'static Path {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2);
    root.expect("the crate lies two folders below the root")
}
