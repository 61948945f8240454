//! A checkpoint that is read.

use std::ops::RangeInclusive;
use std::sync::Arc;

use super::call::{Engine, Tables, drop_guarded, guarded, stored};
use crate::pages::ledger::Ledger;
use crate::pages::value::Place;
use crate::pages::{PageDamage, PagesError, Table};

/// A checkpoint as it is read: none of it changes, whatever is written meanwhile.
pub(super) struct View {
    pub(super) ledger: Ledger,
    pub(super) tables: Option<Tables>,
    pub(super) engine: Arc<Engine>,
}

impl View {
    pub(super) fn tables(&self) -> &Tables {
        self.tables.as_ref().expect("they are there until it is dropped")
    }

    pub(super) fn get(&self, table: Table, key: u64) -> Result<Option<Vec<u8>>, PagesError> {
        let Some(number) = self.put_by(table, key)? else { return Ok(None) };
        let place = Place::new(table, key, number);
        let stored = stored(&self.tables()[table as usize], key)?;
        place.open(&stored.ok_or_else(|| place.damaged(PageDamage::Missing))?).map(Some)
    }

    /// A part of the ledger as it is stored.
    pub(super) fn part(&self, key: u64) -> Result<Option<Vec<u8>>, PagesError> {
        guarded(|| stored(&self.tables()[0], key))
    }

    pub(super) fn put_by(&self, table: Table, key: u64) -> Result<Option<u64>, PagesError> {
        self.ledger.put_by(table, key, |key| self.part(key))
    }

    pub(super) fn keys(
        &self,
        table: Table,
        range: RangeInclusive<u64>,
    ) -> Result<Vec<u64>, PagesError> {
        self.ledger.keys(table, range, |key| self.part(key))
    }
}

impl Drop for View {
    fn drop(&mut self) {
        drop_guarded(&mut self.tables);
    }
}
