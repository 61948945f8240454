//! A new server of a cluster: how long it takes until it is what the others are.

use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use jungle_cluster::{Cluster, NatsLog, Options as Member};
use jungle_db::{Jungle, TreeHandle};
use jungle_store::OpenOptions;
use jungle_testkit::NatsServers;
use jungle_tree::{ArenaOptions, EditError, Key};

use super::super::Options;
use super::super::folder::Folder;
use super::super::turns::named;
use crate::Failure;
use crate::sample::Sample;

/// So many nodes have one parent.
const FAMILY: u64 = 10_000;
/// So many clients commit at once.
const CLIENTS: u64 = 64;

/// Milliseconds until a server is ready that has nothing yet, with a checkpoint of 1,000,000 nodes,
/// each with an attribute, and 100,000 records behind it. `newcomer` = with a folder, synced;
/// `newcomer-memory` = in memory; `checkpoint` = of writing the checkpoint and reading it back.
pub fn sample(options: Options) -> Result<Sample, Failure> {
    let (nodes, records) = if options.tiny { (FAMILY, 640) } else { (1_000_000, 100_000) };
    let engine = NatsServers::start(3);
    let (jungle, first) = in_memory(&engine)?;
    let tree = jungle.create_tree("t")?;
    for _ in 0..nodes / FAMILY {
        tree.update(grow)?;
    }
    let begun = Instant::now();
    first.checkpoint()?;
    let checkpoint_ms = begun.elapsed().as_secs_f64() * 1e3;
    thread::scope(|scope| {
        for client in 0..CLIENTS {
            let tree = &tree;
            scope.spawn(move || (0..records / CLIENTS).for_each(|n| commit(tree, client, n)));
        }
    });
    let made = nodes / FAMILY + 1 + records / CLIENTS * CLIENTS;
    if jungle.revision().number() != made {
        return Err("not every commit was made".into());
    }
    let folder = Folder::new("newcomer")?;
    let begun = Instant::now();
    let (store, member) = in_folder(&engine, &folder.0)?;
    let folder_ms = begun.elapsed().as_secs_f64() * 1e3;
    check(&tree, &store, &member)?;
    drop(member);
    let begun = Instant::now();
    let (second, member) = in_memory(&engine)?;
    let memory_ms = begun.elapsed().as_secs_f64() * 1e3;
    check(&tree, &second, &member)?;
    let numbers =
        [("newcomer", folder_ms), ("newcomer-memory", memory_ms), ("checkpoint", checkpoint_ms)];
    Ok(named("ms", &numbers))
}

fn member() -> Member {
    // None but the one that is asked for.
    Member { replicas: 3, checkpoint_messages: u64::MAX, ..Member::default() }
}

fn connect(engine: &NatsServers) -> Result<Arc<NatsLog>, Failure> {
    Ok(Arc::new(NatsLog::connect(&engine.addresses(), &member())?))
}

fn in_memory(engine: &NatsServers) -> Result<(Jungle, Cluster), Failure> {
    let (builder, arena) = (Jungle::builder(), ArenaOptions::default());
    Ok(Cluster::follow_in_memory(connect(engine)?, &builder, &arena, &member())?)
}

fn in_folder(
    engine: &NatsServers,
    folder: &Path,
) -> Result<(jungle_store::Store, Cluster), Failure> {
    let options = OpenOptions::new();
    Ok(Cluster::follow_in_folder(connect(engine)?, folder, &options, &member())?)
}

/// Adds a family, each of which has a number.
fn grow(tx: &mut jungle_db::Draft) -> Result<(), EditError> {
    let parent = tx.append(&[])?;
    (1..FAMILY).try_for_each(|n| {
        let child = tx.append(std::slice::from_ref(&parent))?;
        tx.put_attribute(&[parent.clone(), child], "n", n as i64)
    })
}

fn commit(tree: &TreeHandle, client: u64, n: u64) {
    let path = [Key::from(0), Key::from(client as i64)];
    // One that fails is missed in the number of revisions.
    let _ = tree.update(|tx| tx.put_attribute(&path, "n", (client + n) as i64));
}

/// Is it what the others are?
fn check(tree: &TreeHandle, jungle: &Jungle, member: &Cluster) -> Result<(), Failure> {
    member.sync(Duration::from_secs(30))?;
    let (ours, theirs) = (tree.snapshot(), jungle.open_tree("t")?.snapshot());
    let hashes = [&ours, &theirs].map(|version| version.root().content_hash());
    if ours.revision() != theirs.revision() || hashes[0] != hashes[1] {
        return Err("the newcomer is not what the others are".into());
    }
    Ok(())
}
