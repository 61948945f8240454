//! Certificates of an authority: a real one, that looks at the real server.

use std::fs::{self, File};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use jungle_testkit::Pebble;
use serde_json::Value as Json;

use super::Folder;
use super::serving::{PATIENCE, Serving};

const DAY: Duration = Duration::from_hours(24);

/// What curl ends with where there is no handshake, and where it does not trust somebody.
const NO_HANDSHAKE: i32 = 35;
const NO_TRUST: i32 = 60;

/// A server, and the authority that it asks.
struct Asking {
    folder: Folder,
    port: u16,
    pebble: Pebble,
}

impl Asking {
    /// With an authority that is not there yet.
    fn new(name: &str, holds: Duration) -> Asking {
        let port = free_port();
        let pebble = Pebble::new([&file("cert.pem"), &file("key.pem")], holds, port);
        Asking { folder: Folder::new(name), port, pebble }
    }

    /// Starts the authority, and takes down what its certificates are trusted by.
    fn start_authority(&mut self) {
        self.pebble.start();
        let own = file("cert.pem");
        let args = ["--cacert", own.to_str().unwrap(), "--output", "root.pem"];
        let url = self.pebble.root();
        within("the authority tells its root", || self.curl(&args, &url).0 == 0);
    }

    fn serve(&self, names: &[&str]) -> Serving {
        let mut command = self.folder.command(&["serve", "--json", "--data", "data", "--listen"]);
        command.arg(format!("127.0.0.1:{}", self.port));
        for name in names {
            command.args(["--tls-acme", name]);
        }
        command.args(["--acme-contact", "ana@tree.example"]);
        command.args(["--acme-directory", &self.pebble.directory()]);
        command.arg("--acme-root").arg(file("cert.pem"));
        Serving::noting(command, File::create(self.folder.0.join("notes")).unwrap().into())
    }

    fn notes(&self) -> String {
        fs::read_to_string(self.folder.0.join("notes")).unwrap()
    }

    /// What curl ends with, and the answer.
    fn curl(&self, args: &[&str], url: &str) -> (i32, String) {
        let mut curl = Command::new("curl");
        curl.current_dir(&self.folder.0)
            .args(["-sS", "--fail", "--max-time", "60"])
            .args(args)
            .arg(url);
        let ended = curl.output().unwrap();
        (ended.status.code().unwrap(), String::from_utf8(ended.stdout).unwrap())
    }

    /// The same, of the server by a name.
    fn ask(&self, name: &str, trusting: &[&str], path: &str) -> (i32, String) {
        let port = self.port;
        let resolved = format!("{name}:{port}:127.0.0.1");
        let args = [&["--resolve", &resolved], trusting].concat();
        self.curl(&args, &format!("https://{name}:{port}{path}"))
    }

    fn is_trusted(&self, name: &str) -> bool {
        self.ask(name, &["--cacert", "root.pem"], "/health").0 == 0
    }

    /// What the server tells of its certificate, whether or not that is trusted.
    fn certificate(&self) -> Json {
        let (code, answer) = self.ask("tree.example", &["--insecure"], "/health");
        assert_eq!(code, 0, "{}", self.notes());
        serde_json::from_str::<Json>(&answer).unwrap()["certificate"].take()
    }

    /// The files of the account and of the certificate.
    fn kept(&self) -> [PathBuf; 2] {
        let port = self.pebble.directory();
        let folder = port.trim_start_matches("https://").replace(':', "%3A").replace('/', "%2F");
        let folder = self.folder.0.join("data/acme").join(folder);
        ["account.json", "certificate.pem"].map(|file| folder.join(file))
    }
}

/// The certificate, with its key, by which the authority is known: `localhost`'s, for tests.
fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../jungle-server/tests/tls").join(name)
}

/// A port that nobody uses now: the authority must know it before the server listens.
fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

#[track_caller]
fn within(what: &str, is_so: impl Fn() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < deadline, "not {what}");
    }
}

