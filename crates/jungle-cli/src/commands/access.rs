//! `jungle access`: who may do what over HTTP.

use std::io::{BufRead, ErrorKind, Write};
use std::path::{Path as FsPath, PathBuf};

use clap::Subcommand;
use jungle::{Clock, OpenOptions, Path, SystemClock, Timestamp};
use jungle_server::{Access, AccessError, Grant, Role};
use jungle_words::time;
use serde::Serialize;

use crate::args;
use crate::context::Context;
use crate::failure::{Exit, Failure, failed};
use crate::folder;
use crate::output::{Format, done, json_line, say, stdout};

/// The access file of a folder.
const NAME: &str = "access.toml";

const HELP: &str = "\
DIR is the folder that is served, which gets a file access.toml, and is made for who is added \
first if it is not there; or a file, NAME.toml, for `jungle serve --access`. A server that runs \
takes changes in within a second or two.

Roles: read; write, which is also to edit; admin, which is also to make, rename and delete trees. \
A TREE is a name; with a `*` behind it, all whose names begin so. WHO may be `public`: that is \
everybody, those too who do not say who they are, and can be given the role read only.";

/// Say who may do what over HTTP; without it, everybody who reaches the server may do everything
#[derive(clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Add a user, who logs in; or give one another password. It is printed, once
    AddUser {
        /// The folder that is served
        dir: PathBuf,
        /// The name, also of the author of commits
        name: String,
        /// Read the password, a line, from standard input, rather than make one
        #[arg(long)]
        password_stdin: bool,
    },
    /// Add a token, for a program. It is printed, once
    AddToken {
        /// The folder that is served
        dir: PathBuf,
        /// The name, also of the author of commits
        name: String,
        /// It ends after so many days; 0 is never
        #[arg(long, default_value_t = 90, value_parser = clap::value_parser!(u32).range(0..=36500))]
        days: u32,
    },
    /// Give a user or token a role
    Grant {
        /// The folder that is served
        dir: PathBuf,
        /// The user or token, or `public`
        who: String,
        /// The tree or trees
        tree: String,
        /// read, write or admin
        role: Role,
        /// The node, with all below
        #[arg(default_value = "/")]
        path: String,
    },
    /// Take back what was granted for a tree; without a tree everything, the user or token, too
    Revoke {
        /// The folder that is served
        dir: PathBuf,
        /// The user or token, or `public`
        who: String,
        /// The tree or trees, as in the grant
        tree: Option<String>,
    },
    /// List users, tokens and what they may do
    List {
        /// The folder that is served
        dir: PathBuf,
        #[command(flatten)]
        listing: args::Listing,
    },
}

impl Args {
    pub(crate) fn listing(&self) -> Option<&args::Listing> {
        match &self.what {
            What::List { listing, .. } => Some(listing),
            _ => None,
        }
    }
}

pub(crate) fn run(args: &Args, context: &Context<'_>) -> Result<(), Failure> {
    match &args.what {
        What::AddUser { dir, name, password_stdin } => {
            let own = if *password_stdin { Some(line()?) } else { None };
            let password = add(dir, |access| access.add_user(name, own.as_deref()))?;
            // Whoever gave it knows it.
            let secret = if own.is_none() { Some(&*password) } else { None };
            tell(&Added { name, kind: "user", secret }, context)?;
            tell_next(dir, name)
        }
        What::AddToken { dir, name, days } => {
            let token = add(dir, |access| access.add_token(name, end(*days)))?;
            tell(&Added { name, kind: "token", secret: Some(&token) }, context)?;
            tell_next(dir, name)
        }
        What::Grant { dir, who, tree, role, path } => {
            let path: Path = path
                .parse()
                .map_err(|error| Failure::usage(format_args!("{path} is no path: {error}")))?;
            let grant = Grant { who: who.clone(), tree: tree.clone(), path, role: *role };
            let granted =
                Granted { name: who, tree, path: grant.path.to_string(), role: role.to_string() };
            change(dir, |access| access.grant(grant))?;
            Ok(done(context.format, &granted)?)
        }
        What::Revoke { dir, who, tree } => {
            let tree = tree.as_deref();
            change(dir, |access| access.revoke(who, tree))?;
            Ok(done(context.format, &Revoked { name: who, tree, revoked: true })?)
        }
        What::List { dir, .. } => list(&read(&file(dir)?)?, context),
    }
}

