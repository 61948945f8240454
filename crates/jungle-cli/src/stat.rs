//! `jungle stat`: the size and shape of a document as a tree.

use std::io::Write;

use jungle_json::MemberOrder;
use jungle_tree::{Node, Path};
use serde::Serialize;

use crate::args;
use crate::document::{import_file, new_tree};
use crate::failure::Failure;
use crate::output::{Format, count, grouped, size, stdout};

/// What is told; the names of the fields are those of the JSON form.
#[derive(Serialize)]
struct Told<'f> {
    file: &'f str,
    bytes: u64,
    nodes: u64,
    attributes: u64,
    depth: usize,
    widest: Widest,
    memory_bytes: u64,
    structure_bytes: u64,
    payload_bytes: u64,
    bytes_per_node: f64,
    content_hash: String,
    import_seconds: f64,
    import_megabytes_per_second: f64,
}

#[derive(Serialize)]
struct Widest {
    path: String,
    children: u64,
}

pub(crate) fn run(args: &args::Stat, format: Format) -> Result<(), Failure> {
    let mut tree = new_tree()?;
    let imported = import_file(&mut tree, &args.file, &args.read, MemberOrder::Keep)?;
    let usage = tree.arena().usage();
    let snapshot = tree.snapshot();
    let root = snapshot.root();
    let (attributes, depth, widest) = look(root);
    let nodes = root.subtree_count();
    let memory_bytes = (usage.structure_bytes + usage.payload_bytes) as u64;
    let seconds = imported.time.as_secs_f64();
    let told = Told {
        file: &args.file,
        bytes: imported.summary.bytes,
        nodes,
        attributes,
        depth,
        widest,
        memory_bytes,
        structure_bytes: usage.structure_bytes as u64,
        payload_bytes: usage.payload_bytes as u64,
        bytes_per_node: memory_bytes as f64 / nodes as f64,
        content_hash: root.content_hash().to_string(),
        import_seconds: seconds,
        import_megabytes_per_second: imported.summary.bytes as f64 / 1e6 / seconds,
    };
    let mut out = stdout();
    match format {
        Format::Json => {
            let text = serde_json::to_string(&told).expect("it has only text and numbers");
            writeln!(out, "{text}")?;
        }
        Format::Text => print(&mut out, &told)?,
    }
    Ok(out.flush()?)
}

fn print(out: &mut impl Write, told: &Told<'_>) -> std::io::Result<()> {
    let Widest { path, children } = &told.widest;
    writeln!(out, "size          {} ({})", size(told.bytes), count(told.bytes, "byte"))?;
    writeln!(out, "nodes         {}", grouped(told.nodes))?;
    writeln!(out, "attributes    {}", grouped(told.attributes))?;
    writeln!(out, "depth         {}", told.depth)?;
    writeln!(out, "widest node   {path} ({})", count(*children, "child node"))?;
    let (memory, each) = (size(told.memory_bytes), told.bytes_per_node);
    writeln!(out, "memory        {memory} ({each:.1} bytes a node)")?;
    writeln!(out, "content hash  {}", told.content_hash)?;
    let (seconds, rate) = (told.import_seconds, told.import_megabytes_per_second);
    writeln!(out, "import        {seconds:.2} s ({rate:.0} MB/s)")
}

/// The number of attributes, the depth, and the node with the most children.
fn look(root: Node<'_>) -> (u64, usize, Widest) {
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
    let widest = Widest { path: widest.0.to_string(), children: widest.1 };
    (attributes, depth, widest)
}
