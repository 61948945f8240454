use jungle_json::{ImportOptions, import};
use jungle_tree::{Arena, Tree};

use jungle_db::{Jungle, TreeHandle};
use jungle_testkit::{Rng, for_each_seed};
use jungle_tree::{EditError, Path, Value};

use super::*;

fn tree() -> Tree {
    let text = r#"{"a":1,"b":2.50,"c":"hello world","d":true,"e":null,"f":{"g":1},"h h":"x",
        "list":["one",2],"big":1e3,"id":18446744073709551615,"most":9223372036854775807}"#;
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
        ("b ~ 2.50", true),
        ("b ~ 2.*", true),
        ("b ~ 0x", false),
        ("big ~ 1e*", true),
        ("id = 18446744073709551615", true),
        ("id = 18446744073709551614", false),
        ("id > 18446744073709551614 and id > 9223372036854775807", true),
        ("id = 18446744073709551615.0", true),
        ("most = 9223372036854775808", false),
        ("most < 9223372036854775808", true),
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

const MEMBERS: [&str; 3] = ["a", "b", ""];
const LITERALS: [&str; 16] = [
    "null",
    "true",
    "false",
    "0",
    "-3",
    "7",
    "7.0",
    "-0.0",
    "1e999",
    "9007199254740993",
    "9223372036854775808",
    "-9223372036854775809",
    "word",
    "wo",
    "\"\"",
    "\"7\"",
];

fn random_value(rng: &mut Rng) -> Value {
    match rng.below(10) {
        0 => Value::Null,
        1 => Value::from(rng.chance(1, 2)),
        2 => {
            Value::from([-0.0, 0.0, 7.0, f64::NAN, f64::INFINITY, 9007199254740992.0][rng.index(6)])
        }
        3 => {
            let texts = ["7.00", "-3.0", "x", "9223372036854775808", "9223372036854775809"];
            Value::from(texts[rng.index(5)].as_bytes().to_vec())
        }
        4 => Value::from(["word", "wo", "", "7", "zebra"][rng.index(5)]),
        5 => Value::from([i64::MIN, i64::MAX, 9007199254740993][rng.index(3)]),
        6 => Value::from("word".repeat([1, 255, 256, 257][rng.index(4)])),
        _ => Value::from(rng.below(12) as i64 - 4),
    }
}

/// Members as attributes and as children with a value, and elements of arrays.
fn random_tree(rng: &mut Rng) -> TreeHandle {
    let tree = Jungle::new().unwrap().create_tree("t").unwrap();
    let mut nodes = vec![Path::root()];
    tree.update(|tx| {
        for _ in 0..rng.below(60) {
            let path = nodes[rng.index(nodes.len())].clone();
            let member = MEMBERS[rng.index(MEMBERS.len())];
            let value = random_value(rng);
            match rng.below(4) {
                0 => {
                    let key = tx.append(&path)?;
                    nodes.push(path.join(key));
                }
                1 => {
                    let child = path.join(Key::from(member));
                    if tx.insert_child(&path, &Key::from(member)).is_ok() {
                        nodes.push(child.clone());
                    }
                    tx.put_attribute(&child, VALUE_KEY, &value)?;
                }
                _ => tx.put_attribute(&path, member, &value)?,
            }
        }
        Ok::<_, EditError>(())
    })
    .unwrap();
    tree
}

fn random_expr(rng: &mut Rng, depth: u32) -> String {
    let member = ["a", "b", "@value", "@name"][rng.index(4)];
    match rng.below(if depth == 0 { 6 } else { 10 }) {
        0 => format!("exists {member}"),
        1 => format!("{member} ~ {}", LITERALS[rng.index(LITERALS.len())]),
        2..6 => {
            let sign = ["=", "!=", "<", "<=", ">", ">="][rng.index(6)];
            format!("{member} {sign} {}", LITERALS[rng.index(LITERALS.len())])
        }
        6 => format!("not ({})", random_expr(rng, depth - 1)),
        7 => format!("({} or {})", random_expr(rng, depth - 1), random_expr(rng, depth - 1)),
        _ => format!("({} and {})", random_expr(rng, depth - 1), random_expr(rng, depth - 1)),
    }
}

#[test]
fn indexes_find_what_a_walk_finds() {
    let mut planned = 0;
    for_each_seed(200, |rng| {
        let tree = random_tree(rng);
        create_index(&tree, "a").unwrap();
        if rng.chance(1, 2) {
            create_index(&tree, "b").unwrap();
        }
        let version = tree.snapshot();
        for _ in 0..20 {
            let text = random_expr(rng, 2);
            let expr = Expr::parse(&text).unwrap();
            let candidates = expr.candidates(&tree, &version, Part::ALL).unwrap();
            let Some(candidates) = candidates else { continue };
            planned += 1;
            let (mut walk, mut walked) = (version.root().walk(), Vec::new());
            while let Some(node) = walk.next() {
                if expr.is_true(node, walk.key()) {
                    walked.push(walk.path());
                }
            }
            let is_true = |path: &&Path| {
                let node = version.root().at(path).unwrap();
                expr.is_true(node, path.last().map(Key::as_ref))
            };
            let found: Vec<Path> = candidates.iter().filter(is_true).cloned().collect();
            assert_eq!(found, walked, "{text}");
        }
    });
    assert!(planned > 500, "{planned}");
}

#[test]
fn long_text_is_found_where_its_order_ends_within_a_character() {
    let begin = "x".repeat(1_022);
    let tree = Jungle::new().unwrap().create_tree("t").unwrap();
    let text = format!("{begin}\u{20ac} and more");
    tree.update(|tx| tx.put_attribute(&[], "a", text.as_str())).unwrap();
    create_index(&tree, "a").unwrap();
    let version = tree.snapshot();
    for sign in [">", ">="] {
        let expr = Expr::parse(&format!("a {sign} {begin}z")).unwrap();
        assert!(expr.is_true(version.root(), None));
        let found = expr.candidates(&tree, &version, Part::ALL).unwrap();
        assert_eq!(found.unwrap(), [Path::root()]);
    }
}

