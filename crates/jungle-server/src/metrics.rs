//! What is counted, in the text format of Prometheus.

use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use jungle::{Clock, Collected, Jungle, SystemClock};

use crate::upkeep::seconds;

/// Upper ends of the classes of durations, in microseconds.
pub(crate) const CLASSES: [u64; 14] = [
    50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 1_000_000,
    10_000_000,
];

/// Counters. They are told, not decided by, so their order among each other does not matter:
/// `Relaxed` everywhere.
pub(crate) struct Metrics {
    started: Instant,
    /// By the first digit of the status.
    answers: [AtomicU64; 6],
    classes: [AtomicU64; CLASSES.len()],
    micros: AtomicU64,
    pub(crate) connections: Gauge,
    pub(crate) connections_refused: Counter,
    pub(crate) watchers: Gauge,
    pub(crate) panics: Arc<Counter>,
    pub(crate) collections: Arc<Collections>,
}

/// What was given back of what nobody could see any more.
#[derive(Debug, Default)]
pub(crate) struct Collections {
    runs: AtomicU64,
    /// In seconds since 1970.
    last: AtomicU64,
    bytes: AtomicU64,
    returned_bytes: AtomicU64,
    failed: AtomicBool,
}

impl Collections {
    /// One has ended.
    pub(crate) fn count<E>(&self, collected: &Result<Collected, E>) {
        self.failed.store(collected.is_err(), Ordering::Relaxed);
        let Ok(collected) = collected else { return };
        let bytes = collected.structure_bytes + collected.payload_bytes;
        self.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
        self.returned_bytes.fetch_add(collected.returned_bytes as u64, Ordering::Relaxed);
        self.last.store(seconds(SystemClock.now()), Ordering::Relaxed);
        self.runs.fetch_add(1, Ordering::Relaxed);
    }

    fn text(&self, text: &mut String) {
        let get = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let all = [
            ("jungle_collections_total", "counter", "Collections of memory.", get(&self.runs)),
            (
                "jungle_collection_timestamp_seconds",
                "gauge",
                "When memory was last collected; 0 when it was not since the start.",
                get(&self.last),
            ),
            (
                "jungle_collected_bytes_total",
                "counter",
                "Memory that collections made usable again.",
                get(&self.bytes),
            ),
            (
                "jungle_collected_returned_bytes_total",
                "counter",
                "What of it the system got back.",
                get(&self.returned_bytes),
            ),
            (
                "jungle_collection_failed",
                "gauge",
                "Whether the last one could not be done.",
                self.failed.load(Ordering::Relaxed).into(),
            ),
        ];
        for (name, what, help, value) in all {
            kind(text, name, what, help);
            line(text, name, "", value);
        }
    }
}

/// How many answers there were, at some moment or between two.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counts {
    pub(crate) answers: u64,
    /// With a status from 500 on.
    pub(crate) failed: u64,
    /// By how long they took; those beyond the last class are in none.
    pub(crate) classes: [u64; CLASSES.len()],
}

impl Counts {
    pub(crate) fn since(&self, before: &Counts) -> Counts {
        let mut classes = self.classes;
        for (count, before) in classes.iter_mut().zip(before.classes) {
            *count = count.saturating_sub(before);
        }
        let answers = self.answers.saturating_sub(before.answers);
        Counts { answers, failed: self.failed.saturating_sub(before.failed), classes }
    }

    /// Within how many microseconds this part of the answers came, as if those of a class were
    /// spread evenly over it, and those beyond the last came at its end; none without an answer.
    pub(crate) fn within(&self, part: f64) -> Option<f64> {
        let all = self.answers.max(self.classes.iter().sum());
        let mut left = all as f64 * part;
        let mut from = 0.0;
        for (&end, &count) in CLASSES.iter().zip(&self.classes) {
            let (end, count) = (end as f64, count as f64);
            if count > 0.0 && left <= count {
                return Some(from + (end - from) * left / count);
            }
            left -= count;
            from = end;
        }
        (all > 0).then_some(from)
    }
}

/// Something that goes up.
#[derive(Debug, Default)]
pub(crate) struct Counter(AtomicU64);

/// Something that there is now.
#[derive(Default)]
pub(crate) struct Gauge(AtomicU64);

/// Counts a bug that ends what has this.
pub(crate) struct OnUnwind<'c>(&'c Counter);

impl Drop for OnUnwind<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.count();
        }
    }
}

