//! Nodes as they are, and nothing of what they were.

use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use peer_store::bare::Bare;
use peer_store::support::{Failure, Value};
use peer_store::versions::path;
use rusqlite::Connection;

use crate::prepare;

/// One connection, as with history.
pub struct Sqlite(Mutex<Connection>);

const SCHEMA: &str = "
    CREATE TABLE nodes (path BLOB PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;
";

const ADD: &str = "INSERT INTO nodes VALUES (?1, ?2)";
const PUT: &str = "UPDATE nodes SET value = ?2 WHERE path = ?1";
const GET: &str = "SELECT value FROM nodes WHERE path = ?1";

impl Sqlite {
    pub fn open(folder: &Path) -> Result<Sqlite, Failure> {
        let connection = Connection::open(folder.join("sqlite"))?;
        prepare(&connection, SCHEMA)?;
        Ok(Sqlite(Mutex::new(connection)))
    }

    fn lock(&self) -> MutexGuard<'_, Connection> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Bare for Sqlite {
    fn load(&self, values: &[Value]) -> Result<(), Failure> {
        let mut connection = self.lock();
        let writing = connection.transaction()?;
        for (leaf, value) in (0..).zip(values) {
            writing.prepare_cached(ADD)?.execute((path(leaf), value))?;
        }
        Ok(writing.commit()?)
    }

    /// One statement is a transaction of its own.
    fn put(&self, leaf: u32, value: &Value) -> Result<(), Failure> {
        let connection = self.lock();
        match connection.prepare_cached(PUT)?.execute((path(leaf), value))? {
            1 => Ok(()),
            count => Err(format!("{count} nodes are at a path").into()),
        }
    }

    fn get(&self, leaf: u32) -> Result<Value, Failure> {
        let connection = self.lock();
        Ok(connection.prepare_cached(GET)?.query_row((path(leaf),), |row| row.get(0))?)
    }
}
