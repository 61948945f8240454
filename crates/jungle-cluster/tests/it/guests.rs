//! What one server appends for another.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use jungle_cluster::{Cluster, Role};
use jungle_db::{CommitOptions, Jungle, NotWritten, Revision, TreeHandle};
use jungle_testkit::{Rng, for_each_seed};
use jungle_tree::EditError;

use crate::memory::Engine;
use crate::support::{agree, server};

/// Messages by their texts: at which revision, as far as that is known.
type Posts = Mutex<BTreeMap<String, Option<Revision>>>;

/// Messages of the log that have batches of guests are written in their own version.
fn with_guests(engine: &Engine) -> usize {
    engine.messages().iter().filter(|message| message[3] == 2).count()
}

fn board(servers: &[(Jungle, Cluster)]) {
    while servers[0].0.open_tree("t").is_err() {
        drop(servers[0].0.create_tree("t"));
        agree(servers);
    }
}

/// Each message is there once, where its server said, and nowhere if it said that it is not.
fn check(servers: &[(Jungle, Cluster)], posts: Posts) {
    agree(servers);
    for (jungle, _) in servers {
        let tree = jungle.open_tree("t").unwrap();
        let mut there = BTreeMap::<String, usize>::new();
        for (_, child) in tree.read().root().children() {
            let text = child.attribute("text").unwrap().as_text().unwrap().to_owned();
            *there.entry(text).or_default() += 1;
        }
        for (text, revision) in posts.lock().unwrap().iter() {
            let count = there.remove(text).unwrap_or(0);
            match revision {
                Some(revision) => {
                    assert_eq!(count, 1, "{text}");
                    let had = |revision| has(&tree, revision, text);
                    assert!(had(*revision), "{text} is not at revision {revision}");
                    assert!(!had(Revision::new(revision.number() - 1)), "{text} was there before");
                }
                None => assert!(count <= 1, "{text} is there {count} times"),
            }
        }
        assert!(there.is_empty(), "nobody posted, or was told of, {there:?}");
    }
}

fn has(tree: &TreeHandle, revision: Revision, text: &str) -> bool {
    let version = tree.at(revision).unwrap();
    let mut children = version.root().children();
    children.any(|(_, child)| child.attribute("text").unwrap().as_text() == Some(text))
}

/// Posts some messages, one revision each; now and then one that says how many there were.
fn post(jungle: &Jungle, tree: &TreeHandle, name: &str, rng: &mut Rng, posts: &Posts) {
    let mut texts: Vec<String> =
        (0..rng.range(1..6)).map(|_| format!("{name} {}", rng.below(u64::MAX))).collect();
    let counts = rng.below(10) == 0;
    while !texts.is_empty() {
        let placed = jungle.in_series(&[tree], |series| {
            for text in &texts {
                let posted = series.update(tree, &CommitOptions::default(), |tx| {
                    let key = tx.append(&[])?;
                    tx.put_attribute(std::slice::from_ref(&key), "text", text.as_str())?;
                    if counts {
                        let count = tx.child_count(&[])? as i64;
                        tx.put_attribute(&[key], "before", count)?;
                    }
                    Ok::<_, EditError>(())
                });
                posted.unwrap();
            }
        });
        let placed = placed.map(|placed| placed.unwrap());
        let mut posts = posts.lock().unwrap();
        match placed {
            Ok(placed) => {
                for (at, text) in texts.drain(..placed.commits).enumerate() {
                    let revision = Revision::new(placed.first.number() + at as u64);
                    posts.insert(text, Some(revision));
                }
            }
            Err(NotWritten::Undecided(_)) => {
                posts.extend(texts.drain(..).map(|text| (text, None)));
            }
            Err(NotWritten::Refused(_)) => {}
            Err(error) => panic!("{error:?}"),
        }
    }
}

#[test]
fn what_is_posted_on_several_servers_is_there_once() {
    let (carried, guests) = (Mutex::new(0), AtomicU64::new(0));
    for_each_seed(16, |rng| {
        let engine = Arc::new(Engine::default());
        let faults = rng.pick(&[0, 5, 40]).to_owned();
        let servers: Vec<(Jungle, Cluster)> = (0..rng.range(2..5))
            .map(|at| server(&engine.connect(rng, faults), &format!("s{at}")))
            .collect();
        board(&servers);
        let posts = Posts::default();
        thread::scope(|scope| {
            for (at, (jungle, cluster)) in servers.iter().chain(&servers).enumerate() {
                let (mut rng, posts, name) = (rng.fork(), &posts, format!("w{at}"));
                let (tree, guests) = (jungle.open_tree("t").unwrap(), &guests);
                scope.spawn(move || {
                    for _ in 0..12 {
                        post(jungle, &tree, &name, &mut rng, posts);
                        let is_guest = cluster.status().role == Role::Guest;
                        guests.fetch_add(is_guest.into(), Ordering::Relaxed);
                    }
                });
            }
        });
        check(&servers, posts);
        *carried.lock().unwrap() += with_guests(&engine);
        // Whoever joins later reads the same.
        let mut servers = servers;
        servers.push(server(&engine.connect(rng, 0), "late"));
        agree(&servers);
    });
    let carried = carried.into_inner().unwrap();
    assert!(carried > 100, "guests were taken along {carried} times only");
    let guests = guests.into_inner();
    assert!(guests > 20, "servers said only {guests} times that they are guests");
}
