use crate::Folder;

const TEXT: &str =
    r#"{"z":{"b":1.50,"a":[1,{"@type":"x","type":"y"},[]]},"name":"jungle","0":"digit","e":{}}"#;

fn folder(name: &str) -> Folder {
    let folder = Folder::new(name);
    folder.write("a.json", TEXT);
    folder
}

#[test]
fn the_value_at_a_path_is_printed_as_it_was() {
    let folder = folder("get_value");
    for (path, expected) in [
        ("/", TEXT),
        ("/name", "\"jungle\""),
        ("name", "\"jungle\""),
        ("/@name", "\"jungle\""),
        ("/z/b", "1.50"),
        ("/z/a", r#"[1,{"@type":"x","type":"y"},[]]"#),
        ("/z/a/0", "1"),
        ("/z/a/1/@type", "\"x\""),
        ("/z/a/1/type", "\"y\""),
        ("/z/a/2", "[]"),
        ("/z/a/", r#"[1,{"@type":"x","type":"y"},[]]"#),
        ("name/", "\"jungle\""),
        ("/\"0\"", "\"digit\""),
        ("/e", "{}"),
    ] {
        folder.run(&["get", "a.json", path]).check(0, &format!("{expected}\n"), "");
    }
    let pretty = "[\n  1,\n  {\n    \"@type\": \"x\",\n    \"type\": \"y\"\n  },\n  []\n]\n";
    folder.run(&["get", "a.json", "/z/a", "--pretty"]).check(0, pretty, "");
}

#[test]
fn what_is_not_there_has_a_code_and_a_hint() {
    let folder = folder("get_not_found");
    for (path, place, hint) in [
        ("/nam", "/nam", "did you mean /name?"),
        ("/z/c/d", "/z/c", "`get` of /z prints what is there"),
        ("/z/a/7", "/z/a/7", "/z/a is an array of 3"),
        ("/name/x", "/name/x", "/name is a scalar"),
        ("/0", "/0", "did you mean /\"0\"?"),
        ("/something", "/something", "`get` of / prints what is there"),
    ] {
        let err = format!("Error: there is nothing at {place}\nHint: {hint}\n");
        folder.run(&["get", "a.json", path]).check(4, "", &err);
    }
}

#[test]
fn a_path_that_is_none_is_wrong_usage() {
    let folder = folder("get_bad_path");
    for path in ["//", "/a//", "//a"] {
        folder.run(&["get", "a.json", path]).check_code(2);
    }
    let ended = folder.run(&["get", "a.json", "/a//b"]);
    assert_eq!((ended.code, &*ended.out), (Some(2), ""));
    assert!(ended.err.starts_with("Error: /a//b: path, byte 3: no key after"), "{}", ended.err);
    assert!(ended.err.contains("\nHint: a path is /name/0/"), "{}", ended.err);
}

#[test]
fn standard_input_is_read() {
    folder("get_stdin")
        .run_with_input(&["get", "-", "/a/0"], "{\"a\":[true]}")
        .check(0, "true\n", "");
}

#[test]
fn what_looks_like_a_colour_is_data() {
    let folder = Folder::new("get_colour");
    let document = "{\"a\":\"b\u{7f}c\"}";
    folder.write("a.json", document);
    folder.run(&["import", "d", "t", "a.json"]).check_code(0);
    let line = format!("{document}\n");
    folder.run(&["get", "a.json", "/"]).check(0, &line, "");
    folder.run(&["get", "d", "t"]).check(0, &line, "");
    folder.run(&["get", "d", "t", "/a"]).check(0, "\"b\u{7f}c\"\n", "");
    folder.run_with_input(&["shell", "d"], "get t\n").check(0, &line, "");
    // A line of JSON has it, whoever says that it is to be one.
    let args = ["ls", "d", "t", "--json"];
    let listed = folder.run(&args).out;
    assert!(listed.contains("b\u{7f}c"), "{listed}");
    folder.run_with_input(&["shell", "d"], "ls t --json\n").check(0, &listed, "");
    folder.run_with_input(&["shell", "d", "--json"], "ls t\n").check(0, &listed, "");
}
