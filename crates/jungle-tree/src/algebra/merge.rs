//! Three-way merge.

use super::diff::diffs_to_merge;
use super::given::{self, Gave};
use super::numbers::{MergeBase, Renumbering, Start};
use super::rebase::{Rebased, rebase_told};
use super::steps::{Count, Unbounded};
use super::transparent::transparent;
use super::{ApplyError, ChangeSet, Conflict, MergeOptions, TooManySteps, apply, symmetric};
use crate::edit::Editor;
use crate::path::Path;
use crate::snapshot::Snapshot;

/// Why a merge failed.
///
/// ```
/// use jungle_tree::{Arena, MergeError, MergeOptions, Tree, merge};
/// let mut tree = Tree::new(&Arena::new()?);
/// let base = tree.snapshot();
/// tree.add_child(&[])?;
/// let refused = merge(&base, &tree.snapshot(), &base, &MergeOptions::new().steps_max(1));
/// assert!(matches!(refused, Err(MergeError::TooManySteps(_))));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MergeError {
    /// Our rebased changes could not be applied, for want of room.
    NotApplied(ApplyError),
    /// What differs takes more steps than [it may](MergeOptions::steps_max).
    TooManySteps(TooManySteps),
}

transparent!(MergeError { NotApplied(ApplyError), TooManySteps(TooManySteps) });

/// Two versions in one.
///
/// ```
/// use jungle_tree::{Arena, MergeOptions, Tree, merge};
/// let mut theirs = Tree::new(&Arena::new()?);
/// let base = theirs.snapshot();
/// let mut ours = Tree::from_snapshot(&base);
/// ours.add_child(&[])?;
/// theirs.add_child(&[])?;
///
/// let merged = merge(&base, &ours.snapshot(), &theirs.snapshot(), &MergeOptions::new())?;
/// assert_eq!(merged.renamed, [([0].into(), [1].into())]);
/// theirs.publish(merged.editor);
/// assert_eq!(theirs.read().root().child_count(), 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub struct Merged {
    /// Began at theirs, with our changes applied: to be published.
    pub editor: Editor,
    /// Our changes, as they were applied; where a symmetric merge has gone by their side, what
    /// differs from theirs. Behind these, of [`merge_again`], children that come and go: positions
    /// that ours has given and taken away.
    pub changes: ChangeSet,
    /// Where ours and theirs contradict each other.
    pub conflicts: Vec<Conflict>,
    /// The nodes of ours that got another key, and which: from where we put it to where it is.
    pub renamed: Vec<(Path, Path)>,
    /// Which nodes of ours have other keys in the result, those that were renamed and those that
    /// had other ones before: the next merge of the two begins with these
    /// ([`merge_again`]).
    pub renumbering: Renumbering,
}

/// Merges what happened from `base` to `ours` and from `base` to `theirs`.
///
/// Costs what differs, not what is there. Conflicts are no error: they are resolved as `options`
/// say, and told.
///
/// # Errors
/// When there is no room for the result, or it takes more steps than `options` allow.
///
/// ```
/// use jungle_tree::{Arena, MergeOptions, Tree, merge};
/// let arena = Arena::new()?;
/// let mut theirs = Tree::new(&arena);
/// theirs.insert_child(&[], &"a".into())?;
/// let base = theirs.snapshot();
/// let mut ours = Tree::from_snapshot(&base);
/// ours.put_attribute(&["a".into()], "title", "ours")?;
/// theirs.put_attribute(&["a".into()], "author", "them")?;
///
/// let (a, b) = (ours.snapshot(), theirs.snapshot());
/// let merged = merge(&base, &a, &b, &MergeOptions::new())?;
/// assert!(merged.conflicts.is_empty());
/// theirs.publish(merged.editor);
/// assert_eq!(theirs.read().root().at(&["a".into()])?.attributes().count(), 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn merge(
    base: &Snapshot,
    ours: &Snapshot,
    theirs: &Snapshot,
    options: &MergeOptions,
) -> Result<Merged, MergeError> {
    merge_between(Start::new(base), [ours, theirs], options, Sides::End)
}

