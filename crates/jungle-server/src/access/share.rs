//! What each may take of that of which there is only so much.

use std::net::IpAddr;
use std::sync::Arc;

use axum::http::header::{HeaderValue, RETRY_AFTER};

use crate::client::Client;
use crate::limits::places::{NoPlace, Place, Places};
use crate::limits::rate::network;
use crate::problem::{Kind, Problem};

/// Whose something is, where each has a share of it: a user's or a token's, or else that of whoever
/// is at an address.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Whose {
    Name(Arc<str>),
    Address(Option<IpAddr>),
}

impl Whose {
    /// That of whoever has this name, or else is there; `None` is from this machine itself, and
    /// without a name: that may be anybody, so it has no share.
    pub(crate) fn of(name: Option<Arc<str>>, client: Option<&Client>) -> Option<Whose> {
        match name {
            Some(name) => Some(Whose::Name(name)),
            None if client.is_some_and(|client| client.is_own) => None,
            None => Some(Whose::Address(client.map(|client| network(client.address)))),
        }
    }
}

/// A place, of which each has a quarter at most. `what` takes them.
pub(crate) fn share(
    places: &Arc<Places<Whose>>,
    whose: Option<Whose>,
    what: &str,
) -> Result<Place<Whose>, Problem> {
    let all = places.all();
    let (whose, of_one) = match whose {
        Some(whose) => (whose, all.div_ceil(4)),
        None => (Whose::Address(None), all),
    };
    places.take(whose, of_one).map_err(|none| {
        let many = match none {
            NoPlace::AtAll => format!("{all}"),
            NoPlace::OfIts => format!("{of_one} of your"),
        };
        let detail = format_args!("{many} {what} are under way");
        Problem::new(Kind::TooMany, detail).header(RETRY_AFTER, HeaderValue::from_static("5"))
    })
}
