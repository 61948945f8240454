//! A server that is cut off for hours: what it makes by itself is much, and when it returns, the
//! log does not go back to what it knows.

use std::sync::Arc;

use jungle_cluster::{Fault, LocalOutcome, WRITERS};
use jungle_db::{Draft, Revision};
use jungle_testkit::Rng;
use jungle_tree::Path;

use super::{LONG, Server, all_agree, name_at, world};
use crate::support::{int, put};

/// A commit each five seconds, for six hours.
const ENTRIES: usize = 4_320;
/// So often it is started again meanwhile.
const STARTS: usize = 3;

/// So many entries are made while others do as much.
const BESIDE: usize = 600;

/// Appends below a node, and renames one of ten; gives what there is then.
fn work(server: &Server, at: &str, number: usize, made: &mut Vec<(Path, String)>) {
    if number % 10 < 9 {
        let name = format!("m{number}");
        made.push((server.append(at, &name).value, name));
        return;
    }
    let (path, name) = made[number / 2].clone();
    let name = format!("{name} again");
    let rename = |tx: &mut Draft| tx.put_attribute(&path, "name", name.as_str());
    server.update("rename", rename).unwrap();
    made[number / 2].1 = name;
}

#[test]
fn what_was_made_in_hours_is_published_though_the_log_was_trimmed() {
    let rng = &mut Rng::new(1);
    let (engine, mut servers) = world(rng, &["a", "b"], 0);
    let [board, doomed] = ["board", "doomed"].map(|name| servers[0].append("/", name).value);
    servers[0].publish();
    let theirs = servers[1].tree();
    servers[0].line.cut(true);
    let title = |tx: &mut Draft| tx.put_attribute(&board, "title", 1000);
    servers[0].update("title", title).unwrap();
    let lost = |tx: &mut Draft| tx.put_attribute(&doomed, "n", 1);
    let lost = servers[0].update("lost", lost).unwrap().id.unwrap();
    let (at, mut made) = (board.to_string(), Vec::new());
    for number in 0..ENTRIES {
        if number % (ENTRIES / STARTS) == ENTRIES / STARTS / 2 {
            servers[0].resume(&engine, rng, 0);
        }
        work(&servers[0], &at, number, &mut made);
    }
    let last = servers[0].append(&at, "last").id.unwrap();

    // The others go on, and remove the log behind their checkpoints.
    theirs.update(|tx| tx.remove(&doomed)).unwrap();
    for n in 0..30 {
        put(&theirs, &at, "title", n);
        if n % 10 == 9 {
            servers[1].pair().1.checkpoint().unwrap();
        }
    }
    servers[0].line.cut(false);
    let cluster = &servers[0].pair().1;
    assert!(!cluster.wait_for(Revision::new(u64::MAX), LONG));
    let fault = cluster.status().fault.unwrap();
    assert!(matches!(&*fault, Fault::Apart(_)) && fault.is_passing(), "{fault:?}");
    // So whoever runs it starts it again.
    servers[0].restart(&engine, rng, 0);
    let status = servers[0].local().status();
    assert_eq!((status.pending, status.refused), (ENTRIES + 2, 1));

    let (pair, local) = servers[0].running.take().unwrap();
    drop(local);
    let local = pair.1.local(Arc::clone(&servers[0].outbox)).unwrap();
    assert!(local.wait_for(last, LONG));
    let status = local.status();
    assert_eq!((status.pending, status.refused), (0, 1));
    assert_eq!(local.outcome(lost).unwrap(), LocalOutcome::Refused);
    servers[0].running = Some((pair, local));
    all_agree(&mut servers);
    let now = theirs.snapshot();
    for (path, name) in &made {
        assert_eq!(name_at(now.root(), path).as_deref(), Some(name.as_str()), "{path}");
    }
    assert_eq!(now.root().at(&board).unwrap().child_count(), made.len() as u64 + 1);
    // It had its place later.
    assert_eq!(int(&theirs, &at, "title"), Some(1000));
    let writers = servers[1].pair().0.open_tree(WRITERS).unwrap();
    let messages = writers.history(..).filter_map(|info| {
        let info = info.unwrap();
        Some(info.meta.message_text()?.starts_with('m'))
    });
    assert_eq!(messages.filter(|is_made| *is_made).count(), made.len());
}

/// A server that hears the log and has nothing appended: what others do costs it as much as that
/// is, and not as much as there are entries, each time. So does what it reads back.
#[test]
fn what_others_do_beside_many_entries_is_no_work_for_each_of_them() {
    let rng = &mut Rng::new(1);
    let (engine, mut servers) = world(rng, &["a", "b"], 0);
    let (theirs, mut made) = (servers[1].tree(), Vec::new());
    for number in 0..BESIDE {
        work(&servers[0], "/", number, &mut made);
        theirs.update(|tx| tx.append(&[])).unwrap();
        servers[0].tree();
    }
    let check = |server: &Server, pending: usize, rebased: usize| {
        let status = server.local().status();
        assert_eq!((status.pending, status.refused), (pending, 0));
        assert!(status.rebased <= rebased as u64, "{status:?}");
    };
    check(&servers[0], BESIDE, BESIDE);
    servers[0].restart(&engine, rng, 0);
    check(&servers[0], BESIDE, BESIDE);
    servers[0].publish();
    // Each of them has got its place since.
    check(&servers[0], 0, 2 * BESIDE);
    all_agree(&mut servers);
    let now = theirs.snapshot();
    for (path, name) in &made {
        assert_eq!(name_at(now.root(), path).as_deref(), Some(name.as_str()), "{path}");
    }
    assert_eq!(now.root().child_count(), (made.len() + BESIDE) as u64);
}
