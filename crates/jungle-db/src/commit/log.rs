//! What a draft did, as long as that is little and simple: then it can be done again on another
//! version for the price of doing it, where nothing it depends on has changed.

use jungle_tree::{Change, Key, Path, ValueRef};

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

    /// Takes them out, if these are all.
    pub(crate) fn take(&mut self) -> Option<Vec<Change>> {
        match std::mem::take(self) {
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
