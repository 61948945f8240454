//! Where something was in the document before, given what was moved.

use std::collections::BTreeMap;

use jungle_tree::{Key, Path};

/// What was moved: where it is after, and where it was before.
///
/// ```
/// use jungle_words::differences::Moves;
/// let mut moves = Moves::default();
/// assert!(moves.add("/b".parse()?, "/a".parse()?));
/// let inside: jungle_tree::Path = "/b/x".parse()?;
/// assert_eq!(moves.before(&inside).to_string(), "/a/x");
/// # Ok::<(), jungle_tree::ParsePathError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Moves(BTreeMap<Path, Path>);

impl Moves {
    /// Something was moved. `false` if something else was moved to the same place.
    pub fn add(&mut self, to: Path, from: Path) -> bool {
        self.0.insert(to, from).is_none()
    }

    /// Where exactly this was before, if it was moved itself.
    #[must_use]
    pub fn from(&self, to: &[Key]) -> Option<&Path> {
        self.0.get(to)
    }

    /// Where what is at a path after was before: what is in something moved was in that.
    #[must_use]
    pub fn before(&self, path: &[Key]) -> Path {
        if self.0.is_empty() {
            return path.into();
        }
        let moved = |length: usize| self.0.get(&path[..length]).map(|from| (length, from));
        match (0..=path.len()).rev().find_map(moved) {
            Some((length, from)) => from.iter().chain(&path[length..]).cloned().collect(),
            None => path.into(),
        }
    }

    /// The place of this key before, in what its parent was then.
    #[must_use]
    pub fn place_before(&self, path: &[Key]) -> Path {
        match path.split_last() {
            Some((key, parent)) => self.before(parent).join(key.clone()),
            None => Path::root(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> Path {
        text.parse().expect("it is a path")
    }

    #[test]
    fn what_is_in_something_moved_was_in_that() {
        let mut moves = Moves::default();
        for (to, from) in [("/b", "/a"), ("/c", "/b"), ("/z", "/a/k")] {
            assert!(moves.add(path(to), path(from)));
        }
        assert!(!moves.add(path("/z"), path("/y")));
        for (after, before) in [("/b/x", "/a/x"), ("/c/x/y", "/b/x/y"), ("/d", "/d"), ("/", "/")] {
            assert_eq!(moves.before(&path(after)), path(before), "{after}");
        }
        assert_eq!(moves.place_before(&path("/b")), path("/b"));
        assert_eq!(moves.place_before(&path("/b/k")), path("/a/k"));
    }
}
