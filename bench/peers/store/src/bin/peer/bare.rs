//! redb and LMDB without history: a path has a value.

use std::path::Path;

use heed::Env;
use redb::{Database, ReadableDatabase, TableDefinition};

use crate::lmdb::{self, Table};
use peer_store::bare::Bare;
use peer_store::support::{Failure, Value};
use peer_store::versions::path;

const VALUES: TableDefinition<&[u8], &[u8]> = TableDefinition::new("values");

pub struct Redb(Database);

impl Redb {
    pub fn open(folder: &Path) -> Result<Redb, Failure> {
        Ok(Redb(Database::create(folder.join("redb"))?))
    }
}

impl Bare for Redb {
    fn load(&self, values: &[Value]) -> Result<(), Failure> {
        let writing = self.0.begin_write()?;
        {
            let mut table = writing.open_table(VALUES)?;
            for (leaf, value) in (0..).zip(values) {
                table.insert(&path(leaf)[..], &value[..])?;
            }
        }
        Ok(writing.commit()?)
    }

    fn put(&self, leaf: u32, value: &Value) -> Result<(), Failure> {
        let writing = self.0.begin_write()?;
        writing.open_table(VALUES)?.insert(&path(leaf)[..], &value[..])?;
        Ok(writing.commit()?)
    }

    fn get(&self, leaf: u32) -> Result<Value, Failure> {
        let table = self.0.begin_read()?.open_table(VALUES)?;
        let found = table.get(&path(leaf)[..])?.ok_or("it is not there")?;
        Ok(found.value().try_into()?)
    }
}

pub struct Lmdb {
    environment: Env,
    values: Table,
}

impl Lmdb {
    pub fn open(folder: &Path) -> Result<Lmdb, Failure> {
        let environment = lmdb::environment(folder, true)?;
        let values = lmdb::table(&environment, "values")?;
        Ok(Lmdb { environment, values })
    }
}

impl Bare for Lmdb {
    fn load(&self, values: &[Value]) -> Result<(), Failure> {
        let mut writing = self.environment.write_txn()?;
        for (leaf, value) in (0..).zip(values) {
            self.values.put(&mut writing, &path(leaf), value)?;
        }
        Ok(writing.commit()?)
    }

    fn put(&self, leaf: u32, value: &Value) -> Result<(), Failure> {
        let mut writing = self.environment.write_txn()?;
        self.values.put(&mut writing, &path(leaf), value)?;
        Ok(writing.commit()?)
    }

    fn get(&self, leaf: u32) -> Result<Value, Failure> {
        let reading = self.environment.read_txn()?;
        let found = self.values.get(&reading, &path(leaf))?.ok_or("it is not there")?;
        Ok(found.try_into()?)
    }
}
