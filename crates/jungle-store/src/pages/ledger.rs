//! By which checkpoint each value was put. A value that is whole but of another checkpoint is an
//! old one, brought back by the disk; one that is not in here is not there.
//!
//! It is kept in *groups* of 512 neighbouring keys, each stored like a value, so that a checkpoint
//! writes those groups only in which something changed. The *root*, at key 0, lists the groups and
//! by which checkpoint each was put; its own number is that of the newest checkpoint. It is read
//! at once, a group when one of its keys is asked for: a folder opens as fast with many of them.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;
use std::sync::{Arc, OnceLock};

use super::Table;
use super::error::{PageDamage, PagesError};
use super::value::Place;
use crate::log::frame::u64_at;

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
    /// By their keys in the ledger's table.
    groups: BTreeMap<u64, Group>,
}

#[derive(Clone, Debug, Default)]
struct Group {
    put_by: u64,
    /// By which checkpoint each value was put, by the key's place. Not there until it is read.
    entries: OnceLock<Arc<Entries>>,
}

type Entries = BTreeMap<u16, u64>;

/// A part of the ledger that is to be stored: its key, and its bytes, if anything is in it.
pub(super) type Part = (u64, Option<Vec<u8>>);

/// What is stored at a key of the ledger's table.
type Stored = Result<Option<Vec<u8>>, PagesError>;

impl Ledger {
    /// Reads the root.
    pub(super) fn load(get: impl Fn(u64) -> Stored) -> Result<Ledger, PagesError> {
        let root = Place { table: LEDGER, key: ROOT, number: 0 };
        let stored = get(ROOT)?.ok_or_else(|| root.damaged(PageDamage::Missing))?;
        let (number, bytes) = root.open_any(&stored)?;
        let mut groups = BTreeMap::new();
        let (entries, rest) = bytes.as_chunks::<ROOT_ENTRY>();
        for entry in entries {
            let (key, put_by) = (u64_at(entry, 0), u64_at(entry, 8));
            let group = Group { put_by, entries: OnceLock::new() };
            let is_one = put_by <= number && is_group(key);
            if !is_one || groups.insert(key, group).is_some() {
                return Err(Place { table: LEDGER, key, number }.damaged(PageDamage::Ledger));
            }
        }
        match rest.is_empty() {
            true => Ok(Ledger { number, groups }),
            false => Err(root.damaged(PageDamage::Ledger)),
        }
    }

    /// By which checkpoint the value was put that is there.
    pub(super) fn put_by(
        &self,
        table: Table,
        key: u64,
        get: impl Fn(u64) -> Stored,
    ) -> Result<Option<u64>, PagesError> {
        let (group, place) = (group_key(group_of(table, key)), place_of(key));
        let group = self.groups.get(&group).map(|found| found.entries(group, get)).transpose()?;
        Ok(group.and_then(|entries| entries.get(&place).copied()))
    }

    pub(super) fn keys(
        &self,
        table: Table,
        range: RangeInclusive<u64>,
        get: impl Fn(u64) -> Stored,
    ) -> Result<Vec<u64>, PagesError> {
        let mut keys = Vec::new();
        if range.is_empty() {
            return Ok(keys);
        }
        let [first, last] = [range.start(), range.end()].map(|key| group_of(table, *key));
        for (&key, group) in self.groups.range(group_key(first)..=group_key(last)) {
            let places = group.entries(key, &get)?.keys();
            let all = places.map(|place| first_key(key) + u64::from(*place));
            keys.extend(all.filter(|key| range.contains(key)));
        }
        Ok(keys)
    }

    /// The keys of its own parts, the root's among them.
    pub(super) fn parts(&self) -> impl Iterator<Item = u64> {
        self.groups.keys().copied().chain([ROOT])
    }

    pub(super) fn put(
        &mut self,
        table: Table,
        key: u64,
        number: u64,
        get: impl Fn(u64) -> Stored,
    ) -> Result<(), PagesError> {
        let group = group_key(group_of(table, key));
        let no_group = || Group { put_by: number, entries: Arc::<Entries>::default().into() };
        let found = self.groups.entry(group).or_insert_with(no_group);
        found.entries_mut(group, get)?.insert(place_of(key), number);
        Ok(())
    }

    /// Tells whether it was there.
    pub(super) fn remove(
        &mut self,
        table: Table,
        key: u64,
        get: impl Fn(u64) -> Stored,
    ) -> Result<bool, PagesError> {
        let group = group_key(group_of(table, key));
        let Some(found) = self.groups.get_mut(&group) else { return Ok(false) };
        Ok(found.entries_mut(group, get)?.remove(&place_of(key)).is_some())
    }

    /// Makes it the ledger of this checkpoint, in which these groups have changed; gives what is
    /// to be stored for that, the root last.
    pub(super) fn advance(&mut self, number: u64, changed: &BTreeSet<(Table, u64)>) -> Vec<Part> {
        self.number = number;
        let mut parts = Vec::new();
        for key in changed.iter().map(|group| group_key(*group)) {
            let entries = self.groups.get(&key).and_then(|group| group.entries.get());
            let entries = entries.map(Arc::as_ref).into_iter().flatten();
            let bytes = entries.flat_map(|(place, put_by)| {
                place.to_le_bytes().into_iter().chain(put_by.to_le_bytes())
            });
            let bytes: Vec<u8> = bytes.collect();
            match self.groups.get_mut(&key) {
                Some(group) if !bytes.is_empty() => group.put_by = number,
                _ => drop(self.groups.remove(&key)),
            }
            parts.push((key, (!bytes.is_empty()).then_some(bytes)));
        }
        let root = self.groups.iter().flat_map(|(key, group)| [*key, group.put_by]);
        parts.push((ROOT, Some(root.flat_map(u64::to_le_bytes).collect())));
        parts
    }
}

