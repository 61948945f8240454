//! Data segments in the forms they travel in.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use alice::{Data, Segment};
use bytes::Bytes;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::squeeze::{Method, PACKED, plain, squeeze};

/// Data that may leave the process.
///
/// ```
/// use alice_nats::{Parcel, Portable};
///
/// #[derive(serde::Serialize, serde::Deserialize)]
/// struct Reading {
///     place: String,
///     degrees: f32,
/// }
///
/// fn bytes_of(data: impl Portable) -> Result<usize, alice_nats::FormError> {
///     Ok(Parcel::from(data).packed()?.len())
/// }
/// let reading = Reading { place: "hall".to_owned(), degrees: 20.5 };
/// assert!(bytes_of(reading)? < 40);
/// # Ok::<(), alice_nats::FormError>(())
/// ```
pub trait Portable: Data + Serialize + DeserializeOwned {}

impl<T: Data + Serialize + DeserializeOwned> Portable for T {}

/// The most bytes that a compressed data segment may have when it is not compressed any more.
pub const UNPACKED_BYTES_MAX: usize = 64 << 20;

/// How deep data may be nested.
pub const DEPTH_MAX: usize = 128;

/// A data segment with the forms it has been in so far: the object, MessagePack, compressed (LZ4
/// or zstd). Each is made at most once, and only when it is asked for. Clones share them.
///
/// What was received is sent on as it came, so a relay neither reads nor compresses anything. A
/// node can keep parcels in its own queues: serve a `Key<Parcel<T>>` instead of the `Key<T>` of
/// the same name.
///
/// ```
/// use alice_nats::{Compress, Parcel};
///
/// let sent = Parcel::from("la ".repeat(1000));
/// let bytes = sent.wire(Compress::Above { bytes: 1024 })?;
/// assert!(bytes.len() < 100);
///
/// let received = Parcel::<String>::received(bytes.clone());
/// assert_eq!(received.wire(Compress::Never)?, bytes);
/// assert_eq!(received.open()?.len(), 3000);
/// # Ok::<(), alice_nats::FormError>(())
/// ```
pub struct Parcel<T>(Arc<Mutex<Forms<T>>>);

struct Forms<T> {
    object: Option<Segment<T>>,
    packed: Option<Bytes>,
    /// By LZ4, by zstd.
    squeezed: [Squeezed; 2],
    /// What came from elsewhere, in one of the forms.
    received: Option<Bytes>,
}

enum Squeezed {
    NotTried,
    /// It would not be smaller.
    Useless,
    Made(Bytes),
}

/// What is compressed when it leaves the process.
///
/// ```
/// use alice_nats::{Compress, Parcel};
///
/// let bytes = |compress| Parcel::from("la ".repeat(1000)).wire(compress).map(|wire| wire.len());
/// assert!(bytes(Compress::Never)? > 3000);
/// assert!(bytes(Compress::Above { bytes: 1024 })? < 100);
/// assert!(bytes(Compress::ZstdAbove { bytes: 1024 })? < 100);
/// assert!(bytes(Compress::Above { bytes: 4096 })? > 3000);
/// # Ok::<(), alice_nats::FormError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Compress {
    /// Nothing.
    #[default]
    Never,
    /// What has more bytes in MessagePack, if it gets smaller: by LZ4, which is quick.
    Above {
        /// So many.
        bytes: usize,
    },
    /// The same by zstd, which is slower and makes it smaller.
    ZstdAbove {
        /// So many.
        bytes: usize,
    },
}

/// A form that cannot be made, or bytes that are in no form.
///
/// ```
/// use alice_nats::{FormError, Parcel};
///
/// let opened = |bytes: &'static [u8]| Parcel::<String>::received(bytes.into()).open().err();
/// assert_eq!(opened(b"?"), Some(FormError::Unknown { first: Some(b'?'), bytes: 1 }));
/// // A number, and not a text.
/// let number = Parcel::from(7_u32).packed()?;
/// let text = Parcel::<String>::received(number).open();
/// assert!(matches!(text, Err(FormError::Unpack { .. })));
/// # Ok::<(), FormError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FormError {
    /// The type does not let itself be written.
    #[error("the data cannot be written as MessagePack: {why}")]
    Pack {
        /// In the words of the writer.
        why: String,
    },
    /// The first byte says nothing known.
    #[error("{bytes} bytes are in no known form: the first one is {first:?}")]
    Unknown {
        /// The first byte, if there is one.
        first: Option<u8>,
        /// How many there are.
        bytes: usize,
    },
    /// It would be longer than [`UNPACKED_BYTES_MAX`].
    #[error("{bytes} bytes would come out of compressed data, of at most {UNPACKED_BYTES_MAX}")]
    TooLong {
        /// So long it says that it is.
        bytes: usize,
    },
    /// The compressed bytes are damaged.
    #[error("the data cannot be uncompressed: {why}")]
    Squeezed {
        /// In the words of the reader.
        why: String,
    },
    /// The bytes are not MessagePack, or that of another type.
    #[error("the data is no MessagePack of {wanted}: {why}")]
    Unpack {
        /// The type that was asked for.
        wanted: &'static str,
        /// In the words of the reader.
        why: String,
    },
}

