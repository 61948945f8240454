//! What is done with the folder while it is served.

use std::fs;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use jungle::{Jungle, Open, OpenOptions, Store};
use jungle_cluster::{Cluster, Log, MemoryLog};
use jungle_server::{Data, Options, Role};
use serde_json::{Value as Json, json};

use crate::people::Guarded;
use crate::support::{Folder, PATIENCE, Served};

const APPEND: &str = r#"{"edits":[{"op":"append","attributes":{"text":"hello"}}]}"#;

/// Each kind of work, and what is asked of it.
const WORKS: [(&str, &str); 4] =
    [("backup", r#"{"name":"b"}"#), ("verify", ""), ("gc", r#"{"compact":true}"#), ("du", "")];

fn address(work: &str) -> String {
    format!("/api/v1/folder/{work}")
}

/// A served folder with a tree `t`, and a folder for backups.
struct Kept {
    served: Served,
    data: Folder,
    backups: Folder,
}

impl Kept {
    /// `name` must be unique among the tests.
    fn new(name: &str) -> Kept {
        let data = Folder::new(&format!("upkeep-{name}"));
        let backups = Folder::new(&format!("upkeep-{name}-backups"));
        let options = Options { backups: Some(backups.0.clone()), ..Options::default() };
        let served = Served::start(Data::Folder(Jungle::open(&data.0).unwrap()), options);
        Kept { served: served.tree("t"), data, backups }
    }

    fn append(&self) {
        self.served.post("/api/v1/trees/t/commits", APPEND).expect(200);
    }

    /// Has it done, and tells how it stands then.
    #[track_caller]
    fn done(&self, work: &str, asked: &str) -> Json {
        let begun = self.served.post(&format!("/api/v1/folder/{work}"), asked).expect(202);
        assert_eq!(begun["state"], "running", "{begun}");
        self.ended(work)
    }

    #[track_caller]
    fn ended(&self, work: &str) -> Json {
        let told = self.served.get(&format!("/api/v1/folder/{work}?wait=60")).expect(200);
        assert!(told["began"].is_string() && told["ended"].is_string(), "{told}");
        told
    }

    /// The tree in a backup.
    fn copied(&self, name: &str) -> Store {
        OpenOptions::new().read_only().open(self.backups.0.join(name)).unwrap()
    }
}

#[test]
fn backup_is_made_beside_writers_and_then_only_what_is_new() {
    let kept = Kept::new("backup");
    let never = kept.served.get("/api/v1/folder/backup").expect(200);
    assert_eq!((&never["state"], &never["result"]), (&json!("never"), &Json::Null));
    let first = std::thread::scope(|scope| {
        let writing = scope.spawn(|| (0..50).for_each(|_| kept.append()));
        let first = kept.done("backup", r#"{"name":"nightly"}"#);
        writing.join().unwrap();
        first
    });
    assert_eq!((&first["state"], &first["asked"]), (&json!("done"), &json!({"name": "nightly"})));
    let copied = kept.copied("nightly").revision().number();
    assert_eq!(
        (&first["result"]["revision"], &first["result"]["before"]),
        (&json!(copied), &json!(0))
    );
    kept.append();
    let newest = kept.served.server.jungle().revision().number();
    let second = kept.done("backup", r#"{"name":"nightly"}"#);
    let result = &second["result"];
    assert_eq!((&result["before"], &result["revision"]), (&json!(copied), &json!(newest)));
    let copy = kept.copied("nightly");
    let tree = kept.served.server.jungle().open_tree("t").unwrap();
    let ours = tree.snapshot().root().content_hash();
    assert_eq!(copy.open_tree("t").unwrap().snapshot().root().content_hash(), ours);
    // What is in use is not written to.
    drop(copy);
    let used = Store::open(kept.backups.0.join("nightly")).unwrap();
    let refused = kept.done("backup", r#"{"name":"nightly"}"#);
    assert_eq!(
        (&refused["state"], &refused["hint"]),
        (&json!("failed"), &json!("somebody has that backup open"))
    );
    // What has a history of its own is no backup of this folder.
    used.create_tree("other").unwrap();
    used.close().unwrap();
    let refused = kept.done("backup", r#"{"name":"nightly"}"#);
    assert_eq!(
        (&refused["state"], &refused["hint"]),
        (&json!("failed"), &json!("give a name that no backup has"))
    );
    let metrics = kept.served.get("/metrics").text;
    assert!(metrics.contains("jungle_upkeep_failed{work=\"backup\"} 1"), "{metrics}");
    kept.served.server.stop().unwrap();
}

#[test]
fn backup_goes_nowhere_else_than_below_its_folder() {
    let kept = Kept::new("backup-names");
    for name in
        ["", "..", "../x", "a/b", "/tmp/x", "a\\\\b", ".", ".x", "-x", "x.", "x y", "x\\u0000"]
    {
        let asked = format!(r#"{{"name":"{name}"}}"#);
        let answer = kept.served.post("/api/v1/folder/backup", &asked);
        assert_eq!((answer.status.as_u16(), answer.problem()), (400, "bad-request".to_owned()));
    }
    for wrong in ["", "{}", r#"{"name":1}"#, r#"{"name":"x","path":"/"}"#] {
        assert_eq!(kept.served.post("/api/v1/folder/backup", wrong).status, 400, "{wrong}");
    }
    assert_eq!(fs::read_dir(&kept.backups.0).unwrap().count(), 0);
    // Links are not followed, whatever they lead to.
    let target = Folder::new("upkeep-backup-names-target");
    fs::create_dir_all(&target.0).unwrap();
    let place = |name: &str| kept.backups.0.join(name);
    let link = |to: &std::path::Path, name: &str| std::os::unix::fs::symlink(to, place(name));
    link(&target.0, "link").unwrap();
    link(&target.0.join("nothing"), "dangling").unwrap();
    fs::create_dir(place("inner")).unwrap();
    link(&target.0, "inner/log").unwrap();
    fs::create_dir(place("file")).unwrap();
    fs::write(target.0.join("LOCK"), "mine").unwrap();
    link(&target.0.join("LOCK"), "file/LOCK").unwrap();
    fs::write(place("plain"), "mine").unwrap();
    fs::create_dir(place("full")).unwrap();
    fs::write(place("full/mine"), "mine").unwrap();
    for name in ["link", "dangling", "inner", "file", "plain", "full"] {
        let told = kept.done("backup", &format!(r#"{{"name":"{name}"}}"#));
        assert_eq!(told["state"], "failed", "{name}: {told}");
    }
    assert_eq!(fs::read_dir(&target.0).unwrap().count(), 1);
    assert_eq!(fs::read(target.0.join("LOCK")).unwrap(), b"mine");
    assert_eq!(fs::read_dir(place("full")).unwrap().count(), 1);
}

#[test]
fn backups_are_listed_by_name_and_nothing_else_is() {
    let kept = Kept::new("list");
    let list = || kept.served.get("/api/v1/folder/backups").expect(200);
    assert_eq!(list(), json!({"backups": [], "more": 0}));
    kept.append();
    kept.done("backup", r#"{"name":"b"}"#);
    kept.append();
    kept.done("backup", r#"{"name":"a"}"#);
    fs::create_dir(kept.backups.0.join("no-jungle")).unwrap();
    fs::write(kept.backups.0.join("file"), "mine").unwrap();
    std::os::unix::fs::symlink(kept.backups.0.join("a"), kept.backups.0.join("link")).unwrap();
    let listed = list();
    let told = |at: usize| &listed["backups"][at];
    assert_eq!(listed["backups"].as_array().unwrap().len(), 2, "{listed}");
    for (at, (name, revision)) in [("a", 3), ("b", 2)].into_iter().enumerate() {
        assert_eq!((&told(at)["name"], &told(at)["revision"]), (&json!(name), &json!(revision)));
        assert!(told(at)["time"].is_string() && told(at)["bytes"].as_u64() > Some(0), "{listed}");
        assert_eq!(told(at)["log_is_complete"], true);
    }
    // One that somebody writes to says no revision.
    let used = Store::open(kept.backups.0.join("b")).unwrap();
    assert_eq!(list()["backups"][1]["revision"], Json::Null);
    drop(used);
    assert_eq!(kept.served.get("/api/v1/folder/backups?x=1").problem(), "bad-request");
}

#[test]
fn where_there_is_no_folder_nothing_is_done_with_it() {
    let data = Folder::new("upkeep-no-backups");
    let served = Served::folder(&data).tree("t");
    let refused = served.post("/api/v1/folder/backup", r#"{"name":"x"}"#);
    assert_eq!((refused.status.as_u16(), refused.problem()), (404, "no-such-address".to_owned()));
    assert!(refused.text.contains("--backups"), "{}", refused.text);
    assert_eq!(served.get("/api/v1/folder/backups").problem(), "no-such-address");
    let guarded = Guarded::new("upkeep-memory", &[("ana", "*", "/", Role::Admin)]);
    for work in ["backup", "verify", "gc", "du"] {
        let path = format!("/api/v1/folder/{work}");
        assert_eq!(guarded.get("ana", &path).status, 404);
        assert_eq!(guarded.send("ana", "POST", &path, Some("{}")).status, 404);
        assert_eq!(guarded.send("ana", "DELETE", &path, None).status, 404);
    }
}

#[test]
fn damage_is_found_while_it_is_served() {
    let kept = Kept::new("verify");
    (0..20).for_each(|_| kept.append());
    let whole = kept.done("verify", "");
    let result = &whole["result"];
    assert_eq!((&whole["state"], &result["whole"]), (&json!("done"), &json!(true)), "{whole}");
    // As `jungle verify --json` tells it.
    assert_eq!((&result["was_closed"], &result["torn_bytes"]), (&json!(true), &json!(0)));
    assert_eq!((&result["trees"], &result["nodes"]), (&json!(1), &json!(21)));
    let log = kept.data.0.join("log/00000000000000000001.log");
    let log = fs::OpenOptions::new().read(true).write(true).open(log).unwrap();
    let bytes = fs::read(kept.data.0.join("log/00000000000000000001.log")).unwrap();
    let last = bytes.iter().rposition(|&byte| byte != 0).unwrap() as u64;
    let places = [200, last - 200];
    for place in places {
        log.write_all_at(&[bytes[place as usize] ^ 1], place).unwrap();
    }
    let found = kept.done("verify", "{}");
    let result = &found["result"];
    assert_eq!((&found["state"], &result["whole"]), (&json!("failed"), &json!(false)), "{found}");
    let damages = result["damages"].as_array().unwrap();
    assert_eq!((damages.len(), &result["more_damages"]), (2, &json!(0)), "{found}");
    for damage in damages {
        assert_eq!(damage["file"], "log/00000000000000000001.log");
    }
    assert!(damages[0]["offset"].as_u64() < damages[1]["offset"].as_u64(), "{found}");
    assert_eq!((&result["remedy"], &result["whole_segments"]), (&json!("restore"), &json!(0)));
    let hint = found["hint"].as_str().unwrap();
    assert!(["`jungle restore`", "`jungle repair`"].iter().all(|way| hint.contains(way)), "{hint}");
    assert_eq!(result["whole_revisions"].as_array().unwrap().len(), 3, "{found}");
    // Who only reads trees notices nothing.
    kept.served.get("/api/v1/trees/t/node").expect(200);
    assert_eq!(kept.done("backup", r#"{"name":"x"}"#)["state"], "failed");
    log.write_all_at(&bytes[..=last as usize], 0).unwrap();
    assert_eq!(kept.done("verify", "")["state"], "done");
}

#[test]
fn what_is_not_kept_is_given_back_while_it_is_served() {
    let kept = Kept::new("gc");
    for n in 0..200 {
        let text = "x".repeat(2_000);
        let edit = json!({"op": "put", "attribute": "n", "value": format!("{n}{text}")});
        let body = json!({"edits": [edit]}).to_string();
        kept.served.post("/api/v1/trees/t/commits", &body).expect(200);
    }
    let told = kept.done("du", r#"{"tree":"t","policy":"2"}"#);
    let result = &told["result"];
    assert_eq!((&told["state"], &result["trees"][0]["revisions"]), (&json!("done"), &json!(201)));
    let freed = result["policy"]["freed_bytes"].as_u64().unwrap();
    assert!(freed > 300_000 && result["trees"][0]["freed_bytes"] == freed, "{told}");
    kept.served.send("PUT", "/api/v1/trees/t/keep", &[], Some(r#"{"keep":"2"}"#)).expect(200);
    for asked in ["", r#"{"compact":true}"#] {
        let told = kept.done("gc", asked);
        let result = &told["result"];
        assert_eq!(
            (&told["state"], &told["asked"]["compact"]),
            (&json!("done"), &json!(!asked.is_empty()))
        );
        assert!(result["after"].as_u64() > Some(0), "{told}");
    }
    kept.append();
    let after = kept.done("du", "");
    assert_eq!(after["result"]["trees"][0]["revisions"], 2);
    assert!(after["result"]["trees"][0]["older_bytes"].as_u64() < Some(100_000), "{after}");
    assert_eq!(kept.done("verify", "")["state"], "done");
    let metrics = kept.served.get("/metrics").text;
    assert!(metrics.contains("\njungle_collections_total 2\n"), "{metrics}");
    assert_eq!(kept.served.post("/api/v1/folder/du", r#"{"tree":"u"}"#).problem(), "no-such-tree");
    assert_eq!(kept.served.post("/api/v1/folder/du", r#"{"policy":"0"}"#).problem(), "bad-request");
    assert_eq!(kept.served.get("/api/v1/folder/du?wait=61").problem(), "bad-request");
    kept.served.server.stop().unwrap();
}

#[test]
fn what_is_being_done_is_not_begun_again_and_given_up_when_the_server_stops() {
    let kept = Kept::new("busy");
    let jungle = kept.served.server.jungle().clone();
    // While this is there nobody collects.
    let turn = jungle.arena().next_collection();
    kept.served.post("/api/v1/folder/gc", "").expect(202);
    let refused = kept.served.post("/api/v1/folder/gc", "");
    assert_eq!((refused.status.as_u16(), refused.problem()), (409, "under-way".to_owned()));
    assert_eq!(kept.served.get("/api/v1/folder/gc").expect(200)["state"], "running");
    let metrics = kept.served.get("/metrics").text;
    assert!(metrics.contains("jungle_upkeep_running{work=\"gc\"} 1"), "{metrics}");
    // Others are served, and other work is done.
    kept.append();
    assert_eq!(kept.done("verify", "")["state"], "done");
    assert_eq!(kept.served.get("/health").expect(200)["status"], "ok");
    let address = kept.served.address();
    let stopping = std::thread::spawn(|| kept.served.server.stop().unwrap());
    // It is heard of when nobody comes in any more.
    while std::net::TcpStream::connect(address).is_ok() {}
    drop(turn);
    stopping.join().unwrap();
    assert_eq!(Store::open(&kept.data.0).unwrap().open_tree("t").unwrap().history(..).count(), 2);
}

#[test]
fn what_somebody_gives_up_ends_at_its_next_step_and_can_be_done_again() {
    let kept = Kept::new("given-up");
    let give_up = |work: &str| kept.served.send("DELETE", &address(work), &[], None);
    for (work, asked) in WORKS {
        let refused = give_up(work);
        let told = (refused.status.as_u16(), refused.problem());
        assert_eq!(told, (409, "not-under-way".to_owned()), "{work}");
        assert_eq!(kept.served.get(&address(work)).expect(200)["state"], "never");
        assert_eq!(kept.done(work, asked)["state"], "done");
    }
    assert_eq!(kept.served.send("DELETE", &(address("gc") + "?x=1"), &[], None).status, 400);

    // While this is there nobody collects: it is surely under way.
    let jungle = kept.served.server.jungle().clone();
    let turn = jungle.arena().next_collection();
    kept.served.post(&address("gc"), "").expect(202);
    assert_eq!(give_up("gc").expect(202)["state"], "running");
    drop(turn);
    let told = kept.ended("gc");
    assert_eq!((&told["state"], &told["error"]), (&json!("given-up"), &Json::Null), "{told}");
    assert_eq!(give_up("gc").problem(), "not-under-way");
    let metrics = kept.served.get("/metrics").text;
    for gauge in ["jungle_upkeep_running", "jungle_upkeep_failed"] {
        assert!(metrics.contains(&format!("{gauge}{{work=\"gc\"}} 0")), "{metrics}");
    }
    assert_eq!(kept.done("gc", "")["state"], "done");
}

#[test]
fn whatever_is_given_up_leaves_the_folder_and_its_backups_whole() {
    let kept = Kept::new("given-up-large");
    let tree = kept.served.server.jungle().open_tree("t").unwrap();
    let add = |count: i64| {
        for n in 0..count {
            tree.update(|tx| tx.put_attribute(&[], "n", n)).unwrap();
        }
    };
    add(1_000);
    for (work, asked) in WORKS {
        let waits_until = Instant::now() + PATIENCE;
        // A folder that is too small is done with before anybody can say so.
        loop {
            kept.served.post(&address(work), asked).expect(202);
            let given_up = kept.served.send("DELETE", &address(work), &[], None);
            assert!([202, 409].contains(&given_up.status.as_u16()), "{}", given_up.text);
            let told = kept.ended(work);
            if told["state"] == "given-up" {
                assert_eq!((&told["result"], &told["error"]), (&Json::Null, &Json::Null), "{told}");
                break;
            }
            assert_eq!(told["state"], "done", "{told}");
            assert!(Instant::now() < waits_until, "{work}: {told}");
            add(tree.snapshot().revision().number() as i64);
        }
        if kept.backups.0.join("b/log").exists() {
            let copied = kept.copied("b").revision();
            assert!(copied <= tree.snapshot().revision(), "{copied}");
        }
    }
    for (work, asked) in WORKS {
        assert_eq!(kept.done(work, asked)["state"], "done");
    }
    assert_eq!(kept.copied("b").revision(), tree.snapshot().revision());
    kept.served.server.stop().unwrap();
}

#[test]
fn server_collects_by_itself_what_is_let_go() {
    let every = Duration::from_millis(1);
    let served = Served::with(|options| options.collect_every = Some(every)).tree("t");
    let tree = served.server.jungle().open_tree("t").unwrap();
    // More than is left alone because it is not worth it.
    for n in 0..10_000 {
        tree.update(|tx| tx.put_attribute(&[], "n", &*format!("{n}{}", "x".repeat(2_000))))
            .unwrap();
    }
    served.send("PUT", "/api/v1/trees/t/keep", &[], Some(r#"{"keep":"2"}"#)).expect(200);
    let counted = |name: &str| {
        let metrics = served.get("/metrics").text;
        let value = metrics.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        value.trim().parse::<u64>().unwrap()
    };
    // It is counted a moment after it is done.
    let is_told = || {
        counted("jungle_memory_bytes") < 8 << 20
            && counted("jungle_collected_returned_bytes_total") > 8 << 20
            && counted("jungle_collection_timestamp_seconds") > 0
            && counted("jungle_collections_total") > 0
    };
    let waits_until = Instant::now() + PATIENCE;
    while !is_told() {
        assert!(Instant::now() < waits_until, "{}", served.get("/metrics").text);
    }
    assert_eq!(counted("jungle_collection_failed"), 0);
    served.server.stop().unwrap();
}

#[test]
fn a_checkpoint_of_the_cluster_is_written_when_somebody_asks_for_it() {
    const ADDRESS: &str = "/api/v1/cluster/checkpoint";
    let alone = Served::folder(&Folder::new("upkeep-alone"));
    assert_eq!(alone.post(ADDRESS, "").problem(), "no-such-address");
    let (folder, log) = (Folder::new("upkeep-cluster"), MemoryLog::new());
    let named = jungle_cluster::Options::default();
    let here = Arc::new(log.connect());
    let open = OpenOptions::new();
    let (store, cluster) = Cluster::follow_in_folder(here, &folder.0, &open, &named).unwrap();
    let served = Served::start(Data::Cluster(store, Arc::new(cluster)), Options::default());
    let done = || {
        served.post(ADDRESS, "").expect(202);
        served.get(&format!("{ADDRESS}?wait=60")).expect(200)
    };
    let nothing = done();
    assert_eq!(nothing["state"], "failed", "{nothing}");
    let served = &served;
    let tree = |name: &str| {
        served.post("/api/v1/trees", &json!({"name": name}).to_string()).expect(201);
        let told = done();
        assert_eq!(told["state"], "done", "{told}");
        told["result"]["message"].as_u64().unwrap()
    };
    assert_eq!(["a", "b", "c"].map(tree), [1, 2, 3]);
    // Two are kept, and the log goes back to the older one.
    assert_eq!(log.depot().unwrap().stored().unwrap(), [3, 2]);
    assert_eq!(log.bounds().unwrap(), (3, 3));
}
