//! `--report` and `report`: what is kept, what is not measured again, what is told.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use super::{bench, text};

/// A folder that is not there yet.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("lab-{name}"));
    if folder.exists() {
        fs::remove_dir_all(&folder).unwrap();
    }
    folder
}

/// Runs a tiny experiment into the folder; gives what it tells.
fn measure(experiment: &str, folder: &Path, more: &str) -> (String, String) {
    let line = format!(
        "{experiment} --report {} --quick --tiny --rounds 2 --tasks 3 {more}",
        folder.display()
    );
    told(bench(line.trim()))
}

fn told(output: Output) -> (String, String) {
    assert!(output.status.success(), "{}", text(&output.stderr));
    (text(&output.stdout), text(&output.stderr))
}

fn read(folder: &Path, file: &str) -> String {
    fs::read_to_string(folder.join(file)).unwrap()
}

const READ: &str = "--case visit --threads 1,2,3 --systems jungle";

#[test]
fn what_is_there_is_not_measured_again() {
    let folder = folder("resume");
    let (stdout, stderr) = measure("read", &folder, READ);
    assert!(stdout.contains(" bars: ") && stdout.contains("report.html"), "{stdout}");
    assert!(stderr.starts_with("[1/1] read: 9 figures in "), "{stderr}");
    let raw = read(&folder, "raw/read.json");
    let (_, stderr) = measure("read", &folder, READ);
    assert_eq!(stderr, "[1/1] read: is there\n");
    assert_eq!(read(&folder, "raw/read.json"), raw);
    for other in ["--again", "--seed 2"] {
        let (_, stderr) = measure("read", &folder, &format!("{READ} {other}"));
        assert!(stderr.contains("9 figures in"), "{other}: {stderr}");
    }
}

#[test]
fn the_report_in_the_documents_says_what_its_raw_files_say() {
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/measurements/report");
    let folder = folder("kept");
    fs::create_dir_all(folder.join("raw")).unwrap();
    let mut raw = 0;
    for file in fs::read_dir(kept.join("raw")).unwrap() {
        let file = file.unwrap();
        fs::copy(file.path(), folder.join("raw").join(file.file_name())).unwrap();
        raw += 1;
    }
    assert!(raw > 15, "{raw}");
    told(bench(&format!("report {}", folder.display())));
    let count = |folder: &Path| fs::read_dir(folder.join("plots")).unwrap().count();
    assert_eq!(count(&kept), count(&folder), "pictures that nothing makes any more");
    let pictures = fs::read_dir(folder.join("plots")).unwrap();
    let pictures = pictures.map(|file| Path::new("plots").join(file.unwrap().file_name()));
    for file in ["report.md", "report.html"].into_iter().map(PathBuf::from).chain(pictures) {
        let of = |folder: &Path| fs::read(folder.join(&file)).unwrap_or_default();
        let file = file.display();
        assert!(
            of(&folder) == of(&kept),
            "{file}: `jungle-bench report docs/measurements/report` makes it anew"
        );
    }
}

#[test]
fn the_readme_counts_the_bars_as_the_report_does() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let report = read(&root, "docs/measurements/report/report.md");
    let counted = report.lines().find(|line| line.contains(" bars: ")).unwrap();
    let told = counted
        .replace(" bars: ", " bars, of which ")
        .replace(" FAIL, ", " fail and ")
        .replace(" not measured", " are not measured");
    let readme = read(&root, "README.md").replace('\n', " ");
    assert!(readme.contains(&told), "README.md does not say: {told}");
}

#[test]
fn every_figure_of_the_report_has_a_processor_and_a_revision() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let report = read(&root, "docs/measurements/report/report.md");
    let (_, figures) = report.split_once("## All figures").unwrap();
    let (figures, _) = figures.split_once("\n## ").unwrap();
    for section in figures.split("### ").skip(1) {
        let mut lines = section.lines().filter(|line| !line.is_empty());
        let (experiment, source) = (lines.next().unwrap(), lines.next().unwrap());
        let (processor, revision) = source.split_once(", revision ").unwrap();
        let is_hash = revision.chars().take(12).all(|c| c.is_ascii_hexdigit());
        assert!(!processor.is_empty() && is_hash, "{experiment}: {source}");
    }
}

