//! Boards of others, which are asked in turns with ours. One that fails is told of, and asked no
//! more; the others go on.

use super::super::folder::Folder;
use super::apps;
use super::e3::Board;
use crate::Failure;
use crate::sample::Sample;
use crate::systems::System;

/// A peer.
pub struct Peer {
    system: System,
    /// Its servers, or why they are not asked any more.
    boards: Result<Vec<Board>, String>,
}

impl Peer {
    /// Starts it, with a folder for what it keeps; our page has so many bytes.
    pub fn start(system: System, folder: &Folder, bytes: usize) -> Peer {
        let boards = match system {
            System::Warp => Board::warp(bytes).map(|board| vec![board]),
            System::Pocketbase => apps::boards(apps::pocketbase, folder, bytes),
            System::SqliteApp => apps::boards(apps::sqlite_app, folder, bytes),
            other => Err(format!("{} has no board here", other.name()).into()),
        };
        Peer { system, boards: boards.map_err(|error| error.to_string()) }
    }

    /// Does this with each of its servers, unless it has failed.
    pub fn each(&mut self, what: impl FnMut(&mut Board) -> Result<(), Failure>) {
        if let Ok(boards) = &mut self.boards
            && let Err(error) = boards.iter_mut().try_for_each(what)
        {
            self.boards = Err(error.to_string());
        }
    }

    /// Adds what it reached, or why there is nothing of it.
    pub fn told(mut self, sample: Sample) -> Sample {
        self.each(|board| match board.lost()? {
            0 => Ok(()),
            lost => Err(format!("{lost} posts are lost or doubled").into()),
        });
        match self.boards {
            Ok(boards) => boards.iter().fold(sample, |all, board| board.told(all)),
            Err(why) => sample.with_failed(self.system.name(), why),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Folder, Peer, Sample, System};

    #[test]
    fn a_peer_that_fails_is_told_and_asked_no_more() {
        let folder = Folder::new("peers-failed").unwrap();
        let mut peer = Peer::start(System::Imbl, &folder, 1);
        peer.each(|_| panic!("it is not there"));
        let sample = peer.told(Sample::rate(1.0, 3));
        assert_eq!((sample.value, sample.check.as_str()), (3.0, "ok"));
        assert_eq!(sample.failed["imbl"], "imbl has no board here");
        let mut peer = Peer { system: System::Warp, boards: Ok(Vec::new()) };
        peer.each(|_| panic!("there is none"));
        assert!(peer.told(Sample::rate(1.0, 3)).failed.is_empty());
    }
}