impl<T: Portable> Parcel<T> {
    /// What came from elsewhere. It is not looked at before it is opened.
    #[must_use]
    pub fn received(bytes: Bytes) -> Parcel<T> {
        let squeezed = [const { Squeezed::NotTried }; 2];
        let forms = Forms { object: None, packed: None, squeezed, received: Some(bytes) };
        Parcel(Arc::new(Mutex::new(forms)))
    }

    /// The object.
    ///
    /// # Errors
    /// When the bytes that were received are not what they should be.
    pub fn open(&self) -> Result<Segment<T>, FormError> {
        let mut forms = self.forms();
        if let Some(object) = &forms.object {
            return Ok(object.clone());
        }
        let packed = forms.packed()?;
        let object = Segment::from(unpack::<T>(&packed[1..])?);
        forms.object = Some(object.clone());
        Ok(object)
    }

    /// MessagePack, behind a byte that says so.
    ///
    /// # Errors
    /// When the type does not let itself be written, or the bytes that were received are damaged.
    pub fn packed(&self) -> Result<Bytes, FormError> {
        self.forms().packed()
    }

    /// What leaves the process: what was received, as it came; else MessagePack, compressed or
    /// not.
    ///
    /// # Errors
    /// As [`packed`](Parcel::packed).
    pub fn wire(&self, compress: Compress) -> Result<Bytes, FormError> {
        let mut forms = self.forms();
        if let Some(received) = &forms.received {
            return Ok(received.clone());
        }
        let packed = forms.packed()?;
        match compress {
            Compress::Above { bytes } if packed.len() > bytes => {
                Ok(forms.squeezed(Method::Lz4, packed))
            }
            Compress::ZstdAbove { bytes } if packed.len() > bytes => {
                Ok(forms.squeezed(Method::Zstd, packed))
            }
            _ => Ok(packed),
        }
    }

    /// A panic of the program's own code has left no form half made.
    fn forms(&self) -> MutexGuard<'_, Forms<T>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: Portable> Forms<T> {
    fn packed(&mut self) -> Result<Bytes, FormError> {
        if let Some(packed) = &self.packed {
            return Ok(packed.clone());
        }
        let packed = match (&self.received, &self.object) {
            (Some(received), _) => plain(received)?,
            (None, Some(object)) => pack::<T>(object)?,
            (None, None) => unreachable!("a parcel is made from an object or from bytes"),
        };
        self.packed = Some(packed.clone());
        Ok(packed)
    }

    fn squeezed(&mut self, method: Method, packed: Bytes) -> Bytes {
        let squeezed = &mut self.squeezed[method as usize];
        if let Squeezed::NotTried = squeezed {
            *squeezed = match squeeze(method, &packed) {
                Some(smaller) => Squeezed::Made(smaller),
                None => Squeezed::Useless,
            };
        }
        match squeezed {
            Squeezed::Made(smaller) => smaller.clone(),
            Squeezed::NotTried | Squeezed::Useless => packed,
        }
    }
}

fn pack<T: Portable>(data: &T) -> Result<Bytes, FormError> {
    let mut bytes = vec![PACKED];
    let mut writer = rmp_serde::Serializer::new(&mut bytes).with_struct_map();
    data.serialize(&mut writer).map_err(|error| FormError::Pack { why: error.to_string() })?;
    Ok(bytes.into())
}

fn unpack<T: Portable>(bytes: &[u8]) -> Result<T, FormError> {
    let wanted = std::any::type_name::<T>();
    let mut rest = bytes;
    let mut reader = rmp_serde::Deserializer::new(&mut rest);
    reader.set_max_depth(DEPTH_MAX);
    let data = T::deserialize(&mut reader)
        .map_err(|error| FormError::Unpack { wanted, why: error.to_string() })?;
    match rest.len() {
        0 => Ok(data),
        more => Err(FormError::Unpack { wanted, why: format!("{more} bytes follow it") }),
    }
}

impl<T: Portable> From<Segment<T>> for Parcel<T> {
    fn from(object: Segment<T>) -> Parcel<T> {
        let squeezed = [const { Squeezed::NotTried }; 2];
        let forms = Forms { object: Some(object), packed: None, squeezed, received: None };
        Parcel(Arc::new(Mutex::new(forms)))
    }
}

impl<T: Portable> From<&Segment<T>> for Parcel<T> {
    fn from(object: &Segment<T>) -> Parcel<T> {
        Parcel::from(object.clone())
    }
}

impl<T: Portable> From<T> for Parcel<T> {
    fn from(data: T) -> Parcel<T> {
        Parcel::from(Segment::from(data))
    }
}

impl<T: Portable> From<&Parcel<T>> for Parcel<T> {
    fn from(parcel: &Parcel<T>) -> Parcel<T> {
        parcel.clone()
    }
}

impl<T> Clone for Parcel<T> {
    fn clone(&self) -> Parcel<T> {
        Parcel(Arc::clone(&self.0))
    }
}

impl<T> std::fmt::Debug for Parcel<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Parcel")
    }
}
