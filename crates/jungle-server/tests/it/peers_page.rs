//! The boards on other stores that ours is held against (`bench/peers/front`) answer with our page,
//! to the letter: those are built by hand only, and here it is seen that they still can be.

use crate::support::Served;

type Failure = Box<dyn std::error::Error + Send + Sync>;

#[path = "../../../../bench/peers/front/page.rs"]
mod page;

/// The page, but for the revision from which it is watched.
fn without_revision(page: &str) -> String {
    let (before, after) = page.split_once("?after=").unwrap();
    format!("{before}{}", &after[after.find('"').unwrap()..])
}

#[test]
fn boards_on_other_stores_have_our_page() {
    let served = Served::memory();
    let form = ("content-type", "application/x-www-form-urlencoded");
    assert_eq!(served.send("POST", "/boards", &[form], Some("name=b")).status, 303);
    let ours = served.get("/boards/b").text;
    assert_eq!(without_revision(&page::page("b", &[]).unwrap()), without_revision(&ours));
    let row = (1_764_000_000_000, "ana".to_owned(), "a < b".to_owned());
    let theirs = page::page("b", &[row]).unwrap();
    assert!(theirs.contains("<strong>ana</strong>") && theirs.contains("a &#60; b"), "{theirs}");
}
