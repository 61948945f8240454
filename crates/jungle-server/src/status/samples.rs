//! How the server did in the last minutes, looked at now and then.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use jungle::Jungle;
use tokio::time::MissedTickBehavior;

use crate::app::App;
use crate::metrics::Counts;

/// How often it is looked.
const EVERY: Duration = Duration::from_secs(2);

/// How many looks are kept: those of five minutes.
pub(super) const KEPT: usize = 151;

/// What a look sees: counts since the start, and what there is.
#[derive(Clone, Debug)]
pub(crate) struct Sample {
    at: Instant,
    counts: Counts,
    revision: u64,
    /// Groups of commits that were written to the folder's log, if there is one.
    groups: Option<u64>,
    pub(super) memory_bytes: u64,
    pub(super) connections: u64,
    pub(super) watchers: u64,
}

/// Who looks, and the newest looks, the oldest first.
pub(crate) struct Samples {
    jungle: Jungle,
    looks: Mutex<VecDeque<Sample>>,
}

/// What happened between two looks.
#[derive(Clone, Debug)]
pub(super) struct Span {
    pub(super) requests_per_second: f64,
    pub(super) failed_per_second: f64,
    pub(super) commits_per_second: f64,
    /// Commits that were written at once, on average; none without a commit.
    pub(super) commits_per_group: Option<f64>,
    /// In milliseconds; none without an answer.
    pub(super) half_within: Option<f64>,
    pub(super) p99: Option<f64>,
    /// What there was at its end.
    pub(super) end: Sample,
}

impl Samples {
    pub(crate) fn new(jungle: Jungle) -> Samples {
        Samples { jungle, looks: Mutex::default() }
    }

    /// Looks until the server stops.
    pub(crate) async fn keep(&self, app: &App) {
        let mut stopping = app.stopping.clone();
        let mut ticks = tokio::time::interval(EVERY);
        // A process that stood still looks once, and not as often as it would have.
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                () = stopping.wait() => return,
                _ = ticks.tick() => self.look(app),
            }
        }
    }

    fn look(&self, app: &App) {
        let usage = self.jungle.arena().usage();
        let sample = Sample {
            at: Instant::now(),
            counts: app.metrics.counts(),
            revision: self.jungle.revision().number(),
            groups: app.upkeep.as_ref().and_then(|upkeep| Some(upkeep.log_stats()?.groups)),
            memory_bytes: (usage.structure_bytes + usage.payload_bytes) as u64,
            connections: app.metrics.connections.get(),
            watchers: app.metrics.watchers.get(),
        };
        let mut samples = self.looks.lock().unwrap_or_else(PoisonError::into_inner);
        if samples.len() == KEPT {
            samples.pop_front();
        }
        samples.push_back(sample);
    }

    /// What happened since the oldest look, up to now.
    pub(super) fn spans(&self, app: &App) -> Vec<Span> {
        if self.looks.lock().unwrap_or_else(PoisonError::into_inner).len() < 2 {
            self.look(app);
        }
        let samples = self.looks.lock().unwrap_or_else(PoisonError::into_inner);
        let pairs = samples.iter().zip(samples.iter().skip(1));
        pairs.map(|(from, to)| Span::between(from, to)).collect()
    }
}

impl Span {
    fn between(from: &Sample, to: &Sample) -> Span {
        let seconds = (to.at - from.at).as_secs_f64().max(1e-3);
        let commits = to.revision.saturating_sub(from.revision) as f64;
        let groups = to.groups.zip(from.groups).map(|(to, from)| to.saturating_sub(from));
        let counts = to.counts.since(&from.counts);
        let within = |part| counts.within(part).map(|micros| micros / 1e3);
        Span {
            requests_per_second: counts.answers as f64 / seconds,
            failed_per_second: counts.failed as f64 / seconds,
            commits_per_second: commits / seconds,
            // A commit that is just being made may count with one look, its group with the next.
            commits_per_group: groups
                .filter(|&groups| groups > 0 && commits > 0.0)
                .map(|groups| commits / groups as f64),
            half_within: within(0.5),
            p99: within(0.99),
            end: to.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::CLASSES;

    #[test]
    fn a_span_tells_rates_and_how_long_answers_took() {
        let began = Instant::now();
        let sample = |seconds, counts, revision, groups| Sample {
            at: began + Duration::from_secs(seconds),
            counts,
            revision,
            groups,
            memory_bytes: 1,
            connections: 2,
            watchers: 3,
        };
        let mut counts = Counts { answers: 100, failed: 2, classes: [0; CLASSES.len()] };
        counts.classes[1] = 98;
        counts.classes[3] = 2;
        let from = sample(0, Counts::default(), 10, Some(5));
        let span = Span::between(&from, &sample(4, counts, 30, Some(9)));
        assert!((span.requests_per_second - 25.0).abs() < 1e-9);
        assert!((span.failed_per_second - 0.5).abs() < 1e-9);
        assert!((span.commits_per_second - 5.0).abs() < 1e-9);
        assert_eq!(span.commits_per_group, Some(5.0));
        let class = |at: usize| (CLASSES[at - 1] as f64 / 1e3, CLASSES[at] as f64 / 1e3);
        let (half, p99) = (span.half_within.unwrap(), span.p99.unwrap());
        assert!(class(1).0 < half && half < class(1).1, "{half}");
        assert!(class(3).0 < p99 && p99 < class(3).1, "{p99}");

        // Slower than any class.
        let slow = Counts { answers: 10, ..Counts::default() };
        let slow = Span::between(&from, &sample(4, slow, 10, None));
        assert_eq!((slow.half_within, slow.p99), (Some(10_000.0), Some(10_000.0)));

        let idle = Span::between(&from, &sample(4, Counts::default(), 10, None));
        assert_eq!((idle.half_within, idle.commits_per_group), (None, None));
        assert_eq!(idle.end.watchers, 3);
    }
}
