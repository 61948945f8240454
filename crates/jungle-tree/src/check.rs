//! The integrity checker: everything that must be true of one version, block by block.
//!
//! It trusts nothing that it reads: a handle out of range, a kind that does not exist, a count
//! that is wrong ends the check with an error that names the block. It may be run on any memory:
//! - It does not recurse, and what it goes down gets smaller with each step: the height of a dense
//!   block, the half-bytes that a branch has left, the nodes that a block counts. So no block is
//!   its own ancestor.
//! - What is used in many places is looked at once: a few blocks that use each other would else be
//!   a tree of billions of nodes. This takes a bit for each place that a block or record may have.

use std::collections::HashMap;
use std::fmt;

use crate::arena::{BIRTH_OLDEST, Memory, SLAB_WORDS, SlabUse, WORD_BYTES, class_of, class_words};
use crate::attributes::{self, ATTRIBUTES_WORDS_MAX};
use crate::block::{
    self, BRANCH, BUCKET, Content, DIRECTORY, Directory, HEIGHT_MAX, Header, RECORD_WORDS_MAX,
    Record, WIDTH,
};
use crate::children::{Name, name, span};
use crate::key::{KEY_BYTES_MAX, Key, KeyRef, POSITION_MAX, POSITION_MIN};
use crate::line::is_queued;
use crate::snapshot::Snapshot;

/// What [`Snapshot::check`] went through.
///
/// ```
/// use jungle_tree::{Arena, Tree};
/// let mut tree = Tree::new(&Arena::new()?);
/// (0..3).try_for_each(|_| tree.add_child(&[]).map(drop))?;
/// tree.put_attribute(&[], "title", "hello")?;
/// let report = tree.snapshot().check()?;
/// // The three bare children are bits of one block.
/// assert_eq!((report.nodes, report.records), (4, 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CheckReport {
    /// Nodes, the root included.
    pub nodes: u64,
    /// Blocks of structure; of a subtree that is used in two places those of one.
    pub blocks: u64,
    /// Records of attributes, long values and names, likewise.
    pub records: u64,
}

/// What is wrong with a version, and where: memory was damaged, or Jungle has a bug.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckError {
    /// The handle of the block, or of the payload record, in which it was found.
    pub handle: u32,
    /// Is the handle one of a payload record?
    pub is_payload: bool,
    /// What is wrong.
    pub what: String,
}

impl fmt::Display for CheckError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = if self.is_payload { "record" } else { "block" };
        write!(f, "{kind} {}: {}", self.handle, self.what)
    }
}

impl std::error::Error for CheckError {}

impl Snapshot {
    /// Goes through all of this version and checks that it is whole: that blocks are of a kind
    /// that exists, sizes, bitmaps and counts agree, children are found where their keys say,
    /// the shape is the one that equal content always has, and nothing of it has been reused.
    ///
    /// It takes as long as reading everything does, and finds bugs and damage, not wrong answers:
    /// what was never written right is not told from what was meant. It ends, whatever memory it is
    /// given, so it is the first thing to do with what comes from others; only loading what is not
    /// in memory is left to [`loading`](crate::loading).
    ///
    /// ```
    /// use jungle_tree::{Arena, Tree};
    /// let mut tree = Tree::new(&Arena::new()?);
    /// tree.add_child(&[])?;
    /// assert_eq!(tree.snapshot().check()?.nodes, 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// At the first thing that is wrong.
    pub fn check(&self) -> Result<CheckReport, CheckError> {
        let arena = self.cell().memory();
        let mut check = Check {
            arena,
            uses: [arena.inner.blocks.uses(), arena.inner.payload.uses()],
            report: CheckReport::default(),
            stack: Vec::new(),
            seen: <[Seen; 2]>::default(),
        };
        check.root(self.handle(), self.version())?;
        check.run()?;
        Ok(check.report)
    }
}

type Checked<T = ()> = Result<T, CheckError>;

/// Where a block hangs, which says what it may be.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// A node's children: a dense leaf, a bucket or a directory.
    Children,
    /// In a directory or a dense block, at most of this height.
    Dense(u8),
    /// In a directory or a branch, whose half-byte is in front of this block's.
    Named,
}

/// A block still to be checked.
struct Todo {
    handle: u32,
    place: Place,
    /// The first half-byte that a branch here may look at.
    half_byte_min: u32,
}

