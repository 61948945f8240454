//! A node's attributes: one payload record, sorted by key, values up to 256 bytes inline.
//!
//! ```text
//! word 0       birth, words of the record
//! an entry:    key symbol u32 | length u28 | apart u1 | type u3
//!              value: nothing (null, bool: its length is the value), one word (int, float, or
//!              the handle of a record of its own when `apart`), or its bytes, zero padded
//! ```

use std::fmt;

use crate::arena::{Memory, SPARE_ADDING, SPARE_REMOVING, WORD_BYTES};
use crate::block::Record;
use crate::edit::{Edit, EditError};
use crate::line::Dead;
use crate::planted::{Bug, is_awake};
use crate::value::ValueRef;

/// `Debug` shows no more attributes of a node, or children.
pub(crate) const SHOWN_MAX: usize = 16;
/// Longer values lie in a record of their own, so that a put beside them does not copy them.
const INLINE_BYTES_MAX: usize = 256;
/// At most this many bytes of keys and inline values of one node together.
pub(crate) const ATTRIBUTES_WORDS_MAX: usize = (8 << 20) / WORD_BYTES;

const NULL: u32 = 0;
const BOOL: u32 = 1;
const INT: u32 = 2;
const FLOAT: u32 = 3;
const TEXT: u32 = 4;
const BYTES: u32 = 5;

/// One entry, as found in a record.
#[derive(Clone, Copy)]
struct Entry {
    /// The word it begins at, from the beginning of the record.
    at: usize,
    symbol: u32,
    tag: u32,
}

impl Entry {
    #[inline(always)]
    fn load(arena: Memory<'_>, record: u32, at: usize) -> Entry {
        let word = arena.payload.get(record as usize + at);
        Entry { at, symbol: word as u32, tag: (word >> 32) as u32 }
    }

    fn kind(self) -> u32 {
        self.tag >> 29
    }

    fn is_apart(self) -> bool {
        self.tag >> 28 & 1 == 1
    }

    fn len(self) -> usize {
        (self.tag & 0xfff_ffff) as usize
    }

    /// Words of the entry.
    #[inline(always)]
    fn words(self) -> usize {
        match self.kind() {
            NULL | BOOL => 1,
            INT | FLOAT => 2,
            _ if self.is_apart() => 2,
            _ => 1 + self.len().div_ceil(WORD_BYTES),
        }
    }

    /// Those of a text or of bytes.
    fn bytes(self, arena: Memory<'_>, record: u32) -> &[u8] {
        let data = record as usize + self.at + 1;
        let apart = self.is_apart().then(|| arena.payload.get(data) as u32 as usize);
        // Loaded if need be, as the record itself was.
        apart.into_iter().for_each(|apart| arena.inner.payload.ensure(apart));
        arena.payload_bytes(apart.map_or(data, |apart| apart + 1), self.len())
    }

    fn value(self, arena: Memory<'_>, record: u32) -> ValueRef<'_> {
        let data = record as usize + self.at + 1;
        let bytes = || self.bytes(arena, record);
        match self.kind() {
            NULL => ValueRef::Null,
            BOOL => ValueRef::Bool(self.len() != 0),
            INT => ValueRef::Int(arena.payload.get(data) as i64),
            FLOAT => ValueRef::Float(f64::from_bits(arena.payload.get(data))),
            // Written from a `&str`; checked all the same, since a check costs little here.
            TEXT => ValueRef::Text(std::str::from_utf8(bytes()).unwrap_or_default()),
            _ => ValueRef::Bytes(bytes()),
        }
    }

    /// The value, but of a text or of bytes no more than so many; the others are not looked at.
    fn cut(self, arena: Memory<'_>, record: u32, bytes_max: usize) -> ValueRef<'_> {
        if self.length() <= bytes_max {
            return self.value(arena, record);
        }
        // Nothing is loaded for nothing.
        let bytes: &[u8] = match bytes_max {
            0 => &[],
            _ => &self.bytes(arena, record)[..bytes_max],
        };
        if self.kind() == BYTES {
            return ValueRef::Bytes(bytes);
        }
        let text = std::str::from_utf8(bytes).or_else(|error| match error.error_len() {
            // The last character was cut.
            None => std::str::from_utf8(&bytes[..error.valid_up_to()]),
            Some(_) => Err(error),
        });
        ValueRef::Text(text.unwrap_or_default())
    }

    /// Bytes of a text or of bytes, which others have none of.
    fn length(self) -> usize {
        if matches!(self.kind(), TEXT | BYTES) { self.len() } else { 0 }
    }

    /// The record that holds the value, if it lies apart.
    fn apart(self, arena: Memory<'_>, record: u32) -> Option<u32> {
        let handle = || arena.payload.get(record as usize + self.at + 1) as u32;
        self.is_apart().then(handle)
    }
}

/// The attributes of one node, in key order.
///
/// ```
/// use jungle_tree::{Arena, Tree, Value};
/// let mut tree = Tree::new(&Arena::new()?);
/// tree.put_attribute(&[], "title", "hello")?;
/// tree.put_attribute(&[], "stars", 3)?;
/// let snapshot = tree.snapshot();
/// let owned = snapshot.root().attributes().map(|(key, value)| (key, value.to_value()));
/// let expected = [("stars", Value::from(3)), ("title", Value::from("hello"))];
/// assert_eq!(owned.collect::<Vec<_>>(), expected);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Attributes<'a> {
    arena: Memory<'a>,
    record: u32,
    at: usize,
    end: usize,
}

impl fmt::Debug for Attributes<'_> {
    /// Those that are left, up to a limit.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = self.clone();
        let mut shown = f.debug_list();
        shown.entries(rest.by_ref().take(SHOWN_MAX));
        if rest.next().is_some() { shown.finish_non_exhaustive() } else { shown.finish() }
    }
}

