//! Progress of what takes long.

use std::io::{self, IsTerminal};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

/// Nothing is shown of what takes no longer than this.
const SHOWN_AFTER: Duration = Duration::from_millis(500);

/// A bar on standard error, if that is a terminal and the work takes long.
pub(crate) struct Bar<'n> {
    start: Instant,
    name: &'n str,
    bytes: Option<u64>,
    bar: Option<ProgressBar>,
}

impl<'n> Bar<'n> {
    /// For work on this many bytes, where that is known.
    pub(crate) fn new(name: &'n str, bytes: Option<u64>) -> Bar<'n> {
        Bar { start: Instant::now(), name, bytes, bar: None }
    }

    pub(crate) fn set(&mut self, bytes: u64) {
        if let Some(bar) = &self.bar {
            bar.set_position(bytes);
        } else if self.start.elapsed() >= SHOWN_AFTER && io::stderr().is_terminal() {
            let (bar, template) = match self.bytes {
                Some(bytes) => (
                    ProgressBar::new(bytes),
                    "{msg} {wide_bar} {bytes}/{total_bytes} {bytes_per_sec} {eta}",
                ),
                None => (ProgressBar::new_spinner(), "{msg} {spinner} {bytes} {bytes_per_sec}"),
            };
            let style = ProgressStyle::with_template(template).expect("the template is written so");
            let bar = bar.with_style(style).with_elapsed(self.start.elapsed());
            self.bar = Some(bar.with_message(self.name.to_owned()));
        }
    }

    pub(crate) fn end(self) {
        if let Some(bar) = self.bar {
            bar.finish_and_clear();
        }
    }
}
