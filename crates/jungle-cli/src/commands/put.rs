//! `jungle put`: a value into a tree.

use std::io::{self, Read, Write};

use clap::ValueEnum;
use jungle_tree::{VALUE_BYTES_MAX, Value};

use crate::args;
use crate::context::Context;
use crate::document::path;
use crate::failure::{Exit, Failure};
use crate::member::{self, New, Parents};
use crate::output::notice;
use crate::place::{Edit, On, Purpose};

/// Put a value at a path, in place of what is there
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The folder, or the URL of a server
    dir: String,
    /// The tree
    tree: String,
    /// Where: the last key is the name of a member, or the position of an element, of which the
    /// one behind the last is added
    path: String,
    /// What: JSON, or as --type says; `-` reads it from standard input
    #[arg(allow_hyphen_values = true)]
    value: String,
    /// What the value is
    #[arg(long, value_enum, default_value_t, value_name = "TYPE")]
    r#type: Type,
    /// Make the objects above it that are not there
    #[arg(short, long)]
    parents: bool,
    #[command(flatten)]
    branch: args::Branch,
    #[command(flatten)]
    meta: args::Meta,
}

#[derive(Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
enum Type {
    #[default]
    Json,
    /// As it is, without quotes
    Text,
    Int,
    Float,
    /// In base64
    Bytes,
}

pub(crate) fn run(args: &Args, context: &Context<'_>) -> Result<(), Failure> {
    let path = path(&args.path)?;
    let new = value(args)?;
    let place = context.place(&args.dir, Purpose::Write)?;
    let on = On { tree: &args.tree, branch: args.branch.branch.as_deref() };
    let parents = if args.parents { Parents::Make } else { Parents::MustBeThere };
    let put: Edit<'_> = &|editor| member::put(editor, &path, &new, parents);
    let written = place.edit(on, &args.meta, &path, put)?;
    let mut out = notice();
    written.print(&mut out, context.format)?;
    Ok(out.flush()?)
}

fn value(args: &Args) -> Result<New, Failure> {
    let input;
    let text = match &*args.value {
        "-" => {
            input = standard_input()?;
            &input
        }
        text => text,
    };
    let wrong = |what: &str| Failure::usage(format_args!("{text:?} is no {what}"));
    Ok(New::Scalar(match args.r#type {
        Type::Json => return New::from_json(text),
        Type::Text => Value::from(text),
        Type::Int => Value::Int(text.trim().parse().map_err(|_| wrong("integer"))?),
        Type::Float => Value::Float(text.trim().parse().map_err(|_| wrong("number"))?),
        Type::Bytes => {
            jungle_json::base64::decode(text.trim()).ok_or_else(|| wrong("base64"))?.into()
        }
    }))
}

/// All of standard input, as far as a value may be long.
fn standard_input() -> Result<String, Failure> {
    let mut text = String::new();
    let read = io::stdin().lock().take(VALUE_BYTES_MAX as u64 + 1).read_to_string(&mut text);
    read.map_err(|error| {
        Failure::new(Exit::Error, format_args!("cannot read standard input: {error}"))
    })?;
    if text.len() > VALUE_BYTES_MAX {
        let message = format_args!("standard input is longer than {VALUE_BYTES_MAX} bytes");
        return Err(Failure::usage(message).with_hint("`import` takes documents of any size"));
    }
    Ok(text)
}
