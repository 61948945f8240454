//! The trees: how many children each level has, how they are built, and random paths in them.

use jungle_tree::{Arena, Cursor, EditError, Editor, Key, Tree};

use super::payload::{KEY, value_of};
use super::random::Random;

/// Has every node of a tree an attribute?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Payload {
    /// None has.
    Bare,
    /// Each has one.
    Attribute,
}

/// The fan-out of each level of a tree, the root's first.
#[derive(Clone, Copy, Debug)]
pub struct Shape(pub &'static [u64]);

/// A path to a leaf of tree R; written over again and again, so that a path costs no memory.
pub type LeafPath = [Key; 8];

/// A path to write over.
pub fn leaf_path() -> LeafPath {
    std::array::from_fn(|_| Key::from(0))
}

impl Shape {
    /// Tree R: 810,781 nodes, of which 675,000 are leaves.
    pub const READ: Shape = Shape(&[5, 5, 5, 5, 6, 5, 6, 6]);
    /// As deep as R: 1,327 nodes.
    pub const READ_TINY: Shape = Shape(&[2, 2, 2, 2, 3, 2, 3, 3]);
    /// Tree W: 10,005 nodes.
    pub const WRITE: Shape = Shape(&[4, 4, 4, 5, 5, 5]);
    /// As deep as W: 327 nodes.
    pub const WRITE_TINY: Shape = Shape(&[2, 2, 2, 3, 3, 3]);
    /// 1,011,111 nodes.
    pub const MILLION: Shape = Shape(&[10, 10, 10, 10, 10, 9]);
    /// As deep as that: 1,279 nodes.
    pub const MILLION_TINY: Shape = Shape(&[4, 4, 4, 4, 2, 1]);

    /// 4,044,441 nodes.
    pub const LARGE: Shape = Shape(&[40, 10, 10, 10, 10, 9]);
    /// As deep as that: 1,279 nodes.
    pub const LARGE_TINY: Shape = Shape::MILLION_TINY;

    /// How many nodes the tree has.
    pub fn nodes(self) -> u64 {
        self.0.iter().rev().fold(1, |below, fan_out| 1 + fan_out * below)
    }

    /// How many of them have no child.
    pub fn leaves(self) -> u64 {
        self.0.iter().product()
    }

    /// Fills the path of a random leaf; gives its number in the order of paths.
    #[inline]
    pub fn random_leaf(self, random: &mut Random, path: &mut [Key]) -> u64 {
        let mut number = 0;
        for (step, fan_out) in path.iter_mut().zip(self.0) {
            let position = random.below(*fan_out);
            *step = Key::from(position);
            number = number * fan_out + position;
        }
        number
    }

    /// Fills the path of the leaf of this number.
    pub fn leaf(self, mut number: u64, path: &mut Vec<Key>) {
        path.clear();
        for fan_out in self.0.iter().rev() {
            path.push(Key::from(number % fan_out));
            number /= fan_out;
        }
        path.reverse();
    }

    /// Fills the path of a random inner node; its depth is uniform.
    pub fn random_parent(self, random: &mut Random, path: &mut Vec<Key>) {
        let depth = random.below(self.0.len() as u64) as usize;
        path.clear();
        path.extend(self.0[..depth].iter().map(|fan_out| Key::from(random.below(*fan_out))));
    }

    /// A new tree of this shape, built depth first; its values bear their node's number among
    /// those of its depth, and the stamp 0.
    ///
    /// # Errors
    /// When there is no room.
    pub fn plant(self, arena: &Arena, payload: Payload) -> Result<Tree, EditError> {
        let mut tree = Tree::new(arena);
        tree.edit(|editor| self.grow(editor, payload))?;
        Ok(tree)
    }

    /// The same in an empty tree.
    ///
    /// # Errors
    /// When there is no room.
    pub fn grow(self, editor: &mut Editor, payload: Payload) -> Result<(), EditError> {
        self.grow_below(editor, &[], 0, payload)
    }

    /// The same below a node without children, which bears this number.
    ///
    /// # Errors
    /// When there is no room, or no such node.
    pub fn grow_below(
        self,
        editor: &mut Editor,
        path: &[Key],
        number: u64,
        payload: Payload,
    ) -> Result<(), EditError> {
        plant_below(&mut editor.cursor(path)?, self.0, number, payload)
    }
}

fn plant_below(
    cursor: &mut Cursor<'_>,
    levels: &[u64],
    number: u64,
    payload: Payload,
) -> Result<(), EditError> {
    if payload == Payload::Attribute {
        cursor.put_attribute(KEY, &value_of(number, 0)[..])?;
    }
    let Some((&fan_out, rest)) = levels.split_first() else { return Ok(()) };
    cursor.add_children(fan_out)?;
    if rest.is_empty() && payload == Payload::Bare {
        return Ok(());
    }
    for position in 0..fan_out {
        cursor.enter(&Key::from(position))?;
        plant_below(cursor, rest, number * fan_out + position, payload)?;
        cursor.leave();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use jungle_tree::Arena;

    use super::{Payload, Shape};

    #[test]
    fn the_trees_have_the_sizes_of_the_peers() {
        assert_eq!(Shape::READ.nodes(), 810_781);
        assert_eq!(Shape::READ.leaves(), 675_000);
        assert_eq!(Shape::WRITE.nodes(), 10_005);
        assert_eq!(Shape::MILLION.nodes(), 1_011_111);
        let arena = Arena::new().unwrap();
        for payload in [Payload::Bare, Payload::Attribute] {
            let tree = Shape::READ_TINY.plant(&arena, payload).unwrap();
            assert_eq!(tree.read().root().recount(), Shape::READ_TINY.nodes());
        }
    }
}
