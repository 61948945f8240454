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
    /// One load at a time.
    loading: Mutex<()>,
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

    /// These slabs are not to be loaded any more.
    pub(crate) fn forget(&self, first: usize, count: usize) {
        for slab in first..first + count {
            if let Some(word) = self.absent.get(slab / 64) {
                word.fetch_and(!(1 << (slab % 64)), Ordering::Release);
            }
        }
    }

    /// Loads a slab, and those that belong to the same large record.
    #[cold]
    pub(crate) fn load(&self, slabs: &Slabs, slab: usize) {
        let _turn = lock(&self.loading);
        if !self.is_absent(slab) {
            return;
        }
        let first = (0..=slab).rev().find(|&first| slabs.used_for(first) != SlabUse::LargeTail);
        let first = first.unwrap_or(slab);
        let used = slabs.used_for(first);
        let count = if let SlabUse::Large(count) = used { count as usize } else { 1 };
        let mut bytes = vec![0; SLAB_BYTES];
        for slab in first..first + count {
            let id = SlabId { is_payload: self.is_payload, index: slab as u32 };
            let backed = slabs.region.back(slab * SLAB_WORDS, SLAB_WORDS).map_err(Into::into);
            if let Err(cause) = backed.and_then(|()| self.source.load(id, &mut bytes)) {
                resume_unwind(Box::new(SlabError { id, cause: cause.into() }));
            }
            let words = slabs.region.words_view();
            for (i, word) in bytes.as_chunks::<WORD_BYTES>().0.iter().enumerate() {
                words.set(slab * SLAB_WORDS + i, u64::from_le_bytes(*word));
            }
        }
        if let SlabUse::Class(class) = used {
            self.find_free(slabs, first, usize::from(class));
        }
        self.forget(first, count);
    }

    fn find_free(&self, slabs: &Slabs, slab: usize, class: usize) {
        let (words, region) = (class_words(class), slabs.region.words_view());
        let shift = u32::from(!self.is_payload);
        let starts = (0..SLAB_WORDS / words).map(|i| slab * SLAB_WORDS + i * words);
        let free =
            starts.filter(|&at| birth_of(self.is_payload, region.get(at), region.get(at + 1)) == 0);
        slabs.add_spare(class, free.map(|at| (at >> shift) as u32));
    }
}
