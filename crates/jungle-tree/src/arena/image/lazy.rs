//! Loading slabs when they are first looked at.

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use super::saving::birth_of;
use super::{SLAB_BYTES, SlabError, SlabId, SlabSource};
use crate::arena::{SLAB_WORDS, SlabUse, Slabs, WORD_BYTES, class_words, lock};

/// The slabs of a region that are not loaded yet.
pub(crate) struct Lazy {
    absent: Box<[AtomicU64]>,
    is_payload: bool,
    source: Arc<dyn SlabSource>,
    /// One load at a time, with the room for what is read.
    loading: Mutex<Vec<u8>>,
}

impl Lazy {
    pub(super) fn new(uses: &[SlabUse], is_payload: bool, source: Arc<dyn SlabSource>) -> Lazy {
        let bits = |chunk: &[SlabUse]| {
            let used = chunk.iter().enumerate().filter(|(_, used)| **used != SlabUse::Free);
            used.fold(0, |bits, (i, _)| bits | 1 << i)
        };
        let absent: Box<[AtomicU64]> =
            uses.chunks(64).map(|chunk| AtomicU64::new(bits(chunk))).collect();
        // Slab 0 is nobody's, and never saved.
        if let Some(first) = absent.first() {
            first.fetch_and(!1, Ordering::Relaxed);
        }
        Lazy { absent, is_payload, source, loading: Mutex::default() }
    }

    /// Acquire, with the release in `forget`: whoever sees it loaded sees what was loaded.
    #[inline(always)]
    pub(crate) fn is_absent(&self, slab: usize) -> bool {
        let word = self.absent.get(slab / 64);
        word.is_some_and(|word| word.load(Ordering::Acquire) >> (slab % 64) & 1 == 1)
    }

    /// These slabs are not to be loaded any more, if the first is not loaded so far; tells whether
    /// it was not. A load that is under way ends before, or it would write over what comes next.
    pub(crate) fn forget_absent(&self, first: usize, count: usize) -> bool {
        if !self.is_absent(first) {
            return false;
        }
        let _no_load = lock(&self.loading);
        let is_absent = self.is_absent(first);
        if is_absent {
            self.forget(first, count);
        }
        is_absent
    }

    fn forget(&self, first: usize, count: usize) {
        for slab in first..first + count {
            if let Some(word) = self.absent.get(slab / 64) {
                word.fetch_and(!(1 << (slab % 64)), Ordering::Release);
            }
        }
    }

    /// Loads a slab, and those that belong to the same large record.
    #[cold]
    pub(crate) fn load(&self, slabs: &Slabs, slab: usize) {
        let mut bytes = lock(&self.loading);
        if !self.is_absent(slab) {
            return;
        }
        let first = (0..=slab).rev().find(|&first| slabs.used_for(first) != SlabUse::LargeTail);
        let first = first.unwrap_or(slab);
        let used = slabs.used_for(first);
        let count = if let SlabUse::Large(count) = used { count as usize } else { 1 };
        bytes.resize(SLAB_BYTES, 0);
        for slab in first..first + count {
            self.read(self.id(slab), &mut bytes);
            self.put(slabs, slab, &bytes);
        }
        self.show(slabs, (first, count), used);
    }

    /// Loads a slab of small records, and reads it before anybody has to wait for that. If another
    /// loads it meanwhile, it is read twice.
    pub(crate) fn load_ahead(&self, slabs: &Slabs, slab: usize, bytes: &mut [u8]) {
        if !self.is_absent(slab) {
            return;
        }
        self.read(self.id(slab), bytes);
        let _no_load = lock(&self.loading);
        let used = slabs.used_for(slab);
        // Until it is loaded, or given back, it is what it was when it was read.
        if self.is_absent(slab) && matches!(used, SlabUse::Class(_)) {
            self.put(slabs, slab, bytes);
            self.show(slabs, (slab, 1), used);
        }
    }

    fn id(&self, slab: usize) -> SlabId {
        SlabId { is_payload: self.is_payload, index: slab as u32 }
    }

