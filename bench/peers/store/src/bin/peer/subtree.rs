//! DoltLite: a table of nodes that know their parents. redb: paths, of which all that begin with
//! the subtree's are written anew. Both in memory.

use doltlite::{Connection, Value as Sql};
use redb::backends::InMemoryBackend;
use redb::{Database, ReadableDatabase, TableDefinition};

use peer_store::subtree::{PLACES, Subtree, step};
use peer_store::support::{Failure, Value};

pub struct DoltLite(Connection);

/// The subtree's node; those of the places are 1 and more.
const TOP: i64 = 100;

fn place(number: u32) -> i64 {
    i64::from(number) + 1
}

impl DoltLite {
    pub fn new() -> Result<DoltLite, Failure> {
        let connection = Connection::open_in_memory()?;
        connection.execute_batch(
            "CREATE TABLE nodes (id INTEGER PRIMARY KEY, parent INTEGER, key INTEGER, value BLOB);
            CREATE INDEX below ON nodes (parent, key)",
        )?;
        Ok(DoltLite(connection))
    }
}

const READ: &str = "SELECT e.value FROM nodes a
    JOIN nodes b ON b.parent = a.id AND b.key = ?
    JOIN nodes c ON c.parent = b.id AND c.key = ?
    JOIN nodes d ON d.parent = c.id AND d.key = ?
    JOIN nodes e ON e.parent = d.id AND e.key = ?
    WHERE a.parent = ? AND a.key = 0";

impl Subtree for DoltLite {
    fn load(&mut self, values: &[Value]) -> Result<(), Failure> {
        self.0.execute_batch("BEGIN")?;
        let mut put = self.0.prepare("INSERT INTO nodes VALUES (?, ?, ?, ?)")?;
        for (id, parent, key, value) in peer_store::subtree::rows(values) {
            let value = value.map_or(Sql::Null, |value| Sql::Blob(value.to_vec()));
            let row = [Sql::Integer(id), Sql::Integer(parent), Sql::Integer(key), value];
            (1..).zip(&row).try_for_each(|(at, value)| put.bind(at, value))?;
            put.step()?;
            put.reset()?;
        }
        drop(put);
        self.0.query("SELECT dolt_commit('-A', '-m', 'load')", &[])?;
        Ok(())
    }

    fn shift(&mut self, _from: u32, to: u32) -> Result<(), Failure> {
        self.0.execute_batch("BEGIN")?;
        let put = [Sql::Integer(place(to)), Sql::Integer(TOP)];
        self.0.execute("UPDATE nodes SET parent = ? WHERE id = ?", &put)?;
        self.0.query("SELECT dolt_commit('-a', '-m', 'move')", &[])?;
        Ok(())
    }

    fn read(&mut self, at: u32, leaf: u32) -> Result<Option<Value>, Failure> {
        let mut asked: Vec<Sql> =
            (0..4).map(|depth| Sql::Integer(step(leaf, depth).into())).collect();
        asked.push(Sql::Integer(place(at)));
        let Some(row) = self.0.query_row(READ, &asked)? else { return Ok(None) };
        let value = row.get(0).and_then(Sql::as_blob).ok_or("it is no value")?;
        Ok(Some(value.try_into()?))
    }

    fn first_place(&mut self) -> Result<Option<u32>, Failure> {
        let load = "SELECT commit_hash FROM dolt_log WHERE message = 'load'";
        let row = self.0.query_row(load, &[])?.ok_or("nothing was loaded")?;
        let hash = row.get(0).cloned().ok_or("it has no hash")?;
        let first = "SELECT parent FROM dolt_at_nodes(?) WHERE id = ?";
        let row = self.0.query_row(first, &[hash, Sql::Integer(TOP)])?.ok_or("it was nowhere")?;
        let parent = row.get(0).and_then(Sql::as_i64).ok_or("it was nowhere")?;
        Ok(Some(u32::try_from(parent - 1)?))
    }
}

/// What is, and what was until a revision.
const NODES: TableDefinition<&[u8], &[u8]> = TableDefinition::new("nodes");
const HISTORY: TableDefinition<&[u8], &[u8]> = TableDefinition::new("history");

pub struct Redb {
    database: Database,
    revision: u64,
    is_history_kept: bool,
}

impl Redb {
    pub fn new(is_history_kept: bool) -> Result<Redb, Failure> {
        let database = Database::builder().create_with_backend(InMemoryBackend::new())?;
        Ok(Redb { database, revision: 1, is_history_kept })
    }
}

/// The path to a leaf: a byte for the place, and one for each step.
fn path(place: u32, leaf: u32) -> [u8; 5] {
    let steps: [u8; 4] = std::array::from_fn(|depth| step(leaf, depth as u32) as u8);
    [place as u8, steps[0], steps[1], steps[2], steps[3]]
}

impl Subtree for Redb {
    fn load(&mut self, values: &[Value]) -> Result<(), Failure> {
        let writing = self.database.begin_write()?;
        {
            let mut nodes = writing.open_table(NODES)?;
            for (leaf, value) in (0..).zip(values) {
                nodes.insert(&path(0, leaf)[..], &value[..])?;
            }
            writing.open_table(HISTORY)?;
        }
        Ok(writing.commit()?)
    }

    fn shift(&mut self, from: u32, to: u32) -> Result<(), Failure> {
        self.revision += 1;
        let writing = self.database.begin_write()?;
        {
            let (mut nodes, mut history) =
                (writing.open_table(NODES)?, writing.open_table(HISTORY)?);
            let mut moved = Vec::new();
            let all = [from as u8]..[from as u8 + 1];
            for node in nodes.extract_from_if(&all.start[..]..&all.end[..], |_, _| true)? {
                let (path, value) = node?;
                moved.push((<[u8; 5]>::try_from(path.value())?, Value::try_from(value.value())?));
            }
            for (mut path, value) in moved {
                if self.is_history_kept {
                    let until = [&path[..], &self.revision.to_be_bytes()].concat();
                    history.insert(&until[..], &value[..])?;
                }
                path[0] = to as u8;
                nodes.insert(&path[..], &value[..])?;
            }
        }
        Ok(writing.commit()?)
    }

    fn read(&mut self, place: u32, leaf: u32) -> Result<Option<Value>, Failure> {
        let nodes = self.database.begin_read()?.open_table(NODES)?;
        let found = nodes.get(&path(place, leaf)[..])?;
        Ok(found.map(|value| value.value().try_into()).transpose()?)
    }

    /// Where a leaf was until something changed for the first time.
    fn first_place(&mut self) -> Result<Option<u32>, Failure> {
        if !self.is_history_kept {
            return Ok(None);
        }
        let history = self.database.begin_read()?.open_table(HISTORY)?;
        let mut first = None;
        for place in 0..PLACES {
            let next = history.range(&path(place, 0)[..]..)?.next().transpose()?;
            let until = next.and_then(|(key, _)| {
                let until = key.value().strip_prefix(&path(place, 0))?;
                Some(u64::from_be_bytes(until.try_into().ok()?))
            });
            first = first.into_iter().chain(until.map(|until| (until, place))).min();
        }
        Ok(Some(first.map_or(0, |(_, place)| place)))
    }
}
