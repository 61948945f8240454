//! What is told of a revision.

use std::collections::BTreeMap;

use jungle_db::{RevisionInfo, TreeHandle};
use serde::{Deserialize, Serialize};

use crate::time;

/// What is told of a revision; the names of the fields are those of the JSON form.
///
/// ```
/// use jungle_db::{CommitMeta, CommitOptions, Jungle};
/// use jungle_words::Tags;
/// let tree = Jungle::new()?.create_tree("board")?;
/// let options = CommitOptions::from(&CommitMeta::new().author("ana").message("begin"));
/// let posted = tree.update_with(&options, |tx| tx.append(&[]))?;
/// tree.tag("first", posted.revision)?;
///
/// let info = Tags::of(&tree).info(&tree.history(..).next().unwrap()?);
/// assert_eq!((info.revision, info.tags), (posted.revision.number(), vec!["first".to_owned()]));
/// assert_eq!((info.author.as_deref(), info.message.as_deref()), (Some("ana"), Some("begin")));
/// assert_eq!(info.time, "1970-01-01T00:00:00.000000Z"); // It was given no clock.
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Deserialize, Serialize)]
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

/// The tags of a tree, by revision: [`Info`] has an example.
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
