//! A checkpoint that is written.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use redb::WriteTransaction;

use super::call::{drop_guarded, failed, put_parts, put_stored, tables};
use super::view::View;
use super::{EnginePages, lock};
use crate::pages::ledger::{Ledger, group_of};
use crate::pages::value::Place;
use crate::pages::{Checkpoint, PagesError, Table};

/// A checkpoint that is being written.
pub(super) struct Writing<'p> {
    pub(super) pages: &'p EnginePages,
    pub(super) view: Arc<View>,
    /// None after an error.
    pub(super) transaction: Option<WriteTransaction>,
    pub(super) ledger: Ledger,
    /// The groups of the ledger in which something has changed.
    pub(super) changed: BTreeSet<(Table, u64)>,
    pub(super) number: u64,
}

impl Writing<'_> {
    /// Does something with the transaction and the ledger; after an error the transaction is gone.
    fn with(
        &mut self,
        run: impl FnOnce(&WriteTransaction, &mut Ledger) -> Result<(), PagesError>,
    ) -> Result<(), PagesError> {
        let transaction = self.transaction.take().ok_or(PagesError::Failed)?;
        self.transaction = self.pages.with(&self.view, || {
            run(&transaction, &mut self.ledger)?;
            Ok(Some(transaction))
        })?;
        Ok(())
    }
}

impl Checkpoint for Writing<'_> {
    fn put(&mut self, table: Table, key: u64, bytes: &[u8]) -> Result<(), PagesError> {
        let (number, view) = (self.number, Arc::clone(&self.view));
        self.with(|transaction, ledger| {
            ledger.put(table, key, number, |key| view.part(key))?;
            let stored = Place::new(table, key, number).seal(bytes)?;
            put_stored(transaction, table.name(), key, Some(&stored))
        })?;
        self.changed.insert(group_of(table, key));
        Ok(())
    }

    fn remove(&mut self, table: Table, key: u64) -> Result<(), PagesError> {
        let (mut was_there, view) = (false, Arc::clone(&self.view));
        self.with(|transaction, ledger| {
            was_there = ledger.remove(table, key, |key| view.part(key))?;
            if was_there { put_stored(transaction, table.name(), key, None) } else { Ok(()) }
        })?;
        if was_there {
            self.changed.insert(group_of(table, key));
        }
        Ok(())
    }

    fn commit(mut self: Box<Self>) -> Result<u64, PagesError> {
        let parts = self.ledger.advance(self.number, &self.changed);
        let number = self.number;
        self.with(|transaction, _| put_parts(transaction, number, parts))?;
        let transaction = self.transaction.take().ok_or(PagesError::Failed)?;
        let engine = Arc::clone(&self.view.engine);
        let tables = self.pages.with(&self.view, || {
            transaction.commit().map_err(failed)?;
            tables(&engine)
        })?;
        let ledger = std::mem::take(&mut self.ledger);
        let newest = Arc::new(View { ledger, tables: Some(tables), engine });
        self.pages.number.store(number, Ordering::SeqCst);
        *lock(&self.pages.view) = Some(newest);
        Ok(number)
    }
}

impl Drop for Writing<'_> {
    fn drop(&mut self) {
        drop_guarded(&mut self.transaction);
    }
}
