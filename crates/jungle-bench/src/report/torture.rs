//! What the torture suites have counted, as `cargo xtask torture ledger --report DIR` keeps it.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde::Deserialize;

use super::claims::State;
use crate::Failure;

/// `raw/torture.json`; of nothing, if there is none.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct Torture {
    /// When it was summed up, in universal time.
    taken: String,
    /// And at which revision: those of the runs are earlier ones, or this.
    revision: String,
    suites: BTreeMap<String, Sum>,
}

/// What all runs of a suite come to.
#[derive(Clone, Debug, Deserialize)]
struct Sum {
    runs: u64,
    passed: u64,
    failed: u64,
    /// When and at which revision, if that is not as of the others: it was run elsewhere.
    taken: Option<String>,
    revision: Option<String>,
}

impl Torture {
    /// What lies in the folder of a report.
    ///
    /// # Errors
    /// When the file is there and cannot be read.
    pub fn read(report: &Path) -> Result<Torture, Failure> {
        let path = report.join("raw/torture.json");
        match path.is_file() {
            true => Ok(serde_json::from_str(&fs::read_to_string(path)?)?),
            false => Ok(Torture::default()),
        }
    }

    /// Have so many points of a suite passed, and none failed, and did each of these kills happen
    /// alone? And what it came to.
    pub fn judge(&self, suite: &str, points_min: u64, alone: &[&str]) -> (State, String) {
        let how = format!(
            "`cargo xtask torture {suite}`, then `cargo xtask torture ledger --report DIR`"
        );
        let Some(Sum { runs, passed, failed, taken, revision }) = self.suites.get(suite) else {
            return (State::NotMeasured, format!("not run: {how}"));
        };
        let taken = taken.as_ref().unwrap_or(&self.taken);
        let revision = revision.as_ref().unwrap_or(&self.revision);
        let sum = format!(
            "{suite}: {passed} passed, {failed} failed in {runs} runs, until {taken}, revision \
             {revision}"
        );
        let times = |killed: &&str| {
            let part = self.suites.get(&format!("{suite}-{killed}"));
            part.map_or(0, |part| part.passed)
        };
        let counts: String = alone
            .iter()
            .map(|killed| format!(", {killed} killed alone: {}", times(killed)))
            .collect();
        let sum = sum + &counts;
        let is_all = alone.iter().all(|killed| times(killed) > 0);
        match (*failed, *passed >= points_min, is_all) {
            (0, true, true) => (State::Pass, sum),
            (0, true, false) => (State::NotMeasured, format!("{sum}, of 1 at least: {how}")),
            (0, false, _) => {
                (State::NotMeasured, format!("{sum}, of {points_min} points at least: {how}"))
            }
            (_, _, _) => (State::Fail, format!("{sum} FAIL")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{State, Torture};

    #[test]
    fn enough_points_without_a_failure_pass() {
        let judge = |passed: u64, failed: u64| {
            let kept = serde_json::json!({
                "taken": "2026-01-01 00:00:00 UTC", "revision": "abc", "suites": { "engine": {
                    "runs": 2, "passed": passed, "failed": failed, "cpu_seconds": 3.5,
                } },
            });
            let torture: Torture = serde_json::from_value(kept).unwrap();
            assert_eq!(torture.judge("machines", 6, &[]).0, State::NotMeasured);
            torture.judge("engine", 10_000, &[])
        };
        let (state, told) = judge(10_000, 0);
        assert_eq!(state, State::Pass);
        let sum = "engine: 10000 passed, 0 failed in 2 runs, until 2026-01-01 00:00:00 UTC, \
            revision abc";
        assert_eq!(told, sum);
        let kept = serde_json::json!({
            "taken": "now", "revision": "def", "suites": { "engine": {
                "runs": 2, "passed": 10_000, "failed": 0, "taken": "then", "revision": "abc",
            } },
        });
        let torture: Torture = serde_json::from_value(kept).unwrap();
        let (_, told) = torture.judge("engine", 10_000, &[]);
        assert!(told.ends_with("until then, revision abc"), "{told}");
        let (state, told) = judge(9_999, 0);
        assert_eq!(state, State::NotMeasured);
        assert!(told.contains("of 10000 points at least: `cargo xtask torture engine`"), "{told}");
        let (state, told) = judge(20_000, 1);
        assert_eq!(state, State::Fail);
        assert!(told.ends_with(" FAIL"), "{told}");
    }

    #[test]
    fn points_do_not_pass_for_kills_that_did_not_happen_alone() {
        let judge = |both: u64, failed: u64| {
            let sum = |passed: u64, failed: u64| {
                serde_json::json!({
                    "runs": 1, "passed": passed, "failed": failed, "cpu_seconds": 0.0,
                })
            };
            let mut suites = serde_json::json!({
                "machines": sum(6, failed), "machines-server": sum(2, 0),
            });
            if both > 0 {
                suites["machines-both"] = sum(both, 0);
            }
            let kept = serde_json::json!({
                "taken": "2026-01-01 00:00:00 UTC", "revision": "abc", "suites": suites,
            });
            let torture: Torture = serde_json::from_value(kept).unwrap();
            torture.judge("machines", 6, &["server", "both"])
        };
        let (state, told) = judge(3, 0);
        assert_eq!(state, State::Pass);
        assert!(told.ends_with(", server killed alone: 2, both killed alone: 3"), "{told}");
        let (state, told) = judge(0, 0);
        assert_eq!(state, State::NotMeasured);
        assert!(told.contains("both killed alone: 0, of 1 at least: `cargo xtask"), "{told}");
        assert_eq!(judge(3, 1).0, State::Fail);
    }
}
