//! Patches: what `jungle diff --json` prints of two versions makes the one of the other, and back.

use jungle::{Draft, EditError, Key, OpenOptions, Path, Revision, TreeHandle, Value};
use jungle_testkit::{Rng, for_each_seed};

use crate::diff::{mutated, random};
use crate::{Ended, Folder};

impl Folder {
    /// A tree `t` that holds a document, and a patch.
    fn with_patch(name: &str, document: &str, patch: &[&str]) -> Folder {
        let folder = Folder::new(name);
        folder.write("a.json", document);
        folder.write("p", &patch.join("\n"));
        folder.run(&["import", "d", "t", "a.json"]).check_code(0);
        folder
    }

    fn apply(&self, more: &[&str]) -> Ended {
        self.run(&[&["apply", "d", "t", "p"], more].concat())
    }

    fn document(&self) -> String {
        self.run(&["get", "d", "t", "/"]).out.trim_end().to_owned()
    }
}

#[test]
fn patch_of_two_documents_makes_one_of_the_other() {
    for_each_seed(25, |rng| {
        let before = random(rng, 4);
        let after = if rng.chance(1, 8) { random(rng, 4) } else { mutated(rng, &before) };
        let folder = Folder::with_patch("apply_documents", &before.to_string(), &[]);
        folder.write("b.json", &after.to_string());
        let patch = folder.run(&["diff", "a.json", "b.json", "--json"]).out;
        let mut lines: Vec<&str> = patch.lines().collect();
        rng.shuffle(&mut lines);
        folder.write("p", &lines.join("\n"));
        let there_and_back = [("b.json", &[][..]), ("a.json", &["--reverse"][..])];
        for (goal, how) in there_and_back {
            folder.apply(how).check_code(0);
            folder.write("c.json", &folder.document());
            folder.run(&["diff", "c.json", goal]).check(0, "", "");
        }
    });
}

#[test]
fn patch_keeps_what_looks_like_a_colour() {
    let (before, after) = ("{\"a\":\"x\"}", "{\"a\":\"\u{7f}x\u{7f}\",\"\u{7f}\":1}");
    let folder = Folder::with_patch("apply_colour", before, &[]);
    folder.write("b.json", after);
    folder.write("p", &folder.run(&["diff", "a.json", "b.json", "--json"]).out);
    folder.apply(&[]).check_code(0);
    assert_eq!(folder.document(), after);
    folder.apply(&["--reverse"]).check_code(0);
    assert_eq!(folder.document(), before);
}

/// Trees that no document makes: positions with fractions and gaps, what was moved into and out of
/// something moved, values beside other things, bytes, floats that are no numbers.
#[test]
fn patch_of_two_revisions_makes_one_of_the_other() {
    let mut moves = 0;
    for_each_seed(200, |rng| {
        let folder = Folder::new("apply_revisions");
        let store = OpenOptions::new().open(folder.0.join("d")).unwrap();
        let tree = store.create_tree("t").unwrap();
        let a = edited(rng, &tree, 40);
        let edits = 1 + rng.index(12);
        let b = edited(rng, &tree, edits);
        for (name, at) in [("there", a), ("back", b)] {
            tree.branch(name, at).unwrap();
        }
        drop(tree);
        store.close().unwrap();
        let (a, b) = (a.to_string(), b.to_string());
        let patch = folder.run(&["diff", "d", "t", &a, &b, "--json"]).out;
        moves += patch.matches("\"op\":\"move\"").count();
        folder.write("p", &patch);
        for (branch, goal, reverse) in [("there", &b, None), ("back", &a, Some("--reverse"))] {
            let how: Vec<&str> = ["--branch", branch].into_iter().chain(reverse).collect();
            let applied = folder.apply(&how);
            assert_eq!((applied.code, &*applied.err), (Some(0), ""), "{}{patch}", applied.out);
            let left = folder.run(&["diff", "d", "t", branch, goal]);
            assert_eq!(left.out, "", "{patch}");
        }
    });
    assert!(moves > 30, "only {moves} were moved");
}

