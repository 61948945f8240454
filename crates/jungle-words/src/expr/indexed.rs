//! Where the nodes may be for which an expression is true, by the indexes of a tree.
//!
//! An expression looks at members as they are in JSON: an attribute, or, in a dictionary, a child
//! that stands for a scalar. So an index of the member's key is of use beside one of
//! [`VALUE_KEY`], which has those children.

use std::cmp::Ordering;
use std::collections::Bound;

use jungle_db::{IndexError, Snapshot, TreeHandle};
use jungle_json::VALUE_KEY;
use jungle_tree::{AttributeIndex, EditError, HitsEntry, Key, Path, Value};

use super::{Expr, Field, Literal, Term, Test};

/// With more to look at than this, a walk over all is as good: values of indexes, and for each of
/// them the nodes that have it, and the ones above those.
const LOOKED_MAX: usize = 400_000;

/// Which of the nodes that are found are wanted.
///
/// ```
/// use jungle_db::Jungle;
/// use jungle_tree::Key;
/// use jungle_words::{Part, with_attribute};
/// let tree = Jungle::new()?.create_tree("posts")?;
/// tree.create_index("stars")?;
/// for _ in 0..5 {
///     tree.update(|tx| {
///         let post = tx.append(&[])?;
///         tx.put_attribute(&[post], "stars", 3)
///     })?;
/// }
/// let newest = tree.snapshot();
/// let behind = [Key::from(1)];
/// let page = Part { behind: Some(&behind), count_max: 2, ..Part::ALL };
/// let found = with_attribute(&tree, &newest, "stars", None, page)?.expect("it is indexed");
/// assert_eq!(found, [[2].into(), [3].into()]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Part<'p> {
    /// Those at this path and below.
    pub within: &'p [Key],
    /// Of these, those behind the node at this path from `within` on, where another part ended.
    pub behind: Option<&'p [Key]>,
    /// Of these, the first so many.
    pub count_max: usize,
}

impl Part<'_> {
    /// All of them.
    pub const ALL: Part<'static> = Part { within: &[], behind: None, count_max: usize::MAX };
}

/// Makes the indexes that expressions about a member need: that of its key, and that of
/// [`VALUE_KEY`] if there is none.
///
/// # Errors
/// When there is one of this key, no attribute can have it, or nothing can be written.
///
/// ```
/// use jungle_db::Jungle;
/// let tree = Jungle::new()?.create_tree("posts")?;
/// jungle_words::create_index(&tree, "stars")?;
/// assert_eq!(tree.list_indexes().len(), 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn create_index(tree: &TreeHandle, key: &str) -> Result<(), IndexError> {
    tree.create_index(key)?;
    match tree.create_index(VALUE_KEY) {
        Err(IndexError::Exists { .. }) => Ok(()),
        other => other,
    }
}

/// The paths of the nodes of a version with an attribute of this key, and of this value if one is
/// given, in document order, where the tree has an index of it that tells. `None` where all nodes
/// are to be looked at: there is no such index, or there is too much in it to look at (400,000
/// values, nodes that have one, and nodes above those).
///
/// # Errors
/// When there is no room for the index.
///
/// # Cost
/// What the index has from the beginning of the part to its end, and a step for each value; where
/// there are many of them, a few times that.
///
/// ```
/// use jungle_db::Jungle;
/// use jungle_words::{Part, with_attribute};
/// let tree = Jungle::new()?.create_tree("posts")?;
/// tree.create_index("stars")?;
/// for stars in [5, 3, 5] {
///     tree.update(|tx| {
///         let post = tx.append(&[])?;
///         tx.put_attribute(&[post], "stars", stars)
///     })?;
/// }
/// let newest = tree.snapshot();
/// let fives = with_attribute(&tree, &newest, "stars", Some(&5.into()), Part::ALL)?;
/// assert_eq!(fives.expect("it is indexed"), [[0].into(), [2].into()]);
/// assert!(with_attribute(&tree, &newest, "title", None, Part::ALL)?.is_none());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn with_attribute(
    tree: &TreeHandle,
    of: &Snapshot,
    key: &str,
    value: Option<&Value>,
    part: Part<'_>,
) -> Result<Option<Vec<Path>>, EditError> {
    let Some(index) = tree.index(key, of)? else {
        return Ok(None);
    };
    let range = match value {
        Some(value) => (Bound::Included(value.clone()), Bound::Included(value.clone())),
        None => (Bound::Unbounded, Bound::Unbounded),
    };
    let mut gathered = Gathered::new(part);
    let is_all = gathered.add(&index, &range, |entry| entry.is_hit());
    Ok(is_all.then(|| gathered.finish()))
}

