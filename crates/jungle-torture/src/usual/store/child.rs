//! What runs in a process of its own, to be killed or looked at from outside: it commits, and
//! says what was acknowledged.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use jungle_db::{CommitOptions, Jungle, Retention, TreeHandle};
use jungle_store::{Durability, OpenOptions, Store};

/// The first argument of a process that is one of these.
pub const CHILD: &str = "child";

/// How many threads commit in a process that is killed.
pub const WRITERS: usize = 4;

/// Which of them commits in a process that is traced.
pub const CLIENT: usize = 0;

/// The levels that such a process can commit at, as it is told.
pub const LEVELS: [(&str, Durability); 3] = [
    ("sync", Durability::Sync),
    ("buffered", Durability::Buffered),
    ("memory", Durability::Memory),
];

/// This program again, as such a process.
pub fn command(what: &str, folder: &Path, number: u64) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("this program has a file"));
    command.args([CHILD, what]).arg(folder).arg(number.to_string());
    command.stdin(Stdio::null());
    command
}

/// A folder of its own beside this program, so on a disk; gone at the end.
pub struct Folder(pub PathBuf);

impl Folder {
    pub fn new(name: &str) -> Folder {
        let program = std::env::current_exe().expect("this program has a file");
        let name = format!("torture-{name}-{}", std::process::id());
        let folder = Folder(program.with_file_name(name));
        let _ = std::fs::remove_dir_all(&folder.0);
        folder
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Runs as the arguments behind [`CHILD`] say.
pub fn run(mut arguments: impl Iterator<Item = String>) {
    let mut next = || arguments.next().expect("a child is started with all its arguments");
    let (what, folder, number) = (next(), PathBuf::from(next()), next());
    let number: u64 = number.parse().expect("a number");
    if let Some(bug) = arguments.next() {
        jungle_store::planted::wake(&bug);
    }
    match what.as_str() {
        "writers" => writers(&folder),
        level => {
            let level = LEVELS.iter().find(|(name, _)| *name == level);
            client(&folder, number, level.expect("started by this program").1);
        }
    }
}

fn open(folder: &Path, options: OpenOptions) -> Store {
    let opened = options.segment_bytes(32 << 10).open(folder);
    opened.unwrap_or_else(|error| panic!("refused: {error:?}"))
}

/// With a checkpoint every few dozen commits, so that there is nearly always one being written.
pub fn open_with_checkpoints(folder: &Path) -> Store {
    open(folder, OpenOptions::new().checkpoint_every(2_000))
}

fn tree(jungle: &Jungle) -> TreeHandle {
    jungle.open_tree("t").or_else(|_| jungle.create_tree("t")).expect("a tree")
}

/// How far a writer is.
pub fn count(tree: &TreeHandle, writer: usize) -> i64 {
    let snapshot = tree.snapshot();
    let count = snapshot.root().attribute(&writer.to_string());
    count.and_then(|count| count.as_int()).unwrap_or(0)
}

/// Commits on several threads until it is killed.
fn writers(folder: &Path) {
    let store = open_with_checkpoints(folder);
    let tree = tree(&store);
    // So that the log before a checkpoint is removed.
    tree.set_retention(Retention::Last(100)).expect("the disk is well");
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            let tree = &tree;
            scope.spawn(move || {
                // A killed process does not take along what the system has.
                let durability = if writer == 0 { Durability::Buffered } else { Durability::Sync };
                let durability = Some(durability);
                let options = CommitOptions { durability, ..CommitOptions::default() };
                let key = writer.to_string();
                for count in count(tree, writer) + 1.. {
                    let done = tree.update_with(&options, |tx| tx.put_attribute(&[], &key, count));
                    done.expect("the disk is well");
                    say(&format!("{writer} {count}\n"));
                }
            });
        }
    });
}

/// Commits one after the other. No checkpoint is written meanwhile, since that waits for the log to
/// be synced.
fn client(folder: &Path, commits: u64, durability: Durability) {
    let store = open(folder, OpenOptions::new().checkpoint_every(u64::MAX));
    say("opened\n");
    let tree = tree(&store);
    say("begun\n");
    let options = CommitOptions { durability: Some(durability), ..CommitOptions::default() };
    let key = CLIENT.to_string();
    for n in 1..=commits as i64 {
        let done = tree.update_with(&options, |tx| tx.put_attribute(&[], &key, n));
        done.expect("the disk is well");
        say(&format!("acknowledged {n}\n"));
    }
}

/// One write: what is said is said whole.
fn say(line: &str) {
    let said = std::io::stdout().lock().write_all(line.as_bytes());
    said.expect("somebody listens");
}
