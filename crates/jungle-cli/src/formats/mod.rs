//! The forms that trees come from and go to, besides JSON itself: folders and drawings, and what
//! people are told of those of `jungle-formats`.

pub(crate) mod dot;
pub(crate) mod drawing;
pub(crate) mod folder;
mod items;
pub(crate) mod ndjson;
mod shown;

use std::path::Path;

use clap::ValueEnum;
use jungle_formats::{ReadForm, WriteError, WriteForm, wrong};
use jungle_json::ImportError;

use crate::document::shown;
use crate::failure::{Exit, Failure, failed};

pub(crate) use shown::push_shown;

/// What a tree is written as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Writable {
    /// A document
    Json,
    /// A line of JSON for each revision: `time`, `author`, `message`, `tags`, and the document as
    /// `value`
    Ndjson,
    /// A document
    Yaml,
    /// A document
    Xml,
    /// A page
    Html,
    /// A table: an object for each row
    Csv,
    /// A table for a page
    Markdown,
    /// A folder of files
    Folder,
    /// A drawing for people
    Tree,
    /// A graph for Graphviz
    Dot,
}

impl Writable {
    /// The form, if it is one of a document besides JSON.
    pub(crate) fn document(self) -> Option<WriteForm> {
        match self {
            Writable::Yaml => Some(WriteForm::Yaml),
            Writable::Xml => Some(WriteForm::Xml),
            Writable::Html => Some(WriteForm::Html),
            Writable::Csv => Some(WriteForm::Csv),
            Writable::Markdown => Some(WriteForm::Markdown),
            Writable::Json
            | Writable::Ndjson
            | Writable::Folder
            | Writable::Tree
            | Writable::Dot => None,
        }
    }
}

/// What a file is read as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Readable {
    /// A document
    Json,
    /// A line of JSON for each revision: `time`, `author`, `message`, `tags`, and the document as
    /// `value`
    Ndjson,
    /// A document
    Yaml,
    /// A document
    Xml,
    /// A page
    Html,
    /// A table: an object for each row
    Csv,
    /// A folder of files
    Folder,
    /// What is written and not read: whoever asks for it is told so.
    #[value(hide = true, name = "tree", aliases = ["dot", "markdown"])]
    Nothing,
}

impl Readable {
    /// What a file is, as far as its name tells.
    pub(crate) fn of(file: &str) -> Readable {
        let path = Path::new(file);
        let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
        match ending.to_ascii_lowercase().as_str() {
            _ if path.is_dir() => Readable::Folder,
            "ndjson" | "jsonl" => Readable::Ndjson,
            "csv" => Readable::Csv,
            "yaml" | "yml" => Readable::Yaml,
            "xml" | "svg" | "xhtml" => Readable::Xml,
            "html" | "htm" => Readable::Html,
            "dot" | "gv" | "markdown" | "md" => Readable::Nothing,
            _ => Readable::Json,
        }
    }
}

/// This form is not read.
pub(crate) fn only_written(file: &str) -> Failure {
    let file = shown(file);
    Failure::usage(format_args!("{file}: that form is only written, trees are not read from it"))
        .with_hint("--format says what else a file is; `jungle import --help` lists what is read")
}

/// What is wrong with a document that is translated into JSON while it is read.
pub(crate) fn refused(file: &str, form: ReadForm, error: &ImportError) -> Failure {
    let failure = Failure::new(Exit::Error, format_args!("{}: {}", shown(file), wrong(error)));
    match (form, error) {
        (ReadForm::Xml | ReadForm::Html, ImportError::Limit { .. }) => {
            failure.with_hint("an element counts as two; --depth-max accepts more")
        }
        _ => failure,
    }
}

/// Why a document is not written.
pub(crate) fn not_written(form: WriteForm, error: WriteError) -> Failure {
    match error {
        WriteError::Write(error) => error.into(),
        WriteError::NoRoom(error) => failed(error),
        WriteError::NotRead(error) => failed(error),
        WriteError::Limit(what) => {
            Failure::new(Exit::Error, what).with_hint("a part of it can be exported by its path")
        }
        error => Failure::new(Exit::Error, error)
            .with_hint(format_args!("{}; --format json takes all", taken(form))),
    }
}

/// What can be written in a form.
fn taken(form: WriteForm) -> &'static str {
    match form {
        WriteForm::Yaml => "any tree is YAML",
        WriteForm::Xml => "only what was imported from XML comes out as XML",
        WriteForm::Html => "only what was imported from HTML is sure to come out as HTML",
        WriteForm::Csv => "CSV is made of an array or object of objects of scalars",
        WriteForm::Markdown => {
            "A Markdown table is made of an array or object of objects of scalars"
        }
    }
}
