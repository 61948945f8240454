//! `jungle import`: documents into a tree, each a revision.

use std::cell::{Cell, OnceCell};
use std::fs;
use std::io::{self, BufReader, Read, Write};
use std::path::Path;
use std::rc::Rc;

use jungle::{
    BranchError, CommitMeta, CommitOptions, Editor, Jungle, OpenOptions, Revision, TreeHandle,
};
use jungle_json::{ImportError, ImportOptions, MemberOrder, import};
use jungle_words::check_name;
use serde::Serialize;

use crate::args;
use crate::bar::Bar;
use crate::clock;
use crate::context::Context;
use crate::document::{import_into, options, reader, refused};
use crate::failure::{Failure, failed};
use crate::folder::{not_committed, on_branch};
use crate::formats::{self, Form, csv, folder, ndjson, xml};
use crate::output::{Format, count, json_line, size, stdout};

/// A tree in which nothing is yet, as it is exported.
const EMPTY: &str = "{}";

const HELP: &str = "\
Several files become several revisions, in their order; what two have in common is kept once. In \
--tag and --message, {stem} stands for the file's name without its ending, and {n} for its number, \
from 1. The folder and the tree are made when they are not there.";

/// Import documents into a tree, each as a revision
#[derive(clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct Args {
    /// The folder
    pub(crate) dir: String,
    /// The tree
    pub(crate) tree: String,
    /// The documents, `-` for standard input
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<String>,
    /// What the files are [default: as their names tell]
    #[arg(long, value_enum)]
    pub(crate) format: Option<Form>,
    /// Tag each revision
    #[arg(long, value_name = "NAME")]
    pub(crate) tag: Option<String>,
    /// What is imported may be larger than memory: what is not in use may be in the folder
    #[arg(long)]
    pub(crate) spill: bool,
    /// Do not keep the order of members, which JSON gives no meaning
    #[arg(long)]
    pub(crate) ignore_order: bool,
    #[command(flatten)]
    pub(crate) branch: args::Branch,
    #[command(flatten)]
    pub(crate) meta: args::Meta,
    #[command(flatten)]
    pub(crate) read: args::Read,
}

/// What is told of each revision; the names of the fields are those of the JSON form.
#[derive(Serialize)]
struct Told<'f> {
    file: &'f str,
    revision: u64,
    changed: bool,
    nodes: u64,
    bytes: u64,
    tags: &'f [String],
}

pub(crate) fn run(args: &Args, context: &Context<'_>) -> Result<(), Failure> {
    // Before a folder is made for nothing.
    for file in args.files.iter().filter(|file| *file != "-") {
        fs::metadata(file).map_err(|_| reader(file).err().expect("it is not there"))?;
    }
    let open = OpenOptions::new();
    let store = context.create(&args.dir, if args.spill { open.spill() } else { open })?;
    let is_new = store.open_tree(&args.tree).is_err();
    let imported = files(args, context, &store);
    if imported.is_err() && is_new {
        // Nothing is left of a tree that got nothing.
        let tree = store.open_tree(&args.tree).ok();
        let made = tree.filter(|tree| tree.history(..).nth(1).is_none());
        made.map_or(Ok(()), |_| store.delete_tree(&args.tree).map(drop)).map_err(failed)?;
    }
    imported
}

fn files(args: &Args, context: &Context<'_>, store: &Jungle) -> Result<(), Failure> {
    let order = if args.ignore_order { MemberOrder::Ignore } else { MemberOrder::Keep };
    let options = options(&args.read, order);
    let work = Work { args, options, store, tree: OnceCell::new(), format: context.format };
    let mut out = stdout();
    for (index, file) in args.files.iter().enumerate() {
        work.file(&mut out, file, index + 1)?;
    }
    work.tree(&CommitMeta::new())?;
    Ok(out.flush()?)
}

struct Work<'a> {
    args: &'a Args,
    options: ImportOptions,
    store: &'a Jungle,
    /// On the branch that is asked for.
    tree: OnceCell<TreeHandle>,
    format: Format,
}

