//! Where crashes fell: a run that met too few of a kind proves less than it says, and is refused.

use std::sync::atomic::{AtomicU64, Ordering};

use jungle_store::disk::sim::{Call, CallKind};

use crate::suite::Outcome;

/// Smaller runs, which repeat a failure or look for one bug, may miss any kind.
const JUDGED_FROM: u64 = 50_000;

/// What power was lost in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    LogWrite,
    LogSync,
    /// The log goes on in another segment: that is made, named, or a name made to last.
    Segment,
    /// What a checkpoint made unneeded is removed.
    Trim,
    /// How the folder was left is noted.
    Mark,
    CheckpointWrite,
    CheckpointSync,
    /// The checkpoint's file is made, or a smaller one takes its place.
    Compaction,
    /// Any call while a folder is opened after a crash.
    Recovery,
    /// Any call while something is given back.
    Reclaiming,
    /// Any call from where a folder that an older program wrote is opened up to the end of the
    /// first checkpoint that it gets.
    Upgrade,
    /// A call of a checkpoint while others commit.
    Beside,
    /// A call to the folder that a backup goes to.
    Backup,
}

impl Kind {
    /// All of them, each with how many of 10,000 crashes are of it at least: about half of what
    /// there usually are.
    pub const ALL: [(Kind, u64); 13] = [
        (Kind::LogWrite, 500),
        (Kind::LogSync, 700),
        (Kind::Segment, 500),
        (Kind::Trim, 40),
        (Kind::Mark, 250),
        (Kind::CheckpointWrite, 2_000),
        (Kind::CheckpointSync, 500),
        (Kind::Compaction, 70),
        (Kind::Recovery, 3_000),
        (Kind::Reclaiming, 800),
        (Kind::Upgrade, 400),
        (Kind::Beside, 1),
        (Kind::Backup, 20),
    ];

    /// What a call is for. A file goes by the name that it was opened by, so that a segment may be
    /// `log/next` still, and the pages `pages.next`.
    pub fn of(call: &Call<'_>) -> Kind {
        let is_pages = call.name.starts_with("pages");
        match call.kind {
            CallKind::Write | CallKind::SetLen if is_pages => Kind::CheckpointWrite,
            CallKind::Sync if is_pages => Kind::CheckpointSync,
            _ if is_pages => Kind::Compaction,
            _ if call.name == "LOCK" => Kind::Mark,
            CallKind::Remove => Kind::Trim,
            CallKind::Write | CallKind::SetLen => Kind::LogWrite,
            CallKind::Sync => Kind::LogSync,
            _ => Kind::Segment,
        }
    }
}

/// How many crashes there were of each kind. One may be of several.
#[derive(Debug, Default)]
pub struct Counts([AtomicU64; Kind::ALL.len()]);

impl Counts {
    pub fn add(&self, kind: Kind, points: u64) {
        self.0[kind as usize].fetch_add(points, Ordering::Relaxed);
    }

    fn of(&self, kind: Kind) -> u64 {
        self.0[kind as usize].load(Ordering::Relaxed)
    }

    /// Tells how many there were, and refuses a run that had too few of some; one that came to less
    /// than half of the points that were asked for had too few of all, unless failures ended it.
    pub fn judge(&self, outcome: Outcome, asked: u64) -> Outcome {
        let told = Kind::ALL.map(|(kind, _)| format!("{} {kind:?}", self.of(kind)));
        println!("crash: {}", told.join(", "));
        let least = if outcome.failed == 0 { asked / 2 } else { 0 };
        let lacking = self.lacking(outcome.passed.max(least));
        for (kind, least) in &lacking {
            let (is, all) = (self.of(*kind), outcome.passed);
            println!(
                "crash: {is} of {all} crashes were of kind {kind:?}, at least {least} are to be"
            );
        }
        Outcome { failed: outcome.failed + lacking.len() as u64, ..outcome }
    }

    /// The kinds of which there were too few, with how many there ought to be.
    fn lacking(&self, all: u64) -> Vec<(Kind, u64)> {
        let least = Kind::ALL.map(|(kind, least)| (kind, all / 10_000 * least));
        let is_judged = all >= JUDGED_FROM;
        least.into_iter().filter(|(kind, least)| is_judged && self.of(*kind) < *least).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_without_one_kind_is_refused() {
        let outcome = Outcome { passed: 100_000, ..Outcome::default() };
        for (missing, _) in Kind::ALL {
            let counts = Counts::default();
            let others = Kind::ALL.into_iter().filter(|(kind, _)| *kind != missing);
            others.for_each(|(kind, least)| counts.add(kind, 10 * least));
            assert_eq!(counts.judge(outcome, 100_000).failed, 1, "without {missing:?}");
            counts.add(missing, 100_000);
            assert_eq!(counts.judge(outcome, 100_000).failed, 0);
        }
        let few = Outcome { passed: 1_000, ..Outcome::default() };
        assert_eq!(Counts::default().judge(few, 950).failed, 0);
        // As many were not asked for.
        assert_ne!(Counts::default().judge(few, 220_000).failed, 0);
        let ended = Outcome { failed: 3, ..few };
        assert_eq!(Counts::default().judge(ended, 220_000).failed, 3);
    }
}
