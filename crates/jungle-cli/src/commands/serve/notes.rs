//! What a server notes, as a line of JSON each.

use std::fmt::{self, Debug};

use jungle::{Clock, SystemClock};
use jungle_words::time;
use serde::Serialize;
use serde_json::{Map, Value};
use tracing::field::{Field, Visit};
use tracing::{Event, Subscriber};
use tracing_subscriber::fmt::FmtContext;
use tracing_subscriber::fmt::format::{FormatEvent, FormatFields, Writer};
use tracing_subscriber::registry::LookupSpan;

/// The form of the notes.
pub(crate) struct Lines;

/// A note; the names of the fields are those of the JSON form.
#[derive(Serialize)]
struct Line {
    time: String,
    level: &'static str,
    /// What happened, `message`, and to whom and what.
    #[serde(flatten)]
    said: Said,
}

#[derive(Default, Serialize)]
#[serde(transparent)]
struct Said(Map<String, Value>);

impl<S, N> FormatEvent<S, N> for Lines
where
    S: Subscriber + for<'s> LookupSpan<'s>,
    N: for<'w> FormatFields<'w> + 'static,
{
    fn format_event(
        &self,
        _: &FmtContext<'_, S, N>,
        mut out: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let mut said = Said::default();
        event.record(&mut said);
        let (time, level) = (time::text(SystemClock.now()), event.metadata().level().as_str());
        let line = serde_json::to_string(&Line { time, level, said }).expect("plain data");
        writeln!(out, "{line}")
    }
}

impl Said {
    fn put(&mut self, field: &Field, value: impl Into<Value>) {
        self.0.insert(field.name().to_owned(), value.into());
    }
}

impl Visit for Said {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.put(field, format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.put(field, value);
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.put(field, value);
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.put(field, value);
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.put(field, value);
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.put(field, value);
    }
}
