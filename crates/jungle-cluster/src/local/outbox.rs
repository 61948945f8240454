//! The outbox: entries without a place, and those that were refused, in a small Jungle of their
//! own, so that it is written, synced and read back as any other.
//!
//! A tree with the attributes `log` (of which cluster it is), `writer` (the number of this server),
//! `openings` (when it was opened: for each 8 bytes that were drawn by chance, and the first number
//! that it may have given), `reserved` (numbers below are given) and `lost` (numbers of which
//! nothing lasted: the one before each range of them, and the one behind it), and
//! - `/pending`: entries by their numbers, each with the `record` of a commit, and `base`, the
//!   revision that the first one of a branch follows;
//! - `/refused`: the same, with the reason, `why`, and the `writer`, where that is another one.

use std::ops::Deref;

use jungle_db::{
    BranchEdit, CommitMeta, CommitOptions, CreateTreeError, Draft, Durability, Event, Jungle,
    NotWritten, Retention, RetentionError, Revision, Timestamp, TreeHandle, UpdateError,
};
use jungle_tree::{Arena, EditError, Key, Node, loading};

use super::error::{COPIED, LocalError};
use super::writers::Opening;
use super::{Local, LocalId};
use crate::engine::log::LogId;

const TREE: &str = "outbox";
const PENDING: &str = "pending";
const REFUSED: &str = "refused";
const LOG: &str = "log";
const WRITER: &str = "writer";
const RESERVED: &str = "reserved";
const OPENINGS: &str = "openings";
const LOST: &str = "lost";
const RECORD: &str = "record";
const BASE: &str = "base";
const WHY: &str = "why";

/// So many ranges of numbers are remembered of which nothing lasted.
const LOST_MAX: usize = 1024;

pub(super) struct Outbox {
    jungle: Box<dyn Deref<Target = Jungle> + Send + Sync>,
    tree: TreeHandle,
}

/// An entry as it was written.
pub(super) struct Entry {
    pub(super) number: u64,
    pub(super) base: Revision,
    pub(super) time: Timestamp,
    pub(super) meta: CommitMeta,
    pub(super) edit: BranchEdit,
    /// How long its record is.
    pub(super) bytes: usize,
}

/// An entry that contradicts what others did before it had a place: nothing of it was done.
///
/// ```
/// use std::sync::Arc;
/// use jungle_cluster::{Cluster, Local, LocalOutcome, MemoryLog, Options};
/// use jungle_db::{CommitOptions, Jungle};
///
/// let jungle = Jungle::new()?;
/// let cluster = Cluster::follow(Arc::new(MemoryLog::new()), &jungle, &Options::default())?;
/// let board = jungle.create_tree("board")?;
/// let page = [board.update(|tx| tx.append(&[]))?.value];
///
/// // Nothing is published meanwhile.
/// let local = Local::open(&cluster, Arc::new(Jungle::new()?))?;
/// let edit = local.update(&board, &CommitOptions::default(), |tx| {
///     tx.put_attribute(&page, "title", "hello")
/// })?;
/// board.update(|tx| tx.remove(&page))?;
/// let refused = local.refused()?;
/// assert_eq!(Some(refused[0].id), edit.id);
/// assert_eq!(refused[0].edit.changes.to_string(), "~ /0 @title = \"hello\"\n");
/// assert_eq!(local.outcome(refused[0].id)?, LocalOutcome::Refused);
/// assert!(local.forget(refused[0].id)? && local.refused()?.is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Refused {
    /// Its name.
    pub id: LocalId,
    /// Why.
    pub why: String,
    /// When it was committed here.
    pub time: Timestamp,
    /// Who committed it, and why.
    pub meta: CommitMeta,
    /// What it would have done to which branch.
    pub edit: BranchEdit,
}

impl Local {
    /// How many entries are in an outbox that its server has not open, and so does not publish; as
    /// far as that is known there, they have no place in the log.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use jungle_cluster::{Cluster, Local, MemoryLog, Options};
    /// # use jungle_db::{CommitOptions, Jungle};
    /// # let jungle = Jungle::new()?;
    /// # let cluster = Cluster::follow(Arc::new(MemoryLog::new()), &jungle, &Options::default())?;
    /// # let board = jungle.create_tree("board")?;
    /// let outbox = Arc::new(Jungle::new()?);
    /// assert_eq!(Local::left_in(&outbox), 0);
    /// // Nothing is published meanwhile.
    /// let local = Local::open(&cluster, Arc::clone(&outbox))?;
    /// local.update(&board, &CommitOptions::default(), |tx| tx.append(&[]))?;
    /// drop(local);
    /// assert_eq!(Local::left_in(&outbox), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn left_in(outbox: &Jungle) -> u64 {
        let Ok(tree) = outbox.open_tree(TREE) else { return 0 };
        let count = || tree.read().root().child(PENDING).map_or(0, Node::child_count);
        // Whoever opens it is told that it cannot be read.
        loading(count).unwrap_or(0)
    }
}

