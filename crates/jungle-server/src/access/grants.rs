//! What somebody may do, and where.

use std::fmt;
use std::str::FromStr;

use jungle::{Key, Path};
use serde::{Deserialize, Serialize};

use super::file::as_text;

/// What somebody may do; each role may do what those before it may.
///
/// ```
/// use jungle_server::Role;
/// assert!(Role::Read < Role::Write && Role::Write < Role::Admin);
/// assert_eq!("write".parse(), Ok(Role::Write));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Look at nodes, now and in the past, search, watch and export them.
    Read,
    /// Edit and import; revert, merge, and make branches and tags where it is for a whole tree.
    Write,
    /// Make, rename and delete trees, and delete branches and tags; and where it is for all trees,
    /// look after the folder.
    Admin,
}

impl Role {
    /// All of them, with their names.
    const NAMES: [(Role, &str); 3] =
        [(Role::Read, "read"), (Role::Write, "write"), (Role::Admin, "admin")];
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = Role::NAMES.iter().find(|(role, _)| role == self);
        f.write_str(name.map_or("", |(_, name)| name))
    }
}

/// A word is no role.
///
/// ```
/// use jungle_server::Role;
/// let error = "owner".parse::<Role>().unwrap_err();
/// assert_eq!(error.to_string(), "there is no role \"owner\"; there are read, write and admin");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no role {word:?}; there are read, write and admin")]
pub struct NoSuchRole {
    /// The word.
    pub word: String,
}

impl FromStr for Role {
    type Err = NoSuchRole;

    fn from_str(word: &str) -> Result<Role, NoSuchRole> {
        let role = Role::NAMES.iter().find(|(_, name)| *name == word);
        role.map(|(role, _)| *role).ok_or_else(|| NoSuchRole { word: word.to_owned() })
    }
}

/// A role of somebody, in some trees, for the node at a path with all that is below it.
///
/// ```
/// use jungle_server::{Grant, Role};
/// let grant = Grant {
///     who: "ana".into(),
///     tree: "notes-*".into(),
///     path: "/shared".parse()?,
///     role: Role::Write,
/// };
/// # Ok::<(), jungle::ParsePathError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Grant {
    /// The name of a user or of a token, or [everybody](crate::Access::PUBLIC).
    pub who: String,
    /// The name of a tree; with a `*` behind it, all trees whose names begin so: `*` is all trees.
    pub tree: String,
    /// The node; `/` is the whole tree.
    #[serde(default = "Path::root", with = "as_text")]
    pub path: Path,
    /// What may be done there.
    pub role: Role,
}

impl Grant {
    pub(super) fn is_for(&self, tree: &str) -> bool {
        match self.tree.strip_suffix('*') {
            Some(beginning) => tree.starts_with(beginning),
            None => self.tree == tree,
        }
    }

    /// May that be done to the node at `path`, and to all that is below it?
    pub(super) fn covers(&self, tree: &str, path: &[Key], role: Role) -> bool {
        self.role >= role && self.is_for(tree) && path.starts_with(&self.path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grant_covers_its_node_and_what_is_below() {
        let covers = |(pattern, at): (&str, &str), tree: &str, path: &str| {
            let (tree_of, path_of) = (pattern.to_owned(), at.parse().unwrap());
            let role = Role::Write;
            let grant = Grant { who: "a".into(), tree: tree_of, path: path_of, role };
            let path: Path = path.parse().unwrap();
            assert!(!grant.covers(tree, &path, Role::Admin));
            assert_eq!(
                grant.covers(tree, &path, Role::Read),
                grant.covers(tree, &path, Role::Write)
            );
            grant.covers(tree, &path, Role::Write)
        };
        for (grant, tree, path) in [
            (("t", "/"), "t", "/"),
            (("t", "/"), "t", "/a/7"),
            (("t", "/a"), "t", "/a"),
            (("t", "/a"), "t", "/a/b"),
            (("*", "/a"), "anything", "/a/b"),
            (("no*", "/"), "notes", "/"),
            (("no*", "/"), "no", "/"),
        ] {
            assert!(covers(grant, tree, path), "{grant:?} {tree} {path}");
        }
        for (grant, tree, path) in [
            (("t", "/"), "u", "/"),
            (("t", "/"), "tt", "/"),
            (("t", "/a"), "t", "/"),
            (("t", "/a"), "t", "/ab"),
            (("t", "/3"), "t", "/\"3\""),
            (("no*", "/"), "n", "/"),
        ] {
            assert!(!covers(grant, tree, path), "{grant:?} {tree} {path}");
        }
    }
}
