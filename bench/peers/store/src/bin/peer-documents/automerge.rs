//! Automerge: a map from paths to values. Each commit has a hash, which names its version.

use std::sync::{Mutex, MutexGuard, PoisonError};

use automerge::transaction::Transactable;
use automerge::{AutoCommit, ChangeHash, ObjId, ObjType, PatchAction, ROOT, ReadDoc, ScalarValue};
use peer_store::support::{Failure, Value};
use peer_store::versions::{Branches, Change, Versions};

use crate::{Saved, key};

pub struct Automerge {
    open: Mutex<Open>,
    saved: Saved,
}

struct Open {
    document: AutoCommit,
    leaves: ObjId,
    /// The hash of each revision, oldest first.
    hashes: Vec<ChangeHash>,
}

impl Automerge {
    pub fn open(saved: &Saved) -> Result<Automerge, Failure> {
        let open = match saved.read()? {
            Some(bytes) => {
                let mut document = AutoCommit::load(&bytes)?;
                let leaves = document.get(ROOT, "leaves")?.ok_or("it has no leaves")?.1;
                let changes = document.get_changes(&[]);
                let hashes = changes.iter().map(|change| change.hash()).collect();
                Open { document, leaves, hashes }
            }
            None => {
                let mut document = AutoCommit::new();
                let leaves = document.put_object(ROOT, "leaves", ObjType::Map)?;
                Open { document, leaves, hashes: Vec::new() }
            }
        };
        Ok(Automerge { open: Mutex::new(open), saved: saved.clone() })
    }

    fn lock(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Open {
    fn put(&mut self, leaf: u32, value: &Value) -> Result<(), Failure> {
        let value = ScalarValue::Bytes(value.to_vec());
        Ok(self.document.put(&self.leaves, key(leaf), value)?)
    }

    fn commit(&mut self) -> Result<(), Failure> {
        self.hashes.push(self.document.commit().ok_or("there was nothing to commit")?);
        Ok(())
    }

    fn version(&self, revision: u64) -> Result<[ChangeHash; 1], Failure> {
        let at = revision.checked_sub(1).ok_or("revisions begin with 1")? as usize;
        Ok([*self.hashes.get(at).ok_or("there is no such revision")?])
    }
}

fn value(found: &automerge::Value<'_>) -> Result<Value, Failure> {
    Ok(found.as_bytes().ok_or("it is no value")?.try_into()?)
}

impl Versions for Automerge {
    fn load(&self, values: &[Value]) -> Result<(), Failure> {
        let mut open = self.lock();
        (0..).zip(values).try_for_each(|(leaf, value)| open.put(leaf, value))?;
        open.commit()
    }

    fn commit(&self, leaf: u32, value: &Value) -> Result<(), Failure> {
        let mut open = self.lock();
        open.put(leaf, value)?;
        open.commit()
    }

    fn newest(&self) -> Result<u64, Failure> {
        Ok(self.lock().hashes.len() as u64)
    }

    /// From the newest change back to those it was made after.
    fn list(&self, count: u64) -> Result<Option<Vec<u64>>, Failure> {
        let mut open = self.lock();
        let (mut found, mut at) = (Vec::new(), open.document.get_heads());
        while found.len() < count as usize {
            let hash = *at.first().ok_or("there are too few changes")?;
            let change =
                open.document.get_change_by_hash(&hash).ok_or("there is no such change")?;
            at = change.deps().to_vec();
            found.push(hash);
        }
        let mut known = open.hashes.iter().enumerate().rev();
        let number = |hash: &ChangeHash| known.find(|(_, known)| *known == hash);
        Ok(Some(found.iter().filter_map(number).map(|(at, _)| at as u64 + 1).collect()))
    }

    fn read(&self, revision: u64, leaf: u32) -> Result<Value, Failure> {
        let open = self.lock();
        let version = open.version(revision)?;
        let found = open.document.get_at(&open.leaves, key(leaf), &version)?;
        value(&found.ok_or("it was not there")?.0)
    }

    fn between(&self, from: u64, to: u64) -> Result<Vec<Change>, Failure> {
        let mut open = self.lock();
        let (before, after) = (open.version(from)?, open.version(to)?);
        let patches = open.document.diff(&before, &after);
        let change = |patch: &automerge::Patch| match &patch.action {
            PatchAction::PutMap { key, value: (found, _), .. } => Ok((key.parse()?, value(found)?)),
            _ => Err("it is no value of a map".into()),
        };
        patches.iter().map(change).collect()
    }

    fn values(&self, leaves: u32) -> Result<Vec<Value>, Failure> {
        let open = self.lock();
        let found = |leaf| {
            let found = open.document.get(&open.leaves, key(leaf))?;
            value(&found.ok_or("it was not there")?.0)
        };
        (0..leaves).map(found).collect()
    }

    fn close(self: Box<Self>) -> Result<(), Failure> {
        let bytes = self.lock().document.save();
        self.saved.write(&bytes)
    }
}

impl Branches for Automerge {
    fn fork(&self) -> Result<Automerge, Failure> {
        let mut open = self.lock();
        let (leaves, hashes) = (open.leaves.clone(), open.hashes.clone());
        let open = Mutex::new(Open { document: open.document.fork(), leaves, hashes });
        Ok(Automerge { open, saved: self.saved.clone() })
    }

    fn merge(&self, other: &Automerge) -> Result<(), Failure> {
        self.lock().document.merge(&mut other.lock().document)?;
        Ok(())
    }
}
