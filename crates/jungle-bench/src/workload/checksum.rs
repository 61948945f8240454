//! One number for all that a tree holds: the peers', of the same content, is the same.

use jungle_tree::{KeyRef, Node};

/// Goes on from `sum` with a node and all below it, parents first: how many attributes it has,
/// their keys and values, how many children, and before each of them the key.
pub fn checksum(sum: u32, node: Node<'_>) -> u32 {
    let mut sum = mix(sum, node.attributes().count() as u32);
    for (key, value) in node.attributes() {
        let value = value.as_bytes().unwrap_or_default();
        sum = key.bytes().chain(value.iter().copied()).fold(sum, mix_byte);
    }
    sum = mix(sum, node.child_count() as u32);
    for (key, child) in node.children() {
        sum = match key {
            KeyRef::Position(index, fraction) => {
                fraction.iter().copied().fold(mix(sum, index as u32), mix_byte)
            }
            KeyRef::Name(name) => name.bytes().fold(sum, mix_byte),
        };
        sum = checksum(sum, child);
    }
    sum
}

fn mix_byte(sum: u32, byte: u8) -> u32 {
    mix(sum, byte.into())
}

fn mix(sum: u32, number: u32) -> u32 {
    sum.wrapping_mul(31).wrapping_add(number)
}

#[cfg(test)]
mod tests {
    use jungle_tree::{Arena, Key, Tree};

    use super::checksum;
    use crate::workload::{KEY, value_of};

    /// The numbers were worked out apart from this.
    #[test]
    fn it_is_of_attributes_keys_and_structure() {
        let mut tree = Tree::new(&Arena::new().unwrap());
        let of = |tree: &Tree| checksum(0, tree.snapshot().root());
        assert_eq!(of(&tree), 0);
        tree.put_attribute(&[], KEY, &value_of(1, 2)[..]).unwrap();
        (0..2).for_each(|_| drop(tree.add_child(&[]).unwrap()));
        tree.add_child(&[Key::from(1)]).unwrap();
        assert_eq!(of(&tree), 525_999_706);
        // The same elsewhere, with another key, and with another value.
        let mut sums = vec![of(&tree)];
        tree.remove(&[Key::from(1), Key::from(0)]).unwrap();
        tree.add_child(&[Key::from(0)]).unwrap();
        sums.push(of(&tree));
        tree.remove(&[Key::from(0), Key::from(0)]).unwrap();
        tree.add_child(&[Key::from(0)]).unwrap();
        sums.push(of(&tree));
        tree.put_attribute(&[], KEY, &value_of(1, 3)[..]).unwrap();
        sums.push(of(&tree));
        sums.sort_unstable();
        sums.dedup();
        assert_eq!(sums.len(), 4);
        assert_ne!(checksum(1, tree.snapshot().root()), of(&tree), "it goes on");
    }
}
