//! Going through all that can be reached from a version: what a collection spares, and what a
//! measure counts.

use std::ops::ControlFlow::{self, Continue};

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

/// So many blocks are gone through before it is asked again whether to go on.
const ASKED_EVERY: u64 = 1024;

/// Whoever wants to know may not want to any more: is asked now and then.
pub(crate) struct Asked<'a> {
    go_on: &'a mut dyn FnMut() -> ControlFlow<()>,
    blocks: u64,
}

impl<'a> Asked<'a> {
    pub(crate) fn new(go_on: &'a mut dyn FnMut() -> ControlFlow<()>) -> Asked<'a> {
        Asked { go_on, blocks: 0 }
    }

    fn block(&mut self) -> ControlFlow<()> {
        self.blocks += 1;
        match self.blocks.is_multiple_of(ASKED_EVERY) {
            true => (self.go_on)(),
            false => Continue(()),
        }
    }
}

/// Marks what a node holds, and all that can be reached from that, unless it is given up.
pub(crate) fn trace(
    memory: Memory<'_>,
    content: Content,
    marks: &mut impl Marks,
    asked: &mut Asked<'_>,
) -> ControlFlow<()> {
    trace_attributes(memory, content.attrs, marks);
    let mut stack = vec![content.kids];
    while let Some(handle) = stack.pop() {
        asked.block()?;
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
    Continue(())
}

fn trace_attributes(memory: Memory<'_>, record: u32, marks: &mut impl Marks) {
    if record == 0 || !marks.payload(record) {
        return;
    }
    attributes::apart_of(memory, record, |apart| {
        marks.payload(apart);
    });
}
