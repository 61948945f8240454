//! Opening a folder.

mod ahead;
mod lock;
mod memory;
mod options;
mod report;
mod spill;

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use jungle_db::{Builder, Jungle};

pub(crate) use self::ahead::Ahead;
pub use self::options::{CHECKPOINT_EVERY, OpenOptions, SEGMENT_BYTES, STREAM_BYTES_MAX};
pub use self::report::OpenReport;
pub use self::spill::{Spill, Spilling};
use crate::checkpoint::{Checkpoints, LoadError, load};
use crate::disk::{Disk, FolderDisk, Mode, StillDisk, write_full};
use crate::erase;
use crate::error::{OpenError, doing};
use crate::form::{check_trees, replay_checked};
use crate::log::mark::Mark;
use crate::log::recover::{End, Redo, recover, segments};
use crate::log::segment::{LOG, NEXT, name};
use crate::log::writer::Writer;
use crate::log::{Log, LogPosition};
use crate::pages::{self, EnginePages, Pages, PagesOptions};
use crate::planted::{Bug, is_awake};
use crate::store::{Keeping, OpenLog, Store};

/// How often a folder is looked at that somebody else writes to, until what is wrong with it is
/// believed.
const LOOKS: u32 = 5;

/// How long until the second look; one more of these until each further one.
const PAUSE: Duration = Duration::from_millis(20);