/// Makes random edits; what a tree refuses is left out.
fn edited(rng: &mut Rng, tree: &TreeHandle, edits: usize) -> Revision {
    let done = tree.update(|tx| {
        for _ in 0..edits {
            // What was not there, or has another kind.
            let _ = edit(rng, tx);
        }
        tx.put_attribute(&[], "edits", rng.below(1 << 30) as i64)
    });
    done.unwrap().revision
}

/// Of attributes; some are those of children as well.
const NAMES: [&str; 6] = ["a", "b", "x", "y", "", "\0b"];

fn edit(rng: &mut Rng, tx: &mut Draft) -> Result<(), EditError> {
    let mut paths = Vec::new();
    let mut walk = tx.root().walk();
    while walk.next().is_some() {
        paths.push(walk.path());
    }
    drop(walk);
    let [from, path]: [Path; 2] = [rng.pick(&paths).clone(), rng.pick(&paths).clone()];
    let key = Key::from(*rng.pick(&["a", "b", "c", "", "0", "\0array"]));
    let name: &str = NAMES[rng.index(NAMES.len())];
    match rng.below(10) {
        0 => tx.insert_child(&path, &key).map(drop),
        1 | 2 => {
            let added = tx.append(&path)?;
            tx.put_attribute(&path.join(added), "x", rng.below(100) as i64)
        }
        3 if !path.is_empty() => {
            let (key, parent) = path.split_last().unwrap();
            match key {
                Key::Position(at) => tx.insert_before(parent, at).map(drop),
                Key::Name(_) => Ok(()),
            }
        }
        4 => tx.remove(&path),
        5 | 6 => {
            let names = ["a", "d", "e", "f", "g"];
            tx.move_node(&from, &path, &Key::from(*rng.pick(&names)))
        }
        7 => tx.remove_attribute(&path, name).map(drop),
        _ => {
            let value = match rng.below(8) {
                0 => Value::from(&[0_u8, 255][..]),
                1 => Value::Float(f64::NAN),
                2 => Value::from(&b"1.50"[..]),
                3 => Value::Null,
                4 => Value::Float(-0.0),
                5 => Value::from("te\"xt"),
                _ => Value::Int(rng.below(5) as i64),
            };
            tx.put_attribute(&path, name, &value)
        }
    }
}

#[test]
fn moves_form_chains_and_swap_places() {
    let document = r#"{"a":{"n":1},"b":{"n":2},"c":[3],"l":[[4],[5]],"s":6}"#;
    let chain = [
        r#"{"op":"move","from":"/a","path":"/b"}"#,
        r#"{"op":"move","from":"/b","path":"/d"}"#,
        r#"{"op":"change","path":"/d/n","old":2,"value":7}"#,
        r#"{"op":"move","from":"/l/0","path":"/l/1"}"#,
        r#"{"op":"move","from":"/l/1","path":"/l/0"}"#,
        r#"{"op":"move","from":"/s","path":"/d/s"}"#,
        r#"{"op":"move","from":"/c/0","path":"/c/5"}"#,
    ];
    let folder = Folder::with_patch("apply_chain", document, &chain);
    folder.apply(&[]).check(0, "revision 3\n", "");
    let after = r#"{"b":{"n":1},"c":[3],"d":{"n":7,"s":6},"l":[[5],[4]]}"#;
    assert_eq!(folder.document(), after);
    folder.apply(&["--reverse"]).check(0, "revision 4\n", "");
    folder.write("c.json", &folder.document());
    folder.run(&["diff", "c.json", "a.json"]).check(0, "", "");
    folder.run(&["diff", "d", "t", "2", "4"]).check(0, "", "");
}

