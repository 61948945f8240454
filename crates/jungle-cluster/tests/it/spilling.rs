//! Servers whose trees are larger than memory. Only Linux tells what is mapped.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use jungle_cluster::{Appended, Cluster, Depot, Log, LogError, LogId, MemoryLog, Tail};
use jungle_store::{OpenOptions, Spill};
use jungle_testkit::spilled_files;

use crate::support::{int, options, put, server};

/// A log that looks in how many files the trees of a folder are, whenever it is asked which log it
/// is: the folder of a newcomer notes that when the checkpoint was read.
struct Looking {
    log: MemoryLog,
    folder: PathBuf,
    seen: Mutex<Vec<usize>>,
}

impl Log for Looking {
    fn id(&self) -> LogId {
        self.seen.lock().unwrap().push(spilled_files(&self.folder));
        self.log.id()
    }

    fn append(&self, after: u64, message: &Bytes, within: Duration) -> Result<Appended, LogError> {
        self.log.append(after, message, within)
    }

    fn get(&self, sequence: u64) -> Result<Option<Bytes>, LogError> {
        self.log.get(sequence)
    }

    fn bounds(&self) -> Result<(u64, u64), LogError> {
        self.log.bounds()
    }

    fn tail(&self, from: u64) -> Tail {
        self.log.tail(from)
    }

    fn close(&self) {
        self.log.close();
    }

    fn depot(&self) -> Option<&dyn Depot> {
        self.log.depot()
    }
}

#[test]
fn what_a_newcomer_begins_with_spills_where_its_folder_does() {
    let log = MemoryLog::new();
    let (jungle, cluster) = server(&Arc::new(log.connect()), "one");
    put(&jungle.create_tree("t").unwrap(), "/", "n", 7);
    cluster.checkpoint().unwrap();

    let name = format!("jungle-newcomer-spills-{}", std::process::id());
    let folder = std::env::temp_dir().join(name);
    let _ = std::fs::remove_dir_all(&folder);
    let (log, place) = (log.connect(), folder.clone());
    let looking = Arc::new(Looking { log, folder: place, seen: Mutex::default() });
    let spilling = OpenOptions::new().spill(Spill::Always);
    let joined =
        Cluster::follow_in_folder(looking.clone(), &folder, &spilling, &options("two")).unwrap();
    assert_eq!(int(&joined.0.open_tree("t").unwrap(), "/", "n"), Some(7));
    let seen = looking.seen.lock().unwrap().clone();
    // The folder was open before.
    let (alone, most) = (seen[0], seen.iter().max().copied());
    assert!(alone > 0 && most > Some(alone), "{seen:?}");
    drop(joined);
    std::fs::remove_dir_all(&folder).unwrap();
}
