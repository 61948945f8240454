use jungle_json::{ARRAY_KEY, ImportOptions, MemberOrder, ORDER_KEY, VALUE_KEY, shape};
use jungle_tree::{Arena, Key, Path, Tree, ValueRef};

use crate::{new_tree, read_into, text_of, tree_of, written};

#[test]
fn scalars_are_attributes_and_the_rest_are_children() {
    let tree = tree_of(r#"{"a":1,"b":{"c":"d"},"e":[true,[],{}]}"#);
    let snapshot = tree.snapshot();
    let root = snapshot.root();
    assert_eq!(root.attribute("a").unwrap().as_int(), Some(1));
    assert_eq!(root.child_count(), 2);
    let e = root.child(&Key::from("e")).unwrap();
    let keys: Vec<String> = e.children().map(|(key, _)| key.to_string()).collect();
    assert_eq!(keys, ["0", "1", "2"]);
    let element = |index: i64| e.child(&Key::from(index)).unwrap();
    assert_eq!(element(0).attribute(VALUE_KEY).unwrap().as_bool(), Some(true));
    assert!(element(1).attribute(ARRAY_KEY).unwrap().is_null());
    assert!(!element(2).has_attributes());
}

#[test]
fn nothing_is_stored_for_order_where_names_are_sorted() {
    let mut count = 0;
    let tree = tree_of(r#"{"a":1,"b":{"c":"d","x":{}},"e":[{"a":0,"b":1}]}"#);
    tree.read().root().visit(|node| count += u32::from(node.attribute(ORDER_KEY).is_some()));
    assert_eq!(count, 0);
}

#[test]
fn order_can_be_ignored() {
    let options = ImportOptions { member_order: MemberOrder::Ignore, ..ImportOptions::default() };
    let mut tree = tree_of(r#"{"b":1,"a":{"y":1,"x":2}}"#);
    read_into(&mut tree, r#"{"b":1,"a":{"y":1,"x":2}}"#, &options).unwrap();
    assert_eq!(text_of(&tree), r#"{"a":{"x":2,"y":1},"b":1}"#);
    assert_eq!(read_into(&mut tree, r#"{"b":1,"a":{"x":2,"y":1}}"#, &options).unwrap().edits, 0);
}

#[test]
fn the_tree_of_a_document_does_not_depend_on_what_was_there() {
    let many = |count: usize| -> String {
        let members: Vec<String> = (0..count).map(|i| format!("\"k{i}\":{i}")).collect();
        format!("{{{}}}", members.join(","))
    };
    let texts =
        ["[]", "{}", "7", "[1,2]", r#"{"":0,"b":[],"a":1}"#, &many(64), &many(65), r#"[[],{}]"#];
    for before in texts {
        for after in texts {
            let mut tree = tree_of(before);
            read_into(&mut tree, after, &ImportOptions::default()).unwrap();
            assert_eq!(text_of(&tree), after, "over {before}");
            let hash = tree.read().root().content_hash();
            assert_eq!(hash, tree_of(after).read().root().content_hash(), "{after} over {before}");
        }
    }
}

#[test]
fn what_is_not_from_json_has_a_form_too() {
    let mut tree = Tree::new(&Arena::new().unwrap());
    let first = Path::root().join(tree.add_child(&[]).unwrap());
    let second = Path::root().join(tree.add_child(&[]).unwrap());
    tree.put_attribute(&first, "", f64::INFINITY).unwrap();
    tree.put_attribute(&second, "bytes", ValueRef::Bytes(b"any")).unwrap();
    tree.put_attribute(&second, "digits", ValueRef::Bytes(b"12")).unwrap();
    let Some(Key::Position(position)) = second.last().cloned() else {
        panic!("a position");
    };
    let between = Path::root().join(tree.insert_before(&[], &position).unwrap());
    tree.put_attribute(&between, "", "fraction").unwrap();
    let array = r#"[{"$float":"inf"},"fraction",{"bytes":{"$bytes":"YW55"},"#.to_owned()
        + r#""digits":{"$bytes":"MTI="}}]"#;
    assert_eq!(text_of(&tree), array);

    tree.put_attribute(&[], "title", "mixed").unwrap();
    let mixed = r#"{"$attributes":{"title":"mixed"},"$children":{"0":{"$float":"inf"},"#;
    assert!(text_of(&tree).starts_with(mixed), "{}", text_of(&tree));

    let mut tree = new_tree();
    tree.insert_child(&[], &Key::from("a")).unwrap();
    tree.put_attribute(&[], "a", 1).unwrap();
    let twice = r#"{"$attributes":{"a":1},"$children":{"a":{}}}"#;
    assert_eq!(written(tree.read().root()), twice);
}

#[test]
fn an_element_added_to_an_empty_array_keeps_it_an_array() {
    let mut tree = tree_of(r#"{"a":[]}"#);
    let path = Path::from(["a"]);
    let element = path.join(tree.add_child(&path).unwrap());
    tree.put_attribute(&element, VALUE_KEY, 5).unwrap();
    assert_eq!(text_of(&tree), r#"{"a":[5]}"#);
}

#[test]
fn debug_shows_the_beginning_of_what_is_large() {
    let check = |text: &str, shown: &str| {
        let tree = tree_of(text);
        assert_eq!(format!("{:?}", shape(tree.snapshot().root())), shown);
    };
    check("7", "Scalar(Int(7))");
    check(r#"[1,{"a":2}]"#, "Array([Position(0, []), Position(1, [])])");
    check(r#"{"a":{"b":1},"c":2}"#, r#"Object(["a", "c"])"#);
    let names: Vec<String> = (100..120).map(|n| format!("\"{n}\"")).collect();
    let object = format!("{{{}:0}}", names.join(":0,"));
    check(&object, &format!("Object([{}, ..])", names[..16].join(", ")));
    let tree = tree_of(&object);
    let attributes = format!("{:?}", tree.snapshot().root().attributes());
    assert!(attributes.starts_with(r#"[("100", Int(0)), "#), "{attributes}");
    assert!(attributes.ends_with(r#"("115", Int(0)), ..]"#), "{attributes}");
    let tree = tree_of(&format!("[{}]", ["0"; 1_000].join(",")));
    let children = format!("{:?}", tree.snapshot().root().children());
    assert!(children.ends_with(", ..]") && children.len() < 1_000, "{children}");
}
