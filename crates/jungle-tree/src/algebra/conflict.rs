//! Where two lists of changes contradict each other.

use std::fmt;

use super::Change;
use crate::path::Path;
use crate::value::Value;

/// A place where one of our changes and one of theirs cannot both be. It is a value: it can be
/// shown, stored, and resolved later.
///
/// A change of ours that is not in the result is always named by the `ours` of a conflict, and a
/// change of theirs that was overruled by its `theirs`.
///
/// ```
/// use jungle_tree::{Arena, ConflictKind, MergeOptions, Tree, merge};
/// let mut theirs = Tree::new(&Arena::new()?);
/// theirs.put_attribute(&[], "title", "draft")?;
/// let base = theirs.snapshot();
/// let mut ours = Tree::from_snapshot(&base);
/// ours.put_attribute(&[], "title", "hello")?;
/// theirs.put_attribute(&[], "title", "good-bye")?;
///
/// let merged = merge(&base, &ours.snapshot(), &theirs.snapshot(), &MergeOptions::new())?;
/// let conflict = &merged.conflicts[0];
/// assert_eq!(conflict.kind, ConflictKind::Attribute);
/// assert_eq!(conflict.base, Some("draft".into()));
/// assert_eq!(conflict.ours.to_string(), r#"~ / @title = "hello""#);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Conflict {
    /// The node it is about, where it is after their changes and ours as far as applied; where
    /// they removed it, where we say it is (of a [`merge_again`](crate::merge_again), with the keys
    /// that nodes have in theirs).
    pub path: Path,
    /// What is wrong.
    pub kind: ConflictKind,
    /// What we did, as we said it; of a [`merge_again`](crate::merge_again), with the keys that
    /// nodes have in theirs.
    pub ours: Change,
    /// What they did, as they said it.
    pub theirs: Change,
    /// What the attribute was before both, where this is about an attribute and the base is known.
    pub base: Option<Value>,
}

/// What is wrong; `docs/merge.md` has the table.
///
/// ```
/// use jungle_tree::{Change, ConflictKind, MergeOptions, rebase};
/// let removed = Change::ChildRemoved { path: ["posts"].into() };
/// let added = Change::ChildAdded { path: "/posts/0".parse()? };
/// let kind = |ours: &Change, theirs: &Change| {
///     rebase(&[ours.clone()], &[theirs.clone()], &MergeOptions::new()).conflicts[0].kind
/// };
/// assert_eq!(kind(&added, &removed), ConflictKind::RemovedBelow);
/// assert_eq!(kind(&removed, &added), ConflictKind::ChangedBelow);
/// # Ok::<(), jungle_tree::ParsePathError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum ConflictKind {
    /// Both changed the same attribute, to different ends.
    Attribute,
    /// We changed something that they removed.
    RemovedBelow,
    /// We removed something in which they changed something.
    ChangedBelow,
    /// Both moved the same node, to different places.
    MovedApart,
    /// Both moves together would put a node below itself.
    MoveCycle,
    /// Two different nodes were put under the same name.
    KeyTaken,
    /// One set a whole subtree, the other changed something in it.
    SetOverlap,
}

impl fmt::Display for ConflictKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ConflictKind::Attribute => "both changed the attribute",
            ConflictKind::RemovedBelow => "they removed what we changed",
            ConflictKind::ChangedBelow => "we removed what they changed",
            ConflictKind::MovedApart => "both moved it, to different places",
            ConflictKind::MoveCycle => "the moves together would put it below itself",
            ConflictKind::KeyTaken => "both used the name, for different nodes",
            ConflictKind::SetOverlap => "one set the subtree, the other changed it",
        })
    }
}

impl fmt::Display for Conflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Conflict { path, kind, ours, theirs, .. } = self;
        write!(f, "{path}: {kind} (ours: {ours}; theirs: {theirs}")?;
        if let Some(base) = &self.base {
            write!(f, "; before: {base}")?;
        }
        f.write_str(")")
    }
}