    /// Puts what was read in its place, where nobody looks yet.
    fn put(&self, slabs: &Slabs, slab: usize, bytes: &[u8]) {
        if let Err(error) = slabs.region.back(slab * SLAB_WORDS, SLAB_WORDS) {
            failed(self.id(slab), error.into());
        }
        slabs.region.populate(slab * SLAB_WORDS, SLAB_WORDS);
        let words = slabs.region.words_view();
        for (i, word) in bytes.as_chunks::<WORD_BYTES>().0.iter().enumerate() {
            words.set(slab * SLAB_WORDS + i, u64::from_le_bytes(*word));
        }
    }

    /// Lets all look at what was put.
    fn show(&self, slabs: &Slabs, (first, count): (usize, usize), used: SlabUse) {
        // Found before anybody can give the slab back, and told once all see that it is loaded.
        let free = match used {
            SlabUse::Class(class) => self.find_free(slabs, first, usize::from(class)),
            _ => Vec::new(),
        };
        self.forget(first, count);
        if let SlabUse::Class(class) = used {
            slabs.add_spare(usize::from(class), free);
        }
    }

    /// Reads a slab as its source has it, and leaves it there.
    pub(crate) fn read(&self, id: SlabId, bytes: &mut [u8]) {
        if let Err(cause) = self.source.load(id, bytes) {
            failed(id, cause);
        }
    }

    /// What was loaded makes no sense.
    pub(crate) fn malformed(&self, slab: usize, what: &'static str) -> ! {
        failed(self.id(slab), what.into())
    }

    fn find_free(&self, slabs: &Slabs, slab: usize, class: usize) -> Vec<u32> {
        let (words, region) = (class_words(class), slabs.region.words_view());
        let shift = u32::from(!self.is_payload);
        let starts = (0..SLAB_WORDS / words).map(|i| slab * SLAB_WORDS + i * words);
        let free =
            starts.filter(|&at| birth_of(self.is_payload, region.get(at), region.get(at + 1)) == 0);
        free.map(|at| (at >> shift) as u32).collect()
    }
}

/// Unwinds to [`loading`](super::loading).
fn failed(id: SlabId, cause: Box<dyn std::error::Error + Send + Sync>) -> ! {
    resume_unwind(Box::new(SlabError { id, cause: cause.into() }))
}

#[cfg(all(test, unix))]
mod tests {
    use std::sync::atomic::AtomicBool;
    use std::thread;

    use super::*;
    use crate::arena::region::Region;

    struct Ones;

