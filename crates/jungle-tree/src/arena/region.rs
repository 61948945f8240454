//! One reserved range of memory, seen as words: the only module of the project with `unsafe` code.
//!
//! # The argument
//!
//! 1. The range is mapped once, zero-filled, readable and writable, and unmapped only when the
//!    `Region` is dropped. Nothing borrowed from it outlives it (lifetimes). If it is a file's,
//!    that file has no name (`spill.rs`), is as long as the range, and is written in two ways
//!    only: through the mapping, and with zeros where nothing lies ([`Region::back`]).
//! 2. Every word is an [`AtomicU64`], and every index is masked to the size of the range (a power
//!    of two, with a run's length of guard behind it), so [`Words::word`] and [`Words::run`] are
//!    sound for *any* index, at any time, from any thread: a stale or invented handle reads a
//!    wrong number, it cannot read outside of the range or race.
//!    Only relaxed accesses are needed: what makes a block visible to another thread is the
//!    release store of a root and the acquire load of it, in `line.rs`.
//! 3. Text and bytes are lent as slices ([`Words::bytes`]), which must not change while lent.
//!    They lie in payload records, which are written before the version that shows them is
//!    published, and are not written again until the record is reused; a record is reused only
//!    when no pin covers a version that shows it (`line.rs`), and a slice borrows the pin (a
//!    snapshot) or the unpublished edit (`&Editor`, whose next edit needs `&mut`).
//!
//! Point 3 is the one that rests on code outside of this file; `tests/it/reuse.rs` watches it
//! with a model, and the address sanitizer run fills freed records so that a reuse that comes too
//! early is seen. Point 2 is why everything above can be safe Rust.

#![allow(unsafe_code)]

use std::fs::File;
use std::io;
use std::marker::PhantomData;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use memmap2::{Advice, MmapOptions, MmapRaw, UncheckedAdvice};

use super::spill;

/// Bytes of one word.
pub(crate) const WORD_BYTES: usize = 8;

/// Words of a run: as many as the longest block of structure has, and more.
pub(crate) const RUN_WORDS: usize = 32;

/// The words from some index on.
pub(crate) type Run<'a> = &'a [AtomicU64; RUN_WORDS];

/// A reserved, zero-filled range of memory; pages cost nothing until they are first written.
pub(crate) struct Region {
    base: *const AtomicU64,
    mask: usize,
    map: MmapRaw,
    /// Where its pages go that the system has no room for.
    file: Option<File>,
}

// SAFETY: the pointer is to the mapping owned by `map`, which may be used from any thread; all
// access through it is atomic, or to bytes that nobody writes (point 3 of the argument).
unsafe impl Send for Region {}
// SAFETY: as above.
unsafe impl Sync for Region {}

impl Region {
    /// Reserves `words` words, rounded up to a power of two.
    ///
    /// # Errors
    /// When the system refuses the address range (a limit on virtual memory, or strict
    /// overcommit).
    pub(crate) fn reserve(words: usize) -> io::Result<Region> {
        let words = words.next_power_of_two();
        let bytes = (words + RUN_WORDS) * WORD_BYTES;
        let map: MmapRaw = MmapOptions::new().len(bytes).no_reserve_swap().map_anon()?.into();
        let base = map.as_mut_ptr().cast_const().cast();
        Ok(Region { base, mask: words - 1, map, file: None })
    }

    /// The same, of a file in this folder: what is not in use may be in it instead of in memory.
    /// Before something is written to part of it, that part is to be [backed](Region::back).
    ///
    /// # Errors
    /// As [`Region::reserve`]; also when there cannot be such a file.
    pub(crate) fn reserve_in(folder: &Path, words: usize) -> io::Result<Region> {
        let words = words.next_power_of_two();
        let bytes = (words + RUN_WORDS) * WORD_BYTES;
        let file = spill::nameless_file(folder)?;
        file.set_len(bytes as u64)?;
        let map = MmapOptions::new().len(bytes).map_raw(&file)?;
        // Who looks at one page seldom wants the next.
        #[cfg(unix)]
        let _ = map.advise(Advice::Random);
        let base = map.as_mut_ptr().cast_const().cast();
        Ok(Region { base, mask: words - 1, map, file: Some(file) })
    }

    /// May it be in a file?
    pub(crate) fn is_spilled(&self) -> bool {
        self.file.is_some()
    }

    /// Makes sure that part of it can be written to. Nothing may lie there: it becomes zero.
    ///
    /// # Errors
    /// When its file's disk is full.
    pub(crate) fn back(&self, index: usize, words: usize) -> io::Result<()> {
        let Some(file) = &self.file else { return Ok(()) };
        spill::fill_with_zeros(file, index * WORD_BYTES, words * WORD_BYTES)
    }

    /// Bytes of its file that the disk has room for; 0 without a file.
    #[cfg(all(test, unix))]
    pub(crate) fn bytes_on_disk(&self) -> u64 {
        use std::os::unix::fs::MetadataExt;
        let blocks = self.file.as_ref().map(|file| file.metadata().expect("it is open").blocks());
        blocks.unwrap_or(0) * 512
    }

    /// How many words there are.
    pub(crate) fn words(&self) -> usize {
        self.mask + 1
    }

