//! Messages of the log: records of commits, linked by hashes.
//!
//! Bytes, numbers in little-endian order:
//! ```text
//! "JGC"  version 1: 1 byte
//! hash of the message before: 32 (zeros for the first)
//! revision of the first record: 8
//! name of the server that wrote it, `#`, and 16 hexadecimal digits that it drew as it joined:
//!     1 + that many (older servers wrote their name alone)
//! how many branches: 2, and for each: tree 8, branch 8, its content hash before this message 32
//! how many records: 4, and for each: length 4 + that many, as `jungle_store::encode` writes it;
//!     without any, what makes the message the only one of its kind: 8
//! BLAKE3 hash of all before: 32
//! ```

use bytes::{BufMut, Bytes, BytesMut};
use jungle_db::{BranchId, CommitRecord, Revision, TreeId};
use jungle_tree::Arena;

use crate::error::MessageError;

pub(crate) type Hash = [u8; 32];

const MAGIC: &[u8; 3] = b"JGC";
const VERSION: u8 = 1;

/// Messages get no longer than this, unless one record is: the engine takes 1 MiB with headers.
pub(crate) const BYTES_MAX: usize = 900 << 10;

/// No message links more branches than this: the others are left for the next one that has them.
const LINKED_MAX: usize = 64;

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

/// Writes a message that says nothing but that its server was there: that it has its place means
/// that the log had everything before.
pub(crate) fn write_empty(previous: &Hash, first: Revision, mark: &str, nonce: u64) -> Bytes {
    let mut out = BytesMut::with_capacity(128);
    put_head(&mut out, previous, first, mark, &[]);
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
    pub(crate) hash: Hash,
}

/// Writes a message of as many of the encoded records as fit in, at least one; tells how many.
pub(crate) fn write(
    previous: &Hash,
    first: Revision,
    mark: &str,
    before: &[Before],
    records: &[Vec<u8>],
) -> (Bytes, usize) {
    let mut out = BytesMut::with_capacity(1024);
    put_head(&mut out, previous, first, mark, &before[..before.len().min(LINKED_MAX)]);
    let mut room = BYTES_MAX.saturating_sub(out.len() + 4 + 32);
    let fitting = records.iter().take_while(|record| {
        let fits = record.len() + 4 <= room;
        room = room.saturating_sub(record.len() + 4);
        fits
    });
    let count = fitting.count().max(1);
    out.put_u32_le(count as u32);
    for record in &records[..count] {
        out.put_u32_le(record.len() as u32);
        out.put_slice(record);
    }
    (end(out), count)
}

fn put_head(out: &mut BytesMut, previous: &Hash, first: Revision, mark: &str, before: &[Before]) {
    out.put_slice(MAGIC);
    out.put_u8(VERSION);
    out.put_slice(previous);
    out.put_u64_le(first.number());
    let mark = &mark.as_bytes()[..mark.floor_char_boundary(usize::from(u8::MAX))];
    out.put_u8(mark.len() as u8);
    out.put_slice(mark);
    out.put_u16_le(before.len() as u16);
    for Before { tree, branch, hash } in before {
        out.put_u64_le(tree.0);
        out.put_u64_le(branch.0);
        out.put_slice(hash);
    }
}

fn end(mut out: BytesMut) -> Bytes {
    let hash = blake3::hash(&out);
    out.put_slice(hash.as_bytes());
    out.freeze()
}

/// The hash that a message ends with.
pub(crate) fn hash_of(message: &[u8]) -> Hash {
    message.last_chunk().copied().unwrap_or_default()
}

/// Reads a message, and holds it against its hash.
pub(crate) fn read(bytes: &[u8]) -> Result<Message<'_>, MessageError> {
    let rest = bytes.strip_prefix(MAGIC).ok_or(MessageError::NoMessage)?;
    match rest.first() {
        Some(&VERSION) => {}
        Some(&version) => return Err(MessageError::Version { version }),
        None => return Err(MessageError::NoMessage),
    }
    let (body, hash) = bytes.split_last_chunk::<32>().ok_or(MessageError::Length)?;
    if blake3::hash(body).as_bytes() != hash {
        return Err(MessageError::Hash);
    }
    let mut input = Input(body.get(4..).ok_or(MessageError::Length)?);
    let previous = input.chunk()?;
    let first = Revision::new(input.u64()?);
    let mark = u8::from_le_bytes(input.chunk()?);
    let mark = input.take(usize::from(mark))?;
    let mark = str::from_utf8(mark).map_err(|_| MessageError::NoMessage)?;
    let count = u16::from_le_bytes(input.chunk()?);
    let before = (0..count).map(|_| input.before()).collect::<Result<_, _>>()?;
    let count = u32::from_le_bytes(input.chunk()?);
    let mut records = Vec::new();
    for _ in 0..count {
        let length = u32::from_le_bytes(input.chunk()?);
        records.push(input.take(length as usize)?);
    }
    if records.is_empty() {
        input.u64()?;
    }
    let number = first.number();
    let is_numbered = number > 0 && number.checked_add(records.len() as u64).is_some();
    if !input.0.is_empty() || !is_numbered {
        return Err(MessageError::Length);
    }
    Ok(Message { previous, first, mark, before, records, hash: *hash })
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
struct Input<'m>(&'m [u8]);

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

    fn u64(&mut self) -> Result<u64, MessageError> {
        Ok(u64::from_le_bytes(self.chunk()?))
    }

    fn before(&mut self) -> Result<Before, MessageError> {
        let (tree, branch) = (TreeId(self.u64()?), BranchId(self.u64()?));
        Ok(Before { tree, branch, hash: self.chunk()? })
    }
}
