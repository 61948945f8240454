//! Commits that are counted, and what is there of them.

use jungle_db::{Jungle, NotWritten, TreeHandle, UpdateError};
use jungle_testkit::{Outcome, Tally};
use jungle_tree::EditError;

/// One commit on a server, which puts its number into the tree.
pub fn commit(tally: &Tally, server: usize, tree: &TreeHandle) {
    let number = tally.begin();
    let told = tree.update(|tx| {
        let child = tx.append(&[])?;
        tx.put_attribute(&[child], "number", number)
    });
    let outcome = match told {
        Ok(_) => Outcome::Acknowledged,
        Err(UpdateError::NotWritten(NotWritten::Undecided(_))) => Outcome::Undecided,
        Err(UpdateError::<EditError>::NotWritten(NotWritten::Refused(_))) => Outcome::Refused,
        Err(error) => panic!("{error:?}"),
    };
    tally.note(server, number, outcome);
}

/// Holds what is there against what was told, as [`Tally::wrong`].
pub fn wrong(tally: &Tally, jungle: &Jungle) -> Vec<(i64, Option<Outcome>, u64)> {
    let snapshot = jungle.open_tree("t").unwrap().snapshot();
    let children = snapshot.root().children();
    tally.wrong(children.map(|(_, child)| child.attribute("number").unwrap().as_int().unwrap()))
}

#[test]
fn what_is_there_twice_is_found() {
    let jungle = Jungle::new().unwrap();
    let tree = jungle.create_tree("t").unwrap();
    let tally = Tally::new(1);
    (0..4).for_each(|_| commit(&tally, 0, &tree));
    assert_eq!(wrong(&tally, &jungle), []);
    let put = tree.update(|tx| {
        let child = tx.append(&[])?;
        tx.put_attribute(&[child], "number", 2)
    });
    put.unwrap();
    assert_eq!(wrong(&tally, &jungle), [(2, Some(Outcome::Acknowledged), 2)]);
}
