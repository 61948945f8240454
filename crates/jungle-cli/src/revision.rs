//! Finding a revision that was named, with a hint when it is not there.

use jungle::TreeHandle;
use jungle_words::{FindError, Found};

use crate::failure::{Exit, Failure};
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
    let Some(name) = error.unknown_name() else {
        return Failure::new(Exit::NotFound, error);
    };
    let (tags, branches) = (tree.list_tags(), tree.list_branches());
    let names = tags.iter().map(|(name, _)| &**name).chain(branches.iter().map(|name| &**name));
    near::no_such(error, name, names, "`log` lists revisions, `tag` and `branch` names")
}
