//! Values: what an attribute holds.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};

use crate::path::write_quoted;

/// The most bytes a text or a byte string may have: 64 MiB.
pub const VALUE_BYTES_MAX: usize = 64 << 20;

/// The most bytes the key of an attribute may have.
pub const ATTRIBUTE_KEY_BYTES_MAX: usize = 4096;

/// The value of an attribute.
///
/// Values are ordered by type first, in the order of the variants, so 2 comes before 1.0. Floats
/// are ordered by [`f64::total_cmp`], except that all NaNs are equal and come last: every value
/// equals itself, and -0.0 and 0.0 are two values.
///
/// ```
/// use jungle_tree::Value;
///
/// assert_eq!(Value::from("tree").to_string(), r#""tree""#);
/// assert!(Value::Null < Value::from(2) && Value::from(2) < Value::from(1.0));
/// assert_eq!(Value::from(f64::NAN), Value::from(-f64::NAN));
/// assert_ne!(Value::from(-0.0), Value::from(0.0));
/// ```
#[derive(Clone, Debug, Default)]
pub enum Value {
    /// Nothing, which is not the same as no attribute.
    #[default]
    Null,
    /// True or false.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// A floating-point number.
    Float(f64),
    /// Text, of at most [`VALUE_BYTES_MAX`] bytes.
    Text(Box<str>),
    /// Bytes, at most [`VALUE_BYTES_MAX`] of them.
    Bytes(Box<[u8]>),
}

/// A borrowed [`Value`], with the same order.
///
/// ```
/// use jungle_tree::ValueRef;
///
/// let value = ValueRef::from("tree");
/// assert_eq!(value.as_text(), Some("tree"));
/// assert_eq!(value.as_int(), None);
/// assert_eq!(value.type_name(), "text");
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub enum ValueRef<'a> {
    /// Nothing, which is not the same as no attribute.
    #[default]
    Null,
    /// True or false.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// A floating-point number.
    Float(f64),
    /// Text.
    Text(&'a str),
    /// Bytes.
    Bytes(&'a [u8]),
}

/// Why a value cannot be.
///
/// ```
/// use jungle_tree::{Arena, EditError, Tree, VALUE_BYTES_MAX, ValueError};
///
/// let mut tree = Tree::new(&Arena::new()?);
/// let text = "x".repeat(VALUE_BYTES_MAX + 1);
/// let refused = tree.put_attribute(&[], "text", text.as_str());
/// let too_long = ValueError::TooLong { bytes: VALUE_BYTES_MAX + 1 };
/// assert_eq!(refused, Err(EditError::Value(too_long)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ValueError {
    /// It has more than [`VALUE_BYTES_MAX`] bytes.
    TooLong {
        /// How many bytes it has.
        bytes: usize,
    },
}

impl Value {
    /// This value, borrowed.
    #[must_use]
    pub fn as_ref(&self) -> ValueRef<'_> {
        match self {
            Value::Null => ValueRef::Null,
            Value::Bool(bool) => ValueRef::Bool(*bool),
            Value::Int(int) => ValueRef::Int(*int),
            Value::Float(float) => ValueRef::Float(*float),
            Value::Text(text) => ValueRef::Text(text),
            Value::Bytes(bytes) => ValueRef::Bytes(bytes),
        }
    }
}

