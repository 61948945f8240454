//! Reclaiming by tracing what no line can reclaim by itself: subtrees shared between lines, large
//! removed subtrees, trees that were dropped, versions let go by a history.
//!
//! Roots are noted while no edit runs (for microseconds); marking and sweeping go on beside
//! readers and writers. That is sound because
//! - what is reachable from a noted root is not reused meanwhile: `frozen` holds back the lines'
//!   own reuse of what was born before the collection began;
//! - what was born after it began (`cut`), or in an edit that was under way, is left alone;
//! - what a line has queued is left alone: its header says so (`BIRTH_QUEUED`);
//! - anything else that is not marked can't be reached from any version that can still be seen,
//!   so nobody but the sweep can touch it.

mod heap;
#[cfg(test)]
mod tests;

use std::ops::ControlFlow::{self, Continue};
use std::sync::MutexGuard;
use std::sync::atomic::Ordering;

use self::heap::{Bits, Heap};
use crate::arena::{Arena, ArenaInner, lock};
use crate::block::{Content, Header, Record};
use crate::trace::{Asked, Marks, trace};
use crate::tree::VersionId;

/// What a collection reclaimed.
///
/// ```
/// use jungle_tree::{Arena, Tree};
/// let arena = Arena::new()?;
/// let mut tree = Tree::new(&arena);
/// tree.put_attribute(&[], "text", "x".repeat(1 << 20).as_str())?;
/// drop(tree);
/// let collected = arena.collect();
/// assert!(collected.payload_bytes >= 1 << 20);
/// assert!(collected.returned_bytes <= collected.structure_bytes + collected.payload_bytes);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Collected {
    /// Bytes of structure that can be used again.
    pub structure_bytes: usize,
    /// Bytes of attributes, values and names that can be used again.
    pub payload_bytes: usize,
    /// Bytes of these that were given back to the system.
    pub returned_bytes: usize,
    /// Bytes that stay taken and are free for what is written next: what was reclaimed now and was
    /// not given back, and what had been before.
    pub free_bytes: usize,
}

impl Arena {
    /// Reclaims what can be seen from no snapshot and no tree. Readers and writers go on; the
    /// cost is that of going through what is alive.
    ///
    /// ```
    /// use jungle_tree::{Arena, EditError, Tree};
    /// let arena = Arena::new()?;
    /// let mut tree = Tree::new(&arena);
    /// tree.edit(|editor| editor.cursor(&[])?.add_children(1_000_000).map(drop))?;
    /// drop(tree);
    /// assert!(arena.collect().structure_bytes > 100_000);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn collect(&self) -> Collected {
        self.next_collection().start([]).finish()
    }

    /// Waits until no other collection is under way, and no image is being saved, which may take
    /// long; from then on none begins before this collection has ended.
    pub fn next_collection(&self) -> CollectionTurn<'_> {
        let arena = &**self.inner();
        CollectionTurn { arena, turn: lock(&arena.collecting) }
    }
}

/// A collection that is next; see [`Arena::next_collection`].
pub struct CollectionTurn<'a> {
    arena: &'a ArenaInner,
    turn: MutexGuard<'a, ()>,
}

impl std::fmt::Debug for CollectionTurn<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CollectionTurn").finish_non_exhaustive()
    }
}

impl<'a> CollectionTurn<'a> {
    /// Begins a collection that also spares the versions in `kept`, which a history keeps. The
    /// history must not let them go, nor keep others, until this returns; after that it may.
    ///
    /// ```
    /// use jungle_tree::{Arena, Keep, Tree};
    /// let arena = Arena::new()?;
    /// let mut tree = Tree::new(&arena);
    /// tree.keep(Keep::All);
    /// tree.put_attribute(&[], "text", "x".repeat(1000).as_str())?;
    /// let old = tree.version_id();
    /// tree.remove_attribute(&[], "text")?;
    /// let collected = arena.next_collection().start([old]).finish();
    /// assert_eq!(collected.payload_bytes, 0);
    /// assert!(tree.reader().held(old).root().has_attributes());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn start(self, kept: impl IntoIterator<Item = VersionId>) -> Collection<'a> {
        let CollectionTurn { arena, turn } = self;
        let (mut lanes, sessions) = arena.stop_writers();
        arena.renew_generation();
        let drawn = arena.see_versions();
        let cut = sessions.iter().map(|session| session.version).min().unwrap_or(drawn).min(drawn);
        arena.frozen.store(drawn, Ordering::SeqCst);
        let mut roots: Vec<u32> = kept.into_iter().map(|id| id.handle).collect();
        arena.pins.each(|_, handle| roots.push(handle));
        lock(&arena.lines)
            .retain(|line| line.upgrade().map(|line| roots.push(line.head())).is_some());
        let grafts = sessions.into_iter().flat_map(|session| session.grafts).collect();
        lock(&arena.orphans).drain(..).for_each(|dead| dead.set_birth(arena.memory(), dead.birth));
        let mut blocks = Heap::new(&arena.blocks);
        let mut payload = Heap::new(&arena.payload);
        for allocator in lanes.iter_mut().flat_map(|lane| lane.iter_mut()) {
            blocks.take_over(&mut allocator.blocks);
            payload.take_over(&mut allocator.payload);
        }
        blocks.taken.extend(arena.blocks.take_all_spare());
        payload.taken.extend(arena.payload.take_all_spare());
        drop(lanes);
        let is_swept = false;
        Collection { arena, _turn: turn, cut, roots, grafts, blocks, payload, is_swept }
    }
}

