//! A file in blocks, each of which is held against a checksum when it is read: so an engine that
//! trusts its file sees what it wrote, or an error.
//!
//! Checksums lie apart from what they are of, so that a block that is an old one does not have
//! its own with it. They are written when the file is synced; what power loss leaves without its
//! checksum was never synced, and the engine, which writes nothing in place, does not look at it.
//!
//! Only the *head*, block 0, is written in place: the engine says there which of two states counts.
//! It is kept twice, written in turn, each with its checksum and a *generation*, which goes up with
//! each write. The newest generation that was synced before the last sync is kept with the
//! checksums, a little away from the head: so an old head is noticed, unless it is the one before,
//! of which everything is still there.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::io::{self, ErrorKind};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::disk::{DiskFile, read_full, write_full};
use crate::log::frame::{u32_at, u64_at};

/// Bytes of a block.
pub(super) const BLOCK: usize = 4096;

/// Blocks whose checksums fill one block, which lies in front of them; in the first group behind
/// this many.
const GROUP: u64 = (BLOCK / 4) as u64;
const FIRST_SUMS: u64 = 8;

/// Bytes of a head: a sector.
const HEAD: usize = 512;

/// What of that is the engine's; behind it are the generation and the checksum.
const HEAD_ENGINE: usize = HEAD - 12;

/// A file in blocks.
pub(super) struct Blocks {
    file: Box<dyn DiskFile>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The checksums that were needed so far, by group.
    sums: BTreeMap<u64, Sums>,
    /// Of block 0 as it was written last, and as it was last known to be synced.
    generation: u32,
    synced: u32,
}

struct Sums {
    bytes: Box<[u8; BLOCK]>,
    is_changed: bool,
}

fn damaged(block: u64, what: &str) -> io::Error {
    let told = format!("block {block} at byte {} {what}", place(block));
    io::Error::new(ErrorKind::InvalidData, told)
}

/// Where in the file a block is.
fn place(block: u64) -> u64 {
    let sums = if block < FIRST_SUMS { 0 } else { block / GROUP + 1 };
    (block + sums) * BLOCK as u64
}

/// Where in the file the checksums of a group are.
fn place_of_sums(group: u64) -> u64 {
    (group * (GROUP + 1)).max(FIRST_SUMS) * BLOCK as u64
}

/// Never 0, which is the sum of what was never written.
fn sum_of(block: u64, bytes: &[u8]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(&block.to_le_bytes()), bytes).max(1)
}

