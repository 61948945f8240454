//! Calls of the engine: it may panic in each, and as it is dropped.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};

use redb::{
    DatabaseError, ReadOnlyTable, ReadableDatabase, StorageError, TableDefinition, WriteTransaction,
};

use crate::pages::backend::Backend;
use crate::pages::ledger::{LEDGER, Part};
use crate::pages::value::Place;
use crate::pages::{PagesError, Table};

type Definition = TableDefinition<'static, u64, &'static [u8]>;

/// All tables, the ledger's first.
pub(super) type Tables = Vec<ReadOnlyTable<u64, &'static [u8]>>;

pub(super) struct Engine {
    pub(super) database: Option<redb::Database>,
    pub(super) backend: Backend,
}

impl Engine {
    /// Has it write nothing any more.
    pub(super) fn cut(&self) {
        self.backend.cut();
    }

    pub(super) fn database(&self) -> &redb::Database {
        self.database.as_ref().expect("it is there until it is dropped")
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.cut();
        // The engine would prepare what it writes as it closes, which may panic twice in a damaged
        // file. A check begins with a sync, which fails now; after that it does not try.
        let database = self.database.as_mut();
        let check = database.map(|it| catch_unwind(AssertUnwindSafe(|| it.check_integrity())));
        match check {
            Some(Ok(Err(DatabaseError::Storage(
                StorageError::Io(_) | StorageError::PreviousIo,
            )))) => {
                drop_guarded(&mut self.database);
            }
            // It has panicked before: its memory is lost rather than the process.
            _ => std::mem::forget(self.database.take()),
        }
    }
}

/// Drops what is the engine's, whatever state it is in.
pub(super) fn drop_guarded<T>(of_engine: &mut Option<T>) {
    // What it leaves behind is found, and repaired or told, when the file is opened again.
    drop(catch_unwind(AssertUnwindSafe(|| drop(of_engine.take()))));
}

/// Calls the engine. One that panics has met a file that it did not write.
pub(super) fn guarded<T>(run: impl FnOnce() -> Result<T, PagesError>) -> Result<T, PagesError> {
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("it panicked");
        Err(PagesError::Engine { what: text.into() })
    })
}

pub(super) fn io_failed(error: io::Error) -> PagesError {
    failed(redb::Error::Io(error))
}

pub(super) fn failed(error: impl Into<redb::Error>) -> PagesError {
    PagesError::of_engine(error.into())
}

pub(super) fn definition(name: &'static str) -> Definition {
    TableDefinition::new(name)
}

pub(super) fn begin_write(database: &redb::Database) -> Result<WriteTransaction, PagesError> {
    let mut transaction = database.begin_write().map_err(failed)?;
    // Two syncs instead of one, and no pass over the whole file after a crash.
    transaction.set_quick_repair(true);
    Ok(transaction)
}

pub(super) fn tables(engine: &Engine) -> Result<Tables, PagesError> {
    guarded(|| {
        let reading = engine.database().begin_read().map_err(failed)?;
        let names = [LEDGER.1].into_iter().chain(Table::ALL.map(Table::name));
        names.map(|name| reading.open_table(definition(name)).map_err(failed)).collect()
    })
}

pub(super) fn stored(
    table: &ReadOnlyTable<u64, &'static [u8]>,
    key: u64,
) -> Result<Option<Vec<u8>>, PagesError> {
    let found = table.get(key).map_err(failed)?;
    Ok(found.map(|found| found.value().to_vec()))
}

pub(super) fn put_stored(
    transaction: &WriteTransaction,
    table: &'static str,
    key: u64,
    stored: Option<&[u8]>,
) -> Result<(), PagesError> {
    let mut table = transaction.open_table(definition(table)).map_err(failed)?;
    match stored {
        Some(stored) => drop(table.insert(key, stored).map_err(failed)?),
        None => drop(table.remove(key).map_err(failed)?),
    }
    Ok(())
}

pub(super) fn put_parts(
    transaction: &WriteTransaction,
    number: u64,
    parts: Vec<Part>,
) -> Result<(), PagesError> {
    for (key, bytes) in parts {
        let place = Place { table: LEDGER, key, number };
        let stored = bytes.map(|bytes| place.seal(&bytes)).transpose()?;
        put_stored(transaction, LEDGER.1, key, stored.as_deref())?;
    }
    Ok(())
}
