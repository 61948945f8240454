//! Whether changes can be done elsewhere just as they are, looked up rather than worked out.

use super::change::Change;
use crate::key::Key;
use crate::node::Node;

/// Is everything that these changes replace or rely on the same at both roots? Then doing them on
/// the one or on the other is the same, and they need not be [rebased](crate::rebase_onto). It
/// takes as long as looking at the places they name, however much others have changed elsewhere;
/// `false` says only that they have to be rebased.
///
/// What the changes themselves made is not there at `then`, and is covered by the change that made
/// it. A position that is [signed](crate::Signature) was drawn once, and is free where it is not in
/// use; any other must have been the next one at both.
///
/// ```
/// use jungle_tree::{Arena, Change, Tree, diff, stands};
/// let mut tree = Tree::new(&Arena::new()?);
/// let base = tree.snapshot();
/// tree.put_attribute(&[], "title", "Hello")?;
/// let theirs = tree.snapshot();
/// let ours = Change::ChildAdded { path: "/~a".parse()? };
/// assert!(stands(&[ours], base.root(), theirs.root()));
/// assert!(!stands(&diff(&base, &theirs), base.root(), theirs.root()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn stands(changes: &[Change], then: Node<'_>, now: Node<'_>) -> bool {
    changes.iter().all(|change| match change {
        Change::ChildAdded { path } => match path.split_last() {
            Some((key, parent)) => both(then, now, parent, |then, now| {
                then.child(key).is_some() == now.child(key).is_some()
                    && (is_drawn_once(key) || give_the_same(then, now))
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

/// Is nobody given this key but whoever made this change?
fn is_drawn_once(key: &Key) -> bool {
    match key {
        Key::Name(_) => true,
        Key::Position(position) => position.is_signed(),
    }
}

/// Is a new child given the same position by both, wherever it goes?
fn give_the_same(then: Node<'_>, now: Node<'_>) -> bool {
    then.positions_given() == now.positions_given()
}

fn both<'a>(
    then: Node<'a>,
    now: Node<'a>,
    path: &[Key],
    is_same: impl FnOnce(Node<'a>, Node<'a>) -> bool,
) -> bool {
    match (then.at(path), now.at(path)) {
        (Ok(then), Ok(now)) => is_same(then, now),
        (Ok(_), Err(_)) => false,
        (Err(_), _) => true,
    }
}
