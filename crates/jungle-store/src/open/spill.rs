//! Whether the trees of a folder spill into a file.

use std::error::Error;
use std::path::Path;
use std::sync::Arc;

use jungle_tree::{Arena, ArenaOptions};

use super::OpenOptions;
use super::memory::{Memory, are_files_limited, is_in_memory};
use crate::checkpoint::load;
use crate::disk::Disk;
use crate::pages::{EnginePages, PagesOptions};

/// When what is not in use of a folder's trees may be in a file instead of in memory:
/// [`OpenOptions::spill`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Spill {
    /// Where what the newest checkpoint has takes up more than half of the memory that there is:
    /// what the machine has left, or what the process may have (its cgroup's limit), if that is
    /// less. Not where the file would be in memory itself (tmpfs), or there can be none; and only
    /// on Linux, which tells all that. It is decided as the folder is opened, and holds until it is
    /// closed, however much comes in.
    #[default]
    Auto,
    /// As [`Auto`](Spill::Auto), and in any case where the process may have less memory than the
    /// machine has: for who has a folder open for so long that it grows.
    WhereLimited,
    /// In any case.
    Always,
    /// Never, unless the arena's options say where.
    Never,
}

/// Whether the trees of an open folder spill, and why: [`OpenReport`](crate::OpenReport) has it.
///
/// ```
/// use jungle_store::{OpenOptions, Spill};
/// # let dir = std::env::temp_dir().join(format!("jungle-spilling-{}", std::process::id()));
/// let store = OpenOptions::new().spill(Spill::Never).open(&dir)?;
/// let spilling = &store.report().spilling;
/// assert_eq!((spilling.spills, &*spilling.why), (false, "as was said"));
/// # drop(store);
/// # std::fs::remove_dir_all(&dir)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Spilling {
    /// Do they?
    pub spills: bool,
    /// Why, for people.
    pub why: Box<str>,
}

impl Spilling {
    fn on(why: impl Into<Box<str>>) -> Spilling {
        Spilling { spills: true, why: why.into() }
    }

    fn off(why: impl Into<Box<str>>) -> Spilling {
        Spilling { spills: false, why: why.into() }
    }
}

impl Spill {
    /// Is it found out by looking?
    fn is_found_out(self) -> bool {
        matches!(self, Spill::Auto | Spill::WhereLimited)
    }

    /// What is best for a checkpoint that takes up so much.
    fn choose(self, held_bytes: u64, memory: impl FnOnce() -> Option<Memory>) -> Spilling {
        let memory = match self {
            Spill::Always => return Spilling::on("as was said"),
            Spill::Never => return Spilling::off("as was said"),
            Spill::Auto | Spill::WhereLimited => memory(),
        };
        let Some(Memory { limit_bytes, bytes }) = memory else {
            return Spilling::off("the system does not tell how much memory there is");
        };
        if let (Spill::WhereLimited, Some(limit)) = (self, limit_bytes) {
            let why = format!("the process may have no more than {} MiB of memory", limit >> 20);
            return Spilling::on(why);
        }
        let (held, all) = (held_bytes >> 20, bytes >> 20);
        let why = format!("the checkpoint takes up {held} MiB, of {all} MiB of memory");
        Spilling { spills: held_bytes > bytes / 2, why: why.into() }
    }
}

impl OpenOptions {
    /// Has what spills in this folder; or, where that is only read, which may be on a disk that
    /// nobody may write to, in the folder for temporary files.
    pub(crate) fn spilling_in(mut self, folder: &Path) -> Self {
        let only_read = self.read_only.then(std::env::temp_dir);
        self.spill_folder = Some(only_read.unwrap_or_else(|| folder.into()));
        self
    }

    /// How an arena is made for a checkpoint that takes up so much, and why so.
    pub(super) fn arena_for(&self, held_bytes: u64) -> (ArenaOptions, Spilling) {
        let arena = self.arena.clone();
        let folder = match &self.spill_folder {
            _ if arena.spill.is_some() => {
                return (arena, Spilling::on("as the arena's options say"));
            }
            None => return (arena, Spilling::off("it is opened on a disk, not a folder")),
            Some(folder) => folder,
        };
        let spilling = self.spill.choose(held_bytes, Memory::look);
        if !spilling.spills {
            return (arena, spilling);
        }
        let spilled = ArenaOptions { spill: Some(folder.clone()), ..arena.clone() };
        if !self.spill.is_found_out() {
            return (spilled, spilling);
        }
        let (place, why) = (folder.display(), &spilling.why);
        if is_in_memory(folder) {
            return (arena, Spilling::off(format!("{place} is in memory itself; {why}")));
        }
        if are_files_limited() {
            let cause = "the length of files is limited";
            return (arena, Spilling::off(format!("no file in {place}: {cause}; {why}")));
        }
        // What nobody asked for is not to keep a folder from being opened.
        match Arena::with_options(&spilled) {
            Ok(_) => (spilled, spilling),
            Err(error) => {
                let cause = error.source().map_or_else(|| error.to_string(), ToString::to_string);
                (arena, Spilling::off(format!("no file in {place}: {cause}; {why}")))
            }
        }
    }

