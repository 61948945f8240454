//! Rendered pages, each as long as nothing newer is there.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use jungle::BranchId;

use crate::tag::Edition;

/// Pages that are kept; where there are more, all are forgotten.
const PAGES_MAX: usize = 1000;

/// Bytes of all of them together, likewise.
const BYTES_MAX: usize = 64 << 20;

#[derive(Default)]
pub(crate) struct Cache(Mutex<Pages>);

#[derive(Default)]
struct Pages {
    by_board: HashMap<BranchId, HashMap<Box<str>, (Edition, Bytes)>>,
    count: usize,
    bytes: usize,
}

impl Cache {
    fn lock(&self) -> MutexGuard<'_, Pages> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The page of a board that a query asks for, made if it is not there.
    pub(super) fn page<E>(
        &self,
        (board, query): (BranchId, &str),
        edition: Edition,
        make: impl FnOnce() -> Result<String, E>,
    ) -> Result<Bytes, E> {
        if let Some((of, page)) = self.lock().by_board.get(&board).and_then(|it| it.get(query))
            && *of == edition
        {
            return Ok(page.clone());
        }
        let page = Bytes::from(make()?);
        let mut pages = self.lock();
        if pages.count >= PAGES_MAX || pages.bytes + page.len() > BYTES_MAX {
            *pages = Pages::default();
        }
        pages.count += 1;
        pages.bytes += page.len();
        let of_board = pages.by_board.entry(board).or_default();
        if let Some((_, old)) = of_board.insert(query.into(), (edition, page.clone())) {
            pages.count -= 1;
            pages.bytes -= old.len();
        }
        Ok(page)
    }
}
