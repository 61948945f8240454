//! The numbers of servers, and how far each of them has published: in a tree that the log has as it
//! has any other, so that an entry and the note that it has its place are one commit.

use jungle_db::{
    CommitMeta, CommitOptions, CreateTreeError, Jungle, NoSuchRevision, NotWritten, Revision,
    TreeHandle, UpdateError,
};
use jungle_tree::{Change, EditError, Key, Node, Path};

use super::error::LocalError;
use super::outbox::Outbox;
use crate::engine::log::LogId;
use crate::planted::{Bug, is_awake};

/// The tree in which the servers that commit by themselves have their numbers. A child has the name
/// of the `server` that drew it, the number of its last entry that was `settled`, and when its
/// outbox was `opened` that has published it. Who deletes it lets servers publish again what they
/// do not know to be published.
pub const WRITERS: &str = ".writers";

const SERVER: &str = "server";
const SETTLED: &str = "settled";
const OPENED: &str = "opened";
/// So many openings are remembered: more than there are while an engine is away.
const OPENINGS_MAX: usize = 1024;

/// One time that an outbox was opened. Of two that were one before, neither knows of the later ones
/// of the other: so it is found out that a folder was copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Opening {
    /// Drawn by chance.
    pub(super) id: i64,
    /// No entry that was made then has a lower number.
    pub(super) first: u64,
}

/// What the log has of a server.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Standing {
    /// The number of its newest entry that is settled.
    pub(super) settled: u64,
    /// In which opening of its outbox that was published, as far as is known.
    pub(super) opened: Option<i64>,
}

impl Standing {
    /// Has another server published as this one, with a copy of its outbox? Then which is the first
    /// entry here that is not the other's.
    pub(super) fn copied(&self, openings: &[Opening]) -> Option<u64> {
        let known = |id| openings.iter().rposition(|opening| opening.id == id);
        let next = match self.opened {
            None => 0,
            Some(id) => match known(id) {
                Some(at) => at + 1,
                None => return Some(0),
            },
        };
        // What was made in an opening that has published nothing cannot be settled.
        let next = openings.get(next)?;
        (self.settled >= next.first).then_some(next.first)
    }
}

/// The number that the outbox has, or a new one, and how often it was opened, with this time, for
/// which something was drawn.
pub(super) fn number(
    jungle: &Jungle,
    outbox: &Outbox,
    log: LogId,
    (server, drawn): (&str, u64),
) -> Result<(u64, Vec<Opening>), LocalError> {
    let opening = Opening { id: drawn.cast_signed(), first: outbox.reserved() };
    if let Some((of, writer)) = outbox.identity()? {
        if of != log {
            return Err(LocalError::OtherCluster { outbox: of, log });
        }
        let (follows, here) = (outbox.follows(), jungle.revision());
        if follows > here {
            // The folder lost its end with the power: what was done on it comes again, and what
            // the log has of this server, too. Until then nothing is noted.
            return Err(LocalError::Behind { follows, here });
        }
        let standing = newest_standing(jungle, writer);
        let mut openings = outbox.openings();
        if openings.len() >= OPENINGS_MAX {
            openings.remove(usize::from(standing.opened == Some(openings[0].id)));
        }
        openings.push(opening);
        let Some(first) = standing.copied(&openings) else {
            outbox.identify(log, writer, &openings)?;
            return Ok((writer, openings));
        };
        // Or it was copied back: numbers have been given since that it does not know of.
        tracing::warn!(writer, "the outbox is a copy: this server gets another number");
        outbox.set_aside(writer, first)?;
    }
    let writer = claim(jungle, server)?;
    outbox.identify(log, writer, &[opening])?;
    Ok((writer, vec![opening]))
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

/// What is known of a server at a revision.
pub(super) fn standing(jungle: &Jungle, writer: u64, at: Revision) -> Result<Standing, LocalError> {
    let Ok(writers) = open(jungle) else { return Ok(Standing::default()) };
    let then = match writers.at(at) {
        Ok(then) => then,
        Err(NoSuchRevision::NotBorn { .. }) => return Ok(Standing::default()),
        Err(error) => return Err(error.into()),
    };
    Ok(standing_at(then.root(), writer))
}

/// What is known of a server now.
pub(super) fn newest_standing(jungle: &Jungle, writer: u64) -> Standing {
    let writers = open(jungle).ok();
    writers.map(|writers| standing_at(writers.snapshot().root(), writer)).unwrap_or_default()
}

fn standing_at(writers: Node<'_>, writer: u64) -> Standing {
    writers.at(&[Key::from(writer)]).ok().map(standing_of).unwrap_or_default()
}

/// The same in a version that may have no place yet.
pub(super) fn standing_in(writers: Node<'_>, writer: u64) -> Result<Standing, LocalError> {
    let node = writers.at(&[Key::from(writer)]).map_err(|_| LocalError::NoWriters)?;
    let standing = standing_of(node);
    match is_awake(Bug::SettledForgotten) {
        true => Ok(Standing { settled: 0, ..standing }),
        false => Ok(standing),
    }
}

fn standing_of(node: Node<'_>) -> Standing {
    let int = |key| node.attribute(key).and_then(|found| found.as_int());
    let settled = int(SETTLED).unwrap_or(0).try_into().unwrap_or(0);
    Standing { settled, opened: int(OPENED) }
}

/// The change that notes that all entries up to one are settled.
pub(super) fn note_settled(writer: u64, number: u64) -> Change {
    note(writer, SETTLED, i64::try_from(number).unwrap_or(i64::MAX))
}

/// The change that notes which opening has published.
pub(super) fn note_opened(writer: u64, opening: Opening) -> Change {
    note(writer, OPENED, opening.id)
}

fn note(writer: u64, key: &str, value: i64) -> Change {
    let path = Path::root().join(Key::from(writer));
    Change::AttributePut { path, key: key.into(), value: value.into() }
}
