//! What is known of an outbox while it is open.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jungle_db::{BranchId, Jungle, NoSuchRevision, Revision, TreeHandle};
use jungle_tree::Snapshot;

use super::error::{self, LocalError};
use super::id::LocalId;
use super::line::{self, Line, Moved, Pending, adds_one};
use super::outbox::Outbox;
use super::writers;
use crate::planted::{Bug, is_awake};

/// So many numbers are set aside with one sync.
const RESERVED: u64 = 16 << 10;

pub(super) struct State {
    pub(super) outbox: Outbox,
    /// The branches that have entries without a place.
    pub(super) lines: BTreeMap<BranchId, Line>,
    /// The number of the next drawing or entry.
    pub(super) next: u64,
    /// Numbers below this one are set aside on disk: after a crash none is given again.
    pub(super) reserved: u64,
    /// The newest revision that the lines know of.
    pub(super) seen: Revision,
    /// Entries up to this one are with whoever publishes them, if any are: nobody else refuses
    /// them, since they may get their places meanwhile.
    pub(super) handed: u64,
    /// It is not known whether they have their places: they may get them yet.
    pub(super) is_undecided: bool,
    /// The revision of the outbox that has the newest entry.
    pub(super) kept: Revision,
    /// How often an entry was held against what others did.
    pub(super) rebased: u64,
    /// What the outbox does not know yet.
    pub(super) unsaved: Unsaved,
    pub(super) error: Option<Arc<LocalError>>,
    /// Another server publishes as this one.
    pub(super) is_copied: bool,
    pub(super) is_over: bool,
}

#[derive(Default)]
pub(super) struct Unsaved {
    pub(super) gone: Vec<u64>,
    pub(super) refused: Vec<(u64, String)>,
    /// The branches whose entries are other ones now, or follow another revision.
    pub(super) lines: BTreeMap<BranchId, Rewrite>,
}

/// What is to be written of a line.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Rewrite {
    /// What its first entry follows.
    Base,
    /// All its entries.
    All,
}

impl Unsaved {
    /// Tells whoever runs the server what is refused.
    pub(super) fn warn(&self, writer: u64) {
        for &(number, ref why) in &self.refused {
            let id = LocalId { writer, number };
            tracing::warn!(%id, why, "a local commit is refused");
        }
    }

    pub(super) fn note(&mut self, branch: BranchId, moved: Moved) {
        let Moved { gone, refused, is_rewritten, rebased: _ } = moved;
        self.gone.extend(gone);
        self.refused.extend(refused);
        let unsaved = self.lines.entry(branch).or_insert(Rewrite::Base);
        *unsaved = (*unsaved).max(if is_rewritten { Rewrite::All } else { Rewrite::Base });
    }
}

impl State {
    /// Reads what is in the outbox.
    pub(super) fn read(&mut self, jungle: &Jungle, writer: u64) -> Result<(), LocalError> {
        let now = jungle.revision();
        let settled = writers::newest_standing(jungle, writer).settled;
        // Branches whose entries were done on what is not kept: what others did since is not known.
        let mut baseless = BTreeSet::new();
        for entry in self.outbox.pending(jungle.arena())? {
            let Some(branch) = jungle.branch_with_id(entry.edit.tree, entry.edit.branch) else {
                match entry.number <= settled {
                    true => self.unsaved.gone.push(entry.number),
                    false => self.unsaved.refused.push((entry.number, error::DELETED.to_owned())),
                }
                continue;
            };
            let id = branch.branch_id();
            let line = match self.lines.entry(id) {
                std::collections::btree_map::Entry::Occupied(line) => line.into_mut(),
                std::collections::btree_map::Entry::Vacant(free) => match branch.at(entry.base) {
                    Ok(base) => free.insert(Line::new(branch, Snapshot::clone(&base), entry.base)),
                    // What it followed is not kept any more.
                    Err(NoSuchRevision::TooOld { .. } | NoSuchRevision::NotBorn { .. })
                        if entry.number <= settled =>
                    {
                        self.unsaved.gone.push(entry.number);
                        continue;
                    }
                    Err(NoSuchRevision::TooOld { .. } | NoSuchRevision::NotBorn { .. }) => {
                        baseless.insert(id);
                        let head = Snapshot::clone(&*branch.at(now)?);
                        free.insert(Line::new(branch, head, now))
                    }
                    // That it cannot be read now does not say that it is not kept.
                    Err(error) => return Err(error.into()),
                },
            };
            if baseless.contains(&id) && !adds_one(&entry.edit.changes, line.tip().root()) {
                self.unsaved.refused.push((entry.number, error::FORGOTTEN.to_owned()));
                if line.pending.is_empty() {
                    // The next one may have followed what is kept.
                    self.lines.remove(&id);
                    baseless.remove(&id);
                }
                continue;
            }
            // Those before it had moved on as it was made.
            if entry.base > line.at
                && let Some((head, by_then)) = at_base(&line.branch, writer, entry.base, jungle)?
            {
                let moved = line.advance((by_then, 0), &head, entry.base)?;
                self.rebased += moved.rebased as u64;
                self.unsaved.note(id, moved);
            }
            let (number, time, meta, bytes) = (entry.number, entry.time, entry.meta, entry.bytes);
            let changes = entry.edit.changes;
            match line.add(Pending { number, time, meta, changes, bytes }) {
                Ok(()) => {}
                Err(error) if line::is_full(&error) => return Err(LocalError::NoRoom(error)),
                Err(error) => self.unsaved.refused.push((number, error.to_string())),
            }
        }
        self.unsaved.warn(writer);
        Ok(())
    }

    /// Writes an entry into the outbox.
    pub(super) fn add(
        &mut self,
        entry: &mut Pending,
        at: Revision,
        branch: &TreeHandle,
    ) -> Result<Revision, LocalError> {
        let bytes = entry.encode(branch)?;
        entry.bytes = bytes.len();
        self.reserve(entry.number + 1)?;
        let revision = self.outbox.add(entry.number, at, &bytes)?;
        self.next = entry.number + 1;
        self.kept = revision;
        Ok(revision)
    }

    /// Sets numbers aside, so that none below `next` is given again.
    pub(super) fn reserve(&mut self, next: u64) -> Result<(), LocalError> {
        if next > self.reserved {
            let reserved = next + RESERVED;
            if !is_awake(Bug::NumbersForgotten) {
                self.outbox.reserve(reserved)?;
            }
            self.reserved = reserved;
        }
        Ok(())
    }
}

/// A branch as it was at a revision, and the newest entry that was settled by then; `None` when one
/// of the two is not kept any more. What others did up to then is held against the entries later,
/// together with all that they have done since.
fn at_base(
    branch: &TreeHandle,
    writer: u64,
    at: Revision,
    jungle: &Jungle,
) -> Result<Option<(jungle_db::Snapshot, u64)>, LocalError> {
    let found = (|| {
        let head = branch.at(at)?;
        Ok((head, writers::standing(jungle, writer, at)?.settled))
    })();
    match found {
        Ok(found) => Ok(Some(found)),
        Err(LocalError::Revision(
            NoSuchRevision::TooOld { .. } | NoSuchRevision::NotBorn { .. },
        )) => Ok(None),
        Err(error) => Err(error),
    }
}
