//! The Rust peer on `imbl`: one case per run, one line of JSON. See the README beside this folder.

mod heap;
mod jungle;
mod support;

use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use jungle::{Jungle, Key, Node, Position, Tree, Value, update_tree_with};
use support::{
    KEY, Options, Outcome, Rng, Shape, checksum, ok_if_none, on_workers, read_value, value_of,
};

#[global_allocator]
static ALLOCATOR: heap::CountingAllocator = heap::CountingAllocator;

#[derive(Clone, Copy, PartialEq)]
enum Payload {
    Bare,
    Attributed,
}

#[derive(Clone, Copy, PartialEq)]
enum Age {
    Fresh,
    Aged,
}

fn main() -> ExitCode {
    let options = match Options::parse(std::env::args().skip(1)) {
        Ok(options) => options,
        Err(message) => return usage(&message),
    };
    let outcome = match options.case.as_str() {
        "read-visit" => read_visit(&options, Payload::Bare, Age::Fresh),
        "read-visit-attribute" => read_visit(&options, Payload::Attributed, Age::Fresh),
        "read-visit-aged" => read_visit(&options, Payload::Attributed, Age::Aged),
        "write-nodes" => write(&options, Payload::Bare),
        "write-attributes" => write(&options, Payload::Attributed),
        "point-update" => point_update(&options),
        "point-read" => point_read(&options),
        "walker-update" => walker_update(&options),
        "memory-bare" => memory(&options, Payload::Bare),
        "memory-attribute" => memory(&options, Payload::Attributed),
        "wide" => wide(&options),
        unknown => return usage(&format!("unknown case {unknown}")),
    };
    println!("{}", outcome.to_json(&options));
    let code = u8::from(outcome.check != "ok");
    // Giving a large tree back node by node takes seconds and is not measured.
    std::process::exit(code.into())
}

fn usage(message: &str) -> ExitCode {
    eprintln!("{message}");
    ExitCode::from(2)
}

fn plant(options: &Options, payload: Payload) -> Arc<Tree> {
    let key = Key::from(KEY);
    let jungle = Jungle::default();
    let tree = jungle.create_tree("tree");
    let key = (payload == Payload::Attributed).then_some(&key);
    jungle.update_root_node("tree", Shape::read(options.quick).build(key));
    tree
}

fn count_all(root: &Node) -> usize {
    let mut count = 0;
    root.visit(&mut |_| count += 1);
    count
}

fn count_attributed(root: &Node) -> usize {
    let mut count = 0;
    root.visit(&mut |node| count += usize::from(!node.attributes.is_empty()));
    count
}

/// A writer's state: what it overwrites next.
struct Overwriter {
    shape: Shape,
    random: Rng,
    key: Key,
    path: [Position; 8],
    stamp: u64,
}

impl Overwriter {
    fn new(options: &Options, seed: u64) -> Overwriter {
        let (shape, key) = (Shape::read(options.quick), Key::from(KEY));
        Overwriter {
            shape,
            random: Rng(seed),
            key,
            path: [0; 8],
            stamp: 0,
        }
    }

    fn publish_one(&mut self, tree: &Tree) {
        self.stamp += 1;
        let number = self.shape.random_leaf(&mut self.random, &mut self.path);
        let value = value_of(number, self.stamp);
        update_tree_with(tree, |root| {
            root.put_attribute(&self.path, self.key.clone(), value.clone())
        });
    }
}

