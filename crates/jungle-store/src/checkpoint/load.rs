//! Opening from a checkpoint.

use std::sync::Arc;

use jungle_db::{
    Archive, ArchiveError, BranchId, Builder, HistoryEntry, Jungle, JungleState, Remains,
    RestoreError,
};
use jungle_tree::{Arena, ArenaOptions, ImageError, SavedImage, SlabError};

use super::ONLY;
use super::save::piece_key;
use super::state::{decode_piece, decode_state};
use crate::form::TreeDamage;
use crate::log::LogPosition;
use crate::pages::{PagedSlabs, Pages, PagesError, Table};
use crate::record::DecodeError;

/// Why a checkpoint cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// Something of it cannot be read, or is damaged.
    #[error(transparent)]
    Pages(#[from] PagesError),
    /// It lacks something.
    #[error("the checkpoint has no {what}")]
    Lacks {
        /// What it lacks.
        what: &'static str,
    },
    /// Its state cannot be read.
    #[error("the state: {0}")]
    State(#[from] DecodeError),
    /// Its state makes no sense.
    #[error("the state: {0}")]
    Restore(#[from] RestoreError),
    /// Its image cannot be opened.
    #[error("the image: {0}")]
    Image(#[from] ImageError),
    /// Part of a tree cannot be loaded.
    #[error(transparent)]
    Slab(SlabError),
    /// A tree in it is not well formed.
    #[error(transparent)]
    Tree(#[from] TreeDamage),
}

/// What a checkpoint has.
pub(crate) struct Loaded {
    pub(crate) state: JungleState,
    pub(crate) image: SavedImage,
    pub(crate) log: LogPosition,
}

/// Reads the newest checkpoint, if there is any.
pub(crate) fn load(pages: &dyn Pages) -> Result<Option<Loaded>, LoadError> {
    if pages.checkpoint()? == 0 {
        return Ok(None);
    }
    let only = |table: Table| {
        let what = table.name();
        pages.get(table, ONLY)?.ok_or(LoadError::Lacks { what })
    };
    let (state, log) = decode_state(&only(Table::State)?)?;
    // The place was taken before the checkpoint: its revision is that before the place, or newer.
    if log.next > state.revision.number().saturating_add(1) {
        return Err(LoadError::Lacks { what: "place in the log that its revision goes up to" });
    }
    let image = SavedImage::from_bytes(&only(Table::Image)?)?;
    Ok(Some(Loaded { state, image, log }))
}

impl Loaded {
    /// A Jungle that loads its slabs and the pieces of its histories when they are needed.
    pub(crate) fn restore(
        &self,
        builder: Builder,
        arena: &ArenaOptions,
        pages: &Arc<dyn Pages>,
    ) -> Result<Jungle, LoadError> {
        let slabs = Arc::new(PagedSlabs(Arc::clone(pages)));
        let arena = Arena::reopen(arena, &self.image, slabs)?;
        let archive = Arc::new(PagedHistory(Arc::clone(pages)));
        let restored = jungle_tree::loading(|| builder.restore(arena, &self.state, archive));
        Ok(restored.map_err(LoadError::Slab)??)
    }
}

impl Loaded {
    /// As [`restore`](Loaded::restore), of which parts cannot be loaded.
    pub(crate) fn remains(
        &self,
        arena: &ArenaOptions,
        pages: &Arc<dyn Pages>,
    ) -> Result<Remains, LoadError> {
        let slabs = Arc::new(PagedSlabs(Arc::clone(pages)));
        let arena = Arena::reopen(arena, &self.image, slabs)?;
        let archive = Arc::new(PagedHistory(Arc::clone(pages)));
        Ok(Remains::restore(Jungle::builder(), arena, &self.state, archive)?)
    }
}

/// The pieces of histories that are in the newest checkpoint.
pub(crate) struct PagedHistory(pub(crate) Arc<dyn Pages>);

impl Archive for PagedHistory {
    fn piece(&self, branch: BranchId, index: u64) -> Result<Arc<[HistoryEntry]>, ArchiveError> {
        let lacks = LoadError::Lacks { what: "piece of a history" };
        let key = piece_key(branch, index).map_err(ArchiveError::new)?;
        let bytes = self.0.get(Table::History, key).map_err(ArchiveError::new)?;
        let bytes = bytes.ok_or_else(|| ArchiveError::new(lacks))?;
        decode_piece(&bytes).map_err(ArchiveError::new)
    }
}
