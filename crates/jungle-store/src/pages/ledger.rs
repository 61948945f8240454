//! By which checkpoint each value was put. A value that is whole but of another checkpoint is an
//! old one, brought back by the disk; one that is not in here is not there.
//!
//! It is kept in *groups* of 512 neighbouring keys, each stored like a value, so that a checkpoint
//! writes those groups only in which something changed. The *root*, at key 0, lists the groups and
//! by which checkpoint each was put; its own number is that of the newest checkpoint.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

use super::Table;
use super::error::{PageDamage, PagesError};
use super::value::Place;
use crate::frame::u64_at;

/// The table that the ledger is in: number and name.
pub(super) const LEDGER: (u8, &str) = (0, "ledger");

/// Keys of a group, as a power of two.
const GROUP_BITS: u32 = 9;

/// Bytes of an entry of a group: the key's place in it, and the checkpoint.
const ENTRY: usize = 10;

/// Bytes of an entry of the root: the group's key, and the checkpoint.
const ROOT_ENTRY: usize = 16;

/// The key of the root. No group has it, since no table has the number 0.
pub(super) const ROOT: u64 = 0;

#[derive(Clone, Debug, Default)]
pub(super) struct Ledger {
    /// The newest checkpoint.
    pub(super) number: u64,
    values: BTreeMap<(Table, u64), u64>,
    /// Groups by their keys in the ledger's table.
    groups: BTreeMap<u64, u64>,
}

/// A part of the ledger that is to be stored: its key, and its bytes, if anything is in it.
pub(super) type Part = (u64, Option<Vec<u8>>);

impl Ledger {
    /// Reads it, root first.
    pub(super) fn load(
        mut get: impl FnMut(u64) -> Result<Option<Vec<u8>>, PagesError>,
    ) -> Result<Ledger, PagesError> {
        let mut ledger = Ledger::default();
        let root = Place { table: LEDGER, key: ROOT, number: 0 };
        let stored = get(ROOT)?.ok_or_else(|| root.damaged(PageDamage::Missing))?;
        let (number, bytes) = root.open_any(&stored)?;
        ledger.number = number;
        let (entries, rest) = bytes.as_chunks::<ROOT_ENTRY>();
        for entry in entries {
            let (key, put_by) = (u64_at(entry, 0), u64_at(entry, 8));
            let place = Place { table: LEDGER, key, number: put_by };
            let stored = get(key)?.ok_or_else(|| place.damaged(PageDamage::Missing))?;
            let bytes = place.open(&stored)?;
            let is_one = put_by <= number && ledger.add_group(key, &bytes).is_some();
            if !is_one || ledger.groups.insert(key, put_by).is_some() {
                return Err(place.damaged(PageDamage::Ledger));
            }
        }
        match rest.is_empty() {
            true => Ok(ledger),
            false => Err(root.damaged(PageDamage::Ledger)),
        }
    }

    fn add_group(&mut self, key: u64, bytes: &[u8]) -> Option<()> {
        let table = Table::ALL.into_iter().find(|table| *table as u64 == key >> 56)?;
        let first = (key & ((1 << 56) - 1)).checked_mul(1 << GROUP_BITS)?;
        let (entries, rest) = bytes.as_chunks::<ENTRY>();
        for entry in entries {
            let at = u64::from(u16::from_le_bytes([entry[0], entry[1]]));
            let is_within = at < 1 << GROUP_BITS;
            is_within.then(|| self.values.insert((table, first + at), u64_at(entry, 2)))?;
        }
        rest.is_empty().then_some(())
    }

    /// By which checkpoint the value was put that is there.
    pub(super) fn put_by(&self, table: Table, key: u64) -> Option<u64> {
        self.values.get(&(table, key)).copied()
    }

    pub(super) fn keys(&self, table: Table, range: RangeInclusive<u64>) -> Vec<u64> {
        if range.is_empty() {
            return Vec::new();
        }
        let range = (table, *range.start())..=(table, *range.end());
        self.values.range(range).map(|((_, key), _)| *key).collect()
    }

    /// The keys of its own parts, the root's among them.
    pub(super) fn parts(&self) -> impl Iterator<Item = u64> {
        self.groups.keys().copied().chain([ROOT])
    }

    pub(super) fn put(&mut self, table: Table, key: u64, number: u64) {
        self.values.insert((table, key), number);
    }

    /// Tells whether it was there.
    pub(super) fn remove(&mut self, table: Table, key: u64) -> bool {
        self.values.remove(&(table, key)).is_some()
    }