fn read_visit(options: &Options, payload: Payload, age: Age) -> Outcome {
    let tree = plant(options, payload);
    if age == Age::Aged {
        let mut writer = Overwriter::new(options, options.seed ^ 0xa6ed);
        for _ in 0..if options.quick { 10_000 } else { 1_000_000 } {
            writer.publish_one(&tree);
        }
    }
    let shape = Shape::read(options.quick);
    let base = shape.nodes();
    let dispenser = Mutex::new((0, Rng(options.seed)));
    // One lock makes the versions in order; only the counting runs side by side.
    let next_version = || {
        let mut state = dispenser.lock().expect("no holder of this lock panics");
        if state.0 == options.tasks {
            return None;
        }
        state.0 += 1;
        let parent = shape.random_parent(&mut state.1);
        update_tree_with(&tree, |root| root.add_child_at(&parent));
        Some((state.0, tree.load_full()))
    };
    let (seconds, wrongs) = on_workers(options.threads, |_| {
        let mut wrong = 0;
        while let Some((version, root)) = next_version() {
            // The added nodes have no attribute.
            let right = match payload {
                Payload::Bare => count_all(&root) == base + version,
                Payload::Attributed => count_attributed(&root) == base,
            };
            wrong += usize::from(!right);
        }
        wrong
    });
    // Every count was compared, so the visits are known: the base each time, and the added ones.
    let visits = options.tasks * base + options.tasks * (options.tasks + 1) / 2;
    let check = ok_if_none(wrongs.iter().sum(), "snapshots had a wrong count");
    Outcome::rate(seconds, visits, check).with("checksum", checksum(0, &tree.load()).into())
}

fn write(options: &Options, payload: Payload) -> Outcome {
    let shape = Shape::write(options.quick);
    let jungle = Jungle::default();
    let next = AtomicUsize::new(0);
    let name_of = |task: usize| format!("tree-{task}");
    let (seconds, _) = on_workers(options.threads, |_| {
        // Of each worker's own: shared, their counts would be written by every thread.
        let attribute: Option<(Key, Value)> = (payload == Payload::Attributed)
            .then(|| (Key::from(KEY), Value::from(b"sixteen-byte-val".as_slice())));
        loop {
            let task = next.fetch_add(1, Ordering::Relaxed);
            if task >= options.tasks {
                break;
            }
            jungle.create_tree(&name_of(task));
            jungle.update_root_node(&name_of(task), grow(shape, attribute.as_ref()));
        }
    });
    let nodes = shape.nodes();
    let attributed = if payload == Payload::Bare { 0 } else { nodes };
    let is_right = |root: &Node| count_all(root) == nodes && count_attributed(root) == attributed;
    let (mut sum, mut wrong) = (0, 0);
    for task in 0..options.tasks {
        match jungle.get_root_node(&name_of(task)) {
            Some(root) if is_right(&root) => sum = checksum(sum, &root),
            _ => wrong += 1,
        }
    }
    let check = ok_if_none(wrong, "trees had a wrong count");
    Outcome::rate(seconds, nodes * options.tasks, check).with("checksum", sum.into())
}

/// Builds a tree from the root down, every edit by its path from the root.
fn grow(shape: Shape, attribute: Option<&(Key, Value)>) -> Node {
    let decorate = |root: Node, path: &[Position]| match attribute {
        Some((key, value)) => root.put_attribute(path, key.clone(), value.clone()),
        None => root,
    };
    fn grow_below(
        mut root: Node,
        levels: &[u64],
        path: &mut Vec<Position>,
        decorate: &impl Fn(Node, &[Position]) -> Node,
    ) -> Node {
        if let [fan_out, rest @ ..] = levels {
            for position in 0..*fan_out {
                root = root.add_child_at(path);
                path.push(position);
                root = decorate(root, path);
                root = grow_below(root, rest, path, decorate);
                path.pop();
            }
        }
        root
    }
    grow_below(
        decorate(Node::default(), &[]),
        shape.0,
        &mut Vec::new(),
        &decorate,
    )
}

/// Compares every leaf with what the same random draws, done again, say it must hold.
fn check_leaves(options: &Options, root: &Node, updates: u64) -> String {
    let shape = Shape::read(options.quick);
    let mut stamps = vec![0; shape.leaves()];
    let mut random = Rng(options.seed);
    let mut path = [0; 8];
    for stamp in 1..=updates {
        stamps[shape.random_leaf(&mut random, &mut path) as usize] = stamp;
    }
    let (mut leaves, mut wrong) = (0, 0);
    root.visit(&mut |node| {
        if node.children.is_empty() {
            let found = node.attributes.get(KEY).map(|value| read_value(value));
            wrong += usize::from(found != stamps.get(leaves).map(|stamp| (leaves as u64, *stamp)));
            leaves += 1;
        }
    });
    wrong += leaves.abs_diff(stamps.len());
    ok_if_none(wrong, "leaves are wrong or missing")
}

