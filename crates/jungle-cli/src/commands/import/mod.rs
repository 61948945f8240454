//! `jungle import`: documents into a tree, each a revision.

mod again;
mod preview;

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::BTreeSet;
use std::fs;
use std::io::{self, BufReader, Read, Write};
use std::path::Path;
use std::rc::Rc;

use jungle::{CommitMeta, CommitOptions, Editor, Jungle, TreeHandle};
use jungle_formats::{ReadForm, csv_without, json};
use jungle_json::{ImportOptions, MemberOrder, import};
use serde::Serialize;

use crate::args;
use crate::clock;
use crate::context::Context;
use crate::document::{cannot_read, import_into, options, reader, refused, shown};
use crate::failure::{Exit, Failure, failed};
use crate::folder::{not_committed, on_branch};
use crate::formats::{self, Readable, folder, ndjson, only_written};
use crate::output::bar::Bar;
use crate::output::{Format, count, json_line, notice, size, stdout};

use again::{Again, Tagged};
use preview::Preview;

/// A tree in which nothing is yet, as it is exported.
const EMPTY: &str = "{}";

const HELP: &str = "\
Several files become several revisions, in their order; what two have in common is kept once. In \
--tag and --message, {stem} stands for the file's name without its ending, and {n} for its number, \
from 1. The folder and the tree are made when they are not there. What --skip-errors leaves out is \
told, and the exit code is 1 then.

An import with tags that was ended goes on where it was when it is begun again: a file whose tag \
is there, and that has not changed, is passed over, and a revision that lacks its tag gets it.";

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
    pub(crate) format: Option<Readable>,
    /// Tag each revision
    #[arg(long, value_name = "NAME")]
    pub(crate) tag: Option<String>,
    /// Only tell what would be done
    #[arg(long)]
    dry_run: bool,
    /// Leave out what cannot be read: a file, of NDJSON a line, of CSV a row
    #[arg(long)]
    skip_errors: bool,
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

impl Args {
    /// What a file is read as.
    fn form(&self, file: &str) -> Readable {
        self.format.unwrap_or_else(|| Readable::of(file))
    }
}

pub(crate) fn run(args: &Args, context: &Context<'_>) -> Result<(), Failure> {
    // Before a folder is made for nothing.
    for file in &args.files {
        if args.form(file) == Readable::Nothing {
            return Err(only_written(file));
        }
    }
    for file in args.files.iter().filter(|file| *file != "-" && !args.skip_errors) {
        fs::metadata(file).map_err(|error| cannot_read(file, &error))?;
    }
    if args.dry_run {
        let place = (&*args.dir, &*args.tree);
        let preview = Preview::begin(place, &args.branch, context)?;
        return files(args, context, Into::Nowhere(preview));
    }
    let store = context.create(&args.dir)?;
    let is_new = store.open_tree(&args.tree).is_err();
    let got = Cell::new(false);
    let into = Into::Store { store: &store, tree: OnceCell::new(), got: &got };
    let imported = files(args, context, into);
    if imported.is_err() && is_new && !got.get() {
        // Nothing is left of a tree that got nothing.
        let tree = store.open_tree(&args.tree).ok();
        let made = tree.filter(|tree| tree.history(..).nth(1).is_none());
        let by = store.by(&args.meta.by().meta());
        made.map_or(Ok(()), |_| by.delete_tree(&args.tree)).map_err(failed)?;
    }
    imported
}

fn files(args: &Args, context: &Context<'_>, into: Into<'_>) -> Result<(), Failure> {
    let order = if args.ignore_order { MemberOrder::Ignore } else { MemberOrder::Keep };
    let options = options(&args.read, order);
    let (format, skipped) = (context.format, Cell::new(0));
    let work = Work { args, options, into, format, skipped, again: Again::default() };
    // What an import would do was asked for.
    let mut out: Box<dyn Write> = if args.dry_run { Box::new(stdout()) } else { notice() };
    for (index, file) in args.files.iter().enumerate() {
        work.file(&mut out, file, index + 1)?;
    }
    work.make(&args.meta.by().meta())?;
    out.flush()?;
    work.again.must_be_newest(work.handle()?).or_else(|failure| work.leave_out(failure))?;
    match work.skipped.get() {
        0 => Ok(()),
        skipped => {
            let message = format_args!("left out: {}, as told above", count(skipped, "error"));
            Err(Failure::new(Exit::Error, message))
        }
    }
}