impl Group {
    fn entries(&self, key: u64, get: impl Fn(u64) -> Stored) -> Result<&Entries, PagesError> {
        if let Some(entries) = self.entries.get() {
            return Ok(entries);
        }
        let place = Place { table: LEDGER, key, number: self.put_by };
        let stored = get(key)?.ok_or_else(|| place.damaged(PageDamage::Missing))?;
        let entries = read_entries(&place.open(&stored)?);
        let entries = entries.ok_or_else(|| place.damaged(PageDamage::Ledger))?;
        Ok(self.entries.get_or_init(|| Arc::new(entries)))
    }

    fn entries_mut(
        &mut self,
        key: u64,
        get: impl Fn(u64) -> Stored,
    ) -> Result<&mut Entries, PagesError> {
        self.entries(key, get)?;
        Ok(Arc::make_mut(self.entries.get_mut().expect("they have just been read")))
    }
}

fn read_entries(bytes: &[u8]) -> Option<Entries> {
    let (entries, rest) = bytes.as_chunks::<ENTRY>();
    let read = entries.iter().map(|entry| {
        let place = u16::from_le_bytes([entry[0], entry[1]]);
        (u64::from(place) < 1 << GROUP_BITS).then(|| (place, u64_at(entry, 2)))
    });
    read.collect::<Option<Entries>>().filter(|_| rest.is_empty())
}

/// The group that a key is in.
pub(super) fn group_of(table: Table, key: u64) -> (Table, u64) {
    (table, key >> GROUP_BITS)
}

fn group_key((table, group): (Table, u64)) -> u64 {
    (table as u64) << 56 | group
}

/// Is it the key of a group of some table, whose keys there can be?
fn is_group(key: u64) -> bool {
    let is_of_table = Table::ALL.into_iter().any(|table| table as u64 == key >> 56);
    is_of_table && (key & ((1 << 56) - 1)) >> (64 - GROUP_BITS) == 0
}

/// The first key that a group may have.
fn first_key(group_key: u64) -> u64 {
    group_key << 8 >> 8 << GROUP_BITS
}

/// Where a key has its place in its group.
fn place_of(key: u64) -> u16 {
    (key & ((1 << GROUP_BITS) - 1)) as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    type Parts = BTreeMap<u64, Vec<u8>>;

    fn store(stored: &mut Parts, number: u64, parts: Vec<Part>) {
        for (key, bytes) in parts {
            let place = Place { table: LEDGER, key, number };
            match bytes {
                Some(bytes) => drop(stored.insert(key, place.seal(&bytes).unwrap())),
                None => drop(stored.remove(&key)),
            }
        }
    }

    /// With all groups.
    fn load(stored: &Parts) -> Result<Ledger, PagesError> {
        let get = |key| Ok(stored.get(&key).cloned());
        let ledger = Ledger::load(get)?;
        Table::ALL.iter().try_for_each(|table| ledger.keys(*table, 0..=u64::MAX, get).map(drop))?;
        Ok(ledger)
    }

    fn nothing(key: u64) -> super::Stored {
        panic!("{key} is read again");
    }

    /// Two checkpoints: three values in two groups, then one of them again.
    fn two() -> (Parts, Parts) {
        let (mut ledger, mut stored) = (Ledger::default(), Parts::new());
        let keys = [(Table::Slabs, 5), (Table::Slabs, 1 << 33), (Table::Slabs, 6)];
        let put = |(table, key)| ledger.put(table, key, 1, nothing);
        keys.into_iter().try_for_each(put).unwrap();
        let groups = keys.map(|(table, key)| group_of(table, key)).into();
        store(&mut stored, 1, ledger.advance(1, &groups));
        let before = stored.clone();
        ledger.put(Table::Slabs, 6, 2, nothing).unwrap();
        store(&mut stored, 2, ledger.advance(2, &[group_of(Table::Slabs, 6)].into()));
        (before, stored)
    }

    #[test]
    fn it_comes_back() {
        let (before, after) = two();
        let [before, after] = [&before, &after].map(|stored| load(stored).unwrap());
        assert_eq!((before.number, after.number), (1, 2));
        let one = |ledger: &Ledger, key| ledger.put_by(Table::Slabs, key, nothing).unwrap();
        let put_by = |ledger: &Ledger| [5, 6, 7].map(|key| one(ledger, key));
        assert_eq!(put_by(&before), [Some(1), Some(1), None]);
        assert_eq!(put_by(&after), [Some(1), Some(2), None]);
        assert_eq!(after.keys(Table::Slabs, 6..=u64::MAX, nothing).unwrap(), [6, 1 << 33]);
        assert_eq!(after.put_by(Table::State, 5, nothing).unwrap(), None);
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