impl<'a> ValueRef<'a> {
    /// An owned copy.
    ///
    /// ```
    /// use jungle_tree::{Arena, Tree, Value};
    ///
    /// let mut tree = Tree::new(&Arena::new()?);
    /// tree.put_attribute(&[], "title", "draft")?;
    /// let title = tree.read().root().attribute("title").map(|title| title.to_value());
    /// tree.remove_attribute(&[], "title")?;
    /// assert_eq!(title, Some(Value::from("draft")));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn to_value(self) -> Value {
        match self {
            ValueRef::Null => Value::Null,
            ValueRef::Bool(bool) => Value::Bool(bool),
            ValueRef::Int(int) => Value::Int(int),
            ValueRef::Float(float) => Value::Float(float),
            ValueRef::Text(text) => Value::Text(text.into()),
            ValueRef::Bytes(bytes) => Value::Bytes(bytes.into()),
        }
    }

    /// The name of its type, for messages: `null`, `bool`, `int`, `float`, `text` or `bytes`.
    ///
    /// ```
    /// use jungle_tree::ValueRef;
    ///
    /// let values = [ValueRef::Null, 7.into(), 7.0.into(), "7".into()];
    /// let names = values.map(|value| value.type_name());
    /// assert_eq!(names, ["null", "int", "float", "text"]);
    /// ```
    #[must_use]
    pub fn type_name(self) -> &'static str {
        match self {
            ValueRef::Null => "null",
            ValueRef::Bool(_) => "bool",
            ValueRef::Int(_) => "int",
            ValueRef::Float(_) => "float",
            ValueRef::Text(_) => "text",
            ValueRef::Bytes(_) => "bytes",
        }
    }

    /// Whether this is null.
    ///
    /// ```
    /// use jungle_tree::{Arena, Tree, Value};
    ///
    /// let mut tree = Tree::new(&Arena::new()?);
    /// tree.put_attribute(&[], "due", &Value::Null)?;
    /// let snapshot = tree.snapshot();
    /// assert!(snapshot.root().attribute("due").is_some_and(|due| due.is_null()));
    /// assert_eq!(snapshot.root().attribute("done"), None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn is_null(self) -> bool {
        matches!(self, ValueRef::Null)
    }

    /// The truth value, if this is one.
    ///
    /// ```
    /// use jungle_tree::ValueRef;
    ///
    /// assert_eq!(ValueRef::from(true).as_bool(), Some(true));
    /// assert_eq!([ValueRef::Null, 1.into()].map(ValueRef::as_bool), [None, None]);
    /// ```
    #[must_use]
    pub fn as_bool(self) -> Option<bool> {
        match self {
            ValueRef::Bool(bool) => Some(bool),
            _ => None,
        }
    }

    /// The integer, if this is one. A float is not, even if it is whole.
    ///
    /// ```
    /// use jungle_tree::ValueRef;
    ///
    /// assert_eq!(ValueRef::from(7).as_int(), Some(7));
    /// assert_eq!(ValueRef::from(7.0).as_int(), None);
    /// ```
    #[must_use]
    pub fn as_int(self) -> Option<i64> {
        match self {
            ValueRef::Int(int) => Some(int),
            _ => None,
        }
    }

    /// The float, if this is one. An integer is not.
    ///
    /// ```
    /// use jungle_tree::ValueRef;
    ///
    /// assert_eq!(ValueRef::from(0.5).as_float(), Some(0.5));
    /// assert_eq!(ValueRef::from(1).as_float(), None);
    /// ```
    #[must_use]
    pub fn as_float(self) -> Option<f64> {
        match self {
            ValueRef::Float(float) => Some(float),
            _ => None,
        }
    }

    /// The text, if this is one.
    ///
    /// ```
    /// use jungle_tree::Value;
    ///
    /// let title = Value::from("hello");
    /// assert_eq!(title.as_ref().as_text(), Some("hello"));
    /// ```
    #[must_use]
    pub fn as_text(self) -> Option<&'a str> {
        match self {
            ValueRef::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The bytes, if this is a byte string. A text is not.
    ///
    /// ```
    /// use jungle_tree::ValueRef;
    ///
    /// assert_eq!(ValueRef::Bytes(b"\xff").as_bytes(), Some(b"\xff".as_slice()));
    /// assert_eq!(ValueRef::from("text").as_bytes(), None);
    /// ```
    #[must_use]
    pub fn as_bytes(self) -> Option<&'a [u8]> {
        match self {
            ValueRef::Bytes(bytes) => Some(bytes),
            _ => None,
        }
    }

    /// Whether the value keeps to the limit.
    ///
    /// # Errors
    ///
    /// [`ValueError::TooLong`].
    ///
    /// ```
    /// use jungle_tree::{VALUE_BYTES_MAX, ValueError, ValueRef};
    ///
    /// let long = "x".repeat(VALUE_BYTES_MAX + 1);
    /// let refused = ValueRef::from(long.as_str()).check();
    /// assert_eq!(refused, Err(ValueError::TooLong { bytes: VALUE_BYTES_MAX + 1 }));
    /// ```
    pub fn check(self) -> Result<(), ValueError> {
        let bytes = match self {
            ValueRef::Text(text) => text.len(),
            ValueRef::Bytes(bytes) => bytes.len(),
            _ => 0,
        };
        if bytes > VALUE_BYTES_MAX { Err(ValueError::TooLong { bytes }) } else { Ok(()) }
    }

    fn ordered(self) -> Ordered<'a> {
        match self {
            ValueRef::Null => Ordered::Null,
            ValueRef::Bool(bool) => Ordered::Bool(bool),
            ValueRef::Int(int) => Ordered::Int(int),
            ValueRef::Float(float) => Ordered::Float(ordered_bits(float)),
            ValueRef::Text(text) => Ordered::Text(text),
            ValueRef::Bytes(bytes) => Ordered::Bytes(bytes),
        }
    }
}

