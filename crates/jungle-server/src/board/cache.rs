//! Rendered pages, each as long as its revision is the newest.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use jungle::{BranchId, Revision};

/// Pages that are kept; where there are more, all are forgotten.
const PAGES_MAX: usize = 1000;

/// Bytes of all of them together, likewise.
const BYTES_MAX: usize = 64 << 20;

#[derive(Default)]
pub(crate) struct Cache(Mutex<Pages>);

#[derive(Default)]
struct Pages {
    by_place: HashMap<(BranchId, Box<str>), (Revision, Bytes)>,
    bytes: usize,
}

impl Cache {
    fn lock(&self) -> MutexGuard<'_, Pages> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The page of a board that a query asks for, made if it is not there.
    pub(super) fn page<E>(
        &self,
        place: (BranchId, &str),
        revision: Revision,
        make: impl FnOnce() -> Result<String, E>,
    ) -> Result<Bytes, E> {
        let place = (place.0, Box::from(place.1));
        if let Some((of, page)) = self.lock().by_place.get(&place)
            && *of == revision
        {
            return Ok(page.clone());
        }
        let page = Bytes::from(make()?);
        let mut pages = self.lock();
        if pages.by_place.len() >= PAGES_MAX || pages.bytes + page.len() > BYTES_MAX {
            *pages = Pages::default();
        }
        pages.bytes += page.len();
        if let Some((_, old)) = pages.by_place.insert(place, (revision, page.clone())) {
            pages.bytes -= old.len();
        }
        Ok(page)
    }
}
