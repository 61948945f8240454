//! Whether the engine has said no, or nothing that can be relied on.

use std::error::Error;
use std::iter::successors;

use async_nats::jetstream::ErrorCode;
use async_nats::jetstream::context::{
    CreateStreamError, CreateStreamErrorKind, GetStreamError, GetStreamErrorKind,
};

/// Has the engine refused to give a stream? One of which no majority is there says nothing, or that
/// it has no leader; so does a leaf node without the engine.
pub(super) fn is_refusal(error: &(dyn Error + 'static)) -> bool {
    let mut causes = successors(Some(error), |error: &&(dyn Error + 'static)| (*error).source());
    causes.any(|error| code_of(error).is_some_and(|code| !is_passing(code)))
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
