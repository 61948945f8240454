//! A board to look at, for which nothing is needed but the command.

use serde_json::Value;

use crate::serving::Serving;
use crate::{Ended, Folder};

#[test]
fn board_is_filled_once_and_served_with_its_history() {
    let folder = Folder::new("demo_board");
    let demo = |more: &[&str]| {
        let args = [["demo", "--board", "--dir", "there"].as_slice(), more].concat();
        // Nothing else is found, so nothing is fetched.
        let ended = Ended::new(folder.command(&args).env("PATH", "").output().unwrap());
        ended.check_code(0);
        ended.out
    };
    let told = demo(&["--json"]);
    assert_eq!(demo(&["--json"]), told, "it is there");
    assert!(demo(&[]).contains(" serve --data there/jungle "));
    let told: Value = serde_json::from_str(&told).unwrap();

    let log = folder.run(&["log", "there/jungle", "garden", "--json"]);
    let days: Vec<String> = log.out.lines().map(day).collect();
    assert!(days.len() > 10 && days.is_sorted_by(|newer, older| newer >= older), "{days:?}");
    assert_ne!(days.first(), days.last(), "a slider has somewhere to go");

    let serving = Serving::start(&folder, &["--data", "there/jungle"]);
    let page = |place: &str| serving.send(&format!("GET {place}"), "");
    assert!(page("/boards").contains("\"/boards/garden\""));
    let board = page("/boards/garden");
    let shown = board.matches("<li class=\"message\"").count() as u64;
    assert_eq!(told["messages"], shown);
    assert!(board.contains(">edited<"), "{board}");
    let edited = page("/boards/garden/0");
    assert!(edited.contains("Peas would be best.") && edited.contains("Earlier versions"));
    assert!(!edited.contains("Older versions are not kept"), "{edited}");
    let merge = serving.get("/api/v1/trees/garden/merges?from=draft");
    assert!(merge["conflict_count"].as_u64().unwrap() > 0, "{merge}");
    drop(serving);
    folder.run(&["verify", "there/jungle"]).check_code(0);
    folder.run(&["demo", "--board", "--versions", "3"]).check_code(2);
}

/// The day of a revision.
fn day(line: &str) -> String {
    let info: Value = serde_json::from_str(line).unwrap();
    info["time"].as_str().unwrap()[..10].to_owned()
}
