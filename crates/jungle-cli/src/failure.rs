//! How a command fails: a code for programs, a message and a hint for people.

use std::error::Error;
use std::fmt::Display;
use std::io::{self, Write};
use std::process::ExitCode;

use anstyle::{AnsiColor, Style};
use jungle::{ArchiveError, PagesError};
use jungle_formats::ndjson;
use jungle_json::ExportError;
use jungle_words::{FindError, with_causes};
use serde::Serialize;

use crate::interrupt;
use crate::output::{Format, json_line};

/// Exit codes. The meaning of a number never changes; [`EXIT_CODES`] tells them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    Error = 1,
    Usage = 2,
    BrokenPipe = 3,
    NotFound = 4,
    Conflict = 5,
    Damaged = 6,
    /// A server that is needed, such as those of the engine, does not answer.
    Unreachable = 7,
    /// As shells say it of what an interrupt has ended.
    Interrupted = 130,
}

/// What help and man pages say about exit codes.
pub(crate) const EXIT_CODES: &str = "\
Exit codes: 0 done, 1 error, 2 wrong usage, 3 the reader of the output went away, 4 not found, \
5 conflict, 6 damaged, 7 a server does not answer, 130 interrupted.";

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

    /// An error with what caused it.
    pub(crate) fn of(exit: Exit, error: &(dyn Error + 'static)) -> Failure {
        Failure { exit, message: with_causes(error), hint: None }
    }

    /// The usage of a command is not this.
    pub(crate) fn usage(message: impl Display) -> Failure {
        Failure::new(Exit::Usage, message)
    }

    /// What was typed is not understood: what the parser says of it, and how it should be.
    pub(crate) fn not_understood(error: &clap::Error) -> Failure {
        let told = error.render().to_string();
        let told = told.strip_prefix("error: ").unwrap_or(&told).trim_end();
        match told.split_once("\n\n") {
            Some((message, hint)) => Failure::usage(message).with_hint(hint),
            None => Failure::usage(told),
        }
    }

    /// What was found is told by the code alone.
    pub(crate) fn silent(exit: Exit) -> Failure {
        Failure::new(exit, "")
    }

    pub(crate) fn with_hint(mut self, hint: impl Display) -> Failure {
        self.hint = Some(hint.to_string());
        self
    }

    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    pub(crate) fn exit(&self) -> Exit {
        self.exit
    }

    /// Tells the user, and gives the code to exit with.
    pub(crate) fn tell(&self, format: Format) -> ExitCode {
        match format {
            Format::Text => self.tell_people(),
            Format::Json if self.message.is_empty() => {}
            Format::Json => {
                let error = Told {
                    code: self.exit as u8,
                    message: &self.message,
                    hint: self.hint.as_deref(),
                };
                // As below.
                let _ = json_line(&mut io::stderr(), &Line { error });
            }
        }
        ExitCode::from(self.exit as u8)
    }

    fn tell_people(&self) {
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
    }
}

/// A line for programs.
#[derive(Serialize)]
struct Line<'f> {
    error: Told<'f>,
}

/// What programs are told; the names of the fields are those of the JSON form.
#[derive(Serialize)]
struct Told<'f> {
    code: u8,
    message: &'f str,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<&'f str>,
}

/// What the database says, where nothing more is to be said.
pub(crate) fn failed(error: impl Error + 'static) -> Failure {
    match PagesError::below(&error).is_some_and(PagesError::is_damage) {
        true => not_loaded(&error),
        false => Failure::of(Exit::Error, &error),
    }
}

/// Output that cannot be written.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Failure {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Failure::silent(Exit::BrokenPipe),
            _ if interrupt::go_on_printing().is_err() => interrupt::given_up(),
            _ => Failure::new(Exit::Error, format_args!("cannot write the output: {error}")),
        }
    }
}

impl From<ArchiveError> for Failure {
    fn from(error: ArchiveError) -> Failure {
        not_loaded(&error)
    }
}

/// Part of a checkpoint cannot be read: it is damaged, or the system refuses it.
pub(crate) fn not_loaded(error: &(dyn Error + 'static)) -> Failure {
    // What a slab is loaded into may have no room.
    let is_no_room = error.source().is_some_and(|cause| cause.is::<io::Error>());
    let is_damage = !is_no_room && PagesError::below(error).is_none_or(PagesError::is_damage);
    match is_damage {
        true => Failure::of(Exit::Damaged, error)
            .with_hint("`jungle verify DIR` says whether the rest of the folder is whole"),
        false => Failure::of(Exit::Error, error),
    }
}

/// A revision that the history lists, or that was found before.
impl From<FindError> for Failure {
    fn from(error: FindError) -> Failure {
        match error {
            FindError::NotRead(error) => error.into(),
            FindError::NoSuchRevision { source, .. } => failed(source),
            error => failed(error),
        }
    }
}

/// Revisions that cannot be written.
impl From<ndjson::WriteError> for Failure {
    fn from(error: ndjson::WriteError) -> Failure {
        match error {
            ndjson::WriteError::Write(error) => error.into(),
            ndjson::WriteError::History(error) => error.into(),
            error => failed(error),
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

#[cfg(test)]
mod tests {
    use jungle::{RetentionError, WatchError};

    use super::*;

    #[test]
    fn damage_has_its_code_whoever_meets_it() {
        let damage = || ArchiveError::new(PagesError::Engine { what: "a block is old".into() });
        assert_eq!(failed(WatchError::NotRead(damage())).exit(), Exit::Damaged);
        assert_eq!(failed(RetentionError::NotRead(damage())).exit(), Exit::Damaged);
        let refused = ArchiveError::new(PagesError::Stopped);
        assert_eq!(failed(WatchError::NotRead(refused)).exit(), Exit::Error);
    }
}
