//! One region as a collection sees it: what is marked in it, what is dead, and what is free.

use crate::arena::{CLASSES, FreeLists, SLAB_WORDS, SlabUse, Slabs, WORD_BYTES, class_words};
use crate::line::is_queued;
use crate::planted::{Bug, is_awake};

/// What was found in a region, in bytes.
#[derive(Default)]
pub(super) struct Swept {
    pub(super) reclaimed: usize,
    pub(super) returned: usize,
    pub(super) free: usize,
}

impl Swept {
    /// So many words.
    fn add(&mut self, reclaimed: usize, returned: usize, free: usize) {
        self.reclaimed += reclaimed * WORD_BYTES;
        self.returned += returned * WORD_BYTES;
        self.free += free * WORD_BYTES;
    }
}

/// A bit for each granule.
#[derive(Default)]
pub(super) struct Bits(Vec<u64>);

impl Bits {
    fn get(&self, handle: u32) -> bool {
        self.0.get(handle as usize / 64).is_some_and(|word| word >> (handle % 64) & 1 == 1)
    }

    /// Sets a bit; `false` when it was set. A handle beyond all memory in use when the collection
    /// began is of no interest to it.
    pub(super) fn set(&mut self, handle: u32) -> bool {
        let Some(word) = self.0.get_mut(handle as usize / 64) else { return false };
        let was = *word;
        *word |= 1 << (handle % 64);
        was != *word
    }
}

/// One region as a collection sees it.
pub(super) struct Heap<const SHIFT: u32> {
    uses: Vec<SlabUse>,
    pub(super) marks: Bits,
    /// The lists of idle writers: the collection's own for now.
    pub(super) taken: Vec<Vec<u32>>,
    /// The free records in them.
    free: Bits,
    /// What can be used again, by class.
    found: Vec<Vec<u32>>,
}

impl<const SHIFT: u32> Heap<SHIFT> {
    pub(super) fn new(slabs: &Slabs) -> Self {
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
    pub(super) fn take_over(&mut self, lists: &mut FreeLists<SHIFT>) {
        self.taken.extend(lists.take_lists().filter(|list| !list.is_empty()));
    }

    pub(super) fn note_taken(&mut self) {
        for handle in std::mem::take(&mut self.taken).into_iter().flatten() {
            self.free.set(handle);
        }
    }

    /// Whichever writer needs some has a part of it: one alone could not use it all.
    pub(super) fn give_to(&mut self, slabs: &Slabs) {
        for (class, handles) in self.found.iter_mut().enumerate() {
            slabs.add_spare(class, std::mem::take(handles));
        }
    }

    /// Gives writers what was taken over from them, and nothing else.
    pub(super) fn give_back_to(&mut self, slabs: &Slabs) {
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
    pub(super) fn sweep(&mut self, slabs: &Slabs, cut: u64, birth: impl Fn(u32) -> u64) -> Swept {
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