impl Blocks {
    /// Reads block 0, if there is one.
    pub(super) fn open(file: Box<dyn DiskFile>) -> io::Result<Blocks> {
        let blocks = Blocks { file, state: Mutex::default() };
        if blocks.len()? > 0 {
            let mut state = blocks.lock();
            state.generation = blocks.read_head()?.0;
            let known = u32_at(&*blocks.sums(&mut state, 0)?.bytes, 0);
            if state.generation < known {
                return Err(damaged(0, "is an old one"));
            }
            state.synced = known;
            drop(state);
        }
        Ok(blocks)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Without the checksums, in bytes.
    pub(super) fn len(&self) -> io::Result<u64> {
        let (len, block) = (self.file.len()?, BLOCK as u64);
        if len <= FIRST_SUMS * block {
            return Ok(len);
        }
        let (groups, rest) = (len / (block * (GROUP + 1)), len % (block * (GROUP + 1)));
        Ok(groups * GROUP * block + rest.saturating_sub(block))
    }

    /// To whole blocks.
    pub(super) fn set_len(&self, len: u64) -> io::Result<()> {
        let (was, block) = (self.len()?, BLOCK as u64);
        if !len.is_multiple_of(block) || (1..=FIRST_SUMS).contains(&(len / block)) {
            return Err(io::Error::other("the engine asks for a length that no file has"));
        }
        let mut state = self.lock();
        // What comes later where something is cut off was never written.
        for gone in len / block..was.div_ceil(block) {
            self.set_sum(&mut state, gone, 0)?;
        }
        state.sums.retain(|group, _| group * GROUP * block < len);
        let end = match len / block {
            0 => 0,
            blocks => (place(blocks - 1) + block).max(place_of_sums(0) + block),
        };
        self.file.set_len(end)
    }

    /// Fills all of `bytes`, from blocks that have their checksums.
    pub(super) fn read(&self, offset: u64, bytes: &mut [u8]) -> io::Result<()> {
        if offset + bytes.len() as u64 > self.len()? {
            return Err(io::Error::new(ErrorKind::UnexpectedEof, "the file is cut short"));
        }
        for part in parts(offset, bytes.len()) {
            let target = &mut bytes[part.at..part.at + part.len];
            if part.is_whole() {
                self.read_blocks(part.block, target)?;
            } else {
                let mut whole = [0; BLOCK];
                match part.block {
                    0 => self.read_first(&mut whole)?,
                    block => self.read_blocks(block, &mut whole)?,
                }
                target.copy_from_slice(&whole[part.from..part.from + part.len]);
            }
        }
        Ok(())
    }

    pub(super) fn write(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        for part in parts(offset, bytes.len()) {
            let source = &bytes[part.at..part.at + part.len];
            if part.is_whole() {
                self.write_blocks(part.block, source)?;
                continue;
            }
            let mut whole = [0; BLOCK];
            match part.block {
                0 => self.read_first(&mut whole)?,
                block => self.read_blocks(block, &mut whole)?,
            }
            whole[part.from..part.from + part.len].copy_from_slice(source);
            match part.block {
                0 => self.write_first(&whole)?,
                block => self.write_blocks(block, &whole)?,
            }
        }
        Ok(())
    }

    pub(super) fn sync(&self) -> io::Result<()> {
        let mut state = self.lock();
        let (generation, synced) = (state.generation, state.synced);
        if let Some(first) = state.sums.get_mut(&0) {
            first.put(0, synced);
        }
        for (group, sums) in state.sums.iter_mut().filter(|(_, sums)| sums.is_changed) {
            write_full(&*self.file, &*sums.bytes, place_of_sums(*group))?;
            sums.is_changed = false;
        }
        drop(state);
        self.file.sync_data()?;
        self.lock().synced = generation;
        Ok(())
    }

    /// Blocks that lie side by side, but not block 0.
    fn read_blocks(&self, first: u64, bytes: &mut [u8]) -> io::Result<()> {
        // A file that was cut is told by the sums, too.
        let read = read_full(&*self.file, bytes, place(first))?;
        bytes[read..].fill(0);
        let mut state = self.lock();
        let sums = &self.sums(&mut state, first / GROUP)?.bytes;
        for (block, bytes) in (first..).zip(bytes.chunks(BLOCK)) {
            let is_it = match u32_at(&**sums, slot(block)) {
                0 => bytes.iter().all(|&byte| byte == 0),
                ought => ought == sum_of(block, bytes),
            };
            if !is_it {
                return Err(damaged(block, "does not have its checksum"));
            }
        }
        Ok(())
    }

    /// As [`Blocks::read_blocks`].
    fn write_blocks(&self, first: u64, bytes: &[u8]) -> io::Result<()> {
        let mut state = self.lock();
        for (block, bytes) in (first..).zip(bytes.chunks(BLOCK)) {
            self.set_sum(&mut state, block, sum_of(block, bytes))?;
        }
        drop(state);
        write_full(&*self.file, bytes, place(first))
    }

    fn read_first(&self, bytes: &mut [u8; BLOCK]) -> io::Result<()> {
        let (_, head) = self.read_head()?;
        bytes[..HEAD_ENGINE].copy_from_slice(&head[..HEAD_ENGINE]);
        Ok(())
    }

    fn write_first(&self, bytes: &[u8; BLOCK]) -> io::Result<()> {
        if bytes[HEAD_ENGINE..].iter().any(|&byte| byte != 0) {
            return Err(io::Error::other("the engine needs more of its first block"));
        }
        let mut state = self.lock();
        // So that the sync has a place for what it notes.
        self.sums(&mut state, 0)?;
        state.generation += 1;
        let mut head = [0; HEAD];
        head[..HEAD_ENGINE].copy_from_slice(&bytes[..HEAD_ENGINE]);
        head[HEAD_ENGINE..HEAD - 4].copy_from_slice(&u64::from(state.generation).to_le_bytes());
        let sum = crc32c::crc32c(&head[..HEAD - 4]);
        head[HEAD - 4..].copy_from_slice(&sum.to_le_bytes());
        let place = u64::from(state.generation % 2) * HEAD as u64;
        drop(state);
        write_full(&*self.file, &head, place)
    }

    /// The newest head with its generation; 0 when none was ever written.
    fn read_head(&self) -> io::Result<(u32, [u8; HEAD])> {
        let mut both = [0; 2 * HEAD];
        read_full(&*self.file, &mut both, 0)?;
        let whole = both.as_chunks::<HEAD>().0.iter().filter_map(|head| {
            let is_whole = u32_at(head, HEAD - 4) == crc32c::crc32c(&head[..HEAD - 4]);
            let generation = u32::try_from(u64_at(head, HEAD_ENGINE)).ok();
            generation.filter(|&generation| is_whole && generation > 0).zip(Some(*head))
        });
        match whole.max_by_key(|(generation, _)| *generation) {
            Some(head) => Ok(head),
            None if both.iter().all(|&byte| byte == 0) => Ok((0, [0; HEAD])),
            None => Err(damaged(0, "does not have its checksum")),
        }
    }

    fn set_sum(&self, state: &mut State, block: u64, sum: u32) -> io::Result<()> {
        self.sums(state, block / GROUP)?.put(slot(block), sum);
        Ok(())
    }

    /// The checksums of a group, read when they are first needed.
    fn sums<'s>(&self, state: &'s mut State, group: u64) -> io::Result<&'s mut Sums> {
        Ok(match state.sums.entry(group) {
            Entry::Occupied(there) => there.into_mut(),
            Entry::Vacant(absent) => {
                let mut bytes = Box::new([0; BLOCK]);
                read_full(&*self.file, &mut *bytes, place_of_sums(group))?;
                absent.insert(Sums { bytes, is_changed: false })
            }
        })
    }
}