/// A number of an entry, the revision that it follows, and its record, where that is another one.
pub(super) type Written = (u64, Revision, Option<Vec<u8>>);

impl Outbox {
    pub(super) fn open(
        jungle: Box<dyn Deref<Target = Jungle> + Send + Sync>,
    ) -> Result<Outbox, LocalError> {
        let tree = match jungle.create_tree(TREE) {
            Ok(tree) => tree,
            Err(CreateTreeError::Exists { .. }) => {
                jungle.open_tree(TREE).map_err(|_| LocalError::Outbox(NotWritten::Deleted))?
            }
            Err(error) => return Err(LocalError::NoOutbox(error)),
        };
        // What was is of no use.
        if tree.retention() != Retention::Last(1)
            && let Err(RetentionError::NotWritten(error)) = tree.set_retention(Retention::Last(1))
        {
            return Err(LocalError::Outbox(error));
        }
        let outbox = Outbox { jungle, tree };
        outbox.edit(Durability::Sync, |tx| {
            for part in [PENDING, REFUSED].map(Key::from) {
                if !tx.exists(std::slice::from_ref(&part)) {
                    tx.insert_child(&[], &part)?;
                }
            }
            Ok(())
        })?;
        Ok(outbox)
    }

    pub(super) fn jungle(&self) -> Jungle {
        Jungle::clone(&self.jungle)
    }

    /// Of which cluster it is, and the number of this server there.
    pub(super) fn identity(&self) -> Result<Option<(LogId, u64)>, LocalError> {
        let root = self.tree.snapshot();
        let damaged = LocalError::Damaged { number: 0, source: None };
        let (log, writer) = (root.root().attribute(LOG), number(root.root(), WRITER));
        match (log.and_then(|log| log.as_text()), writer) {
            (None, _) => Ok(None),
            (Some(log), Some(writer)) => match log.parse() {
                Ok(log) => Ok(Some((log, writer))),
                Err(_) => Err(damaged),
            },
            _ => Err(damaged),
        }
    }

    pub(super) fn identify(
        &self,
        log: LogId,
        writer: u64,
        openings: &[Opening],
    ) -> Result<(), LocalError> {
        let of = |it: &Opening| [it.id.to_le_bytes(), it.first.to_le_bytes()].concat();
        let openings: Vec<u8> = openings.iter().flat_map(of).collect();
        self.edit(Durability::Sync, |tx| {
            tx.put_attribute(&[], LOG, &*log.to_string())?;
            tx.put_attribute(&[], WRITER, int(writer))?;
            tx.put_attribute(&[], OPENINGS, openings.as_slice())
        })
        .map(drop)
    }

    /// The times that it was opened, as far as they are remembered, the oldest first.
    pub(super) fn openings(&self) -> Vec<Opening> {
        let root = self.tree.snapshot();
        let bytes = root.root().attribute(OPENINGS).and_then(|found| found.as_bytes());
        let (halves, _) = bytes.unwrap_or_default().as_chunks::<8>();
        let (openings, _) = halves.as_chunks::<2>();
        let read = |[id, first]: &[[u8; 8]; 2]| Opening {
            id: i64::from_le_bytes(*id),
            first: u64::from_le_bytes(*first),
        };
        openings.iter().map(read).collect()
    }

    /// Numbers below this one may have been given. The first one is 1.
    pub(super) fn reserved(&self) -> u64 {
        number(self.tree.snapshot().root(), RESERVED).unwrap_or(1)
    }

    pub(super) fn reserve(&self, below: u64) -> Result<(), LocalError> {
        let below = int(below);
        self.edit(Durability::Sync, |tx| tx.put_attribute(&[], RESERVED, below)).map(drop)
    }

