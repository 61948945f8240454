//! What of a tree somebody may know of, where what happens in other parts is told with it.

use jungle::{Key, Path};

/// What of a tree somebody may know of.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct View {
    /// These nodes, with those below and above; all, if there is none.
    parts: Option<Vec<Path>>,
}

impl View {
    /// Everything.
    pub(crate) const WHOLE: View = View { parts: None };

    /// What may be read at these places.
    pub(super) fn of(parts: Vec<Path>) -> View {
        let is_whole = parts.iter().any(|part| part.is_empty());
        View { parts: (!is_whole).then_some(parts) }
    }

    /// May all be told?
    pub(crate) fn is_whole(&self) -> bool {
        self.parts.is_none()
    }

    /// May all of a node be read?
    pub(crate) fn reads(&self, path: &[Key]) -> bool {
        let Some(parts) = &self.parts else { return true };
        parts.iter().any(|part| path.starts_with(part))
    }

    /// May it be told that there is a node, or was? Of those above one that may be read, it is
    /// known.
    pub(crate) fn knows(&self, path: &[Key]) -> bool {
        let Some(parts) = &self.parts else { return true };
        parts.iter().any(|part| path.starts_with(part) || part.starts_with(path))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_beside_what_was_granted_are_not_known() {
        let view = |parts: &[&str]| View::of(parts.iter().map(|it| it.parse().unwrap()).collect());
        let knows = |view: &View, path: &str| view.knows(&path.parse::<Path>().unwrap());
        let part = view(&["/a/b", "/c"]);
        for known in ["/", "/a", "/a/b", "/a/b/7", "/c"] {
            assert!(knows(&part, known), "{known}");
        }
        for other in ["/b", "/a/c", "/a/bb", "/d"] {
            assert!(!knows(&part, other), "{other}");
        }
        assert!(!part.is_whole() && view(&["/a", "/"]).is_whole());
        assert!(!knows(&view(&[]), "/"));
    }
}
