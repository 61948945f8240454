//! The memory that trees live in: blocks of structure and records of payload, addressed by 32-bit
//! handles, reclaimed when no version that is held can see them.
//!
//! Nothing here counts references. A block carries the version it was born in; what replaces or
//! drops it knows the version it died in; it is reused when nobody can see a version from the one
//! (included) to the other (excluded). `line.rs` does that for the usual case, a line of versions
//! each made from the one before; `collect.rs` does it for every other case by tracing.

mod allocator;
mod image;
mod region;
mod slab;
mod spill;
mod symbols;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

pub(crate) use allocator::{CLASSES, FreeLists, class_of, class_words, is_large};
pub(crate) use image::{BIRTH_OLDEST, LastSave};
pub use image::{ImageError, SLAB_BYTES, SavedImage, SlabError, SlabId, SlabSource, loading};
pub(crate) use region::{RUN_WORDS, Region, Run, WORD_BYTES, Words};
pub(crate) use slab::{EPOCH_FIRST, SLAB_WORDS, SlabUse, Slabs};
pub(crate) use symbols::{Bringer, Symbols, TooManyKeys};

use crate::block::{Content, WIDTH};
use crate::hash::HashMemo;
use crate::line::{Dead, LineCell};
use crate::pin::Pins;

/// So many blocks lie in a slab at least: none has more than 32 words.
const BLOCKS_PER_SLAB_MIN: usize = SLAB_WORDS / 32;
/// Removals leave so many slabs of a region: of each class one may be begun.
pub(crate) const SPARE_REMOVING: usize = CLASSES + 4;
/// What is added leaves more, so that where nothing can be added any more there is room to remove.
pub(crate) const SPARE_ADDING: usize = 2 * SPARE_REMOVING;
/// Versions are 40 bits wide in a block's header.
pub(crate) const VERSION_MAX: u64 = (1 << 40) - 2;
/// In the header of a block that waits in a line's queue: whoever reads it must leave it alone.
pub(crate) const BIRTH_QUEUED: u64 = (1 << 40) - 1;

/// How much memory an [`Arena`] may take.
///
/// ```
/// use jungle_tree::{Arena, ArenaOptions};
/// let options = ArenaOptions { structure_bytes: 1 << 30, ..ArenaOptions::default() };
/// let arena = Arena::with_options(&options)?;
/// // It was reserved, and is not in use.
/// assert!(arena.usage().structure_bytes < 1 << 20);
/// # Ok::<(), jungle_tree::ArenaError>(())
/// ```
#[derive(Clone, Debug)]
pub struct ArenaOptions {
    /// Bytes of address range for structure, rounded up to a power of two; 64 GiB at most, which
    /// is the default. It is only reserved: memory is used as trees grow.
    pub structure_bytes: usize,
    /// Bytes of address range for attributes, values and names, likewise; 32 GiB at most, which
    /// is the default.
    pub payload_bytes: usize,
    /// A folder on whose disk memory may be that the system needs for something else: so trees may
    /// become larger than memory, and what of them is in use stays in it. The files there have no
    /// names, and are gone with the arena. `None`, the default, is memory only. With a folder, the
    /// system writes what has changed to the disk from time to time, needed or not, and does not
    /// use huge pages. Only on unix.
    pub spill: Option<PathBuf>,
}

impl Default for ArenaOptions {
    fn default() -> Self {
        ArenaOptions { structure_bytes: 64 << 30, payload_bytes: 32 << 30, spill: None }
    }
}

/// Why no arena could be made.
///
/// ```
/// use jungle_tree::{Arena, ArenaOptions};
/// let spill = Some("/there/is/no/such/folder".into());
/// let refused = Arena::with_options(&ArenaOptions { spill, ..ArenaOptions::default() });
/// let error = refused.unwrap_err();
/// assert!(error.to_string().contains("look at the folder that it spills to"));
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum ArenaError {
    /// The system did not give the address range, or the file that it is to be in.
    Reserve {
        /// What was asked for.
        bytes: usize,
        /// What the system said.
        source: std::io::Error,
    },
}

impl fmt::Display for ArenaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ArenaError::Reserve { bytes, .. } = self;
        write!(f, "cannot reserve {bytes} bytes of address range for an arena; ")?;
        write!(
            f,
            "allow more virtual memory, ask for a smaller arena, or look at the folder that "
        )?;
        write!(f, "it spills to, if it has one")
    }
}

