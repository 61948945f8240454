//! Folders: opening them, finding trees in them, committing to them.

use std::fs::{self, TryLockError};
use std::io;
use std::path::Path;
use std::time::Duration;

use jungle::disk::FolderDisk;
use jungle::{
    CommitError, CommitMeta, CommitOptions, Editor, Jungle, OpenError, OpenOptions, OpenReport,
    Progress, Store, SystemClock, TreeHandle,
};
use serde::{Deserialize, Serialize};

use crate::clock::CommitClock;
use crate::failure::{Exit, Failure, failed};
use crate::interrupt;
use crate::near;
use crate::output::bar::Bar;
use crate::output::{Format, json_line, say};

/// So long a command that writes to a folder waits for others that only read it. What a shell asks
/// while a line is written takes no longer: nobody would know why the command was refused.
pub(crate) const READERS_WAITED_FOR: Duration = Duration::from_secs(4);

/// Is this a folder, and no document?
pub(crate) fn is_folder(place: &str) -> bool {
    Path::new(place).is_dir()
}

/// Opens a folder to read, that nobody writes to.
pub(crate) fn read_alone(dir: &str, options: OpenOptions) -> Result<Store, Failure> {
    let store = options.clock(SystemClock).read_only().progress(reading()).open(dir);
    let store = store.map_err(|error| not_opened(&error))?;
    tell_ignored(&store);
    Ok(store)
}

/// Opens a folder to read; where somebody else writes to it, it is as it was at that moment.
pub(crate) fn read(dir: &str, options: OpenOptions) -> Result<Store, Failure> {
    let store = look(dir, options).map_err(|error| not_read(&error, dir))?;
    tell_ignored(&store);
    Ok(store)
}

/// The same, with the error as it is.
pub(crate) fn look(dir: &str, options: OpenOptions) -> Result<Store, OpenError> {
    options.clock(SystemClock).beside_a_writer().progress(reading()).open(dir)
}

pub(crate) fn not_read(error: &OpenError, dir: &str) -> Failure {
    match is_damage(error) && is_locked(dir) {
        true => not_opened(error).with_hint(
            "have the server that has it look what is damaged: POST /api/v1/folder/verify",
        ),
        false => not_opened(error),
    }
}

/// Notes that the checkpoint is damaged, and where it is kept. Nobody else would say so: the next
/// one takes its place.
fn tell_ignored(store: &Store) {
    let Some(why) = &store.report().ignored else { return };
    let kept = store
        .report()
        .kept_as
        .map_or_else(String::new, |name| format!("; it is kept as {name}, which nothing needs"));
    say(format_args!(
        "Note: the checkpoint is not used, and all of the log was read in its place: {why}{kept}"
    ));
}

/// Notes that somebody else goes on writing to what is read.
pub(crate) fn tell_written_elsewhere(store: &Store, dir: &str) {
    let OpenReport { revision, is_written_elsewhere: true, .. } = store.report() else { return };
    say(format_args!(
        "Note: somebody else writes to {dir}: this is how it was at revision {revision}"
    ));
}

/// Shows how far it is where there is much to read.
fn reading() -> Progress {
    Bar::of_revisions("reading the log")
}

/// Does somebody have it open to write?
pub(crate) fn is_locked(dir: &str) -> bool {
    let file = fs::File::open(Path::new(dir).join("LOCK"));
    file.is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
}

/// Opens a folder to write, as the options say besides.
pub(crate) fn open(dir: &str, options: OpenOptions) -> Result<Store, Failure> {
    let store = options
        .clock(CommitClock)
        .progress(reading())
        .open(dir)
        .map_err(|error| not_opened(&error))?;
    tell_found(&store);
    Ok(store)
}

/// Notes what an interruption had left behind, and what was damaged and not needed.
pub(crate) fn tell_found(store: &Store) {
    tell_ignored(store);
    if let Some(cut) = &store.report().cut {
        say(format_args!(
            "Note: {} had a torn end, left by an interruption: {} bytes that were never \
             acknowledged were cut off at byte {}",
            cut.file, cut.bytes, cut.offset
        ));
    }
}

/// Makes a folder, and those it is in, for their owner only, so that they are there after a loss of
/// power as well.
pub(crate) fn create_private(place: &Path) -> io::Result<()> {
    FolderDisk::create(place).map(drop)
}

