//! A task of several steps: each is announced, timed and counted; the first failure ends it. Some
//! run beside the others.

mod beside;

use std::process::Command;
use std::time::Instant;

use crate::error::{Context, Result};
use beside::Beside;

/// The steps passed so far.
pub struct Steps {
    task: &'static str,
    started: Instant,
    passed: u32,
    beside: Vec<Beside>,
    skipped: Vec<String>,
    told: Vec<String>,
}

impl Steps {
    pub fn new(task: &'static str) -> Self {
        let (beside, skipped, told) = Default::default();
        Self { task, started: Instant::now(), passed: 0, beside, skipped, told }
    }

    /// Runs one step.
    pub fn step(&mut self, name: &str, run: impl FnOnce() -> Result<()>) -> Result<()> {
        println!("== {name}");
        let started = Instant::now();
        run().context(format!("{}: step `{name}` failed", self.task))?;
        println!("== {name}: passed in {:.1} s", started.elapsed().as_secs_f64());
        self.passed += 1;
        let over = self.beside.extract_if(.., |beside| beside.is_over()).collect();
        self.end(over)
    }

    /// Begins a step that is a program beside the steps that follow. What it prints is shown when
    /// it is over, which is looked for after each of these.
    pub fn begin(&mut self, name: &str, program: Command) -> Result<()> {
        println!("== {name}: goes on beside what follows");
        let begun = Beside::begin(name, program);
        self.beside.push(begun.context(format!("{}: step `{name}` failed", self.task))?);
        Ok(())
    }

    fn end(&mut self, beside: Vec<Beside>) -> Result<()> {
        for beside in beside {
            let name = beside.name().to_owned();
            println!("== {name}");
            let seconds = beside.end().context(format!("{}: step `{name}` failed", self.task))?;
            println!("== {name}: passed within {seconds:.1} s, beside others");
            self.passed += 1;
        }
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

    /// Waits for what is still beside, and prints the closing lines.
    pub fn finish(mut self) -> Result<()> {
        let beside = std::mem::take(&mut self.beside);
        self.end(beside)?;
        let elapsed = self.started.elapsed().as_secs_f64();
        println!("== {} took {elapsed:.1} s", self.task);
        self.told.iter().for_each(|told| println!("!! {told}"));
        if !self.skipped.is_empty() {
            println!("!! SKIPPED: {}", self.skipped.join(", "));
        }
        println!("xtask {}: {} steps passed", self.task, self.passed);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::Steps;
    use crate::command::command;

    #[test]
    fn step_that_fails_beside_others_is_told_by_its_name() {
        let mut steps = Steps::new("tests of steps");
        steps.begin("tests, passes", command("true", [""; 0])).unwrap();
        steps.begin("tests, fails", command("false", [""; 0])).unwrap();
        let told = steps.finish().unwrap_err().to_string();
        assert!(told.contains("`tests, fails` failed"), "{told}");
    }

    #[test]
    fn step_that_is_over_is_looked_for_after_each_other() {
        let mut steps = Steps::new("tests of steps");
        steps.begin("tests, over soon", command("true", [""; 0])).unwrap();
        let begun = Instant::now();
        while !steps.beside.is_empty() {
            assert!(begun.elapsed() < Duration::from_secs(60), "nobody looks for it");
            steps.step("tests, another", || Ok(())).unwrap();
        }
        steps.finish().unwrap();
    }
}
