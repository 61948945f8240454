//! `peers`: builds the systems that Jungle is measured against, from `bench/peers` into
//! `target/peers`. They are programs of their own and never linked into the product.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use crate::command::{cargo, command, need, root, run as run_command};
use crate::error::{Context, Result, fail};

/// One peer: what it needs, how it is built, and runs of a second or so that show it works.
struct Peer {
    name: &'static str,
    /// What must be there: programs, and the Debian packages that have them.
    needs: &'static [(&'static str, &'static str)],
    build: fn() -> Vec<Command>,
    smoke: fn() -> Vec<Command>,
    /// What must be built if nothing else is said.
    when: When,
}

#[derive(PartialEq)]
enum When {
    Always,
    /// Only if it is named: it is large.
    Named,
}

/// Every peer; a new one is a row here. The settings are argued in `bench/peers/README.md`.
const PEERS: [Peer; 14] = [
    Peer {
        name: "haskell",
        needs: &[("ghc", "ghc")],
        build: || {
            vec![
                ghc("peer-map", &["-with-rtsopts=-A128m -T -I0"]),
                ghc("peer-intmap", &["-DINTMAP", "-with-rtsopts=-A64m -T -I0"]),
            ]
        },
        smoke: || {
            let programs = ["target/peers/haskell/peer-map", "target/peers/haskell/peer-intmap"];
            programs.map(|program| command(program, SMOKE)).into()
        },
        when: When::Always,
    },
    Peer {
        name: "board",
        // What drives it, and ours beside it, is needed with it.
        needs: &[("ghc", "ghc"), ("ghc:warp", "libghc-warp-dev"), ("h2load", "nghttp2-client")],
        build: board,
        // It is a server: `jungle-bench board` runs it.
        smoke: Vec::new,
        when: When::Always,
    },
    Peer {
        name: "java",
        needs: &[("javac", "default-jdk-headless")],
        build: || {
            let mut javac = command("javac", ["-d", "target/peers/java"]);
            javac.args(sources("java", "java"));
            vec![javac]
        },
        smoke: || {
            let mut java = command("java", ["-cp", "target/peers/java", "Peer"]);
            java.args(SMOKE);
            vec![java]
        },
        when: When::Always,
    },
    Peer {
        name: "imbl",
        needs: &[],
        build: || {
            let mut build = cargo(["build", "--release", "--quiet"]);
            build.args(["--manifest-path", "bench/peers/imbl/Cargo.toml"]);
            build.args(["--target-dir", "target/peers/imbl"]);
            vec![build]
        },
        smoke: || vec![command("target/peers/imbl/release/peer", SMOKE)],
        when: When::Always,
    },
    Peer {
        name: "store",
        needs: &[("git", "git")],
        build: || {
            let mut build = cargo(["build", "--release", "--quiet"]);
            build.args(["--manifest-path", "bench/peers/store/Cargo.toml"]);
            build.args(["--target-dir", "target/peers/store"]);
            // As distributions build SQLite: a commit need not sync the time of its file.
            build.env("LIBSQLITE3_FLAGS", "-DHAVE_FDATASYNC=1");
            vec![build]
        },
        smoke: || {
            let smoke = |(program, system, case)| {
                let mut store = command(format!("target/peers/store/release/{program}"), [system]);
                store.args([case, "--tasks", "4", "--nodes-scale", "quick"]);
                store
            };
            let systems = [
                ("peer", "redb", "kept"),
                ("peer", "redb", "commit"),
                ("peer", "lmdb", "kept"),
                ("peer", "doltlite", "kept"),
                ("peer", "doltlite", "merge-10-disk"),
                ("peer-git", "git", "merge-10-disk"),
                ("peer", "redb", "diff"),
                ("peer", "lmdb", "diff"),
                ("peer", "doltlite", "diff"),
                ("peer-sqlite", "sqlite", "diff"),
                ("peer-documents", "loro", "diff"),
                ("peer-documents", "automerge", "diff"),
                ("peer-git", "git", "diff"),
                ("peer", "redb", "kill"),
                ("peer", "lmdb", "kill"),
                ("peer", "doltlite", "kill"),
                ("peer-sqlite", "sqlite", "kill"),
                ("peer-sqlite", "sqlite", "stall"),
                ("peer-git", "git", "stall"),
                ("peer-sqlite", "sqlite", "kept"),
                ("peer-documents", "loro", "kept"),
                ("peer-documents", "automerge", "kept"),
                ("peer-documents", "loro", "merge-10"),
                ("peer-documents", "automerge", "merge-10"),
            ];
            systems.map(smoke).into()
        },
        when: When::Always,
    },
    Peer {
        name: "dataflow",
        needs: &[],
        build: || {
            let mut build = cargo(["build", "--release", "--quiet"]);
            build.args(["--manifest-path", "bench/peers/dataflow/Cargo.toml"]);
            build.args(["--target-dir", "target/peers/dataflow"]);
            vec![build]
        },
        smoke: || {
            let peer = "target/peers/dataflow/release/peer";
            ["rayon", "crossbeam", "tokio"].map(|name| command(peer, [name, "chain"])).into()
        },
        when: When::Always,
    },
    Peer {
        name: "ray",
        needs: &[("python3", "python3-venv")],
        build: || {
            let venv = command("python3", ["-m", "venv", "target/peers/ray"]);
            let install = ["install", "--quiet", "ray==2.60.0"];
            vec![venv, command("target/peers/ray/bin/pip", install)]
        },
        smoke: || {
            let chain = ["bench/peers/ray/peer.py", "ray", "chain"];
            vec![command("target/peers/ray/bin/python", chain)]
        },
        when: When::Named,
    },
    Peer {
        name: "postgres",
        needs: &[("pgbench", "postgresql"), ("python3", "python3")],
        build: || {
            let files = ["bench/peers/postgres/peer.py", "bench/peers/postgres/history.py"];
            vec![command("cp", [files[0], files[1], "target/peers/postgres"])]
        },
        smoke: || {
            ["select", "commit", "kept"]
                .map(|case| {
                    let words = ["target/peers/postgres/peer.py", case, "--tasks", "4"];
                    let mut peer = command("python3", words);
                    peer.args(["--nodes-scale", "quick"]);
                    peer
                })
                .into()
        },
        // Its package starts a server of its own.
        when: When::Named,
    },
    Peer {
        name: "cassandra",
        needs: &[
            ("java", "openjdk-17-jre-headless"),
            ("mvn", "maven"),
            ("h2load", "nghttp2-client"),
        ],
        build: cassandra,
        // Its servers are started by `jungle-bench cassandra`.
        smoke: Vec::new,
        // It is 67 MB.
        when: When::Named,
    },
    Peer {
        name: "pocketbase",
        needs: &[("go", "golang-go"), ("h2load", "nghttp2-client")],
        build: || vec![go("pocketbase")],
        // It is a server: `jungle-bench board` runs it.
        smoke: Vec::new,
        // It is built of much.
        when: When::Named,
    },
    Peer {
        name: "sqlite-app",
        needs: &[("h2load", "nghttp2-client")],
        build: || {
            let mut build = cargo(["build", "--release", "--quiet"]);
            build.args(["--manifest-path", "bench/peers/sqlite-app/Cargo.toml"]);
            build.args(["--target-dir", "target/peers/sqlite-app"]);
            // As distributions build SQLite, and as it is in the stores.
            build.env("LIBSQLITE3_FLAGS", "-DHAVE_FDATASYNC=1");
            vec![build]
        },
        // It is a server: `jungle-bench board` runs it.
        smoke: Vec::new,
        // `board` takes longer with it, and `all --quick` has a quarter of an hour.
        when: When::Named,
    },
    Peer {
        name: "etcd",
        needs: &[("go", "golang-go")],
        build: || vec![go("etcd")],
        smoke: || {
            let smoke = |case| {
                let words = [case, "--tasks", "4", "--nodes-scale", "quick"];
                command("target/peers/etcd/peer", words)
            };
            ["served", "watched", "resumed", "three", "reclaimed"].map(smoke).into()
        },
        // It is 36 MB, and built of more.
        when: When::Named,
    },
    Peer {
        name: "zookeeper",
        needs: &[("javac", "default-jdk-headless"), ("mvn", "maven")],
        build: || on_jars("zookeeper"),
        smoke: || ["served", "three"].map(|case| on_jars_smoke("zookeeper", case)).into(),
        when: When::Named,
    },
    Peer {
        name: "oak",
        needs: &[("javac", "default-jdk-headless"), ("mvn", "maven")],
        build: || on_jars("oak"),
        smoke: || {
            let cases = ["embedded", "diff", "readers", "subtree"];
            cases.map(|case| on_jars_smoke("oak", case)).into()
        },
        when: When::Named,
    },
];

