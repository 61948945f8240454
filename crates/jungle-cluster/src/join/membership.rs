//! Of which cluster a folder is: said by a file in it, as the text of a [`LogId`].
//!
//! A folder that was restored from a backup has none, nor has one that was filled by other means;
//! what is in those is held against what the cluster has.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::path::Path;

use jungle_db::Revision;

use crate::engine::log::{LogId, LogIdError};
use crate::error::JoinError;

const FILE: &str = "CLUSTER";
/// Under this name it is written.
const BEGUN: &str = "CLUSTER.begun";

/// Does a folder say that it is of this cluster? One that says nothing, or that has nothing in it,
/// does not, and one of another cluster is refused.
pub(crate) fn check(folder: &Path, log: LogId, here: Revision) -> Result<bool, JoinError> {
    match said(folder) {
        Ok(None) => Ok(false),
        // It will be written anew.
        _ if here.number() == 0 => Ok(false),
        Ok(Some(said)) if said == log => Ok(true),
        Ok(Some(folder)) => Err(JoinError::OtherCluster { folder, log }),
        Err(error) => Err(error),
    }
}

/// The cluster that a folder says it is of, if it says one.
pub(crate) fn said(folder: &Path) -> Result<Option<LogId>, JoinError> {
    match fs::read_to_string(folder.join(FILE)) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(failed(error)),
        Ok(text) => {
            let parsed = text.trim().parse();
            let odd = |error: LogIdError| io::Error::new(ErrorKind::InvalidData, error);
            parsed.map(Some).map_err(|error| failed(odd(error)))
        }
    }
}

/// Writes down that a folder is of this cluster, unless it says so.
pub(crate) fn write(folder: &Path, log: LogId) -> Result<(), JoinError> {
    let text = format!("{log}\n");
    if fs::read(folder.join(FILE)).is_ok_and(|found| found == text.as_bytes()) {
        return Ok(());
    }
    let written = || -> io::Result<()> {
        let begun = folder.join(BEGUN);
        let mut file = File::create(&begun)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(begun, folder.join(FILE))?;
        File::open(folder)?.sync_all()
    };
    written().map_err(failed)
}

fn failed(source: io::Error) -> JoinError {
    JoinError::Membership { file: FILE, source }
}
