//! Backups that a client keeps, taken of a served folder.

use std::io::{self, Read};
use std::sync::Arc;
use std::thread;

use jungle::{
    BackupError, BackupProgress, BackupReport, ContentHash, Jungle, OpenOptions, Revision, Store,
    StreamError,
};
use jungle_cluster::{Cluster, MemoryLog};
use jungle_server::{Data, Options};
use serde_json::json;

use crate::support::{Folder, Served};

const COPY: &str = "/api/v1/folder/copy";
const BACKUP: &str = "/api/v1/folder/backup";
const APPEND: &str = r#"{"edits":[{"op":"append","attributes":{"text":"hello"}}]}"#;

fn append(served: &Served) {
    served.post("/api/v1/trees/t/commits", APPEND).expect(200);
}

/// Makes a copy of what is served, or completes one, of at most so many bytes of the stream.
fn take_up_to(served: &Served, copy: &Folder, bytes: u64) -> Result<BackupReport, BackupError> {
    OpenOptions::new().take_backup(&copy.0, BackupProgress::default(), |since| {
        let asked = json!({"since": since.number()}).to_string();
        let (status, stream) = served.stream(COPY, &asked);
        match status {
            200 => Ok(stream.take(bytes)),
            status => Err(io::Error::other(format!("status {status}"))),
        }
    })
}

fn take(served: &Served, copy: &Folder) -> Result<BackupReport, BackupError> {
    take_up_to(served, copy, u64::MAX)
}

fn hash_at(jungle: &Jungle, revision: Revision) -> ContentHash {
    jungle.open_tree("t").unwrap().at(revision).unwrap().root().content_hash()
}

/// It is whole, and has what the server had at its revision.
#[track_caller]
fn check(served: &Served, copy: &Folder, revision: Revision) {
    let copy = OpenOptions::new().read_only().open(&copy.0).unwrap();
    assert_eq!(copy.revision(), revision);
    assert!(copy.report().was_closed);
    copy.verify().unwrap();
    assert_eq!(hash_at(&copy, revision), hash_at(served.server.jungle(), revision));
}

/// So much that it does not fit into what waits between the server and a client.
fn fill(served: &Served) {
    let tree = served.server.jungle().open_tree("t").unwrap();
    for n in 0..40_u8 {
        let value = vec![n; 1 << 20];
        tree.update(|tx| tx.put_attribute(&[], "large", &*value)).unwrap();
    }
}

#[test]
fn copy_is_taken_beside_writers_and_then_only_what_is_new() {
    let (data, copy) = (Folder::new("copies-writers"), Folder::new("copies-writers-copy"));
    let served = Served::folder(&data).tree("t");
    append(&served);
    let first = thread::scope(|scope| {
        let writing = scope.spawn(|| (0..50).for_each(|_| append(&served)));
        let first = take(&served, &copy).unwrap();
        writing.join().unwrap();
        first
    });
    check(&served, &copy, first.revision);
    let told = served.get(BACKUP).expect(200);
    assert_eq!((&told["state"], &told["asked"]), (&json!("done"), &json!({"since": 0})));
    assert_eq!(told["result"]["revision"], first.revision.number());

    append(&served);
    let newest = served.server.jungle().revision();
    let second = take(&served, &copy).unwrap();
    assert_eq!((second.before, second.revision), (first.revision, newest));
    check(&served, &copy, newest);
    assert_eq!(take(&served, &copy).unwrap().bytes, 0);
    served.server.stop().unwrap();
    // It can be used as it is.
    Store::open(&copy.0).unwrap().create_tree("another").unwrap();
}

