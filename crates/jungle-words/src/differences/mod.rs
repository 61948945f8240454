//! What differs between two versions as documents: what is an attribute in one and a child in the
//! other is the same member, and what replaces something of another kind is one difference.

mod exact;
mod find;
mod json;
mod moves;

use jungle_json::Member;
use jungle_tree::Path;

pub use find::{differences, differences_by};
pub use json::write_json;
pub use moves::Moves;

/// A difference at a path, which is that in the document after. What was removed is at its key in
/// what its parent is after: that parent may have been moved. [`differences`] finds them.
#[derive(Clone, Debug)]
pub struct Difference<'a> {
    /// Where.
    pub path: Path,
    /// What happened there.
    pub what: What<'a>,
}

/// What happened at a path: see [`Difference`].
#[derive(Clone, Debug)]
pub enum What<'a> {
    /// It was not there before.
    Added(Member<'a>),
    /// It was there before.
    Removed(Member<'a>),
    /// It was this, and is that.
    Changed(Member<'a>, Member<'a>),
    /// It was at this path in the document before.
    Moved(Path),
}
