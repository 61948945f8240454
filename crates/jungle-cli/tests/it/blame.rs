//! `blame` against `log`, which looks at one path after the other.

use jungle_testkit::{Rng, for_each_seed};
use serde_json::{Value, json};

use crate::Folder;

const PATHS: [&str; 5] = ["/", "/a", "/a/b", "/list", "/list/0"];

/// A line for the shell that changes something somewhere, if that can be.
fn edit(rng: &mut Rng) -> String {
    let branch = *rng.pick(&["main", "main", "draft"]);
    let place = *rng.pick(&PATHS);
    let place = place.trim_end_matches('/');
    let key = *rng.pick(&["a", "b", "c", "list", "0", "1", "\"x y\""]);
    let value = match rng.below(5) {
        0 => json!({"a": 1, "b": {"c": rng.below(9)}}),
        1 => json!([rng.below(9), {"a": 1}]),
        2 => json!([]),
        _ => json!(rng.below(9)),
    };
    match rng.below(8) {
        0 => format!("rm t '{place}/{key}' --branch {branch}\n"),
        1 => format!("undo t --branch {branch}\n"),
        _ => format!("put t '{place}/{key}' '{value}' --branch {branch}\n"),
    }
}

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn each_member_is_told_as_its_log_tells_it() {
    let mut compared = 0;
    for_each_seed(8, |rng| {
        let folder = Folder::new(&format!("blame_{}", rng.seed()));
        folder.write("a.json", r#"{"a":{"b":{"c":1},"c":2},"list":[{"a":1},2],"c":"x"}"#);
        folder.run(&["import", "d", "t", "a.json", "--tag", "first"]).check_code(0);
        let mut edits: String = (0..10).map(|_| edit(rng).replace("draft", "main")).collect();
        edits.push_str("branch t draft\n");
        (0..25).for_each(|_| edits.push_str(&edit(rng)));
        folder.run_with_input(&["shell", "d"], &edits);
        for (at, path) in ["main", "draft"].into_iter().flat_map(|at| PATHS.map(|it| (at, it))) {
            let blame = folder.run(&["blame", "d", "t", path, "--at", at, "--json"]);
            let keys = folder.run(&["ls", "d", "t", path, "--at", at, "--json"]);
            assert_eq!(blame.code, keys.code, "{path} {}", blame.err);
            if blame.code != Some(0) || !keys.out.starts_with("{\"key\"") {
                continue;
            }
            let blame = lines(&blame.out);
            assert_eq!(blame.len(), keys.out.lines().count(), "{path} {blame:?}");
            for (mut told, member) in blame.into_iter().zip(lines(&keys.out)) {
                let key = told.as_object_mut().unwrap().remove("key").unwrap();
                assert_eq!(key, member["key"]);
                let place = format!("{}/{}", path.trim_end_matches('/'), key.as_str().unwrap());
                let log = ["log", "d", "t", &place, "--branch", at, "-n", "1", "--json"];
                assert_eq!(lines(&folder.run(&log).out), [told], "{at} {place}\n{edits}");
                compared += 1;
            }
        }
    });
    assert!(compared > 0, "there was nothing to compare");
}
