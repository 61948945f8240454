//! SQLite: nodes as they are, what they were before, and which of them each revision changed.

mod bare;
mod children;
mod subtree;

use std::process::ExitCode;
use std::sync::{Mutex, MutexGuard, PoisonError};

use peer_store::kill::KILLED;
use peer_store::run::run;
use peer_store::support::{Failure, Folder, Options, Outcome, Value};
use peer_store::versions::{Change, Place, Versions, leaf, path};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, TransactionBehavior};

fn main() -> ExitCode {
    peer_store::main(store)
}

fn store(options: &Options) -> Result<Outcome, Failure> {
    if options.case == KILLED {
        return peer_store::kill::run(options, open);
    }
    if options.case == "commit-bare" {
        let folder = Folder::new("sqlite")?;
        let store = bare::Sqlite::open(&folder.0)?;
        return peer_store::bare::run(options, &store);
    }
    match options.case.split('-').next() {
        Some("children") => peer_store::children::run(options, &mut children::Sqlite::new()?),
        Some("diff") => peer_store::between::run_opened(options, open),
        Some("space") => peer_store::space::run(options, open),
        Some("kill") => peer_store::kill::run(options, open),
        Some("stall") => peer_store::stall::run_opened(options, open),
        Some("readers") => peer_store::readers::run(options, open),
        Some("history") => peer_store::history::run(options, open),
        Some("load") => peer_store::load::run(options, open),
        Some("subtree") => peer_store::subtree::run(options, &mut subtree::Sqlite::new()?),
        _ => run(options, open),
    }
}

fn open(_system: &str, place: Place<'_>) -> Result<Box<dyn Versions>, Failure> {
    let connection = match place {
        Place::Folder(folder) | Place::Unsynced(folder) => Connection::open(folder.join("sqlite"))?,
        Place::Memory => Connection::open_in_memory()?,
    };
    prepare(&connection, SCHEMA)?;
    if matches!(place, Place::Unsynced(_)) {
        connection.execute_batch("PRAGMA synchronous = OFF")?;
    }
    Ok(Box::new(Sqlite(Mutex::new(connection))))
}

fn prepare(connection: &Connection, schema: &str) -> Result<(), Failure> {
    // Otherwise it plans a statement anew whenever it is given other values.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    connection.execute_batch(SETTINGS)?;
    Ok(connection.execute_batch(schema)?)
}

/// One connection, which clients take in turn: several would wait for the file's lock by polling.
struct Sqlite(Mutex<Connection>);

/// A commit is on the disk once it is acknowledged, by one sync of the write-ahead log; pages
/// stay in memory, since all of them fit.
const SETTINGS: &str = "
    PRAGMA journal_mode = WAL;
    PRAGMA synchronous = FULL;
    PRAGMA cache_size = -65536;
";

/// A node has been what it is since a revision; what it was before, it was until one.
const SCHEMA: &str = "
    CREATE TABLE IF NOT EXISTS nodes (
        path BLOB PRIMARY KEY,
        since INTEGER NOT NULL,
        value BLOB NOT NULL
    ) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS history (
        path BLOB,
        until INTEGER,
        since INTEGER NOT NULL,
        value BLOB NOT NULL,
        PRIMARY KEY (path, until)
    ) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS changes (
        revision INTEGER,
        path BLOB,
        PRIMARY KEY (revision, path)
    ) WITHOUT ROWID;
";

const NEWEST: &str = "SELECT max(revision) FROM changes";

const LIST: &str = "SELECT revision FROM changes ORDER BY revision DESC LIMIT ?1";

const ADD: &str = "INSERT INTO nodes VALUES (?1, ?2, ?3)";

const KEEP: &str = "INSERT INTO history SELECT path, ?2, since, value FROM nodes WHERE path = ?1";
const PUT: &str = "UPDATE nodes SET since = ?2, value = ?3 WHERE path = ?1";
const TELL: &str = "INSERT INTO changes VALUES (?2, ?1)";

const FORGET: &str = "DELETE FROM history WHERE until <= ?1";
const FORGET_CHANGES: &str = "DELETE FROM changes WHERE revision < ?1";

const NOW: &str = "SELECT value FROM nodes WHERE path = ?1";

const READ: &str = "
    SELECT coalesce(
        (SELECT value FROM history WHERE path = ?1 AND until > ?2 ORDER BY until LIMIT 1),
        (SELECT value FROM nodes WHERE path = ?1 AND since <= ?2)
    )
";

const BETWEEN: &str = "
    SELECT path, coalesce(
        (SELECT value FROM history
            WHERE path = changed.path AND until > ?2 ORDER BY until LIMIT 1),
        (SELECT value FROM nodes WHERE path = changed.path)
    ) FROM (SELECT DISTINCT path FROM changes WHERE revision > ?1 AND revision <= ?2) AS changed
