//! Who made, named and deleted which trees, branches, tags and indexes, and said what is kept: all
//! commits but those of edits, which histories tell.
//!
//! The log has them, for as long as it is there; where a branch does not keep everything, it is cut
//! off. So each checkpoint takes them out of the segments that were ended (`take.rs`), before any
//! of these is removed, and keeps them in pages of rows (`kept.rs`). What deletes a tree has its
//! number only: the names are followed from event to event (`names.rs`), and a row has them as they
//! were then.

mod kept;
mod names;
mod take;

use jungle_db::{CommitMeta, Durability, Event, Revision, Timestamp};

use self::kept::Head;
use self::names::Names;
pub(crate) use self::take::{carry, ready, take};
use crate::checkpoint::load;
use crate::disk::Disk;
use crate::error::{Damage, LogError, OpenError};
use crate::log::recover::segments;
use crate::log::segment::LOG;
use crate::log::walk::{Place, read};
use crate::pages::{Pages, PagesError};
use crate::record::{DecodeError, decode_told};
use crate::store::Store;

/// So often it is tried without keeping checkpoints still.
const TRIES: usize = 3;

/// What is looked at, as [`AuditQuery::looked_at_max`] counts it.
const PAGE: usize = 1;
const SEGMENT: usize = 16;

/// Which part of the audit is wanted: [`Store::audit`] has an example.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AuditQuery {
    /// What was done behind this revision.
    pub after: Revision,
    /// So many rows at most; 100 by default, and one at least.
    pub limit: usize,
    /// As soon as so much was looked at, the page ends, whatever was found: what checkpoints keep
    /// counts 1 for each 64 KiB, and 16 for each segment of the log that no checkpoint was written
    /// behind yet. 64 by default; something is looked at in any case.
    pub looked_at_max: usize,
}

impl Default for AuditQuery {
    fn default() -> AuditQuery {
        AuditQuery { after: Revision::default(), limit: 100, looked_at_max: 64 }
    }
}

/// Part of the audit: [`Store::audit`] has an example.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct AuditPage {
    /// From this revision on nothing is missing, on any page. There may be rows before.
    pub complete_from: Revision,
    /// What was done, the oldest first.
    pub rows: Vec<AuditRow>,
    /// Where to go on, if there is more to look at: [behind](AuditQuery::after) this revision. A
    /// page without rows may have it.
    pub next: Option<Revision>,
}

/// One thing that was done, which is no edit.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct AuditRow {
    /// Its revision.
    pub revision: Revision,
    /// When it was committed.
    pub time: Timestamp,
    /// Who did it, and why; each text of more than 4096 bytes is cut off there.
    pub meta: CommitMeta,
    /// What was done.
    pub event: Event,
    /// The name of the tree as it was done: of one that was renamed, the old one. Empty where
    /// nobody knows it any more.
    pub tree: Box<str>,
    /// The name of the branch as it was done, if it is about one and anybody knows it: that was
    /// made or deleted, that a tag points into, or of which it was said what it keeps.
    pub branch: Option<Box<str>>,
}

