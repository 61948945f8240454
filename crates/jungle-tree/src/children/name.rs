//! Names and fractional positions: the keys that do not have a dense place.
//!
//! A name record is one byte `class << 4 | padding` and the key's bytes, zero padded to words.
//! Class 1 is a position: its integer as six big-endian bytes above an offset, then the fraction;
//! class 2 is a name: its UTF-8 text. Records are ordered by class, then bytes.
//!
//! Branches tell names apart by half-bytes of a *virtual* string: the class, the bytes with each
//! zero byte written as `00 FF`, then zeros without end. No key's string is a prefix of another's
//! in it, and its order is the order of the keys.

use std::borrow::Cow;

use crate::arena::{Memory, WORD_BYTES};
use crate::block::{self, BRANCH, Header, Record};
use crate::edit::Edit;
use crate::key::KeyRef;

const POSITION: u8 = 1;
const NAME: u8 = 2;
/// Added to an index so that negative ones come first.
const OFFSET: i64 = 1 << 47;

/// A key of a named block.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Name<'a> {
    class: u8,
    bytes: Cow<'a, [u8]>,
    /// The bytes as the virtual string has them, unless they are the same there.
    escaped: Option<Box<[u8]>>,
}

impl<'a> Name<'a> {
    pub(crate) fn new(key: KeyRef<'a>) -> Name<'a> {
        match key {
            KeyRef::Name(text) => Name::of_class(NAME, Cow::Borrowed(text.as_bytes())),
            KeyRef::Position(index, fraction) => {
                // Beyond all limits there is nothing to find, only an order to keep.
                let index = (index.clamp(-OFFSET / 2, OFFSET / 2) + OFFSET).to_be_bytes();
                let bytes = [&index[2..], fraction].concat();
                Name::of_class(POSITION, Cow::Owned(bytes))
            }
        }
    }

    fn of_class(class: u8, bytes: Cow<'a, [u8]>) -> Name<'a> {
        let escaped = |&byte: &u8| std::iter::once(byte).chain((byte == 0).then_some(0xff));
        let escaped = bytes.contains(&0).then(|| bytes.iter().flat_map(escaped).collect());
        Name { class, bytes, escaped }
    }

    /// A byte of the virtual string.
    fn byte(&self, index: usize) -> u8 {
        let Some(index) = index.checked_sub(1) else {
            return self.class;
        };
        self.escaped.as_deref().unwrap_or(&self.bytes).get(index).copied().unwrap_or(0)
    }

    /// A half-byte of the virtual string.
    pub(crate) fn half_byte(&self, index: u32) -> u32 {
        let byte = self.byte(index as usize / 2);
        u32::from(if index.is_multiple_of(2) { byte >> 4 } else { byte & 15 })
    }

    /// The first half-byte in which two different keys differ.
    pub(crate) fn divergence(&self, other: &Name<'_>) -> u32 {
        let mut index = 0;
        // What is equal at the beginning is equal in the virtual strings, escapes included.
        if self.class == other.class {
            let common = self.bytes.iter().zip(&*other.bytes).take_while(|(a, b)| a == b);
            index = 1 + common.fold(0, |n, (&byte, _)| n + 1 + usize::from(byte == 0));
        }
        while self.byte(index) == other.byte(index) {
            index += 1;
        }
        let high = self.byte(index) >> 4 == other.byte(index) >> 4;
        index as u32 * 2 + u32::from(high)
    }
}

fn load(arena: Memory<'_>, record: u32) -> (u8, &[u8]) {
    let words = Record::load(arena, record).words();
    let bytes = arena.payload_bytes(record as usize + 1, words.saturating_sub(1) * WORD_BYTES);
    let Some((mark, bytes)) = bytes.split_first() else { no_name(arena, record) };
    let end = bytes.len().checked_sub(usize::from(mark & 15));
    (mark >> 4, &bytes[..end.unwrap_or_else(|| no_name(arena, record))])
}

#[cold]
fn no_name(arena: Memory<'_>, record: u32) -> ! {
    arena.inner.payload.malformed(record as usize, "a record of it is no name")
}

/// The key that a name record holds.
pub(crate) fn key(arena: Memory<'_>, record: u32) -> KeyRef<'_> {
    let (class, bytes) = load(arena, record);
    if class == NAME {
        return KeyRef::Name(std::str::from_utf8(bytes).unwrap_or_default());
    }
    let Some((first, fraction)) = bytes.split_at_checked(6) else { no_name(arena, record) };
    let mut index = [0; 8];
    index[2..].copy_from_slice(first);
    KeyRef::Position(i64::from_be_bytes(index) - OFFSET, fraction)
}

/// Writes a name record.
pub(crate) fn write(edit: &mut Edit<'_>, name: &Name<'_>) -> u32 {
    let len = 1 + name.bytes.len();
    let words = len.div_ceil(WORD_BYTES);
    let record = edit.allocator.take_record(edit.arena, 1 + words, edit.version);
    let mut bytes = std::mem::take(&mut edit.allocator.buffers.bytes);
    bytes.clear();
    bytes.push(name.class << 4 | (words * WORD_BYTES - len) as u8);
    bytes.extend_from_slice(&name.bytes);
    edit.arena.payload.write_bytes(record as usize + 1, &bytes);
    edit.allocator.buffers.bytes = bytes;
    record
}

/// The slot of a name in a bucket, or the slot it would take.
pub(crate) fn find(
    arena: Memory<'_>,
    bucket: u32,
    header: Header,
    name: &Name<'_>,
) -> Result<u32, u32> {
    let (mut low, mut high) = (0, header.names());
    while low < high {
        let middle = usize::midpoint(low, high);
        let (class, bytes) = load(arena, block::entry(arena, bucket, middle));
        match (class, bytes).cmp(&(name.class, &*name.bytes)) {
            std::cmp::Ordering::Less => low = middle + 1,
            std::cmp::Ordering::Greater => high = middle,
            std::cmp::Ordering::Equal => return Ok(middle as u32),
        }
    }
    Err(low as u32)
}

/// The name in a record.
pub(crate) fn of(arena: Memory<'_>, record: u32) -> Name<'_> {
    let (class, bytes) = load(arena, record);
    Name::of_class(class, Cow::Borrowed(bytes))
}

/// A name under a root that no branch on the way to this one tells apart from it, as long as there
/// is one. So the first half-byte in which the two differ tells which branch is the first that has
/// nothing like it, and no branch has to be asked by itself (as in crit-bit trees: Bernstein).
pub(crate) fn nearest<'a>(arena: Memory<'a>, root: u32, name: &Name<'_>) -> Name<'a> {
    let mut handle = root;
    loop {
        let header = Header::load(arena, handle);
        if header.kind() != BRANCH {
            return first(arena, handle);
        }
        let slot = name.half_byte(header.attrs());
        if header.present() >> slot & 1 == 0 {
            return first(arena, handle);
        }
        handle = block::kid(arena, handle, header, slot);
    }
}

/// The first name under a branch or in a bucket.
pub(crate) fn first(arena: Memory<'_>, root: u32) -> Name<'_> {
    let mut handle = root;
    loop {
        let header = Header::load(arena, handle);
        if header.kind() != BRANCH {
            return of(arena, block::entry(arena, handle, 0));
        }
        handle = block::kid(arena, handle, header, header.kids().trailing_zeros());
    }
}
