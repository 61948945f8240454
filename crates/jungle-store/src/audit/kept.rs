//! What checkpoints keep of it, in the table of the state, under keys that programs without it
//! leave as they are: a head, the names, and pages of rows.

use std::collections::VecDeque;

use jungle_db::{CommitRecord, Revision};

use super::names::Names;
use super::{AuditError, AuditRow};
use crate::pages::{Checkpoint, Pages, PagesError, Table};
use crate::record::{DecodeError, DecodeReason, decode_told, encode};
use crate::wire::{Input, put_bytes, put_varint};

const HEAD: u64 = 1;

/// All keys from this one on are of the audit.
pub(super) const FIRST_KEY: u64 = HEAD;

/// The names at the place up to which the log was taken.
const NAMES: u64 = 2;

/// From here on there are the pages.
const PAGES: u64 = 1 << 32;

/// The version of all that: a head of another one is left as it is.
const FORMAT: u8 = 1;

/// How much is kept.
#[derive(Clone, Copy)]
pub(super) struct Limits {
    /// When there are more of these, the oldest pages go.
    pub(super) rows: u64,
    pub(super) bytes: u64,
    /// A page that has so much gets no more rows.
    pub(super) page_rows: u64,
    pub(super) page_bytes: u64,
}

pub(super) const LIMITS: Limits =
    Limits { rows: 100_000, bytes: 64 << 20, page_rows: 512, page_bytes: 64 << 10 };

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    /// From this revision on nothing is missing.
    pub(super) complete_from: u64,
    /// The first revision of the first segment of the log that is not taken yet.
    pub(super) next: u64,
    /// The number of the first page.
    first_page: u64,
    pub(super) pages: VecDeque<Page>,
}

/// What the head says of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Page {
    /// The revision of its first row.
    pub(super) first: u64,
    rows: u64,
    bytes: u64,
}

/// That of a folder from which nothing was taken yet.
impl Default for Head {
    fn default() -> Head {
        Head { complete_from: 1, next: 1, first_page: 0, pages: VecDeque::new() }
    }
}

impl Head {
    pub(super) fn read(pages: &dyn Pages) -> Result<Head, AuditError> {
        let bytes = if pages.checkpoint()? > 0 { pages.get(Table::State, HEAD)? } else { None };
        let Some(bytes) = bytes else { return Ok(Head::default()) };
        let mut input = Input::new(&bytes);
        let unreadable = |source| AuditError::Kept { key: HEAD, source };
        match input.byte().map_err(unreadable)? {
            FORMAT => Head::fields(&mut input).map_err(unreadable),
            found => Err(AuditError::UnknownFormat { found }),
        }
    }

    fn fields(input: &mut Input<'_>) -> Result<Head, DecodeError> {
        let (complete_from, next, first_page) = (input.varint()?, input.varint()?, input.varint()?);
        if first_page >= PAGES {
            return Err(input.error(DecodeReason::NumberTooLarge));
        }
        let (mut pages, mut above) = (VecDeque::new(), 0);
        for _ in 0..input.varint()? {
            let page =
                Page { first: input.varint()?, rows: input.varint()?, bytes: input.varint()? };
            if !(above + 1..next).contains(&page.first) {
                return Err(input.error(DecodeReason::NumberTooLarge));
            }
            above = page.first;
            pages.push_back(page);
        }
        match input.is_empty() {
            true => Ok(Head { complete_from, next, first_page, pages }),
            false => Err(input.error(DecodeReason::TooLong)),
        }
    }

    fn to_bytes(&self) -> Vec<u8> {
        let mut out = vec![FORMAT];
        let Head { complete_from, next, first_page, pages } = self;
        for &number in [complete_from, next, first_page, &(pages.len() as u64)] {
            put_varint(&mut out, number);
        }
        for &Page { first, rows, bytes } in pages {
            [first, rows, bytes].iter().for_each(|&number| put_varint(&mut out, number));
        }
        out
    }

    fn key(&self, page: usize) -> u64 {
        PAGES + self.first_page + page as u64
    }

