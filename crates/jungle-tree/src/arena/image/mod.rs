//! An arena as an image: its memory saved slab by slab, and loaded again, each slab when it is
//! first looked at.
//!
//! Handles are relative, so the bytes of memory are the bytes of the image, and what is in it keeps
//! its handle and its birth. That a published block never changes makes saving beside writers
//! simple: what can be reached from the versions that are held while the image is saved holds
//! still, and whatever else is copied meanwhile, whole or torn, nobody will ever reach.
//! - A record is *free* in the image when its birth is 0; so becomes what was born after the
//!   saving began.
//! - A slab has *changed* since the last image when something in it was born after that began (in
//!   an edit that was under way then, at the earliest). Such slabs were marked when that was taken
//!   from them (`slab.rs`), so only those are looked at. What was only freed need not be saved: it
//!   comes back as something that nobody can reach, which a collection finds.
//!
//! Where slabs are kept, and how it is found out that one is damaged, is the business of a
//! [`SlabSource`]: the store's.

mod describe;
mod lazy;
mod saving;

use std::any::Any;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;

pub(crate) use lazy::Lazy;
pub(crate) use saving::BIRTH_OLDEST;
use saving::Saving;

use super::{
    Arena, ArenaError, ArenaOptions, Bringer, EPOCH_FIRST, SLAB_WORDS, SlabUse, Slabs, WORD_BYTES,
    lock, reserve,
};

/// Bytes of a slab.
pub const SLAB_BYTES: usize = SLAB_WORDS * WORD_BYTES;

/// Which slab of an arena.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SlabId {
    is_payload: bool,
    index: u32,
}

impl SlabId {
    /// As a number: structure comes before payload, and slabs in their order.
    #[must_use]
    pub fn number(self) -> u64 {
        u64::from(self.is_payload) << 32 | u64::from(self.index)
    }

    /// Its number in its region.
    pub(crate) fn index(self) -> usize {
        self.index as usize
    }

    /// The slab of a number that [`SlabId::number`] gave.
    ///
    /// ```
    /// use jungle_tree::{Arena, SavedImage, SlabId, Tree};
    /// let arena = Arena::new()?;
    /// let tree = Tree::new(&arena);
    /// let mut numbers = Vec::new();
    /// arena.save(&SavedImage::default(), |id, _| {
    ///     numbers.push(id.number());
    ///     Ok::<(), std::io::Error>(())
    /// })?;
    /// assert_eq!(SlabId::from_number(numbers[0]).unwrap().number(), numbers[0]);
    /// assert_eq!(SlabId::from_number(1 << 40), None);
    /// # drop(tree);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn from_number(number: u64) -> Option<SlabId> {
        let is_payload = number >> 32 == 1;
        (number >> 33 == 0).then_some(SlabId { is_payload, index: number as u32 })
    }
}

/// Where the slabs of a reopened arena come from.
///
/// ```
/// use jungle_tree::{SlabId, SlabSource};
/// use std::collections::HashMap;
///
/// /// The slabs that an image was made of.
/// struct Saved(HashMap<SlabId, Vec<u8>>);
///
/// impl SlabSource for Saved {
///     fn load(
///         &self,
///         id: SlabId,
///         bytes: &mut [u8],
///     ) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
///         bytes.copy_from_slice(self.0.get(&id).ok_or("it was not saved")?);
///         Ok(())
///     }
/// }
/// ```
/// [`Arena::reopen`] goes on with it.
pub trait SlabSource: Send + Sync {
    /// Reads a slab that was saved, [`SLAB_BYTES`] long, into `bytes`. It must be what was saved:
    /// nothing is checked behind this.
    ///
    /// # Errors
    /// When it cannot be read, or is damaged.
    fn load(
        &self,
        id: SlabId,
        bytes: &mut [u8],
    ) -> Result<(), Box<dyn std::error::Error + Send + Sync>>;
}