struct Check<'a> {
    arena: Memory<'a>,
    /// What the slabs of structure and of payload are used for. What a version shows was there
    /// before this was taken, and stays as long as that is held.
    uses: [Vec<SlabUse>; 2],
    report: CheckReport,
    stack: Vec<Todo>,
    /// The blocks of children, and the records of attributes, that were looked at.
    seen: [Seen; 2],
}

/// Handles, as bits.
#[derive(Default)]
struct Seen(HashMap<u32, Box<[u64; 64]>>);

impl Seen {
    /// Tells whether it is new.
    fn insert(&mut self, handle: u32) -> bool {
        let bits = self.0.entry(handle >> 12).or_insert_with(|| Box::new([0; 64]));
        let (word, bit) = (&mut bits[handle as usize >> 6 & 63], 1 << (handle & 63));
        let is_new = *word & bit == 0;
        *word |= bit;
        is_new
    }
}

/// No key has a half-byte behind this: each byte may be written as two, behind one for its class.
const HALF_BYTE_MAX: u32 = 4 * (KEY_BYTES_MAX as u32 + 8);

fn wrong<T>(handle: u32, what: impl Into<String>) -> Checked<T> {
    Err(CheckError { handle, is_payload: false, what: what.into() })
}

fn wrong_record<T>(handle: u32, what: impl Into<String>) -> Checked<T> {
    Err(CheckError { handle, is_payload: true, what: what.into() })
}

/// Fails with a message unless a condition holds.
macro_rules! must {
    ($handle:expr, $condition:expr, $($message:tt)*) => {
        if !$condition {
            return wrong($handle, format!($($message)*));
        }
    };
}