    /// The rows of one of the pages.
    pub(super) fn rows(&self, from: &dyn Pages, page: usize) -> Result<Vec<AuditRow>, AuditError> {
        let key = self.key(page);
        let bytes = from.get(Table::State, key)?.ok_or(AuditError::Lacks { key })?;
        get_rows(&bytes).map_err(|source| AuditError::Kept { key, source })
    }

    /// The bytes of the last page, if it gets more rows.
    pub(super) fn open_page(
        &self,
        pages: &dyn Pages,
        limits: &Limits,
    ) -> Result<Option<Vec<u8>>, AuditError> {
        let Some(last) = self.pages.back().filter(|last| !last.is_full(limits)) else {
            return Ok(None);
        };
        let key = self.key(self.pages.len() - 1);
        let bytes = pages.get(Table::State, key)?.filter(|it| it.len() as u64 == last.bytes);
        bytes.ok_or(AuditError::Lacks { key }).map(Some)
    }

    fn is_beyond(&self, limits: &Limits) -> bool {
        let sum = |of: fn(&Page) -> u64| self.pages.iter().map(of).fold(0, u64::saturating_add);
        sum(|page| page.rows) > limits.rows || sum(|page| page.bytes) > limits.bytes
    }
}

impl Names {
    /// Those up to which the log was taken.
    pub(super) fn read(pages: &dyn Pages) -> Result<Names, AuditError> {
        let bytes = if pages.checkpoint()? > 0 { pages.get(Table::State, NAMES)? } else { None };
        let names = bytes.map(|bytes| Names::from_bytes(&bytes)).transpose();
        Ok(names.map_err(|source| AuditError::Kept { key: NAMES, source })?.unwrap_or_default())
    }
}

/// Rows that are put behind those that are there, into a checkpoint that is being written.
pub(super) struct Filling<'w> {
    pub(super) head: Head,
    writing: &'w mut dyn Checkpoint,
    limits: Limits,
    /// The bytes of the last page, while it gets more rows.
    open: Option<Vec<u8>>,
}

impl<'w> Filling<'w> {
    pub(super) fn begin(
        head: Head,
        open: Option<Vec<u8>>,
        writing: &'w mut dyn Checkpoint,
        limits: Limits,
    ) -> Filling<'w> {
        Filling { head, writing, limits, open }
    }

    pub(super) fn add(&mut self, row: &AuditRow) -> Result<(), PagesError> {
        let pages = &mut self.head.pages;
        if self.open.is_none() {
            pages.push_back(Page { first: row.revision.number(), rows: 0, bytes: 0 });
        }
        let bytes = self.open.get_or_insert_default();
        put_row(bytes, row);
        let page = pages.back_mut().expect("the one that is open is there");
        page.rows += 1;
        page.bytes = bytes.len() as u64;
        if page.is_full(&self.limits) { self.close() } else { Ok(()) }
    }

    /// Puts the last page, and removes those that are too many.
    fn close(&mut self) -> Result<(), PagesError> {
        if let Some(bytes) = self.open.take() {
            let key = self.head.key(self.head.pages.len() - 1);
            self.writing.put(Table::State, key, &bytes)?;
        }
        while self.head.pages.len() > 1 && self.head.is_beyond(&self.limits) {
            self.writing.remove(Table::State, self.head.key(0))?;
            self.head.pages.pop_front();
            self.head.first_page += 1;
            self.head.complete_from = self.head.complete_from.max(self.head.pages[0].first);
        }
        Ok(())
    }

    /// Puts the rest; gives the head as it is now.
    pub(super) fn end(mut self, names: &Names) -> Result<Head, PagesError> {
        self.close()?;
        self.writing.put(Table::State, NAMES, &names.to_bytes())?;
        self.writing.put(Table::State, HEAD, &self.head.to_bytes())?;
        Ok(self.head)
    }
}

impl Page {
    fn is_full(&self, limits: &Limits) -> bool {
        self.rows >= limits.page_rows || self.bytes >= limits.page_bytes
    }
}

