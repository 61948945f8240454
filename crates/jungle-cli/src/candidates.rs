//! What a word that is being written could become, in the shell of ours and in those of others.

use jungle::{Jungle, TreeHandle};
use jungle_json::VALUE_KEY;
use jungle_tree::{KeyRef, Node, POSITION_MAX, POSITION_MIN};

use crate::document::path;

/// More than these are of no help.
pub(crate) const CANDIDATES_MAX: usize = 200;

/// Of no node are more children looked at. Those that can begin so are found where they are, so it
/// takes names with escapes to come this far.
const LOOKED_AT_MAX: usize = 10_000;

/// The trees that are called so.
pub(crate) fn trees(jungle: &Jungle, begun: &str) -> Vec<String> {
    let names = jungle.list_trees().into_iter().filter(|name| name.starts_with(begun));
    names.take(CANDIDATES_MAX).map(|name| name.to_string()).collect()
}

/// The branches and tags that are called so.
pub(crate) fn names(tree: &TreeHandle, begun: &str) -> Vec<String> {
    let tags = tree.list_tags().into_iter().map(|(name, _)| name);
    let names = tree.list_branches().into_iter().chain(tags);
    let fitting = names.filter(|name| name.starts_with(begun));
    fitting.take(CANDIDATES_MAX).map(|name| name.to_string()).collect()
}

/// The paths that go on so for one key, with a slash behind those that may go on further. Each
/// begins with what is there already, to the letter.
pub(crate) fn paths(root: Node<'_>, text: &str) -> Vec<String> {
    let (above, begun) = split(text);
    let Ok(parent) = path(above) else { return Vec::new() };
    let Ok(node) = root.at(&parent) else { return Vec::new() };
    let above = if text.is_empty() { "/" } else { above };
    // What is a child as well is told as that. Other keys are the mapping's own.
    let is_told = |key: &str| is_plain(key) && node.child(key).is_none();
    let attributes = node.attributes().filter(|(key, _)| is_told(key));
    let attributes = attributes.map(|(key, _)| KeyRef::Name(key).to_string());
    let children = children(node, begun).take(LOOKED_AT_MAX);
    let children = children.map(|(key, child)| match is_scalar(child) {
        true => key.to_string(),
        false => format!("{key}/"),
    });
    let fitting = attributes.chain(children).filter(|key| key.starts_with(begun));
    fitting.take(CANDIDATES_MAX).map(|key| format!("{above}{key}")).collect()
}

/// Up to the last slash between keys, and the key that is begun. A key in quotes may have slashes.
fn split(text: &str) -> (&str, &str) {
    let (mut start, mut is_quoted, mut is_escaped) = (0, false, false);
    for (at, char) in text.char_indices() {
        match char {
            _ if is_escaped => is_escaped = false,
            '\\' if is_quoted => is_escaped = true,
            '"' if is_quoted => is_quoted = false,
            '"' if at == start => is_quoted = true,
            '/' if !is_quoted => start = at + 1,
            _ => {}
        }
    }
    text.split_at(start)
}

fn is_plain(key: &str) -> bool {
    !key.is_empty() && !key.starts_with('\0')
}

/// Does a node stand for a scalar? To ask for its shape would put the members of an object in
/// their order, however many they are.
fn is_scalar(node: Node<'_>) -> bool {
    let is_alone = !node.has_children() && node.attributes().nth(1).is_none();
    is_alone && node.attribute(VALUE_KEY).is_some()
}

/// Children among which all are that are written so: each range is found where it is.
fn children<'a>(
    node: Node<'a>,
    begun: &str,
) -> impl Iterator<Item = (KeyRef<'a>, Node<'a>)> + use<'a> {
    let by_position = positions(begun).into_iter().flat_map(move |(from, to)| {
        let children = node.children_from(KeyRef::Position(from, &[]));
        children.take_while(move |(key, _)| match key {
            KeyRef::Position(index, _) => *index <= to,
            KeyRef::Name(_) => false,
        })
    });
    let begin = name(begun).to_owned();
    let by_name = node.children_from(KeyRef::Name(&begin)).take_while(move |(key, _)| match key {
        KeyRef::Position(..) => false,
        KeyRef::Name(name) => name.starts_with(&*begin),
    });
    by_position.chain(by_name)
}

