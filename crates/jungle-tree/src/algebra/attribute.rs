//! Rebasing changes of attributes: put, removed, counted.

use super::kids::Id;
use super::options::Rule;
use super::rebase::Rebaser;
use super::{Change, ConflictKind};
use crate::path::Path;
use crate::planted::{Bug, is_awake};
use crate::value::Value;

impl Rebaser<'_> {
    /// We put (`Some`) or removed an attribute.
    pub(super) fn attribute(
        &mut self,
        change: &Change,
        path: &Path,
        key: &str,
        ours: Option<&Value>,
    ) -> Option<()> {
        let node = self.ours.at(&mut self.effect, path)?;
        let at = match self.find(node) {
            Ok(at) => at,
            Err(gone) => return self.lost(change.path(), change, gone).map(drop),
        };
        let disputed = (at, Box::from(key));
        if let Some(earlier) = self.disputed.remove(&disputed) {
            self.conflicts[earlier] = None;
        }
        let theirs = self.effect.attribute_theirs(at, key);
        let Some(index) = theirs else {
            self.emit_attribute(at, key, ours.cloned());
            return Some(());
        };
        let base = self.effect.base_attribute(at, key);
        let value = self.effect.theirs_attribute(at, key);
        let (result, kind) = self.settle(at, key, &base, ours, value.as_ref());
        if let Some(kind) = kind {
            self.disputed.insert(disputed, self.conflicts.len());
            self.conflict(kind, &self.effect.path(at), change, index);
            if let Some(Some(conflict)) = self.conflicts.last_mut() {
                conflict.base = base.flatten();
            }
        }
        if self.effect.attribute(at, key) != Some(result.clone())
            || self.options.repeats(result.as_ref(), ours)
        {
            self.emit_attribute(at, key, result);
        }
        Some(())
    }

    /// What an attribute is that both changed, and what is wrong with that.
    fn settle(
        &self,
        at: Id,
        key: &str,
        base: &Option<Option<Value>>,
        ours: Option<&Value>,
        theirs: Option<&Value>,
    ) -> (Option<Value>, Option<ConflictKind>) {
        let rule = self.options.rule_of(key);
        if let (Some(Rule::Counter), Some(base)) = (rule, base)
            && let Some(sum) = count(base.as_ref(), ours, theirs)
        {
            return (Some(sum), None);
        }
        // Of two numbers there is a sum, if nothing of that is lost: else one of them would be.
        let is_number = |value: Option<&Value>| value.is_some_and(|it| number(it).is_some());
        let is_lost = matches!(rule, Some(Rule::Counter))
            && is_number(ours)
            && matches!(base, Some(base) if base.is_none() || is_number(base.as_ref()));
        if ours == theirs && !is_lost {
            return (theirs.cloned(), None);
        }
        if let Some(Rule::Function(f)) = rule {
            let base = base.as_ref().and_then(Option::as_ref);
            let base = base.filter(|_| !is_awake(Bug::RuleSeesNoBase));
            return (f(base, ours, theirs), None);
        }
        let (kind, greater) = match rule {
            _ if self.effect.get(at).set.is_some() => (ConflictKind::SetOverlap, false),
            // Where it comes back after it was removed it would come back with all who add to it.
            Some(Rule::Counter)
                if (ours.is_none() || theirs.is_none()) && matches!(base, Some(Some(_))) =>
            {
                (ConflictKind::Attribute, ours.is_none())
            }
            _ => (ConflictKind::Attribute, ours > theirs),
        };
        let result = if self.prevails(|_| greater) { ours } else { theirs };
        (result.cloned(), Some(kind))
    }

    pub(super) fn emit_attribute(&mut self, at: Id, key: &str, value: Option<Value>) {
        let (path, key) = (self.effect.path(at), Box::from(key));
        self.effect.put(at, &key, value.clone(), None);
        self.changes.push(match value {
            Some(value) => Change::AttributePut { path, key, value },
            None => Change::AttributeRemoved { path, key },
        });
    }
}

/// Below this each integer, and each sum of two, is a floating-point number of its own.
const UNITS_MAX: f64 = (1_u64 << 52) as f64;

/// What both added to a counter, added to what it was: the same whoever is called ours. `None`
/// where there is no such number, or where units that an integer among them has could be lost.
fn count(base: Option<&Value>, ours: Option<&Value>, theirs: Option<&Value>) -> Option<Value> {
    let base = base.unwrap_or(&Value::Int(0));
    let (ours, theirs) = (ours?, theirs?);
    if is_awake(Bug::CounterTakesGreater) {
        return Some(ours.max(theirs).clone());
    }
    if let (Value::Int(base), Value::Int(ours), Value::Int(theirs)) = (base, ours, theirs) {
        let sum = i128::from(*theirs) + i128::from(*ours) - i128::from(*base);
        return i64::try_from(sum).ok().map(Value::Int);
    }
    let is_unit = |value: &&Value| matches!(value, Value::Int(int) if *int != 0);
    let has_units = [base, ours, theirs].iter().any(is_unit);
    let (base, ours, theirs) = (number(base)?, number(ours)?, number(theirs)?);
    let sum = base + ((ours - base) + (theirs - base));
    let is_exact = [base, ours, theirs, sum].iter().all(|it| it.abs() < UNITS_MAX);
    (sum.is_finite() && (is_exact || !has_units)).then_some(Value::Float(sum))
}

fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Int(int) => Some(*int as f64),
        Value::Float(float) => Some(*float),
        _ => None,
    }
}
