use std::collections::BTreeMap;
use std::fs;
use std::process::Command;

use jungle_testkit::NatsServers;

use super::serving::{Serving, json};
use super::{Ended, Folder};

#[test]
fn end_in_order_loses_nothing() {
    let folder = Folder::new("serve-end");
    let serving = Serving::start(&folder, &["--data", "data", "--durability", "memory"]);
    assert_eq!(serving.told["data"], "data");
    assert_eq!(serving.told["durability"], "memory");
    assert!(serving.send("POST /api/v1/trees", r#"{"name":"t"}"#).starts_with("HTTP/1.1 201 "));
    assert!((0..10).all(|_| serving.append()));
    serving.end();
    assert_eq!(Serving::start(&folder, &["--data", "data"]).count(), 10);
    folder.run(&["verify", "data"]).check_code(0);
}

#[test]
fn what_was_acknowledged_is_there_after_a_kill() {
    ended_while_others_post("serve-kill", "sync", "-KILL");
}

#[test]
fn what_was_acknowledged_is_there_after_an_end_in_order() {
    ended_while_others_post("serve-end-memory", "memory", "-TERM");
    ended_while_others_post("serve-end-buffered", "buffered", "-TERM");
}

fn ended_while_others_post(name: &str, durability: &str, signal: &str) {
    let folder = Folder::new(name);
    let mut serving = Serving::start(&folder, &["--data", "data", "--durability", durability]);
    serving.send("POST /api/v1/trees", r#"{"name":"t"}"#);
    let acknowledged = std::thread::scope(|scope| {
        let post = || (0..).take_while(|_| serving.append()).count() as u64;
        let posting: Vec<_> = (0..4).map(|_| scope.spawn(post)).collect();
        while serving.count() < 40 {}
        let id = serving.child.id().to_string();
        assert!(Command::new("kill").args([signal, &id]).status().unwrap().success());
        posting.into_iter().map(|posting| posting.join().unwrap()).sum::<u64>()
    });
    let ended = serving.child.wait().unwrap();
    assert_eq!(ended.success(), signal == "-TERM", "{ended}");
    let count = Serving::start(&folder, &["--data", "data"]).count();
    // One of each that posts may have been done without the answer getting through.
    assert!((acknowledged..=acknowledged + 4).contains(&count), "{count} of {acknowledged}");
}

/// Also what was committed and not answered.
#[test]
fn what_is_sent_again_after_a_kill_is_not_done_again() {
    let folder = Folder::new("serve-again");
    let mut serving = Serving::start(&folder, &["--data", "data"]);
    serving.send("POST /api/v1/trees", r#"{"name":"t"}"#);
    let key = |client: u64, number: u64| format!("{client}-{number}");
    let post = |client: u64| -> Vec<u64> {
        (0..).map_while(|number| serving.append_once(&key(client, number))).collect()
    };
    let answered = std::thread::scope(|scope| {
        let post = &post;
        let posting: Vec<_> = (0..4).map(|client| scope.spawn(move || post(client))).collect();
        while serving.count() < 40 {}
        let id = serving.child.id().to_string();
        assert!(Command::new("kill").args(["-KILL", &id]).status().unwrap().success());
        posting.into_iter().map(|posting| posting.join().unwrap()).collect::<Vec<_>>()
    });
    serving.child.wait().unwrap();
    let serving = Serving::start(&folder, &["--data", "data"]);
    for (client, answered) in (0..).zip(&answered) {
        let again = (0..).map(|number| serving.append_once(&key(client, number)).unwrap());
        // With the one that was not answered.
        let again: Vec<u64> = again.take(answered.len() + 1).collect();
        assert_eq!(again[..answered.len()], answered[..]);
    }
    assert_eq!(serving.count(), answered.iter().map(|one| one.len() as u64 + 1).sum::<u64>());
    drop(serving);
    folder.run(&["verify", "data"]).check_code(0);
}

#[test]
fn servers_of_a_cluster_have_the_same_trees() {
    let (folder, mut engine) = (Folder::new("serve-cluster"), NatsServers::start(1));
    let addresses = engine.addresses();
    let start = |data| {
        let cluster = ["--data", data, "--cluster", &addresses, "--replicas", "1"];
        Serving::start(&folder, &cluster)
    };
    let (mut a, b) = (start("a"), start("b"));
    assert!(a.send("POST /api/v1/trees", r#"{"name":"t"}"#).starts_with("HTTP/1.1 201 "));
    assert!((0..4).all(|_| a.append()));
    let once = a.append_once("once");
    assert!(once.is_some());
    assert_eq!(b.count_all(), 5);
    // Who says which revision he has seen is answered with no older one, wherever he asks.
    for count in 6..26_u64 {
        let seen = a.append_once(&format!("seen-{count}")).unwrap();
        let seen = format!("Jungle-Revision: {seen}\r\n");
        let there = json(&b.send_with("GET /api/v1/trees/t/node", &seen, ""));
        assert_eq!(there["child_count"], count, "{there}");
    }
    a.kill();
    // Whoever it is sent to.
    assert_eq!(b.append_once("once"), once);
    assert!((0..3).all(|_| b.append()));
    let a = start("a");
    assert_eq!(a.append_once("once"), once);
    assert_eq!(a.count_all(), 28);
    assert!(a.append());
    assert_eq!(b.count_all(), 29);
    // What is here can be read without the engine.
    engine.kill(0);
    assert_eq!((a.count(), b.count()), (29, 29));
    engine.restart(0);
    assert!(b.append());
    assert_eq!(a.count_all(), 30);
}

#[test]
fn server_says_which_other_cluster_has_a_tree() {
    let (folder, engine) = (Folder::new("serve-elsewhere"), NatsServers::start(1));
    let addresses = engine.addresses();
    let start = |data: &str, cluster: &str, more: &[&str]| {
        let join = ["--data", data, "--cluster", &addresses, "--replicas", "1"];
        let name = ["--cluster-name", cluster, "--server-name", data];
        Serving::start(&folder, &[&join[..], &name, more].concat())
    };
    let (a, twin) = (start("a", "books", &[]), start("twin", "books", &[]));
    let b = start("b", "shop", &["--public-url", "https://shop.example/"]);
    assert!(b.send("POST /api/v1/trees", r#"{"name":"t"}"#).starts_with("HTTP/1.1 201 "));
    let posted = "POST /boards/t";
    for asked in ["GET /api/v1/trees/t/node?path=/a", "DELETE /api/v1/trees/t", posted] {
        let answer = a.send(asked, "");
        assert!(answer.starts_with("HTTP/1.1 421 "), "{asked}: {answer}");
    }
    let told = json(&a.send("GET /api/v1/trees/t/node?path=/a", ""));
    assert_eq!(told["type"], "/docs#problem-elsewhere");
    let at = "https://shop.example";
    assert_eq!(told["hint"], format!("ask for {at}/api/v1/trees/t/node?path=/a"));
    let server = serde_json::json!([
        {"cluster": "shop", "server": "b", "address": at, "trees": ["t"], "more": false}
    ]);
    assert_eq!(told["servers"], server);
    let page = a.send("GET /boards/t", "");
    assert!(page.contains(&format!(r#"<a href="{at}/boards/t">"#)), "{page}");
    assert_eq!(a.get("/api/v1/cluster")["elsewhere"], server);
    // What is nowhere is not there; and a cluster's own servers are not others.
    assert!(a.send("GET /api/v1/trees/u", "").starts_with("HTTP/1.1 404 "));
    assert!(a.send("POST /api/v1/trees", r#"{"name":"t"}"#).starts_with("HTTP/1.1 201 "));
    assert!(a.append());
    assert_eq!(twin.count_all(), 1);
    assert_eq!(b.count_all(), 0);
    let others = twin.get("/api/v1/cluster");
    assert_eq!(others["elsewhere"], server);
    let usage = folder.run(&["serve", "--cluster", &addresses, "--public-url", "shop.example"]);
    assert_eq!(usage.code, Some(2), "{}", usage.err);
}

#[test]
fn folder_is_looked_after_while_it_is_served() {
    let folder = Folder::new("serve-upkeep");
    for within in ["data", "data/log", "./data/b"] {
        let refused = folder.run(&["serve", "--data", "data", "--backups", within]);
        assert_eq!(refused.code, Some(2), "{}", refused.err);
        assert!(!folder.0.join("data").exists(), "nothing was made");
    }
    let serving = Serving::start(&folder, &["--data", "data", "--backups", "backups"]);
    assert!(serving.send("POST /api/v1/trees", r#"{"name":"t"}"#).starts_with("HTTP/1.1 201 "));
    assert!((0..10).all(|_| serving.append()));
    for (work, asked) in
        [("backup", r#"{"name":"nightly"}"#), ("verify", ""), ("gc", ""), ("du", "")]
    {
        let begun = serving.send(&format!("POST /api/v1/folder/{work}"), asked);
        assert!(begun.starts_with("HTTP/1.1 202 "), "{begun}");
        let ended = serving.get(&format!("/api/v1/folder/{work}?wait=60"));
        assert_eq!(ended["state"], "done", "{ended}");
    }
    let told = folder.run(&["log", "backups/nightly", "t", "--json"]);
    assert_eq!(told.out.lines().count(), 11, "{}", told.err);
}

#[test]
fn served_folder_is_backed_up_by_its_url() {
    let folder = Folder::new("serve-backup");
    folder.run(&["trees", "data", "--create", "t"]).check_code(0);
    for (name, role) in [("reads", "read"), ("admin", "admin")] {
        let added = folder.run(&["access", "add-token", "data", name]);
        added.check_code(0);
        folder.write(name, &added.out);
        folder.run(&["access", "grant", "data", name, "*", role]).check_code(0);
    }
    let serving = Serving::start(&folder, &["--data", "data"]);
    let url = serving.url().to_owned();
    let url = url.as_str();
    let back_up = |more: &[&str]| {
        let args = [["backup", url, "copy", "--json"].as_slice(), more].concat();
        folder.run(&args)
    };
    let stranger = back_up(&[]);
    stranger.check_code(1);
    assert!(stranger.err.contains("JUNGLE_TOKEN"), "{}", stranger.err);
    let reads = back_up(&["--token-file", "reads"]);
    reads.check_code(1);
    assert!(reads.err.contains("administer all trees"), "{}", reads.err);
    assert!(!folder.0.join("copy").exists(), "a folder was made");
    for (before, newest) in [(0, 2), (2, 3)] {
        let value = newest.to_string();
        folder.run(&["put", url, "t", "/n", &value, "--token-file", "admin"]).check_code(0);
        let told = back_up(&["--token-file", "admin"]);
        told.check_code(0);
        let report = format!(r#"{{"revision":{newest},"before":{before},"#);
        assert!(told.out.starts_with(&report), "{}", told.out);
        folder.run(&["verify", "copy", "--deep"]).check_code(0);
    }
    assert_eq!(folder.run(&["log", "copy", "t", "--json"]).out.lines().count(), 3);
    for to in ["-", url] {
        folder.run(&["backup", url, to]).check_code(2);
    }
    serving.end();
    back_up(&["--token-file", "admin"]).check_code(7);
}

/// What stands for the browser writes the address it was given into a pipe.
#[test]
fn is_shown_in_the_browser_when_asked() {
    let folder = Folder::new("serve-open");
    let browser = folder.0.join("xdg-open");
    fs::write(&browser, "#!/bin/sh\necho \"$1\" >seen\n").unwrap();
    for mut tool in [Command::new("chmod"), Command::new("mkfifo")] {
        let is_pipe = tool.get_program() == "mkfifo";
        if is_pipe {
            tool.arg("seen")
        } else {
            tool.arg("+x").arg(&browser)
        };
        assert!(tool.current_dir(&folder.0).status().unwrap().success());
    }
    let usual = std::env::var("PATH").unwrap();
    let mut command = folder.command(&["serve", "--json", "--memory", "--open"]);
    command.args(["--listen", "127.0.0.1:0"]);
    command.env("PATH", format!("{}:{usual}", folder.0.display()));
    let serving = Serving::start_by(command);
    let seen = fs::read_to_string(folder.0.join("seen")).unwrap();
    assert_eq!(seen.trim(), serving.told["url"]);
}

#[cfg(unix)]
#[test]
fn folder_is_made_for_its_owner_only() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new("serve-private");
    drop(Serving::start(&folder, &["--data", "above/data"]));
    for made in ["above", "above/data", "above/data/log"] {
        let mode = fs::metadata(folder.0.join(made)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700, "{made}");
    }
}

/// Nothing is said but that it is to serve. It has a usual port, and takes another where that is
/// taken.
#[cfg(target_os = "linux")]
#[test]
fn fresh_server_listens_to_this_machine_only() {
    let folder = Folder::new("serve-fresh");
    let mut command = folder.command(&["serve", "--json"]);
    command.env("XDG_DATA_HOME", &folder.0);
    let serving = Serving::start_by(command);
    let data = folder.0.join("jungle");
    assert_eq!(serving.told["data"], data.to_str().unwrap());
    let port = serving.address().strip_prefix("127.0.0.1:").unwrap();
    let port: u16 = port.parse().unwrap();
    assert_eq!(listening(serving.child.id()), [format!("0100007F:{port:04X}")]);
}

/// Where a process listens, in the words of the system.
#[cfg(target_os = "linux")]
fn listening(process: u32) -> Vec<String> {
    let files = fs::read_dir(format!("/proc/{process}/fd")).unwrap();
    // One may be closed meanwhile.
    let links = files.filter_map(|file| fs::read_link(file.unwrap().path()).ok());
    let links: Vec<String> = links.map(|link| link.to_string_lossy().into_owned()).collect();
    let mut found = Vec::new();
    for table in ["tcp", "tcp6"] {
        // There is none of what the system does not have.
        let table = format!("/proc/{process}/net/{table}");
        for socket in fs::read_to_string(table).unwrap_or_default().lines().skip(1) {
            let fields: Vec<&str> = socket.split_whitespace().collect();
            let (local, state, link) = (fields[1], fields[3], format!("socket:[{}]", fields[9]));
            if state == "0A" && links.contains(&link) {
                found.push(local.to_owned());
            }
        }
    }
    found
}

#[test]
fn address_that_others_reach_is_refused_with_a_hint() {
    let folder = Folder::new("serve-expose");
    let ended = folder.run(&["serve", "--memory", "--listen", "0.0.0.0:0"]);
    assert_eq!((ended.code, &*ended.out), (Some(1), ""));
    assert!(ended.err.contains("can be reached from other machines"), "{}", ended.err);
    assert!(ended.err.contains("Hint: say who may do what"), "{}", ended.err);
    for usage in [&["--data", "x"], &["--tls-cert", "x"], &["--tls-key", "x"]] {
        let usage = folder.run(&[["serve", "--memory"].as_slice(), usage].concat());
        assert_eq!(usage.code, Some(2));
    }
}

#[test]
fn certificate_of_its_own_is_trusted_by_whoever_was_given_it() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new("serve-tls-self");
    let start = |host: &str| {
        let args = ["--data", "data", "--tls-self", "--host", host];
        let serving = Serving::start(&folder, &args);
        let url = serving.url().to_owned();
        let certificate = folder.0.join(serving.told["certificate"].as_str().unwrap());
        (serving, url, certificate)
    };
    let ask = |url: &str, args: &[&str]| {
        let mut curl = Command::new("curl");
        curl.args(["-sS", "--max-time", "60"]).args(args).arg(format!("{url}/health"));
        let ended = curl.output().unwrap();
        (ended.status.code().unwrap(), String::from_utf8(ended.stdout).unwrap())
    };
    let (serving, url, file) = start("tree.example");
    let port = url.strip_prefix("https://127.0.0.1:").unwrap();
    let certificate = file.to_str().unwrap();
    let (code, answer) = ask(&url, &["--cacert", certificate]);
    assert!(code == 0 && answer.contains("\"ok\""), "{code} {answer}");
    // What curl ends with where it does not trust somebody.
    assert_eq!(ask(&url, &[]).0, 60);
    let resolved = |name: &str| format!("{name}:{port}:127.0.0.1");
    let named = |name: &str, certificate: &str| {
        let url = format!("https://{name}:{port}");
        ask(&url, &["--cacert", certificate, "--resolve", &resolved(name)]).0
    };
    assert_eq!((named("tree.example", certificate), named("other.example", certificate)), (0, 60));
    let key = fs::metadata(file.with_extension("key")).unwrap();
    assert_eq!(key.permissions().mode() & 0o777, 0o600);

    let made = fs::read(&file).unwrap();
    drop(serving);
    drop(start("tree.example"));
    assert_eq!(fs::read(&file).unwrap(), made, "it is kept");
    drop(start("other.example"));
    assert_ne!(fs::read(&file).unwrap(), made, "it is for somebody else");
    folder.run(&["serve", "--memory", "--tls-self"]).check_code(2);
}

#[test]
fn boards_at_level_local_need_an_outbox() {
    let folder = Folder::new("serve-boards-at");
    folder.run(&["serve", "--data", "data", "--boards-at", "local"]).check_code(2);
}

#[test]
fn settings_are_told_with_where_they_come_from() {
    let folder = Folder::new("serve-config");
    let settings = |args: &[&str], variables: &[(&str, &str)]| {
        let mut command = folder.command(&[&["config", "--json"], args].concat());
        command.envs(variables.iter().copied());
        let ended = command.output().unwrap();
        assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
        let lines = String::from_utf8(ended.stdout).unwrap();
        let line = |line: &str| {
            let setting: serde_json::Value = serde_json::from_str(line).unwrap();
            let text = |name: &str| setting[name].as_str().map(str::to_owned);
            (text("name").unwrap(), (text("value"), text("origin").unwrap()))
        };
        lines.lines().map(line).collect::<BTreeMap<_, _>>()
    };
    let of = |value: &str, origin: &str| (Some(value.to_owned()), origin.to_owned());
    let usual = settings(&[], &[("XDG_DATA_HOME", "/of/programs")]);
    assert_eq!(usual["data"], of("/of/programs/jungle", "default"));
    assert_eq!(usual["durability"], of("sync", "default"));
    assert_eq!(usual["limit connections"], of("4096", "default"));
    assert_eq!(usual["backups"], (None, "default".to_owned()));
    assert_eq!(usual["spill"], of("auto", "default"));
    assert_eq!(settings(&["--spill"], &[])["spill"], of("always", "option"));
    let spill = [("JUNGLE_SPILL", "never")];
    assert_eq!(settings(&[], &spill)["spill"], of("never", "environment"));
    assert_eq!(settings(&["--spill=auto"], &spill)["spill"], of("auto", "option"));

    let variables = [
        ("JUNGLE_DATA", "there"),
        ("JUNGLE_READ_ONLY", "1"),
        ("JUNGLE_EXPOSE", ""),
        ("JUNGLE_PROXY", ""),
        ("JUNGLE_LISTEN", ""),
        ("JUNGLE_HOST", "a.example, b.example"),
        ("JUNGLE_DURABILITY", "memory"),
        ("JUNGLE_LIMIT", "watchers=3"),
    ];
    let args = [
        "--durability",
        "buffered",
        "--cluster",
        "nats://me:secret@host:4222,me:secret@other:4222",
        "--backups",
        "home/me@work",
    ];
    let said = settings(&args, &variables);
    assert_eq!(said["data"], of("there", "environment"));
    assert_eq!(said["read-only"], of("true", "environment"));
    assert_eq!(said["expose"], of("false", "default"));
    assert_eq!(said["proxy"], (None, "default".to_owned()));
    assert_eq!(said["listen"], usual["listen"]);
    assert_eq!(said["backups"], of("home/me@work", "option"));
    assert_eq!(said["host"], of("a.example, b.example", "environment"));
    assert_eq!(said["durability"], of("buffered", "option"));
    assert_eq!(said["limit watchers"], of("3", "environment"));
    assert_eq!(said["limit commits"], of("32", "default"));
    assert_eq!(said["cluster"], of("nats://…@host:4222,…@other:4222", "option"));
    // The file that it would find.
    folder.run_with_input(&["access", "add-token", "there", "ci"], "").check_code(0);
    assert_eq!(settings(&[], &variables)["access"], of("there/access.toml", "default"));

    let mut command = folder.command(&["config"]);
    let wrong = Ended::new(command.env("JUNGLE_EXPOSE", "never").output().unwrap());
    wrong.check_code(2);
    let wrong = folder.run(&["config", "--limit", "connectons=3"]);
    wrong.check_code(2);
    assert!(wrong.err.contains("did you mean connections?"), "{}", wrong.err);
}

#[test]
fn limits_are_what_was_said() {
    let folder = Folder::new("serve-limits");
    let mut command = folder.command(&["serve", "--json", "--memory", "--listen", "127.0.0.1:0"]);
    command.args(["--limit", "body-bytes=100", "--limit", "watchers=0"]);
    let serving = Serving::start_by(command);
    let made = |name: &str| serving.send("POST /api/v1/trees", &format!(r#"{{"name":"{name}"}}"#));
    assert!(made("t").starts_with("HTTP/1.1 201 "));
    let refused = made(&"t".repeat(100));
    assert!(refused.starts_with("HTTP/1.1 413 ") && refused.contains("100"), "{refused}");
    let refused = serving.send("GET /api/v1/trees/t/watch", "");
    assert!(refused.starts_with("HTTP/1.1 429 "), "{refused}");
}

/// What systemd is told.
#[cfg(target_os = "linux")]
#[test]
fn service_manager_is_told_that_it_is_ready_and_that_it_stops() {
    use std::net::TcpStream;
    use std::os::unix::net::UnixDatagram;

    let folder = Folder::new("serve-notify");
    // The name of a socket has room for few letters.
    let place = std::env::temp_dir().join(format!("jungle-notify-{}", std::process::id()));
    let _ = fs::remove_file(&place);
    let manager = UnixDatagram::bind(&place).unwrap();
    manager.set_read_timeout(Some(super::serving::PATIENCE)).unwrap();
    let told = || {
        let mut bytes = [0; 256];
        let len = manager.recv(&mut bytes).unwrap();
        String::from_utf8(bytes[..len].to_vec()).unwrap().trim_end().to_owned()
    };
    let start = || {
        let mut command = folder.command(&["serve", "--json", "--listen", "127.0.0.1:0"]);
        command.args(["--data", "data"]).env("NOTIFY_SOCKET", &place);
        command
    };
    let mut serving = Serving::start_by(start());
    assert_eq!(told(), "READY=1");
    TcpStream::connect(serving.address()).unwrap();

    // The folder is in use, so this one is never ready.
    Ended::new(start().output().unwrap()).check_code(1);
    manager.set_nonblocking(true).unwrap();
    assert!(manager.recv(&mut [0; 256]).is_err());
    manager.set_nonblocking(false).unwrap();

    let id = serving.child.id().to_string();
    assert!(Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
    assert_eq!(told(), "STOPPING=1");
    assert_eq!(serving.child.wait().unwrap().code(), Some(0));
    fs::remove_file(&place).unwrap();
}

#[cfg(target_os = "linux")]
#[test]
fn service_manager_that_is_gone_is_noted() {
    let folder = Folder::new("serve-notify-nobody");
    let mut command = folder.command(&["serve", "--json", "--listen", "127.0.0.1:0", "--memory"]);
    command.env("NOTIFY_SOCKET", folder.0.join("nobody"));
    let notes = folder.0.join("notes");
    Serving::noting(command, fs::File::create(&notes).unwrap().into()).end();
    let notes = fs::read_to_string(notes).unwrap();
    assert!(notes.contains("the service manager could not be told"), "{notes}");
}
