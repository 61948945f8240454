//! Places of which there are only so many, and only so many for each who wants one.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Places, and how many of them are whose.
pub(crate) struct Places<K> {
    all: usize,
    taken: Mutex<HashMap<K, usize>>,
}

/// A place, until it is dropped.
pub(crate) struct Place<K: Clone + Eq + Hash> {
    places: Arc<Places<K>>,
    whose: K,
}

/// Why there is no place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoPlace {
    /// All are taken.
    AtAll,
    /// That one has as many as it may have.
    OfIts,
}

impl<K: Clone + Eq + Hash> Places<K> {
    pub(crate) fn new(all: usize) -> Places<K> {
        Places { all, taken: Mutex::default() }
    }

    /// How many there are.
    pub(crate) fn all(&self) -> usize {
        self.all
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<K, usize>> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A place for one who may have `of_one`.
    pub(crate) fn take(self: &Arc<Self>, whose: K, of_one: usize) -> Result<Place<K>, NoPlace> {
        let mut taken = self.lock();
        let here = taken.get(&whose).copied().unwrap_or(0);
        if taken.values().sum::<usize>() >= self.all {
            return Err(NoPlace::AtAll);
        }
        if here >= of_one {
            return Err(NoPlace::OfIts);
        }
        taken.insert(whose.clone(), here + 1);
        Ok(Place { places: Arc::clone(self), whose })
    }
}

impl<K: Clone + Eq + Hash> Drop for Place<K> {
    fn drop(&mut self) {
        let mut taken = self.places.lock();
        if let Some(here) = taken.get_mut(&self.whose) {
            *here -= 1;
            if *here == 0 {
                taken.remove(&self.whose);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_has_more_places_than_a_share() {
        let places = Arc::new(Places::new(3));
        let first = places.take("ana", 2).unwrap();
        let _second = places.take("ana", 2).unwrap();
        assert_eq!(places.take("ana", 2).err(), Some(NoPlace::OfIts));
        let _third = places.take("ben", 2).unwrap();
        assert_eq!(places.take("ben", 2).err(), Some(NoPlace::AtAll));
        drop(first);
        assert!(places.take("ben", 2).is_ok());
        assert_eq!(places.lock().len(), 2);
    }
}
