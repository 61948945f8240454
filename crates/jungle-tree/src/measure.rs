//! How much of an arena versions take up: each block and record is counted with the first version
//! that has it, so that what a version has alone is told by adding it last.

use std::iter::Sum;
use std::ops::ControlFlow::{self, Continue};
use std::ops::{Add, AddAssign};
use std::sync::atomic::Ordering;
use std::sync::{MutexGuard, Weak};

use crate::arena::{Arena, ArenaInner, SLAB_WORDS, SlabUse, Slabs, WORD_BYTES, class_words, lock};
use crate::block::Content;
use crate::trace::{Asked, Marks, trace};
use crate::tree::VersionId;

/// Bytes of an arena, of which a [`Measure`] counts each once.
///
/// ```
/// use jungle_tree::Measured;
/// let parts = [
///     Measured { structure_bytes: 64, payload_bytes: 16 },
///     Measured { structure_bytes: 128, payload_bytes: 0 },
/// ];
/// let sum: Measured = parts.into_iter().sum();
/// assert_eq!((sum.structure_bytes, sum.bytes()), (192, 208));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Measured {
    /// Of structure.
    pub structure_bytes: u64,
    /// Of attributes, values and names.
    pub payload_bytes: u64,
}

impl Measured {
    /// All of it.
    #[must_use]
    pub fn bytes(self) -> u64 {
        self.structure_bytes + self.payload_bytes
    }
}

impl Add for Measured {
    type Output = Measured;

    fn add(self, other: Measured) -> Measured {
        Measured {
            structure_bytes: self.structure_bytes + other.structure_bytes,
            payload_bytes: self.payload_bytes + other.payload_bytes,
        }
    }
}

impl AddAssign for Measured {
    fn add_assign(&mut self, other: Measured) {
        *self = *self + other;
    }
}

impl Sum for Measured {
    fn sum<I: Iterator<Item = Measured>>(all: I) -> Measured {
        all.fold(Measured::default(), Add::add)
    }
}

impl Arena {
    /// Begins to measure what versions take up. While it goes on, nothing of what could be seen
    /// when it began is used again, and collections and images wait; readers and writers do not.
    /// It keeps a few bits for each block and record that it looks at: an arena's 20th at most.
    ///
    /// ```
    /// use jungle_tree::{Arena, Keep, Tree};
    /// let arena = Arena::new()?;
    /// let mut tree = Tree::new(&arena);
    /// tree.keep(Keep::All);
    /// let old = tree.version_id();
    /// tree.put_attribute(&[], "text", "x".repeat(1000).as_str())?;
    /// let mut measure = arena.measure();
    /// assert!(measure.add(tree.version_id()).payload_bytes >= 1000);
    /// assert_eq!(measure.add(old).payload_bytes, 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn measure(&self) -> Measure<'_> {
        let arena = &**self.inner();
        let turn = lock(&arena.collecting);
        // As for a collection: what a pin or a history holds now stays as it is.
        let (lanes, _) = arena.stop_writers();
        arena.frozen.store(arena.see_versions(), Ordering::SeqCst);
        let mut pinned = Vec::new();
        arena.pins.each(|_, handle| pinned.push(handle));
        let lines = lock(&arena.lines);
        pinned.extend(lines.iter().filter_map(Weak::upgrade).map(|line| line.head()));
        drop(lines);
        drop(lanes);
        let (blocks, payload) = (Region::new(&arena.blocks), Region::new(&arena.payload));
        Measure { arena, _turn: turn, pinned, count: Count { blocks, payload, only_new: false } }
    }
}

/// A measure under way; see [`Arena::measure`]. The versions that it is given must have been held
/// when it began.
///
/// ```
/// use jungle_tree::{Arena, Tree};
/// let arena = Arena::new()?;
/// let mut tree = Tree::new(&arena);
/// let draft = [tree.add_child(&[])?];
/// tree.put_attribute(&draft, "text", "x".repeat(1000).as_str())?;
/// let held = tree.snapshot();
/// tree.remove(&draft)?;
/// let mut measure = arena.measure();
/// assert_eq!(measure.add(tree.version_id()).payload_bytes, 0);
/// // Only the snapshot has the text still.
/// assert!(measure.add_pinned().payload_bytes >= 1000);
/// # drop((measure, held));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Measure<'a> {
    arena: &'a ArenaInner,
    _turn: MutexGuard<'a, ()>,
    pinned: Vec<u32>,
    count: Count,
}

impl std::fmt::Debug for Measure<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Measure").finish_non_exhaustive()
    }
}

