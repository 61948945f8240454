//! The backups that there are.

use std::fs;
use std::io;
use std::path::Path;
use std::time::UNIX_EPOCH;

use jungle::{Outline, Revision, Timestamp};
use jungle_words::time;
use serde::Serialize;

use super::place;

/// So many are told; the rest is counted.
const TOLD_MAX: usize = 1000;

/// The backups of a folder, by name; the names of the fields are those of the JSON form.
#[derive(Serialize)]
pub(crate) struct Shelf {
    backups: Vec<Backup>,
    more: usize,
}

#[derive(Serialize)]
struct Backup {
    name: String,
    /// None while it is written, or if that was interrupted.
    revision: Option<u64>,
    /// Does its log go back to the first revision? Otherwise it begins with a checkpoint.
    log_is_complete: bool,
    bytes: u64,
    /// When it was last written to.
    time: Option<String>,
}

impl Shelf {
    /// Looks at all that could be one: what has another name than one can be given is none, nor
    /// what is no Jungle's.
    pub(super) fn of(backups: &Path) -> io::Result<Shelf> {
        let mut names = Vec::new();
        for entry in fs::read_dir(backups)? {
            let name = entry?.file_name().into_string();
            names.extend(name.ok().filter(|name| place::of(backups, name).is_ok()));
        }
        names.sort_unstable();
        let mut shelf = Shelf { backups: Vec::new(), more: 0 };
        for name in names {
            let Some(backup) = look(backups, name) else { continue };
            match shelf.backups.len() < TOLD_MAX {
                true => shelf.backups.push(backup),
                false => shelf.more += 1,
            }
        }
        Ok(shelf)
    }
}

fn look(backups: &Path, name: String) -> Option<Backup> {
    let place = backups.join(&name);
    place::check(&place).ok()?;
    let outline = Outline::read(&place).ok()?;
    let written = fs::metadata(place.join("LOCK")).and_then(|lock| lock.modified()).ok()?;
    let micros = written.duration_since(UNIX_EPOCH).ok().map(|since| since.as_micros());
    let micros = micros.and_then(|micros| i64::try_from(micros).ok());
    Some(Backup {
        name,
        revision: outline.revision.map(Revision::number),
        log_is_complete: outline.log_begins == Some(Revision::new(1)),
        bytes: outline.usage.total(),
        time: micros.map(|micros| time::text(Timestamp::from_micros(micros))),
    })
}