impl OpenOptions {
    /// Opens a folder; makes it when it is not there.
    ///
    /// # Errors
    /// When somebody has it open, when it is damaged or not a Jungle's, or the system refuses
    /// something. Beside a writer also [`OpenError::Restless`].
    ///
    /// ```
    /// use jungle_store::{Durability, OpenOptions};
    /// # let dir = std::env::temp_dir().join(format!("jungle-open-{}", std::process::id()));
    /// let store = OpenOptions::new().durability(Durability::Buffered).open(&dir)?;
    /// store.create_tree("board")?;
    /// drop(store);
    /// assert_eq!(&*OpenOptions::new().open(&dir)?.list_trees()[0], "board");
    /// # std::fs::remove_dir_all(&dir)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn open(self, folder: impl AsRef<Path>) -> Result<Store, OpenError> {
        let folder = folder.as_ref();
        let options = self.spilling_in(folder);
        if options.beside_a_writer {
            return options.look(folder);
        }
        let disk = if options.read_only {
            FolderDisk::new(folder)
        } else {
            FolderDisk::create(folder).map_err(doing("create", &folder.to_string_lossy()))?
        };
        options.open_on(Arc::new(disk))
    }

    /// Opens a folder that somebody else may have open to write.
    fn look(self, folder: &Path) -> Result<Store, OpenError> {
        let mut looks = 1;
        loop {
            let alone = self.clone().open_on(Arc::new(FolderDisk::new(folder)));
            if !matches!(alone, Err(OpenError::Locked { .. })) {
                return alone;
            }
            let still = Arc::new(StillDisk::new(folder, &self.progress)?);
            let opened = self.clone().open_on(Arc::clone(&still) as Arc<dyn Disk>);
            // Asked for in this order: who began afterwards is in nobody's way.
            let is_whole = erase::is_unfinished(&*still).is_ok_and(|unfinished| !unfinished);
            let is_of_one = is_whole && still.is_of_one();
            match opened {
                Ok(mut store) if is_of_one => {
                    still.let_go();
                    store.report.is_written_elsewhere = true;
                    return Ok(store);
                }
                // Whoever does that goes on with it.
                Ok(_) | Err(OpenError::Erasing { .. }) if looks >= LOOKS => {
                    return Err(OpenError::Restless { folder: folder.to_string_lossy().into() });
                }
                // It may be that the writer went on, and took away what was to be read.
                Err(error) if looks >= LOOKS || is_final(&error) => return Err(error),
                _ => {}
            }
            std::thread::sleep(looks * PAUSE);
            looks += 1;
        }
    }

    /// Opens what is on a disk.
    ///
    /// # Errors
    /// As [`open`](OpenOptions::open).
    ///
    /// ```
    /// use std::sync::Arc;
    /// use jungle_store::OpenOptions;
    /// use jungle_store::disk::FolderDisk;
    /// # let dir = std::env::temp_dir().join(format!("jungle-with-disk-{}", std::process::id()));
    /// let store = OpenOptions::new().open_on(Arc::new(FolderDisk::create(&dir)?))?;
    /// store.create_tree("board")?;
    /// # drop(store);
    /// # std::fs::remove_dir_all(&dir)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn open_on(self, disk: Arc<dyn Disk>) -> Result<Store, OpenError> {
        let lock = self.lock(&*disk)?;
        if !self.read_only {
            erase::finish(&*disk, &*lock)?;
        } else if erase::is_unfinished(&*disk)? {
            return Err(OpenError::Erasing { folder: disk.place().into() });
        }
        let mark = Mark::read(&*lock)?;
        if !self.read_only {
            make_log(&*disk, mark)?;
            remove_next(&*disk)?;
        }
        let (Read { log, start, end }, ignored) = self.read_best(&disk, mark)?;
        if ignored.is_some() && !self.read_only {
            pages::keep_damaged(&*disk)?;
        }
        let kept_as = (ignored.is_some() && !self.read_only).then_some(pages::DAMAGED);
        let checkpoint = start.checkpoints.revision();
        let report = OpenReport::new(end.as_ref(), checkpoint, start.spilling.clone());
        let report = OpenReport { ignored, kept_as, ..report };
        let writer = match end {
            _ if self.read_only => None,
            Some(end) => Some(go_on(&disk, end, self.segment_bytes)?),
            None => Some(Writer::first(Arc::clone(&disk), 1, self.segment_bytes)?),
        };
        if writer.is_some() && !(is_awake(Bug::MarkStays) && mark.is_some()) {
            Mark::InUse.write(&*lock)?;
        }
        let newest = report.revision.number();
        let ready = log.log.set(Log::new(Arc::clone(&disk), lock, writer, newest));
        assert!(ready.is_ok(), "set once, here");
        let Start { jungle, checkpoints, spill, ahead, .. } = start;
        let (checkpoints, every) = (Arc::new(checkpoints), self.checkpoint_every);
        let keeping = match self.read_only {
            true => None,
            false => Some(Keeping::start(&jungle, &log, &checkpoints, every, ahead)?),
        };
        let readers_waited_for = self.readers_waited_for;
        Ok(Store { keeping, checkpoints, jungle, log, disk, report, spill, readers_waited_for })
    }

    /// Reads what is there, without the checkpoint if that is damaged and not needed; tells why.
    pub(crate) fn read_best(
        &self,
        disk: &Arc<dyn Disk>,
        mark: Option<Mark>,
    ) -> Result<(Read, Option<Box<str>>), OpenError> {
        match self.read(disk, mark, !self.without_checkpoint) {
            Err(OpenError::Checkpoint(error)) if segments(&**disk)?.first() == Some(&1) => {
                Ok((self.read(disk, mark, false)?, Some(error.to_string().into())))
            }
            read => Ok((read?, None)),
        }
    }

    /// Reads what is there: the newest checkpoint, if it is asked for, and the log from there on.
    fn read(
        &self,
        disk: &Arc<dyn Disk>,
        mark: Option<Mark>,
        with_checkpoint: bool,
    ) -> Result<Read, OpenError> {
        let log = Arc::new(OpenLog::default());
        let builder = self.jungle.clone().journal(Arc::clone(&log));
        let found = match with_checkpoint {
            true => self.start_from_checkpoint(disk, builder.clone())?,
            false => None,
        };
        let start = match found {
            Some(start) => start,
            None => {
                let (arena, spilling) = self.arena_for(0);
                let spill = arena.spill.clone();
                let jungle = builder.arena(arena).build()?;
                let checkpoints = Checkpoints::none(Arc::clone(disk));
                Start { jungle, checkpoints, from: None, spill, spilling, ahead: None }
            }
        };
        let redo: Redo = if self.checked { replay_checked } else { Jungle::replay };
        let end = recover(&**disk, mark, &start.jungle, start.from, redo, &self.progress)?;
        Ok(Read { log, start, end })
    }

    fn start_from_checkpoint(
        &self,
        disk: &Arc<dyn Disk>,
        builder: Builder,
    ) -> Result<Option<Start>, OpenError> {
        let options = PagesOptions { read_only: self.read_only, ..PagesOptions::default() };
        let Some(pages) =
            EnginePages::open_if_there(Arc::clone(disk), options).map_err(LoadError::from)?
        else {
            return Ok(None);
        };
        let pages: Arc<dyn Pages> = Arc::new(pages);
        let Some(loaded) = load(&*pages)? else {
            return Ok(None);
        };
        let (arena, spilling) = self.arena_for(loaded.image.memory_bytes());
        let jungle = loaded.restore(builder, &arena, &pages)?;
        // Who wants no checkpoints in the background may count each call of the disk.
        let has_background = !self.read_only && self.checkpoint_every != u64::MAX;
        let ahead = match has_background && !self.checked {
            true => Ahead::start(jungle.arena()),
            false => None,
        };
        if self.checked {
            check_trees::<OpenError>(&jungle, &self.progress)?;
        }
        let from = Some(loaded.log);
        let checkpoints = Checkpoints::loaded(Arc::clone(disk), pages, loaded);
        let spill = arena.spill;
        Ok(Some(Start { jungle, checkpoints, from, spill, spilling, ahead }))
    }
}

