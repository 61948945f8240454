//! A tree that is a table as CSV.

use std::io::{self, Write};

use ::csv::Writer;
use jungle_tree::{Node, Path};

use crate::error::WriteError;
use crate::table;

/// Writes an array or object of objects of scalars, or nothing if there is anything else in it.
pub(crate) fn write(node: Node<'_>, path: &Path, out: &mut impl Write) -> Result<(), WriteError> {
    let mut csv = Writer::from_writer(out);
    table::write(node, path, |cells| {
        let written = csv.write_record(cells.iter().map(|cell| cell.as_bytes()));
        written.map_err(io::Error::from)
    })?;
    Ok(csv.flush()?)
}
