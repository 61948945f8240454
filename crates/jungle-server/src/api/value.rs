//! Values and attributes as JSON.

use jungle::json::base64;
use jungle::{Node, Value, ValueRef};
use serde::de::{Deserialize, Deserializer, Error};
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::Value as Json;

use crate::limits::{
    Limits, PAGE_BYTES, SHORT_ATTRIBUTES_MAX, SHORT_VALUE_BYTES_MAX, VALUE_BYTES_MAX,
};
use crate::problem::Problem;
use crate::query::limit_bytes;

/// The largest whole number that every client can hold: 2^53 - 1.
const SAFE_MAX: i64 = (1 << 53) - 1;

/// From here on a whole number does not fit into an int: 2^63.
const INTS_END: f64 = 9_223_372_036_854_775_808.0;

/// Bytes around the key and the value of an attribute, about.
const ATTRIBUTE_BYTES: usize = 32;

/// A value with its type: `{"type":"int","value":7}`.
pub(crate) struct Shown<'a> {
    value: ValueRef<'a>,
    /// Its whole length, if it was cut.
    bytes: Option<usize>,
}

/// A value for a page.
pub(crate) fn short(value: ValueRef<'_>) -> Shown<'_> {
    let cut = match value {
        ValueRef::Text(text) => {
            ValueRef::Text(&text[..text.floor_char_boundary(SHORT_VALUE_BYTES_MAX)])
        }
        ValueRef::Bytes(bytes) => ValueRef::Bytes(&bytes[..bytes.len().min(SHORT_VALUE_BYTES_MAX)]),
        other => other,
    };
    Shown::of(cut, length(value))
}

impl<'a> Shown<'a> {
    /// All of a value.
    pub(crate) fn whole(value: ValueRef<'a>) -> Shown<'a> {
        Shown { value, bytes: None }
    }

    /// What there is of a value that has so many bytes.
    fn of(value: ValueRef<'a>, bytes: usize) -> Shown<'a> {
        Shown { value, bytes: (length(value) < bytes).then_some(bytes) }
    }
}

impl Serialize for Shown<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("type", self.value.type_name())?;
        match self.value {
            ValueRef::Null => map.serialize_entry("value", &())?,
            ValueRef::Bool(bool) => map.serialize_entry("value", &bool)?,
            ValueRef::Int(int) if (-SAFE_MAX..=SAFE_MAX).contains(&int) => {
                map.serialize_entry("value", &int)?;
            }
            ValueRef::Int(int) => map.serialize_entry("value", &int.to_string())?,
            ValueRef::Float(float) if float.is_finite() => map.serialize_entry("value", &float)?,
            ValueRef::Float(float) => map.serialize_entry("value", &float.to_string())?,
            ValueRef::Text(text) => map.serialize_entry("value", text)?,
            ValueRef::Bytes(bytes) => {
                let mut text = String::new();
                base64::encode(bytes, &mut text);
                map.serialize_entry("value", &text)?;
            }
        }
        if let Some(bytes) = self.bytes {
            map.serialize_entry("bytes", &bytes)?;
        }
        map.end()
    }
}

/// The attributes of a node. No more of a value is looked at than is told: it may be long.
pub(crate) struct Attributes<'a> {
    /// From the first one that is told.
    rest: jungle::Attributes<'a>,
    bytes_max: usize,
    count_max: usize,
}

impl<'a> Attributes<'a> {
    /// Those of a single node, behind this key if there is one, about a page of bytes.
    pub(crate) fn long(node: Node<'a>, after: Option<&str>) -> Attributes<'a> {
        let mut rest = node.attributes();
        if let Some(after) = after {
            let mut next = rest.clone();
            while next.next_cut(0).is_some_and(|(key, ..)| key <= after) {
                rest = next.clone();
            }
        }
        let (bytes_max, mut bytes, mut count_max) = (VALUE_BYTES_MAX, 0, 0);
        let mut next = rest.clone();
        while bytes < PAGE_BYTES
            && let Some((key, _, length)) = next.next_cut(0)
        {
            bytes += key.len() + ATTRIBUTE_BYTES + length.min(bytes_max);
            count_max += 1;
        }
        Attributes { rest, bytes_max, count_max }
    }

    /// Those for a page.
    pub(crate) fn short(node: Node<'a>) -> Attributes<'a> {
        let (bytes_max, count_max) = (SHORT_VALUE_BYTES_MAX, SHORT_ATTRIBUTES_MAX);
        Attributes { rest: node.attributes(), bytes_max, count_max }
    }

    /// How many behind them are not told.
    pub(crate) fn left_out(&self) -> usize {
        self.rest.clone().count().saturating_sub(self.count_max)
    }

    /// The key of the last one, if there are more.
    pub(crate) fn last(&self) -> Option<&'a str> {
        let last = self.told(0).last().filter(|_| self.left_out() > 0);
        last.map(|(key, _)| key)
    }

    fn told(&self, bytes_max: usize) -> impl Iterator<Item = (&'a str, Shown<'a>)> {
        let mut rest = self.rest.clone();
        (0..self.count_max).map_while(move |_| {
            let (key, value, bytes) = rest.next_cut(bytes_max)?;
            Some((key, Shown::of(value, bytes)))
        })
    }
}

/// Bytes of a text or of bytes.
fn length(value: ValueRef<'_>) -> usize {
    match value {
        ValueRef::Text(text) => text.len(),
        ValueRef::Bytes(bytes) => bytes.len(),
        _ => 0,
    }
}

impl Serialize for Attributes<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (key, value) in self.told(self.bytes_max) {
            map.serialize_entry(key, &value)?;
        }
        map.end()
    }
}