/// Why the audit cannot be told.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AuditError {
    /// The log cannot be read, or somebody else writes to it.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// What was committed cannot be written to the log.
    #[error(transparent)]
    Log(#[from] LogError),
    /// What checkpoints keep cannot be read, or is damaged.
    #[error(transparent)]
    Pages(#[from] PagesError),
    /// A record of the log is whole but makes no sense.
    #[error("the log has a record, of revision {revision}, that cannot be read: {source}")]
    Record {
        /// Its revision.
        revision: Revision,
        /// Why.
        source: DecodeError,
    },
    /// Something that checkpoints keep is whole but makes no sense.
    #[error("the audit in pages is damaged at key {key} of table state: {source}")]
    Kept {
        /// The key in the table of the state.
        key: u64,
        /// Why.
        source: DecodeError,
    },
    /// Something that checkpoints keep is not there.
    #[error("the audit in pages lacks key {key} of table state")]
    Lacks {
        /// The key in the table of the state.
        key: u64,
    },
    /// What checkpoints keep was written in a format that this version does not know.
    #[error("the audit in pages has format {found}, which this program does not: use a newer one")]
    UnknownFormat {
        /// The number of its format.
        found: u8,
    },
}

impl Store {
    /// Lists who made, named and deleted trees, branches, tags and indexes, or said what is kept:
    /// the oldest first, a page at a time. Each checkpoint takes that over before the log that has
    /// it is removed, so it stays when histories do not: the last 100,000 rows, or 64 MiB of them.
    ///
    /// It is [complete](AuditPage::complete_from) from the first revision on, until there are more
    /// than that. It begins later in a folder whose log was cut off by an older program, or that
    /// [adopted](crate::OpenOptions::adopt) another Jungle.
    ///
    /// # Errors
    /// When part of it is damaged or cannot be read, or somebody else
    /// [writes to the folder](crate::OpenOptions::beside_a_writer). Commits and checkpoints go on.
    ///
    /// ```
    /// use jungle_db::{CommitMeta, Event};
    /// use jungle_store::{AuditQuery, Store};
    /// # let dir = std::env::temp_dir().join(format!("jungle-audit-doc-{}", std::process::id()));
    /// let store = Store::open(&dir)?;
    /// let (ana, ben) = (CommitMeta::new().author("ana"), CommitMeta::new().author("ben"));
    /// store.by(&ana).create_tree("board")?.update(|tx| tx.append(&[]))?;
    /// store.by(&ben).delete_tree("board")?;
    ///
    /// let mut query = AuditQuery { limit: 1, ..AuditQuery::default() };
    /// let page = store.audit(&query)?;
    /// assert!(matches!(page.rows[0].event, Event::TreeCreated { .. }));
    /// query.after = page.next.expect("there is more");
    /// let page = store.audit(&query)?;
    /// let deleted = &page.rows[0];
    /// assert!(matches!(deleted.event, Event::TreeDeleted { .. }));
    /// assert_eq!((&*deleted.tree, deleted.meta.author_name()), ("board", Some("ben")));
    /// assert_eq!((page.next, page.complete_from.number()), (None, 1));
    /// # drop(store);
    /// # std::fs::remove_dir_all(&dir)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn audit(&self, query: &AuditQuery) -> Result<AuditPage, AuditError> {
        self.must_stand_still()?;
        let up_to = self.revision().number();
        // From here on the files have all of it.
        self.log().wait(up_to, Durability::Buffered)?;
        let checkpoint = || self.checkpoints.opened().map_or(Ok(0), |pages| pages.checkpoint());
        // Who copies or verifies the folder keeps checkpoints still for as long as that takes, and
        // nobody is to wait for them here: what was listed is right if no checkpoint came between.
        for _ in 0..TRIES {
            let before = checkpoint()?;
            let listed = self.list(query, up_to);
            if checkpoint()? == before {
                return listed;
            }
        }
        let _still = self.checkpoints.still();
        self.list(query, up_to)
    }

    fn list(&self, query: &AuditQuery, up_to: u64) -> Result<AuditPage, AuditError> {
        let pages = self.checkpoints.opened().map(|pages| &**pages);
        let head = match pages {
            Some(pages) => Head::read(pages)?,
            None => Head::default(),
        };
        let mut firsts = segments(&**self.disk()).map_err(OpenError::from)?;
        firsts.retain(|&first| first >= head.next);
        // A program that knows nothing of this has cut the log off, or it never began with 1.
        let late = firsts.first().copied().filter(|&first| first > head.next);
        let mut listing = Listing::begin(query, up_to);
        if let Some(pages) = pages {
            listing.look_at_pages(pages, &head)?;
        }
        if !listing.is_over() {
            let names = pages.map_or(Ok(Names::default()), |pages| names(pages, late))?;
            listing.look_at_log(&**self.disk(), &firsts, names)?;
        }
        Ok(listing.end(late.unwrap_or(head.complete_from)))
    }
}

