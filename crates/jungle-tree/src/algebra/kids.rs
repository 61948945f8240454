//! The children of a node that a list of changes speaks of.

use std::collections::BTreeMap;

use crate::key::{Key, Position};

/// A number for a node that changes speak of.
pub(super) type Id = u32;

/// No node: of a child, that there is none (any more); of a parent, that the node is not there.
pub(super) const NONE: Id = Id::MAX;

/// Beyond this many, a sorted list is slower to insert into than a map.
const FEW: usize = 32;

/// Children by key. Most have one or none, and a path may be very long, so those are kept small.
#[derive(Debug)]
pub(super) enum Kids {
    Few(Vec<(Key, Id)>),
    Many(BTreeMap<Key, Id>),
}

impl Default for Kids {
    fn default() -> Kids {
        Kids::Few(Vec::new())
    }
}

impl Kids {
    pub(super) fn get(&self, key: &Key) -> Option<Id> {
        match self {
            Kids::Few(list) => {
                let at = list.binary_search_by(|(other, _)| other.cmp(key)).ok()?;
                Some(list[at].1)
            }
            Kids::Many(map) => map.get(key).copied(),
        }
    }

    pub(super) fn set(&mut self, key: Key, id: Id) {
        match self {
            Kids::Few(list) => match list.binary_search_by(|(other, _)| other.cmp(&key)) {
                Ok(at) => list[at].1 = id,
                Err(at) if list.len() < FEW => {
                    list.reserve_exact(usize::from(list.is_empty()));
                    list.insert(at, (key, id));
                }
                Err(_) => {
                    let mut map: BTreeMap<Key, Id> = std::mem::take(list).into_iter().collect();
                    map.insert(key, id);
                    *self = Kids::Many(map);
                }
            },
            Kids::Many(map) => {
                map.insert(key, id);
            }
        }
    }

    pub(super) fn remove(&mut self, key: &Key) {
        match self {
            Kids::Few(list) => {
                if let Ok(at) = list.binary_search_by(|(other, _)| other.cmp(key)) {
                    list.remove(at);
                }
            }
            Kids::Many(map) => {
                map.remove(key);
            }
        }
    }

    /// The children, in order; those that are gone ([`NONE`]) too.
    pub(super) fn ids(&self) -> Vec<Id> {
        match self {
            Kids::Few(list) => list.iter().map(|&(_, id)| id).collect(),
            Kids::Many(map) => map.values().copied().collect(),
        }
    }

    /// The same with their keys.
    pub(super) fn entries(&self) -> Vec<(&Key, Id)> {
        match self {
            Kids::Few(list) => list.iter().map(|(key, id)| (key, *id)).collect(),
            Kids::Many(map) => map.iter().map(|(key, id)| (key, *id)).collect(),
        }
    }

    /// The first position that is spoken of, there or gone.
    pub(super) fn first_position(&self) -> Option<Position> {
        let key = match self {
            Kids::Few(list) => list.first().map(|(key, _)| key),
            Kids::Many(map) => map.keys().next(),
        };
        key.and_then(position)
    }

    /// The last position that is spoken of, there or gone.
    pub(super) fn last_position(&self) -> Option<Position> {
        let first_name = Key::from("");
        let key = match self {
            Kids::Few(list) => {
                let end = list.partition_point(|(key, _)| *key < first_name);
                list[..end].last().map(|(key, _)| key)
            }
            Kids::Many(map) => map.range(..first_name).next_back().map(|(key, _)| key),
        };
        key.and_then(position)
    }

    /// The next position behind this one that is spoken of.
    pub(super) fn position_behind(&self, key: &Key) -> Option<Position> {
        let next = match self {
            Kids::Few(list) => {
                let at = list.partition_point(|(other, _)| other <= key);
                list.get(at).map(|(key, _)| key)
            }
            Kids::Many(map) => {
                let behind = (std::ops::Bound::Excluded(key), std::ops::Bound::Unbounded);
                map.range::<Key, _>(behind).next().map(|(key, _)| key)
            }
        };
        next.and_then(position)
    }
}

pub(super) fn position(key: &Key) -> Option<Position> {
    match key {
        Key::Position(position) => Some(position.clone()),
        Key::Name(_) => None,
    }
}
