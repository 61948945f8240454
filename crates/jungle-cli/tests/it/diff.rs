use std::collections::BTreeSet;

use jungle_testkit::{Rng, for_each_seed};
use serde_json::{Map, Value, json};

use crate::{Ended, Folder};

fn folder(name: &str, before: &str, after: &str) -> Folder {
    let folder = Folder::new(name);
    folder.write("a.json", before);
    folder.write("b.json", after);
    folder
}

const BEFORE: &str = r#"{"list":[1,2,3],"name":"old","gone":{"x":1},"same":{"y":[]},"kind":[]}"#;
const AFTER: &str = r#"{"kind":{},"same":{"y":[]},"name":"new","list":[1,5],"come":{"z":[1]}}"#;

#[test]
fn differences_are_lines_with_their_signs() {
    let folder = folder("diff_lines", BEFORE, AFTER);
    folder.run(&["diff", "a.json", "b.json"]).check(
        0,
        "+ /come: {\"z\":[1]}\n- /gone: {\"x\":1}\n~ /kind: [] → {}\n~ /list/1: 2 → 5\n\
         - /list/2: 3\n~ /name: \"old\" → \"new\"\n",
        "",
    );
    folder.run(&["diff", "a.json", "a.json"]).check(0, "", "");
    folder.run(&["diff", "a.json", "b.json", "/list"]).check(
        0,
        "~ /list/1: 2 → 5\n- /list/2: 3\n",
        "",
    );
    folder.run(&["diff", "a.json", "b.json", "/come/z"]).check(0, "+ /come/z: [1]\n", "");
    folder.run(&["diff", "a.json", "b.json", "/gone/x"]).check(0, "- /gone/x: 1\n", "");
    folder.run(&["diff", "a.json", "b.json", "/same"]).check(0, "", "");
    assert_eq!(folder.run(&["diff", "a.json", "b.json", "/none"]).code, Some(4));
}

#[test]
fn long_values_are_shown_where_they_differ() {
    let text = |end: &str| format!("[\"{}{end}\"]", "é".repeat(150));
    let folder = folder("diff_long", &text("old"), &text(&"new".repeat(50)));
    let (same, new) = ("é".repeat(20), "new".repeat(26));
    folder.run(&["diff", "a.json", "b.json"]).check(
        0,
        &format!("~ /0: …{same}old\" → …{same}{new}ne…\n"),
        "",
    );
}

#[test]
fn programs_get_a_line_of_json_each() {
    let folder = folder("diff_json", BEFORE, AFTER);
    folder.run(&["diff", "a.json", "b.json", "--json", "/list"]).check(
        0,
        "{\"op\":\"change\",\"path\":\"/list/1\",\"old\":2,\"value\":5}\n\
         {\"op\":\"remove\",\"path\":\"/list/2\",\"old\":3}\n",
        "",
    );
    folder.run(&["diff", "a.json", "b.json", "--json", "--stat"]).check(
        0,
        "{\"added\":1,\"removed\":2,\"changed\":3,\"moved\":0}\n",
        "",
    );
}

#[test]
fn differences_can_be_counted() {
    let folder = folder("diff_stat", BEFORE, AFTER);
    folder.run(&["diff", "a.json", "b.json", "--stat"]).check(
        0,
        "come  +1\ngone  -1\nkind  ~1\nlist  -1  ~1\nname  ~1\n\
         6 differences: 1 added, 2 removed, 3 changed, 0 moved\n",
        "",
    );
}

