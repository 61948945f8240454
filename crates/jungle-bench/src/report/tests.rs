use std::collections::BTreeMap;

use super::claims::{self, Outcome, State};
use super::document::Block;
use super::torture::Torture;
use super::{curves, document};
use crate::lab::{Cause, Conditions, LeftOut, Machine, Raw, Settings};

/// A raw file as it would lie there: E1 on three numbers of threads, without Java.
fn raw() -> Raw {
    let row = |case: &str, system: &str, threads: u32, samples: [f64; 3]| {
        serde_json::json!({
            "experiment": "read", "case": case, "system": system, "threads": threads,
            // Nothing is taken from this one.
            "value": -1.0, "unit": "1/s", "samples": samples,
        })
    };
    let rows = [
        row("visit", "jungle", 1, [7.0e8, 6.0e8, 8.0e8]),
        row("visit", "jungle", 2, [1.3e9, 1.2e9, 1.4e9]),
        row("visit", "jungle", 4, [2.4e9, 2.3e9, 2.5e9]),
        row("visit", "haskell", 1, [5.0e7, 5.0e7, 5.0e7]),
        row("count", "jungle", 1, [1.0e9, 1.2e9, 1.1e9]),
        row("count", "haskell", 1, [5.0e7, 5.0e7, 5.0e7]),
    ];
    let left = |case: Option<&str>, system: &str, cause| LeftOut {
        case: case.map(str::to_owned),
        system: system.to_owned(),
        threads: None,
        cause,
        why: "cargo xtask peers".to_owned(),
    };
    Raw {
        experiment: "read".to_owned(),
        command: "jungle-bench read --report DIR".to_owned(),
        machine: Machine::here(),
        versions: BTreeMap::from([("jungle".to_owned(), "0.1.0".to_owned())]),
        settings: Settings {
            quick: false,
            tiny: false,
            threads: vec![1, 2, 4],
            tasks: 1000,
            rounds: 3,
            seed: 1,
            case: None,
            systems: vec!["jungle".to_owned(), "haskell".to_owned(), "java".to_owned()],
            occupy_idle: false,
            occupied_too: false,
        },
        conditions: Conditions {
            taken: "2026-01-01".to_owned(),
            load: Some(0.5),
            scheduling: None,
            seconds: 60.0,
        },
        rows: serde_json::from_value(rows.into()).unwrap(),
        occupied: Vec::new(),
        left_out: vec![
            left(None, "java", Cause::Missing),
            left(Some("visit-aged"), "jungle", Cause::Failed),
        ],
    }
}

/// What comes out where no torture suite was run.
fn outcomes(raws: &[Raw]) -> Vec<Outcome> {
    claims::outcomes(raws, &Torture::default())
}

/// Written and read as a file is.
fn raws() -> Vec<Raw> {
    let text = serde_json::to_string(&raw()).unwrap();
    vec![serde_json::from_str(&text).unwrap()]
}

#[test]
fn the_figures_are_derived_from_the_samples() {
    let raws = raws();
    let page = document(&raws, &[], &outcomes(&raws)).markdown();
    // The median of the samples, their spread, and the ratios of the rounds: 14, 12, 16.
    assert!(page.contains("| visit | 1 | jungle | 700 M/s | 600 M/s – 800 M/s | 3 |  |"), "{page}");
    assert!(page.contains("| 50.0 M/s | 50.0 M/s – 50.0 M/s | 3 | 14.0 (12.0–16.0) |"), "{page}");
    assert!(!page.contains("-1.00"), "{page}");
}

#[test]
fn bars_that_rest_on_few_rounds_say_so() {
    let of = |rounds: usize| {
        let mut raw = raw();
        for row in &mut raw.rows {
            row.samples.truncate(rounds);
        }
        let outcomes = outcomes(&[raw]);
        let found = outcomes.into_iter().find(|outcome| outcome.what.starts_with("read count"));
        found.unwrap().measured
    };
    assert!(of(3).contains("22.0 × (20.0 × to 24.0 ×) FAIL"), "{}", of(3));
    assert!(of(2).contains("22.0 × (20.0 × to 24.0 ×, 2 rounds) FAIL"), "{}", of(2));
    assert!(of(1).contains("20.0 × (one round) FAIL"), "{}", of(1));
}

