//! DoltLite: a table of children with fractional positions, in memory.

use doltlite::{Connection, Value as Sql};
use loro_fractional_index::FractionalIndex;

use peer_store::children::{Children, PAGE, Place};
use peer_store::support::Failure;

pub struct DoltLite(Connection);

impl DoltLite {
    pub fn new() -> Result<DoltLite, Failure> {
        let connection = Connection::open_in_memory()?;
        connection.execute_batch(
            "CREATE TABLE children (id INTEGER PRIMARY KEY, position BLOB NOT NULL);
            CREATE INDEX positions ON children (position)",
        )?;
        Ok(DoltLite(connection))
    }

    fn numbers(&self, sql: &str, asked: &[Sql]) -> Result<Vec<u32>, Failure> {
        let rows = self.0.query(sql, asked)?;
        let number = |row: &doltlite::Row| row.get(0)?.as_i64()?.try_into().ok();
        rows.iter().map(|row| number(row).ok_or("it is no number".into())).collect()
    }

    fn position(&self, child: Option<u32>) -> Result<Option<FractionalIndex>, Failure> {
        let Some(child) = child else { return Ok(None) };
        let asked = [Sql::Integer(child.into())];
        let row = self.0.query_row("SELECT position FROM children WHERE id = ?", &asked)?;
        let row = row.ok_or("there is no such child")?;
        let bytes = row.get(0).and_then(Sql::as_blob).ok_or("it is no position")?;
        Ok(Some(FractionalIndex::from_bytes(bytes.to_vec())))
    }

    /// Commits what the statement does to a child and the position of a place.
    fn put(&self, sql: &str, child: u32, place: &Place) -> Result<(), Failure> {
        self.0.execute_batch("BEGIN")?;
        let (after, before) = (self.position(place.after)?, self.position(place.before)?);
        let between = FractionalIndex::new(after.as_ref(), before.as_ref());
        let position = between.ok_or("there is no place")?.as_bytes().to_vec();
        self.0.execute(sql, &[Sql::Blob(position), Sql::Integer(child.into())])?;
        self.0.query("SELECT dolt_commit('-a', '-m', 'edit')", &[])?;
        Ok(())
    }
}

impl Children for DoltLite {
    fn load(&mut self, count: u32) -> Result<(), Failure> {
        let positions = FractionalIndex::generate_n_evenly(None, None, count as usize);
        self.0.execute_batch("BEGIN")?;
        let mut put = self.0.prepare("INSERT INTO children (position, id) VALUES (?, ?)")?;
        for (child, position) in (0..).zip(positions.ok_or("there is no place")?) {
            put.bind(1, &Sql::Blob(position.as_bytes().to_vec()))?;
            put.bind(2, &Sql::Integer(child))?;
            put.step()?;
            put.reset()?;
        }
        drop(put);
        self.0.query("SELECT dolt_commit('-A', '-m', 'load')", &[])?;
        Ok(())
    }

    fn insert(&mut self, child: u32, place: &Place) -> Result<(), Failure> {
        self.put("INSERT INTO children (position, id) VALUES (?, ?)", child, place)
    }

    fn shift(&mut self, child: u32, _from: usize, place: &Place) -> Result<(), Failure> {
        self.put("UPDATE children SET position = ? WHERE id = ?", child, place)
    }

    fn page(&mut self, first: u32, _index: usize) -> Result<Vec<u32>, Failure> {
        let page = "SELECT id FROM children
            WHERE position >= (SELECT position FROM children WHERE id = ?)
            ORDER BY position LIMIT ?";
        self.numbers(page, &[Sql::Integer(first.into()), Sql::Integer(PAGE as i64)])
    }

    fn page_at(&mut self, index: usize) -> Result<Vec<u32>, Failure> {
        let page = "SELECT id FROM children ORDER BY position LIMIT ? OFFSET ?";
        self.numbers(page, &[Sql::Integer(PAGE as i64), Sql::Integer(index as i64)])
    }

    fn all(&mut self) -> Result<Vec<u32>, Failure> {
        self.numbers("SELECT id FROM children ORDER BY position", &[])
    }

    fn loaded(&mut self) -> Result<u64, Failure> {
        let load = "SELECT commit_hash FROM dolt_log WHERE message = 'load'";
        let row = self.0.query_row(load, &[])?.ok_or("nothing was loaded")?;
        let hash = row.get(0).cloned().ok_or("it has no hash")?;
        let count = self.numbers("SELECT count(*) FROM dolt_at_children(?)", &[hash])?;
        Ok((*count.first().ok_or("there is no count")?).into())
    }
}
