//! The forms that trees come from and go to, besides JSON itself.

pub(crate) mod csv;
pub(crate) mod folder;
mod limited;
pub(crate) mod ndjson;
pub(crate) mod xml;

use std::path::Path;

use clap::ValueEnum;
use jungle_json::ImportError;

use crate::document::shown;
use crate::failure::{Exit, Failure};

/// A form of a tree outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Form {
    /// A document
    Json,
    /// A line of JSON for each revision: `time`, `author`, `message`, `tags`, and the document as
    /// `value`
    Ndjson,
    /// A document
    Xml,
    /// A table: an object for each row
    Csv,
    /// A folder of files
    Folder,
}

impl Form {
    /// What a file is, as far as its name tells.
    pub(crate) fn of(file: &str) -> Form {
        let path = Path::new(file);
        let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
        match ending.to_ascii_lowercase().as_str() {
            _ if path.is_dir() => Form::Folder,
            "ndjson" | "jsonl" => Form::Ndjson,
            "csv" => Form::Csv,
            "xml" | "svg" | "xhtml" => Form::Xml,
            _ => Form::Json,
        }
    }
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