/// What was moved out of something that was moved was somewhere else before.
#[test]
fn where_something_was_is_told_of_the_document_before() {
    let folder = Folder::new("diff_moved_twice");
    let store = OpenOptions::new().open(folder.0.join("d")).unwrap();
    let tree = store.create_tree("t").unwrap();
    let path = |text: &str| text.parse::<Path>().unwrap();
    let made = tree.update(|tx| {
        for name in ["/x", "/x/k", "/x/k/k", "/x/l", "/x/l/l"] {
            let path = path(name);
            let (key, parent) = path.split_last().unwrap();
            tx.insert_child(parent, key)?;
            tx.put_attribute(&path, "name", name)?;
        }
        Ok::<_, EditError>(())
    });
    made.unwrap();
    let moved = tree.update(|tx| {
        tx.move_node(&path("/x"), &[], &"y".into())?;
        tx.move_node(&path("/y/k"), &[], &"z".into())?;
        tx.put_attribute(&path("/z"), "new", 1)
    });
    moved.unwrap();
    drop(tree);
    store.close().unwrap();
    folder.run(&["diff", "d", "t", "main~1"]).check(0, "> /x → /y\n> /x/k → /z\n+ /z/new: 1\n", "");
}

#[test]
fn tree_that_is_not_as_the_patch_says_stays_as_it_is() {
    let document = r#"{"a":1,"b":{"c":[1,2]},"there":0}"#;
    let patch = [
        r#"{"op":"add","path":"/there","value":1}"#,
        r#"{"op":"add","path":"/b/c/x","value":1}"#,
        r#"{"op":"add","path":"/gone/x","value":1}"#,
        r#"{"op":"change","path":"/a","old":1.0,"value":2}"#,
        r#"{"op":"remove","path":"/b","old":{"c":[2,1]}}"#,
        r#"{"op":"move","from":"/none","path":"/new"}"#,
        r#"{"op":"add","path":"/fits","value":true}"#,
    ];
    let folder = Folder::with_patch("apply_conflicts", document, &patch);
    let told = "\
! /a: not as the patch says
  expected  1.0
  found     1
! /b: not as the patch says
  expected  {\"c\":[2,1]}
  found     {\"c\":[1,2]}
! /b/c: not as the patch says
  expected  an object
  found     [1,2]
! /gone: not as the patch says
  expected  an object
  found     nothing
! /none: not as the patch says
  expected  something
  found     nothing
! /there: not as the patch says
  expected  nothing
  found     0
";
    let error = "\
Error: 6 places are not as the patch says; nothing was changed
Hint: a patch fits the version that it was made from; a branch of that can be merged
";
    folder.apply(&[]).check(5, told, error);
    folder.apply(&["--dry-run"]).check(5, told, error);
    assert_eq!(folder.document(), document);
    let long = format!(r#"{{"op":"change","path":"/a","old":"{}","value":2}}"#, "é".repeat(5000));
    folder.write("p", &long);
    let told = folder.apply(&["--json"]);
    told.check_code(5);
    let first = r#"{"conflict":"/a","expected":"\"é"#;
    assert!(told.out.starts_with(first) && told.out.len() < 400, "{}", told.out);
    assert_eq!(folder.run(&["log", "d", "t"]).out.lines().count(), 2);
}

#[test]
fn line_that_is_none_of_a_patch_is_named() {
    let folder = Folder::with_patch("apply_lines", "{}", &[]);
    let good = r#"{"op":"add","path":"/a","value":1}"#;
    let deep =
        format!(r#"{{"op":"add","path":"/d","value":{}}}"#, "[".repeat(600) + &"]".repeat(600));
    for (line, what) in [
        ("{", "EOF while parsing"),
        (r#"{"op":"ad","path":"/a"}"#, "unknown variant `ad`"),
        (r#"{"op":"add","path":"/a","value":1,"more":2}"#, "unknown field `more`"),
        (r#"{"op":"add","path":"/a"}"#, "`add` lacks `value`"),
        (r#"{"op":"add","path":"/a","value":1,"old":2}"#, "`add` has no `old`"),
        (r#"{"op":"remove","path":"/","old":{}}"#, "the root is always there"),
        (r#"{"op":"move","path":"/b","from":"/"}"#, "the root is always there"),
        (r#"{"op":"add","path":"a","value":1}"#, "a path starts with a slash"),
        (good, "another line is about /a, too"),
        (r#"{"op":"add","path":"/b","value":{"a":1,"a":2}}"#, "`value`: "),
        (r#"{"op":"add","path":"/b","value":"\ud800"}"#, "`value`: "),
        (r#"{"op":"add","path":"/b","value":0,"value_tree":{"$bytes":"?"}}"#, "`value`: "),
        (
            r#"{"op":"add","path":"/b","value":0,"value_tree":{"$children":{"01x/":{}}}}"#,
            "`value`: ",
        ),
        (&deep, "`value`: "),
        ("\u{1}", "expected value"),
    ] {
        folder.write("p", &format!("{good}\n\n{line}\n"));
        let ended = folder.apply(&[]);
        ended.check_code(1);
        let place = "Error: p, line 3: ";
        assert!(ended.err.starts_with(place) && ended.err.contains(what), "{line}: {}", ended.err);
    }
    let change = r#"{"op":"change","path":"/a","old":1,"value":2}"#;
    let again = r#"{"op":"change","path":"/a","old":1,"value":3}"#;
    let to_a = r#"{"op":"move","path":"/a","from":"/b"}"#;
    let remove = r#"{"op":"remove","path":"/a","old":1}"#;
    for lines in [vec![remove, change], vec![change, again], vec![to_a, change, again]] {
        folder.write("p", &lines.join("\n"));
        let ended = folder.apply(&[]);
        ended.check_code(1);
        assert!(ended.err.contains("another line is about /a, too"), "{lines:?}: {}", ended.err);
    }
    std::fs::write(folder.0.join("p"), b"{\"op\":\"add\",\"path\":\"/\xff\",\"value\":1}").unwrap();
    folder.apply(&[]).check_code(1);
    folder.run(&["apply", "d", "t", "none"]).check_code(4);
    folder.write("p", &deep);
    folder.apply(&["--depth-max", "600"]).check_code(0);
    folder.run(&["apply", "none", "t", "p"]).check_code(4);
}

/// Whatever a file has in it, it is done or refused, and what is refused has done nothing.
#[test]
fn mangled_patch_is_done_or_refused() {
    let document = r#"{"a":{"n":[1,2]},"b":{"n":2},"c":[3],"s":6}"#;
    let lines = [
        r#"{"op":"move","from":"/a","path":"/b"}"#,
        r#"{"op":"move","from":"/b","path":"/d"}"#,
        r#"{"op":"change","path":"/d/n","old":2,"value":{"x":[1]}}"#,
        r#"{"op":"remove","path":"/b/n/1","old":2}"#,
        r#"{"op":"add","path":"/c/5","value":0,"value_tree":{"$children":{"0":{}}}}"#,
        r#"{"op":"change","path":"/","old":{},"value":[]}"#,
        r#"{"op":"move","from":"/s","path":"/c/0"}"#,
    ];
    let mut codes = [0; 6];
    for_each_seed(60, |rng| {
        let mut patch: Vec<Vec<u8>> = vec![lines[1].into()];
        for _ in 0..rng.index(3) {
            let mut line = rng.pick(&lines).as_bytes().to_vec();
            if rng.chance(1, 3) {
                let (at, byte) = (rng.index(line.len()), *rng.pick(b"\"/{}[],:0a\x00\xff"));
                line[at] = byte;
            }
            patch.push(line);
        }
        let folder = Folder::with_patch("apply_mangled", document, &[]);
        std::fs::write(folder.0.join("p"), patch.join(&b'\n')).unwrap();
        let ended = folder.apply(if rng.chance(1, 4) { &["-R"] } else { &[] });
        let code = ended.code.filter(|code| [0, 1, 5].contains(code));
        codes[code.unwrap_or_else(|| panic!("{}", ended.err)) as usize] += 1;
        if code != Some(0) {
            assert_eq!(folder.document(), document);
        }
        folder.run(&["verify", "d"]).check_code(0);
    });
    assert!(codes[0] > 0 && codes[1] > 0 && codes[5] > 0, "{codes:?}");
}
