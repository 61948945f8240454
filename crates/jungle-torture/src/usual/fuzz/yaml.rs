//! The reader of YAML, as it is.

#[path = "../../../../jungle-formats/src/yaml/anchors.rs"]
mod anchors;
#[path = "../../../../jungle-formats/src/yaml/chars.rs"]
mod chars;
#[path = "../../../../jungle-formats/src/yaml/read.rs"]
mod read;
#[path = "../../../../jungle-formats/src/yaml/scalar.rs"]
mod scalar;

pub(super) use read::Json;
