//! What can be said on the command line. What a single command takes is in its own file.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::io::{self, IsTerminal};

use anstream::ColorChoice;
use clap::builder::Resettable;
use clap::{CommandFactory, FromArgMatches, Parser, ValueEnum};
use jungle::{CommitMeta, OpenOptions, Spill};

use crate::commands::Command;
use crate::failure::{EXIT_CODES, Exit, Failure};
use crate::output::Format;

/// Trees that remember every version.
///
/// A FILE is a JSON document; `-` is standard input. A DIR is a folder with named trees, and is
/// told from a file by looking: where a folder is given, a tree's name follows it. A URL is that of
/// a server that has such a folder, as `jungle serve` tells it.
#[derive(Parser)]
#[command(name = "jungle", version, after_help = EXIT_CODES)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
    /// Print JSON, for programs: a line for each thing
    #[arg(long, global = true)]
    json: bool,
    /// Print only what was asked for: not what was done, no notes and no progress. Errors are told
    #[arg(short, long, global = true)]
    quiet: bool,
    /// Do not print through a pager: JUNGLE_PAGER, else PAGER, else `less`, on a terminal
    #[arg(long, global = true)]
    no_pager: bool,
    /// Trees may be larger than memory: what is not in use may be in a file, in the folder, or, if
    /// that is only read, where temporary files are (TMPDIR). Without a value `always`
    /// [default: auto]
    #[arg(long, global = true, value_enum, value_name = "WHEN", num_args = 0..=1,
          require_equals = true, default_missing_value = "always")]
    spill: Option<SpillWhen>,
    #[command(flatten)]
    pub(crate) asking: Asking,
    /// When to use colours
    #[arg(long, global = true, value_enum, default_value_t, value_name = "WHEN")]
    pub(crate) color: Color,
}

impl Args {
    /// What can be said, in the environment, too: a variable that is set to nothing says nothing,
    /// as where one is set for all services of a kind.
    pub(crate) fn parser() -> clap::Command {
        without_empty_variables(Args::command())
    }

    /// What was said.
    pub(crate) fn of(words: impl IntoIterator<Item = OsString>) -> Result<Args, clap::Error> {
        let said = Args::parser().try_get_matches_from(words)?;
        Args::from_arg_matches(&said)
    }

    /// Does somebody want JSON whose words are not understood otherwise?
    pub(crate) fn is_json_in(words: impl IntoIterator<Item = OsString>) -> bool {
        words.into_iter().take_while(|word| word != "--").any(|word| word == "--json")
    }

    pub(crate) fn is_quiet(&self) -> bool {
        self.quiet
    }

    /// How folders are opened, which is as usual where nothing is said.
    pub(crate) fn opening(&self, usual: OpenOptions) -> OpenOptions {
        match self.spill {
            Some(when) => usual.spill(when.spill(Spill::Auto)),
            None => usual,
        }
    }

    /// Is it for a terminal, and perhaps longer than that?
    pub(crate) fn is_paged(&self) -> bool {
        let is_json = self.notes() == Format::Json;
        let is_wanted = !self.no_pager && !is_json && self.command.is_paged();
        is_wanted && io::stdout().is_terminal()
    }

    /// What a command is to print, which is as usual where nothing is said.
    pub(crate) fn format(&self, usual: Format) -> Format {
        match self.command.listed() {
            Some(Listed::Text) => Format::Text,
            Some(Listed::Json | Listed::Table) => Format::Json,
            None if self.json => Format::Json,
            None => usual,
        }
    }

    /// Are lines of JSON to be drawn as tables?
    pub(crate) fn is_table(&self) -> bool {
        self.command.listed() == Some(Listed::Table)
    }

    /// For whom errors and progress are.
    pub(crate) fn notes(&self) -> Format {
        if self.is_table() { Format::Text } else { self.format(Format::Text) }
    }
}

