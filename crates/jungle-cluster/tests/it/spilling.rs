//! Servers whose trees are larger than memory. Only Linux tells what is mapped.

use std::sync::{Arc, Mutex};

use jungle_cluster::{Cluster, MemoryLog};
use jungle_store::{OpenOptions, Spill};
use jungle_testkit::spilled_files;

use crate::support::{Call, Told, int, options, put, server};

#[test]
fn what_a_newcomer_begins_with_spills_where_its_folder_does() {
    let log = MemoryLog::new();
    let (jungle, cluster) = server(&Arc::new(log.connect()), "one");
    put(&jungle.create_tree("t").unwrap(), "/", "n", 7);
    cluster.checkpoint().unwrap();

    let name = format!("jungle-newcomer-spills-{}", std::process::id());
    let folder = std::env::temp_dir().join(name);
    let _ = std::fs::remove_dir_all(&folder);
    let (place, seen) = (folder.clone(), Arc::new(Mutex::new(Vec::new())));
    let looked = Arc::clone(&seen);
    // In how many files its trees are: it notes which log it is when the checkpoint was read.
    let looking = Told::new(log.connect(), move |call| {
        if call == Call::Id {
            looked.lock().unwrap().push(spilled_files(&place));
        }
    });
    let spilling = OpenOptions::new().spill(Spill::Always);
    let joined = Cluster::follow_in_folder(looking, &folder, &spilling, &options("two")).unwrap();
    assert_eq!(int(&joined.0.open_tree("t").unwrap(), "/", "n"), Some(7));
    let seen = seen.lock().unwrap().clone();
    // The folder was open before.
    let (alone, most) = (seen[0], seen.iter().max().copied());
    assert!(alone > 0 && most > Some(alone), "{seen:?}");
    drop(joined);
    std::fs::remove_dir_all(&folder).unwrap();
}
