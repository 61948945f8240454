//! An image's description as bytes.

use super::{ImageError, SLAB_BYTES, SavedImage};
use crate::arena::{CLASSES, SlabUse, VERSION_MAX};

impl SavedImage {
    /// How many bytes its slabs take up when all of them are loaded.
    ///
    /// ```
    /// use jungle_tree::{Arena, SLAB_BYTES, SavedImage, Tree};
    /// assert_eq!(SavedImage::default().memory_bytes(), 0);
    /// let arena = Arena::new()?;
    /// let mut tree = Tree::new(&arena);
    /// tree.put_attribute(&[], "text", "x".repeat(10 * SLAB_BYTES).as_str())?;
    /// let image = arena.save(&SavedImage::default(), |_, _| Ok::<(), std::io::Error>(()))?;
    /// let bytes = image.memory_bytes();
    /// assert!((10 * SLAB_BYTES as u64..20 * SLAB_BYTES as u64).contains(&bytes), "{bytes}");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn memory_bytes(&self) -> u64 {
        // Of each region the first slab is never used.
        let slabs = [&self.structure, &self.payload]
            .map(|uses| uses.iter().skip(1).filter(|used| **used != SlabUse::Free).count() as u64);
        slabs.iter().sum::<u64>() * SLAB_BYTES as u64
    }

    /// As bytes, for [`SavedImage::from_bytes`]: numbers little-endian, then the attribute keys,
    /// then what the slabs of each region are used for, in runs; then who has brought in many keys.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        bytes.extend_from_slice(&self.versions.to_le_bytes());
        bytes.extend_from_slice(&self.cut.to_le_bytes());
        bytes.extend_from_slice(&(self.symbols.len() as u32).to_le_bytes());
        for symbol in &self.symbols {
            bytes.extend_from_slice(&(symbol.len() as u32).to_le_bytes());
            bytes.extend_from_slice(symbol.as_bytes());
        }
        for uses in [&self.structure, &self.payload] {
            let runs: Vec<&[SlabUse]> = uses.chunk_by(|a, b| a == b).collect();
            bytes.extend_from_slice(&(runs.len() as u32).to_le_bytes());
            for run in runs {
                let (code, detail) = code_of(run[0]);
                bytes.push(code);
                bytes.extend_from_slice(&detail.to_le_bytes());
                bytes.extend_from_slice(&(run.len() as u32).to_le_bytes());
            }
        }
        // Where there are none the bytes are those that they were before this was counted.
        if !self.brought.is_empty() {
            bytes.extend_from_slice(&(self.brought.len() as u32).to_le_bytes());
            for (owner, keys) in &self.brought {
                bytes.extend_from_slice(&owner.to_le_bytes());
                bytes.extend_from_slice(&keys.to_le_bytes());
            }
        }
        bytes
    }

    /// The description that these bytes are.
    ///
    /// # Errors
    /// When they are none.
    pub fn from_bytes(bytes: &[u8]) -> Result<SavedImage, ImageError> {
        let mut input = Input(bytes);
        let (versions, cut) = (input.u64()?, input.u64()?);
        if versions > VERSION_MAX || cut > versions {
            return Err(ImageError::Malformed { what: "has impossible version numbers" });
        }
        let mut symbols = Vec::new();
        for _ in 0..input.u32()? {
            let len = input.u32()? as usize;
            let text = std::str::from_utf8(input.take(len)?).ok();
            let text = text.ok_or(ImageError::Malformed { what: "has a key that is no text" })?;
            symbols.push(text.into());
        }
        let (structure, payload) = (input.uses()?, input.uses()?);
        let is_over = input.0.is_empty();
        let brought = if is_over { Vec::new() } else { input.brought(symbols.len())? };
        if !input.0.is_empty() {
            return Err(ImageError::Malformed { what: "goes on behind its end" });
        }
        Ok(SavedImage { versions, cut, symbols, brought, structure, payload })
    }
}

fn code_of(used: SlabUse) -> (u8, u32) {
    match used {
        SlabUse::Free => (0, 0),
        SlabUse::Class(class) => (1, u32::from(class)),
        SlabUse::Large(count) => (2, count),
        SlabUse::LargeTail => (3, 0),
    }
}

/// Bytes that are read from the front.
struct Input<'a>(&'a [u8]);

impl<'a> Input<'a> {
    fn take(&mut self, len: usize) -> Result<&'a [u8], ImageError> {
        let (front, rest) =
            self.0.split_at_checked(len).ok_or(ImageError::Malformed { what: "ends early" })?;
        self.0 = rest;
        Ok(front)
    }

    fn u32(&mut self) -> Result<u32, ImageError> {
        Ok(self.take(4)?.iter().rev().fold(0, |number, &byte| number << 8 | u32::from(byte)))
    }

    fn u64(&mut self) -> Result<u64, ImageError> {
        Ok(u64::from(self.u32()?) | u64::from(self.u32()?) << 32)
    }

    /// Who has brought in how many of so many keys.
    fn brought(&mut self, symbols: usize) -> Result<Vec<(u64, u32)>, ImageError> {
        let wrong = ImageError::Malformed { what: "counts attribute keys that cannot be" };
        let (mut brought, mut left, mut before) = (Vec::new(), symbols as u64, 0);
        for _ in 0..self.u32()? {
            let (owner, keys) = (self.u64()?, self.u32()?);
            if owner <= before || u64::from(keys) > left {
                return Err(wrong);
            }
            left -= u64::from(keys);
            before = owner;
            brought.push((owner, keys));
        }
        if brought.is_empty() { Err(wrong) } else { Ok(brought) }
    }

    fn uses(&mut self) -> Result<Vec<SlabUse>, ImageError> {
        // As many slabs as the larger region has at most.
        const SLABS_MAX: usize = (64 << 30) / SLAB_BYTES;
        let wrong = ImageError::Malformed { what: "has slabs that cannot be" };
        let mut uses = Vec::new();
        for _ in 0..self.u32()? {
            let (code, detail, run) = (self.take(1)?[0], self.u32()?, self.u32()? as usize);
            let used = match (code, detail) {
                (0, 0) => SlabUse::Free,
                (1, class) if (1..CLASSES as u32).contains(&class) => SlabUse::Class(class as u8),
                (2, count) if count > 0 => SlabUse::Large(count),
                (3, 0) => SlabUse::LargeTail,
                _ => return Err(wrong),
            };
            if run > SLABS_MAX - uses.len() {
                return Err(wrong);
            }
            uses.resize(uses.len() + run, used);
        }
        if is_whole(&uses) { Ok(uses) } else { Err(wrong) }
    }
}

/// Is the first slab nobody's, and does each later one of a run belong to the first of that?
fn is_whole(uses: &[SlabUse]) -> bool {
    let mut tails = 1;
    for used in uses {
        let is_tail = *used == SlabUse::LargeTail;
        if is_tail != (tails > 0) {
            return false;
        }
        tails = match *used {
            SlabUse::Large(count) => count - 1,
            _ => u32::saturating_sub(tails, 1),
        };
    }
    tails == 0
}
