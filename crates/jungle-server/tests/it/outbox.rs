//! What a server of a cluster has committed by itself.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use bytes::Bytes;
use jungle::{CommitOptions, Jungle, OpenOptions};
use jungle_cluster::{Appended, Cluster, Log, LogError, LogId, MemoryLog, Options, Tail};
use jungle_server::{Access, Data, Role};

use crate::people::grant;
use crate::support::{Folder, Served};

/// A log to which nothing comes from here for a while.
struct Cut {
    log: MemoryLog,
    is_away: AtomicBool,
}

impl Log for Cut {
    fn id(&self) -> LogId {
        self.log.id()
    }

    fn append(&self, after: u64, message: &Bytes, within: Duration) -> Result<Appended, LogError> {
        match self.is_away.load(Ordering::SeqCst) {
            true => Err(LogError::NoAnswer { within, last: None }),
            false => self.log.append(after, message, within),
        }
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
}

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
    let cut = Arc::new(Cut { log, is_away: AtomicBool::new(false) });
    let (open, data) = (OpenOptions::new(), folder.0.join("data"));
    let log = Arc::<Cut>::clone(&cut);
    let joined = Cluster::follow_in_folder(log, &data, &open, &Options::default());
    let (store, cluster) = joined.unwrap();
    cluster.local(open.open(folder.0.join("outbox")).unwrap()).unwrap();
    let cluster = Arc::new(cluster);
    let data = Data::Cluster(store, Arc::clone(&cluster));
    let options = jungle_server::Options { access: Some(file), read_only, ..Default::default() };
    let served = Served::start(data, options);

    let long = Duration::from_secs(60);
    cluster.sync(long).unwrap();
    cut.is_away.store(true, Ordering::SeqCst);
    let (local, tree) = (cluster.opened_local().unwrap(), served.server.jungle().open_tree("t"));
    local.update(&tree.unwrap(), &CommitOptions::default(), |draft| draft.append(&[])).unwrap();
    elsewhere.delete_tree("t").unwrap();
    other.sync(long).unwrap();
    cut.is_away.store(false, Ordering::SeqCst);
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
