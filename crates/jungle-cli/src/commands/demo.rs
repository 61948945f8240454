//! `jungle demo`: published versions of a real document as revisions of one tree.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path as FilePath, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use jungle::json::{ImportOptions, Limits, MemberOrder, import};
use jungle::{CommitMeta, CommitOptions, Jungle, Memory, Revision, TreeHandle};
use serde::Serialize;

use crate::context::Context;
use crate::failure::{Exit, Failure};
use crate::output::{Format, count, grouped, size, stdout};

/// Keep published versions of a large document as revisions of one tree, and look at them
#[derive(clap::Args)]
pub(crate) struct Args {
    /// How many versions, the newest ones
    #[arg(long, value_name = "COUNT", default_value_t = 20)]
    versions: usize,
    /// Where the documents are kept
    #[arg(long, value_name = "DIR", default_value = "target/demo")]
    dir: String,
}

/// The browser compatibility data of MDN: tens of megabytes, deep, published often.
const PACKAGE: &str = "@mdn/browser-compat-data";

/// One version, imported.
#[derive(Serialize)]
struct Told {
    version: String,
    revision: u64,
    #[serde(skip)]
    at: Revision,
    file_bytes: u64,
    nodes: u64,
    changes: usize,
    import_seconds: f64,
    memory_bytes: u64,
}

pub(crate) fn run(args: &Args, context: &Context<'_>) -> Result<(), Failure> {
    let format = context.format;
    let dir = FilePath::new(&args.dir);
    fs::create_dir_all(dir)
        .map_err(|error| failure(format!("cannot make {}", args.dir), &error))?;
    let versions = newest_versions(args.versions)?;
    let jungle = Jungle::memory().map_err(|error| Failure::new(Exit::Error, error))?;
    let tree = jungle.create_tree("compat").map_err(|error| Failure::new(Exit::Error, error))?;
    let mut out = stdout();
    if format == Format::Text {
        writeln!(out, "{PACKAGE}: {} as revisions of one tree", count_versions(&versions))?;
        writeln!(out, "version    revision      file      nodes  changes  import    memory")?;
        out.flush()?;
    }
    let mut told = Vec::new();
    for version in &versions {
        let file = fetch(dir, version)?;
        let row = add(&jungle, &tree, version, &file)?;
        match format {
            Format::Json => writeln!(out, "{}", serde_json::to_string(&row).expect("plain data"))?,
            Format::Text => print_row(&mut out, &row)?,
        }
        out.flush()?;
        told.push(row);
    }
    if format == Format::Text {
        explore(&mut out, &tree, &told, &args.dir)?;
    }
    Ok(out.flush()?)
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
fn add(
    jungle: &Jungle,
    tree: &TreeHandle,
    version: &str,
    file: &FilePath,
) -> Result<Told, Failure> {
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
    let committed = tx.commit().map_err(|error| Failure::new(Exit::Error, error))?;
    let import = start.elapsed();
    tree.tag(version, committed.revision).map_err(|error| Failure::new(Exit::Error, error))?;
    let after = tree.snapshot();
    let usage = jungle.arena().usage();
    Ok(Told {
        version: version.to_owned(),
        revision: committed.revision.number(),
        at: committed.revision,
        file_bytes,
        nodes: after.root().subtree_count(),
        changes: jungle::diff(&before, &after).len(),
        import_seconds: import.as_secs_f64(),
        memory_bytes: (usage.structure_bytes + usage.payload_bytes) as u64,
    })
}

fn print_row(out: &mut impl Write, row: &Told) -> std::io::Result<()> {
    writeln!(
        out,
        "{:<10} {:>8} {:>9} {:>10} {:>8} {:>6.2}s {:>9}",
        row.version,
        row.revision,
        size(row.file_bytes),
        grouped(row.nodes),
        grouped(row.changes as u64),
        row.import_seconds,
        size(row.memory_bytes),
    )
}

/// What one can do now.
fn explore(
    out: &mut impl Write,
    tree: &TreeHandle,
    told: &[Told],
    dir: &str,
) -> Result<(), Failure> {
    let (Some(first), Some(last)) = (told.first(), told.last()) else { return Ok(()) };
    let files: u64 = told.iter().map(|row| row.file_bytes).sum();
    writeln!(out)?;
    writeln!(
        out,
        "All of them are readable at once, in {} for {} of files.",
        size(last.memory_bytes),
        size(files)
    )?;
    let start = Instant::now();
    let changes = tree.diff(first.at, last.at).map_err(|error| Failure::new(Exit::Error, error))?;
    let time = start.elapsed();
    let (a, b) = (&first.version, &last.version);
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
    writeln!(out)?;
    writeln!(out, "Look further:")?;
    for command in [
        format!("stat {dir}/{b}.json"),
        format!("get --pretty {dir}/{b}.json /browsers/firefox/name"),
        format!("find --limit 5 {dir}/{b}.json 'version_added = \"preview\"'"),
        format!("diff --stat {dir}/{a}.json {dir}/{b}.json"),
    ] {
        writeln!(out, "  cargo run --release -- {command}")?;
    }
    Ok(())
}

fn millis(time: Duration) -> String {
    format!("{:.1} ms", time.as_secs_f64() * 1e3)
}
