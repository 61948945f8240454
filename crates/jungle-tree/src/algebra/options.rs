//! What to do where two lists of changes contradict each other.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use super::Steps;
use crate::planted::{Bug, is_awake};
use crate::value::Value;

/// Who prevails in a conflict. The conflict is recorded either way.
///
/// ```
/// use jungle_tree::{Change, MergeOptions, Resolution, rebase};
/// let title = |title: &str| Change::AttributePut {
///     path: [0].into(),
///     key: "title".into(),
///     value: title.into(),
/// };
/// let left = |resolution| {
///     let options = MergeOptions::new().resolution(resolution);
///     rebase(&[title("ours")], &[title("theirs")], &options).changes.len()
/// };
/// assert_eq!([left(Resolution::Ours), left(Resolution::Theirs)], [1, 0]);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Resolution {
    /// Our change, as far as it can still be done.
    Ours,
    /// Their change: ours is dropped.
    #[default]
    Theirs,
    /// A winner that does not depend on who is called ours: see `docs/merge.md`.
    Symmetric,
}

/// The function of [`Rule::Function`].
pub type RuleFunction =
    dyn Fn(Option<&Value>, Option<&Value>, Option<&Value>) -> Option<Value> + Send + Sync;

/// How an attribute is merged that both have changed: then it is no conflict.
///
/// ```
/// use jungle_tree::{Arena, MergeOptions, Rule, Tree, merge};
/// let mut theirs = Tree::new(&Arena::new()?);
/// theirs.put_attribute(&[], "votes", 10)?;
/// let base = theirs.snapshot();
/// let mut ours = Tree::from_snapshot(&base);
/// ours.put_attribute(&[], "votes", 12)?;
/// theirs.put_attribute(&[], "votes", 11)?;
/// let options = MergeOptions::new().rule("votes", Rule::Counter);
/// let merged = merge(&base, &ours.snapshot(), &theirs.snapshot(), &options)?;
/// assert_eq!(merged.editor.root().attribute("votes"), Some(13.into()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
#[non_exhaustive]
pub enum Rule {
    /// The value before both, ours and theirs give the value after both (`None`: no attribute).
    /// It is asked only where ours and theirs differ. Replicas converge if it gives the same with
    /// ours and theirs exchanged.
    Function(Arc<RuleFunction>),
    /// The attribute counts: what we added to it is added to theirs. Needs the base, so without
    /// one ([`rebase`](super::rebase)), where one of the values is no number, or where the sum is
    /// too large for an integer, it is a conflict; so is one that one of them removed, which stays
    /// removed in a symmetric resolution. Where one of them is a floating-point number the sum is
    /// one, too; what more than two replicas add comes to the same but for the last digits, which
    /// depend on the order. A sum that is not finite is a conflict, and so is one of integers and
    /// floating-point numbers of which one, or the sum, is 2^52 or more: units could be lost.
    Counter,
}

impl Rule {
    /// A function as a rule.
    ///
    /// ```
    /// use jungle_tree::{Change, MergeOptions, Rule, rebase};
    /// // The values before both, ours, theirs. The greater one wins, whoever calls it ours.
    /// let newest = Rule::function(|_before, ours, theirs| ours.max(theirs).cloned());
    /// let options = MergeOptions::new().rule("edited", newest);
    /// let edited = |at: i64| Change::AttributePut {
    ///     path: [0].into(),
    ///     key: "edited".into(),
    ///     value: at.into(),
    /// };
    /// let rebased = rebase(&[edited(7)], &[edited(5)], &options);
    /// assert_eq!((&*rebased.changes, rebased.conflicts.len()), ([edited(7)].as_slice(), 0));
    /// assert!(rebase(&[edited(5)], &[edited(7)], &options).changes.is_empty());
    /// ```
    pub fn function(
        f: impl Fn(Option<&Value>, Option<&Value>, Option<&Value>) -> Option<Value>
        + Send
        + Sync
        + 'static,
    ) -> Rule {
        Rule::Function(Arc::new(f))
    }
}

impl fmt::Debug for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Rule::Function(_) => "Function",
            Rule::Counter => "Counter",
        })
    }
}

