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
    /// Of this command; without it, of `jungle` itself
    command: Option<String>,
    /// Write all pages here, as jungle.1, jungle-get.1 and so on
    #[arg(long, value_name = "FOLDER", conflicts_with = "command")]
    dir: Option<String>,
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let mut whole = args::Args::command();
    whole.build();
    if let Some(dir) = &args.dir {
        return write_all(&whole, Path::new(dir)).map_err(failed);
    }
    let command = match &args.command {
        None => whole,
        Some(name) => match whole.find_subcommand(name) {
            Some(command) => page_of(command),
            None => {
                let names: Vec<&str> = whole.get_subcommands().map(|c| c.get_name()).collect();
                let message = format_args!("there is no command {name:?}");
                let names = names.into_iter();
                return Err(near::no_such(message, name, names, "`jungle --help` lists them"));
            }
        },
    };
    let mut out = stdout();
    render(command, &mut out)?;
    Ok(out.flush()?)
}

fn write_all(whole: &clap::Command, dir: &Path) -> std::io::Result<()> {
    fs::create_dir_all(dir)?;
    let mut pages = vec![("jungle".to_owned(), whole.clone())];
    for command in whole.get_subcommands().filter(|command| !command.is_hide_set()) {
        let name = command.get_name();
        pages.push((format!("jungle-{name}"), page_of(command)));
    }
    for (name, command) in pages {
        let mut text = Vec::new();
        render(command, &mut text)?;
        fs::write(dir.join(format!("{name}.1")), text)?;
    }
    Ok(())
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
