//! Numeric arrays as one blob.

use std::fmt;
use std::marker::PhantomData;

use serde::de::Visitor;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// An array of numbers that travels as one blob, lowest byte first, instead of number by number.
///
/// Within a type of your own, say `#[serde(with = "alice_nats::numbers")]` of a `Vec`.
///
/// ```
/// use alice_nats::{Numbers, Parcel};
///
/// let parcel = Parcel::from(Numbers(vec![1.0_f64; 1000]));
/// assert_eq!(parcel.packed()?.len(), 1 + 3 + 8000);
/// assert_eq!(parcel.open()?.0[999], 1.0);
/// # Ok::<(), alice_nats::FormError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Numbers<N>(pub Vec<N>);

/// A number that is made of bytes: the integers and floating-point numbers of the language, but
/// those of the size of a pointer. Implemented by this crate only; see [`Numbers`].
pub trait Number: Copy + sealed::Sealed {
    /// How many bytes it has.
    #[doc(hidden)]
    const BYTES: usize;

    #[doc(hidden)]
    fn write(numbers: &[Self]) -> Vec<u8>;

    /// There are as many bytes as numbers need.
    #[doc(hidden)]
    fn read(bytes: &[u8]) -> Vec<Self>;
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! numbers {
    ($($number:ty)*) => {$(
        impl sealed::Sealed for $number {}

        impl Number for $number {
            const BYTES: usize = size_of::<$number>();

            fn write(numbers: &[$number]) -> Vec<u8> {
                numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
            }

            fn read(bytes: &[u8]) -> Vec<$number> {
                let (numbers, _) = bytes.as_chunks();
                numbers.iter().map(|number| <$number>::from_le_bytes(*number)).collect()
            }
        }
    )*};
}

numbers!(u8 i8 u16 i16 u32 i32 u64 i64 u128 i128 f32 f64);

/// Writes the numbers as one blob.
///
/// # Errors
/// Those of the serializer.
///
/// ```
/// use alice_nats::Parcel;
///
/// #[derive(serde::Serialize, serde::Deserialize)]
/// struct Image {
///     width: u32,
///     #[serde(with = "alice_nats::numbers")]
///     pixels: Vec<u16>,
/// }
///
/// let image = Image { width: 100, pixels: vec![1000; 10_000] };
/// let parcel = Parcel::from(image);
/// // Number by number each would take three bytes.
/// assert!(parcel.packed()?.len() < 20_100);
/// assert_eq!(parcel.open()?.pixels[9999], 1000);
/// # Ok::<(), alice_nats::FormError>(())
/// ```
pub fn serialize<N: Number, S: Serializer>(numbers: &[N], to: S) -> Result<S::Ok, S::Error> {
    to.serialize_bytes(&N::write(numbers))
}

/// Reads numbers from one blob: the other half of [`serialize`].
///
/// # Errors
/// When it is none, or not of whole numbers.
pub fn deserialize<'de, N: Number, D: Deserializer<'de>>(from: D) -> Result<Vec<N>, D::Error> {
    from.deserialize_bytes(Blob(PhantomData))
}

struct Blob<N>(PhantomData<N>);

impl<N: Number> Visitor<'_> for Blob<N> {
    type Value = Vec<N>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a blob of numbers of {} bytes", N::BYTES)
    }

    fn visit_bytes<E: serde::de::Error>(self, bytes: &[u8]) -> Result<Vec<N>, E> {
        if bytes.len().is_multiple_of(N::BYTES) {
            Ok(N::read(bytes))
        } else {
            Err(E::invalid_length(bytes.len(), &self))
        }
    }
}

impl<N: Number> Serialize for Numbers<N> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        serialize(&self.0, to)
    }
}

impl<'de, N: Number> Deserialize<'de> for Numbers<N> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Numbers<N>, D::Error> {
        deserialize(from).map(Numbers)
    }
}
