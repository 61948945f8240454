//! What is asked of each store.

use std::path::Path;

use crate::support::{Failure, Value};
use crate::{doltlite, lmdb, redb};

/// A store that keeps every version of the values of numbered leaves. Revision 1 is what was
/// loaded; each commit of one value is one more.
pub trait Versions: Sync {
    /// Loads all leaves at once, as revision 1.
    fn load(&self, values: &[Value]) -> Result<(), Failure>;
    /// Puts a value, durably.
    fn commit(&self, leaf: u32, value: &Value) -> Result<(), Failure>;
    /// The newest revision.
    fn newest(&self) -> Result<u64, Failure>;
    /// The value of a leaf at a revision.
    fn read(&self, revision: u64, leaf: u32) -> Result<Value, Failure>;
    /// In what a revision differs from the one before.
    fn diff(&self, revision: u64) -> Result<Vec<Change>, Failure>;
}

/// A leaf, and its value from then on.
pub type Change = (u32, Value);

/// Opens a store in a folder; makes it when it is not there.
pub fn open(system: &str, folder: &Path) -> Result<Box<dyn Versions>, Failure> {
    Ok(match system {
        "redb" => Box::new(redb::Redb::open(folder)?),
        "lmdb" => Box::new(lmdb::Lmdb::open(folder)?),
        "doltlite" => Box::new(doltlite::DoltLite::open(folder)?),
        unknown => return Err(format!("there is no system {unknown}").into()),
    })
}

/// A leaf's path as the beginning of a key: a byte for each of its five steps.
pub fn path(leaf: u32) -> [u8; 5] {
    std::array::from_fn(|level| (leaf / 10u32.pow(4 - level as u32) % 10) as u8)
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
