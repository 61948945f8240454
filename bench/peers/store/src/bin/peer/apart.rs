//! DoltLite: two branches of a table.

use doltlite::{Connection, Value as Sql};

use peer_store::apart::{Apart, Edit, Side};
use peer_store::support::{Failure, Folder, Value};

pub struct DoltLite {
    connection: Connection,
    /// How many branches there were.
    branches: u32,
    _folder: Folder,
}

impl DoltLite {
    pub fn new(folder: Folder) -> Result<DoltLite, Failure> {
        let connection = Connection::open(folder.0.join("doltlite"))?;
        connection
            .execute_batch("CREATE TABLE leaves (id INTEGER PRIMARY KEY, value BLOB NOT NULL)")?;
        Ok(DoltLite { connection, branches: 0, _folder: folder })
    }

    fn ask(&self, sql: &str) -> Result<Vec<doltlite::Row>, Failure> {
        Ok(self.connection.query(sql, &[])?)
    }

    fn side(&self) -> String {
        format!("side{}", self.branches)
    }

    fn checkout(&self, side: Side) -> Result<(), Failure> {
        let branch = if side == Side::Main { "main".to_owned() } else { self.side() };
        self.ask(&format!("SELECT dolt_checkout('{branch}')"))?;
        Ok(())
    }
}

impl Apart for DoltLite {
    fn load(&mut self, values: &[Value]) -> Result<(), Failure> {
        self.connection.execute_batch("BEGIN")?;
        let mut put = self.connection.prepare("INSERT INTO leaves VALUES (?, ?)")?;
        for (leaf, value) in (0..).zip(values) {
            put.bind(1, &Sql::Integer(leaf))?;
            put.bind(2, &Sql::Blob(value.to_vec()))?;
            put.step()?;
            put.reset()?;
        }
        drop(put);
        self.ask("SELECT dolt_commit('-A', '-m', 'load')")?;
        Ok(())
    }

    fn part(&mut self) -> Result<(), Failure> {
        self.branches += 1;
        self.ask(&format!("SELECT dolt_branch('{}')", self.side()))?;
        Ok(())
    }

    fn commit(&mut self, side: Side, edits: &[Edit]) -> Result<(), Failure> {
        self.checkout(side)?;
        for (leaf, value) in edits {
            self.connection.execute_batch("BEGIN")?;
            let put = [Sql::Blob(value.to_vec()), Sql::Integer((*leaf).into())];
            self.connection.execute("UPDATE leaves SET value = ? WHERE id = ?", &put)?;
            self.ask("SELECT dolt_commit('-a', '-m', 'edit')")?;
        }
        self.checkout(Side::Main)
    }

    /// In a transaction, as it asks for where there may be conflicts; "ours" is what is merged
    /// into.
    fn merge(&mut self) -> Result<Option<Vec<u32>>, Failure> {
        self.connection.execute_batch("BEGIN")?;
        // It fails where there are conflicts, and leaves the transaction open with them.
        let merged = self.ask(&format!("SELECT dolt_merge('{}')", self.side()));
        let count = self.ask("SELECT sum(num_conflicts) FROM dolt_conflicts")?;
        let count = count.first().and_then(|row| row.get(0)?.as_i64()).unwrap_or(0);
        if count == 0 {
            merged?;
            self.connection.execute_batch("COMMIT")?;
            return Ok(Some(Vec::new()));
        }
        let rows = self
            .ask("SELECT our_id, base_value, our_value, their_value FROM dolt_conflicts_leaves")?;
        let leaf = |row: &doltlite::Row| row.get(0)?.as_i64()?.try_into().ok();
        let leaves = rows.iter().map(|row| leaf(row).ok_or("a conflict has no leaf"));
        let leaves = leaves.collect::<Result<Vec<u32>, _>>()?;
        self.ask("SELECT dolt_conflicts_resolve('--ours', 'leaves')")?;
        self.ask("SELECT dolt_commit('-a', '-m', 'merge')")?;
        Ok(Some(leaves))
    }

    fn values(&mut self, _leaves: u32) -> Result<Vec<Value>, Failure> {
        let rows = self.ask("SELECT value FROM leaves ORDER BY id")?;
        let value = |row: &doltlite::Row| row.get(0)?.as_blob()?.try_into().ok();
        rows.iter().map(|row| value(row).ok_or("it is no value".into())).collect()
    }
}
