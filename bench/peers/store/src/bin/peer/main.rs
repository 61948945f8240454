//! redb, LMDB and DoltLite.

mod apart;
mod bare;
mod children;
mod doltlite;
mod lmdb;
mod redb;
mod subtree;

use std::process::ExitCode;

use peer_store::apart::COUNTED;
use peer_store::kill::KILLED;
use peer_store::run::run;
use peer_store::support::{Failure, Folder, Options, Outcome};
use peer_store::versions::{Place, Versions};

fn main() -> ExitCode {
    peer_store::main(store)
}

fn store(options: &Options) -> Result<Outcome, Failure> {
    match (options.case.as_str(), options.system.as_str()) {
        ("merge-0-disk" | "merge-10-disk" | COUNTED, "doltlite") => {
            let mut store = apart::DoltLite::new(Folder::new("doltlite")?)?;
            peer_store::apart::run(options, &mut store)
        }
        ("subtree", "doltlite") => {
            peer_store::subtree::run(options, &mut subtree::DoltLite::new()?)
        }
        ("subtree" | "subtree-bare", "redb") => {
            let is_history_kept = options.case == "subtree";
            peer_store::subtree::run(options, &mut subtree::Redb::new(is_history_kept)?)
        }
        (case, "doltlite") if case.starts_with("children-") => {
            peer_store::children::run(options, &mut children::DoltLite::new()?)
        }
        ("commit-bare", "redb") => {
            let folder = Folder::new("redb")?;
            let store = bare::Redb::open(&folder.0)?;
            peer_store::bare::run(options, &store)
        }
        ("commit-bare", "lmdb") => {
            let folder = Folder::new("lmdb")?;
            let store = bare::Lmdb::open(&folder.0)?;
            peer_store::bare::run(options, &store)
        }
        ("diff", _) => peer_store::between::run_opened(options, open),
        ("space", _) => peer_store::space::run(options, open),
        ("kill" | KILLED, _) => peer_store::kill::run(options, open),
        ("stall", _) => peer_store::stall::run_opened(options, open),
        ("readers", _) => peer_store::readers::run(options, open),
        (case, _) if case.starts_with("history-") => peer_store::history::run(options, open),
        (case, _) if case.starts_with("load-") => peer_store::load::run(options, open),
        _ => run(options, open),
    }
}

fn open(system: &str, place: Place<'_>) -> Result<Box<dyn Versions>, Failure> {
    let (folder, is_synced) = (place.folder()?, matches!(place, Place::Folder(_)));
    Ok(match system {
        "redb" => Box::new(redb::Redb::open(folder, is_synced)?),
        "lmdb" => Box::new(lmdb::Lmdb::open(folder, is_synced)?),
        "doltlite" => Box::new(doltlite::DoltLite::open(folder, is_synced)?),
        unknown => return Err(format!("there is no system {unknown}").into()),
    })
}