impl std::error::Error for ArenaError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        let ArenaError::Reserve { source, .. } = self;
        Some(source)
    }
}

/// The memory that trees live in. Trees of one arena share structure; cloning the handle is cheap.
///
/// ```
/// use jungle_tree::{Arena, Key, Tree};
/// let arena = Arena::new()?;
/// let mut tree = Tree::new(&arena);
/// let key = tree.add_child(&[])?;
/// assert_eq!(key, Key::from(0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Arena {
    inner: Arc<ArenaInner>,
}

impl Arena {
    /// An arena that may grow to 64 GiB of structure and 32 GiB of payload.
    ///
    /// # Errors
    /// When the system refuses to reserve the address range.
    pub fn new() -> Result<Arena, ArenaError> {
        Arena::with_options(&ArenaOptions::default())
    }

    /// An arena with limits of its own.
    ///
    /// # Errors
    /// When the system refuses to reserve the address range.
    ///
    /// ```
    /// use jungle_tree::{Arena, ArenaOptions, EditError, Tree};
    /// let options = ArenaOptions { payload_bytes: 1 << 20, ..ArenaOptions::default() };
    /// let mut tree = Tree::new(&Arena::with_options(&options)?);
    /// let refused = tree.put_attribute(&[], "text", "x".repeat(2 << 20).as_str());
    /// assert_eq!(refused, Err(EditError::ArenaFull));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn with_options(options: &ArenaOptions) -> Result<Arena, ArenaError> {
        let slabs = |bytes, bytes_max| {
            let (region, marks) = reserve(bytes, bytes_max, options.spill.as_deref())?;
            Ok(Slabs::new(region, marks))
        };
        let blocks = slabs(options.structure_bytes, 64 << 30)?;
        let payload = slabs(options.payload_bytes, 32 << 30)?;
        Ok(Arena::of(blocks, payload, 1, None))
    }

    /// An arena whose next version number is this.
    fn of(blocks: Slabs, payload: Slabs, versions: u64, last_save: Option<LastSave>) -> Arena {
        let inner = ArenaInner {
            blocks,
            payload,
            symbols: Symbols::default(),
            pins: Pins::default(),
            versions: AtomicU64::new(versions),
            garbage: AtomicU64::new(0),
            lanes: (0..LANES).map(|_| Lane::default()).collect(),
            sessions: Mutex::default(),
            orphans: Mutex::default(),
            collecting: Mutex::default(),
            last_save: Mutex::new(last_save),
            frozen: AtomicU64::new(0),
            seen_before: AtomicU64::new(0),
            generation: AtomicU64::new(0),
            lines: Mutex::default(),
            hashes: HashMemo::default(),
            names_max: WIDTH,
        };
        Arena { inner: Arc::new(inner) }
    }

    /// A new one, with at most so many names in a bucket.
    pub(crate) fn with_names_max(mut self, names: usize) -> Arena {
        let inner = Arc::get_mut(&mut self.inner).expect("nobody else has a new one");
        inner.names_max = names.clamp(1, WIDTH);
        self
    }

    /// Is so much in use that nothing more can be added, nor another tree be made? There is room to
    /// remove something still. It ends when something is let go, and [collected](Arena::collect)
    /// where it has to be.
    ///
    /// ```
    /// use jungle_tree::{Arena, ArenaOptions, EditError, Tree};
    /// let arena = Arena::with_options(&ArenaOptions {
    ///     structure_bytes: 16 << 20,
    ///     ..ArenaOptions::default()
    /// })?;
    /// let mut tree = Tree::new(&arena);
    /// while !arena.is_full() {
    ///     let more = tree.edit(|editor| editor.cursor(&[])?.add_children(100_000));
    ///     assert!(matches!(more, Ok(_) | Err(EditError::ArenaFull)));
    /// }
    /// assert_eq!(tree.add_child(&[]), Err(EditError::ArenaFull));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn is_full(&self) -> bool {
        !self.inner.has_room(0)
    }

    /// How many attribute keys were new here when those trees put them that
    /// [count them](crate::Tree::count_keys) under this number, whatever became of the edits.
    ///
    /// ```
    /// use jungle_tree::{Arena, Tree};
    /// let arena = Arena::new()?;
    /// let (mut a, mut b) = (Tree::new(&arena), Tree::new(&arena));
    /// a.count_keys(1);
    /// b.count_keys(2);
    /// a.edit(|editor| editor.put_attribute(&[], "title", "hello"))?;
    /// b.edit(|editor| editor.put_attribute(&[], "title", "the same key"))?;
    /// assert_eq!([1, 2].map(|owner| arena.keys_brought(owner)), [1, 0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn keys_brought(&self, owner: u64) -> u32 {
        self.inner.symbols.brought_by(owner)
    }

    /// How much memory is in use now.
    #[must_use]
    pub fn usage(&self) -> ArenaUsage {
        let bytes = |slabs: &Slabs| (slabs.used() - 1) * SLAB_WORDS * WORD_BYTES;
        ArenaUsage {
            structure_bytes: bytes(&self.inner.blocks),
            payload_bytes: bytes(&self.inner.payload),
            garbage_bytes: self.inner.garbage.load(Ordering::Relaxed),
        }
    }

    pub(crate) fn inner(&self) -> &Arc<ArenaInner> {
        &self.inner
    }

    pub(crate) fn from_inner(inner: Arc<ArenaInner>) -> Arena {
        Arena { inner }
    }
}