/// A slab of a reopened arena could not be loaded.
///
/// ```
/// use jungle_tree::{Arena, ArenaOptions, SavedImage, SlabId, SlabSource, Tree, loading};
/// use std::{error::Error, sync::Arc};
/// struct Lost;
/// impl SlabSource for Lost {
///     fn load(&self, _: SlabId, _: &mut [u8]) -> Result<(), Box<dyn Error + Send + Sync>> {
///         Err("the disk is gone".into())
///     }
/// }
/// let arena = Arena::new()?;
/// let id = Tree::new(&arena).version_id();
/// let image = arena.save(&SavedImage::default(), |_, _| Ok::<(), std::io::Error>(()))?;
/// let again = Arena::reopen(&ArenaOptions::default(), &image, Arc::new(Lost))?;
/// let error = loading(|| Tree::from_version(&again, id).is_some()).unwrap_err();
/// assert_eq!(error.to_string(), "part of the tree could not be loaded: the disk is gone");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct SlabError {
    /// The slab.
    pub id: SlabId,
    /// What its source said.
    pub cause: Arc<dyn std::error::Error + Send + Sync>,
}

impl fmt::Display for SlabError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "part of the tree could not be loaded: {}", self.cause)
    }
}

impl std::error::Error for SlabError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&*self.cause)
    }
}

/// Runs what looks at trees of a reopened arena, whose slabs are loaded on the way.
///
/// The calls that read a tree say what is there, and have no way to say that it could not be
/// loaded; so a failure unwinds the stack up to here.
///
/// # Errors
/// When something could not be loaded: then nothing that `read` found is given.
///
/// ```
/// use jungle_tree::{Arena, Tree, loading};
/// let tree = Tree::new(&Arena::new()?);
/// assert_eq!(loading(|| tree.read().root().subtree_count())?, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn loading<T>(read: impl FnOnce() -> T) -> Result<T, SlabError> {
    // What a failed load interrupts is only reading, or an edit of one's own, which is dropped.
    catch_unwind(AssertUnwindSafe(read)).map_err(|cause: Box<dyn Any + Send>| {
        match cause.downcast::<SlabError>() {
            Ok(error) => *error,
            Err(other) => resume_unwind(other),
        }
    })
}

/// What an image has besides its slabs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SavedImage {
    /// Everything in it was born before.
    versions: u64,
    /// What is born from here on is not in it for sure.
    cut: u64,
    symbols: Vec<Box<str>>,
    /// Who has brought in many of them, and how many.
    brought: Vec<(u64, u32)>,
    structure: Vec<SlabUse>,
    payload: Vec<SlabUse>,
}

/// Which slabs the next image of an arena has to look at, if it follows this one.
#[derive(Clone, Copy)]
pub(crate) struct LastSave {
    versions: u64,
    cut: u64,
    /// What was born from the cut on lies in slabs that were marked in this epoch or later: it was
    /// taken after the oldest edit that ran then had begun.
    marked_from: u64,
}

impl LastSave {
    fn is_of(&self, image: &SavedImage) -> bool {
        (self.versions, self.cut) == (image.versions, image.cut)
    }
}

/// Why an image cannot be opened.
///
/// ```
/// use jungle_tree::SavedImage;
/// let error = SavedImage::from_bytes(&[0; 7]).unwrap_err();
/// assert!(error.to_string().starts_with("the image's description "));
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum ImageError {
    /// There is no room for it.
    Arena(ArenaError),
    /// Its description is none.
    Malformed {
        /// What is wrong with it.
        what: &'static str,
    },
}

impl fmt::Display for ImageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ImageError::Arena(error) => error.fmt(f),
            ImageError::Malformed { what } => write!(f, "the image's description {what}"),
        }
    }
}

impl std::error::Error for ImageError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            ImageError::Arena(error) => error.source(),
            ImageError::Malformed { .. } => None,
        }
    }
}

