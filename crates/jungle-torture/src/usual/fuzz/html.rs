//! The reader of HTML, as it is.

use std::io::BufRead;

#[path = "../../../../jungle-formats/src/html/page.rs"]
mod page;
#[path = "../../../../jungle-formats/src/html/read.rs"]
mod read;
#[path = "../../../../jungle-formats/src/html/tags.rs"]
mod tags;

use super::xml::names;

pub(super) use read::Json;

/// Part of a page, as what was written is read again.
pub(super) fn part<R: BufRead>(reader: R, depth_max: usize) -> Json<R> {
    Json::of(read::Form::Part, reader, depth_max)
}
