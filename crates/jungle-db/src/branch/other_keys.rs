//! Which nodes have other keys on the one of two branches than on the other.

use std::sync::Arc;

use jungle_tree::{Key, KeyRef, Renumbered};

/// So many nodes of two branches may have other keys on the one than on the other, if they are to
/// be merged again: each merge writes all of them down. Fewer where their paths are long, some
/// 600 kB of keys in all.
pub const RENUMBERED_MAX: usize = 1 << 16;

/// With more, each further merge, however small, would be longer than what the log of a cluster
/// takes at once.
const RENUMBERED_BYTES_MAX: usize = 640 << 10;

/// The nodes of a version that have other keys on another branch.
///
/// ```
/// use jungle_db::OtherKeys;
/// use jungle_tree::Renumbered;
/// let node = Renumbered { path: "/0".parse()?, key: 1.into() };
/// assert_eq!(OtherKeys::Told([node.clone()].into()).nodes(), [node]);
/// assert!(OtherKeys::default().nodes().is_empty() && OtherKeys::TooMany.nodes().is_empty());
/// # Ok::<(), jungle_tree::ParsePathError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OtherKeys {
    /// These, of which there may be none: at most [`RENUMBERED_MAX`].
    Told(Arc<[Renumbered]>),
    /// More than are told, so that the two branches are not merged again. Not even some of them are
    /// told: the others would be taken for new nodes as soon as so many of these are erased that
    /// they are not too many any more.
    TooMany,
}

impl OtherKeys {
    /// These, unless they are too many, or their paths too long.
    pub(crate) fn of(nodes: Vec<Renumbered>) -> OtherKeys {
        let bytes = |key: &Key| match key.as_ref() {
            KeyRef::Name(name) => 4 + name.len(),
            // Seven bits a byte, of which three are its sign and its kind; and how many digits.
            KeyRef::Position(index, digits) => {
                let bits = 3 + 64 - index.unsigned_abs().leading_zeros();
                bits.div_ceil(7) as usize + 1 + digits.len()
            }
        };
        let keys = nodes.iter().flat_map(|node| node.path.iter().chain([&node.key]));
        if nodes.len() > RENUMBERED_MAX || keys.map(bytes).sum::<usize>() > RENUMBERED_BYTES_MAX {
            return OtherKeys::TooMany;
        }
        OtherKeys::Told(nodes.into())
    }

    /// Those that are told.
    #[must_use]
    pub fn nodes(&self) -> &[Renumbered] {
        match self {
            OtherKeys::Told(nodes) => nodes,
            OtherKeys::TooMany => &[],
        }
    }
}

impl Default for OtherKeys {
    /// None.
    fn default() -> OtherKeys {
        OtherKeys::Told(Arc::default())
    }
}