#[test]
fn a_bar_of_which_no_round_has_both_sides_says_so() {
    let outcomes = outcomes(&[apart()]);
    let count = outcomes.iter().find(|outcome| outcome.what.starts_with("read count")).unwrap();
    assert_eq!(count.state, State::NotMeasured);
    let told = "count, 1 thread: never measured in one round with what it is held against";
    assert!(count.measured.contains(told), "{}", count.measured);
    assert!(count.measured.contains("count, 2 threads: not measured: "), "{}", count.measured);
}

/// Where the time had ended before ours was measured beside Haskell.
fn apart() -> Raw {
    let mut raw = raw();
    for row in raw.rows.iter_mut().filter(|row| row.system.name() == "haskell") {
        row.rounds = vec![3, 4, 5];
    }
    raw
}

#[test]
fn each_experiment_says_on_what_and_how_it_was_run() {
    let mut raw = raw();
    raw.machine.processor = "a processor".to_owned();
    raw.versions.insert("revision".to_owned(), "abc".to_owned());
    let line = |raw: &Raw| {
        let raws = [raw.clone()];
        let page = document(&raws, &[], &outcomes(&raws)).markdown();
        page.lines().find(|line| line.starts_with("| read | 2026")).unwrap().to_owned()
    };
    assert!(line(&raw).contains("| a processor | abc | not recorded |"), "{}", line(&raw));
    raw.conditions.scheduling = Some("SCHED_RR 1".to_owned());
    assert!(line(&raw).contains("| a processor | abc | SCHED_RR 1 |"), "{}", line(&raw));
}

#[test]
fn bars_pass_fail_or_say_why_not() {
    let outcomes = outcomes(&raws());
    let of = |what: &str| {
        let found = outcomes.iter().find(|outcome| outcome.what.starts_with(what));
        found.unwrap_or_else(|| panic!("no bar begins with {what}"))
    };
    // 1.1e9 is 22 times 5e7, of 25.
    let count = of("read count");
    assert_eq!(count.state, State::Fail);
    assert!(count.measured.contains("22.0 × (20.0 × to 24.0 ×) FAIL"), "{}", count.measured);
    assert!(count.measured.contains("count, 2 threads: not measured: not "), "{}", count.measured);
    let visit = of("read visit, no attributes");
    assert_eq!(visit.state, State::NotMeasured, "on two threads Haskell has no figure");
    assert!(visit.measured.starts_with("read visit, 1 thread: 14.0 ×"), "{}", visit.measured);
    let aged = of("read visit, an attribute");
    assert!(aged.measured.contains("jungle, failed: cargo xtask peers"), "{}", aged.measured);
    let threads = of("read and write, 2 threads");
    assert_eq!(threads.state, State::Fail, "visit: 1.86 of 1.9; and the rest is not there");
    assert!(threads.measured.contains("1.86 × of 1 thread"), "{}", threads.measured);
    assert!(of("diff of one place").measured.contains("jungle-bench diff --report DIR"));
}

#[test]
fn bars_of_the_store_have_the_floor_of_the_machine_beside_them() {
    let of = |experiment: &str, day: u32, case: &str, system: &str, unit: &str| {
        let row = serde_json::json!({
            "experiment": experiment, "case": case, "system": system, "threads": 1, "unit": unit,
            "samples": [4000.0, 3000.0, 5000.0],
        });
        let mut raw = raw();
        raw.experiment = experiment.to_owned();
        raw.conditions.taken = format!("2026-01-0{day}");
        raw.rows = serde_json::from_value(vec![row].into()).unwrap();
        raw
    };
    let mut raws = [
        of("commit", 1, "floor", "machine", "1/s"),
        of("flat", 3, "open-many", "jungle", "us"),
        of("store-peers", 2, "floor", "machine", "1/s"),
        raw(),
    ];
    let check = |raws: &[Raw], what: &str, floor: Option<&str>| {
        let outcomes = outcomes(raws);
        let bar = outcomes.iter().find(|outcome| outcome.what.starts_with(what)).unwrap();
        let told = bar.measured.split("; ").find_map(|told| told.strip_prefix("floor of "));
        assert_eq!(told, floor, "{what}: {}", bar.measured);
    };
    const FIGURES: &str = "4.00 k/s (3.00 k/s to 5.00 k/s)";
    let own = format!("commit at 2026-01-01: {FIGURES}");
    let newest = format!("store-peers at 2026-01-02: {FIGURES}");
    check(&raws, "durable commits, 1 client", Some(&own));
    check(&raws, "open and read a random old revision", Some(&newest));
    check(&raws, "against redb", Some(&newest));
    // What was not run has none, nor has what keeps nothing.
    check(&raws, "open a folder", None);
    check(&raws, "read visit", None);
    // A processor that is another one says nothing of it.
    raws[1].machine.processor = "another".to_owned();
    check(&raws, "open and read a random old revision", None);
}