impl fmt::Debug for Arena {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Arena").field(&self.usage()).finish()
    }
}

/// Reserves one of an arena's regions, and one with a word for each of its slabs.
fn reserve(
    bytes: usize,
    bytes_max: usize,
    spill: Option<&Path>,
) -> Result<(Region, Region), ArenaError> {
    let bytes = bytes.clamp(16 * SLAB_WORDS * WORD_BYTES, bytes_max);
    let words = bytes / WORD_BYTES;
    let region = match spill {
        Some(folder) => Region::reserve_in(folder, words),
        None => Region::reserve(words),
    };
    let refused = |source| ArenaError::Reserve { bytes, source };
    let region = region.map_err(refused)?;
    let marks = Region::reserve(region.words() / SLAB_WORDS).map_err(refused)?;
    Ok((region, marks))
}

/// What [`Arena::usage`] tells.
///
/// ```
/// use jungle_tree::{Arena, Tree};
/// let arena = Arena::new()?;
/// let mut tree = Tree::new(&arena);
/// tree.put_attribute(&[], "text", "x".repeat(1 << 20).as_str())?;
/// let usage = arena.usage();
/// assert!(usage.payload_bytes >= 1 << 20 && usage.structure_bytes >= 64 << 10);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArenaUsage {
    /// Bytes of slabs taken for structure (64 KiB each).
    pub structure_bytes: usize,
    /// Bytes of slabs taken for attributes, values and names.
    pub payload_bytes: usize,
    /// An estimate of the bytes that only [`Arena::collect`] can reclaim.
    pub garbage_bytes: u64,
}

const LANES: usize = 32;

/// A place where writers find allocators that nobody uses; writers on different threads start at
/// different ones. There are as many in all of them as edits ran at the same time.
#[derive(Default)]
#[repr(align(128))]
struct Lane(Mutex<Idle>);

/// Boxed, since a long edit takes one away with it.
type Idle = Vec<Box<Allocator>>;

/// What a writer owns while it writes: free lists and reusable buffers.
pub(crate) struct Allocator {
    pub(crate) blocks: FreeLists<1>,
    pub(crate) payload: FreeLists<0>,
    /// Recently used attribute keys, by a cheap hash of their text.
    pub(crate) keys: [u32; 64],
    /// For whom new ones are interned.
    pub(crate) bringer: Bringer,
    pub(crate) buffers: crate::edit::Buffers,
}

impl Allocator {
    fn new() -> Self {
        Allocator {
            blocks: FreeLists::new(),
            payload: FreeLists::new(),
            keys: [u32::MAX; 64],
            bringer: Bringer::NOBODY,
            buffers: crate::edit::Buffers::default(),
        }
    }
}