impl Measure<'_> {
    /// Adds a version; gives the bytes of it that no version has that was added before, nor
    /// is known to be [shared](Measure::shared).
    pub fn add(&mut self, version: VersionId) -> Measured {
        let added = self.add_while(version, &mut || Continue(()));
        added.continue_value().expect("it is never given up")
    }

    /// As [`add`](Measure::add), and asks now and then whether to go on. What was given up leaves
    /// the measure without a meaning: it can be dropped, or made to begin
    /// [again](Measure::again).
    ///
    /// ```
    /// use std::ops::ControlFlow::{Break, Continue};
    /// use jungle_tree::{Arena, Tree};
    /// let arena = Arena::new()?;
    /// let mut tree = Tree::new(&arena);
    /// tree.edit(|editor| editor.cursor(&[])?.add_children(1_000_000).map(drop))?;
    /// let newest = tree.version_id();
    /// let mut measure = arena.measure();
    /// assert!(measure.add_while(newest, &mut || Break(())).is_break());
    /// measure.again();
    /// assert!(measure.add_while(newest, &mut || Continue(())).is_continue());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn add_while(
        &mut self,
        version: VersionId,
        go_on: &mut dyn FnMut() -> ControlFlow<()>,
    ) -> ControlFlow<(), Measured> {
        self.root(version.handle, &mut Asked::new(go_on))
    }

    /// Adds all that is held in memory when nothing has it that was added before: what snapshots
    /// hold, and the newest versions of the trees that these are of.
    pub fn add_pinned(&mut self) -> Measured {
        let added = self.add_pinned_while(&mut || Continue(()));
        added.continue_value().expect("it is never given up")
    }

    /// As [`add_pinned`](Measure::add_pinned), and asks now and then whether to go on, as
    /// [`add_while`](Measure::add_while) does.
    pub fn add_pinned_while(
        &mut self,
        go_on: &mut dyn FnMut() -> ControlFlow<()>,
    ) -> ControlFlow<(), Measured> {
        let mut asked = Asked::new(go_on);
        self.count.only_new = true;
        let pinned = std::mem::take(&mut self.pinned);
        let mut sum = Measured::default();
        let done = pinned.iter().try_for_each(|&root| {
            sum += self.root(root, &mut asked)?;
            Continue(())
        });
        (self.pinned, self.count.only_new) = (pinned, false);
        done.map_continue(|()| sum)
    }

    /// What is added from now on is somebody else's: what others have as well is shared.
    ///
    /// ```
    /// use jungle_tree::{Arena, Tree};
    /// let arena = Arena::new()?;
    /// let mut tree = Tree::new(&arena);
    /// tree.put_attribute(&[], "text", "x".repeat(1000).as_str())?;
    /// let branch = Tree::from_snapshot(&tree.snapshot());
    /// let mut measure = arena.measure();
    /// measure.add(tree.version_id());
    /// measure.next_owner();
    /// measure.add(branch.version_id());
    /// assert!(measure.shared().payload_bytes >= 1000);
    /// // Now the tree is told what it has alone, which is no text.
    /// measure.again();
    /// assert_eq!(measure.add(tree.version_id()).payload_bytes, 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn next_owner(&mut self) {
        self.count.blocks.own.clear();
        self.count.payload.own.clear();
    }

    /// What was found to be of more than one owner. The first of them was told that it has it
    /// alone; whoever measures [once more](Measure::again) is told without.
    #[must_use]
    pub fn shared(&self) -> Measured {
        let Count { blocks, payload, .. } = &self.count;
        Measured { structure_bytes: blocks.shared_bytes, payload_bytes: payload.shared_bytes }
    }

    /// Begins again, and remembers only what is shared.
    pub fn again(&mut self) {
        self.next_owner();
        self.count.blocks.seen.clear();
        self.count.payload.seen.clear();
    }

    fn root(&mut self, kids: u32, asked: &mut Asked<'_>) -> ControlFlow<(), Measured> {
        let Count { blocks, payload, .. } = &mut self.count;
        (blocks.new_bytes, payload.new_bytes) = (0, 0);
        trace(self.arena.memory(), Content { kids, attrs: 0 }, &mut self.count, asked)?;
        let Count { blocks, payload, .. } = &self.count;
        let (structure_bytes, payload_bytes) = (blocks.new_bytes, payload.new_bytes);
        Continue(Measured { structure_bytes, payload_bytes })
    }
}

impl Drop for Measure<'_> {
    fn drop(&mut self) {
        self.arena.frozen.store(0, Ordering::SeqCst);
    }
}

struct Count {
    blocks: Region<1>,
    payload: Region<0>,
    /// Stop at what anybody has.
    only_new: bool,
}

impl Marks for Count {
    fn block(&mut self, handle: u32) -> bool {
        self.blocks.see(handle, self.only_new)
    }

    fn payload(&mut self, handle: u32) -> bool {
        self.payload.see(handle, self.only_new)
    }
}

/// One region as a measure sees it. Handles count granules of `1 << SHIFT` words.
struct Region<const SHIFT: u32> {
    uses: Vec<SlabUse>,
    /// By the owner whose turn it is, by anybody, by more than one.
    own: Bits,
    seen: Bits,
    shared: Bits,
    shared_bytes: u64,
    /// Of the version that is being added.
    new_bytes: u64,
}

