//! What was perhaps meant instead of something that is not there.

use jungle_json::{Member, Shape, shape, value_at};
use jungle_tree::{Key, Node, Path};

use crate::failure::{Exit, Failure};

/// At most this many siblings are looked at.
const SIBLINGS_MAX: usize = 10_000;

/// There is nothing at `path` below `root`: how far it goes, and the nearest name there.
pub(crate) fn not_found(root: Node<'_>, path: &[Key]) -> Failure {
    let there = |length: &usize| value_at(root, &path[..*length]).is_some();
    let length = (0..path.len()).rev().find(there).unwrap_or(0);
    let (parent, missing) = (Path::from(&path[..length]), Path::from(&path[..length + 1]));
    let failure = Failure::new(Exit::NotFound, format_args!("there is nothing at {missing}"));
    let Some(Member::Node(node)) = value_at(root, &parent) else {
        return failure.with_hint(format_args!("{parent} is a scalar"));
    };
    match nearest(node, &path[length]) {
        Some(key) => failure.with_hint(format_args!("did you mean {}?", parent.join(key))),
        None => failure.with_hint(match shape(node) {
            Shape::Array(elements) => format!("{parent} is an array of {}", elements.count()),
            _ => format!("`get` of {parent} prints what is there"),
        }),
    }
}

fn nearest(node: Node<'_>, wanted: &Key) -> Option<Key> {
    let Shape::Object(members) = shape(node) else {
        return None;
    };
    let text = match wanted {
        Key::Name(name) => name.to_string(),
        // Digits without quotes are a position, but perhaps the name was meant.
        Key::Position(position) => position.to_string(),
    };
    let names = members.take(SIBLINGS_MAX).map(|(name, _)| name);
    nearest_name(&text, names).map(Key::from)
}

/// The name that is nearest to what was wanted, if one is near.
pub(crate) fn nearest_name<'a>(
    wanted: &str,
    names: impl Iterator<Item = &'a str>,
) -> Option<&'a str> {
    let near = names.map(|name| (distance(wanted, name), name));
    let (distance, name) = near.min_by_key(|&(distance, _)| distance)?;
    let chars = wanted.chars().count();
    // Of short names a character is nearly everything.
    (distance <= chars / 3 + 1 && distance < chars.max(1)).then_some(name)
}

/// There is no such thing among those with these names.
pub(crate) fn no_such<'a>(
    message: impl std::fmt::Display,
    wanted: &str,
    names: impl Iterator<Item = &'a str>,
    otherwise: &str,
) -> Failure {
    let failure = Failure::new(Exit::NotFound, message);
    match nearest_name(wanted, names) {
        Some(name) => failure.with_hint(format_args!("did you mean {name}?")),
        None => failure.with_hint(otherwise),
    }
}

/// How many characters must be put in, taken out or changed (Levenshtein, 1965).
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().take(64).collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.chars().take(64).enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, &to) in b.iter().enumerate() {
            let changed = diagonal + usize::from(from != to);
            diagonal = row[j + 1];
            row[j + 1] = changed.min(row[j] + 1).min(row[j + 1] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_distance_counts_characters() {
        for (a, b, expected) in
            [("", "", 0), ("a", "", 1), ("", "é", 1), ("kitten", "sitting", 3), ("abc", "abc", 0)]
        {
            assert_eq!(distance(a, b), expected, "{a} {b}");
        }
    }
}
