//! `jungle shell`: one command after the other on a folder that stays open.

mod complete;
pub(crate) mod words;

use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};

use clap::CommandFactory;
use jungle::Store;
use rustyline::error::ReadlineError;
use rustyline::history::FileHistory;
use rustyline::{ColorMode, Config, Editor};

use crate::args;
use crate::commands;
use crate::context::Context;
use crate::failure::{Exit, Failure, failed};
use crate::folder;
use crate::interrupt::Printing;
use crate::output::{Format, bar, be_data, be_quiet, draw_tables, is_colored, is_quiet, say};

use complete::Complete;

const HELP: &str = "\
Each line is a command without `jungle` and without the folder: `get board /title`, `put board \
/title '\"Hello\"'`, `help`. Tab completes commands, trees and paths; the arrows go back to lines \
before; `exit` or the end of the input ends it. From a line `\\at REV` on, what takes --at tells \
how it was then, unless it says another revision; `\\at` alone goes back to what is newest. An \
interrupt ends what a line looks at or prints, and not the shell. Others can read the folder \
meanwhile, and not write to it.";

/// Give commands one after the other, with completion and history
#[derive(clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct Args {
    /// The folder, which is made when it is not there
    dir: String,
    /// Change nothing; if somebody writes to the folder already, it is as it was at that moment
    #[arg(long)]
    read_only: bool,
}

/// Commands that take no folder first.
const WITHOUT_FOLDER: [&str; 8] =
    ["help", "man", "completions", "cheat", "config", "demo", "bench", "restore"];

/// Commands that go on until they are interrupted, as this does.
const OUTSIDE: [&str; 4] = ["alice", "cluster", "serve", "shell"];

/// The word before a revision at which all is looked at from then on.
const AT: &str = r"\at";

pub(crate) fn run(args: &Args, context: &Context<'_>) -> Result<(), Failure> {
    if context.held.is_some() {
        return Err(Failure::usage("this is a shell already"));
    }
    let opening = context.opening.clone();
    let store = match args.read_only {
        true => folder::read(&args.dir, opening.clone())?,
        false => folder::open(&args.dir, opening.clone())?,
    };
    folder::tell_written_elsewhere(&store, &args.dir);
    let context = Context {
        format: context.format,
        opening,
        asking: context.asking.clone(),
        held: Some((&args.dir, &store)),
    };
    let is_quiet = is_quiet();
    let is_terminal = io::stdin().is_terminal();
    let mut editor = editor(&store)?;
    let history = history().filter(|_| is_terminal);
    if let Some(file) = &history {
        // The first time there is none.
        let _ = editor.load_history(file);
    }
    let mut failed_last = None;
    let mut is_kept = true;
    let mut at = String::new();
    loop {
        let line = match editor.readline(prompt(&at).as_str()) {
            Ok(line) => line,
            Err(ReadlineError::Interrupted) => continue,
            Err(ReadlineError::Eof) => break,
            Err(error) => return Err(failed(error)),
        };
        let _ = editor.add_history_entry(line.as_str());
        if let Some(file) = history.as_ref().filter(|_| is_kept) {
            is_kept = keep(&mut editor, file);
        }
        let done = one(&line, &args.dir, &mut at, &context);
        be_quiet(is_quiet);
        draw_tables(false);
        match done {
            Ok(Next::Go) => {}
            Ok(Next::End) => break,
            Err(failure) => {
                failure.tell(context.format);
                failed_last = Some(failure.exit());
            }
        }
    }
    // A script wants to know; who sits before a terminal has seen it.
    match failed_last.filter(|_| !is_terminal) {
        Some(exit) => Err(Failure::silent(exit)),
        None => Ok(()),
    }
}

fn prompt(at: &str) -> String {
    if at.is_empty() { "jungle> ".to_owned() } else { format!("jungle at {at}> ") }
}