/// What to do where two lists of changes contradict each other. By default theirs prevails.
///
/// ```
/// use jungle_tree::{Change, MergeOptions, Resolution, Rule, rebase};
/// let newest = Rule::function(|_, ours, theirs| ours.max(theirs).cloned());
/// let options = MergeOptions::new().resolution(Resolution::Ours).rule("edited", newest);
/// let put = |key: &str, value: i64| Change::AttributePut {
///     path: [0].into(),
///     key: key.into(),
///     value: value.into(),
/// };
/// let (ours, theirs) = ([put("edited", 5), put("n", 1)], [put("edited", 7), put("n", 2)]);
/// let rebased = rebase(&ours, &theirs, &options);
/// // Theirs was edited later; of the other one nothing is said, so it is a conflict.
/// assert_eq!(*rebased.changes, [put("n", 1)]);
/// assert_eq!(rebased.conflicts.len(), 1);
/// ```
#[derive(Clone, Debug, Default)]
pub struct MergeOptions {
    resolution: Resolution,
    rules: BTreeMap<Box<str>, Rule>,
    says_again: bool,
    steps_max: Option<u64>,
}

impl MergeOptions {
    /// Theirs prevails, and no attribute has a rule.
    #[must_use]
    pub fn new() -> MergeOptions {
        MergeOptions::default()
    }

    /// Sets who prevails in a conflict.
    #[must_use]
    pub fn resolution(mut self, resolution: Resolution) -> MergeOptions {
        self.resolution = resolution;
        self
    }

    /// Sets how attributes of this key are merged, at whatever node.
    #[must_use]
    pub fn rule(mut self, key: &str, rule: Rule) -> MergeOptions {
        self.rules.insert(key.into(), rule);
        self
    }

    /// Has ours say again what theirs say of an attribute, too; else that is dropped, since it is
    /// done. It is for changes that are rebased again and again before they are done: ours is the
    /// later one then, whatever others say between.
    ///
    /// ```
    /// use jungle_tree::{Change, MergeOptions, rebase};
    /// let put = [Change::AttributePut { path: [0].into(), key: "n".into(), value: 1_i64.into() }];
    /// let left = |options| rebase(&put, &put, &options).changes.len();
    /// let usual = MergeOptions::new();
    /// assert_eq!([left(usual.clone()), left(usual.says_again())], [0, 1]);
    /// ```
    #[must_use]
    pub fn says_again(mut self) -> MergeOptions {
        self.says_again = true;
        self
    }

    /// Has a merge of versions that anybody may have made given up where it takes more
    /// [`Steps`] to find what differs on both sides and, where these go on, which positions ours
    /// has given; what is done with that takes as much as there is of it. A rebase is given what
    /// differs, so it does not look at this.
    ///
    /// ```
    /// use jungle_tree::{Arena, MergeError, MergeOptions, Tree, merge};
    /// let mut theirs = Tree::new(&Arena::new()?);
    /// let base = theirs.snapshot();
    /// let mut ours = Tree::from_snapshot(&base);
    /// (0..100).try_for_each(|_| ours.add_child(&[]).map(drop))?;
    /// theirs.add_child(&[])?;
    /// let (ours, theirs) = (ours.snapshot(), theirs.snapshot());
    /// let merged = |steps| merge(&base, &ours, &theirs, &MergeOptions::new().steps_max(steps));
    /// assert!(merged(1_000).is_ok());
    /// assert!(matches!(merged(100), Err(MergeError::TooManySteps(_))));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn steps_max(mut self, steps_max: u64) -> MergeOptions {
        self.steps_max = Some(steps_max);
        self
    }

    pub(super) fn steps(&self) -> Option<Steps> {
        self.steps_max.map(Steps::new)
    }

    /// Is this said of an attribute by ours, although it is so?
    pub(super) fn repeats(&self, result: Option<&Value>, ours: Option<&Value>) -> bool {
        self.says_again && result == ours
    }

    pub(super) fn prevails(&self) -> Resolution {
        if is_awake(Bug::MergeTakesSides) && self.resolution == Resolution::Symmetric {
            return Resolution::Ours;
        }
        self.resolution
    }

    pub(super) fn is_symmetric(&self) -> bool {
        self.resolution == Resolution::Symmetric
    }

    /// The same for whoever calls ours theirs.
    pub(super) fn mirrored(&self) -> MergeOptions {
        let mirrored = |rule: &Rule| match rule {
            Rule::Counter => Rule::Counter,
            Rule::Function(f) => {
                let f = Arc::clone(f);
                Rule::function(move |before, ours, theirs| f(before, theirs, ours))
            }
        };
        let rules = self.rules.iter().map(|(key, rule)| (key.clone(), mirrored(rule)));
        MergeOptions { rules: rules.collect(), ..*self }
    }

    pub(super) fn rule_of(&self, key: &str) -> Option<&Rule> {
        self.rules.get(key)
    }
}
