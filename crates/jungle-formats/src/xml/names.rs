//! How what is no element or text is called in the JSON.

pub(crate) const NAME: &str = "#name";
pub(crate) const ORDER: &str = "#order";
pub(crate) const CHILDREN: &str = "#children";
pub(crate) const COMMENT: &str = "#comment";
pub(crate) const CDATA: &str = "#cdata";
pub(crate) const INSTRUCTION: &str = "#pi";
pub(crate) const DECLARATION: &str = "#xml";
pub(crate) const DOCTYPE: &str = "#doctype";
pub(crate) const ENTITY: &str = "#entity";
