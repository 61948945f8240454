//! Pages kept by redb, in one file.
//!
//! The engine is not trusted with a damaged file, in which it panics, at times twice, which nobody
//! can catch:
//! - What it reads is held against checksums first (`blocks.rs`).
//! - Each value is checked by itself besides, nothing is looked up but keys that the ledger has,
//!   and what the engine may panic with all the same is caught (`call.rs`).
//! - After it has failed it refuses all further calls; it is dropped then, and the next call opens
//!   another. None is ever closed in its own way, which would write to the file: its hands are tied
//!   first. What a commit leaves is all that it needs.

mod call;
mod view;
mod writing;

use std::collections::BTreeSet;
use std::io;
use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use redb::WriteTransaction;

use self::call::{
    Engine, begin_write, definition, drop_guarded, failed, guarded, io_failed, put_parts,
    put_stored, stored, tables,
};
use self::view::View;
use self::writing::Writing;
use super::backend::{Backend, BackendState, PAGES, Writes};
use super::blocks::Blocks;
use super::error::{PageDamage, PagesError};
use super::files::{NEXT, remove_file};
use super::ledger::{LEDGER, Ledger};
use super::value::Place;
use super::{Checkpoint, Pages, Table};
use crate::disk::{Disk, Mode};
use crate::error::doing;
use crate::planted::{Bug, is_awake};
use crate::progress::Progress;

/// Memory that the engine keeps pages of the file in, unless something else is set, in bytes.
pub const CACHE_BYTES: usize = 8 << 20;

/// How pages are opened.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PagesOptions {
    /// Memory that the engine may keep pages of the file in, in bytes; [`CACHE_BYTES`] by default.
    /// A slab is read once and then kept in the arena, so that little of it pays.
    pub cache_bytes: usize,
    /// Refuses checkpoints. Until the first one nothing is written to the disk: what the engine
    /// would put in order as it opens is put in order in memory.
    pub read_only: bool,
}

impl Default for PagesOptions {
    fn default() -> PagesOptions {
        PagesOptions { cache_bytes: CACHE_BYTES, read_only: false }
    }
}

/// Pages in the file `pages` of a folder. Whoever opens them holds the folder's lock.
pub struct EnginePages {
    disk: Arc<dyn Disk>,
    options: PagesOptions,
    state: BackendState,
    /// The newest checkpoint, unless the engine failed.
    view: Mutex<Option<Arc<View>>>,
    /// The newest checkpoint that was seen.
    number: AtomicU64,
    /// The name of the file is known to last.
    is_named: AtomicBool,
}

impl std::fmt::Debug for EnginePages {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EnginePages").finish_non_exhaustive()
    }
}

