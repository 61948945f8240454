//! Free lists by size class, owned by one writer at a time; see `mod.rs` for who that is.

use super::slab::{SLAB_WORDS, SlabUse, Slabs};

/// Classes up to here are exact.
const EXACT_WORDS: usize = 64;
/// Steps to a doubling above that.
const STEPS: usize = 4;
/// Larger records get slabs of their own.
const CLASS_WORDS_MAX: usize = SLAB_WORDS / 2;
/// So many records that nobody has a writer takes for itself at a time, or gives away of those it
/// has too many of: others need some, too.
const SPARE_MAX: usize = 1 << 10;
/// No writer keeps more in a list than this: where one puts in what another removes, it would keep
/// all of it.
const FREE_MAX: usize = 4 * SPARE_MAX;
/// 64 exact classes, then 4 steps in each of the 6 doublings from 64 to 4096 words.
pub(crate) const CLASSES: usize = EXACT_WORDS + 1 + STEPS * 6;

/// Does a record of `words` words get slabs of its own?
#[inline(always)]
pub(crate) fn is_large(words: usize) -> bool {
    words > CLASS_WORDS_MAX
}

/// The class of a record of `words` words, or `None` for one that needs slabs of its own.
#[inline(always)]
pub(crate) fn class_of(words: usize) -> Option<usize> {
    if words <= EXACT_WORDS {
        return Some(words);
    }
    if is_large(words) {
        return None;
    }
    let doubling = (words - 1).ilog2() as usize;
    let step = (words - 1 - (1 << doubling)) >> (doubling - 2);
    Some(EXACT_WORDS + 1 + (doubling - 6) * STEPS + step)
}

/// The words of each record of a class.
pub(crate) fn class_words(class: usize) -> usize {
    if class <= EXACT_WORDS {
        return class;
    }
    let (doubling, step) = ((class - EXACT_WORDS - 1) / STEPS, (class - EXACT_WORDS - 1) % STEPS);
    (1 << (doubling + 6)) + (step + 1) * (1 << (doubling + 4))
}

/// Free records of one class: those given back, then the untouched rest of a slab.
#[derive(Default)]
struct Class {
    free: Vec<u32>,
    next: usize,
    end: usize,
}

/// Hands out and takes back records of one region. Handles count granules of `1 << SHIFT` words.
pub(crate) struct FreeLists<const SHIFT: u32> {
    classes: Box<[Class; CLASSES]>,
}

impl<const SHIFT: u32> FreeLists<SHIFT> {
    pub(crate) fn new() -> Self {
        FreeLists { classes: Box::new(std::array::from_fn(|_| Class::default())) }
    }

    /// A record of at least `words` words (a multiple of the granule), its content undefined. It is
    /// not a large one.
    ///
    /// # Panics
    /// When the region is full; callers check the room first (`Edit::check_room`).
    #[inline(always)]
    pub(crate) fn take(&mut self, slabs: &Slabs, words: usize) -> u32 {
        let handle = self.find(slabs, words);
        slabs.mark(((handle as usize) << SHIFT) / SLAB_WORDS);
        handle
    }

    #[inline(always)]
    fn find(&mut self, slabs: &Slabs, words: usize) -> u32 {
        let class = class_of(words).expect("a large record is taken as one");
        let list = &mut self.classes[class];
        if let Some(handle) = list.free.pop() {
            // The record after the next will be written soon: bring it near (measured +15 %).
            if let Some(&ahead) = list.free.len().checked_sub(2).and_then(|i| list.free.get(i)) {
                slabs.region.words_view().prefetch((ahead as usize) << SHIFT);
            }
            return handle;
        }
        if list.next == list.end {
            Self::refill(list, slabs, class);
            if let Some(handle) = list.free.pop() {
                return handle;
            }
        }
        let at = list.next;
        list.next += class_words(class);
        (at >> SHIFT) as u32
    }

    #[cold]
    fn refill(list: &mut Class, slabs: &Slabs, class: usize) {
        list.free = slabs.take_spare(class, SPARE_MAX);
        if !list.free.is_empty() {
            return;
        }
        let slab = slabs.take(1, SlabUse::Class(class as u8), 0).expect("room was checked before");
        list.next = slab * SLAB_WORDS;
        list.end = list.next + SLAB_WORDS / class_words(class) * class_words(class);
    }

    /// A large record, as [`FreeLists::take`]; `None` where no slabs in a row are left for it, and
    /// `spare` more. That cannot be checked before: others take some meanwhile.
    #[cold]
    pub(crate) fn take_large(slabs: &Slabs, words: usize, spare: usize) -> Option<u32> {
        let count = words.div_ceil(SLAB_WORDS);
        let first = slabs.take(count, SlabUse::Large(count as u32), spare)?;
        slabs.mark(first);
        Some(((first * SLAB_WORDS) >> SHIFT) as u32)
    }

    /// Takes a record of `words` words back. The caller has marked it as free.
    #[inline(always)]
    pub(crate) fn give(&mut self, slabs: &Slabs, handle: u32, words: usize) {
        match class_of(words) {
            Some(class) => {
                let free = &mut self.classes[class].free;
                if free.len() == free.capacity() {
                    Self::make_room(free, slabs, class);
                }
                free.push(handle);
            }
            None => {
                let first = ((handle as usize) << SHIFT) / SLAB_WORDS;
                slabs.give_back(first, words.div_ceil(SLAB_WORDS));
            }
        }
    }

    /// Where a list would have to grow: it does not grow for ever.
    #[cold]
    fn make_room(free: &mut Vec<u32>, slabs: &Slabs, class: usize) {
        if free.len() >= FREE_MAX {
            slabs.add_spare(class, free.split_off(free.len() - SPARE_MAX));
        } else {
            free.reserve(1);
        }
    }

    /// Takes the lists of given-back records, for a collection that looks at all of memory.
    pub(crate) fn take_lists(&mut self) -> impl Iterator<Item = Vec<u32>> {
        self.classes.iter_mut().map(|class| std::mem::take(&mut class.free))
    }
}

#[cfg(test)]
mod tests {
    use super::FreeLists;
    use crate::arena::region::Region;
    use crate::arena::slab::{SLAB_WORDS, Slabs};

    #[test]
    fn what_one_takes_and_another_gives_goes_round() {
        const WORDS: usize = 8;
        let region = Region::reserve(1024 * SLAB_WORDS).expect("address space");
        let slabs = Slabs::new(region, Region::reserve(1024).expect("address space"));
        let (mut takes, mut gives) = (FreeLists::<0>::new(), FreeLists::<0>::new());
        for _ in 0..100 {
            let handles: Vec<u32> = (0..10_000).map(|_| takes.take(&slabs, WORDS)).collect();
            handles.into_iter().for_each(|handle| gives.give(&slabs, handle, WORDS));
        }
        // Of 10,000 records at a time, and as many as a list may hold.
        let most = (10_000 + super::FREE_MAX) * WORDS / SLAB_WORDS + 3;
        assert!(slabs.used() <= most, "{} slabs instead of {most}", slabs.used());
    }
}