impl<'a> Attributes<'a> {
    #[inline]
    pub(crate) fn new(arena: Memory<'a>, record: u32) -> Attributes<'a> {
        let end = if record == 0 { 1 } else { Record::load(arena, record).words() };
        Attributes { arena, record, at: 1, end }
    }

    fn entry(&mut self) -> Option<Entry> {
        if self.at >= self.end {
            return None;
        }
        let entry = Entry::load(self.arena, self.record, self.at);
        self.at += entry.words();
        Some(entry)
    }

    /// The next one, with no more than so many bytes of a text, to the end of a character, or of
    /// bytes; and how many it has in all (0 for other values). The others are not looked at, and
    /// where none are wanted, none are loaded, in an arena that was saved.
    ///
    /// ```
    /// use jungle_tree::{Arena, Tree};
    /// let mut tree = Tree::new(&Arena::new()?);
    /// tree.put_attribute(&[], "stars", 3)?;
    /// tree.put_attribute(&[], "title", "Bäume")?;
    /// let snapshot = tree.snapshot();
    /// let mut attributes = snapshot.root().attributes();
    /// assert_eq!(attributes.next_cut(2), Some(("stars", 3.into(), 0)));
    /// assert_eq!(attributes.next_cut(2), Some(("title", "B".into(), 6)));
    /// assert_eq!(attributes.next_cut(2), None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn next_cut(&mut self, bytes_max: usize) -> Option<(&'a str, ValueRef<'a>, usize)> {
        let (entry, arena) = (self.entry()?, self.arena);
        let key = arena.inner.symbols.text(entry.symbol);
        Some((key, entry.cut(arena, self.record, bytes_max), entry.length()))
    }
}

impl<'a> Iterator for Attributes<'a> {
    type Item = (&'a str, ValueRef<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        let entry = self.entry()?;
        Some((self.arena.inner.symbols.text(entry.symbol), entry.value(self.arena, self.record)))
    }

    /// Those that are left out are not looked at: a value may have to be loaded, and a text is
    /// checked.
    fn nth(&mut self, n: usize) -> Option<Self::Item> {
        for _ in 0..n {
            self.entry()?;
        }
        self.next()
    }

    /// Nor are those that are only counted.
    fn count(mut self) -> usize {
        std::iter::from_fn(|| self.entry()).count()
    }
}

/// One attribute of a node.
#[inline]
pub(crate) fn find<'a>(arena: Memory<'a>, record: u32, key: &str) -> Option<ValueRef<'a>> {
    let mut attributes = Attributes::new(arena, record);
    while let Some(entry) = attributes.entry() {
        if arena.inner.symbols.text(entry.symbol) == key {
            return Some(entry.value(arena, record));
        }
    }
    None
}

/// Calls `seen` with each record that an attribute record refers to.
pub(crate) fn apart_of(arena: Memory<'_>, record: u32, mut seen: impl FnMut(u32)) {
    let mut attributes = Attributes::new(arena, record);
    while let Some(entry) = attributes.entry() {
        entry.apart(arena, record).into_iter().for_each(&mut seen);
    }
}

