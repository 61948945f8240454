//! Whether the engine has said no, or nothing that can be relied on.

use std::error::Error;
use std::io;
use std::iter::successors;

use async_nats::jetstream::ErrorCode;
use async_nats::jetstream::context::{
    CreateStreamError, CreateStreamErrorKind, GetStreamError, GetStreamErrorKind,
};
use async_nats::{ConnectError, ConnectErrorKind};

use crate::engine::error::EngineSaid;

/// What it has said to who asked for a stream.
pub(super) fn of_stream(error: async_nats::Error) -> EngineSaid {
    if is_refusal(&*error) { EngineSaid::No(error) } else { EngineSaid::Nothing(error) }
}

/// What it has said to who connected.
pub(super) fn of_connection(error: async_nats::Error) -> EngineSaid {
    if is_denial(&*error) { EngineSaid::No(error) } else { EngineSaid::Nothing(error) }
}

/// Has the engine refused to give a stream? One of which no majority is there says nothing, or that
/// it has no leader; so does a leaf node without the engine.
fn is_refusal(error: &(dyn Error + 'static)) -> bool {
    causes(error).any(|error| code_of(error).is_some_and(|code| !is_passing(code)))
}

/// Has the engine refused a connection: are the credentials, or the certificate of either side, not
/// taken? What breaks a connection off while it is made refuses nothing.
fn is_denial(error: &(dyn Error + 'static)) -> bool {
    causes(error).any(|error| {
        // So TLS says that it does not like what it was told.
        let is_unlike = |error: &io::Error| error.kind() == io::ErrorKind::InvalidData;
        let is_denied = |error: &ConnectError| {
            matches!(
                error.kind(),
                ConnectErrorKind::Authentication | ConnectErrorKind::AuthorizationViolation
            )
        };
        error.downcast_ref().is_some_and(is_unlike) || error.downcast_ref().is_some_and(is_denied)
    })
}

/// An error, and what it is due to.
fn causes<'e>(error: &'e (dyn Error + 'static)) -> impl Iterator<Item = &'e (dyn Error + 'static)> {
    successors(Some(error), |error: &&'e (dyn Error + 'static)| (*error).source())
}

fn is_passing(code: ErrorCode) -> bool {
    matches!(code, ErrorCode::CLUSTER_NOT_AVAILABLE | ErrorCode::CLUSTER_NOT_LEADER)
}

fn code_of(error: &(dyn Error + 'static)) -> Option<ErrorCode> {
    if let Some(error) = error.downcast_ref::<GetStreamError>()
        && let GetStreamErrorKind::JetStream(said) = error.kind()
    {
        return Some(said.error_code());
    }
    match error.downcast_ref::<CreateStreamError>()?.kind() {
        CreateStreamErrorKind::JetStream(said) => Some(said.error_code()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use async_nats::jetstream;

    use super::*;

    #[test]
    fn what_breaks_off_refuses_nothing() {
        let io = |kind| ConnectError::with_source(ConnectErrorKind::Io, io::Error::from(kind));
        let cases = [
            (true, ConnectErrorKind::AuthorizationViolation.into()),
            (true, ConnectErrorKind::Authentication.into()),
            // As of a certificate that is another authority's.
            (true, io(io::ErrorKind::InvalidData)),
            (false, io(io::ErrorKind::UnexpectedEof)),
            (false, io(io::ErrorKind::ConnectionRefused)),
            (false, ConnectErrorKind::TimedOut.into()),
            (false, ConnectErrorKind::Dns.into()),
        ];
        for (expected, error) in cases {
            assert_eq!(is_denial(&error), expected, "{error}");
        }
    }

    /// As the place for checkpoints, of which the client says it, is asked for.
    #[test]
    fn a_refusal_is_known_by_its_code_wherever_it_is() {
        let said = |err_code: ErrorCode| {
            let said = serde_json::json!({"code": 503, "err_code": err_code.0});
            let said: jetstream::Error = serde_json::from_value(said).unwrap();
            let source = GetStreamError::new(GetStreamErrorKind::JetStream(said));
            super::super::depot::NotGiven { stream: "OBJ_jungle-t".to_owned(), source }
        };
        assert!(is_refusal(&said(ErrorCode::JETSTREAM_NOT_ENABLED_FOR_ACCOUNT)));
        assert!(!is_refusal(&said(ErrorCode::CLUSTER_NOT_LEADER)));
    }
}