impl Work<'_> {
    /// The tree; made by this author and with this message, if it is not there.
    fn tree(&self, maker: &CommitMeta) -> Result<&TreeHandle, Failure> {
        if let Some(tree) = self.tree.get() {
            return Ok(tree);
        }
        let Args { tree: name, branch, .. } = self.args;
        let tree = match self.store.open_tree(name) {
            Ok(tree) => tree,
            Err(_) => self.store.by(maker).create_tree(name).map_err(failed)?,
        };
        let tree = match &branch.branch {
            Some(branch) => on_branch(&tree, branch)?,
            None => self.store.open_tree(name).map_err(failed)?,
        };
        Ok(self.tree.get_or_init(|| tree))
    }

    fn file(&self, out: &mut impl Write, file: &str, number: usize) -> Result<(), Failure> {
        let stem = Path::new(file).file_stem().unwrap_or_default().to_string_lossy();
        let fill =
            |text: &String| text.replace("{stem}", &stem).replace("{n}", &number.to_string());
        let mut meta = self.args.meta.commit();
        if let Some(message) = &self.args.meta.message {
            meta = meta.message(&fill(message));
        }
        let tags: Vec<String> = self.args.tag.iter().map(fill).collect();
        let form = self.args.format.unwrap_or_else(|| Form::of(file));
        let of = (file, &*tags);
        match form {
            Form::Ndjson => self.lines(out, file, &meta),
            Form::Json => self.commit(out, meta, of, |editor| {
                import_into(editor, file, &self.options).map(|imported| imported.summary.bytes)
            }),
            Form::Xml => self.commit(out, meta, of, |editor| {
                let read = self.translated(editor, file, xml::Json::new)?;
                read.map_err(|error| xml::refused(file, &error))
            }),
            Form::Csv => self.commit(out, meta, of, |editor| {
                let read = self.translated(editor, file, csv::Json::new)?;
                read.map_err(|error| formats::refused(file, &error))
            }),
            Form::Folder => self.commit(out, meta, of, |editor| folder::import(editor, file)),
        }
    }

    /// Reads what `json` makes JSON of; gives the bytes of the file.
    fn translated<J: Read>(
        &self,
        editor: &mut Editor,
        file: &str,
        json: impl FnOnce(BufReader<Box<dyn Read>>) -> J,
    ) -> Result<Result<u64, ImportError>, Failure> {
        let (reader, bytes) = reader(file)?;
        let mut bar = Bar::new(file, bytes);
        let taken = Rc::default();
        let reader = Metered { reader, taken: Rc::clone(&taken) };
        let json = json(BufReader::new(Box::new(reader)));
        let read = import(json, editor, &[], &self.options, &mut |_| bar.set(taken.get()));
        bar.end();
        Ok(read.map(|_| taken.get()))
    }

    /// Each line of a file is a revision.
    fn lines(&self, out: &mut impl Write, file: &str, meta: &CommitMeta) -> Result<(), Failure> {
        let (reader, bytes) = reader(file)?;
        let mut bar = Bar::new(file, bytes);
        ndjson::read(file, &mut BufReader::new(reader), |line, place, read| {
            let (text, meta) = (line.value.get(), line.meta(meta.clone()));
            let commit = || {
                if text == EMPTY {
                    // The revision in which a tree is made.
                    self.tree(&meta)?;
                }
                self.commit(out, meta, (place, &line.tags), |editor| {
                    let read = import(text.as_bytes(), editor, &[], &self.options, &mut |_| ());
                    read.map(|summary| summary.bytes).map_err(|error| refused(place, &error))
                })
            };
            // Each prints a line.
            let time = line.time(place)?;
            bar.aside(|| clock::at(time, commit))?;
            bar.set(read);
            Ok(())
        })
    }

    /// Makes one revision, and its tags; `f` gives the bytes that were read.
    fn commit(
        &self,
        out: &mut impl Write,
        meta: CommitMeta,
        (file, tags): (&str, &[String]),
        f: impl FnOnce(&mut Editor) -> Result<u64, Failure>,
    ) -> Result<(), Failure> {
        // Before there is a revision for nothing.
        let tree = self.tree(&CommitMeta::new())?;
        tags.iter().try_for_each(|tag| must_be_free(tree, tag))?;
        let mut tx = tree.begin(CommitOptions { meta, ..CommitOptions::default() });
        let bytes = tx.bulk(f)?;
        let changed = tx.is_changed();
        let revision = tx.commit().map_err(not_committed)?.revision;
        for tag in tags {
            tree.tag(tag, revision).map_err(failed)?;
        }
        let nodes = tree.read().root().subtree_count();
        let revision = Revision::number(revision);
        let told = Told { file, revision, changed, nodes, bytes, tags };
        match self.format {
            Format::Json => json_line(out, &told)?,
            Format::Text => told.print(out)?,
        }
        // It is durable now: whoever reads along may know.
        Ok(out.flush()?)
    }
}

/// A reader that tells how many bytes were taken of it, also when something else has it.
struct Metered<R> {
    reader: R,
    taken: Rc<Cell<u64>>,
}

impl<R: Read> Read for Metered<R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let read = self.reader.read(bytes)?;
        self.taken.set(self.taken.get() + read as u64);
        Ok(read)
    }
}

fn must_be_free(tree: &TreeHandle, tag: &str) -> Result<(), Failure> {
    check_name(tag).map_err(failed)?;
    match tree.at_tag(tag).is_ok() || tree.on_branch(tag).is_ok() {
        true => Err(failed(BranchError::Exists { name: tag.into() })),
        false => Ok(()),
    }
}

impl Told<'_> {
    fn print(&self, out: &mut impl Write) -> io::Result<()> {
        let Told { file, revision, nodes, bytes, .. } = self;
        let (nodes, bytes) = (count(*nodes, "node"), size(*bytes));
        match self.changed {
            true => write!(out, "revision {revision}: {file}, {bytes}, {nodes}")?,
            false => write!(out, "revision {revision} is {file} already")?,
        }
        for tag in self.tags {
            write!(out, " [{tag}]")?;
        }
        writeln!(out)
    }
}
