//! Messages of the log: records of commits, linked by hashes.
//!
//! Bytes, numbers in little-endian order:
//! ```text
//! "JGC"  version: 1 byte; 2 with guests, otherwise 1
//! hash of the message before: 32 (zeros for the first)
//! revision of the first record: 8
//! name of the server that wrote it, `#`, and 16 hexadecimal digits that it drew as it joined:
//!     1 + that many (older servers wrote their name alone)
//! how many branches: 2, and for each: tree 8, branch 8, its content hash before this message 32
//! how many records: 4, and for each: length 4 + that many, as `jungle_store::encode` writes it;
//!     without any, what makes the message the only one of its kind: 8
//! version 2: how many batches of other servers: 2, and for each, in the order of their records,
//!     which are the last ones: its server, as above; its number there 8; how many records 4
//! BLAKE3 hash of all before: 32
//! ```

use bytes::{BufMut, Bytes, BytesMut};
use jungle_db::{BranchId, CommitRecord, Revision, TreeId};
use jungle_tree::Arena;

use crate::error::{Fault, MessageError};

pub(crate) type Hash = [u8; 32];

const MAGIC: &[u8; 3] = b"JGC";
const VERSION: u8 = 1;
/// With records of other servers.
const VERSION_GUESTS: u8 = 2;

/// Messages get no longer than this, unless one record is: the engine takes 1 MiB with headers.
pub(crate) const BYTES_MAX: usize = 900 << 10;

/// No message links more branches than this: the others are left for the next one that has them.
const LINKED_MAX: usize = 64;

/// So many bytes are there for records: less what stands before and behind them.
pub(crate) const RECORDS_BYTES_MAX: usize = BYTES_MAX - (LINKED_MAX * 48 + 1024);

/// A mark takes so many bytes at most.
pub(crate) const MARK_BYTES_MAX: usize = u8::MAX as usize + 1;

/// So many bytes of a server's name are in its messages, at most.
const NAME_MAX: usize = u8::MAX as usize - 17;

/// What a server is known by in its messages. Two may have the same name, and do the same at the
/// same time: their messages must differ all the same, or one of them would be taken for both.
pub(crate) fn mark(name: &str, drawn: u64) -> String {
    format!("{}#{drawn:016x}", &name[..name.floor_char_boundary(NAME_MAX)])
}

/// The name in a mark.
fn name_of(mark: &str) -> &str {
    let is_drawn =
        |digits: &str| digits.len() == 16 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    mark.rsplit_once('#').filter(|(_, digits)| is_drawn(digits)).map_or(mark, |(name, _)| name)
}

/// A branch as it was before a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Before {
    pub(crate) tree: TreeId,
    pub(crate) branch: BranchId,
    pub(crate) hash: Hash,
}

/// A batch of another server whose records are in a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Carried {
    /// Of its server.
    pub(crate) mark: String,
    /// Its number among the batches of that server.
    pub(crate) number: u64,
    /// Which revision its first record is.
    pub(crate) first: Revision,
    /// How many of its records, from the first, are there.
    pub(crate) count: usize,
}

/// Writes a message that says nothing but that its server was there: that it has its place means
/// that the log had everything before.
pub(crate) fn write_empty(previous: &Hash, first: Revision, mark: &str, nonce: u64) -> Bytes {
    let mut out = BytesMut::with_capacity(128);
    put_head(&mut out, VERSION, previous, first, mark, &[]);
    out.put_u32_le(0);
    out.put_u64_le(nonce);
    end(out)
}

/// A message that was read.
pub(crate) struct Message<'m> {
    pub(crate) previous: Hash,
    pub(crate) first: Revision,
    /// Of the server that wrote it.
    pub(crate) mark: &'m str,
    pub(crate) before: Vec<Before>,
    records: Vec<&'m [u8]>,
    /// Whose the last of the records are.
    pub(crate) guests: Vec<Carried>,
    pub(crate) hash: Hash,
    /// How long it is.
    pub(crate) bytes: usize,
}

/// How many of the encoded records fit into one message, at least one.
pub(crate) fn fitting(records: &[Vec<u8>]) -> usize {
    let mut room = RECORDS_BYTES_MAX;
    let fitting = records.iter().take_while(|record| {
        let fits = record.len() + 4 <= room;
        room = room.saturating_sub(record.len() + 4);
        fits
    });
    fitting.count().max(1)
}

