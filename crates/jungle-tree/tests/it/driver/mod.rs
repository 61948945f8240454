//! A world of trees in one arena, edited at random and compared with the model after each step.
//!
//! The torture crate includes this folder as it is, so it uses nothing of its surroundings.

mod convert;
mod cursor;
mod op;
mod random;
mod reads;
pub mod stress;
mod verify;

use std::sync::Arc;

use jungle_testkit::{ModelNode, Rng};
use jungle_tree::{
    Arena, ArenaOptions, EditError, Editor, Keep, Key, Path, Snapshot, Tree, ValueRef, VersionId,
    planted,
};

use op::{Op, Source};

/// How a case is run.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Steps of a case.
    pub steps: u64,
    /// Everything that is held is looked at once in so many steps; one of it, in each.
    pub check_all_every: u64,
}

/// Runs one case; panics at the first thing that is wrong.
pub fn run(rng: &mut Rng, settings: Settings) {
    let mut world = World::new(rng);
    for step in 1..=settings.steps {
        let line = world.step(rng);
        world.check_some(rng, line);
        if step % settings.check_all_every == 0 || step == settings.steps {
            world.check_all(rng);
        }
    }
}

/// Prints what is done when `JUNGLE_TRACE` is set: for finding out what a seed does.
fn trace(what: &dyn std::fmt::Debug) {
    static ON: std::sync::OnceLock<bool> = std::sync::OnceLock::new();
    if *ON.get_or_init(|| std::env::var_os("JUNGLE_TRACE").is_some()) {
        eprintln!("{what:?}");
    }
}

/// A tree and what it should be.
struct Line {
    tree: Tree,
    model: Arc<ModelNode>,
    keep: Keep,
    /// What its history keeps, oldest first.
    kept: Vec<(VersionId, Arc<ModelNode>)>,
}

struct World {
    arena: Arena,
    lines: Vec<Line>,
    held: Vec<(Snapshot, Arc<ModelNode>)>,
    /// Editors that are not published yet.
    open: Vec<(Editor, ModelNode)>,
}

impl Line {
    fn new(tree: Tree, model: Arc<ModelNode>) -> Line {
        Line { tree, model, keep: Keep::Newest, kept: Vec::new() }
    }

    /// The tree has a new version.
    fn published(&mut self, model: ModelNode) {
        self.model = Arc::new(model);
        let id = self.tree.version_id();
        if self.keep != Keep::Newest && self.kept.last().is_none_or(|(last, _)| *last != id) {
            self.kept.push((id, Arc::clone(&self.model)));
        }
    }

    fn keep(&mut self, rng: &mut Rng) {
        self.keep = match (rng.below(3), self.kept.len()) {
            (0, _) => Keep::Newest,
            (1, _) => Keep::All,
            (_, 0) => Keep::From(self.tree.version_id()),
            (_, kept) => Keep::From(self.kept[rng.index(kept)].0),
        };
        match self.keep {
            Keep::Newest => self.kept.clear(),
            Keep::All => {}
            Keep::From(id) => self.kept.retain(|(kept, _)| kept.version() >= id.version()),
        }
        self.tree.keep(self.keep);
        let id = self.tree.version_id();
        if self.keep != Keep::Newest && self.kept.last().is_none_or(|(last, _)| *last != id) {
            self.kept.push((id, Arc::clone(&self.model)));
        }
    }
}

impl World {
    fn new(rng: &mut Rng) -> World {
        let options = ArenaOptions {
            structure_bytes: 64 << 20,
            payload_bytes: 256 << 20,
            // Where a region's memory comes from changes nothing.
            spill: rng.chance(1, 16).then(std::env::temp_dir),
        };
        // In half of the cases blocks are divided and put together again at nearly every step; also
        // where all cases have even seeds, as in the torture suite.
        let case = rng.seed() / 2;
        let names = if case.is_multiple_of(2) { 16 } else { 1 + case / 2 % 3 };
        let arena = planted::arena_of_few_names(&options, names as usize).expect("address range");
        let lines =
            (0..rng.range(1..4)).map(|_| Line::new(Tree::new(&arena), Arc::default())).collect();
        World { arena, lines, held: Vec::new(), open: Vec::new() }
    }

    /// Does something; gives the line it was done to, if it was one.
    fn step(&mut self, rng: &mut Rng) -> usize {
        let line = rng.index(self.lines.len());
        match rng.below(40) {
            0..16 => self.single(rng, line),
            16..22 => self.edit(rng, line),
            22..27 => self.hold(rng, line),
            27..31 => self.let_go(rng),
            31 if rng.chance(1, 2) => self.put_each(rng, line),
            31 => self.open_editor(rng, line),
            32 => self.edit_open(rng),
            33 => self.close_editor(rng, line),
            34 => self.fork(rng),
            35 => self.lines[line].keep(rng),
            36 if rng.chance(1, 2) => self.lines[line].tree.reclaim(),
            36 => {
                let Line { tree, keep, .. } = &mut self.lines[line];
                tree.keep_in_slices(*keep, 1 + rng.index(20));
            }
            37 => self.collect(),
            38 => self.drop_line(rng, line),
            _ => self.on_another_thread(rng),
        }
        line.min(self.lines.len() - 1)
    }

