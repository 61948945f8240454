//! Documents in other forms than JSON into trees and back, and the revisions of a tree as lines.
//!
//! ```
//! use jungle_formats::{ReadForm, WriteForm, json, write};
//! use jungle_json::{ImportOptions, Member, import};
//! use jungle_tree::{Arena, Path, Tree};
//!
//! let text = r#"<a x="1">text<b/></a>"#;
//! let mut tree = Tree::new(&Arena::new()?);
//! let json = json(ReadForm::Xml, text.as_bytes(), 512);
//! tree.edit(|editor| import(json, editor, &[], &ImportOptions::default(), &mut |_| ()))?;
//!
//! let (snapshot, mut out) = (tree.snapshot(), Vec::new());
//! write(WriteForm::Xml, Member::Node(snapshot.root()), &Path::root(), &mut out)?;
//! assert_eq!(String::from_utf8(out)?, text);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! - [`json()`]: what is read is translated into JSON, and imported as that (from `jungle-json`);
//!   [`html_part`] does without a page, [`csv_without`] leaves out bad rows, [`wrong`] tells what
//!   is wrong with a document.
//! - [`write()`]: a part of a tree in a form, if that has a place for it, as [`fits`] tells.
//! - [`ndjson`]: a line of JSON for each revision.
//! - [`escape_hidden`]: characters that nobody sees.
//!
//! `docs/formats.md` has what becomes what, and the limits of each form.

mod csv;
mod error;
mod form;
mod hidden;
mod html;
mod limited;
mod markdown;
pub mod ndjson;
mod pending;
mod table;
mod xml;
mod yaml;

pub use error::{WriteError, wrong};
pub use form::{ReadForm, WriteForm, csv_without, fits, html_part, json, write};
pub use hidden::{escape_hidden, is_hidden};
