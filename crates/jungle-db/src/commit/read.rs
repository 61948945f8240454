//! What a transaction read: kept as questions, asked again of the newest version before a commit.
//! If every answer is still the same, the transaction would do the same again, so its changes may
//! go on top of what others did meanwhile.

use jungle_tree::{Key, Node, Path};

/// A question that a transaction asked of its base.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Read {
    /// Is there a node?
    Exists(Path),
    /// Is there a node that can have it as a child, and none there yet?
    Free(Path),
    /// What is this attribute?
    Attribute(Path, Box<str>),
    /// What are all attributes?
    Attributes(Path),
    /// Which keys do the children have?
    Children(Path),
    /// Which child is the last one?
    LastChild(Path),
    /// Which position does the next child get?
    NextPosition(Path),
    /// What is there, all the way down?
    Subtree(Path),
}

impl Read {
    pub(crate) fn path(&self) -> &Path {
        match self {
            Read::Exists(path)
            | Read::Free(path)
            | Read::Attribute(path, _)
            | Read::Attributes(path)
            | Read::Children(path)
            | Read::LastChild(path)
            | Read::NextPosition(path)
            | Read::Subtree(path) => path,
        }
    }

    /// Is the answer the same at both roots?
    pub(crate) fn holds(&self, then: Node<'_>, now: Node<'_>) -> bool {
        if let Read::Free(path) = self
            && let Some((_, parent)) = path.split_last()
            && find(then, parent).is_some() != find(now, parent).is_some()
        {
            return false;
        }
        let (then, now) = match (find(then, self.path()), find(now, self.path())) {
            (None, None) => return true,
            (Some(then), Some(now)) => (then, now),
            _ => return false,
        };
        if then.is_same(now) {
            return true;
        }
        match self {
            Read::Exists(_) | Read::Free(_) => true,
            Read::Attribute(_, key) => {
                then.has_same_attributes(now) || then.attribute(key) == now.attribute(key)
            }
            Read::Attributes(_) => {
                then.has_same_attributes(now) || then.attributes().eq(now.attributes())
            }
            Read::Children(_) => have_same_keys(then, now),
            Read::LastChild(_) => {
                then.last_child().map(|(key, _)| key) == now.last_child().map(|(key, _)| key)
            }
            Read::NextPosition(_) => then.next_position() == now.next_position(),
            Read::Subtree(_) => false,
        }
    }
}

fn find<'a>(root: Node<'a>, path: &[Key]) -> Option<Node<'a>> {
    root.at(path).ok()
}

fn have_same_keys(then: Node<'_>, now: Node<'_>) -> bool {
    // Who was told a position would be told another one after somebody took one away.
    then.next_position() == now.next_position()
        && then.fractions_taken() == now.fractions_taken()
        && then.lowest_position() == now.lowest_position()
        && then.differing_children(now).all(|(_, then, now)| then.is_some() && now.is_some())
}
