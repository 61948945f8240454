//! The forms that trees come from and go to, besides JSON itself.

pub(crate) mod folder;
pub(crate) mod ndjson;
pub(crate) mod xml;

use std::path::Path;

use clap::ValueEnum;

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
            "xml" | "svg" | "xhtml" => Form::Xml,
            _ => Form::Json,
        }
    }
}
