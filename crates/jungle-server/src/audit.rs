//! Who was refused what, and who had the server do something that no history tells: what is in one
//! has its authors there. That trees, branches, tags and indexes are made or deleted is in the
//! folder as well, with who did it: `api/audit.rs` lists that.

use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use axum::http::Method;

use crate::limits::rate::{Buckets, network};

/// How many notes there are a second, of one address and of all, and how many at once. Whoever
/// is refused can ask again and again.
const PER_ADDRESS: (f64, f64) = (1.0, 50.0);
const OF_ALL: (f64, f64) = (20.0, 500.0);

/// So much of a path is noted, in characters.
const PATH_CHARS: usize = 200;

/// Notes it, as long as it is not too often.
pub(crate) struct Audit {
    by_address: Buckets<Option<IpAddr>>,
    of_all: Buckets<()>,
    /// How many were not noted since the last that was.
    left_out: AtomicU64,
}

/// What was asked, and how it was answered.
pub(crate) struct Asked<'a> {
    /// The user or the token, where that is known. What somebody only says to be is not noted,
    /// since some write their password where the name belongs.
    pub(crate) who: Option<&'a str>,
    pub(crate) address: Option<IpAddr>,
    pub(crate) method: &'a Method,
    pub(crate) path: &'a str,
    /// The tree that was refused, where the path does not say it.
    pub(crate) tree: Option<&'a str>,
    pub(crate) status: u16,
    /// What went wrong, where the server could not do it.
    pub(crate) failure: Option<&'a str>,
}

impl Audit {
    pub(crate) fn new() -> Audit {
        let ((per_second, at_once), (all, all_at_once)) = (PER_ADDRESS, OF_ALL);
        Audit {
            by_address: Buckets::new(per_second, at_once),
            of_all: Buckets::new(all, all_at_once),
            left_out: AtomicU64::new(0),
        }
    }

    pub(crate) fn note(&self, asked: &Asked<'_>, now: Instant) {
        let from = asked.address.map(network);
        if !self.by_address.take(from, now) || !self.of_all.take((), now) {
            self.left_out.fetch_add(1, Ordering::Relaxed);
            return;
        }
        let left_out = Some(self.left_out.swap(0, Ordering::Relaxed)).filter(|&count| count > 0);
        let &Asked { who, address, method, path, tree, status, failure } = asked;
        let who = who.unwrap_or("nobody known");
        let address = address.map(tracing::field::display);
        let path = path.char_indices().nth(PATH_CHARS).map_or(path, |(end, _)| &path[..end]);
        match status {
            400.. => {
                tracing::warn!(
                    who, address, %method, path, tree, status, failure, left_out, "refused"
                );
            }
            _ => tracing::info!(who, address, %method, path, status, left_out, "asked for"),
        }
    }
}

impl Asked<'_> {
    /// Is it noted at the usual level: what was refused, and what was done that no history tells?
    /// While nothing can be written, or there is no room, everybody is refused.
    pub(crate) fn is_told(&self) -> bool {
        match self.status {
            401 | 403 | 429 | 503 | 507 => true,
            400.. => false,
            _ => !self.method.is_safe() && self.is_untold_elsewhere(),
        }
    }

    /// Is it done for the folder or to the outbox, or to a tree otherwise than by a commit?
    fn is_untold_elsewhere(&self) -> bool {
        if let Some(of_tree) = self.path.strip_prefix("/api/v1/trees/") {
            let what = of_tree.split('/').nth(1).unwrap_or_default();
            return !matches!(what, "commits" | "local" | "document" | "reverts" | "merges");
        }
        let folders = ["/api/v1/folder/", "/api/v1/local/"];
        let paths = ["/api/v1/trees", "/api/v1/cluster/checkpoint", "/boards", "/logout"];
        paths.contains(&self.path) || folders.iter().any(|folder| self.path.starts_with(folder))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn what_no_history_tells_is_noted() {
        let is_told = |method: &Method, path: &str| {
            let path = &match path.strip_prefix("../..") {
                Some(page) => page.to_owned(),
                None => format!("/api/v1/{path}"),
            };
            let (who, address, tree, failure) = (None, None, None, None);
            let asked = Asked { who, address, method, path, tree, status: 200, failure };
            asked.is_told()
        };
        for (method, path) in [
            (Method::POST, "trees"),
            (Method::PATCH, "trees/t"),
            (Method::DELETE, "trees/t"),
            (Method::PUT, "trees/t/keep"),
            (Method::POST, "trees/t/branches"),
            (Method::DELETE, "trees/t/branches/draft"),
            (Method::POST, "trees/t/tags"),
            (Method::DELETE, "trees/t/tags/v1"),
            (Method::POST, "trees/t/indexes"),
            (Method::DELETE, "trees/t/indexes"),
            (Method::POST, "folder/gc"),
            (Method::POST, "cluster/checkpoint"),
            (Method::DELETE, "local/5-1"),
            (Method::POST, "../../boards"),
        ] {
            assert!(is_told(&method, path), "{method} {path}");
            assert!(!is_told(&Method::GET, path), "{path}");
        }
        for (method, path) in [
            (Method::POST, "commits"),
            (Method::POST, "trees/t/commits"),
            (Method::POST, "trees/t/local"),
            (Method::PUT, "trees/t/document"),
            (Method::POST, "trees/t/merges"),
            (Method::POST, "trees/t/reverts"),
            (Method::POST, "../../boards/b"),
        ] {
            assert!(!is_told(&method, path), "{method} {path}");
        }
    }

    #[test]
    fn nobody_fills_the_notes() {
        let (audit, start) = (Audit::new(), Instant::now());
        let ask = |(address, status): ([u8; 4], u16), seconds: u64| {
            let (who, tree, failure, path) = (None, None, None, "/");
            let (address, method) = (Some(address.into()), &Method::GET);
            let asked = Asked { who, address, method, path, tree, status, failure };
            assert!(asked.is_told());
            let before = audit.left_out.load(Ordering::Relaxed);
            audit.note(&asked, start + Duration::from_secs(seconds));
            audit.left_out.load(Ordering::Relaxed) <= before
        };
        let noted = |from, seconds| (0..1_000).filter(|_| ask(from, seconds)).count();
        let one = [192, 0, 2, 1];
        assert_eq!((noted((one, 429), 0), noted((one, 503), 3)), (50, 3));
        assert!(ask(([192, 0, 2, 2], 507), 3), "somebody else is noted still");
        assert_eq!(audit.left_out.load(Ordering::Relaxed), 0, "what was left out was told");
        let of_many = (0..=255).map(|last| noted(([198, 51, 100, last], 429), 4)).sum::<usize>();
        assert!(of_many <= 500, "{of_many}");
    }
}