fn put_row(out: &mut Vec<u8>, row: &AuditRow) {
    let AuditRow { revision, time, meta, event, tree, branch } = row.clone();
    let mut record = Vec::new();
    let encoded = encode(&CommitRecord { revision, time, meta, event }, &mut record);
    encoded.expect("it was a record, and is no longer than that");
    put_varint(out, revision.number());
    for bytes in [&*record, tree.as_bytes(), branch.unwrap_or_default().as_bytes()] {
        put_bytes(out, bytes);
    }
}

fn get_rows(bytes: &[u8]) -> Result<Vec<AuditRow>, DecodeError> {
    let (mut input, mut rows) = (Input::new(bytes), Vec::new());
    while !input.is_empty() {
        let revision = Revision::new(input.varint()?);
        let edits = DecodeReason::NoSuchKind { what: "event", kind: 0 };
        let record = decode_told(input.bytes()?, revision)?;
        let CommitRecord { time, meta, event, .. } = record.ok_or_else(|| input.error(edits))?;
        let (tree, branch) = (input.text()?.into(), input.text()?);
        // No name is empty.
        let branch = (!branch.is_empty()).then(|| branch.into());
        rows.push(AuditRow { revision, time, meta, event, tree, branch });
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use jungle_db::{CommitMeta, Event, Timestamp, TreeId};
    use jungle_testkit::for_each_seed;

    use super::*;
    use crate::disk::FolderDisk;
    use crate::pages::{EnginePages, PagesOptions};

    const FEW: Limits = Limits { rows: 20, bytes: 900, page_rows: 5, page_bytes: 250 };

    fn row(revision: u64, tree: &str) -> AuditRow {
        AuditRow {
            revision: Revision::new(revision),
            time: Timestamp::from_micros(revision as i64),
            meta: CommitMeta::new().author("ana"),
            event: Event::TreeDeleted { tree: TreeId(7) },
            tree: tree.into(),
            branch: revision.is_multiple_of(2).then(|| "main".into()),
        }
    }

    fn begin<'w>(
        pages: &dyn Pages,
        writing: &'w mut dyn Checkpoint,
        limits: Limits,
    ) -> Filling<'w> {
        let head = Head::read(pages).unwrap();
        let open = head.open_page(pages, &limits).unwrap();
        Filling::begin(head, open, writing, limits)
    }

    #[test]
    fn the_oldest_pages_go_where_there_are_too_many_rows_or_bytes() {
        for_each_seed(8, |rng| {
            let folder = tempfile::tempdir().unwrap();
            let disk = Arc::new(FolderDisk::create(folder.path()).unwrap());
            let pages = EnginePages::open(disk, PagesOptions::default()).unwrap();
            let (mut all, mut newest) = (Vec::new(), 0);
            for _ in 0..8 {
                let mut writing = pages.begin().unwrap();
                let mut filling = begin(&pages, &mut *writing, FEW);
                for _ in 0..rng.below(30) {
                    newest += rng.range(1..4);
                    let row = row(newest, &"x".repeat(rng.index(60)));
                    filling.add(&row).unwrap();
                    all.push(format!("{row:?}"));
                }
                filling.head.next = newest + 1;
                let head = filling.end(&Names::default()).unwrap();
                writing.commit().unwrap();
                assert_eq!(Head::read(&pages).unwrap(), head);
                let count = head.pages.len();
                let rows = (0..count).flat_map(|page| head.rows(&pages, page).unwrap());
                let kept: Vec<String> = rows.map(|row| format!("{row:?}")).collect();
                assert!(all.ends_with(&kept), "{kept:?} of {all:?}");
                assert!(count <= 1 || !head.is_beyond(&FEW), "{head:?}");
                let keys: Vec<u64> = (0..count).map(|page| head.key(page)).collect();
                assert_eq!(pages.keys(Table::State, PAGES..=u64::MAX).unwrap(), keys);
                let is_all = kept.len() == all.len();
                let from = if is_all { 1 } else { head.pages[0].first };
                assert_eq!(head.complete_from, from);
            }
            assert!(all.len() > FEW.rows as usize, "some pages went");
        });
    }
}