    /// With an arena for what there is on this disk, for who has all of it in memory beside the
    /// checkpoint that is opened.
    pub(crate) fn with_arena_for(mut self, disk: &Arc<dyn Disk>) -> Self {
        let is_looked_for = self.spill.is_found_out() && self.spill_folder.is_some();
        let held_bytes = if is_looked_for { held_bytes(disk).unwrap_or(0) } else { 0 };
        self.arena = self.arena_for(held_bytes).0;
        self
    }
}

/// How much a disk's checkpoint takes up, if that can be read. Whoever reads it next tells why not.
fn held_bytes(disk: &Arc<dyn Disk>) -> Option<u64> {
    let options = PagesOptions { read_only: true, ..PagesOptions::default() };
    let pages = EnginePages::open_if_there(Arc::clone(disk), options).ok()??;
    let loaded = load(&pages).ok()??;
    Some(loaded.image.memory_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    const FREE: Memory = Memory { limit_bytes: None, bytes: 8 << 30 };
    const LIMITED: Memory = Memory { limit_bytes: Some(8 << 30), bytes: 8 << 30 };
    const HALF: u64 = 4 << 30;

    #[track_caller]
    fn check(spill: Spill, held_bytes: u64, memory: Option<Memory>, spills: bool, why: &str) {
        let chosen = spill.choose(held_bytes, || memory);
        assert_eq!((chosen.spills, &*chosen.why), (spills, why));
    }

    #[test]
    fn more_than_half_of_memory_spills() {
        let why = "the checkpoint takes up 4096 MiB, of 8192 MiB of memory";
        for memory in [FREE, LIMITED] {
            check(Spill::Auto, HALF, Some(memory), false, why);
            check(Spill::Auto, HALF + 1, Some(memory), true, why);
        }
        check(Spill::WhereLimited, HALF, Some(FREE), false, why);
        check(Spill::WhereLimited, HALF + 1, Some(FREE), true, why);
        let none = Memory { limit_bytes: None, bytes: 0 };
        let why = "the checkpoint takes up 0 MiB, of 0 MiB of memory";
        check(Spill::Auto, 0, Some(none), false, why);
        check(Spill::Auto, 1, Some(none), true, why);
    }

    #[test]
    fn whoever_stays_spills_under_any_limit() {
        let why = "the process may have no more than 8192 MiB of memory";
        check(Spill::WhereLimited, 0, Some(LIMITED), true, why);
        check(Spill::WhereLimited, u64::MAX, Some(LIMITED), true, why);
    }

    #[test]
    fn without_knowing_memory_nothing_spills() {
        let why = "the system does not tell how much memory there is";
        check(Spill::Auto, u64::MAX, None, false, why);
        check(Spill::WhereLimited, u64::MAX, None, false, why);
    }

    #[test]
    fn what_was_said_holds() {
        for memory in [None, Some(FREE), Some(LIMITED)] {
            for held_bytes in [0, u64::MAX] {
                check(Spill::Always, held_bytes, memory, true, "as was said");
                check(Spill::Never, held_bytes, memory, false, "as was said");
            }
        }
    }

    #[test]
    fn without_a_folder_it_is_as_the_arena_says() {
        let (arena, spilling) = OpenOptions::new().spill(Spill::Always).arena_for(u64::MAX);
        assert_eq!((arena.spill, spilling.spills), (None, false));
        let there = Some(std::env::temp_dir());
        let said = ArenaOptions { spill: there.clone(), ..ArenaOptions::default() };
        let options = OpenOptions::new().arena(said).spill(Spill::Never);
        let (arena, spilling) = options.spilling_in(Path::new("elsewhere")).arena_for(0);
        assert_eq!((arena.spill, spilling.spills), (there, true));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn where_there_can_be_no_file_it_stays_in_memory_unless_it_was_said() {
        let nowhere = Path::new("/there/is/no/such/folder");
        let opening = |spill| OpenOptions::new().spill(spill).spilling_in(nowhere);
        let (arena, spilling) = opening(Spill::Auto).arena_for(u64::MAX);
        assert_eq!((arena.spill, spilling.spills), (None, false));
        let begin = "no file in /there/is/no/such/folder: ";
        assert!(spilling.why.starts_with(begin), "{}", spilling.why);
        let (arena, _) = opening(Spill::Always).arena_for(0);
        assert_eq!(arena.spill.as_deref(), Some(nowhere));
    }
}