/// A program in Go, with what its `go.mod` names.
fn go(peer: &str) -> Command {
    let program = root().join("target/peers").join(peer).join("peer");
    let mut go = command("go", ["build", "-C", &format!("bench/peers/{peer}"), "-o"]);
    go.arg(program).arg(".");
    go
}

/// Cassandra's programs as Maven has them, then the board that is kept in it.
fn cassandra() -> Vec<Command> {
    let folder = "target/peers/cassandra";
    let mut front = cargo(["build", "--release", "--quiet"]);
    front.args(["--manifest-path", "bench/peers/cassandra/Cargo.toml", "--target-dir", folder]);
    vec![jars("cassandra"), front]
}

/// What a peer's `pom.xml` names, and what that needs.
fn jars(peer: &str) -> Command {
    let project = format!("bench/peers/{peer}/pom.xml");
    let into = root().join("target/peers").join(peer).join("jars");
    let mut jars = command("mvn", ["--quiet", "--file", &project, "dependency:copy-dependencies"]);
    jars.arg(format!("-DoutputDirectory={}", into.display()));
    jars
}

/// A system as Maven has it, then what measures it: the work is the same for all such.
fn on_jars(peer: &str) -> Vec<Command> {
    let folder = format!("target/peers/{peer}");
    let (classes, path) = (format!("{folder}/classes"), format!("{folder}/jars/*"));
    let mut javac = command("javac", ["-d", &classes, "-cp", &path]);
    javac.args(["Options", "Outcome", "Rng"].map(|name| format!("bench/peers/java/{name}.java")));
    javac.args(sources("jvm", "java")).args(sources(peer, "java"));
    vec![jars(peer), javac]
}

