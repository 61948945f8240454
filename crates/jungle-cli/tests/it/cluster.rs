//! A try-out of a cluster with real processes: what one server takes the others have, and how all
//! of them are looked at.

use std::fs;
use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use jungle::Jungle;
use jungle_cluster::{Cluster, NatsLog, Options};
use jungle_testkit::NatsServers;
use jungle_tree::ArenaOptions;
use serde_json::Value as Json;

use super::Folder;
use super::serving::{Serving, json, send};
use super::tryout::{Up, nats_server, runs, signal};

/// Everything that any server has acknowledged.
const ALL: &str = "Jungle-Consistency: linearizable\r\n";

fn status(up: &Up, folder: &Folder) -> Json {
    let status = folder.run(&["cluster", "status", "--json", "--cluster", up.engine()]);
    status.check_code(0);
    serde_json::from_str(&status.out).unwrap()
}

fn url(up: &Up, at: usize) -> &str {
    up.told["servers"][at]["url"].as_str().unwrap()
}

fn address(up: &Up, at: usize) -> &str {
    url(up, at).trim_start_matches("http://")
}

/// Waits until so many servers answer.
fn wait_for(up: &Up, folder: &Folder, servers: usize) -> Json {
    loop {
        let status = status(up, folder);
        let (told, last) = (status["servers"].as_array().unwrap(), &status["log"]["last"]);
        if told.len() == servers && told.iter().all(|server| &server["followed"] == last) {
            return status;
        }
    }
}