    /// Makes it the ledger of this checkpoint, in which these groups have changed; gives what is
    /// to be stored for that, the root last.
    pub(super) fn advance(&mut self, number: u64, changed: &BTreeSet<(Table, u64)>) -> Vec<Part> {
        self.number = number;
        let mut parts = Vec::new();
        for &(table, group) in changed {
            let (key, bytes) = (group_key(table, group), self.group(table, group));
            match bytes.is_empty() {
                true => drop(self.groups.remove(&key)),
                false => drop(self.groups.insert(key, number)),
            }
            parts.push((key, (!bytes.is_empty()).then_some(bytes)));
        }
        let root = self.groups.iter().flat_map(|(key, put_by)| [*key, *put_by]);
        parts.push((ROOT, Some(root.flat_map(u64::to_le_bytes).collect())));
        parts
    }

    fn group(&self, table: Table, group: u64) -> Vec<u8> {
        let first = group << GROUP_BITS;
        let range = (table, first)..=(table, first | ((1 << GROUP_BITS) - 1));
        let mut bytes = Vec::new();
        for ((_, key), put_by) in self.values.range(range) {
            bytes.extend_from_slice(&((key - first) as u16).to_le_bytes());
            bytes.extend_from_slice(&put_by.to_le_bytes());
        }
        bytes
    }
}

/// The group that a key is in.
pub(super) fn group_of(table: Table, key: u64) -> (Table, u64) {
    (table, key >> GROUP_BITS)
}

fn group_key(table: Table, group: u64) -> u64 {
    (table as u64) << 56 | group
}

#[cfg(test)]
mod tests {
    use super::*;

    type Stored = BTreeMap<u64, Vec<u8>>;

    fn store(stored: &mut Stored, number: u64, parts: Vec<Part>) {
        for (key, bytes) in parts {
            let place = Place { table: LEDGER, key, number };
            match bytes {
                Some(bytes) => drop(stored.insert(key, place.seal(&bytes).unwrap())),
                None => drop(stored.remove(&key)),
            }
        }
    }

    fn load(stored: &Stored) -> Result<Ledger, PagesError> {
        Ledger::load(|key| Ok(stored.get(&key).cloned()))
    }

    /// Two checkpoints: three values in two groups, then one of them again.
    fn two() -> (Stored, Stored) {
        let (mut ledger, mut stored) = (Ledger::default(), Stored::new());
        let keys = [(Table::Slabs, 5), (Table::Slabs, 1 << 33), (Table::Slabs, 6)];
        keys.into_iter().for_each(|(table, key)| ledger.put(table, key, 1));
        let groups = keys.map(|(table, key)| group_of(table, key)).into();
        store(&mut stored, 1, ledger.advance(1, &groups));
        let before = stored.clone();
        ledger.put(Table::Slabs, 6, 2);
        store(&mut stored, 2, ledger.advance(2, &[group_of(Table::Slabs, 6)].into()));
        (before, stored)
    }

    #[test]
    fn it_comes_back() {
        let (before, after) = two();
        let [before, after] = [&before, &after].map(|stored| load(stored).unwrap());
        assert_eq!((before.number, after.number), (1, 2));
        let put_by = |ledger: &Ledger| [5, 6, 7].map(|key| ledger.put_by(Table::Slabs, key));
        assert_eq!(put_by(&before), [Some(1), Some(1), None]);
        assert_eq!(put_by(&after), [Some(1), Some(2), None]);
        assert_eq!(after.keys(Table::Slabs, 6..=u64::MAX), [6, 1 << 33]);
        assert_eq!(after.put_by(Table::State, 5), None);
    }

    #[test]
    fn any_part_that_is_old_or_gone_is_told() {
        let (before, after) = two();
        let mut told = 0;
        for (&key, old) in before.iter().filter(|(key, old)| after[*key] != **old) {
            let mut mixed = after.clone();
            mixed.insert(key, old.clone());
            let error = load(&mixed).unwrap_err();
            let is_stale = |what: &PageDamage| matches!(what, PageDamage::Stale { .. });
            assert!(
                matches!(&error, PagesError::Damaged { what, .. } if is_stale(what)),
                "{key}: {error}"
            );
            told += 1;
        }
        assert_eq!(told, 2, "the root and a group");
        for key in after.keys() {
            let mut without = after.clone();
            without.remove(key);
            load(&without).unwrap_err();
        }
    }
}
