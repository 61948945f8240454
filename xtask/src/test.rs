//! `test`: everything.

use std::num::NonZero;
use std::panic::resume_unwind;
use std::process::Command;
use std::thread::{self, available_parallelism};

use crate::command::{
    ahead, cargo, cargo_at_once, idle, need, run as run_command, target_dir, xtask,
};
use crate::error::{Result, fail};
use crate::steps::Steps;
use crate::{check, nats, pebble, peers, supply, torture, track, web};

pub fn run(arguments: &[String]) -> Result<()> {
    let with_peers = match arguments {
        [] => false,
        [only] if only == "--peers" => true,
        _ => {
            return fail(format!("`test` takes only `--peers`, not `{}`", arguments.join(" ")));
        }
    };
    let mut steps = Steps::new("test");
    check::all(&mut steps)?;
    steps.step("nats-server", || nats::run(&[]))?;
    steps.step("pebble", || pebble::run(&[]))?;
    // What the documents say to type is tried with it.
    steps.step("curl", || need("curl", "curl"))?;
    // What they complete; bash is there.
    steps.step("zsh, fish", || ["zsh", "fish"].iter().try_for_each(|shell| need(shell, shell)))?;
    thread::scope(|scope| {
        // For half a minute, of which nothing is seen beside the tests.
        let schemathesis = scope.spawn(torture::schemathesis);
        begin_ahead(&mut steps)?;
        cargo_tests(&mut steps)?;
        web::all(&mut steps)?;
        let schemathesis = schemathesis.join().unwrap_or_else(|panic| resume_unwind(panic));
        torture::generated(&mut steps, schemathesis)
    })?;
    torture_suites(&mut steps)?;
    supply::all(&mut steps, None)?;
    if with_peers {
        steps.step("peers", || peers::run(&[]))?;
        steps.step("peers' smoke", peers::smoke)?;
    }
    steps.finish()
}

/// Begins what waits for no other step, and what is built in release for later ones: tests, and
/// a cluster's faults, leave the processors idle for minutes. Who needs a build sooner waits at
/// cargo's locks.
fn begin_ahead(steps: &mut Steps) -> Result<()> {
    if torture::is_there() {
        // The first at cargo's lock builds those of all suites. That takes longest of what is built
        // here, and at its end has work for one processor only: the sooner these run, the less is
        // idle. They run at the lowest priority, as all suites do.
        for &suite in &torture::SUITES[..torture::LONGEST] {
            let run = xtask(["torture", suite, "--seed", SEED])?;
            steps.begin(&format!("torture {suite}"), ahead(&run))?;
        }
        steps.begin("build of torture shuttle", idle(&torture::build_scheduled()))?;
    }
    steps.begin("loom", idle(&loom()))
}

/// So many published versions of a document are fetched and imported: as there is npm for the
/// explorer, that they cannot be is a failure, where `cargo test` alone says that it left them out.
const VERSIONS: &str = "50";

/// So many tests of a crate run at a time, also on fewer cores.
const TEST_THREADS_MIN: usize = 4;

/// Unit, integration and documentation tests, with all features: to those of the command these only
/// add what tests wake, so that without them all builds is enough to know.
fn cargo_tests(steps: &mut Steps) -> Result<()> {
    let histories = torture::histories()?;
    steps.step("tests", || {
        let mut tests = cargo_at_once(["test", "--workspace", "--all-features"]);
        tests.env("JUNGLE_VERSIONS", VERSIONS).env("CLUSTER_HISTORIES", &histories);
        // Those of a cluster wait for elections most of the time, side by side if there is room.
        let threads = available_parallelism().map_or(1, NonZero::get).max(TEST_THREADS_MIN);
        tests.env("RUST_TEST_THREADS", threads.to_string());
        run_command(tests)
    })?;
    // While the programs are there as these have built them.
    track::step(steps)?;
    torture::clusters(steps, &histories)?;
    let featured: Vec<String> = crates_with_features()?;
    if featured.is_empty() {
        return Ok(());
    }
    steps.step("builds without features", || {
        // With the command, packages that are not ours have the features that they have for the
        // lints, and are not looked at once more.
        let check = ["check", "--all-targets", "--no-default-features", "-p", "jungle-cli"];
        run_command(cargo(check.into_iter().chain(featured.iter().flat_map(|name| ["-p", name]))))?;
        // The command has this one with its engine. Nothing of it may be there for that alone.
        let alone = "clippy --no-deps --no-default-features -p jungle-cluster -- -D warnings";
        run_command(cargo(alone.split(' ')))
    })
}

fn crates_with_features() -> Result<Vec<String>> {
    let metadata = supply::metadata(&["--no-deps"])?;
    let packages = metadata["packages"].as_array().map(Vec::as_slice).unwrap_or_default();
    let featured = packages.iter().filter(|package| {
        package["features"].as_object().is_some_and(|features| !features.is_empty())
    });
    Ok(featured.filter_map(|package| package["name"].as_str()).map(str::to_owned).collect())
}

/// Where the suites begin here, so that the same tests pass or fail on all days. Whoever looks for
/// something new runs a suite by hand: that begins at the day's number.
const SEED: &str = "20780000000";

/// All but those that were begun ahead.
fn torture_suites(steps: &mut Steps) -> Result<()> {
    if !torture::is_there() {
        steps.skip("torture", "this checkout has no torture suites");
        return Ok(());
    }
    for &suite in &torture::SUITES[torture::LONGEST..] {
        // It passes without, having done nothing, which nobody would see.
        if suite == "syncs"
            && let Err(error) = need("strace", "strace")
        {
            steps.skip("torture syncs", &error.to_string());
            continue;
        }
        steps.step(&format!("torture {suite}"), || {
            torture::run(&[suite, "--seed", SEED].map(str::to_owned))
        })?;
    }
    Ok(())
}

/// What is built for loom's notes, which nobody asks for, and for other tests: no model gets there,
/// and to optimize it takes longer than all else that is built for them.
const NOT_IN_LOOM: [&str; 5] =
    ["blake3", "jungle-testkit", "regex-automata", "regex-syntax", "tracing-subscriber"];

/// The interleavings of small tests of `jungle-tree`. `--cfg loom` changes every crate, so this
/// builds into a folder of its own, or each run would build everything twice.
fn loom() -> Command {
    let mut loom = cargo(["test", "--release", "-p", "jungle-tree", "--test", "loom"]);
    for package in NOT_IN_LOOM {
        loom.args(["--config", &format!("profile.release.package.{package}.opt-level=0")]);
    }
    loom.arg("--target-dir").arg(target_dir().join("loom"));
    loom.env("RUSTFLAGS", "--cfg loom -Dwarnings").envs([torture::NO_LTO]);
    loom
}