#[test]
fn what_is_told_beside_a_bar_is_not_judged() {
    let row = |case: &str, times: f64| {
        serde_json::json!({
            "experiment": "commit", "case": case, "system": "jungle", "threads": 1, "unit": "x",
            "samples": [times],
        })
    };
    let rows = [row("readers", 1.0), row("readers-buffered", 1.1), row("readers-counting", 9.0)];
    let rows = serde_json::from_value(rows.to_vec().into()).unwrap();
    let raws = [Raw { experiment: "commit".to_owned(), rows, ..raw() }];
    let outcomes = outcomes(&raws);
    let readers = outcomes.iter().find(|outcome| outcome.what.starts_with("readers' p99")).unwrap();
    let measured = &readers.measured;
    assert_eq!(readers.state, State::Pass, "{measured}");
    assert!(measured.contains("commit readers-counting, 1 thread: 9.00 × (one round) (no bar)"));
    assert!(measured.contains("readers-writing, 1 thread: not measured: "), "{measured}");
    // Nothing judges this one.
    let compact = outcomes.iter().find(|outcome| outcome.what.ends_with("(compact)")).unwrap();
    assert_eq!(compact.state, State::Told);
    let page = document(&raws, &[], &outcomes).markdown();
    let line = page.lines().find(|line| line.contains("(compact)")).unwrap();
    assert!(line.contains("| told | compact-disk, 1 thread: not run: "), "{line}");
    assert!(line.ends_with(" | told |"), "{line}");
    let bars = outcomes.iter().filter(|outcome| outcome.state != State::Told).count();
    assert!(page.contains(&format!("\n{bars} bars: 1 pass, 0 FAIL, ")), "{page}");
    assert_eq!(bars + 1, outcomes.len());
}

/// What a bar is judged by may be kinder than what else was seen of the same.
#[test]
fn what_a_bar_leaves_out_stands_beside_it() {
    for (experiment, case, threads, unit) in [
        ("revisions", "open-cold", 1, "x"),
        ("reclaim", "reader-wall", 1, "ms"),
        ("reclaim", "writer-wall-beside", 1, "ms"),
        ("board", "slowed-mean", 1000, "x"),
    ] {
        let row = serde_json::json!({
            "experiment": experiment, "case": case, "system": "jungle", "threads": threads,
            "unit": unit, "samples": [900.0],
        });
        let rows = serde_json::from_value(vec![row].into()).unwrap();
        let raws = [Raw { experiment: experiment.to_owned(), rows, ..raw() }];
        let name = format!("{experiment} {case}, ");
        let outcomes = outcomes(&raws);
        let told = outcomes.iter().find(|outcome| outcome.measured.contains(&name)).unwrap();
        assert!(told.measured.contains("(one round) (no bar)"), "{told:?}");
        assert_eq!(told.state, State::NotMeasured, "beside a bar, of which nothing is there");
    }
}

#[test]
fn what_is_missing_is_told_with_the_way_to_get_it() {
    let raws = raws();
    let unread = ["write was not run".to_owned()];
    let page = document(&raws, &unread, &outcomes(&raws)).markdown();
    let (_, end) = page.split_once("## Not measured").unwrap();
    assert!(end.contains("- java: cargo xtask peers (for read)"), "{end}");
    assert!(end.contains("- write was not run"), "{end}");
    assert!(end.contains("- read: failed: cargo xtask peers (visit-aged, jungle)"), "{end}");
}

/// The lines of the file, behind its name.
fn gaps(raw: &Raw) -> Vec<String> {
    let raws = [raw.clone()];
    let page = document(&raws, &[], &outcomes(&raws)).markdown();
    let (_, end) = page.split_once("## Not measured").unwrap();
    let lines = end.lines().filter_map(|line| line.strip_prefix("- read: not "));
    lines.map(str::to_owned).collect()
}

#[test]
fn what_was_not_there_yet_is_told() {
    let mut raw = raw();
    raw.machine.cores = 4;
    raw.versions.insert("revision".to_owned(), "abc".to_owned());
    let told = "there yet when this was taken, on 2026-01-01 at revision abc (\
        all of haskell-intmap; all of imbl; \
        count of jungle, threads 2, 4; count of haskell, threads 2, 4; \
        visit of haskell, threads 2, 4; visit-attribute; visit-aged of haskell; summary)";
    assert_eq!(gaps(&raw), [told]);
    // Java is missing, which is told; without that line nothing is known of it.
    raw.left_out.clear();
    let told = told.replace("all of imbl; ", "all of imbl; all of java; ");
    assert_eq!(gaps(&raw), [told.replace("visit-aged of haskell", "visit-aged")]);
}

