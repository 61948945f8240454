//! Editing: a zipper that goes down a path, changes what it finds, and copies the path on its way
//! back up.
//!
//! A block born in the running edit is changed in place, any other is copied, and the copy takes
//! its place in the block above. Nothing is written on the way down, so an edit that fails there
//! has changed nothing.

mod children;
mod cursor;
mod editor;
mod error;
mod ops;
mod slots;
mod straight;

pub use cursor::Cursor;
pub use editor::{Editor, Place};
pub use error::EditError;

use crate::arena::{Allocator, Memory, SLAB_WORDS};
use crate::attributes;
use crate::block::{self, Content, DIRECTORY, Header, Record};
use crate::children::{Step, locate};
use crate::key::{Key, KeyRef};
use crate::line::Dead;
use crate::planted::{Bug, is_awake};
use crate::value::{ATTRIBUTE_KEY_BYTES_MAX, ValueRef};

/// What an edit needs for its duration, kept between edits for the memory it has.
#[derive(Default)]
pub(crate) struct Buffers {
    frames: Vec<Frame>,
    steps: Vec<Step>,
    /// The keys of the frames but the root's.
    path: Vec<Key>,
    /// How many nodes the tree has, as edited so far.
    nodes: u64,
    pub(crate) dead: Vec<Dead>,
    pub(crate) bytes: Vec<u8>,
    pub(crate) blocks: Vec<u32>,
}

/// A node on the path from the root to where the edit is.
#[derive(Clone, Copy)]
struct Frame {
    /// Where it lies: the leaf block and the slot in it.
    leaf: Step,
    /// Where the steps to that block begin, from its parent's children block on.
    steps_from: u32,
    /// By how much the number of nodes below it has changed (as many as fit a tree at most).
    added: i32,
    /// What the node held when the edit came by, and what it holds now.
    was: Content,
    now: Content,
}

/// Finds a child; the steps to it go to the list, the last one is given.
#[inline(never)]
fn locate_steps(
    arena: Memory<'_>,
    kids: u32,
    key: KeyRef<'_>,
    steps: &mut Vec<Step>,
) -> Option<(Step, Content)> {
    let from = steps.len();
    let Some(content) = locate(arena, kids, key, |step| steps.push(step)) else {
        steps.truncate(from);
        return None;
    };
    Some((steps.pop().expect("a child lies somewhere"), content))
}

/// Subtrees up to this size are retired node by node when they are removed; larger ones are left
/// to the collection, so that removing costs the same whatever is removed.
const RETIRE_NODES_MAX: u32 = 1024;

/// What is visited below a block.
#[derive(Clone, Copy)]
struct Looks {
    /// Only blocks that were born in this version, and what is in them.
    born: Option<u64>,
    /// Also records that are not loaded yet.
    loads: bool,
}

impl Looks {
    fn at(self, arena: Memory<'_>, record: u32) -> bool {
        self.loads || !arena.inner.payload.is_absent(record as usize / SLAB_WORDS)
    }
}

/// A running edit of one version.
pub(crate) struct Edit<'a> {
    pub(crate) arena: Memory<'a>,
    pub(crate) allocator: &'a mut Allocator,
    /// The version being made; what was born in it belongs to this edit alone.
    pub(crate) version: u64,
    /// The block whose only slot is the root node.
    pub(crate) root: u32,
    /// Does the edit stay where it was, for the next call to go on from there?
    stays: bool,
}