impl EnginePages {
    /// Opens the pages in a folder, and makes them when there are none.
    ///
    /// # Errors
    /// When they cannot be read, or are damaged.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use jungle_store::disk::{Disk, FolderDisk};
    /// use jungle_store::pages::{EnginePages, Pages, PagesOptions, Table};
    /// # let dir = std::env::temp_dir().join(format!("jungle-pages-open-{}", std::process::id()));
    /// let disk: Arc<dyn Disk> = Arc::new(FolderDisk::create(&dir)?);
    /// let pages = EnginePages::open(disk, PagesOptions::default())?;
    /// let mut checkpoint = pages.begin()?;
    /// checkpoint.put(Table::State, 1, b"hello")?;
    /// checkpoint.commit()?;
    /// assert_eq!(pages.get(Table::State, 1)?.as_deref(), Some(&b"hello"[..]));
    /// # drop(pages);
    /// # std::fs::remove_dir_all(&dir)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn open(disk: Arc<dyn Disk>, options: PagesOptions) -> Result<EnginePages, PagesError> {
        let names = disk.list("").map_err(doing("list", "the folder"))?;
        let pages = EnginePages::new(disk, options);
        if !names.iter().any(|name| name == PAGES) {
            pages.create(names.iter().any(|name| name == NEXT))?;
        }
        pages.view()?;
        Ok(pages)
    }

    /// Opens the pages in a folder, if there are any.
    ///
    /// # Errors
    /// When they cannot be read, or are damaged.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use jungle_store::disk::{Disk, FolderDisk};
    /// use jungle_store::pages::{EnginePages, PagesOptions};
    /// # let dir = std::env::temp_dir().join(format!("jungle-pages-there-{}", std::process::id()));
    /// let disk: Arc<dyn Disk> = Arc::new(FolderDisk::create(&dir)?);
    /// let open = || EnginePages::open_if_there(Arc::clone(&disk), PagesOptions::default());
    /// assert!(open()?.is_none());
    /// drop(EnginePages::open(Arc::clone(&disk), PagesOptions::default())?);
    /// assert!(open()?.is_some());
    /// # std::fs::remove_dir_all(&dir)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn open_if_there(
        disk: Arc<dyn Disk>,
        options: PagesOptions,
    ) -> Result<Option<EnginePages>, PagesError> {
        let names = disk.list("").map_err(doing("list", "the folder"))?;
        if !names.iter().any(|name| name == PAGES) {
            return Ok(None);
        }
        if !options.read_only && names.iter().any(|name| name == NEXT) {
            // Somebody was about to compact them.
            remove_file(&*disk, NEXT)?;
        }
        let pages = EnginePages::new(disk, options);
        pages.view()?;
        Ok(Some(pages))
    }

    fn new(disk: Arc<dyn Disk>, options: PagesOptions) -> EnginePages {
        let (state, view) = (BackendState::default(), Mutex::default());
        let (number, is_named) = (AtomicU64::new(0), AtomicBool::new(false));
        EnginePages { disk, options, state, view, number, is_named }
    }

    /// Makes a file with an empty checkpoint 0, under another name until it is whole: so one that
    /// has the name and no checkpoint is damaged.
    fn create(&self, is_begun: bool) -> Result<(), PagesError> {
        if is_begun {
            self.disk.remove(NEXT).map_err(doing("remove", NEXT))?;
        }
        self.make_next(|transaction| {
            put_parts(transaction, 0, Ledger::default().advance(0, &BTreeSet::new()))
        })?;
        self.disk.rename(NEXT, PAGES).map_err(doing("name", PAGES))?;
        self.make_name_last()
    }

    /// Sees to it that the file which has the name has it after a crash, too. Whoever gave it the
    /// name may have failed to.
    fn make_name_last(&self) -> Result<(), PagesError> {
        if !self.is_named.load(Ordering::SeqCst) {
            self.disk.sync_folder("").map_err(doing("sync", "the folder"))?;
            self.is_named.store(true, Ordering::SeqCst);
        }
        Ok(())
    }

    /// Makes a file with all tables and what `fill` puts into them, synced.
    fn make_next(
        &self,
        fill: impl FnOnce(&WriteTransaction) -> Result<(), PagesError>,
    ) -> Result<(), PagesError> {
        let engine = self.engine(NEXT, Mode::CreateNew)?;
        guarded(|| {
            let transaction = begin_write(engine.database())?;
            for table in Table::ALL {
                transaction.open_table(definition(table.name())).map_err(failed)?;
            }
            fill(&transaction)?;
            transaction.commit().map_err(failed)
        })
    }

    /// Gives the new file the name of the old one. Both have the same.
    fn replace(&self) -> Result<(), PagesError> {
        self.disk.rename(NEXT, PAGES).map_err(doing("name", PAGES))?;
        // Whoever looks from here on, looks into the new one.
        *lock(&self.view) = None;
        if is_awake(Bug::CompactedUnsynced) {
            return Ok(());
        }
        self.is_named.store(false, Ordering::SeqCst);
        self.make_name_last()
    }

    /// Keeps others from writing, and gives what is newest then.
    fn begin_newest(&self) -> Result<(Arc<View>, WriteTransaction), PagesError> {
        if self.options.read_only {
            return Err(PagesError::ReadOnly);
        }
        if self.state.sync_failed.load(Ordering::SeqCst) {
            return Err(PagesError::Stopped);
        }
        if !is_awake(Bug::UnfinishedPagesKept) {
            self.make_name_last()?;
        }
        // Another one may have been committed, or have failed, while this waited.
        loop {
            let (view, transaction) = self.begin_in_view()?;
            let newest = self.view()?;
            if Arc::ptr_eq(&newest.engine, &view.engine) {
                return Ok((newest, transaction));
            }
            drop_guarded(&mut Some(transaction));
        }
    }

    fn engine(&self, name: &str, mode: Mode) -> Result<Arc<Engine>, PagesError> {
        let mode = if self.options.read_only { Mode::Read } else { mode };
        let file = self.disk.open(name, mode).map_err(doing("open", name))?;
        if mode != Mode::CreateNew && file.is_empty().map_err(doing("ask the length of", name))? {
            // The engine would make a new one of it.
            return Err(PagesError::Engine { what: "the file is empty".into() });
        }
        let state = match name {
            // What a sync of it has not made last is in no checkpoint: it has not the name yet.
            NEXT => BackendState::default(),
            _ => BackendState { is_cut: Arc::default(), ..self.state.clone() },
        };
        let file = Blocks::open(file).map_err(io_failed)?;
        let writes = if mode == Mode::CreateNew { Writes::Now } else { Writes::Later };
        let backend = Backend::new(file, state, writes);
        let of_engine = backend.clone();
        let database = guarded(|| {
            let mut builder = redb::Builder::new();
            builder.set_cache_size(self.options.cache_bytes);
            // What it reads has been checked.
            builder.set_check_integrity_on_open(false);
            builder.create_with_backend(of_engine).map_err(failed)
        });
        Ok(Arc::new(Engine { database: Some(database?), backend }))
    }

    /// The newest checkpoint.
    fn view(&self) -> Result<Arc<View>, PagesError> {
        let mut view = lock(&self.view);
        if let Some(view) = view.as_ref() {
            return Ok(Arc::clone(view));
        }
        let opened = self.open_view(PAGES)?;
        let number = opened.ledger.number;
        let before = self.number.fetch_max(number, Ordering::SeqCst);
        if number < before {
            // The engine has found the newest damaged, and gone back to the one before.
            let what = format!("checkpoint {before} is gone, {number} is there");
            return Err(PagesError::Engine { what: what.into() });
        }
        Ok(Arc::clone(view.insert(Arc::new(opened))))
    }

    fn open_view(&self, name: &str) -> Result<View, PagesError> {
        let engine = self.engine(name, Mode::Write)?;
        let tables = tables(&engine)?;
        let ledger = Ledger::load(|key| guarded(|| stored(&tables[0], key)))?;
        Ok(View { ledger, tables: Some(tables), engine })
    }

    /// Reads all that a view has from the new file, as it will be read: the old one is thrown away
    /// for it, and the engine that wrote it has some of it in memory.
    fn read_back(&self, ought: &View, progress: &Progress) -> Result<(), PagesError> {
        let made = self.open_view(NEXT)?;
        for table in Table::ALL {
            for key in ought.keys(table, 0..=u64::MAX)? {
                progress.go_on()?;
                if guarded(|| made.get(table, key))?.is_none() {
                    let what = PageDamage::Missing;
                    return Err(PagesError::Damaged { table: table.name(), key, what });
                }
            }
        }
        Ok(())
    }

    /// Reads from the newest checkpoint. After a call has failed the engine refuses those of all
    /// others who are about to read, too: they ask the next one.
    fn read<T>(
        &self,
        mut run: impl FnMut(&View) -> Result<T, PagesError>,
    ) -> Result<T, PagesError> {
        let view = self.view()?;
        match self.with(&view, || run(&view)) {
            Err(error) if error.is_of_another_call() => {
                let view = self.view()?;
                self.with(&view, || run(&view))
            }
            done => done,
        }
    }

    fn begin_in_view(&self) -> Result<(Arc<View>, WriteTransaction), PagesError> {
        let view = self.view()?;
        let transaction = self.with(&view, || {
            view.engine.backend.write_down().map_err(io_failed)?;
            begin_write(view.engine.database())
        })?;
        Ok((view, transaction))
    }

    /// What is tried with a view; after the engine has failed in it, it is not used again.
    fn with<T>(
        &self,
        view: &Arc<View>,
        run: impl FnOnce() -> Result<T, PagesError>,
    ) -> Result<T, PagesError> {
        let done = guarded(run);
        if let Err(PagesError::Io(_) | PagesError::Engine { .. }) = &done {
            view.engine.cut();
            lock(&self.view).take_if(|newest| Arc::ptr_eq(&newest.engine, &view.engine));
        }
        done
    }
}