#[test]
fn copy_that_breaks_off_is_told_and_the_next_one_goes_on() {
    let (data, copy) = (Folder::new("copies-broken"), Folder::new("copies-broken-copy"));
    let served = Served::folder(&data).tree("t");
    fill(&served);
    // The client goes away.
    let broken = take_up_to(&served, &copy, 20 << 20);
    assert!(matches!(broken, Err(BackupError::Stream(StreamError::Short))), "{broken:?}");
    let told = served.get(&format!("{BACKUP}?wait=60")).expect(200);
    assert_eq!(told["state"], "given-up", "{told}");
    let metrics = served.get("/metrics").text;
    assert!(metrics.contains("jungle_upkeep_failed{work=\"backup\"} 0"), "{metrics}");
    let opened = OpenOptions::new().read_only().open(&copy.0).unwrap();
    assert!(opened.revision() < served.server.jungle().revision());
    assert!(opened.revision().number() == 0 || !opened.report().was_closed);
    drop(opened);

    // The server has it given up.
    let given_up = OpenOptions::new().take_backup(&copy.0, BackupProgress::default(), |_| {
        let (status, stream) = served.stream(COPY, "");
        assert_eq!(status, 200);
        served.send("DELETE", BACKUP, &[], None).expect(202);
        Ok(stream)
    });
    assert!(matches!(given_up, Err(BackupError::Stream(_))), "{given_up:?}");
    let told = served.get(&format!("{BACKUP}?wait=60")).expect(200);
    assert_eq!(told["state"], "given-up", "{told}");

    let all = take(&served, &copy).unwrap();
    check(&served, &copy, all.revision);
    served.server.stop().unwrap();
}

#[test]
fn one_copy_is_sent_at_a_time_and_stands_in_nobodys_way() {
    let (data, copy) = (Folder::new("copies-one"), Folder::new("copies-one-copy"));
    let served = Served::folder(&data).tree("t");
    fill(&served);
    let (status, stream) = served.stream(COPY, "");
    assert_eq!(status, 200);
    let refused = served.post(COPY, "");
    assert_eq!((refused.status.as_u16(), refused.problem()), (409, "under-way".to_owned()));
    let refused = take(&served, &copy);
    assert!(matches!(refused, Err(BackupError::Stream(StreamError::Io(_)))), "{refused:?}");
    assert!(!copy.0.exists(), "a folder was made");
    append(&served);
    let newest = served.server.jungle().revision().number();
    drop(stream);
    let told = served.get(&format!("{BACKUP}?wait=60")).expect(200);
    assert_eq!(told["state"], "given-up", "{told}");

    let refused = served.post(COPY, &json!({"since": newest + 1}).to_string());
    assert_eq!((refused.status.as_u16(), refused.problem()), (410, "gone".to_owned()));
    for wrong in ["[1,2]", r#"{"since":-1}"#, r#"{"since":"1"}"#, r#"{"name":"x"}"#] {
        assert_eq!(served.post(COPY, wrong).status, 400, "{wrong}");
    }
    assert_eq!(served.get(COPY).status, 405);
    served.server.stop().unwrap();
}

#[test]
fn copy_of_a_clusters_server_is_of_no_cluster() {
    let (folder, copy) = (Folder::new("copies-cluster"), Folder::new("copies-cluster-copy"));
    let (log, open) = (MemoryLog::new(), OpenOptions::new());
    let named = jungle_cluster::Options::default();
    let here = Arc::new(log.connect());
    let (store, cluster) = Cluster::follow_in_folder(here, &folder.0, &open, &named).unwrap();
    let served = Served::start(Data::Cluster(store, Arc::new(cluster)), Options::default());
    served.post("/api/v1/trees", r#"{"name":"t"}"#).expect(201);
    append(&served);
    let first = take(&served, &copy).unwrap();
    check(&served, &copy, first.revision);
    assert!(Cluster::log_of(&folder.0).unwrap().is_some());
    assert!(Cluster::log_of(&copy.0).unwrap().is_none());
    append(&served);
    let second = take(&served, &copy).unwrap();
    assert_eq!(second.before, first.revision);
    check(&served, &copy, second.revision);
    served.server.stop().unwrap();
}