    /// Notes, as it is opened, that of the numbers that were given behind the newest one that
    /// lasted, or is settled, nothing did.
    pub(super) fn note_lost(&self, settled: u64) -> Result<(), LocalError> {
        let (tree, reserved) = (self.tree.snapshot(), self.reserved());
        let parts = [PENDING, REFUSED].into_iter().filter_map(|part| tree.root().child(part));
        let numbers = parts.flat_map(Node::children).map(|(key, _)| index(&key.to_key()));
        let newest = numbers.fold(settled, u64::max);
        let known = self.lost();
        let mut lost = known.clone();
        // Nothing was given since that was noted last, but more may be known.
        lost.retain(|[_, behind]| *behind != reserved);
        if newest + 1 < reserved {
            lost.push([newest, reserved]);
        }
        if lost == known {
            return Ok(());
        }
        let kept = lost.iter().skip(lost.len().saturating_sub(LOST_MAX));
        let bytes: Vec<u8> = kept.flatten().flat_map(|number| number.to_le_bytes()).collect();
        self.edit(Durability::Sync, |tx| tx.put_attribute(&[], LOST, bytes.as_slice())).map(drop)
    }

    /// Is it known that nothing of this number lasted?
    pub(super) fn is_lost(&self, number: u64) -> bool {
        self.lost().iter().any(|&[before, behind]| before < number && number < behind)
    }

    fn lost(&self) -> Vec<[u64; 2]> {
        let root = self.tree.snapshot();
        let bytes = root.root().attribute(LOST).and_then(|found| found.as_bytes());
        let (numbers, _) = bytes.unwrap_or_default().as_chunks::<8>();
        let (ranges, _) = numbers.as_chunks::<2>();
        ranges.iter().map(|ends| ends.map(u64::from_le_bytes)).collect()
    }

    /// Adds an entry; it is to be waited for until it lasts.
    pub(super) fn add(
        &self,
        number: u64,
        base: Revision,
        record: &[u8],
    ) -> Result<Revision, LocalError> {
        let at = [Key::from(PENDING), Key::from(number)];
        self.edit(Durability::Memory, |tx| {
            tx.insert_child(&at[..1], &at[1])?;
            tx.put_attribute(&at, BASE, int(base.number()))?;
            tx.put_attribute(&at, RECORD, record)
        })
    }

    /// Removes entries, puts others aside, and writes anew what is left.
    pub(super) fn write(
        &self,
        gone: &[u64],
        refused: &[(u64, String)],
        entries: &[Written],
    ) -> Result<(), LocalError> {
        let written = |tx: &mut Draft| {
            for &number in gone {
                tx.remove(&[Key::from(PENDING), Key::from(number)])?;
            }
            for (number, why) in refused {
                let (from, to) = ([PENDING, REFUSED].map(Key::from), Key::from(*number));
                tx.move_node(&[from[0].clone(), to.clone()], &from[1..], &to)?;
                tx.put_attribute(&[from[1].clone(), to], WHY, why.as_str())?;
            }
            for (number, base, record) in entries {
                let at = [Key::from(PENDING), Key::from(*number)];
                tx.put_attribute(&at, BASE, int(base.number()))?;
                if let Some(record) = record {
                    tx.put_attribute(&at, RECORD, record.as_slice())?;
                }
            }
            Ok(())
        };
        let durability = if refused.is_empty() { Durability::Memory } else { Durability::Sync };
        self.edit(durability, written).map(drop)
    }

    /// Gives up the number: entries from `first` on that have no place are put aside with those
    /// that were refused, and the others are removed. All remain the old number's.
    pub(super) fn set_aside(&self, writer: u64, first: u64) -> Result<(), LocalError> {
        let snapshot = self.tree.snapshot();
        let keys = |part: &str| {
            let nodes = snapshot.root().child(part).into_iter().flat_map(Node::children);
            nodes.map(|(key, _)| key.to_key()).collect::<Vec<_>>()
        };
        let (pending, mut refused) = (keys(PENDING), keys(REFUSED));
        refused.extend(pending.iter().filter(|key| index(key) >= first).cloned());
        let [from, to] = [PENDING, REFUSED].map(Key::from);
        self.edit(Durability::Sync, |tx| {
            for key in &pending {
                let at = [from.clone(), key.clone()];
                if index(key) < first {
                    tx.remove(&at)?;
                    continue;
                }
                tx.move_node(&at, std::slice::from_ref(&to), key)?;
                tx.put_attribute(&[to.clone(), key.clone()], WHY, COPIED)?;
            }
            for key in &refused {
                let at = [to.clone(), key.clone()];
                if tx.attribute(&at, WRITER)?.is_none() {
                    tx.put_attribute(&at, WRITER, int(writer))?;
                }
            }
            Ok(())
        })
        .map(drop)
    }