/// A value that a client sends: with its type, or a plain scalar.
#[derive(Debug, PartialEq)]
pub(crate) struct New(pub(crate) Value);

impl New {
    /// It, where it is not too long to be put.
    pub(crate) fn within(&self, limits: &Limits) -> Result<&Value, Problem> {
        limit_bytes("the value", length(self.0.as_ref()), limits.value_bytes_max)?;
        Ok(&self.0)
    }
}

impl<'de> Deserialize<'de> for New {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<New, D::Error> {
        read(Json::deserialize(deserializer)?).map(New).map_err(D::Error::custom)
    }
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Typed {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    value: Json,
}

fn read(json: Json) -> Result<Value, String> {
    match json {
        Json::Null => Ok(Value::Null),
        Json::Bool(bool) => Ok(bool.into()),
        // Of larger ones it is not known whether they were written as whole numbers.
        Json::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(int), _) => Ok(int.into()),
            (None, Some(float)) if float.abs() < INTS_END => Ok(float.into()),
            _ => Err(format!(
                "{number} does not fit into an int: a float says so, as in \
                 {{\"type\":\"float\",\"value\":1e300}}"
            )),
        },
        Json::String(text) => Ok(text.into()),
        Json::Array(_) => Err("a value is a scalar, not an array".to_owned()),
        Json::Object(_) => {
            let typed: Typed = serde_json::from_value(json).map_err(|error| error.to_string())?;
            let wrong = || format!("this is no value of the type {:?}", typed.kind);
            read_typed(&typed).ok_or_else(wrong)
        }
    }
}

fn read_typed(Typed { kind, value }: &Typed) -> Option<Value> {
    Some(match (&**kind, value) {
        ("null", Json::Null) => Value::Null,
        ("bool", Json::Bool(bool)) => (*bool).into(),
        ("int", Json::Number(int)) => int.as_i64()?.into(),
        ("int", Json::String(text)) => text.parse::<i64>().ok()?.into(),
        ("float", Json::Number(float)) => float.as_f64()?.into(),
        ("float", Json::String(text)) => match &**text {
            "NaN" => f64::NAN.into(),
            "inf" => f64::INFINITY.into(),
            "-inf" => f64::NEG_INFINITY.into(),
            _ => return None,
        },
        ("text", Json::String(text)) => text.clone().into(),
        ("bytes", Json::String(text)) => base64::decode(text)?.into(),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_come_back_whatever_their_type() {
        for value in [
            Value::Null,
            true.into(),
            7.into(),
            Value::from(i64::MIN),
            i64::MAX.into(),
            7.0.into(),
            Value::from(-0.0),
            1e300.into(),
            1.839_949_473_401_781_8.into(),
            f64::INFINITY.into(),
            f64::NEG_INFINITY.into(),
            f64::NAN.into(),
            "".into(),
            "é\0\u{1f333}".into(),
            Value::from(vec![0, 255, 7]),
        ] {
            let shown = serde_json::to_string(&short(value.as_ref())).unwrap();
            assert_eq!(serde_json::from_str::<New>(&shown).unwrap().0, value, "{shown}");
        }
    }

    #[test]
    fn plain_scalars_are_values_and_others_are_refused() {
        for (text, value) in [
            ("null", Value::Null),
            ("7", 7.into()),
            ("7.0", 7.0.into()),
            ("-1e2", Value::from(-100.0)),
            ("-9223372036854775808", i64::MIN.into()),
            ("1e18", 1e18.into()),
            ("1.8399494734017818", 1.839_949_473_401_781_8.into()),
            (r#"{"type":"float","value":1e300}"#, 1e300.into()),
            ("\"7\"", "7".into()),
        ] {
            assert_eq!(serde_json::from_str::<New>(text).unwrap().0, value, "{text}");
        }
        for text in [
            "[]",
            "{}",
            "9223372036854775808",
            "-9223372036854775809",
            "18446744073709551616",
            "1e300",
            r#"{"type":"int","value":7.5}"#,
            r#"{"type":"int","value":"x"}"#,
            r#"{"type":"bytes","value":"?"}"#,
            r#"{"type":"what","value":1}"#,
            r#"{"type":"int","value":1,"more":1}"#,
        ] {
            assert!(serde_json::from_str::<New>(text).is_err(), "{text}");
        }
    }

    #[test]
    fn long_value_is_cut_at_a_character() {
        let text = "é".repeat(1000);
        let shown: Json = serde_json::to_value(short(ValueRef::Text(&text))).unwrap();
        assert_eq!(shown["bytes"], 2000);
        assert_eq!(shown["value"].as_str().unwrap().len(), SHORT_VALUE_BYTES_MAX);
    }
}
