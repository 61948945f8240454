//! A checkpoint as one stream of bytes, to be carried elsewhere: a whole Jungle, at one revision.
//!
//! ```text
//! 0   8     "JUNGCKP\n"
//! 8   u32   the version of the format: 1
//! 12        values, each: u32 its length, and itself as it is stored in `pages`
//!           (`pages/value.rs`), put by checkpoint 1; in any order, slabs that are not used too
//!     u32   0: no value follows
//!     32    BLAKE3 of all before
//! ```
//! Nothing that is declared is believed before it is there, and nothing is used before all of it
//! was held against its hash.

use std::collections::HashMap;
use std::io::{self, Read, Write};
use std::sync::{Arc, Mutex, PoisonError};

use jungle_db::{
    Archive, ArchiveError, BranchId, Builder, Checkpoint, HistoryEntry, Jungle, RestoreError,
};
use jungle_tree::{
    Arena, ArenaOptions, ImageError, SLAB_BYTES, SavedImage, SlabError, SlabId, SlabSource, loading,
};

use super::save::piece_key;
use super::state::{decode_piece, decode_state, encode_piece, encode_state};
use super::{CheckpointError, LoadError, ONLY};
use crate::log::LogPosition;
use crate::pages::{PageDamage, PagesError, Place, STORED_BYTES_MAX, Table, claimed, said};
use crate::record::DecodeError;

const MAGIC: &[u8; 8] = b"JUNGCKP\n";

/// The version of the format of streams that this program writes; it reads no other yet.
const FORMAT: u32 = 1;

/// The checkpoint that all values say they were put by.
const NUMBER: u64 = 1;

