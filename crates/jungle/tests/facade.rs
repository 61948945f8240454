//! Whoever embeds Jungle depends on this crate alone, so what those below it export is here too.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

/// What is left out, and who has it instead.
const LEFT_OUT: [(&str, &str); 6] = [
    ("stands", "rules of the algebra, for those who check it"),
    ("check_checkpoint", "checkpoints as streams, which servers of a cluster hand to each other"),
    ("read_checkpoint", "as above"),
    ("write_checkpoint", "as above"),
    ("decode", "records as bytes, which the log of a cluster has"),
    ("encode", "as above"),
];

#[test]
fn what_the_crates_below_export_is_here() {
    let mut here = exported("jungle");
    assert!(here.contains("*"), "all of jungle-db's names");
    here.extend(exported("jungle-db"));
    let below = ["jungle-tree", "jungle-store"].map(exported);
    let missing = below.iter().flatten().filter(|name| !here.contains(*name));
    let missing: BTreeSet<&str> = missing.map(String::as_str).collect();
    assert_eq!(missing, LEFT_OUT.map(|(name, _)| name).into());
}

/// The names that a crate's root makes public by `pub use`.
fn exported(name: &str) -> BTreeSet<String> {
    let crates = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..");
    let text = fs::read_to_string(crates.join(name).join("src/lib.rs")).expect("a crate's root");
    let uses = text.split("\npub use ").skip(1).filter_map(|rest| rest.split(';').next());
    let names: BTreeSet<String> = uses.flat_map(names).collect();
    assert!(names.len() > 3, "{names:?}");
    names
}

/// The names at the end of a path, or of all in its braces.
fn names(path: &str) -> Vec<String> {
    let listed =
        path.split_once('{').map_or(path, |(_, list)| list.trim_end().trim_end_matches('}'));
    let last = |item: &str| {
        // A name that another crate has too is a new one here; the old one is what it stands for.
        let item = item.split(" as ").next().unwrap_or_default();
        item.rsplit("::").next().unwrap_or_default().trim_matches(['{', '}', ' ', '\n']).to_owned()
    };
    listed.split(',').map(last).filter(|name| !name.is_empty()).collect()
}
