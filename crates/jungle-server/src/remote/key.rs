//! What a request is known by that is sent again.

use axum::http::header::HeaderValue;

use super::RemoteError;

/// What a request is known by that is sent again: see [`Remote::commit`](super::Remote::commit) and
/// [`Remote::once`](super::Remote::once).
#[derive(Clone, Debug)]
pub struct RequestKey(pub(super) HeaderValue);

impl RequestKey {
    /// One that nobody else has.
    ///
    /// # Errors
    /// When the system has no random numbers.
    ///
    /// ```
    /// let (one, other) = (jungle_server::RequestKey::new()?, jungle_server::RequestKey::new()?);
    /// assert_ne!(format!("{one:?}"), format!("{other:?}"));
    /// # Ok::<(), jungle_server::RemoteError>(())
    /// ```
    pub fn new() -> Result<RequestKey, RemoteError> {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes).map_err(|error| RemoteError::Random(error.to_string()))?;
        let key = HeaderValue::try_from(format!("{:032x}", u128::from_le_bytes(bytes)));
        Ok(RequestKey(key.expect("digits and letters")))
    }
}
