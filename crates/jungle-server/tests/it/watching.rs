use jungle::EditError;
use jungle_cluster::MemoryLog;
use serde_json::json;

use crate::stopped::follow;
use crate::support::{Event, Events, Folder, PATIENCE, Served, limits, no_long_reads};

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
fn who_does_not_follow_is_told_that_it_was_all() {
    let served = Served::memory().tree("t");
    let revisions: Vec<u64> = (0..200).map(|n| put(&served, "a", n)).collect();
    let close = "Connection: close\r\n";
    for (after, begin) in [(0, 0), (revisions[150], 151), (revisions[199], 200)] {
        let mut events = served.watch(&format!("t/watch?follow=false&after={after}"), close);
        for revision in &revisions[begin..] {
            assert_eq!(events.next().unwrap().id, Some(*revision));
        }
        assert_eq!(events.next().unwrap().name, "end");
        assert_eq!(events.next(), None);
    }
    let wrong = served.get("/api/v1/trees/t/watch?follow=perhaps");
    assert_eq!(wrong.problem(), "bad-request");
}

#[test]
fn what_takes_too_many_steps_to_tell_ends_the_streams_that_it_concerns() {
    let few = limits(|limits| limits.compare_steps_max = 100);
    let served = Served::with(|options| options.limits = few).tree("t");
    let before = put(&served, "b", 0);
    let mut whole = served.watch("t/watch", "");
    let mut aside = served.watch("t/watch?path=/b", "");
    let tree = served.server.jungle().open_tree("t").unwrap();
    let append = tree.update(|tx| (0..100).try_for_each(|_| tx.append(&[]).map(drop)));
    let much = append.unwrap().revision;
    let last = whole.next().unwrap();
    let why = format!("it takes too many steps to tell what revision {much} did");
    assert_eq!((last.name.as_str(), last.data), ("gone", json!(why)));
    let again = served.get(&format!("/api/v1/trees/t/watch?after={before}"));
    assert_eq!((again.status.as_u16(), again.problem()), (410, "gone".to_owned()));
    let mut behind = served.watch(&format!("t/watch?after={much}"), "");
    let next = put(&served, "b", 1);
    assert_eq!([&mut aside, &mut behind].map(|events| events.next().unwrap().id), [Some(next); 2]);
}

/// The ids of the next events.
fn places<const N: usize>(events: &mut Events) -> [String; N] {
    [(); N].map(|()| events.next().unwrap().place.unwrap())
}

/// The header with which one goes on after an event.
fn seen(id: &str) -> String {
    format!("Last-Event-ID: {id}\r\n")
}

#[test]
fn who_has_seen_another_history_is_told() {
    let [before, now] = [(); 2].map(|()| {
        let served = Served::memory().tree("t");
        for n in 0..3 {
            put(&served, "a", n);
        }
        served
    });
    let told: [String; 3] = places(&mut before.watch("t/watch?after=0", ""));
    for id in &told {
        let by_header = now.send("GET", "/api/v1/trees/t/watch", &[("last-event-id", id)], None);
        let by_query = now.get(&format!("/api/v1/trees/t/watch?after={id}"));
        for answer in [by_header, by_query] {
            assert_eq!((answer.status.as_u16(), answer.problem()), (410, "gone".to_owned()));
        }
        // On its own server it is good.
        assert_eq!(before.watch("t/watch", &seen(id)).next_id(), *id);
    }
    // A number alone says no more than that.
    let numbers = told.each_ref().map(|id| id.split('-').next().unwrap().to_owned());
    let mut events = now.watch("t/watch", &seen(&numbers[0]));
    let [second]: [String; 1] = places(&mut events);
    assert!(second != told[1] && second.starts_with(&format!("{}-", numbers[1])), "{second}");
    // A tree that has the name of another one has none of its commits.
    now.server.jungle().delete_tree("t").unwrap();
    now.server.jungle().create_tree("t").unwrap();
    let lost = [("last-event-id", &*second)];
    assert_eq!(now.send("GET", "/api/v1/trees/t/watch", &lost, None).status, 410);
}

#[test]
fn who_names_a_number_is_told_which_commit_that_is() {
    let served = Served::memory().tree("t");
    let first = put(&served, "a", 0);
    served.server.jungle().create_tree("u").unwrap();
    let last = put(&served, "a", 1);
    let told: [String; 2] = places(&mut served.watch("t/watch?after=0", ""));
    for (query, begin) in [
        (String::new(), &*told[1]),
        (format!("?after={last}"), &*told[1]),
        // What has this number is in another tree.
        (format!("?after={}", first + 1), &*told[0]),
        (format!("?after={first}"), &*told[0]),
        ("?after=0".to_owned(), "0"),
    ] {
        let mut events = served.watch(&format!("t/watch{query}"), "");
        assert_eq!(events.next_id(), begin, "{query}");
    }
}

#[test]
fn watcher_goes_on_after_a_restart() {
    let folder = Folder::new("watching-restart");
    let served = Served::folder(&folder).tree("t");
    let mut events = served.watch("t/watch", "");
    put(&served, "a", 0);
    let [id]: [String; 1] = places(&mut events);
    served.server.stop().unwrap();
    let served = Served::folder(&folder);
    let mut events = served.watch("t/watch", &seen(&id));
    let next = put(&served, "a", 1);
    assert_eq!(events.next().unwrap().id, Some(next));
}

#[test]
fn servers_of_a_cluster_know_what_was_seen_on_another_one() {
    let folders = ["watching-a", "watching-b"].map(Folder::new);
    let log = MemoryLog::new();
    let (a, _cluster) = follow(log.connect(), &folders[0]);
    let (b, cluster) = follow(log, &folders[1]);
    let a = a.tree("t");
    let revisions = [1, 2, 3].map(|n| put(&a, "a", n));
    let told: [String; 3] = places(&mut a.watch("t/watch?after=0", ""));
    cluster.sync(PATIENCE).unwrap();
    let rest: [String; 2] = places(&mut b.watch("t/watch", &seen(&told[0])));
    assert_eq!(rest, told[1..]);
    // One that has not come so far finds out when it has.
    let next = revisions[2] + 1;
    let mut events = b.watch("t/watch", &seen(&format!("{next}-1")));
    assert_eq!(put(&b, "a", 4), next);
    assert_eq!(events.next().unwrap().name, "gone");
    assert!(events.next().is_none());
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
    let served = Served::with(|options| options.limits = limits(no_long_reads)).tree("t");
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
    let [first]: [String; 1] = places(&mut served.watch("t/watch?after=0", ""));
    tree.set_retention(jungle::Retention::Last(2)).unwrap();
    // Which commit that was is not known any more.
    for after in ["1", &first] {
        let answer = served.get(&format!("/api/v1/trees/t/watch?after={after}"));
        assert_eq!((answer.status.as_u16(), answer.problem()), (410, "gone".to_owned()));
        assert!(answer.text.contains("the oldest revision is"), "{}", answer.text);
    }
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