/// The names at the first segment that was not taken.
fn names(pages: &dyn Pages, late: Option<u64>) -> Result<Names, AuditError> {
    let mut names = Names::read(pages)?;
    if late.is_some()
        && let Some(loaded) = load(pages).map_err(OpenError::from)?
    {
        names.add_state(&loaded.state);
    }
    Ok(names)
}

/// A page that is being made.
struct Listing {
    after: u64,
    /// The newest revision.
    up_to: u64,
    limit: usize,
    looked_at_max: usize,
    rows: Vec<AuditRow>,
    /// Was there one more row than wanted?
    has_more: bool,
    looked_at: usize,
    /// All up to this revision was looked at.
    seen: u64,
}

impl Listing {
    fn begin(query: &AuditQuery, up_to: u64) -> Listing {
        let AuditQuery { after, limit, looked_at_max } = *query;
        let (after, limit) = (after.number(), limit.max(1));
        let (rows, has_more, looked_at, seen) = (Vec::new(), false, 0, after);
        let looked_at_max = looked_at_max.max(1);
        Listing { after, up_to, limit, looked_at_max, rows, has_more, looked_at, seen }
    }

    /// Is there nothing more to be looked at?
    fn is_over(&self) -> bool {
        self.rows.len() >= self.limit
            || self.looked_at >= self.looked_at_max
            || self.seen >= self.up_to
    }

    fn look_at_pages(&mut self, pages: &dyn Pages, head: &Head) -> Result<(), AuditError> {
        let wanted = self.after.saturating_add(1);
        if wanted >= head.next {
            return Ok(());
        }
        let begin = head.pages.partition_point(|page| page.first <= wanted).saturating_sub(1);
        for index in begin..head.pages.len() {
            if self.is_over() {
                return Ok(());
            }
            head.rows(pages, index)?.into_iter().for_each(|row| self.add(row));
            let next = head.pages.get(index + 1).map_or(head.next, |page| page.first);
            self.looked(next, PAGE);
        }
        if head.pages.is_empty() {
            self.looked(head.next, 0);
        }
        Ok(())
    }

    /// Looks at the segments of which these are the first revisions.
    fn look_at_log(
        &mut self,
        disk: &dyn Disk,
        firsts: &[u64],
        mut names: Names,
    ) -> Result<(), AuditError> {
        let (up_to, mut before): (u64, Option<Place>) = (self.up_to, None);
        for &first in firsts.iter().filter(|&&first| first <= up_to) {
            let segment = read(disk, first, before.as_ref(), None, up_to)?;
            segment.each_record(|revision, bytes| {
                let record = decode_told(bytes, revision);
                let record = record.map_err(|source| AuditError::Record { revision, source })?;
                if let Some(record) = record {
                    self.add(names.row(record));
                }
                Ok::<(), AuditError>(())
            })?;
            self.looked(segment.end.next, SEGMENT);
            if self.is_over() {
                return Ok(());
            }
            before = Some(segment.end);
        }
        let newest = Some(Revision::new(self.seen));
        Err(OpenError::damaged(LOG, 0, newest, Damage::EndsEarly).into())
    }

    fn add(&mut self, row: AuditRow) {
        let revision = row.revision.number();
        if revision <= self.after || revision > self.up_to {
            return;
        }
        match self.rows.len() < self.limit {
            true => self.rows.push(row),
            false => self.has_more = true,
        }
    }

    /// All before this revision was looked at. What was read for the names only does not count:
    /// each page gets on.
    fn looked(&mut self, next: u64, count: usize) {
        let seen = next.saturating_sub(1);
        if seen > self.after {
            self.looked_at += count;
        }
        self.seen = self.seen.max(seen);
    }

    fn end(self, complete_from: u64) -> AuditPage {
        let last = self.rows.last().map(|row| row.revision);
        let next = match self.has_more {
            true => last,
            false => (self.seen < self.up_to).then(|| Revision::new(self.seen)),
        };
        AuditPage { complete_from: Revision::new(complete_from), rows: self.rows, next }
    }
}
