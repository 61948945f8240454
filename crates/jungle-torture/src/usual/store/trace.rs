//! What the calls of a client tell that is traced with `strace`.

use std::collections::BTreeSet;
use std::mem::take;
use std::path::Path;

use jungle_store::Durability;

/// Which calls are traced.
pub const CALLS: &str = "trace=pwrite64,write,fdatasync,fsync,rename,renameat,renameat2,\
                         mkdir,mkdirat,open,openat";

/// What was seen since the last acknowledgement.
pub struct Seen<'f> {
    folder: &'f Path,
    level: Durability,
    /// Files that were written to, and not synced since; and folders that got a name.
    unsynced_files: BTreeSet<String>,
    unsynced_folders: BTreeSet<String>,
    /// All that was synced.
    synced: BTreeSet<String>,
    /// Of anything but what is filled ahead.
    writes: u64,
    syncs: u64,
    /// Did the log go on in another segment?
    renamed: bool,
    pub acknowledged: u64,
    /// Of files and folders, all in all.
    pub names: u64,
}

impl Seen<'_> {
    /// Of a client that makes this folder, and commits at this level.
    pub fn new(folder: &Path, level: Durability) -> Seen<'_> {
        let (unsynced_files, unsynced_folders, synced) = Default::default();
        let (writes, syncs, acknowledged, names) = Default::default();
        Seen {
            folder,
            level,
            unsynced_files,
            unsynced_folders,
            synced,
            writes,
            syncs,
            renamed: false,
            acknowledged,
            names,
        }
    }

    /// Takes in a call.
    pub fn line(&mut self, line: &str) -> Result<(), String> {
        let call = line.split_once(' ').map_or("", |(_, call)| call.trim_start());
        let Some((name, arguments)) = call.split_once('(') else {
            return Ok(());
        };
        let file = arguments.split_once('<').and_then(|(_, rest)| rest.split_once('>'));
        let file = file.map_or("", |(file, _)| file);
        // What is filled ahead is nobody's data yet.
        let is_next = file.ends_with("/next");
        match name {
            "pwrite64" => {
                self.unsynced_files.insert(file.to_owned());
                self.writes += u64::from(!is_next);
            }
            "fdatasync" | "fsync" if call.ends_with("= 0") => {
                self.unsynced_files.remove(file);
                self.unsynced_folders.remove(file);
                self.synced.insert(file.to_owned());
                self.syncs += u64::from(!is_next);
            }
            "rename" | "renameat" | "renameat2" => {
                self.renamed = true;
                self.named(arguments.split('"').nth(3));
            }
            "mkdir" | "mkdirat" if call.ends_with("= 0") => self.named(arguments.split('"').nth(1)),
            "open" | "openat" if arguments.contains("O_CREAT") => {
                let path = arguments.split('"').nth(1);
                // Its name counts only when it is a segment.
                self.named(path.filter(|path| !path.ends_with("/next")));
            }
            "write" if arguments.contains("\"opened\\n\"") => return self.opened(),
            // Not of the level that is looked at.
            "write" if arguments.contains("\"begun\\n\"") => self.forget(),
            "write" if arguments.contains("\"acknowledged ") => return self.acknowledged(),
            _ => {}
        }
        Ok(())
    }

    /// Something has a new name.
    fn named(&mut self, path: Option<&str>) {
        if let Some((folder, _)) = path.and_then(|path| path.rsplit_once('/')) {
            self.unsynced_folders.insert(folder.to_owned());
            self.names += 1;
        }
    }

    /// A folder that was made is there for good before anybody commits to it.
    fn opened(&mut self) -> Result<(), String> {
        let made = ["", "LOCK", "log", "log/next"].map(|name| self.folder.join(name));
        let above = self.folder.parent().into_iter().map(Path::to_owned);
        for path in made.into_iter().chain(above) {
            let path = path.to_string_lossy().trim_end_matches('/').to_owned();
            if !self.synced.contains(&path) {
                return Err(format!("{path} was never synced"));
            }
        }
        self.files_synced()?;
        self.folders_synced()
    }

    fn acknowledged(&mut self) -> Result<(), String> {
        self.acknowledged += 1;
        let (counts, renamed) = ((self.writes, self.syncs), self.renamed);
        self.forget();
        if self.level == Durability::Sync {
            self.files_synced()?;
        }
        self.folders_synced()?;
        let wanted = match self.level {
            Durability::Memory => (0, 0),
            Durability::Buffered => (1, 0),
            Durability::Sync => (1, 1),
        };
        if counts != wanted && !(renamed && self.level > Durability::Memory) {
            return Err(format!("{counts:?} writes and syncs, not {wanted:?}, for one commit"));
        }
        Ok(())
    }

    /// All that was written is on the disk when the folder was closed.
    pub fn closed(&mut self) -> Result<(), String> {
        self.files_synced()?;
        self.folders_synced()
    }

    fn forget(&mut self) {
        (self.writes, self.syncs, self.renamed) = (0, 0, false);
    }

    fn files_synced(&mut self) -> Result<(), String> {
        self.unsynced_files.retain(|file| !file.ends_with("/next"));
        unsynced(take(&mut self.unsynced_files))
    }

    fn folders_synced(&mut self) -> Result<(), String> {
        unsynced(take(&mut self.unsynced_folders))
    }
}

fn unsynced(mut paths: BTreeSet<String>) -> Result<(), String> {
    paths.pop_first().map_or(Ok(()), |path| Err(format!("{path} was not synced")))
}
