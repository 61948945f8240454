//! Going through all that can be reached from a version: what a collection spares, and what a
//! measure counts.

use crate::arena::Memory;
use crate::attributes;
use crate::block::{self, Content, DIRECTORY, Directory, Header};

/// What was seen before.
pub(crate) trait Marks {
    /// Marks a block; `false` when there is no need to go on from it.
    fn block(&mut self, handle: u32) -> bool;

    /// Marks a record of payload; `false` when there is no need to go on from it.
    fn payload(&mut self, handle: u32) -> bool;
}

/// Marks what a node holds, and all that can be reached from that.
pub(crate) fn trace(memory: Memory<'_>, content: Content, marks: &mut impl Marks) {
    trace_attributes(memory, content.attrs, marks);
    let mut stack = vec![content.kids];
    while let Some(handle) = stack.pop() {
        if handle == 0 || !marks.block(handle) {
            continue;
        }
        let header = Header::load(memory, handle);
        if header.kind() == DIRECTORY {
            let Directory { dense, named, .. } = Directory::load(memory, handle);
            stack.extend([dense, named]);
            continue;
        }
        let first = header.names();
        let attrs = first + header.kids().count_ones() as usize;
        block::each_entry(memory, handle, first, attrs, |kid| {
            block::prefetch(memory, kid);
            stack.push(kid);
        });
        if header.is_leaf() {
            block::each_entry(memory, handle, 0, first, |name| {
                marks.payload(name);
            });
            for entry in attrs..header.entries() {
                trace_attributes(memory, block::entry(memory, handle, entry), marks);
            }
        }
    }
}

fn trace_attributes(memory: Memory<'_>, record: u32, marks: &mut impl Marks) {
    if record == 0 || !marks.payload(record) {
        return;
    }
    attributes::apart_of(memory, record, |apart| {
        marks.payload(apart);
    });
}