#[test]
fn what_was_not_asked_for_is_told() {
    let mut raw = raw();
    raw.left_out.clear();
    raw.rows.retain(|row| row.system.name() == "jungle" && row.case == "visit");
    raw.command = "jungle-bench read --report DIR --case visit --systems jungle".to_owned();
    raw.settings.systems = vec!["jungle".to_owned()];
    raw.settings.case = Some("visit".to_owned());
    (raw.machine.cores, raw.settings.quick) = (8, true);
    let lines = gaps(&raw);
    let [new, unasked] = &lines[..] else { panic!("{lines:?}") };
    assert!(new.ends_with("(visit-attribute; visit-aged)"), "{new}");
    let told = "asked for when this was taken, on 2026-01-01 at revision – (\
        all cases without `visit` in their names; all of haskell; all of haskell-intmap; \
        all of java; all of imbl; 8 threads, which --quick leaves out)";
    assert_eq!(unasked, told);
}

/// Ray is large, so whoever wants it names it.
#[test]
fn a_peer_that_nobody_has_named_is_told() {
    let mut raw = Raw { experiment: "alice".to_owned(), rows: Vec::new(), ..raw() };
    let is_told = |raw: &Raw| {
        let raws = [raw.clone()];
        let page = document(&raws, &[], &outcomes(&raws)).markdown();
        let line = "- alice: not asked for when this was taken, on 2026-01-01 at revision – (all \
            of ray: `cargo xtask peers ray`, then name it to `--systems`)\n";
        page.contains(line)
    };
    assert!(is_told(&raw));
    raw.settings.systems.push("ray".to_owned());
    assert!(!is_told(&raw));
}

#[test]
fn a_file_with_all_that_the_plan_has_lacks_nothing() {
    let mut raw = raw();
    raw.machine.cores = 4;
    let systems = crate::args::usual_systems();
    raw.settings.systems = systems.iter().map(|system| system.name().to_owned()).collect();
    let row = raw.rows[0].clone();
    raw.rows.clear();
    for case in crate::plan::cases("read").unwrap() {
        for (threads, system) in case.rows(&raw.settings.threads, &systems) {
            raw.rows.push(crate::results::Row { case: case.name, threads, system, ..row.clone() });
        }
    }
    assert_eq!(gaps(&raw), Vec::<String>::new());
}

#[test]
fn what_needs_an_idle_core_is_not_missed_on_all_cores() {
    let row = |case: &str, threads: usize| {
        serde_json::json!({
            "experiment": "idle-trap", "case": case, "system": "jungle", "threads": threads,
            "unit": "1/s", "samples": [1e8],
        })
    };
    let rows = [row("free", 1), row("free", 2), row("pinned", 1), row("occupied", 1)];
    let rows = serde_json::from_value(rows.to_vec().into()).unwrap();
    let mut raw = Raw { experiment: "idle-trap".to_owned(), rows, ..raw() };
    (raw.machine.cores, raw.settings.threads) = (2, vec![1, 2]);
    raw.settings.systems = vec!["jungle".to_owned()];
    raw.left_out.clear();
    let told = |raw: &Raw| super::gaps::lines(std::slice::from_ref(raw));
    assert!(told(&raw)[0].ends_with(" (all of postgres)"), "{:?}", told(&raw));
    raw.rows.retain(|row| row.case != "pinned");
    assert!(told(&raw)[0].ends_with(" (all of postgres; pinned)"), "{:?}", told(&raw));
}

#[test]
fn systems_that_are_not_run_here_stand_beside_ours() {
    let row = serde_json::json!([{
        "experiment": "flat", "case": "open-many", "system": "jungle", "threads": 1,
        "unit": "us", "samples": [13.0, 12.0, 11.0],
    }]);
    let rows = serde_json::from_value(row).unwrap();
    let raws = [Raw { experiment: "flat".to_owned(), rows, ..raw() }];
    let page = document(&raws, &[], &outcomes(&raws)).markdown();
    let (_, section) = page.split_once("## Not run here").unwrap();
    let (section, _) = section.split_once("\n## ").unwrap();
    let beside = "| 18 µs | github.com/sirixdb/sirix, docs | flat open-many: 12.0 µs |";
    assert!(section.contains(beside), "{section}");
    assert!(section.contains("| commit bytes: not measured |"), "{section}");
    for system in ["Irmin", "TerminusDB", "XTDB", "Datomic", "CouchDB", "Noms", "eXist-db"] {
        assert!(section.contains(&format!("\n| {system} | ")), "{system}: {section}");
    }
}