#[test]
fn certificate_of_an_authority_is_got_and_kept_for_the_next_start() {
    use std::os::unix::fs::PermissionsExt;
    let mut asking = Asking::new("acme-kept", 90 * DAY);
    asking.start_authority();
    let names = ["tree.example", "Other.example"];
    let serving = asking.serve(&names);
    assert_eq!(serving.told["url"], format!("https://tree.example:{}", asking.port));
    within("trusted", || asking.is_trusted("tree.example"));
    assert!(asking.is_trusted("other.example"));
    assert_eq!(asking.ask("third.example", &["--cacert", "root.pem"], "/health").0, NO_TRUST);
    let told = asking.certificate();
    assert_eq!(told["names"], serde_json::json!(["tree.example", "other.example"]));
    assert!(told["until"].is_string() && told["error"].is_null(), "{told}");
    let (_, metrics) = asking.ask("tree.example", &["--insecure"], "/metrics");
    assert!(metrics.contains("\njungle_certificate_failed 0\n"), "{metrics}");
    let expires = metrics.split_once("\njungle_certificate_expires_timestamp_seconds ").unwrap().1;
    assert!(expires.lines().next().unwrap().parse::<u64>().unwrap() > 1_700_000_000, "{expires}");

    let kept = asking.kept();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(kept.each_ref().map(|file| mode(file)), [0o600; 2]);
    for folder in kept[0].ancestors().skip(1).take(2) {
        assert_eq!(mode(folder), 0o700, "{}", folder.display());
    }
    let before = kept.each_ref().map(|file| fs::read(file).unwrap());
    serving.end();

    // Nobody is asked for anything, so nobody need be there.
    asking.pebble.stop();
    let serving = asking.serve(&names);
    assert!(asking.is_trusted("tree.example"), "{}", asking.notes());
    assert_eq!(kept.each_ref().map(|file| fs::read(file).unwrap()), before);
    assert!(asking.certificate()["error"].is_null());
    serving.end();
    assert!(!asking.notes().contains("certificate"), "{}", asking.notes());
}

#[test]
fn certificate_is_renewed_while_it_is_served_when_the_authority_is_there_again() {
    let mut asking = Asking::new("acme-renewed", Duration::from_secs(12));
    asking.start_authority();
    let serving = asking.serve(&["tree.example"]);
    within("trusted", || asking.is_trusted("tree.example"));
    let first = asking.certificate()["until"].clone();

    // What there is stays, and it is told that there is no other.
    asking.pebble.stop();
    within("told", || asking.certificate()["error"].is_string());
    let told = asking.certificate();
    assert!(told["error"].as_str().unwrap().contains("cannot reach localhost"), "{told}");
    let (_, metrics) = asking.ask("tree.example", &["--insecure"], "/metrics");
    assert!(metrics.contains("\njungle_certificate_failed 1\n"), "{metrics}");

    // It has forgotten the account, too.
    asking.start_authority();
    within("renewed", || asking.is_trusted("tree.example"));
    let told = asking.certificate();
    assert!(told["until"].as_str() > first.as_str(), "{told}, and {first} before");
    assert!(!asking.notes().contains("PRIVATE KEY"), "{}", asking.notes());
    serving.end();
}

#[test]
fn certificate_that_cannot_be_kept_is_used_and_kept_as_soon_as_it_can_be() {
    let mut asking = Asking::new("acme-unkept", 90 * DAY);
    let serving = asking.serve(&["tree.example"]);
    within("noted", || asking.notes().contains("there is no new certificate"));
    let [_, file] = asking.kept();
    fs::create_dir(&file).unwrap();
    asking.start_authority();
    within("trusted", || asking.is_trusted("tree.example"));
    within("told", || {
        let told = asking.certificate();
        told["error"].as_str().is_some_and(|error| error.contains("cannot be kept"))
    });
    let until = asking.certificate()["until"].take();

    // It need not be ordered again.
    asking.pebble.stop();
    fs::remove_dir(&file).unwrap();
    within("kept", || file.is_file());
    within("told", || asking.certificate()["error"].is_null());
    assert_eq!(asking.certificate()["until"], until);
    serving.end();
    let serving = asking.serve(&["tree.example"]);
    assert!(asking.is_trusted("tree.example"), "{}", asking.notes());
    assert_eq!(asking.certificate()["until"], until);
    serving.end();
}

