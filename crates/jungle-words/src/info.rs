//! What is told of a revision.

use std::collections::BTreeMap;

use jungle_db::{RevisionInfo, TreeHandle};
use serde::Serialize;

use crate::time;

/// What is told of a revision; the names of the fields are those of the JSON form.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Info {
    /// Its number.
    pub revision: u64,
    /// When it was committed, as [`time::text`] writes it.
    pub time: String,
    /// Who committed it.
    pub author: Option<String>,
    /// Why.
    pub message: Option<String>,
    /// The tags it has.
    pub tags: Vec<String>,
}

/// The tags of a tree, by revision.
#[derive(Clone, Debug, Default)]
pub struct Tags(BTreeMap<u64, Vec<String>>);

impl Tags {
    /// Those of a tree as they are now.
    #[must_use]
    pub fn of(tree: &TreeHandle) -> Tags {
        let mut tags: BTreeMap<u64, Vec<String>> = BTreeMap::new();
        for (name, revision) in tree.list_tags() {
            tags.entry(revision.number()).or_default().push(name.to_string());
        }
        Tags(tags)
    }

    /// What is told of a revision of that tree.
    #[must_use]
    pub fn info(&self, info: &RevisionInfo) -> Info {
        let revision = info.revision.number();
        Info {
            revision,
            time: time::text(info.time),
            author: info.meta.author_name().map(str::to_owned),
            message: info.meta.message_text().map(str::to_owned),
            tags: self.0.get(&revision).cloned().unwrap_or_default(),
        }
    }
}
