//! The engines, each asked for the same: a batch made durable, a value, all of it once more.

use std::path::Path;
use std::sync::Arc;

use jungle_store::disk::FolderDisk;
use jungle_store::pages::{EnginePages, Pages, PagesOptions, Table};
use redb::{ReadableDatabase, TableDefinition};

/// Memory that an engine may keep pages in.
const CACHE_BYTES: usize = 32 << 20;

/// An engine with some values in it.
pub trait Engine {
    /// Puts all of it, durably.
    fn put(&mut self, batch: &[(u64, Vec<u8>)]);
    fn get(&self, key: u64) -> Vec<u8>;
}

/// All that are measured. `redb-1` commits with one sync and is repaired after a crash; `redb-2`
/// keeps its allocator's state with each commit, with two syncs, so that it need not be. `pages` is
/// what came of it: `redb-2`, with what is checked and compressed around it.
pub const ENGINES: [&str; 6] = ["redb-1", "redb-2", "fjall", "heed", "sqlite", "pages"];

pub fn open(engine: &str, folder: &Path) -> Box<dyn Engine> {
    match engine {
        "redb-1" => Box::new(Redb::open(folder, false)),
        "redb-2" => Box::new(Redb::open(folder, true)),
        "fjall" => Box::new(Fjall::open(folder)),
        "heed" => Box::new(Heed::open(folder)),
        "pages" => Box::new(Paged::open(folder)),
        "sqlite" => Box::new(Sqlite::open(folder)),
        _ => panic!("there is no engine {engine}"),
    }
}

struct Redb {
    database: redb::Database,
    is_quick: bool,
}

const TABLE: TableDefinition<u64, &[u8]> = TableDefinition::new("slabs");

impl Redb {
    fn open(folder: &Path, is_quick: bool) -> Redb {
        let mut builder = redb::Builder::new();
        builder.set_cache_size(CACHE_BYTES);
        Redb { database: builder.create(folder.join("pages")).expect("redb opens"), is_quick }
    }
}

impl Engine for Redb {
    fn put(&mut self, batch: &[(u64, Vec<u8>)]) {
        let mut transaction = self.database.begin_write().expect("redb begins");
        transaction.set_quick_repair(self.is_quick);
        let mut table = transaction.open_table(TABLE).expect("redb has a table");
        for (key, value) in batch {
            table.insert(key, &value[..]).expect("redb puts");
        }
        drop(table);
        transaction.commit().expect("redb commits");
    }

    fn get(&self, key: u64) -> Vec<u8> {
        let transaction = self.database.begin_read().expect("redb reads");
        let table = transaction.open_table(TABLE).expect("redb has a table");
        table.get(key).expect("redb gets").expect("it is there").value().to_vec()
    }
}

struct Fjall {
    database: fjall::Database,
    slabs: fjall::Keyspace,
}

impl Fjall {
    fn open(folder: &Path) -> Fjall {
        let options = || {
            let separate = fjall::KvSeparationOptions::default();
            let separate = separate.compression(fjall::CompressionType::None);
            fjall::KeyspaceCreateOptions::default().with_kv_separation(Some(separate))
        };
        let builder = fjall::Database::builder(folder).cache_size(CACHE_BYTES as u64);
        let builder = builder.journal_compression(fjall::CompressionType::None);
        let database = builder.open().expect("fjall opens");
        let slabs = database.keyspace("slabs", options).expect("fjall has a keyspace");
        Fjall { database, slabs }
    }
}

impl Engine for Fjall {
    fn put(&mut self, batch: &[(u64, Vec<u8>)]) {
        let mut writing = self.database.batch().durability(Some(fjall::PersistMode::SyncAll));
        for (key, value) in batch {
            writing.insert(&self.slabs, key.to_be_bytes(), &value[..]);
        }
        writing.commit().expect("fjall commits");
    }

    fn get(&self, key: u64) -> Vec<u8> {
        let value = self.slabs.get(key.to_be_bytes()).expect("fjall gets");
        value.expect("it is there").to_vec()
    }
}

struct Heed {
    environment: heed::Env,
    slabs: heed::Database<'static, heed::types::Bytes, heed::types::Bytes>,
}

impl Heed {
    fn open(folder: &Path) -> Heed {
        let mut options = heed::EnvOpenOptions::new();
        options.map_size(4 << 30);
        // SAFETY: nothing else touches the files of this run. (A product cannot promise that.)
        let environment = unsafe { options.open(folder) }.expect("LMDB opens");
        let writing = environment.write_txn().expect("LMDB begins");
        let made = environment.create_databases_and_commit(writing, |opener, writing| {
            let slabs = opener.create_database(writing, None)?;
            Ok::<_, heed::Error>(heed::CommitOrAbort::<_, ()>::Commit(slabs))
        });
        let slabs = made.expect("LMDB has a database").unwrap_commit();
        Heed { environment, slabs }
    }
}

impl Engine for Heed {
    fn put(&mut self, batch: &[(u64, Vec<u8>)]) {
        let mut writing = self.environment.write_txn().expect("LMDB begins");
        for (key, value) in batch {
            self.slabs.put(&mut writing, &key.to_be_bytes(), value).expect("LMDB puts");
        }
        writing.commit().expect("LMDB commits");
    }

    fn get(&self, key: u64) -> Vec<u8> {
        let reading = self.environment.read_txn().expect("LMDB reads");
        let value = self.slabs.get(&reading, &key.to_be_bytes()).expect("LMDB gets");
        value.expect("it is there").to_vec()
    }
}

struct Sqlite(rusqlite::Connection);

impl Sqlite {
    fn open(folder: &Path) -> Sqlite {
        let connection = rusqlite::Connection::open(folder.join("pages")).expect("SQLite opens");
        let settings = format!(
            "PRAGMA page_size = 8192; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
             PRAGMA cache_size = -{};
             CREATE TABLE IF NOT EXISTS slabs (id INTEGER PRIMARY KEY, value BLOB NOT NULL);",
            CACHE_BYTES >> 10
        );
        connection.execute_batch(&settings).expect("SQLite has a table");
        Sqlite(connection)
    }
}

impl Engine for Sqlite {
    fn put(&mut self, batch: &[(u64, Vec<u8>)]) {
        let transaction = self.0.transaction().expect("SQLite begins");
        let mut put = transaction.prepare_cached("REPLACE INTO slabs VALUES (?, ?)").expect("SQL");
        for (key, value) in batch {
            put.execute((*key as i64, &value[..])).expect("SQLite puts");
        }
        drop(put);
        transaction.commit().expect("SQLite commits");
    }

    fn get(&self, key: u64) -> Vec<u8> {
        let mut get = self.0.prepare_cached("SELECT value FROM slabs WHERE id = ?").expect("SQL");
        get.query_row([key as i64], |row| row.get(0)).expect("it is there")
    }
}

struct Paged(EnginePages);

impl Paged {
    fn open(folder: &Path) -> Paged {
        let mut options = PagesOptions::default();
        options.cache_bytes = CACHE_BYTES;
        let disk = Arc::new(FolderDisk::new(folder));
        Paged(EnginePages::open(disk, options).expect("pages open"))
    }
}

impl Engine for Paged {
    fn put(&mut self, batch: &[(u64, Vec<u8>)]) {
        let mut checkpoint = self.0.begin().expect("pages begin");
        for (key, value) in batch {
            checkpoint.put(Table::Slabs, *key, value).expect("pages put");
        }
        checkpoint.commit().expect("pages commit");
    }

    fn get(&self, key: u64) -> Vec<u8> {
        self.0.get(Table::Slabs, key).expect("pages get").expect("it is there")
    }
}
