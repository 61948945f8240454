//! Checkpoints: all that the log says up to some message, so that the log before it is not needed.
//!
//! In front of the Jungle itself, as `jungle_store::write_checkpoint` writes it, is where in the
//! log it belongs. Bytes, numbers in little-endian order:
//! ```text
//! "JGK"  version 2: 1 byte
//! what the log is known by: 16
//! sequence of the newest message that is in it: 8, and the hash of that message: 32
//! the newest revision: 8
//! name of the server that wrote it: 1 + that many
//! how many branches: 4, and for each: tree 8, branch 8, its content hash 32
//! BLAKE3 hash of all before: 32
//! ```

pub(crate) mod keeper;

use std::io::{self, Read, Write};

use jungle_db::{BranchId, Checkpoint, Jungle, Revision, Snapshot, TreeId};
use jungle_store::{StreamError, check_checkpoint, write_checkpoint};
use jungle_tree::loading;

use crate::engine::log::LogId;
use crate::error::CheckpointError;
use crate::message::{Before, Hash};

const MAGIC: &[u8; 3] = b"JGK";
const VERSION: u8 = 2;

/// What a server has, between two messages.
pub(crate) struct Taken {
    pub(crate) log: LogId,
    pub(crate) jungle: Jungle,
    pub(crate) checkpoint: Checkpoint,
    /// The newest message that is in it.
    pub(crate) sequence: u64,
    pub(crate) hash: Hash,
    pub(crate) heads: Vec<Head>,
}

/// The newest version of a branch.
pub(crate) struct Head {
    pub(crate) tree: TreeId,
    pub(crate) branch: BranchId,
    pub(crate) snapshot: Snapshot,
}

/// Those of all branches.
pub(crate) fn heads(jungle: &Jungle) -> Vec<Head> {
    let mut heads = Vec::new();
    for tree in jungle.list_trees().iter().filter_map(|name| jungle.open_tree(name).ok()) {
        for branch in tree.list_branches().iter().filter_map(|name| tree.on_branch(name).ok()) {
            let (tree, snapshot) = (tree.id(), branch.snapshot());
            heads.push(Head { tree, branch: branch.branch_id(), snapshot });
        }
    }
    heads
}

impl Head {
    pub(crate) fn hash(&self) -> Hash {
        *self.snapshot.root().content_hash().as_bytes()
    }
}

impl Taken {
    pub(crate) fn write(&self, server: &str, out: &mut dyn Write) -> Result<(), StreamError> {
        let mut header = Vec::with_capacity(1024);
        header.extend_from_slice(MAGIC);
        header.push(VERSION);
        header.extend_from_slice(&self.log.0);
        header.extend_from_slice(&self.sequence.to_le_bytes());
        header.extend_from_slice(&self.hash);
        header.extend_from_slice(&self.checkpoint.revision().number().to_le_bytes());
        let server = &server.as_bytes()[..server.floor_char_boundary(usize::from(u8::MAX))];
        header.push(server.len() as u8);
        header.extend_from_slice(server);
        header.extend_from_slice(&(self.heads.len() as u32).to_le_bytes());
        for head in &self.heads {
            header.extend_from_slice(&head.tree.0.to_le_bytes());
            header.extend_from_slice(&head.branch.0.to_le_bytes());
            header.extend_from_slice(&loading(|| head.hash())?);
        }
        let hash = blake3::hash(&header);
        out.write_all(&header)?;
        out.write_all(hash.as_bytes())?;
        write_checkpoint(&self.jungle, &self.checkpoint, out)
    }
}

/// Where a checkpoint belongs, and what it has.
pub(crate) struct Header {
    pub(crate) log: LogId,
    pub(crate) sequence: u64,
    pub(crate) hash: Hash,
    revision: Revision,
    heads: Vec<Before>,
}

impl Header {
    /// Reads what is in front of the Jungle.
    pub(crate) fn read(input: &mut impl Read) -> Result<Header, CheckpointError> {
        let mut input = Input { input, hash: blake3::Hasher::new() };
        if input.array()? != *MAGIC {
            return Err(CheckpointError::NoCheckpoint);
        }
        match input.array()? {
            [VERSION] => {}
            [version] => return Err(CheckpointError::Version { version }),
        }
        let log = LogId(input.array()?);
        let (sequence, hash) = (input.u64()?, input.array()?);
        let revision = Revision::new(input.u64()?);
        let [server] = input.array()?;
        for _ in 0..server {
            input.array::<1>()?;
        }
        let mut heads = Vec::new();
        for _ in 0..u32::from_le_bytes(input.array()?) {
            let (tree, branch) = (TreeId(input.u64()?), BranchId(input.u64()?));
            heads.push(Before { tree, branch, hash: input.array()? });
        }
        let expected = *input.hash.finalize().as_bytes();
        match input.array()? == expected {
            true => Ok(Header { log, sequence, hash, revision, heads }),
            false => Err(CheckpointError::Hash),
        }
    }

    /// Is this Jungle the one that was taken?
    pub(crate) fn check(&self, jungle: &Jungle) -> Result<(), CheckpointError> {
        if jungle.revision() != self.revision {
            return Err(CheckpointError::Hash);
        }
        for &Before { tree, branch, hash } in &self.heads {
            let head = jungle.branch_with_id(tree, branch).map(|handle| {
                let snapshot = handle.snapshot();
                Head { tree, branch, snapshot }
            });
            if head.is_none_or(|head| head.hash() != hash) {
                return Err(CheckpointError::Differs { tree, branch });
            }
        }
        Ok(())
    }
}

/// Is a checkpoint that of this message of this log, as it says?
pub(crate) fn belongs(header: &Header, log: LogId, sequence: u64) -> Result<(), CheckpointError> {
    if header.log != log {
        return Err(CheckpointError::OtherLog { log: header.log });
    }
    if header.sequence == sequence { Ok(()) } else { Err(CheckpointError::Hash) }
}

/// Reads a checkpoint up to its end, and keeps nothing but where it belongs.
pub(crate) fn check(mut content: impl Read) -> Result<Header, CheckpointError> {
    let header = Header::read(&mut content)?;
    check_checkpoint(content)?;
    Ok(header)
}

/// What is read, and its hash.
struct Input<'r, R> {
    input: &'r mut R,
    hash: blake3::Hasher,
}

impl<R: Read> Input<'_, R> {
    fn array<const N: usize>(&mut self) -> Result<[u8; N], io::Error> {
        let mut bytes = [0; N];
        self.input.read_exact(&mut bytes)?;
        self.hash.update(&bytes);
        Ok(bytes)
    }

    fn u64(&mut self) -> Result<u64, io::Error> {
        Ok(u64::from_le_bytes(self.array()?))
    }
}
