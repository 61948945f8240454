use jungle_json::{ImportOptions, import};
use jungle_testkit::for_each_seed;

use crate::round_trip::random;
use crate::{read_into, text_of, tree_of};

/// Going from one document to the next takes this many edits.
#[track_caller]
fn check(before: &str, after: &str, edits: u64) {
    let mut tree = tree_of(before);
    let summary = read_into(&mut tree, after, &ImportOptions::default()).unwrap();
    assert_eq!(text_of(&tree), after);
    assert_eq!(summary.edits, edits, "{before} to {after}");
}

#[test]
fn only_what_differs_is_edited() {
    check(r#"{"a":1,"b":[1,2,{"c":3}]}"#, r#"{"a":1,"b":[1,2,{"c":3}]}"#, 0);
    check(r#"{"a":1,"b":2}"#, r#"{"a":1,"b":3}"#, 1);
    check(r#"{"a":1,"b":2}"#, r#"{"a":1}"#, 1);
    check(r#"{"a":{"x":1},"b":{"x":1}}"#, r#"{"b":{"x":1}}"#, 1);
    check("[1,2,3]", "[1,2]", 1);
    check("[1,2,3]", "[1,5,3]", 1);
    check("[1,2]", "[1,2,3]", 2);
    check("[1,[2]]", "[1,[]]", 2);
    check("[[]]", "[[{}]]", 2);
    check("{}", "{}", 0);
    check("[]", "[]", 0);
    check("1", "2", 1);
    check(r#"{"b":1,"a":2}"#, r#"{"a":2,"b":1}"#, 1);
    // A member added elsewhere does not touch the order of the others.
    check(r#"{"b":1,"a":2}"#, r#"{"b":1,"a":2,"c":3}"#, 1);
}

#[test]
fn a_dictionary_costs_what_changed() {
    let text = |skip: usize, value: usize| -> String {
        let members = (0..5000).filter(|&i| i != skip);
        let members: Vec<String> =
            members.map(|i| format!("\"k{i:04}\":{}", if i == 77 { value } else { i })).collect();
        format!("{{{}}}", members.join(","))
    };
    check(&text(5000, 77), &text(5000, 78), 1);
    check(&text(5000, 77), &text(4000, 77), 1);
    check(&text(10, 77), &text(5000, 77), 2);
}

#[test]
fn no_edit_makes_no_version() {
    let mut tree = tree_of(r#"{"a":[1,2,{"b":"c"}]}"#);
    let before = tree.version_id();
    read_into(&mut tree, r#"{"a":[1,2,{"b":"c"}]}"#, &ImportOptions::default()).unwrap();
    assert_eq!(tree.version_id(), before);
}

#[test]
fn any_document_follows_any_other() {
    for_each_seed(300, |rng| {
        let mut tree = tree_of("{}");
        for _ in 0..5 {
            let text = random(rng, 5);
            read_into(&mut tree, &text, &ImportOptions::default()).unwrap();
            assert_eq!(text_of(&tree), text);
            let hash = tree.read().root().content_hash();
            assert_eq!(hash, tree_of(&text).read().root().content_hash());
            assert_eq!(tree.read().root().recount(), tree.read().root().subtree_count());
            let again = read_into(&mut tree, &text, &ImportOptions::default()).unwrap();
            assert_eq!(again.edits, 0, "{text}");
        }
    });
}

#[test]
fn a_tree_that_is_not_from_json_is_replaced() {
    for_each_seed(200, |rng| {
        let mut tree = tree_of(&random(rng, 4));
        tree.edit(|editor| {
            editor.put_attribute(&[], "", "beside")?;
            editor.put_attribute(&[], "\0array", 7)?;
            editor.add_child(&[])?;
            let key = editor.insert_at(&[], 1)?;
            editor.insert_child(&[key], &"child".into())
        })
        .unwrap();
        let text = random(rng, 4);
        read_into(&mut tree, &text, &ImportOptions::default()).unwrap();
        assert_eq!(text_of(&tree), text);
        let hash = tree.read().root().content_hash();
        assert_eq!(hash, tree_of(&text).read().root().content_hash());
    });
}

#[test]
fn an_editor_that_has_edited_may_import_too() {
    for_each_seed(100, |rng| {
        let mut tree = tree_of(r#"{"a":{"b":[1,2,3]},"c":{"d":1}}"#);
        let text = random(rng, 4);
        tree.edit(|editor| {
            editor.put_attribute(&["a".into()], "new", 1).unwrap();
            let options = ImportOptions::default();
            import(text.as_bytes(), editor, &["a".into()], &options, &mut |_| ())?;
            import(text.as_bytes(), editor, &["c".into()], &options, &mut |_| ())
        })
        .unwrap();
        assert_eq!(text_of(&tree), format!("{{\"a\":{text},\"c\":{text}}}"));
    });
}
