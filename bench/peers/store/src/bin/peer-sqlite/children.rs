//! Children with fractional positions, and what positions they had before; in memory.

use loro_fractional_index::FractionalIndex;
use peer_store::children::{Children, PAGE, Place};
use peer_store::support::Failure;
use rusqlite::{Connection, OptionalExtension, Params};

use crate::prepare;

pub struct Sqlite {
    connection: Connection,
    revision: i64,
}

const SCHEMA: &str = "
    CREATE TABLE children (
        id INTEGER PRIMARY KEY,
        since INTEGER NOT NULL,
        position BLOB NOT NULL UNIQUE
    );
    CREATE TABLE history (
        id INTEGER,
        until INTEGER,
        since INTEGER NOT NULL,
        position BLOB NOT NULL,
        PRIMARY KEY (id, until)
    ) WITHOUT ROWID;
";

const ADD: &str = "INSERT INTO children VALUES (?1, ?2, ?3)";
const KEEP: &str = "INSERT INTO history SELECT id, ?2, since, position FROM children WHERE id = ?1";
const PUT: &str = "UPDATE children SET since = ?2, position = ?3 WHERE id = ?1";
const POSITION: &str = "SELECT position FROM children WHERE id = ?1";
const PAGE_FROM: &str = "
    SELECT id FROM children
    WHERE position >= (SELECT position FROM children WHERE id = ?1)
    ORDER BY position LIMIT ?2
";
const PAGE_AT: &str = "SELECT id FROM children ORDER BY position LIMIT ?2 OFFSET ?1";
const ALL: &str = "SELECT id FROM children ORDER BY position";
const LOADED: &str = "
    SELECT (SELECT count(*) FROM children WHERE since = 1)
        + (SELECT count(*) FROM history WHERE since = 1)
";

impl Sqlite {
    pub fn new() -> Result<Sqlite, Failure> {
        let connection = Connection::open_in_memory()?;
        prepare(&connection, SCHEMA)?;
        Ok(Sqlite { connection, revision: 1 })
    }

    fn numbers(&self, sql: &str, asked: impl Params) -> Result<Vec<u32>, Failure> {
        let mut numbers = self.connection.prepare_cached(sql)?;
        let numbers = numbers.query_map(asked, |row| row.get(0))?;
        Ok(numbers.collect::<Result<_, _>>()?)
    }

    fn position(&self, child: Option<u32>) -> Result<Option<FractionalIndex>, Failure> {
        let Some(child) = child else { return Ok(None) };
        let mut position = self.connection.prepare_cached(POSITION)?;
        let bytes = position.query_row((child,), |row| row.get(0)).optional()?;
        let bytes = bytes.ok_or("there is no such child")?;
        Ok(Some(FractionalIndex::from_bytes(bytes)))
    }

    /// Commits what the statements do to a child and the position of a place.
    fn put(
        &mut self,
        keep: Option<&str>,
        put: &str,
        child: u32,
        place: &Place,
    ) -> Result<(), Failure> {
        self.revision += 1;
        let (after, before) = (self.position(place.after)?, self.position(place.before)?);
        let between = FractionalIndex::new(after.as_ref(), before.as_ref());
        let between = between.ok_or("there is no place")?;
        let writing = self.connection.transaction()?;
        if let Some(keep) = keep {
            writing.prepare_cached(keep)?.execute((child, self.revision))?;
        }
        writing.prepare_cached(put)?.execute((child, self.revision, between.as_bytes()))?;
        Ok(writing.commit()?)
    }
}

impl Children for Sqlite {
    fn load(&mut self, count: u32) -> Result<(), Failure> {
        let positions = FractionalIndex::generate_n_evenly(None, None, count as usize);
        let writing = self.connection.transaction()?;
        for (child, position) in (0..count).zip(positions.ok_or("there is no place")?) {
            writing.prepare_cached(ADD)?.execute((child, 1, position.as_bytes()))?;
        }
        Ok(writing.commit()?)
    }

    fn insert(&mut self, child: u32, place: &Place) -> Result<(), Failure> {
        self.put(None, ADD, child, place)
    }

    fn shift(&mut self, child: u32, _from: usize, place: &Place) -> Result<(), Failure> {
        self.put(Some(KEEP), PUT, child, place)
    }

    fn page(&mut self, first: u32, _index: usize) -> Result<Vec<u32>, Failure> {
        self.numbers(PAGE_FROM, (first, PAGE as i64))
    }

    fn page_at(&mut self, index: usize) -> Result<Vec<u32>, Failure> {
        self.numbers(PAGE_AT, (index as i64, PAGE as i64))
    }

    fn all(&mut self) -> Result<Vec<u32>, Failure> {
        self.numbers(ALL, ())
    }

    fn loaded(&mut self) -> Result<u64, Failure> {
        Ok(self.connection.query_row(LOADED, (), |row| row.get::<_, i64>(0))?.try_into()?)
    }
}
