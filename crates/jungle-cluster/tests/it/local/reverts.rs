//! Revisions that are taken back by servers that do not see each other.

use jungle_cluster::{Kept, LocalOutcome, LocalUpdateError};
use jungle_db::{CommitOptions, RevertError, Revision};
use jungle_testkit::Rng;
use jungle_tree::Key;

use super::{Server, all_agree, world};
use crate::support::put;

impl Server {
    fn revert(&self, revision: Revision) -> Result<Kept<()>, LocalUpdateError<RevertError>> {
        let tree = self.pair().0.open_tree("t").unwrap();
        let options = CommitOptions::default();
        self.local().update(&tree, &options, |draft| tree.revert_in(draft, revision).map(drop))
    }
}

/// Each brings back what was removed: there is one of it all the same.
#[test]
fn what_two_take_back_is_there_once() {
    for key in [Some(Key::from("named")), None] {
        let rng = &mut Rng::new(1);
        let (_engine, mut servers) = world(rng, &["a", "b"], 0);
        let tree = servers[0].tree();
        let key = match key {
            Some(key) => {
                tree.update(|tx| tx.insert_child(&[], &key)).unwrap();
                key
            }
            None => tree.update(|tx| tx.append(&[])).unwrap().value,
        };
        tree.update(|tx| tx.put_attribute(std::slice::from_ref(&key), "n", 1)).unwrap();
        let gone = tree.update(|tx| tx.remove(std::slice::from_ref(&key))).unwrap().revision;
        for server in &servers {
            server.tree();
            server.line.cut(true);
        }
        let entries = [0, 1].map(|at| servers[at].revert(gone).unwrap().id.unwrap());
        for server in &servers {
            server.line.cut(false);
            server.publish();
        }
        all_agree(&mut servers);
        let now = servers[1].tree().snapshot();
        assert_eq!(now.root().child_count(), 1, "{key}");
        assert!(now.root().child(&key).is_some_and(|node| node.attribute("n").is_some()), "{key}");
        let first = servers[0].local().outcome(entries[0]).unwrap();
        assert_eq!(first, LocalOutcome::Settled, "{key}");
    }
}

/// Others have edited meanwhile what it would take away.
#[test]
fn what_others_contradict_is_not_taken_back() {
    let rng = &mut Rng::new(1);
    let (_engine, mut servers) = world(rng, &["a", "b"], 0);
    let made = servers[0].tree().update(|tx| tx.insert_child(&[], &"made".into())).unwrap();
    servers[0].tree();
    servers[1].tree();
    servers[0].line.cut(true);
    let reverted = servers[0].revert(made.revision).unwrap().id.unwrap();
    put(&servers[1].tree(), "/made", "n", 1);
    servers[0].line.cut(false);
    servers[0].publish();
    assert_eq!(servers[0].local().outcome(reverted).unwrap(), LocalOutcome::Refused);
    all_agree(&mut servers);
    assert!(servers[0].tree().snapshot().root().child("made").is_some());
}