impl Expr {
    /// The paths of the nodes of a version for which it may be true, in document order, where the
    /// indexes of the tree tell: each is to be looked at by [`Expr::is_true`]. `None` where all
    /// nodes are to be looked at.
    ///
    /// # Errors
    /// When there is no room for an index.
    ///
    /// # Cost
    /// That of [`with_attribute`], for the values that the expression leaves.
    ///
    /// ```
    /// use jungle_db::Jungle;
    /// use jungle_words::{Expr, Part};
    /// let tree = Jungle::new()?.create_tree("posts")?;
    /// tree.update(|tx| {
    ///     let post = tx.append(&[])?;
    ///     tx.put_attribute(&[post], "stars", 5)
    /// })?;
    /// let expr = Expr::parse("stars > 3 and not exists hidden")?;
    /// assert!(expr.candidates(&tree, &tree.snapshot(), Part::ALL)?.is_none());
    /// jungle_words::create_index(&tree, "stars")?;
    /// let found = expr.candidates(&tree, &tree.snapshot(), Part::ALL)?.unwrap();
    /// assert_eq!(found, ["/0".parse()?]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn candidates(
        &self,
        tree: &TreeHandle,
        of: &Snapshot,
        part: Part<'_>,
    ) -> Result<Option<Vec<Path>>, EditError> {
        Ok(self.gathered(tree, of, part)?.map(Gathered::finish))
    }

    pub(super) fn gathered<'p>(
        &self,
        tree: &TreeHandle,
        of: &Snapshot,
        part: Part<'p>,
    ) -> Result<Option<Gathered<'p>>, EditError> {
        let Some(plan) = plan(&self.0, &tree.list_indexes()) else {
            return Ok(None);
        };
        let mut gathered = Gathered::new(part);
        for lookup in plan.lookups {
            if !lookup.run(tree, of, &mut gathered)? {
                return Ok(None);
            }
        }
        Ok(Some(gathered))
    }
}

/// What was found so far.
pub(super) struct Gathered<'p> {
    part: Part<'p>,
    found: Vec<Path>,
    /// How many there are when it is looked next which of them are wanted.
    sort_at: usize,
    /// There are enough in front of this, or at it.
    end: Option<Path>,
    /// Values of indexes, and what they have for each, that were looked at.
    pub(super) looked: usize,
}

impl<'p> Gathered<'p> {
    fn new(part: Part<'p>) -> Gathered<'p> {
        Gathered { part, found: Vec::new(), sort_at: part.count_max, end: None, looked: 0 }
    }

    /// Adds those nodes for which `is_found` says so of what the index has of them; says if it was
    /// all of it that was looked at, and not too much.
    fn add(
        &mut self,
        index: &AttributeIndex,
        range: &Range,
        is_found: impl Fn(HitsEntry<'_>) -> bool,
    ) -> bool {
        for hits in index.values(range.clone()) {
            if !self.look() {
                return false;
            }
            let mut walk = hits.walk(self.part.within, self.part.behind);
            while let Some(entry) = walk.next() {
                if !self.look() {
                    return false;
                }
                // What follows of this value is still further behind.
                if self.end.as_ref().is_some_and(|end| !walk.is_before(end)) {
                    break;
                }
                if is_found(entry) {
                    self.push(walk.path());
                }
            }
        }
        true
    }

    fn look(&mut self) -> bool {
        self.looked += 1;
        self.looked <= LOOKED_MAX
    }

    fn push(&mut self, path: Path) {
        self.found.push(path);
        if self.found.len() >= self.sort_at {
            self.keep_first();
        }
    }

    /// Keeps as many as are wanted. To sort each time that one is added would cost too much.
    fn keep_first(&mut self) {
        let most = self.part.count_max;
        self.found.sort_unstable();
        self.found.dedup();
        if self.found.len() >= most {
            self.found.truncate(most);
            self.end = self.found.last().cloned();
        }
        self.sort_at = self.found.len().saturating_add(most);
    }

    /// The first of what was found, in document order.
    pub(super) fn finish(mut self) -> Vec<Path> {
        self.keep_first();
        self.found
    }
}

/// What to look up for a term: what it is true of is in one of them.
struct Plan<'e> {
    lookups: Vec<Lookup<'e>>,
    /// How much of an index is to be gone through: the less the better.
    width: Width,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Width {
    One,
    Range,
    All,
}

/// Nodes with a member whose value is in one of these ranges.
struct Lookup<'e> {
    member: &'e Key,
    name: &'e str,
    ranges: Vec<Range>,
}

type Range = (Bound<Value>, Bound<Value>);

/// Recurses by the depth of the expression, which is limited.
fn plan<'e>(term: &'e Term, indexes: &[impl AsRef<str>]) -> Option<Plan<'e>> {
    match term {
        Term::All(all) => {
            let plans = all.iter().filter_map(|term| plan(term, indexes));
            plans.min_by_key(|plan| plan.width)
        }
        Term::Any(any) => {
            let plans: Option<Vec<Plan<'_>>> = any.iter().map(|term| plan(term, indexes)).collect();
            let plans = plans?;
            let width = plans.iter().map(|plan| plan.width).max()?;
            let lookups = plans.into_iter().flat_map(|plan| plan.lookups).collect();
            Some(Plan { lookups, width })
        }
        Term::Compare(Field::Member(member @ Key::Name(name)), test) => {
            let has = |key: &str| indexes.iter().any(|index| index.as_ref() == key);
            if !has(name) || !has(VALUE_KEY) {
                return None;
            }
            let (ranges, width) = ranges(test);
            Some(Plan { lookups: vec![Lookup { member, name, ranges }], width })
        }
        // Something with this name may be there that is no value.
        Term::Compare(..) | Term::Exists(_) | Term::Not(_) => None,
    }
}

