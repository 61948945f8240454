//! The status page.

use std::time::{Duration, Instant};

use jungle_server::Role;

use crate::people::Guarded;
use crate::support::{Folder, Served};

/// What a picture's line says that it is now, if the page has that.
fn newest<'p>(page: &'p str, title: &str, line: &str) -> Option<&'p str> {
    let figure = page.split("<figure").find(|figure| figure.contains(title))?;
    let (_, behind) = figure.split_once(&format!(">{line} <b>"))?;
    behind.split('<').next()
}

pub(crate) fn fact<'p>(page: &'p str, name: &str) -> Option<&'p str> {
    let (_, behind) = page.split_once(&format!(">{name}</dt><dd>"))?;
    behind.split('<').next()
}

#[test]
fn the_page_tells_what_happened_and_what_there_is() {
    let folder = Folder::new("status");
    let served = Served::folder(&folder).tree("t");
    let commit = r#"{"edits":[{"op":"append"}]}"#;
    let begun = Instant::now();
    // It looks every two seconds: some look sees a commit.
    let page = loop {
        assert_eq!(served.post("/api/v1/trees/t/commits", commit).status, 200);
        let page = served.get("/status");
        assert_eq!((page.status.as_u16(), page.header("cache-control")), (200, "no-cache"));
        let page = page.text;
        if newest(&page, "Commits written at once", "on average").is_some_and(|it| it != "–") {
            break page;
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "{page}");
    };
    let revision = served.server.jungle().revision().number().to_string();
    assert_eq!(fact(&page, "Revision").map(|it| it.replace(',', "")), Some(revision), "{page}");
    assert_eq!(fact(&page, "Trees"), Some("1"));
    assert!(fact(&page, "Checkpoint").unwrap().starts_with("revision "), "{page}");
    assert_eq!(newest(&page, "Connections", "watch"), Some("0"));
    assert_eq!(newest(&page, "Requests a second", "failed"), Some("0"));
    for line in ["Requests a second", "Commits a second"] {
        let name = if line.starts_with('R') { "all" } else { "commits" };
        let rate = newest(&page, line, name).unwrap().replace(',', "");
        assert!(rate.parse::<f64>().is_ok_and(|rate| rate > 0.0), "{line}: {page}");
    }
    assert!(newest(&page, "Time to an answer", "99 % within").unwrap().ends_with("ms"), "{page}");
    let memory = newest(&page, "Memory", "memory").unwrap();
    assert!(memory.ends_with(" kB") || memory.ends_with(" MB"), "{memory}");
}

#[test]
fn in_memory_there_is_no_log_and_no_checkpoint() {
    let page = Served::memory().get("/status").text;
    assert!(!page.contains("written at once") && fact(&page, "Checkpoint").is_none(), "{page}");
    assert_eq!(fact(&page, "Revision"), Some("0"));
}

#[test]
fn it_is_for_those_who_may_read_all_trees() {
    let granted = [("ana", "*", "/", Role::Read), ("ben", "t", "/", Role::Admin)];
    let guarded = Guarded::new("status_access", &granted);
    assert_eq!(guarded.get("ana", "/status").status, 200);
    assert_eq!(guarded.get("ben", "/status").status, 403);
    let asked = guarded.served.get("/status");
    assert_eq!((asked.status.as_u16(), asked.header("location")), (303, "/login?next=%2Fstatus"));
}
