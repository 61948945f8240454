//! What has happened, as a hash of it.

use std::fmt;
use std::hash::{DefaultHasher, Hasher};

/// Lines, of which a hash is kept; with `JUNGLE_TRACE` in the environment they are printed.
pub struct Trace {
    hasher: DefaultHasher,
    is_printed: bool,
}

impl Trace {
    pub fn new() -> Trace {
        let is_printed = std::env::var_os("JUNGLE_TRACE").is_some();
        Trace { hasher: DefaultHasher::new(), is_printed }
    }

    pub fn note(&mut self, now: u64, what: fmt::Arguments<'_>) {
        let line = format!("{:>7}.{:03} {what}", now / 1000, now % 1000);
        self.hasher.write(line.as_bytes());
        if self.is_printed {
            eprintln!("{line}");
        }
    }

    pub fn hash(&self) -> u64 {
        self.hasher.finish()
    }
}
