//! Which programs were measured.

use std::collections::BTreeMap;
use std::collections::hash_map::DefaultHasher;
use std::fs;
use std::hash::Hasher;
use std::process::Command;

use jungle_testkit::NATS_SERVER;

use crate::systems::{System, root};

/// The versions of ours, of what built it, and of the systems that are there, by their names.
pub fn of(systems: &[System]) -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    let mut tell = |name: &str, version: Option<String>| {
        let version = version.unwrap_or_else(|| "unknown".to_owned());
        all.insert(name.to_owned(), version);
    };
    tell("jungle", Some(env!("CARGO_PKG_VERSION").to_owned()));
    tell("revision", revision());
    tell("program", program());
    tell("rustc", said("rustc", &["--version"]));
    for (name, program) in [("h2load", "h2load".to_owned()), ("nats-server", engine())] {
        if let Some(version) = said(&program, &["--version"]) {
            tell(name, Some(version));
        }
    }
    for system in systems.iter().filter(|system| !matches!(system, System::Jungle)) {
        tell(system.name(), version(*system));
    }
    all
}

/// Of these files no program is made: what was measured stays what it is when they change.
const TOLD: [&str; 5] = ["--", ".", ":!docs", ":!*.md", ":!xtask"];

/// The checkout's last that changed a program, and whether something in one was changed since.
pub fn revision() -> Option<String> {
    let of_programs = |words: &[&str]| said("git", &[words, &TOLD].concat());
    let revision = of_programs(&["log", "-1", "--format=%h", "--abbrev=12"])?;
    let is_changed = of_programs(&["status", "--porcelain", "--untracked-files=no"]).is_some();
    Some(if is_changed { revision + ", changed" } else { revision })
}

/// A number for what is in this program and in the server beside it: it is another when either was
/// built from something else.
fn program() -> Option<String> {
    let program = std::env::current_exe().ok()?;
    let mut hasher = DefaultHasher::new();
    hasher.write(&fs::read(&program).ok()?);
    // Without it, the experiments of the server tell what is missing.
    hasher.write(&fs::read(program.with_file_name("jungle")).unwrap_or_default());
    Some(format!("{:016x}", hasher.finish()))
}

/// The engine's server, where the experiments find it.
pub fn engine() -> String {
    if let Ok(program) = std::env::var("NATS_SERVER") {
        return program;
    }
    let here = std::env::current_exe().unwrap_or_default();
    let mut files = here.ancestors().map(|folder| folder.join(NATS_SERVER));
    let found = files.find(|file| file.is_file());
    found.map_or_else(|| "nats-server".to_owned(), |file| file.display().to_string())
}

fn version(system: System) -> Option<String> {
    let of_peer = |peer: &str, package: &str| {
        let lock = root().join("bench/peers").join(peer).join("Cargo.lock");
        locked(&fs::read_to_string(lock).ok()?, package)
    };
    match system {
        System::Jungle | System::Machine => None,
        System::Haskell | System::HaskellIntmap => said("ghc", &["--version"]),
        System::Warp => {
            let warp = said("ghc-pkg", &["field", "warp", "version", "--simple-output"])?;
            Some(format!("warp {warp}, {}", said("ghc", &["--version"])?))
        }
        System::Cassandra => {
            let version = of_maven("cassandra", "cassandra-all")?;
            Some(format!("cassandra {version}, {}", of_peer("cassandra", "scylla")?))
        }
        System::Pocketbase => of_go("pocketbase", "github.com/pocketbase/pocketbase"),
        System::SqliteApp => of_peer("sqlite-app", "rusqlite"),
        System::Etcd => of_go("etcd", "go.etcd.io/etcd/server/v3"),
        System::Zookeeper => on_java("zookeeper", "zookeeper"),
        System::Oak => on_java("oak", "oak-segment-tar"),
        System::Git => said("git", &["--version"]),
        System::Java => said("java", &["-version"]),
        System::Imbl => of_peer("imbl", "imbl"),
        System::Redb => of_peer("store", "redb"),
        System::Lmdb => of_peer("store", "heed"),
        System::Doltlite => of_peer("store", "doltlite"),
        System::Sqlite => of_peer("store", "rusqlite"),
        System::Loro => of_peer("store", "loro"),
        System::Automerge => of_peer("store", "automerge"),
        System::Rayon => of_peer("dataflow", "rayon"),
        System::Crossbeam => of_peer("dataflow", "crossbeam-channel"),
        System::Tokio => of_peer("dataflow", "tokio"),
        System::Postgres => said("pgbench", &["--version"]),
        System::Ray => {
            let ask = "import importlib.metadata as m; print('ray', m.version('ray'))";
            said(&system.file().display().to_string(), &["-c", ask])
        }
    }
}

/// The version of a module that a peer is built with, and what built it.
fn of_go(peer: &str, module: &str) -> Option<String> {
    let file = root().join("bench/peers").join(peer).join("go.mod");
    let text = fs::read_to_string(file).ok()?;
    let version = text.split_once(&format!("{module} v"))?.1.lines().next()?;
    Some(format!("{peer} {version}, {}", said("go", &["version"])?))
}

/// The version of an artifact that a peer is built with.
fn of_maven(peer: &str, artifact: &str) -> Option<String> {
    let project = root().join("bench/peers").join(peer).join("pom.xml");
    let text = fs::read_to_string(project).ok()?;
    let version = text.split_once(&format!("<artifactId>{artifact}</artifactId>"))?.1;
    let version = version.split_once("<version>")?.1.split_once("</version>")?.0;
    Some(version.to_owned())
}

/// The same, and what it runs on.
fn on_java(peer: &str, artifact: &str) -> Option<String> {
    let java = said("java", &["-version"])?;
    Some(format!("{artifact} {}, {java}", of_maven(peer, artifact)?))
}

/// A package and its version, as a lockfile has them.
fn locked(lockfile: &str, package: &str) -> Option<String> {
    let name = format!("name = \"{package}\"");
    let mut lines = lockfile.lines().skip_while(|line| *line != name);
    let version = lines.nth(1)?.strip_prefix("version = \"")?.strip_suffix('"')?;
    Some(format!("{package} {version}"))
}

/// The first line that a program says, wherever it says it; `None` when it is not there, fails or
/// says nothing.
pub fn said(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).current_dir(root()).output().ok()?;
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text);
    let line = text.lines().next()?.trim();
    (output.status.success() && !line.is_empty()).then(|| line.to_owned())
}

#[cfg(test)]
mod tests {
    use super::{locked, of_maven};

    /// A project's own name and version come first in its file.
    #[test]
    fn a_project_tells_the_version_of_what_it_needs() {
        for (peer, artifact) in
            [("zookeeper", "zookeeper"), ("oak", "oak-segment-tar"), ("cassandra", "cassandra-all")]
        {
            let version = of_maven(peer, artifact).unwrap();
            assert!(version.split('.').count() == 3, "{artifact} {version}");
        }
    }

    #[test]
    fn a_lockfile_tells_versions() {
        let lock = "[[package]]\nname = \"a\"\nversion = \"1\"\n\n[[package]]\nname = \"ab\"\n\
                    version = \"2.3.4\"\n";
        assert_eq!(locked(lock, "ab").as_deref(), Some("ab 2.3.4"));
        assert_eq!(locked(lock, "b"), None);
    }
}
