//! Who made, named and deleted what, as those are told who administer all trees.

use jungle::{Clock, SystemClock, Timestamp};
use jungle_server::Role;
use jungle_words::time;
use serde_json::{Value as Json, json};

use crate::people::Guarded;
use crate::support::Served;

const AUDIT: &str = "/api/v1/folder/audit";

/// A folder in which `root`, who may do everything, and `ben`, who may do everything in `t`, have
/// done something; before that nobody made `t` and `u`, and put something into `t`.
fn audited(name: &str) -> Guarded {
    let granted = [("root", "*", "/", Role::Admin), ("ben", "t", "/", Role::Admin)];
    let guarded = Guarded::folder(name, &granted, |_, _| ());
    for (who, method, path, body, status) in [
        ("root", "POST", "", Some(r#"{"name":"plans"}"#), 201),
        ("root", "PATCH", "/plans", Some(r#"{"name":"archive"}"#), 200),
        ("ben", "POST", "/t/branches", Some(r#"{"name":"draft"}"#), 201),
        ("ben", "POST", "/t/tags", Some(r#"{"name":"v1"}"#), 201),
        ("ben", "DELETE", "/t/tags/v1", None, 204),
        ("ben", "PUT", "/t/keep?branch=draft", Some(r#"{"keep":"9"}"#), 200),
        ("ben", "DELETE", "/t/branches/draft", None, 204),
        ("root", "DELETE", "/archive", None, 204),
    ] {
        let path = format!("/api/v1/trees{path}");
        guarded.send(who, method, &path, body).expect(status);
    }
    guarded
}

/// A page, and for each of its lines who did what to which tree, and the other words of it.
#[track_caller]
fn page(guarded: &Guarded, query: &str) -> (Json, Vec<String>) {
    let page = guarded.get("root", &format!("{AUDIT}{query}")).expect(200);
    let words = |event: &Json| {
        let names = ["author", "what", "tree", "branch", "name", "keep"];
        let words = names.map(|name| event[name].as_str().unwrap_or("-"));
        words.join(" ")
    };
    let lines = page["events"].as_array().unwrap().iter().map(words).collect();
    (page, lines)
}

#[test]
fn who_did_what_is_told_the_oldest_first_and_page_by_page() {
    let guarded = audited("audit");
    let (all, lines) = page(&guarded, "?limit=1000");
    assert_eq!(
        lines,
        [
            "- tree_created t - - -",
            "- tree_created u - - -",
            "root tree_created plans - - -",
            "root tree_renamed plans - archive -",
            "ben branch_created t draft - -",
            "ben tag_created t main v1 -",
            "ben tag_deleted t - v1 -",
            "ben keep_set t draft - 9",
            "ben branch_deleted t draft - -",
            "root tree_deleted archive - - -",
        ]
    );
    assert_eq!((&all["complete_from"], &all["next"]), (&json!(1), &Json::Null));
    let events = all["events"].as_array().unwrap();
    let ids = [0, 2, 3, 9].map(|event: usize| events[event]["tree_id"].as_u64().unwrap());
    assert!(ids[0] != ids[1] && ids[1] == ids[2] && ids[2] == ids[3], "{ids:?}");
    let edited = guarded.served.server.jungle().open_tree("t").unwrap().snapshot().revision();
    assert_eq!(events[5]["at"], edited.number());
    // In pages it is the same, and each goes on behind the one before.
    for limit in [1, 3, 10] {
        let (mut found, mut after) = (Vec::new(), 0);
        loop {
            let (page, _) = page(&guarded, &format!("?limit={limit}&after={after}"));
            let events = page["events"].as_array().unwrap();
            assert!(events.len() <= limit, "{page}");
            found.extend(events.iter().cloned());
            let Some(next) = page["next"].as_u64() else { break };
            assert!(next > after, "{page}");
            after = next;
        }
        assert_eq!(found, *events, "{limit}");
    }
}

#[test]
fn what_was_done_to_a_tree_is_found_by_each_of_its_names() {
    let guarded = audited("audit-tree");
    let of_plans = ["root tree_created plans - - -", "root tree_renamed plans - archive -"];
    assert_eq!(page(&guarded, "?tree=plans").1, of_plans);
    let of_archive = ["root tree_renamed plans - archive -", "root tree_deleted archive - - -"];
    assert_eq!(page(&guarded, "?tree=archive").1, of_archive);
    assert_eq!(page(&guarded, "?tree=u").1, ["- tree_created u - - -"]);
    // One that is there is known by the number of the tree, too.
    guarded.send("root", "PATCH", "/api/v1/trees/u", Some(r#"{"name":"w"}"#)).expect(200);
    let of_w = ["- tree_created u - - -", "root tree_renamed u - w -"];
    assert_eq!(page(&guarded, "?tree=w").1, of_w);
    assert_eq!(page(&guarded, "?tree=nothing").1, [""; 0]);
}

#[test]
fn what_was_done_since_a_time_is_told_alone() {
    let guarded = audited("audit-since");
    let (all, lines) = page(&guarded, "");
    let sixth = all["events"][5]["time"].as_str().unwrap();
    // Several may have been done in the same microsecond.
    let since: Vec<&String> = all["events"]
        .as_array()
        .unwrap()
        .iter()
        .zip(&lines)
        .filter(|(event, _)| event["time"].as_str().unwrap() >= sixth)
        .map(|(_, line)| line)
        .collect();
    assert!(since.len() >= 5, "{all}");
    let query = format!("?since={}", sixth.replace(':', "%3A"));
    assert_eq!(page(&guarded, &query).1.iter().collect::<Vec<_>>(), since);
    let in_an_hour = SystemClock.now().as_micros() + 3_600_000_000;
    let later = time::text(Timestamp::from_micros(in_an_hour));
    assert_eq!(page(&guarded, &format!("?since={later}")).1, [""; 0]);
}

#[test]
fn nobody_else_is_told_and_what_is_asked_wrongly_is_refused() {
    let guarded = audited("audit-refused");
    assert_eq!(guarded.get("ben", AUDIT).problem(), "forbidden");
    for wrong in ["?limit=0", "?limit=1001", "?after=-1", "?since=then", "?branch=main"] {
        let refused = guarded.get("root", &format!("{AUDIT}{wrong}"));
        assert_eq!(refused.problem(), "bad-request", "{wrong}");
    }
    let in_memory = Served::with(|_| ()).get(AUDIT);
    assert_eq!(in_memory.problem(), "no-such-address");
}

/// It is there when the history is not.
#[test]
fn what_was_done_is_told_when_nothing_is_kept_any_more() {
    let guarded = audited("audit-kept");
    let (before, lines) = page(&guarded, "");
    let keep = r#"{"keep":"1"}"#;
    guarded.send("root", "PUT", "/api/v1/trees/t/keep", Some(keep)).expect(200);
    guarded.send("root", "POST", "/api/v1/folder/gc", Some("{}")).expect(202);
    let ended = guarded.get("root", "/api/v1/folder/gc?wait=60").expect(200);
    assert_eq!(ended["state"], "done", "{ended}");
    let (after, found) = page(&guarded, "");
    assert_eq!(found[..lines.len()], lines[..]);
    assert_eq!(found[lines.len()..], ["root keep_set t main - 1"]);
    assert_eq!(after["complete_from"], before["complete_from"]);
}