/// The access file of a folder, if it has one. One that cannot be looked at is there: it must not
/// be passed over.
pub(super) fn of_folder(dir: &FsPath) -> Option<PathBuf> {
    let file = dir.join(NAME);
    let is_missing =
        file.symlink_metadata().is_err_and(|error| error.kind() == ErrorKind::NotFound);
    (!is_missing).then_some(file)
}

/// Makes a folder that is not there, or empty, one to be served: one with an access file alone
/// would be refused, as it may be anything. Was it made?
fn make(dir: &FsPath) -> Result<bool, Failure> {
    let is_empty = || dir.read_dir().is_ok_and(|mut files| files.next().is_none());
    if is_file(dir) || dir.exists() && !is_empty() {
        return Ok(false);
    }
    folder::create_private(dir).map_err(|error| {
        Failure::new(Exit::Error, format_args!("cannot make {}: {error}", dir.display()))
    })?;
    folder::open(&dir.to_string_lossy(), OpenOptions::new())?.close().map_err(failed)?;
    say(format_args!("Note: made {0}, for `jungle serve --data {0}`", dir.display()));
    Ok(true)
}

/// Says that somebody may do nothing yet, if it is so.
fn tell_next(dir: &FsPath, name: &str) -> Result<(), Failure> {
    let access = read(&file(dir)?)?;
    if !access.grants().iter().any(|grant| grant.who == name) {
        say(format_args!("Note: {name} may do nothing until `jungle access grant` says what"));
    }
    Ok(())
}

fn is_file(dir: &FsPath) -> bool {
    dir.extension().is_some_and(|extension| extension == "toml") && !dir.is_dir()
}

fn file(dir: &FsPath) -> Result<PathBuf, Failure> {
    if is_file(dir) {
        return Ok(dir.to_owned());
    }
    folder::must_be_there(&dir.to_string_lossy())?;
    Ok(dir.join(NAME))
}

/// What a file says; nothing if there is none.
fn read(file: &FsPath) -> Result<Access, Failure> {
    match Access::read(file) {
        Err(AccessError::Read { source, .. }) if source.kind() == ErrorKind::NotFound => {
            Ok(Access::default())
        }
        read => read.map_err(|error| not_done(&error)),
    }
}

/// Changes a file for somebody who is new, and makes its folder, if that is not there.
fn add<T>(
    dir: &FsPath,
    change: impl FnOnce(&mut Access) -> Result<T, AccessError>,
) -> Result<T, Failure> {
    let is_made = make(dir)?;
    let file = file(dir)?;
    let is_first = !is_made && !file.exists();
    let done = rewrite(&file, change)?;
    if is_first {
        // It looks for the file as it starts, and only then.
        say("Note: a server that has the folder open asks nobody until it is started again");
    }
    Ok(done)
}

fn change<T>(
    dir: &FsPath,
    change: impl FnOnce(&mut Access) -> Result<T, AccessError>,
) -> Result<T, Failure> {
    rewrite(&file(dir)?, change)
}

fn rewrite<T>(
    file: &FsPath,
    change: impl FnOnce(&mut Access) -> Result<T, AccessError>,
) -> Result<T, Failure> {
    Access::change(file, change).map_err(|error| not_done(&error))
}

