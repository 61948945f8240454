//! What a draft did, as long as that is little and simple: then it can be done again on another
//! version for the price of doing it, where nothing it depends on has changed.

use jungle_tree::{Change, Key, Node, Path, ValueRef};

/// A longer log is not worth keeping: the draft is compared with its base instead.
const CHANGES_MAX: usize = 64;
/// Larger values are not copied into a log.
const VALUE_BYTES_MAX: usize = 4096;

/// The edits of a draft, in order.
#[derive(Debug)]
pub(crate) enum Log {
    /// All of them.
    Complete(Vec<Change>),
    /// There was something large, or of a kind that is not noted.
    Incomplete,
}

impl Default for Log {
    fn default() -> Log {
        Log::Complete(Vec::new())
    }
}

impl Log {
    pub(crate) fn changes(&self) -> Option<&[Change]> {
        match self {
            Log::Complete(changes) => Some(changes),
            Log::Incomplete => None,
        }
    }

    pub(crate) fn push(&mut self, change: impl FnOnce() -> Change) {
        match self {
            Log::Complete(changes) if changes.len() < CHANGES_MAX => changes.push(change()),
            _ => *self = Log::Incomplete,
        }
    }

    /// A child was added.
    pub(crate) fn added(&mut self, parent: &[Key], key: &Key) {
        self.push(|| Change::ChildAdded {
            path: Path::from([parent, std::slice::from_ref(key)].concat()),
        });
    }

    /// An attribute was put.
    pub(crate) fn put(&mut self, path: &[Key], key: &str, value: ValueRef<'_>) {
        let bytes = value.as_bytes().or(value.as_text().map(str::as_bytes));
        if bytes.is_some_and(|bytes| bytes.len() > VALUE_BYTES_MAX) {
            *self = Log::Incomplete;
        }
        self.push(|| Change::AttributePut {
            path: path.into(),
            key: key.into(),
            value: value.to_value(),
        });
    }
}

/// Is everything that these changes replace or rely on the same at both roots? Then doing them on
/// the one or on the other is the same. What the changes themselves made is not there at `then`,
/// and is covered by the change that made it.
pub(crate) fn is_free(changes: &[Change], then: Node<'_>, now: Node<'_>) -> bool {
    changes.iter().all(|change| match change {
        Change::ChildAdded { path } => match path.split_last() {
            Some((key, parent)) => both(then, now, parent, |then, now| {
                let is_position = matches!(key, Key::Position(_));
                then.child(key).is_some() == now.child(key).is_some()
                    && (!is_position || then.next_position() == now.next_position())
            }),
            None => false,
        },
        Change::ChildRemoved { path } => both(then, now, path, Node::is_same),
        Change::AttributePut { path, key, .. } | Change::AttributeRemoved { path, key } => {
            both(then, now, path, |then, now| {
                then.has_same_attributes(now) || then.attribute(key) == now.attribute(key)
            })
        }
        _ => false,
    })
}

fn both<'a>(
    then: Node<'a>,
    now: Node<'a>,
    path: &[Key],
    is_free: impl FnOnce(Node<'a>, Node<'a>) -> bool,
) -> bool {
    match (then.at(path), now.at(path)) {
        (Ok(then), Ok(now)) => is_free(then, now),
        (Ok(_), Err(_)) => false,
        (Err(_), _) => true,
    }
}
