//! How what is no element or text is called in the JSON.

pub(super) const NAME: &str = "#name";
pub(super) const ORDER: &str = "#order";
pub(super) const CHILDREN: &str = "#children";
pub(super) const COMMENT: &str = "#comment";
pub(super) const CDATA: &str = "#cdata";
pub(super) const INSTRUCTION: &str = "#pi";
pub(super) const DECLARATION: &str = "#xml";
pub(super) const DOCTYPE: &str = "#doctype";
pub(super) const ENTITY: &str = "#entity";
