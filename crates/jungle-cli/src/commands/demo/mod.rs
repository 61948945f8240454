//! `jungle demo`: published versions of a real document as revisions of one tree; or a board.

mod board;

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path as FilePath, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use jungle::json::{ImportOptions, Limits, MemberOrder, import};
use jungle::{CommitMeta, CommitOptions, Store, TreeHandle};
use serde::Serialize;

use crate::cluster::takes_commits;
use crate::context::Context;
use crate::failure::{Exit, Failure, failed};
use crate::folder;
use crate::output::{Format, count, grouped, json_line, size, stdout};

/// Keep published versions of a large document as revisions of one tree, and look at them; or fill
/// a bulletin board
#[derive(clap::Args)]
pub(crate) struct Args {
    /// How many versions, the newest ones
    #[arg(long, value_name = "COUNT", default_value_t = 20)]
    versions: usize,
    /// Fill a board instead, the tree `garden`, with a history and a branch: needs no npm and no
    /// network
    #[arg(long, conflicts_with = "versions")]
    board: bool,
    /// Where the documents are kept, and the folder `jungle` with the tree `compat`
    #[arg(long, value_name = "DIR", default_value = "target/demo")]
    dir: String,
}

/// The browser compatibility data of MDN: tens of megabytes, deep, published often.
const PACKAGE: &str = "@mdn/browser-compat-data";

/// What all of it takes; the names of the fields are those of the JSON form.
#[derive(Serialize)]
struct Sizes {
    folder_bytes: u64,
    file_bytes: u64,
    memory_bytes: u64,
}

/// One version, imported.
#[derive(Serialize)]
struct Told {
    version: String,
    revision: u64,
    file_bytes: u64,
    nodes: u64,
    changes: usize,
    import_seconds: f64,
    log_bytes: u64,
    memory_bytes: u64,
}

pub(crate) fn run(args: &Args, context: &Context<'_>) -> Result<(), Failure> {
    let dir = FilePath::new(&args.dir);
    folder::create_private(dir)
        .map_err(|error| failure(format!("cannot make {}", args.dir), &error))?;
    let place = dir.join("jungle");
    if args.board {
        return board::run(&open(&place, context)?, &place, context.format);
    }
    let versions = newest_versions(args.versions)?;
    let store = open(&place, context)?;
    let tree = match store.open_tree("compat") {
        Ok(tree) => tree,
        Err(_) => store.create_tree("compat").map_err(failed)?,
    };
    let mut out = stdout();
    if context.format == Format::Text {
        writeln!(out, "{PACKAGE}: {} as revisions of one tree", count_versions(&versions))?;
        writeln!(
            out,
            "version  revision      file      nodes  changes  import      log    memory"
        )?;
        out.flush()?;
    }
    let mut file_bytes = 0;
    for version in &versions {
        let file = fetch(dir, version)?;
        file_bytes += fs::metadata(&file).map_or(0, |metadata| metadata.len());
        if tree.at_tag(version).is_ok() {
            // From a run before.
            continue;
        }
        let row = add(&store, &tree, version, &file)?;
        match context.format {
            Format::Json => json_line(&mut out, &row)?,
            Format::Text => print_row(&mut out, &row)?,
        }
        out.flush()?;
    }
    // What is new is in the checkpoint, too, before it is counted.
    store.checkpoint().map_err(failed)?;
    let folder_bytes = store.disk_bytes().map_err(failed)?;
    let sizes = Sizes { folder_bytes, file_bytes, memory_bytes: memory_bytes(&store) };
    match context.format {
        Format::Json => json_line(&mut out, &sizes)?,
        Format::Text => explore(&mut out, &tree, &versions, &place, &sizes)?,
    }
    Ok(out.flush()?)
}

fn open(place: &FilePath, context: &Context<'_>) -> Result<Store, Failure> {
    let store = folder::open(&place.to_string_lossy(), context.opening.clone())?;
    takes_commits(place)?;
    Ok(store)
}

fn count_versions(versions: &[String]) -> String {
    count(versions.len() as u64, "published version")
}

fn failure(what: String, error: &dyn std::fmt::Display) -> Failure {
    Failure::new(Exit::Error, format_args!("{what}: {error}"))
}

/// Asks the registry's client which versions there are.
fn newest_versions(count: usize) -> Result<Vec<String>, Failure> {
    let listed = npm(&["view", PACKAGE, "versions", "--json"])?;
    let all: Vec<String> = serde_json::from_slice(&listed)
        .map_err(|error| failure("npm's list of versions is not as expected".into(), &error))?;
    let released = all.into_iter().filter(|version| !version.contains('-'));
    let mut newest: Vec<String> = released.collect();
    newest.drain(..newest.len().saturating_sub(count));
    Ok(newest)
}

fn npm(args: &[&str]) -> Result<Vec<u8>, Failure> {
    let output = Command::new("npm").args(args).stderr(Stdio::null()).output();
    let output = output.map_err(|error| {
        failure("cannot run npm, which fetches the data".into(), &error)
            .with_hint("install npm, or try `jungle stat FILE.json` with a file of your own")
    })?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    let said = format!("npm {} failed", args.join(" "));
    Err(Failure::new(Exit::Error, said).with_hint("is its registry reachable?"))
}