impl Sums {
    fn put(&mut self, at: usize, sum: u32) {
        self.bytes[at..at + 4].copy_from_slice(&sum.to_le_bytes());
        // Even if it is the same: after a failed sync the system shows what is not on the disk.
        self.is_changed = true;
    }
}

/// Where among the checksums of its group that of a block is.
fn slot(block: u64) -> usize {
    (block % GROUP) as usize * 4
}

/// A part of a read or write: blocks that lie side by side, or a piece of one block.
struct Part {
    block: u64,
    /// Where in the block, where in the bytes, and how long.
    from: usize,
    at: usize,
    len: usize,
}

impl Part {
    /// Block 0 never is.
    fn is_whole(&self) -> bool {
        self.block > 0 && self.from == 0 && self.len.is_multiple_of(BLOCK)
    }
}

fn parts(offset: u64, len: usize) -> impl Iterator<Item = Part> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let here = offset + at as u64;
        let (block, from) = (here / BLOCK as u64, (here % BLOCK as u64) as usize);
        let whole = (len - at) / BLOCK;
        let len = match from == 0 && block > 0 && whole > 0 {
            true if block < FIRST_SUMS => whole.min((FIRST_SUMS - block) as usize) * BLOCK,
            true => whole.min((GROUP - block % GROUP) as usize) * BLOCK,
            false => (BLOCK - from).min(len - at),
        };
        let part = Part { block, from, at, len };
        at += len;
        (len > 0).then_some(part)
    })
}

#[cfg(all(test, feature = "sim"))]
mod tests {
    use jungle_testkit::Rng;

    use super::*;
    use crate::disk::sim::{CallKind, Fate, Keep, SimDisk};
    use crate::disk::{Disk, Mode};

    /// Some bytes of the engine's, which leaves the end of its first block alone.
    fn range(rng: &mut Rng, len: usize) -> std::ops::Range<usize> {
        let from = rng.index(len);
        let to = from + rng.index((len - from).min(20 * BLOCK) + 1);
        match from < BLOCK {
            true => from.min(HEAD_ENGINE)..to.clamp(from.min(HEAD_ENGINE), HEAD_ENGINE),
            false => from..to,
        }
    }

    #[test]
    fn a_file_in_blocks_is_as_one_without_them() {
        for seed in 0..40 {
            let mut rng = Rng::new(seed);
            let disk = SimDisk::new();
            let open = |mode| Blocks::open(disk.open("f", mode).unwrap()).unwrap();
            let (mut blocks, mut model) = (open(Mode::CreateNew), Vec::new());
            for _ in 0..200 {
                match rng.below(8) {
                    0 => {
                        let groups = if rng.chance(1, 8) { 3 * GROUP as usize } else { 40 };
                        let least = FIRST_SUMS as usize + 1;
                        model.resize(rng.index(groups).max(least) * BLOCK, 0);
                        blocks.set_len(model.len() as u64).unwrap();
                    }
                    1 => blocks.sync().unwrap(),
                    2 => {
                        blocks.sync().unwrap();
                        blocks = open(Mode::Write);
                    }
                    _ if model.is_empty() => {}
                    3..6 => {
                        let range = range(&mut rng, model.len());
                        let byte = rng.below(256) as u8;
                        model[range.clone()].fill(byte);
                        blocks.write(range.start as u64, &model[range]).unwrap();
                    }
                    _ => {
                        let range = range(&mut rng, model.len());
                        let mut bytes = vec![1; range.len()];
                        blocks.read(range.start as u64, &mut bytes).unwrap();
                        assert!(bytes == model[range]);
                    }
                }
                assert_eq!(blocks.len().unwrap(), model.len() as u64);
            }
        }
    }

