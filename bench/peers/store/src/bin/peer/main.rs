//! redb, LMDB and DoltLite.

mod doltlite;
mod lmdb;
mod redb;

use std::process::ExitCode;

use peer_store::run::run;
use peer_store::support::Failure;
use peer_store::versions::{Place, Versions};

fn main() -> ExitCode {
    peer_store::main(|options| run(options, open))
}

fn open(system: &str, place: Place<'_>) -> Result<Box<dyn Versions>, Failure> {
    let folder = place.folder()?;
    Ok(match system {
        "redb" => Box::new(redb::Redb::open(folder)?),
        "lmdb" => Box::new(lmdb::Lmdb::open(folder)?),
        "doltlite" => Box::new(doltlite::DoltLite::open(folder)?),
        unknown => return Err(format!("there is no system {unknown}").into()),
    })
}
