//! Finding a revision that was named, with a hint when it is not there.

use jungle::{NoSuchRevision, TreeHandle};
use jungle_words::{FindError, Found};

use crate::failure::{Exit, Failure, not_loaded};
use crate::near;

pub(crate) use jungle_words::REVISION_HELP as HELP;

/// The revision of this name; without a name the newest.
pub(crate) fn find_or_newest(tree: &TreeHandle, text: Option<&str>) -> Result<Found, Failure> {
    jungle_words::find_or_newest(tree, text).map_err(|error| not_found(tree, &error))
}

/// The revision of this name.
pub(crate) fn find(tree: &TreeHandle, text: &str) -> Result<Found, Failure> {
    jungle_words::find(tree, text).map_err(|error| not_found(tree, &error))
}

fn not_found(tree: &TreeHandle, error: &FindError) -> Failure {
    if let FindError::NotRead(error)
    | FindError::NoSuchRevision { source: NoSuchRevision::NotRead(error), .. } = error
    {
        // It may well be there.
        return not_loaded(error);
    }
    let Some(name) = error.unknown_name() else {
        return Failure::new(Exit::NotFound, error);
    };
    let (tags, branches) = (tree.list_tags(), tree.list_branches());
    let names = tags.iter().map(|(name, _)| &**name).chain(branches.iter().map(|name| &**name));
    near::no_such(error, name, names, "`log` lists revisions, `tag` and `branch` names")
}

#[cfg(test)]
mod tests {
    use jungle::{ArchiveError, Jungle, PagesError};

    use super::*;

    #[test]
    fn a_history_that_cannot_be_read_is_damaged_and_not_missing() {
        let tree = Jungle::new().unwrap().create_tree("t").unwrap();
        let damage = || ArchiveError::new(PagesError::Engine { what: "a block is old".into() });
        let source = NoSuchRevision::NotRead(damage());
        let not_there = FindError::NoSuchRevision { name: "1".into(), source };
        for error in [FindError::NotRead(damage()), not_there] {
            assert_eq!(not_found(&tree, &error).exit(), Exit::Damaged, "{error}");
        }
        for missing in ["99", "main~99", "nonsense"] {
            let error = find(&tree, missing).err().unwrap();
            assert_eq!(error.exit(), Exit::NotFound, "{missing}");
        }
    }
}