impl Check<'_> {
    /// The block that holds the root: one slot, and the version's number as its birth.
    fn root(&mut self, handle: u32, version: u64) -> Checked {
        let header = self.header(handle)?;
        let birth = header.birth();
        // In an image, whatever was in a line's queue was born first of all.
        let was_queued = is_queued(birth) || birth == BIRTH_OLDEST;
        must!(
            handle,
            birth == version || was_queued,
            "the root of version {version} was born in {birth}"
        );
        must!(handle, header.kind() == 0, "the root's block is of kind {}", header.kind());
        must!(handle, header.present() == 1, "the root's block has other slots than one");
        self.stack.push(Todo { handle, place: Place::Children, half_byte_min: 0 });
        Ok(())
    }

    fn run(&mut self) -> Checked {
        while let Some(todo) = self.stack.pop() {
            self.block(&todo)?;
        }
        Ok(())
    }

    /// A block's header, if it is one of a block in use.
    fn header(&self, handle: u32) -> Checked<Header> {
        let words = self.arena.inner.blocks.region.words();
        let at = (handle as usize) << 1;
        must!(handle, handle != 0 && at + 2 <= words, "lies outside of the arena");
        let header = Header::load(self.arena, handle);
        let birth = header.birth();
        must!(handle, birth != 0, "is free, but in use");
        // Not compared with the block above: an edit that began early may put in what is younger.
        let drawn = is_queued(birth) || birth < self.arena.inner.versions_drawn();
        must!(handle, drawn, "was born in version {birth}, which there is not");
        let kind = header.kind();
        let known = kind <= HEIGHT_MAX || (BUCKET..=DIRECTORY).contains(&kind);
        must!(handle, known, "is of kind {kind}, which there is not");
        let is_placed = self.has_place(0, at, header.words());
        must!(handle, is_placed, "of {} words is not where its slab has one", header.words());
        Ok(header)
    }

    /// Does a slab of this region have a block or record of so many words there?
    fn has_place(&self, region: usize, at: usize, words: usize) -> bool {
        let (slab, within) = (at / SLAB_WORDS, at % SLAB_WORDS);
        match self.uses[region].get(slab) {
            Some(SlabUse::Class(class)) => {
                let class = usize::from(*class);
                let room = class_words(class);
                let is_whole = within.is_multiple_of(room) && within + room <= SLAB_WORDS;
                // Not only that it fits: it is given back as one of its own size.
                is_whole && class_of(words) == Some(class)
            }
            Some(SlabUse::Large(count)) => {
                let slabs = words.div_ceil(SLAB_WORDS);
                within == 0 && class_of(words).is_none() && slabs == *count as usize
            }
            _ => false,
        }
    }

    fn block(&mut self, todo: &Todo) -> Checked {
        let handle = todo.handle;
        let header = self.header(handle)?;
        self.report.blocks += 1;
        let kind = header.kind();
        let fits = match todo.place {
            Place::Children => kind == 0 || kind == BUCKET || kind == DIRECTORY,
            Place::Dense(height_max) => kind <= height_max,
            Place::Named => kind == BUCKET || kind == BRANCH,
        };
        must!(handle, fits, "is of kind {kind}, which has no place here");
        if kind == DIRECTORY {
            return self.directory(handle, header);
        }
        self.bitmaps(handle, header)?;
        if header.is_leaf() {
            return self.leaf(handle, header);
        }
        if kind == BRANCH {
            self.branch(handle, header, todo.half_byte_min)?;
        }
        self.inner(handle, header)
    }

    fn bitmaps(&self, handle: u32, header: Header) -> Checked {
        let (present, kids, attrs) = (header.present(), header.kids(), header.attrs());
        must!(handle, present != 0, "has no slots");
        if header.is_leaf() {
            must!(handle, kids & !present == 0, "has children in slots that are not there");
            must!(handle, attrs & !present == 0, "has attributes in slots that are not there");
        } else {
            must!(handle, kids == present, "has slots without a block");
            must!(handle, header.kind() == BRANCH || attrs == 0, "has attributes, but no nodes");
        }
        let dense_names = present & (present + 1) == 0;
        must!(handle, header.kind() != BUCKET || dense_names, "has a gap between its names");
        Ok(())
    }

    /// Puts a block below on the stack, and gives how many nodes it says it has.
    fn below(&mut self, handle: u32, place: Place, half_byte_min: u32) -> Checked<u64> {
        let count = u64::from(self.header(handle)?.count());
        if place == Place::Children && !self.seen[0].insert(handle) {
            // Its nodes are as many as it says, or that is told where it was seen first.
            self.report.nodes += count;
            return Ok(count);
        }
        self.stack.push(Todo { handle, place, half_byte_min });
        Ok(count)
    }

    /// A dense leaf or a bucket: nodes.
    fn leaf(&mut self, handle: u32, header: Header) -> Checked {
        let mut count = 0;
        let mut rest = header.present();
        while rest != 0 {
            let slot = rest.trailing_zeros();
            rest &= rest - 1;
            self.report.nodes += 1;
            count += 1;
            let Content { kids, attrs } = block::content(self.arena, handle, header, slot);
            if header.kids() >> slot & 1 == 1 {
                must!(handle, kids != 0, "has no block in slot {slot}, which has children");
                count += self.below(kids, Place::Children, 0)?;
            }
            if header.attrs() >> slot & 1 == 1 {
                must!(handle, attrs != 0, "has no record in slot {slot}, which has attributes");
                self.attributes(attrs)?;
            }
        }
        if header.kind() == BUCKET {
            self.names(handle, header)?;
        }
        must!(
            handle,
            count == u64::from(header.count()),
            "counts {} nodes, but there are {count}",
            header.count()
        );
        Ok(())
    }

    fn inner(&mut self, handle: u32, header: Header) -> Checked {
        let mut count = 0;
        let mut rest = header.present();
        while rest != 0 {
            let slot = rest.trailing_zeros();
            rest &= rest - 1;
            let kid = block::kid(self.arena, handle, header, slot);
            let place = match header.kind() {
                BRANCH => Place::Named,
                height => Place::Dense(height - 1),
            };
            let half_byte = if header.kind() == BRANCH { header.attrs() + 1 } else { 0 };
            count += self.below(kid, place, half_byte)?;
            let kind = self.header(kid)?.kind();
            let exact = header.kind() == BRANCH || kind == header.kind() - 1;
            must!(kid, exact, "is of height {kind} in a block of height {}", header.kind());
        }
        must!(
            handle,
            count == u64::from(header.count()),
            "counts {} nodes, but there are {count}",
            header.count()
        );
        Ok(())
    }

    fn directory(&mut self, handle: u32, header: Header) -> Checked {
        let parts = Directory::load(self.arena, handle);
        let (mut count, mut children) = (0, 0);
        if parts.dense != 0 {
            let place = Place::Dense(HEIGHT_MAX);
            count += self.below(parts.dense, place, 0)?;
            let (dense, last) = self.dense(parts.dense, u64::from(header.count()))?;
            children += dense;
            must!(
                handle,
                last < parts.next,
                "position {last} is there, the next is {}",
                parts.next
            );
            let root = self.header(parts.dense)?;
            let is_low = root.kind() == 0 || last as u64 >= span(root.kind() - 1);
            must!(parts.dense, is_low, "is higher than its last position, {last}, needs");
        }
        if parts.named != 0 {
            count += self.below(parts.named, Place::Named, 0)?;
            children += self.named(handle, &parts)?;
        }
        must!(
            handle,
            children == parts.children,
            "says {} children, but there are {children}",
            parts.children
        );
        must!(
            handle,
            count == u64::from(header.count()),
            "counts {} nodes, but there are {count}",
            header.count()
        );
        let next = (0..=POSITION_MAX + 1).contains(&parts.next);
        must!(handle, next, "gives {} as the next position", parts.next);
        let low = (POSITION_MIN..=0).contains(&parts.low);
        must!(handle, low, "gives {} as the lowest position", parts.low);
        Ok(())
    }

    /// How many children are in dense blocks, of so many nodes, and the last position.
    fn dense(&self, root: u32, nodes: u64) -> Checked<(u64, i64)> {
        let (mut children, mut last) = (0, -1);
        let mut stack = vec![(root, self.header(root)?.kind(), 0_i64)];
        while let Some((handle, height, base)) = stack.pop() {
            let header = self.header(handle)?;
            must!(handle, header.kind() == height, "is no dense block of height {height}");
            must!(handle, height <= HEIGHT_MAX, "is no dense block, but among them");
            if height == 0 {
                children += u64::from(header.present().count_ones());
                must!(handle, header.present() != 0, "has no slots");
                must!(root, children <= nodes, "has more children than nodes");
                let highest = 31 - header.present().leading_zeros();
                last = last.max(base | i64::from(highest));
                continue;
            }
            must!(handle, header.kids() != 0, "has no slots");
            for slot in (0..WIDTH as u32).filter(|slot| header.kids() >> slot & 1 == 1) {
                let base = base | i64::from(slot) << (4 * u32::from(height));
                stack.push((block::kid(self.arena, handle, header, slot), height - 1, base));
            }
        }
        must!(root, last <= POSITION_MAX, "holds position {last}, beyond the limit");
        Ok((children, last))
    }

    /// How many children are in buckets, all in order and each where its name says.
    fn named(&self, directory: u32, parts: &Directory) -> Checked<u64> {
        let (mut children, mut before) = (0, None::<Name<'_>>);
        // The way to each bucket: the half-bytes that its names must have.
        let mut stack = vec![(parts.named, Vec::new())];
        while let Some((handle, way)) = stack.pop() {
            let header = self.header(handle)?;
            if header.kind() == BRANCH {
                self.half_byte(handle, header, way.last().map_or(0, |&(above, _)| above + 1))?;
                for slot in (0..WIDTH as u32).rev().filter(|slot| header.kids() >> slot & 1 == 1) {
                    let way = [way.as_slice(), &[(header.attrs(), slot)]].concat();
                    stack.push((block::kid(self.arena, handle, header, slot), way));
                }
                continue;
            }
            must!(handle, header.kind() == BUCKET, "is no bucket, but among them");
            must!(handle, header.names() != 0, "has no slots");
            for slot in 0..header.names() {
                let record = block::entry(self.arena, handle, slot);
                self.name(record)?;
                let name = name::of(self.arena, record);
                let astray = way.iter().find(|&&(at, half_byte)| name.half_byte(at) != half_byte);
                must!(handle, astray.is_none(), "has a name of another slot ({astray:?})");
                must!(handle, before.is_none_or(|it| it < name), "has names out of order");
                if let KeyRef::Position(index, _) = name::key(self.arena, record) {
                    must!(directory, index < parts.next, "position {index} is not before next");
                    must!(directory, index >= parts.low, "position {index} is below the lowest");
                }
                before = Some(name);
                children += 1;
            }
        }
        Ok(children)
    }

    /// The half-byte that a branch looks at, which is behind those that the ones above it look at.
    fn half_byte(&self, handle: u32, header: Header, least: u32) -> Checked<u32> {
        let half_byte = header.attrs();
        must!(
            handle,
            (least..=HALF_BYTE_MAX).contains(&half_byte),
            "looks at half-byte {half_byte}, which a branch above has looked at, or no key has"
        );
        must!(handle, header.kids() != 0, "has no slots");
        Ok(half_byte)
    }

    /// The first name under a branch or in a bucket.
    fn first_name(&self, mut handle: u32, mut least: u32) -> Checked<Name<'_>> {
        let mut header = self.header(handle)?;
        while header.kind() == BRANCH {
            least = self.half_byte(handle, header, least)? + 1;
            handle = block::kid(self.arena, handle, header, header.kids().trailing_zeros());
            header = self.header(handle)?;
        }
        must!(handle, header.kind() == BUCKET, "is no bucket, but among them");
        must!(handle, header.names() != 0, "has no slots");
        let record = block::entry(self.arena, handle, 0);
        self.name(record)?;
        Ok(name::of(self.arena, record))
    }

    /// A branch holds more names than a bucket could, and looks at the first half-byte in which
    /// they differ.
    fn branch(&self, handle: u32, header: Header, half_byte_min: u32) -> Checked {
        let half_byte = self.half_byte(handle, header, half_byte_min)?;
        must!(handle, header.present().count_ones() > 1, "is a branch with a single slot");
        let first_of = |slot: u32| {
            self.first_name(block::kid(self.arena, handle, header, slot), half_byte + 1)
        };
        let first = first_of(header.present().trailing_zeros())?;
        let last = first_of(31 - header.present().leading_zeros())?;
        must!(handle, first != last, "has the same name twice");
        let differs = first.divergence(&last);
        must!(
            handle,
            differs == half_byte,
            "looks at half-byte {half_byte}, but its names differ first in {differs}"
        );
        let (mut names, names_max) = (0, self.arena.names_max());
        for entry in 0..header.entries() {
            let kid = self.header(block::entry(self.arena, handle, entry))?;
            let is_bucket = kid.kind() == BUCKET;
            names += if is_bucket { kid.names() } else { names_max + 1 };
        }
        must!(handle, names > names_max, "is a branch of {names} names, which fit a bucket");
        Ok(())
    }

    fn names(&mut self, handle: u32, header: Header) -> Checked {
        let mut before = None::<Name<'_>>;
        for slot in 0..header.names() {
            let record = block::entry(self.arena, handle, slot);
            self.name(record)?;
            self.report.records += 1;
            let name = name::of(self.arena, record);
            must!(handle, before.is_none_or(|it| it < name), "has names out of order");
            before = Some(name);
        }
        Ok(())
    }

    /// A record in use; gives its words.
    fn record(&self, handle: u32) -> Checked<usize> {
        let words = self.arena.inner.payload.region.words();
        let at = handle as usize;
        if handle == 0 || at + 1 > words {
            return wrong_record(handle, "lies outside of the arena");
        }
        let record = Record::load(self.arena, handle);
        if record.birth() == 0 {
            return wrong_record(handle, "is free, but in use");
        }
        let is_sized = (1..=RECORD_WORDS_MAX).contains(&record.words());
        if !is_sized || !self.has_place(1, at, record.words()) {
            let what = format!("of {} words is not where its slab has one", record.words());
            return wrong_record(handle, what);
        }
        Ok(record.words())
    }

    fn name(&self, record: u32) -> Checked {
        let words = self.record(record)?;
        let bytes = self.arena.payload_bytes(record as usize + 1, (words - 1) * WORD_BYTES);
        let first = bytes.first().copied().unwrap_or_default();
        let (class, padding) = (first >> 4, first & 15);
        if padding > 7 || !(1..=2).contains(&class) {
            return wrong_record(record, format!("is no name ({words} words, mark {first:#x})"));
        }
        let text = &bytes[1..bytes.len() - usize::from(padding)];
        if class == 1 && text.len() < 6 || class == 2 && std::str::from_utf8(text).is_err() {
            return wrong_record(record, "is no name: its bytes are no key");
        }
        let key = name::key(self.arena, record);
        let in_limits = match key {
            KeyRef::Position(index, fraction) => {
                crate::key::position(index, fraction).is_ok() && (index < 0 || !fraction.is_empty())
            }
            KeyRef::Name(_) => Key::check(&key.to_key()).is_ok(),
        };
        if !in_limits {
            return wrong_record(record, format!("holds {key:?}, which is no name"));
        }
        Ok(())
    }

    fn attributes(&mut self, record: u32) -> Checked {
        let words = self.record(record)?;
        if !self.seen[1].insert(record) {
            return Ok(());
        }
        self.report.records += 1;
        if !(2..=ATTRIBUTES_WORDS_MAX).contains(&words) {
            return wrong_record(record, format!("has {words} words of attributes"));
        }
        if let Err(what) = attributes::check(self.arena, record) {
            return wrong_record(record, what);
        }
        let mut apart = Vec::new();
        attributes::apart_of(self.arena, record, |handle| apart.push(handle));
        for handle in apart {
            self.record(handle)?;
            self.report.records += 1;
        }
        attributes::check_texts(self.arena, record).or_else(|what| wrong_record(record, what))
    }
}
