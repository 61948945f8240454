//! What all commands are given: how to print, and which folders are open already.

use std::ops::Deref;

use jungle::{OpenOptions, Store};

use crate::args::Asking;
use crate::cluster::takes_commits;
use crate::failure::Failure;
use crate::folder;
use crate::output::Format;
use crate::place::{Place, Purpose, Server, is_url, no_server};

/// What all commands are given.
pub(crate) struct Context<'s> {
    pub(crate) format: Format,
    /// How folders are opened.
    pub(crate) opening: OpenOptions,
    /// Who asks servers.
    pub(crate) asking: Asking,
    /// The folder that the shell holds: opening it a second time would be refused.
    pub(crate) held: Option<(&'s str, &'s Store)>,
}

/// A folder that a command uses: opened for it, or held by the shell.
pub(crate) enum Folder<'s> {
    Own(Box<Store>),
    Held(&'s Store),
}

impl Deref for Folder<'_> {
    type Target = Store;

    fn deref(&self) -> &Store {
        match self {
            Folder::Own(store) => store,
            Folder::Held(store) => store,
        }
    }
}

impl<'s> Context<'s> {
    /// Where trees are: in a folder, or on a server.
    pub(crate) fn place(
        &self,
        place: &str,
        purpose: Purpose,
    ) -> Result<Box<dyn Place + 's>, Failure> {
        if is_url(place) {
            return Ok(Box::new(self.server(place)?));
        }
        Ok(Box::new(match purpose {
            Purpose::Read => self.read(place)?,
            Purpose::ReadAlone => self.read_alone(place)?,
            Purpose::Write => self.write(place)?,
            Purpose::Create => self.create(place)?,
        }))
    }

    /// A server that is asked.
    pub(crate) fn server(&self, url: &str) -> Result<Server, Failure> {
        Server::new(url, &self.asking)
    }

    /// A folder to read. Where somebody writes to it meanwhile, it is as it was at a moment, and
    /// that is noted.
    pub(crate) fn read(&self, dir: &str) -> Result<Folder<'s>, Failure> {
        if let Some(store) = self.held(dir) {
            return Ok(Folder::Held(store));
        }
        no_server(dir)?;
        let store = folder::read(dir, self.opening.clone())?;
        folder::tell_written_elsewhere(&store, dir);
        Ok(Folder::Own(store.into()))
    }

    /// A folder to read. Others may read it at the same time, nobody may write.
    pub(crate) fn read_alone(&self, dir: &str) -> Result<Folder<'s>, Failure> {
        match self.held(dir) {
            Some(store) => Ok(Folder::Held(store)),
            None => {
                no_server(dir)?;
                let store = folder::read_alone(dir, self.opening.clone())?;
                Ok(Folder::Own(store.into()))
            }
        }
    }

    /// A folder to commit to, which must be there, and of no cluster.
    pub(crate) fn write(&self, dir: &str) -> Result<Folder<'s>, Failure> {
        let folder = self.maintain(dir)?;
        takes_commits(dir)?;
        Ok(folder)
    }

    /// A folder to write to without a commit, which must be there.
    pub(crate) fn maintain(&self, dir: &str) -> Result<Folder<'s>, Failure> {
        match self.held(dir) {
            Some(store) => Ok(Folder::Held(store)),
            None => {
                no_server(dir)?;
                // Only an import makes a folder: a slip of the finger should not.
                folder::must_be_there(dir)?;
                let store = folder::open(dir, self.opening.clone())?;
                Ok(Folder::Own(store.into()))
            }
        }
    }

    /// A folder to commit to, of no cluster, which is made when it is not there.
    pub(crate) fn create(&self, dir: &str) -> Result<Folder<'s>, Failure> {
        let folder = match self.held(dir) {
            Some(store) => Folder::Held(store),
            None => {
                no_server(dir)?;
                Folder::Own(folder::open(dir, self.opening.clone())?.into())
            }
        };
        takes_commits(dir)?;
        Ok(folder)
    }

    fn held(&self, dir: &str) -> Option<&'s Store> {
        self.held.filter(|(held, _)| *held == dir).map(|(_, store)| store)
    }
}