impl Lookup<'_> {
    /// Adds what it finds; says if all that there is was looked at.
    fn run(
        self,
        tree: &TreeHandle,
        of: &Snapshot,
        gathered: &mut Gathered<'_>,
    ) -> Result<bool, EditError> {
        let Lookup { member, name, ranges } = self;
        // They may have been dropped since.
        let (Some(own), Some(values)) = (tree.index(name, of)?, tree.index(VALUE_KEY, of)?) else {
            return Ok(false);
        };
        Ok(ranges.iter().all(|range| {
            gathered.add(&own, range, |entry| entry.is_hit())
                && gathered.add(&values, range, |entry| entry.is_child_hit(member))
        }))
    }
}

/// The values that a test may be true of.
fn ranges(test: &Test) -> (Vec<Range>, Width) {
    use Bound::{Excluded, Included, Unbounded};
    let (literal, orders) = match test {
        Test::Equal(literal) => (literal, [Ordering::Equal; 2]),
        Test::Order(literal, orders) => (literal, *orders),
        Test::NotEqual(_) | Test::Like(_) => return (vec![(Unbounded, Unbounded)], Width::All),
    };
    let width = if orders == [Ordering::Equal; 2] { Width::One } else { Width::Range };
    let (from_it, up_to_it) =
        (!orders.contains(&Ordering::Less), !orders.contains(&Ordering::Greater));
    // From the first value of a kind, or the one that is compared with, to that or the last.
    let between = |first: Value, low: Value, high: Value, end: Bound<Value>| {
        let start = Included(if from_it { low } else { first });
        (start, if up_to_it { Included(high) } else { end })
    };
    let ranges = match literal {
        Literal::Null => vec![(Included(Value::Null), Included(Value::Null))],
        Literal::Bool(bool) => {
            let end = Included(Value::Bool(true));
            vec![between(Value::Bool(false), Value::Bool(*bool), Value::Bool(*bool), end)]
        }
        Literal::Text(text) => {
            let end = Excluded(Value::from(Vec::new()));
            // Longer ones are in any order.
            let is_long = text.len() > AttributeIndex::VALUE_BYTES_ORDERED;
            match is_long && width != Width::One {
                true => vec![(Included(Value::from("")), end)],
                false => {
                    let text = Value::from(text.as_str());
                    vec![between(Value::from(""), text.clone(), text, end)]
                }
            }
        }
        Literal::Int(int) => {
            // Larger ones are kept as texts.
            let nearest = (*int).clamp(i64::MIN.into(), i64::MAX.into()) as i64;
            numbers((nearest, nearest), *int as f64, between)
        }
        // So far integers may be apart that are one float.
        Literal::Float(float) => {
            let int = *float as i64;
            numbers((int.saturating_sub(1024), int.saturating_add(1024)), *float, between)
        }
    };
    (ranges, width)
}

/// Integers and floats; and texts of numbers, which are in no order.
fn numbers(
    (low, high): (i64, i64),
    float: f64,
    between: impl Fn(Value, Value, Value, Bound<Value>) -> Range,
) -> Vec<Range> {
    use Bound::{Included, Unbounded};
    // The two zeros are equal.
    let (least, most) = if float == 0.0 { (-0.0, 0.0) } else { (float, float) };
    let (first, last) = (Value::Float(f64::NEG_INFINITY), Value::Float(f64::INFINITY));
    vec![
        between(i64::MIN.into(), low.into(), high.into(), Included(i64::MAX.into())),
        between(first, Value::Float(least), Value::Float(most), Included(last)),
        (Included(Value::from(Vec::new())), Unbounded),
    ]
}
