//! What a draft has read, in terms of the version it began with.

use std::borrow::Cow;

use jungle_tree::{Change, Key, Path};

use super::{Draft, Isolation, Origin};
use crate::read::Read;

/// Reads beyond this many count as a read of the whole tree.
const READS_MAX: usize = 1 << 16;

impl Draft {
    /// An edit takes a node from here.
    pub(super) fn takes(&self, path: &[Key]) {
        self.relies_on(path, Read::Exists);
    }

    /// An edit puts a node here.
    pub(super) fn puts(&self, path: &[Key]) {
        self.relies_on(path, Read::Free);
    }

    /// What is in a node that the draft itself has made is its own affair.
    fn relies_on(&self, path: &[Key], read: impl FnOnce(Path) -> Read) {
        if self.options.isolation == Isolation::Serializable
            && let Some((_, parent)) = path.split_last()
            && let Some(origin) = self.origin_of(parent)
            && self.base().root().at(&origin).is_ok()
        {
            self.record(path, read);
        }
    }

    /// Something was put at a path. If there was something else in the base, what of it is there
    /// again is no change, so all of it is remembered as read.
    pub(super) fn replaced(&self, path: &[Key]) {
        let base = self.base().root();
        for origin in [Some(path.into()), self.origin_of(path)].into_iter().flatten() {
            if base.at(&origin).is_ok() {
                self.push(Read::Subtree(Path::from(&*origin)));
            }
        }
    }

    /// What was put and added below a node that goes now leaves nothing behind to say that it
    /// could be: that it could was an answer all the same. (Of a draft that did more than its log
    /// holds this is not known, and not asked.)
    pub(super) fn covers(&self, path: &[Key]) {
        for change in self.log.changes().unwrap_or_default() {
            let at = match change {
                Change::AttributePut { path, .. } => Some(&path[..]),
                Change::ChildAdded { path } => path.split_last().map(|(_, parent)| parent),
                _ => None,
            };
            if let Some(at) = at.filter(|at| at.starts_with(path)) {
                self.record(at, Read::Exists);
            }
        }
    }

    /// Remembers a read, in terms of the base. What the draft itself brought in is not one.
    pub(super) fn record(&self, path: &[Key], read: impl FnOnce(Path) -> Read) {
        if self.options.isolation == Isolation::Snapshot {
            return;
        }
        let Some(origin) = self.origin_of(path) else {
            return;
        };
        let is_own = self.editor.is_changed()
            && self.base().root().at(&origin).is_err()
            && self.editor.root().at(path).is_ok();
        let mut read = read(Path::from(&*origin));
        if matches!(read, Read::Subtree(_)) && !self.origins.is_empty() {
            // What was moved to below it was read, too, wherever that came from.
            read = Read::Subtree(Path::root());
        }
        let is_all = matches!(&read, Read::Subtree(path) if path.is_empty());
        if !is_own || is_all {
            self.push(read);
        }
    }

    #[inline]
    pub(super) fn push(&self, read: Read) {
        let mut reads = self.reads.borrow_mut();
        if reads.last() != Some(&read) {
            reads.push(read);
        }
        if reads.len() > READS_MAX {
            *reads = vec![Read::Subtree(Path::root())];
        }
    }

    /// Where what is at `path` now was in the base; `None` when it was not there at all.
    #[inline]
    pub(super) fn origin_of<'p>(&self, path: &'p [Key]) -> Option<Cow<'p, [Key]>> {
        let mut path = Cow::Borrowed(path);
        for Origin { to, from } in self.origins.iter().rev() {
            if let Some(rest) = path.strip_prefix(&**to) {
                path = Cow::Owned([from.as_deref()?, rest].concat());
            }
        }
        Some(path)
    }
}
