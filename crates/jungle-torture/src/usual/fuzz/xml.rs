//! The reader of XML, as it is.

#[path = "../../../../jungle-formats/src/xml/names.rs"]
pub(super) mod names;
#[path = "../../../../jungle-formats/src/xml/read.rs"]
mod read;

pub(super) use read::Json;