/// A value on its way into a record: its tag, and what stands behind it.
struct Encoded<'v> {
    tag: u32,
    word: u64,
    bytes: &'v [u8],
}

impl<'v> Encoded<'v> {
    /// A long value is first written to a record of its own; `None` where it has no room.
    fn new(edit: &mut Edit<'_>, value: ValueRef<'v>) -> Option<Encoded<'v>> {
        let (kind, word, bytes): (u32, u64, &[u8]) = match value {
            ValueRef::Null => (NULL, 0, &[]),
            ValueRef::Bool(bool) => {
                return Some(Encoded { tag: BOOL << 29 | u32::from(bool), word: 0, bytes: &[] });
            }
            ValueRef::Int(int) => (INT, int as u64, &[]),
            ValueRef::Float(float) => (FLOAT, float.to_bits(), &[]),
            ValueRef::Text(text) => (TEXT, 0, text.as_bytes()),
            ValueRef::Bytes(bytes) => (BYTES, 0, bytes),
        };
        let tag = kind << 29 | bytes.len() as u32;
        if bytes.len() <= INLINE_BYTES_MAX {
            return Some(Encoded { tag, word, bytes });
        }
        let words = 1 + bytes.len().div_ceil(WORD_BYTES);
        let (arena, version) = (edit.arena, edit.version);
        let record = edit.allocator.try_take_record(arena, words, version, SPARE_ADDING)?;
        edit.arena.payload.write_bytes(record as usize + 1, bytes);
        Some(Encoded { tag: tag | 1 << 28, word: u64::from(record), bytes: &[] })
    }

    fn words(&self) -> usize {
        self.entry().words()
    }

    /// The record that it was written to, if it is a long one.
    fn apart(&self) -> Option<u32> {
        self.entry().is_apart().then_some(self.word as u32)
    }

    fn entry(&self) -> Entry {
        Entry { at: 0, symbol: 0, tag: self.tag }
    }

    fn write(&self, arena: Memory<'_>, at: usize, symbol: u32) {
        let region = arena.payload;
        region.set(at, u64::from(symbol) | u64::from(self.tag) << 32);
        if !self.bytes.is_empty() {
            region.write_bytes(at + 1, self.bytes);
        } else if self.words() == 2 {
            region.set(at + 1, self.word);
        }
    }
}

/// Where the entry of a key is, or where it would be.
enum Place {
    Found(Entry),
    Before(usize),
}

fn place(arena: Memory<'_>, record: u32, symbol: u32) -> Place {
    let mut attributes = Attributes::new(arena, record);
    while let Some(entry) = attributes.entry() {
        if entry.symbol == symbol {
            return Place::Found(entry);
        }
        if arena.inner.symbols.text(entry.symbol) > arena.inner.symbols.text(symbol) {
            return Place::Before(entry.at);
        }
    }
    Place::Before(attributes.end)
}

/// Words that an attribute record would have after putting a value of this size.
pub(crate) fn words_with(arena: Memory<'_>, record: u32, bytes: usize) -> usize {
    Attributes::new(arena, record).end + 2 + bytes.min(INLINE_BYTES_MAX).div_ceil(WORD_BYTES)
}

/// Puts an attribute; gives the record that takes the place of `record` (0: none yet), or `None`
/// where there is no room: nothing is changed then.
pub(crate) fn put(
    edit: &mut Edit<'_>,
    record: u32,
    symbol: u32,
    value: ValueRef<'_>,
) -> Option<u32> {
    let new = Encoded::new(edit, value)?;
    if record == 0 {
        let record = edit.allocator.take_record(edit.arena, 1 + new.words(), edit.version);
        new.write(edit.arena, record as usize + 1, symbol);
        return Some(record);
    }
    let (at, old_words, was_apart) = match place(edit.arena, record, symbol) {
        Place::Found(entry) => (entry.at, entry.words(), entry.apart(edit.arena, record)),
        Place::Before(at) => (at, 0, None),
    };
    let spliced = splice(edit, record, at, old_words, new.words());
    // One of the two values that lie apart is nobody's now: the old one, or one without room.
    let gone = if spliced.is_some() { was_apart } else { new.apart() };
    gone.into_iter().for_each(|apart| edit.retire_record(apart));
    let record = spliced?;
    new.write(edit.arena, record as usize + at, symbol);
    Some(record)
}