/// The document of one version, fetched unless it was before.
fn fetch(dir: &FilePath, version: &str) -> Result<PathBuf, Failure> {
    let file = dir.join(format!("{version}.json"));
    if file.exists() {
        return Ok(file);
    }
    let name = format!("{PACKAGE}@{version}");
    let packed = npm(&["pack", &name, "--pack-destination", &dir.to_string_lossy()])?;
    let packed = String::from_utf8_lossy(&packed);
    let archive = dir.join(packed.lines().last().unwrap_or_default().trim());
    // Under another name until it is whole, so that an interrupted run leaves no half document.
    let half = dir.join(format!("{version}.part"));
    let unpack = || -> std::io::Result<bool> {
        let mut tar = Command::new("tar");
        tar.arg("-xzOf").arg(&archive).arg("package/data.json").stdout(File::create(&half)?);
        let done = tar.status()?.success();
        fs::remove_file(&archive)?;
        if done {
            fs::rename(&half, &file)?;
        }
        Ok(done)
    };
    match unpack() {
        Ok(true) => Ok(file),
        Ok(false) => Err(Failure::new(Exit::Error, format_args!("tar cannot unpack {name}"))),
        Err(error) => Err(failure(format!("cannot unpack {name}"), &error)),
    }
}

/// Makes the tree stand for one more version.
fn add(store: &Store, tree: &TreeHandle, version: &str, file: &FilePath) -> Result<Told, Failure> {
    let before = tree.snapshot();
    let reader = File::open(file)
        .map_err(|error| failure(format!("cannot read {}", file.display()), &error))?;
    let file_bytes = reader.metadata().map_or(0, |metadata| metadata.len());
    // Without the order of members, which JSON gives no meaning: what differs is what matters.
    let limits = Limits { bytes_max: u64::MAX, ..Limits::default() };
    let options = ImportOptions { limits, member_order: MemberOrder::Ignore };
    let start = Instant::now();
    let mut tx = tree.begin(CommitOptions::default());
    tx.bulk(|editor| import(reader, editor, &[], &options, &mut |_| ()))
        .map_err(|error| failure(file.display().to_string(), &error))?;
    tx.describe(CommitMeta::default().author("npm").message(version));
    let committed = tx.commit().map_err(failed)?;
    let import = start.elapsed();
    tree.tag(version, committed.revision).map_err(failed)?;
    let after = tree.snapshot();
    Ok(Told {
        version: version.to_owned(),
        revision: committed.revision.number(),
        file_bytes,
        nodes: after.root().subtree_count(),
        changes: jungle::diff(&before, &after).len(),
        import_seconds: import.as_secs_f64(),
        log_bytes: store.log_stats().bytes,
        memory_bytes: memory_bytes(store),
    })
}

fn print_row(out: &mut impl Write, row: &Told) -> std::io::Result<()> {
    writeln!(
        out,
        "{:<9} {:>7} {:>9} {:>10} {:>8} {:>6.2}s {:>8} {:>9}",
        row.version,
        row.revision,
        size(row.file_bytes),
        grouped(row.nodes),
        grouped(row.changes as u64),
        row.import_seconds,
        size(row.log_bytes),
        size(row.memory_bytes),
    )
}

/// What one can do now.
fn explore(
    out: &mut impl Write,
    tree: &TreeHandle,
    versions: &[String],
    place: &FilePath,
    sizes: &Sizes,
) -> Result<(), Failure> {
    let (Some(a), Some(b)) = (versions.first(), versions.last()) else { return Ok(()) };
    let place = place.display();
    writeln!(out)?;
    let (folder, files) = (size(sizes.folder_bytes), size(sizes.file_bytes));
    writeln!(out, "{place} has all of them: {folder} for {files} of files.")?;
    writeln!(out, "In memory they take {}.", size(sizes.memory_bytes))?;
    let start = Instant::now();
    let (before, after) = (tree.at_tag(a), tree.at_tag(b));
    let (before, after) = (before.map_err(failed)?, after.map_err(failed)?);
    let changes = jungle::diff(&before, &after);
    let time = start.elapsed();
    writeln!(
        out,
        "From {a} to {b}: {} in {}, for example",
        count(changes.len() as u64, "change"),
        millis(time)
    )?;
    for change in changes.iter().take(5) {
        let line = change.to_string();
        writeln!(out, "  {}", line.chars().take(96).collect::<String>())?;
    }
    let commands = [
        format!("log {place} compat"),
        format!("diff --stat {place} compat {a} {b}"),
        format!("get --pretty {place} compat /browsers/firefox/name --at {a}"),
        format!("find --limit 5 {place} compat 'version_added = \"preview\"'"),
        format!("backup {place} {place}-copy"),
        format!("verify {place}-copy"),
    ];
    Ok(look_further(out, &commands)?)
}

/// Commands to go on with.
fn look_further(out: &mut impl Write, commands: &[String]) -> std::io::Result<()> {
    writeln!(out)?;
    writeln!(out, "Look further:")?;
    commands.iter().try_for_each(|it| writeln!(out, "  cargo run --release -- {it}"))
}

fn memory_bytes(store: &Store) -> u64 {
    let usage = store.arena().usage();
    (usage.structure_bytes + usage.payload_bytes) as u64
}

fn millis(time: Duration) -> String {
    format!("{:.1} ms", time.as_secs_f64() * 1e3)
}
