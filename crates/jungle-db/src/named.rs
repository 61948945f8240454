//! What has a name, which may change, and an id, which never does: found by either.

use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;
use std::ops::Deref;
use std::sync::Arc;

/// What is found by its id, too.
pub(crate) trait Identified {
    type Id: Copy + Eq + Hash;

    fn id(&self) -> Self::Id;
}

/// Things in the order of their names; read as the map that it is.
pub(crate) struct Named<T: Identified> {
    by_name: BTreeMap<Arc<str>, Arc<T>>,
    names: HashMap<T::Id, Arc<str>>,
}

impl<T: Identified> Named<T> {
    /// Gives back what had the name.
    pub(crate) fn insert(&mut self, name: Arc<str>, it: Arc<T>) -> Option<Arc<T>> {
        let before = self.remove(&name);
        self.names.insert(it.id(), Arc::clone(&name));
        self.by_name.insert(name, it);
        before
    }

    pub(crate) fn remove(&mut self, name: &str) -> Option<Arc<T>> {
        let gone = self.by_name.remove(name)?;
        self.names.remove(&gone.id());
        Some(gone)
    }

    pub(crate) fn by_id(&self, id: T::Id) -> Option<(&Arc<str>, &Arc<T>)> {
        self.by_name.get_key_value(self.names.get(&id)?)
    }
}

impl<T: Identified> Default for Named<T> {
    fn default() -> Named<T> {
        Named { by_name: BTreeMap::new(), names: HashMap::new() }
    }
}

impl<T: Identified> Deref for Named<T> {
    type Target = BTreeMap<Arc<str>, Arc<T>>;

    fn deref(&self) -> &Self::Target {
        &self.by_name
    }
}
