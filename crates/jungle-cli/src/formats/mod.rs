//! The forms that trees come from and go to, besides JSON itself.

pub(crate) mod csv;
pub(crate) mod dot;
pub(crate) mod drawing;
pub(crate) mod folder;
pub(crate) mod html;
mod items;
mod limited;
pub(crate) mod markdown;
pub(crate) mod ndjson;
mod shown;
mod table;
pub(crate) mod xml;
pub(crate) mod yaml;

use std::path::Path;

use clap::ValueEnum;
use jungle_json::ImportError;

use crate::document::shown;
use crate::failure::{Exit, Failure};

pub(crate) use shown::push_shown;
pub(crate) use table::not_a_table;

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

/// What is wrong with a document that is translated into JSON while it is read. Places are told by
/// what translates it only: those of the import are places in the JSON.
pub(crate) fn refused(file: &str, error: &ImportError) -> Failure {
    let file = shown(file);
    match error {
        ImportError::Limit { limit, .. } => {
            Failure::new(Exit::Error, format_args!("{file}: {limit}"))
        }
        ImportError::Edit { source, .. } => {
            Failure::new(Exit::Error, format_args!("{file}: {source}"))
        }
        error => Failure::new(Exit::Error, format_args!("{file}: {error}")),
    }
}
