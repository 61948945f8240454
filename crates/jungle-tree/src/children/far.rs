//! Paths followed side by side. The last levels of a path are likely far, outside of the cache;
//! each can be asked for only when the one above has come, and meanwhile other paths are followed.

use super::{child, kids_of_child};
use crate::arena::Memory;
use crate::block::{self, Content};
use crate::key::Key;

/// So many levels at the end of a path are far; those above are few blocks.
const FAR_LEVELS: usize = 3;
/// How many paths are followed side by side.
const SIDE_BY_SIDE: usize = 32;

/// Tells what the nodes at many paths from a node hold, in order, with their attributes asked for.
#[inline(always)]
pub(crate) fn each_at(
    arena: Memory<'_>,
    from: Content,
    paths: &[&[Key]],
    mut found: impl FnMut(Option<Content>),
) {
    let follow = |kids, key: &Key| kids_of_child(arena, kids, key);
    for paths in paths.chunks(SIDE_BY_SIDE) {
        let mut kids = [0; SIDE_BY_SIDE];
        for (kids, path) in kids.iter_mut().zip(paths) {
            let near = path.len().saturating_sub(FAR_LEVELS);
            *kids = path[..near].iter().fold(from.kids, follow);
            block::prefetch(arena, *kids);
        }
        for far in (2..=FAR_LEVELS).rev() {
            for (kids, path) in kids.iter_mut().zip(paths) {
                let Some(at) = path.len().checked_sub(far) else { continue };
                *kids = follow(*kids, &path[at]);
                block::prefetch(arena, *kids);
            }
        }
        let mut contents = [None; SIDE_BY_SIDE];
        for ((content, &kids), path) in contents.iter_mut().zip(&kids).zip(paths) {
            *content = path.last().map_or(Some(from), |key| child(arena, kids, key));
            block::prefetch_record(arena, content.unwrap_or_default().attrs);
        }
        contents[..paths.len()].iter().for_each(|&content| found(content));
    }
}