/// An error, and what to do.
pub(super) fn not_done(error: &AccessError) -> Failure {
    let exit = match error {
        AccessError::NoSuchName { .. } => Exit::NotFound,
        _ => Exit::Error,
    };
    let failure = Failure::of(exit, error);
    match error {
        AccessError::Shared { path, .. } => {
            failure.with_hint(format_args!("chmod 600 {}", path.display()))
        }
        AccessError::NoSuchName { .. } => {
            failure.with_hint("`jungle access list DIR` lists users and tokens")
        }
        _ => failure,
    }
}

fn end(days: u32) -> Option<Timestamp> {
    let micros = i64::from(days) * 24 * 60 * 60 * 1_000_000;
    (days > 0).then(|| Timestamp::from_micros(SystemClock.now().as_micros() + micros))
}

fn line() -> Result<String, Failure> {
    let mut line = String::new();
    let read = std::io::stdin().lock().read_line(&mut line);
    read.map_err(|error| Failure::new(Exit::Error, format_args!("cannot read: {error}")))?;
    Ok(line.trim_end_matches(['\r', '\n']).to_owned())
}

/// Prints the secret of who is new, if there is one.
fn tell(added: &Added<'_>, context: &Context<'_>) -> Result<(), Failure> {
    let Some(secret) = added.secret else { return Ok(done(context.format, added)?) };
    let mut out = stdout();
    match context.format {
        Format::Json => json_line(&mut out, added)?,
        Format::Text => writeln!(out, "{secret}")?,
    }
    Ok(out.flush()?)
}

/// What is told of a grant, or of somebody who has none; the names are those of the JSON form.
#[derive(Serialize)]
struct Told<'a> {
    name: &'a str,
    kind: &'static str,
    expires: Option<String>,
    tree: Option<&'a str>,
    path: Option<String>,
    role: Option<String>,
}

/// What is told of who is new.
#[derive(Serialize)]
struct Added<'a> {
    name: &'a str,
    kind: &'static str,
    /// What nobody can read again.
    #[serde(skip_serializing_if = "Option::is_none")]
    secret: Option<&'a str>,
}

#[derive(Serialize)]
struct Granted<'a> {
    name: &'a str,
    tree: &'a str,
    path: String,
    role: String,
}

#[derive(Serialize)]
struct Revoked<'a> {
    name: &'a str,
    /// None: the user or token is gone.
    tree: Option<&'a str>,
    revoked: bool,
}

fn list(access: &Access, context: &Context<'_>) -> Result<(), Failure> {
    let mut out = stdout();
    let people = access.people().map(|person| {
        let kind = if person.is_user { "user" } else { "token" };
        (person.name, kind, person.expires)
    });
    let is_public = access.grants().iter().any(|grant| grant.who == Access::PUBLIC);
    let everybody = is_public.then_some((Access::PUBLIC, "everybody", None));
    for (name, kind, expires) in people.chain(everybody) {
        let grants = access.grants().iter().filter(|grant| grant.who == name);
        let mut grants: Vec<Option<&Grant>> = grants.map(Some).collect();
        if grants.is_empty() {
            grants.push(None);
        }
        for grant in grants {
            let told = Told {
                name,
                kind,
                expires: expires.map(time::text),
                tree: grant.map(|grant| &*grant.tree),
                path: grant.map(|grant| grant.path.to_string()),
                role: grant.map(|grant| grant.role.to_string()),
            };
            match context.format {
                Format::Json => json_line(&mut out, &told)?,
                Format::Text => text(&mut out, &told)?,
            }
        }
    }
    Ok(out.flush()?)
}

fn text(out: &mut impl Write, told: &Told<'_>) -> std::io::Result<()> {
    let until = told.expires.as_ref().map_or_else(String::new, |end| format!(" until {end}"));
    let may = match (&told.role, told.tree, &told.path) {
        (Some(role), Some(tree), Some(path)) => format!("{role} {tree} {path}"),
        _ => "nothing".to_owned(),
    };
    writeln!(out, "{}  {}{until}, {may}", told.name, told.kind)
}
