//! Subtrees as bytes: each node in front of its children.
//!
//! A node is: a number whose lowest bit says whether children follow and whose other bits count
//! the attributes; the attributes, key and value; if children follow, how many, the position that
//! the next child added will get (which may be beyond all of them, since positions are never used
//! again), and then each child's key and the child.

use jungle_db::TreeId;
use jungle_tree::{Arena, Cursor, EditError, Editor, Key, Node, Subtree, Tree};

use super::decode::{key, value};
use super::{DecodeError, DecodeReason, encode};
use crate::wire::{Input, put_bytes, put_varint, zigzag};

pub(super) fn put(node: Node<'_>, out: &mut Vec<u8>) {
    let mut walk = node.walk();
    while let Some(node) = walk.next() {
        if let Some(key) = walk.key() {
            encode::key(key, out);
        }
        let has_children = node.has_children() || node.next_position() != 0;
        put_varint(out, (node.attributes().count() as u64) << 1 | u64::from(has_children));
        for (key, value) in node.attributes() {
            put_bytes(out, key.as_bytes());
            encode::value(value, out);
        }
        if has_children {
            put_varint(out, node.child_count());
            put_varint(out, zigzag(node.next_position()));
        }
    }
}

/// A node whose children are being read.
struct Open {
    left: u64,
    next_position: i64,
}

/// Reads a subtree that is put into the tree `of`, which its attribute keys are counted for.
pub(super) fn read(
    input: &mut Input<'_>,
    arena: &Arena,
    of: TreeId,
) -> Result<Subtree, DecodeError> {
    let mut tree = Tree::new(arena);
    tree.count_keys(of.0);
    let mut editor = Editor::new(tree.snapshot());
    let cursor = editor.cursor(&[]);
    build(input, &mut cursor.map_err(|error| refused(input, error))?)?;
    tree.publish(editor);
    Ok(Subtree::new(&tree.snapshot(), &[]).expect("a tree has a root"))
}

fn build(input: &mut Input<'_>, cursor: &mut Cursor<'_>) -> Result<(), DecodeError> {
    let mut open = vec![node(input, cursor)?];
    while let Some(parent) = open.last_mut() {
        if parent.left == 0 {
            raise(cursor, parent.next_position).map_err(|error| refused(input, error))?;
            open.pop();
            cursor.leave();
            continue;
        }
        parent.left -= 1;
        let key = key(input)?;
        cursor.insert_child(&key).map_err(|error| refused(input, error))?;
        cursor.enter(&key).map_err(|error| refused(input, error))?;
        open.push(node(input, cursor)?);
    }
    Ok(())
}

/// Reads what is before the children of the node where the cursor is.
fn node(input: &mut Input<'_>, cursor: &mut Cursor<'_>) -> Result<Open, DecodeError> {
    let first = input.varint()?;
    for _ in 0..first >> 1 {
        let name = input.text()?;
        cursor.put_attribute(name, &value(input)?).map_err(|error| refused(input, error))?;
    }
    if first & 1 == 0 {
        return Ok(Open { left: 0, next_position: 0 });
    }
    Ok(Open { left: input.varint()?, next_position: input.signed()? })
}

/// Sees to it that no position below this one is given again.
fn raise(cursor: &mut Cursor<'_>, next_position: i64) -> Result<(), EditError> {
    if cursor.node().next_position() < next_position {
        let last = Key::try_position(next_position - 1).map_err(EditError::Key)?;
        cursor.insert_child(&last)?;
        cursor.remove_child(&last)?;
    }
    Ok(())
}

fn refused(input: &Input<'_>, error: EditError) -> DecodeError {
    input.error(DecodeReason::Subtree(error))
}