    #[test]
    fn a_checksum_that_a_failed_sync_has_lost_is_written_with_its_block_again() {
        const AT: u64 = GROUP * BLOCK as u64;
        let disk = SimDisk::new();
        let blocks = Blocks::open(disk.open("f", Mode::CreateNew).unwrap()).unwrap();
        disk.sync_folder("").unwrap();
        blocks.set_len(AT + 2 * BLOCK as u64).unwrap();
        blocks.write(AT, &[1; BLOCK]).unwrap();
        blocks.sync().unwrap();
        disk.watch(|call, _| match call.kind {
            CallKind::Sync => Fate::Fail(5),
            _ => Fate::Go,
        });
        blocks.write(AT, &[2; BLOCK]).unwrap();
        blocks.sync().unwrap_err();
        disk.unwatch();
        // Whoever opens it then writes the same once more.
        let blocks = Blocks::open(disk.open("f", Mode::Write).unwrap()).unwrap();
        blocks.write(AT, &[2; BLOCK]).unwrap();
        blocks.sync().unwrap();
        let found = disk.world().crash(Keep::Nothing, &mut |_| 0);
        let blocks = Blocks::open(found.open("f", Mode::Read).unwrap()).unwrap();
        let mut bytes = [0; BLOCK];
        blocks.read(AT, &mut bytes).unwrap();
        assert!(bytes == [2; BLOCK]);
    }

    #[test]
    fn any_damaged_byte_is_told_and_so_is_an_old_head() {
        const BLOCKS: usize = 12;
        const SUMS: usize = FIRST_SUMS as usize * BLOCK;
        let disk = SimDisk::new();
        let blocks = Blocks::open(disk.open("f", Mode::CreateNew).unwrap()).unwrap();
        blocks.set_len((BLOCKS * BLOCK) as u64).unwrap();
        let mut heads = Vec::new();
        for byte in 1..5 {
            blocks.write(BLOCK as u64, &[byte; (BLOCKS - 1) * BLOCK]).unwrap();
            blocks.sync().unwrap();
            blocks.write(0, &[byte; 320]).unwrap();
            blocks.sync().unwrap();
            heads.push(disk.files()["f"][..BLOCK].to_vec());
        }
        let whole = disk.files().remove("f").unwrap();
        let read = |file: &[u8]| {
            let disk = SimDisk::with_files(&[("f".to_owned(), file.to_vec())].into());
            let blocks = Blocks::open(disk.open("f", Mode::Read).unwrap())?;
            let mut bytes = vec![0; BLOCKS * BLOCK];
            blocks.read(0, &mut bytes)?;
            io::Result::Ok((bytes[0], bytes[BLOCK..].to_vec()))
        };
        let rest = vec![4; (BLOCKS - 1) * BLOCK];
        assert!(read(&whole).unwrap() == (4, rest.clone()));
        for at in (0..whole.len()).filter(|at| *at < 1100 || at % 61 == 0) {
            let mut file = whole.clone();
            file[at] ^= 4;
            match read(&file) {
                // The head before, or what is not in use.
                Ok(found) => {
                    assert!(found == (if at < HEAD { 3 } else { 4 }, rest.clone()), "{at}");
                    assert!(at < BLOCK || (SUMS + 4 * BLOCKS..SUMS + BLOCK).contains(&at), "{at}");
                }
                Err(told) => {
                    assert!(at > BLOCK, "{at}");
                    // Where it is in the file, not only its number without the checksums.
                    let block = at / BLOCK - usize::from(at > SUMS);
                    let place = format!("block {block} at byte {} ", at / BLOCK * BLOCK);
                    assert!(told.to_string().starts_with(&place), "{at}: {told}");
                }
            }
        }
        for (age, head) in heads.iter().rev().enumerate() {
            let mut file = whole.clone();
            file[..BLOCK].copy_from_slice(head);
            assert_eq!(read(&file).is_err(), age > 1, "{age}");
        }
    }
}