/// As [`merge`], of two sides that both go on, and are merged again and again, in either direction.
/// Some nodes may have other keys on the one than on the other, since both had given these before
/// one was merged into the other: what either side did to a node is done to that node, whatever key
/// it has on the other side, and keeps there.
///
/// The result has given all positions that ours has given, also those that ours has taken away
/// again. Where that is not so anyhow there are children that come and go at the end of the
/// changes: else one of them would be given to another node, and could not be what it is called in
/// ours. (Not told are those in what was moved, and in what was added with more than 16 nodes.)
///
/// In conflicts nodes are called by their keys in theirs.
///
/// # Errors
/// As [`merge`].
///
/// ```
/// use jungle_tree::{Arena, MergeBase, MergeOptions, Tree, merge, merge_again};
/// let mut main = Tree::new(&Arena::new()?);
/// let mut side = Tree::from_snapshot(&main.snapshot());
/// let begun = side.snapshot();
/// main.add_child(&[])?;
/// side.add_child(&[])?;
/// let (ours, options) = (side.snapshot(), MergeOptions::new());
/// let merged = merge(&begun, &ours, &main.snapshot(), &options)?;
/// let renumbered = merged.renumbering.then(&[]);
/// main.publish(merged.editor);
///
/// // What is /0 on the side is /1 here.
/// side.put_attribute(&[0.into()], "n", 1)?;
/// let base = MergeBase::of_ours(&ours, &renumbered)?;
/// let merged = merge_again(&base, &side.snapshot(), &main.snapshot(), &options)?;
/// assert_eq!(merged.changes.to_string(), "~ /1 @n = 1\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn merge_again(
    base: &MergeBase,
    ours: &Snapshot,
    theirs: &Snapshot,
    options: &MergeOptions,
) -> Result<Merged, MergeError> {
    merge_between(base.start(), [ours, theirs], options, Sides::GoOn)
}

/// What becomes of both sides afterwards.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sides {
    /// Nobody asks.
    End,
    /// They are merged again: the result is to have given what ours has.
    GoOn,
}

/// What both sides did, and which nodes of ours have given positions of which that says nothing.
type Told<'a> = (ChangeSet, ChangeSet, Vec<Gave<'a>>);

fn told<'a, C: Count>(
    start: Start<'a>,
    [ours, theirs]: [&'a Snapshot; 2],
    after: Sides,
    count: &mut C,
) -> Result<Told<'a>, C::Over> {
    let bases = [start.ours, start.theirs];
    let (of_ours, of_theirs) = diffs_to_merge(bases, [ours, theirs], count)?;
    let gave = match after {
        Sides::End => Vec::new(),
        Sides::GoOn => given::by_ours(start, ours, count)?,
    };
    Ok((of_ours, of_theirs, gave))
}

fn merge_between(
    start: Start<'_>,
    [ours, theirs]: [&Snapshot; 2],
    options: &MergeOptions,
    after: Sides,
) -> Result<Merged, MergeError> {
    if ours.root().is_same(theirs.root()) {
        return Ok(begun(theirs, Rebased::default())?);
    }
    let (of_ours, of_theirs, gave) = match options.steps() {
        Some(mut steps) => told(start, [ours, theirs], after, &mut steps)?,
        None => {
            let Ok(told) = told(start, [ours, theirs], after, &mut Unbounded);
            told
        }
    };
    let (rebased, places) = rebase_told(start, &of_ours, (&of_theirs, theirs), options, &gave);
    if options.is_symmetric() && start.renumbered.is_empty() {
        let sides = [(ours, &*of_ours), (theirs, &*of_theirs)];
        if let Some(merged) = symmetric::mirrored(start, sides, &rebased, options)? {
            return Ok(merged);
        }
    }
    let mut merged = begun(theirs, rebased)?;
    for (gave, place) in gave.iter().zip(places) {
        if let Some(path) = place {
            gave.skip(&mut merged.editor, &path, &mut merged.changes)?;
        }
    }
    Ok(merged)
}

/// Applies what became of our changes to theirs.
pub(super) fn begun(theirs: &Snapshot, rebased: Rebased) -> Result<Merged, ApplyError> {
    let mut editor = Editor::new(theirs.clone());
    apply(&mut editor, &rebased.changes)?;
    let Rebased { changes, conflicts, renamed, renumbering } = rebased;
    Ok(Merged { editor, changes, conflicts, renamed, renumbering })
}
