//! Commits that are the same wherever in the log they come.

use jungle_tree::{Change, Key};

use crate::commit::read::Read;

/// The node that changes put where there is none, if all they do is in it, and nobody else is given
/// its key: it has a name, or a [signed](jungle_tree::Signature) position. A message on a board is
/// one. Such changes [stand](jungle_tree::stands) wherever there is the parent and not yet the
/// node.
///
/// ```
/// use jungle_db::added_node;
/// use jungle_tree::{Change, Value};
/// let added = Change::ChildAdded { path: "/~ana".parse()? };
/// let named = |path: &str| Change::AttributePut {
///     path: path.parse().unwrap(),
///     key: "name".into(),
///     value: Value::from("Ana"),
/// };
/// assert_eq!(added_node(&[added.clone(), named("/~ana")]).map(|path| path.len()), Some(1));
/// assert_eq!(added_node(&[added, named("/~ben")]), None);
/// assert_eq!(added_node(&[Change::ChildAdded { path: "/0".parse()? }]), None);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn added_node(changes: &[Change]) -> Option<&[Key]> {
    let (Change::ChildAdded { path: added }, rest) = changes.split_first()? else { return None };
    let is_drawn_once = match added.last()? {
        Key::Name(_) => true,
        Key::Position(position) => position.is_signed(),
    };
    let is_within = |change: &Change| match change {
        Change::ChildAdded { path } | Change::AttributePut { path, .. } => path.starts_with(added),
        _ => false,
    };
    (is_drawn_once && rest.iter().all(is_within)).then_some(added)
}

/// Does a commit with these changes add one node, and was all that it read of others whether that
/// can be put there?
pub(crate) fn is_anywhere(changes: &[Change], reads: &[Read]) -> bool {
    added_node(changes).is_some_and(|added| {
        reads.iter().all(|read| match read {
            Read::Exists(path) => path.len() < added.len() && added.starts_with(path),
            Read::Free(path) => **path == *added,
            _ => false,
        })
    })
}
