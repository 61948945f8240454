//! The commands, a file each: what it takes, and what it does.

pub(crate) mod access;
pub(crate) mod alice;
pub(crate) mod apply;
pub(crate) mod at;
pub(crate) mod audit;
pub(crate) mod backup;
pub(crate) mod bench;
pub(crate) mod blame;
pub(crate) mod branch;
pub(crate) mod cheat;
pub(crate) mod cluster;
pub(crate) mod complete;
pub(crate) mod completions;
pub(crate) mod config;
pub(crate) mod demo;
pub(crate) mod diff;
pub(crate) mod du;
pub(crate) mod erase;
pub(crate) mod export;
pub(crate) mod find;
pub(crate) mod gc;
pub(crate) mod get;
pub(crate) mod import;
pub(crate) mod index;
pub(crate) mod keep;
pub(crate) mod log;
pub(crate) mod ls;
pub(crate) mod man;
pub(crate) mod merge;
pub(crate) mod put;
pub(crate) mod repair;
pub(crate) mod restore;
pub(crate) mod revert;
pub(crate) mod rm;
pub(crate) mod serve;
pub(crate) mod shell;
pub(crate) mod show;
pub(crate) mod stat;
pub(crate) mod tag;
pub(crate) mod trees;
pub(crate) mod undo;
pub(crate) mod verify;
pub(crate) mod watch;

#[cfg(test)]
mod tests;

use clap::Subcommand;

use crate::args::{Listed, Listing};
use crate::context::Context;
use crate::failure::{Failure, not_loaded};

#[derive(Subcommand)]
pub(crate) enum Command {
    Import(import::Args),
    Export(export::Args),
    Get(get::Args),
    Put(put::Args),
    Rm(rm::Args),
    Ls(ls::Args),
    Find(find::Args),
    Stat(stat::Args),
    Log(log::Args),
    Show(show::Args),
    Blame(blame::Args),
    At(at::Args),
    Diff(diff::Args),
    Apply(apply::Args),
    Trees(trees::Args),
    Branch(branch::Args),
    Tag(tag::Args),
    Merge(merge::Args),
    Revert(revert::Args),
    Undo(undo::Undo),
    Redo(undo::Redo),
    Watch(watch::Args),
    Index(index::Args),
    Keep(keep::Args),
    Audit(audit::Args),
    Du(du::Args),
    Gc(gc::Args),
    Erase(erase::Args),
    Verify(verify::Args),
    Backup(backup::Args),
    Restore(restore::Args),
    Repair(repair::Args),
    Serve(Box<serve::Args>),
    Config(Box<config::Args>),
    Access(access::Args),
    Cluster(cluster::Args),
    Alice(alice::Args),
    Shell(shell::Args),
    Demo(demo::Args),
    Bench(bench::Args),
    Cheat(cheat::Args),
    Completions(completions::Args),
    Man(man::Args),
}

impl Command {
    /// As what it lists something, where that is said.
    pub(crate) fn listed(&self) -> Option<Listed> {
        self.listing().and_then(|listing| listing.format)
    }

    fn listing(&self) -> Option<&Listing> {
        match self {
            Command::Ls(args) => Some(&args.listing),
            Command::Find(args) => Some(&args.listing),
            Command::Log(args) => Some(&args.listing),
            Command::Blame(args) => Some(&args.listing),
            Command::Trees(args) => Some(&args.listing),
            Command::Branch(args) => Some(&args.listing),
            Command::Tag(args) => Some(&args.listing),
            Command::Index(args) => Some(&args.listing),
            Command::Audit(args) => Some(&args.listing),
            Command::Du(args) => Some(&args.listing),
            Command::Config(args) => Some(&args.listing),
            Command::Access(args) => args.listing(),
            _ => None,
        }
    }

    /// May what it prints be long, and is it for reading?
    pub(crate) fn is_paged(&self) -> bool {
        matches!(
            self,
            Command::Get(_)
                | Command::Ls(_)
                | Command::Find(_)
                | Command::Log(_)
                | Command::Show(_)
                | Command::Blame(_)
                | Command::Audit(_)
                | Command::Diff(_)
                | Command::Cheat(_)
        )
    }

    /// Does it nothing but print, so that nothing is done by half where that ends early?
    pub(crate) fn only_prints(&self) -> bool {
        match self {
            Command::Export(args) => args.is_printed(),
            Command::Stat(_) | Command::Watch(_) => true,
            _ => self.is_paged(),
        }
    }
}

pub(crate) fn run(command: &Command, context: &Context<'_>) -> Result<(), Failure> {
    // Part of a folder is read only when it is looked at.
    jungle::loading(|| run_loaded(command, context)).map_err(|error| not_loaded(&error))?
}

fn run_loaded(command: &Command, context: &Context<'_>) -> Result<(), Failure> {
    match command {
        Command::Import(args) => import::run(args, context),
        Command::Export(args) => export::run(args, context),
        Command::Get(args) => get::run(args, context),
        Command::Put(args) => put::run(args, context),
        Command::Rm(args) => rm::run(args, context),
        Command::Ls(args) => ls::run(args, context),
        Command::Find(args) => find::run(args, context),
        Command::Stat(args) => stat::run(args, context),
        Command::Log(args) => log::run(args, context),
        Command::Show(args) => show::run(args, context),
        Command::Blame(args) => blame::run(args, context),
        Command::At(args) => at::run(args, context),
        Command::Diff(args) => diff::run(args, context),
        Command::Apply(args) => apply::run(args, context),
        Command::Trees(args) => trees::run(args, context),
        Command::Branch(args) => branch::run(args, context),
        Command::Tag(args) => tag::run(args, context),
        Command::Merge(args) => merge::run(args, context),
        Command::Revert(args) => revert::run(args, context),
        Command::Undo(args) => undo::undo(args, context),
        Command::Redo(args) => undo::redo(args, context),
        Command::Watch(args) => watch::run(args, context),
        Command::Index(args) => index::run(args, context),
        Command::Keep(args) => keep::run(args, context),
        Command::Audit(args) => audit::run(args, context),
        Command::Du(args) => du::run(args, context),
        Command::Gc(args) => gc::run(args, context),
        Command::Erase(args) => erase::run(args, context),
        Command::Verify(args) => verify::run(args, context),
        Command::Backup(args) => backup::run(args, context),
        Command::Restore(args) => restore::run(args, context),
        Command::Repair(args) => repair::run(args, context),
        Command::Serve(args) => serve::run(args, context),
        Command::Config(args) => config::run(args, context),
        Command::Access(args) => access::run(args, context),
        Command::Cluster(args) => cluster::run(args, context),
        Command::Alice(args) => alice::run(args, context),
        Command::Shell(args) => shell::run(args, context),
        Command::Demo(args) => demo::run(args, context),
        Command::Bench(args) => bench::run(args, context),
        Command::Cheat(args) => cheat::run(args, context),
        Command::Completions(args) => completions::run(args, context),
        Command::Man(args) => man::run(args, context),
    }
}
