//! `jungle config`: what `serve` would go by, and where that was said.

use std::ffi::OsStr;
use std::io::Write;

use clap::parser::ValueSource;
use clap::{ArgAction, ArgMatches, CommandFactory};
use serde::Serialize;

use super::serve;
use crate::args;
use crate::context::Context;
use crate::failure::Failure;
use crate::output::{Format, json_line, stdout};

const HELP: &str = "\
Say what you say to `jungle serve`. There is no file of settings: what is not said with an option \
is what its variable says, where it has one (`--json` tells them; lists have commas between, and 1 \
or true is yes), or else as ever. Credentials in addresses are not shown.";

/// Show what `serve` would go by, and where each setting comes from
#[derive(clap::Args)]
#[command(after_help = HELP)]
#[group(skip)]
pub(crate) struct Args {
    #[command(flatten)]
    serve: serve::Args,
    #[command(flatten)]
    pub(crate) listing: args::Listing,
}

/// A setting; the names of the fields are those of the JSON form.
#[derive(Serialize)]
struct Setting {
    name: String,
    /// None where it is not set.
    value: Option<String>,
    /// `option`, `environment` or `default`.
    origin: &'static str,
    /// The variable that says it, or would.
    variable: Option<String>,
}

pub(crate) fn run(args: &Args, context: &Context<'_>) -> Result<(), Failure> {
    let limits = args.serve.limits()?;
    // They could be parsed before.
    let mut command = args::Args::parser();
    let all = command.get_matches_mut();
    let Some((name @ "config", given)) = all.subcommand() else {
        return Err(Failure::usage("`jungle config` is for the command line, not for the shell"));
    };
    // With the variables that are set to nothing, too.
    let whole = args::Args::command();
    let own = whole.find_subcommand(name).into_iter().flat_map(clap::Command::get_arguments);
    let mut settings: Vec<Setting> = own
        .filter(|arg| !arg.is_hide_set() && !arg.is_global_set())
        .filter(|arg| !["format", "help", "limit"].contains(&arg.get_id().as_str()))
        .map(|arg| setting(arg, given, &args.serve))
        .collect();
    let of_all = origin(given, "limit");
    let said = given.get_many::<(String, u64)>("limit").into_iter().flatten();
    let said: Vec<&str> = said.map(|(name, _)| &**name).collect();
    settings.extend(limits.list().into_iter().map(|(name, value)| Setting {
        name: format!("limit {name}"),
        value: Some(value.to_string()),
        origin: if said.contains(&name) { of_all } else { "default" },
        variable: Some("JUNGLE_LIMIT".to_owned()),
    }));
    print(&settings, context.format)
}

fn setting(arg: &clap::Arg, given: &ArgMatches, serve: &serve::Args) -> Setting {
    let id = arg.get_id().as_str();
    let said = given.get_raw(id).map(|values| {
        let values = values.map(|value| value.to_string_lossy());
        values.collect::<Vec<_>>().join(",")
    });
    let is_flag = matches!(arg.get_action(), ArgAction::SetTrue);
    let value = match said {
        _ if is_flag => Some(given.get_flag(id).to_string()),
        None => serve.usual(id),
        Some(said) if id == "cluster" => Some(plain(&said)),
        Some(said) => Some(said),
    };
    let variable = arg.get_env().and_then(OsStr::to_str).map(str::to_owned);
    let name = arg.get_long().unwrap_or(id).to_owned();
    Setting { name, value, origin: origin(given, id), variable }
}

/// Without the name and password that an address may have.
fn plain(value: &str) -> String {
    let addresses = value.split(',').map(|address| match address.rsplit_once('@') {
        Some((said, host)) => {
            let scheme = said.split_once("://").map_or("", |(scheme, _)| scheme);
            let between = if scheme.is_empty() { "" } else { "://" };
            format!("{scheme}{between}…@{host}")
        }
        None => address.to_owned(),
    });
    addresses.collect::<Vec<_>>().join(",")
}

fn origin(given: &ArgMatches, id: &str) -> &'static str {
    match given.value_source(id) {
        Some(ValueSource::CommandLine) => "option",
        Some(ValueSource::EnvVariable) => "environment",
        _ => "default",
    }
}

fn print(settings: &[Setting], format: Format) -> Result<(), Failure> {
    let mut out = stdout();
    let width = |of: fn(&Setting) -> usize| settings.iter().map(of).max().unwrap_or(0);
    let names = width(|setting| setting.name.len());
    let values = width(|setting| setting.value.as_deref().unwrap_or("-").chars().count());
    for setting in settings {
        let value = setting.value.as_deref().unwrap_or("-");
        match (format, &setting.variable) {
            (Format::Json, _) => json_line(&mut out, setting)?,
            (Format::Text, Some(variable)) if setting.origin == "environment" => {
                writeln!(out, "{:names$}  {value:values$}  {variable}", setting.name)?;
            }
            (Format::Text, _) => {
                writeln!(out, "{:names$}  {value:values$}  {}", setting.name, setting.origin)?;
            }
        }
    }
    Ok(out.flush()?)
}
