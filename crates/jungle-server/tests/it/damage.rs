use std::fs::OpenOptions;
use std::os::unix::fs::FileExt;

use serde_json::json;

use crate::support::{Folder, Served};

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
        assert!(answer.contains("urn:jungle:failed") && answer.contains("is damaged"), "{answer}");
    }
    // The head of an export is sent before the rest is looked at.
    let export =
        "GET /api/v1/trees/t/document HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    let answer = served.raw(export.as_bytes());
    assert!(!answer.ends_with("\r\n0\r\n\r\n"), "it looks whole: {} bytes", answer.len());
    served.get("/api/v1/trees/small/node").expect(200);
    served.get("/health").expect(200);
}