/// A [`ValueRef`] whose derived order and equality are the ones we want.
#[derive(PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Ordered<'a> {
    Null,
    Bool(bool),
    Int(i64),
    Float(u64),
    Text(&'a str),
    Bytes(&'a [u8]),
}

/// The bits of `float`, with one form for all NaNs: equal values have equal bits.
pub(crate) fn canonical_bits(float: f64) -> u64 {
    const NAN: u64 = 0x7ff8_0000_0000_0000;
    if float.is_nan() { NAN } else { float.to_bits() }
}

/// Bits whose order is that of the floats: larger magnitudes are further from the middle.
pub(crate) fn ordered_bits(float: f64) -> u64 {
    const SIGN: u64 = 1 << 63;
    let bits = canonical_bits(float);
    if bits & SIGN == 0 { bits | SIGN } else { !bits }
}

impl Ord for ValueRef<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.ordered().cmp(&other.ordered())
    }
}

impl PartialOrd for ValueRef<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for ValueRef<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.ordered() == other.ordered()
    }
}

impl Eq for ValueRef<'_> {}

impl Hash for ValueRef<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.ordered().hash(state);
    }
}

impl Ord for Value {
    fn cmp(&self, other: &Self) -> Ordering {
        self.as_ref().cmp(&other.as_ref())
    }
}

impl PartialOrd for Value {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Value {
    fn eq(&self, other: &Self) -> bool {
        self.as_ref() == other.as_ref()
    }
}

impl Eq for Value {}

impl Hash for Value {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_ref().hash(state);
    }
}

/// Both kinds of value are made from the same plain ones.
macro_rules! from_plain {
    ($($plain:ty => $variant:ident),* $(,)?) => {$(
        impl From<$plain> for Value {
            fn from(plain: $plain) -> Value {
                Value::$variant(plain.into())
            }
        }

        impl From<$plain> for ValueRef<'_> {
            fn from(plain: $plain) -> Self {
                ValueRef::$variant(plain.into())
            }
        }
    )*};
}

from_plain! {
    bool => Bool,
    i64 => Int,
    i32 => Int,
    u32 => Int,
    f64 => Float,
}

impl From<&str> for Value {
    fn from(text: &str) -> Value {
        Value::Text(text.into())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Value {
        Value::Text(text.into())
    }
}

impl From<&[u8]> for Value {
    fn from(bytes: &[u8]) -> Value {
        Value::Bytes(bytes.into())
    }
}

impl From<Vec<u8>> for Value {
    fn from(bytes: Vec<u8>) -> Value {
        Value::Bytes(bytes.into())
    }
}

impl From<ValueRef<'_>> for Value {
    fn from(value: ValueRef<'_>) -> Value {
        value.to_value()
    }
}

impl<'a> From<&'a str> for ValueRef<'a> {
    fn from(text: &'a str) -> Self {
        ValueRef::Text(text)
    }
}

impl<'a> From<&'a String> for ValueRef<'a> {
    fn from(text: &'a String) -> Self {
        ValueRef::Text(text)
    }
}

impl<'a> From<&'a [u8]> for ValueRef<'a> {
    fn from(bytes: &'a [u8]) -> Self {
        ValueRef::Bytes(bytes)
    }
}

impl<'a> From<&'a Vec<u8>> for ValueRef<'a> {
    fn from(bytes: &'a Vec<u8>) -> Self {
        ValueRef::Bytes(bytes)
    }
}

impl<'a> From<&'a Value> for ValueRef<'a> {
    fn from(value: &'a Value) -> Self {
        value.as_ref()
    }
}

/// As [`ValueRef`].
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_ref().fmt(f)
    }
}

