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

use std::ops::ControlFlow::{self, Continue};
use std::sync::MutexGuard;
use std::sync::atomic::Ordering;

use crate::arena::{
    Arena, ArenaInner, CLASSES, FreeLists, SLAB_WORDS, SlabUse, Slabs, WORD_BYTES, class_words,
    lock,
};
use crate::block::{Content, Header, Record};
use crate::line::is_queued;
use crate::planted::{Bug, is_awake};
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

/// What was found in a region, in bytes.
#[derive(Default)]
struct Swept {
    reclaimed: usize,
    returned: usize,
    free: usize,
}

impl Swept {
    /// So many words.
    fn add(&mut self, reclaimed: usize, returned: usize, free: usize) {
        self.reclaimed += reclaimed * WORD_BYTES;
        self.returned += returned * WORD_BYTES;
        self.free += free * WORD_BYTES;
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

/// A bit for each granule.
#[derive(Default)]
struct Bits(Vec<u64>);

impl Bits {
    fn get(&self, handle: u32) -> bool {
        self.0.get(handle as usize / 64).is_some_and(|word| word >> (handle % 64) & 1 == 1)
    }

    /// Sets a bit; `false` when it was set. A handle beyond all memory in use when the collection
    /// began is of no interest to it.
    fn set(&mut self, handle: u32) -> bool {
        let Some(word) = self.0.get_mut(handle as usize / 64) else { return false };
        let was = *word;
        *word |= 1 << (handle % 64);
        was != *word
    }
}

/// One region as a collection sees it.
struct Heap<const SHIFT: u32> {
    uses: Vec<SlabUse>,
    marks: Bits,
    /// The lists of idle writers: the collection's own for now.
    taken: Vec<Vec<u32>>,
    /// The free records in them.
    free: Bits,
    /// What can be used again, by class.
    found: Vec<Vec<u32>>,
}

impl<const SHIFT: u32> Heap<SHIFT> {
    fn new(slabs: &Slabs) -> Self {
        let uses = slabs.uses();
        let words = ((uses.len() * SLAB_WORDS) >> SHIFT) / 64;
        Heap {
            uses,
            marks: Bits(vec![0; words]),
            taken: Vec::new(),
            free: Bits(vec![0; words]),
            found: vec![Vec::new(); CLASSES],
        }
    }

    /// Writers wait for this: the lists may be long, and are looked at later.
    fn take_over(&mut self, lists: &mut FreeLists<SHIFT>) {
        self.taken.extend(lists.take_lists().filter(|list| !list.is_empty()));
    }

    fn note_taken(&mut self) {
        for handle in std::mem::take(&mut self.taken).into_iter().flatten() {
            self.free.set(handle);
        }
    }

    /// Whichever writer needs some has a part of it: one alone could not use it all.
    fn give_to(&mut self, slabs: &Slabs) {
        for (class, handles) in self.found.iter_mut().enumerate() {
            slabs.add_spare(class, std::mem::take(handles));
        }
    }

    /// Gives writers what was taken over from them, and nothing else.
    fn give_back_to(&mut self, slabs: &Slabs) {
        self.note_taken();
        for (word, bits) in self.free.0.iter().enumerate().filter(|(_, bits)| **bits != 0) {
            let handles = (0..64).filter(|bit| bits >> bit & 1 == 1).map(|bit| word * 64 + bit);
            for handle in handles {
                let slab = (handle << SHIFT) / SLAB_WORDS;
                if let SlabUse::Class(class) = self.uses[slab] {
                    self.found[usize::from(class)].push(handle as u32);
                }
            }
        }
        self.give_to(slabs);
    }

    /// Finds what is free.
    fn sweep(&mut self, slabs: &Slabs, cut: u64, birth: impl Fn(u32) -> u64) -> Swept {
        let mut swept = Swept::default();
        for slab in 1..self.uses.len() {
            match self.uses[slab] {
                // It is not loaded for what is dead in it, which is found when it is.
                SlabUse::Class(_) if slabs.is_absent(slab) && self.is_marked(slab) => {}
                SlabUse::Class(class) => {
                    // Who loads all that there is may have loaded it just now.
                    if slabs.give_back_absent(slab, 1) {
                        swept.add(SLAB_WORDS, 0, 0);
                    } else {
                        self.sweep_slab(slabs, slab, usize::from(class), (cut, &birth), &mut swept);
                    }
                }
                SlabUse::Large(count) => {
                    let first = ((slab * SLAB_WORDS) >> SHIFT) as u32;
                    // What was not loaded was born before, and is in nobody's queue.
                    let is_dead = || match slabs.is_absent(slab) {
                        true => !self.marks.get(first),
                        false => self.is_dead(first, cut, &birth),
                    };
                    if slabs.give_back_if(slab, count, is_dead) {
                        let words = count as usize * SLAB_WORDS;
                        swept.add(words, words, 0);
                    }
                }
                SlabUse::Free | SlabUse::LargeTail => {}
            }
        }
        swept
    }

    /// Finds what is free in one slab.
    fn sweep_slab(
        &mut self,
        slabs: &Slabs,
        slab: usize,
        class: usize,
        (cut, birth): (u64, &impl Fn(u32) -> u64),
        swept: &mut Swept,
    ) {
        let words = class_words(class);
        let records = SLAB_WORDS / words;
        let handles = (0..records).map(|i| ((slab * SLAB_WORDS + i * words) >> SHIFT) as u32);
        let dead: Vec<u32> = handles.clone().filter(|&h| self.is_dead(h, cut, birth)).collect();
        let free: Vec<u32> = handles.filter(|&handle| self.free.get(handle)).collect();
        if dead.len() + free.len() == records {
            slabs.give_back(slab, 1);
            return swept.add(dead.len() * words, SLAB_WORDS, 0);
        }
        for &handle in &dead {
            let at = (handle as usize) << SHIFT;
            // The whole header of a block, or of a record: free now.
            (0..1 << SHIFT).for_each(|i| slabs.region.words_view().set(at + i, 0));
        }
        swept.add(dead.len() * words, 0, (dead.len() + free.len()) * words);
        self.found[class].extend(free);
        self.found[class].extend(&dead);
    }

    /// Was something in this slab found? That does not load it: a long value is found by its
    /// handle.
    fn is_marked(&self, slab: usize) -> bool {
        if is_awake(Bug::UnloadedIsDead) {
            return false;
        }
        let of = |slab: usize| ((slab * SLAB_WORDS) >> SHIFT) / 64;
        let words = self.marks.0.get(of(slab)..of(slab + 1));
        words.is_none_or(|words| words.iter().any(|&word| word != 0))
    }

    /// Can nobody see this record any more?
    fn is_dead(&self, handle: u32, cut: u64, birth: &impl Fn(u32) -> u64) -> bool {
        let birth = birth(handle);
        birth != 0 && birth < cut && !is_queued(birth) && !self.marks.get(handle)
    }
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow::{Break, Continue};
    use std::sync::atomic::{AtomicBool, Ordering};

    use crate::{Arena, ArenaUsage, ContentHash, EditError, Editor, Key, Snapshot, Tree};

    fn wide(tree: &mut Tree, children: u64) {
        let edited = tree.edit(|editor| {
            let mut cursor = editor.cursor(&[])?;
            let first = cursor.add_children(children)?;
            for position in (first..).take(children as usize) {
                cursor.enter(&Key::from(position))?;
                cursor.put_attribute("text", format!("message {position}").as_str())?;
                cursor.leave();
            }
            Ok::<_, EditError>(())
        });
        edited.expect("there is room");
    }

    fn check(snapshot: &Snapshot, hash: ContentHash) {
        snapshot.arena().inner().hashes.clear();
        assert_eq!(snapshot.root().content_hash(), hash);
        assert_eq!(snapshot.root().recount(), snapshot.root().subtree_count());
    }

    #[test]
    fn what_is_held_stays_and_the_rest_is_given_back() {
        let arena = Arena::new().expect("address space");
        let mut tree = Tree::new(&arena);
        wide(&mut tree, 50_000);
        let old = tree.snapshot();
        let hash = old.root().content_hash();
        let fork = Tree::from_snapshot(&old);
        tree.edit(|editor| editor.pop_root(&[Key::from(7)])).expect("the child is there");
        drop(tree);
        arena.collect();
        check(&old, hash);
        drop(old);
        arena.collect();
        check(&fork.snapshot(), hash);
        drop(fork);
        let before = arena.usage();
        let collected = arena.collect();
        assert!(collected.returned_bytes > 1 << 20, "{collected:?}");
        let after = arena.usage();
        assert!(after.payload_bytes < before.payload_bytes / 10, "{before:?} {after:?}");
    }

    #[test]
    fn a_collection_that_is_given_up_loses_nothing() {
        let arena = Arena::new().expect("address space");
        let mut tree = Tree::new(&arena);
        wide(&mut tree, 50_000);
        let fork = Tree::from_snapshot(&tree.snapshot());
        let hash = fork.snapshot().root().content_hash();
        let mut given_up = 0;
        let before = arena.usage();
        loop {
            // Something is replaced, and free for the next edit.
            tree.edit(|editor| editor.put_attribute(&[Key::from(7)], "n", given_up))
                .expect("there is room");
            let mut asked = 0;
            let collection = arena.next_collection().start([]);
            let done = collection.finish_while(&mut || {
                asked += 1;
                if asked > given_up { Break(()) } else { Continue(()) }
            });
            check(&fork.snapshot(), hash);
            if done.is_continue() {
                break;
            }
            given_up += 1;
        }
        assert!(given_up > 1, "{given_up}");
        let mut other = Tree::new(&arena);
        for round in 0..100u64 {
            wide(&mut other, 2_000);
            for position in round * 2_000..(round + 1) * 2_000 {
                other.edit(|editor| editor.remove(&[Key::from(position)])).expect("it is there");
            }
            // All that these had is free: it is before marking has begun, too, and after.
            drop(arena.next_collection().start([]));
            let _ = arena.next_collection().start([]).finish_while(&mut || Break(()));
        }
        let after = arena.usage();
        let taken = |usage: ArenaUsage| usage.structure_bytes + usage.payload_bytes;
        assert!(taken(after) <= taken(before) + (2 << 20), "{before:?} {after:?}");
        check(&fork.snapshot(), hash);
    }

    #[test]
    fn edits_beside_an_open_editor_use_the_same_memory_again() {
        let arena = Arena::new().expect("address space");
        let mut tree = Tree::new(&arena);
        wide(&mut tree, 100);
        let mut open = Editor::new(tree.snapshot());
        open.add_child(&[]).expect("there is room");
        for i in 0..1000 {
            tree.edit(|editor| editor.put_attribute(&[Key::from(7)], "text", i))
                .expect("there is room");
        }
        let usage = arena.usage();
        assert!(usage.structure_bytes + usage.payload_bytes < 8 << 20, "{usage:?}");
    }

    #[test]
    fn edits_that_begin_and_end_on_different_threads_use_the_same_memory_again() {
        let arena = Arena::new().expect("address space");
        let mut tree = Tree::new(&arena);
        wide(&mut tree, 100);
        let reader = tree.reader();
        let begun = |i: i64| {
            let mut editor = Editor::new(reader.snapshot());
            editor.put_attribute(&[Key::from(7)], "text", i).expect("there is room");
            editor
        };
        for i in 0..500 {
            let editor = std::thread::scope(|scope| scope.spawn(|| begun(i)).join());
            tree.publish(editor.expect("it does not panic"));
        }
        let usage = arena.usage();
        assert!(usage.structure_bytes + usage.payload_bytes < 16 << 20, "{usage:?}");
    }

    #[test]
    fn what_is_given_back_is_used_again_by_whoever_writes() {
        let arena = Arena::new().expect("address space");
        let made = || {
            let mut tree = Tree::new(&arena);
            wide(&mut tree, 500);
            tree
        };
        let taken = || arena.usage().structure_bytes + arena.usage().payload_bytes;
        // Every other one goes, so there is hardly a slab without anything that is alive.
        let mut trees: Vec<Option<Tree>> = (0..400).map(|_| Some(made())).collect();
        let before = taken();
        trees.iter_mut().step_by(2).for_each(|tree| *tree = None);
        arena.collect();
        let made_anew = std::thread::scope(|scope| {
            let make = || (0..50).map(|_| made()).collect::<Vec<_>>();
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(make)).collect();
            threads.into_iter().flat_map(|thread| thread.join().expect("there is room")).count()
        });
        assert_eq!(made_anew, 200);
        let (after, limit) = (taken(), before + before / 4);
        assert!(after < limit, "{before} bytes before, {after} with as many trees again");
    }

    #[test]
    fn a_graft_into_an_unpublished_edit_is_spared() {
        let arena = Arena::new().expect("address space");
        let (mut from, mut to) = (Tree::new(&arena), Tree::new(&arena));
        wide(&mut from, 1000);
        let hash = from.read().root().content_hash();
        let mut editor = Editor::new(to.snapshot());
        let source = from.snapshot();
        editor.insert_subtree(&[], &Key::from("copy"), source.root()).expect("no such child yet");
        drop((source, from));
        arena.collect();
        to.publish(editor);
        arena.collect();
        let seen = to.snapshot();
        assert_eq!(seen.root().child(&Key::from("copy")).expect("put").content_hash(), hash);
    }

    #[test]
    fn collections_run_beside_a_writer_and_its_readers() {
        let arena = Arena::new().expect("address space");
        let mut tree = Tree::new(&arena);
        wide(&mut tree, 2000);
        let (reader, done) = (tree.reader(), AtomicBool::new(false));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    arena.collect();
                }
            });
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    let held = reader.snapshot();
                    let sum = |snapshot: &Snapshot| {
                        let mut bytes = 0;
                        snapshot.root().visit(|node| {
                            let text = node.attribute("text").and_then(|value| value.as_text());
                            bytes += text.map_or(0, |text| {
                                assert!(text.starts_with("message"), "{text}");
                                text.len()
                            });
                        });
                        bytes
                    };
                    assert_eq!(sum(&held), sum(&held.clone()));
                }
            });
            for i in 0..30_000_i64 {
                let path = [Key::from(i * 7 % 2000)];
                tree.put_attribute(&path, "text", format!("message again {i}").as_str())
                    .expect("there is room");
                if i % 1000 == 0 {
                    let fork = Tree::from_snapshot(&tree.snapshot());
                    tree.edit(|editor| editor.set_subtree(&[Key::from(3)], fork.read().root()))
                        .expect("there is room");
                    tree.edit(|editor| {
                        editor.set_subtree(&[Key::from(3)], Tree::new(&arena).read().root())
                    })
                    .expect("there is room");
                }
            }
            done.store(true, Ordering::Relaxed);
        });
        let seen = tree.snapshot();
        assert_eq!(seen.root().recount(), 2001);
    }
}