impl<const SHIFT: u32> Region<SHIFT> {
    fn new(slabs: &Slabs) -> Self {
        let uses = slabs.uses();
        let bits = || Bits::new(uses.len(), SLAB_WORDS >> SHIFT);
        let (own, seen, shared) = (bits(), bits(), bits());
        Region { uses, own, seen, shared, shared_bytes: 0, new_bytes: 0 }
    }

    /// Counts a record, when it was not counted before; tells whether to go on from it.
    fn see(&mut self, handle: u32, only_new: bool) -> bool {
        let bytes = match self.uses.get(((handle as usize) << SHIFT) / SLAB_WORDS) {
            Some(SlabUse::Class(class)) => class_words(usize::from(*class)) * WORD_BYTES,
            Some(SlabUse::Large(count)) => *count as usize * SLAB_WORDS * WORD_BYTES,
            // Made since the measure began.
            _ => return false,
        };
        let bytes = bytes as u64;
        if only_new {
            let is_new = self.seen.set(handle) && self.own.set(handle);
            self.new_bytes += if is_new { bytes } else { 0 };
            return is_new;
        }
        if !self.own.set(handle) {
            return false;
        }
        if self.seen.set(handle) {
            let is_shared = self.shared.get(handle);
            self.new_bytes += if is_shared { 0 } else { bytes };
        } else if self.shared.set(handle) {
            self.shared_bytes += bytes;
        }
        true
    }
}

/// A bit for each granule of the slabs in which any was set, so that clearing a few is cheap.
struct Bits {
    slabs: Vec<Option<Box<[u64]>>>,
    touched: Vec<usize>,
    granules: usize,
}

impl Bits {
    fn new(slabs: usize, granules: usize) -> Bits {
        Bits { slabs: vec![None; slabs], touched: Vec::new(), granules }
    }

    fn get(&self, handle: u32) -> bool {
        let (slab, bit) = (handle as usize / self.granules, handle as usize % self.granules);
        let words = self.slabs.get(slab).and_then(Option::as_ref);
        words.is_some_and(|words| words[bit / 64] >> (bit % 64) & 1 == 1)
    }

    /// Sets a bit; `false` when it was set.
    fn set(&mut self, handle: u32) -> bool {
        let (slab, bit) = (handle as usize / self.granules, handle as usize % self.granules);
        let words = self.slabs[slab].get_or_insert_with(|| {
            self.touched.push(slab);
            vec![0; self.granules / 64].into()
        });
        let was = words[bit / 64];
        words[bit / 64] |= 1 << (bit % 64);
        was != words[bit / 64]
    }

    fn clear(&mut self) {
        for slab in self.touched.drain(..) {
            self.slabs[slab] = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{Arena, Editor, Keep, Key, Measured, Tree};

    fn wide(arena: &Arena, text: &str) -> Tree {
        let mut tree = Tree::new(arena);
        tree.keep(Keep::All);
        for position in 0..200 {
            tree.add_child(&[]).expect("there is room");
            let path = [Key::from(position)];
            tree.put_attribute(&path, text, position).expect("there is room");
        }
        tree
    }

    #[test]
    fn what_is_added_is_what_a_collection_gives_back() {
        let arena = Arena::new().expect("address space");
        let mut tree = wide(&arena, "one");
        let old = tree.version_id();
        tree.put_attribute(&[Key::from(7)], "long", "x".repeat(1000).as_str()).expect("room");
        arena.next_collection().start([old]).finish();
        let held = tree.snapshot();
        let mut measure = arena.measure();
        assert!(measure.add_pinned().payload_bytes > 1000);
        let only_old = measure.add(old);
        assert!(only_old.bytes() > 0);
        assert_eq!(measure.add(old) + measure.add(tree.version_id()), Measured::default());
        drop(measure);
        let collected = arena.collect();
        let structure_bytes = collected.structure_bytes as u64;
        let payload_bytes = collected.payload_bytes as u64;
        assert_eq!(only_old, Measured { structure_bytes, payload_bytes });
        drop(held);
    }

    #[test]
    fn what_two_owners_have_is_shared() {
        let arena = Arena::new().expect("address space");
        let (one, mut two) = (wide(&arena, "one"), wide(&arena, "two"));
        let mut editor = Editor::new(two.snapshot());
        let source = one.snapshot();
        editor.insert_subtree(&[], &Key::from("copy"), source.root()).expect("no such child yet");
        two.publish(editor);
        drop(source);
        let mut measure = arena.measure();
        let first = measure.add(one.version_id());
        measure.next_owner();
        let second = measure.add(two.version_id());
        let shared = measure.shared();
        assert!(shared.bytes() > first.bytes() / 2, "{shared:?} of {first:?}");
        measure.again();
        let rest = measure.add(one.version_id());
        assert_eq!(rest + shared, first);
        measure.next_owner();
        assert_eq!(measure.add(two.version_id()), second);
        assert_eq!((measure.shared(), measure.add_pinned()), (shared, Measured::default()));
    }
}
