//! `jungle blame`: who changed each member last.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::io::Write;

use jungle_json::{Member, Shape, shape, value_at};
use jungle_tree::{Change, Key, Node, Path, diff_at};
use jungle_words::{Doing, Info, Line, Tags};
use serde::Serialize;

use super::ls::members;
use crate::args;
use crate::context::Context;
use crate::document::path;
use crate::failure::Failure;
use crate::folder::tree;
use crate::near;
use crate::output::{Format, info, json_line, stdout};
use crate::revision::{HELP, find_or_newest};

/// Longer keys are not lined up.
const KEY_CHARS_MAX: usize = 24;

/// Tell for each member of an object or array which revision changed it last, or anything in it
///
/// It is what `jungle log` with `--limit 1` tells of each: behind the revision with which a branch
/// begins, those of the branch that it was made from follow, and what is there in the oldest
/// revision that is kept counts as its doing.
#[derive(clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct Args {
    /// The folder
    dir: String,
    /// The tree
    tree: String,
    /// Where in the tree
    #[arg(default_value = "/")]
    path: String,
    #[command(flatten)]
    at: args::At,
    /// Stop after this many members
    #[arg(long, value_name = "COUNT")]
    limit: Option<usize>,
    #[command(flatten)]
    pub(crate) listing: args::Listing,
}

/// A member, and the revision.
#[derive(Serialize)]
struct Told {
    key: String,
    #[serde(flatten)]
    info: Info,
}

pub(crate) fn run(args: &Args, context: &Context<'_>) -> Result<(), Failure> {
    let path = path(&args.path)?;
    let folder = context.read(&args.dir)?;
    let tree = tree(&folder, &args.tree, None)?;
    let found = find_or_newest(&tree, args.at.at.as_deref())?;
    let root = found.snapshot.root();
    let mut left = match value_at(root, &path) {
        None => return Err(near::not_found(root, &path)),
        Some(Member::Node(node)) if !matches!(shape(node), Shape::Scalar(_)) => {
            Left::members(node, &path, args.limit.unwrap_or(usize::MAX))
        }
        Some(_) => Left::only(&path),
    };
    let tags = Tags::of(&tree);
    let line = Line::back_from(&found.tree, found.snapshot.revision())?;
    let mut past = line.revisions(..);
    while !left.is_empty()
        && let Some((tree, info)) = past.next().transpose()?
    {
        let doing = Doing::of(tree, info.revision)?;
        left.take_off(&doing, || tags.info(&info));
    }
    if !left.is_empty() {
        // A tag holds a revision of which the history does not tell any more.
        left.take_rest(&tags.info(&found.info()?));
    }
    print(left.told, context.format)
}

/// The members of which it is not known yet.
struct Left {
    parent: Path,
    /// By their places among all.
    places: HashMap<Key, usize>,
    /// All, in the order of the document.
    told: Vec<(Key, Option<Info>)>,
    /// Is it what is at the path itself, which has no members?
    is_whole: bool,
}

impl Left {
    fn members(node: Node<'_>, path: &Path, limit: usize) -> Left {
        let mut left = Left {
            parent: path.clone(),
            places: HashMap::new(),
            told: Vec::new(),
            is_whole: false,
        };
        for (key, _) in members(node).take(limit) {
            // An attribute and a child of one name have one path.
            if let Entry::Vacant(free) = left.places.entry(key.clone()) {
                free.insert(left.told.len());
                left.told.push((key, None));
            }
        }
        left
    }

    fn only(path: &Path) -> Left {
        let key = path.last().cloned().unwrap_or_else(|| "".into());
        Left {
            parent: path.clone(),
            places: HashMap::from([(key.clone(), 0)]),
            told: vec![(key, None)],
            is_whole: true,
        }
    }

    fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// Takes off those that a revision changed: it is looked for once what it changed at all, and
    /// only these are looked at.
    fn take_off(&mut self, doing: &Doing, info: impl Fn() -> Info) {
        for key in self.candidates(doing) {
            let path =
                if self.is_whole { self.parent.clone() } else { self.parent.join(key.clone()) };
            if doing.did_change(&path)
                && let Some(place) = self.places.remove(&key)
            {
                self.told[place].1 = Some(info());
            }
        }
    }

    /// Takes off all that are left.
    fn take_rest(&mut self, info: &Info) {
        for (_, place) in self.places.drain() {
            self.told[place].1 = Some(info.clone());
        }
    }

    /// Those that a revision may have changed.
    fn candidates(&self, doing: &Doing) -> Vec<Key> {
        let all = || self.places.keys().cloned().collect();
        let Doing { before, after } = doing;
        let there = [before, after].map(|version| value_at(version.root(), &self.parent));
        match there {
            [None, None] => return Vec::new(),
            [Some(Member::Node(_)), Some(Member::Node(_))] if !self.is_whole => {}
            _ => return all(),
        }
        let Ok(changes) = diff_at(before, after, &self.parent) else { return all() };
        let mut keys = Vec::new();
        for change in &*changes {
            let depth = self.parent.depth();
            let mut note = |path: &Path| path.get(depth).map(|key| keys.push(key.clone()));
            let noted = match change {
                Change::AttributePut { path, key, .. } | Change::AttributeRemoved { path, key } => {
                    note(&path.join(&**key))
                }
                Change::Moved { from, to } => note(from).and(note(to)),
                change => note(change.path()),
            };
            if noted.is_none() {
                return all();
            }
        }
        keys.sort_unstable();
        keys.dedup();
        keys.retain(|key| self.places.contains_key(key));
        keys
    }
}

fn print(told: Vec<(Key, Option<Info>)>, format: Format) -> Result<(), Failure> {
    let told =
        told.into_iter().filter_map(|(key, info)| Some(Told { key: key.to_string(), info: info? }));
    let told: Vec<Told> = told.collect();
    let chars = told.iter().map(|told| told.key.chars().count());
    let width = chars.filter(|chars| *chars <= KEY_CHARS_MAX).max().unwrap_or(0);
    let mut out = stdout();
    for member in &told {
        match format {
            Format::Json => json_line(&mut out, member)?,
            Format::Text => {
                write!(out, "{:<width$} ", member.key)?;
                info::print(&mut out, &member.info, format)?;
            }
        }
    }
    Ok(out.flush()?)
}