/// Writes a message of encoded records, of which the last are those of guests.
pub(crate) fn write(
    previous: &Hash,
    first: Revision,
    mark: &str,
    before: &[Before],
    records: &[Vec<u8>],
    guests: &[Carried],
) -> Bytes {
    let mut out = BytesMut::with_capacity(1024);
    let version = if guests.is_empty() { VERSION } else { VERSION_GUESTS };
    let before = &before[..before.len().min(LINKED_MAX)];
    put_head(&mut out, version, previous, first, mark, before);
    put_records(&mut out, records);
    if !guests.is_empty() {
        out.put_u16_le(guests.len() as u16);
    }
    for Carried { mark, number, count, .. } in guests {
        put_mark(&mut out, mark);
        out.put_u64_le(*number);
        out.put_u32_le(*count as u32);
    }
    end(out)
}

fn put_head(
    out: &mut BytesMut,
    version: u8,
    previous: &Hash,
    first: Revision,
    mark: &str,
    before: &[Before],
) {
    out.put_slice(MAGIC);
    out.put_u8(version);
    out.put_slice(previous);
    out.put_u64_le(first.number());
    put_mark(out, mark);
    out.put_u16_le(before.len() as u16);
    for Before { tree, branch, hash } in before {
        out.put_u64_le(tree.0);
        out.put_u64_le(branch.0);
        out.put_slice(hash);
    }
}

pub(crate) fn put_records(out: &mut BytesMut, records: &[Vec<u8>]) {
    out.put_u32_le(records.len() as u32);
    for record in records {
        out.put_u32_le(record.len() as u32);
        out.put_slice(record);
    }
}

pub(crate) fn put_mark(out: &mut BytesMut, mark: &str) {
    let mark = &mark.as_bytes()[..mark.floor_char_boundary(usize::from(u8::MAX))];
    out.put_u8(mark.len() as u8);
    out.put_slice(mark);
}

pub(crate) fn end(mut out: BytesMut) -> Bytes {
    let hash = blake3::hash(&out);
    out.put_slice(hash.as_bytes());
    out.freeze()
}

/// The hash that a message ends with.
pub(crate) fn hash_of(message: &[u8]) -> Hash {
    message.last_chunk().copied().unwrap_or_default()
}

/// Was a message written behind this one? Nobody knows of one whose writer did not know that.
pub(crate) fn is_behind(message: &[u8], before: &[u8]) -> bool {
    let previous = message.get(MAGIC.len() + 1..).and_then(<[u8]>::first_chunk);
    previous
        .is_none_or(|previous: &Hash| *previous == hash_of(before) || *previous == Hash::default())
}

/// Is it as it was written, whether or not it can be read here?
pub(crate) fn is_whole(message: &[u8]) -> bool {
    let parts = message.split_last_chunk();
    parts.is_some_and(|(body, hash): (_, &Hash)| blake3::hash(body).as_bytes() == hash)
}

/// Why one that cannot be read is not followed: it is damaged, or a later version's.
pub(crate) fn unread(sequence: u64, message: &[u8], reason: MessageError) -> Fault {
    match is_whole(message) {
        true => Fault::NotUnderstood { sequence, reason },
        false => Fault::Damaged { sequence, reason },
    }
}

/// Reads a message, and holds it against its hash.
pub(crate) fn read(bytes: &[u8]) -> Result<Message<'_>, MessageError> {
    let rest = bytes.strip_prefix(MAGIC).ok_or(MessageError::NoMessage)?;
    let version = match rest.first() {
        Some(&version @ (VERSION | VERSION_GUESTS)) => version,
        Some(&version) => return Err(MessageError::Version { version }),
        None => return Err(MessageError::NoMessage),
    };
    let (body, hash) = bytes.split_last_chunk::<32>().ok_or(MessageError::Length)?;
    if blake3::hash(body).as_bytes() != hash {
        return Err(MessageError::Hash);
    }
    let mut input = Input(body.get(4..).ok_or(MessageError::Length)?);
    let previous = input.chunk()?;
    let first = Revision::new(input.u64()?);
    let mark = input.mark()?;
    let count = u16::from_le_bytes(input.chunk()?);
    let before = (0..count).map(|_| input.before()).collect::<Result<_, _>>()?;
    let records = input.records()?;
    if records.is_empty() {
        input.u64()?;
    }
    let guests = if version == VERSION_GUESTS { input.guests()? } else { Vec::new() };
    let number = first.number();
    let is_numbered = number > 0 && number.checked_add(records.len() as u64).is_some();
    if !input.0.is_empty() || !is_numbered {
        return Err(MessageError::Length);
    }
    let (hash, bytes) = (*hash, bytes.len());
    let mut message = Message { previous, first, mark, before, records, guests, hash, bytes };
    message.number_guests()?;
    Ok(message)
}

