//! Putting and removing, against a model: what the tree is then, and how it lies there; and what
//! becomes of its revisions.

use std::fs;
use std::io::Write;
use std::process::Stdio;
use std::time::Duration;

use jungle::{Clock, OpenOptions, Retention, Timestamp};
use jungle_testkit::{Rng, for_each_seed};
use serde_json::{Map, Value, json};

use crate::Folder;

/// Random edits through the shell leave what the same edits of a plain document leave.
#[test]
fn edits_do_what_they_do_to_a_document() {
    for_each_seed(6, |rng| {
        let folder = Folder::new(&format!("edits_{}", rng.seed()));
        let mut model = json!({});
        let mut lines = String::from("trees --create t\n");
        for _ in 0..150 {
            lines.push_str(&edit(rng, &mut model));
        }
        lines.push_str("get t\n");
        let ended = folder.run_with_input(&["shell", "d"], &lines);
        assert_eq!(ended.err, "", "{lines}");
        let last = ended.out.lines().last().unwrap();
        assert_eq!(serde_json::from_str::<Value>(last).unwrap(), model, "{lines}");
        // It comes in again as it is, and the log has no other story to tell.
        folder.write("told.json", last);
        let args = ["import", "copy", "t", "told.json"];
        assert_eq!(folder.run(&args).code, Some(0));
        assert_eq!(folder.run(&["get", "copy", "t", "/"]).out.trim_end(), last);
    });
}

/// Puts or removes a random member of a random object, or an element behind an array's last.
fn edit(rng: &mut Rng, model: &mut Value) -> String {
    let mut path = String::new();
    let mut here = model;
    loop {
        let stop = rng.chance(1, 3);
        match here {
            Value::Array(elements) => {
                let index = rng.index(elements.len() + 1);
                path.push_str(&format!("/{index}"));
                if stop || index == elements.len() || !is_deep(&elements[index]) {
                    let new = value(rng);
                    let line = format!("put t '{path}' '{new}'\n");
                    elements.truncate(elements.len().max(index));
                    match elements.get_mut(index) {
                        Some(element) => *element = new,
                        None => elements.push(new),
                    }
                    return line;
                }
                here = &mut elements[index];
            }
            Value::Object(members) => {
                let name = *rng.pick(&["a", "b", "c", "\"0\"", "with space", "\"\""]);
                path.push_str(&format!("/{name}"));
                let name = name.trim_matches('"').to_owned();
                let old = members.get(&name);
                if old.is_some() && rng.chance(1, 5) {
                    members.remove(&name);
                    return format!("rm t '{path}'\n");
                }
                if stop || !old.is_some_and(is_deep) {
                    let new = value(rng);
                    members.insert(name, new.clone());
                    return format!("put t '{path}' '{new}'\n");
                }
                here = members.get_mut(&name).unwrap();
            }
            _ => unreachable!("it goes on only into what is deep"),
        }
    }
}

fn is_deep(value: &Value) -> bool {
    value.is_array() || value.is_object()
}

fn value(rng: &mut Rng) -> Value {
    match rng.below(7) {
        0 => Value::Null,
        1 => json!(rng.below(100)),
        2 => json!("text é"),
        3 => json!([]),
        4 => json!([1, {"a": [true]}]),
        5 => json!({"a": 1, "c": {}, "": 2}),
        _ => Value::Object(Map::new()),
    }
}

/// An object of many scalars is a dictionary, whether it came in so or grew.
#[test]
fn an_object_that_grows_lies_as_one_that_was_imported() {
    let folder = Folder::new("grows");
    let document = |count: usize| {
        let members = (0..count).map(|n| (format!("k{n:03}"), json!(n)));
        Value::Object(members.collect()).to_string()
    };
    let mut lines = String::new();
    for count in 60..70 {
        folder.write(&format!("{count}.json"), &document(count));
        lines.push_str(&format!("put grown /k{:03} {}\nstat grown --json\n", count - 1, count - 1));
        lines.push_str(&format!("import whole {count}.json\nstat whole --json\n"));
    }
    folder.write("59.json", &document(59));
    assert_eq!(folder.run(&["import", "d", "grown", "59.json"]).code, Some(0));
    let ended = folder.run_with_input(&["shell", "d"], &lines);
    assert_eq!(ended.err, "");
    let told = |name: &str| -> Vec<String> {
        let stats = ended.out.lines().filter(|line| line.contains(&format!("\"{name}\"")));
        stats.map(|line| line.replace(name, "")).collect()
    };
    assert_eq!(told("grown").len(), 10, "{}", ended.out);
    assert_eq!(told("grown"), told("whole"));
}