/// Over the Haskell original, and what follows the table.
#[test]
fn the_readme_quotes_the_figures_of_the_report() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let report = read(&root, "docs/measurements/report/report.md");
    let readme = read(&root, "README.md").replace('\n', " ");
    let figure = |name: &str| {
        let name = format!("{name}: ");
        let mut told = report.split(&name).skip(1).map(|after| after.split_once(' ').unwrap());
        // Over one thread is another bar.
        let (number, _) = told.find(|(_, unit)| !unit.starts_with("× of ")).unwrap();
        number.parse::<f64>().unwrap()
    };
    let short = |number: f64| match number {
        10.0.. => format!("{number:.0}"),
        1.0.. => format!("{number:.1}"),
        _ => format!("{number:.2}"),
    };
    let both = |case: &str| {
        let of = |threads| short(figure(&format!("{case}, {threads}")));
        format!("{} and {}", of("1 thread"), of("2 threads"))
    };
    let row = |cases: &[&str]| {
        let cases: Vec<String> = cases.iter().map(|case| both(case)).collect();
        format!("| {} |", cases.join(" · "))
    };
    let told = [
        row(&["read count"]),
        row(&["read visit", "read visit-attribute", "read visit-aged"]),
        row(&["write nodes", "write batch-nodes"]),
        format!("| an update of a point | {} |", short(figure("point update, 1 thread"))),
        row(&["point read", "point read-16"]),
        format!("takes {} bytes.", short(figure("memory bare, 1 thread"))),
        format!("come to {} of what the disk", short(figure("commit sync, 1 thread"))),
        format!("clients to {} times that", short(figure("commit sync, 64 threads"))),
    ];
    for told in told {
        assert!(readme.contains(&told), "README.md does not say: {told}");
    }
}

/// Whoever reads how many times as fast trees are built looks for this one.
#[test]
fn the_readme_tells_where_java_is_ahead() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let report = read(&root, "docs/measurements/report/report.md");
    let readme = read(&root, "README.md").replace('\n', " ");
    let (_, behind) = report.split_once("\n## Behind\n").unwrap();
    let (behind, _) = behind.split_once("\n## ").unwrap();
    let times = behind.lines().filter_map(|line| {
        let cells: Vec<&str> = line.split(" | ").collect();
        let ["| write nodes" | "| write attributes", _, "java", .., last] = cells[..] else {
            return None;
        };
        last.split_once(" ×")?.0.parse::<f64>().ok()
    });
    let most = times.fold(0.0, f64::max);
    let told = format!("Java builds trees up to {most:.1} times as fast");
    let is_told = match most > 1.0 {
        true => readme.contains(&told),
        false => !readme.contains("Java builds trees"),
    };
    assert!(is_told, "README.md is not of this report: {told}");
    assert!(readme.contains("docs/measurements/report/report.md#behind"));
}

#[test]
fn a_report_is_made_again_from_the_raw_files_alone() {
    let folder = folder("again");
    measure("read", &folder, READ);
    let (markdown, html) = (read(&folder, "report.md"), read(&folder, "report.html"));
    for file in ["report.md", "report.html", "plots/read-speedup.svg"] {
        fs::remove_file(folder.join(file)).unwrap();
    }
    let line = format!("report {}", folder.display());
    told(bench(&line));
    assert_eq!(read(&folder, "report.md"), markdown);
    assert_eq!(read(&folder, "report.html"), html);
    assert!(read(&folder, "plots/read-speedup.svg").starts_with("<svg"));

    // Other samples, other figures: whatever the file says of the median.
    let mut raw: serde_json::Value = serde_json::from_str(&read(&folder, "raw/read.json")).unwrap();
    let row = &mut raw["rows"][0];
    row["samples"] = serde_json::json!([123.0e6, 125.0e6]);
    fs::write(folder.join("raw/read.json"), raw.to_string()).unwrap();
    told(bench(&line));
    assert!(read(&folder, "report.md").contains("| 124 M/s | 123 M/s – 125 M/s | 2 |"));
}

