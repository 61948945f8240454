//! An import that was ended before its end, begun again: a revision and its tag are two commits,
//! and either may be the last one that was made.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;

use jungle::{BranchError, Editor, Revision, Snapshot, TreeHandle};
use jungle_tree::Tree;
use jungle_words::check_name;

use crate::failure::{Failure, failed};

/// How far an import has come through what an earlier one has left, which is how it begins: once
/// something was not there yet, a tag that is taken is another one's.
#[derive(Default)]
pub(super) struct Again {
    /// The tags of what was imported so far.
    given: RefCell<BTreeSet<String>>,
    /// The tag and the revision of what was there already, if all was so far.
    last: RefCell<Option<(String, Revision)>>,
    has_gone_on: Cell<bool>,
}

/// A version that may be what an earlier import has made of a document.
pub(super) struct Tagged {
    tag: String,
    pub(super) snapshot: Snapshot,
    /// Whether it has all of its tags.
    is_whole: bool,
}

impl Again {
    /// Refuses tags that cannot be given. Gives the version that has one of them, where an earlier
    /// import may have made that.
    pub(super) fn find(
        &self,
        tree: Option<&TreeHandle>,
        tags: &[String],
    ) -> Result<Option<Tagged>, Failure> {
        let (mut found, mut taken) = (None::<Tagged>, 0);
        for tag in tags {
            check_name(tag).map_err(failed)?;
            if self.given.borrow().contains(tag) {
                return Err(exists(tag));
            }
            let Some(tree) = tree.filter(|tree| is_taken(tree, tag)) else { continue };
            taken += 1;
            let tagged = if self.has_gone_on.get() { None } else { version(tree, tag) };
            let Some(snapshot) = tagged else { return Err(exists(tag)) };
            if found.is_some_and(|found| found.snapshot.revision() != snapshot.revision()) {
                return Err(exists(tag));
            }
            found = Some(Tagged { tag: tag.clone(), snapshot, is_whole: false });
        }
        Ok(found.map(|found| Tagged { is_whole: taken == tags.len(), ..found }))
    }

    /// A document is there, with its tags.
    pub(super) fn done(&self, tags: &[String], tagged: Option<Tagged>) {
        self.given.borrow_mut().extend(tags.iter().cloned());
        let was_there = tagged.filter(|tagged| tagged.is_whole);
        if was_there.is_none() {
            self.has_gone_on.set(true);
        }
        *self.last.borrow_mut() = was_there.map(|tagged| (tagged.tag, tagged.snapshot.revision()));
    }

    /// Refuses what was there already, if that is all so far, where something else has come behind:
    /// that would still be the newest version, or what has no tag come behind it once more.
    pub(super) fn must_be_newest(&self, tree: Option<&TreeHandle>) -> Result<(), Failure> {
        match (&*self.last.borrow(), tree) {
            (Some((tag, revision)), Some(tree)) if tree.snapshot().revision() != *revision => {
                Err(exists(tag))
            }
            _ => Ok(()),
        }
    }
}

impl Tagged {
    /// Reads a document, which must be what this version is; `f` gives the bytes that were read.
    pub(super) fn read(
        &self,
        f: impl FnOnce(&mut Editor) -> Result<u64, Failure>,
    ) -> Result<u64, Failure> {
        Tree::from_snapshot(&self.snapshot).edit(|editor| {
            let bytes = f(editor)?;
            match editor.is_changed() {
                true => Err(exists(&self.tag)),
                false => Ok(bytes),
            }
        })
    }
}

fn is_taken(tree: &TreeHandle, tag: &str) -> bool {
    tree.at_tag(tag).is_ok() || tree.on_branch(tag).is_ok()
}

/// The version that has a tag, if it is one of this branch.
fn version(tree: &TreeHandle, tag: &str) -> Option<Snapshot> {
    let tagged = tree.at_tag(tag).ok()?;
    let own = tree.at(tagged.revision()).ok()?;
    (own.revision() == tagged.revision()).then_some(tagged)
}

fn exists(tag: &str) -> Failure {
    failed(BranchError::Exists { name: tag.into() })
}