/// Keeps the newest line, behind those of other shells; says once if that cannot be.
fn keep(editor: &mut Editor<Complete<'_>, FileHistory>, file: &Path) -> bool {
    let kept = file.parent().map_or(Ok(()), std::fs::create_dir_all);
    let kept = kept.map_err(ReadlineError::from).and_then(|()| editor.append_history(file));
    kept.inspect_err(|error| say(format_args!("Note: the history is not kept: {error}"))).is_ok()
}

enum Next {
    Go,
    End,
}

/// Does what one line says; what is looked at is as it was at a revision, if there is one.
fn one(line: &str, dir: &str, at: &mut String, context: &Context<'_>) -> Result<Next, Failure> {
    let mut said = line.split_whitespace();
    if said.next() == Some(AT) {
        *at = said.collect::<Vec<_>>().join(" ");
        return Ok(Next::Go);
    }
    let mut words = words::split(line).map_err(Failure::usage)?;
    let Some(first) = words.first().cloned() else { return Ok(Next::Go) };
    match &*first {
        "exit" | "quit" => return Ok(Next::End),
        "shell" => return Err(Failure::usage("this is a shell already")),
        first if OUTSIDE.contains(&first) => {
            return Err(Failure::usage(format_args!("{first} is nothing for a shell"))
                .with_hint("leave it, and say it then"));
        }
        // It takes the folder behind what is to be done.
        "access" if words.len() > 1 => words.insert(2, dir.to_owned()),
        "access" => {}
        first if WITHOUT_FOLDER.contains(&first) || first.starts_with('-') => {}
        _ => words.insert(1, dir.to_owned()),
    }
    if !at.is_empty() && may_take_at(&first, &words) {
        words.push(format!("--at={at}"));
    }
    words.insert(0, "jungle".into());
    let args = match args::Args::of(words.into_iter().map(Into::into)) {
        Ok(args) => args,
        Err(error) if error.use_stderr() && context.format == Format::Json => {
            return Err(Failure::not_understood(&error));
        }
        Err(error) => {
            let is_help = !error.use_stderr();
            error.print()?;
            return if is_help { Ok(Next::Go) } else { Err(Failure::silent(Exit::Usage)) };
        }
    };
    let format = args.format(context.format);
    let shown = if args.is_table() { Format::Text } else { format };
    bar::show_for(shown);
    be_data(shown == Format::Json);
    draw_tables(args.is_table());
    be_quiet(is_quiet() || args.is_quiet());
    let opening = args.opening(context.opening.clone());
    let asking = args.asking.clone().or(&context.asking);
    // Who sits before a terminal goes on with another line; a script ends.
    let is_kept = io::stdin().is_terminal() && args.command.only_prints();
    let _printing = is_kept.then(Printing::begin);
    commands::run(&args.command, &Context { format, opening, asking, held: context.held })?;
    Ok(Next::Go)
}

/// Can it be said of this command at which revision, and is it not?
fn may_take_at(command: &str, words: &[String]) -> bool {
    let all = args::Args::command();
    let is_at = |arg: &clap::Arg| arg.get_long() == Some("at");
    let is_taken = all.find_subcommand(command).is_some_and(|it| it.get_arguments().any(is_at));
    let is_said = |word: &String| word == "--" || word == "--at" || word.starts_with("--at=");
    is_taken && !words.iter().any(is_said)
}

fn editor(store: &Store) -> Result<Editor<Complete<'_>, FileHistory>, Failure> {
    let color = if is_colored() { ColorMode::Enabled } else { ColorMode::Disabled };
    let config = Config::builder().auto_add_history(false).color_mode(color).build();
    let mut editor = Editor::with_config(config).map_err(failed)?;
    editor.set_helper(Some(Complete::new(store)));
    Ok(editor)
}

/// Where lines are kept from one time to the next.
fn history() -> Option<PathBuf> {
    let state = std::env::var_os("XDG_STATE_HOME").filter(|dir| !dir.is_empty()).map(PathBuf::from);
    let home = || std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".local/state"));
    Some(state.or_else(home)?.join("jungle").join("history"))
}