#[test]
fn added_name_is_asked_for_while_the_certificate_that_is_there_stays() {
    let mut asking = Asking::new("acme-added", 90 * DAY);
    asking.start_authority();
    let serving = asking.serve(&["tree.example"]);
    within("trusted", || asking.is_trusted("tree.example"));
    let [account, file] = asking.kept();
    // It is used before it is kept.
    within("kept", || file.is_file());
    serving.end();
    asking.pebble.stop();

    // Whoever damages the account loses nothing but that.
    let mut text: Json = serde_json::from_slice(&fs::read(&account).unwrap()).unwrap();
    text["credentials"]["key_pkcs8"] = "AAAA".into();
    fs::write(&account, text.to_string()).unwrap();
    let before = fs::read(&file).unwrap();

    let serving = asking.serve(&["tree.example", "other.example"]);
    assert!(asking.is_trusted("tree.example"), "{}", asking.notes());
    assert_eq!(asking.ask("other.example", &["--cacert", "root.pem"], "/health").0, NO_TRUST);
    within("told", || asking.certificate()["error"].is_string());
    assert_eq!(fs::read(&file).unwrap(), before);
    asking.start_authority();
    within("trusted", || asking.is_trusted("other.example"));
    assert!(asking.is_trusted("tree.example"));
    assert!(asking.notes().contains("invalid key bytes"), "{}", asking.notes());
    serving.end();
}

#[test]
fn nobody_is_answered_without_a_certificate_and_it_is_asked_for_until_it_is_there() {
    let mut asking = Asking::new("acme-later", 90 * DAY);
    let serving = asking.serve(&["tree.example"]);
    within("noted", || asking.notes().contains("there is no new certificate"));
    assert!(asking.notes().contains("cannot reach localhost"), "{}", asking.notes());
    assert_eq!(asking.ask("tree.example", &["--insecure"], "/health").0, NO_HANDSHAKE);
    asking.start_authority();
    within("trusted", || asking.is_trusted("tree.example"));
    serving.end();
}

#[test]
fn it_is_noted_why_an_authority_gives_none() {
    let mut asking = Asking::new("acme-refused", 90 * DAY);
    asking.start_authority();
    // It looks where nobody is.
    asking.port = free_port();
    let serving = asking.serve(&["tree.example"]);
    within("noted", || asking.notes().contains("did not find tree.example here"));
    assert!(asking.notes().contains("again_in=120"), "{}", asking.notes());
    serving.end();
}

#[test]
fn what_no_authority_could_give_is_an_error_at_once() {
    let folder = Folder::new("acme-wrong");
    folder.write("none.pem", "");
    let serve = |args: &[&str]| {
        let usual = ["serve", "--data", "data", "--listen", "127.0.0.1:0"];
        folder.run(&[&usual, args].concat())
    };
    let one = ["--tls-acme", "tree.example"];
    for (args, expected) in [
        (&["--tls-acme", "192.0.2.1"] as &[_], "\"192.0.2.1\" is no name"),
        (&["--tls-acme", "*.tree.example"], "\"*.tree.example\" is no name"),
        (&["--tls-acme", "tree.example."], "\"tree.example.\" is no name"),
        (&["--acme-directory", "http://localhost/dir"], "is not like https://"),
        (&["--acme-root", "missing.pem"], "cannot read missing.pem"),
        (&["--acme-root", "none.pem"], "none.pem has no certificate"),
        (&["--listen", "0.0.0.0:0"], "nobody is asked who they are"),
    ] {
        let named = if args[0] == one[0] { args.to_vec() } else { [&one, args].concat() };
        let named = match named.iter().position(|arg| *arg == "--listen") {
            Some(_) => folder.run(&[&["serve", "--data", "data"], &*named].concat()),
            None => serve(&named),
        };
        named.check_code(1);
        assert!(named.err.contains(expected), "{}", named.err);
    }
    serve(&["--tls-self", "--tls-acme", "tree.example"]).check_code(2);
    serve(&["--acme-contact", "ana@tree.example"]).check_code(2);
    folder.run(&["serve", "--memory", "--tls-acme", "tree.example"]).check_code(2);
}