impl<'a> Edit<'a> {
    pub(crate) fn new(
        arena: Memory<'a>,
        allocator: &'a mut Allocator,
        version: u64,
        root: u32,
    ) -> Edit<'a> {
        Edit { arena, allocator, version, root, stays: true }
    }

    /// An edit of one call, which comes back at once.
    #[inline(always)]
    pub(crate) fn once(
        arena: Memory<'a>,
        allocator: &'a mut Allocator,
        version: u64,
        root: u32,
    ) -> Edit<'a> {
        Edit { arena, allocator, version, root, stays: false }
    }

    /// A tree of one bare node.
    pub(crate) fn empty(arena: Memory<'_>, allocator: &mut Allocator, version: u64) -> u32 {
        let header = Header::new(0, version).with_bits(1, 0, 0).with_count(1);
        let root = allocator.take_block(arena, header.words());
        header.store(arena, root);
        root
    }

    /// A version with the content of another.
    pub(crate) fn copy_root(
        arena: Memory<'_>,
        allocator: &mut Allocator,
        version: u64,
        root: u32,
    ) -> u32 {
        let header = Header::load(arena, root);
        let copy = allocator.take_block(arena, header.words());
        block::copy_entries(block::loaded(arena, root), block::loaded(arena, copy), header.words());
        header.with_birth(version).store(arena, copy);
        copy
    }

    /// Goes to the node at `path` from wherever the edit is: up to the last node on the way to
    /// both, then down, so edits near each other cost little. An error has changed nothing.
    #[inline]
    pub(crate) fn go(&mut self, path: &[Key]) -> Result<(), EditError> {
        let buffers = &mut self.allocator.buffers;
        if buffers.frames.is_empty() {
            self.go_root();
        } else {
            let common = path.iter().zip(&buffers.path).take_while(|(a, b)| a.is_same(b)).count();
            while self.allocator.buffers.path.len() > common {
                self.leave();
            }
        }
        for depth in self.allocator.buffers.path.len()..path.len() {
            if !self.enter(&path[depth]) {
                return Err(EditError::no_such_node(path, depth));
            }
        }
        Ok(())
    }

    /// Goes to the root.
    #[inline(always)]
    pub(crate) fn go_root(&mut self) {
        let header = Header::load(self.arena, self.root);
        let content = block::content(self.arena, self.root, header, 0);
        let buffers = &mut self.allocator.buffers;
        buffers.frames.clear();
        buffers.steps.clear();
        buffers.path.clear();
        buffers.nodes = u64::from(header.count());
        let leaf = Step::new(self.root, header, 0);
        buffers.frames.push(Frame { leaf, steps_from: 0, added: 0, was: content, now: content });
    }

    /// Goes to a child of where the edit is; `false` when there is none of this key.
    #[inline(always)]
    pub(crate) fn enter(&mut self, key: &Key) -> bool {
        let kids = self.here().kids;
        let Buffers { frames, steps, path, .. } = &mut self.allocator.buffers;
        let steps_from = steps.len() as u32;
        let found = match key.small_position() {
            // First what is most common: up to 16 children by position.
            Some(slot) if kids != 0 && Header::load(self.arena, kids).kind() == 0 => {
                let header = Header::load(self.arena, kids);
                let is_there = header.present() >> slot & 1 == 1;
                is_there.then(|| Step::dense(self.arena, kids, header, slot))
            }
            _ => locate_steps(self.arena, kids, key.as_ref(), steps),
        };
        let Some((leaf, content)) = found else { return false };
        frames.push(Frame { leaf, steps_from, added: 0, was: content, now: content });
        if self.stays {
            path.push(key.clone());
        }
        true
    }

    /// The path to where the edit is.
    pub(crate) fn path(&self) -> &[Key] {
        &self.allocator.buffers.path
    }

    fn frame(&mut self) -> &mut Frame {
        self.allocator.buffers.frames.last_mut().expect("an edit that goes somewhere has a frame")
    }

    /// What the node where the edit is holds now.
    #[inline(always)]
    pub(crate) fn here(&self) -> Content {
        self.allocator.buffers.frames.last().map_or(Content::default(), |frame| frame.now)
    }

    /// Forgets where the edit is, without a change.
    pub(crate) fn forget(&mut self) {
        self.allocator.buffers.frames.clear();
        self.allocator.buffers.steps.clear();
        self.allocator.buffers.path.clear();
    }

    /// Goes up to the parent, and tells it what has changed.
    #[inline(always)]
    pub(crate) fn leave(&mut self) {
        let frame = self.allocator.buffers.frames.pop().expect("left no more often than entered");
        self.allocator.buffers.path.pop();
        let from = frame.steps_from as usize;
        if frame.was == frame.now && frame.added == 0 {
            self.allocator.buffers.steps.truncate(from);
            return;
        }
        let added = i64::from(frame.added);
        let block = self.set_content(frame.leaf, frame.was, frame.now, added);
        let block = self.replace_up(from, block, added);
        match self.allocator.buffers.frames.last_mut() {
            Some(parent) => {
                parent.now.kids = block;
                if is_awake(Bug::CountNotPropagated) {
                    return;
                }
                parent.added = parent.added.wrapping_add(frame.added);
            }
            None => self.root = block,
        }
    }

    /// Goes back up the steps from the last to the one at `from`: the block that each leads to has
    /// been replaced by another, with `added` nodes more. Gives what replaces the topmost.
    #[inline(always)]
    fn replace_up(&mut self, from: usize, replaced: u32, added: i64) -> u32 {
        let mut replaced = replaced;
        while self.allocator.buffers.steps.len() > from {
            let step = self.allocator.buffers.steps.pop().expect("counted in the condition");
            replaced = self.set_block(step, replaced, added);
        }
        replaced
    }

    /// Goes up until the edit is nowhere: the root is the new one then.
    #[inline(always)]
    pub(crate) fn leave_all(&mut self) {
        while !self.allocator.buffers.frames.is_empty() {
            self.leave();
        }
    }

    /// Replaces the node's children, `added` nodes more than before.
    fn set_kids(&mut self, kids: u32, added: i64) {
        let frame = self.frame();
        frame.now.kids = kids;
        frame.added = frame.added.wrapping_add(added as i32);
        let nodes = &mut self.allocator.buffers.nodes;
        *nodes = nodes.wrapping_add_signed(added);
    }

    /// Is there room for this many more nodes, or for something else to be added?
    #[inline(always)]
    pub(crate) fn check_room(&self, nodes: u64) -> Result<(), EditError> {
        if self.allocator.buffers.nodes + nodes > u64::from(u32::MAX) {
            return Err(EditError::TreeFull);
        }
        if !self.arena.has_room(self.blocks_written()) {
            return Err(EditError::ArenaFull);
        }
        Ok(())
    }

    /// Is there room for what is above something that goes? It is asked when that was found.
    pub(crate) fn check_room_to_remove(&self) -> Result<(), EditError> {
        if !self.arena.has_room_to_remove(self.blocks_written()) {
            return Err(EditError::ArenaFull);
        }
        Ok(())
    }

    /// What lies on the way here is written anew on the way back; the same again for another place,
    /// of which it is asked before.
    #[inline(always)]
    fn blocks_written(&self) -> usize {
        2 * (self.allocator.buffers.frames.len() + self.allocator.buffers.steps.len())
    }

    /// Puts an attribute of the node where the edit is.
    #[inline]
    pub(crate) fn put_attribute(
        &mut self,
        key: &str,
        value: ValueRef<'_>,
    ) -> Result<(), EditError> {
        let record = self.with_attribute(self.here().attrs, key, value)?;
        self.frame().now.attrs = record;
        Ok(())
    }

    /// The attributes in `record` (0: none) with one more, or one changed.
    #[inline]
    pub(crate) fn with_attribute(
        &mut self,
        record: u32,
        key: &str,
        value: ValueRef<'_>,
    ) -> Result<u32, EditError> {
        value.check().map_err(EditError::Value)?;
        let bytes = value.as_bytes().or(value.as_text().map(str::as_bytes)).map_or(0, <[u8]>::len);
        self.check_room(0)?;
        let symbol = self.symbol(key)?;
        if record != 0 {
            let words = attributes::words_with(self.arena, record, bytes);
            if words > attributes::ATTRIBUTES_WORDS_MAX {
                return Err(EditError::TooManyAttributes);
            }
        }
        attributes::put(self, record, symbol, value).ok_or(EditError::ArenaFull)
    }

    /// Removes an attribute of the node where the edit is; `false` when it has none of this key.
    pub(crate) fn remove_attribute(&mut self, key: &str) -> Result<bool, EditError> {
        let record = self.here().attrs;
        if record == 0 {
            return Ok(false);
        }
        let Some(record) = attributes::remove(self, record, key)? else {
            return Ok(false);
        };
        self.frame().now.attrs = record;
        Ok(true)
    }

    /// The number of an attribute key.
    #[inline]
    fn symbol(&mut self, key: &str) -> Result<u32, EditError> {
        if key.len() > ATTRIBUTE_KEY_BYTES_MAX {
            return Err(EditError::AttributeKeyTooLong { bytes: key.len() });
        }
        // Nearly all edits use few keys: remember some by length and their last eight bytes.
        let tail = key.as_bytes().last_chunk::<8>().map_or(0, |tail| u64::from_le_bytes(*tail));
        let hash = (tail ^ key.len() as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 58;
        let cached = &mut self.allocator.keys[hash as usize];
        if *cached != u32::MAX && self.arena.symbols.text(*cached) == key {
            return Ok(*cached);
        }
        let by = self.allocator.bringer;
        let number = self.arena.symbols.intern(key, by).map_err(EditError::too_many_keys)?;
        *cached = number;
        Ok(number)
    }

    /// Something is no longer used by the version being made.
    #[inline(always)]
    pub(crate) fn retire(&mut self, dead: Dead) {
        if dead.birth == self.version {
            self.allocator.free(self.arena, dead);
        } else {
            self.allocator.buffers.dead.push(dead);
        }
    }

    pub(crate) fn retire_block(&mut self, handle: u32) {
        self.retire(Dead::block(handle, Header::load(self.arena, handle)));
    }

    pub(crate) fn retire_record(&mut self, record: u32) {
        self.retire(Dead::record(record, Record::load(self.arena, record)));
    }

    /// A removed node's content is no longer used, nor is anything below it.
    pub(crate) fn retire_subtree(&mut self, content: Content) {
        if block::count(self.arena, content.kids) > RETIRE_NODES_MAX {
            // Bytes a node of a tree without attributes, about.
            self.arena.add_garbage(u64::from(block::count(self.arena, content.kids)) * 8);
            return;
        }
        self.visit_subtree(content, |edit, dead| edit.retire(dead));
    }

    /// Frees what this edit has made: nobody else has seen it.
    pub(crate) fn abandon(&mut self) {
        self.leave_all();
        self.allocator.buffers.dead.clear();
        let version = self.version;
        let root = self.root;
        if block::birth(self.arena, root) == version {
            // What is not loaded is not of this edit, which would have written it.
            let looks = Looks { born: Some(version), loads: !self.arena.inner.payload.is_lazy() };
            self.visit_blocks(root, looks, &mut |edit, dead| {
                if dead.birth == version {
                    edit.allocator.free(edit.arena, dead);
                }
            });
        }
    }

    fn visit_subtree(&mut self, content: Content, mut seen: impl FnMut(&mut Self, Dead)) {
        let looks = Looks { born: None, loads: true };
        if content.attrs != 0 {
            self.visit_attributes(content.attrs, looks, &mut seen);
        }
        if content.kids != 0 {
            self.visit_blocks(content.kids, looks, &mut seen);
        }
    }

    fn visit_attributes(
        &mut self,
        record: u32,
        looks: Looks,
        seen: &mut impl FnMut(&mut Self, Dead),
    ) {
        let arena = self.arena;
        if looks.at(arena, record) {
            attributes::apart_of(arena, record, |apart| self.visit_record(apart, looks, seen));
            self.visit_record(record, looks, seen);
        }
    }

    fn visit_record(&mut self, record: u32, looks: Looks, seen: &mut impl FnMut(&mut Self, Dead)) {
        if looks.at(self.arena, record) {
            seen(self, Dead::record(record, Record::load(self.arena, record)));
        }
    }

    /// Everything below a block, the block itself last.
    fn visit_blocks(&mut self, root: u32, looks: Looks, seen: &mut impl FnMut(&mut Self, Dead)) {
        let arena = self.arena;
        let mut blocks = std::mem::take(&mut self.allocator.buffers.blocks);
        blocks.clear();
        blocks.push(root);
        while let Some(block) = blocks.pop() {
            let header = Header::load(arena, block);
            if looks.born.is_some_and(|born| born != header.birth()) {
                continue;
            }
            if header.kind() == DIRECTORY {
                let directory = block::Directory::load(arena, block);
                blocks.extend([directory.dense, directory.named].iter().filter(|&&b| b != 0));
            } else {
                let kids = header.names()..header.names() + header.kids().count_ones() as usize;
                blocks.extend(kids.clone().map(|entry| block::entry(arena, block, entry)));
                if header.is_leaf() {
                    for entry in kids.end..header.entries() {
                        self.visit_attributes(block::entry(arena, block, entry), looks, seen);
                    }
                    for entry in 0..header.names() {
                        self.visit_record(block::entry(arena, block, entry), looks, seen);
                    }
                }
            }
            seen(self, Dead::block(block, header));
        }
        self.allocator.buffers.blocks = blocks;
    }
}
