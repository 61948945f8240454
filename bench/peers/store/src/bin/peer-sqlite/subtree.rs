//! Nodes that know their parents, and what parents they had before; in memory.

use peer_store::subtree::{Subtree, rows, step};
use peer_store::support::{Failure, Value};
use rusqlite::{Connection, OptionalExtension};

use crate::prepare;

pub struct Sqlite {
    connection: Connection,
    revision: i64,
}

/// The subtree's node; those of the places are 1 and more.
const TOP: i64 = 100;

const SCHEMA: &str = "
    CREATE TABLE nodes (
        id INTEGER PRIMARY KEY,
        since INTEGER NOT NULL,
        parent INTEGER NOT NULL,
        key INTEGER NOT NULL,
        value BLOB,
        UNIQUE (parent, key)
    );
    CREATE TABLE history (
        id INTEGER,
        until INTEGER,
        since INTEGER NOT NULL,
        parent INTEGER NOT NULL,
        key INTEGER NOT NULL,
        value BLOB,
        PRIMARY KEY (id, until)
    ) WITHOUT ROWID;
";

const ADD: &str = "INSERT INTO nodes VALUES (?1, 1, ?2, ?3, ?4)";
const KEEP: &str =
    "INSERT INTO history SELECT id, ?2, since, parent, key, value FROM nodes WHERE id = ?1";
const PUT: &str = "UPDATE nodes SET since = ?2, parent = ?3 WHERE id = ?1";
const READ: &str = "
    SELECT e.value FROM nodes a
    JOIN nodes b ON b.parent = a.id AND b.key = ?2
    JOIN nodes c ON c.parent = b.id AND c.key = ?3
    JOIN nodes d ON d.parent = c.id AND d.key = ?4
    JOIN nodes e ON e.parent = d.id AND e.key = ?5
    WHERE a.parent = ?1 AND a.key = 0
";
const FIRST: &str = "
    SELECT coalesce(
        (SELECT parent FROM history WHERE id = ?1 AND until > 1 ORDER BY until LIMIT 1),
        (SELECT parent FROM nodes WHERE id = ?1)
    )
";

impl Sqlite {
    pub fn new() -> Result<Sqlite, Failure> {
        let connection = Connection::open_in_memory()?;
        prepare(&connection, SCHEMA)?;
        Ok(Sqlite { connection, revision: 1 })
    }
}

impl Subtree for Sqlite {
    fn load(&mut self, values: &[Value]) -> Result<(), Failure> {
        let writing = self.connection.transaction()?;
        for row in rows(values) {
            writing.prepare_cached(ADD)?.execute(row)?;
        }
        Ok(writing.commit()?)
    }

    fn shift(&mut self, _from: u32, to: u32) -> Result<(), Failure> {
        self.revision += 1;
        let writing = self.connection.transaction()?;
        writing.prepare_cached(KEEP)?.execute((TOP, self.revision))?;
        writing.prepare_cached(PUT)?.execute((TOP, self.revision, to + 1))?;
        Ok(writing.commit()?)
    }

    fn read(&mut self, place: u32, leaf: u32) -> Result<Option<Value>, Failure> {
        let [a, b, c, d] = [0, 1, 2, 3].map(|depth| step(leaf, depth));
        let mut read = self.connection.prepare_cached(READ)?;
        Ok(read.query_row((place + 1, a, b, c, d), |row| row.get(0)).optional()?)
    }

    fn first_place(&mut self) -> Result<Option<u32>, Failure> {
        let parent: u32 = self.connection.query_row(FIRST, (TOP,), |row| row.get(0))?;
        Ok(Some(parent - 1))
    }
}