/// Reads a message and its records, and writes and reads it again; for `torture fuzz`.
///
/// # Panics
/// When it is another message then.
#[cfg(feature = "sim")]
#[doc(hidden)]
pub fn read_twice(bytes: &[u8], arena: &Arena) -> Result<Vec<CommitRecord>, MessageError> {
    let message = read(bytes)?;
    let Message { previous, first, mark, before, guests, .. } = &message;
    let records: Vec<Vec<u8>> = message.records.iter().map(|record| record.to_vec()).collect();
    let written = match message.is_empty() {
        true => write_empty(previous, *first, mark, 0),
        false => write(previous, *first, mark, before, &records, guests),
    };
    let again = read(&written).unwrap_or_else(|error| panic!("what was read is refused: {error}"));
    assert_eq!((again.previous, again.first, again.mark), (*previous, *first, *mark));
    assert!(again.records == message.records, "its records change");
    // A message without records is written by itself, without anything else, and none with more
    // branches than so many.
    if !message.is_empty() {
        assert_eq!(again.before[..], before[..before.len().min(LINKED_MAX)]);
        assert_eq!(again.guests, *guests);
    }
    message.records_after(Revision::default(), arena).collect()
}

impl Message<'_> {
    /// The name of the server that wrote it.
    pub(crate) fn server(&self) -> &str {
        name_of(self.mark)
    }

    /// Does it say only that its server was there?
    pub(crate) fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// The revision of the last record; of a message without any, that before it.
    pub(crate) fn last(&self) -> Revision {
        Revision::new(self.first.number() + self.records.len() as u64 - 1)
    }

    /// Finds out which revisions the records of guests are.
    fn number_guests(&mut self) -> Result<(), MessageError> {
        let mut end = self.last().number() + 1;
        for guest in self.guests.iter_mut().rev() {
            let first = end.checked_sub(guest.count as u64);
            end =
                first.filter(|first| *first >= self.first.number()).ok_or(MessageError::Length)?;
            guest.first = Revision::new(end);
        }
        Ok(())
    }

    /// The records after a revision.
    pub(crate) fn records_after(
        &self,
        revision: Revision,
        arena: &Arena,
    ) -> impl Iterator<Item = Result<CommitRecord, MessageError>> {
        let numbered = self.records.iter().zip(self.first.number()..);
        let fresh = numbered.filter(move |(_, number)| *number > revision.number());
        fresh.map(|(record, number)| {
            let revision = Revision::new(number);
            jungle_store::decode(record, revision, arena)
                .map_err(|error| MessageError::Record { revision, reason: error.to_string() })
        })
    }
}

/// What is left to be read.
pub(crate) struct Input<'m>(pub(crate) &'m [u8]);

impl<'m> Input<'m> {
    fn take(&mut self, length: usize) -> Result<&'m [u8], MessageError> {
        let (taken, rest) = self.0.split_at_checked(length).ok_or(MessageError::Length)?;
        self.0 = rest;
        Ok(taken)
    }

    fn chunk<const N: usize>(&mut self) -> Result<[u8; N], MessageError> {
        let (taken, rest) = self.0.split_first_chunk().ok_or(MessageError::Length)?;
        self.0 = rest;
        Ok(*taken)
    }

    pub(crate) fn u64(&mut self) -> Result<u64, MessageError> {
        Ok(u64::from_le_bytes(self.chunk()?))
    }

    pub(crate) fn mark(&mut self) -> Result<&'m str, MessageError> {
        let length = u8::from_le_bytes(self.chunk()?);
        let mark = self.take(usize::from(length))?;
        str::from_utf8(mark).map_err(|_| MessageError::NoMessage)
    }

    pub(crate) fn records(&mut self) -> Result<Vec<&'m [u8]>, MessageError> {
        let count = u32::from_le_bytes(self.chunk()?);
        let mut records = Vec::new();
        for _ in 0..count {
            let length = u32::from_le_bytes(self.chunk()?);
            records.push(self.take(length as usize)?);
        }
        Ok(records)
    }

    fn guests(&mut self) -> Result<Vec<Carried>, MessageError> {
        let count = u16::from_le_bytes(self.chunk()?);
        let guest = |input: &mut Self| {
            let (mark, number) = (input.mark()?.to_owned(), input.u64()?);
            let count = u32::from_le_bytes(input.chunk()?) as usize;
            Ok(Carried { mark, number, first: Revision::default(), count })
        };
        (0..count).map(|_| guest(self)).collect()
    }

    fn before(&mut self) -> Result<Before, MessageError> {
        let (tree, branch) = (TreeId(self.u64()?), BranchId(self.u64()?));
        Ok(Before { tree, branch, hash: self.chunk()? })
    }
}
