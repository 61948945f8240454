//! redb: a table of versions, and one that says what each revision changed.

use std::collections::BTreeSet;
use std::path::Path;

use redb::{
    Database, Durability, ReadOnlyTable, ReadableDatabase, ReadableTable, TableDefinition,
    WriteTransaction,
};

use peer_store::support::{Failure, Value};
use peer_store::versions::{Change, Versions, key, leaf, path, paths};

const VERSIONS: TableDefinition<&[u8], &[u8]> = TableDefinition::new("versions");
const CHANGES: TableDefinition<u64, &[u8]> = TableDefinition::new("changes");

pub struct Redb {
    database: Database,
    /// Of each commit. When it is closed, all that was committed is on the disk.
    durability: Durability,
}

impl Redb {
    pub fn open(folder: &Path, is_synced: bool) -> Result<Redb, Failure> {
        let durability = if is_synced { Durability::Immediate } else { Durability::None };
        Ok(Redb { database: Database::create(folder.join("redb"))?, durability })
    }

    fn write(&self) -> Result<WriteTransaction, Failure> {
        let mut writing = self.database.begin_write()?;
        writing.set_durability(self.durability)?;
        Ok(writing)
    }
}

impl Versions for Redb {
    fn load(&self, values: &[Value]) -> Result<(), Failure> {
        let writing = self.write()?;
        {
            let mut versions = writing.open_table(VERSIONS)?;
            for (leaf, value) in (0..).zip(values) {
                versions.insert(&key(leaf, 1)[..], &value[..])?;
            }
            writing.open_table(CHANGES)?.insert(1, &b""[..])?;
        }
        Ok(writing.commit()?)
    }

    fn add(&self, first: u32, values: &[Value]) -> Result<(), Failure> {
        let writing = self.write()?;
        {
            let mut changes = writing.open_table(CHANGES)?;
            let revision = match first {
                0 => 1,
                _ => changes.last()?.ok_or("nothing was loaded")?.0.value() + 1,
            };
            changes.insert(revision, &paths(first, values.len())[..])?;
            let mut versions = writing.open_table(VERSIONS)?;
            for (leaf, value) in (first..).zip(values) {
                versions.insert(&key(leaf, revision)[..], &value[..])?;
            }
        }
        Ok(writing.commit()?)
    }

    fn commit(&self, leaf: u32, value: &Value) -> Result<(), Failure> {
        let writing = self.write()?;
        {
            let mut changes = writing.open_table(CHANGES)?;
            let revision = changes.last()?.ok_or("nothing was loaded")?.0.value() + 1;
            changes.insert(revision, &path(leaf)[..])?;
            writing.open_table(VERSIONS)?.insert(&key(leaf, revision)[..], &value[..])?;
        }
        Ok(writing.commit()?)
    }

    fn newest(&self) -> Result<u64, Failure> {
        let changes = self.database.begin_read()?.open_table(CHANGES)?;
        Ok(changes.last()?.ok_or("nothing was loaded")?.0.value())
    }

    fn list(&self, count: u64) -> Result<Option<Vec<u64>>, Failure> {
        let changes = self.database.begin_read()?.open_table(CHANGES)?;
        let newest = changes.iter()?.rev().take(count as usize);
        let revisions = newest.map(|change| Ok::<_, Failure>(change?.0.value()));
        revisions.collect::<Result<_, _>>().map(Some)
    }

    fn now(&self, leaf: u32) -> Result<Value, Failure> {
        self.read(u64::MAX, leaf)
    }

    /// A version is not needed any more where a newer one is not after that revision.
    fn keep(&mut self, from: u64) -> Result<(), Failure> {
        let writing = self.write()?;
        {
            let mut changes = writing.open_table(CHANGES)?;
            let mut versions = writing.open_table(VERSIONS)?;
            for change in changes.range(2..=from)? {
                let (revision, paths) = change?;
                for leaf in paths.value().chunks(5).map(leaf) {
                    let (first, newer) = (key(leaf, 0), key(leaf, revision.value()));
                    let before = versions.range(&first[..]..&newer[..])?.next_back().transpose()?;
                    let before = before.map(|(key, _)| key.value().to_vec());
                    if let Some(before) = before {
                        versions.remove(&before[..])?;
                    }
                }
            }
            changes.retain_in(..from, |_, _| false)?;
        }
        writing.commit()?;
        self.database.compact()?;
        Ok(())
    }

    fn read(&self, revision: u64, leaf: u32) -> Result<Value, Failure> {
        newest(&self.database.begin_read()?.open_table(VERSIONS)?, leaf, revision)
    }

    fn between(&self, from: u64, to: u64) -> Result<Vec<Change>, Failure> {
        let reading = self.database.begin_read()?;
        let (changes, versions) = (reading.open_table(CHANGES)?, reading.open_table(VERSIONS)?);
        let mut leaves = BTreeSet::new();
        for change in changes.range(from + 1..=to)? {
            leaves.extend(change?.1.value().chunks(5).map(leaf));
        }
        let change = |leaf| Ok((leaf, newest(&versions, leaf, to)?));
        leaves.into_iter().map(change).collect()
    }

    fn diff(&self, revision: u64) -> Result<Vec<Change>, Failure> {
        let reading = self.database.begin_read()?;
        let (changes, versions) = (reading.open_table(CHANGES)?, reading.open_table(VERSIONS)?);
        let found = changes.get(revision)?.ok_or("there is no such revision")?;
        let change = |path: &[u8]| {
            let leaf = leaf(path);
            Ok((leaf, newest(&versions, leaf, revision)?))
        };
        found.value().chunks(5).map(change).collect()
    }
}

fn newest(
    versions: &ReadOnlyTable<&[u8], &[u8]>,
    leaf: u32,
    revision: u64,
) -> Result<Value, Failure> {
    let (from, to) = (key(leaf, 0), key(leaf, revision));
    let found = versions.range(&from[..]..=&to[..])?.next_back().ok_or("it was not there")??;
    Ok(found.1.value().try_into()?)
}
