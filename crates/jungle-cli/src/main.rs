//! The `jungle` command. `docs/inside/command.md` says where each command, and what they share, is.

mod args;
mod candidates;
mod clock;
mod cluster;
mod commands;
mod conflict;
mod context;
mod differences;
mod document;
mod failure;
mod folder;
mod formats;
mod interrupt;
mod member;
mod near;
mod output;
mod patch;
mod place;
mod replacing;
mod revision;
mod search;
mod settle;
mod source;
mod tryout;

use std::process::ExitCode;

use jungle::OpenOptions;

use crate::args::Args;
use crate::commands::complete;
use crate::context::Context;
use crate::failure::{Exit, Failure};
use crate::output::{Format, bar, pager};

/// Quicker than the system's where threads make and drop what lives for a request.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    allow_huge_pages();
    let mut words = std::env::args_os().skip(1);
    if words.next().is_some_and(|word| word == complete::NAME) {
        return complete::run(words.collect());
    }
    let args = match Args::of(std::env::args_os()) {
        Ok(args) => args,
        Err(error) if error.use_stderr() && Args::is_json_in(std::env::args_os()) => {
            return Failure::not_understood(&error).tell(Format::Json);
        }
        Err(error) => error.exit(),
    };
    args.color.apply();
    bar::show_for(args.notes());
    output::be_quiet(args.is_quiet());
    output::draw_tables(args.is_table());
    output::be_data(args.notes() == Format::Json);
    let opening = OpenOptions::new().wait_for_readers(folder::READERS_WAITED_FOR);
    let (format, opening) = (args.format(Format::Text), args.opening(opening));
    let context = Context { format, opening, asking: args.asking.clone(), held: None };
    if args.is_paged() {
        pager::want();
    }
    let done = commands::run(&args.command, &context);
    let was_paged = pager::end();
    match done {
        Ok(()) => ExitCode::SUCCESS,
        // Whoever read it had seen enough.
        Err(failure) if was_paged && failure.exit() == Exit::BrokenPipe => ExitCode::SUCCESS,
        Err(failure) => failure.tell(args.notes()),
    }
}

/// The allocator has no good use for huge pages, so it keeps them from the whole process before
/// this is called, and does not ask for them itself; trees do, and are read the quicker for it.
fn allow_huge_pages() {
    // Where that is refused they are on small pages.
    #[cfg(target_os = "linux")]
    let _ = rustix::thread::disable_transparent_huge_pages(false);
}
