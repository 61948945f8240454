//! What a server of a cluster has committed by itself.

use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use jungle::{CommitOptions, Jungle, OpenOptions};
use jungle_cluster::{Cluster, LogError, MemoryLog, Options};
use jungle_server::{Access, Data, Role};

use crate::appending::Appending;
use crate::crowding::Held;
use crate::people::grant;
use crate::support::{Folder, PATIENCE, Served, limits, no_long_reads};

/// A server with an outbox, and whether nothing comes to the log from it.
fn serve(
    log: MemoryLog,
    folder: &Folder,
    options: jungle_server::Options,
) -> (Served, Arc<Cluster>, Arc<AtomicBool>) {
    let open = || OpenOptions::new().open(folder.0.join("outbox")).unwrap();
    serve_with(log, folder, options, open)
}

/// The same with another outbox, which is opened once the folder is there.
fn serve_with<O: Deref<Target = Jungle> + Send + Sync + 'static>(
    log: MemoryLog,
    folder: &Folder,
    options: jungle_server::Options,
    outbox: impl FnOnce() -> O,
) -> (Served, Arc<Cluster>, Arc<AtomicBool>) {
    let (open, data) = (OpenOptions::new(), folder.0.join("data"));
    let is_away = Arc::new(AtomicBool::new(false));
    let is_cut = Arc::clone(&is_away);
    let log = Appending::new(Arc::new(log), move |log, after, message, within| {
        if is_cut.load(Ordering::SeqCst) {
            return Err(LogError::NoAnswer { within, last: None });
        }
        log.append(after, message, within)
    });
    let joined = Cluster::follow_in_folder(Arc::new(log), &data, &open, &Options::default());
    let (store, cluster) = joined.unwrap();
    cluster.local(outbox()).unwrap();
    let cluster = Arc::new(cluster);
    let data = Data::Cluster(store, Arc::clone(&cluster));
    (Served::start(data, options), cluster, is_away)
}

/// What one who may read, and one who administers all trees, are answered who want a commit
/// forgotten of which the tree is no more.
fn forgotten(test: &str, read_only: bool) -> [u16; 2] {
    let (folder, grants) = (Folder::new(test), Folder::new(&format!("{test}-access")));
    std::fs::create_dir_all(&grants.0).unwrap();
    let (file, mut access) = (grants.0.join("access.toml"), Access::default());
    let who = [("reader", Role::Read), ("admin", Role::Admin)].map(|(who, role)| {
        let token = access.add_token(who, None).unwrap();
        access.grant(grant(who, "*", "/", role)).unwrap();
        format!("Bearer {token}")
    });
    access.write(&file).unwrap();

    let log = MemoryLog::new();
    let elsewhere = Jungle::builder().build().unwrap();
    let other = Cluster::follow(Arc::new(log.connect()), &elsewhere, &Options::default()).unwrap();
    elsewhere.create_tree("t").unwrap();
    let options = jungle_server::Options { access: Some(file), read_only, ..Default::default() };
    let (served, cluster, is_away) = serve(log, &folder, options);

    cluster.sync(PATIENCE).unwrap();
    is_away.store(true, Ordering::SeqCst);
    let (local, tree) = (cluster.opened_local().unwrap(), served.server.jungle().open_tree("t"));
    local.update(&tree.unwrap(), &CommitOptions::default(), |draft| draft.append(&[])).unwrap();
    let oldest = local.status().oldest.unwrap();
    let get = |path| served.send("GET", path, &[("authorization", &who[1])], None).json();
    let health = &get("/health")["cluster"];
    assert_eq!(health["pending"], 1, "{health}");
    assert_eq!(health["oldest"], jungle_words::time::text(oldest), "{health}");
    let told = get("/api/v1/cluster");
    let of_all = told["servers"].as_array().unwrap();
    let waiting = of_all.iter().filter_map(|server| server["outbox"]["oldest"].as_i64());
    assert_eq!(waiting.collect::<Vec<_>>(), [oldest.as_micros()], "{told}");
    elsewhere.delete_tree("t").unwrap();
    other.sync(PATIENCE).unwrap();
    settle(&cluster, &is_away);
    let entry = local.refused().unwrap()[0].id;
    who.map(|who| {
        let path = format!("/api/v1/local/{entry}");
        served.send("DELETE", &path, &[("authorization", &who)], None).status.as_u16()
    })
}

/// Lets all that waits come to the log.
fn settle(cluster: &Cluster, is_away: &AtomicBool) {
    is_away.store(false, Ordering::SeqCst);
    while cluster.opened_local().unwrap().status().pending > 0 {
        thread::yield_now();
    }
}