/// Refuses a folder that is not there.
pub(crate) fn must_be_there(dir: &str) -> Result<(), Failure> {
    if is_folder(dir) {
        return Ok(());
    }
    Err(not_opened(&OpenError::Nothing { folder: dir.into() }))
}

pub(crate) fn not_opened(error: &OpenError) -> Failure {
    match error {
        OpenError::Nothing { .. } => Failure::of(Exit::NotFound, error)
            .with_hint("`jungle import DIR TREE FILE` makes a folder with a tree"),
        OpenError::Locked { .. } => Failure::of(Exit::Error, error).with_hint(
            "one process at a time writes to a folder; a server that has it is asked by its URL",
        ),
        OpenError::GivenUp => interrupt::given_up(),
        OpenError::Io(refused) if refused.source.kind() == io::ErrorKind::NotADirectory => {
            Failure::of(Exit::Error, error).with_hint(
                "a file is where a folder should be; if it is a backup, `jungle backup FILE DIR` \
                 makes a folder of it",
            )
        }
        error if is_damage(error) => Failure::of(Exit::Damaged, error).with_hint(
            "`jungle restore BACKUP NEW` makes a new folder from a backup; without one, \
             `jungle repair DIR NEW` saves what can still be read",
        ),
        error => Failure::of(Exit::Error, error),
    }
}

/// Says what a server that has a folder does with it in place of a command.
pub(crate) fn or_by_server(work: &str, dir: &str) -> impl Fn(Failure) -> Failure {
    move |failure| match is_locked(dir) {
        true => failure.with_hint(format_args!(
            "a server that has it does this while it serves: POST /api/v1/folder/{work}"
        )),
        false => failure,
    }
}

/// Is it that what was written is not as it was?
pub(crate) fn is_damage(error: &OpenError) -> bool {
    matches!(
        error,
        OpenError::Damaged { .. }
            | OpenError::Missing { .. }
            | OpenError::Record { .. }
            | OpenError::Replay { .. }
            | OpenError::Checkpoint(_)
    )
}

/// A tree of a folder, on a branch.
pub(crate) fn tree(
    jungle: &Jungle,
    name: &str,
    branch: Option<&str>,
) -> Result<TreeHandle, Failure> {
    let tree = jungle.open_tree(name).map_err(|error| {
        let names = jungle.list_trees();
        near::no_such(error, name, names.iter().map(|name| &**name), "`trees` lists them")
    })?;
    match branch {
        Some(branch) => on_branch(&tree, branch),
        None => Ok(tree),
    }
}

/// A branch of a tree.
pub(crate) fn on_branch(tree: &TreeHandle, name: &str) -> Result<TreeHandle, Failure> {
    tree.on_branch(name).map_err(|_| {
        let names = tree.list_branches();
        let message = format_args!("the tree {:?} has no branch {name:?}", tree.name());
        near::no_such(message, name, names.iter().map(|name| &**name), "`branch` lists them")
    })
}

/// What a command that writes tells.
#[derive(Deserialize, Serialize)]
pub(crate) struct Written {
    pub(crate) revision: u64,
    /// Was there something to write?
    pub(crate) changed: bool,
}

/// Edits a tree in one commit.
pub(crate) fn edit(
    tree: &TreeHandle,
    meta: CommitMeta,
    f: impl FnOnce(&mut Editor) -> Result<(), Failure>,
) -> Result<Written, Failure> {
    let mut tx = tree.begin(CommitOptions { meta, ..CommitOptions::default() });
    tx.bulk(f)?;
    let changed = tx.is_changed();
    let committed = tx.commit().map_err(not_committed)?;
    Ok(Written { revision: committed.revision.number(), changed })
}

pub(crate) fn not_committed(error: CommitError) -> Failure {
    match error {
        CommitError::Conflict(conflicts) => Failure::of(Exit::Conflict, &*conflicts),
        error => failed(error),
    }
}

impl Written {
    pub(crate) fn print(
        &self,
        out: &mut impl std::io::Write,
        format: Format,
    ) -> std::io::Result<()> {
        match (format, self.changed) {
            (Format::Json, _) => json_line(out, self),
            (Format::Text, true) => writeln!(out, "revision {}", self.revision),
            (Format::Text, false) => {
                writeln!(out, "nothing changed since revision {}", self.revision)
            }
        }
    }
}
