//! What an import is told.

use jungle_tree::{KEY_BYTES_MAX, VALUE_BYTES_MAX};

/// How much an import accepts. Each limit is inclusive; passing one is
/// [`ImportError::Limit`](crate::ImportError::Limit).
///
/// ```
/// use jungle_json::Limits;
/// let limits = Limits { bytes_max: 1 << 20, ..Limits::default() };
/// assert_eq!(limits.depth_max, 512);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of the document; 4 GiB.
    pub bytes_max: u64,
    /// Objects and arrays in one another; 512. Memory is the only other limit: nothing recurses.
    pub depth_max: usize,
    /// Bytes of a member's name, unescaped; 4096, and a tree takes no more.
    pub name_bytes_max: usize,
    /// Bytes of a string, unescaped, or of a number; 64 MiB, and a tree takes no more.
    pub value_bytes_max: usize,
    /// Nodes that the document makes; 2^32 - 1, and a tree takes no more.
    pub nodes_max: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            bytes_max: 4 << 30,
            depth_max: 512,
            name_bytes_max: KEY_BYTES_MAX,
            value_bytes_max: VALUE_BYTES_MAX,
            nodes_max: u64::from(u32::MAX),
        }
    }
}

/// What becomes of the order of an object's members.
///
/// ```
/// use jungle_json::{ExportOptions, ImportOptions, MemberOrder, export, import};
/// use jungle_tree::{Arena, Tree};
/// let mut tree = Tree::new(&Arena::new()?);
/// let options = ImportOptions { member_order: MemberOrder::Ignore, ..ImportOptions::default() };
/// let text = r#"{"b":2,"a":1}"#;
/// tree.edit(|editor| import(text.as_bytes(), editor, &[], &options, &mut |_| ()))?;
/// let mut out = Vec::new();
/// export(tree.snapshot().root(), &mut out, &ExportOptions::default())?;
/// assert_eq!(out, br#"{"a":1,"b":2}"#);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MemberOrder {
    /// It is kept: where it is not that of the names, an attribute says what it is.
    #[default]
    Keep,
    /// It is not: members come out sorted by name, and documents that differ only in the order of
    /// members are the same tree.
    Ignore,
}

/// What an import is told.
///
/// ```
/// use jungle_json::{ImportOptions, Limits, import};
/// use jungle_tree::{Arena, Tree};
/// let mut tree = Tree::new(&Arena::new()?);
/// // What somebody unknown sends may have a megabyte.
/// let limits = Limits { bytes_max: 1 << 20, ..Limits::default() };
/// let options = ImportOptions { limits, ..ImportOptions::default() };
/// let sent = br#"{"stars":7}"#;
/// tree.edit(|editor| import(&sent[..], editor, &[], &options, &mut |_| ()))?;
/// assert_eq!(tree.read().root().attribute("stars"), Some(7.into()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImportOptions {
    /// How much is accepted.
    pub limits: Limits,
    /// What becomes of the order of members.
    pub member_order: MemberOrder,
}
