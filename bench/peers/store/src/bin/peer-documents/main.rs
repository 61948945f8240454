//! Documents that are made to be edited apart and merged: Loro and Automerge. They are in memory;
//! who uses them puts them on a disk, as a whole.

mod apart;
mod automerge;
mod children;
mod loro;
mod subtree;

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

use peer_store::run::{merge, run};
use peer_store::support::{Failure, Options, Outcome};
use peer_store::versions::{Place, Versions};

use self::automerge::Automerge;
use self::loro::Loro;

fn main() -> ExitCode {
    peer_store::main(document)
}

fn document(options: &Options) -> Result<Outcome, Failure> {
    match (options.case.as_str(), options.system.as_str()) {
        ("commit", _) => Err("its commits are not durable".into()),
        ("merge", "loro") => merge(options, &Loro::open(&Place::Memory.into())?),
        ("merge", "automerge") => merge(options, &Automerge::open(&Place::Memory.into())?),
        ("merge-0" | "merge-10", "loro") => {
            peer_store::apart::run(options, &mut apart::Loro::default())
        }
        ("merge-0" | "merge-10", "automerge") => {
            peer_store::apart::run(options, &mut apart::Automerge::new()?)
        }
        ("subtree", "loro") => peer_store::subtree::run(options, &mut subtree::Loro::new()),
        (case, "loro") if case.starts_with("children-") => {
            peer_store::children::run(options, &mut children::Loro::new())
        }
        (case, "automerge") if case.starts_with("children-") => {
            peer_store::children::run(options, &mut children::Automerge::new()?)
        }
        ("diff", _) => peer_store::between::run_opened(options, open),
        (case, _) if case.starts_with("history-") => peer_store::history::run(options, open),
        _ => run(options, open),
    }
}

fn open(system: &str, place: Place<'_>) -> Result<Box<dyn Versions>, Failure> {
    let file = Saved::from(place);
    Ok(match system {
        "loro" => Box::new(Loro::open(&file)?),
        "automerge" => Box::new(Automerge::open(&file)?),
        unknown => return Err(format!("there is no system {unknown}").into()),
    })
}

/// The file that a document is saved in, if it is.
#[derive(Clone)]
struct Saved(Option<PathBuf>);

impl From<Place<'_>> for Saved {
    fn from(place: Place<'_>) -> Saved {
        Saved(match place {
            Place::Folder(folder) | Place::Unsynced(folder) => Some(folder.join("document")),
            Place::Memory => None,
        })
    }
}

impl Saved {
    /// What was saved, if something was.
    fn read(&self) -> Result<Option<Vec<u8>>, Failure> {
        let file = self.0.as_ref().filter(|file| file.is_file());
        Ok(file.map(fs::read).transpose()?)
    }

    fn write(&self, bytes: &[u8]) -> Result<(), Failure> {
        let file = self.0.as_ref().ok_or("it has no file")?;
        Ok(fs::write(file, bytes)?)
    }
}

/// The key of a leaf: its path, a digit a step.
fn key(leaf: u32) -> String {
    format!("{leaf:05}")
}
