//! What is told of a folder that was verified, here and by `jungle verify --json`; the names of the
//! fields are those of the JSON form.
//!
//! ```
//! use jungle::Store;
//! use jungle_server::verify::Whole;
//! # let dir = std::env::temp_dir().join(format!("jungle-whole-{}", std::process::id()));
//! let store = Store::open(&dir)?;
//! store.create_tree("board")?;
//! let told = Whole::of(&store, &store.verify()?);
//! assert_eq!((told.whole, told.revision, told.nodes), (true, 1, 1));
//! # drop(store);
//! # std::fs::remove_dir_all(&dir)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::ops::RangeInclusive;

use jungle::{Remedy, Revision, Store, Survey, Verified, VerifyError};
use serde::Serialize;

/// Of a folder in which nothing is damaged: see the [module](self).
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Whole {
    /// It is.
    pub whole: bool,
    /// The newest revision.
    pub revision: u64,
    /// The newest revision that is in the checkpoint.
    pub checkpoint: Option<u64>,
    /// Does the log go back to the first revision?
    pub log_is_complete: bool,
    /// Of the log.
    pub segments: u64,
    /// All of them.
    pub log_bytes: u64,
    /// Was it closed in order, before it was opened?
    pub was_closed: bool,
    /// Bytes behind the end that were never acknowledged.
    pub torn_bytes: u64,
    /// How many there are.
    pub trees: u64,
    /// Those of all trees.
    pub branches: u64,
    /// Those of their newest versions.
    pub nodes: u64,
}

impl Whole {
    /// What is told of what was found in an open folder.
    #[must_use]
    pub fn of(store: &Store, found: &Verified) -> Whole {
        Whole {
            whole: true,
            revision: found.revision.number(),
            checkpoint: Some(found.checkpoint.number()).filter(|&newest| newest > 0),
            log_is_complete: found.log_is_complete,
            segments: found.segments,
            log_bytes: found.log_bytes,
            was_closed: store.report().was_closed,
            torn_bytes: found.cut.as_ref().map_or(0, |cut| cut.bytes),
            trees: found.trees,
            branches: found.branches,
            nodes: found.nodes,
        }
    }
}

/// Of a folder that is not whole.
///
/// ```
/// use jungle::{OpenOptions, Store};
/// use jungle_server::verify::Damaged;
/// # let dir = std::env::temp_dir().join(format!("jungle-damaged-{}", std::process::id()));
/// let store = Store::open(&dir)?;
/// store.create_tree("board")?;
/// store.close()?;
/// let first = dir.join("log/00000000000000000001.log");
/// let mut bytes = std::fs::read(&first)?;
/// bytes[70] ^= 1;
/// std::fs::write(&first, bytes)?;
///
/// let survey = OpenOptions::new().survey(&dir)?;
/// let told = Damaged::from(&survey);
/// assert_eq!((told.whole, told.log_revision, told.remedy), (false, 0, "restore"));
/// assert_eq!(told.damages[0].file, Some("log/00000000000000000001.log"));
/// # std::fs::remove_dir_all(&dir)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Damaged<'s> {
    /// It is not.
    pub whole: bool,
    /// The newest revision that can be read.
    pub revision: u64,
    /// The newest revision of the checkpoint, if that can be opened.
    pub checkpoint: Option<u64>,
    /// The newest revision that the log alone makes again.
    pub log_revision: u64,
    /// Of the log.
    pub segments: u64,
    /// Those in which nothing is damaged.
    pub whole_segments: u64,
    /// First and last revisions whose bytes in the log are whole.
    pub whole_revisions: Vec<[u64; 2]>,
    /// Their names.
    pub whole_trees: &'s [Box<str>],
    /// Their names.
    pub damaged_trees: &'s [Box<str>],
    /// What can be done: `remove-pages`, `take-out` or `restore`.
    pub remedy: &'static str,
    /// Those that are known.
    pub damages: Vec<Damage<'s>>,
    /// How many there are besides.
    pub more_damages: u64,
}

/// One thing that is damaged.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Damage<'s> {
    /// What it is.
    pub message: String,
    /// In which file.
    pub file: Option<&'s str>,
    /// Where in that, in bytes.
    pub offset: Option<u64>,
    /// The newest revision in front of it.
    pub after: Option<u64>,
}

impl<'s> From<&'s Survey> for Damaged<'s> {
    fn from(survey: &'s Survey) -> Damaged<'s> {
        let ends =
            |range: &RangeInclusive<Revision>| [range.start().number(), range.end().number()];
        Damaged {
            whole: false,
            revision: survey.revision.number(),
            checkpoint: survey.checkpoint.map(Revision::number),
            log_revision: survey.log_revision.number(),
            segments: survey.segments,
            whole_segments: survey.whole_segments,
            whole_revisions: survey.whole_revisions.iter().map(ends).collect(),
            whole_trees: &survey.whole_trees,
            damaged_trees: &survey.damaged_trees,
            remedy: match survey.remedy {
                Remedy::RemovePages => "remove-pages",
                Remedy::TakeOut => "take-out",
                _ => "restore",
            },
            damages: survey.damages.iter().map(Damage::from).collect(),
            more_damages: survey.more_damages,
        }
    }
}

impl<'s> From<&'s VerifyError> for Damage<'s> {
    fn from(error: &'s VerifyError) -> Damage<'s> {
        Damage {
            message: error.to_string(),
            file: error.file(),
            offset: error.offset(),
            after: error.after().map(Revision::number),
        }
    }
}
