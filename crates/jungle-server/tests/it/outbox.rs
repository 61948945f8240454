//! What a server of a cluster has committed by itself.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use jungle::{CommitOptions, Jungle, OpenOptions};
use jungle_cluster::{Cluster, LogError, MemoryLog, Options};
use jungle_server::{Access, Data, Role};

use crate::appending::Appending;
use crate::people::grant;
use crate::support::{Folder, Served};

/// What one who may read, and one who administers all trees, are answered who want a commit
/// forgotten of which the tree is no more.
fn forgotten(test: &str, read_only: bool) -> [u16; 2] {
    let (folder, grants) = (Folder::new(test), Folder::new(&format!("{test}-access")));
    std::fs::create_dir_all(&grants.0).unwrap();
    let (file, mut access) = (grants.0.join("access.toml"), Access::default());
    let who = [("reader", Role::Read), ("admin", Role::Admin)].map(|(who, role)| {
        let token = access.add_token(who, None).unwrap();
        access.grant(grant(who, "*", "/", role)).unwrap();
        format!("Bearer {token}")
    });
    access.write(&file).unwrap();

    let log = MemoryLog::new();
    let elsewhere = Jungle::builder().build().unwrap();
    let other = Cluster::follow(Arc::new(log.connect()), &elsewhere, &Options::default()).unwrap();
    elsewhere.create_tree("t").unwrap();
    let (open, data) = (OpenOptions::new(), folder.0.join("data"));
    // Nothing comes to the log from here for a while.
    let is_away = Arc::new(AtomicBool::new(false));
    let is_cut = Arc::clone(&is_away);
    let log = Appending::new(Arc::new(log), move |log, after, message, within| {
        if is_cut.load(Ordering::SeqCst) {
            return Err(LogError::NoAnswer { within, last: None });
        }
        log.append(after, message, within)
    });
    let joined = Cluster::follow_in_folder(Arc::new(log), &data, &open, &Options::default());
    let (store, cluster) = joined.unwrap();
    cluster.local(open.open(folder.0.join("outbox")).unwrap()).unwrap();
    let cluster = Arc::new(cluster);
    let data = Data::Cluster(store, Arc::clone(&cluster));
    let options = jungle_server::Options { access: Some(file), read_only, ..Default::default() };
    let served = Served::start(data, options);

    let long = Duration::from_secs(60);
    cluster.sync(long).unwrap();
    is_away.store(true, Ordering::SeqCst);
    let (local, tree) = (cluster.opened_local().unwrap(), served.server.jungle().open_tree("t"));
    local.update(&tree.unwrap(), &CommitOptions::default(), |draft| draft.append(&[])).unwrap();
    let oldest = local.status().oldest.unwrap();
    let get = |path| served.send("GET", path, &[("authorization", &who[1])], None).json();
    let health = &get("/health")["cluster"];
    assert_eq!(health["pending"], 1, "{health}");
    assert_eq!(health["oldest"], jungle_words::time::text(oldest), "{health}");
    let told = get("/api/v1/cluster");
    let of_all = told["servers"].as_array().unwrap();
    let waiting = of_all.iter().filter_map(|server| server["outbox"]["oldest"].as_i64());
    assert_eq!(waiting.collect::<Vec<_>>(), [oldest.as_micros()], "{told}");
    elsewhere.delete_tree("t").unwrap();
    other.sync(long).unwrap();
    is_away.store(false, Ordering::SeqCst);
    while local.status().pending > 0 {
        thread::yield_now();
    }
    let entry = local.refused().unwrap()[0].id;
    who.map(|who| {
        let path = format!("/api/v1/local/{entry}");
        served.send("DELETE", &path, &[("authorization", &who)], None).status.as_u16()
    })
}

#[test]
fn last_copy_of_a_commit_is_forgotten_by_who_administers_all_trees() {
    assert_eq!(forgotten("outbox-forgotten", false), [403, 204]);
    assert_eq!(forgotten("outbox-read-only", true), [403, 403]);
}
