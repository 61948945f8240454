//! Files that are read again when they have changed.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::app::Stopping;

/// How often the files are looked at.
const LOOK: Duration = Duration::from_secs(1);

/// Looks at the files from time to time, and reads them when one has changed, until the server
/// stops. The first look counts as a change: it may be long since they were read.
pub(crate) async fn reload(files: Vec<PathBuf>, mut stopping: Stopping, read: impl Fn()) {
    let mut seen = None;
    loop {
        let files = files.clone();
        let marks = move || files.iter().map(|file| mark(file)).collect::<Vec<_>>();
        let marks = tokio::task::spawn_blocking(marks).await.ok();
        if marks != seen {
            seen = marks;
            read();
        }
        tokio::select! {
            () = tokio::time::sleep(LOOK) => {}
            () = stopping.wait() => return,
        }
    }
}

/// What differs between two states of a file.
type Mark = (SystemTime, u64, [i64; 2]);

fn mark(file: &Path) -> Option<Mark> {
    let metadata = std::fs::metadata(file).ok()?;
    // Who may read it is no change of what is in it.
    #[cfg(unix)]
    let changed = {
        use std::os::unix::fs::MetadataExt;
        [metadata.ctime(), metadata.ctime_nsec()]
    };
    #[cfg(not(unix))]
    let changed = [0, 0];
    Some((metadata.modified().ok()?, metadata.len(), changed))
}
