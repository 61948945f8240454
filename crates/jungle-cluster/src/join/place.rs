//! Finding where in a log a Jungle is, by its revision.

use std::cell::Cell;

use jungle_db::{Jungle, Revision};

use crate::engine::log::{self, Log};
use crate::error::{Fault, JoinError};
use crate::follow::Follower;
use crate::join::done::was_done;
use crate::message::{self, Hash, Message};

/// Where in a log a Jungle is, and the hash of the message there, if that is there still.
pub(super) fn place_of(log: &dyn Log, jungle: &Jungle) -> Result<(u64, Option<Hash>), JoinError> {
    let bounds = log.bounds()?;
    let here = jungle.revision();
    let sequence = find(log, here, bounds)?;
    if !is_told_of(log, jungle, bounds)? {
        return Err(JoinError::Overtaken { here });
    }
    // The message before is where it says that it is.
    let hash = match sequence {
        0 => Some(message::Hash::default()),
        _ => log::find(log, sequence)?.map(|bytes| message::hash_of(&bytes)),
    };
    Ok((sequence, hash))
}

/// Does the log say of the newest revision what was done here, as far as that is known? One that
/// has lost something, and has gone on, has as many revisions again.
fn is_told_of(log: &dyn Log, jungle: &Jungle, bounds: (u64, u64)) -> Result<bool, JoinError> {
    let here = jungle.revision();
    let sequence = match here.number() {
        0 => return Ok(true),
        _ => partition(log, bounds, |message| message.last() < here)?,
    };
    if sequence > bounds.1 {
        return Ok(true);
    }
    with_message(log, sequence, |message| was_done(jungle, message))
}

/// Finds where in the log a follower is, and goes on from there; `None` while the log is away, or
/// if it does not go on from there.
pub(crate) fn find_place(follower: &Follower, log: &dyn Log, jungle: &Jungle) -> Option<u64> {
    let found = place_of(log, jungle);
    if let Some(folder) = follower.of.filter(|of| *of != log.id()) {
        // It was begun anew while this server was without it: nothing here is for that one.
        let other = JoinError::OtherCluster { folder, log: log.id() };
        drop(follower.fail(Fault::Apart(Box::new(other))));
        return None;
    }
    match found {
        Ok((sequence, hash)) => {
            follower.start_behind(sequence, hash);
            return Some(sequence);
        }
        Err(JoinError::Log(_)) => {}
        // It is noted as the follower's.
        Err(error) => drop(follower.fail(Fault::Apart(Box::new(error)))),
    }
    None
}

/// The sequence of the first message with which a Jungle has this revision: those behind it that
/// have nothing are to be followed yet, as is one that has something else for this revision, which
/// is found out by its link.
fn find(log: &dyn Log, here: Revision, (first, last): (u64, u64)) -> Result<u64, JoinError> {
    if last < first || last == 0 {
        return match here.number() {
            0 => Ok(last),
            _ => Err(JoinError::NotEmpty { here }),
        };
    }
    let oldest = with_message(log, first, |message| message.first)?;
    let newest = with_message(log, last, |message| message.last())?;
    if here > newest {
        return Err(JoinError::Ahead { here, log: newest });
    }
    if here.number() + 1 < oldest.number() {
        return Err(JoinError::TooOld { here, log: oldest });
    }
    // Told of the message that is found, which is the last of which it is not behind.
    let is_whole = Cell::new(false);
    let sequence = partition(log, (first, last), |message| {
        let is_behind = message.last() < here;
        if !is_behind {
            is_whole.set(message.last() == here);
        }
        is_behind
    })?;
    Ok(if is_whole.get() { sequence } else { sequence - 1 })
}

/// The sequence of the first message of which something is not so that is so of all before.
fn partition(
    log: &dyn Log,
    (first, last): (u64, u64),
    is_so: impl Fn(&Message<'_>) -> bool,
) -> Result<u64, JoinError> {
    let (mut low, mut high) = (first, last + 1);
    while low < high {
        let middle = low + (high - low) / 2;
        if with_message(log, middle, &is_so)? { low = middle + 1 } else { high = middle }
    }
    Ok(low)
}

/// Looks at a message, which has to be there.
fn with_message<T>(
    log: &dyn Log,
    sequence: u64,
    look: impl FnOnce(&Message<'_>) -> T,
) -> Result<T, JoinError> {
    let bytes =
        log::find(log, sequence)?.ok_or(Fault::Gap { expected: sequence, found: sequence + 1 })?;
    let read = message::read(&bytes);
    Ok(look(&read.map_err(|reason| message::unread(sequence, &bytes, reason))?))
}
