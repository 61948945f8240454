//! Rendered pages, each as long as nothing newer is there.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use jungle::BranchId;

use crate::etag::Edition;

/// Pages that are kept; where there are more, all are forgotten.
const PAGES_MAX: usize = 1000;

/// Bytes of all of them together, with the queries that they are found by, likewise.
const BYTES_MAX: usize = 64 << 20;

/// Of which board a page is, and for whom.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct View {
    pub(super) board: BranchId,
    /// The name that its links have. Another name is no other revision.
    pub(super) name: Arc<str>,
    /// May they post to it?
    pub(super) may_post: bool,
}

#[derive(Default)]
pub(crate) struct Cache(Mutex<Pages>);

#[derive(Default)]
struct Pages {
    by_view: HashMap<View, HashMap<Box<str>, (Edition, Bytes)>>,
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
        (view, query): (View, &str),
        edition: Edition,
        make: impl FnOnce() -> Result<String, E>,
    ) -> Result<Bytes, E> {
        if let Some((of, page)) = self.lock().by_view.get(&view).and_then(|it| it.get(query))
            && *of == edition
        {
            return Ok(page.clone());
        }
        let page = Bytes::from(make()?);
        let bytes = page.len() + query.len();
        let mut pages = self.lock();
        if pages.count >= PAGES_MAX || pages.bytes + bytes > BYTES_MAX {
            *pages = Pages::default();
        }
        pages.count += 1;
        pages.bytes += bytes;
        let of_view = pages.by_view.entry(view).or_default();
        if let Some((_, old)) = of_view.insert(query.into(), (edition, page.clone())) {
            pages.count -= 1;
            pages.bytes -= old.len() + query.len();
        }
        Ok(page)
    }
}

#[cfg(test)]
mod tests {
    use jungle::{Jungle, Memory, Revision};

    use super::*;

    #[test]
    fn long_queries_take_up_room_as_pages_do() {
        let board = Jungle::memory().unwrap().create_tree("b").unwrap().branch_id();
        let cache = Cache::default();
        let view = View { board, name: "b".into(), may_post: true };
        // What says nothing may be in a query as often as one likes.
        for count in (0..=(2 * BYTES_MAX) >> 18).chain([0, 0]) {
            let query = "&".repeat((1 << 18) + count);
            let edition = Edition::from(Revision::new(count as u64));
            let make = || Ok::<_, ()>("a page".to_owned());
            assert_eq!(
                cache.page((view.clone(), &query), edition, make),
                Ok(Bytes::from("a page"))
            );
            let pages = cache.lock();
            let queries = pages.by_view.values().flatten();
            let held: usize = queries.map(|(query, (_, page))| query.len() + page.len()).sum();
            assert!(held == pages.bytes && held <= BYTES_MAX, "{held} {}", pages.bytes);
        }
    }
}
