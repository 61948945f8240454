//! Conflicts in terms of documents.

use jungle::{Change, Conflict, ConflictKind, Path};

/// The member of the document that a conflict is about.
pub(crate) fn member_of(conflict: &Conflict) -> Path {
    match (&conflict.kind, &conflict.ours) {
        (
            ConflictKind::Attribute,
            Change::AttributePut { key, .. } | Change::AttributeRemoved { key, .. },
        ) if !key.is_empty() && !key.starts_with('\0') => conflict.path.join(&**key),
        _ => conflict.path.clone(),
    }
}
