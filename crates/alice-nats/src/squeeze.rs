//! Compressed forms: a byte that says which, the length of what comes out, and that.

use bytes::Bytes;
use ruzstd::decoding::FrameDecoder;
use ruzstd::encoding::{CompressionLevel, compress_to_vec};

use crate::parcel::{FormError, UNPACKED_BYTES_MAX};

/// How it is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Method {
    Lz4,
    Zstd,
}

/// The first byte of a form says what it is.
pub(crate) const PACKED: u8 = 1;
const LZ4: u8 = 2;
const ZSTD: u8 = 3;
/// What stands before the compressed bytes.
const HEAD_BYTES: usize = 1 + 4;

/// The compressed form of a packed one; `None` when it does not get smaller.
pub(crate) fn squeeze(method: Method, packed: &Bytes) -> Option<Bytes> {
    let length = u32::try_from(packed.len() - 1).ok()?;
    let plain = &packed[1..];
    let (first, squeezed) = match method {
        Method::Lz4 => (LZ4, lz4_flex::block::compress(plain)),
        Method::Zstd => (ZSTD, compress_to_vec(plain, CompressionLevel::Fastest)),
    };
    let mut bytes = vec![first];
    bytes.extend(length.to_le_bytes());
    bytes.extend(squeezed);
    (bytes.len() < packed.len()).then(|| bytes.into())
}

/// The packed form of what was received.
pub(crate) fn plain(received: &Bytes) -> Result<Bytes, FormError> {
    match received.first() {
        Some(&PACKED) => Ok(received.clone()),
        Some(&first @ (LZ4 | ZSTD)) if received.len() >= HEAD_BYTES => {
            let (head, squeezed) = received.split_at(HEAD_BYTES);
            let length = u32::from_le_bytes([head[1], head[2], head[3], head[4]]) as usize;
            if length > UNPACKED_BYTES_MAX {
                return Err(FormError::TooLong { bytes: length });
            }
            let made =
                if first == LZ4 { unlz4(squeezed, length) } else { unzstd(squeezed, length) };
            let bytes = made.map_err(|why| FormError::Squeezed { why })?;
            match bytes.len() - 1 {
                made if made == length => Ok(bytes.into()),
                made => {
                    let why = format!("{made} bytes came out, not {length}");
                    Err(FormError::Squeezed { why })
                }
            }
        }
        first => Err(FormError::Unknown { first: first.copied(), bytes: received.len() }),
    }
}

fn unlz4(block: &[u8], length: usize) -> Result<Vec<u8>, String> {
    // No byte of a block stands for more, so nobody has us reserve memory for nothing.
    if length > block.len().saturating_mul(255) {
        return Err(format!("{} bytes cannot become {length}", block.len()));
    }
    let mut bytes = vec![PACKED; 1 + length];
    let made = lz4_flex::block::decompress_into(block, &mut bytes[1..]);
    bytes.truncate(1 + made.map_err(|error| error.to_string())?);
    Ok(bytes)
}

fn unzstd(frame: &[u8], length: usize) -> Result<Vec<u8>, String> {
    let mut decoder = FrameDecoder::new();
    decoder.set_max_window_size(UNPACKED_BYTES_MAX as u64);
    // A few bytes may stand for very many: so it is the limit that bounds this. It never grows.
    let mut bytes = Vec::with_capacity(1 + length);
    bytes.push(PACKED);
    decoder.decode_all_to_vec(frame, &mut bytes).map_err(|error| error.to_string())?;
    Ok(bytes)
}
