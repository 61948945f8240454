//! Durable commits, beside what the machine can sync at all: of one attribute each in places of
//! their own, and of posts to one list, each of which counts those that are there, so that it
//! overlaps with every other.
//!
//! How long a sync takes changes by a factor of 80 within a day, so both are measured in turns of
//! a fraction of a second, in the same process, on the same disk.

use std::fs::{File, remove_file};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use jungle::{Draft, Retention, Store, TreeHandle};
use jungle_tree::{EditError, Key};

use super::Options;
use super::folder::{self, Folder};
use crate::Failure;
use crate::sample::Sample;
use crate::workload::on_workers;

/// What a disk is asked to write at once.
const BLOCK: usize = 4096;
const FLOOR_FILE_BYTES: usize = 16 << 20;

/// Commits a second, of which few are kept, or, in `sync-all`, all; `floor` and `floor-append` =
/// syncs a second of a bare file, written over or added to; `syncs` and `bytes` = of each commit.
pub fn sample(case: &str, options: Options) -> Result<Option<Sample>, Failure> {
    // Only the last ones, so that memory does not grow with the commits of the turns. Whoever uses
    // Jungle keeps all unless it is told otherwise: `sync-all`, and `flat`.
    let last = Retention::Last(100);
    let (act, retention) = match case {
        "sync" => (Act::Count, last),
        "sync-all" => (Act::Count, Retention::All),
        "post" => (Act::Post, last),
        _ => return Ok(None),
    };
    let (turns, turn) = match options.tiny {
        true => (2, Duration::from_millis(5)),
        false => (if options.quick { 3 } else { 8 }, Duration::from_millis(300)),
    };
    let folder = Folder::new("commit")?;
    let mut floor = Floor::new(&folder.0)?;
    let mut clients = Clients::new(&folder.0, retention, options.threads)?;
    for _ in 0..turns {
        floor.overwrite(turn)?;
        clients.commit(act, turn)?;
        floor.append(turn / 4)?;
    }
    let commits = clients.commits as f64;
    let stats = clients.store.log_stats();
    let sample = Sample::rate(clients.seconds, clients.commits)
        .with("floor", floor.rate())
        .with("floor-append", floor.appended as f64 / floor.appending)
        .with("syncs", (stats.syncs - clients.syncs_before) as f64 / commits)
        .with("bytes", (stats.bytes - clients.bytes_before) as f64 / commits);
    Ok(Some(sample.check_none(clients.lost(&folder.0)?, "commits are not there")))
}

/// What a client commits.
#[derive(Clone, Copy)]
enum Act {
    /// A number that goes up, in a place of its own.
    Count,
    /// A child of the root with the number of those before it.
    Post,
}

/// A file that is written and synced, block by block.
pub(super) struct Floor {
    folder: PathBuf,
    filled: File,
    overwritten: u64,
    overwriting: f64,
    appended: u64,
    appending: f64,
}

impl Floor {
    /// In this folder.
    pub(super) fn new(folder: &Path) -> std::io::Result<Floor> {
        let filled = File::create(folder.join("floor"))?;
        filled.write_all_at(&vec![0; FLOOR_FILE_BYTES], 0)?;
        filled.sync_all()?;
        let folder = folder.to_owned();
        Ok(Floor { folder, filled, overwritten: 0, overwriting: 0.0, appended: 0, appending: 0.0 })
    }

    /// Over zeros that were synced before, as the log is written: this is what it is held to.
    pub(super) fn overwrite(&mut self, turn: Duration) -> std::io::Result<()> {
        let begun = Instant::now();
        while begun.elapsed() < turn {
            self.overwrite_block()?;
        }
        self.overwriting += begun.elapsed().as_secs_f64();
        Ok(())
    }

    /// The same so many times, however long that takes: where somebody else counts syncs, these are
    /// always as many.
    pub(super) fn overwrite_blocks(&mut self, blocks: u64) -> std::io::Result<()> {
        let begun = Instant::now();
        (0..blocks).try_for_each(|_| self.overwrite_block())?;
        self.overwriting += begun.elapsed().as_secs_f64();
        Ok(())
    }