impl Pages for EnginePages {
    fn checkpoint(&self) -> Result<u64, PagesError> {
        Ok(self.view()?.ledger.number)
    }

    fn get(&self, table: Table, key: u64) -> Result<Option<Vec<u8>>, PagesError> {
        self.read(|view| view.get(table, key))
    }

    fn get_into(&self, table: Table, key: u64, bytes: &mut [u8]) -> Result<bool, PagesError> {
        self.read(|view| {
            let Some(number) = view.put_by(table, key)? else { return Ok(false) };
            let place = Place::new(table, key, number);
            let found = view.tables()[table as usize].get(key).map_err(failed)?;
            let found = found.ok_or_else(|| place.damaged(PageDamage::Missing))?;
            place.open_into(found.value(), bytes).map(|()| true)
        })
    }

    fn keys(&self, table: Table, range: RangeInclusive<u64>) -> Result<Vec<u64>, PagesError> {
        self.read(|view| view.keys(table, range.clone()))
    }

    fn begin(&self) -> Result<Box<dyn Checkpoint + '_>, PagesError> {
        let (view, transaction) = self.begin_newest()?;
        let (ledger, changed) = (view.ledger.clone(), BTreeSet::new());
        let number = ledger.number + 1;
        let transaction = Some(transaction);
        Ok(Box::new(Writing { pages: self, view, transaction, ledger, changed, number }))
    }

    fn compact(&self, progress: &Progress) -> Result<(), PagesError> {
        let (view, transaction) = self.begin_newest()?;
        let done = remove_file(&*self.disk, NEXT).map_err(PagesError::from).and_then(|()| {
            self.make_next(|new| copy(&view, new, progress))?;
            self.read_back(&view, progress).map_err(not_as_written)?;
            self.replace().inspect_err(|_| {
                // Nobody knows which of the two has the name after a crash.
                self.state.sync_failed.store(true, Ordering::SeqCst);
            })
        });
        if done.is_err() {
            // Whoever opens the folder does it, too.
            let _ = remove_file(&*self.disk, NEXT);
        }
        drop_guarded(&mut Some(transaction));
        done
    }
}

