//! Beginning with a checkpoint: whoever has nothing yet, or less than the log goes back to.

use std::hash::{BuildHasher, RandomState};
use std::io::{self, Read};

use jungle_db::{Builder, Jungle, NoSuchRevision, Revision};
use jungle_store::read_checkpoint;
use jungle_tree::{ArenaOptions, loading};

use crate::checkpoint::{Head, Header, Taken, belongs, check, heads};
use crate::engine::depot::Depot;
use crate::engine::log::{Appended, Log, find};
use crate::error::{CheckpointError, JoinError};
use crate::join::options::{Joining, Options};
use crate::message::{self, Hash, Message};
use crate::sequencer::next;

/// A Jungle as it was at some message.
pub(crate) struct Restored {
    pub(crate) jungle: Jungle,
    pub(crate) sequence: u64,
    pub(crate) hash: Hash,
}

/// The newest checkpoint that can be read and that the log goes on from; of damaged ones the one
/// before. `None` when there is none, or when all are damaged and the log has everything.
pub(crate) fn newest(
    log: &dyn Log,
    builder: &Builder,
    arena: &ArenaOptions,
    options: &Options,
) -> Result<Option<Restored>, JoinError> {
    let Some(depot) = log.depot() else { return Ok(None) };
    let (mut failed, mut tried) = (None, Vec::new());
    // Others may remove it while it is read, once they have written newer ones.
    while let Some(sequence) = depot.stored()?.into_iter().find(|stored| !tried.contains(stored)) {
        match restore(log, depot, sequence, (builder.clone(), arena), options) {
            Ok(restored) => return Ok(Some(restored)),
            Err(error) => {
                tracing::warn!(%error, sequence, "a checkpoint of the cluster cannot be used");
                failed.get_or_insert((sequence, error));
                tried.push(sequence);
            }
        }
    }
    match failed {
        Some((sequence, source)) if !has_everything(log)? => {
            Err(JoinError::Checkpoint { sequence, source })
        }
        _ => Ok(None),
    }
}

/// Does the log tell all that there ever was? Not if its beginning was removed, or if it was
/// [founded](found).
fn has_everything(log: &dyn Log) -> Result<bool, JoinError> {
    Ok(match log.bounds()? {
        (_, 0) => true,
        (1, _) => {
            let begin = find(log, 1)?;
            let message = begin.as_deref().and_then(|bytes| message::read(bytes).ok());
            message.is_some_and(|message| message.first == next(Revision::default()))
        }
        _ => false,
    })
}

fn restore(
    log: &dyn Log,
    depot: &dyn Depot,
    sequence: u64,
    (builder, arena): (Builder, &ArenaOptions),
    options: &Options,
) -> Result<Restored, CheckpointError> {
    let (first, last) = log.bounds()?;
    if sequence > last || sequence + 1 < first {
        return Err(CheckpointError::Apart { sequence, first, last });
    }
    let stored = depot.open(sequence)?;
    let mut content = Counted { content: stored.content, read: 0, of: stored.bytes, options };
    let header = Header::read(&mut content)?;
    belongs(&header, log.id(), sequence)?;
    // A damaged message says nothing: the next one has to follow what the checkpoint says.
    if let Some(bytes) = find(log, sequence)?
        && message::is_whole(&bytes)
        && message::hash_of(&bytes) != header.hash
    {
        return Err(CheckpointError::Unlinked { sequence });
    }
    let jungle = read_checkpoint(builder, arena, &mut content)?;
    header.check(&jungle)?;
    Ok(Restored { jungle, sequence, hash: header.hash })
}

/// Is a log to be begun with what is here: has it nothing, or nothing yet but the beginning that
/// this server has made before it ended?
pub(crate) fn may_found(log: &dyn Log, here: Revision, server: &str) -> Result<bool, JoinError> {
    match log.bounds()? {
        (_, 0) => Ok(true),
        (1, 1) => {
            let stored = log.depot().map_or(Ok(Vec::new()), |depot| depot.stored())?;
            let bytes = find(log, 1)?.unwrap_or_default();
            let is_own =
                |it: Message<'_>| it.is_empty() && it.server() == server && it.first == next(here);
            Ok(stored.is_empty() && message::read(&bytes).is_ok_and(is_own))
        }
        _ => Ok(false),
    }
}