    impl SlabSource for Ones {
        fn load(
            &self,
            _: SlabId,
            bytes: &mut [u8],
        ) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
            bytes.fill(1);
            Ok(())
        }
    }

    #[test]
    fn what_was_never_loaded_is_given_back_without_room_on_the_disk() {
        let uses =
            vec![SlabUse::LargeTail, SlabUse::Large(2), SlabUse::LargeTail, SlabUse::Class(3)];
        let lazy = Lazy::new(&uses, true, Arc::new(Ones));
        let region = Region::reserve_in(&std::env::temp_dir(), 8 * SLAB_WORDS).unwrap();
        let slabs = Slabs::reopen((region, Region::reserve(8).unwrap()), uses, lazy).unwrap();
        slabs.give_back(1, 2);
        assert_eq!((slabs.region.bytes_on_disk(), slabs.used()), (0, 2));
        slabs.ensure(3 * SLAB_WORDS);
        assert_eq!(slabs.region.words_view().get(3 * SLAB_WORDS), 0x0101_0101_0101_0101);
        // Those that are taken are backed, and zero.
        assert_eq!(slabs.take(2, SlabUse::Large(2), 0), Some(1));
        slabs.ensure(SLAB_WORDS);
        assert_eq!(slabs.region.words_view().get(SLAB_WORDS), 0);
        assert!(slabs.region.bytes_on_disk() >= 3 * SLAB_BYTES as u64);
        // What was loaded has room, and keeps it.
        slabs.give_back(3, 1);
        assert_eq!(slabs.take(1, SlabUse::Class(4), 0), Some(3));
        assert_eq!(slabs.region.words_view().get(3 * SLAB_WORDS), 0);
    }

    /// Half way through a load it waits, for a moment, for whoever gives the slab back.
    #[derive(Default)]
    struct Slow {
        is_asked: AtomicBool,
        is_given_back: AtomicBool,
    }

    impl SlabSource for Slow {
        fn load(
            &self,
            _: SlabId,
            bytes: &mut [u8],
        ) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
            self.is_asked.store(true, Ordering::SeqCst);
            // They have to wait for this to end, so it cannot wait for them for good: where others
            // want the processor, each turn may take milliseconds.
            let is_given_back = || {
                thread::yield_now();
                self.is_given_back.load(Ordering::SeqCst)
            };
            let _ = (0..1_000).any(|_| is_given_back());
            bytes.fill(1);
            Ok(())
        }
    }

    #[test]
    fn what_is_given_back_while_it_is_loaded_is_somebody_elses_then() {
        let uses = vec![SlabUse::LargeTail, SlabUse::Class(3)];
        let source = Arc::new(Slow::default());
        let lazy = Lazy::new(&uses, true, Arc::clone(&source) as Arc<dyn SlabSource>);
        let region = Region::reserve(8 * SLAB_WORDS).unwrap();
        let slabs = Slabs::reopen((region, Region::reserve(8).unwrap()), uses, lazy).unwrap();
        thread::scope(|scope| {
            scope.spawn(|| slabs.load_all());
            while !source.is_asked.load(Ordering::SeqCst) {
                thread::yield_now();
            }
            assert!(!slabs.give_back_absent(1, 1), "it is loaded by now");
            slabs.give_back(1, 1);
            assert_eq!(slabs.take(1, SlabUse::Class(4), 0), Some(1));
            slabs.region.words_view().set(SLAB_WORDS, 7);
            source.is_given_back.store(true, Ordering::SeqCst);
        });
        assert_eq!(slabs.region.words_view().get(SLAB_WORDS), 7);
        assert!(slabs.take_all_spare().iter().all(Vec::is_empty), "nothing in it was free");
    }

    /// Waits when it is asked first, until others have gone on.
    #[derive(Default)]
    struct Waiting {
        is_asked: AtomicBool,
        have_gone_on: AtomicBool,
    }

    impl SlabSource for Waiting {
        fn load(
            &self,
            _: SlabId,
            bytes: &mut [u8],
        ) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
            let have_gone_on = |_| {
                thread::yield_now();
                self.have_gone_on.load(Ordering::SeqCst)
            };
            let is_first = !self.is_asked.swap(true, Ordering::SeqCst);
            if is_first && !(0..10_000_000).any(have_gone_on) {
                return Err("the others wait for it".into());
            }
            bytes.fill(1);
            Ok(())
        }
    }

    #[test]
    fn others_load_what_is_read_ahead_and_it_counts_once() {
        let uses = vec![SlabUse::LargeTail, SlabUse::Class(3), SlabUse::Class(3)];
        let source = Arc::new(Waiting::default());
        let lazy = Lazy::new(&uses, true, Arc::clone(&source) as Arc<dyn SlabSource>);
        let region = Region::reserve(8 * SLAB_WORDS).unwrap();
        let slabs = Slabs::reopen((region, Region::reserve(8).unwrap()), uses, lazy).unwrap();
        thread::scope(|scope| {
            scope.spawn(|| slabs.load_ahead(1, &mut vec![0; SLAB_BYTES]));
            while !source.is_asked.load(Ordering::SeqCst) {
                thread::yield_now();
            }
            slabs.ensure(2 * SLAB_WORDS);
            slabs.ensure(SLAB_WORDS);
            slabs.region.words_view().set(SLAB_WORDS, 7);
            source.have_gone_on.store(true, Ordering::SeqCst);
        });
        assert_eq!(slabs.region.words_view().get(SLAB_WORDS), 7);
        assert_eq!(slabs.region.words_view().get(2 * SLAB_WORDS), 0x0101_0101_0101_0101);
    }
}