/// Removes an attribute; gives the record that takes the place of `record`, 0 when none is left,
/// or `None` when there is no such attribute. An error has changed nothing.
pub(crate) fn remove(
    edit: &mut Edit<'_>,
    record: u32,
    key: &str,
) -> Result<Option<u32>, EditError> {
    let Some(symbol) = edit.arena.inner.symbols.find(key) else { return Ok(None) };
    let Place::Found(entry) = place(edit.arena, record, symbol) else { return Ok(None) };
    edit.check_room_to_remove()?;
    let apart = entry.apart(edit.arena, record);
    let rest = if Record::load(edit.arena, record).words() == 1 + entry.words() {
        edit.retire_record(record);
        0
    } else if edit.arena.inner.payload.has_room(SPARE_REMOVING) {
        splice(edit, record, entry.at, entry.words(), 0).ok_or(EditError::ArenaFull)?
    } else {
        return Err(EditError::ArenaFull);
    };
    apart.into_iter().for_each(|apart| edit.retire_record(apart));
    Ok(Some(rest))
}

/// A record like `record` with `new_words` of room at `at` in place of `old_words`: the same one
/// where this edit owns it and the size stays; `None` where a large one has no room.
fn splice(
    edit: &mut Edit<'_>,
    record: u32,
    at: usize,
    old_words: usize,
    new_words: usize,
) -> Option<u32> {
    let arena = edit.arena;
    let old = if record == 0 { Record::new(0, 1) } else { Record::load(arena, record) };
    let is_own = old.birth() == edit.version || is_awake(Bug::AttributeInPlace);
    if record != 0 && is_own && old_words == new_words {
        return Some(record);
    }
    let tail = old.words().checked_sub(at + old_words);
    let (Some(front), Some(tail)) = (at.checked_sub(1), tail) else {
        arena.inner.payload.malformed(record as usize, "an entry of it runs out of its record")
    };
    let words = at + new_words + tail;
    let spare = if new_words == 0 { SPARE_REMOVING } else { SPARE_ADDING };
    let new = edit.allocator.try_take_record(arena, words, edit.version, spare)?;
    let region = arena.payload;
    region.copy(record as usize + 1, new as usize + 1, front);
    region.copy(record as usize + at + old_words, new as usize + at + new_words, tail);
    if record != 0 {
        if is_awake(Bug::LongValueFreed) {
            apart_of(arena, record, |apart| edit.retire_record(apart));
        }
        edit.retire(Dead::record(record, old));
    }
    Some(new)
}

/// Is a record made of whole entries, in key order? See `check.rs`.
pub(crate) fn check(arena: Memory<'_>, record: u32) -> Result<(), String> {
    let (mut attributes, mut before) = (Attributes::new(arena, record), None);
    while let Some(entry) = attributes.entry() {
        let key = arena.inner.symbols.text(entry.symbol);
        if arena.inner.symbols.find(key) != Some(entry.symbol) {
            return Err(format!("names key {}, which there is not", entry.symbol));
        }
        if before.is_some_and(|before| before >= key) {
            return Err(format!("has key {key:?} out of order"));
        }
        before = Some(key);
        let (kind, len) = (entry.kind(), entry.len());
        let is_long = len > INLINE_BYTES_MAX;
        let is_sized = match kind {
            BOOL => len <= 1,
            TEXT | BYTES => is_long == entry.is_apart(),
            _ => kind < BOOL || kind < TEXT && len == 0,
        };
        if kind > BYTES || !is_sized {
            return Err(format!("has an entry of type {kind} and length {len} under {key:?}"));
        }
        if attributes.at > attributes.end {
            return Err(format!("ends within the entry of {key:?}"));
        }
        if let Some(apart) = entry.apart(arena, record)
            && Record::load(arena, apart).words() != 1 + len.div_ceil(WORD_BYTES)
        {
            return Err(format!("has a value of {len} bytes apart in a record of another size"));
        }
    }
    Ok(())
}

/// Are its texts such? It was checked, and the records that it refers to were.
pub(crate) fn check_texts(arena: Memory<'_>, record: u32) -> Result<(), String> {
    let mut attributes = Attributes::new(arena, record);
    while let Some(entry) = attributes.entry() {
        if entry.kind() == TEXT {
            let key = arena.inner.symbols.text(entry.symbol);
            let text = std::str::from_utf8(entry.bytes(arena, record));
            text.map_err(|error| format!("{key:?} is no text: {error}"))?;
        }
    }
    Ok(())
}
