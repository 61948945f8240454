//! Searches, as `jungle find` does them: an expression is read, nodes are looked at, and the paths
//! of those for which it is true are written, in document order.

use std::fmt::Write;

use jungle_tree::Node;
use jungle_words::Expr;

use super::{Meter, arena, expect, json};
use crate::Failure;

const EXPRESSION: &str = r#"stars > 3 and author ~ "user *a*" or @name = 77"#;

/// Of a document, for each node: all are looked at.
pub fn walk(meter: &mut Meter) -> Result<(), Failure> {
    let text = json::document();
    let tree = json::imported(&text, &arena()?)?.snapshot();
    let found = meter.count(json::NODES, || by_walk(EXPRESSION, tree.root()))?;
    expect("paths", found, expected(&text)?)
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
