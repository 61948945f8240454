use std::time::Duration;

use jungle::EditError;
use serde_json::json;

use crate::support::{Event, Served, limits};

/// Puts `n` into the node at `/a` or `/b`.
fn put(served: &Served, child: &str, n: i64) -> u64 {
    let tree = served.server.jungle().open_tree("t").unwrap();
    let path = [child.into()];
    let committed = tree.update(|tx| {
        if !tx.exists(&path) {
            tx.insert_child(&[], &path[0])?;
        }
        tx.put_attribute(&path, "n", n)
    });
    committed.unwrap().revision.number()
}

#[test]
fn what_happens_is_told_from_now_on() {
    let served = Served::memory().tree("t");
    put(&served, "a", 0);
    let mut events = served.watch("t/watch", "");
    let revision = put(&served, "a", 7);
    let event = events.next().unwrap();
    assert_eq!((event.name.as_str(), event.id), ("change", Some(revision)));
    let change = json!({"op": "put", "path": "/a", "attribute": "n",
        "value": {"type": "int", "value": 7}});
    assert_eq!(event.data["changes"], json!([change]));
}

#[test]
fn only_what_is_below_the_path_is_told() {
    let served = Served::memory().tree("t");
    let mut events = served.watch("t/watch?path=/b", "");
    put(&served, "a", 1);
    let born = put(&served, "b", 2);
    put(&served, "a", 3);
    let changed = put(&served, "b", 4);
    let ids = [events.next().unwrap().id, events.next().unwrap().id];
    assert_eq!(ids, [Some(born), Some(changed)]);
}

#[test]
fn watcher_goes_on_from_any_revision() {
    let served = Served::memory().tree("t");
    let revisions: Vec<u64> = (0..200).map(|n| put(&served, "a", n)).collect();
    let mut events = served.watch("t/watch?after=0", "");
    let seen: Vec<u64> = (0..200).map(|_| events.next().unwrap().id.unwrap()).collect();
    assert_eq!(seen, revisions);
    // The header is stronger: browsers send it with the address they had.
    let header = format!("Last-Event-ID: {}\r\n", revisions[197]);
    let mut events = served.watch("t/watch?after=0", &header);
    assert_eq!(events.next().unwrap().id, Some(revisions[198]));
}

#[test]
fn long_history_is_read_in_pieces_and_nothing_of_it_is_lost() {
    let served = Served::memory().tree("t");
    let revisions: Vec<u64> = (0..10_001).map(|n| put(&served, "a", n)).collect();
    let born = put(&served, "b", 0);
    let mut events = served.watch("t/watch?path=/b&after=0", "");
    assert_eq!(events.next().unwrap().id, Some(born));
    // Where nothing is to be told, it is told how far the first piece came.
    let mut events = served.watch("t/watch?path=/nothing&after=0", "");
    served.server.jungle().delete_tree("t").unwrap();
    let Event { name, id, .. } = events.next().unwrap();
    assert_eq!((name.as_str(), id), ("deleted", Some(revisions[9_999])));
}

#[test]
fn history_is_read_in_line_with_all_that_takes_long() {
    let served = Served::with(|options| {
        options.limits = limits(|limits| {
            limits.long_reads_max = 0;
            limits.line_time = Duration::ZERO;
        });
    })
    .tree("t");
    put(&served, "a", 0);
    let refused = served.get("/api/v1/trees/t/watch?after=0");
    assert_eq!((refused.status.as_u16(), refused.problem()), (429, "too-many".to_owned()));
    // What happens from now on is no history.
    let mut events = served.watch("t/watch", "");
    let revision = put(&served, "a", 1);
    assert_eq!(events.next().unwrap().id, Some(revision));
}

#[test]
fn nothing_is_lost_whenever_a_watcher_comes_and_goes() {
    const COMMITS: i64 = 2000;
    let served = Served::memory().tree("t");
    let first = put(&served, "a", -1);
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| (0..COMMITS).map(|n| put(&served, "a", n)).max().unwrap());
        for size in [1, 7, 100, 10_000] {
            let served = &served;
            scope.spawn(move || {
                let mut last = first;
                let mut next = 0;
                while next < COMMITS {
                    let header = format!("Last-Event-ID: {last}\r\n");
                    let mut events = served.watch("t/watch", &header);
                    for _ in 0..size.min(COMMITS - next) {
                        let Event { id, data, .. } = events.next().unwrap();
                        assert_eq!(data["changes"][0]["value"]["value"], next);
                        (last, next) = (id.unwrap(), next + 1);
                    }
                }
            });
        }
        writer.join().unwrap();
    });
}

