//! The set. Each workload prepares what it needs, has its operations counted, and checks what they
//! did. Everything is drawn from one seed and done on one thread.

mod alice;
mod db;
mod find;
mod json;
mod serve;
mod store;
mod tree;

use std::hint::black_box;

use jungle_tree::{Arena, ArenaError, ArenaOptions};

use crate::Failure;

/// Where all random draws begin.
const SEED: u64 = 1;

/// Prepares, has counted, checks.
type Workload = fn(&mut Meter) -> Result<(), Failure>;

/// All of them, in the order of the record. Another name is another workload: whoever changes what
/// one does gives it another, and whoever adds one puts it last, where it moves no other.
const ALL: [(&str, Workload); 29] = [
    ("add-child", tree::add_child),
    ("batch", tree::batch),
    ("cursor", tree::cursor),
    ("insert-name", tree::insert_name),
    ("point-update", tree::point_update),
    ("point-read", tree::point_read),
    ("point-read-16", tree::point_read_16),
    ("visit", tree::visit),
    ("count", tree::count),
    ("diff", tree::diff_one),
    ("merge", tree::merge_one),
    ("hash", tree::hash),
    ("commit", db::commit),
    ("commit-late", db::commit_late),
    ("merge-branch", db::merge_branch),
    ("store-commit", store::commit),
    ("store-open", store::open),
    ("encode", store::encode_record),
    ("decode", store::decode_record),
    ("alice-chain", alice::chain),
    ("json-in", json::read),
    ("json-out", json::write),
    ("follow", db::follow),
    ("find", find::walk),
    ("find-index", find::index),
    ("serve-node", serve::node),
    ("serve-page", serve::page),
    ("serve-post", serve::post),
    ("store-sync", store::sync),
];

/// Does all workloads, and prints for each what [`Done::parse`] reads.
///
/// # Errors
/// When one fails, or does not come to what it must.
pub fn work() -> Result<(), Failure> {
    for (name, workload) in ALL {
        let mut meter = Meter::default();
        workload(&mut meter).map_err(|error| format!("{name}: {error}"))?;
        let operations = meter.operations.ok_or_else(|| format!("{name} has nothing counted"))?;
        println!("{name}\t{operations}");
    }
    Ok(())
}

/// A workload that was done.
pub struct Done {
    /// Its name.
    pub name: String,
    /// How many operations were counted; not 0.
    pub operations: u64,
}

impl Done {
    /// From a line that [`work`] prints.
    pub fn parse(line: &str) -> Option<Done> {
        let (name, operations) = line.split_once('\t').filter(|(name, _)| !name.is_empty())?;
        let operations = operations.parse().ok().filter(|operations| *operations > 0)?;
        Some(Done { name: name.to_owned(), operations })
    }
}

/// Has what a workload is about counted, once.
#[derive(Default)]
pub struct Meter {
    operations: Option<u64>,
}

impl Meter {
    /// Does the work, which is so many operations.
    fn count<T>(&mut self, operations: u64, work: impl FnOnce() -> T) -> T {
        let before = self.operations.replace(operations);
        assert!(before.is_none(), "a workload is counted once");
        let (mut work, mut value) = (Some(work), None);
        counted(&mut || value = work.take().map(|work| work()));
        value.expect("it was called")
    }
}

/// The name of the function within which is counted, as callgrind knows it.
pub fn function() -> &'static str {
    std::any::type_name_of_val(&counted)
}

/// It must stay a function, and call what it is given rather than end with that.
#[inline(never)]
fn counted(work: &mut dyn FnMut()) {
    black_box(work)();
    black_box(());
}

/// Valgrind has less address range to give away than arenas reserve otherwise.
fn room() -> ArenaOptions {
    ArenaOptions { structure_bytes: 1 << 30, payload_bytes: 1 << 30, ..ArenaOptions::default() }
}

fn arena() -> Result<Arena, ArenaError> {
    Arena::with_options(&room())
}

/// An error with what was expected, unless that came out.
fn expect<T: PartialEq + std::fmt::Debug>(
    what: &str,
    found: T,
    expected: T,
) -> Result<(), Failure> {
    if found == expected {
        return Ok(());
    }
    Err(format!("{what}: {found:?}, not {expected:?}").into())
}

#[cfg(test)]
mod tests {
    use super::ALL;

    #[test]
    fn names_are_told_apart() {
        let mut names = ALL.map(|(name, _)| name);
        names.sort_unstable();
        assert!(names.windows(2).all(|pair| pair[0] != pair[1]));
    }

    #[test]
    fn what_most_users_do_is_among_them() {
        let users = ["point-read", "point-update", "commit", "merge-branch", "diff", "find"];
        for name in users.into_iter().chain(["store-commit", "store-sync", "serve-node"]) {
            assert!(ALL.iter().any(|(other, _)| *other == name), "{name}");
        }
    }
}