/// It is the new file that is damaged, and nothing of what is there.
fn not_as_written(error: PagesError) -> PagesError {
    match error.is_damage() {
        true => {
            let odd = io::Error::new(io::ErrorKind::InvalidData, "it is not what was written");
            doing("read back", NEXT)(odd).into()
        }
        false => error,
    }
}

/// Puts all that a view has elsewhere, as it is stored.
fn copy(view: &View, new: &WriteTransaction, progress: &Progress) -> Result<(), PagesError> {
    for key in view.ledger.parts() {
        let stored = stored(&view.tables()[0], key)?;
        let damaged = PagesError::Damaged { table: LEDGER.1, key, what: PageDamage::Missing };
        put_stored(new, LEDGER.1, key, Some(&stored.ok_or(damaged)?))?;
    }
    let of_table =
        |table| Ok(view.keys(table, 0..=u64::MAX)?.into_iter().map(move |key| (table, key)));
    let keys = Table::ALL.into_iter().map(of_table).collect::<Result<Vec<_>, PagesError>>()?;
    let keys: Vec<_> = keys.into_iter().flatten().collect();
    let total = keys.len() as u64;
    for (done, (table, key)) in (1..).zip(keys) {
        progress.go_on()?;
        let place = Place::new(table, key, view.put_by(table, key)?.unwrap_or(0));
        let stored = stored(&view.tables()[table as usize], key)?;
        let stored = stored.ok_or_else(|| place.damaged(PageDamage::Missing))?;
        // What is damaged is told now, and not taken along.
        place.open(&stored)?;
        put_stored(new, table.name(), key, Some(&stored))?;
        progress.tell_each(done, total);
    }
    Ok(())
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(all(test, feature = "sim"))]
mod tests {
    use jungle_testkit::Rng;

    use super::*;
    use crate::disk::sim::{Fate, SimDisk};

    #[test]
    fn who_reads_while_another_fails_is_not_told_of_it() {
        let (disk, mut rng) = (SimDisk::new(), Rng::new(1));
        // Each in a place of its own.
        let mut value = || (0..30_000).map(|_| rng.below(256) as u8).collect::<Vec<u8>>();
        let values = [value(), value(), value()];
        // Without a cache each look is a call of the disk.
        let options = PagesOptions { cache_bytes: 0, ..PagesOptions::default() };
        let open = || EnginePages::open(Arc::new(disk.clone()), options.clone()).unwrap();
        let pages = open();
        let mut checkpoint = pages.begin().unwrap();
        for (key, value) in (0..).zip(&values) {
            checkpoint.put(Table::Slabs, key, value).unwrap();
        }
        checkpoint.commit().unwrap();
        drop(pages);

        let pages = open();
        let failing = pages.view().unwrap();
        disk.inject(0, Fate::Fail(5), || failing.get(Table::Slabs, 0)).unwrap_err();
        // Nobody has cut it yet.
        assert!(Arc::ptr_eq(&pages.view().unwrap(), &failing));
        assert_eq!(pages.get(Table::Slabs, 1).unwrap().as_ref(), Some(&values[1]));
        assert_eq!(pages.get(Table::Slabs, 0).unwrap().as_ref(), Some(&values[0]));
    }
}
