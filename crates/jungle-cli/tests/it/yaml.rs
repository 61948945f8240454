//! YAML in and out: what is written is read as the same, and what could be taken for two things is
//! refused with its place.

use jungle_testkit::for_each_seed;

use crate::Folder;
use crate::documents::{Document, ODD};

#[test]
fn random_documents_come_back() {
    for_each_seed(8, |rng| {
        let folder = Folder::new(&format!("yaml_{}", rng.seed()));
        for _ in 0..5 {
            let json = Document::random(rng, 6).json();
            folder.write("a.json", &json);
            folder.run(&["import", "d", "t", "a.json"]).check_code(0);
            folder.run(&["export", "d", "t", "--format", "yaml", "-o", "a.yaml"]).check(0, "", "");
            let yaml = std::fs::read_to_string(folder.0.join("a.yaml")).unwrap();
            let read = folder.run(&["import", "d", "again", "a.yaml"]);
            assert_eq!(read.code, Some(0), "{json}\n{yaml}\n{}", read.err);
            let again = folder.run(&["export", "d", "again"]).out;
            assert_eq!(again, json.clone() + "\n", "{yaml}");
            let same = folder.run(&["import", "d", "t", "a.yaml"]);
            assert!(same.out.ends_with("is a.yaml already\n"), "{json}\n{yaml}\n{}", same.out);
        }
    });
}

#[test]
fn text_stays_text() {
    let folder = Folder::new("yaml_text");
    let texts: Vec<String> = ODD.iter().map(|text| serde_json::to_string(text).unwrap()).collect();
    let members: Vec<String> = texts.iter().map(|text| format!("{text}:{text}")).collect();
    let json = format!("[{},{{{}}}]", texts.join(","), members.join(","));
    folder.write("a.json", &json);
    folder.run(&["import", "d", "t", "a.json"]).check_code(0);
    let yaml = folder.run(&["export", "d", "t", "--format", "yaml"]).out;
    folder.write("a.yml", &yaml);
    folder.run(&["import", "d", "again", "a.yml"]).check_code(0);
    folder.run(&["export", "d", "again"]).check(0, &(json + "\n"), "");
    // Old readers end lines at these, and know more words for truth.
    assert!(!yaml.contains(['\u{85}', '\u{2028}', '\u{2029}', '\u{feff}', '\t']), "{yaml}");
    let is_told = |line: &str| {
        let text = line.trim_start_matches("  ").trim_start_matches("- ");
        text.starts_with('"') || text.starts_with("a/b") || text.starts_with("a:") || text == "a"
    };
    let plain: Vec<&str> = yaml.lines().filter(|line| !is_told(line)).collect();
    assert_eq!(plain, [""; 0], "{yaml}");
}

#[test]
fn it_looks_as_people_write_it() {
    let folder = Folder::new("yaml_looks");
    let long = "k".repeat(1001);
    folder.write(
        "a.json",
        &format!(
            r#"{{"name":"jungle","of":[1.50,"no",[[],{{}}],
               {{"a":null,"b":[{{"c":true}}]}}],"{long}":[{{}}]}}"#
        ),
    );
    folder.run(&["import", "d", "t", "a.json"]).check_code(0);
    let expected = format!(
        "name: jungle\nof:\n  - 1.50\n  - \"no\"\n  - - []\n    - {{}}\n  - a: null\n    b:\n      \
         - c: true\n? \"{long}\"\n: - {{}}\n"
    );
    folder.run(&["export", "d", "t", "--format", "yaml"]).check(0, &expected, "");
    folder.write("a.yaml", &expected);
    folder.run(&["import", "d", "t", "a.yaml"]).check_code(0);
    folder.run(&["export", "d", "t", "/of/1", "--format", "yaml"]).check(0, "\"no\"\n", "");
    folder.run(&["export", "d", "t", "/of/3", "--format", "yaml"]).check(
        0,
        "a: null\nb:\n  - c: true\n",
        "",
    );
    folder.run_with_input(&["import", "d", "b", "-", "--format", "yaml"], "a: [").check_code(1);
}

#[track_caller]
fn check(yaml: &str, json: &str) {
    let folder = Folder::new(&format!("yaml_read_{:p}", yaml));
    let read = folder.run_with_input(&["import", "d", "t", "-", "--format", "yaml"], yaml);
    assert_eq!(read.code, Some(0), "{yaml}\n{}", read.err);
    assert_eq!(folder.run(&["export", "d", "t"]).out, format!("{json}\n"), "{yaml}");
}