impl Arena {
    /// Saves all that can be seen from the versions that the caller holds, by snapshots or as
    /// history, until this returns. Each slab that has changed since the image `before` (that of
    /// [`SavedImage::default`] is empty) is given to `put`, and each that is used no more, as
    /// `None`. Readers and writers go on meanwhile. Where slabs of a reopened arena are to be read
    /// for it, this is wrapped in [`loading`].
    ///
    /// # Errors
    /// What `put` says; nothing is saved then.
    pub fn save<E>(
        &self,
        before: &SavedImage,
        mut put: impl FnMut(SlabId, Option<&[u8]>) -> Result<(), E>,
    ) -> Result<SavedImage, E> {
        let arena = &**self.inner();
        // A collection would hand slabs to others meanwhile.
        let _no_collection = lock(&arena.collecting);
        let (lanes, sessions) = arena.stop_writers();
        arena.renew_generation();
        // What one of them would get in place would be missing from the next image, which looks for
        // what was born since.
        let drawn = arena.see_versions();
        let cut = sessions.iter().map(|session| session.version).min().unwrap_or(drawn).min(drawn);
        let epoch = arena.begin_epoch();
        // What a long edit that runs now has taken so far is not in this image for sure.
        let marked_from = sessions.iter().map(|session| session.epoch).min().unwrap_or(epoch);
        drop(lanes);
        let known = lock(&arena.last_save).filter(|last| last.is_of(before));
        let mut save = |slabs: &Slabs, is_payload: bool, was: &[SlabUse]| {
            let marked_from = known.map_or(0, |last| last.marked_from);
            let changed_from = before.cut;
            Saving { slabs, is_payload, drawn, changed_from, marked_from }.all(was, &mut put)
        };
        let structure = save(&arena.blocks, false, &before.structure)?;
        let payload = save(&arena.payload, true, &before.payload)?;
        // First, since it must not count more than there are.
        let brought = arena.symbols.brought();
        let symbols = (0..arena.symbols.len() as u32).map(|n| arena.symbols.text(n).into());
        let symbols = symbols.collect();
        let versions = arena.versions_drawn();
        *lock(&arena.last_save) = Some(LastSave { versions, cut, marked_from });
        Ok(SavedImage { versions, cut, symbols, brought, structure, payload })
    }

    /// Loads all slabs of a reopened arena that are not loaded yet; its source is not asked again
    /// then. What a collection gives back meanwhile is not loaded.
    ///
    /// # Errors
    /// When one cannot be loaded.
    pub fn load_all(&self) -> Result<(), SlabError> {
        loading(|| {
            [&self.inner().blocks, &self.inner().payload].into_iter().for_each(Slabs::load_all)
        })
    }

    /// Those slabs of a reopened arena, four at most, in which what was made last probably lies, so
    /// far as they are not loaded yet: for [`Arena::load_ahead`].
    #[must_use]
    pub fn newest_absent(&self) -> Vec<SlabId> {
        // An edit copies blocks of a few classes, and an attribute.
        let regions = [(&self.inner().blocks, false, 3), (&self.inner().payload, true, 1)];
        let newest = regions.into_iter().flat_map(|(slabs, is_payload, most)| {
            let newest = slabs.newest_absent(most).into_iter();
            newest.map(move |slab| SlabId { is_payload, index: slab as u32 })
        });
        newest.collect()
    }

