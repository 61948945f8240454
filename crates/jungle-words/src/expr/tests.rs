use jungle_json::{ImportOptions, import};
use jungle_tree::{Arena, Tree};

use super::*;

fn tree() -> Tree {
    let text = r#"{"a":1,"b":2.50,"c":"hello world","d":true,"e":null,"f":{"g":1},"h h":"x",
        "list":["one",2],"big":1e3}"#;
    let mut tree = Tree::new(&Arena::new().unwrap());
    tree.edit(|editor| {
        import(text.as_bytes(), editor, &[], &ImportOptions::default(), &mut |_| ())
    })
    .unwrap();
    tree
}

#[test]
fn expressions_are_true_of_the_root_or_not() {
    let tree = tree();
    let snapshot = tree.snapshot();
    for (text, expected) in [
        ("a = 1", true),
        ("a=1.0", true),
        ("a != 1", false),
        ("missing != 1", false),
        ("not missing = 1", true),
        ("a < 2 and b >= 2.5", true),
        ("b = 2.5", true),
        ("big = 1000", true),
        ("a = \"1\"", false),
        ("c = 'hello world'", true),
        ("c ~ lo", true),
        ("c ~ hello*", true),
        ("c ~ *world", true),
        ("c ~ h*o*d", true),
        ("c ~ h*x*d", false),
        ("c ~ ello*", false),
        ("c ~ *", true),
        ("c > hello", true),
        ("c > 5", false),
        ("d = true and e = null", true),
        ("exists f and exists a and not exists g", true),
        ("exists \"h h\"", true),
        ("a = 2 or a = 3 or a = 1", true),
        ("a = 2 or a = 1 and b = 3", false),
        ("(a = 2 or a = 1) and not b = 3", true),
        ("not (a = 1)", false),
        ("not not a = 1", true),
        ("@name = x", false),
    ] {
        let expr = Expr::parse(text).unwrap();
        assert_eq!(expr.is_true(snapshot.root(), None), expected, "{text}");
    }
}

#[test]
fn names_and_values_of_elements_can_be_asked_for() {
    let tree = tree();
    let snapshot = tree.snapshot();
    let found = |text: &str| {
        let expr = Expr::parse(text).unwrap();
        let mut walk = snapshot.root().walk();
        let mut found = Vec::new();
        while let Some(node) = walk.next() {
            if expr.is_true(node, walk.key()) {
                found.push(walk.path().to_string());
            }
        }
        found.join(" ")
    };
    assert_eq!(found("@name = f"), "/f");
    assert_eq!(found("@name = 1"), "/list/1");
    assert_eq!(found("@value ~ n"), "/list/0");
    assert_eq!(found("@value = 2 or g = 1"), "/f /list/1");
    assert_eq!(found("exists @value"), "/list/0 /list/1");
}

#[test]
fn what_is_wrong_is_told_with_its_place() {
    for (text, at, what) in [
        ("", 0, "a key must follow"),
        ("a", 1, "one of = != < <= > >= ~ must follow the key"),
        ("a =", 3, "a value must follow"),
        ("a = )", 4, "a value must follow"),
        ("a = 1 b = 2", 6, "`and`, `or` or the end must be here"),
        ("(a = 1", 6, "`and`, `or` or `)` must be here"),
        ("a = 1)", 5, "this parenthesis was never opened"),
        ("a = \"x", 4, "this quote is never closed"),
        ("a ! 1", 2, "`!` must be followed by `=`"),
        ("and = 1", 0, "a key must be here; write it in quotes if this is one"),
        ("a = 1 and", 9, "a key must follow"),
        ("@x = 1", 0, "@name and @value are all there is; write other keys in quotes"),
        ("a ~", 3, "a text must follow `~`"),
    ] {
        assert_eq!(Expr::parse(text).unwrap_err(), ParseError::new(at, what), "{text}");
    }
}

#[test]
fn depth_is_limited_and_length_is_not() {
    let nested = |depth: usize| format!("{}a = 1{}", "(".repeat(depth), ")".repeat(depth));
    assert!(Expr::parse(&nested(100)).is_ok());
    assert!(Expr::parse(&nested(101)).is_err());
    assert!(Expr::parse(&"not ".repeat(100_000)).is_err());
    let long = vec!["a = 2"; 10_000].join(" or ") + " or a = 1";
    assert!(Expr::parse(&long).unwrap().is_true(tree().snapshot().root(), None));
}
