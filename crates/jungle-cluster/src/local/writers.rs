//! The numbers of servers, and how far each of them has published: in a tree that the log has as it
//! has any other, so that an entry and the note that it has its place are one commit.

use jungle_db::{CommitMeta, CommitOptions, CreateTreeError, Jungle, Revision, TreeHandle};
use jungle_db::{NotWritten, UpdateError};
use jungle_tree::{Change, EditError, Key, Node, Path};

use super::error::LocalError;
use super::outbox::Outbox;
use crate::log::LogId;
use crate::planted::{Bug, is_awake};

/// The tree in which the servers that commit by themselves have their numbers. A child has the name
/// of the `server` that drew it, and the number of its last entry that was `settled`. Who deletes
/// it lets servers publish again what they do not know to be published.
pub const WRITERS: &str = ".writers";

const SERVER: &str = "server";
const SETTLED: &str = "settled";

/// The number that the outbox has, or a new one.
pub(super) fn number(
    jungle: &Jungle,
    outbox: &Outbox,
    log: LogId,
    server: &str,
) -> Result<u64, LocalError> {
    if let Some((of, writer)) = outbox.identity()? {
        if of != log {
            return Err(LocalError::OtherCluster { outbox: of, log });
        }
        if settled(jungle, writer, jungle.revision())? < outbox.reserved() {
            return Ok(writer);
        }
        // It was copied back: numbers have been given since that it does not know of, and all that
        // it has is settled.
        outbox.clear()?;
    }
    let writer = claim(jungle, server)?;
    outbox.identify(log, writer)?;
    Ok(writer)
}

fn claim(jungle: &Jungle, server: &str) -> Result<u64, LocalError> {
    let writers = match jungle.create_tree(WRITERS) {
        Ok(tree) => tree,
        Err(CreateTreeError::Exists { .. }) => open(jungle)?,
        Err(CreateTreeError::NotWritten(error)) => return Err(LocalError::NoNumber(error)),
        Err(error) => return Err(LocalError::NoOutbox(error)),
    };
    let options = CommitOptions::from(&CommitMeta::new().author(server));
    let claimed = writers.update_with(&options, |tx| {
        let key = tx.add_child(&[])?;
        tx.put_attribute(std::slice::from_ref(&key), SERVER, server)?;
        Ok(key)
    });
    match claimed {
        Ok(claimed) => Ok(index(&claimed.value)),
        Err(UpdateError::NotWritten(error)) => Err(LocalError::NoNumber(error)),
        Err(UpdateError::<EditError>::Closure(error)) => Err(error.into()),
        Err(_) => Err(LocalError::NoNumber(NotWritten::Stopped)),
    }
}

fn index(key: &Key) -> u64 {
    match key {
        Key::Position(position) => position.index().try_into().unwrap_or_default(),
        Key::Name(_) => 0,
    }
}

pub(super) fn open(jungle: &Jungle) -> Result<TreeHandle, LocalError> {
    jungle.open_tree(WRITERS).map_err(|_| LocalError::NoWriters)
}

/// The number of the newest entry of a server that is settled at a revision.
pub(super) fn settled(jungle: &Jungle, writer: u64, at: Revision) -> Result<u64, LocalError> {
    let Ok(writers) = open(jungle) else { return Ok(0) };
    let then = match writers.at(at) {
        Ok(then) => then,
        // It is younger than that.
        Err(_) if writers.snapshot().revision() > at => return Ok(0),
        Err(error) => return Err(error.into()),
    };
    let node = then.root().at(&[Key::from(writer)]).ok();
    let settled = node.and_then(|node| node.attribute(SETTLED)).and_then(|found| found.as_int());
    Ok(settled.unwrap_or(0).try_into().unwrap_or(0))
}

/// The same in a version that may have no place yet.
pub(super) fn settled_in(writers: Node<'_>, writer: u64) -> Result<u64, LocalError> {
    let node = writers.at(&[Key::from(writer)]).map_err(|_| LocalError::NoWriters)?;
    if is_awake(Bug::SettledForgotten) {
        return Ok(0);
    }
    let settled = node.attribute(SETTLED).and_then(|found| found.as_int());
    Ok(settled.unwrap_or(0).try_into().unwrap_or(0))
}

/// The change that notes that all entries up to one are settled.
pub(super) fn note_settled(writer: u64, number: u64) -> Change {
    let path = Path::root().join(Key::from(writer));
    let number = i64::try_from(number).unwrap_or(i64::MAX);
    Change::AttributePut { path, key: SETTLED.into(), value: number.into() }
}