fn on_jars_smoke(peer: &str, case: &str) -> Command {
    let folder = format!("target/peers/{peer}");
    let path = format!("{folder}/classes:{folder}/jars/*");
    let mut java = command("java", ["-cp", &path, "Peer", case]);
    java.args(["--tasks", "4", "--nodes-scale", "quick"]);
    java
}

/// The board of the originals: Haskell's Jungle behind the Warp server.
fn board() -> Vec<Command> {
    let folder = "target/peers/board";
    let mut ghc = command("ghc", ["-O2", "-threaded", "-rtsopts", "-with-rtsopts=-N2 -A64m -I0"]);
    ghc.args(["-ibench/peers/haskell", "-outputdir", &format!("{folder}/objects")]);
    ghc.args(["-o", &format!("{folder}/peer"), "bench/peers/board/Board.hs"]);
    vec![ghc]
}

/// One of the Haskell programs: its sources are the same, its options are its own.
fn ghc(program: &str, options: &[&str]) -> Command {
    let folder = "target/peers/haskell";
    let mut ghc = command("ghc", ["-O2", "-threaded", "-rtsopts"]);
    ghc.args(options);
    // Objects of its own: those of the other program were built with other options.
    ghc.args(["-outputdir", &format!("{folder}/{program}-objects")]);
    ghc.args(["-o", &format!("{folder}/{program}")]);
    ghc.args(sources("haskell", "hs"));
    ghc
}

/// The arguments of a brief run, the same for every peer: each checks its own result.
const SMOKE: [&str; 9] =
    ["read-visit", "--threads", "2", "--tasks", "2", "--seed", "1", "--nodes-scale", "quick"];

/// Builds the peers named, or all but the large ones.
pub fn run(names: &[String]) -> Result<()> {
    if let Some(unknown) = names.iter().find(|name| PEERS.iter().all(|peer| peer.name != **name)) {
        return fail(format!("there is no peer `{unknown}`"));
    }
    for peer in &PEERS {
        let is_meant = names.is_empty() && peer.when == When::Always;
        if is_meant || names.iter().any(|name| name == peer.name) {
            build(peer).context(format!("peer {}", peer.name))?;
        }
    }
    Ok(())
}

/// Runs each peer briefly.
pub fn smoke() -> Result<()> {
    for peer in PEERS.iter().filter(|peer| peer.when == When::Always) {
        for program in (peer.smoke)() {
            run_command(program).context(format!("peer {}", peer.name))?;
        }
    }
    Ok(())
}

fn build(peer: &Peer) -> Result<()> {
    let source = root().join("bench/peers").join(peer.name);
    if !source.is_dir() {
        return fail("its sources are not in bench/peers");
    }
    for (program, package) in peer.needs {
        need(program, package)?;
    }
    let built = root().join("target/peers").join(peer.name);
    fs::create_dir_all(&built).context(format!("cannot create {}", built.display()))?;
    println!("building peer {}", peer.name);
    (peer.build)().into_iter().try_for_each(run_command)
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
