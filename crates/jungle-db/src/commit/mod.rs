//! The commit path.
//!
//! A transaction works on a private version, outside of any lock. To commit it, the heads it
//! concerns are locked; if each still is the version the transaction began with, its version is
//! published. Else its changes are rebased over what came between, outside of the locks as far as
//! possible, and only what cannot be rebased is refused as an [`Overlap`].

mod attempt;
pub(crate) mod draft;
pub(crate) mod durability;
pub(crate) mod log;
mod merged;
pub(crate) mod multi;
pub(crate) mod pause;
pub(crate) mod read;
pub(crate) mod requests;
pub(crate) mod transaction;
pub(crate) mod turn;
mod version;
pub(crate) mod write;

use jungle_tree::{ChangeSet, Conflict, Path};

pub(crate) use self::attempt::Attempt;
pub(crate) use self::merged::{MergedBranch, MergedKeys};
pub(crate) use self::version::{redone, version_of};
use crate::commit::write::NotWritten;
use crate::handle::CommitOptions;
use crate::head::{HeadState, Stamp};
use crate::journal::{BranchId, CommitRecord, Event};
use crate::jungle::Shared;
use crate::planted::{Bug, is_awake};
use crate::revision::{CommitMeta, Revision};
use crate::sync::MutexGuard;

/// So often a commit rebases outside of the locks before it does so inside of them.
const ROUNDS: u32 = 3;

/// Others changed what the transaction read or changed.
#[derive(Debug)]
pub(crate) struct Overlap {
    pub(crate) branch: BranchId,
    /// The first path that was read and has changed.
    pub(crate) read: Option<Path>,
    pub(crate) conflicts: Vec<Conflict>,
    pub(crate) changes: ChangeSet,
}

/// Why an attempt did not become a commit.
#[derive(Debug)]
pub(crate) enum Failure {
    Overlap(Overlap),
    NotWritten(NotWritten),
}

impl From<NotWritten> for Failure {
    fn from(error: NotWritten) -> Failure {
        Failure::NotWritten(error)
    }
}

