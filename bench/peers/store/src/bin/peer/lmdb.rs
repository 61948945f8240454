//! LMDB: a database of versions, and one that says what each revision changed.

use std::collections::BTreeSet;
use std::ops::Bound;
use std::path::Path;

use heed::types::Bytes;
use heed::{CommitOrAbort, Database, Env, EnvFlags, EnvOpenOptions, RoTxn};

use peer_store::support::{Failure, Value};
use peer_store::versions::{Change, Versions, key, leaf, path, paths};

pub type Table = Database<'static, Bytes, Bytes>;

pub struct Lmdb {
    environment: Env,
    versions: Table,
    changes: Table,
}

/// The environment of a folder.
pub fn environment(folder: &Path, is_synced: bool) -> Result<Env, Failure> {
    let mut options = EnvOpenOptions::new();
    options.map_size(16 << 30).max_dbs(2).max_readers(256);
    if !is_synced {
        // SAFETY: the system does not go down while it is measured.
        unsafe { options.flags(EnvFlags::NO_SYNC) };
    }
    // SAFETY: nothing else touches the files of this run.
    Ok(unsafe { options.open(folder) }?)
}

/// A table, made if it is not there.
pub fn table(environment: &Env, name: &str) -> Result<Table, Failure> {
    let made =
        environment.create_databases_and_commit(environment.write_txn()?, |opener, writing| {
            let table = opener.create_database(writing, Some(name))?;
            Ok::<_, heed::Error>(CommitOrAbort::<_, ()>::Commit(table))
        });
    Ok(made?.unwrap_commit())
}

impl Lmdb {
    pub fn open(folder: &Path, is_synced: bool) -> Result<Lmdb, Failure> {
        let environment = environment(folder, is_synced)?;
        let (versions, changes) =
            (table(&environment, "versions")?, table(&environment, "changes")?);
        Ok(Lmdb { environment, versions, changes })
    }

    fn newest(&self, reading: &RoTxn<'_>, leaf: u32, revision: u64) -> Result<Value, Failure> {
        let found = self.versions.get_lower_than_or_equal_to(reading, &key(leaf, revision))?;
        match found {
            Some((key, value)) if key[..5] == path(leaf) => Ok(value.try_into()?),
            _ => Err("it was not there".into()),
        }
    }
}

fn revision(key: &[u8]) -> Result<u64, Failure> {
    Ok(u64::from_be_bytes(key.try_into()?))
}

impl Versions for Lmdb {
    fn load(&self, values: &[Value]) -> Result<(), Failure> {
        let mut writing = self.environment.write_txn()?;
        for (leaf, value) in (0..).zip(values) {
            self.versions.put(&mut writing, &key(leaf, 1), value)?;
        }
        self.changes.put(&mut writing, &1u64.to_be_bytes(), b"")?;
        Ok(writing.commit()?)
    }

    fn add(&self, first: u32, values: &[Value]) -> Result<(), Failure> {
        let mut writing = self.environment.write_txn()?;
        let revision = match first {
            0 => 1,
            _ => revision(self.changes.last(&writing)?.ok_or("nothing was loaded")?.0)? + 1,
        };
        let paths = paths(first, values.len());
        self.changes.put(&mut writing, &revision.to_be_bytes(), &paths)?;
        for (leaf, value) in (first..).zip(values) {
            self.versions.put(&mut writing, &key(leaf, revision), value)?;
        }
        Ok(writing.commit()?)
    }

    fn commit(&self, leaf: u32, value: &Value) -> Result<(), Failure> {
        let mut writing = self.environment.write_txn()?;
        let (newest, _) = self.changes.last(&writing)?.ok_or("nothing was loaded")?;
        let revision = revision(newest)? + 1;
        self.changes.put(&mut writing, &revision.to_be_bytes(), &path(leaf))?;
        self.versions.put(&mut writing, &key(leaf, revision), value)?;
        Ok(writing.commit()?)
    }

    fn newest(&self) -> Result<u64, Failure> {
        let reading = self.environment.read_txn()?;
        revision(self.changes.last(&reading)?.ok_or("nothing was loaded")?.0)
    }

    fn list(&self, count: u64) -> Result<Option<Vec<u64>>, Failure> {
        let reading = self.environment.read_txn()?;
        let newest = self.changes.rev_iter(&reading)?.take(count as usize);
        newest.map(|change| revision(change?.0)).collect::<Result<_, _>>().map(Some)
    }

    fn now(&self, leaf: u32) -> Result<Value, Failure> {
        self.read(u64::MAX, leaf)
    }

    fn read(&self, revision: u64, leaf: u32) -> Result<Value, Failure> {
        let reading = self.environment.read_txn()?;
        self.newest(&reading, leaf, revision)
    }

    fn between(&self, from: u64, to: u64) -> Result<Vec<Change>, Failure> {
        let reading = self.environment.read_txn()?;
        let [from, to_key] = [from, to].map(u64::to_be_bytes);
        let bounds = (Bound::Excluded(&from[..]), Bound::Included(&to_key[..]));
        let mut leaves = BTreeSet::new();
        for change in self.changes.range(&reading, &bounds)? {
            leaves.extend(change?.1.chunks(5).map(leaf));
        }
        let change = |leaf| Ok((leaf, self.newest(&reading, leaf, to)?));
        leaves.into_iter().map(change).collect()
    }

    fn diff(&self, revision: u64) -> Result<Vec<Change>, Failure> {
        let reading = self.environment.read_txn()?;
        let found = self.changes.get(&reading, &revision.to_be_bytes())?;
        let change = |path: &[u8]| {
            let leaf = leaf(path);
            Ok((leaf, self.newest(&reading, leaf, revision)?))
        };
        found.ok_or("there is no such revision")?.chunks(5).map(change).collect()
    }
}