/// Members may be called as our own attributes are: these stay, and say what they said.
#[test]
fn members_called_as_our_own_attributes_take_nothing_from_them() {
    let folder = Folder::new("own_names");
    folder.write("a.json", r#"{"z":1,"a":[],"m":{}}"#);
    folder.run(&["import", "d", "t", "a.json"]).check_code(0);
    let put = |path: &str, value: &str| {
        folder.run(&["put", "d", "t", path, value]).check_code(0);
        folder.run(&["get", "d", "t"]).out
    };
    let told = put("/\"\\u0000order\"", "\"mine\"");
    assert_eq!(told, "{\"z\":1,\"\\u0000order\":\"mine\",\"a\":[],\"m\":{}}\n");
    put("/\"\\u0000array\"", "[1]");
    let told = put("/\"\\u0000order\"", "{\"y\":1,\"b\":2}");
    let document = r#"{"z":1,"\u0000array":[1],"\u0000order":{"y":1,"b":2},"a":[],"m":{}}"#;
    assert_eq!(told, format!("{document}\n"));
    // It lies as what is imported does.
    folder.write("b.json", &told);
    folder.run(&["import", "d", "other", "b.json"]).check_code(0);
    folder.run(&["get", "d", "other"]).check(0, &told, "");
    let hash = |tree| {
        let told = folder.run(&["stat", "d", tree, "--json"]).out;
        serde_json::from_str::<Value>(&told).unwrap()["content_hash"].clone()
    };
    assert_eq!(hash("t"), hash("other"));
    folder.run(&["rm", "d", "t", "/\"\\u0000order\""]).check_code(0);
    folder.run(&["get", "d", "t"]).check(
        0,
        "{\"z\":1,\"\\u0000array\":[1],\"a\":[],\"m\":{}}\n",
        "",
    );
}

/// Who sets a variable to nothing has said nothing, in the shell, too.
#[test]
fn author_that_is_nothing_is_none() {
    let folder = Folder::new("no-author");
    folder.write("empty.json", "{}");
    assert_eq!(folder.run(&["import", "d", "t", "empty.json"]).code, Some(0));
    for args in [&["put", "d", "t", "/outside", "1"][..], &["shell", "d"]] {
        let mut command = folder.command(args);
        command.env("JUNGLE_AUTHOR", "").stdin(Stdio::piped()).stdout(Stdio::null());
        let mut child = command.spawn().unwrap();
        // One of them reads nothing.
        let _ = child.stdin.take().unwrap().write_all(b"put t /inside 1\n");
        assert!(child.wait().unwrap().success());
    }
    let log = folder.run(&["log", "d", "t", "--json"]).out;
    assert_eq!((log.lines().count(), log.matches("\"author\":null").count()), (3, 3), "{log}");
}

/// What is there already is no new revision, whatever it is and wherever it lies.
#[test]
fn nothing_is_written_where_nothing_changes() {
    let folder = Folder::new("unchanged");
    let document = r#"{"a":1,"b":[1,2,{"c":"x"}],"f":-0.0,"n":null,"o":{}}"#;
    folder.write("a.json", document);
    folder.run(&["import", "d", "t", "a.json"]).check_code(0);
    let same = "nothing changed since revision 2\n";
    let put = |path: &str, value: &str| folder.run(&["put", "d", "t", path, value]);
    for (path, value) in [
        ("/a", "1"),
        ("/b", r#"[1,2,{"c":"x"}]"#),
        ("/b/1", "2"),
        ("/b/2/c", "\"x\""),
        ("/f", "-0.0"),
        ("/n", "null"),
        ("/o", "{}"),
        ("/", document),
    ] {
        put(path, value).check(0, same, "");
    }
    folder.run(&["import", "d", "t", "a.json"]).check(0, "revision 2 is a.json already\n", "");
    // Equal numbers of other kinds are other values.
    put("/a", "1.0").check(0, "revision 3\n", "");
    put("/f", "0.0").check(0, "revision 4\n", "");
    put("/b/1", "3").check(0, "revision 5\n", "");
}

/// Long ago.
struct Past;

impl Clock for Past {
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(1_000_000)
    }
}

#[test]
fn a_range_that_ends_before_it_begins_is_refused() {
    let folder = Folder::new("du_range");
    folder.write("a.json", "1");
    folder.run(&["import", "d", "t", "a.json"]).check_code(0);
    folder.run(&["du", "d", "t", "--revisions", "1..2"]).check_code(0);
    folder.run(&["du", "d", "t", "--revisions", "2..2"]).check_code(0);
    let (wrong, hint) =
        ("Error: 1 is before 2\n", "Hint: --revisions 1..2 is from one to the other\n");
    folder.run(&["du", "d", "t", "--revisions", "2..1"]).check(2, "", &format!("{wrong}{hint}"));
}

/// Each server of a cluster keeps what the log says, so none lets something go by its own clock, or
/// says by itself what is kept.
#[test]
fn nothing_is_dropped_by_age_in_a_folder_of_a_cluster() {
    let folder = Folder::new("gc_cluster");
    let store = OpenOptions::new().clock(Past).open(folder.0.join("d")).unwrap();
    let tree = store.create_tree("t").unwrap();
    tree.set_retention(Retention::ByAge(Duration::from_secs(3600))).unwrap();
    (0..5).for_each(|n| drop(tree.update(|tx| tx.put_attribute(&[], "n", n)).unwrap()));
    drop(tree);
    store.close().unwrap();
    let revisions = || folder.run(&["log", "d", "t"]).out.lines().count();
    assert_eq!(revisions(), 6);
    folder.write("d/CLUSTER", "0123456789abcdef0123456789abcdef\n");
    let ended = folder.run(&["gc", "d"]);
    ended.check_code(0);
    assert!(ended.err.starts_with("Note: nothing is dropped by age"), "{}", ended.err);
    assert_eq!(revisions(), 6);
    for what in ["1h", "1", "all"] {
        let keep = folder.run(&["keep", "d", "t", what]);
        keep.check_code(1);
        assert!(keep.err.starts_with("Error: the folder is of a cluster: "), "{}", keep.err);
    }
    folder.run(&["keep", "d", "t"]).check(0, "1h\n", "");
    assert_eq!(revisions(), 6);
    // What cannot be read could be one.
    folder.write("d/CLUSTER", "?");
    folder.run(&["gc", "d"]).check_code(1);
    assert_eq!(revisions(), 6);
    // A backup is of no cluster.
    fs::remove_file(folder.0.join("d/CLUSTER")).unwrap();
    folder.run(&["backup", "d", "copy"]).check_code(0);
    folder.run(&["gc", "copy"]).check_code(0);
    assert_eq!(folder.run(&["log", "copy", "t"]).out.lines().count(), 1);
}

/// What is committed in a folder of a cluster alone, the cluster's log does not have.
#[test]
fn nothing_is_committed_to_a_folder_of_a_cluster() {
    let folder = Folder::new("commit_cluster");
    folder.write("a.json", r#"{"a":1}"#);
    folder.run(&["import", "d", "t", "a.json"]).check_code(0);
    folder.write("d/CLUSTER", "0123456789abcdef0123456789abcdef\n");
    let told = || {
        let lists = ["log", "tag", "branch", "index"].map(|list| [list, "d", "t", "--json"]);
        let lists = lists.iter().map(|args| folder.run(args).out).collect::<Vec<_>>();
        (lists, folder.run(&["trees", "d", "--json"]).out)
    };
    let before = told();
    let error =
        "Error: the folder is of a cluster: what is committed here alone, its log does not have\n";
    let hint = "Hint: any of its servers takes edits over HTTP; `jungle restore d NEW` makes a \
                copy that is of no cluster\n";
    let refused = format!("{error}{hint}");
    for args in [
        &["put", "d", "t", "/a", "2"][..],
        &["rm", "d", "t", "/a"],
        &["tag", "d", "t", "v1"],
        &["branch", "d", "t", "b"],
        &["index", "d", "t", "a"],
        &["import", "d", "other", "a.json"],
        &["trees", "d", "--create", "new"],
        &["undo", "d", "t"],
    ] {
        folder.run(args).check(1, "", &refused);
    }
    // The shell may have it, to look at it and to give space back.
    let ended = folder.run_with_input(&["shell", "d"], "put t /a 2\nget t\n");
    assert_eq!((ended.code, ended.err), (Some(1), refused));
    assert_eq!(ended.out, "{\"a\":1}\n");
    folder.run(&["gc", "d"]).check_code(0);
    folder.run(&["ls", "d", "t"]).check_code(0);
    folder.run(&["import", "d", "t", "a.json", "--dry-run"]).check_code(0);
    folder.run(&["export", "d", "t"]).check(0, "{\"a\":1}\n", "");
    assert_eq!(told(), before);
    folder.run(&["restore", "d", "new"]).check_code(0);
    folder.run(&["put", "new", "t", "/a", "2"]).check(0, "revision 3\n", "");
}
