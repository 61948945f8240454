//! Who was refused what, and who had the server do something that is in no tree's history: that has
//! its own authors.

use std::net::IpAddr;

use axum::http::Method;

/// Is this noted at the usual level?
pub(crate) fn is_told(method: &Method, path: &str, status: u16) -> bool {
    let is_of_server = path.starts_with("/api/v1/folder/") || path == "/logout";
    matches!(status, 401 | 403 | 429) || (is_of_server && !method.is_safe())
}

/// Notes it. The name is that of a user or a token; what somebody only says to be is not noted,
/// since some write their password where the name belongs.
pub(crate) fn tell(
    (who, address): (Option<&str>, Option<IpAddr>),
    (method, path, status): (&Method, &str, u16),
) {
    let who = who.unwrap_or("nobody known");
    let address = address.map(tracing::field::display);
    match status {
        400.. => tracing::warn!(who, address, %method, path, status, "refused"),
        _ => tracing::info!(who, address, %method, path, status, "asked for"),
    }
}
