//! Clusters that begin with what a folder has.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use jungle_cluster::{Cluster, Fault, JoinError, Log, Options};
use jungle_db::Jungle;
use jungle_store::{OpenOptions, Store};
use jungle_testkit::Rng;
use jungle_tree::ArenaOptions;

use crate::appending::Appending;
use crate::memory::Engine;

const LONG: Duration = Duration::from_secs(30);

/// A folder that has something, gone in the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("jungle-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        Store::open(&path).unwrap().create_tree("kept").unwrap();
        Folder(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn options(server: &str) -> Options {
    Options { server: server.into(), found: true, ..Options::default() }
}

fn found(log: Arc<dyn Log>, folder: &Path, server: &str) -> Result<(Store, Cluster), JoinError> {
    Cluster::follow_in_folder(log, folder, &OpenOptions::new(), &options(server))
}

fn newcomer(engine: &Arc<Engine>) -> Result<(Jungle, Cluster), JoinError> {
    let log = engine.connect(&mut Rng::new(1), 0);
    let options = Options { server: "newcomer".into(), ..Options::default() };
    Cluster::follow_in_memory(log, &Jungle::builder(), &ArenaOptions::default(), &options)
}

#[test]
fn who_followed_the_empty_log_goes_no_further_and_loses_nothing() {
    let (engine, folder) = (Arc::new(Engine::default()), Folder::new("founded-late"));
    let (early, with) = newcomer(&engine).unwrap();
    let (store, cluster) = found(engine.connect(&mut Rng::new(2), 0), &folder.0, "one").unwrap();
    // It would have got a revision that the founder has for something else.
    assert!(early.create_tree("lost").is_err());
    let fault = with.status().fault.unwrap();
    assert!(matches!(&*fault, Fault::Beyond { sequence: 1, .. }), "{fault}");
    let (late, with) = newcomer(&engine).unwrap();
    store.create_tree("more").unwrap();
    with.sync(LONG).unwrap();
    for jungle in [&late, &*store] {
        assert!(jungle.open_tree("kept").is_ok() && jungle.open_tree("more").is_ok());
    }
    drop(cluster);
}

#[test]
fn a_founder_that_ends_before_its_checkpoint_is_written_goes_on_with_it() {
    let (engine, folder) = (Arc::new(Engine::default()), Folder::new("founded-twice"));
    drop(found(engine.connect(&mut Rng::new(3), 0), &folder.0, "one").unwrap());
    engine.checkpoints().clear();
    std::fs::remove_file(folder.0.join("CLUSTER")).unwrap();
    // What is missing is not taken for nothing.
    let refused = newcomer(&engine);
    assert!(refused.is_err(), "{refused:?}");
    // Nor does another one go on with what it has.
    let other = Folder::new("founded-other");
    let refused = found(engine.connect(&mut Rng::new(4), 0), &other.0, "two");
    assert!(refused.is_err(), "{refused:?}");
    let _founder = found(engine.connect(&mut Rng::new(5), 0), &folder.0, "one").unwrap();
    assert_eq!(engine.messages().len(), 1);
    assert!(newcomer(&engine).unwrap().0.open_tree("kept").is_ok());
}

#[test]
fn of_two_who_begin_a_log_one_is_refused() {
    let (engine, folder) = (Arc::new(Engine::default()), Folder::new("founded-hasty"));
    let log = engine.connect(&mut Rng::new(6), 0);
    // It is empty when it is looked at, and somebody is first.
    let hasty = Appending::new(log, |log, after, message, within| {
        log.append(0, &Bytes::from_static(b"first"), within)?;
        log.append(after, message, within)
    });
    let refused = found(Arc::new(hasty), &folder.0, "one");
    assert!(matches!(refused, Err(JoinError::Begun)), "{refused:?}");
    assert!(engine.checkpoints().is_empty());
    // The folder is as it was, and of no cluster.
    assert!(Cluster::log_of(&folder.0).unwrap().is_none());
}
