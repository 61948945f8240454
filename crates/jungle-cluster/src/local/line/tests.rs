use jungle_db::{CommitOptions, Draft, Jungle};
use jungle_testkit::{Rng, for_each_seed};
use jungle_tree::{Arena, EditError, Path, Position, Signature, Value};

use super::*;

/// A line, and another one of the same entries that looks at each of them every time.
struct Pair {
    tree: TreeHandle,
    quick: Line,
    slow: Line,
    /// The number of the next drawing or entry.
    next: u64,
    settled: u64,
    /// How many names were given.
    named: u64,
}

impl Pair {
    fn new(tree: &TreeHandle) -> Pair {
        let head = tree.snapshot();
        let line = || Line::new(tree.clone(), Snapshot::clone(&head), head.revision());
        let (quick, slow) = (line(), line());
        Pair { tree: tree.clone(), quick, slow, next: 1, settled: 0, named: 0 }
    }

    fn add(&mut self, rng: &mut Rng) {
        let tip = self.quick.tip();
        let mut draft = Draft::signed(&tip, CommitOptions::default(), 1, self.next);
        edit(&mut draft, rng, &mut self.named).unwrap();
        if !draft.is_changed() {
            return;
        }
        let (changes, number) = draft.into_changes(&mut Tree::from_snapshot(&tip));
        for line in [&mut self.quick, &mut self.slow] {
            let (time, meta) = (Timestamp::from_micros(0), CommitMeta::new());
            line.add(Pending { number, time, meta, changes: changes.clone(), bytes: 0 }).unwrap();
        }
        self.next = number + 1;
    }

    /// The oldest entries get their places, as they are: the lines are on top of what there is.
    fn settle(&mut self, count: usize) {
        for entry in self.quick.pending.iter().take(count) {
            self.tree.update(|tx| tx.bulk(|editor| apply(editor, &entry.changes))).unwrap();
            self.settled = entry.number;
        }
    }

    /// Tells whether something was put below all entries at once.
    fn advance(&mut self) -> bool {
        let slid = self.quick.slid;
        let head = self.tree.snapshot();
        let (known, now) = ((self.settled, 0), head.revision());
        let quick = self.quick.advance(known, &head, now).unwrap();
        let slow = self.slow.rebase(known, &head, now).unwrap();
        assert_eq!((&quick.gone, &quick.refused), (&slow.gone, &slow.refused));
        let said = |line: &Line| {
            let entries = line.pending.iter();
            entries.map(|entry| (entry.number, entry.changes.to_string())).collect::<Vec<_>>()
        };
        assert_eq!(said(&self.quick), said(&self.slow));
        let (is, wanted) = (self.quick.tip(), self.slow.tip());
        assert!(is.root().is_equal(wanted.root()), "{}", diff(&wanted, &is));
        self.quick.slid > slid
    }
}

/// Does something at some node. Of an attribute many say the same.
fn edit(tx: &mut Draft, rng: &mut Rng, named: &mut u64) -> Result<(), EditError> {
    let mut path = Path::root();
    while rng.chance(3, 4) {
        let keys: Vec<Key> = tx.child_keys(&path).unwrap().collect();
        if keys.is_empty() {
            break;
        }
        path.push(rng.pick(&keys).clone());
    }
    *named += 1;
    let name = Key::from(format!("n{named}"));
    let attribute = *rng.pick(&["x", "y"]);
    match rng.below(18) {
        0 if !path.is_empty() => tx.remove(&path),
        1 if !path.is_empty() => tx.move_node(&path, &[], &name),
        2 => tx.insert_child(&path, &name),
        3..=8 => tx.append(&path).map(drop),
        9 => tx.remove_attribute(&path, attribute).map(drop),
        _ => tx.put_attribute(&path, attribute, *rng.pick(&[1, 2])),
    }
}

/// What others did comes below all entries at once as it does with a look at each.
#[test]
fn what_is_put_below_all_is_what_comes_of_each() {
    let mut slid = 0;
    for_each_seed(100, |rng| {
        let tree = Jungle::new().unwrap().create_tree("t").unwrap();
        let mut others = 1_000_000;
        for _ in 0..30 {
            tree.update(|tx| tx.append(&[])).unwrap();
        }
        let mut pair = Pair::new(&tree);
        for _ in 0..40 {
            pair.add(rng);
        }
        for _ in 0..60 {
            match rng.below(10) {
                0..=4 => pair.add(rng),
                5..=8 => {
                    tree.update(|tx| edit(tx, rng, &mut others)).unwrap();
                }
                _ => pair.settle(rng.index(8)),
            }
            slid += usize::from(pair.advance());
        }
    });
    assert!(slid > 0);
}

fn changes(text: &[(&str, &[Key])]) -> Vec<Change> {
    let change = |(kind, path): &(&str, &[Key])| match *kind {
        "+" => Change::ChildAdded { path: path.to_vec().into() },
        "-" => Change::ChildRemoved { path: path.to_vec().into() },
        key => {
            let (path, value) = (path.to_vec().into(), Value::from("x"));
            Change::AttributePut { path, key: key.into(), value }
        }
    };
    text.iter().map(change).collect()
}

/// What adds one node stands, and only where the parent is and the node is not.
#[test]
fn what_adds_one_node_is_known_by_itself() {
    let mut tree = Tree::new(&Arena::new().unwrap());
    tree.insert_child(&[], &Key::from("there")).unwrap();
    let (then, now) = (tree.snapshot(), tree.snapshot());
    let signed = Position::signed_between(None, None, &Signature::new(1, 7)).unwrap();
    let [signed, there, new, child] =
        [Key::from(signed), Key::from("there"), Key::from("new"), Key::from(0)];
    let key = std::slice::from_ref::<Key>;
    let below = [new.clone(), child.clone()];
    let adds = |text: &[(&str, &[Key])]| {
        let changes = changes(text);
        let adds = adds_one(&changes, now.root());
        assert!(!adds || stands(&changes, then.root(), now.root()), "{changes:?}");
        adds
    };
    assert!(adds(&[("+", key(&signed)), ("text", key(&signed))]));
    assert!(adds(&[("+", key(&new)), ("text", key(&new)), ("+", &below), ("text", &below)]));
    // Others may be given that position; it is there already; its parent is not.
    assert!(!adds(&[("+", key(&child))]));
    assert!(!adds(&[("+", key(&there))]));
    assert!(!adds(&[("+", &below)]));
    // It does something besides.
    assert!(!adds(&[("+", key(&new)), ("text", &[])]));
    assert!(!adds(&[("+", key(&new)), ("text", key(&there))]));
    assert!(!adds(&[("+", key(&new)), ("-", key(&new))]));
    assert!(!adds(&[("text", key(&there))]));
    assert!(!adds(&[]));
}