/// Why a checkpoint or a backup was not written to a stream, or not read from one.
///
/// ```
/// use jungle_db::Jungle;
/// use jungle_store::{StreamError, check_checkpoint, write_checkpoint};
///
/// let jungle = Jungle::new()?;
/// let mut bytes = Vec::new();
/// write_checkpoint(&jungle, &jungle.checkpoint(), &mut bytes)?;
/// let short = check_checkpoint(&bytes[..bytes.len() - 1]);
/// assert!(matches!(short, Err(StreamError::Short)));
/// let other = check_checkpoint(&b"something else"[..]);
/// assert!(matches!(other, Err(StreamError::NoCheckpoint)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StreamError {
    /// The stream failed.
    #[error("the stream failed")]
    Io(#[from] io::Error),
    /// It ends early.
    #[error("the stream ends early")]
    Short,
    /// It does not begin as a checkpoint.
    #[error("the bytes are no checkpoint")]
    NoCheckpoint,
    /// It does not begin as a backup.
    #[error("the bytes are no backup")]
    NoBackup,
    /// It was written in a format that this version does not know.
    #[error("the stream has format {found}, this program reads format {FORMAT}: use a newer one")]
    UnknownFormat {
        /// The number of its format.
        found: u32,
    },
    /// It is not what was written.
    #[error("the stream is damaged: it does not have its hash")]
    Hash,
    /// It unpacks to more than it may: see
    /// [`OpenOptions::stream_bytes_max`](crate::OpenOptions::stream_bytes_max).
    #[error("the stream unpacks to more than {bytes_max} bytes, which is the limit")]
    TooMuch {
        /// How many bytes it may unpack to.
        bytes_max: u64,
    },
    /// The files that it says it unpacks to have next to nothing in them.
    #[error("the stream says that {came} bytes of segments are followed by {zeros} zeros")]
    Zeros {
        /// How many zeros did not come.
        zeros: u64,
        /// How many bytes did.
        came: u64,
    },
    /// A value in it is not what was written.
    #[error("the stream is damaged: {0}")]
    Value(#[from] PagesError),
    /// It makes no sense.
    #[error("the checkpoint cannot be loaded")]
    Load(#[from] LoadError),
    /// A history cannot be read, so that it was not written.
    #[error(transparent)]
    History(#[from] ArchiveError),
    /// It has more than a checkpoint can hold.
    #[error(transparent)]
    TooMany(#[from] CheckpointError),
}

impl From<SlabError> for StreamError {
    fn from(error: SlabError) -> StreamError {
        LoadError::Slab(error).into()
    }
}

impl From<ImageError> for StreamError {
    fn from(error: ImageError) -> StreamError {
        LoadError::Image(error).into()
    }
}

impl From<DecodeError> for StreamError {
    fn from(error: DecodeError) -> StreamError {
        LoadError::State(error).into()
    }
}

impl From<RestoreError> for StreamError {
    fn from(error: RestoreError) -> StreamError {
        LoadError::Restore(error).into()
    }
}

/// Writes a checkpoint of a Jungle, with all that it has, as bytes for [`read_checkpoint`]. What
/// was not loaded yet is read for it and not kept, so it takes next to no memory. Readers and
/// writers go on meanwhile.
///
/// ```
/// use jungle_db::Jungle;
/// use jungle_store::{read_checkpoint, write_checkpoint};
/// use jungle_tree::ArenaOptions;
///
/// let jungle = Jungle::new()?;
/// jungle.create_tree("board")?.update(|tx| tx.put_attribute(&[], "title", "Hello"))?;
/// let mut bytes = Vec::new();
/// write_checkpoint(&jungle, &jungle.checkpoint(), &mut bytes)?;
///
/// let again = read_checkpoint(Jungle::builder(), &ArenaOptions::default(), &*bytes)?;
/// assert_eq!(again.revision(), jungle.revision());
/// let board = again.open_tree("board")?;
/// assert_eq!(board.read().root().attribute("title").unwrap().as_text(), Some("Hello"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// When the stream fails, or something of the Jungle cannot be read.
pub fn write_checkpoint(
    jungle: &Jungle,
    checkpoint: &Checkpoint,
    out: impl Write,
) -> Result<(), StreamError> {
    let mut out = Output::begin(out, MAGIC)?;
    let image = loading(|| {
        jungle.arena().save(&SavedImage::default(), |id, slab| match slab {
            Some(bytes) => out.put(Table::Slabs, id.number(), bytes),
            None => Ok(()),
        })
    })??;
    let state = checkpoint.state();
    for branch in state.trees.iter().flat_map(|tree| &tree.branches) {
        for piece in checkpoint.pieces_since(branch.id, 0) {
            let (index, entries) = piece?;
            out.put(Table::History, piece_key(branch.id, index)?, &encode_piece(&entries))?;
        }
    }
    out.put(Table::Image, ONLY, &image.to_bytes())?;
    out.put(Table::State, ONLY, &encode_state(state, LogPosition::default()))?;
    out.no_more()?;
    out.end()
}

/// The Jungle of which [`write_checkpoint`] wrote this (its example reads it again), in memory; it
/// is read up to the end of the checkpoint. Until all was read, the compressed bytes are in memory,
/// and each is let go as it is loaded. Old pieces of histories stay so.
///
/// # Errors
/// When the stream fails, what comes out of it is not what was written, or there is no room.
pub fn read_checkpoint(
    builder: Builder,
    arena: &ArenaOptions,
    input: impl Read,
) -> Result<Jungle, StreamError> {
    let mut values: HashMap<Table, HashMap<u64, Vec<u8>>> = HashMap::new();
    read_values(input, |table, key, stored| {
        values.entry(table).or_default().insert(key, stored);
        Ok(())
    })?;
    let mut of_table = |table: Table| values.remove(&table).unwrap_or_default();
    let image = SavedImage::from_bytes(&open(&of_table(Table::Image), Table::Image, ONLY)?)?;
    let state = open(&of_table(Table::State), Table::State, ONLY)?;
    let (state, _) = decode_state(&state)?;
    let slabs = Slabs(Mutex::new(of_table(Table::Slabs)));
    let arena = Arena::reopen(arena, &image, Arc::new(slabs))?;
    arena.load_all()?;
    let archive = Arc::new(Pieces(of_table(Table::History)));
    Ok(builder.restore(arena, &state, archive)?)
}

/// Reads up to the end of a checkpoint, keeps nothing, and holds all of it against its hashes.
///
/// # Errors
/// As [`read_checkpoint`].
///
/// ```
/// use jungle_db::Jungle;
/// use jungle_store::{check_checkpoint, write_checkpoint};
/// let jungle = Jungle::new()?;
/// jungle.create_tree("board")?;
/// let mut bytes = Vec::new();
/// write_checkpoint(&jungle, &jungle.checkpoint(), &mut bytes)?;
/// check_checkpoint(&*bytes)?;
/// *bytes.last_mut().unwrap() ^= 1;
/// assert!(check_checkpoint(&*bytes).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn check_checkpoint(input: impl Read) -> Result<(), StreamError> {
    read_values(input, |table, key, stored| {
        Place::new(table, key, NUMBER).open(&stored)?;
        Ok(())
    })
}

/// What is written, and its hash, with which it ends.
pub(crate) struct Output<W> {
    out: W,
    hash: blake3::Hasher,
}

impl<W: Write> Output<W> {
    pub(crate) fn begin(out: W, magic: &[u8; 8]) -> Result<Output<W>, StreamError> {
        let mut out = Output { out, hash: blake3::Hasher::new() };
        out.write(magic)?;
        out.write(&FORMAT.to_le_bytes())?;
        Ok(out)
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<(), StreamError> {
        self.hash.update(bytes);
        Ok(self.out.write_all(bytes)?)
    }

    /// A piece, which has a byte at least, behind its length.
    pub(crate) fn piece(&mut self, bytes: &[u8]) -> Result<(), StreamError> {
        let length = u32::try_from(bytes.len()).expect("no value and no segment is so long");
        self.write(&length.to_le_bytes())?;
        self.write(bytes)
    }

    /// A value of a checkpoint.
    pub(crate) fn put(&mut self, table: Table, key: u64, value: &[u8]) -> Result<(), StreamError> {
        self.piece(&Place::new(table, key, NUMBER).seal(value)?)
    }

    /// Says that no piece follows here.
    pub(crate) fn no_more(&mut self) -> Result<(), StreamError> {
        self.write(&0u32.to_le_bytes())
    }

    pub(crate) fn end(mut self) -> Result<(), StreamError> {
        let hash = *self.hash.finalize().as_bytes();
        self.out.write_all(&hash)?;
        Ok(self.out.flush()?)
    }
}

/// Gives all values as they are stored, and holds them against the hash at the end: what was given
/// counts if this returns without an error.
fn read_values(
    input: impl Read,
    mut give: impl FnMut(Table, u64, Vec<u8>) -> Result<(), StreamError>,
) -> Result<(), StreamError> {
    let mut input = Input::begin(input, MAGIC, StreamError::NoCheckpoint)?;
    while let Some(stored) = input.piece(STORED_BYTES_MAX)? {
        let (table, key) = said(&stored).ok_or(StreamError::Hash)?;
        give(table, key, stored)?;
    }
    input.end()
}

/// What is read, and its hash.
pub(crate) struct Input<R> {
    input: R,
    hash: blake3::Hasher,
}

impl<R: Read> Input<R> {
    /// Refuses with `other` what does not begin so.
    pub(crate) fn begin(
        input: R,
        magic: &[u8; 8],
        other: StreamError,
    ) -> Result<Input<R>, StreamError> {
        let mut input = Input { input, hash: blake3::Hasher::new() };
        if input.array()? != *magic {
            return Err(other);
        }
        match u32::from_le_bytes(input.array()?) {
            FORMAT => Ok(input),
            found => Err(StreamError::UnknownFormat { found }),
        }
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N], StreamError> {
        let mut bytes = [0; N];
        self.input.read_exact(&mut bytes).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => StreamError::Short,
            _ => error.into(),
        })?;
        self.hash.update(&bytes);
        Ok(bytes)
    }

    /// The next piece, unless none follows here. Takes as much memory as there are bytes.
    pub(crate) fn piece(&mut self, bytes_max: usize) -> Result<Option<Vec<u8>>, StreamError> {
        let length = u32::from_le_bytes(self.array()?) as usize;
        if length == 0 {
            return Ok(None);
        }
        if length > bytes_max {
            return Err(StreamError::Hash);
        }
        let mut bytes = Vec::new();
        self.input.by_ref().take(length as u64).read_to_end(&mut bytes)?;
        if bytes.len() < length {
            return Err(StreamError::Short);
        }
        self.hash.update(&bytes);
        Ok(Some(bytes))
    }

    /// The next value of a checkpoint, unless none follows. `bound` is told how many bytes it takes
    /// before it is unpacked.
    pub(crate) fn value(
        &mut self,
        bound: impl FnOnce(u64) -> Result<(), StreamError>,
    ) -> Result<Option<(Table, u64, Vec<u8>)>, StreamError> {
        let Some(stored) = self.piece(STORED_BYTES_MAX)? else { return Ok(None) };
        let (table, key) = said(&stored).ok_or(StreamError::Hash)?;
        let place = Place::new(table, key, NUMBER);
        let bytes = claimed(&stored).ok_or(StreamError::Hash)?;
        if table == Table::Slabs && bytes != SLAB_BYTES as u64 {
            return Err(place.damaged(PageDamage::Length).into());
        }
        bound(bytes.max(stored.len() as u64))?;
        Ok(Some((table, key, place.open(&stored)?)))
    }

    /// Holds all that was read against the hash that it ends with.
    pub(crate) fn end(&mut self) -> Result<(), StreamError> {
        let hash = self.hash.finalize();
        let is_whole = self.array()? == *hash.as_bytes();
        if is_whole { Ok(()) } else { Err(StreamError::Hash) }
    }

    /// Refuses what goes on behind that, and what ends otherwise than it should.
    pub(crate) fn must_be_over(&mut self) -> Result<(), StreamError> {
        match io::copy(&mut self.input.by_ref().take(1), &mut io::sink())? {
            0 => Ok(()),
            _ => Err(StreamError::Hash),
        }
    }
}

/// What is stored under a key.
fn open(values: &HashMap<u64, Vec<u8>>, table: Table, key: u64) -> Result<Vec<u8>, PagesError> {
    let place = Place::new(table, key, NUMBER);
    place.open(values.get(&key).ok_or_else(|| place.damaged(PageDamage::Missing))?)
}

/// Slabs, each for once.
struct Slabs(Mutex<HashMap<u64, Vec<u8>>>);

impl SlabSource for Slabs {
    fn load(
        &self,
        id: SlabId,
        bytes: &mut [u8],
    ) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
        let key = id.number();
        let place = Place::new(Table::Slabs, key, NUMBER);
        let stored = self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&key);
        let slab = place.open(&stored.ok_or_else(|| place.damaged(PageDamage::Missing))?)?;
        if slab.len() != bytes.len() {
            return Err(place.damaged(PageDamage::Length).into());
        }
        bytes.copy_from_slice(&slab);
        Ok(())
    }
}

/// The whole pieces of all histories, as they are stored.
struct Pieces(HashMap<u64, Vec<u8>>);

impl Archive for Pieces {
    fn piece(&self, branch: BranchId, index: u64) -> Result<Arc<[HistoryEntry]>, ArchiveError> {
        let key = piece_key(branch, index).map_err(ArchiveError::new)?;
        let bytes = open(&self.0, Table::History, key).map_err(ArchiveError::new)?;
        decode_piece(&bytes).map_err(ArchiveError::new)
    }
}