#[test]
fn losses_are_a_section_of_their_own_the_worst_first() {
    let mut raw = raw();
    let count = |page: &[Raw]| {
        let page = document(page, &[], &outcomes(page)).markdown();
        let (_, section) = page.split_once("\n## Behind\n").unwrap();
        section.split_once("\n## ").unwrap().0.to_owned()
    };
    let none = count(std::slice::from_ref(&raw));
    assert!(none.contains("Of 2 figures") && !none.contains("| case |"), "{none}");
    assert!(!none.contains("no round has both"), "{none}");
    let never = count(&[apart()]);
    assert!(never.contains("Of 0 figures"), "{never}");
    assert!(never.contains("Of 2 more it is not known: no round has both."), "{never}");
    for row in raw.rows.iter_mut().filter(|row| row.system.name() == "haskell") {
        let more = if row.case == "visit" { 2e9 } else { 3e9 };
        row.samples.fill(more);
    }
    let both = count(&[raw]);
    assert!(both.contains("it does better in 2:"), "{both}");
    let rows: Vec<&str> = both.lines().filter(|line| line.starts_with("| read ")).collect();
    // 3e9 over 1.1e9, 2e9 over 7e8.
    assert!(rows[0].starts_with("| read visit | 1 | haskell |"), "{both}");
    assert!(rows[0].contains("| 2.86 × (2.50 × to 3.33 ×) |"), "{both}");
    assert!(rows[1].contains("| read count | 1 | haskell |"), "{both}");
}

#[test]
fn the_page_stands_alone() {
    let raws = raws();
    let document = document(&raws, &[], &outcomes(&raws));
    let page = document.html();
    for elsewhere in ["<script", "<link", "src=", "url(", "@import"] {
        assert!(!page.contains(elsewhere), "{elsewhere}");
    }
    assert!(page.contains("prefers-color-scheme: dark"));
    let names: Vec<&str> = document.pictures().map(|(name, _)| name).collect();
    assert_eq!(names, ["read-throughput", "read-speedup"]);
    assert_eq!(page.matches("<svg").count(), 2);
    assert!(page.contains("Haskell Jungle (published)"));
}

/// Of what no figure draws, too, and of peers.
#[test]
fn every_point_that_is_too_good_is_told() {
    let mut raw = raw();
    let added = [(1, [1e8, 1.1e8, 1e8]), (2, [2.6e8, 2.7e8, 2.6e8])];
    raw.rows.extend(added.map(|(threads, samples)| {
        let row = serde_json::json!({
            "experiment": "read", "case": "summary", "system": "jungle", "threads": threads,
            "unit": "1/s", "samples": samples,
        });
        serde_json::from_value::<crate::results::Row>(row).unwrap()
    }));
    let raws = [raw];
    let page = document(&raws, &[], &outcomes(&raws)).markdown();
    let (_, end) = page.split_once("### More than linear, and not drawn").unwrap();
    assert!(end.contains("- read: jungle summary: on 2 a thread does 30.0 % more"), "{end}");
}

#[test]
fn busy_cores_are_held_against_idle_ones() {
    let row = |case: &str, threads: usize, rate: f64| {
        serde_json::json!({
            "experiment": "idle-trap", "case": case, "system": "jungle", "threads": threads,
            "unit": "1/s", "samples": [rate],
        })
    };
    // Older files have both on all cores, too, and nothing that is pinned alone.
    let mut rows = vec![
        row("free", 1, 8.0e8),
        row("occupied", 1, 6.0e8),
        row("free", 2, 9.0e8),
        row("occupied", 2, 1.0e9),
    ];
    let told = |rows: &[serde_json::Value]| {
        let rows = serde_json::from_value(rows.to_vec().into()).unwrap();
        let mut raw = Raw { experiment: "idle-trap".to_owned(), rows, ..raw() };
        raw.machine.cores = 2;
        curves::idle_trap(&raw)
    };
    let both = "jungle occupied over free, threads 1: 0.75 × (one round)";
    assert_eq!(told(&rows), [both]);
    rows.push(row("pinned", 1, 7.5e8));
    let (busy, pinned) = (
        "jungle occupied over pinned, threads 1: 0.80 × (one round)",
        "jungle pinned over free, threads 1: 0.94 × (one round)",
    );
    assert_eq!(told(&rows), [busy, both, pinned]);
}

