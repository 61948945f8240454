//! States that contradict themselves, or the arena.

use std::sync::Arc;

use jungle_db::{
    BranchId, HistoryEntry, Jungle, JungleState, RestoreError, Revision, SavedBranch, SavedTree,
    TreeId,
};
use jungle_tree::{Arena, VersionId};

use super::{Shelves, varied};
use crate::support::SharedClock;

fn restore(arena: &Arena, state: &JungleState) -> Result<Jungle, RestoreError> {
    Jungle::builder().restore(arena.clone(), state, Arc::new(Shelves::default()))
}

/// The tree and the branch that the cases are about.
fn long(state: &mut JungleState) -> &mut SavedTree {
    state.trees.iter_mut().find(|tree| &*tree.name == "long").unwrap()
}

fn main(state: &mut JungleState) -> &mut SavedBranch {
    &mut long(state).branches[0]
}

fn set_last(state: &mut JungleState, f: impl FnOnce(&mut Vec<HistoryEntry>)) {
    let history = &mut main(state).history;
    let mut last = history.last.to_vec();
    f(&mut last);
    history.last = last.into();
}

type Spoil = fn(&mut JungleState);

const CASES: &[(&str, Spoil)] = &[
    ("a name is not empty", |s| long(s).name = "".into()),
    ("a name is not empty", |s| long(s).branches[1].name = "".into()),
    ("the tree \"long\" is there twice", |s| {
        let mut twin = long(s).clone();
        twin.id = TreeId(s.next_id);
        twin.branches.truncate(1);
        twin.branches[0].id = BranchId(s.next_id + 1);
        s.next_id += 2;
        s.trees.push(twin);
    }),
    ("with 1 as the next one", |s| s.next_id = 1),
    ("the number 18446744073709551615", |s| s.next_id = u64::MAX),
    ("of the newest revision", |s| s.revision = Revision::new(u64::MAX)),
    ("cannot be that of a branch", |s| main(s).id = BranchId(long(s).id.0)),
    ("has to be the main one", |s| long(s).branches.clear()),
    ("has to be the main one", |s| long(s).branches.reverse()),
    ("has to be the main one", |s| long(s).branches[1].name = "main".into()),
    ("the branch \"beyond\" is there twice", |s| long(s).branches[2].name = "beyond".into()),
    ("the branch or tag \"beyond\"", |s| long(s).tags[0].name = "beyond".into()),
    ("the branch or tag \"main\"", |s| long(s).tags[0].name = "main".into()),
    ("its last piece is empty", |s| set_last(s, Vec::clear)),
    ("its last piece is too long", |s| set_last(s, |last| *last = vec![last[0].clone(); 513])),
    ("do not go up", |s| set_last(s, |last| last.reverse())),
    ("more revisions than there are", |s| s.revision = Revision::new(1_000)),
    ("more revisions than there are", |s| main(s).history.pieces = u64::MAX),
    ("none of its revisions is kept", |s| main(s).history.dropped = u64::MAX),
    ("its anchor is not older", |s| main(s).history.anchor.index = 1),
    ("its anchor is not older", |s| main(s).history.anchor.revision = Revision::new(1_400)),
    ("of an origin", |s| long(s).origins[0].from = long(s).origins[0].branch),
    ("of an origin", |s| long(s).origins.reverse()),
    ("does not have revision", |s| long(s).tags[0].at.id = VersionId::from_parts(0, 7)),
    ("does not have revision", |s| long(s).tags[0].at.id = VersionId::from_parts(7, 0)),
    ("does not have revision", |s| long(s).merges[0].at.id = VersionId::from_parts(7, 1 << 50)),
    ("of one of two branches that met", |s| long(s).merges[0].of = BranchId(long(s).id.0)),
    ("does not have revision", |s| long(s).tags[0].at.revision = Revision::new(1 << 40)),
    ("does not have revision", |s| set_last(s, |l| l[3].id = VersionId::from_parts(0, 0))),
    ("does not have revision", |s| {
        set_last(s, |last| last.last_mut().unwrap().id = VersionId::from_parts(u32::MAX, 9));
    }),
];

#[test]
fn a_state_that_contradicts_itself_is_refused() {
    let clock = SharedClock::default();
    let jungle = Jungle::builder().clock(clock.clone()).build().unwrap();
    varied(&jungle, &clock);
    let checkpoint = jungle.checkpoint();
    for (i, (what, spoil)) in CASES.iter().enumerate() {
        let mut state = checkpoint.state().clone();
        spoil(&mut state);
        let refused = restore(jungle.arena(), &state);
        let Err(error) = refused else { panic!("case {i} is taken, and should be: {what}") };
        let error = error.to_string();
        assert!(error.contains(what), "case {i}: {error}, and should be: {what}");
    }
    restore(jungle.arena(), checkpoint.state()).unwrap();
    let other = Arena::new().unwrap();
    let refused = restore(&other, checkpoint.state()).unwrap_err();
    assert!(matches!(refused, RestoreError::NoVersion { .. }), "{refused}");
}
