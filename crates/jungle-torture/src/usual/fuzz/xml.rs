//! The command's reader of XML, as it is.

#[path = "../../../../jungle-cli/src/formats/xml/names.rs"]
mod names;
#[path = "../../../../jungle-cli/src/formats/xml/read.rs"]
mod read;

pub(super) use read::Json;