fn point_update(options: &Options) -> Outcome {
    let tree = plant(options, Payload::Attributed);
    let updates = options.tasks * 1000;
    let (seconds, _) = on_workers(1, |_| {
        let mut writer = Overwriter::new(options, options.seed);
        for _ in 0..updates {
            writer.publish_one(&tree);
        }
    });
    Outcome::rate(
        seconds,
        updates,
        check_leaves(options, &tree.load(), updates as u64),
    )
}

fn point_read(options: &Options) -> Outcome {
    let tree = plant(options, Payload::Attributed);
    let shape = Shape::read(options.quick);
    let reads = options.tasks * 1000;
    let (seconds, wrongs) = on_workers(options.threads, |worker| {
        let rest = usize::from(worker < reads % options.threads);
        let mut random = Rng(options.seed.wrapping_add(worker as u64));
        let mut path = [0; 8];
        let mut wrong = 0;
        for _ in 0..reads / options.threads + rest {
            let number = shape.random_leaf(&mut random, &mut path);
            let root = tree.load();
            let found = root
                .get_attributes(&path, KEY)
                .map(|value| read_value(value).0);
            wrong += usize::from(found != Some(number));
        }
        wrong
    });
    Outcome::rate(
        seconds,
        reads,
        ok_if_none(wrongs.iter().sum(), "reads found a wrong value"),
    )
}

fn walker_update(options: &Options) -> Outcome {
    let tree = plant(options, Payload::Attributed);
    let nodes = Shape::read(options.quick).nodes();
    let start = Instant::now();
    let deadline = start + Duration::from_secs_f64(options.seconds);
    let write = || {
        let mut writer = Overwriter::new(options, options.seed);
        while Instant::now() < deadline {
            // The clock is read seldom, so that it does not count.
            for _ in 0..64 {
                writer.publish_one(&tree);
            }
        }
        (writer.stamp, start.elapsed().as_secs_f64(), 0)
    };
    let walk = || {
        let (mut visits, mut wrong) = (0, 0);
        while Instant::now() < deadline {
            let count = count_attributed(&tree.load_full());
            visits += count as u64;
            wrong += usize::from(count != nodes);
        }
        (visits, start.elapsed().as_secs_f64(), wrong)
    };
    let (_, results) = on_workers(2, |worker| if worker == 0 { write() } else { walk() });
    let (updates, seconds, _) = results[0];
    let (visits, walk_seconds, wrong) = results[1];
    let check = if wrong == 0 {
        check_leaves(options, &tree.load(), updates)
    } else {
        ok_if_none(wrong, "walks had a wrong count")
    };
    Outcome::rate(seconds, updates as usize, check).with("walker", visits as f64 / walk_seconds)
}

fn memory(options: &Options, payload: Payload) -> Outcome {
    heap::start_counting();
    let start = Instant::now();
    let tree = plant(options, payload);
    let seconds = start.elapsed().as_secs_f64();
    let nodes = Shape::read(options.quick).nodes();
    let value = heap::live_bytes() as f64 / nodes as f64;
    let count = count_all(&tree.load());
    let check = ok_if_none(count.abs_diff(nodes), "nodes too many or too few");
    Outcome {
        seconds,
        operations: nodes,
        value,
        unit: "B",
        extra: None,
        check,
    }
}

fn wide(options: &Options) -> Outcome {
    let (seconds, roots) = on_workers(1, |_| {
        (0..options.children).fold(Node::default(), |node, _| node.add_child_at(&[]))
    });
    let found = roots[0].num_of_child(&[]);
    let check = ok_if_none(
        found.abs_diff(options.children),
        "children too many or too few",
    );
    Outcome::rate(seconds, options.children, check)
}