    /// Loads slabs of a reopened arena before somebody looks at them, who can go on meanwhile: what
    /// he looks at is loaded for him, even if it is being read here. Those that are loaded already,
    /// are not used, or belong to a large record are left alone.
    ///
    /// # Errors
    /// When one cannot be loaded. Whoever looks at it tries again.
    ///
    /// ```
    /// use jungle_tree::{Arena, ArenaOptions, SavedImage, SlabId, SlabSource, Tree};
    /// use std::{collections::HashMap, sync::Arc};
    /// # struct Saved(HashMap<SlabId, Vec<u8>>);
    /// # impl SlabSource for Saved {
    /// #     fn load(
    /// #         &self,
    /// #         id: SlabId,
    /// #         bytes: &mut [u8],
    /// #     ) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    /// #         bytes.copy_from_slice(self.0.get(&id).ok_or("it was not saved")?);
    /// #         Ok(())
    /// #     }
    /// # }
    /// let arena = Arena::new()?;
    /// let mut tree = Tree::new(&arena);
    /// tree.add_child(&[])?;
    /// let mut slabs = HashMap::new();
    /// let image = arena.save(&SavedImage::default(), |slab, bytes| {
    ///     slabs.extend(bytes.map(|bytes| (slab, bytes.to_vec())));
    ///     Ok::<(), std::io::Error>(())
    /// })?;
    ///
    /// let again = Arena::reopen(&ArenaOptions::default(), &image, Arc::new(Saved(slabs)))?;
    /// let newest = again.newest_absent();
    /// assert!(!newest.is_empty());
    /// again.load_ahead(&newest)?;
    /// assert!(again.newest_absent().is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn load_ahead(&self, ids: &[SlabId]) -> Result<(), SlabError> {
        let mut bytes = vec![0; SLAB_BYTES];
        loading(|| {
            for id in ids {
                let arena = self.inner();
                let slabs = if id.is_payload { &arena.payload } else { &arena.blocks };
                slabs.load_ahead(id.index(), &mut bytes);
            }
        })
    }

    /// The arena of which this is the image. Its slabs are loaded when they are first looked at,
    /// so this costs next to nothing; reads that load are wrapped in [`loading`].
    ///
    /// # Errors
    /// When there is no room for it, or it cannot be an image.
    ///
    /// ```
    /// use jungle_tree::{Arena, ArenaOptions, SavedImage, SlabId, SlabSource, Tree, loading};
    /// use std::{collections::HashMap, sync::Arc};
    /// # struct Saved(HashMap<SlabId, Vec<u8>>);
    /// # impl SlabSource for Saved {
    /// #     fn load(
    /// #         &self,
    /// #         id: SlabId,
    /// #         bytes: &mut [u8],
    /// #     ) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    /// #         bytes.copy_from_slice(self.0.get(&id).ok_or("it was not saved")?);
    /// #         Ok(())
    /// #     }
    /// # }
    /// let arena = Arena::new()?;
    /// let mut tree = Tree::new(&arena);
    /// tree.put_attribute(&[], "title", "hello")?;
    /// let (mut slabs, id) = (HashMap::new(), tree.version_id());
    /// let image = arena.save(&SavedImage::default(), |slab, bytes| {
    ///     slabs.extend(bytes.map(|bytes| (slab, bytes.to_vec())));
    ///     Ok::<(), std::io::Error>(())
    /// })?;
    ///
    /// let image = SavedImage::from_bytes(&image.to_bytes())?;
    /// let again = Arena::reopen(&ArenaOptions::default(), &image, Arc::new(Saved(slabs)))?;
    /// let tree = Tree::from_version(&again, id).unwrap();
    /// let is_there = loading(|| tree.read().root().attribute("title") == Some("hello".into()))?;
    /// assert!(is_there);
    /// again.load_all()?; // `Saved` is not asked any more.
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn reopen(
        options: &ArenaOptions,
        image: &SavedImage,
        source: Arc<dyn SlabSource>,
    ) -> Result<Arena, ImageError> {
        let open = |bytes: usize, bytes_max: usize, uses: &[SlabUse], is_payload: bool| {
            let needed = (uses.len().max(1) * SLAB_BYTES).next_power_of_two();
            let region = reserve(bytes.max(needed), bytes_max, options.spill.as_deref());
            let region = region.map_err(ImageError::Arena)?;
            let lazy = Lazy::new(uses, is_payload, Arc::clone(&source));
            let what = "has more slabs than an arena can have";
            Slabs::reopen(region, uses.to_vec(), lazy).ok_or(ImageError::Malformed { what })
        };
        let blocks = open(options.structure_bytes, 64 << 30, &image.structure, false)?;
        let payload = open(options.payload_bytes, 32 << 30, &image.payload, true)?;
        let SavedImage { versions, cut, .. } = *image;
        let last_save = LastSave { versions, cut, marked_from: EPOCH_FIRST };
        let arena = Arena::of(blocks, payload, versions, Some(last_save));
        for (number, text) in image.symbols.iter().enumerate() {
            let interned = arena.inner().symbols.intern(text, Bringer::NOBODY);
            if interned.ok() != Some(number as u32) {
                return Err(ImageError::Malformed { what: "names an attribute key twice" });
            }
        }
        arena.inner().symbols.set_brought(&image.brought);
        Ok(arena)
    }
}