#[test]
fn servers_are_started_looked_at_and_ended_by_an_interrupt() {
    let folder = Folder::new("cluster-up");
    let mut up = Up::start(&folder, &["cluster", "up", "--servers", "2", "--engine-servers", "1"]);
    let made = send(address(&up, 0), "POST /api/v1/trees", "", r#"{"name":"t"}"#);
    assert!(made.starts_with("HTTP/1.1 201 "), "{made}");
    let there = send(address(&up, 1), "GET /api/v1/trees/t", ALL, "");
    assert!(there.starts_with("HTTP/1.1 200 "), "{there}");

    let told = wait_for(&up, &folder, 2);
    let servers = told["servers"].as_array().unwrap();
    for (at, server) in servers.iter().enumerate() {
        assert_eq!(server["server"], format!("s{at}"));
        assert_eq!(server["address"], url(&up, at));
        assert_eq!((&server["revision"], &server["followed"]), (&1.into(), &told["log"]["last"]));
        assert!(server["hash"].is_string() && server["fault"].is_null(), "{server}");
    }
    assert_eq!(servers[0]["hash"], servers[1]["hash"]);
    assert_eq!(
        (&told["log"]["last"], &told["log"]["stream"]),
        // The commit, and what the read behind it has sent.
        (&2.into(), &"jungle-jungle".into())
    );
    let page = json(&send(address(&up, 1), "GET /api/v1/cluster", "", ""));
    assert_eq!(page["log"]["last"], 2);
    let metrics = send(address(&up, 1), "GET /metrics", "", "");
    assert!(metrics.contains("\njungle_cluster_message 2\n"), "{metrics}");
    assert!(metrics.contains("\njungle_cluster_outage_seconds 0\n"), "{metrics}");
    let role = |role, count| format!("\njungle_cluster_role{{role=\"{role}\"}} {count}\n");
    assert!(metrics.contains(&role("guest", 0)), "{metrics}");
    // The log's leader is asked once a second.
    let lags = || send(address(&up, 1), "GET /metrics", "", "");
    while !lags().contains("\njungle_cluster_lag_messages 0\n") {}

    let text = folder.run(&["cluster", "status", "--cluster", up.engine()]);
    text.check_code(0);
    assert!(
        text.out.starts_with("log      jungle-jungle: 2 messages, the newest 2, "),
        "{}",
        text.out
    );
    assert!(text.out.contains(url(&up, 1)) && text.out.contains("\nservers  2 servers\n"));
    assert!(text.out.contains("; synced before it is promised\n"), "{}", text.out);

    let second = up.told["servers"][1]["process"].as_u64().unwrap();
    signal("-KILL", u32::try_from(second).unwrap());
    wait_for(&up, &folder, 1);

    let processes = up.processes();
    up.signal("-INT");
    assert_eq!(up.child.wait().unwrap().code(), Some(0));
    assert!(!processes.iter().any(|process| runs(*process)), "{processes:?}");
}

#[test]
fn one_of_three_of_the_engine_may_be_lost() {
    let folder = Folder::new("cluster-engine-lost");
    let mut up = Up::start(&folder, &["cluster", "up", "--servers", "1"]);
    let is_of_engine = |process: &u32| {
        let name = fs::read_to_string(format!("/proc/{process}/comm"));
        name.is_ok_and(|name| name.starts_with("nats-server"))
    };
    let engine: Vec<u32> = up.processes().into_iter().filter(is_of_engine).collect();
    assert_eq!(engine.len(), 3);
    let before = send(address(&up, 0), "POST /api/v1/trees", "", r#"{"name":"before"}"#);
    assert!(before.starts_with("HTTP/1.1 201 "), "{before}");
    let page = json(&send(address(&up, 0), "GET /api/v1/cluster", "", ""));
    assert_eq!(page["log"]["syncs"], true, "{page}");
    signal("-KILL", engine[0]);
    // While a leader is looked for it may not be known what became of it.
    let mut made = send(address(&up, 0), "POST /api/v1/trees", "", r#"{"name":"after"}"#);
    while made.starts_with("HTTP/1.1 503 ") || made.starts_with("HTTP/1.1 504 ") {
        made = send(address(&up, 0), "POST /api/v1/trees", "", r#"{"name":"after"}"#);
    }
    let is_made = made.starts_with("HTTP/1.1 201 ") || made.starts_with("HTTP/1.1 409 ");
    assert!(is_made, "{made}");
    let there = send(address(&up, 0), "GET /api/v1/trees/after", ALL, "");
    assert!(there.starts_with("HTTP/1.1 200 "), "{there}");
    assert!(up.child.try_wait().unwrap().is_none(), "it goes on");
    // One that does not say whether it syncs may come back as one that does not.
    let page = json(&send(address(&up, 0), "GET /api/v1/cluster", "", ""));
    assert!(page["log"]["syncs"].is_null(), "{page}");
    // Of two the rest is not enough.
    signal("-KILL", engine[1]);
    assert_eq!(up.child.wait().unwrap().code(), Some(1));
}

#[test]
fn a_server_reaches_the_engine_over_leaf_nodes() {
    let folder = Folder::new("cluster-chain");
    let args = ["cluster", "up", "--servers", "3", "--topology", "tree:1", "--engine-servers", "1"];
    let up = Up::start(&folder, &[&args[..], &["--config", "files"]].concat());
    let through = |at: usize| up.told["servers"][at]["through"].as_str();
    assert_eq!([through(0), through(1), through(2)], [None, Some("s0"), Some("s1")]);
    let made = send(address(&up, 2), "POST /api/v1/trees", "", r#"{"name":"far"}"#);
    assert!(made.starts_with("HTTP/1.1 201 "), "{made}");
    for at in [0, 1, 2] {
        let there = send(address(&up, at), "GET /api/v1/trees/far", ALL, "");
        assert!(there.starts_with("HTTP/1.1 200 "), "{there}");
    }
    let told = wait_for(&up, &folder, 3);
    let hashes: Vec<&Json> =
        told["servers"].as_array().unwrap().iter().map(|server| &server["hash"]).collect();
    assert!(hashes.iter().all(|hash| *hash == hashes[0] && hash.is_string()), "{told}");
    // The engine that says whether it syncs says so over leaf nodes as well.
    let page = json(&send(address(&up, 2), "GET /api/v1/cluster", "", ""));
    assert_eq!(page["log"]["syncs"], true, "{page}");

    // What real machines need for the same.
    assert_eq!(up.told["config"], "files");
    let config = |host: &str| {
        fs::read_to_string(folder.0.join("files").join(host).join("nats.conf")).unwrap()
    };
    assert!(config("s0").contains("sync_interval: always"), "{}", config("s0"));
    for (leaf, through) in [("s1", "s0"), ("s2", "s1")] {
        let urls = format!(r#"urls: [ "tls://{through}:7422" ]"#);
        assert!(config(leaf).contains(&urls), "{}", config(leaf));
    }
    assert!(folder.0.join("files/README.md").is_file());
    let two = folder.run(&["cluster", "up", "--servers", "2", "--config", "no"]);
    two.check_code(2);
    assert!(two.err.contains("2 machines are not one, three or five"), "{}", two.err);
    assert!(!folder.0.join("no").exists());

    let alone = folder.0.join("alone.dot");
    fs::write(&alone, "graph { a -- b; c }").unwrap();
    let refused = folder.run(&["cluster", "up", "--topology", alone.to_str().unwrap()]);
    refused.check_code(2);
    assert!(refused.err.contains("no way leads from"), "{}", refused.err);
}

#[test]
fn servers_at_leaf_nodes_follow_the_mirrors_that_are_there() {
    let folder = Folder::new("cluster-mirrors");
    fs::write(folder.0.join("sites.dot"), "graph { s0 -- s1; s1 -- s2 }").unwrap();
    let shape = ["--topology", "sites.dot", "--engine-servers", "1", "--mirrors"];
    let args = ["cluster", "up", "--config", "files"];
    let up = Up::start(&folder, &[&args[..], &shape[..]].concat());
    let through = |at: usize| up.told["servers"][at]["through"].as_str();
    assert_eq!([through(0), through(1), through(2)], [None, Some("s0"), Some("s1")]);
    let unit = fs::read_to_string(folder.0.join("files/s2/jungle.service")).unwrap();
    assert!(unit.contains("--cluster-mirror s2"), "{unit}");
    let made = send(address(&up, 2), "POST /api/v1/trees", "", r#"{"name":"far"}"#);
    assert!(made.starts_with("HTTP/1.1 201 "), "{made}");
    let mirror = |domain: &str| serde_json::json!({"domain": domain, "error": null});
    for (at, domain) in [(1, "tryout-1"), (2, "tryout-2")] {
        // It is filled when there is something for it, and looked at a second later.
        while json(&send(address(&up, at), "GET /health", "", ""))["cluster"]["mirror"]
            != mirror(domain)
        {
            send(address(&up, at), "GET /api/v1/cluster", "", "");
        }
    }
    let there = send(address(&up, 1), "GET /api/v1/trees/far", ALL, "");
    assert!(there.starts_with("HTTP/1.1 200 "), "{there}");
    let engine = up.told["engine"].as_str().unwrap();
    let told = folder.run(&["cluster", "status", "--cluster", engine]);
    told.check_code(0);
    assert!(told.out.contains("mirror   s2: in domain tryout-2, followed"), "{}", told.out);
    assert!(!told.out.contains("mirror   s0"), "{}", told.out);
}

#[test]
fn a_server_that_is_cut_off_takes_commits_and_others_have_them_later() {
    let folder = Folder::new("cluster-local");
    let mut engine = NatsServers::start(1);
    let addresses = engine.addresses();
    let start = |name: &str| {
        let args = ["--data", name, "--cluster", &addresses, "--replicas", "1", "--local"];
        Serving::start(&folder, &[&args[..], &["--server-name", name]].concat())
    };
    let (mut one, two) = (start("one"), start("two"));
    let made = one.send("POST /api/v1/trees", r#"{"name":"t"}"#);
    assert!(made.starts_with("HTTP/1.1 201 "), "{made}");
    assert_eq!(two.count_all(), 0);
    let post = |server: &Serving| -> Json {
        let edits = r#"{"author":"ana","edits":[{"op":"append","attributes":{"n":1}}]}"#;
        let kept = server.send("POST /api/v1/trees/t/local", edits);
        assert!(kept.starts_with("HTTP/1.1 202 "), "{kept}");
        json(&kept)
    };
    let own = |server: &Serving, path: &str| {
        let path = format!("GET /api/v1/trees/t/node?path={path}");
        send(server.address(), &path, "Jungle-Consistency: own\r\n", "")
    };
    engine.kill(0);
    let mut made = vec![post(&one), post(&two)];
    assert_ne!(made[0]["created"], made[1]["created"]);
    // Seen here, by those who ask for it, and nowhere else.
    let answer = own(&one, "/");
    assert_eq!(json(&answer)["child_count"], 1);
    assert!(answer.contains("cache-control: no-store") && !answer.contains("etag:"), "{answer}");
    assert_eq!((one.count(), two.count()), (0, 0));
    let health = &one.get("/health")["cluster"];
    assert_eq!((&health["pending"], health["oldest"].is_string()), (&1.into(), true), "{health}");
    let metrics = send(one.address(), "GET /metrics", "", "");
    let oldest = metrics.split("\njungle_local_oldest_timestamp_seconds ").nth(1).unwrap();
    let oldest: i64 = oldest.lines().next().unwrap().parse().unwrap();
    assert!(oldest > 1_700_000_000, "{metrics}");
    // It is started again while the engine is away.
    one.kill();
    one = start("one");
    made.push(post(&one));
    assert_eq!(json(&own(&one, "/"))["child_count"], 2);
    let listed = one.get("/api/v1/local");
    assert_eq!((&listed["pending"], &listed["refused"]), (&2.into(), &serde_json::json!([])));

    engine.restart(0);
    for kept in &made {
        let entry = format!("/api/v1/local/{}", kept["entry"].as_str().unwrap());
        while one.get(&entry)["outcome"] != "settled" || two.get(&entry)["outcome"] != "settled" {
            std::thread::yield_now();
        }
        // The path that was told names the same node everywhere.
        let path = kept["created"][0].as_str().unwrap();
        for server in [&one, &two] {
            let node = server.get(&format!("/api/v1/trees/t/node?path={path}"));
            assert_eq!(node["attributes"]["n"]["value"], 1, "{node}");
        }
    }
    assert_eq!((one.count_all(), two.count_all()), (3, 3));
    let status = folder.run(&["cluster", "status", "--cluster", &addresses]);
    assert!(
        status.out.contains("outbox   one: 0 commits without a place, 0 refused"),
        "{}",
        status.out
    );
}

#[test]
fn what_a_server_has_is_seen_in_its_folder_soon() {
    let (folder, engine) = (Folder::new("cluster-beside"), NatsServers::start(1));
    let addresses = engine.addresses();
    let args = ["--data", "d", "--cluster", &addresses, "--replicas", "1"];
    let server = Serving::start(&folder, &args);
    assert!(server.send("POST /api/v1/trees", r#"{"name":"t"}"#).starts_with("HTTP/1.1 201 "));
    assert!(server.append());
    let begun = std::time::Instant::now();
    loop {
        let seen = folder.run(&["ls", "d", "t"]);
        if seen.code == Some(0) && seen.out.lines().count() == 1 {
            assert!(seen.err.starts_with("Note: somebody else writes to d"), "{}", seen.err);
            break;
        }
        assert!(begun.elapsed().as_secs() < 30, "{} {}", seen.out, seen.err);
    }
    let shell = ["shell", "d", "--read-only"];
    for (command, work) in [("verify", "verify"), ("backup copy", "backup")] {
        let refused = folder.run_with_input(&shell, &format!("{command}\n"));
        assert!(refused.err.contains("open elsewhere"), "{}", refused.err);
        let hint = format!("POST /api/v1/folder/{work}");
        assert!(refused.err.contains(&hint), "{}", refused.err);
    }
}

#[test]
fn a_server_that_only_has_to_be_started_again_ends() {
    let folder = Folder::new("cluster-trimmed");
    let mut engine = NatsServers::start(1);
    let addresses = engine.addresses();
    let command = || {
        let args = ["serve", "--json", "--listen", "127.0.0.1:0", "--data", "d", "--replicas", "1"];
        folder.command(&[&args[..], &["--cluster", &addresses]].concat())
    };
    let mut away = Serving::noting(command(), Stdio::piped());
    let created = away.send("POST /api/v1/trees", r#"{"name":"t"}"#);
    assert!(created.starts_with("HTTP/1.1 201 "), "{created}");

    let options = Options { replicas: 1, ..Options::default() };
    let log = Arc::new(NatsLog::connect(&addresses, &options).unwrap());
    let builder = Jungle::builder();
    let other = Cluster::follow_in_memory(log, &builder, &ArenaOptions::default(), &options);
    let (jungle, cluster) = other.unwrap();
    let tree = jungle.open_tree("t").unwrap();
    // It loses its connection, and does not look for another one meanwhile.
    engine.kill(0);
    signal("-STOP", away.child.id());
    engine.restart(0);
    for n in 0..3 {
        tree.update(|tx| tx.put_attribute(&[], "n", n)).unwrap();
        cluster.checkpoint().unwrap();
    }
    signal("-CONT", away.child.id());
    assert_eq!(away.child.wait().unwrap().code(), Some(1));
    let mut said = String::new();
    away.child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert!(said.contains("start this server again"), "{said}");

    let back = Serving::start_by(command());
    let root = back.get("/api/v1/trees/t/node");
    assert_eq!(root["attributes"]["n"]["value"], 2, "{root}");
}

#[test]
fn what_contradicts_others_is_refused_and_listed() {
    let folder = Folder::new("cluster-refused");
    let mut engine = NatsServers::start(1);
    let addresses = engine.addresses();
    let start = |name: &str| {
        let args = ["--data", name, "--cluster", &addresses, "--replicas", "1", "--local"];
        Serving::start(&folder, &args)
    };
    let (one, two) = (start("one"), start("two"));
    assert!(one.send("POST /api/v1/trees", r#"{"name":"t"}"#).starts_with("HTTP/1.1 201 "));
    assert!(one.append());
    assert_eq!(two.count_all(), 1);
    engine.kill(0);
    let remove = r#"{"edits":[{"op":"remove","path":"/0"}]}"#;
    let removed = one.send("POST /api/v1/trees/t/local", remove);
    assert!(removed.starts_with("HTTP/1.1 202 "), "{removed}");
    let put = r#"{"message":"mine","edits":[{"op":"put","path":"/0","attribute":"n","value":1}]}"#;
    let kept = json(&two.send("POST /api/v1/trees/t/local", put));
    engine.restart(0);
    // Of the two the one that came to the log first is done.
    let refused = loop {
        let refused = [&one, &two].map(|server| server.get("/api/v1/local")["refused"].clone());
        if let Some(at) = refused.iter().position(|refused| !refused[0].is_null()) {
            break ([&one, &two][at], refused[at][0].clone());
        }
    };
    let (server, refused) = refused;
    assert_eq!(refused["tree"], "t");
    let entry = format!("/api/v1/local/{}", refused["entry"].as_str().unwrap());
    let told = server.get(&entry);
    assert_eq!((&told["outcome"], &told["refused"]["why"]), (&"refused".into(), &refused["why"]));
    if refused["entry"] == kept["entry"] {
        assert_eq!(refused["message"], "mine");
        assert_eq!(told["changes"], "~ /0 @n = 1\n");
    }
    let forgotten = server.send(&format!("DELETE {entry}"), "");
    assert!(forgotten.starts_with("HTTP/1.1 204 "), "{forgotten}");
    assert_eq!(server.get("/api/v1/local")["refused"], serde_json::json!([]));
    assert!(server.send(&format!("DELETE {entry}"), "").starts_with("HTTP/1.1 404 "));
}

#[test]
fn nothing_is_left_behind_when_it_is_killed() {
    let folder = Folder::new("cluster-killed");
    let args = ["cluster", "up", "--servers", "1", "--engine-servers", "1", "--unsynced"];
    let mut up = Up::start(&folder, &args);
    let processes = up.processes();
    // Itself, the server, what keeps the engine's, and the engine's.
    assert_eq!(processes.len(), 4, "{processes:?}");
    let status = folder.run(&["cluster", "status", "--cluster", up.engine()]);
    assert!(status.out.contains("; PROMISED BEFORE IT IS SYNCED\n"), "{}", status.out);
    let join = ["serve", "--data", "other", "--listen", "127.0.0.1:0", "--replicas", "1"];
    let refused = folder.run(&[&join[..], &["--cluster", up.engine()]].concat());
    refused.check_code(1);
    assert!(refused.err.contains("sync_interval: always"), "{}", refused.err);
    assert!(refused.err.contains("--cluster-unsynced"), "{}", refused.err);
    up.signal("-KILL");
    up.child.wait().unwrap();
    while processes.iter().any(|process| runs(*process)) {
        std::thread::yield_now();
    }
}

#[test]
fn what_is_not_there_is_told() {
    let (folder, engine) = (Folder::new("cluster-none"), NatsServers::start(1));
    let none = folder.run(&["cluster", "status", "--cluster", &engine.addresses()]);
    none.check_code(4);
    assert!(none.err.contains("the engine has no cluster \"jungle\""), "{}", none.err);
    drop(engine);
    let nobody = folder.run(&["cluster", "status", "--cluster", "nats://127.0.0.1:1"]);
    nobody.check_code(7);
    assert!(nobody.err.contains("`jungle cluster up` starts an engine"), "{}", nobody.err);
}

#[test]
fn a_log_is_not_kept_on_two_servers() {
    let folder = Folder::new("cluster-two");
    let args = ["serve", "--data", "d", "--listen", "127.0.0.1:0", "--replicas", "2"];
    let refused = folder.run(&[&args[..], &["--cluster", "nats://127.0.0.1:1"]].concat());
    refused.check_code(2);
    assert!(refused.err.contains("on 1, 3 or 5 of the engine's servers"), "{}", refused.err);
}

/// What each machine has in the folder for certificates, here of `localhost`; gives the folder.
fn certificates(folder: &Folder) -> String {
    let to = folder.0.join("tls");
    fs::create_dir_all(&to).unwrap();
    let tls = Path::new(env!("CARGO_MANIFEST_DIR")).join("../jungle-server/tests/tls");
    for (from, name) in [("cert.pem", "cert.pem"), ("cert.pem", "ca.pem"), ("key.pem", "key.pem")] {
        fs::copy(tls.join(from), to.join(name)).unwrap();
    }
    to.display().to_string()
}

#[test]
fn an_engine_as_the_files_have_it_lets_in_who_has_a_certificate() {
    let folder = Folder::new("cluster-secure");
    let keys = certificates(&folder);
    let args = ["cluster", "config", "files", "--host", "localhost", "--tls", &keys];
    folder.run(&args).check_code(0);
    // All but where it listens and keeps the log: who gets in, and what they may ask.
    let config = fs::read_to_string(folder.0.join("files/localhost/nats.conf")).unwrap();
    let (_, settings) = config.split_once("\ntls {").unwrap();
    let engine = NatsServers::start_with(1, &format!("tls {{{settings}"));
    let addresses = engine.addresses().replace("nats://127.0.0.1", "tls://localhost");

    let [ca, cert, key] = ["ca", "cert", "key"].map(|name| format!("{keys}/{name}.pem"));
    let known = ["--cluster", &addresses, "--cluster-ca", &ca];
    let own = [&known[..], &["--cluster-cert", &cert, "--cluster-key", &key]].concat();
    let server = Serving::start(&folder, &[&["--data", "d", "--replicas", "1"], &own[..]].concat());
    let made = server.send("POST /api/v1/trees", r#"{"name":"t"}"#);
    assert!(made.starts_with("HTTP/1.1 201 "), "{made}");
    let status = folder.run(&[&["cluster", "status"], &own[..]].concat());
    status.check_code(0);
    assert!(status.out.contains("; synced before it is promised\n"), "{}", status.out);
    let stranger = folder.run(&[&["cluster", "status"], &known[..]].concat());
    assert_ne!(stranger.code, Some(0), "{}", stranger.out);
    assert!(stranger.err.contains("no connection to"), "{}", stranger.err);
}

#[test]
fn a_machine_without_a_part_of_the_log_gets_files_for_a_leaf_node() {
    let folder = Folder::new("cluster-leaves");
    let keys = certificates(&folder);
    let args = ["cluster", "config", "files", "--tls", &keys, "--host", "hub"];
    let leaves = ["--leaf", "far", "--leaf", "farther=far", "--leaf", "other", "--mirror", "far"];
    let made = folder.run(&[&args[..], &leaves].concat());
    made.check_code(0);
    let text = |name: &str| fs::read_to_string(folder.0.join("files").join(name)).unwrap();
    for host in ["hub", "far", "farther", "other"] {
        let config = folder.0.join("files").join(host).join("nats.conf");
        let looked = Command::new(nats_server()).arg("-t").arg("-c").arg(&config).output().unwrap();
        assert!(looked.status.success(), "{}", String::from_utf8_lossy(&looked.stderr));
        let (config, unit) = (text(&format!("{host}/nats.conf")), format!("{host}/jungle.service"));
        let users = r#"[ { user: "hub" }, { user: "far" }, { user: "farther" }, "#;
        assert!(config.contains(users) && config.contains("leafnodes {"), "{config}");
        assert!(text(&unit).contains("--cluster-domain jungle"), "{}", text(&unit));
    }
    assert!(text("far/nats.conf").contains(r#"urls: [ "tls://hub:7422" ]"#));
    assert!(text("farther/nats.conf").contains(r#"urls: [ "tls://far:7422" ]"#));
    assert!(text("farther/jungle.service").contains("--cluster tls://farther:4222 "));
    assert!(text("README.md").contains("And far, farther, other, with a leaf node"));
    // Who is connected through the one with the mirror follows it as well.
    for (host, keeps, follows) in [
        ("hub", true, false),
        ("far", true, true),
        ("farther", false, true),
        ("other", false, false),
    ] {
        let config = text(&format!("{host}/nats.conf"));
        assert_eq!(config.contains("jetstream: enabled"), keeps, "{config}");
        assert_eq!(config.contains(r#"domain: "far""#), host == "far", "{config}");
        for file in ["jungle.service", "compose.yaml"] {
            let text = text(&format!("{host}/{file}"));
            let said =
                text.contains("--cluster-mirror far") || text.contains("--cluster-mirror=far\n");
            assert_eq!(said, follows, "{text}");
            assert!(!text.contains("follow"), "{text}");
        }
    }
}

#[test]
fn files_are_written_for_leaf_nodes_in_a_shape() {
    let folder = Folder::new("cluster-shapes");
    let check = |dir: &str, args: &[&str], expected: [(&str, &str); 3]| {
        folder.run(&[&["cluster", "config", dir, "--host", "hub"], args].concat()).check_code(0);
        for (leaf, through) in expected {
            let config = folder.0.join(dir).join(leaf).join("nats.conf");
            let config = fs::read_to_string(config).unwrap();
            let urls = format!(r#"urls: [ "tls://{through}:7422" ]"#);
            assert!(config.contains(&urls), "{leaf}: {config}");
        }
    };
    let leaves = ["--leaf", "a", "--leaf", "b", "--leaf", "c", "--topology"];
    check("star", &[&leaves[..], &["star"]].concat(), [("a", "hub"), ("b", "hub"), ("c", "hub")]);
    check("line", &[&leaves[..], &["tree:1"]].concat(), [("a", "hub"), ("b", "a"), ("c", "b")]);
    check("ring", &[&leaves[..], &["ring"]].concat(), [("a", "hub"), ("c", "hub"), ("b", "c")]);
    let graph = folder.0.join("sites.dot").display().to_string();
    fs::write(&graph, "graph { hub -- a; a -- b; a -- c }").unwrap();
    check("file", &["--topology", &graph], [("a", "hub"), ("b", "a"), ("c", "a")]);
    for (args, why) in [
        (&["--leaf", "a", "--leaf", "b=a", "--topology", "star"][..], "what b is connected with"),
        (&["--leaf", "d", "--topology", &graph], "d is not in the graph"),
    ] {
        let refused = folder.run(&[&["cluster", "config", "no", "--host", "hub"], args].concat());
        refused.check_code(2);
        assert!(refused.err.contains(why), "{}", refused.err);
    }
    let refused = folder.run(&["cluster", "config", "no", "--host", "x", "--topology", &graph]);
    refused.check_code(2);
    assert!(refused.err.contains("the first of the graph is hub, not x"), "{}", refused.err);
    assert!(!folder.0.join("no").exists());
}

#[test]
fn files_for_real_machines_are_taken_by_the_engine_and_are_each_others() {
    let folder = Folder::new("cluster-config");
    let here = |name: &str| folder.0.join(name).display().to_string();
    let keys = certificates(&folder);
    let hosts = ["--host", "a.example", "--host", "b.example", "--host", "c.example"];
    let args = ["cluster", "config", "files", "--name", "boards", "--tls", &keys];
    let made = folder.run(&[&args[..], &hosts].concat());
    made.check_code(0);
    assert_eq!(made.out.lines().count(), 13, "{}", made.out);
    for file in made.out.lines() {
        let text = fs::read_to_string(folder.0.join(file)).unwrap();
        let placeholders = ["{host}", "{name}", "{tls}", "{count}", "{others}", "{routes}"];
        assert!(!placeholders.iter().any(|left| text.contains(left)), "{file}: {text}");
    }
    let config = here("files/b.example/nats.conf");
    let looked = Command::new(nats_server()).args(["-t", "-c", &config]).output().unwrap();
    assert!(looked.status.success(), "{}", String::from_utf8_lossy(&looked.stderr));
    let config = fs::read_to_string(config).unwrap();
    let routes = r#"routes: [ "tls://a.example:6222", "tls://c.example:6222" ]"#;
    assert!(config.contains(routes) && config.contains("sync_interval: always"), "{config}");
    assert!(!config.contains("leafnodes"), "{config}");
    // What the unit says is understood.
    let unit = fs::read_to_string(here("files/b.example/jungle.service")).unwrap();
    let line = unit.replace("\\\n", "");
    let line = line.lines().find_map(|line| line.strip_prefix("ExecStart=")).unwrap();
    let words: Vec<&str> = line.split_whitespace().skip(1).chain(["--help"]).collect();
    folder.run(&words).check_code(0);
    // Where a proxy has it, and not where it listens on its machine.
    let compose = fs::read_to_string(here("files/b.example/compose.yaml")).unwrap();
    assert!(compose.contains("--public-url=https://b.example\n"), "{compose}");
    assert!(line.contains(" --public-url https://b.example --host b.example "), "{line}");

    for (hosts, why) in [
        (&["--host", "a", "--host", "b"][..], "2 machines are not one, three or five"),
        (&["--host", "a", "--host", "a"], "a machine is named twice"),
        (&["--host", "a", "--leaf", "a"], "a machine is named twice"),
        (&["--host", "a", "--leaf", "c=b", "--leaf", "b"], "c is to reach the log through \"b\""),
        (&["--host", "a", "--mirror", "a"], "\"a\" is no leaf that could have a mirror"),
        (&["--host", "a", "--leaf", "jungle", "--mirror", "jungle"], "the domain of a mirror"),
        (&["--host", "a b"], "is no name of a machine"),
        (&["--host", "a", "--name", "a.b"], "is no name of a cluster"),
        (&["--host", "a", "--tls", "/a\"b"], "is no plain path"),
    ] {
        let refused = folder.run(&[&["cluster", "config", "other"], hosts].concat());
        refused.check_code(2);
        assert!(refused.err.contains(why), "{}", refused.err);
    }
    assert!(!folder.0.join("other").exists());
}