impl Counter {
    pub(crate) fn on_unwind(&self) -> OnUnwind<'_> {
        OnUnwind(self)
    }

    pub(crate) fn count(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

impl Gauge {
    /// Counts one until the guard is dropped; tells how many there are with it.
    pub(crate) fn enter(&self) -> (Present<'_>, u64) {
        let before = self.0.fetch_add(1, Ordering::Relaxed);
        (Present(self), before + 1)
    }

    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// One that is there.
pub(crate) struct Present<'g>(&'g Gauge);

impl Drop for Present<'_> {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Metrics {
    pub(crate) fn new() -> Metrics {
        Metrics {
            started: Instant::now(),
            answers: Default::default(),
            classes: Default::default(),
            micros: AtomicU64::new(0),
            connections: Gauge::default(),
            connections_refused: Counter::default(),
            watchers: Gauge::default(),
            panics: Arc::default(),
            collections: Arc::default(),
        }
    }

    /// A request was answered.
    pub(crate) fn answered(&self, status: u16, time: Duration) {
        let class = usize::from(status / 100).min(self.answers.len() - 1);
        self.answers[class].fetch_add(1, Ordering::Relaxed);
        let micros = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        self.micros.fetch_add(micros, Ordering::Relaxed);
        if let Some(class) = CLASSES.iter().position(|&end| micros <= end) {
            self.classes[class].fetch_add(1, Ordering::Relaxed);
        }
    }

    pub(crate) fn counts(&self) -> Counts {
        let get = |count: &AtomicU64| count.load(Ordering::Relaxed);
        Counts {
            answers: self.answers.iter().map(get).sum(),
            failed: get(&self.answers[5]),
            classes: self.classes.each_ref().map(get),
        }
    }

    pub(crate) fn uptime(&self) -> Duration {
        self.started.elapsed()
    }

    pub(crate) fn text(&self, jungle: &Jungle) -> String {
        let mut text = String::with_capacity(4096);
        let get = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let mut all = 0;
        kind(&mut text, "jungle_http_requests_total", "counter", "Answers by class of status.");
        for (class, count) in self.answers.iter().enumerate().skip(1) {
            let count = get(count);
            all += count;
            line(&mut text, "jungle_http_requests_total", &format!("status=\"{class}xx\""), count);
        }
        let name = "jungle_http_request_seconds";
        kind(&mut text, name, "histogram", "From the head of a request to that of the answer.");
        let mut below = 0;
        for (end, count) in CLASSES.iter().zip(&self.classes) {
            below += get(count);
            let label = format!("le=\"{}\"", *end as f64 / 1e6);
            line(&mut text, &format!("{name}_bucket"), &label, below);
        }
        line(&mut text, &format!("{name}_bucket"), "le=\"+Inf\"", all);
        line(&mut text, &format!("{name}_sum"), "", get(&self.micros) as f64 / 1e6);
        line(&mut text, &format!("{name}_count"), "", all);
        let usage = jungle.arena().usage();
        let rest = [
            ("jungle_connections", "gauge", "Connections.", self.connections.get()),
            (
                "jungle_connections_refused_total",
                "counter",
                "Connections beyond the limits.",
                self.connections_refused.get(),
            ),
            ("jungle_watchers", "gauge", "Streams that watch.", self.watchers.get()),
            (
                "jungle_panics_total",
                "counter",
                "Connections, requests and other work that a bug ended.",
                self.panics.get(),
            ),
            ("jungle_revision", "gauge", "The newest revision.", jungle.revision().number()),
            ("jungle_trees", "gauge", "Trees.", jungle.list_trees().len() as u64),
            (
                "jungle_memory_bytes",
                "gauge",
                "Memory of all trees.",
                (usage.structure_bytes + usage.payload_bytes) as u64,
            ),
            ("jungle_uptime_seconds", "gauge", "Since start.", self.uptime().as_secs()),
        ];
        for (name, what, help, value) in rest {
            kind(&mut text, name, what, help);
            line(&mut text, name, "", value);
        }
        self.collections.text(&mut text);
        text
    }
}

pub(crate) fn kind(text: &mut String, name: &str, kind: &str, help: &str) {
    // A string takes everything.
    let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}");
}

pub(crate) fn line(text: &mut String, name: &str, label: &str, value: impl std::fmt::Display) {
    let _ = match label {
        "" => writeln!(text, "{name} {value}"),
        label => writeln!(text, "{name}{{{label}}} {value}"),
    };
}
