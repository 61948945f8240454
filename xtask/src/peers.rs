//! `peers`: builds the systems that Jungle is measured against, from `bench/peers` into
//! `target/peers`. They are programs of their own and never linked into the product.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use crate::command::{cargo, command, need, root, run as run_command};
use crate::error::{Context, Result, fail};

/// One peer: what it needs, how it is built, and a run of a second or so that shows it works.
struct Peer {
    name: &'static str,
    /// A program that must be there, and the Debian package that has it.
    needs: Option<(&'static str, &'static str)>,
    build: fn() -> Command,
    smoke: fn() -> Command,
}

/// Every peer; a new one is a row here.
const PEERS: [Peer; 3] = [
    Peer {
        name: "haskell",
        needs: Some(("ghc", "ghc")),
        build: || {
            let mut ghc = command("ghc", ["-O2", "-threaded", "-rtsopts"]);
            ghc.args(["-outputdir", "target/peers/haskell", "-o", "target/peers/haskell/peer"]);
            ghc.args(sources("haskell", "hs"));
            ghc
        },
        smoke: || command("target/peers/haskell/peer", SMOKE),
    },
    Peer {
        name: "java",
        needs: Some(("javac", "default-jdk-headless")),
        build: || {
            let mut javac = command("javac", ["-d", "target/peers/java"]);
            javac.args(sources("java", "java"));
            javac
        },
        smoke: || {
            let mut java = command("java", ["-cp", "target/peers/java", "Peer"]);
            java.args(SMOKE);
            java
        },
    },
    Peer {
        name: "imbl",
        needs: None,
        build: || {
            let mut build = cargo(["build", "--release", "--quiet"]);
            build.args(["--manifest-path", "bench/peers/imbl/Cargo.toml"]);
            build.args(["--target-dir", "target/peers/imbl"]);
            build
        },
        smoke: || command("target/peers/imbl/release/peer", SMOKE),
    },
];

/// The arguments of a brief run, the same for every peer: each checks its own result.
const SMOKE: [&str; 9] =
    ["read-visit", "--threads", "2", "--tasks", "2", "--seed", "1", "--nodes-scale", "quick"];

/// Builds the peers named, or all.
pub fn run(names: &[String]) -> Result<()> {
    if let Some(unknown) = names.iter().find(|name| PEERS.iter().all(|peer| peer.name != **name)) {
        return fail(format!("there is no peer `{unknown}`"));
    }
    for peer in &PEERS {
        if names.is_empty() || names.iter().any(|name| name == peer.name) {
            build(peer).context(format!("peer {}", peer.name))?;
        }
    }
    Ok(())
}

/// Runs each peer briefly.
pub fn smoke() -> Result<()> {
    for peer in &PEERS {
        run_command((peer.smoke)()).context(format!("peer {}", peer.name))?;
    }
    Ok(())
}

fn build(peer: &Peer) -> Result<()> {
    let source = root().join("bench/peers").join(peer.name);
    if !source.is_dir() {
        return fail("its sources are not in bench/peers");
    }
    if let Some((program, package)) = peer.needs {
        need(program, package)?;
    }
    let built = root().join("target/peers").join(peer.name);
    fs::create_dir_all(&built).context(format!("cannot create {}", built.display()))?;
    println!("building peer {}", peer.name);
    run_command((peer.build)())
}

/// The peer's source files, below the root, in a fixed order.
fn sources(peer: &str, extension: &str) -> Vec<PathBuf> {
    let mut folders = vec![PathBuf::from("bench/peers").join(peer)];
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        let entries = fs::read_dir(root().join(&folder)).into_iter().flatten().flatten();
        for path in entries.map(|entry| folder.join(entry.file_name())) {
            if root().join(&path).is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|found| found == extension) {
                files.push(path);
            }
        }
    }
    files.sort();
    files
}