#[test]
fn what_quick_leaves_out_is_in_the_report_if_it_is_named() {
    let folder = folder("named");
    measure("workloads", &folder, "--case merge-0 --systems jungle");
    let report = read(&folder, "report.md");
    assert!(
        report.contains("### workloads") && report.contains("| merge-0 | 1 | jungle |"),
        "{report}"
    );
    assert!(report.contains("- read was not run: `cargo run"), "{report}");
}

#[test]
fn a_raw_file_that_is_damaged_is_a_line() {
    let folder = folder("damaged");
    measure("read", &folder, READ);
    fs::write(folder.join("raw/write.json"), "{").unwrap();
    let line = format!("report {}", folder.display());
    told(bench(&line));
    let report = read(&folder, "report.md");
    assert!(report.contains("- raw/write.json: EOF while parsing"), "{report}");
    assert!(report.contains("- point was not run: `cargo run"), "{report}");
    fs::write(folder.join("raw/read.json"), "{}").unwrap();
    let output = bench(&line);
    assert!(!output.status.success());
    assert!(text(&output.stderr).contains("nothing was measured in"));
}

#[test]
fn bars_of_torture_suites_are_judged_by_what_was_kept_of_them() {
    let folder = folder("torture");
    measure("read", &folder, READ);
    let line = format!("report {}", folder.display());
    let bars = |kept: &str| {
        fs::write(folder.join("raw/torture.json"), kept).unwrap();
        told(bench(&line));
        let report = read(&folder, "report.md");
        let of = |what: &str| report.lines().find(|line| line.contains(what)).unwrap().to_owned();
        (of("| 10,000 remote segments"), of("| kill -9 of a server, of both"), report)
    };
    let kept = r#"{"taken": "2026-01-01 00:00:00 UTC", "revision": "abc", "suites": {
        "engine": {"runs": 2, "passed": 20000, "failed": 0, "cpu_seconds": 1.0},
        "machines": {"runs": 1, "passed": 5, "failed": 1, "cpu_seconds": 1.0}}}"#;
    let (engine, machines, _) = bars(kept);
    assert!(engine.contains("20000 passed, 0 failed in 2 runs"), "{engine}");
    assert!(engine.ends_with("| pass |") && machines.ends_with("| FAIL |"), "{engine} {machines}");
    // Of which kills happened alone, nothing is told.
    let (_, machines, _) =
        bars(&kept.replace(r#""passed": 5, "failed": 1"#, r#""passed": 6, "failed": 0"#));
    assert!(machines.ends_with("| not measured |"), "{machines}");
    let (engine, _, report) = bars("{");
    assert!(engine.ends_with("| not measured |"), "{engine}");
    assert!(report.contains("- raw/torture.json: EOF while parsing"), "{report}");
}

/// Ray is only there if somebody asked for it by name.
#[test]
fn a_peer_that_is_missing_is_a_line() {
    let folder = folder("missing");
    let (_, stderr) = measure("alice", &folder, "--case chain --systems jungle,ray");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap();
    let is_there = root.join("target/peers/ray/bin/python").is_file();
    let report = read(&folder, "report.md");
    let line = "- ray: it is not built: `cargo xtask peers ray` (for alice)";
    assert_eq!(report.contains(line), !is_there, "{report}");
    let told = "without ray, until `cargo xtask peers ray`\n";
    assert_eq!(stderr.starts_with(told), !is_there, "{stderr}");
    assert!(report.contains("| chain | 2 | jungle |"), "{report}");
}

#[test]
fn neighbours_that_are_missing_are_told_by_name() {
    let folder = folder("neighbours");
    measure("neighbours", &folder, "--case embedded-load --systems jungle,etcd,zookeeper,oak");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap();
    let report = read(&folder, "report.md");
    assert!(report.contains("| embedded-load | 1 | jungle |"), "{report}");
    for (peer, file) in
        [("etcd", "peer"), ("zookeeper", "classes/Peer.class"), ("oak", "classes/Peer.class")]
    {
        let is_there = root.join("target/peers").join(peer).join(file).is_file();
        let line = format!("{peer}: it is not built: `cargo xtask peers {peer}` (for neighbours)");
        assert_eq!(report.contains(&line), !is_there, "{report}");
    }
}

#[test]
fn an_experiment_that_fails_is_a_line_and_is_tried_again() {
    let folder = folder("fails");
    let run = || without_engine("cluster", &folder, "");
    let (stdout, stderr) = run();
    assert!(stderr.contains("cluster: 0 figures in"), "{stderr}");
    assert!(stdout.contains(" 0 pass, 0 FAIL, "), "{stdout}");
    let report = read(&folder, "report.md");
    let why = report.lines().find(|line| line.starts_with("- cluster: failed: exit status: 101: "));
    assert!(why.unwrap().contains("the server can be started"), "{report}");
    assert!(!report.contains("RUST_BACKTRACE") && !report.contains("stack backtrace"), "{report}");
    assert!(run().1.contains("0 figures in"), "it is tried again");
}

#[test]
fn figures_stay_when_a_program_is_missing_or_fails() {
    let folder = folder("stays");
    let only = "--case remote-live";
    measure("alice", &folder, &format!("{only} --systems jungle"));
    let raw = read(&folder, "raw/alice.json");
    let (_, stderr) = without_engine("alice", &folder, &format!("{only} --again"));
    let told = "[1/1] alice: stays as it was, which has remote-live, jungle, 2 threads (failed: ";
    assert!(
        stderr.contains(told) && stderr.ends_with("; to replace it, remove raw/alice.json\n"),
        "{stderr}"
    );
    assert_eq!(stderr.lines().count(), 1, "{stderr}");
    assert_eq!(read(&folder, "raw/alice.json"), raw);

    // Of somebody who is not there it is known before anything is measured.
    let mut other: serde_json::Value = serde_json::from_str(&raw).unwrap();
    other["rows"][0]["system"] = "tokio".into();
    fs::write(folder.join("raw/alice.json"), other.to_string()).unwrap();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap();
    let is_there = root.join("target/peers/dataflow/release/peer").is_file();
    let (_, stderr) = measure("alice", &folder, &format!("{only} --systems jungle,tokio"));
    assert_eq!(stderr.contains("stays as it was, which has all cases, tokio"), !is_there);

    fs::remove_file(folder.join("raw/alice.json")).unwrap();
    let (_, stderr) = without_engine("alice", &folder, only);
    assert!(stderr.contains("alice: 0 figures in"), "{stderr}");
}

#[test]
fn figures_stay_when_less_is_asked_for() {
    let folder = folder("narrower");
    let all = "--case visit --threads 1,2 --systems jungle";
    measure("read", &folder, all);
    let stays = |more: &str, figure: &str| {
        let kept = read(&folder, "raw/read.json");
        let (_, stderr) = measure("read", &folder, more);
        let told = format!("[1/1] read: stays as it was, which has {figure} (not asked for)");
        assert_eq!(stderr, told + "; to replace it, remove raw/read.json\n", "{more}");
        assert_eq!(read(&folder, "raw/read.json"), kept, "{more}");
    };
    stays("--case visit-aged --threads 1,2 --systems jungle", "visit, jungle, 1 thread");
    stays("--case visit --threads 1 --systems jungle --again", "visit, jungle, 2 threads");
    // More than it has takes its place.
    let (_, stderr) = measure("read", &folder, "--threads 1,2 --systems jungle");
    assert!(stderr.starts_with("[1/1] read: 10 figures in "), "{stderr}");

    let kept = read(&folder, "raw/read.json");
    let mut other: serde_json::Value = serde_json::from_str(&kept).unwrap();
    other["rows"][0]["system"] = "java".into();
    fs::write(folder.join("raw/read.json"), other.to_string()).unwrap();
    stays("--threads 1,2 --systems jungle --again", "count, java, 1 thread");
    fs::remove_file(folder.join("raw/read.json")).unwrap();
    let (_, stderr) = measure("read", &folder, all);
    assert!(stderr.starts_with("[1/1] read: 6 figures in "), "{stderr}");
}

/// Runs a tiny experiment where no engine can be started; gives what it tells.
fn without_engine(experiment: &str, folder: &Path, more: &str) -> (String, String) {
    let place = folder.display();
    let line =
        format!("{experiment} --report {place} --quick --tiny --rounds 2 --systems jungle {more}");
    let mut command = Command::new(env!("CARGO_BIN_EXE_jungle-bench"));
    command.args(line.split_whitespace()).env("NATS_SERVER", folder.join("no-server"));
    told(command.output().unwrap())
}

#[test]
fn syncs_that_cannot_be_counted_are_a_line() {
    let folder = folder("syncs");
    let place = folder.display();
    let line = format!("store-peers --report {place} --quick --tiny --systems jungle --case syncs");
    let mut command = Command::new(env!("CARGO_BIN_EXE_jungle-bench"));
    told(command.args(line.split(' ')).env("PATH", &folder).output().unwrap());
    let report = read(&folder, "report.md");
    assert!(report.contains("- jungle: its syncs are not counted: strace is missing"), "{report}");
}

#[test]
fn busy_cores_are_measured_beside_idle_ones() {
    let folder = folder("idle");
    measure("idle-trap", &folder, "--threads 1,2 --systems jungle");
    let report = read(&folder, "report.md");
    let cores = std::thread::available_parallelism().unwrap().get();
    for case in ["free", "pinned", "occupied"] {
        for threads in [1, 2] {
            let is_there = case == "free" || threads < cores;
            let row = format!("| {case} | {threads} | jungle |");
            assert_eq!(report.contains(&row), is_there, "{row}: {report}");
        }
    }
    let picture = read(&folder, "plots/idle-trap-speedup.svg");
    assert!(picture.contains("PostgreSQL 9.2.4 (published)"), "{picture}");
}

#[test]
fn both_ways_are_in_one_raw_file() {
    let folder = folder("both");
    measure("read", &folder, "--case summary --threads 1 --systems jungle --occupy-idle=both");
    let raw: serde_json::Value = serde_json::from_str(&read(&folder, "raw/read.json")).unwrap();
    let has_idle = std::thread::available_parallelism().unwrap().get() > 1;
    assert_eq!(raw["rows"].as_array().unwrap().len(), 1, "{raw}");
    assert_eq!(raw["occupied"][0]["case"] == "summary", has_idle, "{raw}");
    let report = read(&folder, "report.md");
    assert_eq!(report.contains("- read summary, jungle, threads 1: "), has_idle, "{report}");
    assert!(report.contains("--occupy-idle=both"), "{report}");
}

#[test]
fn larger_clusters_are_predicted_simulated_and_drawn_as_such() {
    let folder = folder("scale");
    let line =
        format!("scale --report {} --quick --tiny --rounds 1 --systems jungle", folder.display());
    let (_, stderr) = told(bench(&line));
    // Fifteen parameters, four numbers of four numbers of servers, and 18 of three.
    assert!(stderr.contains("scale: 85 figures in "), "{stderr}");
    let report = read(&folder, "report.md");
    let (_, section) = report.split_once("## Scale beyond this machine").unwrap();
    assert!(section.contains("| tree | 1000 | 1000 | "), "{section}");
    assert!(section.contains("ZooKeeper: Wait-free coordination"), "{section}");
    let picture = read(&folder, "plots/scale-seen.svg");
    assert!(
        picture.contains("ring (predicted)") && picture.contains(" predicted dot"),
        "{picture}"
    );
    // All of it follows from the samples.
    let mut raw: serde_json::Value =
        serde_json::from_str(&read(&folder, "raw/scale.json")).unwrap();
    for row in raw["rows"].as_array_mut().unwrap() {
        if row["case"] == "publish" {
            row["samples"] = serde_json::json!([7_000_000.0]);
        }
    }
    fs::write(folder.join("raw/scale.json"), raw.to_string()).unwrap();
    told(bench(&format!("report {}", folder.display())));
    // What is added to the seven seconds is measured: on a busy machine it is long.
    let report = read(&folder, "report.md");
    let (_, cells) = report.split_once("\n| tree | 10 | 10 | ").unwrap();
    let (ms, _) = cells.split_once(' ').unwrap();
    assert!(ms.parse::<f64>().unwrap() >= 7_000.0, "{ms}");
}