/// How what is listed is printed.
#[derive(clap::Args)]
pub(crate) struct Listing {
    /// As what [default: text; with --json, json]
    #[arg(long, value_enum, value_name = "FORM", conflicts_with = "json")]
    pub(crate) format: Option<Listed>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Listed {
    /// Lines for people
    Text,
    /// A line of JSON for each thing, as with --json
    Json,
    /// A table with a row for each thing, cut to the width of a terminal
    Table,
}

fn without_empty_variables(command: clap::Command) -> clap::Command {
    let is_empty = |name: &std::ffi::OsStr| std::env::var_os(name).is_some_and(|it| it.is_empty());
    let command = command.mut_args(|arg| match arg.get_env().is_some_and(is_empty) {
        true => arg.env(Resettable::Reset),
        false => arg,
    });
    command.mut_subcommands(without_empty_variables)
}

#[derive(Clone, Copy, Default, ValueEnum)]
pub(crate) enum Color {
    /// On a terminal, unless NO_COLOR is set
    #[default]
    Auto,
    Always,
    Never,
}

impl Color {
    pub(crate) fn apply(self) {
        let choice = match self {
            Color::Auto => ColorChoice::Auto,
            Color::Always => ColorChoice::Always,
            Color::Never => ColorChoice::Never,
        };
        choice.write_global();
    }
}

/// When trees may be larger than memory.
#[derive(Clone, Copy, Default, ValueEnum)]
pub(crate) enum SpillWhen {
    /// Where they take up more than half of the memory that there is when they are opened
    #[default]
    Auto,
    Always,
    Never,
}

impl SpillWhen {
    /// The same, for who finds it out by itself like this.
    pub(crate) fn spill(self, auto: Spill) -> Spill {
        match self {
            SpillWhen::Auto => auto,
            SpillWhen::Always => Spill::Always,
            SpillWhen::Never => Spill::Never,
        }
    }
}

/// Who asks servers.
#[derive(clap::Args, Clone)]
pub(crate) struct Asking {
    /// Ask servers with the token in this file [default: with that in JUNGLE_TOKEN, if it is set]
    #[arg(long, global = true, value_name = "FILE")]
    token_file: Option<String>,
    /// Send the token to other machines even where nothing is encrypted (http://)
    #[arg(long, global = true)]
    pub(crate) expose_token: bool,
}

impl Asking {
    /// The token, if there is one. It is no argument: those are seen by everybody on the machine.
    pub(crate) fn token(&self) -> Result<Option<String>, Failure> {
        let Some(file) = &self.token_file else {
            return Ok(env::var("JUNGLE_TOKEN").ok().filter(|token| !token.is_empty()));
        };
        let token = fs::read_to_string(file).map_err(|error| {
            Failure::new(Exit::Error, format_args!("cannot read {file}: {error}"))
        })?;
        Ok(Some(token.trim().to_owned()))
    }

    /// Who asks where nothing is said here.
    pub(crate) fn or(self, usual: &Asking) -> Asking {
        Asking {
            token_file: self.token_file.or_else(|| usual.token_file.clone()),
            expose_token: self.expose_token || usual.expose_token,
        }
    }
}

/// How a document is read.
#[derive(clap::Args)]
pub(crate) struct Read {
    /// Accept at most this many objects and arrays in one another
    #[arg(long, value_name = "LEVELS", default_value_t = 512)]
    pub(crate) depth_max: usize,
}

/// Which revision of a tree.
#[derive(clap::Args)]
pub(crate) struct At {
    /// As it was at this revision: number, tag, branch, main~3, or time
    #[arg(long, value_name = "REV")]
    pub(crate) at: Option<String>,
}

/// Which branch of a tree.
#[derive(clap::Args)]
pub(crate) struct Branch {
    /// On this branch [default: main]
    #[arg(short, long, value_name = "NAME")]
    pub(crate) branch: Option<String>,
}

/// Who commits, and why.
#[derive(clap::Args)]
pub(crate) struct Meta {
    /// Why, for the log
    #[arg(short, long, value_name = "TEXT")]
    pub(crate) message: Option<String>,
    /// Who, for the log
    #[arg(long, value_name = "NAME", env = "JUNGLE_AUTHOR")]
    pub(crate) author: Option<String>,
}

/// Who does what is no edit.
#[derive(clap::Args)]
pub(crate) struct By {
    /// Who, for the log of a folder: a server knows who asks it
    #[arg(long, value_name = "NAME", env = "JUNGLE_AUTHOR")]
    author: Option<String>,
}

impl By {
    pub(crate) fn meta(&self) -> CommitMeta {
        self.author.iter().fold(CommitMeta::new(), |meta, author| meta.author(author))
    }
}

impl Meta {
    /// Who commits, and nothing else.
    pub(crate) fn by(&self) -> By {
        By { author: self.author.clone() }
    }

    pub(crate) fn commit(&self) -> CommitMeta {
        let mut meta = CommitMeta::new();
        if let Some(author) = &self.author {
            meta = meta.author(author);
        }
        if let Some(message) = &self.message {
            meta = meta.message(message);
        }
        meta
    }
}
