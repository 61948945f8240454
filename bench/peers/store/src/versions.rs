//! What is asked of each store.

use std::path::Path;

use crate::support::{Failure, Value};

/// A store that keeps every version of the values of numbered leaves. Revision 1 is what was
/// loaded; each commit of one value is one more.
pub trait Versions: Sync {
    /// Loads all leaves at once, as revision 1.
    fn load(&self, values: &[Value]) -> Result<(), Failure>;
    /// Adds so many leaves from this one on, all at once, as one revision more, which knows that it
    /// changed them: durably, if it is in a folder and says that it can.
    fn add(&self, _first: u32, _values: &[Value]) -> Result<(), Failure> {
        Err("it is not asked to load bit by bit".into())
    }
    /// Puts a value; durably, if it is in a folder and says that it can.
    fn commit(&self, leaf: u32, value: &Value) -> Result<(), Failure>;
    /// The newest revision.
    fn newest(&self) -> Result<u64, Failure>;
    /// The value of a leaf at a revision.
    fn read(&self, revision: u64, leaf: u32) -> Result<Value, Failure>;
    /// In what a revision differs from an earlier one, each leaf once.
    fn between(&self, from: u64, to: u64) -> Result<Vec<Change>, Failure>;

    /// In what a revision differs from the one before.
    fn diff(&self, revision: u64) -> Result<Vec<Change>, Failure> {
        self.between(revision - 1, revision)
    }

    /// The value of a leaf at the newest revision.
    fn now(&self, leaf: u32) -> Result<Value, Failure> {
        self.read(self.newest()?, leaf)
    }

    /// Gives place back to the disk, while others use it; forgets what was before this revision, if
    /// it can.
    fn forget(&self, _from: u64) -> Result<(), Failure> {
        Err("it is not asked to forget".into())
    }

    /// The same, while nobody uses it.
    fn keep(&mut self, from: u64) -> Result<(), Failure> {
        self.forget(from)
    }

    /// Another user of the same store, who reads beside it; `None` if it has no need of one.
    fn reader(&self) -> Result<Option<Box<dyn Versions>>, Failure> {
        Ok(None)
    }

    /// The newest so many revisions, the last one first, if it has a list of them.
    fn list(&self, _count: u64) -> Result<Option<Vec<u64>>, Failure> {
        Ok(None)
    }

    /// The values of all leaves, of which there are so many, at the newest revision.
    fn values(&self, leaves: u32) -> Result<Vec<Value>, Failure> {
        let newest = self.newest()?;
        (0..leaves).map(|leaf| self.read(newest, leaf)).collect()
    }

    /// Ends using it; all of it is in its folder then.
    fn close(self: Box<Self>) -> Result<(), Failure> {
        Ok(())
    }
}

/// Two that go on from the same versions, each for itself.
pub trait Branches: Versions + Sized {
    /// A second one that has all versions of this one.
    fn fork(&self) -> Result<Self, Failure>;
    /// Takes in what the other one, once forked from it, has committed since.
    fn merge(&self, other: &Self) -> Result<(), Failure>;
}

/// A leaf, and its value from then on.
pub type Change = (u32, Value);

/// Where a store keeps what it has.
#[derive(Clone, Copy)]
pub enum Place<'p> {
    /// In a folder, where it is made if it is not there.
    Folder(&'p Path),
    /// The same, and nothing need be on the disk until it is closed.
    Unsynced(&'p Path),
    /// In memory only.
    Memory,
}

impl<'p> Place<'p> {
    /// The folder, of a store that is only asked for one.
    pub fn folder(self) -> Result<&'p Path, Failure> {
        match self {
            Place::Folder(folder) | Place::Unsynced(folder) => Ok(folder),
            Place::Memory => Err("it is measured in a folder only".into()),
        }
    }
}

/// Opens the store of a system, or makes it.
pub type Open = fn(&str, Place<'_>) -> Result<Box<dyn Versions>, Failure>;

/// A leaf's path as the beginning of a key: a byte for each of its five steps. All but the first
/// are of ten; that one is of as many as there are.
pub fn path(leaf: u32) -> [u8; 5] {
    std::array::from_fn(|level| {
        let step = leaf / 10u32.pow(4 - level as u32);
        (if level == 0 { step } else { step % 10 }) as u8
    })
}

/// The paths of so many leaves from this one on, one behind the other.
pub fn paths(first: u32, leaves: usize) -> Vec<u8> {
    (first..).take(leaves).flat_map(path).collect()
}

/// The leaf at a path.
pub fn leaf(path: &[u8]) -> u32 {
    path.iter().fold(0, |leaf, step| leaf * 10 + u32::from(*step))
}

/// Path and revision: the newest version up to a revision is found by seeking backwards.
pub fn key(leaf: u32, revision: u64) -> [u8; 13] {
    let mut key = [0; 13];
    key[..5].copy_from_slice(&path(leaf));
    key[5..].copy_from_slice(&revision.to_be_bytes());
    key
}
