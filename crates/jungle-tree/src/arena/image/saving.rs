//! Copying slabs as they are to be saved.

use super::{SLAB_BYTES, SlabId};
use crate::arena::{BIRTH_QUEUED, SLAB_WORDS, SlabUse, Slabs, WORD_BYTES, class_words};
use crate::block::{BIRTH_BITS, Record};

/// The birth of what was in a line's queue: tracing finds out whether anybody can see it.
pub(crate) const BIRTH_OLDEST: u64 = 1;

/// One region while it is saved.
pub(super) struct Saving<'a> {
    pub(super) slabs: &'a Slabs,
    pub(super) is_payload: bool,
    /// What was born from here on is left out.
    pub(super) drawn: u64,
    pub(super) changed_from: u64,
    /// In a slab that was not marked since this epoch nothing was.
    pub(super) marked_from: u64,
}

impl Saving<'_> {
    /// Gives what has changed to `put`, and tells what the slabs are used for.
    pub(super) fn all<E>(
        &self,
        was: &[SlabUse],
        put: &mut impl FnMut(SlabId, Option<&[u8]>) -> Result<(), E>,
    ) -> Result<Vec<SlabUse>, E> {
        let mut uses = self.slabs.uses();
        self.drop_unfinished(&mut uses);
        let mut bytes = vec![0; SLAB_BYTES];
        let mut first = 1;
        for slab in 1..uses.len() {
            if uses[slab] != SlabUse::LargeTail {
                first = slab;
            }
            let is_known = was.get(slab) == Some(&uses[slab]);
            // What is not loaded has not changed since the image it is of.
            let is_still =
                self.slabs.marked(first) < self.marked_from || self.slabs.is_absent(slab);
            if uses[slab] == SlabUse::Free || is_known && is_still {
                continue;
            }
            let is_changed = self.copy(slab, &uses, &mut bytes);
            if is_changed || was.get(slab) != Some(&uses[slab]) {
                put(self.id(slab), Some(&bytes))?;
            }
        }
        // What was given to somebody else meanwhile could not be reached.
        let now = self.slabs.uses();
        let others = (1..uses.len()).filter(|&slab| now.get(slab) != Some(&uses[slab]));
        let others: Vec<usize> = others.collect();
        others.into_iter().for_each(|slab| uses[slab] = SlabUse::Free);
        self.drop_unfinished(&mut uses);
        let used = |slab: usize| uses.get(slab).is_some_and(|used| *used != SlabUse::Free);
        for slab in (1..was.len()).filter(|&slab| was[slab] != SlabUse::Free && !used(slab)) {
            put(self.id(slab), None)?;
        }
        Ok(uses)
    }

    fn id(&self, slab: usize) -> SlabId {
        SlabId { is_payload: self.is_payload, index: slab as u32 }
    }

    /// Takes large records out that are not whole, or hold nothing that is to be saved.
    fn drop_unfinished(&self, uses: &mut [SlabUse]) {
        let mut slab = 1;
        while slab < uses.len() {
            let count = match uses[slab] {
                SlabUse::Large(count) => count as usize,
                SlabUse::LargeTail => 0,
                SlabUse::Class(_) | SlabUse::Free => {
                    slab += 1;
                    continue;
                }
            };
            let end = (slab + count).min(uses.len());
            let tails = uses[(slab + 1).min(end)..end].iter();
            let is_whole = count > 0 && end == slab + count;
            let is_whole = is_whole && tails.clone().all(|used| *used == SlabUse::LargeTail);
            let birth = if self.slabs.is_absent(slab) { 1 } else { self.birth_at(slab) };
            if is_whole && ((1..self.drawn).contains(&birth) || birth == BIRTH_QUEUED) {
                slab = end;
            } else {
                uses[slab] = SlabUse::Free;
                slab += 1;
            }
        }
    }

    fn birth_at(&self, slab: usize) -> u64 {
        let (words, at) = (self.slabs.region.words_view(), slab * SLAB_WORDS);
        self.birth(words.get(at), words.get(at + 1))
    }

    /// Copies a slab as it is to be saved; tells whether it has changed.
    fn copy(&self, slab: usize, uses: &[SlabUse], bytes: &mut [u8]) -> bool {
        let words = self.slabs.region.words_view();
        let mut copy: Vec<u64> = Vec::with_capacity(SLAB_WORDS);
        if self.slabs.read_absent(self.id(slab), bytes) {
            copy.extend(bytes.as_chunks().0.iter().map(|word| u64::from_le_bytes(*word)));
        } else {
            copy.extend((0..SLAB_WORDS).map(|i| words.get(slab * SLAB_WORDS + i)));
        }
        let changed = match uses[slab] {
            SlabUse::Class(class) => {
                let records = copy.chunks_exact_mut(class_words(usize::from(class)));
                records.fold(false, |changed, record| self.record(record) | changed)
            }
            SlabUse::Large(_) => self.record(&mut copy),
            // As its first slab, whose header says when it was born.
            SlabUse::LargeTail => {
                let first = (0..slab).rev().find(|&first| uses[first] != SlabUse::LargeTail);
                first.is_some_and(|first| self.is_changed(self.birth_at(first)))
            }
            SlabUse::Free => false,
        };
        for (bytes, word) in bytes.chunks_exact_mut(WORD_BYTES).zip(&copy) {
            bytes.copy_from_slice(&word.to_le_bytes());
        }
        changed
    }

    fn birth(&self, first: u64, second: u64) -> u64 {
        birth_of(self.is_payload, first, second)
    }

    /// What is in a queue hides when it was born.
    fn is_changed(&self, birth: u64) -> bool {
        birth == BIRTH_QUEUED || (self.changed_from..self.drawn).contains(&birth)
    }

    /// Makes a copied record what it is in the image; tells whether it has changed.
    fn record(&self, record: &mut [u64]) -> bool {
        let birth = self.birth(record[0], record.get(1).copied().unwrap_or(0));
        if birth == BIRTH_QUEUED {
            let header = &mut record[usize::from(!self.is_payload)];
            *header = match self.is_payload {
                true => Record::new(BIRTH_OLDEST, Record(*header).words()).0,
                false => *header & !BIRTH_BITS | BIRTH_OLDEST,
            };
        } else if birth == 0 || birth >= self.drawn {
            record.fill(0);
        }
        self.is_changed(birth)
    }
}

/// When a record was born whose first two words are these.
pub(super) fn birth_of(is_payload: bool, first: u64, second: u64) -> u64 {
    if is_payload { Record(first).birth() } else { second & BIRTH_BITS }
}