struct Work<'a> {
    args: &'a Args,
    options: ImportOptions,
    into: Into<'a>,
    format: Format,
    /// How much was left out.
    skipped: Cell<u64>,
    again: Again,
}

/// Where what is read goes.
enum Into<'a> {
    Store {
        store: &'a Jungle,
        /// On the branch that is asked for.
        tree: OnceCell<TreeHandle>,
        /// Whether anything was imported, what makes no revision as well.
        got: &'a Cell<bool>,
    },
    Nowhere(Preview<'a>),
}

impl Work<'_> {
    /// Makes the tree, by this author and with this message, if it is not there.
    fn make(&self, maker: &CommitMeta) -> Result<(), Failure> {
        match &self.into {
            Into::Store { store, tree, .. } => self.tree(store, tree, maker).map(drop),
            Into::Nowhere(_) => Ok(()),
        }
    }

    /// The tree, on the branch that is asked for: one that is tried on is not made.
    fn handle(&self) -> Result<Option<&TreeHandle>, Failure> {
        let by = || self.args.meta.by().meta();
        match &self.into {
            Into::Store { store, tree, .. } => self.tree(store, tree, &by()).map(Some),
            Into::Nowhere(preview) => Ok(preview.handle()),
        }
    }

    /// The tree, which is made if it is not there.
    fn tree<'t>(
        &self,
        store: &Jungle,
        tree: &'t OnceCell<TreeHandle>,
        maker: &CommitMeta,
    ) -> Result<&'t TreeHandle, Failure> {
        if let Some(tree) = tree.get() {
            return Ok(tree);
        }
        let Args { tree: name, branch, .. } = self.args;
        let made = match store.open_tree(name) {
            Ok(tree) => tree,
            Err(_) => store.by(maker).create_tree(name).map_err(failed)?,
        };
        let on_branch = match &branch.branch {
            Some(branch) => on_branch(&made, branch)?,
            None => store.open_tree(name).map_err(failed)?,
        };
        Ok(tree.get_or_init(|| on_branch))
    }

    /// Tells what cannot be read and goes on without it, if that is wanted.
    fn leave_out(&self, failure: Failure) -> Result<(), Failure> {
        if !self.args.skip_errors {
            return Err(failure);
        }
        failure.tell(self.format);
        self.skipped.set(self.skipped.get() + 1);
        Ok(())
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
        let of = (file, &*tags);
        match self.args.form(file) {
            Readable::Ndjson => self.lines(out, file, &meta),
            Readable::Json => self.commit(out, meta, of, |editor| {
                import_into(editor, file, &self.options).map(|imported| imported.summary.bytes)
            }),
            Readable::Yaml => self.translated(out, meta, of, ReadForm::Yaml),
            Readable::Xml => self.translated(out, meta, of, ReadForm::Xml),
            Readable::Html => self.translated(out, meta, of, ReadForm::Html),
            Readable::Csv => self.translated(out, meta, of, ReadForm::Csv),
            Readable::Folder => self.commit(out, meta, of, |editor| folder::import(editor, file)),
            Readable::Nothing => Err(only_written(file)),
        }
    }

    /// Commits what is translated into JSON while it is read.
    fn translated(
        &self,
        out: &mut impl Write,
        meta: CommitMeta,
        (file, tags): (&str, &[String]),
        form: ReadForm,
    ) -> Result<(), Failure> {
        self.commit(out, meta, (file, tags), |editor| {
            let (reader, bytes) = reader(file)?;
            let bar = Rc::new(RefCell::new(Bar::new(file, bytes)));
            let taken: Rc<Cell<u64>> = Rc::default();
            let reader = BufReader::new(Metered { reader, taken: Rc::clone(&taken) });
            let json = match form {
                ReadForm::Csv if self.args.skip_errors => {
                    csv_without(reader, self.leave_out_rows(file, Rc::clone(&bar)))
                }
                form => json(form, reader, self.options.limits.depth_max),
            };
            let mut done = |_| bar.borrow_mut().set(taken.get());
            let read = import(json, editor, &[], &self.options, &mut done);
            read.map_err(|error| formats::refused(file, form, &error))?;
            Ok(taken.get())
        })
    }

    /// Tells each row that is left out, with the bar out of the way.
    fn leave_out_rows<'w>(
        &'w self,
        file: &'w str,
        bar: Rc<RefCell<Bar<'w>>>,
    ) -> impl FnMut(String) + use<'w> {
        move |what| {
            let failure = Failure::new(Exit::Error, format_args!("{}: {what}", shown(file)));
            // It is told and counted: only without that option would it come back.
            let _ = bar.borrow().aside(|| self.leave_out(failure));
        }
    }

    /// Each line of a file is a revision.
    fn lines(&self, out: &mut impl Write, file: &str, meta: &CommitMeta) -> Result<(), Failure> {
        let (reader, bytes) = match reader(file) {
            Ok(reader) => reader,
            Err(failure) => return self.leave_out(failure),
        };
        let mut bar = Bar::new(file, bytes);
        ndjson::read(file, &mut BufReader::new(reader), |line, place, read| {
            // Each prints a line.
            bar.aside(|| match line {
                Ok(line) => self.line(out, &line, place, meta),
                Err(failure) => self.leave_out(failure),
            })?;
            bar.set(read);
            Ok(())
        })
    }

    fn line(
        &self,
        out: &mut impl Write,
        line: &ndjson::Line<'_>,
        place: &str,
        otherwise: &CommitMeta,
    ) -> Result<(), Failure> {
        let (text, meta) = (line.value.get(), ndjson::meta(line, otherwise.clone()));
        let mut seen = BTreeSet::new();
        let tags = line.tags.iter().filter(|tag| seen.insert(*tag));
        let tags: Vec<String> = tags.cloned().collect();
        let commit = || {
            if text == EMPTY {
                // The revision in which a tree is made.
                self.make(&meta)?;
            }
            self.commit(out, meta, (place, &tags), |editor| {
                let read = import(text.as_bytes(), editor, &[], &self.options, &mut |_| ());
                read.map(|summary| summary.bytes).map_err(|error| refused(place, &error))
            })
        };
        match ndjson::time(line, place) {
            Ok(time) => clock::at(time, commit),
            Err(failure) => self.leave_out(failure),
        }
    }

    /// Makes one revision, and its tags; `f` gives the bytes that were read.
    fn commit(
        &self,
        out: &mut impl Write,
        meta: CommitMeta,
        (file, tags): (&str, &[String]),
        f: impl FnOnce(&mut Editor) -> Result<u64, Failure>,
    ) -> Result<(), Failure> {
        let there = self.handle()?;
        // Before there is a revision for nothing.
        let tagged = match self.again.find(there, tags) {
            Ok(tagged) => tagged,
            Err(failure) => return self.leave_out(failure),
        };
        let f = |editor: &mut Editor| {
            let bytes = f(editor)?;
            // It may have been imported before, and would come once more, behind what is newer.
            if tags.is_empty() && editor.is_changed() {
                self.again.must_be_newest(there)?;
            }
            Ok::<_, Failure>(bytes)
        };
        match &self.into {
            Into::Nowhere(preview) => match preview.try_out((file, tags), tagged.as_ref(), f) {
                Ok(told) => told.print(out, self.format)?,
                Err(failure) => return self.leave_out(failure),
            },
            Into::Store { store, tree, got } => {
                let tree = self.tree(store, tree, &self.args.meta.by().meta())?;
                let marking = tree.by(&meta);
                let mut tx = tree.begin(CommitOptions { meta, ..CommitOptions::default() });
                let read = match &tagged {
                    Some(tagged) => tagged.read(f),
                    None => tx.bulk(f),
                };
                let bytes = match read {
                    Ok(bytes) => bytes,
                    Err(failure) => return self.leave_out(failure),
                };
                let changed = tx.is_changed();
                let (revision, nodes) = match &tagged {
                    Some(Tagged { snapshot, .. }) => {
                        (snapshot.revision(), snapshot.root().subtree_count())
                    }
                    None => {
                        let revision = tx.commit().map_err(not_committed)?.revision;
                        (revision, tree.read().root().subtree_count())
                    }
                };
                got.set(true);
                for tag in tags.iter().filter(|tag| tree.at_tag(tag).is_err()) {
                    marking.tag(tag, revision).map_err(failed)?;
                }
                let told = Told { file, revision: revision.number(), changed, nodes, bytes, tags };
                match self.format {
                    Format::Json => json_line(out, &told)?,
                    Format::Text => told.print(out)?,
                }
                // It is durable now: whoever reads along may know.
                out.flush()?;
            }
        }
        self.again.done(tags, tagged);
        Ok(())
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
