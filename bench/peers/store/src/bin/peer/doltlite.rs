//! DoltLite: a table of leaves, and a commit of its own for each revision.

use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use doltlite::{Connection, Value as Sql};

use peer_store::support::{Failure, Value};
use peer_store::versions::{Change, Versions};

/// One connection, which clients take in turn: several would wait for the file's lock by polling.
pub struct DoltLite(Mutex<Open>);

struct Open {
    connection: Connection,
    /// The hash of each revision, oldest first, once they were asked for.
    hashes: Vec<String>,
}

impl DoltLite {
    pub fn open(folder: &Path, is_synced: bool) -> Result<DoltLite, Failure> {
        let connection = Connection::open(folder.join("doltlite"))?;
        if !is_synced {
            connection.execute_batch("PRAGMA synchronous = OFF")?;
        }
        connection.execute_batch(
            "CREATE TABLE IF NOT EXISTS leaves (id INTEGER PRIMARY KEY, value BLOB NOT NULL)",
        )?;
        Ok(DoltLite(Mutex::new(Open { connection, hashes: Vec::new() })))
    }

    fn lock(&self) -> MutexGuard<'_, Open> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Open {
    /// The hash of a revision. The commit that the file begins with is none.
    fn hash(&mut self, revision: u64) -> Result<&str, Failure> {
        if self.hashes.is_empty() {
            let rows = self
                .connection
                .query("SELECT commit_hash FROM dolt_log WHERE message = 'revision'", &[])?;
            let hash = |row: &doltlite::Row| row.get(0)?.as_str().map(str::to_owned);
            self.hashes = rows.iter().rev().filter_map(hash).collect();
        }
        let at = revision.checked_sub(1).ok_or("revisions begin with 1")? as usize;
        Ok(self.hashes.get(at).ok_or("there is no such revision")?)
    }
}

impl Versions for DoltLite {
    fn load(&self, values: &[Value]) -> Result<(), Failure> {
        self.add(0, values)
    }

    fn add(&self, first: u32, values: &[Value]) -> Result<(), Failure> {
        let open = self.lock();
        open.connection.execute_batch("BEGIN")?;
        let mut put = open.connection.prepare("INSERT INTO leaves VALUES (?, ?)")?;
        for (leaf, value) in (i64::from(first)..).zip(values) {
            put.bind(1, &Sql::Integer(leaf))?;
            put.bind(2, &Sql::Blob(value.to_vec()))?;
            put.step()?;
            put.reset()?;
        }
        drop(put);
        open.connection.query("SELECT dolt_commit('-A', '-m', 'revision')", &[])?;
        Ok(())
    }

    fn commit(&self, leaf: u32, value: &Value) -> Result<(), Failure> {
        let open = self.lock();
        open.connection.execute_batch("BEGIN")?;
        let put = [Sql::Blob(value.to_vec()), Sql::Integer(leaf.into())];
        open.connection.execute("UPDATE leaves SET value = ? WHERE id = ?", &put)?;
        open.connection.query("SELECT dolt_commit('-a', '-m', 'revision')", &[])?;
        Ok(())
    }

    fn newest(&self) -> Result<u64, Failure> {
        let mut open = self.lock();
        open.hashes.clear();
        open.hash(1)?;
        Ok(open.hashes.len() as u64)
    }

    fn now(&self, leaf: u32) -> Result<Value, Failure> {
        let (open, asked) = (self.lock(), [Sql::Integer(leaf.into())]);
        let row = open.connection.query_row("SELECT value FROM leaves WHERE id = ?", &asked)?;
        let row = row.ok_or("it is not there")?;
        Ok(row.get(0).and_then(Sql::as_blob).ok_or("it is no value")?.try_into()?)
    }

    /// By their hashes, whose numbers have been asked for before.
    fn list(&self, count: u64) -> Result<Option<Vec<u64>>, Failure> {
        let open = self.lock();
        let asked = [Sql::Integer(count.try_into()?)];
        let rows = open.connection.query("SELECT commit_hash FROM dolt_log LIMIT ?", &asked)?;
        let mut known = open.hashes.iter().enumerate().rev();
        let number = |row: &doltlite::Row| {
            let hash = row.get(0)?.as_str()?;
            known.find(|(_, known)| *known == hash).map(|(at, _)| at as u64 + 1)
        };
        Ok(Some(rows.iter().filter_map(number).collect()))
    }

    /// It keeps all that was committed. In a connection of its own it would have to wait until
    /// nobody reads or writes, and they for it.
    fn forget(&self, _from: u64) -> Result<(), Failure> {
        self.lock().connection.query("SELECT dolt_gc()", &[])?;
        Ok(())
    }

    fn read(&self, revision: u64, leaf: u32) -> Result<Value, Failure> {
        let mut open = self.lock();
        let asked = [Sql::Text(open.hash(revision)?.to_owned()), Sql::Integer(leaf.into())];
        let row = open
            .connection
            .query_row("SELECT value FROM dolt_at_leaves(?) WHERE id = ?", &asked)?;
        let row = row.ok_or("it was not there")?;
        Ok(row.get(0).and_then(Sql::as_blob).ok_or("it is no value")?.try_into()?)
    }

    fn between(&self, from: u64, to: u64) -> Result<Vec<Change>, Failure> {
        let mut open = self.lock();
        let from = Sql::Text(open.hash(from)?.to_owned());
        let to = Sql::Text(open.hash(to)?.to_owned());
        let rows = open
            .connection
            .query("SELECT to_id, to_value FROM dolt_diff_leaves(?, ?)", &[from, to])?;
        let change = |row: &doltlite::Row| {
            let leaf = row.get(0)?.as_i64()?.try_into().ok()?;
            Some((leaf, row.get(1)?.as_blob()?.try_into().ok()?))
        };
        rows.iter().map(|row| change(row).ok_or("it is no change".into())).collect()
    }

    /// In one query: one for each leaf takes twenty seconds.
    fn values(&self, _leaves: u32) -> Result<Vec<Value>, Failure> {
        let rows = self.lock().connection.query("SELECT value FROM leaves ORDER BY id", &[])?;
        let value = |row: &doltlite::Row| row.get(0)?.as_blob()?.try_into().ok();
        rows.iter().map(|row| value(row).ok_or("it is no value".into())).collect()
    }
}
