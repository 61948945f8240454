//! The recorded figures: a file of lines `NAME<tab>VALUE`, first what they were counted with.

use std::fmt::Write;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::build::Build;

/// What was counted of each workload, in the order of the set, and with what.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// What it was counted with.
    pub build: Build,
    /// One for each workload.
    pub figures: Vec<Figure>,
}

/// What one operation of a workload takes.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// The workload.
    pub name: String,
    /// Instructions of an operation.
    pub instructions: f64,
}

/// Why there are no recorded figures.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The file cannot be read or written.
    #[error("cannot {doing} {}: {source}{}", .path.display(), hint(.source))]
    Io {
        /// What was tried.
        doing: &'static str,
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The file says something else.
    #[error("{}, line {line}: {wrong}; `--record` writes it anew", .path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// Counted from 1.
        line: usize,
        /// What is wrong there.
        wrong: LineError,
    },
}

/// What is wrong in a line of the record.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum LineError {
    /// What the figures were counted with is missing.
    #[error("`{0}`, a tab and what it was are expected")]
    Header(&'static str),
    /// It is no figure.
    #[error("`{0}` is not a name, a tab and a number of instructions")]
    Figure(String),
    /// The number is none, or cannot be one of instructions.
    #[error("`{0}` is no number of instructions")]
    Number(String),
    /// A workload is there already.
    #[error("`{0}` is there twice")]
    Twice(String),
}

fn hint(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::NotFound => " (`--record` makes it)",
        _ => "",
    }
}

/// What stands first, each with a line of its own.
const HEADERS: [&str; 4] = ["build", "compiler", "counter", "revision"];

const TITLE: &str = "\
# Instructions of one operation of each workload. `cargo xtask track --record` writes this file;
# docs/measurements/README.md tells what it is for.
";

impl Record {
    /// What a file says.
    ///
    /// # Errors
    /// When it cannot be read, or a line of it is wrong.
    pub fn read(path: &Path) -> Result<Record, RecordError> {
        let text = fs::read_to_string(path).map_err(at("read", path))?;
        parse(&text).map_err(|(line, wrong)| RecordError::Line { path: path.into(), line, wrong })
    }

    /// Puts it into a file, whatever was there.
    ///
    /// # Errors
    /// When that cannot be written.
    pub fn write(&self, path: &Path) -> Result<(), RecordError> {
        fs::write(path, self.text()).map_err(at("write", path))
    }

    fn text(&self) -> String {
        let Build { kind, compiler, counter, revision } = &self.build;
        let mut text = TITLE.to_owned();
        let headers = HEADERS.into_iter().zip([kind, compiler, counter, revision]);
        headers.for_each(|(name, value)| _ = writeln!(text, "{name}\t{value}"));
        for Figure { name, instructions } in &self.figures {
            let _ = writeln!(text, "{name}\t{instructions:.2}");
        }
        text
    }
}

fn at(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> RecordError {
    let path = path.to_owned();
    move |source| RecordError::Io { doing, path, source }
}

/// What a text says; else the line that is wrong, from 1.
fn parse(text: &str) -> Result<Record, (usize, LineError)> {
    let lines = text.lines().enumerate().map(|(at, line)| (at + 1, line));
    let mut lines = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    let end = text.lines().count() + 1;
    let mut header = |name| {
        let (at, line) = lines.next().unwrap_or((end, ""));
        let found =
            line.split_once('\t').filter(|(found, value)| *found == name && !value.is_empty());
        found.map(|(_, value)| value.to_owned()).ok_or((at, LineError::Header(name)))
    };
    let [kind, compiler, counter, revision] = HEADERS;
    let build = Build {
        kind: header(kind)?,
        compiler: header(compiler)?,
        counter: header(counter)?,
        revision: header(revision)?,
    };
    let mut figures: Vec<Figure> = Vec::new();
    for (at, line) in lines {
        let figure = figure(line).map_err(|wrong| (at, wrong))?;
        if figures.iter().any(|other| other.name == figure.name) {
            return Err((at, LineError::Twice(figure.name)));
        }
        figures.push(figure);
    }
    Ok(Record { build, figures })
}

fn figure(line: &str) -> Result<Figure, LineError> {
    let (name, number) = line
        .split_once('\t')
        .filter(|(name, _)| !name.is_empty())
        .ok_or_else(|| LineError::Figure(line.to_owned()))?;
    let instructions =
        number.parse().ok().filter(|number: &f64| number.is_finite() && *number > 0.0);
    let instructions = instructions.ok_or_else(|| LineError::Number(number.to_owned()))?;
    Ok(Figure { name: name.to_owned(), instructions })
}

#[cfg(test)]
mod tests {
    use super::{Build, Figure, LineError, Record, parse};

    const HEAD: &str =
        "# why\nbuild\tdev\ncompiler\trustc 1\ncounter\tvalgrind-3\nrevision\tabc, changed\n\n";

    #[test]
    fn what_is_written_is_read() {
        let figure = |name: &str, instructions| Figure { name: name.to_owned(), instructions };
        let text = |text: &str| text.to_owned();
        let build = Build {
            kind: text("dev, a"),
            compiler: text("rustc 1"),
            counter: text("valgrind-3"),
            revision: text("abc, changed"),
        };
        let figures = vec![figure("point-read", 1153.5), figure("diff", 20_000_000.0)];
        let record = Record { build, figures };
        assert_eq!(parse(&record.text()).unwrap(), record);
    }

    #[track_caller]
    fn check(text: &str, line: usize, wrong: LineError) {
        assert_eq!(parse(text).unwrap_err(), (line, wrong), "{text}");
    }

    #[test]
    fn a_wrong_line_is_told_with_its_number() {
        let with = |line: &str| format!("{HEAD}a\t1.5\n{line}\n");
        let number = |text: &str| LineError::Number(text.to_owned());
        check(&with("b 2"), 8, LineError::Figure("b 2".to_owned()));
        check(&with("\t2"), 8, LineError::Figure("\t2".to_owned()));
        for wrong in ["", "many", "NaN", "inf", "-1", "0", "1\t2"] {
            check(&with(&format!("b\t{wrong}")), 8, number(wrong));
        }
        check(&with("a\t2"), 8, LineError::Twice("a".to_owned()));
    }

    #[test]
    fn what_it_was_counted_with_must_be_there() {
        check("", 1, LineError::Header("build"));
        check("# why\na\t1.5\n", 2, LineError::Header("build"));
        check("build\tdev\ncompiler\t\n", 2, LineError::Header("compiler"));
        check("build\tdev\ncompiler\trustc 1\n", 3, LineError::Header("counter"));
        let without = HEAD.replace("revision\tabc, changed\n\n", "a\t1.5\n");
        check(&without, 5, LineError::Header("revision"));
        assert!(parse(HEAD).unwrap().figures.is_empty());
    }
}