#[test]
fn what_people_write_is_read() {
    check("# a\n--- # b\na%b: c#d\n", r#"{"a%b":"c#d"}"#);
    check("%YAML 1.2\n---\na: 1 # b\n...\n", r#"{"a":1}"#);
    check("\u{feff}a: 'it''s'\n", r#"{"a":"it's"}"#);
    check("---\n", "null");
    check("a:\n- b\n- c: [1, {d: ~}]\n- \n", r#"{"a":["b",{"c":[1,{"d":null}]},null]}"#);
    check(
        "a: |\n  one\n   two\n\nb: >-\n  one\n  two\n",
        "{\"a\":\"one\\n two\\n\",\"b\":\"one two\"}",
    );
    check("a: one\n  two\nb: \"\\x41\\u00e9\\\n  c\"\n", r#"{"a":"one two","b":"Aéc"}"#);
    check("{\"a\":1,\"b\":[true,null]}", r#"{"a":1,"b":[true,null]}"#);
    check("on: yes\n1: 2\ntrue: .5\n\"<<\": 0x1F\n", r#"{"on":"yes","1":2,"true":0.5,"<<":31}"#);
    check(
        "[1.50, +1, 5., -0, 0o17, 2001-12-14, 12:30]",
        r#"[1.50,1,5.0,-0,15,"2001-12-14","12:30"]"#,
    );
    check(
        "a: &x {b: [1, &y c]}\nd: *x\ne: [*y, *x]\n",
        r#"{"a":{"b":[1,"c"]},"d":{"b":[1,"c"]},"e":["c",{"b":[1,"c"]}]}"#,
    );
    check(
        "[!!str 1, ! 2, !!int 3, !!float 4, !!null '', !!seq [], !!map {}]",
        r#"["1","2",3,4,null,[],{}]"#,
    );
    check("? a\n: - b\n? c\n", r#"{"a":["b"],"c":null}"#);
}

#[track_caller]
fn refused(yaml: &str, expected: &str) {
    let folder = Folder::new(&format!("yaml_refused_{:p}", yaml));
    let read = folder.run_with_input(&["import", "d", "t", "-", "--format", "yaml"], yaml);
    read.check(1, "", &format!("Error: standard input: {expected}\n"));
}

#[test]
fn what_is_not_clear_is_refused_with_its_place() {
    refused("", "line 1 column 1: there is no document");
    refused("a: 1\n---\nb: 2\n", "line 2 column 1: a second document: a file is one");
    refused("a: 1\nb: 2\n\"a\": 3\n", "line 3 column 1: a second member \"a\" in one object");
    refused("b:\n  <<: {a: 1}\n", "line 2 column 3: keys are not merged; in quotes << is a name");
    refused("[1]: 2\n", "line 1 column 1: a key is an array or object");
    refused("? {}\n: 2\n", "line 1 column 3: a key is an array or object");
    refused("~: 2\n", "line 1 column 1: a key is null");
    refused("&a b: 2\n", "line 1 column 4: a key has an anchor");
    refused("a: &x 1\n*x : 2\n", "line 2 column 1: a key is an alias");
    refused("a: &x [*x]\n", "line 1 column 8: an alias inside of what it stands for");
    refused("a: !point [1]\n", "line 1 column 11: nobody knows what the tag !point makes of this");
    refused("a: !!int b\n", "line 1 column 10: \"b\" is no int");
    refused("a: .inf\n", "line 1 column 4: JSON has no .inf; as text it is in quotes");
    refused(
        "mode: 0644\n",
        "line 1 column 7: a number that begins with 0 is decimal for some and octal for others: \
         without it, with 0o, or in quotes it is not",
    );
}

#[test]
fn what_is_no_yaml_is_refused_with_its_place() {
    for (yaml, place) in [
        ("a: [1\n", "line 1 column 4: "),
        ("a: 1\n b: 2\n", "line 2 column 3: "),
        ("a: *b\n", "line 1 column 4: "),
        ("a: \"b\n", "line 1 column 4: "),
        ("a:\n\tb: 1\n", "line 2 column "),
    ] {
        let folder = Folder::new(&format!("yaml_wrong_{:p}", yaml));
        let read = folder.run_with_input(&["import", "d", "t", "-", "--format", "yaml"], yaml);
        read.check_code(1);
        let expected = format!("Error: standard input: {place}");
        assert!(read.err.starts_with(&expected), "{yaml}\n{}", read.err);
    }
    let folder = Folder::new("yaml_utf8");
    std::fs::write(folder.0.join("a.yaml"), b"a: b\nc: \xe9\n").unwrap();
    let read = folder.run(&["import", "d", "t", "a.yaml"]);
    read.check(1, "", "Error: a.yaml: line 2 column 4: it is not UTF-8\n");
}

#[test]
fn aliases_cannot_grow_without_end() {
    let folder = Folder::new("yaml_laughs");
    let mut yaml = String::from("a0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol]\n");
    for level in 1..40 {
        let all = vec![format!("*a{}", level - 1); 8].join(", ");
        yaml.push_str(&format!("a{level}: &a{level} [{all}]\n"));
    }
    folder.write("a.yaml", &yaml);
    let read = folder.run(&["import", "d", "t", "a.yaml"]);
    read.check_code(1);
    assert!(
        read.err.contains("a.yaml: line ") && read.err.contains("stand for more"),
        "{}",
        read.err
    );
}

#[test]
fn depth_is_limited_until_more_is_asked_for() {
    let folder = Folder::new("yaml_depth");
    folder.write("flow.yaml", &format!("{}{}", "[".repeat(2000), "]".repeat(2000)));
    folder.write("block.yaml", &format!("{}a\n", "- ".repeat(2000)));
    for file in ["flow.yaml", "block.yaml"] {
        let read = folder.run(&["import", "d", "t", file]);
        read.check_code(1);
        let what = "more than 512 objects and arrays are in one another";
        assert!(read.err.contains("line 1 column ") && read.err.contains(what), "{}", read.err);
        folder.run(&["import", "d", "t", file, "--depth-max", "2000"]).check_code(0);
        let yaml = folder.run(&["export", "d", "t", "--format", "yaml"]).out;
        assert!(yaml.starts_with(&"- ".repeat(1999)), "{yaml}");
    }
}
