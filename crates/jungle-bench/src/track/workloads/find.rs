//! Searches, as `jungle find` does them: an expression is read, nodes are looked at, and the paths
//! of those for which it is true are written, in document order.

use std::fmt::Write;

use jungle_db::{Jungle, Snapshot, TreeHandle};
use jungle_tree::{Key, Node};
use jungle_words::{Expr, Part, create_index};

use super::{Meter, arena, db, expect, json, room};
use crate::Failure;

const EXPRESSION: &str = r#"stars > 3 and author ~ "user *a*" or @name = 77"#;

const NUMBERS: u64 = 1_000;
/// Of those, about a tenth.
const LARGE: &str = "n >= 900";

/// Of a document, for each node: all are looked at.
pub fn walk(meter: &mut Meter) -> Result<(), Failure> {
    let text = json::document();
    let tree = json::imported(&text, &arena()?)?.snapshot();
    let found = meter.count(json::NODES, || by_walk(EXPRESSION, tree.root()))?;
    expect("paths", found, expected(&text)?)
}

/// Of a tree of a Jungle, for each node that is found: an index says where to look.
pub fn index(meter: &mut Meter) -> Result<(), Failure> {
    let tree = db::plant(&Jungle::builder().arena(room()).build()?)?;
    db::put_all(&tree, NUMBERS)?;
    create_index(&tree, "n")?;
    let snapshot = tree.snapshot();
    let expected = by_walk(LARGE, snapshot.root())?;
    // It is worked out when it is first asked for.
    by_index(LARGE, &tree, &snapshot)?;
    let nodes = expected.lines().count() as u64;
    let found = meter.count(nodes, || by_index(LARGE, &tree, &snapshot))?;
    expect("is any found", nodes > 0, true)?;
    expect("paths", found, expected)
}

fn by_walk(expression: &str, root: Node<'_>) -> Result<String, Failure> {
    let expr = Expr::parse(expression)?;
    let (mut walk, mut paths) = (root.walk(), String::new());
    while let Some(node) = walk.next() {
        if expr.is_true(node, walk.key()) {
            writeln!(paths, "{}", walk.path())?;
        }
    }
    Ok(paths)
}

fn by_index(expression: &str, tree: &TreeHandle, of: &Snapshot) -> Result<String, Failure> {
    let expr = Expr::parse(expression)?;
    let candidates = expr.candidates(tree, of, Part::ALL)?;
    let candidates = candidates.ok_or("there is no index that helps")?;
    let mut paths = String::new();
    for path in candidates {
        let node = of.root().at(&path)?;
        if expr.is_true(node, path.last().map(Key::as_ref)) {
            writeln!(paths, "{path}")?;
        }
    }
    Ok(paths)
}

/// The paths of the entries for which [`EXPRESSION`] is true, by another reader.
fn expected(text: &str) -> Result<String, Failure> {
    let entries: Vec<serde_json::Value> = serde_json::from_str(text)?;
    let mut paths = String::new();
    for (number, entry) in entries.iter().enumerate() {
        let has_a = entry["author"].as_str().is_some_and(|author| author.contains('a'));
        if number == 77 || entry["stars"].as_i64() > Some(3) && has_a {
            writeln!(paths, "/{number}")?;
        }
    }
    Ok(paths)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn some_entries_are_found_and_most_are_not() {
        let found = expected(&json::document()).unwrap().lines().count();
        assert!((20..200).contains(&found), "{found}");
    }
}