/// A collection under way; see [`CollectionTurn::start`].
pub struct Collection<'a> {
    arena: &'a ArenaInner,
    _turn: MutexGuard<'a, ()>,
    cut: u64,
    roots: Vec<u32>,
    grafts: Vec<Content>,
    blocks: Heap<1>,
    payload: Heap<0>,
    is_swept: bool,
}

impl std::fmt::Debug for Collection<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Collection").finish_non_exhaustive()
    }
}

impl Collection<'_> {
    /// Marks what is alive and reclaims the rest.
    pub fn finish(self) -> Collected {
        let collected = self.finish_while(&mut || Continue(()));
        collected.continue_value().expect("it is never given up")
    }

    /// As [`finish`](Collection::finish), and asks now and then whether to go on while it marks,
    /// which is what takes long. Nothing is reclaimed if it is given up; a Collection that is
    /// dropped unfinished is, too.
    ///
    /// ```
    /// use std::ops::ControlFlow::Break;
    /// use jungle_tree::{Arena, Tree};
    /// let arena = Arena::new()?;
    /// let mut tree = Tree::new(&arena);
    /// tree.edit(|editor| editor.cursor(&[])?.add_children(1_000_000).map(drop))?;
    /// let collection = arena.next_collection().start([]);
    /// assert!(collection.finish_while(&mut || Break(())).is_break());
    /// assert_eq!(tree.snapshot().root().child_count(), 1_000_000);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn finish_while(
        mut self,
        go_on: &mut dyn FnMut() -> ControlFlow<()>,
    ) -> ControlFlow<(), Collected> {
        let garbage = self.arena.take_garbage();
        self.blocks.note_taken();
        self.payload.note_taken();
        let marked = self.mark(&mut Asked::new(go_on));
        if marked.is_break() {
            self.arena.add_garbage(garbage);
        }
        marked.map_continue(|()| self.sweep())
    }

    fn mark(&mut self, asked: &mut Asked<'_>) -> ControlFlow<()> {
        let Collection { arena, roots, grafts, blocks, payload, .. } = self;
        let memory = arena.memory();
        let mut alive = Alive { blocks: &mut blocks.marks, payload: &mut payload.marks };
        let roots = roots.iter().map(|&kids| Content { kids, attrs: 0 });
        let mut roots = roots.chain(grafts.iter().copied());
        roots.try_for_each(|root| trace(memory, root, &mut alive, asked))
    }

    fn sweep(mut self) -> Collected {
        // What is free is found anew from here on.
        self.is_swept = true;
        let Collection { arena, cut, blocks, payload, .. } = &mut self;
        let memory = arena.memory();
        let structure = blocks.sweep(&arena.blocks, *cut, |handle| {
            let header = Header::load(memory, handle);
            // A header is written in two words: without its low half it is not complete.
            if header.birth() as u32 == 0 { 0 } else { header.birth() }
        });
        let values =
            payload.sweep(&arena.payload, *cut, |handle| Record::load(memory, handle).birth());
        arena.hashes.clear();
        Collected {
            structure_bytes: structure.reclaimed,
            payload_bytes: values.reclaimed,
            returned_bytes: structure.returned + values.returned,
            free_bytes: structure.free + values.free,
        }
    }
}

impl Drop for Collection<'_> {
    fn drop(&mut self) {
        // Also when it was not finished: the lines may reuse again.
        self.arena.frozen.store(0, Ordering::SeqCst);
        if self.is_swept {
            // All that was found, unless it was given up on the way.
            self.blocks.give_to(&self.arena.blocks);
            self.payload.give_to(&self.arena.payload);
        } else {
            // What was free before would be lost: nothing in it says that it is.
            self.blocks.give_back_to(&self.arena.blocks);
            self.payload.give_back_to(&self.arena.payload);
        }
    }
}

/// What can be reached.
struct Alive<'c> {
    blocks: &'c mut Bits,
    payload: &'c mut Bits,
}

impl Marks for Alive<'_> {
    fn block(&mut self, handle: u32) -> bool {
        self.blocks.set(handle)
    }

    fn payload(&mut self, handle: u32) -> bool {
        self.payload.set(handle)
    }
}
