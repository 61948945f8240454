//! Values as servers take and tell them.

use jungle::{Value, ValueRef};
use serde::Deserialize;
use serde_json::Value as Json;

use crate::api::value::{New, Shown};

/// A value with its type, as a server takes it.
///
/// ```
/// use jungle_server::{typed, value_of};
/// let told = typed(jungle::ValueRef::Int(7));
/// assert_eq!(told.to_string(), r#"{"type":"int","value":7}"#);
/// assert_eq!(value_of(&told), Some(7.into()));
/// ```
#[must_use]
pub fn typed(value: ValueRef<'_>) -> Json {
    serde_json::to_value(Shown::whole(value)).expect("plain data")
}

/// The value that a server tells, unless it has told a part only.
#[must_use]
pub fn value_of(told: &Json) -> Option<Value> {
    New::deserialize(told).ok().map(|new| new.0)
}