/// Whether a commit happens now, or is one that has its place already.
#[derive(Clone, Copy)]
pub(crate) enum Moment<'r> {
    Now,
    /// It is in the journal of this Jungle, and is done again.
    Again(&'r CommitRecord),
    /// It got its place from a [`Sequencer`](crate::Sequencer).
    Followed(&'r CommitRecord),
}

type Guards<'h> = Vec<MutexGuard<'h, HeadState>>;

/// Commits all attempts as one revision. They are in the order of the ids of their heads.
pub(crate) fn commit(
    shared: &Shared,
    attempts: &mut [Attempt<'_>],
    options: &CommitOptions,
) -> Result<Revision, Failure> {
    let revision = rebase_and_publish(shared, attempts, &options.meta)?;
    shared.acknowledge(revision, options.durability)?;
    Ok(revision)
}

/// As [`commit`], but it is still to be acknowledged.
pub(crate) fn rebase_and_publish(
    shared: &Shared,
    attempts: &mut [Attempt<'_>],
    meta: &CommitMeta,
) -> Result<Revision, Failure> {
    must_be_of(shared, attempts)?;
    if let Some(sequencing) = shared.sequencing() {
        return sequencing.commit(shared, attempts, meta);
    }
    let mut round = 0;
    loop {
        for attempt in attempts.iter_mut() {
            if round < ROUNDS && attempt.version() != attempt.head.newest_version() {
                attempt.rebase()?;
            }
            if shared.has_journal() {
                attempt.note_unlogged()?;
            }
        }
        let (guards, _merged) = lock_to_publish(attempts)?;
        let all_at_head = attempts
            .iter()
            .zip(&guards)
            .all(|(attempt, state)| attempt.version() == state.history.newest().id.version());
        if all_at_head || is_awake(Bug::PublishWithoutLook) {
            return publish(shared, attempts, guards, meta, Moment::Now);
        }
        if round == ROUNDS {
            for attempt in attempts.iter_mut() {
                attempt.rebase()?;
                if shared.has_journal() {
                    attempt.note_unlogged()?;
                }
            }
            return publish(shared, attempts, guards, meta, Moment::Now);
        }
        round += 1;
    }
}

/// Refuses what began in another Jungle: whoever edits a draft, or by an editor, can put another
/// one in its place. That is no version that could be compared with those that are here.
fn must_be_of(shared: &Shared, attempts: &[Attempt<'_>]) -> Result<(), NotWritten> {
    match attempts.iter().all(|attempt| attempt.editor().base().is_in(&shared.arena)) {
        true => Ok(()),
        false => Err(NotWritten::OtherJungle),
    }
}

/// Looks whether all that was read was there at once: it is all there now, if nobody changed it.
pub(crate) fn check_reads(shared: &Shared, attempts: &[Attempt<'_>]) -> Result<(), Failure> {
    must_be_of(shared, attempts)?;
    // What is held does not change, so writers need not wait while it is looked at.
    let guards = lock_all(attempts)?;
    let heads: Vec<_> = attempts.iter().map(|attempt| attempt.head.reader.snapshot()).collect();
    drop(guards);
    for (attempt, now) in attempts.iter().zip(heads) {
        let base = attempt.editor().base();
        if let Some(read) = attempt.changed_read(base, now.root()) {
            return Err(attempt.overlap(Some(read), Vec::new(), ChangeSet::new()));
        }
    }
    Ok(())
}

/// Locks the heads of all attempts.
pub(crate) fn lock_all<'h>(attempts: &[Attempt<'h>]) -> Result<Guards<'h>, NotWritten> {
    let guards: Guards<'h> = attempts.iter().map(|attempt| attempt.head.lock()).collect();
    if guards.iter().any(|state| state.closed) {
        return Err(NotWritten::Deleted);
    }
    Ok(guards)
}

/// Locks the heads of all attempts, and that of a branch that is merged, in the order of their
/// ids: its version is to be kept until the merge is written, since who reads that looks for it.
fn lock_to_publish<'h>(
    attempts: &[Attempt<'h>],
) -> Result<(Guards<'h>, Option<MutexGuard<'h, HeadState>>), Failure> {
    let [attempt @ Attempt { merged: Some(merged), .. }] = attempts else {
        return Ok((lock_all(attempts)?, None));
    };
    let first = (merged.from.id < attempt.head.id).then(|| merged.from.lock());
    let guards = lock_all(attempts)?;
    let from = first.unwrap_or_else(|| merged.from.lock());
    attempt.check_merge(&from, from.history.first())?;
    Ok((guards, Some(from)))
}

/// Publishes attempts that are at their heads, whose locks are held. To be acknowledged when the
/// locks are free again.
pub(crate) fn publish(
    shared: &Shared,
    attempts: &mut [Attempt<'_>],
    mut guards: Guards<'_>,
    meta: &CommitMeta,
    moment: Moment<'_>,
) -> Result<Revision, Failure> {
    if let Moment::Now = moment {
        if !attempts.iter().any(|attempt| attempt.writes) {
            // It was only to be found out that all is as it was read.
            let newest = guards.iter().map(|state| state.history.newest().revision).max();
            return Ok(newest.unwrap_or_default());
        }
        // What it would do now may leave out the branch that knows of it.
        guards.iter_mut().try_for_each(|state| state.refuse_repeated(meta))?;
    }
    // Times of a history never go down, whatever the clock does.
    let newest = guards.iter().map(|state| state.history.newest().time).max();
    let time = match moment {
        Moment::Now => shared.now().max(newest.unwrap_or_default()),
        Moment::Again(record) | Moment::Followed(record) => record.time,
    };
    let event = || Event::Edited(attempts.iter_mut().filter_map(Attempt::last_record).collect());
    let event = shared.has_journal().then(event);
    let revision = shared.write(moment, time, meta, event, |revision| {
        for (index, (attempt, state)) in attempts.iter_mut().zip(&mut guards).enumerate() {
            if !attempt.writes || index > 0 && is_awake(Bug::HalfPublished) {
                continue;
            }
            let editor = attempt.take_editor();
            let meta = meta.clone();
            let stamp = Stamp { revision, time, meta };
            state.publish(attempt.head, editor, stamp);
            if let Some(merged) = &attempt.merged {
                merged.note(attempt.head.id, &attempt.renamed);
            }
        }
    })?;
    Ok(revision)
}