    /// The region as words, to be copied around: its two fields stay in registers.
    #[inline(always)]
    pub(crate) fn words_view(&self) -> Words<'_> {
        Words { base: self.base, mask: self.mask, region: PhantomData }
    }

    /// Asks for huge pages on part of the range; a refusal changes nothing but speed.
    pub(crate) fn advise_huge(&self, index: usize, words: usize) {
        if self.is_spilled() {
            return;
        }
        #[cfg(target_os = "linux")]
        let _ = self.map.advise_range(Advice::HugePage, index * WORD_BYTES, words * WORD_BYTES);
        #[cfg(not(target_os = "linux"))]
        let _ = (index, words, Advice::Normal);
    }

    /// Asks for the pages of part of the range at once, since all of it will be written; a refusal
    /// changes nothing but speed.
    pub(crate) fn populate(&self, index: usize, words: usize) {
        #[cfg(target_os = "linux")]
        let _ =
            self.map.advise_range(Advice::PopulateWrite, index * WORD_BYTES, words * WORD_BYTES);
        #[cfg(not(target_os = "linux"))]
        let _ = (index, words);
    }

    /// Gives the pages of part of the range back to the system and leaves it zero-filled. (Those
    /// of a file stay backed.)
    /// Nothing may lie there any more.
    pub(crate) fn give_back(&self, index: usize, words: usize) {
        #[cfg(target_os = "linux")]
        // SAFETY: the range is within the mapping, page aligned and free (the caller's word), so
        // nobody holds a slice of it; atomics may be read at any time and then read zero.
        let given = !self.is_spilled()
            && unsafe {
                let (start, len) = (index * WORD_BYTES, words * WORD_BYTES);
                self.map.unchecked_advise_range(UncheckedAdvice::DontNeed, start, len).is_ok()
            };
        #[cfg(not(target_os = "linux"))]
        let given = false;
        if !given {
            (0..words).for_each(|i| self.words_view().set(index + i, 0));
        }
    }
}

/// A borrowed [`Region`].
#[derive(Clone, Copy)]
pub(crate) struct Words<'a> {
    base: *const AtomicU64,
    mask: usize,
    region: PhantomData<&'a Region>,
}

impl<'a> Words<'a> {
    #[inline(always)]
    fn word(self, index: usize) -> &'a AtomicU64 {
        // SAFETY: masked, so within the mapping; aligned, as a mapping begins at a page; words
        // are only ever accessed as atomics, or read as bytes while nobody writes them.
        unsafe { &*self.base.add(index & self.mask) }
    }

    /// The words from `index` on, found once for all of them.
    #[inline(always)]
    pub(crate) fn run(self, index: usize) -> Run<'a> {
        // SAFETY: masked, and the mapping goes on for a run behind the last index; aligned, and
        // only ever accessed as atomics, as for `word`.
        unsafe { &*self.base.add(index & self.mask).cast() }
    }

    /// The word at `index`.
    #[inline(always)]
    pub(crate) fn get(self, index: usize) -> u64 {
        self.word(index).load(Ordering::Relaxed)
    }

    /// Stores a word.
    #[inline(always)]
    pub(crate) fn set(self, index: usize, value: u64) {
        self.word(index).store(value, Ordering::Relaxed);
    }

    /// Makes the word at `index` at least this.
    pub(crate) fn raise(self, index: usize, value: u64) {
        self.word(index).fetch_max(value, Ordering::Relaxed);
    }

    /// Copies `words` words within the region.
    #[inline(always)]
    pub(crate) fn copy(self, from: usize, to: usize, words: usize) {
        let (from, to) = (from & self.mask, to & self.mask);
        // Once for all words, so that the loop is nothing but loads and stores.
        assert!(from.max(to) + words <= self.mask + 1, "a copy runs out of its region");
        let copy = |i: usize| {
            // SAFETY: both ends are within the mapping (asserted), aligned, and atomic.
            unsafe {
                let word = (*self.base.add(from + i)).load(Ordering::Relaxed);
                (*self.base.add(to + i)).store(word, Ordering::Relaxed);
            }
        };
        // Blocks come in pairs of words.
        let mut i = 0;
        while i + 1 < words {
            copy(i);
            copy(i + 1);
            i += 2;
        }
        if i < words {
            copy(i);
        }
    }

    /// Asks the processor to bring the line of a word nearer; without effect on meaning.
    #[inline(always)]
    pub(crate) fn prefetch(self, index: usize) {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: a prefetch has no effect but on the cache; the address is within the mapping.
        unsafe {
            use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            _mm_prefetch::<_MM_HINT_T0>(self.base.add(index & self.mask).cast());
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = index;
    }

    /// `len` bytes from word `index` on, unless they run out of the region. See point 3 of the
    /// argument for why they hold still.
    #[inline]
    pub(crate) fn bytes(self, index: usize, len: usize) -> Option<&'a [u8]> {
        let start = (index & self.mask) * WORD_BYTES;
        let is_within = len <= (self.mask + 1) * WORD_BYTES - start;
        // SAFETY: within the mapping (checked); initialised (mapped zero-filled); not written
        // while lent (point 3).
        is_within
            .then(|| unsafe { std::slice::from_raw_parts(self.base.cast::<u8>().add(start), len) })
    }

    /// Writes bytes from word `index` on; the rest of the last word becomes zero.
    pub(crate) fn write_bytes(self, index: usize, bytes: &[u8]) {
        let (whole, rest) = bytes.as_chunks::<WORD_BYTES>();
        for (i, chunk) in whole.iter().enumerate() {
            self.set(index + i, u64::from_ne_bytes(*chunk));
        }
        if !rest.is_empty() {
            let mut last = [0; WORD_BYTES];
            last[..rest.len()].copy_from_slice(rest);
            self.set(index + whole.len(), u64::from_ne_bytes(last));
        }
    }
}
