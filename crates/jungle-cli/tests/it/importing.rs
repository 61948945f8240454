//! Imports that are tried out only, and those that leave out what cannot be read.

use jungle_testkit::for_each_seed;

use crate::Folder;

#[test]
fn a_dry_run_tells_what_an_import_would_do_and_does_nothing() {
    let folder = Folder::new("import_dry");
    folder.write("a.json", r#"{"a":1}"#);
    folder.write("b.json", r#"{"a":2,"b":[1,2]}"#);
    let dry = ["import", "d", "t", "a.json", "b.json", "b.json", "--dry-run", "--tag", "v{n}"];
    let told = "would be a revision: a.json, 7 bytes, 1 node, 1 difference [v1]\n\
                would be a revision: b.json, 17 bytes, 4 nodes, 2 differences [v2]\n\
                no revision: it is b.json already [v3]\n";
    folder.run(&dry).check(0, told, "");
    assert!(!folder.0.join("d").exists(), "no folder was made");

    folder.run(&["import", "d", "t", "a.json", "--tag", "v2"]).check_code(0);
    let log = folder.run(&["log", "d", "t"]).out;
    let again = folder.run(&["import", "d", "t", "b.json", "--dry-run", "--json"]);
    let told = "{\"file\":\"b.json\",\"changed\":true,\"differences\":2,\"nodes\":4,\
                \"bytes\":17,\"tags\":[]}\n";
    again.check(0, told, "");
    let taken = folder.run(&dry);
    taken.check_code(1);
    assert!(taken.err.contains("\"v2\""), "{}", taken.err);
    folder.run(&["import", "d", "t", "none.json", "--dry-run"]).check_code(4);
    let twice = &["import", "d", "t", "a.json", "b.json", "--tag", "one", "--dry-run"];
    folder.run(twice).check_code(1);
    folder.run(&["import", "d", "new", "a.json", "--tag", "5", "--dry-run"]).check_code(1);
    folder.run(&["import", "d", "", "a.json", "--dry-run"]).check_code(1);
    folder.run(&["import", "d", "t", "a.json", "--dry-run", "--branch", "x"]).check_code(4);
    folder.run(&["import", "d", "u", "a.json", "--dry-run", "--branch", "x"]).check_code(4);
    assert_eq!(folder.run(&["log", "d", "t"]).out, log, "nothing was changed");
}

#[test]
fn what_cannot_be_read_is_left_out_and_told() {
    let folder = Folder::new("import_skip");
    folder.write("good.json", r#"{"a":1}"#);
    folder.write("bad.json", r#"{"a":"#);
    folder.write("deep.json", &format!("{}{}", "[".repeat(600), "]".repeat(600)));
    let skipping = &["import", "d", "t", "bad.json", "good.json", "deep.json", "--skip-errors"];
    let ended = folder.run(skipping);
    assert_eq!(ended.out, "revision 2: good.json, 7 bytes, 1 node\n");
    ended.check_code(1);
    assert!(ended.err.contains("bad.json") && ended.err.contains("deep.json"), "{}", ended.err);
    assert!(ended.err.ends_with("left out: 2 errors, as told above\n"), "{}", ended.err);

    folder.write("all.ndjson", "{\"value\":{\"x\":1}}\nno\n{\"value\":{\"x\":2}}\n{\"value\":[}\n");
    let ended = folder.run(&["import", "d", "lines", "all.ndjson", "--skip-errors"]);
    ended.check_code(1);
    assert_eq!(ended.out.lines().count(), 2, "{}", ended.out);
    assert!(ended.err.contains("line 2:") && ended.err.contains("line 4:"), "{}", ended.err);
    folder.run(&["get", "d", "lines", "/x"]).check(0, "2\n", "");

    let bytes = b"{\"value\":{\"x\":3},\"tags\":[\"v\",\"v\"]}\n\xff\n{\"value\":{\"x\":4}}\n";
    std::fs::write(folder.0.join("bytes.ndjson"), bytes).unwrap();
    let skipping = &["import", "d", "lines", "none.json", "bytes.ndjson", "--skip-errors"];
    let ended = folder.run(skipping);
    ended.check_code(1);
    assert!(ended.err.contains("line 2: not UTF-8"), "{}", ended.err);
    assert!(ended.err.contains("none.json") && ended.err.contains("2 errors"), "{}", ended.err);
    folder.run(&["get", "d", "lines", "/x"]).check(0, "4\n", "");
    folder.run(&["get", "d", "lines", "/x", "--at", "v"]).check(0, "3\n", "");

    // Of a tree that got nothing, nothing is left.
    folder.run(&["import", "d", "none", "bad.json", "--skip-errors"]).check_code(1);
    folder.run(&["get", "d", "none", "/"]).check_code(4);
}

/// It makes no revision, as a tree that is made is empty; but it is what was asked for.
#[test]
fn a_new_tree_that_got_an_empty_document_is_left_when_a_later_file_fails() {
    let folder = Folder::new("import_empty");
    folder.write("empty.json", "{}");
    folder.write("bad.json", r#"{"a":"#);
    for tree in ["one", "skipping"] {
        let mut args = vec!["import", "d", tree, "empty.json", "bad.json", "--tag", "v{n}"];
        args.extend((tree == "skipping").then_some("--skip-errors"));
        let ended = folder.run(&args);
        assert_ne!(ended.code, Some(0), "{}", ended.err);
        assert!(ended.err.contains("bad.json"), "{}", ended.err);
        folder.run(&["get", "d", tree, "/", "--at", "v1"]).check(0, "{}\n", "");
        folder.run(&["get", "d", tree, "/"]).check(0, "{}\n", "");
    }
    // Where nothing came before it, nothing is left; and what was there stays as it is.
    let ended = folder.run(&["import", "d", "none", "bad.json", "empty.json"]);
    assert_ne!(ended.code, Some(0), "{}", ended.err);
    folder.run(&["get", "d", "none", "/"]).check_code(4);
    let ended = folder.run(&["import", "d", "one", "bad.json"]);
    assert_ne!(ended.code, Some(0), "{}", ended.err);
    folder.run(&["get", "d", "one", "/"]).check(0, "{}\n", "");
}

/// A revision and its tag are two commits; what is ended between them has made the first.
#[test]
fn an_import_that_is_begun_again_tags_the_revision_that_lacks_its_tag_and_goes_on() {
    let folder = Folder::new("import_again");
    for (name, number) in [("a", 1), ("b", 2), ("c", 3)] {
        folder.write(&format!("{name}.json"), &format!("{{\"a\":{number}}}"));
    }
    let all = ["import", "d", "t", "a.json", "b.json", "c.json", "--tag", "{stem}"];
    folder.run(&["import", "d", "t", "a.json", "b.json", "--tag", "{stem}"]).check_code(0);
    folder.run(&["tag", "d", "t", "--delete", "b"]).check_code(0);
    let told = "no revision: it is a.json already [a]\n\
                no revision: it is b.json already [b]\n\
                would be a revision: c.json, 7 bytes, 1 node, 1 difference [c]\n";
    folder.run(&[&all[..], &["--dry-run"]].concat()).check(0, told, "");
    let told = "revision 2 is a.json already [a]\n\
                revision 4 is b.json already [b]\n\
                revision 8: c.json, 7 bytes, 1 node [c]\n";
    let ended = folder.run(&all);
    assert_eq!(ended.out, told, "{}", ended.err);
    ended.check_code(0);
    folder.run(&["tag", "d", "t"]).check(0, "a  revision 2\nb  revision 4\nc  revision 8\n", "");
    // Once more, and nothing is left to do.
    folder.run(&all).check_code(0);
    folder.run(&["tag", "d", "t", "--delete", "a"]).check_code(0);

    // What is tagged is something else now; or it is not what the tree has.
    folder.write("b.json", r#"{"a":4}"#);
    let refused = folder.run(&["import", "d", "t", "b.json", "--tag", "{stem}"]);
    refused.check_code(1);
    assert!(refused.err.contains("\"b\" already"), "{}", refused.err);
    folder.run(&["put", "d", "t", "/a", "9"]).check_code(0);
    for dry in [&["--dry-run"][..], &[]] {
        let args = ["import", "d", "t", "c.json", "--tag", "{stem}"];
        let refused = folder.run(&[&args[..], dry].concat());
        refused.check_code(1);
        assert!(refused.err.contains("\"c\" already"), "{}", refused.err);
    }
    folder.run(&["get", "d", "t", "/a"]).check(0, "9\n", "");
}

/// Nothing tells whether a revision that has no tag was made before.
#[test]
fn a_revision_without_a_tag_is_not_made_once_more_behind_newer_ones() {
    let folder = Folder::new("import_lines_again");
    let lines = [
        r#"{"value":{"a":1},"tags":["v1"]}"#,
        r#"{"value":{"a":2}}"#,
        r#"{"value":{"a":3},"tags":["v2"]}"#,
    ];
    folder.write("all.ndjson", &lines.join("\n"));
    let import = ["import", "d", "t", "all.ndjson"];
    folder.run(&import).check_code(0);
    for dry in [&["--dry-run"][..], &[]] {
        let refused = folder.run(&[&import[..], dry].concat());
        refused.check_code(1);
        assert!(refused.err.contains("\"v1\" already"), "{}", refused.err);
    }
    folder.run(&["get", "d", "t", "/a"]).check(0, "3\n", "");
    // What was ended before the newer one goes on.
    folder.write("begun.ndjson", &lines[..2].join("\n"));
    folder.run(&["import", "d", "u", "begun.ndjson"]).check_code(0);
    folder.run(&["import", "d", "u", "all.ndjson"]).check_code(0);
    folder.run(&["tag", "d", "u"]).check(0, "v1  revision 8\nv2  revision 11\n", "");
}

#[test]
fn rows_that_do_not_fit_are_left_out_and_the_others_are_there() {
    for_each_seed(8, |rng| {
        let folder = Folder::new(&format!("import_rows_{}", rng.seed()));
        let columns = 1 + rng.index(4);
        let row = |cells: usize, text: &str| vec![text; cells].join(",") + "\n";
        let mut all = (0..columns).map(|at| format!("c{at}")).collect::<Vec<_>>().join(",") + "\n";
        let mut good = all.clone();
        let mut bad_lines = Vec::new();
        for line in 2..2 + 1 + rng.below(20) {
            let cells = if rng.chance(1, 3) { 1 + rng.index(8) } else { columns };
            let text = row(cells, "x");
            all.push_str(&text);
            match cells == columns {
                true => good.push_str(&text),
                false => bad_lines.push(line),
            }
        }
        good.push_str(&row(columns, "end"));
        all.push_str(&row(columns, "end"));
        folder.write("all.csv", &all);
        let ended = folder.run(&["import", "d", "t", "all.csv", "--skip-errors"]);
        ended.check_code(i32::from(!bad_lines.is_empty()));
        let told: Vec<&str> =
            ended.err.lines().filter(|line| line.contains("all.csv: line")).collect();
        assert_eq!(told.len(), bad_lines.len(), "{}", ended.err);
        for (told, line) in told.iter().zip(&bad_lines) {
            assert!(told.contains(&format!("line {line}:")), "{told}");
        }
        folder.run(&["export", "d", "t", "--format", "csv"]).check(0, &good, "");
    });
}

#[test]
fn a_row_that_is_no_text_is_left_out_and_a_quote_that_is_open_is_not() {
    let folder = Folder::new("import_rows_bytes");
    std::fs::write(folder.0.join("a.csv"), b"a,b\n1,2\n\xff,3\n4,5\n").unwrap();
    let ended = folder.run(&["import", "d", "t", "a.csv", "--skip-errors"]);
    ended.check_code(1);
    assert!(ended.err.contains("line 3: cell 1 is not UTF-8"), "{}", ended.err);
    folder.run(&["export", "d", "t", "--format", "csv"]).check(0, "a,b\n1,2\n4,5\n", "");

    folder.write("open.csv", "a\n\"1\n2\n");
    let ended = folder.run(&["import", "d", "u", "open.csv", "--skip-errors"]);
    ended.check_code(1);
    assert!(ended.err.contains("line 2: a quote is not closed"), "{}", ended.err);
    folder.run(&["get", "d", "u", "/"]).check_code(4);
}
