//! A program that runs beside the steps of a task.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::{Child, Command};
use std::time::Instant;

use crate::command::{show, target_dir};
use crate::error::{Context, Result, fail};

/// It is waited for, also where a step has failed: what is killed may leave programs of its own.
pub struct Beside {
    name: String,
    shown: String,
    started: Instant,
    child: Child,
    /// Where what it prints is kept, so that it is not among what others print.
    printed: PathBuf,
}

impl Beside {
    pub fn begin(name: &str, mut program: Command) -> Result<Beside> {
        let folder = target_dir().join("beside");
        fs::create_dir_all(&folder).context(format!("cannot make {}", folder.display()))?;
        let printed = folder.join(name.replace(|c: char| !c.is_alphanumeric(), "-"));
        let making = || format!("cannot make {}", printed.display());
        let file = File::create(&printed).context(making())?;
        program.stdout(file.try_clone().context(making())?).stderr(file);
        let shown = show(&program);
        let child = program.spawn().context(format!("cannot start `{shown}`"))?;
        Ok(Beside { name: name.to_owned(), shown, started: Instant::now(), child, printed })
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// Need nobody wait for it?
    pub fn is_over(&mut self) -> bool {
        !matches!(self.child.try_wait(), Ok(None))
    }

    /// Waits for it, shows what it has printed, and gives the seconds it took at most.
    pub fn end(mut self) -> Result<f64> {
        let status = self.child.wait().context(format!("`{}` is lost", self.shown))?;
        let seconds = self.started.elapsed().as_secs_f64();
        let printed = fs::read(&self.printed);
        let printed = printed.context(format!("cannot read {}", self.printed.display()))?;
        io::stdout().write_all(&printed).context("cannot show what was printed")?;
        if status.success() {
            Ok(seconds)
        } else {
            fail(format!("`{}` ended with {status}", self.shown))
        }
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        if !self.is_over() {
            println!("== {}: waited for", self.name);
        }
        // Whoever wants to know how it ended has asked.
        let _ = self.child.wait();
    }
}