/// What a name begins with that is written so, as far as that is no escape.
fn name(begun: &str) -> &str {
    match begun.strip_prefix('"') {
        Some(quoted) => quoted.split(['"', '\\']).next().unwrap_or_default(),
        None => begun,
    }
}

/// Between which positions those are, both ends with them, that are written so: of `1`, that is 1,
/// then 10 to 19, 100 to 199 and so on.
fn positions(begun: &str) -> Vec<(i64, i64)> {
    let (is_negative, digits) = match begun.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, begun),
    };
    match (is_negative, digits) {
        (false, "") => return vec![(POSITION_MIN, POSITION_MAX)],
        (true, "") => return vec![(POSITION_MIN, -1)],
        _ => {}
    }
    let (digits, has_fraction) = match digits.split_once('.') {
        Some((digits, _)) => (digits, true),
        None => (digits, false),
    };
    let are_digits = digits.bytes().all(|byte| byte.is_ascii_digit());
    let Some(number) = digits.parse::<i64>().ok().filter(|_| are_digits) else {
        return Vec::new();
    };
    let mut ranges = Vec::new();
    let (mut low, mut width) = (number, 1);
    while low <= POSITION_MAX {
        let high = (low + width - 1).min(POSITION_MAX);
        ranges.push(if is_negative { (-high, -low) } else { (low, high) });
        if has_fraction || number == 0 {
            break;
        }
        (low, width) = (low * 10, width * 10);
    }
    ranges
}

#[cfg(test)]
mod tests {
    use jungle_tree::{Arena, Tree};

    use super::*;

    #[test]
    fn keys_that_are_written_so_are_found() {
        let mut tree = Tree::new(&Arena::new().unwrap());
        for key in ["0", "1", "12", "1.80", "-1", "-12", "abc", "abd", "b c"] {
            tree.insert_child(&[], &key.parse().unwrap()).unwrap();
        }
        for name in ["1", "x/y", "q\"t"] {
            tree.insert_child(&[], &name.into()).unwrap();
        }
        tree.put_attribute(&[], "abe", 1).unwrap();
        tree.put_attribute(&["1".parse().unwrap()], "", 7).unwrap();
        let snapshot = tree.snapshot();
        let check = |text: &str, expected: &[&str]| {
            assert_eq!(paths(snapshot.root(), text), expected, "{text}");
        };
        check("/1", &["/1", "/1.80/", "/12/"]);
        check("/1.", &["/1.80/"]);
        check("/0", &["/0/"]);
        check("/-", &["/-12/", "/-1/"]);
        check("/-1", &["/-1/", "/-12/"]);
        check("/ab", &["/abe", "/abc/", "/abd/"]);
        check("b", &["b c/"]);
        check("/abc", &["/abc/"]);
        check(r#"/""#, &[r#"/"1"/"#, r#"/"q\"t"/"#, r#"/"x/y"/"#]);
        check(r#"/"x/"#, &[r#"/"x/y"/"#]);
        check(r#"/"q\""#, &[r#"/"q\"t"/"#]);
        assert_eq!(paths(snapshot.root(), ""), paths(snapshot.root(), "/"));
        assert_eq!(paths(snapshot.root(), "").len(), 13);
        for nothing in ["/abc/", "/abe/", "/nothing/", "//", "/.", "/+1", "/99999999999999999999"] {
            check(nothing, &[]);
        }
    }

    #[test]
    fn of_many_children_few_are_looked_at() {
        let mut tree = Tree::new(&Arena::new().unwrap());
        for _ in 0..20_000 {
            tree.add_child(&[]).unwrap();
        }
        let snapshot = tree.snapshot();
        let found = |text: &str| paths(snapshot.root(), text);
        assert_eq!(found("/").len(), CANDIDATES_MAX);
        assert_eq!(found("/1999").len(), 11);
        assert_eq!(found("/19999"), ["/19999/"]);
        assert_eq!(found("/2").len(), CANDIDATES_MAX);
        assert_eq!(positions("1").len(), 14);
        assert_eq!(children(snapshot.root(), "19999").count(), 1);
    }
}