#[test]
fn the_narrowest_index_is_used() {
    let tree = Jungle::new().unwrap().create_tree("t").unwrap();
    tree.update(|tx| {
        (0..1_000).try_for_each(|i| {
            let key = [tx.append(&[])?];
            tx.put_attribute(&key, "a", i % 2)?;
            tx.put_attribute(&key, "b", i)
        })
    })
    .unwrap();
    for key in ["a", "b"] {
        create_index(&tree, key).unwrap();
    }
    for (text, count) in [
        ("a = 1", Some(500)),
        ("a >= 0 and b = 3", Some(1)),
        ("b <= 9", Some(10)),
        ("b <= 9 or a = 1", Some(505)),
        ("b < 10 or c = 1", None),
        ("b <= 9 and c = 1", Some(10)),
        ("not b < 10", None),
        ("b ~ 99", Some(1_000)),
    ] {
        let expr = Expr::parse(text).unwrap();
        let found = expr.candidates(&tree, &tree.snapshot(), Part::ALL).unwrap();
        assert_eq!(found.map(|found| found.len()), count, "{text}");
    }
}

#[test]
fn parts_are_all_that_there_is_while_others_commit() {
    let mut parts = 0;
    for_each_seed(100, |rng| {
        let tree = random_tree(rng);
        for key in ["a", "b"] {
            create_index(&tree, key).unwrap();
        }
        let version = tree.snapshot();
        for _ in 0..10 {
            let text = random_expr(rng, 2);
            let expr = Expr::parse(&text).unwrap();
            let find = |part: Part<'_>| expr.candidates(&tree, &version, part).unwrap();
            let Some(all) = find(Part::ALL) else { continue };
            let is_below = rng.chance(1, 3) && !all.is_empty();
            let within = if is_below { rng.pick(&all).clone() } else { Path::root() };
            let (count_max, mut found) = (1 + rng.index(4), Vec::<Path>::new());
            loop {
                let behind = found.last().map(|last| last[within.depth()..].to_vec());
                let part = Part { within: &within, behind: behind.as_deref(), count_max };
                let next = find(part).unwrap();
                parts += 1;
                assert!(next.len() <= count_max, "{text}");
                let is_last = next.len() < count_max;
                found.extend(next);
                if is_last {
                    break;
                }
                commit(&tree, &expr);
            }
            let expected: Vec<Path> =
                all.into_iter().filter(|path| path.starts_with(&within)).collect();
            assert_eq!(found, expected, "{text} within {within}");
        }
    });
    assert!(parts > 500, "{parts}");
}

/// A node more, and another value at the root; the indexes follow.
fn commit(tree: &TreeHandle, expr: &Expr) {
    tree.update(|tx| {
        let key = [tx.append(&[])?];
        tx.put_attribute(&key, "a", 7)?;
        tx.put_attribute(&[], "b", "zebra")
    })
    .unwrap();
    expr.candidates(tree, &tree.snapshot(), Part::ALL).unwrap();
}

/// A thousand nodes `0` to `999`, with their number modulo two and a hundred.
fn numbered() -> TreeHandle {
    let tree = Jungle::new().unwrap().create_tree("t").unwrap();
    tree.update(|tx| {
        (0..1_000).try_for_each(|i| {
            let key = [tx.append(&[])?];
            tx.put_attribute(&key, "a", i % 2)?;
            tx.put_attribute(&key, "b", i % 100)
        })
    })
    .unwrap();
    for key in ["a", "b"] {
        create_index(&tree, key).unwrap();
    }
    tree
}

#[test]
fn a_part_costs_what_is_in_it() {
    let tree = numbered();
    let version = tree.snapshot();
    let check = |text: &str, behind: Option<i64>, looked_max: usize, first: i64| {
        let expr = Expr::parse(text).unwrap();
        let behind = behind.map(|at| [Key::from(at)]);
        let behind = behind.as_ref().map(|keys| keys.as_slice());
        let part = Part { behind, count_max: 10, ..Part::ALL };
        let gathered = expr.gathered(&tree, &version, part).unwrap().unwrap();
        let looked = gathered.looked;
        assert!(looked <= looked_max, "{text} behind {behind:?}: {looked}");
        let found = gathered.finish();
        assert_eq!((found.len(), &found[0]), (10, &Path::from([first])), "{text}");
    };
    // The value, the root, ten nodes, and the one at which it is seen that there are enough.
    check("a = 1", None, 13, 1);
    for at in [1, 501, 901] {
        check("a = 1", Some(at), 12, at + 2);
    }
    // All thousand lie between them; each value is looked at, and few nodes of most.
    check("b >= 0", None, 500, 0);
    check("b >= 0", Some(900), 500, 901);
}

#[test]
fn a_part_below_a_node_costs_what_is_there() {
    let tree = numbered();
    tree.update(|tx| {
        let below = [Key::from(500), tx.append(&[Key::from(500)])?];
        tx.put_attribute(&below, "a", 1)
    })
    .unwrap();
    let (version, within) = (tree.snapshot(), [Key::from(500)]);
    let expr = Expr::parse("a = 1").unwrap();
    let part = Part { within: &within, ..Part::ALL };
    let gathered = expr.gathered(&tree, &version, part).unwrap().unwrap();
    assert!(gathered.looked <= 3, "{}", gathered.looked);
    assert_eq!(gathered.finish(), [Path::from([500, 0])]);
}
