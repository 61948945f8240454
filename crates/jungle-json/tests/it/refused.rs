use jungle_json::{ImportError, ImportOptions};

use crate::{new_tree, read_into};

#[track_caller]
fn check(text: &[u8], expected: &str) {
    let mut tree = new_tree();
    let before = tree.version_id();
    let error = tree
        .edit(|editor| {
            jungle_json::import(text, editor, &[], &ImportOptions::default(), &mut |_| ())
        })
        .unwrap_err();
    assert_eq!(error.to_string(), expected);
    assert_eq!(tree.version_id(), before);
}

#[test]
fn what_is_wrong_is_told_with_its_place() {
    for (text, expected) in [
        ("", "line 1 column 1: the document ends where a value must follow"),
        ("\n\n {", "line 3 column 3: the document ends where a name in quotes must follow"),
        ("[1,\n 2,\n ]", "line 3 column 2: a value must be here, not `]`"),
        ("[1 2]", "line 1 column 4: `,` or `]` must be here, not `2`"),
        ("{\"a\":1 \"b\":2}", "line 1 column 8: `,` or `}` must be here, not `\"`"),
        ("{\"a\" 1}", "line 1 column 6: `:` must be here, not `1`"),
        ("{a:1}", "line 1 column 2: a name in quotes must be here, not `a`"),
        ("{\"a\":1,}", "line 1 column 8: a name in quotes must be here, not `}`"),
        ("[1] 2", "line 1 column 5: the end of the document must be here, not `2`"),
        ("[1]]", "line 1 column 4: the end of the document must be here, not `]`"),
        ("nul", "line 1 column 4: the document ends where null must follow"),
        ("[01]", "line 1 column 2: this is not how JSON writes a number"),
        ("\"a\nb\"", "line 1 column 3: the control character 0x0a in a string must be escaped"),
        ("\"a\\x\"", "line 1 column 3: this backslash begins no escape of JSON"),
        ("\"a\\u12g4\"", "line 1 column 3: this backslash begins no escape of JSON"),
        ("\"abc", "line 1 column 5: the document ends where the closing quote must follow"),
    ] {
        check(text.as_bytes(), expected);
    }
}

#[test]
fn what_could_not_be_kept_is_refused() {
    check(b"[\"ok\",\"a\xff\"]", "line 1 column 7: the string that begins here is not UTF-8");
    check(b"{\"\xc3\":1}", "line 1 column 2: the string that begins here is not UTF-8");
    let mark = "line 1 column 1: a value must be here, not a byte order mark or other text";
    check(b"\xef\xbb\xbf{}", mark);
    for text in [
        r#""\ud800""#,
        r#""\udc00""#,
        r#""\ud800x""#,
        r#""\ud800\n""#,
        r#""\ud800\u0041""#,
        r#""\ud800\ud800""#,
    ] {
        check(text.as_bytes(), "line 1 column 2: half a surrogate pair is no character");
    }
}

#[test]
fn a_second_member_of_a_name_is_found_wherever_it_is() {
    for (text, expected) in [
        (r#"{"a":1,"a":1}"#, "line 1 column 8: a second member \"a\" in one object"),
        ("{\"b\":1,\n\"a\":2,\n\"b\":1}", "line 3 column 1: a second member \"b\" in one object"),
        (r#"{"b":{},"a":{},"b":{}}"#, "line 1 column 16: a second member \"b\" in one object"),
        (r#"{"b":{},"a":1,"b":1}"#, "line 1 column 15: a second member \"b\" in one object"),
        (r#"[{"":1,"\u0041":2,"":3}]"#, "line 1 column 19: a second member \"\" in one object"),
        (r#"{"b":1,"a":1,"a":2,"b":1}"#, "line 1 column 14: a second member \"a\" in one object"),
    ] {
        check(text.as_bytes(), expected);
    }
    let many: Vec<String> = (0..100).rev().map(|i| format!("\"k{i:03}\":0")).collect();
    let text = format!("{{{},\n\"k050\":1}}", many.join(","));
    check(text.as_bytes(), "line 2 column 1: a second member \"k050\" in one object");
}

#[test]
fn a_second_member_is_found_in_an_update_too() {
    let mut tree = crate::tree_of(r#"{"a":{"x":1},"b":{}}"#);
    let result = read_into(&mut tree, r#"{"b":{},"a":{"x":1},"b":{}}"#, &Default::default());
    assert!(matches!(result, Err(ImportError::DuplicateName { .. })));
    assert_eq!(crate::text_of(&tree), r#"{"a":{"x":1},"b":{}}"#);
}

#[test]
fn a_reader_that_fails_is_told() {
    struct Fails;
    impl std::io::Read for Fails {
        fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
            Err(std::io::Error::other("the cable is out"))
        }
    }
    let result = new_tree().edit(|editor| {
        jungle_json::import(Fails, editor, &[], &ImportOptions::default(), &mut |_| ())
    });
    assert_eq!(result.unwrap_err().to_string(), "the cable is out");
}
