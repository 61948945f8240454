//! Everything that is done to this repository: `cargo xtask help` lists it.
//!
//! A clean clone and a Rust toolchain are enough. What else a task needs (a compiler for a peer)
//! is installed by name with `apt-get` when the user may, and otherwise named in the error.

mod asan;
mod check;
mod command;
mod deb;
mod dist;
mod error;
mod fuzz;
mod nats;
mod notices;
mod pebble;
mod peers;
mod steps;
mod supply;
mod test;
mod tidy;
mod torture;
mod track;
mod web;

use std::process::ExitCode;

use error::{Result, fail};

const HELP: &str = "\
usage: cargo xtask TASK

  check                      format, lints, docs and tidy: what every commit must pass
  tidy                       the rules of this repository that no other tool knows
  test [--peers]             everything: check, tests, torture suites, loom, supply; with --peers
                             also builds the peers and runs each one briefly
  asan                       the tree's tests, and fuzzing, under the address sanitizer (minutes)
  fuzz [TARGET...] [ARGS]    input from outside that libFuzzer finds by coverage (needs c++):
                             --seconds N for each target, --asan under the address sanitizer,
                             --keep to add some of it to the corpus
  torture SUITE [ARGS]       one torture suite, in release; without ARGS as `test` runs it
  torture http [ARGS]        bad requests to a real server, by hand and of schemathesis (python3);
                             with --brief only some of the latter, as `test` asks them
  torture hostile            idle, slow and deaf connections beside somebody who means well
  torture posts [ARGS]       a server is killed while others post to it (--kills N)
  torture soak [ARGS]        a load that is held: memory, files, disk, latency (--minutes N)
  torture published [ARGS]   versions of a real document, kept and compared (--versions N; npm)
  torture lin [ARGS]         histories of a cluster under faults, checked (--schedules N)
  torture sim [ARGS]         a cluster in one thread on a simulated engine (--seeds N, --seed S)
  torture local [ARGS]       servers that commit by themselves, cut off (--schedules N)
  torture cluster [ARGS]     commits on a cluster under faults of all kinds, counted
                             (--schedules N, of --faults N each)
  torture machines [ARGS]    posts to servers on machines of their own (name spaces), several
                             faults at once (--schedules N, or --minutes N: one that is held)
  torture upgrade [ARGS]     servers of an earlier revision are replaced while clients post
                             (--from REVISION)
  torture supply [ARGS]      as `supply`, package by package, counted and entered in the ledger
  torture ledger [ARGS]      what all torture runs of this checkout sum up to (--report DIR: kept
                             in DIR/raw, for the bars of a report)
  torture engine             10,000 durable segments while takers and the engine's leader are killed
  track [ARGS]               instructions of a few workloads beside the recorded figures, as `test`
                             tells them; --record writes them down (`jungle-bench track --help`)
  nats                       the server that Alice's remote keys need, for the tests (needs go)
  pebble                     the authority that gives certificates to tests (needs go)
  deb [--profile PROFILE]    a Debian package of the command, in release unless said otherwise
  dist                       the command as one static file for Linux, and its notices
  notices FILE               the licences of all that is linked into the command
  supply [--advisories FILE] advisories and licences of everything in the lockfile
  web                        builds the explorer's files, which are in the repository (needs npm)
  peers [NAME...]            builds the systems Jungle is measured against (haskell, java, imbl,
                             store, dataflow, board; only if named: cassandra, pocketbase,
                             sqlite-app, etcd, zookeeper, oak, ray, postgres)
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &[String]) -> Result<()> {
    let Some((task, rest)) = arguments.split_first() else {
        return fail(format!("no task given\n\n{HELP}"));
    };
    match task.as_str() {
        "check" => check::run(rest),
        "tidy" => tidy::run(rest),
        "test" => test::run(rest),
        "asan" => asan::run(rest),
        "fuzz" => fuzz::run(rest),
        "torture" => torture::run(rest),
        "track" => track::run(rest),
        "deb" => deb::run(rest),
        "dist" => dist::run(rest),
        "notices" => notices::run(rest),
        "supply" => supply::run(rest),
        "nats" => nats::run(rest),
        "pebble" => pebble::run(rest),
        "peers" => peers::run(rest),
        "web" => web::run(rest),
        "help" | "--help" | "-h" => {
            print!("{HELP}");
            Ok(())
        }
        unknown => fail(format!("unknown task `{unknown}`\n\n{HELP}")),
    }
}