";

const DIFF: &str = "
    SELECT path, coalesce(
        (SELECT value FROM history
            WHERE path = changes.path AND until > ?1 ORDER BY until LIMIT 1),
        (SELECT value FROM nodes WHERE path = changes.path)
    ) FROM changes WHERE revision = ?1
";

impl Sqlite {
    fn lock(&self) -> MutexGuard<'_, Connection> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn newest(connection: &Connection) -> Result<i64, Failure> {
    Ok(connection.prepare_cached(NEWEST)?.query_row((), |row| row.get(0))?)
}

fn change(row: &rusqlite::Row<'_>) -> rusqlite::Result<Change> {
    Ok((leaf(&row.get::<_, [u8; 5]>(0)?), row.get(1)?))
}

impl Versions for Sqlite {
    fn load(&self, values: &[Value]) -> Result<(), Failure> {
        let mut connection = self.lock();
        let writing = connection.transaction()?;
        for (leaf, value) in (0..).zip(values) {
            writing.prepare_cached(ADD)?.execute((path(leaf), 1, value))?;
        }
        writing.execute(TELL, (&b""[..], 1))?;
        Ok(writing.commit()?)
    }

    fn add(&self, first: u32, values: &[Value]) -> Result<(), Failure> {
        let mut connection = self.lock();
        let writing = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let revision = if first == 0 { 1 } else { newest(&writing)? + 1 };
        for (leaf, value) in (first..).zip(values) {
            writing.prepare_cached(ADD)?.execute((path(leaf), revision, value))?;
            writing.prepare_cached(TELL)?.execute((path(leaf), revision))?;
        }
        Ok(writing.commit()?)
    }

    fn commit(&self, leaf: u32, value: &Value) -> Result<(), Failure> {
        let (mut connection, path) = (self.lock(), path(leaf));
        let writing = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let revision = newest(&writing)? + 1;
        writing.prepare_cached(KEEP)?.execute((path, revision))?;
        writing.prepare_cached(PUT)?.execute((path, revision, value))?;
        writing.prepare_cached(TELL)?.execute((path, revision))?;
        Ok(writing.commit()?)
    }

    fn newest(&self) -> Result<u64, Failure> {
        Ok(newest(&self.lock())?.try_into()?)
    }

    fn list(&self, count: u64) -> Result<Option<Vec<u64>>, Failure> {
        let connection = self.lock();
        let mut list = connection.prepare_cached(LIST)?;
        let revisions = list.query_map((i64::try_from(count)?,), |row| row.get::<_, i64>(0))?;
        let revisions = revisions.map(|revision| Ok(u64::try_from(revision?)?));
        revisions.collect::<Result<_, Failure>>().map(Some)
    }

    fn now(&self, leaf: u32) -> Result<Value, Failure> {
        let connection = self.lock();
        Ok(connection.prepare_cached(NOW)?.query_row((path(leaf),), |row| row.get(0))?)
    }

    fn forget(&self, from: u64) -> Result<(), Failure> {
        let (mut connection, from) = (self.lock(), i64::try_from(from)?);
        let writing = connection.transaction()?;
        writing.execute(FORGET, (from,))?;
        writing.execute(FORGET_CHANGES, (from,))?;
        writing.commit()?;
        Ok(connection.execute_batch("VACUUM; PRAGMA wal_checkpoint(TRUNCATE)")?)
    }

    /// With a connection of its own it need not wait for a commit.
    fn reader(&self) -> Result<Option<Box<dyn Versions>>, Failure> {
        let file = self.lock().path().ok_or("it is in no file")?.to_owned();
        let connection = Connection::open(file)?;
        prepare(&connection, "")?;
        Ok(Some(Box::new(Sqlite(Mutex::new(connection)))))
    }

    fn read(&self, revision: u64, leaf: u32) -> Result<Value, Failure> {
        let (connection, revision) = (self.lock(), i64::try_from(revision)?);
        let mut read = connection.prepare_cached(READ)?;
        Ok(read.query_row((path(leaf), revision), |row| row.get(0))?)
    }

    fn between(&self, from: u64, to: u64) -> Result<Vec<Change>, Failure> {
        let (connection, from, to) = (self.lock(), i64::try_from(from)?, i64::try_from(to)?);
        let mut between = connection.prepare_cached(BETWEEN)?;
        let changes = between.query_map((from, to), change)?;
        Ok(changes.collect::<Result<_, _>>()?)
    }

    fn diff(&self, revision: u64) -> Result<Vec<Change>, Failure> {
        let (connection, revision) = (self.lock(), i64::try_from(revision)?);
        let mut diff = connection.prepare_cached(DIFF)?;
        let changes = diff.query_map((revision,), change)?;
        Ok(changes.collect::<Result<_, _>>()?)
    }
}
