//! A folder that was copied, and is served beside the original.

use std::collections::BTreeSet;
use std::sync::Arc;

use jungle_cluster::{LocalError, LocalId, LocalOutcome, LocalUpdateError, WRITERS};
use jungle_db::Jungle;
use jungle_store::{read_checkpoint, write_checkpoint};
use jungle_testkit::Rng;
use jungle_tree::ArenaOptions;

use super::{LONG, Line, Server, all_agree, name_at, names, world};
use crate::memory::Engine;
use crate::support::path;

impl Server {
    /// Another server, with a copy of what this one has on its disk.
    fn copy(&self, engine: &Arc<Engine>, rng: &mut Rng, name: &str) -> Server {
        let mut bytes = Vec::new();
        write_checkpoint(&self.outbox, &self.outbox.checkpoint(), &mut bytes).unwrap();
        let arena = ArenaOptions::default();
        let outbox = read_checkpoint(Jungle::builder(), &arena, &bytes[..]).unwrap();
        let (line, outbox) = (Line::new(engine, rng, 0), Arc::new(outbox));
        let mut copy = Server { name: name.to_owned(), line, outbox, running: None };
        copy.join();
        copy
    }

    /// Goes on, as one that has found out that another publishes as it: with another number, and
    /// with what it had made by itself.
    fn begins_anew(&mut self, engine: &Arc<Engine>, rng: &mut Rng, made: &[LocalId]) {
        self.pair().1.sync(LONG).unwrap();
        let writer = self.local().status().writer;
        let is_found = |error: &LocalError| matches!(error, LocalError::Copied { .. });
        assert!(self.local().publish_next().is_err_and(|error| is_found(&error)));
        // Whatever it would give, the other may give as well.
        let more = self.extend("more").unwrap_err();
        assert!(matches!(&more, LocalUpdateError::NotKept(error) if is_found(error)), "{more:?}");
        self.restart(engine, rng, 0);
        let local = self.local();
        assert_ne!(local.status().writer, writer);
        let refused: Vec<LocalId> = local.refused().unwrap().iter().map(|it| it.id).collect();
        assert_eq!(refused, made);
        for &id in made {
            assert_eq!(local.outcome(id).unwrap(), LocalOutcome::Refused);
            assert!(local.forget(id).unwrap(), "{id}");
        }
    }
}

/// Both would give the same numbers, and one would take the entries of the other for its own.
#[test]
fn a_copy_of_a_folder_gets_a_number_of_its_own() {
    let rng = &mut Rng::new(1);
    let (engine, mut servers) = world(rng, &["a"], 0);
    servers[0].append("/", "both");
    servers[0].publish();
    // It is stopped, copied and started again.
    servers[0].running = None;
    let mut copy = servers[0].copy(&engine, rng, "b");
    servers[0].restart(&engine, rng, 0);
    copy.line.cut(true);
    let theirs = [copy.append("/", "theirs").id.unwrap(), copy.append("/", "more").id.unwrap()];
    let ours = servers[0].append("/", "ours").id.unwrap();
    assert_eq!(ours, theirs[0], "the same name for two entries");
    servers[0].publish();
    copy.line.cut(false);
    copy.begins_anew(&engine, rng, &theirs);
    let again = copy.append("/", "again");
    servers.push(copy);
    servers.iter().for_each(Server::publish);
    all_agree(&mut servers);
    let tree = servers[0].tree().snapshot();
    let expected = ["again", "both", "ours"].map(str::to_owned);
    assert_eq!(names(tree.root()), BTreeSet::from(expected));
    assert_eq!(name_at(tree.root(), &again.value).as_deref(), Some("again"));
    assert_eq!(servers[0].local().outcome(ours).unwrap(), LocalOutcome::Settled);
}

/// Whoever publishes first has the number: the copy of one that runs may come first.
#[test]
fn of_a_server_and_a_copy_that_comes_first_one_goes_on() {
    let rng = &mut Rng::new(1);
    let (engine, mut servers) = world(rng, &["a"], 0);
    servers[0].append("/", "both");
    servers[0].publish();
    let copy = servers[0].copy(&engine, rng, "b");
    servers[0].line.cut(true);
    let ours = servers[0].append("/", "ours").id.unwrap();
    copy.append("/", "theirs");
    copy.publish();
    servers[0].line.cut(false);
    servers[0].begins_anew(&engine, rng, &[ours]);
    servers[0].append("/", "again");
    servers.push(copy);
    servers.iter().for_each(Server::publish);
    all_agree(&mut servers);
    let expected = ["again", "both", "theirs"].map(str::to_owned);
    assert_eq!(names(servers[1].tree().snapshot().root()), BTreeSet::from(expected));
}

/// It was copied while it ran, and is published by the one that has run on: what the copy makes is
/// not among that, however many there are.
#[test]
fn what_a_copy_makes_is_not_taken_for_what_the_other_has_published() {
    let rng = &mut Rng::new(1);
    let (engine, servers) = world(rng, &["a"], 0);
    servers[0].append("/", "both");
    servers[0].publish();
    let mut copy = servers[0].copy(&engine, rng, "b");
    copy.line.cut(true);
    let theirs = copy.append("/", "theirs").id.unwrap();
    let writers = servers[0].pair().0.open_tree(WRITERS).unwrap();
    let many = i64::try_from(theirs.number).unwrap() + 7;
    writers.update(|tx| tx.put_attribute(&path("/0"), "settled", many)).unwrap();
    copy.line.cut(false);
    copy.begins_anew(&engine, rng, &[theirs]);
}
