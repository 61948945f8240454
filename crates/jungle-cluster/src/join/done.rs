//! Was the newest commit of a folder the one that the log has in its place?

use jungle_db::{CommitMeta, CommitRecord, Event, Jungle, Revision, Timestamp, TreeHandle, TreeId};
use jungle_tree::{Change, Tree, apply, diff, loading};

use crate::message::Message;

/// Was the newest commit here the one that a message has, as far as that is known still? Nothing
/// came after it, so all that it has done is still so; when and by whom is kept of edits and of new
/// trees. That is not enough: times never go down, so while a clock is behind the newest commit,
/// what comes next has the time of that one.
pub(crate) fn was_done(jungle: &Jungle, message: &Message<'_>) -> bool {
    let here = jungle.revision();
    let before = Revision::new(here.number().saturating_sub(1));
    let record = message.records_after(before, jungle.arena()).next();
    let Some(Ok(CommitRecord { revision, time, meta, event })) = record else { return true };
    revision != here || is_so(jungle, &event, (time, &meta))
}

fn is_so(jungle: &Jungle, event: &Event, stamp: (Timestamp, &CommitMeta)) -> bool {
    match event {
        Event::Edited(edits) => edits.iter().all(|edit| {
            let branch = jungle.branch_with_id(edit.tree, edit.branch);
            branch.is_some_and(|branch| {
                is_stamped(jungle, &branch, stamp) && come_to_newest(&branch, &edit.changes)
            })
        }),
        Event::TreeCreated { tree, branch, name, .. } => jungle.open_tree(name).is_ok_and(|made| {
            (made.id(), made.branch_id()) == (*tree, *branch) && is_stamped(jungle, &made, stamp)
        }),
        Event::TreeRenamed { tree, name } => {
            jungle.open_tree(name).is_ok_and(|renamed| renamed.id() == *tree)
        }
        Event::TreeDeleted { tree } => tree_with_id(jungle, *tree).is_none(),
        Event::BranchCreated { tree, branch, name, at, .. } => jungle
            .branch_with_id(*tree, *branch)
            .is_some_and(|made| made.branch_name() == &**name && made.snapshot().revision() == *at),
        Event::BranchDeleted { tree, branch } => {
            tree_with_id(jungle, *tree).is_some() && jungle.branch_with_id(*tree, *branch).is_none()
        }
        Event::TagCreated { tree, name, at, .. } => tree_with_id(jungle, *tree)
            .is_some_and(|tree| tree.list_tags().iter().any(|tag| tag == &(name.clone(), *at))),
        Event::TagDeleted { tree, name } => tree_with_id(jungle, *tree)
            .is_some_and(|tree| tree.list_tags().iter().all(|(tag, _)| tag != name)),
        Event::IndexCreated { tree, key } => {
            tree_with_id(jungle, *tree).is_some_and(|tree| tree.list_indexes().contains(key))
        }
        Event::IndexDropped { tree, key } => {
            tree_with_id(jungle, *tree).is_some_and(|tree| !tree.list_indexes().contains(key))
        }
        Event::RetentionSet { tree, branch, retention } => jungle
            .branch_with_id(*tree, *branch)
            .is_some_and(|branch| branch.retention() == *retention),
        // A later version's.
        _ => true,
    }
}

/// Is the newest revision one of this branch, made then and so? Also if that cannot be read now.
fn is_stamped(jungle: &Jungle, branch: &TreeHandle, stamp: (Timestamp, &CommitMeta)) -> bool {
    let here = jungle.revision();
    match branch.history(here..=here).next() {
        Some(Ok(info)) => (info.time, &info.meta) == stamp,
        Some(Err(_)) => true,
        None => false,
    }
}

/// Do changes come to the newest version of a branch, done on the one before? Also if that is not
/// kept, or one of them cannot be read now.
fn come_to_newest(branch: &TreeHandle, changes: &[Change]) -> bool {
    let newest = branch.snapshot();
    let before = Revision::new(newest.revision().number().saturating_sub(1));
    let Ok(before) = branch.at(before) else { return true };
    let is_so = loading(|| {
        let mut again = Tree::from_snapshot(&before);
        match again.edit(|editor| apply(editor, changes)) {
            Ok(()) => diff(&again.snapshot(), &newest).is_empty(),
            Err(error) => error.source.is_full(),
        }
    });
    is_so.unwrap_or(true)
}

fn tree_with_id(jungle: &Jungle, id: TreeId) -> Option<TreeHandle> {
    let trees = jungle.list_trees();
    trees.iter().filter_map(|name| jungle.open_tree(name).ok()).find(|tree| tree.id() == id)
}