/// Will the same come out again, whatever a writer does meanwhile?
fn is_final(error: &OpenError) -> bool {
    matches!(
        error,
        OpenError::Nothing { .. }
            | OpenError::NotAJungle { .. }
            | OpenError::UnknownFormat { .. }
            | OpenError::Arena(_)
            | OpenError::NoRoom(_)
            | OpenError::GivenUp
    )
}

/// What was read.
pub(crate) struct Read {
    log: Arc<OpenLog>,
    pub(crate) start: Start,
    end: Option<End>,
}

/// What a Jungle begins with before its log is read.
pub(crate) struct Start {
    pub(crate) jungle: Jungle,
    pub(crate) checkpoints: Checkpoints,
    /// Where in the log what it has not begins.
    from: Option<LogPosition>,
    /// The folder that its trees spill into, if they do.
    spill: Option<PathBuf>,
    spilling: Spilling,
    /// Who reads the checkpoint meanwhile. It has ended before the folder is somebody else's, and
    /// before damaged pages are put away.
    ahead: Option<Ahead>,
}

/// Makes the folder of the log, if it is not there. Whoever wrote the mark in `LOCK` has made its
/// name, and that of `LOCK`, last before.
pub(crate) fn make_log(disk: &dyn Disk, mark: Option<Mark>) -> Result<(), OpenError> {
    let is_new = match disk.list(LOG) {
        Ok(_) => false,
        Err(error) if error.kind() == ErrorKind::NotFound => true,
        Err(error) => return Err(doing("list", LOG)(error).into()),
    };
    if is_new {
        disk.create_folder(LOG).map_err(doing("create", LOG))?;
    }
    if is_new || mark.is_none() {
        disk.sync_folder("").map_err(doing("sync", "the folder"))?;
    }
    Ok(())
}

/// Puts the end of a log in order, and goes on behind it.
///
/// What nobody knows to be synced is written once more: after a failed sync the system shows bytes
/// that are not on the disk, and calls them clean.
fn go_on(disk: &Arc<dyn Disk>, end: End, bytes_max: u64) -> Result<Writer, OpenError> {
    let name = &*name(end.at.segment);
    let file = disk.open(name, Mode::Write).map_err(doing("open", name))?;
    if !end.closed {
        disk.sync_folder(LOG).map_err(doing("sync", LOG))?;
    }
    let doubtful: &[u8] = if is_awake(Bug::DoubtfulNotRewritten) { &[] } else { &end.doubtful };
    let from = end.at.offset - doubtful.len() as u64;
    write_full(&*file, doubtful, from).map_err(doing("write", name))?;
    if let Some(cut) = &end.cut {
        let from = if is_awake(Bug::CutTooMuch) { end.last_frame } else { cut.offset };
        let zeros = vec![0; (cut.offset + cut.bytes - from) as usize];
        write_full(&*file, &zeros, from).map_err(doing("write", name))?;
    }
    if !end.closed || end.cut.is_some() {
        file.sync_data().map_err(doing("sync", name))?;
    }
    let start = crate::log::writer::Start { file, at: end.at, bytes: end.segment_bytes };
    Ok(Writer::new(Arc::clone(disk), start, bytes_max))
}

/// Removes what was to become a segment; its name is needed again.
pub(crate) fn remove_next(disk: &dyn Disk) -> Result<(), OpenError> {
    match disk.remove(NEXT) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(doing("remove", NEXT)(error).into())
        }
        _ => Ok(()),
    }
}
