//! The status page: how the server is, and how it did in the last five minutes.

mod chart;
mod samples;

use std::sync::Arc;

use askama::Template;
use axum::Router;
use axum::response::Response;
use axum::routing::get;
use jungle::Jungle;
use jungle_cluster::Status;

use crate::access::Visitor;
use crate::api::of_all;
use crate::app::App;
use crate::board::{Sorry, html};
use crate::metrics::CLASSES;
use chart::Chart;
use samples::Span;

pub(crate) use samples::Samples;

/// How many spans there are at most.
const SPANS: usize = samples::KEPT - 1;

#[derive(Template)]
#[template(path = "status.html")]
struct Page {
    facts: Vec<(&'static str, String)>,
    charts: Vec<Chart>,
}

pub(crate) fn routes() -> Router<Arc<App>> {
    Router::new().route("/status", get(status))
}

async fn status(app: Visitor) -> Result<Response, Sorry> {
    let jungle = of_all(&app, "how the server is, is")?;
    let spans = app.samples.spans(&app);
    Ok(html(&Page { facts: facts(&app, jungle), charts: charts(&spans) })?)
}

fn facts(app: &App, jungle: &Jungle) -> Vec<(&'static str, String)> {
    let mut facts = vec![
        ("Revision", whole(jungle.revision().number() as f64)),
        ("Trees", whole(jungle.list_trees().len() as f64)),
        ("Up for", time(app.metrics.uptime().as_secs())),
        ("Version", env!("CARGO_PKG_VERSION").to_owned()),
    ];
    if let Some(checkpoints) = &app.checkpoints {
        let failed = checkpoints.error().map_or("", |_| ", and the next failed");
        let newest = whole(checkpoints.newest().number() as f64);
        facts.push(("Checkpoint", format!("revision {newest}{failed}")));
    }
    if let Some(cluster) = &app.cluster {
        facts.push(("Cluster", stands(&cluster.status())));
    }
    facts
}

/// How a server of a cluster stands.
fn stands(status: &Status) -> String {
    match (&status.fault, status.outage) {
        (Some(fault), _) => format!("stopped: {fault}"),
        (None, Some(outage)) => format!("its log is silent for {}", time(outage.as_secs())),
        (None, None) => "follows its log".to_owned(),
    }
}

fn charts(spans: &[Span]) -> Vec<Chart> {
    let each = |of: fn(&Span) -> Option<f64>| spans.iter().map(of).collect::<Vec<_>>();
    let mut charts = vec![
        Chart::new(
            "Requests a second",
            rate,
            &[
                ("all", each(|span| Some(span.requests_per_second))),
                ("failed", each(|span| Some(span.failed_per_second))),
            ],
        ),
        Chart::new(
            "Time to an answer",
            millis,
            &[
                ("half within", each(|span| span.half_within)),
                ("99 % within", each(|span| span.p99)),
            ],
        ),
        Chart::new(
            "Commits a second",
            rate,
            &[("commits", each(|span| Some(span.commits_per_second)))],
        ),
        Chart::new(
            "Memory of the trees",
            bytes,
            &[("memory", each(|span| Some(span.end.memory_bytes as f64)))],
        ),
        Chart::new(
            "Connections",
            whole,
            &[
                ("all", each(|span| Some(span.end.connections as f64))),
                ("watch", each(|span| Some(span.end.watchers as f64))),
            ],
        ),
    ];
    if spans.iter().any(|span| span.commits_per_group.is_some()) {
        let grouped = each(|span| span.commits_per_group);
        charts.insert(3, Chart::new("Commits written at once", rate, &[("on average", grouped)]));
    }
    charts
}

fn whole(value: f64) -> String {
    let digits = format!("{value:.0}");
    let groups: Vec<&str> = digits
        .as_bytes()
        .rchunks(3)
        .rev()
        .map(|group| str::from_utf8(group).unwrap_or(""))
        .collect();
    groups.join(",")
}

fn rate(value: f64) -> String {
    if value >= 100.0 || value == 0.0 { whole(value) } else { format!("{value:.1}") }
}

/// Beyond the last class it is not known how slow an answer was.
const SLOWEST: f64 = CLASSES[CLASSES.len() - 1] as f64 / 1e3;

fn millis(value: f64) -> String {
    match value {
        SLOWEST.. => "over 10 s".to_owned(),
        1_000.0.. => format!("{:.1} s", value / 1e3),
        10.0.. => format!("{value:.0} ms"),
        _ => format!("{value:.2} ms"),
    }
}

fn bytes(value: f64) -> String {
    match value {
        1e9.. => format!("{:.2} GB", value / 1e9),
        1e6.. => format!("{:.1} MB", value / 1e6),
        _ => format!("{:.0} kB", value / 1e3),
    }
}

fn time(seconds: u64) -> String {
    let (minutes, hours) = (seconds / 60, seconds / 3600);
    match hours {
        0 if minutes == 0 => format!("{seconds} s"),
        0 => format!("{minutes} min"),
        1..48 => format!("{hours} h {} min", minutes % 60),
        _ => format!("{} days", hours / 24),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_said_as_people_say_them() {
        assert_eq!([0.0, 999.0, 1_234_567.0].map(whole), ["0", "999", "1,234,567"]);
        assert_eq!([0.0, 0.25, 1_234.4].map(rate), ["0", "0.2", "1,234"]);
        assert_eq!([0.123, 12.3, 1_234.0].map(millis), ["0.12 ms", "12 ms", "1.2 s"]);
        assert_eq!([9_940.0, 10_000.0].map(millis), ["9.9 s", "over 10 s"]);
        assert_eq!([1_500.0, 2.5e6, 3e9].map(bytes), ["2 kB", "2.5 MB", "3.00 GB"]);
        assert_eq!([59, 61, 7_260, 200_000].map(time), ["59 s", "1 min", "2 h 1 min", "2 days"]);
    }
}
