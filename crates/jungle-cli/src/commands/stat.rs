//! `jungle stat`: the size and shape of a document as a tree.

use std::io::Write;

use jungle_json::MemberOrder;
use jungle_tree::{Node, Path};
use serde::Serialize;

use crate::context::Context;
use crate::document::{Imported, import_file, new_tree};
use crate::failure::Failure;
use crate::folder::is_folder;
use crate::output::{Format, count, grouped, json_line, size, stdout};
use crate::source::{self, Choice, Source};

const FORMS: &str = "jungle stat FILE, or jungle stat DIR TREE";

/// Tell the size and shape of a JSON document, or of a tree
#[derive(clap::Args)]
#[command(override_usage = FORMS)]
pub(crate) struct Args {
    /// The document, `-` for standard input; or a folder
    #[arg(value_name = "FILE|DIR")]
    place: String,
    /// Of a folder: the tree
    #[arg(value_name = "TREE", num_args = 0..=1)]
    rest: Vec<String>,
    #[command(flatten)]
    choice: Choice,
}

/// What is told; the names of the fields are those of the JSON form.
#[derive(Serialize)]
struct Told<'f> {
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<&'f str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tree: Option<&'f str>,
    nodes: u64,
    attributes: u64,
    depth: usize,
    widest: Widest,
    content_hash: String,
    #[serde(flatten)]
    read: Option<Read>,
}

#[derive(Serialize)]
struct Widest {
    path: String,
    children: u64,
}

/// What is known only of a document, which is read into memory of its own.
#[derive(Serialize)]
struct Read {
    bytes: u64,
    memory_bytes: u64,
    structure_bytes: u64,
    payload_bytes: u64,
    bytes_per_node: f64,
    import_seconds: f64,
    import_megabytes_per_second: f64,
}

pub(crate) fn run(args: &Args, context: &Context<'_>) -> Result<(), Failure> {
    let mut out = stdout();
    let told = if is_folder(&args.place) {
        let source = Source::open(context, &args.place, &args.rest, &args.choice)?;
        let tree = args.rest.first().map(String::as_str);
        Told { tree, ..look(source.snapshot.root()) }
    } else if args.rest.is_empty() {
        let mut tree = new_tree()?;
        let read = &args.choice.read;
        let imported = import_file(&mut tree, &args.place, read, MemberOrder::Keep)?;
        let usage = tree.arena().usage();
        let told = look(tree.snapshot().root());
        let read = Some(Read::new(&imported, usage, told.nodes));
        Told { file: Some(&args.place), read, ..told }
    } else {
        return Err(source::usage(&args.place, FORMS));
    };
    match context.format {
        Format::Json => json_line(&mut out, &told)?,
        Format::Text => print(&mut out, &told)?,
    }
    Ok(out.flush()?)
}

impl Read {
    fn new(imported: &Imported, usage: jungle::ArenaUsage, nodes: u64) -> Read {
        let (bytes, seconds) = (imported.summary.bytes, imported.time.as_secs_f64());
        let memory_bytes = (usage.structure_bytes + usage.payload_bytes) as u64;
        Read {
            bytes,
            memory_bytes,
            structure_bytes: usage.structure_bytes as u64,
            payload_bytes: usage.payload_bytes as u64,
            bytes_per_node: memory_bytes as f64 / nodes as f64,
            import_seconds: seconds,
            import_megabytes_per_second: bytes as f64 / 1e6 / seconds,
        }
    }
}

fn print(out: &mut impl Write, told: &Told<'_>) -> std::io::Result<()> {
    if let Some(read) = &told.read {
        writeln!(out, "size          {} ({})", size(read.bytes), count(read.bytes, "byte"))?;
    }
    let Widest { path, children } = &told.widest;
    writeln!(out, "nodes         {}", grouped(told.nodes))?;
    writeln!(out, "attributes    {}", grouped(told.attributes))?;
    writeln!(out, "depth         {}", told.depth)?;
    writeln!(out, "widest node   {path} ({})", count(*children, "child node"))?;
    if let Some(read) = &told.read {
        let (memory, each) = (size(read.memory_bytes), read.bytes_per_node);
        writeln!(out, "memory        {memory} ({each:.1} bytes a node)")?;
    }
    writeln!(out, "content hash  {}", told.content_hash)?;
    if let Some(read) = &told.read {
        let (seconds, rate) = (read.import_seconds, read.import_megabytes_per_second);
        writeln!(out, "import        {seconds:.2} s ({rate:.0} MB/s)")?;
    }
    Ok(())
}

/// What there is to see of a tree.
fn look(root: Node<'_>) -> Told<'static> {
    let (mut attributes, mut depth) = (0, 0);
    let mut widest = (Path::root(), 0);
    let mut walk = root.walk();
    while let Some(node) = walk.next() {
        attributes += node.attributes().count() as u64;
        depth = depth.max(walk.depth());
        let children = node.child_count();
        if children > widest.1 {
            widest = (walk.path(), children);
        }
    }
    Told {
        file: None,
        tree: None,
        nodes: root.subtree_count(),
        attributes,
        depth,
        widest: Widest { path: widest.0.to_string(), children: widest.1 },
        content_hash: root.content_hash().to_string(),
        read: None,
    }
}