#[test]
fn what_was_measured_both_ways_is_told() {
    let mut raw = raw();
    let told = |raw: &Raw| {
        let raws = [raw.clone()];
        document(&raws, &[], &outcomes(&raws)).markdown()
    };
    let title = "### Beside busy cores";
    assert!(!told(&raw).contains(title));
    let mut busy = raw.rows[0].clone();
    busy.samples.iter_mut().for_each(|sample| *sample *= 0.9);
    raw.occupied.push(crate::results::Row { value: 0.9 * busy.value, ..busy });
    let page = told(&raw);
    let (_, section) = page.split_once(title).unwrap();
    let line = "- read visit, jungle, threads 1: 630 M/s, of 700 M/s beside idle ones: \
        0.90 × (0.90 to 0.90, 3 rounds)";
    assert!(section.contains(line), "{section}");
}

/// On idle cores 4 threads do 4.8 times what one does, beside busy ones 4 times.
#[test]
fn a_curve_is_drawn_beside_busy_cores_too_which_shows_the_trap() {
    let mut raw = raw();
    raw.machine.cores = 4;
    raw.rows.retain(|row| row.case == "visit" && row.system.name() == "jungle");
    for (row, rate) in raw.rows.iter_mut().zip([5.0e8, 1.1e9, 2.4e9]) {
        row.samples.fill(rate);
    }
    let mut busy = raw.rows[..2].to_vec();
    busy[0].samples.fill(6.0e8);
    busy[1].samples.fill(1.2e9);
    raw.occupied = busy;
    let found = curves::FIGURES[0].curves(&raw);
    let of = |name: &str| found.iter().find(|curve| curve.name == name).unwrap();
    let (idle, busy) = (of("jungle visit"), of("jungle visit beside busy cores"));
    let times = |curve: &curves::Curve| curve.speedups.iter().map(|mark| mark.y).collect();
    let (idle_times, busy_times): (Vec<f64>, Vec<f64>) = (times(idle), times(busy));
    assert_eq!((idle_times, busy_times), (vec![1.0, 2.2, 4.8], vec![1.0, 2.0, 4.0]));
    assert_eq!(idle.too_good(false).len(), 2);
    assert_eq!(busy.too_good(false), Vec::<String>::new());
}

/// The originals sent as many from each, however many there were.
#[test]
fn what_clients_send_is_told_beside_their_curves() {
    let row = |case: String, unit: &str, sample: f64| {
        serde_json::json!({
            "experiment": "cassandra", "case": case, "system": "jungle", "threads": 1,
            "unit": unit, "samples": [sample],
        })
    };
    let of = |clients: u32| {
        let case = |what: &str| format!("read-one-{clients}-{what}");
        [row(case("mean"), "1/s", 1e4), row(case("deviation"), "x", 0.1)]
    };
    let rows = serde_json::from_value([of(10), of(15)].concat().into()).unwrap();
    let raws = [Raw { experiment: "cassandra".to_owned(), rows, ..raw() }];
    let page = document(&raws, &[], &outcomes(&raws)).markdown();
    let (_, part) = page.split_once("### E4: one server over clients").unwrap();
    assert!(part.contains("more of them send two fifths of that in all"), "{part}");
}

#[test]
fn three_points_are_fitted_and_drawn() {
    let raws = raws();
    let figure = &curves::FIGURES[0];
    let found = figure.curves(&raws[0]);
    let visit = found.iter().find(|curve| curve.name == "jungle visit").unwrap();
    // The medians of the rounds' ratios: 1.3/0.7, 1.2/0.6, 1.4/0.8.
    assert!((visit.speedups[1].y - 13.0 / 7.0).abs() < 1e-9);
    assert_eq!(visit.fitted()[1], "3");
    let plot = figure.speedup(&found).unwrap();
    let has = |law: &str| plot.lines.iter().any(|line| line.name == format!("jungle visit: {law}"));
    assert!(has("Amdahl's law") && !has("Universal Scalability Law"), "that needs four points");
    assert_eq!(visit.fitted()[3], "3 of the 4 points that a fit needs");
    let blocks = document(&raws, &[], &outcomes(&raws)).blocks;
    let is_fit = |block: &Block| matches!(block, Block::Table(head, _) if head[0] == "curve");
    assert!(blocks.iter().any(is_fit));
}
