//! What the scripts for shells ask while a line is being written: which trees, branches, tags and
//! paths its last word could become.
//!
//! It is no command for people, so clap does not know of it: what clap knows is in help, in manual
//! pages, and in the very scripts that ask.
//!
//! Nothing is written, and nothing is told but candidates: whatever goes wrong, there are none.
//! Where nobody has the folder open to write, it is opened as any command does that only reads,
//! for the moment that this takes; a command that is to write waits for the end of it. Where
//! somebody has, such as a server, that goes on as if nobody had asked: how all was at one moment
//! is read from a copy of the checkpoint, unless that is so large that copying takes long. Servers
//! are not asked by their URL: a press of a key is no reason to go over the network.

mod asked;
mod line;

use std::env;
use std::ffi::OsString;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use clap::CommandFactory;
use jungle::{OpenError, OpenOptions, Store, SystemClock};
use jungle_words::find_or_newest;

use crate::args;
use crate::candidates::{names, paths, trees};
use crate::place::is_url;
use asked::{Asked, Kind};
use line::Line;

/// The word behind the name of the command by which a script asks. Behind it is the name of the
/// shell, then what that knows of the line, see [`Line`].
pub(crate) const NAME: &str = "complete";

/// What takes longer is of no help. A build for tests is slower, beside others that use all of the
/// machine, and what they expect must not depend on that.
const TIME_MAX: Duration = Duration::from_secs(if cfg!(debug_assertions) { 60 } else { 3 });

/// The file of a folder that is copied where somebody has it open to write.
const COPIED: &str = "pages";

/// A longer one is not copied for this.
const COPIED_BYTES_MAX: u64 = 64 << 20;

/// Prints candidates, one a line.
pub(crate) fn run(asked: Vec<OsString>) -> ExitCode {
    let (tell, told) = mpsc::channel();
    thread::spawn(move || {
        // Where nobody waits any more, nobody is to be told.
        let _ = tell.send(answer(&asked));
    });
    if let Ok(Some(answer)) = told.recv_timeout(TIME_MAX) {
        // Nor is there somebody to be told that this cannot be written.
        let _ = io::stdout().write_all(answer.as_bytes());
    }
    ExitCode::SUCCESS
}

fn answer(asked: &[OsString]) -> Option<String> {
    let words: Vec<&str> = asked.iter().map(|word| word.to_str()).collect::<Option<_>>()?;
    let line = Line::of(&words)?;
    // Part of a folder is read only when it is looked at.
    let found = jungle::loading(|| candidates(&line)).ok()??;
    Some(found.iter().map(|candidate| line.written(candidate) + "\n").collect())
}

fn candidates(line: &Line) -> Option<Vec<String>> {
    let mut whole = args::Args::command();
    whole.build();
    let asked = Asked::of(&whole, line)?;
    let store = open(asked.place)?;
    if asked.kind == Kind::Tree {
        return Some(trees(&store, &line.last));
    }
    let tree = store.open_tree(asked.tree?).ok()?;
    if asked.kind == Kind::Name {
        return Some(names(&tree, &line.last));
    }
    let tree = match asked.branch {
        Some(branch) => tree.on_branch(branch).ok()?,
        None => tree,
    };
    let found = find_or_newest(&tree, asked.at).ok()?;
    Some(paths(found.snapshot.root(), &line.last))
}

/// The folder that is meant, as it is now.
fn open(place: &str) -> Option<Store> {
    let dir = at_home(place);
    if is_url(place) || !dir.is_dir() {
        return None;
    }
    let options = OpenOptions::new().clock(SystemClock);
    match options.clone().read_only().open(&dir) {
        Err(OpenError::Locked { .. }) if is_soon_copied(&dir) => {
            options.beside_a_writer().open(&dir).ok()
        }
        opened => opened.ok(),
    }
}

fn is_soon_copied(dir: &Path) -> bool {
    fs::metadata(dir.join(COPIED)).map_or(0, |pages| pages.len()) <= COPIED_BYTES_MAX
}

/// Shells pass on what is on the line before they make a home folder of `~`.
fn at_home(place: &str) -> PathBuf {
    match place.strip_prefix("~/").zip(env::var_os("HOME")) {
        Some((below, home)) => Path::new(&home).join(below),
        None => place.into(),
    }
}
