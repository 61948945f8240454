//! How a command fails: a code for programs, a message and a hint for people.

use std::fmt::Display;
use std::io::{self, Write};
use std::process::ExitCode;

use anstyle::{AnsiColor, Style};
use jungle_json::ExportError;

/// Exit codes. The meaning of a number never changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    Error = 1,
    Usage = 2,
    BrokenPipe = 3,
    NotFound = 4,
}

/// Why a command did not do what it was asked.
#[derive(Debug)]
pub(crate) struct Failure {
    exit: Exit,
    message: String,
    hint: Option<String>,
}

impl Failure {
    pub(crate) fn new(exit: Exit, message: impl Display) -> Failure {
        Failure { exit, message: message.to_string(), hint: None }
    }

    /// What was found is told by the code alone.
    pub(crate) fn silent(exit: Exit) -> Failure {
        Failure::new(exit, "")
    }

    pub(crate) fn with_hint(mut self, hint: impl Display) -> Failure {
        self.hint = Some(hint.to_string());
        self
    }

    /// Tells the user, and gives the code to exit with.
    pub(crate) fn tell(&self) -> ExitCode {
        let mut stderr = anstream::stderr();
        let say = |stderr: &mut dyn Write, label: &str, color: AnsiColor, text: &str| {
            let style = Style::new().bold().fg_color(Some(color.into()));
            // There is nobody left to tell that this could not be told.
            let _ = writeln!(stderr, "{style}{label}:{style:#} {text}");
        };
        if !self.message.is_empty() {
            say(&mut stderr, "Error", AnsiColor::Red, &self.message);
        }
        if let Some(hint) = &self.hint {
            say(&mut stderr, "Hint", AnsiColor::Cyan, hint);
        }
        ExitCode::from(self.exit as u8)
    }
}

/// Output that cannot be written.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Failure {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Failure::silent(Exit::BrokenPipe),
            _ => Failure::new(Exit::Error, format_args!("cannot write the output: {error}")),
        }
    }
}

impl From<ExportError> for Failure {
    fn from(error: ExportError) -> Failure {
        match error {
            ExportError::Write(error) => error.into(),
            error => Failure::new(Exit::Error, error),
        }
    }
}