    /// The entries without a place, in the order in which they were made.
    pub(super) fn pending(&self, arena: &Arena) -> Result<Vec<Entry>, LocalError> {
        let snapshot = self.tree.snapshot();
        let node = snapshot.root().child(PENDING);
        let entries = node.into_iter().flat_map(Node::children);
        entries.map(|(key, node)| read(&key.to_key(), node, arena)).collect()
    }

    /// The newest revision that an entry without a place follows.
    pub(super) fn follows(&self) -> Revision {
        let tree = self.tree.snapshot();
        let pending = tree.root().child(PENDING).into_iter().flat_map(Node::children);
        pending
            .filter_map(|(_, node)| number(node, BASE))
            .max()
            .map_or(Revision::default(), Revision::new)
    }

    pub(super) fn refused(&self, arena: &Arena, writer: u64) -> Result<Vec<Refused>, LocalError> {
        let snapshot = self.tree.snapshot();
        let node = snapshot.root().child(REFUSED);
        let entries = node.into_iter().flat_map(Node::children);
        let refused = entries.map(|(key, node)| {
            let Entry { number, time, meta, edit, .. } = read(&key.to_key(), node, arena)?;
            let why = node.attribute(WHY);
            let why = why.and_then(|why| why.as_text()).unwrap_or_default().to_owned();
            let writer = self::number(node, WRITER).unwrap_or(writer);
            Ok(Refused { id: LocalId { writer, number }, why, time, meta, edit })
        });
        refused.collect()
    }

    pub(super) fn count_refused(&self) -> usize {
        let count = self.tree.read().root().child(REFUSED).map_or(0, Node::child_count);
        usize::try_from(count).unwrap_or(usize::MAX)
    }

    pub(super) fn is_refused(&self, id: LocalId) -> bool {
        let tree = self.tree.snapshot();
        let at = [Key::from(REFUSED), Key::from(id.number)];
        let writer = |node| number(node, WRITER).or_else(|| number(tree.root(), WRITER));
        tree.root().at(&at).is_ok_and(|node| writer(node) == Some(id.writer))
    }

    /// Forgets an entry that was refused; tells whether there was one.
    pub(super) fn forget(&self, id: LocalId) -> Result<bool, LocalError> {
        if !self.is_refused(id) {
            return Ok(false);
        }
        let at = [Key::from(REFUSED), Key::from(id.number)];
        self.edit(Durability::Sync, |tx| tx.remove(&at)).map(|_| true)
    }

    fn edit(
        &self,
        durability: Durability,
        f: impl FnMut(&mut Draft) -> Result<(), EditError>,
    ) -> Result<Revision, LocalError> {
        let durability = Some(durability);
        let options = CommitOptions { durability, ..CommitOptions::default() };
        match self.tree.update_with(&options, f) {
            Ok(committed) => Ok(committed.revision),
            Err(UpdateError::Closure(error)) => Err(error.into()),
            Err(UpdateError::NotWritten(error)) => Err(LocalError::Outbox(error)),
            Err(_) => Err(LocalError::Outbox(NotWritten::Stopped)),
        }
    }
}

fn read(key: &Key, node: Node<'_>, arena: &Arena) -> Result<Entry, LocalError> {
    let entry = index(key);
    let damaged = |source| LocalError::Damaged { number: entry, source };
    let base = number(node, BASE).ok_or_else(|| damaged(None))?;
    let record = node.attribute(RECORD);
    let record = record.and_then(|record| record.as_bytes()).ok_or_else(|| damaged(None))?;
    let bytes = record.len();
    let record = jungle_store::decode(record, Revision::new(entry), arena);
    let record = record.map_err(|error| damaged(Some(error)))?;
    let Event::Edited(mut edits) = record.event else { return Err(damaged(None)) };
    let edit = edits.pop().ok_or_else(|| damaged(None))?;
    let (time, meta, base) = (record.time, record.meta, Revision::new(base));
    Ok(Entry { number: entry, base, time, meta, edit, bytes })
}

/// The number of an entry.
fn index(key: &Key) -> u64 {
    match key {
        Key::Position(position) => position.index().try_into().unwrap_or_default(),
        Key::Name(_) => 0,
    }
}

fn number(node: Node<'_>, attribute: &str) -> Option<u64> {
    node.attribute(attribute)?.as_int()?.try_into().ok()
}

fn int(number: u64) -> i64 {
    number.try_into().unwrap_or(i64::MAX)
}
