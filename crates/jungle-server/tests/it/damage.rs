use std::fs::OpenOptions;
use std::os::unix::fs::FileExt;

use std::sync::Arc;

use jungle::{Archive, ArchiveError, BranchId, HISTORY_PIECE, HistoryEntry, Jungle, Memory};
use jungle_server::{Data, Options};
use serde_json::json;

use crate::support::{Folder, Served};

/// Where histories were, on a disk that is gone.
struct Gone;

impl Archive for Gone {
    fn piece(&self, _: BranchId, _: u64) -> Result<Arc<[HistoryEntry]>, ArchiveError> {
        Err(ArchiveError::new("the disk is gone"))
    }
}

#[test]
fn history_that_cannot_be_read_is_not_answered_as_another() {
    let jungle = Jungle::memory().unwrap();
    let tree = jungle.create_tree("t").unwrap();
    for _ in 0..5 {
        tree.update(|tx| tx.append(&[])).unwrap();
    }
    tree.tag("v1", tree.snapshot().revision()).unwrap();
    // Of a history, what follows whole pieces is in memory: the newest revision here.
    while (tree.history(..).count() as u64) <= HISTORY_PIECE {
        tree.update(|tx| tx.append(&[])).unwrap();
    }
    let checkpoint = jungle.checkpoint();
    let (arena, state) = (jungle.arena().clone(), checkpoint.state().clone());
    drop((tree, jungle));
    let jungle = Jungle::builder().restore(arena, &state, Arc::new(Gone)).unwrap();
    let served = Served::start(Data::Memory(jungle), Options::default());
    for rest in ["revisions/v1", "revisions/main~5", "diff", "diff?to=v1"] {
        let head = format!("GET /api/v1/trees/t/{rest} HTTP/1.1\r\nHost: localhost\r\n");
        let answer = served.raw(format!("{head}Connection: close\r\n\r\n").as_bytes());
        assert!(answer.starts_with("HTTP/1.1 500 "), "{rest}: {answer}");
        assert!(answer.contains("the disk is gone"), "{rest}: {answer}");
    }
    served.get("/api/v1/trees/t/node").expect(200);
}

#[test]
fn what_cannot_be_loaded_is_an_answer() {
    let folder = Folder::new("damage");
    let served = Served::folder(&folder).tree("t").tree("small");
    // More than is kept of the file, and nothing that packs well.
    let mut random = 1u64;
    let mut hex = || {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        format!("{random:016x}")
    };
    let items: Vec<_> =
        (0..40_000).map(|_| json!({"text": (0..64).map(|_| hex()).collect::<String>()})).collect();
    let text = serde_json::to_string(&items).unwrap();
    served.send("PUT", "/api/v1/trees/t/document", &[], Some(&text)).expect(200);
    served.server.stop().unwrap();
    // What opening reads is whole; what is loaded later is not.
    let served = Served::folder(&folder);
    let pages = OpenOptions::new().write(true).open(folder.0.join("pages")).unwrap();
    let length = pages.metadata().unwrap().len();
    for at in (64 << 10..length).step_by(4096) {
        pages.write_all_at(&[0; 4096], at).unwrap();
    }
    for path in ["children?path=/15000", "search?where=text%20%3D%20%22x%22", "diff?from=2&to=3"] {
        let head = format!("GET /api/v1/trees/t/{path} HTTP/1.1");
        let answer = served
            .raw(format!("{head}\r\nHost: localhost\r\nConnection: close\r\n\r\n").as_bytes());
        assert!(answer.starts_with("HTTP/1.1 500 "), "{path}: {answer}");
        assert!(
            answer.contains("/docs#problem-failed") && answer.contains("is damaged"),
            "{answer}"
        );
    }
    // The head of an export is sent before the rest is looked at.
    let export =
        "GET /api/v1/trees/t/document HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    let answer = served.raw(export.as_bytes());
    assert!(!answer.ends_with("\r\n0\r\n\r\n"), "it looks whole: {} bytes", answer.len());
    served.get("/api/v1/trees/small/node").expect(200);
    served.get("/health").expect(200);
}