#[test]
fn a_place_of_two_differences_has_one_name() {
    let folder = folder("diff_names", r#"{"a":{"x":1},"b":1}"#, "{}");
    folder.run(&["import", "d", "t", "a.json"]).check_code(0);
    let moved = r#"{"op":"move","from":"/a","path":"/b"}"#;
    let removed = r#"{"op":"remove","path":"/b","old":1}"#;
    folder.write("patch", &format!("{moved}\n{removed}\n"));
    folder.run(&["apply", "d", "t", "patch"]).check_code(0);
    // What was moved there, and what was there before.
    let whole = folder.run(&["diff", "d", "t", "main~1", "--json"]);
    whole.check(0, &format!("{moved}\n{removed}\n"), "");
    folder.run(&["diff", "d", "t", "main~1", "--name-only"]).check(0, "/b\n", "");
    let json = ["diff", "d", "t", "main~1", "--name-only", "--json"];
    folder.run(&json).check(0, "\"/b\"\n", "");
}

#[test]
fn the_order_of_members_is_no_difference() {
    let folder =
        folder("diff_order", r#"{"b":1,"a":{"y":1,"x":2}}"#, r#"{"a":{"x":2,"y":1},"b":1}"#);
    folder.run(&["diff", "a.json", "b.json"]).check(0, "", "");
}

#[test]
fn colours_come_only_when_they_are_wanted() {
    let folder = folder("diff_color", "1", "2");
    folder.run(&["diff", "a.json", "b.json"]).check(0, "~ /: 1 → 2\n", "");
    let ended = folder.run(&["diff", "a.json", "b.json", "--color", "always"]);
    ended.check(0, "\u{1b}[33m~ /: 1 → 2\u{1b}[0m\n", "");
    // Words that are the same in two texts do not stand out; where none is, nothing does.
    let colored = |before: &str, after: &str| {
        folder.write("a.json", before);
        folder.write("b.json", after);
        folder.run(&["diff", "a.json", "b.json", "--color", "always"]).out
    };
    assert_eq!(
        colored(r#"{"t":"a quick fox"}"#, r#"{"t":"a slow fox, too"}"#),
        "\u{1b}[33m~ /t: \"a \u{1b}[0m\u{1b}[7m\u{1b}[33mquick\u{1b}[0m\u{1b}[33m fox\" → \
         \"a \u{1b}[0m\u{1b}[7m\u{1b}[33mslow\u{1b}[0m\u{1b}[33m fox\
         \u{1b}[0m\u{1b}[7m\u{1b}[33m, too\u{1b}[0m\u{1b}[33m\"\u{1b}[0m\n"
    );
    assert_eq!(colored("[\"old\"]", "[\"new\"]"), "\u{1b}[33m~ /0: \"old\" → \"new\"\u{1b}[0m\n");
    let plain = folder.run(&["diff", "a.json", "b.json"]).out;
    assert_eq!(plain, "~ /0: \"old\" → \"new\"\n");
    let mut command = folder.command(&["diff", "a.json", "none.json"]);
    let ended = Ended::new(command.env("NO_COLOR", "1").output().unwrap());
    assert!(ended.err.starts_with("Error: cannot read"), "{}", ended.err);
}

#[test]
fn standard_input_can_be_one_side() {
    let folder = folder("diff_stdin", "{\"a\":1}", "{\"a\":1}");
    let ended = folder.run_with_input(&["diff", "-", "b.json"], "{\"a\":2}");
    ended.check(0, "~ /a: 2 → 1\n", "");
    assert_eq!(folder.run(&["diff", "-", "-"]).code, Some(2));
}

#[test]
fn an_independent_diff_finds_the_same() {
    let folder = Folder::new("diff_oracle");
    for_each_seed(60, |rng| {
        let before = random(rng, 4);
        let after = mutated(rng, &before);
        folder.write("a.json", &before.to_string());
        folder.write("b.json", &after.to_string());
        let ended = folder.run(&["diff", "a.json", "b.json", "--json"]);
        let (ours, theirs) = (told(&ended.out), independent(&before, &after));
        assert_eq!((ended.code, ours), (Some(0), theirs), "{before}\n{after}");
    });
}

/// The differences that a command told, in the form of [`independent`].
pub(super) fn told(out: &str) -> BTreeSet<String> {
    let canonical = |line| serde_json::from_str::<Value>(line).unwrap().to_string();
    out.lines().map(canonical).collect()
}

/// A diff of documents, not of trees: the simplest there is.
pub(super) fn independent(before: &Value, after: &Value) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    collect("", Some(before), Some(after), &mut found);
    found
}

fn collect(
    path: &str,
    before: Option<&Value>,
    after: Option<&Value>,
    found: &mut BTreeSet<String>,
) {
    let here = if path.is_empty() { "/" } else { path };
    let difference = match (before, after) {
        (None, None) => return,
        (None, Some(value)) => json!({"op": "add", "path": here, "value": value}),
        (Some(old), None) => json!({"op": "remove", "path": here, "old": old}),
        (Some(Value::Object(before)), Some(Value::Object(after))) => {
            let names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
            for name in names {
                let path = format!("{path}/{}", jungle_tree::Key::from(name.as_str()));
                collect(&path, before.get(name), after.get(name), found);
            }
            return;
        }
        (Some(Value::Array(before)), Some(Value::Array(after))) => {
            for index in 0..before.len().max(after.len()) {
                let path = format!("{path}/{index}");
                collect(&path, before.get(index), after.get(index), found);
            }
            return;
        }
        (Some(old), Some(value)) if old == value => return,
        (Some(old), Some(value)) => {
            json!({"op": "change", "path": here, "old": old, "value": value})
        }
    };
    found.insert(difference.to_string());
}

fn name(rng: &mut Rng) -> String {
    let special = ["", "\0array", "\0order", "0", "a/b", "é"];
    if rng.chance(1, 6) { (*rng.pick(&special)).into() } else { format!("k{}", rng.below(90)) }
}

pub(super) fn random(rng: &mut Rng, depth: usize) -> Value {
    if depth == 0 || rng.chance(1, 3) {
        let scalars = [json!(null), json!(true), json!(0), json!(1), json!(2.5), json!("text")];
        return rng.pick(&scalars).clone();
    }
    let count = if rng.chance(1, 20) { 60 + rng.index(10) } else { rng.index(6) };
    let depth = if count > 6 { 0 } else { depth - 1 };
    if rng.chance(1, 3) {
        return Value::Array((0..count).map(|_| random(rng, depth)).collect());
    }
    Value::Object((0..count).map(|_| (name(rng), random(rng, depth))).collect())
}

pub(super) fn mutated(rng: &mut Rng, value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            let mut new = Map::new();
            for (name, value) in members {
                match rng.below(20) {
                    0 => {}
                    1..5 => drop(new.insert(name.clone(), mutated(rng, value))),
                    _ => drop(new.insert(name.clone(), value.clone())),
                }
            }
            if rng.chance(1, 4) {
                new.insert(name(rng), random(rng, 2));
            }
            Value::Object(new)
        }
        Value::Array(elements) => {
            let mut new: Vec<Value> = elements.iter().map(|value| mutated(rng, value)).collect();
            new.truncate(new.len() - rng.index(2).min(new.len()));
            if rng.chance(1, 4) {
                new.push(random(rng, 2));
            }
            Value::Array(new)
        }
        _ => random(rng, 1),
    }
}