#[test]
fn imports_and_reverts_are_done_while_cut_off() {
    let (folder, log) = (Folder::new("outbox-import"), MemoryLog::new());
    let elsewhere = Jungle::builder().build().unwrap();
    let other = Cluster::follow(Arc::new(log.connect()), &elsewhere, &Options::default()).unwrap();
    let tree = elsewhere.create_tree("t").unwrap();
    tree.update(|tx| tx.insert_child(&[], &"doc".into())).unwrap();
    tree.update(|tx| tx.put_attribute(&[], "n", 1)).unwrap();
    let wrong = tree.update(|tx| tx.put_attribute(&[], "n", 2)).unwrap().revision;
    let (served, cluster, is_away) = serve(log, &folder, jungle_server::Options::default());
    cluster.sync(PATIENCE).unwrap();
    is_away.store(true, Ordering::SeqCst);

    let of_tree = |rest: &str| format!("/api/v1/trees/t/{rest}");
    let own = |rest: &str| {
        served.send("GET", &of_tree(rest), &[("jungle-consistency", "own")], None).expect(200)
    };
    let n = || own("node")["attributes"]["n"]["value"].clone();
    let undo = format!(r#"{{"revision":{wrong},"message":"it was one"}}"#);
    let restore = format!(r#"{{"revision":{wrong},"mode":"restore"}}"#);
    let put = r#"{"edits":[{"op":"put","attribute":"n","value":7}]}"#;
    let revert = |body: &str| served.post(&of_tree("local/reverts"), body);
    assert!(revert(&undo).expect(202)["entry"].is_string());
    assert_eq!(n(), 1);
    served.post(&of_tree("local"), put).expect(202);
    assert_eq!(revert(&undo).problem(), "conflict");
    assert_eq!(n(), 7);
    revert(&restore).expect(202);
    assert_eq!(n(), 2);
    revert(&undo).expect(202);
    let import = |body: &str| {
        let path = of_tree("local/document?path=/doc&author=ana");
        served.send("PUT", &path, &[], Some(body))
    };
    let document = r#"{"b":[1,2]}"#;
    assert!(import(document).expect(202)["entry"].is_string());
    assert_eq!(import(document).expect(202)["entry"], serde_json::Value::Null);
    let long = format!(r#"["{}"]"#, "x".repeat(1_000_000));
    assert_eq!(import(&long).problem(), "too-large");
    assert_eq!(import("[1").problem(), "bad-request");
    assert_eq!(own("document?path=/doc").to_string(), document);
    let theirs = || served.get(&of_tree("node")).expect(200)["attributes"]["n"]["value"].clone();
    assert_eq!(theirs(), 2);

    settle(&cluster, &is_away);
    other.sync(PATIENCE).unwrap();
    assert_eq!(theirs(), 1);
    let root = tree.snapshot();
    assert_eq!(root.root().attribute("n").and_then(|n| n.as_int()), Some(1));
    let list = root.root().child("doc").and_then(|node| node.child("b"));
    assert_eq!(list.map(|list| list.child_count()), Some(2));
    let newest = served.get(&of_tree("revisions/main")).expect(200);
    assert_eq!(newest["author"], "ana");
    let refused = &served.get("/api/v1/local").expect(200)["refused"];
    assert_eq!(refused, &serde_json::json!([]));
}

/// As where it is committed with a place: a fraction is not given again.
#[test]
fn what_comes_back_under_another_key_is_told_while_cut_off() {
    let (folder, log) = (Folder::new("outbox-renamed"), MemoryLog::new());
    let (served, cluster, is_away) = serve(log, &folder, jungle_server::Options::default());
    served.post("/api/v1/trees", r#"{"name":"t"}"#).expect(201);
    let commit = |edit: &str| {
        let edits = format!(r#"{{"edits":[{edit}]}}"#);
        served.post("/api/v1/trees/t/commits", &edits).expect(200)
    };
    let between = || {
        let made = commit(r#"{"op":"insert_after","path":"/0"}"#);
        made["created"][0].as_str().unwrap().to_owned()
    };
    let remove = |path: &str| {
        let edit = serde_json::json!({"op": "remove", "path": path});
        commit(&edit.to_string())["revision"].clone()
    };
    commit(r#"{"op":"append"},{"op":"append"}"#);
    let [one, other] = [between(), between()];
    let wrong = remove(&one);
    remove(&other);
    is_away.store(true, Ordering::SeqCst);
    let undo = format!(r#"{{"revision":{wrong}}}"#);
    let told = served.post("/api/v1/trees/t/local/reverts", &undo).expect(202);
    let renamed = told["renamed"].as_array().unwrap();
    assert_eq!(renamed.len(), 1, "{told}");
    assert!(renamed[0]["from"] == *one && renamed[0]["to"] != *one, "{told}");
    settle(&cluster, &is_away);
    assert_eq!(served.get("/api/v1/trees/t/node").expect(200)["child_count"], 3);
}

#[test]
fn nothing_is_kept_of_a_revert_that_has_no_turn() {
    let (folder, log) = (Folder::new("outbox-turn"), MemoryLog::new());
    let options = jungle_server::Options { limits: limits(no_long_reads), ..Default::default() };
    let (served, cluster, is_away) = serve(log, &folder, options);
    served.post("/api/v1/trees", r#"{"name":"t"}"#).expect(201);
    let append = r#"{"edits":[{"op":"append"}]}"#;
    let made = served.post("/api/v1/trees/t/commits", append).expect(200)["revision"].clone();
    is_away.store(true, Ordering::SeqCst);
    let undo = format!(r#"{{"revision":{made}}}"#);
    assert_eq!(served.post("/api/v1/trees/t/local/reverts", &undo).problem(), "too-many");
    assert_eq!(cluster.opened_local().unwrap().status().pending, 0);
}

#[test]
fn revert_that_waits_for_the_outbox_has_no_turn() {
    let (folder, held) = (Folder::new("outbox-wait"), Held::new());
    let outbox = Jungle::builder().journal(Arc::clone(&held.journal)).build().unwrap();
    let options = jungle_server::Options {
        limits: limits(|limits| {
            limits.long_reads_max = 1;
            limits.line_time = Duration::ZERO;
        }),
        ..Default::default()
    };
    let outbox = move || Arc::new(outbox);
    let (served, cluster, is_away) = serve_with(MemoryLog::new(), &folder, options, outbox);
    served.post("/api/v1/trees", r#"{"name":"t"}"#).expect(201);
    let append = r#"{"edits":[{"op":"append"}]}"#;
    let made = served.post("/api/v1/trees/t/commits", append).expect(200)["revision"].clone();
    is_away.store(true, Ordering::SeqCst);
    // Numbers are set aside with the first entry.
    served.post("/api/v1/trees/t/local", append).expect(202);
    held.shut();
    let undo = format!(r#"{{"revision":{made}}}"#);
    thread::scope(|scope| {
        // It is dropped before the other thread is waited for, whatever happens.
        let held: Held = held;
        let waiting = scope.spawn(|| served.post("/api/v1/trees/t/local/reverts", &undo));
        held.await_commit();
        served.get("/api/v1/trees/t/search?attribute=n").expect(200);
        drop(held);
        waiting.join().unwrap().expect(202);
    });
    settle(&cluster, &is_away);
}

#[test]
fn documents_of_any_form_are_imported_while_cut_off() {
    let (folder, log) = (Folder::new("outbox-forms"), MemoryLog::new());
    let elsewhere = Jungle::builder().build().unwrap();
    let other = Cluster::follow(Arc::new(log.connect()), &elsewhere, &Options::default()).unwrap();
    elsewhere.create_tree("t").unwrap();
    let (served, cluster, is_away) = serve(log, &folder, jungle_server::Options::default());
    cluster.sync(PATIENCE).unwrap();
    is_away.store(true, Ordering::SeqCst);
    let put = |media, text: &str| {
        let headers = [("content-type", media)];
        served.send("PUT", "/api/v1/trees/t/local/document", &headers, Some(text))
    };
    let document = |headers: &[_]| served.send("GET", "/api/v1/trees/t/document", headers, None);
    let own = || document(&[("jungle-consistency", "own")]).text;
    let csv = r#"[{"name":"ana","age":"7"}]"#;
    for (media, text, expected) in [
        ("application/yaml", "a: {b: 1.50}\n", r#"{"a":{"b":1.50}}"#),
        ("application/xml", "<a>x<b/></a>", r##"[{"#name":"a","#children":["x",{"#name":"b"}]}]"##),
        ("text/csv; charset=utf-8", "name,age\nana,7\n", csv),
    ] {
        assert!(put(media, text).expect(202)["entry"].is_string(), "{media}");
        assert_eq!(own(), expected, "{media}");
    }
    // A little may stand for much.
    let names: Vec<String> = (0..100).map(|at| format!("{at}{}", "x".repeat(200))).collect();
    let rows = format!("{}\n", ",".repeat(99)).repeat(200);
    for (media, text, problem) in [
        ("application/yaml", "a: [", "bad-request"),
        ("application/xml", "<a>", "bad-request"),
        ("text/csv", &*format!("{}\n{rows}", names.join(",")), "too-large"),
        ("text/plain", "a", "unsupported-media"),
    ] {
        assert_eq!(put(media, text).problem(), problem, "{media}");
    }
    assert_eq!(own(), csv);

    settle(&cluster, &is_away);
    other.sync(PATIENCE).unwrap();
    assert_eq!(document(&[]).text, csv);
}

#[test]
fn last_copy_of_a_commit_is_forgotten_by_who_administers_all_trees() {
    assert_eq!(forgotten("outbox-forgotten", false), [403, 204]);
    assert_eq!(forgotten("outbox-read-only", true), [403, 403]);
}
