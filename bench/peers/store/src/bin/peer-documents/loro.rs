//! Loro: a map from paths to values. Each operation of a peer has a number, which names the version
//! that ends with it.

use loro::event::Diff;
use loro::{ExportMode, Frontiers, ID, LoroDoc, LoroMap, LoroValue, ValueOrContainer};
use peer_store::support::{Failure, Value};
use peer_store::versions::{Branches, Change, Versions};

use crate::{Saved, key};

/// Who writes, as long as there is one only.
const PEER: u64 = 1;

pub struct Loro {
    document: LoroDoc,
    leaves: LoroMap,
    saved: Saved,
}

impl Loro {
    pub fn open(saved: &Saved) -> Result<Loro, Failure> {
        let document = LoroDoc::new();
        if let Some(bytes) = saved.read()? {
            document.import(&bytes)?;
        }
        document.set_peer_id(PEER)?;
        let leaves = document.get_map("leaves");
        Ok(Loro { document, leaves, saved: saved.clone() })
    }

    /// How many operations there were before a revision's: each leaf was loaded by one, and each
    /// commit is one more.
    fn before(&self, revision: u64) -> u64 {
        self.leaves.len() as u64 + revision - 2
    }

    fn version(&self, revision: u64) -> Result<Frontiers, Failure> {
        Ok(Frontiers::from(ID::new(PEER, self.before(revision).try_into()?)))
    }

    fn put(&self, leaf: u32, value: &Value) -> Result<(), Failure> {
        Ok(self.leaves.insert(&key(leaf), LoroValue::Binary(value.to_vec().into()))?)
    }

    fn get(&self, leaf: u32) -> Result<Value, Failure> {
        value(self.leaves.get(&key(leaf)).ok_or("it was not there")?)
    }
}

fn value(found: ValueOrContainer) -> Result<Value, Failure> {
    match found {
        ValueOrContainer::Value(LoroValue::Binary(bytes)) => Ok(bytes[..].try_into()?),
        _ => Err("it is no value".into()),
    }
}

impl Versions for Loro {
    fn load(&self, values: &[Value]) -> Result<(), Failure> {
        (0..).zip(values).try_for_each(|(leaf, value)| self.put(leaf, value))?;
        self.document.commit();
        Ok(())
    }

    fn commit(&self, leaf: u32, value: &Value) -> Result<(), Failure> {
        if self.document.is_detached() {
            self.document.checkout_to_latest();
        }
        self.put(leaf, value)?;
        self.document.commit();
        Ok(())
    }

    fn newest(&self) -> Result<u64, Failure> {
        let newest = self.document.oplog_frontiers().as_single().ok_or("it has two ends")?;
        Ok(newest.counter as u64 + 2 - self.leaves.len() as u64)
    }

    fn now(&self, leaf: u32) -> Result<Value, Failure> {
        self.get(leaf)
    }

    fn read(&self, revision: u64, leaf: u32) -> Result<Value, Failure> {
        self.document.checkout(&self.version(revision)?)?;
        self.get(leaf)
    }

    fn between(&self, from: u64, to: u64) -> Result<Vec<Change>, Failure> {
        let found = self.document.diff(&self.version(from)?, &self.version(to)?)?;
        let mut changes = Vec::new();
        for (_, diff) in found.iter() {
            let Diff::Map(map) = diff else { return Err("it is no map".into()) };
            for (key, found) in &map.updated {
                let found = found.clone().ok_or("it is gone")?;
                changes.push((key.parse()?, value(found)?));
            }
        }
        Ok(changes)
    }

    fn values(&self, leaves: u32) -> Result<Vec<Value>, Failure> {
        self.document.checkout_to_latest();
        (0..leaves).map(|leaf| self.get(leaf)).collect()
    }

    fn close(self: Box<Self>) -> Result<(), Failure> {
        self.saved.write(&self.document.export(ExportMode::Snapshot)?)
    }
}

impl Branches for Loro {
    fn fork(&self) -> Result<Loro, Failure> {
        let document = self.document.fork();
        let leaves = document.get_map("leaves");
        Ok(Loro { document, leaves, saved: self.saved.clone() })
    }

    fn merge(&self, other: &Loro) -> Result<(), Failure> {
        let here = self.document.oplog_vv();
        self.document.import(&other.document.export(ExportMode::updates(&here))?)?;
        Ok(())
    }
}