/// Begins a log that has nothing with what is here. The first message has nothing in it, and says
/// that the log goes on behind that, so that nobody goes on from nothing; the others begin with the
/// checkpoint of it.
pub(crate) fn found(
    log: &dyn Log,
    jungle: &Jungle,
    options: &Options,
) -> Result<Restored, JoinError> {
    let sequence = 1;
    let hash = match find(log, sequence)? {
        Some(bytes) => message::hash_of(&bytes),
        None => begin(log, jungle.revision(), options)?,
    };
    let failed = |source| JoinError::NotFounded { source };
    let depot = log.depot().ok_or(CheckpointError::NoDepot).map_err(failed)?;
    let (log, checkpoint, heads) = (log.id(), jungle.checkpoint(), heads(jungle));
    let jungle = jungle.clone();
    let taken = Taken { log, jungle, checkpoint, sequence, hash, heads };
    depot.put(sequence, &mut |out| taken.write(&options.server, out))?;
    let written = check(depot.open(sequence)?.content).map_err(failed)?;
    belongs(&written, log, sequence).map_err(failed)?;
    Ok(Restored { jungle: taken.jungle, sequence, hash })
}

/// Appends the first message, and gives its hash.
fn begin(log: &dyn Log, here: Revision, options: &Options) -> Result<Hash, JoinError> {
    let nonce = RandomState::new().hash_one(here.number());
    let mark = message::mark(&options.server, nonce);
    let bytes = message::write_empty(&Hash::default(), next(here), &mark, nonce);
    match log.append(0, &bytes, options.commit_within)? {
        Appended::At(_) => Ok(message::hash_of(&bytes)),
        Appended::Behind => Err(JoinError::Begun),
    }
}

/// Does the log not go back to what is here? Where that was never the cluster's, as far as is
/// known, it must have the newest revision itself, which is compared then.
pub(crate) fn is_behind(
    log: &dyn Log,
    here: Revision,
    was_member: bool,
) -> Result<bool, JoinError> {
    let (first, last) = log.bounds()?;
    if first > last {
        return Ok(false);
    }
    let Some(bytes) = find(log, first)? else { return Ok(true) };
    let follows = here.number() + u64::from(was_member);
    Ok(message::read(&bytes).is_ok_and(|message| follows < message.first.number()))
}

/// Was a Jungle what another one was before? Each branch of the other one must be there still, and
/// must have had then what it has. Of a folder that was the cluster's before it is enough that none
/// had anything else: some may be deleted now, and some revisions not be kept any more.
pub(crate) fn has_been(now: &Jungle, before: &Jungle, was_member: bool) -> bool {
    let before = heads(before);
    let is_same = |head: &Head| was(now, head).unwrap_or(was_member);
    before.iter().all(is_same) && (was_member || !before.is_empty())
}

/// Was a branch once what it is here? `None` where that is not known any more.
fn was(now: &Jungle, head: &Head) -> Option<bool> {
    let revision = head.snapshot.revision();
    if revision > now.revision() {
        return Some(false);
    }
    let then = match now.branch_with_id(head.tree, head.branch)?.at(revision) {
        Ok(then) => then,
        Err(NoSuchRevision::TooOld { .. } | NoSuchRevision::NotRead(_)) => return None,
        Err(_) => return Some(false),
    };
    let is_same = || {
        then.revision() == revision
            && then.root().content_hash() == head.snapshot.root().content_hash()
    };
    Some(loading(is_same).unwrap_or(false))
}

/// Tells how much of a checkpoint was read.
struct Counted<'o> {
    content: Box<dyn Read + Send>,
    read: u64,
    of: u64,
    options: &'o Options,
}

impl Read for Counted<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        /// So many bytes are read before it is told again.
        const TOLD_EVERY: u64 = 1 << 20;
        let read = self.content.read(bytes)?;
        let (before, now) = (self.read, self.read + read as u64);
        self.read = now;
        if before / TOLD_EVERY < now / TOLD_EVERY || now == self.of {
            self.options.tell(Joining::Checkpoint { bytes: now, of: self.of });
        }
        Ok(read)
    }
}