    /// A call that makes a version of its own.
    fn single(&mut self, rng: &mut Rng, line: usize) {
        let line = &mut self.lines[line];
        for _ in 0..rng.range(1..6) {
            let op = Op::random_single(rng, &line.model);
            let before = line.tree.version_id();
            let Some(said) = op.to_tree(&mut line.tree) else { continue };
            trace(&(&op, &said));
            if said.is_err() {
                assert_eq!(line.tree.version_id(), before, "a refused edit made a version");
            }
            let mut model = ModelNode::clone(&line.model);
            op.to_model(&mut model, said);
            line.published(model);
        }
    }

    /// Puts that make a version each, up to the first that is refused.
    fn put_each(&mut self, rng: &mut Rng, line: usize) {
        let line = &mut self.lines[line];
        let mut model = ModelNode::clone(&line.model);
        let puts: Vec<_> = (0..rng.below(50))
            .map(|_| (random::path_or_not(rng, &model), random::attribute(rng), random::value(rng)))
            .collect();
        trace(&("each", &puts));
        let paths: Vec<Path> = puts.iter().map(|(at, ..)| convert::path(at)).collect();
        let given: Vec<(&[Key], &str, ValueRef<'_>)> = paths
            .iter()
            .zip(&puts)
            .map(|(at, (_, key, value))| (&**at, &**key, convert::value(value)))
            .collect();
        let said = line.tree.put_attributes_each(&given);
        let said = said.map_err(|error| convert::error(&error).ok_or(error));
        let mut puts = puts.iter();
        let expected = puts.try_for_each(|(at, key, value)| model.put(at, key, value.clone()));
        assert_eq!(said, expected.map_err(Ok), "puts one after the other");
        line.published(model);
    }

    fn sources(&self, rng: &mut Rng) -> Vec<Source> {
        let mut sources = Vec::new();
        for (snapshot, model) in self.held.iter().take(3) {
            if model.count() < 200 {
                sources.push(op::source(rng, snapshot, model));
            }
        }
        sources
    }

    /// Many calls in one version, which is sometimes given up.
    fn edit(&mut self, rng: &mut Rng, line: usize) {
        let sources = self.sources(rng);
        let line = &mut self.lines[line];
        let mut model = ModelNode::clone(&line.model);
        let before = line.tree.version_id();
        let give_up = rng.chance(1, 5);
        let edited = line.tree.edit(|editor| {
            edit_some(rng, editor, &mut model, &sources);
            if give_up { Err(()) } else { Ok(()) }
        });
        match edited {
            Ok(()) => line.published(model),
            Err(()) => assert_eq!(line.tree.version_id(), before, "given up, but published"),
        }
    }

    fn hold(&mut self, rng: &mut Rng, line: usize) {
        let line = &self.lines[line];
        let held = match rng.below(5) {
            0 if !self.held.is_empty() => {
                let (snapshot, model) = rng.pick(&self.held);
                (snapshot.clone(), Arc::clone(model))
            }
            1 | 2 if !line.kept.is_empty() => {
                let (id, model) = rng.pick(&line.kept);
                (line.tree.reader().held(*id), Arc::clone(model))
            }
            3 => (line.tree.reader().snapshot(), Arc::clone(&line.model)),
            _ => (line.tree.snapshot(), Arc::clone(&line.model)),
        };
        self.held.push(held);
        if self.held.len() > 12 {
            self.let_go(rng);
        }
    }

    fn let_go(&mut self, rng: &mut Rng) {
        if !self.held.is_empty() {
            let (snapshot, model) = self.held.swap_remove(rng.index(self.held.len()));
            verify::content(snapshot.root(), &model);
        }
    }

    fn open_editor(&mut self, rng: &mut Rng, line: usize) {
        let line = &self.lines[line];
        let (base, model) = match self.held.len() {
            0 => (line.tree.snapshot(), &line.model),
            _ if rng.chance(1, 2) => (line.tree.snapshot(), &line.model),
            held => {
                let (snapshot, model) = &self.held[rng.index(held)];
                (snapshot.clone(), model)
            }
        };
        if self.open.len() < 3 {
            self.open.push((Editor::new(base), ModelNode::clone(model)));
        }
        self.edit_open(rng);
    }

    fn edit_open(&mut self, rng: &mut Rng) {
        let sources = self.sources(rng);
        if !self.open.is_empty() {
            let index = rng.index(self.open.len());
            let (editor, model) = &mut self.open[index];
            edit_some(rng, editor, model, &sources);
            verify::content(editor.root(), model);
        }
    }

    /// Publishes an editor on any line, whatever its head is now, or drops it.
    fn close_editor(&mut self, rng: &mut Rng, line: usize) {
        if !self.open.is_empty() {
            let (editor, model) = self.open.swap_remove(rng.index(self.open.len()));
            if rng.chance(3, 4) {
                let line = &mut self.lines[line];
                line.tree.publish(editor);
                line.published(model);
            }
        }
    }

    fn fork(&mut self, rng: &mut Rng) {
        if self.lines.len() < 5 && !self.held.is_empty() {
            let (snapshot, model) = rng.pick(&self.held);
            self.lines.push(Line::new(Tree::from_snapshot(snapshot), Arc::clone(model)));
        }
    }

    fn collect(&mut self) {
        let kept = self.lines.iter().flat_map(|line| line.kept.iter().map(|(id, _)| *id));
        let kept: Vec<VersionId> = kept.collect();
        self.arena.next_collection().start(kept).finish();
    }

    fn drop_line(&mut self, rng: &mut Rng, line: usize) {
        if self.lines.len() > 1 && rng.chance(1, 2) {
            self.lines.swap_remove(line);
        }
    }

    /// What is held is looked at, cloned and let go on another thread.
    fn on_another_thread(&mut self, rng: &mut Rng) {
        let taken = self.held.split_off(rng.index(self.held.len() + 1));
        let back = std::thread::spawn(move || {
            let mut back = taken.clone();
            back.truncate(taken.len() / 2);
            taken.iter().for_each(|(snapshot, model)| verify::content(snapshot.root(), model));
            back
        });
        self.held.extend(back.join().expect("it said why already"));
    }

    /// The newest version of the line just edited, and one that is held.
    fn check_some(&mut self, rng: &mut Rng, line: usize) {
        let line = &self.lines[line];
        let newest = line.tree.snapshot();
        verify::version(&newest, &line.model);
        verify::iteration(rng, &newest, &line.model);
        if self.held.is_empty() {
            return;
        }
        let (snapshot, model) = rng.pick(&self.held);
        verify::version(snapshot, model);
        match rng.below(16) {
            0 | 1 => reads::places(rng, &newest, &line.model),
            2 | 3 => reads::difference(rng, (snapshot, model), (&newest, &line.model)),
            4 => reads::skips(&newest, &line.model, snapshot),
            _ => {}
        }
        verify::differences((snapshot.root(), model), (newest.root(), &line.model));
        if rng.chance(1, 8) {
            verify::index(rng, snapshot, &newest, &line.model);
        }
        let equal = verify::is_equal(model, &line.model);
        assert_eq!(snapshot.root().is_equal(newest.root()), equal, "equality by hash");
    }

    /// Everything is there still. In other ways it is gone through at each step, a part at a time.
    fn check_all(&mut self, rng: &mut Rng) {
        for line in &self.lines {
            verify::whole(&line.tree.snapshot(), &line.model);
            for (id, model) in &line.kept {
                verify::whole(&line.tree.reader().held(*id), model);
            }
        }
        for (snapshot, model) in &self.held {
            verify::whole(snapshot, model);
        }
        for (editor, model) in &self.open {
            verify::content(editor.root(), model);
        }
        let line = &self.lines[rng.index(self.lines.len())];
        let hash = verify::rebuilt_hash(rng, &mut Tree::new(&self.arena), &line.model);
        assert_eq!(line.tree.read().root().content_hash(), hash, "hash of equal content");
    }
}

/// Some calls in an editor, refused ones among them.
fn edit_some(rng: &mut Rng, editor: &mut Editor, model: &mut ModelNode, sources: &[Source]) {
    for _ in 0..rng.range(1..8) {
        if rng.chance(1, 5) {
            cursor::walk(rng, editor, model);
            continue;
        }
        let mut op = Op::random(rng, model, sources);
        if model.count() > 600 && !matches!(op, Op::Set(..) | Op::Pop(_)) {
            op = Op::Remove(random::path(rng, model));
        }
        if let Some(said) = op.to_editor(editor) {
            trace(&("in an editor", &op, &said, editor.root().subtree_count()));
            op.to_model(model, said);
        }
        if rng.chance(1, 10) {
            // A look in between must not change what comes later.
            let _ = editor.root().content_hash();
        }
    }
    let count: Result<u64, EditError> = Ok(editor.root().subtree_count());
    assert_eq!(count, Ok(model.count()), "nodes in the editor");
}