    fn overwrite_block(&mut self) -> std::io::Result<()> {
        let at = self.overwritten as usize * BLOCK % FLOOR_FILE_BYTES;
        self.filled.write_all_at(&[1; BLOCK], at as u64)?;
        self.filled.sync_data()?;
        self.overwritten += 1;
        Ok(())
    }

    /// Syncs a second, so far, of what was written over.
    pub(super) fn rate(&self) -> f64 {
        self.overwritten as f64 / self.overwriting
    }

    /// Behind the end of a file, which grows: what the log would pay without its zeros.
    fn append(&mut self, turn: Duration) -> std::io::Result<()> {
        let path = self.folder.join("growing");
        let (file, begun, mut end) = (File::create(&path)?, Instant::now(), 0);
        while begun.elapsed() < turn {
            file.write_all_at(&[1; BLOCK], end)?;
            file.sync_data()?;
            end += BLOCK as u64;
            self.appended += 1;
        }
        self.appending += begun.elapsed().as_secs_f64();
        remove_file(&path)
    }
}

/// Clients of one store, each with a node of its own in one tree.
struct Clients {
    store: Store,
    tree: TreeHandle,
    retention: Retention,
    threads: usize,
    commits: u64,
    seconds: f64,
    syncs_before: u64,
    bytes_before: u64,
}

impl Clients {
    fn new(folder: &Path, retention: Retention, threads: usize) -> Result<Clients, Failure> {
        let store = open(folder, retention)?;
        let tree = store.create_tree("clients")?;
        tree.update(|tx| (0..threads).try_for_each(|_| tx.append(&[]).map(drop)))?;
        let before = store.log_stats();
        Ok(Clients {
            store,
            tree,
            retention,
            threads,
            commits: 0,
            seconds: 0.0,
            syncs_before: before.syncs,
            bytes_before: before.bytes,
        })
    }

    fn commit(&mut self, act: Act, turn: Duration) -> Result<(), Failure> {
        let (tree, done) = (&self.tree, AtomicU64::new(0));
        let begun = Instant::now();
        let (seconds, results) = on_workers(self.threads, |client| {
            let path = [Key::from(client as u32 as i32)];
            let count = tree.snapshot().root().at(&path).ok().and_then(count).unwrap_or(0);
            for count in count + 1.. {
                let committed = tree.update(|tx| match act {
                    Act::Count => tx.put_attribute(&path, "count", count),
                    Act::Post => post(tx),
                });
                committed.map_err(|error| error.to_string())?;
                done.fetch_add(1, Ordering::Relaxed);
                if begun.elapsed() >= turn {
                    break;
                }
            }
            Ok(())
        });
        results.into_iter().collect::<Result<(), String>>()?;
        self.seconds += seconds;
        self.commits += done.into_inner();
        Ok(())
    }

    /// How many of the commits are not there when it is opened anew.
    fn lost(self, folder: &Path) -> Result<u64, Failure> {
        let Clients { store, tree, retention, commits, .. } = self;
        drop((store, tree));
        let tree = open(folder, retention)?.open_tree("clients")?.snapshot();
        let root = tree.root();
        let counted: i64 = root.children().filter_map(|(_, client)| count(client)).sum();
        let posted = root.children().filter(|(_, post)| post.attribute("number").is_some()).count();
        Ok(commits.abs_diff(counted as u64 + posted as u64))
    }
}

/// Appends the next post.
fn post(tx: &mut Draft) -> Result<(), EditError> {
    let number = tx.child_count(&[])? as i64;
    let key = tx.append(&[])?;
    tx.put_attribute(&[key], "number", number)
}

fn count(client: jungle::Node<'_>) -> Option<i64> {
    client.attribute("count")?.as_int()
}

fn open(folder: &Path, retention: Retention) -> Result<Store, Failure> {
    Ok(folder::options().retention(retention).open(folder.join("jungle"))?)
}

#[cfg(test)]
mod tests {
    use super::{Floor, Folder};

    #[test]
    fn a_floor_is_of_as_many_syncs_as_are_asked_for() {
        let folder = Folder::new("floor-blocks").unwrap();
        let mut floor = Floor::new(&folder.0).unwrap();
        floor.overwrite_blocks(3).unwrap();
        floor.overwrite_blocks(2).unwrap();
        assert_eq!((floor.overwritten, floor.appended), (5, 0));
        assert!(floor.rate() > 0.0);
    }
}
