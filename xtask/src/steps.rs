//! A task of several steps: each is announced, timed and counted; the first failure ends it.

use std::time::Instant;

use crate::error::{Context, Result};

/// The steps passed so far.
pub struct Steps {
    task: &'static str,
    started: Instant,
    passed: u32,
    skipped: Vec<String>,
    told: Vec<String>,
}

impl Steps {
    pub fn new(task: &'static str) -> Self {
        Self { task, started: Instant::now(), passed: 0, skipped: Vec::new(), told: Vec::new() }
    }

    /// Runs one step.
    pub fn step(&mut self, name: &str, run: impl FnOnce() -> Result<()>) -> Result<()> {
        println!("== {name}");
        let started = Instant::now();
        run().context(format!("{}: step `{name}` failed", self.task))?;
        println!("== {name}: passed in {:.1} s", started.elapsed().as_secs_f64());
        self.passed += 1;
        Ok(())
    }

    /// Notes a step that this machine or checkout cannot take; the closing lines say it again.
    pub fn skip(&mut self, name: &str, why: &str) {
        println!("== {name}: SKIPPED, {why}");
        self.skipped.push(format!("{name} ({why})"));
    }

    /// Notes what a step found that is no failure; the closing lines say it again.
    pub fn tell(&mut self, name: &str, what: &str) {
        self.told.push(format!("{name}: {what}"));
    }

    /// Prints the closing lines.
    pub fn finish(self) {
        let elapsed = self.started.elapsed().as_secs_f64();
        println!("== {} took {elapsed:.1} s", self.task);
        self.told.iter().for_each(|told| println!("!! {told}"));
        if !self.skipped.is_empty() {
            println!("!! SKIPPED: {}", self.skipped.join(", "));
        }
        println!("xtask {}: {} steps passed", self.task, self.passed);
    }
}
