//! `jungle man`: manual pages.

use std::fs;
use std::io::Write;
use std::path::Path;

use clap::CommandFactory;
use clap_mangen::Man;

use crate::args;
use crate::failure::{EXIT_CODES, Failure, failed};
use crate::near;
use crate::output::stdout;

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

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let mut whole = args::Args::command();
    whole.build();
    if let Some(dir) = &args.dir {
        return write_all(&whole, Path::new(dir)).map_err(failed);
    }
    let command = match &args.command[..] {
        [] => whole,
        names => page_of(find(&whole, names)?),
    };
    let mut out = stdout();
    render(command, &mut out)?;
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

fn write_all(whole: &clap::Command, dir: &Path) -> std::io::Result<()> {
    fs::create_dir_all(dir)?;
    let mut pages = vec![("jungle".to_owned(), whole.clone())];
    add_below("jungle", whole, &mut pages);
    for (name, command) in pages {
        let mut text = Vec::new();
        render(command, &mut text)?;
        fs::write(dir.join(format!("{name}.1")), text)?;
    }
    Ok(())
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

fn render(command: clap::Command, out: &mut impl Write) -> std::io::Result<()> {
    let mut text = Vec::new();
    Man::new(command).render(&mut text)?;
    out.write_all(&text)
}
