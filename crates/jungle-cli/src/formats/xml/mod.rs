//! XML as a tree: it is translated into JSON while it is read, and imported as that.
//! `docs/formats.md` has the table of what becomes what.

mod names;
mod read;
mod write;

use jungle_json::ImportError;

use crate::document::shown;
use crate::failure::{Exit, Failure};

pub(crate) use read::Json;
pub(crate) use write::{not_xml, write};

/// What is wrong with a document. Places are told by the reader of XML only: those of the import
/// are places in the JSON.
pub(crate) fn refused(file: &str, error: &ImportError) -> Failure {
    let file = shown(file);
    match error {
        ImportError::Limit { limit, .. } => {
            Failure::new(Exit::Error, format_args!("{file}: {limit}"))
                .with_hint("an element counts as two; --depth-max accepts more")
        }
        ImportError::Edit { source, .. } => {
            Failure::new(Exit::Error, format_args!("{file}: {source}"))
        }
        error => Failure::new(Exit::Error, format_args!("{file}: {error}")),
    }
}