/// So that types can be told apart: a float has a point or an exponent, text is quoted as in
/// JSON, bytes are hexadecimal behind `0x`.
impl fmt::Display for ValueRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ValueRef::Null => f.write_str("null"),
            ValueRef::Bool(bool) => write!(f, "{bool}"),
            ValueRef::Int(int) => write!(f, "{int}"),
            ValueRef::Float(float) => write!(f, "{float:?}"),
            ValueRef::Text(text) => write_quoted(f, text),
            ValueRef::Bytes(bytes) => {
                f.write_str("0x")?;
                bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
            }
        }
    }
}

impl fmt::Display for ValueError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ValueError::TooLong { bytes } => {
                write!(f, "value has {bytes} bytes, at most {VALUE_BYTES_MAX} are allowed")
            }
        }
    }
}

impl std::error::Error for ValueError {}

#[cfg(test)]
mod tests {
    use std::hash::BuildHasher;
    use std::hash::RandomState;

    use super::*;

    /// Different values in their order.
    fn ordered() -> Vec<Value> {
        let floats = [
            f64::NEG_INFINITY,
            f64::MIN,
            -1.0,
            -5e-324,
            -0.0,
            0.0,
            5e-324,
            1.0,
            f64::MAX,
            f64::INFINITY,
            f64::NAN,
        ];
        let mut all = vec![Value::Null, false.into(), true.into()];
        all.extend([i64::MIN, -1, 0, 1, i64::MAX].map(Value::from));
        all.extend(floats.map(Value::from));
        all.extend(["", "\0", "a", "a\0", "b", "é"].map(Value::from));
        all.extend([vec![], vec![0], vec![0, 0], vec![255]].map(Value::from));
        all
    }

    #[test]
    fn the_order_is_total() {
        let hashes = RandomState::new();
        for (i, a) in ordered().iter().enumerate() {
            for (j, b) in ordered().iter().enumerate() {
                assert_eq!(a.cmp(b), i.cmp(&j), "{a} and {b}");
                assert_eq!(a == b, i == j, "{a} and {b}");
                assert_eq!(a.as_ref().cmp(&b.as_ref()), i.cmp(&j), "{a} and {b}");
            }
            assert_eq!(hashes.hash_one(a), hashes.hash_one(a.as_ref()), "{a}");
            assert_eq!(a.as_ref().to_value(), *a);
        }
    }

    #[test]
    fn all_nans_are_one_value() {
        let hashes = RandomState::new();
        let expected = Value::from(f64::NAN);
        for bits in [0x7ff0_0000_0000_0001, 0xfff8_0000_0000_0000, u64::MAX] {
            let nan = Value::from(f64::from_bits(bits));
            assert_eq!(nan, expected);
            assert_eq!(hashes.hash_one(&nan), hashes.hash_one(&expected));
        }
    }

    #[test]
    fn text_tells_the_types_apart() {
        let check = |value: ValueRef<'_>, text: &str, type_name: &str| {
            assert_eq!((value.to_string().as_str(), value.type_name()), (text, type_name));
        };
        check(ValueRef::Null, "null", "null");
        check(true.into(), "true", "bool");
        check(7_u32.into(), "7", "int");
        check(7.0.into(), "7.0", "float");
        check(1e300.into(), "1e300", "float");
        check(f64::NAN.into(), "NaN", "float");
        check("a\"\n\u{1}é".into(), r#""a\"\n\u0001é""#, "text");
        check([0_u8, 0xab].as_slice().into(), "0x00ab", "bytes");
    }

    #[test]
    fn only_its_own_type_is_lent() {
        for value in ordered() {
            let value = value.as_ref();
            let lent = [
                ("null", value.is_null()),
                ("bool", value.as_bool().is_some()),
                ("int", value.as_int().is_some()),
                ("float", value.as_float().is_some()),
                ("text", value.as_text().is_some()),
                ("bytes", value.as_bytes().is_some()),
            ];
            assert!(lent.iter().all(|&(name, lent)| lent == (name == value.type_name())));
        }
    }

    #[test]
    fn too_long_is_an_error() {
        let bytes = vec![0; VALUE_BYTES_MAX + 1];
        let error = ValueError::TooLong { bytes: bytes.len() };
        assert_eq!(ValueRef::from(&bytes).check(), Err(error));
        assert_eq!(ValueRef::from(&bytes[1..]).check(), Ok(()));
        assert_eq!(size_of::<Value>(), 24);
    }
}