pub(crate) struct ArenaInner {
    pub(crate) blocks: Slabs,
    pub(crate) payload: Slabs,
    pub(crate) symbols: Symbols,
    pub(crate) pins: Pins,
    versions: AtomicU64,
    garbage: AtomicU64,
    lanes: Box<[Lane]>,
    sessions: Mutex<Vec<Session>>,
    /// What lines had queued when they ended: nobody's, until a collection looks at it.
    pub(crate) orphans: Mutex<Vec<Dead>>,
    /// One collection, or image, at a time.
    pub(crate) collecting: Mutex<()>,
    /// What is known of the image that was taken last, or that the arena was opened from.
    pub(crate) last_save: Mutex<Option<LastSave>>,
    /// While a collection runs, lines must not reuse what was born before this.
    pub(crate) frozen: AtomicU64,
    /// Versions before this one may be known to somebody who has not pinned them: an image that has
    /// them, or was made of one, or a collection or a measure that goes through them.
    pub(crate) seen_before: AtomicU64,
    /// Counts collections: version numbers reserved before one must not be used after it began.
    generation: AtomicU64,
    pub(crate) lines: Mutex<Vec<Weak<LineCell>>>,
    pub(crate) hashes: HashMemo,
    names_max: usize,
}

/// An arena as its readers and writers see it, made once and passed by value: where the words
/// lie stays in registers, whatever is stored in between.
#[derive(Clone, Copy)]
pub(crate) struct Memory<'a> {
    pub(crate) blocks: Words<'a>,
    pub(crate) payload: Words<'a>,
    pub(crate) inner: &'a ArenaInner,
}

impl<'a> Memory<'a> {
    /// `len` bytes of a payload record, from word `at` on.
    #[inline]
    pub(crate) fn payload_bytes(self, at: usize, len: usize) -> &'a [u8] {
        self.payload.bytes(at, len).unwrap_or_else(|| {
            self.inner.payload.malformed(at, "a record of it runs out of its region")
        })
    }
}

impl<'a> std::ops::Deref for Memory<'a> {
    type Target = ArenaInner;

    fn deref(&self) -> &ArenaInner {
        self.inner
    }
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A panic while a lock of ours is held is a bug already; the data is still consistent, as
    // every critical section here changes one thing.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl ArenaInner {
    /// At most so many names are in a bucket: less than it has room for in tests only.
    #[inline(always)]
    pub(crate) fn names_max(&self) -> usize {
        if cfg!(feature = "planted") { self.names_max } else { WIDTH }
    }

