//! `jungle man`: manual pages.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use clap::CommandFactory;
use clap_mangen::Man;
use serde::Serialize;

use crate::args;
use crate::context::Context;
use crate::failure::{EXIT_CODES, Exit, Failure};
use crate::near;
use crate::output::{Format, done, json_line, stdout};

/// Print a manual page, or write all of them to a folder
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Of this command, which may be one of several words, such as `access grant`; without it, of
    /// `jungle` itself
    command: Vec<String>,
    /// Write all pages here, as jungle.1, jungle-get.1, jungle-access-grant.1 and so on
    #[arg(long, value_name = "FOLDER", conflicts_with = "command")]
    dir: Option<String>,
}

/// A page; the names of the fields are those of the JSON form.
#[derive(Serialize)]
struct Page {
    command: String,
    page: String,
}

/// Likewise, pages that were written.
#[derive(Serialize)]
struct Pages<'a> {
    folder: &'a str,
    pages: usize,
}

pub(crate) fn run(args: &Args, context: &Context<'_>) -> Result<(), Failure> {
    let mut whole = args::Args::command();
    whole.build();
    if let Some(folder) = &args.dir {
        let pages = write_all(&whole, Path::new(folder)).map_err(|error| {
            Failure::new(Exit::Error, format_args!("cannot write pages to {folder}: {error}"))
        })?;
        return Ok(done(context.format, &Pages { folder, pages })?);
    }
    let command = match &args.command[..] {
        [] => whole,
        names => page_of(find(&whole, names)?),
    };
    let page = rendered(command)?;
    let mut out = stdout();
    match context.format {
        Format::Json => {
            let names = ["jungle"].into_iter().chain(args.command.iter().map(|name| &**name));
            let command = names.collect::<Vec<_>>().join(" ");
            let page = String::from_utf8_lossy(&page).into_owned();
            json_line(&mut out, &Page { command, page })?;
        }
        Format::Text => out.write_all(&page)?,
    }
    Ok(out.flush()?)
}

/// The command that is said by these names.
fn find<'c>(whole: &'c clap::Command, names: &[String]) -> Result<&'c clap::Command, Failure> {
    names.iter().try_fold(whole, |command, name| {
        command.find_subcommand(name).ok_or_else(|| {
            let near: Vec<&str> = command.get_subcommands().map(|c| c.get_name()).collect();
            let called = command.get_bin_name().unwrap_or("jungle");
            let message = format_args!("there is no command {name:?}");
            let hint = format!("`{called} --help` lists them");
            near::no_such(message, name, near.into_iter(), &hint)
        })
    })
}

/// Tells how many there are.
fn write_all(whole: &clap::Command, dir: &Path) -> io::Result<usize> {
    fs::create_dir_all(dir)?;
    let mut pages = vec![("jungle".to_owned(), whole.clone())];
    add_below("jungle", whole, &mut pages);
    let count = pages.len();
    for (name, command) in pages {
        fs::write(dir.join(format!("{name}.1")), rendered(command)?)?;
    }
    Ok(count)
}

/// Adds the pages of all commands that are said behind this one.
fn add_below(name: &str, command: &clap::Command, pages: &mut Vec<(String, clap::Command)>) {
    for command in command.get_subcommands().filter(|command| !command.is_hide_set()) {
        let name = format!("{name}-{}", command.get_name());
        // Each `help` has all the other commands below it.
        if command.get_name() != "help" {
            add_below(&name, command, pages);
        }
        pages.push((name, page_of(command)));
    }
}

/// The page of one command says, as that of the whole, what exit codes mean.
fn page_of(command: &clap::Command) -> clap::Command {
    let help = command.get_after_help().map(|help| format!("{help}\n\n")).unwrap_or_default();
    command.clone().after_help(format!("{help}{EXIT_CODES}"))
}

fn rendered(command: clap::Command) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    Man::new(command).render(&mut text)?;
    Ok(text)
}
