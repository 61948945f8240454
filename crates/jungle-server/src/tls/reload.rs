//! Files that are read again when they have changed.

use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::app::Stopping;

/// How often the files are looked at.
const LOOK: Duration = Duration::from_secs(1);

/// Looks at the files from time to time, and reads them when one has changed, until the server
/// stops. The first look counts as a change: it may be long since they were read. What could not be
/// read is tried again at each look, since it need not be the files that were to blame; `stays`,
/// which says what goes on to hold, is noted once for each change.
pub(crate) async fn reload<E: Display>(
    files: Vec<PathBuf>,
    stays: &str,
    mut stopping: Stopping,
    read: impl Fn() -> Result<(), E>,
) {
    let (mut seen, mut failed) = (None, None);
    loop {
        let files = files.clone();
        let marks = move || files.iter().map(|file| mark(file)).collect::<Vec<_>>();
        let marks = tokio::task::spawn_blocking(marks).await.ok();
        if marks != seen {
            match read() {
                Ok(()) => seen = marks,
                Err(error) if marks != failed => {
                    tracing::error!(%error, "{stays}");
                    failed = marks;
                }
                Err(_) => {}
            }
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

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use tokio::sync::watch;

    use super::*;

    #[tokio::test]
    async fn what_could_not_be_read_is_read_again_though_it_has_not_changed() {
        let (stop, is_stopping) = watch::channel(false);
        let reads = Cell::new(0);
        let read = || {
            reads.set(reads.get() + 1);
            if reads.get() == 1 {
                return Err("too many files are open");
            }
            stop.send_replace(true);
            Ok(())
        };
        let files = vec![PathBuf::from("Cargo.toml")];
        let kept = reload(files, "it stays as it was", Stopping::new(is_stopping), read);
        tokio::time::timeout(60 * LOOK, kept).await.expect("it was read again");
        assert_eq!(reads.get(), 2);
    }
}