    #[inline(always)]
    pub(crate) fn memory(&self) -> Memory<'_> {
        let (blocks, payload) = (self.blocks.region.words_view(), self.payload.region.words_view());
        Memory { blocks, payload, inner: self }
    }

    /// Reserves `count` version numbers and gives the first.
    pub(crate) fn draw_versions(&self, count: u64) -> u64 {
        let first = self.versions.fetch_add(count, Ordering::SeqCst);
        assert!(first + count <= VERSION_MAX, "an arena lives for 2^40 versions");
        first
    }

    /// The next version number that nobody has.
    pub(crate) fn versions_drawn(&self) -> u64 {
        self.versions.load(Ordering::SeqCst)
    }

    /// All versions so far are seen from now on, and count as such ever after; gives the next one.
    /// Writers must be stopped.
    pub(crate) fn see_versions(&self) -> u64 {
        let drawn = self.versions_drawn();
        self.seen_before.fetch_max(drawn, Ordering::SeqCst);
        drawn
    }

    pub(crate) fn add_garbage(&self, bytes: u64) {
        if bytes > 0 {
            self.garbage.fetch_add(bytes, Ordering::Relaxed);
        }
    }

    /// How much was known, and is not any more.
    pub(crate) fn take_garbage(&self) -> u64 {
        self.garbage.swap(0, Ordering::Relaxed)
    }

    /// Is there surely room for an edit that adds something, and writes so many blocks on its way?
    /// Large values are not asked of here: they are refused when they are taken.
    #[inline]
    pub(crate) fn has_room(&self, blocks: usize) -> bool {
        self.blocks.has_room(SPARE_ADDING + blocks / BLOCKS_PER_SLAB_MIN)
            && self.payload.has_room(SPARE_ADDING)
    }

    /// Is there surely room for an edit that removes something, and writes so many blocks?
    pub(crate) fn has_room_to_remove(&self, blocks: usize) -> bool {
        self.blocks.has_room(SPARE_REMOVING + blocks / BLOCKS_PER_SLAB_MIN)
    }

    /// Keeps a collection from starting.
    #[inline]
    pub(crate) fn hold_lane(&self) -> LaneGuard<'_> {
        let start = thread_number();
        for i in 0..LANES {
            if let Ok(idle) = self.lanes[(start + i) % LANES].0.try_lock() {
                return LaneGuard { idle };
            }
        }
        LaneGuard { idle: lock(&self.lanes[start % LANES].0) }
    }

    /// An allocator for a short edit; whoever holds it keeps a collection from starting.
    #[inline]
    pub(crate) fn lane(&self) -> LaneGuard<'_> {
        let mut lane = self.hold_lane();
        if lane.idle.is_empty() {
            lane.idle.push(self.idle_elsewhere());
        }
        lane
    }

    /// An allocator that is idle in another lane, or a new one: long edits may end where others
    /// began, and each allocator has memory that nobody else uses.
    #[cold]
    fn idle_elsewhere(&self) -> Box<Allocator> {
        let mut lanes = self.lanes.iter().filter_map(|lane| lane.0.try_lock().ok());
        lanes.find_map(|mut idle| idle.pop()).unwrap_or_else(|| Box::new(Allocator::new()))
    }

    /// An allocator of its own for an edit that may take long, and its version number.
    pub(crate) fn check_out(&self) -> (Box<Allocator>, u64) {
        let mut lane = self.lane();
        let (epoch, version) = (self.blocks.epoch(), self.draw_versions(1));
        // Registered before the lane is free again, so no collection starts in between.
        lock(&self.sessions).push(Session { version, epoch, grafts: Vec::new() });
        (lane.idle.pop().expect("a lane has an allocator"), version)
    }

    /// A long edit has put in content that perhaps nothing else holds.
    pub(crate) fn hold_graft(&self, version: u64, content: Content) {
        let mut sessions = lock(&self.sessions);
        if let Some(session) = sessions.iter_mut().find(|session| session.version == version) {
            session.grafts.push(content);
        }
    }

    /// The versions that are being made by long edits now.
    pub(crate) fn session_versions(&self) -> Vec<u64> {
        lock(&self.sessions).iter().map(|session| session.version).collect()
    }

    pub(crate) fn generation(&self) -> u64 {
        self.generation.load(Ordering::Relaxed)
    }

    /// Starts a new epoch for marking slabs and returns it. Writers must be stopped.
    pub(crate) fn begin_epoch(&self) -> u64 {
        self.blocks.begin_epoch();
        self.payload.begin_epoch();
        self.blocks.epoch()
    }

    /// Called while writers are stopped.
    pub(crate) fn renew_generation(&self) {
        self.generation.fetch_add(1, Ordering::Relaxed);
    }

    /// Takes an allocator back and ends its session.
    pub(crate) fn check_in(&self, mut allocator: Box<Allocator>, version: u64) {
        allocator.bringer = Bringer::NOBODY;
        let mut sessions = lock(&self.sessions);
        if let Some(i) = sessions.iter().position(|session| session.version == version) {
            sessions.swap_remove(i);
        }
        drop(sessions);
        self.hold_lane().idle.push(allocator);
    }

    /// Keeps all short edits out, and tells of the long ones that run.
    pub(crate) fn stop_writers(&self) -> (Vec<StoppedLane<'_>>, Vec<Session>) {
        let lanes = self.lanes.iter().map(|lane| lock(&lane.0)).collect();
        (lanes, lock(&self.sessions).clone())
    }
}

/// A lane while its writers wait.
pub(crate) type StoppedLane<'a> = MutexGuard<'a, Idle>;

/// An edit that runs outside of a lane's lock: a collection leaves what was born since the oldest
/// of them alone, and what they have put in.
#[derive(Clone)]
pub(crate) struct Session {
    pub(crate) version: u64,
    /// That of the arena's marks when it began.
    pub(crate) epoch: u64,
    pub(crate) grafts: Vec<Content>,
}

/// A lane that nobody else uses for now.
pub(crate) struct LaneGuard<'a> {
    idle: MutexGuard<'a, Idle>,
}

impl LaneGuard<'_> {
    #[inline(always)]
    pub(crate) fn allocator(&mut self) -> &mut Allocator {
        self.idle.last_mut().expect("a lane has an allocator")
    }
}

/// A small number for this thread, to spread threads over lanes and pin slots.
#[inline(always)]
pub(crate) fn thread_number() -> usize {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    thread_local! {
        static NUMBER: usize = NEXT.fetch_add(1, Ordering::Relaxed) as usize;
    }
    NUMBER.with(|number| *number)
}