#[test]
fn watcher_that_never_reads_holds_nobody_up() {
    let served = Served::memory().tree("t");
    let _sleepers: Vec<_> = (0..10).map(|_| served.watch("t/watch?after=0", "")).collect();
    let tree = served.server.jungle().open_tree("t").unwrap();
    let text = "x".repeat(1000);
    // More than every buffer between takes.
    for _ in 0..20_000 {
        tree.update(|tx| {
            let child = [tx.append(&[])?];
            tx.put_attribute(&child, "text", &*text)
        })
        .unwrap();
    }
    let mut events = served.watch("t/watch", "");
    let revision = put(&served, "a", 1);
    assert_eq!(events.next().unwrap().id, Some(revision));
}

#[test]
fn many_watchers_of_different_places_each_see_theirs() {
    let served = Served::memory().tree("t");
    let tree = served.server.jungle().open_tree("t").unwrap();
    tree.update(|tx| (0..50).try_for_each(|_| tx.append(&[]).map(drop))).unwrap();
    let mut watchers: Vec<_> =
        (0..50).map(|n| served.watch(&format!("t/watch?path=/{n}"), "")).collect();
    for round in 0..3 {
        for n in 0..50 {
            tree.update(|tx| tx.put_attribute(&[n.into()], "n", round)).unwrap();
        }
    }
    for (n, events) in watchers.iter_mut().enumerate() {
        for _ in 0..3 {
            let data = events.next().unwrap().data;
            let changes = data["changes"].as_array().unwrap().iter();
            let place = format!("/{n}");
            let is_own = |change: &serde_json::Value| change["path"] == *place;
            assert!(changes.clone().count() > 0 && changes.clone().all(is_own), "{data}");
        }
    }
}

#[test]
fn commit_with_very_many_changes_is_told_without_them() {
    let served = Served::memory().tree("t");
    let mut events = served.watch("t/watch", "");
    let tree = served.server.jungle().open_tree("t").unwrap();
    let add = |tx: &mut jungle::Draft| {
        for _ in 0..2000 {
            tx.append(&[])?;
        }
        Ok::<_, EditError>(())
    };
    tree.update(add).unwrap();
    let data = events.next().unwrap().data;
    assert_eq!((&data["changes"], &data["cut"]), (&json!([]), &json!(true)));
}

#[test]
fn commit_with_very_long_changes_is_told_without_them() {
    let served = Served::memory().tree("t");
    let tree = served.server.jungle().open_tree("t").unwrap();
    let long: [jungle::Key; 1] = [(&*"x".repeat(4000)).into()];
    tree.update(|tx| tx.insert_child(&[], &long[0])).unwrap();
    let mut events = served.watch("t/watch", "");
    tree.update(|tx| (0..600).try_for_each(|_| tx.append(&long).map(drop))).unwrap();
    let data = events.next().unwrap().data;
    assert!(data["changes"] == json!([]) && data["cut"] == true, "{}", data.to_string().len());
}

#[test]
fn deletion_is_the_last_event() {
    let served = Served::memory().tree("t");
    let mut events = served.watch("t/watch", "");
    put(&served, "a", 1);
    served.server.jungle().delete_tree("t").unwrap();
    assert_eq!(events.next().unwrap().name, "change");
    assert_eq!(events.next().unwrap().name, "deleted");
    assert!(events.next().is_none());
}

#[test]
fn history_that_is_gone_is_told() {
    let served = Served::memory().tree("t");
    let tree = served.server.jungle().open_tree("t").unwrap();
    for n in 0..10 {
        put(&served, "a", n);
    }
    tree.set_retention(jungle::Retention::Last(2)).unwrap();
    let answer = served.get("/api/v1/trees/t/watch?after=1");
    assert_eq!((answer.status.as_u16(), answer.problem()), (410, "gone".to_owned()));
}

#[test]
fn who_has_seen_more_than_there_is_is_told() {
    let served = Served::memory().tree("t");
    let newest = put(&served, "a", 0);
    for header in [&[][..], &[("last-event-id", "1000")]] {
        let after = if header.is_empty() { 1000 } else { 0 };
        let path = format!("/api/v1/trees/t/watch?after={after}");
        let answer = served.send("GET", &path, header, None);
        assert_eq!(
            (answer.status.as_u16(), answer.problem()),
            (404, "no-such-revision".to_owned())
        );
    }
    // Other trees have revisions of the same numbers.
    served.server.jungle().create_tree("u").unwrap();
    let mut events = served.watch(&format!("t/watch?after={}", newest + 1), "");
    let next = put(&served, "a", 1);
    assert_eq!(events.next().unwrap().id, Some(next));
}

#[test]
fn stream_ends_when_the_server_stops() {
    let served = Served::memory().tree("t");
    let mut events = served.watch("t/watch", "");
    let revision = put(&served, "a", 1);
    assert_eq!(events.next().unwrap().id, Some(revision));
    served.server.stop().unwrap();
    assert!(events.next().is_none());
}
