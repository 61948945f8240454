//! Who may do what. Without an access file there is no [`Gate`], and everybody may do everything.
//!
//! - `grants.rs`, `file.rs`: what was granted to whom, and the file that says so;
//! - `secret.rs`: tokens and passwords, kept as hashes;
//! - `gate.rs`, `sessions.rs`, `who.rs`: who a request comes from, by a token or a session;
//! - `share.rs`: what each may take of that of which there is only so much;
//! - `view.rs`: what of a tree may be told to somebody who may read a part of it;
//! - `visitor.rs`: the trees, which nobody reaches without saying who asks, and what for;
//! - `work.rs`: how what they ask for is done, at once or in line;
//! - `login.rs`: the pages on which people say who they are.

mod file;
mod gate;
mod grants;
mod login;
mod secret;
mod sessions;
mod share;
mod view;
mod visitor;
mod who;
mod work;

pub use file::{Access, AccessError, Person};
pub use grants::{Grant, NoSuchRole, Role};

pub(crate) use gate::{Gate, is_open, is_page, stranger};
pub(crate) use login::routes;
pub(crate) use share::{Whose, share};
pub(crate) use view::View;
pub(crate) use visitor::{Need, Trees, Visitor};
pub(crate) use who::Who;
