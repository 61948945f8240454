//! What a draft has read, in terms of the version it began with.

use std::borrow::Cow;
use std::collections::HashMap;

use jungle_tree::{Change, Key, Path};

use super::{Draft, Isolation};
use crate::commit::read::Read;

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
        self.origins.of(path)
    }
}

/// Where subtrees came from that were put somewhere.
#[derive(Default)]
pub(super) struct Origins {
    /// From elsewhere in the draft as it was then, or from outside of it; oldest first.
    from: Vec<Option<Path>>,
    /// Which of them were put at a path, in order.
    at: HashMap<Path, Vec<usize>>,
}

impl Origins {
    pub(super) fn push(&mut self, to: Path, from: Option<Path>) {
        self.at.entry(to).or_default().push(self.from.len());
        self.from.push(from);
    }

    fn is_empty(&self) -> bool {
        self.from.is_empty()
    }

    /// Goes back from the newest: each step is from the last that was put at the path, or above
    /// it, before the one of the step before.
    #[inline]
    fn of<'p>(&self, path: &'p [Key]) -> Option<Cow<'p, [Key]>> {
        let mut path = Cow::Borrowed(path);
        let mut before = self.from.len();
        while before > 0 {
            let last = (0..=path.len()).filter_map(|depth| {
                let put = self.at.get(&path[..depth])?;
                let earlier = put.partition_point(|&index| index < before);
                Some((*put.get(earlier.checked_sub(1)?)?, depth))
            });
            let Some((index, depth)) = last.max() else { break };
            path = Cow::Owned([self.from[index].as_deref()?, &path[depth..]].concat());
            before = index;
        }
        Some(path)
    }
}

#[cfg(test)]
mod tests {
    use jungle_testkit::{Rng, for_each_seed};

    use super::*;

    fn path(rng: &mut Rng) -> Path {
        let keys: Vec<Key> = (0..rng.below(4)).map(|_| (rng.below(3) as i64).into()).collect();
        Path::from(&keys[..])
    }

    /// The same, said plainly.
    fn looked_through(origins: &[(Path, Option<Path>)], path: &[Key]) -> Option<Path> {
        origins.iter().rev().try_fold(Path::from(path), |path, (to, from)| {
            match path.strip_prefix(&**to) {
                Some(rest) => Some(Path::from(&[&from.as_ref()?[..], rest].concat()[..])),
                None => Some(path),
            }
        })
    }

    #[test]
    fn origins_are_found_as_if_all_were_looked_through() {
        for_each_seed(200, |rng| {
            let (mut origins, mut all) = (Origins::default(), Vec::new());
            for _ in 0..rng.below(12) {
                let (to, from) = (path(rng), rng.chance(5, 6).then(|| path(rng)));
                origins.push(to.clone(), from.clone());
                all.push((to, from));
                let asked = path(rng);
                let found = origins.of(&asked).map(|found| Path::from(&*found));
                assert_eq!(found, looked_through(&all, &asked), "{asked} after {all:?}");
            }
        });
    }
}
